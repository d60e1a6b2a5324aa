//! The receiving end of a connection: puts data in order, holds it until the application reads, and answers.

use super::ack_policy::{AckPolicy, MAX_QUICK};
use super::ecn::ReceiverEcn;
use super::limits::FIRST_BYTE;
use super::packet_memory;
use super::reassembly::Reassembly;
use super::receive_window::{DEFAULT_RATIO, Tuning};
use super::rtt::Rtt;
use crate::host::Host;
use crate::segment::{Data, Header, Range};
use pipefill_core::units::Time;
use std::collections::VecDeque;

/// `TCP_MSS_DEFAULT`: the first guess at the sender's segment size, unless ours is smaller (`tcp_initialize_rcv_mss()`).
const FIRST_GUESS: u32 = 536;
/// Smaller segments do not open the window (`tcp_event_data_recv()`).
const SMALL: u32 = 128;
/// `SOCK_MIN_RCVBUF`, roughly.
const SMALLEST_BUFFER: u64 = 2304;

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) host: Host,
    pub(crate) mss: u32,
    pub(crate) rcv_nxt: u64,
    /// What the application has read.
    pub(crate) copied_seq: u64,
    /// `rcv_wup`: `rcv_nxt` as of the last ACK.
    pub(crate) rcv_wup: u64,
    pub(crate) rcv_wnd: u64,
    /// The right edge of the window last told.
    pub(crate) window_right: u64,
    pub(crate) rcv_ssthresh: u64,
    pub(crate) window_clamp: u64,
    /// Window scale.
    pub(crate) scale: u32,
    /// `scaling_ratio`, of 256.
    pub(crate) ratio: u64,
    pub(crate) rcvbuf: u64,
    pub(crate) is_locked: bool,
    /// `sk_rmem_alloc`.
    pub(crate) rmem_alloc: u64,
    pub(crate) rcv_mss: u32,
    /// `last_seg_size`: the segment before, where it was a small one; else 0.
    pub(crate) last_small: u32,
    pub(crate) tuning: Tuning,
    pub(crate) ack_policy: AckPolicy,
    pub(crate) ecn: ReceiverEcn,
    pub(crate) reassembly: Reassembly,
    pub(crate) ts_recent: u32,
    /// Something came or was read since the window was told last.
    pub(crate) has_news: bool,
    pub(crate) data_segs_in: u32,
    pub(crate) rcv_ooo: u32,
    pub(crate) segs_out: u32,
    /// What the sending half has sent: the next sequence number, and the packets that wait to enter the path.
    pub(crate) snd_nxt: u64,
    pub(crate) sent_before: usize,
    /// ACKs that wait to enter the path, each with the number of packets of the sending half that go before it.
    pub(crate) outbox: Vec<(usize, Header)>,
    /// Ends and memory of what lies in order.
    in_order: VecDeque<(u64, u64)>,
}

impl Receiver {
    /// `rcvbuf` is `SO_RCVBUF` as asked (the kernel doubles it); `None` = autotuning. The end that calls does not know yet whether there
    /// will be timestamps, so that its first window is in whole segments without options (`tcp_connect_init()`).
    pub(crate) fn new(host: Host, rcvbuf: Option<u64>, is_caller: bool) -> Self {
        let mss = host.mss();
        let mut receiver = Self {
            host,
            mss,
            rcv_nxt: FIRST_BYTE,
            copied_seq: FIRST_BYTE,
            rcv_wup: FIRST_BYTE,
            rcv_wnd: 0,
            window_right: FIRST_BYTE,
            rcv_ssthresh: 0,
            window_clamp: 0,
            scale: 0,
            ratio: DEFAULT_RATIO,
            rcvbuf: rcvbuf.map_or(host.rmem[1], |asked| asked.saturating_mul(2).max(SMALLEST_BUFFER)),
            is_locked: rcvbuf.is_some(),
            rmem_alloc: 0,
            rcv_mss: FIRST_GUESS.min(mss),
            last_small: 0,
            tuning: Tuning::default(),
            ack_policy: AckPolicy::default(),
            ecn: ReceiverEcn::new(&host),
            reassembly: Reassembly::default(),
            ts_recent: 0,
            has_news: true,
            data_segs_in: 0,
            rcv_ooo: 0,
            segs_out: 0,
            snd_nxt: FIRST_BYTE,
            sent_before: 0,
            outbox: Vec::new(),
            in_order: VecDeque::new(),
        };
        receiver.set_initial_window(if is_caller { host.ip.advertised_mss() } else { mss });
        receiver
    }

    /// The handshake is complete.
    pub(crate) fn established(&mut self, now: Time) {
        self.ack_policy.last_data = now;
        self.init_buffer_space(now);
    }

    /// Bytes that the application may read.
    pub(crate) fn readable(&self) -> u64 {
        self.rcv_nxt - self.copied_seq
    }

