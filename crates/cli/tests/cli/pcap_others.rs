//! `pcap` on captures that are not TCP alone, and of other stacks than Linux: UDP flows, what is not read, whose stack it is and what that changes in the advice.

use crate::pcap::pcap_json;
use crate::pipefill::Folder;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap_header, pcap_record};
use pipefill_testkit::captures::datagram::{quic_long, quic_short, rtp, udp};
use pipefill_testkit::captures::frame::{ACK, CWR, ECE, SYN, Tcp, behind_nat, ethernet, stamps, syn_options};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const MS: u64 = 1_000_000;
const ORDER: Order = Order { is_big: false };

/// A pcap of `link` in `folder`; of each packet its time, its captured bytes, and how many more there were.
fn write(folder: &Folder, name: &str, link: u32, packets: &[(u64, Vec<u8>, u32)]) -> PathBuf {
    let mut bytes = pcap_header(ORDER, 0xa1b2_c3d4, link);
    for (time_ns, captured, more) in packets {
        let original = captured.len() as u32 + more;
        bytes.extend(pcap_record(
            ORDER,
            1000,
            &ContainerPacket { time_ns: *time_ns, original, bytes: captured.clone() },
        ));
    }
    let file = folder.path(name);
    fs::write(&file, bytes).unwrap();
    file
}

