//! What the headers leave of a rate.
//!
//! A bottleneck's rate counts Ethernet frames without FCS (IP + 14 bytes), as `tc`'s tbf does, and the overhead that it states for
//! each: with `path.rate_layer = "wire"` preamble, FCS and gap of a real wire, 24 bytes.

use pipefill_core::cell::{BottleneckSpec, Protocol};
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
    goodput_with_overhead(rate, Bytes::new(0), protocol, payload)
}

/// The same through `bottleneck`, with the overhead of its frames.
pub fn goodput_through(bottleneck: &BottleneckSpec, protocol: Protocol, payload: Bytes) -> f64 {
    goodput_with_overhead(bottleneck.rate, bottleneck.overhead, protocol, payload)
}

/// The same at `rate`, where each frame costs `overhead` beside its own bytes.
pub fn goodput_with_overhead(rate: Rate, overhead: Bytes, protocol: Protocol, payload: Bytes) -> f64 {
    let counted = frame(protocol, payload).get() + overhead.get();
    rate.bps() as f64 * payload.get() as f64 / counted as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::WIRE_OVERHEAD;
    use pipefill_core::units::QueueLimit;

    /// 1448/1514 of 1 Gbit/s: 956.4 Mbit/s. Study 2 published 0.95 Gbit/s.
    #[test]
    fn a_gigabit_leaves_956_megabits() {
        let mss = Bytes::new(DEFAULT_MSS);
        assert_eq!(frame(Protocol::Tcp, mss), Bytes::new(1_514));
        let goodput = goodput_at_rate(Rate::from_bps(1_000_000_000), Protocol::Tcp, mss);
        assert!((goodput - 956.4e6).abs() < 0.05e6, "{goodput}");
    }

    /// 1448/1538: what iperf3 shows on a Gigabit Ethernet link.
    #[test]
    fn a_gigabit_on_the_wire_leaves_941_megabits() {
        let bottleneck = BottleneckSpec {
            rate: Rate::from_bps(1_000_000_000),
            overhead: WIRE_OVERHEAD,
            queue: QueueLimit::Packets(100),
            burst: Bytes::new(32_768),
        };
        let goodput = goodput_through(&bottleneck, Protocol::Tcp, Bytes::new(DEFAULT_MSS));
        assert!((goodput - 941.48e6).abs() < 0.01e6, "{goodput}");
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
