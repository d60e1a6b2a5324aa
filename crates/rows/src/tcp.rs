//! The row of a TCP socket. By serde's `flatten` it would be read in several times the time: that holds every member in between.

use pipefill_core::record::{StreamEnd, TcpSample};
use serde::Deserialize;
use serde_json::Result;

/// The members of a [`TcpSample`] beside its `info`.
#[derive(Deserialize)]
struct AroundInfo {
    t_us: u64,
    stream: u32,
    end: StreamEnd,
    wmem_queued_bytes: Option<u64>,
    sndbuf_bytes: Option<u64>,
    rmem_alloc_bytes: Option<u64>,
    rcvbuf_bytes: Option<u64>,
    raw: Option<String>,
}

/// A row of `tcp.jsonl.zst`.
pub(super) fn sample(line: &str) -> Result<TcpSample> {
    let AroundInfo {
        t_us,
        stream,
        end,
        wmem_queued_bytes,
        sndbuf_bytes,
        rmem_alloc_bytes,
        rcvbuf_bytes,
        raw,
    } = serde_json::from_str(line)?;
    let info = serde_json::from_str(line)?;
    Ok(TcpSample {
        t_us,
        stream,
        end,
        info,
        wmem_queued_bytes,
        sndbuf_bytes,
        rmem_alloc_bytes,
        rcvbuf_bytes,
        raw,
    })
}
