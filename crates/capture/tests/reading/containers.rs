//! The same packets, whatever holds them.

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use pipefill_capture::read::{
    BEGINNING, Compression, Container, LinkType, Problem, ReadError, Reader, is_sparse,
};
use pipefill_testkit::captures::container::{
    ContainerPacket, Order, block, enhanced, interface, option, pcap, pcap_record, pcapng, section,
};
use pipefill_testkit::captures::in_memory::InMemory;
use proptest::prelude::*;
use std::io::{self, Read, Write};

const BIG: Order = Order { is_big: true };
const LITTLE: Order = Order { is_big: false };

/// Time, original length, bytes.
type Plain = (u64, u32, Vec<u8>);

fn read_all(input: impl Read) -> (Vec<Plain>, Option<String>) {
    all_of(Reader::open(input))
}

fn all_of<R: Read>(opened: Result<Reader<'_, R>, ReadError>) -> (Vec<Plain>, Option<String>) {
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push((packet.time_ns, packet.original_length, packet.bytes.to_vec())),
            Ok(None) => return (packets, None),
            Err(error) => {
                assert!(matches!(reader.next_packet(), Ok(None)), "an error is told once");
                return (packets, Some(error.to_string()));
            }
        }
    }
}

fn plain(entries: &[ContainerPacket]) -> Vec<Plain> {
    entries.iter().map(|entry| (entry.time_ns, entry.original, entry.bytes.clone())).collect()
}

/// Times are whole microseconds, so that every resolution holds them.
fn entries() -> impl Strategy<Value = Vec<ContainerPacket>> {
    let entry = (0..4_000_000_000_000_000u64, prop::collection::vec(any::<u8>(), 0..90), 0..3000u32);
    let entry = entry.prop_map(|(us, bytes, more)| ContainerPacket {
        time_ns: us * 1000,
        original: bytes.len() as u32 + more,
        bytes,
    });
    prop::collection::vec(entry, 0..12)
}