fn text(folder: &Folder, file: &std::path::Path) -> String {
    let output = folder.pipefill(&["pcap", file.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // As one line: sentences are filled.
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn udp_flows_have_their_kind_and_their_figures() {
    let folder = Folder::new();
    let mut packets = vec![
        (0, udp((50_000, 4_433), &quic_long(0, 1), 1_230), 1_230),
        (30 * MS, udp((4_433, 50_000), &quic_long(0, 1), 1_230), 1_230),
        (42 * MS, udp((50_000, 4_433), &quic_short(false), 100), 100),
    ];
    for number in (0..100_u16).filter(|number| number % 25 != 7) {
        let (at, header) = (u64::from(number) * 20 * MS, rtp(0, number, u32::from(number) * 160, 7));
        packets.push((at, udp((6_004, 5_004), &header, 160), 160));
    }
    packets.extend((0..10).map(|at| (at * 100 * MS, udp((9, 7), &[0; 100], 0), 0)));
    packets.sort_by_key(|(time_ns, ..)| *time_ns);
    let file = write(&folder, "udp.pcap", 101, &packets);
    let found = pcap_json(&folder, &file);
    let flow = |src: &str| {
        let all = found["udp_flows"].as_array().unwrap();
        all.iter().find(|flow| flow["src"] == src).unwrap_or_else(|| panic!("{found:#}")).clone()
    };
    let quic = flow("192.0.2.1:50000");
    assert_eq!((&quic["kind"], &quic["quic"]["version"]), (&"quic".into(), &"1".into()), "{quic:#}");
    assert_eq!((&quic["quic"]["answer_us"], &quic["quic"]["handshake_us"]), (&30_000.into(), &42_000.into()));
    let media = flow("192.0.2.1:6004");
    assert_eq!((&media["kind"], &media["rtp"][0]["lost"]), (&"rtp".into(), &4.into()), "{media:#}");
    assert_eq!((&media["rtp"][0]["clock_hz"], &media["rtp"][0]["jitter_us"]), (&8_000.into(), &0.into()));
    let other = flow("192.0.2.1:9");
    assert_eq!(
        (&other["kind"], &other["datagrams"], &other["bytes"]),
        (&"other".into(), &10.into(), &1_000.into())
    );
    // 1000 bytes in 900 ms.
    assert_eq!((&other["rate_bps"], &other["longest_gap_us"]), (&8_888.into(), &100_000.into()));
    let text = text(&folder, &file);
    for part in [
        "No TCP connection carried data. The capture has 109 UDP datagrams",
        "QUIC version 1",
        "4 lost (4 %)",
        "handshake 42.0 ms",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    folder
        .pipefill(&["explain", file.to_str().unwrap()])
        .assert()
        .success()
        .stdout(contains("QUIC version 1"));
}

#[test]
fn what_is_not_read_is_named_with_what_to_do() {
    let folder = Folder::new();
    let mut sctp = Tcp::new(1, 1, ACK, 0).v4();
    sctp[9] = 132;
    let mut dccp = sctp.clone();
    dccp[9] = 33;
    let file = write(&folder, "others.pcap", 101, &[(0, sctp.clone(), 0), (MS, sctp, 0), (2 * MS, dccp, 0)]);
    let found = pcap_json(&folder, &file);
    assert_eq!(found["not_understood"], serde_json::json!({ "DCCP": 1, "SCTP": 2 }));
    assert!(
        text(&folder, &file)
            .contains("No TCP connection carried data. The capture has 1 packet of DCCP, 2 packets of SCTP.")
    );
    let file = write(&folder, "usb.pcap", 189, &[(0, vec![1; 60], 0)]);
    assert_eq!(pcap_json(&folder, &file)["not_understood"]["link type USB_LINUX (189)"], 1);
    assert!(text(&folder, &file).contains("editcap -C N -T rawip"));
    for begin in [&b"GMBU\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], b"snoop\0\0\0\0\0\0\x02\0\0\0\x04"] {
        fs::write(folder.path("foreign"), begin).unwrap();
        let told = contains("not a pcap or pcapng file").and(contains("editcap -F pcap IN OUT"));
        folder.pipefill(&["pcap", "foreign"]).assert().code(2).stderr(told);
    }
}

/// The stack of the receiver, by the form of its SYN-ACK: its options, and its TTL.
struct Receiver {
    options: Vec<u8>,
    ttl: u8,
}

/// A transfer that a window of 32 kB limits over a round trip of 100 ms, captured at its sender, which is Linux.
fn limited_by_window(receiver: &Receiver) -> Vec<(u64, Vec<u8>, u32)> {
    const SEGMENTS: u64 = 22;
    const PAYLOAD: usize = 1448;
    let stamp = |at: u64| if receiver.options.len() > 12 { stamps(at as u32, at as u32) } else { Vec::new() };
    let mut packets = Vec::new();
    let mut push = |time_ns: u64, tcp: &Tcp, is_back: bool| {
        let mut bytes = tcp.v4();
        if is_back {
            bytes[8] = receiver.ttl;
        }
        packets.push((time_ns, bytes, tcp.payload as u32));
    };
    push(0, &Tcp { options: syn_options(1460, 7, 1, 0), window: 64_240, ..Tcp::new(100, 0, SYN, 0) }, false);
    let answer =
        Tcp { options: receiver.options.clone(), window: 32_000, ..Tcp::new(500, 101, SYN | ACK, 0) };
    push(100 * MS, &answer.back(), true);
    push(100 * MS + 1_000, &Tcp { options: stamp(1), window: 500, ..Tcp::new(101, 501, ACK, 0) }, false);
    for trip in 0..50_u64 {
        for segment in 0..SEGMENTS {
            let at = trip * SEGMENTS + segment;
            let seq = 101 + at as u32 * PAYLOAD as u32;
            // Each ACK lets the next segment out.
            let sent_ns = (101 + trip * 100) * MS + segment * 20_000;
            push(
                sent_ns,
                &Tcp { options: stamp(at), window: 500, ..Tcp::new(seq, 501, ACK, PAYLOAD) },
                false,
            );
        }
        for segment in 0..SEGMENTS {
            let at = trip * SEGMENTS + segment + 1;
            let ack = 101 + at as u32 * PAYLOAD as u32;
            let acked_ns = (201 + trip * 100) * MS + segment * 20_000 - 10_000;
            push(
                acked_ns,
                &Tcp { options: stamp(at), window: 32_000, ..Tcp::new(501, ack, ACK, 0) }.back(),
                true,
            );
        }
    }
    packets.sort_by_key(|(time_ns, ..)| *time_ns);
    packets
}

/// MSS, NOP, window scale 0, NOP, NOP, SACK permitted: what Windows writes.
fn windows() -> Receiver {
    Receiver { options: vec![2, 4, 5, 0xb4, 1, 3, 3, 0, 1, 1, 4, 2], ttl: 128 }
}

#[test]
fn advice_names_settings_of_linux_for_linux_alone() {
    let folder = Folder::new();
    let linux = Receiver { options: syn_options(1460, 0, 1, 1), ttl: 64 };
    for (receiver, stack) in [(windows(), "windows"), (linux, "linux")] {
        let file = write(&folder, "window.pcap", 101, &limited_by_window(&receiver));
        let found = pcap_json(&folder, &file);
        let flow = &found["flows"][0];
        assert_eq!(flow["limited_by"], "rwnd", "{flow:#}");
        assert_eq!((&flow["stack"], &flow["stack_confidence"]), (&"linux".into(), &"certain".into()));
        assert_eq!(flow["options"]["window_scale"], 0);
        assert_eq!(flow["options"]["timestamps"], stack == "linux");
        let advice = flow["advice"].as_array().unwrap();
        let (change, command) = (advice[0]["change"].as_str().unwrap(), &advice[0]["command"]);
        if stack == "linux" {
            // Linux scales windows for `rmem_max` at least: without a scale, a program has set the buffer.
            assert_eq!(
                (&advice[0]["target"], &flow["cause"]),
                (&"program".into(), &"program".into()),
                "{flow:#}"
            );
        } else {
            let why = advice[0]["why"].as_str().unwrap();
            assert!(command.is_null() && !change.contains("net.ipv4") && !why.contains("ss -tm"), "{flow:#}");
            assert!(change.contains("a receive buffer of"), "{change}");
        }
    }
}

#[test]
fn options_and_marks_are_counted_unless_the_bits_are_a_counter() {
    let folder = Folder::new();
    let flow = |is_accurate: bool| -> Value {
        let mut syn =
            Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(100, 0, SYN | ECE | CWR, 0) }.v4();
        syn[20 + 12] |= u8::from(is_accurate);
        let answer_flags = SYN | ACK | if is_accurate { CWR } else { ECE };
        let answer =
            Tcp { options: syn_options(1400, 8, 2, 1), ..Tcp::new(500, 101, answer_flags, 0) }.back().v4();
        let mut packets = vec![(0, syn, 0), (MS, answer, 0)];
        for at in 0..12_u32 {
            let flags = ACK | if at % 4 == 1 { CWR } else { 0 };
            let ecn = if at % 4 == 0 { 3 } else { 2 };
            let data = Tcp { ecn, options: stamps(at, at), ..Tcp::new(101 + at * 1000, 501, flags, 1000) };
            let ack = Tcp {
                options: stamps(at, at),
                ..Tcp::new(501, 1101 + at * 1000, ACK | if at % 2 == 0 { ECE } else { 0 }, 0)
            };
            packets.push((u64::from(at + 2) * 10 * MS, data.v4(), 1000));
            packets.push((u64::from(at + 2) * 10 * MS + 5 * MS, ack.back().v4(), 0));
        }
        pcap_json(&folder, &write(&folder, "ecn.pcap", 101, &packets))["flows"][0].clone()
    };
    let classic = flow(false);
    let options = &classic["options"];
    assert_eq!((&options["mss_bytes"], &options["window_scale"]), (&1400.into(), &8.into()), "{classic:#}");
    assert_eq!(
        [&options["sack"], &options["timestamps"], &options["ecn"]],
        [true; 3].map(Value::from).each_ref()
    );
    let counts = |flow: &Value| ["ce", "ece", "cwr"].map(|name| flow["counts"][name].as_u64().unwrap());
    assert_eq!(counts(&classic), [3, 6, 3]);
    let accurate = flow(true);
    assert_eq!(
        (&accurate["options"]["ecn"], &accurate["options"]["accurate_ecn"]),
        (&true.into(), &true.into())
    );
    assert_eq!(counts(&accurate), [3, 0, 0]);
    let text = text(&folder, &folder.path("ecn.pcap"));
    assert!(
        text.contains("Negotiated: MSS 1400 B, window scale 8, SACK, timestamps, accurate ECN."),
        "{text}"
    );
}

/// On the router, whose interfaces are captured together: one connection, which fills its window on either side.
#[test]
fn both_sides_of_a_nat_are_told_of_as_one_connection() {
    let folder = Folder::new();
    let mut packets = Vec::new();
    for (at, (time_ns, ip, more)) in limited_by_window(&windows()).into_iter().enumerate() {
        let mut inside = ethernet(&[], 0x0800, &ip);
        inside[18..20].copy_from_slice(&(at as u16 + 1).to_be_bytes());
        inside[22] = 64;
        packets.push((time_ns + 1_000, inside.clone(), more));
        packets.push((time_ns + 201_000, behind_nat(&inside, ([203, 0, 113, 9], 61_000)), more));
    }
    packets.sort_by_key(|(time_ns, ..)| *time_ns);
    let file = write(&folder, "router.pcap", 1, &packets);
    let found = pcap_json(&folder, &file);
    let sides = [["192.0.2.1:40000", "198.51.100.2:80"], ["203.0.113.9:61000", "198.51.100.2:80"]];
    assert_eq!(found["nat"], serde_json::json!([{ "connections": sides }]));
    let flows = found["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2, "{found:#}");
    assert!(flows.iter().all(|flow| flow["limited_by"] == "rwnd" && flow["bytes"] == flows[0]["bytes"]));
    assert!(text(&folder, &file).contains(
        "192.0.2.1:40000 <-> 198.51.100.2:80 and 203.0.113.9:61000 <-> 198.51.100.2:80 are one connection on both sides of a NAT"
    ));
}

/// A SYN that is lost is sent again after three seconds (RFC 6298, 2.1 has one second; older stacks three).
#[test]
fn the_setup_begins_with_the_first_syn_and_syns_that_were_lost_are_told() {
    let folder = Folder::new();
    let later = limited_by_window(&windows())
        .into_iter()
        .map(|(time_ns, bytes, payload)| (time_ns + 3_000 * MS, bytes, payload));
    let (_, syn, payload) = limited_by_window(&windows()).swap_remove(0);
    let packets: Vec<(u64, Vec<u8>, u32)> = std::iter::once((0, syn, payload)).chain(later).collect();
    let file = write(&folder, "setup.pcap", 101, &packets);
    let found = pcap_json(&folder, &file);
    assert_eq!(found["flows"][0]["setup_us"], 3_101_000);
    assert!(found["flows"][0]["active_bps"].as_u64() > Some(0));
    let text = text(&folder, &file);
    assert!(
        text.contains("Setup: the SYN was sent 2 times, and 3.10 s passed before the first data."),
        "{text}"
    );
}

/// The handshake, with the SYN-ACK sent again after 1 and 3 s; each time the client sends its ACK and its request again. `is_acked` is whether the
/// ACK passes before that, and `to_server_us` how far the capture point is from the server, on a path of 40 ms.
fn slowly_accepted(is_acked: bool, to_server_us: u64) -> Vec<(u64, Vec<u8>, u32)> {
    let segment = |seq: u32, ack: u32, flags: u8, payload: usize, id: u16| Tcp {
        id,
        ..Tcp::new(seq, ack, flags, payload)
    };
    // From the client to the capture point, and from the server.
    let (there, back) = (20_000 - to_server_us, to_server_us);
    let mut packets = vec![(there, segment(100, 0, SYN, 0, 1))];
    for (at, sent_us) in [20_010, 1_020_030, 3_020_070].into_iter().enumerate() {
        let id = 10 * (at as u16 + 1);
        packets.push((sent_us + back, segment(500, 101, SYN | ACK, 0, id).back()));
        if is_acked || at == 2 {
            let acked_us = sent_us + 20_003 + there;
            packets.push((acked_us, segment(101, 501, ACK, 0, id + 1)));
            packets.push((acked_us + 5, segment(101, 501, ACK, 300, id + 2)));
        }
    }
    for at in 0..20_u32 {
        let (seq, sent_us) = (501 + at * 1_000, 3_060_113 + 40_017 * u64::from(at));
        packets.push((sent_us + back, segment(seq, 401, ACK, 1_000, 100 + at as u16).back()));
        packets.push((sent_us + 20_001 + there, segment(401, seq + 1_000, ACK, 0, 200 + at as u16)));
    }
    packets.sort_by_key(|(time_us, _)| *time_us);
    packets.into_iter().map(|(us, tcp)| (us * 1_000, tcp.v4(), tcp.payload as u32)).collect()
}

#[test]
fn a_full_accept_queue_is_shown_by_syn_acks_after_their_ack() {
    let folder = Folder::new();
    let said = |name: &str, is_acked: bool, to_server_us: u64| {
        let file = write(&folder, name, 101, &slowly_accepted(is_acked, to_server_us));
        let output = folder.pipefill(&["pcap", file.to_str().unwrap(), "--all"]).output().unwrap();
        // Sentences are filled to the terminal's width.
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let sure = "Setup: the SYN-ACK was sent again 2 times after its ACK had passed";
    let near = said("near.pcap", true, 150);
    assert!(near.contains(sure) && near.contains(". The server's accept queue was full"), "{near}");
    assert!(near.contains("raise its backlog (listen()) and net.core.somaxconn"), "{near}");
    let far = said("far.pcap", true, 19_850);
    assert!(far.contains(sure) && far.contains("Most likely the server's accept queue was full"), "{far}");
    // SYN-ACKs that were lost.
    let lost = said("lost.pcap", false, 150);
    assert!(!lost.contains("after its ACK") && lost.contains("The ACK was lost, or"), "{lost}");
}

/// One to three segments of 536 bytes in each round trip of 700 ms: a mark on the third makes the sender begin with one again. No timestamps, no
/// scaled windows, no SACK; captured near the receiver, whose ACKs take 50 ms.
#[test]
fn a_receiver_that_echoes_marks_again_and_again_has_a_sender_whose_window_is_cut_by_them() {
    let folder = Folder::new();
    let agreed = vec![2, 4, 2, 24];
    let mut packets = vec![
        (0, Tcp { options: agreed.clone(), ..Tcp::new(0, 0, SYN | ECE | CWR, 0) }),
        (MS, Tcp { options: agreed, ..Tcp::new(9, 1, SYN | ACK | ECE, 0).back() }),
        (650 * MS, Tcp::new(1, 10, ACK, 0)),
    ];
    let (mut seq, mut echo, mut is_cut) = (1, 0, false);
    for round in 0..120_u64 {
        let flight = round % 3 + 1;
        for number in 0..flight {
            let at = 650 * MS + round * 700 * MS + number * 70 * MS;
            let is_marked = flight == 3 && number == 2;
            let reduced = if is_cut && number == 0 { CWR } else { 0 };
            echo = if is_marked { ECE } else { echo & !(ECE * u8::from(reduced > 0)) };
            let ecn = if is_marked { 3 } else { 2 };
            packets.push((at, Tcp { ecn, ..Tcp::new(seq, 10, ACK | reduced, 536) }));
            seq += 536;
            packets.push((at + 50 * MS, Tcp { window: 4_128, ..Tcp::new(10, seq, ACK | echo, 0).back() }));
        }
        is_cut = flight == 3;
    }
    packets.sort_by_key(|(time_ns, _)| *time_ns);
    let packets: Vec<(u64, Vec<u8>, u32)> =
        packets.into_iter().map(|(at, tcp)| (at, tcp.v4(), tcp.payload as u32)).collect();
    let flow = &pcap_json(&folder, &write(&folder, "marks.pcap", 101, &packets))["flows"][0];
    assert_eq!((&flow["limited_by"], &flow["cause"]), (&"cwnd".into(), &"ecn".into()), "{flow:#}");
    assert_eq!((&flow["vantage"], &flow["counts"]["ce"]), (&"receiver".into(), &40.into()), "{flow:#}");
}

/// On the receiver's side of a slow link, and far from either end: what its queue holds is seen by the time until an ACK's timestamp comes back.
#[test]
fn between_the_ends_a_queue_before_the_capture_point_fills_the_path() {
    const WAY_US: u64 = 15_000;
    const FRAME_US: u64 = 6_056;
    const QUEUE_US: u64 = 150_000;
    let judged = |queue_us: u64| {
        let rtt_us = 2 * WAY_US;
        let options = |echo: u32| syn_options(1460, 7, 2, echo);
        let mut packets = vec![
            (0, Tcp { options: options(0), window: 60_000, ..Tcp::new(100, 0, SYN, 0) }),
            (rtt_us, Tcp { options: options(1), window: 60_000, ..Tcp::new(500, 101, SYN | ACK, 0) }.back()),
            (2 * rtt_us, Tcp { options: stamps(31, 1), window: 60_000, ..Tcp::new(101, 501, ACK, 0) }),
            (
                2 * rtt_us + 100,
                Tcp { options: stamps(31, 1), window: 60_000, ..Tcp::new(101, 501, ACK, 200) },
            ),
        ];
        // When each ACK passed, and its timestamp.
        let mut acks = vec![(0, 31)];
        for at in 0..2_000_u32 {
            let us = 3 * rtt_us + u64::from(at) * FRAME_US;
            let waited_us = queue_us.min(u64::from(at) * 200);
            let echo = acks.iter().rev().find(|(passed_us, _)| passed_us + rtt_us + waited_us <= us);
            let value = ((us - waited_us) / 1_000) as u32;
            let seq = 501 + at * 1448;
            let options = stamps(value, echo.map_or(31, |(_, stamp)| *stamp));
            packets.push((us, Tcp { options, window: 60_000, ..Tcp::new(seq, 301, ACK, 1448) }.back()));
            if at % 2 == 1 {
                let acked_us = us + rtt_us;
                let stamp = (acked_us / 1_000) as u32;
                acks.push((acked_us, stamp));
                packets.push((
                    acked_us,
                    Tcp {
                        options: stamps(stamp, value),
                        window: 60_000,
                        ..Tcp::new(301, seq + 1448, ACK, 0)
                    },
                ));
            }
        }
        packets.sort_by_key(|(us, _)| *us);
        let packets: Vec<(u64, Vec<u8>, u32)> =
            packets.into_iter().map(|(us, tcp)| (us * 1_000, tcp.v4(), tcp.payload as u32)).collect();
        let folder = Folder::new();
        let found = pcap_json(&folder, &write(&folder, "between.pcap", 101, &packets));
        let flows = found["flows"].as_array().unwrap();
        flows.iter().find(|flow| flow["src"].as_str().unwrap().ends_with(":80")).unwrap().clone()
    };
    let queued = judged(QUEUE_US);
    assert_eq!((&queued["limited_by"], &queued["cause"]), (&"path".into(), &"full".into()), "{queued:#}");
    assert_eq!((&queued["vantage"], &queued["rule"]), (&"between".into(), &"path.arrives_with_queue".into()));
    assert_ne!(judged(0)["limited_by"], "path");
}
