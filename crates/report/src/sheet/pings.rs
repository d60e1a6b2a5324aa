//! The tables of pings: what was fitted, and the round trips that it was fitted to.

use super::column::{self, Column, column, float};
use super::{Heading, SheetEntry};
use crate::quantity::{self, QuantityKind};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::metrics::{PingMetrics, PingSize};
use std::collections::BTreeSet;

/// The fit, and what three ways of reading make of the largest ping.
const COLUMNS: [Column; 8] = [
    column("base", QuantityKind::Time, |c| ping(c)?.base_rtt_us.map(|us| us * 1e3)),
    column("±", QuantityKind::Time, |c| ping(c)?.base_rtt_us_error.map(|us| us * 1e3)),
    column("forward", QuantityKind::Rate, |c| float(ping(c)?.forward_bps)),
    column("reverse", QuantityKind::Rate, |c| float(ping(c)?.reverse_bps)),
    column("BDP", QuantityKind::Bytes, |c| float(ping(c)?.bdp_bytes)),
    column("naive", QuantityKind::Rate, |c| float(ping(c)?.naive_bps)),
    column("doubled", QuantityKind::Rate, |c| float(ping(c)?.doubled_bps)),
    column("law", QuantityKind::Rate, |c| float(ping(c)?.law_bps)),
];

/// Whether any of `cells` has pings.
pub(super) fn are_there(cells: &[&CellResult]) -> bool {
    cells.iter().any(|cell| cell.ping.is_some())
}

/// Whether any of `cells` has round trips of several sizes: those of one size are in the table of the flows beside which they were sent.
pub(super) fn have_sizes(cells: &[&CellResult]) -> bool {
    cells.iter().filter_map(|cell| ping(cell)).any(|ping| ping.sizes.len() > 1)
}

/// The columns of the fit.
pub(super) fn fits(cells: &[&CellResult]) -> Vec<(Heading, Vec<SheetEntry>)> {
    column::of_numbers(&COLUMNS.iter().collect::<Vec<_>>(), false, cells)
}

/// A column for each pair of sizes: the median round trip.
pub(super) fn round_trips(cells: &[&CellResult]) -> Vec<(Heading, Vec<SheetEntry>)> {
    let sizes = || cells.iter().filter_map(|cell| ping(cell)).flat_map(|ping| &ping.sizes);
    let pairs: BTreeSet<(u64, u64)> = sizes().map(|size| (size.payload_bytes, size.reply_bytes)).collect();
    let of_pair = |&(payload, reply): &(u64, u64)| {
        let name = format!("{payload}→{reply}");
        let heading = Heading::new(&name, true);
        let is_it = |size: &&PingSize| (size.payload_bytes, size.reply_bytes) == (payload, reply);
        let entry = |cell: &&CellResult| {
            let size = ping(cell).and_then(|ping| ping.sizes.iter().find(is_it));
            SheetEntry::or_missing(size.map(|size| QuantityKind::Time.alone(size.rtt_us_p50 * 1e3)))
        };
        (heading, cells.iter().map(entry).collect())
    };
    pairs.iter().map(of_pair).collect()
}

fn ping(cell: &CellResult) -> Option<&PingMetrics> {
    cell.ping.as_ref()
}

/// A cell of pings in a sentence: they name no limit, they tell what the path is.
pub(crate) fn ping_sentence(ping: &PingMetrics) -> String {
    let rate = |bps: Option<u64>| bps.map(quantity::rate);
    let fitted = [
        ping.base_rtt_us
            .map(|us| format!("a round trip of {} without its payload", QuantityKind::Time.alone(us * 1e3))),
        rate(ping.forward_bps).map(|bps| format!("{bps} forward")),
        rate(ping.reverse_bps).map(|bps| format!("{bps} back")),
        ping.bdp_bytes.map(|bytes| format!("a BDP of {}", quantity::bytes(bytes))),
    ];
    let fitted: Vec<String> = fitted.into_iter().flatten().collect();
    let lost =
        if ping.lost > 0 { format!("; {} of {} were lost", ping.lost, ping.sent) } else { String::new() };
    match &fitted[..] {
        [] => format!("Pings fill no pipe, so nothing limits them; their sizes fix no rate{lost}."),
        some => format!(
            "Pings do not fill the path, so nothing limits them. They show the path: {}{lost}.",
            some.join(", ")
        ),
    }
}
