//! Requests and replies of known size: what both backends send, and what it weighs on the wire.
//!
//! Each size is asked for twice in turn: once with the whole payload sent back, as an ICMP echo has it, and once with a short reply.
//! One alone can't tell the two directions apart.

use crate::cell::PingSpec;
use crate::units::Bytes;
use std::time::Duration;

/// Payload of a short reply, and the least of a request: our own header.
pub const SHORT_REPLY: Bytes = Bytes::new(24);
/// What one IPv4 fragment carries at an MTU of 1500: a multiple of 8 (RFC 791, 3.1).
pub const FRAGMENT: u64 = 1480;
/// Headers of each fragment: Ethernet (14) and IPv4 (20).
const FRAME_HEADERS: u64 = 34;
/// The UDP header, in the first fragment.
const UDP_HEADER: u64 = 8;
/// A reply that takes longer than this beyond four round trips is lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// One request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Payload of the request.
    pub payload: Bytes,
    /// Payload of the reply.
    pub reply: Bytes,
}

/// The exchange number `number`, from 0: every payload in turn, first with the whole reply, then with the short one.
pub fn exchange(spec: &PingSpec, number: u64) -> Exchange {
    let kinds = (spec.payloads.len() as u64).max(1) * 2;
    let place = usize::try_from(number % kinds).unwrap_or(0);
    let payload = spec.payloads.get(place / 2).copied().unwrap_or(SHORT_REPLY);
    Exchange { payload, reply: if place % 2 == 0 { payload } else { SHORT_REPLY } }
}

/// The IPv4 payloads of the fragments that carry a datagram of `payload`.
pub fn fragments(payload: Bytes) -> impl Iterator<Item = u32> {
    let whole = payload.get() + UDP_HEADER;
    let count = whole.div_ceil(FRAGMENT);
    (0..count).map(move |index| u32::try_from((whole - index * FRAGMENT).min(FRAGMENT)).unwrap_or(u32::MAX))
}

/// What a datagram of `payload` weighs on the path: every fragment's Ethernet frame without FCS.
pub fn wire_bytes(payload: Bytes) -> Bytes {
    let whole = payload.get() + UDP_HEADER;
    Bytes::new(whole + whole.div_ceil(FRAGMENT) * FRAME_HEADERS)
}

/// How long a reply is waited for on a path of this base round trip.
pub fn patience(rtt: Duration) -> Duration {
    PATIENCE + 4 * rtt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_round_with_both_replies() {
        let spec = PingSpec {
            payloads: vec![Bytes::new(64), Bytes::new(1400)],
            interval: Duration::from_millis(10),
        };
        let got: Vec<(u64, u64)> = (0..5)
            .map(|number| exchange(&spec, number))
            .map(|one| (one.payload.get(), one.reply.get()))
            .collect();
        assert_eq!(got, [(64, 64), (64, 24), (1400, 1400), (1400, 24), (64, 64)]);
    }

    /// The source of study 3 pinged with 65,500 bytes: 45 fragments, 67 kB on the wire, each way.
    #[test]
    fn a_large_ping_is_many_frames() {
        assert_eq!(fragments(Bytes::new(65_500)).count(), 45);
        assert_eq!(wire_bytes(Bytes::new(65_500)), Bytes::new(65_508 + 45 * 34));
        assert_eq!(fragments(Bytes::new(1_472)).collect::<Vec<_>>(), [1480]);
        assert_eq!(wire_bytes(Bytes::new(1_472)), Bytes::new(1_514));
        for payload in [24, 1_473, 20_000] {
            let carried: u32 = fragments(Bytes::new(payload)).sum();
            assert_eq!(u64::from(carried), payload + 8);
        }
    }
}
