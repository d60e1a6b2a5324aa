//! What the headers leave of a rate.
//!
//! A bottleneck's rate counts Ethernet frames without FCS (IP + 14 bytes), as `tc`'s tbf does. Never: preamble, FCS and gap
//! of a real wire (24 bytes more), which a physical link takes on top.

use pipefill_core::cell::Protocol;
use pipefill_core::units::{Bytes, Rate};

/// Ethernet header: two addresses and the type.
pub const ETHERNET: u64 = 14;
/// IPv4 header without options (RFC 791).
pub const IPV4: u64 = 20;
/// TCP header with the timestamps option and its padding: 20 + 12 (RFC 9293, RFC 7323 appendix A).
pub const TCP_WITH_TIMESTAMPS: u64 = 32;
/// TCP header without options (RFC 9293).
pub const TCP: u64 = 20;
/// UDP header (RFC 768).
pub const UDP: u64 = 8;
/// TCP payload of a full segment at an MTU of 1500 with timestamps.
pub const DEFAULT_MSS: u64 = 1_448;

/// The frame, without FCS, that carries `payload` bytes over IPv4.
pub fn frame(protocol: Protocol, payload: Bytes) -> Bytes {
    let transport = match protocol {
        // More than the timestamps would leave of an MTU of 1500: they are off.
        Protocol::Tcp if payload.get() > DEFAULT_MSS => TCP,
        Protocol::Tcp => TCP_WITH_TIMESTAMPS,
        Protocol::Udp | Protocol::Ping => UDP,
    };
    Bytes::new(payload.get() + transport + IPV4 + ETHERNET)
}

/// The goodput that the headers leave at `rate` with full frames of `payload` bytes: `rate × payload / frame`, bits/s.
/// For UDP the datagram has to fit the MTU: a fragmented one carries more headers.
pub fn goodput_at_rate(rate: Rate, protocol: Protocol, payload: Bytes) -> f64 {
    rate.bps() as f64 * payload.get() as f64 / frame(protocol, payload).get() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1448/1514 of 1 Gbit/s: 956.4 Mbit/s. Study 2 published 0.95 Gbit/s.
    #[test]
    fn a_gigabit_leaves_956_megabits() {
        let mss = Bytes::new(DEFAULT_MSS);
        assert_eq!(frame(Protocol::Tcp, mss), Bytes::new(1_514));
        let goodput = goodput_at_rate(Rate::from_bps(1_000_000_000), Protocol::Tcp, mss);
        assert!((goodput - 956.4e6).abs() < 0.05e6, "{goodput}");
    }

    #[test]
    fn udp_headers_are_shorter() {
        assert_eq!(frame(Protocol::Udp, Bytes::new(1_472)), Bytes::new(1_514));
        let rate = Rate::from_bps(100_000_000);
        let goodput = goodput_at_rate(rate, Protocol::Udp, Bytes::new(1_472));
        assert!((goodput - 97.226e6).abs() < 1e3, "{goodput}");
        assert_eq!(goodput_at_rate(rate, Protocol::Udp, Bytes::new(0)), 0.0);
    }
}
