//! What anybody may paste: fed to the readers of other programs' output by the fuzz target and by an ordinary test (`crates/pasted/tests/hostile.rs`).
//! Any bytes are connections with bounded samples in order of time, or an error; never a panic.

use pipefill_core::record::HostContext;
use pipefill_pasted::{CONNECTIONS_MAX, COUNTERS_MAX, Output, QDISCS_MAX, SAMPLES_MAX, read, read_context};

/// Any bytes. What was read keeps its bounds.
pub fn output(bytes: &[u8]) -> Option<Output> {
    let output = read(bytes).ok()?;
    assert!(output.connections.len() <= CONNECTIONS_MAX && output.datagrams.len() <= CONNECTIONS_MAX);
    assert!(!output.connections.is_empty() || !output.datagrams.is_empty());
    for connection in &output.connections {
        let samples = &connection.samples;
        assert!((2..=SAMPLES_MAX).contains(&samples.len()), "{}", samples.len());
        assert!(samples.is_sorted_by(|before, after| before.t_us < after.t_us));
        assert!(connection.cpu.iter().flatten().all(|share| share.is_finite() && *share >= 0.0));
        assert!(connection.observed.read_from.is_some());
    }
    for flow in &output.datagrams {
        assert!(flow.lost <= flow.sent && flow.sent > 0 && flow.span_us > 0);
    }
    Some(output)
}

/// Any bytes beside an output. What was read keeps its bounds.
pub fn context(bytes: &[u8]) -> Option<HostContext> {
    let context = read_context(bytes, "file").ok()?;
    assert!(context.qdiscs.len() <= QDISCS_MAX && context.counters.len() <= COUNTERS_MAX);
    Some(context)
}
