//! From an epoch to its limiter: the rules, in order; the first that holds decides. Every threshold of a rule stands here, with its reason.

use super::epochs::Epoch;
use super::facts::Facts;
use super::history::ThreadUse;
use super::sockets;
use crate::ground::interval::TimeInterval;
use pipefill_core::cell::FlowSpec;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{StreamSummary, ThreadRole};
use pipefill_core::units::Rate;

/// Where nothing else explains the rate, a window of which this much is out: a sender may wait until a third of it is free
/// (`tcp_tso_should_defer()`, `sysctl_tcp_tso_win_divisor` = 3).
const NEARLY_USED_UP: f64 = 0.60;
/// A writer is woken when two thirds of the send buffer are in use (`sk_stream_min_wspace()`), so that a buffer which
/// limits never looks fuller than that for long.
const SNDBUF_USED: f64 = 0.60;
/// Half of the receive buffer unread: the application does not keep up.
const UNREAD: f64 = 0.50;
/// A thread that computes, or waits for a CPU, 85 % of the time has no more to give on a machine where others run too.
const CPU_BUSY: f64 = 0.85;
/// A thread that is late, and waited for a CPU for a tenth of the time, is late for that reason.
const CPU_WAITED: f64 = 0.10;
/// Written data that was not sent waits at half of the looks and more: only then can a window be what holds it. Where all that
/// is written is sent, the writer is the limit, or the buffer that it writes to.
const WAITING: f64 = 0.50;
/// An application that has written 98 % of what it wanted to by now keeps its pace: the start, a round trip long, is late.
const ON_TIME: f64 = 0.98;
/// Where the path is full as well, it has to be closer: what is written one per cent too slowly piles up.
const ON_TIME_IN_A_FULL_PATH: f64 = 0.995;
/// A rate that was asked for is reached from this share on.
const REACHED: f64 = 0.95;
/// From this share of its rate on a path is full.
pub const FULL: f64 = 0.95;
/// Pacing explains a goodput that is at most so much below it: with headers, and gaps between bursts.
const PACED: f64 = 0.80;

/// A stream and what was asked of it.
#[derive(Clone, Copy)]
pub(super) struct Stream<'a> {
    /// Index of the flow.
    pub(super) index: u32,
    pub(super) flow: &'a FlowSpec,
    pub(super) summary: &'a StreamSummary,
}

/// An epoch to be judged, with all that bears on it.
pub(super) struct Case<'a> {
    pub(super) epoch: &'a Epoch,
    pub(super) stream: Stream<'a>,
    pub(super) facts: &'a Facts<'a>,
}

/// What limited the epoch.
pub(super) fn limiter(case: &Case<'_>) -> LimitedBy {
    let epoch = case.epoch;
    if case.is_unread() {
        return if case.is_cpu_bound() { LimitedBy::Cpu } else { LimitedBy::Receiver };
    }
    let is_busy = case.facts.is_busy(case.stream.flow.direction, case.window());
    if case.is_on_time(if is_busy { ON_TIME_IN_A_FULL_PATH } else { ON_TIME }) {
        return LimitedBy::App;
    }
    if case.reaches_its_pacing_limit() {
        return LimitedBy::Pacing;
    }
    if is_busy && case.is_observed() && sockets::offers_less(epoch, SNDBUF_USED) {
        return LimitedBy::App;
    }
    if is_busy {
        return case.in_a_full_path();
    }
    if epoch.repair_share >= 0.5 {
        return LimitedBy::Cwnd;
    }
    let is_waiting = epoch.unsent_share >= WAITING;
    if let Some(limit) = window_limit(epoch).filter(|_| is_waiting) {
        return limit;
    }
    if case.is_instrument_bound() {
        return LimitedBy::Testbed;
    }
    if case.is_cpu_bound() {
        return LimitedBy::Cpu;
    }
    if is_waiting {
        return case.held_back_by();
    }
    let is_kept_full = !case.is_observed() || sockets::keeps_its_buffer_full(epoch);
    if is_kept_full && epoch.sndbuf_used.is_some_and(|used| used >= SNDBUF_USED) {
        return LimitedBy::Sndbuf;
    }
    case.offers_no_more()
}

