//! The smallest change that lifts a limit, and what it should bring.
//!
//! Each change is a list of scenario assignments, as `--set` takes them, so that `pipefill fix` can apply and measure it.
//! Never: a change to the path, where the path is what is asked about (its rate, delay and loss are given; a queue is not),
//! or advice that was not derived from the diagnosis.

use crate::buffers::{self, triple};
use crate::diagnosis::Diagnosis;
use crate::experiment::Advice;
use crate::models::{sizing, window};
use crate::statistics::rounded;
use crate::wording::{bytes, rate, span};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, HostSpec};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, Rate};
use std::time::Duration;

/// A window of exactly one BDP leaves the path idle whenever an ACK is late.
const MARGIN: f64 = 1.25;
/// Slow start and the first recovery should be this small a part of a transfer.
const STARTUP_PART: u32 = 20;
/// Where the path has no rate, a limit is lifted this far.
const UNKNOWN_RATE_FACTOR: u64 = 2;

/// The advice for a run of `spec` with `diagnosis`, which had `goodput_bps`. Never empty: where nothing helps it says so.
pub fn advise(spec: &CellSpec, diagnosis: &Diagnosis, goodput_bps: u64) -> Vec<Advice> {
    let case = Case { spec, diagnosis, goodput_bps };
    match diagnosis.limited_by {
        LimitedBy::Path => vec![case.nothing(case.of_the_path())],
        LimitedBy::Rwnd => vec![case.larger_receive_buffer()],
        LimitedBy::Sndbuf => vec![case.larger_send_buffer()],
        LimitedBy::Cwnd => case.larger_cwnd(),
        LimitedBy::Pacing => vec![case.faster_pacing()],
        LimitedBy::App => {
            vec![case.nothing("the sender's application offers no more; the network is not the limit")]
        }
        LimitedBy::Receiver => {
            vec![case.nothing("the receiving application reads no faster; no buffer makes up for that")]
        }
        LimitedBy::Cpu => {
            vec![case.nothing("an end computes all the time; fewer, larger packets or a faster CPU")]
        }
        LimitedBy::Testbed => case.testbed(),
        LimitedBy::Unknown => Vec::new(),
    }
}

struct Case<'a> {
    spec: &'a CellSpec,
    diagnosis: &'a Diagnosis,
    goodput_bps: u64,
}

