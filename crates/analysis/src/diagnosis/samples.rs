//! Samples for the tests of this folder.

use pipefill_core::record::{StreamEnd, TcpSample};
use pipefill_core::tcp_info::TcpInfo;

/// What the sender of stream 0 said at `t_us`, without its buffers.
pub(super) fn of_sender(t_us: u64, info: TcpInfo) -> TcpSample {
    TcpSample {
        t_us,
        stream: 0,
        end: StreamEnd::Sender,
        info,
        wmem_queued_bytes: None,
        sndbuf_bytes: None,
        rmem_alloc_bytes: None,
        rcvbuf_bytes: None,
        raw: None,
    }
}