/// Hands over a byte or two at a time, as a pipe may.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = to.len().min(self.0.len()).min(2);
        to[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Level::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("into memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("into memory")
}

proptest! {
    #[test]
    fn byte_order_resolution_and_container_change_nothing(entries in entries()) {
        let expected = (plain(&entries), None);
        for order in [BIG, LITTLE] {
            prop_assert_eq!(&read_all(&pcap(order, false, &entries)[..]), &expected);
            prop_assert_eq!(&read_all(&pcap(order, true, &entries)[..]), &expected);
            prop_assert_eq!(&read_all(&pcapng(order, 6, 1000, &entries)[..]), &expected);
            prop_assert_eq!(&read_all(&pcapng(order, 9, 1, &entries)[..]), &expected);
        }
    }

    #[test]
    fn packing_and_small_pieces_change_nothing(entries in entries()) {
        let expected = (plain(&entries), None);
        for bytes in [pcap(LITTLE, true, &entries), pcapng(BIG, 9, 1, &entries)] {
            prop_assert_eq!(&read_all(&gzip(&bytes)[..]), &expected);
            prop_assert_eq!(&read_all(&zstd(&bytes)[..]), &expected);
            prop_assert_eq!(&read_all(Slow(&bytes)), &expected);
            prop_assert_eq!(&read_all(Slow(&zstd(&bytes))), &expected);
            let (first, second) = bytes.split_at(bytes.len() / 2);
            prop_assert_eq!(&read_all(&[gzip(first), gzip(second)].concat()[..]), &expected);
            prop_assert_eq!(&read_all(&[zstd(first), zstd(second)].concat()[..]), &expected);
        }
    }

    #[test]
    fn a_cut_leaves_the_packets_before_it_and_an_error_with_its_place(
        entries in entries(),
        is_ng: bool,
        at: prop::sample::Index,
    ) {
        let bytes = if is_ng { pcapng(LITTLE, 9, 1, &entries) } else { pcap(BIG, false, &entries) };
        let at = at.index(bytes.len());
        let (packets, error) = read_all(&bytes[..at]);
        prop_assert!(plain(&entries).starts_with(&packets));
        if let Some(error) = error {
            let place = error.strip_prefix("byte ").and_then(|rest| rest.split(':').next()?.parse().ok());
            prop_assert!(place.is_some_and(|place: usize| place <= at), "{}", error);
        } else {
            // Between two packets nothing is missing.
            let whole = (0..=entries.len()).any(|count| {
                let part = &entries[..count];
                at == if is_ng { pcapng(LITTLE, 9, 1, part).len() } else { pcap(BIG, false, part).len() }
            });
            let before_interface = is_ng && at == section(LITTLE, &[]).len();
            prop_assert!(whole || before_interface, "{} of {} bytes without an error", at, bytes.len());
        }
    }

    #[test]
    fn damage_never_panics_and_is_the_same_in_small_pieces(
        entries in entries(),
        form in 0..5u8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = match form {
            0 => pcap(LITTLE, true, &entries),
            1 => pcapng(BIG, 9, 1, &entries),
            2 => pcapng(LITTLE, 9, 1, &entries),
            3 => gzip(&pcapng(LITTLE, 6, 1000, &entries)),
            _ => zstd(&pcap(BIG, false, &entries)),
        };
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let read = read_all(&bytes[..]);
        // An unpacker names another byte where it gets a few at a time.
        if form < 3 {
            prop_assert_eq!(read, read_all(Slow(&bytes)));
        }
    }
}

fn entry(time_ns: u64) -> ContainerPacket {
    ContainerPacket { time_ns, original: 60, bytes: vec![7; 10] }
}

#[test]
fn a_tick_is_what_the_interface_says() {
    let table: [(u8, u64, u64); 8] = [
        (0, 3, 3_000_000_000),
        (3, 1_234, 1_234_000_000),
        (6, 1_234_567, 1_234_567_000),
        (9, 1_234_567_891, 1_234_567_891),
        (12, 5_000_000_000_001, 5_000_000_000),
        (0x80 | 10, 1024 + 512, 1_500_000_000),
        (0x80 | 32, (2 << 32) + (1 << 31), 2_500_000_000),
        (0x80 | 127, u64::MAX, 0),
    ];
    for (resolution, ticks, expected) in table {
        let bytes = [
            section(LITTLE, &[]),
            interface(LITTLE, 1, 0, &option(LITTLE, 9, &[resolution])),
            enhanced(LITTLE, 0, ticks, &entry(0), &[]),
        ];
        let (packets, error) = read_all(&bytes.concat()[..]);
        assert_eq!((packets[0].0, error), (expected, None), "{resolution:#x}");
    }
}

#[test]
fn an_offset_of_seconds_is_added() {
    let offset = option(BIG, 14, &(-5i64).to_be_bytes());
    let parts =
        [section(BIG, &[]), interface(BIG, 1, 0, &offset), enhanced(BIG, 0, 7_000_001, &entry(0), &[])];
    assert_eq!(read_all(&parts.concat()[..]).0[0].0, 2_000_001_000);
}

#[test]
fn every_section_has_its_own_order_and_interfaces() {
    let bytes = [
        section(BIG, &option(BIG, 1, b"first")),
        interface(BIG, 1, 0, &[]),
        interface(BIG, 113, 0, &option(BIG, 9, &[9])),
        enhanced(BIG, 1, 42, &entry(0), &[]),
        section(LITTLE, &option(LITTLE, 1, b"second")),
        interface(LITTLE, 101, 0, &[]),
        enhanced(LITTLE, 0, 42, &entry(0), &[]),
    ]
    .concat();
    let mut reader = Reader::open(&bytes[..]).expect("a capture");
    assert_eq!((reader.container(), reader.compression()), (Container::Pcapng, None));
    let mut seen = Vec::new();
    while let Some(packet) = reader.next_packet().expect("whole") {
        seen.push((packet.number, packet.interface, packet.link, packet.time_ns));
    }
    assert_eq!(seen, [(1, 1, LinkType(113), 42), (2, 2, LinkType(101), 42_000)]);
    assert_eq!(reader.comments(), ["first", "second"]);
    assert_eq!(reader.bytes_read(), bytes.len() as u64);
}

#[test]
fn simple_and_obsolete_packets_and_other_blocks() {
    let mut simple = Vec::from(LITTLE.u32(20));
    simple.extend([9; 20]);
    let mut obsolete = Vec::from(LITTLE.u16(0));
    obsolete.extend(LITTLE.u16(0xffff));
    for field in [0, 5, 3, 70] {
        obsolete.extend(LITTLE.u32(field));
    }
    obsolete.extend([8; 3]);
    let statistics = [vec![0; 12], option(LITTLE, 5, &17u64.to_le_bytes())].concat();
    let bytes = [
        section(LITTLE, &[]),
        block(LITTLE, 0x0bad, &[1; 300_000]),
        interface(LITTLE, 1, 0, &[]),
        block(LITTLE, 3, &simple),
        block(LITTLE, 2, &obsolete),
        block(LITTLE, 5, &statistics),
    ]
    .concat();
    let mut reader = Reader::open(&bytes[..]).expect("a capture");
    let first = reader.next_packet().expect("whole").map(|packet| (packet.time_ns, packet.bytes.to_vec()));
    assert_eq!(first, Some((0, vec![9; 20])));
    let second = reader.next_packet().expect("whole").map(|packet| (packet.time_ns, packet.original_length));
    assert_eq!(second, Some((5000, 70)));
    assert!(matches!(reader.next_packet(), Ok(None)));
    assert_eq!(reader.dropped(), Some(17));
}

#[test]
fn a_packet_has_its_comments() {
    let options =
        [option(BIG, 1, b"run 7"), option(BIG, 2, &[0; 4]), option(BIG, 1, b"seed 1"), option(BIG, 0, &[])];
    let parts =
        [section(BIG, &[]), interface(BIG, 1, 0, &[]), enhanced(BIG, 0, 0, &entry(0), &options.concat())];
    let bytes = parts.concat();
    let mut reader = Reader::open(&bytes[..]).expect("a capture");
    let packet = reader.next_packet().expect("whole").expect("a packet");
    assert_eq!(packet.comments().collect::<Vec<_>>(), ["run 7", "seed 1"]);
}

#[test]
fn an_unpacked_offset_says_so() {
    let bytes = pcap(LITTLE, false, &[entry(0), entry(1)]);
    for (packed, name) in [(gzip(&bytes[..60]), "gzip"), (zstd(&bytes[..60]), "zstd")] {
        let (packets, error) = read_all(&packed[..]);
        let told = format!(
            "byte 50 (after unpacking {name}): a packet's header is cut: 16 bytes were expected, 10 are there"
        );
        assert_eq!((packets.len(), error), (1, Some(told)));
    }
}

/// libpcap, `lengths_swapped`.
#[test]
fn before_version_2_4_the_lengths_of_a_packet_stand_in_the_other_order() {
    let entries = [entry(1_000), ContainerPacket { original: 900, ..entry(2_000) }, entry(3_000)];
    for order in [LITTLE, BIG] {
        let with_minor = |minor, swaps: bool| {
            let mut bytes = pcap(order, false, &[]);
            bytes[6..8].copy_from_slice(&order.u16(minor));
            for entry in &entries {
                let mut record = pcap_record(order, 1_000, entry);
                if swaps {
                    record[8..16].rotate_left(4);
                }
                bytes.extend(record);
            }
            read_all(&bytes[..])
        };
        let expected = (plain(&entries), None);
        for (minor, swaps) in [(2, true), (3, true), (3, false), (4, false)] {
            assert_eq!(with_minor(minor, swaps), expected, "2.{minor}");
        }
    }
}

/// Under the usual magic.
#[test]
fn records_with_longer_headers_are_known_by_the_one_behind_the_first() {
    let entries = [0, 500_000, 1_250_000].map(|us| entry(1_600_000_000_000_000_000 + us * 1_000));
    for order in [LITTLE, BIG] {
        let bytes = pcap(order, false, &entries);
        let (header, records) = bytes.split_at(24);
        let record = records.len() / entries.len();
        for more in [0, 4, 8] {
            let longer =
                |record: &[u8]| [&record[..16], &[0, 0, 0, 5, 0, 8, 0, 1][..more], &record[16..]].concat();
            let records: Vec<u8> = records.chunks(record).flat_map(longer).collect();
            let (packets, error) = read_all(&[header, &records].concat()[..]);
            assert_eq!((packets, error), (plain(&entries), None), "{more} bytes more");
        }
        // What is damaged behind the first packet is no other form.
        let damaged = [header, &records[..record], &[0xff; 40]].concat();
        assert_eq!(read_all(&damaged[..]).0, plain(&entries[..1]));
    }
}

#[test]
fn a_reader_that_fails_is_told() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let header = pcap(LITTLE, false, &[]);
    let mut reader = Reader::open(header[..].chain(Fails)).expect("the header is there");
    let error = reader.next_packet().expect_err("the reader fails");
    assert!(matches!(error.problem, Problem::Read(_)));
    assert_eq!(error.to_string(), "byte 24: reading failed: gone");
}

