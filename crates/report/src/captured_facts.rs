//! What packets say of a flow beside its figures: what the handshake agreed on, and counts, a sentence each.

use crate::verdicts::counted;
use pipefill_analysis::findings::connections::{CapturedFlow, FlowCounts, FlowOptions};

/// All that there is to say.
pub(crate) fn sentences(flow: &CapturedFlow) -> Vec<String> {
    [options(flow), counts(flow)].into_iter().flatten().collect()
}

/// What the ends agreed on; `None` where the receiver's SYN is not in the capture.
fn options(flow: &CapturedFlow) -> Option<String> {
    let FlowOptions { mss_bytes, window_scale, sack, timestamps, ecn, accurate_ecn } = flow.options;
    mss_bytes?;
    let named = |is_used: Option<bool>, name: &str| {
        is_used.map(|is| format!("{}{name}", if is { "" } else { "no " }))
    };
    let ecn_name = if accurate_ecn == Some(true) { "accurate ECN" } else { "ECN" };
    let parts = [
        mss_bytes.map(|bytes| format!("MSS {bytes} B")),
        window_scale.map(|shift| match shift {
            0 => "windows not scaled".to_owned(),
            shift => format!("window scale {shift}"),
        }),
        named(sack, "SACK"),
        named(timestamps, "timestamps"),
        named(ecn, ecn_name),
    ];
    Some(format!("Negotiated: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

/// What was counted; `None` where nothing of it happened.
fn counts(flow: &CapturedFlow) -> Option<String> {
    let FlowCounts { ce, ece, cwr } = flow.counts;
    let all = counted([(ce, "packets marked CE"), (ece, "ACKs with ECE"), (cwr, "segments with CWR")]);
    (!all.is_empty()).then(|| format!("Counted: {}.", all.join(", ")))
}
