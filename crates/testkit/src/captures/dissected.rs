//! Captures read with others' code: the file by pcap-parser, headers and checksums by etherparse. What is wrong panics.

use etherparse::{NetSlice, SlicedPacket, TcpHeader, TcpOptionElement, TransportSlice};
use pcap_parser::pcapng::parse_block_le;
use pcap_parser::{Block, EnhancedPacketBlock, Linktype};
use std::net::{IpAddr, SocketAddr};

/// Whether the checksums of TCP and UDP are there, or left to an interface that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    Valid,
    Offloaded,
}

/// A file.
#[derive(Debug, Default)]
pub struct Capture {
    pub comment: String,
    pub application: String,
    pub interface: String,
    pub snap_length: u32,
    pub packets: Vec<DissectedPacket>,
    pub received: u64,
    pub dropped: u64,
}

/// A packet.
#[derive(Debug, Clone)]
pub struct DissectedPacket {
    pub unix_ns: u64,
    /// Of the whole frame.
    pub length: u32,
    pub is_outbound: bool,
    pub addresses: [IpAddr; 2],
    /// IPv4's identification.
    pub id: Option<u16>,
    pub is_fragment: bool,
    pub transport: Transport,
}

/// What is above IP.
#[derive(Debug, Clone)]
pub enum Transport {
    Tcp {
        header: Box<TcpHeader>,
        payload: usize,
    },
    Udp {
        ports: [u16; 2],
        payload: usize,
    },
    /// A fragment, or another protocol.
    Other,
}

impl DissectedPacket {
    /// Header and payload, where it is TCP.
    pub fn tcp(&self) -> Option<(&TcpHeader, usize)> {
        match &self.transport {
            Transport::Tcp { header, payload } => Some((header, *payload)),
            _ => None,
        }
    }

    /// From where to where, where that is known.
    pub fn ends(&self) -> Option<[SocketAddr; 2]> {
        let [from, to] = match &self.transport {
            Transport::Tcp { header, .. } => [header.source_port, header.destination_port],
            Transport::Udp { ports, .. } => *ports,
            Transport::Other => return None,
        };
        Some([SocketAddr::new(self.addresses[0], from), SocketAddr::new(self.addresses[1], to)])
    }

    /// Blocks of its SACK option.
    pub fn sacks(&self) -> Vec<(u32, u32)> {
        let Some((header, _)) = self.tcp() else { return Vec::new() };
        let elements = header.options_iterator().map(|element| element.expect("an option that is whole"));
        let blocks = elements.filter_map(|element| match element {
            TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                Some([Some(first)].into_iter().chain(more).flatten().collect::<Vec<_>>())
            }
            _ => None,
        });
        blocks.flatten().collect()
    }
}

/// Everything in the file.
pub fn read(bytes: &[u8], checksums: Checksums) -> Capture {
    let (mut capture, mut rest, mut is_over) = (Capture::default(), bytes, false);
    while !rest.is_empty() {
        assert!(!is_over, "something follows the statistics");
        let (left, block) = parse_block_le(rest).unwrap_or_else(|error| panic!("{error:?}"));
        match block {
            Block::SectionHeader(block) => {
                assert_eq!((block.major_version, block.minor_version), (1, 0));
                let comments = block.options.iter().filter(|option| option.code.0 == 1);
                let comments = comments.map(|option| option.as_bytes().expect("a comment").to_vec());
                capture.comment = String::from_utf8(comments.collect::<Vec<_>>().concat()).expect("text");
                capture.application = block.shb_userappl().expect("it").expect("text").to_owned();
            }
            Block::InterfaceDescription(block) => {
                assert_eq!(
                    (block.linktype, block.ts_resolution()),
                    (Linktype::ETHERNET, Some(1_000_000_000))
                );
                capture.interface = block.if_name().expect("it").expect("text").to_owned();
                capture.snap_length = block.snaplen;
            }
            Block::EnhancedPacket(block) => capture.packets.push(packet_of(&block, checksums)),
            Block::InterfaceStatistics(block) => {
                capture.received = block.isb_ifrecv().expect("it").expect("a number");
                capture.dropped = block.isb_ifdrop().expect("it").expect("a number");
                is_over = true;
            }
            other => panic!("{other:?}"),
        }
        rest = left;
    }
    assert!(is_over, "the file has no end");
    assert_eq!(capture.received, capture.packets.len() as u64 + capture.dropped);
    assert!(capture.packets.iter().all(|packet| packet.length > 0));
    capture
}

fn packet_of(block: &EnhancedPacketBlock<'_>, checksums: Checksums) -> DissectedPacket {
    let flags = block.options.iter().find(|option| option.code.0 == 2).expect("flags");
    let direction = flags.as_bytes().expect("a word")[0] & 3;
    assert!(direction == 1 || direction == 2, "{direction}");
    // What was not stored is zeros.
    let mut bytes = block.data[..block.caplen as usize].to_vec();
    assert!(bytes.len() <= block.origlen as usize);
    bytes.resize(block.origlen as usize, 0);
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
    let (addresses, id, is_fragment) = match packet.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(u32::from(header.total_len) + 14, block.origlen);
            let addresses = [IpAddr::from(header.source), IpAddr::from(header.destination)];
            (addresses, Some(header.identification), ip.is_payload_fragmented())
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header().to_header();
            assert_eq!(u32::from(header.payload_length) + 54, block.origlen);
            let addresses = [IpAddr::from(header.source), IpAddr::from(header.destination)];
            (addresses, None, ip.is_payload_fragmented())
        }
        NetSlice::Arp(_) => panic!("the lab has no ARP"),
    };
    let transport = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            if checksums == Checksums::Valid {
                let right = match addresses {
                    [IpAddr::V4(from), IpAddr::V4(to)] => tcp.calc_checksum_ipv4(from.octets(), to.octets()),
                    [from, to] => tcp.calc_checksum_ipv6(v6(from), v6(to)),
                };
                assert_eq!(tcp.checksum(), right.expect("a length"));
            }
            Transport::Tcp { header: Box::new(tcp.to_header()), payload: tcp.payload().len() }
        }
        Some(TransportSlice::Udp(udp)) => {
            let header = udp.to_header();
            if checksums == Checksums::Valid {
                let right = match addresses {
                    [IpAddr::V4(from), IpAddr::V4(to)] => {
                        header.calc_checksum_ipv4_raw(from.octets(), to.octets(), udp.payload())
                    }
                    [from, to] => header.calc_checksum_ipv6_raw(v6(from), v6(to), udp.payload()),
                };
                assert_eq!(header.checksum, right.expect("a length"));
            }
            let ports = [header.source_port, header.destination_port];
            Transport::Udp { ports, payload: udp.payload().len() }
        }
        _ => Transport::Other,
    };
    let unix_ns = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
    let is_outbound = direction == 2;
    DissectedPacket { unix_ns, length: block.origlen, is_outbound, addresses, id, is_fragment, transport }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => panic!("{address} beside an IPv6 address"),
    }
}
