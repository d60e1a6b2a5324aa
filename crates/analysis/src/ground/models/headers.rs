//! What the headers leave of a rate.
//!
//! A bottleneck's rate counts Ethernet frames without FCS (IP + 14 bytes), as `tc`'s tbf does, and the overhead that it states for
//! each: with `path.rate_layer = "wire"` preamble, FCS and gap of a real wire, 24 bytes.

use pipefill_core::cell::{DirectionSpec, ETHERNET_MTU, Family, Framing, PathSpec, Protocol};
use pipefill_core::units::{Bytes, Rate};

/// Ethernet header: two addresses and the type.
pub const ETHERNET: u64 = 14;
/// TCP header with the timestamps option and its padding: 20 + 12 (RFC 9293, RFC 7323 appendix A).
pub const TCP_WITH_TIMESTAMPS: u64 = 32;
/// TCP header without options (RFC 9293).
pub const TCP: u64 = 20;
/// UDP header (RFC 768).
pub const UDP: u64 = 8;

/// A path's packets, as far as their headers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// The header of IP without options (RFC 791, RFC 8200), bytes.
    ip: u64,
    /// The largest IP packet, bytes.
    mtu: u64,
}

impl Headers {
    /// IPv4 at an MTU of 1500, where no path is known.
    pub const USUAL: Self = Self { ip: Family::Ipv4.header() as u64, mtu: ETHERNET_MTU as u64 };

    /// Those of `family` at an MTU of 1500.
    pub(crate) fn usual(family: Family) -> Self {
        Self { ip: u64::from(family.header()), ..Self::USUAL }
    }

    /// Those of `path`.
    pub fn of(path: &PathSpec) -> Self {
        Self { ip: u64::from(path.family.header()), mtu: u64::from(path.mtu) }
    }

    /// The same of packets of at most `mtu` bytes.
    #[must_use]
    pub(crate) fn with_mtu(self, mtu: u16) -> Self {
        Self { mtu: mtu.into(), ..self }
    }

    /// TCP payload of a full segment with timestamps, bytes; at least 1.
    pub const fn mss(self) -> u64 {
        let mss = self.mtu.saturating_sub(self.ip + TCP_WITH_TIMESTAMPS);
        if mss > 0 { mss } else { 1 }
    }

    /// The frame, without FCS, that carries `payload` bytes.
    pub fn frame(self, protocol: Protocol, payload: Bytes) -> Bytes {
        let transport = match protocol {
            // More than the timestamps would leave of the MTU: they are off.
            Protocol::Tcp if payload.get() > self.mss() => TCP,
            Protocol::Tcp => TCP_WITH_TIMESTAMPS,
            Protocol::Udp | Protocol::Ping => UDP,
        };
        Bytes::new(payload.get() + transport + self.ip + ETHERNET)
    }

    /// The frame of a full TCP segment.
    pub fn full_frame(self) -> Bytes {
        self.frame(Protocol::Tcp, Bytes::new(self.mss()))
    }

    /// The goodput that the headers leave of the bottleneck of `way`, by its framing: see [`Self::goodput`]. `None` without one.
    pub fn goodput_through(self, way: &DirectionSpec, protocol: Protocol, payload: Bytes) -> Option<f64> {
        let rate = way.bottleneck.as_ref()?.rate;
        Some(self.goodput(rate, way.framing(), protocol, payload))
    }

    /// The goodput that the headers leave at `rate` with frames of `payload` bytes, each of which costs what `framing` says:
    /// `rate × payload / cost`, bits/s. For UDP the datagram has to fit the MTU: a fragmented one carries more headers.
    pub fn goodput(self, rate: Rate, framing: Framing, protocol: Protocol, payload: Bytes) -> f64 {
        let counted = framing.cost(self.frame(protocol, payload).get());
        rate.bps() as f64 * payload.get() as f64 / counted as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::{BottleneckSpec, WIRE_OVERHEAD};
    use pipefill_core::units::QueueLimit;

    /// 1448/1514 of 1 Gbit/s: 956.4 Mbit/s. Study 2 published 0.95 Gbit/s.
    #[test]
    fn a_gigabit_leaves_956_megabits() {
        assert_eq!(Headers::USUAL.mss(), 1_448);
        assert_eq!(Headers::USUAL.full_frame(), Bytes::new(1_514));
        assert_eq!(Headers::USUAL, Headers::of(&PathSpec::EMPTY));
        let goodput = at_rate(1_000_000_000, Protocol::Tcp, Headers::USUAL.mss());
        assert!((goodput - 956.4e6).abs() < 0.05e6, "{goodput}");
    }

    /// 1428/1514 with IPv6, 524/590 and 8948/9014 with other MTUs.
    #[test]
    fn the_path_s_headers_are_counted() {
        for (family, mtu, mss, share) in [
            (Family::Ipv6, 1500, 1428, 1428.0 / 1514.0),
            (Family::Ipv4, 576, 524, 524.0 / 590.0),
            (Family::Ipv4, 9000, 8948, 8948.0 / 9014.0),
        ] {
            let headers = Headers::of(&PathSpec { family, mtu, ..PathSpec::EMPTY });
            assert_eq!((headers.mss(), headers.full_frame().get()), (mss, u64::from(mtu) + 14));
            let got = headers.goodput(
                Rate::from_bps(1_000_000),
                Framing::default(),
                Protocol::Tcp,
                Bytes::new(mss),
            );
            assert!((got - share * 1e6).abs() < 1.0, "{got}");
        }
        assert_eq!(Headers { ip: 40, mtu: 0 }.mss(), 1);
    }

    fn at_rate(bps: u64, protocol: Protocol, payload: u64) -> f64 {
        Headers::USUAL.goodput(Rate::from_bps(bps), Framing::default(), protocol, Bytes::new(payload))
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
        let headers = Headers::USUAL;
        let way = DirectionSpec { bottleneck: Some(bottleneck), ..DirectionSpec::EMPTY };
        let goodput = headers.goodput_through(&way, Protocol::Tcp, Bytes::new(headers.mss())).unwrap();
        assert!((goodput - 941.48e6).abs() < 0.01e6, "{goodput}");
    }

    #[test]
    fn udp_headers_are_shorter() {
        assert_eq!(Headers::USUAL.frame(Protocol::Udp, Bytes::new(1_472)), Bytes::new(1_514));
        let goodput = at_rate(100_000_000, Protocol::Udp, 1_472);
        assert!((goodput - 97.226e6).abs() < 1e3, "{goodput}");
        assert_eq!(at_rate(100_000_000, Protocol::Udp, 0), 0.0);
    }
}
