//! What was watched as an experiment on disk.

use crate::watcher::Watcher;
use pipefill_core::plan::CELLS_MAX;
use pipefill_core::record::Invalid;
use pipefill_runs::{Failure, KeptConnection, Recorded, Written, write_connections};
use std::cmp::Reverse;
use std::path::Path;

/// Writes every connection that carried something into `target`, where nothing is, the one with the most payload first; where both ends are watched, as the end that sends more of
/// the data has it. `invalid` is why none of them must be believed.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub fn keep_connections(
    watchers: &mut [Watcher],
    invalid: &[Invalid],
    target: &Path,
) -> Result<Written, Failure> {
    let mut kept = Vec::new();
    let has_both_ends = watchers.len() > 1;
    for watcher in watchers {
        watcher.each_busy(|one| {
            let carried = one.carried();
            if kept.len() < CELLS_MAX && (!has_both_ends || carried.sent > carried.received) {
                let payload = carried.sent.max(carried.received);
                kept.push((
                    payload,
                    KeptConnection {
                        observed: one.observed.clone(),
                        congestion_control: one.congestion_control.clone(),
                        offered: None,
                        every: one.every,
                        samples: one.samples.to_vec(),
                        exact: one.exact.cloned(),
                        cpu: one.cpu.clone(),
                        sender_samples: Vec::new(),
                    },
                ));
            }
        });
    }
    kept.sort_by_key(|&(payload, _)| Reverse(payload));
    let kept: Vec<KeptConnection> = kept.into_iter().map(|(_, one)| one).collect();
    let names: Vec<String> = kept.iter().map(|one| one.name(&kept)).collect();
    let kept = kept.into_iter().map(Recorded::Connection).collect();
    write_connections(&[kept], &[invalid.to_vec()], &names, "watch", target)
}