    /// The memory of every packet held, counted again.
    pub(crate) fn memory_held(&self) -> u64 {
        self.in_order.iter().map(|&(_, memory)| memory).sum::<u64>() + self.reassembly.memory()
    }

    /// `tcp_validate_incoming()`: whether a segment with payload is taken; one that is not is answered at once.
    #[inline(always)]
    pub(crate) fn accepts(&mut self, now: Time, data: &Data) -> bool {
        let range = data.range();
        self.data_segs_in = self.data_segs_in.wrapping_add(data.len.div_ceil(self.mss));
        let is_accepted = !self.is_outdated(&data.header) && !self.is_out_of_sequence(range);
        if !is_accepted {
            self.refuse(now, range);
        }
        is_accepted
    }

    /// `tcp_data_queue()`: whether an ACK is due is for [`Self::check_ack`].
    #[inline(always)]
    pub(crate) fn queue(&mut self, now: Time, data: &Data, rtt: &Rtt) {
        let range = data.range();
        self.has_news = true;
        if data.header.ecn != 0 || self.ecn.is_seen {
            self.take_ecn(now, data);
        }
        self.measure_rtt_by_echo(now, data.header.ts_echo, data.len);
        if range.end <= self.rcv_nxt {
            self.reassembly.report_duplicate(range);
            self.enter_quick_mode(MAX_QUICK);
            self.ack_policy.schedule();
        } else if range.start >= self.rcv_nxt + self.window_left() {
            // Beyond the window: the sender is told where it ends.
            self.enter_quick_mode(MAX_QUICK);
            self.ack_policy.schedule();
        } else if range.start <= self.rcv_nxt {
            self.take_in_order(now, data, range, rtt);
        } else {
            self.take_out_of_order(now, data, range);
        }
    }

    /// Takes a segment at an end that sends nothing, 10 ms away.
    #[cfg(test)]
    pub(crate) fn on_data(&mut self, now: Time, data: &Data) {
        if self.accepts(now, data) {
            let mut rtt = Rtt::new();
            rtt.sample(10_000, 0, 0);
            self.note_timestamp(&data.header);
            self.queue(now, data, &rtt);
            self.check_ack(now, &rtt);
        }
    }

    /// The application reads up to `limit` bytes, packet by packet (`tcp_recvmsg_locked()`); returns how many.
    pub(crate) fn read(&mut self, now: Time, limit: u64) -> u64 {
        let copied = self.readable().min(limit);
        self.has_news |= copied > 0;
        let until = self.copied_seq + copied;
        while let Some((end, memory)) = self.in_order.pop_front_if(|(end, _)| *end <= until) {
            self.copied_seq = end;
            self.rmem_alloc -= memory;
            self.adjust_space(now);
        }
        if self.copied_seq < until {
            self.copied_seq = until;
            self.adjust_space(now);
        }
        self.after_read(now, copied);
        copied
    }

    /// `tcp_sequence()`: before all that is not yet acknowledged, or beyond the window.
    fn is_out_of_sequence(&self, range: Range) -> bool {
        range.end < self.rcv_wup || range.start > self.rcv_nxt + self.window_left()
    }

    #[inline(always)]
    fn take_in_order(&mut self, now: Time, data: &Data, range: Range, rtt: &Rtt) {
        if range.start < self.rcv_nxt {
            self.reassembly.report_duplicate(Range { start: range.start, end: self.rcv_nxt });
        }
        let memory = packet_memory::of_packet(data.len, self.host.ip.header, self.host.remakes_packets);
        self.hold(range.end, memory.total);
        self.measure_segment(data.len, memory.total, data.push);
        self.measure_rtt_by_window(now);
        self.on_data_event(now, rtt);
        if data.len >= SMALL {
            self.grow_window(data.len, memory.of_payload);
        }
        if !self.reassembly.is_empty() {
            while let Some((end, memory)) = self.reassembly.take_reached(self.rcv_nxt) {
                self.rmem_alloc -= memory;
                self.hold(end.max(self.rcv_nxt), memory);
            }
            // RFC 5681, 4.2: an ACK at once where a hole is filled.
            self.ack_policy.is_urgent |= self.reassembly.is_empty();
        }
    }

    fn take_out_of_order(&mut self, now: Time, data: &Data, range: Range) {
        let memory = packet_memory::of_packet(data.len, self.host.ip.header, self.host.remakes_packets);
        self.measure_segment(data.len, memory.total, data.push);
        self.rcv_ooo += data.len.div_ceil(self.mss);
        self.ack_policy.schedule();
        if self.reassembly.crowds_out(range) {
            self.send_compressed(now);
        }
        if self.reassembly.insert(range, memory.total) {
            self.rmem_alloc += memory.total;
            self.grow_window(data.len, memory.total);
        }
    }

