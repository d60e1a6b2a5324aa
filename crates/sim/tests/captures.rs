//! Captures of simulated runs, read with others' code and held against the records of the same run.

mod kinds;

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::cell::{CapturePackets, Direction};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Manifest, Retransmit, Sink, SinkError};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;
use pipefill_testkit::captures::dissected::{Capture, Checksums, DissectedPacket, Transport, read};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Path, host, flow.
const SCENARIOS: [[&str; 3]; 13] = [
    ["rtt = \"20ms\"\nrate = \"50mbit\"", "", ""],
    ["rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "", ""],
    ["rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nfamily = \"ipv6\"", "", ""],
    [
        "rtt = \"30ms\"\nrate = \"20mbit\"\njitter = \"5ms\"\njitter_reorder = true\nduplicate = \"1%\"",
        "",
        "",
    ],
    [
        "rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"\nreverse_loss = \"3%\"",
        "congestion_control = \"bbr\"",
        "",
    ],
    ["rtt = \"20ms\"\nrate = \"30mbit\"\nqueue = \"40p\"", "", "parallel = 4"],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nreverse_rate = \"2mbit\"", "", "direction = \"both\""],
    ["rtt = \"5ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "gso = false\ngro = false", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"", "", "read_rate = \"300kbit\""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nmtu = 9000", "sysctl.\"net.ipv4.tcp_timestamps\" = \"0\"", ""],
    ["rtt = \"0ms\"", "", "bitrate = \"5mbit\""],
    ["rtt = \"10ms\"\nrate = \"20mbit\"\nmtu = 1280\nfamily = \"ipv6\"", "", "protocol = \"ping\""],
    [
        "rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nreverse_loss = \"2%\"",
        "",
        "app = { kind = \"requests\", request = \"20kB\", response = \"30kB\", outstanding = 3 }",
    ],
];

/// Rows of retransmissions, and files, in memory.
#[derive(Default)]
struct Kept {
    rows: Vec<AnyRow>,
    files: BTreeMap<String, Shared>,
}

#[derive(Default, Clone)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Kept {
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError> {
        self.rows.push(row);
        Ok(())
    }

    fn artifact(&mut self, name: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
        let file = Shared::default();
        assert!(self.files.insert(name.to_string(), file.clone()).is_none(), "{name} twice");
        Ok(Box::new(file))
    }
}

impl Kept {
    fn file(&self, name: &str) -> Vec<u8> {
        self.files[name].0.lock().expect("no panic").clone()
    }

    fn capture(&self, host: &str) -> Capture {
        read(&self.file(&format!("{host}.pcapng")), Checksums::Valid)
    }

    fn retransmits(&self) -> impl Iterator<Item = &Retransmit> {
        self.rows.iter().filter_map(|row| if let AnyRow::Retransmit(row) = row { Some(row) } else { None })
    }
}

/// The scenario's run, with a datagram now and then beside its flow.
fn run_of([path, host, flow]: [&str; 3]) -> Run {
    let text = format!(
        "name = \"captures\"\n[path]\n{path}\n[host]\n{host}\n[[flow]]\nduration = \"2s\"\n{flow}\n\
         [[flow]]\nprotocol = \"udp\"\nbitrate = \"100kbit\"\nlength = \"700B\"\nstart = \"500ms\"\nduration = \"1s\"\n\
         [run]\nrepeat = 1\nsample = \"20ms\"\n"
    );
    let scenario = Scenario::parse(&text, "captures.toml").unwrap_or_else(|error| panic!("{error}"));
    scenario.plan().runs().swap_remove(0)
}

/// The same run, captured.
fn captured(run: &Run, packets: Option<CapturePackets>) -> (Manifest, Kept) {
    let mut run = run.clone();
    run.cell.spec.run.capture = packets.is_some();
    run.cell.spec.run.capture_packets = packets.unwrap_or_default();
    let mut kept = Kept::default();
    let manifest = Sim::new().stream(&run, &Unwatched, &mut kept).unwrap_or_else(|error| panic!("{error}"));
    (manifest, kept)
}

/// Packets and bytes that the path counted.
fn counted(manifest: &Manifest, direction: Direction, what: &str) -> [u64; 2] {
    ["packets", "bytes"].map(|unit| {
        let name = format!("{what}_{unit}");
        let place = format!("path {}", direction.as_str());
        let found = manifest.counters.iter().find(|counter| counter.place == place && counter.name == name);
        found.unwrap_or_else(|| panic!("no {place} {name}")).after
    })
}

