//! The instrument's own errors, and the packets that the path dropped on purpose.

use super::Counts;
use pipefill_core::record::{Counter, Instrument, Lateness, Manifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of the instrument.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InstrumentMetrics {
    /// Packets that the path dropped, by direction and reason, e.g. `forward queue_full`; zeros are kept.
    pub path_drops: Counts,
    /// Median lateness of the path's releases, the worse direction.
    pub path_lateness_p50_ns: Option<u64>,
    /// 99th percentile of the same.
    pub path_lateness_p99_ns: Option<u64>,
    /// 99th percentile of the sender's timer.
    pub send_lateness_p99_ns: Option<u64>,
    /// 99th percentile of the telemetry's timer.
    pub sample_lateness_p99_ns: Option<u64>,
    /// CPU time of each thread, user and system.
    pub cpu_us: Counts,
}

/// The instrument's figures of a run.
pub(super) fn metrics(manifest: &Manifest) -> InstrumentMetrics {
    let instrument = &manifest.instrument;
    let path = [instrument.release_lateness_forward.as_ref(), instrument.release_lateness_reverse.as_ref()];
    let worse = |field: fn(&Lateness) -> u64| path.iter().flatten().map(|lateness| field(lateness)).max();
    InstrumentMetrics {
        path_drops: path_drops(&manifest.counters),
        path_lateness_p50_ns: worse(|l| l.p50_ns),
        path_lateness_p99_ns: worse(|l| l.p99_ns),
        send_lateness_p99_ns: instrument.send_lateness.as_ref().map(|l| l.p99_ns),
        sample_lateness_p99_ns: instrument.sample_lateness.as_ref().map(|l| l.p99_ns),
        cpu_us: cpu(instrument),
    }
}

/// Counters `dropped_{reason}_packets` of the places `path forward` and `path reverse`.
fn path_drops(counters: &[Counter]) -> Counts {
    let drops = counters.iter().filter_map(|counter| {
        let direction = counter.place.strip_prefix("path ")?;
        let reason = counter.name.strip_prefix("dropped_")?.strip_suffix("_packets")?;
        let key = format!("{direction} {reason}");
        Some((key, counter.after.saturating_sub(counter.before)))
    });
    drops.collect()
}

fn cpu(instrument: &Instrument) -> Counts {
    let mut times = Counts::new();
    for thread in &instrument.threads {
        *times.entry(thread.thread.to_string()).or_default() += thread.user_us + thread.system_us;
    }
    times
}
