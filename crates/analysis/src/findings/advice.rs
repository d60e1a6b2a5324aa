//! The smallest change that lifts a flow's limit, and what it should bring.
//!
//! Each change is a list of scenario assignments, as `--set` takes them, so that `pipefill fix` can apply and measure it: the keys of this
//! flow and of its direction, within the limits of the kernel and of the scenario, and nothing that is so already. The path's rate, delay
//! and loss are given and never changed; its queue may be.

mod application;
mod datagrams;
mod keys;
mod latency;
mod observed_buffers;
mod prediction;
mod window;

pub(crate) use datagrams::for_overflowing_socket;

use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, EndStacks, HostNames, Proposal, Reason, Setting, Target};
use crate::findings::verdict::JudgedFlow;
use crate::ground::models::window as laws;
use crate::ground::statistics::rounded;
use keys::{flow_key, host_name, shares_its_table};
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::units::Bytes;
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
/// From this share of the time on a thread that waits for a CPU waits for other programs.
const CPU_IS_TAKEN: f64 = 0.1;
/// What the delay element of a testbed is to hold, packets.
const DELAY_LIMIT: u64 = 1_000_000;

/// The advice for one flow; the first is the smallest change. Never empty: where nothing helps it says so.
pub fn advise(judged: &JudgedFlow) -> Vec<Advice> {
    let case = Case { judged };
    let mut advice = case.for_throughput();
    advice.extend(case.for_latency());
    advice
}

struct Case<'a> {
    judged: &'a JudgedFlow,
}