fn passed(capture: &Capture, is_outbound: bool) -> [u64; 2] {
    let all = capture.packets.iter().filter(|packet| packet.is_outbound == is_outbound);
    all.fold([0, 0], |[packets, bytes], packet| [packets + 1, bytes + u64::from(packet.length)])
}

/// Both ends' captures, in the direction's order: where its packets leave, and where they arrive.
fn ends(kept: &Kept, direction: Direction) -> [Capture; 2] {
    match direction {
        Direction::Forward => [kept.capture("sender"), kept.capture("receiver")],
        Direction::Reverse => [kept.capture("receiver"), kept.capture("sender")],
    }
}

#[test]
fn every_segment_that_the_path_counted_is_there() {
    for scenario in SCENARIOS {
        let (manifest, kept) = captured(&run_of(scenario), Some(CapturePackets::Split));
        assert_eq!(kept.files.len(), 2);
        // The simulator counts the options of a SYN as with timestamps.
        let is_exact = !scenario[1].contains("timestamps");
        for direction in Direction::ALL {
            let [leaving, arriving] = ends(&kept, direction);
            for (capture, is_outbound, what) in [(&leaving, true, "offered"), (&arriving, false, "delivered")]
            {
                let (seen, wanted) = (passed(capture, is_outbound), counted(&manifest, direction, what));
                assert_eq!(seen[0], wanted[0], "{scenario:?} {direction:?} {what}");
                assert!(
                    !is_exact || seen == wanted,
                    "{scenario:?} {direction:?} {what}: {seen:?} {wanted:?}"
                );
            }
        }
    }
}

/// Super-packets that stay one have the same bytes of payload, in fewer packets.
#[test]
fn super_packets_are_kept_or_split() {
    for scenario in SCENARIOS {
        let run = run_of(scenario);
        let [split, kept] =
            [CapturePackets::Split, CapturePackets::Kept].map(|packets| captured(&run, Some(packets)).1);
        assert!(split.rows == kept.rows, "{scenario:?}");
        for host in ["sender", "receiver"] {
            let [split, kept] = [split.capture(host), kept.capture(host)];
            let payload = |capture: &Capture| -> BTreeMap<[SocketAddr; 2], usize> {
                let mut all = BTreeMap::new();
                for packet in &capture.packets {
                    if let (Some(ends), Some((_, payload))) = (packet.ends(), packet.tcp()) {
                        *all.entry(ends).or_default() += payload;
                    }
                }
                all
            };
            assert_eq!(payload(&split), payload(&kept), "{scenario:?} {host}");
            let largest =
                |capture: &Capture| capture.packets.iter().map(|packet| packet.length).max().unwrap_or(0);
            let mtu = u32::from(run.cell.spec.path.mtu) + 14;
            assert!(largest(&split) <= mtu, "{scenario:?} {host}");
            if scenario == SCENARIOS[0] && host == "sender" {
                assert!(largest(&kept) > 2 * mtu && kept.packets.len() < split.packets.len() * 9 / 10);
            }
            if scenario[1].contains("gso") {
                assert_eq!(kept.packets.len(), split.packets.len(), "{host}");
            }
        }
    }
}

/// Sequence numbers as of the SYN, of the stream that sends from this port.
fn relative(capture: &Capture, port: u16) -> Vec<(&DissectedPacket, u64, usize)> {
    let mut own = capture.packets.iter().filter_map(|packet| {
        let (header, payload) = packet.tcp()?;
        (packet.is_outbound && header.source_port == port).then_some((packet, header, payload))
    });
    let (_, syn, _) = own.next().expect("a SYN");
    assert!(syn.syn && !syn.ack);
    let isn = syn.sequence_number;
    own.map(|(packet, header, payload)| {
        (packet, u64::from(header.sequence_number.wrapping_sub(isn)), payload)
    })
    .collect()
}

