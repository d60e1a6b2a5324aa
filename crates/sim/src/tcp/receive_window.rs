//! The receive buffer and the window that it allows: the share of payload in memory, autotuning (DRS), never shrunk.
//!
//! Never: a promise of more than the buffer can hold.

use super::receiver::Receiver;
use crate::options::WindowRule;
use pipefill_core::units::Time;

/// `TCP_DEFAULT_SCALING_RATIO`: a half, until a packet was seen.
pub(crate) const DEFAULT_RATIO: u64 = 128;
const RATIO_SHIFT: u32 = 8;
/// `scaling_ratio` is a byte.
const MAX_RATIO: u64 = 255;
/// A segment below `rcv_mss` is taken for a full one where it is at least this (`TCP_MSS_DEFAULT` less the options), or at
/// least `TCP_MIN_MSS` without PSH.
const SMALL_MSS: u32 = 524;
const SMALLEST_MSS: u32 = 76;
/// `MAX_TCP_HEADER`, `sk_buff` and `skb_shared_info`: what kernels before 6.6 added to the segment's size.
const OLD_OVERHEAD: u64 = 896;
/// `sysctl_rmem_max` as the kernel has it by default: the window scale allows for it whatever `tcp_rmem` says.
const RMEM_MAX: u64 = 212_992;
/// `SOCK_MIN_RCVBUF / 2`, roughly.
const SMALLEST_CLAMP: u64 = 1152;
/// `TCP_INIT_CWND`.
const FIRST_FLIGHT: u64 = 10;
/// `U16_MAX`: what fits the header without scaling.
const UNSCALED_MAX: u64 = 65_535;
/// `TCP_MAX_WSCALE` (RFC 7323, 2.3).
const MAX_SCALE: u32 = 14;

/// `rcvq_space` and `rcv_rtt_est`.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    /// Bytes that the application took in the best round trip so far.
    pub(crate) space: u64,
    seq: u64,
    time: Time,
    /// Eight times the receiver's estimate of the round trip, microseconds.
    rtt_8: u64,
    rtt_seq: u64,
    rtt_time: Option<Time>,
    last_echo: Option<u32>,
}

impl Tuning {
    /// The receiver's estimate of the round trip, microseconds.
    pub(crate) fn rtt_us(&self) -> u64 {
        self.rtt_8 >> 3
    }

    /// `tcp_rcv_rtt_update()`: a smaller sample counts at once, a larger one is smoothed; by windows it is ignored.
    fn update_rtt(&mut self, sample_us: u64, by_window: bool) {
        self.rtt_8 = match self.rtt_8 {
            old if old == 0 || sample_us << 3 < old => sample_us << 3,
            old if by_window => old,
            old => old - (old >> 3) + sample_us,
        };
    }
}

impl Receiver {
    /// `tcp_select_initial_window()`: the first window, in whole segments of `mss`, and the scale that lets the largest buffer be told.
    pub(crate) fn set_initial_window(&mut self, mss: u32) {
        let mss = u64::from(mss);
        let space = self.full_space();
        self.rcv_wnd = if space > mss { space / mss * mss } else { space };
        if self.host.window_scaling {
            let clamp = if self.is_locked { space } else { UNSCALED_MAX << MAX_SCALE };
            let largest = self.rcv_wnd.max(self.host.rmem[2]).max(RMEM_MAX).min(clamp);
            self.scale = largest.max(1).ilog2().saturating_sub(15).min(MAX_SCALE);
        }
        // Without a scale the header can't tell more, now or later.
        self.window_right = self.rcv_nxt + self.rcv_wnd.min(UNSCALED_MAX << self.scale);
        self.rcv_ssthresh = self.rcv_wnd;
    }

    /// The window in the SYN or the SYN-ACK, which is never scaled (RFC 7323, 2.2).
    pub(crate) fn first_window(&self) -> u64 {
        self.rcv_wnd.min(UNSCALED_MAX)
    }

