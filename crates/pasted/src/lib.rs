//! What people have already: the output of iperf3, iperf, netperf, ss and NDT7 clients, and qlogs, as samples of connections; `tc -s qdisc` and `nstat`
//! beside them. Text in, evidence out.
//!
//! Nothing is filled in: what an output does not show is absent, and named as a [`Gap`].
#![forbid(unsafe_code)]

mod context;
mod documents;
mod iperf2;
mod iperf3;
mod iperf3_text;
mod ndt7;
mod netperf;
mod number;
mod output;
mod qlog;
mod samples;
mod ss;

pub use context::{COUNTERS_MAX, QDISCS_MAX, read_context};
pub use output::{Output, OutputConnection, OutputDatagrams, ReadError};
pub use pipefill_core::record::Gap;

/// More bytes than these are not read.
pub const BYTES_MAX: usize = 64 << 20;
/// More connections than these are not judged; those that carried most are kept.
pub const CONNECTIONS_MAX: usize = 256;
/// More samples of a connection than these are not kept.
pub const SAMPLES_MAX: usize = 20_000;

/// Reads `bytes` as whatever they are.
///
/// # Errors
/// [`ReadError`] where they are the output of no known program, or show no connection.
pub fn read(bytes: &[u8]) -> Result<Output, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let output = if text.starts_with(['{', '[', documents::RECORD_SEPARATOR]) {
        read_json(text)?
    } else {
        let readers = [ss::read, iperf3_text::read, iperf2::read, netperf::read];
        readers.iter().find_map(|read| read(text)).ok_or(ReadError::Unknown)?
    };
    if output.connections.is_empty() && output.datagrams.is_empty() {
        return Err(ReadError::NoConnection { program: output.program });
    }
    Ok(output.bounded())
}

/// Reads text that begins like JSON.
fn read_json(text: &str) -> Result<Output, ReadError> {
    let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
    if qlog::is_its(text) {
        return qlog::read(text);
    }
    if has(&["\"TCPInfo\"", "\"BBRInfo\""]) {
        return ndt7::read(text);
    }
    if has(&["\"start\"", "\"intervals\"", "\"end\"", "\"error\""]) {
        return iperf3::read(text);
    }
    // What is no JSON is said before what is none of these programs'.
    documents::each(text, |_: serde::de::IgnoredAny| ())?;
    Err(ReadError::Unknown)
}
