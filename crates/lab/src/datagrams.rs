//! What the path counts of each flow of datagrams: what came, what left, what was dropped and why, and how long its bursts were.
//!
//! Memory: [`FLOWS_MAX`] flows of about 300 bytes for each direction. Datagrams of further ones are counted together.

use pipefill_capture::headers::{self, Endpoint, Other};
use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::udp::{QuicVersion, quic_version};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::record::{DatagramSample, DropReason};
use pipefill_core::units::Time;
use pipefill_link::{BurstMeter, Count};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;

/// Flows that are counted one by one.
const FLOWS_MAX: usize = 1024;
/// Datagrams of a flow in which a long header of QUIC is looked for.
const QUIC_WITHIN: u64 = 8;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: LinkType = LinkType(1);
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TCP: u8 = 6;

/// The counts of one direction of the path.
#[derive(Debug, Clone, Default)]
pub struct DatagramFlows {
    /// Each flow, in the order in which they began.
    pub flows: Vec<DatagramFlow>,
    /// Packets of flows beyond those that are counted one by one.
    pub other_packets: u64,
}

/// One flow.
#[derive(Debug, Clone, Copy)]
pub struct DatagramFlow {
    /// Who sends it.
    pub source: SocketAddr,
    /// To whom.
    pub destination: SocketAddr,
    /// When its first packet came, by the path's clock.
    pub first: Time,
    /// When its latest one came.
    pub last: Time,
    /// What was counted; no socket is asked here.
    pub counts: DatagramSample,
    /// Of QUIC, by a long header.
    pub quic: Option<QuicVersion>,
}

/// The flows of one direction.
pub(crate) struct DatagramTable {
    places: HashMap<(Endpoint, Endpoint), usize>,
    flows: Vec<Rc<RefCell<Counting>>>,
    /// Of the bottleneck; `None` where there is none, or its rate changes.
    meter: Option<BurstMeter>,
    other_packets: u64,
    /// Whose datagram's first fragment came last: the later ones have no ports.
    fragmented: Option<usize>,
}

#[derive(Debug)]
struct Counting {
    flow: DatagramFlow,
    meter: Option<BurstMeter>,
}

/// A packet's flow, which counts the packet's fate.
#[derive(Clone)]
pub(crate) struct CountedPacket {
    counting: Rc<RefCell<Counting>>,
    payload: u32,
}

impl DatagramTable {
    /// Of the direction `spec`, in which nothing came yet.
    pub(crate) fn new(spec: &DirectionSpec) -> Self {
        let meter = spec
            .bottleneck
            .as_ref()
            .filter(|_| !spec.has_changing_rate())
            .map(|bottleneck| BurstMeter::new(bottleneck, spec.framing()));
        Self { places: HashMap::new(), flows: Vec::new(), meter, other_packets: 0, fragmented: None }
    }

    /// Counts the Ethernet frame that comes at `now`; `None` where it is not a datagram of a counted flow.
    pub(crate) fn take(&mut self, now: Time, frame: &[u8]) -> Option<CountedPacket> {
        if !may_be_datagram(frame) {
            return None;
        }
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let (place, payload, quic) =
            match headers::datagram(&Packet::new(now.nanos(), ETHERNET, length, frame)) {
                Ok(datagram) => {
                    let place = self.place((datagram.source, datagram.destination), now);
                    self.fragmented = place;
                    // The length of a fragmented datagram covers all its fragments.
                    let held = u32::try_from(datagram.payload.len()).unwrap_or(u32::MAX);
                    (place, datagram.length.min(held), quic_version(datagram.payload))
                }
                Err(Other::LaterFragment) => (self.fragmented, later_payload(frame), None),
                Err(_) => return None,
            };
        let Some(counting) = place.and_then(|place| self.flows.get(place)) else {
            self.other_packets += 1;
            return None;
        };
        counting.borrow_mut().offer(now, length, payload, quic);
        Some(CountedPacket { counting: Rc::clone(counting), payload })
    }

