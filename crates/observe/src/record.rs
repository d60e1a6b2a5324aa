//! What was watched as an experiment on disk.

use crate::datagrams::FoundDatagrams;
use crate::disciplines::FoundDisciplines;
use crate::watcher::Watcher;
use pipefill_analysis::findings::connections::PathDatagrams;
use pipefill_core::plan::CELLS_MAX;
use pipefill_core::record::{Invalid, Observed};
use pipefill_runs::{Failure, KeptConnection, PathDisciplines, Recorded, Written, write_connections};
use std::cmp::Reverse;
use std::path::Path;

/// The emulated path that the connections take.
#[derive(Debug, Clone, Copy)]
pub struct TakenPath<'a> {
    /// What it counted of flows of datagrams.
    pub datagrams: &'a FoundDatagrams,
    /// What was read of its queues.
    pub disciplines: &'a FoundDisciplines,
    /// Why none of the connections must be believed.
    pub invalid: &'a [Invalid],
}

/// A connection that is kept, with its payload.
struct Busy {
    payload: u64,
    connection: KeptConnection,
    disciplines: PathDisciplines,
}

/// Writes every connection that carried something, or sends in vain, into `target`, where nothing is, the one with the most payload first, and of the datagrams on the
/// `path` each flow that is no short one; where both ends are watched, as the end that sends more of the data has it. The first of `watchers` is at the
/// path's near end.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub fn keep_connections(
    watchers: &mut [Watcher],
    path: Option<TakenPath<'_>>,
    target: &Path,
) -> Result<Written, Failure> {
    let mut busy: Vec<Busy> = Vec::new();
    let has_both_ends = watchers.len() > 1;
    for (end, watcher) in watchers.iter_mut().enumerate() {
        let began = watcher.began();
        watcher.each_busy(|connection| {
            let carried = connection.carried();
            if busy.len() < CELLS_MAX && (!has_both_ends || carried.offered() > carried.received) {
                let ends = connection.samples.first().zip(connection.samples.last());
                let disciplines = path.zip(ends).map(|(path, (first, last))| {
                    path.disciplines.during(began, &(first.t_us..=last.t_us), end > 0)
                });
                busy.push(Busy {
                    payload: carried.most(),
                    connection: KeptConnection {
                        observed: connection.observed.clone(),
                        congestion_control: connection.congestion_control.clone(),
                        offered: None,
                        every: connection.every,
                        samples: connection.samples.to_vec(),
                        exact: connection.exact.cloned(),
                        cpu: connection.cpu.clone(),
                        receiver_samples: connection.peer_samples.to_vec(),
                        sender_samples: Vec::new(),
                    },
                    disciplines: disciplines.unwrap_or_default(),
                });
            }
        });
    }
    let names = names(&busy);
    let connections = busy.into_iter().zip(names).map(|(Busy { payload, connection, disciplines }, name)| {
        ((Recorded::from(connection).over(disciplines), name), payload)
    });
    let flows = path.into_iter().flat_map(|path| {
        let flows = path.datagrams.flows.iter().filter(|flow| !flow.is_short());
        flows.map(move |flow| {
            let time_us = flow.first_us..=flow.last_us;
            let disciplines = path.disciplines.during(path.datagrams.began, &time_us, false);
            let recorded = Recorded::from(flow.clone()).over(disciplines);
            ((recorded, name_of(flow)), flow.counted().offered_bytes)
        })
    });
    let mut kept: Vec<((Recorded, String), u64)> = connections.chain(flows).collect();
    kept.sort_by_key(|&(_, payload)| Reverse(payload));
    kept.truncate(CELLS_MAX);
    let (kept, names): (Vec<Recorded>, Vec<String>) = kept.into_iter().map(|(recorded, _)| recorded).unzip();
    let invalid = path.map_or_else(Vec::new, |path| path.invalid.to_vec());
    write_connections(&[kept], &[invalid], &names, "watch", target)
}

fn names(busy: &[Busy]) -> Vec<String> {
    busy.iter().map(|own| own.connection.name(busy.iter().map(|other| &other.connection))).collect()
}

/// `udp PEER from PORT` of what this host sends, `udp PEER to PORT` of what it receives.
fn name_of(flow: &PathDatagrams) -> String {
    let Observed { local, remote, .. } = &flow.observed;
    let port = local.rsplit(':').next().unwrap_or_default();
    format!("udp {remote} {} {port}", if flow.sends { "from" } else { "to" })
}
