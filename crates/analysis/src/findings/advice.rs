//! The smallest change that lifts a flow's limit, and what it should bring.
//!
//! Each change is a list of scenario assignments, as `--set` takes them, so that `pipefill fix` can apply and measure it: the keys of this
//! flow and of its direction, within the limits of the kernel and of the scenario, and nothing that is so already. The path's rate, delay
//! and loss are given and never changed; its queue may be.

mod application;
mod datagrams;
mod ecn;
mod keys;
mod latency;
mod observed_buffers;
mod prediction;
mod window;

pub(crate) use datagrams::for_overflowing_socket;

use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, EndStacks, HostNames, Proposal, Reason, Setting, Target};
use crate::findings::verdict::JudgedFlow;
use crate::ground::models::sizing;
use crate::ground::models::window as laws;
use crate::ground::statistics::rounded;
use crate::infer::{KnownWay, Policer};
use crate::judge::{Diagnosis, UnlimitedStart};
use keys::{flow_key, host_name, shares_its_table};
use pipefill_core::cell::{Direction, FlowSpec, Framing, Protocol};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::StreamEnd;
use pipefill_core::units::{Bytes, Rate};
use prediction::{Changed, Forecast};
use std::time::Duration;

/// Slow start and the first recovery should be this small a part of a transfer.
const STARTUP_PART: u32 = 20;
/// Where the path has no rate, a limit is lifted this far.
const UNKNOWN_RATE_FACTOR: u64 = 2;
/// Streams of one flow at most (`flow.parallel`).
const STREAMS_MAX: u64 = 1024;
/// A queue of one BDP keeps the pipe full whatever part of its window a sender gives up.
const QUEUE_BDP: f64 = 1.0;
/// Depth of a bucket that passes super-packets and hides no rate: that of a scenario's bottleneck where none is given.
const USUAL_BURST: Bytes = Bytes::new(32 << 10);
/// A sender that keeps so far below a policer's rate loses nothing to it.
const BELOW_A_POLICER: f64 = 0.95;
/// Streams share a loss between them while losses are rare.
const RARE: f64 = 0.1;
/// From this share of the time on a thread that waits for a CPU waits for other programs.
const CPU_IS_TAKEN: f64 = 0.1;
/// What the delay element of a testbed is to hold, packets.
const DELAY_LIMIT: u64 = 1_000_000;
/// Where no change shortens the wait that limits: another limit with at least this share of the active time has advice too.
const BESIDE: f64 = 0.1;
/// The least gain, as a factor of the goodput, for which a change is advised.
const WORTH: f64 = 1.05;

/// The advice for one flow; the first is the smallest change. Never empty: where nothing helps it says so.
pub fn advise(judged: &JudgedFlow) -> Vec<Advice> {
    let case = Case::main(judged);
    let mut advice: Vec<Advice> = case.beside().map(|beside| beside.changes()).unwrap_or_default();
    advice.extend(case.for_throughput());
    advice.extend(case.for_latency());
    advice.extend(case.marks_in_place_of_drops());
    advice
}

/// A limit of a flow.
#[derive(Clone, Copy)]
struct Case<'a> {
    judged: &'a JudgedFlow,
    limited_by: LimitedBy,
    cause: Option<Cause>,
}

impl<'a> Case<'a> {
    /// The limit with the most time.
    fn main(judged: &'a JudgedFlow) -> Self {
        let Diagnosis { limited_by, cause, cwnd_cause, .. } = judged.diagnosis;
        Self { judged, limited_by, cause: cause.or(cwnd_cause.map(Cause::from)) }
    }

