//! When a run must not be believed: the bounds of the instrument's own errors.
//!
//! The bounds are part of `docs/metrics.md`. Never loosened for a run that looks plausible.

use pipefill_core::cell::CellSpec;
use pipefill_core::record::{Instrument, Invalid, Lateness};
use std::time::Duration;

/// A path that releases its packets later than this, or than a tenth of the RTT, at the 99th percentile is another path.
const LATE_RELEASE: Duration = Duration::from_millis(1);
/// A sender whose 99th percentile is later than this did not send what was asked.
const LATE_SENDER: Duration = Duration::from_millis(20);

/// The reasons why a run with these errors is invalid; empty = it may be believed.
pub(crate) fn judge(spec: &CellSpec, instrument: &Instrument) -> Vec<Invalid> {
    let mut reasons = Vec::new();
    if let Some(drops) = instrument.ring_drops.filter(|&drops| drops > 0) {
        reasons.push(invalid(
            "ring_drops",
            format!("the data path's receive ring dropped {drops} packets (bound: 0)"),
        ));
    }
    if let Some(drops) = instrument.transmit_drops.filter(|&drops| drops > 0) {
        reasons.push(invalid(
            "transmit_drops",
            format!("the kernel refused {drops} packets of the data path (bound: 0)"),
        ));
    }
    let bound = LATE_RELEASE.max(spec.path.rtt() / 10);
    for (direction, lateness) in
        [("forward", &instrument.release_lateness_forward), ("reverse", &instrument.release_lateness_reverse)]
    {
        reasons.extend(late("late_releases", &format!("the path ({direction})"), lateness.as_ref(), bound));
    }
    reasons.extend(late("late_sender", "the sender's timer", instrument.send_lateness.as_ref(), LATE_SENDER));
    reasons
}

/// A reason to distrust a run.
pub(crate) fn invalid(reason: &str, detail: String) -> Invalid {
    Invalid { reason: reason.to_owned(), detail }
}

fn late(reason: &str, what: &str, lateness: Option<&Lateness>, bound: Duration) -> Option<Invalid> {
    let p99 = Duration::from_nanos(lateness?.p99_ns);
    (p99 > bound).then(|| {
        invalid(reason, format!("{what} was {p99:?} late at the 99th percentile (bound: {bound:?})"))
    })
}
