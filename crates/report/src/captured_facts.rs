//! What packets say of a flow beside its figures: what the handshake agreed on, and counts, a sentence each.

use crate::verdicts::counted;
use pipefill_analysis::findings::connections::{CapturedFlow, FlowCounts, FlowOptions};
use pipefill_analysis::ground::models::stacks::{Stack, StackConfidence};

/// All that there is to say.
pub(crate) fn sentences(flow: &CapturedFlow) -> Vec<String> {
    [options(flow), stack(flow), counts(flow)].into_iter().flatten().collect()
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

/// Which TCP implementation sends; `None` where nothing shows it.
fn stack(flow: &CapturedFlow) -> Option<String> {
    let name = match flow.stack? {
        Stack::Linux => "Linux",
        Stack::Windows => "Windows",
        Stack::Bsd => "a BSD",
        Stack::Macos => "macOS or iOS",
        Stack::Solaris => "Solaris",
        Stack::Embedded => "an embedded stack",
    };
    let likely = if flow.stack_confidence == StackConfidence::Certain { "" } else { "likely " };
    Some(format!("The sender is {likely}{name}, by the form of its SYN."))
}

/// What was counted; `None` where nothing of it happened.
fn counts(flow: &CapturedFlow) -> Option<String> {
    let FlowCounts { ce, ece, cwr } = flow.counts;
    let all = counted([(ce, "packets marked CE"), (ece, "ACKs with ECE"), (cwr, "segments with CWR")]);
    (!all.is_empty()).then(|| format!("Counted: {}.", all.join(", ")))
}