impl Case<'_> {
    fn nothing(&self, why: &str) -> Advice {
        Advice {
            change: "nothing".to_owned(),
            set: Vec::new(),
            commands: Vec::new(),
            why: why.to_owned(),
            predicted_bps: Some(self.goodput_bps),
        }
    }

    /// Why no change of an end helps where the path is the limit. Without a window, what the path loses by itself limits too.
    fn of_the_path(&self) -> &'static str {
        match self.diagnosis.figures.path_goodput_bps {
            Some(_) => "the pipe is full; only a faster path helps",
            None => {
                "the path drops datagrams, and nobody sends those again; only a better path, or less offered, helps"
            }
        }
    }

    /// What the streams should reach: the path's payload rate, or twice what they had.
    fn target_bps(&self) -> u64 {
        let full = self.diagnosis.figures.path_goodput_bps;
        full.unwrap_or(self.goodput_bps.saturating_mul(UNKNOWN_RATE_FACTOR))
    }

    /// What has to be in flight for that, of one stream.
    fn flight_needed(&self) -> Bytes {
        let figures = &self.diagnosis.figures;
        let rtt = Duration::from_micros(figures.min_rtt_us.or(figures.srtt_us).unwrap_or(0));
        let bdp = Rate::from_bps(self.target_bps()).bdp(rtt).get();
        let streams: u64 = self.tcp_flows().map(|flow| u64::from(flow.parallel)).sum();
        Bytes::new(rounded(bdp as f64 * MARGIN) / streams.max(1) + sizing::SUPER_PACKET.get())
    }

    fn tcp_flows(&self) -> impl Iterator<Item = &FlowSpec> {
        buffers::tcp_flows(self.spec)
    }

    fn is_forward(&self) -> bool {
        self.tcp_flows().any(|flow| flow.direction == Direction::Forward)
    }

    /// The host that sends or receives the data, with its name in a scenario.
    fn host(&self, sends: bool) -> (&'static str, &HostSpec) {
        if sends == self.is_forward() {
            ("sender", &self.spec.sender)
        } else {
            ("receiver", &self.spec.receiver)
        }
    }

    fn larger_receive_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let (name, host) = self.host(false);
        let mut change = Change::default();
        if host.sysctl.get("net.ipv4.tcp_window_scaling").is_some_and(|value| value.trim() == "0") {
            change.set.push("host.sysctl.net.ipv4.tcp_window_scaling=1".to_owned());
            change.commands.push("sysctl -w net.ipv4.tcp_window_scaling=1    # both ends".to_owned());
        } else {
            self.receive_buffer(&mut change, name, host, needed);
        }
        let held = self.diagnosis.figures.sndbuf_bytes.is_some_and(|limit| limit < needed.get());
        if held && self.send_buffer_maximum() < sizing::tcp_wmem(needed)[2] {
            self.send_buffer(&mut change, needed);
        }
        let why = format!(
            "a window of {} is needed to keep {} in flight over the round trip",
            bytes(needed.get()),
            rate(self.target_bps())
        );
        change.advice(why, Some(self.target_bps()))
    }

    fn receive_buffer(&self, change: &mut Change, name: &str, host: &HostSpec, needed: Bytes) {
        if self.tcp_flows().any(|flow| flow.rcvbuf.is_some()) {
            // SO_RCVBUF is doubled by the kernel (socket(7)): a request of the flight itself leaves room for its overhead.
            change.set.push(format!("flow.rcvbuf={}B", needed.get()));
            change.commands.push(format!("setsockopt(SO_RCVBUF, {})    # needs rmem_max", needed.get()));
            return;
        }
        let [least, initial, _] = triple(host, "net.ipv4.tcp_rmem").unwrap_or([4096, 131_072, 0]);
        change.sysctl(name, "tcp_rmem", [least, initial, sizing::tcp_rmem(needed)[2]]);
    }

    fn larger_send_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let mut change = Change::default();
        self.send_buffer(&mut change, needed);
        let why = format!(
            "{} have to be in flight; a writer keeps two thirds of the send buffer filled, and packets cost more \
             memory than their payload",
            bytes(needed.get())
        );
        let allowed = self.diagnosis.figures.rwnd_bytes.and_then(|rwnd| self.law(rwnd));
        change.advice(why, Some(allowed.map_or(self.target_bps(), |bps| bps.min(self.target_bps()))))
    }

    fn send_buffer(&self, change: &mut Change, needed: Bytes) {
        let maximum = sizing::tcp_wmem(needed)[2];
        if self.tcp_flows().any(|flow| flow.sndbuf.is_some()) {
            change.set.push(format!("flow.sndbuf={}B", maximum / 2));
            change.commands.push(format!("setsockopt(SO_SNDBUF, {})    # needs wmem_max", maximum / 2));
            return;
        }
        let (name, host) = self.host(true);
        let [least, initial, _] = triple(host, "net.ipv4.tcp_wmem").unwrap_or([4096, 16_384, 0]);
        change.sysctl(name, "tcp_wmem", [least, initial, maximum]);
    }

    fn direction(&self) -> Direction {
        if self.is_forward() { Direction::Forward } else { Direction::Reverse }
    }

    fn send_buffer_maximum(&self) -> u64 {
        buffers::send_maximum(self.spec, self.direction())
    }

    fn receive_buffer_maximum(&self) -> u64 {
        buffers::receive_maximum(self.spec, self.direction())
    }

    fn law(&self, window_bytes: u64) -> Option<u64> {
        let rtt = Duration::from_micros(self.diagnosis.figures.min_rtt_us?);
        window::window_law(Bytes::new(window_bytes), rtt).map(rounded)
    }

    fn larger_cwnd(&self) -> Vec<Advice> {
        match self.diagnosis.cwnd_cause {
            Some(CwndCause::Startup) => vec![self.longer_transfer()],
            Some(CwndCause::QueueLoss) => vec![self.larger_queue(), self.parallel_flows()],
            Some(CwndCause::RandomLoss) => {
                vec![self.bbr("it does not take a lost packet for a full queue"), self.parallel_flows()]
            }
            _ => vec![
                self.bbr("it measures the path's rate instead of growing towards it"),
                self.parallel_flows(),
            ],
        }
    }

    fn longer_transfer(&self) -> Advice {
        let figures = &self.diagnosis.figures;
        let rtt = Duration::from_micros(figures.srtt_us.unwrap_or(0));
        let mss = Bytes::new(figures.mss_bytes.unwrap_or(1448));
        let startup = window::slow_start_time(self.flight_needed(), mss, rtt).unwrap_or(rtt);
        let longest = self.tcp_flows().map(|flow| flow.duration).max().unwrap_or_default();
        let needed = (startup * STARTUP_PART).max(longest * 2);
        let mut change = Change::default();
        change.set.push(format!("flow.duration={}ms", needed.as_millis()));
        self.buffers_behind(&mut change);
        let why = format!("slow start alone takes {} here", span(startup));
        change.advice(why, Some(self.target_bps()))
    }

    /// A longer transfer only shows the next limit where a buffer is too small for the path.
    fn buffers_behind(&self, change: &mut Change) {
        let needed = self.flight_needed();
        if self.send_buffer_maximum() < sizing::tcp_wmem(needed)[2] {
            self.send_buffer(change, needed);
        }
        let (name, host) = self.host(false);
        if self.receive_buffer_maximum() < sizing::tcp_rmem(needed)[2] {
            self.receive_buffer(change, name, host, needed);
        }
    }

    fn larger_queue(&self) -> Advice {
        let mut change = Change::default();
        change.set.push("path.queue=1bdp".to_owned());
        let why = "a window that is cut to 0.7 of itself keeps the pipe full where the queue holds 0.43 BDP (CUBIC) to one BDP (Reno)";
        change.advice(why.to_owned(), Some(self.target_bps()))
    }

    fn bbr(&self, why: &str) -> Advice {
        let mut change = Change::default();
        // The end's own key: it holds over [host], and over what the scenario may say of that end.
        change.set.push(format!("{}.congestion_control=bbr", self.host(true).0));
        if self.tcp_flows().any(|flow| flow.congestion_control.is_some()) {
            change.set.push("flow.congestion_control=bbr".to_owned());
        }
        change.commands.push("sysctl -w net.ipv4.tcp_congestion_control=bbr    # sender".to_owned());
        change.advice(why.to_owned(), Some(self.target_bps()))
    }

    fn parallel_flows(&self) -> Advice {
        let streams: u64 = self.tcp_flows().map(|flow| u64::from(flow.parallel)).sum();
        let factor = (self.target_bps() / self.goodput_bps.max(1) + 1).clamp(2, 16);
        let mut change = Change::default();
        change.set.push(format!("flow.parallel={}", streams * factor));
        let why = "each stream recovers on its own, and a loss cuts only one of them".to_owned();
        change.advice(why, Some(self.target_bps().min(self.goodput_bps.saturating_mul(factor))))
    }

    fn faster_pacing(&self) -> Advice {
        if self.tcp_flows().all(|flow| flow.max_pacing_rate.is_none()) {
            return self.nothing("the congestion control paces at what it takes for the path's rate");
        }
        let mut change = Change::default();
        let kbit = (self.target_bps() + self.target_bps() / 10).div_ceil(1_000).max(1);
        // Three digits, upwards: a limit is no measurement.
        let step = 10_u64.pow(kbit.ilog10().saturating_sub(2));
        let kbit = kbit.div_ceil(step) * step;
        change.set.push(format!("flow.max_pacing_rate={kbit}kbit"));
        change.commands.push(format!("setsockopt(SO_MAX_PACING_RATE, {})    # bytes/s", kbit * 125));
        change.advice("the socket's own limit is below the path's rate".to_owned(), Some(self.target_bps()))
    }

    fn testbed(&self) -> Vec<Advice> {
        let forward = &self.spec.path.forward;
        if forward.delay_limit.is_some() {
            let mut change = Change::default();
            change.set.push("path.delay_limit=1000000p".to_owned());
            change.commands.push("tc qdisc change … netem limit 1000000".to_owned());
            let why =
                "the delay element holds fewer packets than rate × delay, and drops the rest".to_owned();
            return vec![change.advice(why, Some(self.target_bps()))];
        }
        vec![self.nothing("the testbed itself is at its limit: lower the rate, or use --on sim")]
    }
}

/// A change being put together.
#[derive(Default)]
struct Change {
    set: Vec<String>,
    commands: Vec<String>,
}

impl Change {
    fn sysctl(&mut self, host: &str, name: &str, [least, initial, maximum]: [u64; 3]) {
        self.set.push(format!("{host}.{name}={least} {initial} {maximum}"));
        self.commands.push(format!("sysctl -w net.ipv4.{name}='{least} {initial} {maximum}'    # {host}"));
    }

    fn advice(self, why: String, predicted_bps: Option<u64>) -> Advice {
        Advice { change: self.set.join(", "), set: self.set, commands: self.commands, why, predicted_bps }
    }
}
