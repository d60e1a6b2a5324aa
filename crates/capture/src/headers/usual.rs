//! What most packets of most captures are, at fixed places: Ethernet without tags, IPv4 without options, TCP with timestamps first.
//!
//! Invariant: what is read here is what the general way reads, which gets every other packet.

use super::ip::{self, Carried};
use super::link::{ETHERNET, ETHERNET_HEADER, TYPE_IPV4};
use super::options::STAMPS;
use super::segment::{self, HEADER, Segment};
use crate::read::Packet;

const IP: usize = ETHERNET_HEADER;
const TCP: usize = IP + ip::IPV4_HEADER;
const OPTIONS: usize = TCP + HEADER;
const HEADERS: usize = OPTIONS + STAMPS;
const IPV4_WITHOUT_OPTIONS: u32 = (TYPE_IPV4 as u32) << 16 | 0x45_00;
const WHOLE_OF_PROTOCOL: u32 = ((ip::MORE_FRAGMENTS | ip::FRAGMENT_OFFSET) as u32) << 16 | 0xff;

/// Writes the segment of `packet` to `to`; `false` where the packet has other headers.
#[inline(always)]
pub(super) fn read(packet: &Packet<'_>, to: &mut Segment) -> bool {
    let Some(bytes) = packet.bytes.first_chunk::<HEADERS>() else { return false };
    let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let four = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // The type, then version, length and type of service of IP; its fragment offset, then time to live and protocol.
    let is_ip = packet.link.0 == ETHERNET && four(IP - 2) & !0xff == IPV4_WITHOUT_OPTIONS;
    let is_tcp = four(IP + 6) & WHOLE_OF_PROTOCOL == u32::from(ip::TCP);
    if !is_ip || !is_tcp {
        return false;
    }
    let length = u32::from(two(IP + 2));
    let Some(header) = bytes[TCP..].first_chunk() else { return false };
    let Some(options) = bytes[OPTIONS..].first_chunk() else { return false };
    let end = TCP + segment::length(header);
    let Some(payload) = length.checked_sub((end - IP) as u32) else { return false };
    if end < HEADERS || !to.options.read_stamps(options) {
        return false;
    }
    if end > HEADERS {
        to.options.walk(packet.bytes.get(HEADERS..end).unwrap_or(&packet.bytes[HEADERS..]));
    }
    let carried = Carried {
        source: ip::Address::v4(four(IP + 12)),
        destination: ip::Address::v4(four(IP + 16)),
        is_v6: false,
        id: two(IP + 4),
        ecn: bytes[IP + 1] & 3,
        hops: bytes[IP + 8],
        dont_fragment: bytes[IP + 6] & ip::DONT_FRAGMENT != 0,
        fragment: None,
        length: length - ip::IPV4_HEADER as u32,
        bytes: &bytes[TCP..],
    };
    segment::write(&carried, header, payload, to);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::read_any;
    use crate::read::LinkType;
    use proptest::prelude::*;

    /// A segment with 1448 bytes of payload, its timestamps and one SACK block; `words` of its header count.
    fn frame(words: u8) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        bytes.extend([8, 0, 0x45, 0, 5, 0xdc, 0, 7, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
        bytes.extend([0x9c, 0x40, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, words << 4, 0x18, 3, 0xe8, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 1, 1, 5, 10, 0, 0, 3, 0, 0, 0, 4, 0]);
        bytes
    }

    fn packet(bytes: &[u8]) -> Packet<'_> {
        Packet::new(5, LinkType(ETHERNET), 1514, bytes)
    }

    /// What was there before, all of which has to go.
    fn full() -> Segment {
        let mut segment = Segment::default();
        assert!(read(&packet(&frame(11)), &mut segment));
        (segment.options.mss, segment.options.window_scale) = (Some(1), Some(2));
        (segment.options.sack_permitted, segment.is_v6) = (true, true);
        segment
    }

    #[test]
    fn timestamps_and_what_stands_behind_them_are_read() {
        for (words, sacks) in [(8, 0), (11, 1)] {
            let mut segment = full();
            assert!(read(&packet(&frame(words)), &mut segment));
            assert_eq!(segment.options.timestamps, Some((9, 8)));
            assert_eq!((segment.options.sacks().len(), segment.options.mss), (sacks, None));
            assert_eq!(segment.payload, 1500 - 20 - u32::from(words) * 4);
        }
    }

    proptest! {
        /// Any bytes of the headers in place of the usual ones, cut anywhere.
        #[test]
        fn what_is_read_is_what_the_general_way_reads(
            words in 5..16_u8,
            changes in prop::collection::vec((12..78_usize, any::<u8>()), 0..4),
            captured in prop_oneof![Just(78), 0..79_usize],
            link in prop_oneof![9 => Just(ETHERNET), 1 => Just(101)],
        ) {
            let mut bytes = frame(words);
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            let packet = Packet::new(5, LinkType(link), 1514, &bytes[..captured]);
            let (mut usual, mut general) = (full(), full());
            if read(&packet, &mut usual) {
                prop_assert!(matches!(read_any(packet.link, 1514, packet.bytes, None, &mut general), Ok(None)));
                prop_assert_eq!(usual, general);
            }
        }
    }
}