impl Case<'_> {
    fn for_throughput(&self) -> Vec<Advice> {
        let found = match self.judged.diagnosis.limited_by {
            LimitedBy::Path => self.for_the_path(),
            LimitedBy::Rwnd if self.judged.is_observed() => vec![self.wider_seen_window()],
            LimitedBy::Rwnd => vec![self.larger_receive_buffer()],
            LimitedBy::Sndbuf if self.judged.is_observed() => vec![self.larger_seen_send_buffer()],
            LimitedBy::Sndbuf => vec![self.larger_send_buffer()],
            LimitedBy::Cwnd => self.larger_cwnd(),
            LimitedBy::Pacing => vec![self.faster_pacing()],
            LimitedBy::App => self.for_the_application(),
            LimitedBy::Receiver => vec![self.for_the_receiver()],
            LimitedBy::Cpu => vec![self.nothing(self.of_the_cpu())],
            LimitedBy::Testbed => vec![self.testbed()],
            LimitedBy::Unknown => vec![self.nothing(Reason::LimitIsUnknown)],
        };
        if found.is_empty() { vec![self.nothing(Reason::NoChangeHelps)] } else { found }
    }

    fn nothing(&self, reason: Reason) -> Advice {
        self.proposed(Vec::new(), reason, Some(self.judged.goodput_bps))
    }

    /// `changes`, which should bring `predicted_bps`. Nothing of an observed flow can be set in a scenario.
    fn proposed(&self, changes: Vec<Change>, reason: Reason, predicted_bps: Option<u64>) -> Advice {
        let JudgedFlow { flow, goodput_bps, .. } = self.judged;
        let names = if self.judged.is_observed() { HostNames::Observed } else { HostNames::Scenario };
        let hosts = names(flow.direction);
        let proposal = Proposal { changes, reason, hosts, stacks: EndStacks::default() };
        let mut advice = Advice::of(proposal, predicted_bps);
        if self.judged.is_observed() {
            advice.set.clear();
        }
        let carried = flow.duration.as_micros() * u128::from(*goodput_bps);
        let time = |bps: u64| u64::try_from(carried.checked_div(u128::from(bps))?).ok();
        Advice { predicted_us: predicted_bps.and_then(time), ..advice }
    }

    /// A setting of this flow.
    fn of_flow(&self, target: Target, setting: Setting, name: &str) -> Change {
        Change { target, setting, key: self.key(name) }
    }

    /// A setting of the host that sends the flow's data, or of the one that receives it.
    fn of_host(&self, sends: bool, setting: Setting, name: &str) -> Change {
        let target = if sends { Target::Sender } else { Target::Receiver };
        Change { target, setting, key: format!("{}.{name}", host_name(&self.judged.flow, sends)) }
    }

    fn key(&self, name: &str) -> String {
        self.key_of(self.index(), name)
    }

    /// The key of the flow at `index`; empty where there is no scenario.
    fn key_of(&self, index: usize, name: &str) -> String {
        self.judged.plan.as_ref().map_or_else(String::new, |plan| flow_key(plan, index, name))
    }

    fn index(&self) -> usize {
        usize::try_from(self.judged.diagnosis.flow).unwrap_or(usize::MAX)
    }

    /// The scenario's name of a key of the path in `direction`.
    fn path_key(direction: Direction, name: &str) -> String {
        match direction {
            Direction::Forward => format!("path.{name}"),
            Direction::Reverse => format!("path.reverse_{name}"),
        }
    }

    fn for_the_path(&self) -> Vec<Advice> {
        let is_of_datagrams = self.judged.diagnosis.figures.datagrams.is_some();
        vec![match self.judged.diagnosis.cause {
            Some(Cause::Bursts) => return self.without_bursts(),
            Some(Cause::Shared) if is_of_datagrams => self.nothing(Reason::OthersFillTheQueue),
            Some(Cause::Silence) => self.nothing(Reason::NobodyAnswers),
            Some(Cause::Mtu) => {
                let probing = self.of_host(true, Setting::MtuProbing, "sysctl.net.ipv4.tcp_mtu_probing");
                self.proposed(vec![probing], Reason::LinkDropsLargePackets, None)
            }
            _ => self.nothing(self.of_the_path()),
        }]
    }

    /// Why no change of an end helps where the path is the limit. Without a window, what the path loses by itself limits too.
    fn of_the_path(&self) -> Reason {
        match self.judged.flow.protocol {
            Protocol::Udp => Reason::DatagramsAreDropped,
            _ => Reason::PathIsFull,
        }
    }

    fn for_the_receiver(&self) -> Advice {
        match self.judged.flow.protocol {
            Protocol::Udp => self.for_the_receiver_of_datagrams(),
            _ => self.nothing(Reason::ReaderIsSlow),
        }
    }

    fn of_the_cpu(&self) -> Reason {
        match self.judged.diagnosis.figures.cpu_wait_share {
            Some(waited) if waited >= CPU_IS_TAKEN => Reason::CpuIsTaken,
            _ => Reason::CpuIsBusy,
        }
    }

    /// What the flow should reach: its room beside the others, or twice what it had; no more than its application, its reader and its pacing
    /// allow.
    fn target_bps(&self) -> u64 {
        let JudgedFlow { ref flow, goodput_bps, .. } = *self.judged;
        let room = self.judged.room_bps.map_or(goodput_bps.saturating_mul(UNKNOWN_RATE_FACTOR), rounded);
        let is_paced = self.judged.diagnosis.limited_by == LimitedBy::Pacing;
        let own = [flow.bitrate, flow.read_rate, flow.max_pacing_rate.filter(|_| !is_paced)];
        let own = own.into_iter().flatten().map(|rate| rate.bps().saturating_mul(u64::from(flow.parallel)));
        own.fold(room, u64::min).max(goodput_bps)
    }

    fn base_rtt(&self) -> Option<Duration> {
        let figures = &self.judged.diagnosis.figures;
        let us = figures.base_rtt_us.or(figures.min_rtt_us).or(figures.srtt_us).filter(|&us| us > 0)?;
        Some(Duration::from_micros(us))
    }

    fn larger_cwnd(&self) -> Vec<Advice> {
        match self.judged.diagnosis.cause {
            Some(Cause::IdleRestart) => return vec![self.cwnd_kept_after_idle()],
            Some(Cause::Ecn) => {
                let look = self.nothing(Reason::MarksCutTheWindow);
                return std::iter::once(look).chain(self.bbr(Reason::BbrIgnoresMarks)).collect();
            }
            _ => {}
        }
        let found = match self.judged.diagnosis.cwnd_cause {
            Some(CwndCause::Startup) => vec![Some(self.longer_transfer())],
            Some(CwndCause::QueueLoss) => {
                vec![self.larger_queue(), self.bbr(Reason::BbrSparesTheQueue), self.more_streams()]
            }
            Some(CwndCause::Policer) => vec![Some(self.pace_below_the_policer())],
            Some(CwndCause::AckPath) => {
                vec![self.pace_the_other_way(), self.bbr(Reason::BbrNeedsFewAcks), self.more_streams()]
            }
            Some(CwndCause::RandomLoss) => vec![self.bbr(Reason::BbrIgnoresLoss), self.more_streams()],
            // BBR takes what overtakes for the least round trip, and its BDP becomes too small.
            Some(CwndCause::Reordering) => vec![self.more_streams()],
            Some(CwndCause::Growth | CwndCause::HystartExit) | None => {
                vec![self.bbr(Reason::BbrMeasuresTheRate), self.more_streams()]
            }
        };
        found.into_iter().flatten().collect()
    }

    /// How much sooner each burst is there then depends on its size; a flow that goes on at its own pace is no faster.
    fn cwnd_kept_after_idle(&self) -> Advice {
        let before_bytes = self.judged.diagnosis.figures.cwnd_before_idle_bytes;
        let name = "sysctl.net.ipv4.tcp_slow_start_after_idle";
        let change = self.of_host(true, Setting::KeepCwndAfterIdle, name);
        self.proposed(vec![change], Reason::SlowStartAfterIdle { before_bytes }, None)
    }

    fn longer_transfer(&self) -> Advice {
        let figures = &self.judged.diagnosis.figures;
        let rtt =
            self.base_rtt().unwrap_or_default().max(Duration::from_micros(figures.srtt_us.unwrap_or(0)));
        let mss = Bytes::new(figures.mss_bytes.unwrap_or(1448));
        let startup = laws::slow_start_time(self.flight_needed(), mss, rtt).unwrap_or(rtt).max(rtt);
        let needed = (startup * STARTUP_PART).max(self.judged.flow.duration * 2);
        let mut changes = vec![self.of_flow(Target::Program, Setting::Duration(needed), "duration")];
        changes.extend(self.buffers_behind());
        let predicted = self.predicted(self.target_bps(), self.as_it_is());
        self.proposed(changes, Reason::SlowStart(startup), predicted)
    }

    fn larger_queue(&self) -> Option<Advice> {
        if self.queue_bdp()? >= QUEUE_BDP {
            return None;
        }
        let change = Change {
            target: Target::Bottleneck,
            setting: Setting::LongerQueue(QUEUE_BDP),
            key: Self::path_key(self.judged.flow.direction, "queue"),
        };
        let changed = Changed { has_long_queue: true, ..self.as_it_is() };
        let predicted = self.predicted(self.target_bps(), changed);
        Some(self.proposed(vec![change], Reason::QueueRunsEmpty, predicted))
    }

    /// `None` where it is BBR already.
    fn bbr(&self, reason: Reason) -> Option<Advice> {
        let change = self.with_bbr()?;
        let predicted = self.predicted(self.target_bps(), Changed { control: "bbr", ..self.as_it_is() });
        Some(self.proposed(vec![change], reason, predicted))
    }

    fn with_bbr(&self) -> Option<Change> {
        let JudgedFlow { plan, flows, flow, congestion_control, .. } = self.judged;
        if congestion_control == "bbr" {
            return None;
        }
        let is_shared = plan.as_ref().is_some_and(|plan| shares_its_table(plan, self.index()));
        let has_own = flow.congestion_control.is_some();
        Some(if has_own || (flows.len() > 1 && !is_shared) {
            self.of_flow(Target::Sender, Setting::Bbr, "congestion_control")
        } else {
            // The end's own key: it holds over [host], and over what the scenario may say of that end.
            self.of_host(true, Setting::Bbr, "congestion_control")
        })
    }

    /// `None` where there are as many streams as there may be.
    fn more_streams(&self) -> Option<Advice> {
        let JudgedFlow { ref flow, goodput_bps, .. } = *self.judged;
        let streams = u64::from(flow.parallel);
        let factor = (self.target_bps() / goodput_bps.max(1)).saturating_add(1).clamp(2, 16);
        let more = (streams * factor).min(STREAMS_MAX);
        if more <= streams {
            return None;
        }
        let each = goodput_bps.saturating_mul(more / streams.max(1));
        let is_rare = self.judged.diagnosis.figures.loss_share.is_none_or(|share| share <= RARE);
        let is_known =
            is_rare && !self.is_disordered(false) && !self.acks_are_held_up() && !self.has_rivals();
        let predicted = is_known.then(|| self.target_bps().min(each));
        let change = self.of_flow(Target::Program, Setting::Parallel(more), "parallel");
        Some(self.proposed(vec![change], Reason::StreamsRecoverAlone, predicted))
    }

    fn faster_pacing(&self) -> Advice {
        if self.judged.flow.max_pacing_rate.is_none() {
            return self.nothing(Reason::ControlPaces);
        }
        let target = self.target_bps() / u64::from(self.judged.flow.parallel).max(1);
        // A tenth more, three digits, upwards: a limit is no measurement.
        let kbit = (target + target / 10).div_ceil(1_000).max(1);
        let step = 10_u64.pow(kbit.ilog10().saturating_sub(2));
        let predicted = self.predicted(self.target_bps(), self.as_it_is());
        self.proposed(vec![self.paced(kbit.div_ceil(step) * step)], Reason::OwnPacingLimit, predicted)
    }

    fn paced(&self, kbit: u64) -> Change {
        self.of_flow(Target::Sender, Setting::MaxPacingRate(kbit), "max_pacing_rate")
    }

    fn pace_below_the_policer(&self) -> Advice {
        let streams = u64::from(self.judged.flow.parallel).max(1);
        let target = rounded(self.target_bps() as f64 * BELOW_A_POLICER);
        let change = self.paced((target / streams / 1_000).max(1));
        // Bursts of super-packets may still be too much for its short queue.
        self.proposed(vec![change], Reason::BelowThePolicer, None)
    }

    /// Another flow fills the queue in which this one's ACKs wait: paced, it leaves room for them. `None` where no such flow is found.
    fn pace_the_other_way(&self) -> Option<Advice> {
        let JudgedFlow { plan, path, flows, flow, .. } = self.judged;
        let back = flow.direction.opposite();
        let rate = path.way(back).rate?.value;
        let is_bulk = |other: &&(usize, &FlowSpec)| {
            other.1.direction == back && other.1.protocol == Protocol::Tcp && other.1.bitrate.is_none()
        };
        let (index, other) = flows.iter().enumerate().find(|other| is_bulk(&other))?;
        if plan.as_ref().is_some_and(|plan| shares_its_table(plan, index)) {
            return None;
        }
        // An ACK of 66 bytes for every second segment of 1448.
        let acks = self.target_bps() as f64 * 66.0 / (2.0 * 1448.0);
        let left = ((rate.bps() as f64 - 1.2 * acks) * 0.9).max(rate.bps() as f64 / 10.0);
        let kbit = (rounded(left) / u64::from(other.parallel).max(1) / 1_000).max(1);
        let change = Change {
            // What comes back is sent where this flow's data go.
            target: Target::Receiver,
            setting: Setting::OtherFlowsMaxPacingRate(kbit),
            key: self.key_of(index, "max_pacing_rate"),
        };
        // How much of the path the ACKs then leave is not known beforehand.
        Some(self.proposed(vec![change], Reason::OtherFlowFillsAckQueue, None))
    }

    fn testbed(&self) -> Advice {
        let direction = self.judged.flow.direction;
        let plan = self.judged.plan.as_ref();
        if plan.is_none_or(|plan| plan.path.way(direction).delay_limit.is_none()) {
            return self.nothing(Reason::TestbedIsFull);
        }
        let change = Change {
            target: Target::Bottleneck,
            setting: Setting::DelayLimit(DELAY_LIMIT),
            key: Self::path_key(direction, "delay_limit"),
        };
        let predicted = self.predicted(self.target_bps(), self.as_it_is());
        self.proposed(vec![change], Reason::DelayElementIsSmall, predicted)
    }
}