/// What leaves again is what the records have, at the same microsecond.
#[test]
fn retransmissions_are_those_of_the_records() {
    let mut retransmits = 0;
    for scenario in SCENARIOS {
        let (manifest, kept) = captured(&run_of(scenario), Some(CapturePackets::Kept));
        let zero: u64 = {
            let comment = kept.capture("sender").comment;
            comment.rsplit("zero_unix_ns=").next().and_then(|text| text.parse().ok()).expect("a number")
        };
        for stream in manifest.streams.iter().filter(|stream| stream.tcp.is_some()) {
            let info = stream.tcp.as_ref().expect("TCP");
            let direction = manifest.run.cell.spec.flows[stream.flow as usize].direction;
            let [leaving, _] = ends(&kept, direction);
            let port = 32_768 + u16::try_from(stream.stream).expect("few");
            let (mut end, mut sent, mut again) = (1, 0, Vec::new());
            for (packet, seq, payload) in relative(&leaving, port) {
                let to = seq + payload as u64;
                sent += payload as u64;
                if payload > 0 && seq < end {
                    again.push(((packet.unix_ns - zero) / 1000, seq, to));
                }
                end = end.max(to);
            }
            assert_eq!(Some(sent), info.bytes_sent, "{scenario:?}");
            let again_bytes: u64 = again.iter().map(|(_, from, to)| to - from).sum();
            assert_eq!(Some(again_bytes), info.bytes_retrans, "{scenario:?}");
            let rows = kept.retransmits().filter(|row| row.stream == stream.stream);
            let mut told: Vec<_> = rows.map(|row| (row.t_us, row.seq_from, row.seq_to)).collect();
            told.sort_unstable();
            again.sort_unstable();
            assert_eq!(again, told, "{scenario:?}");
            retransmits += told.len();
        }
    }
    assert!(retransmits > 100, "{retransmits}");
}

/// A handshake with Linux's options, timestamps that echo what was sent, ACKs of what was sent, windows that scale.
#[test]
fn connections_look_as_linux_makes_them() {
    use etherparse::TcpOptionElement::{MaximumSegmentSize, Timestamp, WindowScale};
    let (_, kept) = captured(&run_of(SCENARIOS[1]), Some(CapturePackets::Kept));
    let capture = kept.capture("sender");
    let all: Vec<_> = capture.packets.iter().filter_map(|packet| Some((packet, packet.tcp()?))).collect();
    let options = |at: usize| -> Vec<_> {
        all[at].1.0.options_iterator().map(|option| option.expect("whole")).collect()
    };
    let [syn, syn_ack, ack] = [0, 1, 2].map(|at| all[at].1.0);
    assert!(syn.syn && !syn.ack && syn_ack.syn && syn_ack.ack && !ack.syn && ack.ack);
    assert_eq!((syn.window_size, syn_ack.window_size, ack.window_size), (64_240, 65_160, 502));
    for at in [0, 1] {
        assert!(options(at).contains(&MaximumSegmentSize(1460)) && options(at).contains(&WindowScale(7)));
    }
    assert_eq!(syn_ack.acknowledgment_number, syn.sequence_number.wrapping_add(1));
    assert_eq!(ack.acknowledgment_number, syn_ack.sequence_number.wrapping_add(1));
    let (mut values, mut has_sack, mut highest) = ([Vec::new(), Vec::new()], false, 0);
    for (at, (packet, (header, payload))) in all.iter().enumerate() {
        let stamps = options(at).into_iter().find_map(|option| match option {
            Timestamp(value, echo) => Some((value, echo)),
            _ => None,
        });
        let (value, echo) = stamps.expect("timestamps");
        let [own, other] = if packet.is_outbound { [0, 1] } else { [1, 0] };
        values[own].push(value);
        assert!(at == 0 || values[other].contains(&echo), "packet {at} echoes what nobody sent");
        if packet.is_outbound {
            let end = header.sequence_number.wrapping_add(*payload as u32);
            highest = highest.max(end.wrapping_sub(syn.sequence_number));
        } else {
            assert!(header.acknowledgment_number.wrapping_sub(syn.sequence_number) <= highest.max(1));
            let sacks = packet.sacks();
            has_sack |= !sacks.is_empty();
            assert!(sacks.iter().all(|(_, right)| right.wrapping_sub(syn.sequence_number) <= highest));
        }
    }
    assert!(has_sack && highest > 1_000_000);
}