    /// The counts up to now.
    pub(crate) fn counted(&self) -> DatagramFlows {
        let flows = self.flows.iter().map(|counting| counting.borrow().flow).collect();
        DatagramFlows { flows, other_packets: self.other_packets }
    }

    fn place(&mut self, ends: (Endpoint, Endpoint), now: Time) -> Option<usize> {
        if let Some(&place) = self.places.get(&ends) {
            return Some(place);
        }
        let place = self.flows.len();
        if place >= FLOWS_MAX {
            return None;
        }
        let [source, destination] = [ends.0, ends.1].map(|end| SocketAddr::new(end.address.ip(), end.port));
        let counts = DatagramSample::default();
        let flow = DatagramFlow { source, destination, first: now, last: now, counts, quic: None };
        let counting = Counting { flow, meter: self.meter.clone() };
        self.flows.push(Rc::new(RefCell::new(counting)));
        self.places.insert(ends, place);
        Some(place)
    }
}

impl Counting {
    fn offer(&mut self, now: Time, frame: u32, payload: u32, quic: Option<QuicVersion>) {
        let Self { flow, meter } = self;
        flow.last = now;
        flow.counts.offered_packets += 1;
        flow.counts.offered_bytes += u64::from(payload);
        if flow.counts.offered_packets <= QUIC_WITHIN {
            flow.quic = quic.or(flow.quic);
        }
        if let Some(meter) = meter {
            meter.take(now, frame, payload);
            let some = |count: Count| (Some(count.packets), Some(count.bytes));
            let counts = &mut flow.counts;
            (counts.burst_packets, counts.burst_bytes) = some(meter.longest());
            (counts.needed_queue_packets, counts.needed_queue_bytes) = some(meter.needed_queue());
        }
    }
}

impl CountedPacket {
    /// The path has let it through.
    pub(crate) fn delivered(&self) {
        let counts = &mut self.counting.borrow_mut().flow.counts;
        counts.delivered_packets += 1;
        counts.delivered_bytes += u64::from(self.payload);
    }

    /// The path has dropped it.
    pub(crate) fn dropped(&self, reason: DropReason) {
        *self.counting.borrow_mut().flow.counts.dropped_mut(reason) += 1;
    }
}

/// Whether the frame is one of IP and not of TCP: that is asked of every packet.
fn may_be_datagram(frame: &[u8]) -> bool {
    let protocol_at = match frame.get(12..14).and_then(|kind| kind.try_into().ok()) {
        Some(IPV4) => 23,
        Some(IPV6) => 20,
        _ => return false,
    };
    frame.get(protocol_at).is_some_and(|&protocol| protocol != TCP)
}

