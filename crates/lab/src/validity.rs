//! When a run must not be believed: the bounds of the instrument's own errors.
//!
//! The bounds are part of `docs/metrics.md`. Never loosened for a run that looks plausible.

use pipefill_core::cell::CellSpec;
use pipefill_core::record::{Counter, Instrument, Invalid, Lateness};
use std::time::Duration;

/// A path that is later than this, or than a tenth of the RTT, at the *median* is another path.
const LATE_PATH: Duration = Duration::from_micros(500);
/// A path that is later than this, or than a quarter of the RTT, at the 99th percentile has stalled: TCP would see losses
/// (RACK's reordering window is a quarter of the RTT, RFC 8985 section 6.2) that the path did not make.
const STALLED_PATH: Duration = Duration::from_millis(5);
/// A sender whose 99th percentile is later than this did not send what was asked.
const LATE_SENDER: Duration = Duration::from_millis(20);

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
    let (late, stalled) = (LATE_PATH.max(rtt / 10), STALLED_PATH.max(rtt / 4));
    let directions = [
        ("forward", &instrument.release_lateness_forward),
        ("reverse", &instrument.release_lateness_reverse),
    ];
    for (direction, lateness) in directions {
        let Some(lateness) = lateness else { continue };
        let what = format!("the path ({direction})");
        reasons.extend(above("late_releases", &what, "at the median", lateness.p50_ns, late));
        reasons.extend(above("late_releases", &what, AT_99, lateness.p99_ns, stalled));
    }
    let sender = instrument.send_lateness.as_ref().map_or(0, |lateness: &Lateness| lateness.p99_ns);
    reasons.extend(above("late_sender", "the sender's timer", AT_99, sender, LATE_SENDER));
    reasons
}

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
    use pipefill_core::scenario::Scenario;

    fn spec(rtt: &str) -> CellSpec {
        let text = format!("name = \"x\"\n[path]\nrtt = \"{rtt}\"\n");
        Scenario::parse(&text, "x.toml").unwrap().plan().cells[0].spec.clone()
    }

    fn forward(p50_us: u64, p99_us: u64) -> Instrument {
        let lateness =
            Lateness { count: 1, p50_ns: p50_us * 1000, p99_ns: p99_us * 1000, ..Lateness::default() };
        Instrument { release_lateness_forward: Some(lateness), ..Instrument::default() }
    }

    fn interface_drop() -> Counter {
        Counter { place: "path interface".to_owned(), name: "b0 tx_dropped".to_owned(), before: 1, after: 3 }
    }

    #[test]
    fn a_path_is_invalid_where_it_is_late_as_a_rule_or_stalls() {
        let reasons = |rtt: &str, p50, p99| judge(&spec(rtt), &forward(p50, p99), &[]).len();
        assert_eq!(reasons("1ms", 500, 5_000), 0);
        assert_eq!(reasons("1ms", 501, 5_000), 1);
        assert_eq!(reasons("1ms", 500, 5_001), 1);
        assert_eq!(reasons("100ms", 10_000, 25_000), 0);
        assert_eq!(reasons("100ms", 10_001, 25_001), 2);
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