    /// `tcp_init_buffer_space()`.
    pub(crate) fn init_buffer_space(&mut self, now: Time) {
        let (full, mss) = (self.full_space(), u64::from(self.mss));
        self.window_clamp = if full > 2 * mss { (full - mss).max(2 * mss) } else { full };
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp);
        self.tuning.time = now;
        self.tuning.seq = self.copied_seq;
        self.tuning.space = self.rcv_ssthresh.min(self.rcv_wnd).min(FIRST_FLIGHT * mss);
    }

    /// `tcp_win_from_space()`.
    pub(crate) fn window_from_space(&self, space: u64) -> u64 {
        match self.host.window_rule {
            WindowRule::ScalingRatio => (space * self.ratio) >> RATIO_SHIFT,
            WindowRule::AdvWinScale(scale @ 1..) => space - (space >> scale.min(31)),
            WindowRule::AdvWinScale(scale) => space >> scale.unsigned_abs().min(31),
        }
    }

    /// `tcp_space_from_win()`; before 6.6 the segments of the window times a segment's memory.
    fn space_from_window(&self, window: u64) -> u64 {
        if self.host.window_rule == WindowRule::ScalingRatio {
            return (window << RATIO_SHIFT) / self.ratio;
        }
        let mss = u64::from(self.mss);
        let mut memory = mss + OLD_OVERHEAD;
        while self.window_from_space(memory) < mss {
            memory += 128;
        }
        window / mss * memory
    }

    /// `tcp_full_space()`.
    pub(crate) fn full_space(&self) -> u64 {
        self.window_from_space(self.rcvbuf)
    }

    /// `tcp_space()`.
    fn free_space(&self) -> u64 {
        self.window_from_space(self.rcvbuf.saturating_sub(self.rmem_alloc))
    }

    /// `tcp_receive_window()`: what is left of the window last told.
    pub(crate) fn window_left(&self) -> u64 {
        self.window_right.saturating_sub(self.rcv_nxt)
    }

    /// `__tcp_select_window()`.
    pub(crate) fn possible_window(&mut self) -> u64 {
        let allowed = self.full_space();
        let full = allowed.min(self.window_clamp);
        let mss = u64::from(self.rcv_mss).min(full);
        let unit = 1 << self.scale;
        let mut free = self.free_space();
        if free < full >> 1 {
            self.ack_policy.quick = 0;
            free = free / unit * unit;
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(self.rcv_ssthresh);
        if self.scale > 0 {
            return free.next_multiple_of(unit);
        }
        if mss > 0 && (self.rcv_wnd + mss <= free || self.rcv_wnd > free) {
            free / mss * mss
        } else {
            self.rcv_wnd
        }
    }

    /// `tcp_select_window()`: the window to tell now. Its right edge never moves back (RFC 9293, 3.8.6).
    pub(crate) fn select_window(&mut self) {
        let unit = 1 << self.scale;
        let left = self.window_left();
        let mut window = self.possible_window();
        if window < left {
            window = left.next_multiple_of(unit);
        }
        window = window.min(UNSCALED_MAX << self.scale) / unit * unit;
        self.rcv_wnd = window;
        self.rcv_wup = self.rcv_nxt;
        self.window_right = self.rcv_nxt + window;
    }

    /// `tcp_measure_rcv_mss()`: the segment size, and the share of payload in a packet's memory.
    pub(crate) fn measure_segment(&mut self, len: u32, truesize: u64, push: bool) {
        let per_segment = len.min(self.mss);
        let before = std::mem::take(&mut self.last_small);
        if per_segment >= self.rcv_mss {
            if per_segment != self.rcv_mss {
                self.update_ratio(len, truesize);
            }
            self.rcv_mss = per_segment;
            if push {
                self.ack_policy.note_push();
            }
            return;
        }
        if is_measurable(per_segment, push) {
            self.last_small = per_segment;
            if per_segment == before {
                self.rcv_mss = per_segment;
                return;
            }
        }
        self.ack_policy.note_small();
    }

    fn update_ratio(&mut self, len: u32, truesize: u64) {
        if self.host.window_rule != WindowRule::ScalingRatio {
            return;
        }
        let ratio = ((u64::from(len) << RATIO_SHIFT) / truesize).clamp(1, MAX_RATIO);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.set_window_clamp(self.full_space().max(SMALLEST_CLAMP));
            self.tuning.space = self.tuning.space.min(self.window_clamp);
        }
    }

    /// `tcp_set_window_clamp()`.
    fn set_window_clamp(&mut self, clamp: u64) {
        if clamp < self.window_clamp {
            self.rcv_ssthresh = self.rcv_ssthresh.min(clamp);
        } else if clamp > self.window_clamp {
            self.rcv_ssthresh = self.rcv_ssthresh.max(self.rcv_wnd.min(clamp));
        }
        self.window_clamp = clamp;
    }

    /// `tcp_grow_window()`: the window opens with the data that comes, two segments for each.
    pub(crate) fn grow_window(&mut self, len: u32, truesize: u64) {
        let room = self.window_clamp.min(self.free_space()).saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return;
        }
        let increment = if self.window_from_space(truesize) <= u64::from(len) {
            2 * u64::from(self.mss)
        } else {
            self.slow_growth(len, truesize)
        };
        if increment > 0 {
            self.rcv_ssthresh += room.min(increment.max(2 * u64::from(len)));
            self.ack_policy.quick |= 1;
        }
    }

    /// `__tcp_grow_window()`: for packets that waste memory.
    fn slow_growth(&self, len: u32, truesize: u64) -> u64 {
        let mut memory = self.window_from_space(truesize) >> 1;
        let mut window = self.window_from_space(self.host.rmem[2]) >> 1;
        while self.rcv_ssthresh <= window {
            if memory <= u64::from(len) {
                return 2 * u64::from(self.rcv_mss);
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// `tcp_rcv_rtt_measure()`: a window's worth of data takes a round trip at least.
    pub(crate) fn measure_rtt_by_window(&mut self, now: Time) {
        if let Some(began) = self.tuning.rtt_time {
            if self.rcv_nxt < self.tuning.rtt_seq {
                return;
            }
            self.tuning.update_rtt(now.micros().saturating_sub(began.micros()).max(1), true);
        }
        self.tuning.rtt_seq = self.rcv_nxt + self.rcv_wnd;
        self.tuning.rtt_time = Some(now);
    }

    /// `tcp_rcv_rtt_measure_ts()`: once for every echo, in whole milliseconds; none says nothing.
    pub(crate) fn measure_rtt_by_echo(&mut self, now: Time, echo: u32, len: u32) {
        if !self.host.timestamps || self.tuning.last_echo == Some(echo) {
            return;
        }
        self.tuning.last_echo = Some(echo);
        let millis = u64::from(pipefill_link::jiffies::stamp(now).saturating_sub(echo));
        if len >= self.rcv_mss && millis > 0 {
            self.tuning.update_rtt(millis * 1000, false);
        }
    }

    /// `tcp_rcv_space_adjust()` (dynamic right-sizing): twice what the application took in a round trip, and room for growth.
    pub(crate) fn adjust_space(&mut self, now: Time) {
        let rtt_us = self.tuning.rtt_us();
        if rtt_us == 0 || now.micros().saturating_sub(self.tuning.time.micros()) < rtt_us {
            return;
        }
        let copied = self.copied_seq - self.tuning.seq;
        // What still waits to be read came in this round trip, not in the one before; older kernels counted it.
        let is_counted = matches!(self.host.window_rule, WindowRule::AdvWinScale(_));
        let copied = copied.saturating_sub(if is_counted { 0 } else { self.readable() });
        if copied > self.tuning.space {
            if self.host.moderate_rcvbuf && !self.is_locked {
                self.enlarge(copied);
            }
            self.tuning.space = copied;
        }
        self.tuning.seq = self.copied_seq;
        self.tuning.time = now;
    }

    fn enlarge(&mut self, copied: u64) {
        let mut window = 2 * copied + 16 * u64::from(self.mss);
        let growth = u128::from(window) * u128::from(copied - self.tuning.space);
        let growth = growth / u128::from(self.tuning.space.max(1));
        window = window.saturating_add(u64::try_from(growth << 1).unwrap_or(u64::MAX >> 16));
        let rcvbuf = self.space_from_window(window.min(u64::MAX >> 16)).min(self.host.rmem[2]);
        if rcvbuf > self.rcvbuf {
            self.rcvbuf = rcvbuf;
            self.window_clamp = self.window_from_space(rcvbuf);
        }
    }
}

/// Whether a segment below `rcv_mss` says something about the sender's segments (`tcp_measure_rcv_mss()`).
fn is_measurable(len: u32, push: bool) -> bool {
    len >= SMALL_MSS || (len >= SMALLEST_MSS && !push)
}
