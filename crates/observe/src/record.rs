//! What was watched as an experiment on disk.

use crate::watcher::Watcher;
use pipefill_analysis::findings::connections::PathDatagrams;
use pipefill_core::plan::CELLS_MAX;
use pipefill_core::record::{Invalid, Observed};
use pipefill_runs::{Failure, KeptConnection, Recorded, Written, write_connections};
use std::cmp::Reverse;
use std::path::Path;

/// Writes every connection that carried something into `target`, where nothing is, the one with the most payload first, and of `datagrams` each flow that is no short one; where both ends are watched, as the end that sends more of
/// the data has it. `invalid` is why none of them must be believed.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub fn keep_connections(
    watchers: &mut [Watcher],
    datagrams: &[PathDatagrams],
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
    let (payloads, connections): (Vec<u64>, Vec<KeptConnection>) = kept.into_iter().unzip();
    let names: Vec<String> = connections.iter().map(|one| one.name(&connections)).collect();
    let connections = connections.into_iter().map(Recorded::Connection).zip(names).zip(payloads);
    let flows = datagrams
        .iter()
        .filter(|flow| !flow.is_short())
        .map(|flow| ((Recorded::PathDatagrams(flow.clone()), name_of(flow)), flow.counted().offered_bytes));
    let mut kept: Vec<((Recorded, String), u64)> = connections.chain(flows).collect();
    kept.sort_by_key(|&(_, payload)| Reverse(payload));
    kept.truncate(CELLS_MAX);
    let (kept, names): (Vec<Recorded>, Vec<String>) = kept.into_iter().map(|(one, _)| one).unzip();
    write_connections(&[kept], &[invalid.to_vec()], &names, "watch", target)
}

/// `udp PEER from PORT` of what this host sends, `udp PEER to PORT` of what it receives.
fn name_of(flow: &PathDatagrams) -> String {
    let Observed { local, remote, .. } = &flow.observed;
    let port = local.rsplit(':').next().unwrap_or_default();
    format!("udp {remote} {} {port}", if flow.sends { "from" } else { "to" })
}
