//! The smallest change that lifts a flow's limit, and what it should bring.
//!
//! Each change is a list of scenario assignments, as `--set` takes them, so that `pipefill fix` can apply and measure it: the keys of this
//! flow and of its direction, within the limits of the kernel and of the scenario, and nothing that is so already. The path's rate, delay
//! and loss are given and never changed; its queue may be.

mod change;
mod latency;
mod prediction;
mod window;

use crate::findings::finding::Advice;
use crate::findings::verdict::Subject;
use crate::ground::models::window as laws;
use crate::ground::statistics::rounded;
use crate::ground::wording::span;
use change::{Change, flow_key, host_name, nothing, shares_its_table};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, Rate};
use prediction::Changed;
use std::time::Duration;

/// Slow start and the first recovery should be this small a part of a transfer.
const STARTUP_PART: u32 = 20;
/// Where the path has no rate, a limit is lifted this far.
const UNKNOWN_RATE_FACTOR: u64 = 2;
/// Streams of one flow at most (`flow.parallel`).
const STREAMS_MAX: u64 = 1024;
/// A queue of one BDP keeps the pipe full whatever part of its window a sender gives up.
const QUEUE_BDP: f64 = 1.0;
/// A sender that keeps so far below a policer's rate loses nothing to it.
const BELOW_A_POLICER: f64 = 0.95;
/// Streams share a loss between them while losses are rare.
const RARE: f64 = 0.1;

/// The advice for one flow; the first is the smallest change. Never empty: where nothing helps it says so. `room_bps` is what the flow could
/// reach beside the others, `None` where the path has no rate.
pub fn advise(subject: &Subject<'_>, room_bps: Option<f64>) -> Vec<Advice> {
    let case = Case { subject, room_bps };
    let mut advice = case.for_throughput();
    advice.extend(case.for_latency());
    advice
}

struct Case<'a> {
    subject: &'a Subject<'a>,
    room_bps: Option<f64>,
}