impl Case<'_> {
    /// Whether nobody planned the connection, and its socket is all that tells.
    fn is_observed(&self) -> bool {
        self.facts.observed.is_some()
    }

    fn window(&self) -> TimeInterval {
        TimeInterval { from_us: self.epoch.from_us, to_us: self.epoch.to_us }
    }

    /// The window is closed in front of data that the application has not read. What waits for a lost segment is no sign of that.
    fn is_unread(&self) -> bool {
        if self.is_observed() {
            return sockets::is_unread(self.epoch);
        }
        let is_full = self.epoch.unread_share.is_some_and(|share| share >= UNREAD);
        self.epoch.has_used_rwnd() && is_full && self.epoch.repair_share < 0.5
    }

    /// Whether the application's schedule is kept, but for the write that is under way: then nothing behind it holds it back,
    /// even where a large write waits for its turn.
    fn is_on_time(&self, share: f64) -> bool {
        self.stream.flow.bitrate.is_some_and(|bitrate| self.keeps_up_with(bitrate, share))
    }

    /// Whether `share` of what `rate` gives since the stream's start has got through, or is on its way.
    fn keeps_up_with(&self, rate: Rate, share: f64) -> bool {
        let since_us = self.epoch.to_us.saturating_sub(self.stream.summary.start_us);
        let wanted = rate.bps() as f64 / 8e6 * since_us as f64;
        let under_way = self.epoch.unacked_peak.max(self.stream.flow.length.get()) as f64;
        self.facts.history.got_through(self.stream.summary.stream, self.epoch.to_us) + under_way
            >= share * wanted
    }

    /// `SO_MAX_PACING_RATE` is what the stream gets, while data waits.
    fn reaches_its_pacing_limit(&self) -> bool {
        let asked = self.stream.flow.max_pacing_rate;
        let is_reached = match self.is_observed() {
            true => sockets::is_paced(self.epoch),
            false => asked.is_some_and(|rate| self.keeps_up_with(rate, REACHED)),
        };
        is_reached && self.epoch.unsent_share >= WAITING
    }

    /// The bottleneck is busy. A window or a buffer that would not let through the stream's fair share of an empty path stays its limit.
    fn in_a_full_path(&self) -> LimitedBy {
        if self.facts.way(self.stream.flow.direction).is_the_hosts {
            return LimitedBy::Testbed;
        }
        let own = match window_limit(self.epoch) {
            Some(LimitedBy::Rwnd) => self.epoch.rwnd.map(|window| (LimitedBy::Rwnd, window)),
            Some(_) => None,
            None if self.is_held_by_its_buffer() => Some((LimitedBy::Sndbuf, self.epoch.unacked_peak)),
            None => None,
        };
        match own {
            Some((limit, bytes)) if self.is_below_its_share(bytes) => limit,
            _ => LimitedBy::Path,
        }
    }

    fn is_held_by_its_buffer(&self) -> bool {
        self.epoch.unsent_share < WAITING && self.epoch.sndbuf_used.is_some_and(|used| used >= SNDBUF_USED)
    }

    /// Whether `bytes` a base round trip are less than the stream's fair share of the path.
    fn is_below_its_share(&self, bytes: u64) -> bool {
        let Stream { flow, summary, .. } = self.stream;
        let base_us = match self.facts.base_rtt_us {
            0 => self.epoch.min_rtt_us.unwrap_or(0),
            asked => asked,
        };
        let share = self.facts.fair_share_bps(flow.direction, summary.stream, self.window());
        let alone = bytes as f64 * 8e6 / base_us as f64;
        // Where the path's rate is not known, what holds the stream by itself stays its limit.
        base_us > 0 && share.is_none_or(|share| alone < share)
    }

    /// How the thread that works most for one end of the stream spent its time.
    pub(super) fn thread_use(&self) -> ThreadUse {
        let index = self.stream.index;
        let is_own = |role: &ThreadRole| match role {
            ThreadRole::Sender { flow } => *flow == index,
            ThreadRole::Receiver { flow, stream } => {
                *flow == index && stream.is_none_or(|stream| stream == self.stream.summary.stream)
            }
            _ => false,
        };
        self.facts.history.thread_use(is_own, self.window()).unwrap_or_default()
    }

    /// A thread of the stream had no time left: it computed, or waited for a CPU that others had.
    fn is_cpu_bound(&self) -> bool {
        self.thread_use().total() >= CPU_BUSY
    }

    /// The threads that carry packets had none: the instrument's, not the ends'.
    fn is_instrument_bound(&self) -> bool {
        let used = self.facts.history.thread_use(|role| matches!(role, ThreadRole::Path(_)), self.window());
        used.is_some_and(|used| used.total() >= CPU_BUSY)
    }

    /// Data waits, no window is used up, and there is a CPU: pacing, where its rate explains the goodput, else the window that is nearest to
    /// its end.
    fn held_back_by(&self) -> LimitedBy {
        let paced = self.epoch.pacing_rate_bps.filter(|&rate| self.epoch.acked_bps() >= PACED * rate as f64);
        let [rwnd, cwnd] = [self.epoch.rwnd_used, self.epoch.cwnd_used].map(|used| used.unwrap_or(0.0));
        if paced.is_some() {
            LimitedBy::Pacing
        } else if rwnd >= NEARLY_USED_UP && rwnd >= cwnd {
            LimitedBy::Rwnd
        } else if cwnd >= NEARLY_USED_UP {
            LimitedBy::Cwnd
        } else if self.is_observed() {
            sockets::not_held_back(self.epoch)
        } else if self.epoch.pacing_rate_bps.is_some() {
            LimitedBy::Pacing
        } else {
            LimitedBy::Unknown
        }
    }

    /// All that is written is sent, and the buffer has room. An application that would write more is held up by its CPU, or by the buffer
    /// between two looks.
    fn offers_no_more(&self) -> LimitedBy {
        let used = self.thread_use();
        let is_late = used.waited >= CPU_WAITED;
        match self.stream.flow.bitrate {
            _ if is_late => LimitedBy::Cpu,
            Some(_) => LimitedBy::App,
            None if self.is_observed() => LimitedBy::App,
            None if used.total() >= 0.5 => LimitedBy::Cpu,
            None if self.epoch.sndbuf_used.is_some_and(|share| share >= SNDBUF_USED / 2.0) => {
                LimitedBy::Sndbuf
            }
            None => LimitedBy::App,
        }
    }
}

