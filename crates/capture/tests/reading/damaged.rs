//! Damaged captures, one a line: how many packets could be read, and what the error says.

use flate2::write::GzEncoder;
use pipefill_capture::read::{Compression, ReadError, Reader};
use pipefill_testkit::captures::container::{
    ContainerPacket, Order, block, enhanced, interface, option, pcap, pcap_header, pcap_record, pcapng,
    section,
};
use pipefill_testkit::captures::in_memory::InMemory;
use std::io::{self, Read, Write};

const ORDER: Order = Order { is_big: false };
const BIG: Order = Order { is_big: true };

/// A name, the bytes, packets that can be read, how the error begins.
type Case = (&'static str, Vec<u8>, usize, &'static str);

fn entries() -> Vec<ContainerPacket> {
    (1..=3).map(|n| ContainerPacket { time_ns: n * 1000, original: 60, bytes: vec![n as u8; 40] }).collect()
}

fn cut(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes[..length].to_vec()
}

fn changed(bytes: &[u8], at: usize, to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

/// Header 24, three records of 56.
fn damaged_pcaps() -> Vec<Case> {
    let whole = pcap(ORDER, false, &entries());
    let big = pcap(BIG, true, &entries());
    let empty = pcap_header(ORDER, 0xa1b2_cd34, 1);
    vec![
        ("nothing", Vec::new(), 0, "byte 0: the capture is empty"),
        (
            "one byte",
            cut(&whole, 1),
            0,
            "byte 0: the capture's first four bytes is cut: 4 bytes were expected, 1 are there",
        ),
        ("three bytes", cut(&whole, 3), 0, "byte 0: the capture's first four bytes is cut"),
        (
            "magic alone",
            cut(&whole, 4),
            0,
            "byte 0: the pcap's header is cut: 24 bytes were expected, 4 are there",
        ),
        (
            "header less a byte",
            cut(&whole, 23),
            0,
            "byte 0: the pcap's header is cut: 24 bytes were expected, 23 are there",
        ),
        (
            "text",
            b"Frame 1: 60 bytes".to_vec(),
            0,
            "byte 0: not a pcap or pcapng file (it starts with 46 72 61 6d)",
        ),
        (
            "an image",
            b"\x89PNG\r\n".to_vec(),
            0,
            "byte 0: not a pcap or pcapng file (it starts with 89 50 4e 47)",
        ),
        ("zeros", vec![0; 64], 0, "byte 0: not a pcap or pcapng file (it starts with 00 00 00 00)"),
        (
            "version 1",
            changed(&whole, 4, &[1, 0]),
            0,
            "byte 4: version 1.4 of the container; read is 2 (pcap)",
        ),
        ("version 512", changed(&big, 4, &[2, 0]), 0, "byte 4: version 512.4"),
        (
            "first record's header cut",
            cut(&whole, 30),
            0,
            "byte 24: a packet's header is cut: 16 bytes were expected, 6 are there",
        ),
        (
            "first packet cut",
            cut(&whole, 41),
            0,
            "byte 24: a packet is cut: 56 bytes were expected, 17 are there",
        ),
        (
            "second record cut",
            cut(&whole, 81),
            1,
            "byte 80: a packet's header is cut: 16 bytes were expected, 1 are there",
        ),
        (
            "second packet cut",
            cut(&whole, 100),
            1,
            "byte 80: a packet is cut: 56 bytes were expected, 20 are there",
        ),
        (
            "last byte missing",
            cut(&whole, 191),
            2,
            "byte 136: a packet is cut: 56 bytes were expected, 55 are there",
        ),
        (
            "last byte missing, big",
            cut(&big, 191),
            2,
            "byte 136: a packet is cut: 56 bytes were expected, 55 are there",
        ),
        (
            "a length of 4 GB",
            changed(&whole, 88, &[0xff; 4]),
            1,
            "byte 80: a packet says that it has 4294967295 bytes; at most 16777216 are read",
        ),
        (
            "a length of 17 MB",
            changed(&whole, 88, &[0, 0, 0x10, 1]),
            1,
            "byte 80: a packet says that it has 17825792 bytes",
        ),
        (
            "a length beyond the end",
            changed(&whole, 88, &[0, 1, 0, 0]),
            1,
            "byte 80: a packet is cut: 272 bytes were expected, 112 are there",
        ),
        (
            "the other byte order in the middle",
            [cut(&whole, 80), pcap_record(BIG, 1000, &entries()[1])].concat(),
            1,
            "byte 80: a packet says that it has 671088640 bytes",
        ),
        (
            "a modified record cut",
            [empty, vec![0; 23]].concat(),
            0,
            "byte 24: a packet's header is cut: 24 bytes were expected, 23 are there",
        ),
        (
            "rubbish behind",
            [whole.clone(), vec![1; 5]].concat(),
            3,
            "byte 192: a packet's header is cut: 16 bytes were expected, 5 are there",
        ),
        (
            "two captures in one file",
            [whole.clone(), whole].concat(),
            5,
            "byte 224: a packet says that it has 16843009 bytes",
        ),
    ]
}

/// Section 28, interface 28, three packets of 72.
fn damaged_pcapngs() -> Vec<Case> {
    let whole = pcapng(ORDER, 9, 1, &entries());
    let head = cut(&whole, 56);
    let after = |part: Vec<u8>| [head.clone(), part].concat();
    let packet = |index, options: &[u8]| enhanced(ORDER, index, 0, &entries()[0], options);
    let with_resolution =
        |value| [section(ORDER, &[]), interface(ORDER, 1, 0, &option(ORDER, 9, &[value]))].concat();
    let long_option = [ORDER.u16(1), ORDER.u16(100)].concat();
    let simple = [ORDER.u32(100).to_vec(), vec![0; 20]].concat();
    vec![
        (
            "a section's type alone",
            cut(&whole, 4),
            0,
            "byte 0: a block's header is cut: 8 bytes were expected, 4 are there",
        ),
        (
            "a section's head",
            cut(&whole, 12),
            0,
            "byte 0: a section's header is cut: 28 bytes were expected, 12 are there",
        ),
        ("a section cut", cut(&whole, 20), 0, "byte 0: a block is cut: 28 bytes were expected, 20 are there"),
        ("no byte order", changed(&whole, 8, &[1, 2, 3, 4]), 0, "byte 8: a section's byte order is 01020304"),
        (
            "version 2",
            changed(&whole, 12, &[2, 0]),
            0,
            "byte 12: version 2.0 of the container; read is 1 (pcapng)",
        ),
        (
            "a section of 24 bytes",
            changed(&whole, 4, &[24, 0, 0, 0]),
            0,
            "byte 0: a block says that it has 24 bytes; expected was a multiple of 4, of at least 28",
        ),
        (
            "a section of 2 GB",
            changed(&whole, 4, &[0, 0, 0, 0x80]),
            0,
            "byte 0: a block says that it has 2147483648 bytes; at most 1048576 are read",
        ),
        (
            "a section's second length",
            changed(&whole, 24, &[32, 0, 0, 0]),
            0,
            "byte 0: a block begins with the length 28 and ends with 32",
        ),
        (
            "an interface cut",
            cut(&whole, 50),
            0,
            "byte 28: a block is cut: 28 bytes were expected, 22 are there",
        ),
        (
            "an interface of 16 bytes",
            changed(&whole, 32, &[16, 0, 0, 0]),
            0,
            "byte 28: a block says that it has 16 bytes; expected was a multiple of 4, of at least 20",
        ),
        (
            "an option beyond its block",
            [section(ORDER, &[]), interface(ORDER, 1, 0, &long_option)].concat(),
            0,
            "byte 44: option 1 says that it has 100 bytes; its block has 0 left",
        ),
        (
            "a section's option",
            section(ORDER, &long_option),
            0,
            "byte 24: option 1 says that it has 100 bytes",
        ),
        ("a resolution of 10^-39", with_resolution(39), 0, "byte 44: the resolution of time is 0x27"),
        ("a resolution of 10^-127", with_resolution(127), 0, "byte 44: the resolution of time is 0x7f"),
        (
            "a packet without interface",
            [cut(&whole, 28), packet(0, &[])].concat(),
            0,
            "byte 28: a packet names interface 0; this section has described 0",
        ),
        (
            "a packet of another interface",
            after(packet(7, &[])),
            0,
            "byte 56: a packet names interface 7; this section has described 1",
        ),
        (
            "interfaces end with their section",
            [cut(&whole, 128), section(BIG, &[]), enhanced(BIG, 0, 0, &entries()[0], &[])].concat(),
            1,
            "byte 156: a packet names interface 0; this section has described 0",
        ),
        (
            "a packet's type alone",
            cut(&whole, 60),
            0,
            "byte 56: a block's header is cut: 8 bytes were expected, 4 are there",
        ),
        (
            "a packet cut",
            cut(&whole, 127),
            0,
            "byte 56: a block is cut: 72 bytes were expected, 71 are there",
        ),
        (
            "the second packet cut",
            cut(&whole, 136),
            1,
            "byte 128: a block is cut: 72 bytes were expected, 8 are there",
        ),
        (
            "a packet longer than its block",
            changed(&whole, 128 + 20, &[41, 0, 0, 0]),
            1,
            "byte 128: a packet says that it has 41 bytes; its block has room for 40",
        ),
        (
            "a packet of 4 GB",
            changed(&whole, 128 + 20, &[0xff; 4]),
            1,
            "byte 128: a packet says that it has 4294967295 bytes; its block has room for 40",
        ),
        (
            "a block of 30 bytes",
            changed(&whole, 128 + 4, &[30, 0, 0, 0]),
            1,
            "byte 128: a block says that it has 30 bytes; expected was a multiple of 4, of at least 32",
        ),
        (
            "a block of no bytes",
            changed(&whole, 128 + 4, &[0; 4]),
            1,
            "byte 128: a block says that it has 0 bytes",
        ),
        (
            "a packet block of 4 GB",
            changed(&whole, 128 + 4, &[0xfc, 0xff, 0xff, 0xff]),
            1,
            "byte 128: a block says that it has 4294967292 bytes; at most 17825792 are read",
        ),
        (
            "a packet's second length",
            changed(&whole, 196, &[0; 4]),
            1,
            "byte 128: a block begins with the length 72 and ends with 0",
        ),
        (
            "another block of 4 GB",
            after([ORDER.u32(0x0bad), ORDER.u32(0xffff_fffc), [0; 4]].concat()),
            0,
            "byte 56: a block is cut: 4294967292 bytes were expected, 12 are there",
        ),
        (
            "another block's second length",
            after(changed(&block(ORDER, 4, &[0; 8]), 16, &[1, 0, 0, 0])),
            0,
            "byte 56: a block begins with the length 20 and ends with 1",
        ),
        (
            "another block of 8 bytes",
            after([ORDER.u32(4), ORDER.u32(8)].concat()),
            0,
            "byte 56: a block says that it has 8 bytes; expected was a multiple of 4, of at least 12",
        ),
        (
            "a simple packet longer than its block",
            after(block(ORDER, 3, &simple)),
            0,
            "byte 56: a packet says that it has 100 bytes; its block has room for 20",
        ),
        (
            "a simple packet without interface",
            [cut(&whole, 28), block(ORDER, 3, &simple)].concat(),
            0,
            "byte 28: a packet names interface 0",
        ),
        (
            "an obsolete packet of another interface",
            after(block(ORDER, 2, &[9; 20])),
            0,
            "byte 56: a packet names interface 2313",
        ),
        (
            "a pcap behind a pcapng",
            [whole, pcap(ORDER, false, &[])].concat(),
            3,
            "byte 272: a block says that it has",
        ),
    ]
}

fn damaged_packings() -> Vec<Case> {
    let whole = pcap(ORDER, false, &entries());
    let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::none());
    packer.write_all(&whole).expect("into memory");
    let gzip = packer.finish().expect("into memory");
    let zstd = zstd::encode_all(&whole[..], 1).expect("into memory");
    let end = gzip.len();
    vec![
        ("gzip's magic alone", cut(&gzip, 2), 0, "byte 0 (after unpacking gzip): unpacking failed"),
        ("gzip's head", cut(&gzip, 10), 0, "byte 0 (after unpacking gzip): unpacking failed"),
        ("gzip without its end", cut(&gzip, end - 4), 3, "byte 192 (after unpacking gzip): unpacking failed"),
        (
            "gzip with another sum",
            changed(&gzip, end - 8, &[0; 4]),
            3,
            "byte 192 (after unpacking gzip): unpacking failed",
        ),
        ("zstd's magic alone", cut(&zstd, 4), 0, "byte 0 (after unpacking zstd): unpacking failed"),
        ("zstd cut", cut(&zstd, zstd.len() - 3), 0, "byte 0 (after unpacking zstd): unpacking failed"),
        (
            "text in gzip",
            pack(b"hello, hello"),
            0,
            "byte 0 (after unpacking gzip): not a pcap or pcapng file",
        ),
        ("nothing in gzip", pack(b""), 0, "byte 0 (after unpacking gzip): the capture is empty"),
    ]
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("into memory")
}