/// Payload both ways, each byte once; what an end sends acknowledges all that it has; PSH ends every write.
#[test]
fn a_conversation_has_the_payload_of_both_ends() {
    let flow = "app = { kind = \"requests\", request = \"300B\", response = \"10kB\", count = 5 }";
    let run = run_of(["rtt = \"20ms\"\nrate = \"20mbit\"", "", flow]);
    let (_, kept) = captured(&run, Some(CapturePackets::Kept));
    for (host, sizes) in [("sender", [10_000, 300]), ("receiver", [300, 10_000])] {
        let capture = kept.capture(host);
        let (mut isns, mut next) = ([0; 2], [0; 2]);
        for (packet, (header, payload)) in
            capture.packets.iter().filter_map(|packet| Some((packet, packet.tcp()?)))
        {
            let [own, other] = if packet.is_outbound { [0, 1] } else { [1, 0] };
            if header.syn {
                isns[own] = header.sequence_number.wrapping_add(1);
                continue;
            }
            let acknowledged = header.acknowledgment_number.wrapping_sub(isns[other]);
            assert!(acknowledged <= next[other], "{host}: {acknowledged} of {}", next[other]);
            if packet.is_outbound && payload > 0 {
                assert_eq!(acknowledged, next[other], "{host}: it has all that came");
            }
            assert_eq!(header.sequence_number.wrapping_sub(isns[own]), next[own], "{host}");
            next[own] += payload as u32;
            let is_end_of_write = payload > 0 && next[own] % sizes[own] == 0;
            assert!(header.psh || !is_end_of_write, "{host}: {} without a push", next[own]);
        }
        assert_eq!(next, sizes.map(|size| 5 * size), "{host}");
    }
}

/// Each in its own time, first things first; every stream has ports of its own.
#[test]
fn packets_are_in_order_and_streams_apart() {
    for scenario in SCENARIOS {
        let (manifest, kept) = captured(&run_of(scenario), Some(CapturePackets::Kept));
        for host in ["sender", "receiver"] {
            let capture = kept.capture(host);
            assert!(capture.packets.is_sorted_by_key(|packet| packet.unix_ns), "{scenario:?} {host}");
            assert_eq!((capture.interface.as_str(), capture.dropped), ("path0", 0));
            assert!(capture.comment.contains(&manifest.run.id) && capture.comment.contains(host));
            let mut flows: Vec<[SocketAddr; 2]> =
                capture.packets.iter().filter_map(DissectedPacket::ends).collect();
            flows.iter_mut().for_each(|ends| ends.sort());
            flows.sort();
            flows.dedup();
            assert_eq!(flows.len(), manifest.streams.len(), "{scenario:?} {host}");
        }
    }
}

/// Fragments of a ping have one identification, and arrive as one datagram.
#[test]
fn a_ping_is_a_datagram_in_fragments() {
    for family in ["ipv4", "ipv6"] {
        let path = format!("rtt = \"10ms\"\nfamily = \"{family}\"");
        let flow = "protocol = \"ping\"\npayloads = \"4000B\"";
        let (_, kept) = captured(&run_of([&path, "", flow]), Some(CapturePackets::Kept));
        let capture = kept.capture("sender");
        let requests: Vec<_> =
            capture.packets.iter().filter(|packet| packet.is_fragment && packet.is_outbound).collect();
        assert!(requests.len() >= 30 && requests.len().is_multiple_of(3), "{}", requests.len());
        for request in requests.chunks(3) {
            assert!(
                request
                    .iter()
                    .all(|packet| (packet.id, packet.unix_ns) == (request[0].id, request[0].unix_ns))
            );
        }
        let whole = capture
            .packets
            .iter()
            .filter(|packet| matches!(packet.transport, Transport::Udp { payload: 24, .. }));
        assert!(whole.count() >= 10, "short replies are whole");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_no_capture_changes_a_run() {
    for scenario in [SCENARIOS[3], SCENARIOS[6]] {
        let run = run_of(scenario);
        let [(_, first), (_, second)] = [0, 1].map(|_| captured(&run, Some(CapturePackets::Kept)));
        for host in ["sender.pcapng", "receiver.pcapng"] {
            assert!(first.file(host) == second.file(host), "{scenario:?} {host}");
        }
        let (_, none) = captured(&run, None);
        assert!(none.files.is_empty());
        assert!(none.rows == first.rows, "{scenario:?}");
        let other = Run { seed: run.seed.derive("another"), ..run };
        let (_, other) = captured(&other, Some(CapturePackets::Kept));
        assert!(other.file("sender.pcapng") != first.file("sender.pcapng"));
    }
}

/// What can't be written ends the run with an error.
#[test]
fn a_full_disk_is_told() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Sink for Full {
        fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
            Ok(())
        }

        fn artifact(&mut self, _: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
            Ok(Box::new(Full))
        }
    }
    let mut run = run_of(SCENARIOS[0]);
    run.cell.spec.run.capture = true;
    let error = Sim::new().stream(&run, &Unwatched, &mut Full).expect_err("no room").to_string();
    assert!(error.starts_with("writing a capture: "), "{error}");
}
