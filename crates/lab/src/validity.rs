//! When a run must not be believed: the bounds of the instrument's own errors.
//!
//! The bounds are part of `docs/metrics.md`. Never loosened for a run that looks plausible.

use pipefill_core::cell::CellSpec;
use pipefill_core::record::{Counter, Instrument, Invalid, Lateness, Stall};
use pipefill_core::units::Time;
use std::time::Duration;

/// A path that is later than this in the *mean* or at the *median*, or than a fortieth of the RTT, is another path: of both directions together, a
/// sender that waits for its window would be slower by a twentieth.
const LATE_PATH: Duration = Duration::from_micros(500);
/// A path that is later than this, or than a quarter of the RTT, at the 99th percentile has stalled: TCP would see losses
/// (RACK's reordering window is a quarter of the RTT, RFC 8985 section 6.2) that the path did not make.
const STALLED_PATH: Duration = Duration::from_millis(5);
/// A sender whose 99th percentile is later than this did not send what was asked.
const LATE_SENDER: Duration = Duration::from_millis(20);

/// For longer than this TCP takes silence for loss (the least RTO is 200 ms, `TCP_RTO_MIN`): where the telemetry is later than half of it
/// for a hundredth of the time, what happened meanwhile was not seen.
const LATE_SAMPLES: Duration = Duration::from_millis(100);
/// What limited a flow is told from sample to sample. Samples are missing when the machine is busy, not by chance, so that a share of the
/// time may be off by as much as is missing.
const MISSING_SAMPLES: f64 = 0.25;

/// The reasons why a run with these errors is invalid; empty = it may be believed.
pub(crate) fn judge(spec: &CellSpec, instrument: &Instrument, counters: &[Counter]) -> Vec<Invalid> {
    let mut reasons: Vec<Invalid> = counters.iter().filter_map(dropped_by_interface).collect();
    if let Some(drops) = instrument.ring_drops.filter(|&drops| drops > 0) {
        let detail = format!("the data path's receive ring dropped {drops} packets (bound: 0)");
        reasons.push(invalid("ring_drops", detail));
    }
    if let Some(drops) = instrument.transmit_drops.filter(|&drops| drops > 0) {
        let detail = format!("the kernel refused {drops} packets of the data path (bound: 0)");
        reasons.push(invalid("transmit_drops", detail));
    }
    let rtt = spec.path.rtt();
    let (late, stalled) = (LATE_PATH.max(rtt / 40), STALLED_PATH.max(rtt / 4));
    let directions = [
        ("forward", &instrument.release_lateness_forward),
        ("reverse", &instrument.release_lateness_reverse),
    ];
    for (direction, lateness) in directions {
        let Some(lateness) = lateness else { continue };
        let what = format!("the path ({direction})");
        reasons.extend(above(LATE_RELEASES, &what, "on average", lateness.mean_ns, late));
        reasons.extend(above(LATE_RELEASES, &what, "at the median", lateness.p50_ns, late));
        reasons.extend(above(LATE_RELEASES, &what, AT_99, lateness.p99_ns, stalled));
    }
    let sender = instrument.send_lateness.as_ref().map_or(0, |lateness: &Lateness| lateness.p99_ns);
    reasons.extend(above("late_sender", "the sender's timer", AT_99, sender, LATE_SENDER));
    reasons.extend(late_samples(instrument));
    reasons.extend(missing_samples(instrument));
    reasons
}

/// The telemetry was late for too much of the time.
pub(crate) fn late_samples(instrument: &Instrument) -> Option<Invalid> {
    let late_ns = instrument.sample_lateness.as_ref().map_or(0, |lateness| lateness.p99_ns);
    above("late_samples", "the telemetry", AT_99, late_ns, LATE_SAMPLES)
}