#[test]
fn each_yields_what_could_be_read_and_an_error_that_says_where() {
    let cases = [damaged_pcaps(), damaged_pcapngs(), damaged_packings()].concat();
    assert!(cases.len() >= 40, "{}", cases.len());
    let mut wrong = Vec::new();
    for (name, bytes, expected, told) in cases {
        let (packets, error) = read(Reader::open(&bytes[..]));
        if Compression::of(&bytes).is_none() {
            let file = InMemory::of(&bytes);
            assert_eq!(read(Reader::of_mapped(&file, io::empty())), (packets, error.clone()), "{name}");
        }
        if packets != expected || !error.starts_with(told) {
            wrong.push(format!("{name}: {packets} packets, {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn read<R: Read>(opened: Result<Reader<'_, R>, ReadError>) -> (usize, String) {
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return (0, error.to_string()),
    };
    let mut packets = 0;
    loop {
        match reader.next_packet() {
            Ok(Some(_)) => packets += 1,
            Ok(None) => return (packets, String::from("no error")),
            Err(error) => return (packets, error.to_string()),
        }
    }
}

#[test]
fn captures_of_other_programs_are_named() {
    for (begin, program) in [
        (&b"GMBU\0\0\0\0"[..], "Network Monitor 2"),
        (b"RTSS\x01\0", "Network Monitor 1"),
        (b"TRSNIFF data    \x1a", "Sniffer"),
        (b"snoop\0\0\0\0\0\0\x02", "snoop"),
        (b"\x7fver\0\0", "EtherPeek"),
        (b"\x07\0\0\0\0\0\0\0", "EtherPeek"),
    ] {
        let error = Reader::open(begin).err().expect("no pcap").to_string();
        assert!(error.contains(program) && error.contains("not a pcap or pcapng file"), "{error}");
    }
}
