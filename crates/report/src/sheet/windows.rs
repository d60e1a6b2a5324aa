//! The table of a question about buffers: what limited, what was in flight, and how large the windows and the send buffer were.

use super::column::{self, Column, column, float};
use super::{Heading, SheetEntry};
use crate::quantity::QuantityKind;
use pipefill_analysis::findings::experiment::CellResult;

/// Keys that set a buffer.
const BUFFERS: [&str; 4] = ["tcp_rmem", "tcp_wmem", "rcvbuf", "sndbuf"];

/// The share of the time first: a limit of half the time is half an answer.
const COLUMNS: [Column; 6] = [
    column("of time", QuantityKind::Percent, |c| {
        c.verdict.limited_fraction.as_ref()?.get(&c.verdict.limited_by?).map(|share| 100.0 * share)
    }),
    column("flight", QuantityKind::Bytes, |c| float(c.tcp.in_flight_bytes_p50)),
    column("cwnd", QuantityKind::Bytes, |c| float(c.tcp.cwnd_bytes_p50)),
    column("rwnd", QuantityKind::Bytes, |c| float(c.tcp.rwnd_bytes_p50)),
    column("sndbuf", QuantityKind::Bytes, |c| float(c.tcp.sndbuf_bytes_p50)),
    column("used", QuantityKind::Percent, |c| {
        Some(
            100.0 * float(c.tcp.wmem_queued_bytes_p50)?
                / float(c.tcp.sndbuf_bytes_p50).filter(|&limit| limit > 0.0)?,
        )
    }),
];

/// Whether a buffer is an axis of `cells`, and any was measured.
pub(super) fn are_asked_for(cells: &[&CellResult]) -> bool {
    let is_buffer = |path: &String| path.rsplit('.').next().is_some_and(|name| BUFFERS.contains(&name));
    cells.iter().any(|cell| cell.axes.keys().any(is_buffer))
        && cells.iter().any(|cell| cell.tcp.in_flight_bytes_p50.is_some())
}

/// The columns beside the axes.
pub(super) fn columns(cells: &[&CellResult]) -> Vec<(Heading, Vec<SheetEntry>)> {
    let mut filled: Vec<(Heading, Vec<SheetEntry>)> = column::limited_by(cells).into_iter().collect();
    filled.extend(column::of_numbers(&COLUMNS.iter().collect::<Vec<_>>(), false, cells));
    filled
}