#[test]
fn compression_is_found_by_its_first_bytes() {
    let bytes = pcap(LITTLE, false, &[]);
    for (packed, expected) in [
        (bytes.clone(), None),
        (gzip(&bytes), Some(Compression::Gzip)),
        (zstd(&bytes), Some(Compression::Zstd)),
    ] {
        let reader = Reader::open(&packed[..]).expect("a capture");
        assert_eq!(reader.compression(), expected);
    }
}

/// Whole packets, so many that they do not lie in memory at once.
fn many() -> Vec<ContainerPacket> {
    let entry = |n: u64| ContainerPacket {
        time_ns: n * 1000,
        original: 1500,
        bytes: vec![n as u8; 1400 + n as usize % 100],
    };
    (1..8_000).map(entry).collect()
}

#[test]
fn a_file_in_memory_is_read_as_a_stream_is_and_passed_on_the_way() {
    for bytes in [pcap(BIG, false, &many()), pcapng(LITTLE, 6, 1000, &many())] {
        let file = InMemory::of(&bytes);
        assert_eq!(all_of(Reader::of_mapped(&file, io::empty())), read_all(&bytes[..]));
        assert!(file.passed() > bytes.len() / 2, "{} of {}", file.passed(), bytes.len());
    }
}

#[test]
fn what_can_not_be_had_any_more_is_told_and_its_zeros_are_no_packets() {
    for whole in [pcap(LITTLE, false, &many()), pcapng(BIG, 6, 1000, &many())] {
        let cut = whole.len() / 3;
        let mut bytes = whole.clone();
        bytes[cut..].fill(0);
        let (packets, error) = all_of(Reader::of_mapped(&InMemory::cut(&bytes, cut), io::empty()));
        let (expected, _) = read_all(&whole[..cut]);
        assert!(packets.starts_with(&expected));
        assert!(packets.len() <= expected.len() + 1, "at most the one that was cut");
        assert!(error.is_some_and(|told| told.ends_with("reading failed: gone")));
    }
}

#[test]
fn whole_packets_are_sparse_and_headers_packed_ones_and_others_are_not() {
    let headers = vec![entry(1); 100];
    for (bytes, expected) in [
        (pcap(LITTLE, false, &many()), true),
        (pcapng(BIG, 6, 1000, &many()), true),
        (pcap(LITTLE, false, &headers), false),
        (zstd(&pcap(LITTLE, false, &many())), false),
        (pcap(LITTLE, false, &[]), false),
        (b"no capture".to_vec(), false),
    ] {
        assert_eq!(is_sparse(&bytes[..bytes.len().min(BEGINNING)]), expected);
    }
}
