//! Samples and records for the tests of this folder.

use pipefill_core::cell::Direction;
use pipefill_core::record::{AnyRow, Element, Manifest, PathSample, StreamEnd, TcpSample};
use pipefill_core::scenario::Scenario;
use pipefill_core::tcp_info::TcpInfo;

/// The record, without its end, of the first run of a scenario whose sections are `text`.
pub(crate) fn manifest(text: &str) -> Manifest {
    let scenario =
        Scenario::parse(&format!("name = \"x\"\n{text}"), "x.toml").unwrap_or_else(|e| panic!("{e}"));
    Manifest::expected(&scenario.plan().runs()[0], 0)
}

/// A look at the bottleneck's queue.
pub(crate) fn queue(t_us: u64, direction: Direction, backlog_bytes: u64, dropped_packets: u64) -> AnyRow {
    let backlog_packets = backlog_bytes / 1514;
    AnyRow::Path(PathSample {
        t_us,
        direction,
        element: Element::Queue,
        backlog_packets,
        backlog_bytes,
        dropped_packets,
    })
}

/// What the sender of `stream` had acknowledged at `t_us`.
pub(crate) fn acked(t_us: u64, stream: u32, bytes_acked: u64) -> AnyRow {
    let info = TcpInfo { bytes_acked: Some(bytes_acked), mss_bytes: 1448, ..TcpInfo::default() };
    AnyRow::Tcp(TcpSample { stream, ..of_sender(t_us, info) })
}

/// What the sender of stream 0 said at `t_us`, without its buffers.
pub(crate) fn of_sender(t_us: u64, info: TcpInfo) -> TcpSample {
    TcpSample::of_info(t_us, 0, StreamEnd::Sender, info)
}
