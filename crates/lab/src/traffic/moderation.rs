//! How much has to wait in a TCP socket before its reader is woken (`SO_RCVLOWAT`): on a fast path a wake for each packet costs more than the
//! data itself.
//!
//! As a network card's interrupts are: what comes within [`SPAN`] is read at once. A slow path, and the end of a transfer, wake the reader for
//! every byte. The receive buffer stays as it is: the kernel would enlarge it for a threshold above its share of payload
//! (`tcp_set_rcvlowat()`), and wakes the reader anyway before the window closes (`tcp_epollin_ready()`).

use crate::sys::socket::set_option;
use pipefill_core::units::Time;
use socket2::Socket;
use std::time::Duration;

/// What comes within this time is read at once.
const SPAN: Duration = Duration::from_micros(200);
/// The rate is measured anew so often.
const EVERY: Duration = Duration::from_millis(2);
/// Less is not worth waiting for, more would be no longer in a CPU's cache.
const LEAST: u64 = 32 << 10;
const MOST: u64 = 512 << 10;
/// The threshold is no more than this share of the receive buffer.
const SHARE: u64 = 8;

/// The threshold of a socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moderation {
    threshold: u64,
    since: Time,
    bytes: u64,
}

impl Moderation {
    /// Every byte wakes the reader.
    pub(crate) const fn new(now: Time) -> Self {
        Self { threshold: 1, since: now, bytes: 0 }
    }

    /// Whether the reader may sleep while something waits.
    pub(crate) const fn is_on(&self) -> bool {
        self.threshold > 1
    }

    /// So much was read.
    pub(crate) fn note(&mut self, socket: &Socket, bytes: u64, now: Time) {
        self.bytes += bytes;
        let span = now.since(self.since);
        if span < EVERY {
            return;
        }
        let buffer = socket.recv_buffer_size().unwrap_or(0) as u64;
        let wanted = threshold(self.bytes, span, buffer);
        (self.since, self.bytes) = (now, 0);
        self.set(socket, wanted);
    }

    /// Nothing came for longer than it should have taken.
    pub(crate) fn end(&mut self, socket: &Socket, now: Time) {
        *self = Self { threshold: self.threshold, ..Self::new(now) };
        self.set(socket, 1);
    }

    fn set(&mut self, socket: &Socket, wanted: u64) {
        // Between two powers of two a rate that wavers would change it all the time.
        if wanted == self.threshold || wanted > 1 && wanted * 2 == self.threshold {
            return;
        }
        let value = i32::try_from(wanted).unwrap_or(1);
        // A kernel that refuses it wakes for every byte.
        if set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &value).is_ok() {
            self.threshold = wanted;
        }
    }
}

/// For so many bytes in `span`, with a receive buffer of `buffer` bytes: a power of two, or 1.
fn threshold(bytes: u64, span: Duration, buffer: u64) -> u64 {
    let within = u128::from(bytes) * SPAN.as_nanos() / span.as_nanos().max(1);
    let wanted = u64::try_from(within).unwrap_or(MOST).min(MOST).min(buffer / SHARE);
    if wanted < LEAST { 1 } else { 1 << wanted.ilog2() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_within_the_span_is_waited_for_on_fast_paths_only() {
        let in_a_second = |bits: u64, buffer: u64| threshold(bits / 8, Duration::from_secs(1), buffer);
        assert_eq!(in_a_second(1_000_000_000, 6 << 20), 1);
        assert_eq!(in_a_second(2_000_000_000, 6 << 20), 32 << 10);
        assert_eq!(in_a_second(20_000_000_000, 6 << 20), 256 << 10);
        assert_eq!(in_a_second(400_000_000_000, 6 << 20), 512 << 10);
        assert_eq!(in_a_second(20_000_000_000, 1 << 20), 128 << 10);
        assert_eq!(in_a_second(20_000_000_000, 131_072), 1, "a buffer that is small stays so");
    }
}