/// The window that is used up; of two the smaller one.
fn window_limit(epoch: &Epoch) -> Option<LimitedBy> {
    let by_rwnd = epoch.has_used_rwnd();
    let by_cwnd = epoch.has_used_cwnd();
    let is_smaller = epoch.rwnd.zip(epoch.cwnd).is_some_and(|(rwnd, cwnd)| rwnd < cwnd);
    if by_rwnd && (is_smaller || !by_cwnd) {
        return Some(LimitedBy::Rwnd);
    }
    by_cwnd.then_some(LimitedBy::Cwnd)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{acked, manifest, queue};
    use super::*;
    use pipefill_core::cell::Direction;
    use pipefill_core::record::{AnyRow, CpuSample};

    const PATH: &str = "[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\nqueue = \"1bdp\"\n";

    /// A second of a stream that waits with data, an eighth of its windows used, 10 Mbit/s acknowledged.
    fn idle() -> Epoch {
        Epoch {
            from_us: 1_000_000,
            to_us: 2_000_000,
            acked: 1_250_000,
            unacked_peak: 25_000,
            cwnd_used: Some(0.125),
            cwnd: Some(200_000),
            rwnd_used: Some(0.125),
            rwnd: Some(200_000),
            sndbuf_used: Some(0.2),
            unsent_share: 1.0,
            srtt_us: Some(20_000),
            min_rtt_us: Some(20_000),
            mss: 1448,
            ..Epoch::default()
        }
    }

    /// What limits `epoch` of the first stream of a path with `flows`, of which `rows` were seen.
    fn judged(flows: &str, rows: &[AnyRow], epoch: &Epoch) -> LimitedBy {
        let manifest = manifest(&format!("{PATH}{flows}"));
        let mut facts = Facts::of(&manifest);
        rows.iter().for_each(|row| facts.take(row));
        let flow = &manifest.run.cell.spec.flows[0];
        let stream = Stream { index: 0, flow, summary: &manifest.streams[0] };
        limiter(&Case { epoch, stream, facts: &facts })
    }

    const BULK: &str = "[[flow]]\nduration = \"10s\"\n";

    /// `stream` acknowledges `mbit` Mbit/s for three seconds.
    fn flowing(stream: u32, mbit: u64) -> Vec<AnyRow> {
        (0..=30).map(|tenth| acked(tenth * 100_000, stream, tenth * mbit * 12_500)).collect()
    }

    /// The queue is never empty.
    fn full() -> Vec<AnyRow> {
        (0..=300).map(|n| queue(n * 10_000, Direction::Forward, 50_000, 0)).collect()
    }

    #[test]
    fn of_two_windows_that_are_used_up_the_smaller_one_limits() {
        let of = |cwnd_used, cwnd, rwnd_used, rwnd| {
            judged(
                BULK,
                &[],
                &Epoch {
                    cwnd_used: Some(cwnd_used),
                    cwnd: Some(cwnd),
                    rwnd_used: Some(rwnd_used),
                    rwnd: Some(rwnd),
                    ..idle()
                },
            )
        };
        assert_eq!(of(0.95, 100_000, 0.95, 90_000), LimitedBy::Rwnd);
        assert_eq!(of(0.95, 90_000, 0.95, 100_000), LimitedBy::Cwnd);
        assert_eq!(of(0.50, 200_000, 0.95, 300_000), LimitedBy::Rwnd);
        assert_eq!(judged(BULK, &[], &Epoch { repair_share: 0.6, ..idle() }), LimitedBy::Cwnd);
    }

    #[test]
    fn a_window_in_front_of_unread_data_is_the_readers_also_in_a_full_path() {
        let unread = Epoch { rwnd_used: Some(1.0), unread_share: Some(0.8), ..idle() };
        assert_eq!(judged(BULK, &full(), &unread), LimitedBy::Receiver);
        assert_eq!(judged(BULK, &[], &Epoch { unread_share: Some(0.1), ..unread.clone() }), LimitedBy::Rwnd);
        let in_recovery = Epoch { repair_share: 0.9, ..unread };
        assert_eq!(judged(BULK, &[], &in_recovery), LimitedBy::Cwnd, "it waits for a lost segment");
    }

    #[test]
    fn an_application_that_keeps_its_pace_is_the_limit_also_in_a_full_path() {
        let flow = |mbit: f64| format!("[[flow]]\nbitrate = \"{mbit}mbit\"\nlength = \"1448B\"\n");
        let rows = |mbit| [flowing(0, mbit), full()].concat();
        assert_eq!(judged(&flow(93.0), &rows(93), &idle()), LimitedBy::App);
        assert_eq!(judged(&flow(97.0), &rows(93), &idle()), LimitedBy::Path, "it wants more than it gets");
        assert_eq!(judged(&flow(20.0), &flowing(0, 20), &idle()), LimitedBy::App);
        assert_ne!(judged(&flow(20.0), &flowing(0, 10), &idle()), LimitedBy::App, "something holds it back");
    }

    #[test]
    fn a_full_path_is_the_limit_of_what_wants_more_than_its_share() {
        let windowed =
            |bytes: u64| Epoch { rwnd_used: Some(1.0), rwnd: Some(bytes), unread_share: Some(0.0), ..idle() };
        let two = format!("{BULK}{BULK}");
        let rows = [flowing(0, 10), flowing(1, 85), full()].concat();
        // 100 kB / 20 ms are 40 Mbit/s, and an equal part of the path is 48.
        assert_eq!(judged(&two, &rows, &windowed(100_000)), LimitedBy::Rwnd);
        assert_eq!(judged(&two, &rows, &windowed(150_000)), LimitedBy::Path);
        // Beside a trickle the rest is its share.
        let rows = [flowing(0, 94), flowing(1, 1), full()].concat();
        assert_eq!(judged(&two, &rows, &windowed(150_000)), LimitedBy::Rwnd);
    }

    #[test]
    fn pacing_needs_a_rate_that_explains_the_goodput() {
        let paced = |mbit: u64| Epoch { pacing_rate_bps: Some(mbit * 1_000_000), ..idle() };
        assert_eq!(judged(BULK, &[], &paced(11)), LimitedBy::Pacing);
        let behind_a_window = Epoch { rwnd_used: Some(0.83), ..paced(14) };
        assert_eq!(judged(BULK, &[], &behind_a_window), LimitedBy::Rwnd);
        let asked = "[[flow]]\nmax_pacing_rate = \"10mbit\"\n";
        assert_eq!(judged(asked, &[flowing(0, 10), full()].concat(), &idle()), LimitedBy::Pacing);
    }

    /// A thread that computes and waits for so many per cent of the time.
    fn thread(thread: &str, computes: u64, waits: u64) -> Vec<AnyRow> {
        let row = |tenth: u64| {
            let (cpu_us, wait_us) = (tenth * computes * 1_000, Some(tenth * waits * 1_000));
            AnyRow::Cpu(CpuSample { t_us: tenth * 100_000, thread: thread.into(), cpu_us, wait_us })
        };
        (0..=30).map(row).collect()
    }

    #[test]
    fn the_flows_own_threads_and_their_wait_for_a_cpu_count() {
        let of = |name, computes, waits| judged(BULK, &thread(name, computes, waits), &idle());
        assert_eq!(of("flow 0 sender", 90, 0), LimitedBy::Cpu);
        assert_eq!(of("flow 0 receiver", 30, 60), LimitedBy::Cpu);
        assert_ne!(of("flow 1 sender", 100, 0), LimitedBy::Cpu, "another flow's");
        assert_eq!(of("path forward", 90, 0), LimitedBy::Testbed);
        let written = Epoch { unsent_share: 0.0, ..idle() };
        let waits = |flow: &str| judged(flow, &thread("flow 0 sender", 10, 15), &written);
        assert_eq!(
            waits("[[flow]]\nbitrate = \"50mbit\"\n"),
            LimitedBy::Cpu,
            "it offers more, and had no CPU"
        );
        assert_eq!(waits(BULK), LimitedBy::Cpu);
    }

    #[test]
    fn what_is_written_and_sent_is_limited_by_the_buffer_or_the_writer() {
        let written = |used| Epoch { unsent_share: 0.0, sndbuf_used: Some(used), ..idle() };
        assert_eq!(judged(BULK, &[], &written(0.7)), LimitedBy::Sndbuf);
        assert_eq!(judged("[[flow]]\nbitrate = \"50mbit\"\n", &[], &written(0.1)), LimitedBy::App);
    }
}