/// Payload of a fragment that is not the first: what follows the IP header (RFC 791), or the fragment header (RFC 8200, 4.5).
fn later_payload(frame: &[u8]) -> u32 {
    let headers = match frame.get(14) {
        Some(first) if first >> 4 == 4 => 14 + usize::from(first & 0x0f) * 4,
        _ => 14 + 40 + 8,
    };
    u32::try_from(frame.len().saturating_sub(headers)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::BottleneckSpec;
    use pipefill_core::units::{Bytes, QueueLimit, Rate};

    /// An Ethernet frame of IPv4 from port `from` with `payload`; `offset` of the fragment in eight bytes.
    fn frame(protocol: u8, from: u16, payload: &[u8], offset: u16) -> Vec<u8> {
        let transport = if offset == 0 { 8 } else { 0 };
        let total = u16::try_from(20 + transport + payload.len()).unwrap();
        let mut bytes = vec![0; 14 + 20 + transport];
        bytes[12..14].copy_from_slice(&IPV4);
        bytes[14] = 0x45;
        bytes[16..18].copy_from_slice(&total.to_be_bytes());
        bytes[20..22].copy_from_slice(&offset.to_be_bytes());
        bytes[23] = protocol;
        bytes[26..34].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        if offset == 0 {
            bytes[34..36].copy_from_slice(&from.to_be_bytes());
            bytes[36..38].copy_from_slice(&443_u16.to_be_bytes());
            let length = u16::try_from(8 + payload.len()).unwrap();
            bytes[38..40].copy_from_slice(&length.to_be_bytes());
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    const UDP: u8 = 17;

    fn spec() -> DirectionSpec {
        DirectionSpec {
            bottleneck: Some(BottleneckSpec {
                rate: Rate::from_bps(8_000_000),
                overhead: Bytes::new(0),
                queue: QueueLimit::Packets(3),
                burst: Bytes::new(1_514),
            }),
            ..DirectionSpec::EMPTY
        }
    }

    #[test]
    fn each_flow_has_what_came_of_it_and_what_became_of_that() {
        let mut table = DatagramTable::new(&spec());
        let mut take = |from, size| table.take(Time::ZERO, &frame(UDP, from, &vec![7; size], 0));
        let packets = [take(5000, 1_000), take(5000, 1_000), take(5001, 10), take(5000, 1_000)];
        let [first, second, other, third] = packets.map(Option::unwrap);
        first.delivered();
        second.dropped(DropReason::QueueFull);
        third.dropped(DropReason::RandomLoss);
        other.delivered();
        let found = table.counted();
        let counts = found.flows[0].counts;
        assert_eq!((counts.offered_packets, counts.offered_bytes), (3, 3_000));
        assert_eq!((counts.delivered_packets, counts.delivered_bytes), (1, 1_000));
        assert_eq!((counts.dropped_queue_full_packets, counts.dropped_by_path()), (1, 2));
        assert_eq!((counts.burst_packets, counts.burst_bytes), (Some(3), Some(3_000)));
        assert_eq!(
            counts.needed_queue_bytes,
            Some(3 * 1_042 - 1_514),
            "what the bucket lets through at once"
        );
        assert_eq!(found.flows[1].source, "10.77.0.1:5001".parse().unwrap());
    }

    #[test]
    fn a_path_without_a_rate_has_no_bursts_and_tcp_is_no_datagram() {
        let mut table = DatagramTable::new(&DirectionSpec::EMPTY);
        assert!(table.take(Time::ZERO, &frame(TCP, 1, &[0; 100], 0)).is_none());
        assert!(table.counted().flows.is_empty());
        table.take(Time::ZERO, &frame(UDP, 1, &[0; 100], 0)).unwrap();
        assert_eq!(table.counted().flows[0].counts.burst_packets, None);
    }

    #[test]
    fn later_fragments_belong_to_the_flow_whose_datagram_began() {
        let mut table = DatagramTable::new(&spec());
        let mut first = frame(UDP, 5000, &[0; 1_472], 0);
        first[38..40].copy_from_slice(&2_480_u16.to_be_bytes());
        table.take(Time::ZERO, &first).unwrap();
        table.take(Time::ZERO, &frame(UDP, 0, &[0; 1_000], 185)).unwrap();
        let counts = table.counted().flows[0].counts;
        assert_eq!((counts.offered_packets, counts.offered_bytes), (2, 2_472));
    }

    #[test]
    fn a_long_header_names_the_version_of_quic() {
        let mut table = DatagramTable::new(&spec());
        let mut payload = vec![0; 1_200];
        payload[..6].copy_from_slice(&[0xc0, 0, 0, 0, 1, 8]);
        table.take(Time::ZERO, &frame(UDP, 5000, &payload, 0)).unwrap();
        table.take(Time::ZERO, &frame(UDP, 5000, &[0x40; 100], 0)).unwrap();
        assert_eq!(table.counted().flows[0].quic, Some(QuicVersion(1)));
    }

    #[test]
    fn more_flows_than_are_kept_are_counted_together() {
        let mut table = DatagramTable::new(&spec());
        let most = u16::try_from(FLOWS_MAX).unwrap();
        for port in 1..=most + 5 {
            let packet = table.take(Time::ZERO, &frame(UDP, port, &[0; 10], 0));
            assert_eq!(packet.is_some(), port <= most);
        }
        let found = table.counted();
        assert_eq!((found.flows.len(), found.other_packets), (FLOWS_MAX, 5));
    }
}