impl Case<'_> {
    fn for_throughput(&self) -> Vec<Advice> {
        let found = match self.subject.diagnosis.limited_by {
            LimitedBy::Path => vec![self.nothing(self.of_the_path())],
            LimitedBy::Rwnd => vec![self.larger_receive_buffer()],
            LimitedBy::Sndbuf => vec![self.larger_send_buffer()],
            LimitedBy::Cwnd => self.larger_cwnd(),
            LimitedBy::Pacing => vec![self.faster_pacing()],
            LimitedBy::App => {
                vec![self.nothing("the application offers no more; the network is not the limit")]
            }
            LimitedBy::Receiver => vec![self.nothing(self.of_the_receiver())],
            LimitedBy::Cpu => vec![self.nothing(self.of_the_cpu())],
            LimitedBy::Testbed => vec![self.testbed()],
            LimitedBy::Unknown => vec![self.nothing("what was recorded does not tell what to change")],
        };
        if found.is_empty() { vec![self.nothing("no change of an end lifts this limit")] } else { found }
    }

    fn nothing(&self, why: &str) -> Advice {
        nothing(why, self.subject.goodput_bps)
    }

    fn key(&self, name: &str) -> String {
        flow_key(self.subject.spec, self.index(), name)
    }

    fn index(&self) -> usize {
        usize::try_from(self.subject.diagnosis.flow).unwrap_or(usize::MAX)
    }

    /// The scenario's name of a key of the path in `direction`.
    fn path_key(direction: Direction, name: &str) -> String {
        match direction {
            Direction::Forward => format!("path.{name}"),
            Direction::Reverse => format!("path.reverse_{name}"),
        }
    }

    /// Why no change of an end helps where the path is the limit. Without a window, what the path loses by itself limits too.
    fn of_the_path(&self) -> &'static str {
        match self.subject.flow.protocol {
            Protocol::Udp => {
                "the path drops datagrams, and nobody sends those again; only a better path, or less offered, helps"
            }
            _ => "the pipe is full; only a faster path helps",
        }
    }

    fn of_the_receiver(&self) -> &'static str {
        match self.subject.flow.protocol {
            Protocol::Udp => {
                "the receiving socket's buffer overflows; a larger one (SO_RCVBUF) or a faster reader helps"
            }
            _ => "the receiving application reads no faster; no buffer makes up for that",
        }
    }

    fn of_the_cpu(&self) -> &'static str {
        match self.subject.diagnosis.figures.cpu_wait_share {
            Some(waited) if waited >= 0.1 => {
                "other programs use the CPU that the endpoint needs; end them, or give it one of its own"
            }
            _ => "an endpoint is CPU-bound; fewer, larger packets or a faster CPU help",
        }
    }

    /// What the flow should reach: its room beside the others, or twice what it had; no more than its application, its reader and its pacing
    /// allow.
    fn target_bps(&self) -> u64 {
        let Subject { flow, goodput_bps, .. } = *self.subject;
        let room = self.room_bps.map_or(goodput_bps.saturating_mul(UNKNOWN_RATE_FACTOR), rounded);
        let own = [flow.bitrate, flow.read_rate, self.pacing_limit()];
        let own = own.into_iter().flatten().map(|rate| rate.bps().saturating_mul(u64::from(flow.parallel)));
        own.fold(room, u64::min).max(goodput_bps)
    }

    fn pacing_limit(&self) -> Option<Rate> {
        self.subject.flow.max_pacing_rate.filter(|_| self.subject.diagnosis.limited_by != LimitedBy::Pacing)
    }

    fn base_rtt(&self) -> Option<Duration> {
        let figures = &self.subject.diagnosis.figures;
        let us = figures.base_rtt_us.or(figures.min_rtt_us).or(figures.srtt_us).filter(|&us| us > 0)?;
        Some(Duration::from_micros(us))
    }

    fn larger_cwnd(&self) -> Vec<Advice> {
        let found = match self.subject.diagnosis.cwnd_cause {
            Some(CwndCause::Startup) => vec![Some(self.longer_transfer())],
            Some(CwndCause::QueueLoss) => {
                vec![
                    self.larger_queue(),
                    self.bbr("it does not fill the queue until it drops"),
                    self.more_streams(),
                ]
            }
            Some(CwndCause::Policer) => vec![Some(self.pace_below_the_policer())],
            Some(CwndCause::AckPath) => vec![
                self.pace_the_other_way(),
                self.bbr("it keeps its rate where few ACKs come"),
                self.more_streams(),
            ],
            Some(CwndCause::RandomLoss) => {
                vec![self.bbr("it does not take a lost packet for a full queue"), self.more_streams()]
            }
            // BBR takes what overtakes for the least round trip, and its BDP becomes too small.
            Some(CwndCause::Reordering) => vec![self.more_streams()],
            Some(CwndCause::Growth | CwndCause::HystartExit) | None => {
                vec![
                    self.bbr("it measures the path's rate instead of growing towards it"),
                    self.more_streams(),
                ]
            }
        };
        found.into_iter().flatten().collect()
    }

    fn longer_transfer(&self) -> Advice {
        let figures = &self.subject.diagnosis.figures;
        let rtt =
            self.base_rtt().unwrap_or_default().max(Duration::from_micros(figures.srtt_us.unwrap_or(0)));
        let mss = Bytes::new(figures.mss_bytes.unwrap_or(1448));
        let startup = laws::slow_start_time(self.flight_needed(), mss, rtt).unwrap_or(rtt).max(rtt);
        let needed = (startup * STARTUP_PART).max(self.subject.flow.duration * 2);
        let mut change = Change::default();
        change.set.push(format!("{}={}ms", self.key("duration"), needed.as_millis()));
        self.buffers_behind(&mut change);
        {
            let predicted = self.predicted(self.target_bps(), self.as_it_is());
            change.advice(format!("slow start alone takes {} here", span(startup)), predicted)
        }
    }

    fn larger_queue(&self) -> Option<Advice> {
        let direction = self.subject.flow.direction;
        if self.queue_bdp()? >= QUEUE_BDP {
            return None;
        }
        let mut change = Change::default();
        change.set.push(format!("{}=1bdp", Self::path_key(direction, "queue")));
        let why = "a window that is cut to 0.7 of itself keeps the pipe full where the queue holds 0.43 BDP (CUBIC) to one BDP (Reno)";
        let predicted =
            self.predicted(self.target_bps(), Changed { has_long_queue: true, ..self.as_it_is() });
        Some(change.advice(why.to_owned(), predicted))
    }

    fn congestion_control(&self) -> &str {
        let Subject { spec, flow, .. } = *self.subject;
        flow.congestion_control.as_deref().unwrap_or(&spec.data_sender(flow.direction).congestion_control)
    }

    /// `None` where it is BBR already.
    fn bbr(&self, why: &str) -> Option<Advice> {
        let change = self.with_bbr()?;
        let predicted = self.predicted(self.target_bps(), Changed { control: "bbr", ..self.as_it_is() });
        Some(change.advice(why.to_owned(), predicted))
    }

    fn with_bbr(&self) -> Option<Change> {
        let Subject { spec, flow, .. } = *self.subject;
        if self.congestion_control() == "bbr" {
            return None;
        }
        let mut change = Change::default();
        let is_shared = shares_its_table(spec, self.index());
        let has_own = flow.congestion_control.is_some();
        if has_own || (spec.flows.len() > 1 && !is_shared) {
            change.set.push(format!("{}=bbr", self.key("congestion_control")));
        } else {
            // The end's own key: it holds over [host], and over what the scenario may say of that end.
            change.set.push(format!("{}.congestion_control=bbr", host_name(flow, true)));
        }
        change
            .commands
            .push("sysctl -w net.ipv4.tcp_congestion_control=bbr    # on the host that sends".to_owned());
        Some(change)
    }

    /// `None` where there are as many streams as there may be.
    fn more_streams(&self) -> Option<Advice> {
        let Subject { flow, goodput_bps, .. } = *self.subject;
        let streams = u64::from(flow.parallel);
        let factor = (self.target_bps() / goodput_bps.max(1)).saturating_add(1).clamp(2, 16);
        let more = (streams * factor).min(STREAMS_MAX);
        if more <= streams {
            return None;
        }
        let mut change = Change::default();
        change.set.push(format!("{}={more}", self.key("parallel")));
        let each = goodput_bps.saturating_mul(more / streams.max(1));
        let is_rare = self.subject.diagnosis.figures.loss_share.is_none_or(|share| share <= RARE);
        let is_known =
            is_rare && !self.is_disordered(false) && !self.acks_are_held_up() && !self.has_rivals();
        let predicted = is_known.then(|| self.target_bps().min(each));
        let why = "each stream recovers on its own, and a loss cuts only one of them".to_owned();
        Some(change.advice(why, predicted))
    }

    fn faster_pacing(&self) -> Advice {
        if self.subject.flow.max_pacing_rate.is_none() {
            return self.nothing("the congestion control paces at what it takes for the path's rate");
        }
        let streams = u64::from(self.subject.flow.parallel).max(1);
        let target = self.target_bps() / streams;
        let change = self.paced(target + target / 10);
        let predicted = self.predicted(self.target_bps(), self.as_it_is());
        change.advice("the socket's own limit is below the path's rate".to_owned(), predicted)
    }

    /// Paced at `bps` a stream, three digits, upwards: a limit is no measurement.
    fn paced(&self, bps: u64) -> Change {
        let kbit = bps.div_ceil(1_000).max(1);
        let step = 10_u64.pow(kbit.ilog10().saturating_sub(2));
        let kbit = kbit.div_ceil(step) * step;
        let mut change = Change::default();
        change.set.push(format!("{}={kbit}kbit", self.key("max_pacing_rate")));
        change
            .commands
            .push(format!("setsockopt(SO_MAX_PACING_RATE, {})    # bytes/s", kbit.saturating_mul(125)));
        change
    }

    fn pace_below_the_policer(&self) -> Advice {
        let streams = u64::from(self.subject.flow.parallel).max(1);
        let target = rounded(self.target_bps() as f64 * BELOW_A_POLICER);
        let kbit = (target / streams / 1_000).max(1);
        let mut change = Change::default();
        change.set.push(format!("{}={kbit}kbit", self.key("max_pacing_rate")));
        change
            .commands
            .push(format!("setsockopt(SO_MAX_PACING_RATE, {})    # bytes/s", kbit.saturating_mul(125)));
        let why = "a sender that stays below the policer's rate loses nothing to it".to_owned();
        // Bursts of super-packets may still be too much for its short queue.
        change.advice(why, None)
    }

    /// Another flow fills the queue in which this one's ACKs wait: paced, it leaves room for them. `None` where no such flow is found.
    fn pace_the_other_way(&self) -> Option<Advice> {
        let Subject { spec, flow, .. } = *self.subject;
        let back = flow.direction.opposite();
        let rate = spec.path.way(back).bottleneck.as_ref()?.rate;
        let is_bulk = |other: &&(usize, &pipefill_core::cell::FlowSpec)| {
            other.1.direction == back && other.1.protocol == Protocol::Tcp && other.1.bitrate.is_none()
        };
        let (index, other) = spec.flows.iter().enumerate().find(|other| is_bulk(&other))?;
        if shares_its_table(spec, index) {
            return None;
        }
        // An ACK of 66 bytes for every second segment of 1448.
        let acks = self.target_bps() as f64 * 66.0 / (2.0 * 1448.0);
        let left = ((rate.bps() as f64 - 1.2 * acks) * 0.9).max(rate.bps() as f64 / 10.0);
        let kbit = (rounded(left) / u64::from(other.parallel).max(1) / 1_000).max(1);
        let mut change = Change::default();
        change.set.push(format!("{}={kbit}kbit", flow_key(spec, index, "max_pacing_rate")));
        change
            .commands
            .push(format!("setsockopt(SO_MAX_PACING_RATE, {})    # bytes/s, on the other flow", kbit * 125));
        let why = "the flow of the other direction fills the queue in which these ACKs wait; paced below its rate it leaves it empty";
        // How much of the path the ACKs then leave is not known beforehand.
        Some(change.advice(why.to_owned(), None))
    }

    fn testbed(&self) -> Advice {
        let direction = self.subject.flow.direction;
        if self.subject.spec.path.way(direction).delay_limit.is_none() {
            return self.nothing("the testbed itself is at its limit: lower the rate");
        }
        let mut change = Change::default();
        change.set.push(format!("{}=1000000p", Self::path_key(direction, "delay_limit")));
        change.commands.push("tc qdisc change … netem limit 1000000".to_owned());
        let why = "the delay element holds fewer packets than rate × delay, and drops the rest".to_owned();
        change.advice(why, self.predicted(self.target_bps(), self.as_it_is()))
    }
}