    /// Where the flow mostly waits for what no change of the network brings: what limits it while it does not, if a change lifts that.
    fn beside(self) -> Option<Self> {
        let waits = [Some(Cause::Request), Some(Cause::Response), Some(Cause::Rate)];
        if self.limited_by != LimitedBy::App || !waits.contains(&self.cause) {
            return None;
        }
        let Diagnosis { time, active_us, .. } = &self.judged.diagnosis;
        let enough_us = active_us.unwrap_or(0) as f64 * BESIDE;
        let liftable = time.iter().find(|held| {
            let is_lifted = match held.limited_by {
                LimitedBy::Cwnd => held.cause == Some(Cause::IdleRestart),
                LimitedBy::Rwnd | LimitedBy::Sndbuf => held.cause.is_some(),
                LimitedBy::App => [Some(Cause::Nagle), Some(Cause::DelayedAck)].contains(&held.cause),
                _ => false,
            };
            is_lifted && held.us as f64 >= enough_us
        })?;
        Some(Self { limited_by: liftable.limited_by, cause: liftable.cause, ..self })
    }
}

impl Case<'_> {
    /// What lifts the limit; none where nothing does.
    fn changes(&self) -> Vec<Advice> {
        let mut found = self.for_throughput();
        found.retain(|advice| advice.target.is_some());
        found
    }

    fn for_throughput(&self) -> Vec<Advice> {
        let mut found = match self.limited_by {
            LimitedBy::Path => self.for_the_path(),
            LimitedBy::Rwnd if self.judged.is_observed() => vec![self.wider_seen_window()],
            LimitedBy::Rwnd => vec![self.larger_receive_buffer()],
            LimitedBy::Sndbuf if self.judged.is_observed() => vec![self.larger_seen_send_buffer()],
            LimitedBy::Sndbuf => vec![self.larger_send_buffer()],
            LimitedBy::Cwnd => self.larger_cwnd(),
            LimitedBy::Pacing => vec![self.faster_pacing()],
            LimitedBy::App => self.for_the_application(),
            LimitedBy::Receiver => vec![self.for_the_receiver()],
            LimitedBy::Cpu => vec![self.larger_quota().unwrap_or_else(|| self.nothing(self.of_the_cpu()))],
            LimitedBy::Testbed => vec![self.testbed()],
            LimitedBy::Unknown => vec![self.nothing(Reason::LimitIsUnknown)],
        };
        let worth = self.judged.goodput_bps as f64 * WORTH;
        found.retain(|advice| {
            // Of datagrams those that are lost count.
            let is_of_datagrams = self.judged.flow.protocol == Protocol::Udp;
            let brings = advice.predicted_bps.is_none_or(|bps| bps as f64 >= worth);
            advice.target.is_none() || is_of_datagrams || brings
        });
        // It brings what the rate is there for: less.
        let found: Vec<Advice> = self.smaller_bucket().into_iter().chain(found).collect();
        if found.is_empty() { vec![self.nothing(Reason::NoChangeHelps)] } else { found }
    }

    fn nothing(&self, reason: Reason) -> Advice {
        self.proposed(Vec::new(), reason, Some(self.at(self.judged.goodput_bps)))
    }

    /// `changes`, which should bring `forecast`. Nothing of an observed flow can be set in a scenario.
    fn proposed(&self, changes: Vec<Change>, reason: Reason, forecast: Option<Forecast>) -> Advice {
        let names = if self.judged.is_observed() { HostNames::Observed } else { HostNames::Scenario };
        let hosts = names(self.judged.flow.direction);
        let proposal = Proposal { changes, reason, hosts, stacks: EndStacks::default() };
        let mut advice = Advice::of(proposal, forecast.and_then(|forecast| forecast.bps));
        if self.judged.is_observed() {
            advice.set.clear();
        }
        Advice {
            predicted_us: forecast.and_then(|forecast| forecast.us),
            predicted_active_bps: forecast.and_then(|forecast| forecast.active_bps),
            ..advice
        }
    }

    /// A setting of this flow.
    fn of_flow(&self, target: Target, setting: Setting, name: &str) -> Change {
        Change { target, setting, key: self.key(name) }
    }

    /// A setting of the host that sends the flow's data, or of the host that receives it.
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
        vec![match self.cause {
            Some(Cause::Bursts) => return self.without_bursts(),
            Some(Cause::Shared) if is_of_datagrams => self.nothing(Reason::OthersFillTheQueue),
            Some(Cause::Silence) => self.nothing(Reason::NobodyAnswers),
            Some(Cause::Mtu) => {
                let probing = self.of_host(true, Setting::MtuProbing, "sysctl.net.ipv4.tcp_mtu_probing");
                self.proposed(vec![probing], Reason::LinkDropsLargePackets, self.after_probing())
            }
            _ => self.nothing(self.of_the_path()),
        }]
    }

    /// Why no change of an end helps where the path is the limit. Without a window, what the path loses by itself limits too.
    fn of_the_path(&self) -> Reason {
        match self.judged.flow.protocol {
            Protocol::Udp => Reason::DatagramsAreDropped,
            _ if self.judged.diagnosis.cause == Some(Cause::Shared) => Reason::OthersFillThePath,
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

    /// What the cgroup used in a period and what it was held back in it; `None` where no quota limits. What the process writes grows with its
    /// CPU time, as far as the path's rate is known to let it.
    fn larger_quota(&self) -> Option<Advice> {
        let JudgedFlow { diagnosis, sender_quota, receiver_quota, goodput_bps, room_bps, .. } = self.judged;
        let figures = diagnosis.figures.quota.filter(|_| diagnosis.cause == Some(Cause::Quota))?;
        let (sends, quota) = match figures.end {
            StreamEnd::Sender => (true, sender_quota.clone()?),
            StreamEnd::Receiver => (false, receiver_quota.clone()?),
        };
        let in_a_period = |share: f64| rounded(share * quota.period_us as f64);
        let (used_us, held_us) =
            (figures.used_share.map_or(quota.quota_us, in_a_period), in_a_period(figures.held_share));
        let period_us = quota.period_us;
        let wanted_us = (used_us + held_us).max(quota.quota_us + 1).next_multiple_of(1_000);
        let more = goodput_bps.saturating_mul(used_us + held_us) / used_us.max(1);
        let predicted = room_bps.map(|room| rounded(room).min(more).max(*goodput_bps));
        let change = self.of_host(sends, Setting::CpuQuota { quota, wanted_us }, "cpu_quota");
        Some(self.proposed(
            vec![change],
            Reason::QuotaRunsOut { used_us, held_us, period_us },
            predicted.map(|bps| self.at(bps)),
        ))
    }

    /// What the flow should reach: its room beside the others, or twice what it had; no more than its application, its reader and its pacing
    /// allow.
    fn target_bps(&self) -> u64 {
        let JudgedFlow { ref flow, goodput_bps, .. } = *self.judged;
        let room = self.judged.room_bps.map_or(goodput_bps.saturating_mul(UNKNOWN_RATE_FACTOR), rounded);
        let is_paced = self.limited_by == LimitedBy::Pacing;
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
        match self.cause {
            Some(Cause::IdleRestart) => return self.cwnd_kept_after_idle().into_iter().collect(),
            Some(Cause::Timeout) => return vec![self.nothing(Reason::TimerIsAwaited)],
            Some(Cause::Ecn) => {
                let look = self.nothing(Reason::MarksCutTheWindow);
                return std::iter::once(look).chain(self.bbr(Reason::BbrIgnoresMarks)).collect();
            }
            _ => {}
        }
        let found = match self.cause.and_then(Cause::of_cwnd) {
            // How long others' transfers are, nobody sets.
            Some(CwndCause::Startup) if self.judged.is_observed() => {
                vec![Some(self.nothing(Reason::ConnectionIsYoung { held_us: self.held_us() }))]
            }
            Some(CwndCause::Startup) => vec![Some(self.longer_transfer())],
            Some(CwndCause::QueueLoss) => {
                let more = self.more_streams().filter(|_| self.streams_fit_into_the_queue());
                vec![self.larger_queue(), self.bbr(Reason::BbrSparesTheQueue), more]
            }
            Some(CwndCause::Policer) => {
                vec![self.larger_bucket(), self.larger_queue(), self.pace_below_the_policer()]
            }
            // BBR takes ACKs that wait for a slow path.
            Some(CwndCause::AckPath) => vec![self.pace_the_other_way(), self.more_streams()],
            Some(CwndCause::RandomLoss) => vec![self.bbr(Reason::BbrIgnoresLoss), self.more_streams()],
            // BBR takes what overtakes for the least round trip, and its BDP becomes too small.
            Some(CwndCause::Reordering) => vec![self.more_streams()],
            Some(CwndCause::Growth | CwndCause::HystartExit) | None => {
                vec![self.bbr(Reason::BbrMeasuresTheRate), self.more_streams()]
            }
        };
        found.into_iter().flatten().collect()
    }

    /// `None` where the queue is known and does not hold the burst that such a window sends.
    fn cwnd_kept_after_idle(&self) -> Option<Advice> {
        let before_bytes = self.judged.diagnosis.figures.cwnd_before_idle_bytes;
        let headers = self.judged.path.headers;
        let frames = |payload: u64| payload as f64 * headers.full_frame().get() as f64 / headers.mss() as f64;
        let queue_bytes = self.judged.way().queue.map(|queue| queue.value.get() as f64);
        if before_bytes.map(frames).zip(queue_bytes).is_some_and(|(before, queue)| before > queue) {
            return None;
        }
        let name = "sysctl.net.ipv4.tcp_slow_start_after_idle";
        let change = self.of_host(true, Setting::KeepCwndAfterIdle, name);
        let forecast = self.judged.room_bps.map(|room_bps| self.without_restarts(room_bps));
        Some(self.proposed(vec![change], Reason::SlowStartAfterIdle { before_bytes }, forecast))
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
        self.proposed(changes, Reason::SlowStart(startup), predicted.map(|bps| self.at(bps)))
    }

    /// A bucket that is as deep as others, where one let any rate pass for a considerable time.
    fn smaller_bucket(&self) -> Option<Advice> {
        let UnlimitedStart { bucket_bytes, lasted_us } = self.judged.diagnosis.figures.unlimited?;
        if bucket_bytes <= USUAL_BURST.get() {
            return None;
        }
        let change = Change {
            target: Target::Bottleneck,
            setting: Setting::Burst(USUAL_BURST.get()),
            key: Self::path_key(self.judged.flow.direction, "burst"),
        };
        let path = self.judged.diagnosis.figures.path_goodput_bps;
        Some(self.proposed(vec![change], Reason::BucketIsLarge { lasted_us }, path.map(|bps| self.at(bps))))
    }

    /// A bucket that holds a BDP of the policer, and what a host sends at once; `None` where it holds half of that, since the rest gains next to nothing, or
    /// where nobody knows how deep it is.
    fn larger_bucket(&self) -> Option<Advice> {
        let KnownWay { rate, burst, policer, .. } = *self.judged.way();
        let (rate, burst, key) = match policer {
            Some(Policer { rate, burst, .. }) => (rate, burst, "policer.burst"),
            None => (rate?.value, burst?.value, "burst"),
        };
        let needed = rate.bdp(self.base_rtt()?).max(sizing::SUPER_PACKET);
        let change = Change {
            target: Target::Bottleneck,
            setting: Setting::Burst(needed.get()),
            key: Self::path_key(self.judged.flow.direction, key),
        };
        (needed.get() > burst.get().saturating_mul(2))
            .then(|| self.proposed(vec![change], Reason::BucketIsSmall, None))
    }

    fn larger_queue(&self) -> Option<Advice> {
        // What a policer drops would never wait in it.
        if self.judged.way().policer.is_some() || self.queue_bdp()? >= QUEUE_BDP {
            return None;
        }
        let change = Change {
            target: Target::Bottleneck,
            setting: Setting::LongerQueue(QUEUE_BDP),
            key: Self::path_key(self.judged.flow.direction, "queue"),
        };
        let changed = Changed { has_long_queue: true, ..self.as_it_is() };
        let forecast = self.forecast(self.target_bps(), changed);
        Some(self.proposed(vec![change], Reason::QueueRunsEmpty, forecast))
    }

    /// `None` where it is BBR already, and for datagrams, which have no congestion control of the kernel's.
    fn bbr(&self, reason: Reason) -> Option<Advice> {
        let change = self.with_bbr()?;
        let forecast = self.forecast(self.target_bps(), Changed { control: "bbr", ..self.as_it_is() });
        Some(self.proposed(vec![change], reason, forecast))
    }

    fn with_bbr(&self) -> Option<Change> {
        let JudgedFlow { plan, flows, flow, congestion_control, .. } = self.judged;
        if congestion_control == "bbr" || flow.protocol != Protocol::Tcp {
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

    /// More streams overflow a queue more often: they gain where one is far below the path's rate, and its ACKs come.
    fn streams_fit_into_the_queue(&self) -> bool {
        let back = self.judged.flow.direction.opposite();
        let is_filled = self.judged.flows.iter().any(|flow| flow.direction == back);
        !is_filled && self.judged.goodput_bps.saturating_mul(2) < self.target_bps()
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
        let is_known = is_rare && !self.is_disordered(false) && !self.acks_are_held_up() && self.is_alone();
        let forecast = is_known.then(|| self.at(self.target_bps().min(each)));
        let change = self.of_flow(Target::Program, Setting::Parallel(more), "parallel");
        Some(self.proposed(vec![change], Reason::StreamsRecoverAlone, forecast))
    }

    fn faster_pacing(&self) -> Advice {
        if self.judged.flow.max_pacing_rate.is_none() {
            return self.nothing(Reason::ControlPaces);
        }
        let target = self.target_bps() / u64::from(self.judged.flow.parallel).max(1);
        // A limit is not a measurement: a tenth more, rounded up to three digits.
        let kbit = (target + target / 10).div_ceil(1_000).max(1);
        let step = 10_u64.pow(kbit.ilog10().saturating_sub(2));
        let forecast = self.forecast(self.target_bps(), self.as_it_is());
        self.proposed(vec![self.paced(kbit.div_ceil(step) * step)], Reason::OwnPacingLimit, forecast)
    }

    fn paced(&self, kbit: u64) -> Change {
        self.of_flow(Target::Sender, Setting::MaxPacingRate(kbit), "max_pacing_rate")
    }

    /// `None` where a policer that losses show lets through no more than what is measured.
    fn pace_below_the_policer(&self) -> Option<Advice> {
        let streams = u64::from(self.judged.flow.parallel).max(1);
        let headers = self.judged.path.headers;
        let of_frames =
            |rate: Rate| headers.goodput(rate, Framing::default(), Protocol::Tcp, Bytes::new(headers.mss()));
        let shown = self.judged.way().policer.filter(|_| self.judged.plan.is_none());
        let limit = shown.map_or(self.target_bps() as f64, |policer| of_frames(policer.rate));
        let target = rounded(limit * BELOW_A_POLICER);
        if shown.is_some() && target <= self.judged.goodput_bps {
            return None;
        }
        let change = self.paced((target / streams / 1_000).max(1));
        // Bursts of super-packets may still be too much for its short queue.
        let forecast = shown.map(|_| self.lifted(target));
        Some(self.proposed(vec![change], Reason::BelowThePolicer, forecast))
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
        let free = (rate.bps() as f64 - 1.2 * self.acks_bps()) * 0.9;
        let least = rate.bps() as f64 / 10.0;
        let left = free.max(least);
        let kbit = (rounded(left) / u64::from(other.parallel).max(1) / 1_000).max(1);
        let change = Change {
            // What comes back is sent where this flow's data go.
            target: Target::Receiver,
            setting: Setting::OtherFlowsMaxPacingRate(kbit),
            key: self.key_of(index, "max_pacing_rate"),
        };
        // Where they do not fit even so, how few of them are enough is not known beforehand.
        let forecast = (free >= least).then(|| self.lifted(self.target_bps()));
        Some(self.proposed(vec![change], Reason::OtherFlowFillsAckQueue, forecast))
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
        let forecast = self.forecast(self.target_bps(), self.as_it_is());
        self.proposed(vec![change], Reason::DelayElementIsSmall, forecast)
    }
}