    fn hold(&mut self, end: u64, memory: u64) {
        self.rcv_nxt = end;
        self.rmem_alloc += memory;
        self.in_order.push_back((end, memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{SimOptions, WindowRule};

    fn receiver(rule: WindowRule, rcvbuf: Option<u64>) -> Receiver {
        let options = SimOptions { gso: false, window_rule: rule, ..SimOptions::default() };
        let mut receiver = Receiver::new(Host::usual(options), rcvbuf, false);
        receiver.established(Time::ZERO);
        receiver
    }

    fn data(seq: u64) -> Data {
        Data { header: Header { seq, ..Header::default() }, len: 1448, push: false }
    }

    fn acks(receiver: &mut Receiver) -> Vec<(u64, u64)> {
        receiver.outbox.drain(..).map(|(_, header)| (header.ack, header.window)).collect()
    }

    /// 65,160 bytes on the virtual Linux 6.12 at the default of 131,072.
    #[test]
    fn the_first_window_is_half_the_buffer_in_whole_segments() {
        assert_eq!(receiver(WindowRule::ScalingRatio, None).rcv_wnd, 65_160);
    }

    /// The window law: a locked buffer allows `2 × asked × 153 / 256` once a packet was seen; half with the older rule at 1.
    #[test]
    fn a_fixed_buffer_gives_the_window_of_the_law() {
        for (rule, want) in [
            (WindowRule::ScalingRatio, 524_288 * 153 / 256),
            (WindowRule::AdvWinScale(1), 262_144),
            (WindowRule::AdvWinScale(-2), 131_072),
        ] {
            let mut receiver = receiver(rule, Some(262_144));
            for i in 0..1000 {
                receiver.on_data(Time::from_nanos(i * 1_000_000), &data(1 + i * 1448));
                receiver.read(Time::from_nanos(i * 1_000_000), u64::MAX);
            }
            receiver.send_ack(Time::from_nanos(1_000_000_000));
            let (_, window) = *acks(&mut receiver).last().expect("an ACK");
            // The packet that opened it last was still in the buffer.
            let room = 1448 + (1 << receiver.scale);
            assert!(window <= want && want - window <= room, "{rule:?}: {window} instead of {want}");
        }
    }

    #[test]
    fn an_application_that_does_not_read_shuts_the_window_and_its_edge_never_moves_back() {
        let mut receiver = receiver(WindowRule::ScalingRatio, None);
        let (mut seq, mut edge) = (1, receiver.window_right);
        while receiver.window_left() >= 1448 {
            receiver.on_data(Time::from_nanos(seq), &data(seq));
            seq += 1448;
            assert!(receiver.window_right >= edge);
            edge = receiver.window_right;
        }
        assert!(receiver.rmem_alloc <= receiver.rcvbuf, "{} of {}", receiver.rmem_alloc, receiver.rcvbuf);
        acks(&mut receiver);
        receiver.read(Time::from_nanos(1_000_000_000), u64::MAX);
        assert!(acks(&mut receiver).iter().any(|&(_, window)| window > 30_000));
    }

    #[test]
    fn a_hole_gives_duplicates_and_its_filling_an_ack_at_once() {
        let mut receiver = receiver(WindowRule::ScalingRatio, None);
        receiver.on_data(Time::ZERO, &data(1));
        acks(&mut receiver);
        receiver.ack_policy.quick = 0;
        for i in 2..5 {
            receiver.on_data(Time::ZERO, &data(1 + i * 1448));
        }
        assert_eq!(acks(&mut receiver).iter().map(|ack| ack.0).collect::<Vec<_>>(), [1449; 3]);
        receiver.on_data(Time::ZERO, &data(1449));
        assert_eq!(acks(&mut receiver).last().map(|ack| ack.0), Some(1 + 5 * 1448));
        assert_eq!(receiver.read(Time::ZERO, u64::MAX), 5 * 1448);
        assert_eq!(receiver.rmem_alloc, 0);
    }

    /// `tcp_rcv_rtt_update()` takes a smaller sample at once: with the first one of 900 ms the window would open later.
    #[test]
    fn the_receiver_believes_a_shorter_round_trip_at_once_and_a_longer_one_slowly() {
        let mut receiver = receiver(WindowRule::ScalingRatio, None);
        for (at_ms, seq, echo, want) in
            [(900, 1, 0, 900_000), (1500, 1449, 900, 600_000), (2900, 2897, 1500, 700_000)]
        {
            let header = Header { seq, ts_echo: echo, ..Header::default() };
            receiver.on_data(Time::from_nanos(at_ms * 1_000_000), &Data { header, ..data(seq) });
            assert_eq!(receiver.tuning.rtt_us(), want, "at {at_ms} ms");
        }
    }
}
