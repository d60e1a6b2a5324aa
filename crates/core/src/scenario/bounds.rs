//! How much a scenario may ask for. Each bound lies far above what can be measured, and below what sums and products of the values
//! can hold; beyond it a typing mistake is more likely than a wish.

use crate::parse::{self, ParseError, duration_text};
use crate::units::{Bytes, QueueLimit, Rate};
use std::time::Duration;

/// Most bytes of a scenario's text; a list of 100,000 packets takes less than 1 MB.
pub const TEXT_MAX: usize = 4 << 20;
/// Most `[[flow]]` tables.
pub(super) const FLOWS_MAX: usize = 256;
/// Most `[[path.change]]` tables.
pub(super) const CHANGES_MAX: usize = 64;
/// Most streams of a cell, all flows together: each has two sockets and its own rows in every sample.
pub(super) const STREAMS_MAX: u32 = 4096;
/// Most values that a plan is expanded from: keys, each counted in every cell that it is set for.
pub(super) const VALUES_MAX: usize = 1_000_000;
/// Most rows, and most claims, of `[published]`: each is looked for among all cells.
pub(super) const PUBLISHED_MAX: usize = 1_000;
/// A thousand hours: sums of a few of these fit into 64 bits of nanoseconds.
pub(super) const SPAN_MAX: Duration = Duration::from_secs(3_600_000);
/// No link is as fast.
const RATE_MAX: Rate = Rate::from_bps(1_000_000_000_000_000);
/// No machine has as much memory to queue packets in.
pub(super) const SIZE_MAX: Bytes = Bytes::new(1 << 40);
/// Depth of a token bucket where none is given.
pub(super) const BURST: Bytes = Bytes::new(32 << 10);
/// Packets of 1500 bytes that fill [`SIZE_MAX`], roughly.
const PACKETS_MAX: u64 = 1_000_000_000;
/// Multiples of rate × rtt.
const BDPS_MAX: f64 = 1_000_000.0;
/// `SO_SNDBUF` and `SO_RCVBUF` are an `int`, which the kernel doubles (`__sock_set_rcvbuf()` in `net/core/sock.c`).
const SOCKET_BUFFER_MAX: u64 = i32::MAX.unsigned_abs() as u64 / 2;

/// A span of time: [`parse::duration`], at most a thousand hours.
pub(super) fn duration(text: &str) -> Result<Duration, ParseError> {
    let span = parse::duration(text)?;
    within(text, span <= SPAN_MAX, || format!("{} (1000h)", duration_text(SPAN_MAX)))?;
    Ok(span)
}

/// A rate: [`parse::rate`], at most 1000tbit.
pub(super) fn rate(text: &str) -> Result<Rate, ParseError> {
    let rate = parse::rate(text)?;
    within(text, rate <= RATE_MAX, || format!("{RATE_MAX}; leave the key out for no limit"))?;
    Ok(rate)
}

/// A rate of a trace: as [`rate`], or zero.
pub(super) fn rate_or_zero(text: &str) -> Result<Rate, ParseError> {
    let rate = parse::rate_or_zero(text)?;
    within(text, rate <= RATE_MAX, || RATE_MAX.to_string())?;
    Ok(rate)
}

/// A size: [`parse::bytes`], at most 1024GiB.
pub(super) fn bytes(text: &str) -> Result<Bytes, ParseError> {
    let bytes = parse::bytes(text)?;
    within(text, bytes <= SIZE_MAX, || SIZE_MAX.to_string())?;
    Ok(bytes)
}

/// A socket's buffer as `setsockopt()` takes it, at most 1073741823 bytes.
pub(super) fn socket_buffer(text: &str) -> Result<Bytes, ParseError> {
    let bytes = parse::bytes(text)?;
    within(text, bytes.get() <= SOCKET_BUFFER_MAX, || {
        format!("\"{SOCKET_BUFFER_MAX}B\": the kernel doubles it, and has 31 bits for the result")
    })?;
    Ok(bytes)
}

/// A queue's limit: [`parse::queue_limit`], at most 1024GiB, 1000000000p or 1000000bdp.
pub(super) fn queue_limit(text: &str) -> Result<QueueLimit, ParseError> {
    let limit = parse::queue_limit(text)?;
    let fits = match limit {
        QueueLimit::Bytes(bytes) => bytes <= SIZE_MAX,
        QueueLimit::Packets(packets) => packets <= PACKETS_MAX,
        QueueLimit::Bdp(multiple) => multiple <= BDPS_MAX,
    };
    within(text, fits, || format!("{SIZE_MAX}, {PACKETS_MAX}p or {BDPS_MAX}bdp"))?;
    Ok(limit)
}

/// A count in a range.
pub(super) fn count_within(text: &str, low: u32, high: u32) -> Result<u32, ParseError> {
    let number = parse::count(text)?;
    u32::try_from(number)
        .ok()
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| ParseError::new(format!("{text} is out of range"), format!("write {low} to {high}")))
}

fn within(text: &str, fits: bool, most: impl Fn() -> String) -> Result<(), ParseError> {
    match fits {
        true => Ok(()),
        false => {
            Err(ParseError::new(format!("\"{text}\" is too large"), format!("write at most {}", most())))
        }
    }
}