fn missing_samples(instrument: &Instrument) -> Option<Invalid> {
    let (due, taken) = (instrument.samples_due?, instrument.samples_taken?);
    let missing = due.saturating_sub(taken);
    (missing as f64 > MISSING_SAMPLES * due as f64).then(|| {
        let detail = format!(
            "{missing} of {due} samples are missing (bound: {:.0} %); with a longer run.sample fewer are due",
            100.0 * MISSING_SAMPLES
        );
        invalid("missing_samples", detail)
    })
}

/// Above this HyStart takes a round trip that has become longer for a queue and ends slow start: an eighth of the RTT, at least 4 and
/// at most 16 ms (`HYSTART_DELAY_THRESH`, net/ipv4/tcp_cubic.c).
fn hystart_threshold(rtt: Duration) -> Duration {
    (rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// Whether HyStart may have ended a slow start because the path stalled and not because it queued: the kernel counted such an end
/// (`TCPHystartDelayDetect`), and the stall came before `slow_start_until`. Jitter that was asked for ends it anyway.
pub(crate) fn false_hystart_exit(
    spec: &CellSpec,
    stalls: &[Stall],
    counters: &[Counter],
    slow_start_until: Time,
) -> Option<Invalid> {
    let has_jitter = spec.path.forward.jitter.is_some() || spec.path.reverse.jitter.is_some();
    let ended = counters.iter().any(|c| c.name == "TcpExtTCPHystartDelayDetect" && c.after > c.before);
    if has_jitter || !ended {
        return None;
    }
    let early = stalls.iter().filter(|stall| stall.t_us <= slow_start_until.micros());
    let worst = early.max_by_key(|stall| stall.late_ns)?;
    let what = format!("the path ({})", worst.direction.as_str());
    let which = "in a slow start that HyStart's delay detection ended";
    above(LATE_RELEASES, &what, which, worst.late_ns, hystart_threshold(spec.path.rtt()))
}

/// The reason of a run whose path was late.
pub(crate) const LATE_RELEASES: &str = "late_releases";

/// A packet that an interface of the lab's own dropped was lost by the instrument; the path drops its packets itself.
fn dropped_by_interface(counter: &Counter) -> Option<Invalid> {
    let drops = counter.after.saturating_sub(counter.before);
    let is_ours = counter.place.ends_with(" interface") && counter.name.ends_with("_dropped");
    (is_ours && drops > 0).then(|| {
        let detail = format!("{}: {} rose by {drops} (bound: 0)", counter.place, counter.name);
        invalid("interface_drops", detail)
    })
}

const AT_99: &str = "at the 99th percentile";

/// A reason to distrust a run.
pub(crate) fn invalid(reason: &str, detail: String) -> Invalid {
    Invalid { reason: reason.to_owned(), detail }
}

fn above(reason: &str, what: &str, which: &str, late_ns: u64, bound: Duration) -> Option<Invalid> {
    let late = Duration::from_nanos(late_ns);
    (late > bound)
        .then(|| invalid(reason, format!("{what} was {late:.1?} late {which} (bound: {bound:.1?})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::Direction;
    use pipefill_core::scenario::Scenario;

    fn spec(rtt: &str) -> CellSpec {
        let text = format!("name = \"x\"\n[path]\nrtt = \"{rtt}\"\n");
        Scenario::parse(&text, "x.toml").unwrap().plan().cells[0].spec.clone()
    }

    fn forward(mean_us: u64, p99_us: u64) -> Instrument {
        let lateness =
            Lateness { count: 1, mean_ns: mean_us * 1000, p99_ns: p99_us * 1000, ..Lateness::default() };
        Instrument { release_lateness_forward: Some(lateness), ..Instrument::default() }
    }

    fn at_median(p50_us: u64) -> Instrument {
        let lateness = Lateness { count: 1, p50_ns: p50_us * 1000, ..Lateness::default() };
        Instrument { release_lateness_forward: Some(lateness), ..Instrument::default() }
    }

    fn interface_drop() -> Counter {
        Counter { place: "path interface".to_owned(), name: "b0 tx_dropped".to_owned(), before: 1, after: 3 }
    }

    #[test]
    fn a_path_is_invalid_where_it_is_late_as_a_rule_or_stalls() {
        let reasons = |rtt: &str, mean, p99| judge(&spec(rtt), &forward(mean, p99), &[]).len();
        assert_eq!(reasons("1ms", 500, 5_000), 0);
        assert_eq!(reasons("1ms", 501, 5_000), 1);
        assert_eq!(reasons("1ms", 500, 5_001), 1);
        assert_eq!(reasons("100ms", 2_500, 25_000), 0);
        assert_eq!(reasons("100ms", 2_501, 25_001), 2);
        let at_median = |rtt: &str, p50| judge(&spec(rtt), &at_median(p50), &[]).len();
        assert_eq!([at_median("1ms", 500), at_median("1ms", 501)], [0, 1]);
        assert_eq!([at_median("100ms", 2_500), at_median("100ms", 2_501)], [0, 1]);
    }

    #[test]
    fn a_telemetry_that_was_late_or_missed_samples_makes_a_run_invalid() {
        let words = |p99_ms: u64, samples_due, samples_taken| -> Vec<String> {
            let lateness = Lateness { count: 1, p99_ns: p99_ms * 1_000_000, ..Lateness::default() };
            let sample_lateness = Some(lateness);
            let instrument =
                Instrument { sample_lateness, samples_due, samples_taken, ..Instrument::default() };
            judge(&spec("1ms"), &instrument, &[]).into_iter().map(|reason| reason.reason).collect()
        };
        assert_eq!(words(100, Some(1_000), Some(750)), [""; 0]);
        assert_eq!(words(101, Some(1_000), Some(1_000)), ["late_samples"]);
        assert_eq!(words(0, Some(1_000), Some(749)), ["missing_samples"]);
        assert_eq!(words(0, None, Some(1)), [""; 0], "not noted is not missing");
    }

    #[test]
    fn a_stall_that_hystart_may_have_taken_for_a_queue_makes_a_run_invalid() {
        let delay_detect = Counter {
            place: "sender nstat".to_owned(),
            name: "TcpExtTCPHystartDelayDetect".to_owned(),
            before: 0,
            after: 1,
        };
        let is_false_exit = |rtt: &str, late_us: u64, t_us: u64, counters: &[Counter]| {
            let stall = Stall { direction: Direction::Forward, t_us, late_ns: late_us * 1_000 };
            false_hystart_exit(&spec(rtt), &[stall], counters, Time::from_nanos(1_000_000_000)).is_some()
        };
        let detected = [delay_detect];
        let at = |rtt: &str, late_us| is_false_exit(rtt, late_us, 500_000, &detected);
        assert_eq!([at("200ms", 16_001), at("200ms", 16_000)], [true, false]);
        assert_eq!([at("80ms", 10_001), at("80ms", 10_000)], [true, false]);
        assert_eq!([at("1ms", 4_001), at("1ms", 4_000)], [true, false]);
        assert!(!is_false_exit("200ms", 30_000, 1_000_001, &detected), "after slow start");
        assert!(!is_false_exit("200ms", 30_000, 500_000, &[]), "the kernel counted no such end");
        assert!(
            !is_false_exit("200ms\"\njitter = \"1ms", 30_000, 500_000, &detected),
            "jitter ends it anyway"
        );
    }

    #[test]
    fn a_packet_that_the_instrument_lost_makes_a_run_invalid() {
        let lost = Instrument { ring_drops: Some(1), transmit_drops: Some(2), ..Instrument::default() };
        let reasons = judge(&spec("1ms"), &lost, &[interface_drop()]);
        let words: Vec<&str> = reasons.iter().map(|reason| reason.reason.as_str()).collect();
        assert_eq!(words, ["interface_drops", "ring_drops", "transmit_drops"]);
        let none = Instrument { ring_drops: Some(0), transmit_drops: Some(0), ..Instrument::default() };
        assert_eq!(judge(&spec("1ms"), &none, &[]), []);
    }
}
