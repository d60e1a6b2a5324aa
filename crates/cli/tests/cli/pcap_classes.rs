//! `pcap` on what other people's captures have and our own do not: short exchanges, a pair of packets that overtook each other, a timer, an end
//! without a FIN, a NAT that pushes, one direction alone. Each is made here, and stands for a class of them.

use crate::pcap::pcap_json;
use crate::pipefill::Folder;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::frame::{ACK, PSH, SYN, Tcp, ethernet};
use serde_json::Value;
use std::fs;

const MSS: u32 = 1460;
/// Numbers of the SYNs.
const ISNS: [u32; 2] = [100, 500];
/// Ends: who opens the connection, and who answers.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Packets as they pass the capture point; times are microseconds.
struct Capture {
    packets: Vec<(u64, Tcp)>,
    /// What each end has sent, from its SYN.
    sent: [u32; 2],
    window: u16,
    ids: [u16; 2],
    /// Time to live of the server's packets: which stack it has.
    server_ttl: u8,
}

impl Capture {
    fn new(window: u16) -> Self {
        Self { packets: Vec::new(), sent: [1, 1], window, ids: [1_000, 9_000], server_ttl: 64 }
    }

    /// A handshake; the capture point is so far from the client and from the server, and back. Returns its end.
    fn open(&mut self, [to_client_us, to_server_us]: [u64; 2], scale: Option<u8>) -> u64 {
        let options = [&[2, 4, 5, 0xb4][..], &scale.map_or(vec![], |scale| vec![1, 3, 3, scale])].concat();
        let window = self.window;
        let syn = Tcp { options: options.clone(), window, ..Tcp::new(ISNS[0], 0, SYN, 0) };
        let answer = Tcp { options, window, ..Tcp::new(ISNS[1], ISNS[0] + 1, SYN | ACK, 0) };
        self.pass(0, CLIENT, syn);
        self.pass(to_server_us, SERVER, answer);
        let end_us = to_server_us + to_client_us;
        self.ack(end_us, CLIENT, 1);
        end_us
    }

    fn pass(&mut self, us: u64, end: usize, tcp: Tcp) {
        let tcp = if tcp.id == 0 { Tcp { id: self.next_id(end), ..tcp } } else { tcp };
        self.packets.push((us, if end == CLIENT { tcp } else { tcp.back() }));
    }

    fn next_id(&mut self, end: usize) -> u16 {
        self.ids[end] += 1;
        self.ids[end]
    }

    /// New data of `end`, which acknowledge all of the other one's.
    fn send(&mut self, us: u64, end: usize, payload: u32, flags: u8) {
        let seq = self.sent[end];
        self.sent[end] += payload;
        self.send_at(us, end, (seq, payload), (flags, 0));
    }

    /// Data at a number, with an IP identification; the next one for 0.
    fn send_at(&mut self, us: u64, end: usize, (seq, payload): (u32, u32), (flags, id): (u8, u16)) {
        let acks = ISNS[1 - end] + self.sent[1 - end];
        let tcp = Tcp::new(ISNS[end] + seq, acks, ACK | flags, payload as usize);
        self.pass(us, end, Tcp { window: self.window, id, ..tcp });
    }

    /// An ACK of `end` up to number `to` of the other one's data.
    fn ack(&mut self, us: u64, end: usize, to: u32) {
        let tcp = Tcp::new(ISNS[end] + self.sent[end], ISNS[1 - end] + to, ACK, 0);
        self.pass(us, end, Tcp { window: self.window, ..tcp });
    }

    /// `segments` of `end` at once, and ACKs of each second one a round trip later, or at once where the capture is made at their receiver.
    /// Returns when the last ACK passed.
    fn flight(&mut self, us: u64, end: usize, segments: u64, (rtt_us, is_at_receiver): (u64, bool)) -> u64 {
        let ack_us = if is_at_receiver { 3 } else { rtt_us };
        for at in 0..segments {
            self.send(us + at * 12, end, MSS, 0);
            if at % 2 == 1 || at + 1 == segments {
                self.ack(us + at * 12 + ack_us, 1 - end, self.sent[end]);
            }
        }
        us + rtt_us + segments * 12
    }

    /// What `pcap` says of the data of `end`; `None` where it carried none.
    fn judged(mut self, end: usize) -> Option<Value> {
        self.packets.sort_by_key(|(us, _)| *us);
        let entry = |(us, tcp): &(u64, Tcp)| {
            let mut packet = tcp.v4();
            if tcp.ports.0 == 80 {
                packet[8] = self.server_ttl;
            }
            let bytes = ethernet(&[], 0x0800, &packet);
            let original = (bytes.len() + tcp.payload) as u32;
            ContainerPacket { time_ns: 1_700_000_000_000_000_000 + us * 1_000, original, bytes }
        };
        let entries: Vec<ContainerPacket> = self.packets.iter().map(entry).collect();
        let folder = Folder::new();
        let file = folder.path("class.pcap");
        fs::write(&file, pcap(Order { is_big: false }, false, &entries)).unwrap();
        let found = pcap_json(&folder, &file);
        let port = [":40000", ":80"][end];
        let flows = found["flows"].as_array().unwrap();
        flows.iter().find(|flow| flow["src"].as_str().unwrap().ends_with(port)).cloned()
    }
}

fn holder(flow: &Value) -> [&str; 2] {
    ["limited_by", "cause"].map(|name| flow[name].as_str().unwrap_or(""))
}

/// Classes N1: a request in two segments is no burst of a send buffer.
#[test]
fn a_request_in_two_segments_waits_for_the_server() {
    let exchange = || {
        let mut capture = Capture::new(60_000);
        let mut us = capture.open([10, 40_000], None);
        for _ in 0..4 {
            capture.send(us + 100, CLIENT, 536, 0);
            capture.send(us + 110, CLIENT, 249, PSH);
            capture.ack(us + 40_200, SERVER, capture.sent[CLIENT]);
            us += 3_040_200;
            for at in 0..4 {
                capture.send(us + at * 120, SERVER, MSS, if at == 3 { PSH } else { 0 });
                if at % 2 == 1 {
                    capture.ack(us + at * 120 + 10, CLIENT, capture.sent[SERVER]);
                }
            }
            us += 600;
        }
        capture
    };
    assert_eq!(holder(&exchange().judged(SERVER).unwrap()), ["app", "response"]);
    assert_eq!(holder(&exchange().judged(CLIENT).unwrap()), ["app", "request"]);
}

/// Classes N2 and N3: a pair that overtook each other near the receiver makes no congestion window of what is not known.
#[test]
fn two_packets_that_overtook_each_other_change_nothing() {
    let transfer = |overtakes: bool| {
        let mut capture = Capture::new(60_000);
        let mut us = capture.open([10, 40_000], None) + 100;
        capture.send(us, CLIENT, 200, PSH);
        us += 40_000;
        for at in 0..120_u64 {
            let seq = capture.sent[SERVER];
            let pair = [(seq, capture.next_id(SERVER), 0), (seq + MSS, capture.next_id(SERVER), PSH)];
            capture.sent[SERVER] += 2 * MSS;
            let is_turned = overtakes && at == 60;
            for (nth, (seq, id, flags)) in pair.into_iter().enumerate() {
                let nth = if is_turned { 1 - nth } else { nth } as u64;
                capture.send_at(us + nth * 130, SERVER, (seq, MSS), (flags, id));
            }
            if is_turned {
                capture.ack(us + 5, CLIENT, seq);
            }
            capture.ack(us + 140, CLIENT, capture.sent[SERVER]);
            // At no regular pace.
            us += 5_000 + ((at * 2_654_435_761) >> 7) % 25_000;
        }
        let flow = capture.judged(SERVER).unwrap();
        assert_eq!((&flow["retransmits"], &flow["bytes"]), (&0.into(), &(240 * MSS).into()), "{flow:#}");
        assert_eq!(flow["counts"]["out_of_order"], u64::from(overtakes), "{flow:#}");
        holder(&flow).map(str::to_owned)
    };
    let (in_order, overtaken) = (transfer(false), transfer(true));
    assert_eq!(in_order, overtaken);
    assert!(["unknown", "app"].contains(&overtaken[0].as_str()), "{overtaken:?}");
}

/// Classes N4: a hole that only the timer fills, a second later, is no application's pause.
#[test]
fn a_hole_that_the_timer_fills_is_the_congestion_windows() {
    const RTT_US: u64 = 100_000;
    let mut capture = Capture::new(2_000);
    let mut us = capture.open([10, RTT_US], Some(7));
    for segments in [4, 8, 16, 32] {
        us = capture.flight(us, CLIENT, segments, (RTT_US, false)) + 100;
    }
    let lost = capture.sent[CLIENT] + 10 * MSS;
    (0..44).for_each(|at| capture.send(us + at * 20, CLIENT, MSS, 0));
    for at in 1..6 {
        capture.ack(us + RTT_US + at * 40, SERVER, lost - (10 - 2 * at as u32) * MSS);
    }
    capture.send_at(us + 11 * RTT_US, CLIENT, (lost, MSS), (0, 0));
    us += 12 * RTT_US;
    capture.ack(us, SERVER, capture.sent[CLIENT]);
    for segments in [2, 4] {
        us = capture.flight(us + 100, CLIENT, segments, (RTT_US, false));
    }
    let flow = capture.judged(CLIENT).unwrap();
    assert_eq!(flow["limited_by"], "cwnd", "{flow:#}");
    assert_eq!(
        (&flow["retransmits"], &flow["retransmits_by_kind"]["rto"]),
        (&1.into(), &1.into()),
        "{flow:#}"
    );
}

/// Full segments near their receiver, one in 289 ms, of a server with that time to live.
fn single_segments(rtt_us: u64, server_ttl: u8, ack_delay_us: u64, flags: u8) -> Value {
    let mut capture = Capture { server_ttl, ..Capture::new(60_000) };
    let mut us = capture.open([10, rtt_us], None) + 100;
    capture.send(us, CLIENT, 200, PSH);
    us += 2 * rtt_us;
    for at in 0..60 {
        capture.send(us, SERVER, MSS, flags);
        capture.ack(us + ack_delay_us, CLIENT, capture.sent[SERVER]);
        us += 289_000 + at * 7_919 % 400;
    }
    capture.judged(SERVER).unwrap()
}

const TTL_OF_WINDOWS: u8 = 117;

/// Classes N9: full segments in the middle of a write, each when the one before has been acknowledged or long after, are no bursts, and no pauses
/// of a program, whether a round trip is shorter than from one to the next or longer. A stack that can pace may send them so too.
#[test]
fn single_segments_at_the_pace_of_a_slow_line_are_no_bursts_and_no_pauses() {
    for rtt_us in [110_000, 160_000, 330_000] {
        for ack_delay_us in [50, 150_000] {
            let flow = single_segments(rtt_us, TTL_OF_WINDOWS, ack_delay_us, 0);
            assert_eq!(holder(&flow), ["path", "full"], "{rtt_us} {ack_delay_us}: {flow:#}");
            let flow = single_segments(rtt_us, 64, ack_delay_us, 0);
            assert_eq!(holder(&flow)[0], "unknown", "{rtt_us} {ack_delay_us}: {flow:#}");
        }
    }
    for server_ttl in [TTL_OF_WINDOWS, 64] {
        let flow = single_segments(300_000, server_ttl, 50, 0);
        assert!(["path", "unknown"].contains(&holder(&flow)[0]), "{server_ttl}: {flow:#}");
    }
    let in_turn = single_segments(280_000, TTL_OF_WINDOWS, 50, 0);
    assert_ne!(holder(&in_turn)[0], "path", "each is let out by the ACK of the one before: {in_turn:#}");
    let written = single_segments(110_000, TTL_OF_WINDOWS, 50, PSH);
    assert_ne!(holder(&written)[0], "path", "each is a write: {written:#}");
}

/// Slow start of a server, and what is sent behind it; seen from either end. `handshake`: the round trip of the handshake, in those of the data.
fn slow_start(is_at_receiver: bool, flags: u8, ends_idle: bool, handshake: u64) -> Value {
    const RTT_US: u64 = 106_000;
    let mut capture = Capture::new(65_535);
    let way = if is_at_receiver { [10, handshake * RTT_US] } else { [handshake * RTT_US, 10] };
    let mut us = capture.open(way, None) + 10;
    capture.send(us, CLIENT, 200, PSH);
    us += if is_at_receiver { RTT_US } else { 200 };
    for segments in [3, 6, 12, 24, 48] {
        let first = capture.packets.len();
        us = capture.flight(us, SERVER, segments, (RTT_US, is_at_receiver)) + 100;
        for (at, (_, tcp)) in
            capture.packets[first..].iter_mut().filter(|(_, tcp)| tcp.payload > 0).enumerate()
        {
            tcp.flags |= if at % 5 == 2 { 0 } else { flags };
        }
    }
    if ends_idle {
        // A keep-alive, and no FIN.
        us += 5_000_000;
        let last = capture.sent[SERVER] - 1;
        capture.send_at(us, SERVER, (last, 1), (0, 0));
        capture.ack(us + if is_at_receiver { 10 } else { RTT_US }, CLIENT, last + 1);
    }
    capture.judged(SERVER).unwrap()
}

/// Classes N10: the idle end of a connection takes no time, with a FIN or without.
#[test]
fn an_idle_end_without_a_fin_takes_nothing_of_slow_start() {
    for is_at_receiver in [false, true] {
        let flow = slow_start(is_at_receiver, 0, true, 1);
        assert_eq!(holder(&flow), ["cwnd", "startup"], "{flow:#}");
        assert!(flow["span_us"].as_u64().unwrap() < 1_000_000, "{flow:#}");
    }
}

/// Classes N11: a handshake that took longer than the round trips of the data (a server that was busy, an address to be resolved).
#[test]
fn a_slow_handshake_makes_no_ack_path_of_slow_start() {
    for is_at_receiver in [false, true] {
        for handshake in [2, 3, 8] {
            let flow = slow_start(is_at_receiver, 0, false, handshake);
            assert_eq!(holder(&flow), ["cwnd", "startup"], "{handshake} {flow:#}");
        }
    }
}

/// Classes N12: the NAT of a virtual machine sets PSH on most segments that it hands to its guest.
#[test]
fn pushes_of_a_virtual_machines_nat_are_no_writes_of_an_application() {
    let flow = slow_start(true, PSH, false, 1);
    assert_eq!(holder(&flow), ["cwnd", "startup"], "{flow:#}");
}

/// Classes K8: what one direction shows is judged, and the other one is named as missing.
#[test]
fn of_one_direction_alone_the_other_is_missing() {
    let mut capture = Capture::new(60_000);
    (0..1_440).for_each(|at| capture.send(at * 11_100, SERVER, MSS, if at % 10 == 9 { PSH } else { 0 }));
    let flow = capture.judged(SERVER).unwrap();
    assert_eq!((&flow["bytes"], &flow["limited_by"]), (&(1_440 * MSS).into(), &"unknown".into()), "{flow:#}");
    assert!(
        flow["verdict"].as_str().unwrap().contains("the capture has no packet of the receiver"),
        "{flow:#}"
    );
    assert!(
        flow["goodput_bps"].as_u64().is_some_and(|bps| (1_040_000..1_060_000).contains(&bps)),
        "{flow:#}"
    );
}

/// Classes K10: more is outstanding than the window in the headers allows, so that it is not what the sender obeys.
#[test]
fn a_window_that_the_sender_exceeds_does_not_limit_it() {
    const RTT_US: u64 = 100_000;
    let mut capture = Capture::new(60_000);
    let mut us = capture.open([10, RTT_US], None);
    for segments in [10, 20, 40].into_iter().chain([82; 10]) {
        us = capture.flight(us, CLIENT, segments, (RTT_US, false)) + 100;
    }
    let flow = capture.judged(CLIENT).unwrap();
    assert!(flow["in_flight_bytes"].as_u64() > Some(100_000), "{flow:#}");
    assert_ne!(flow["limited_by"], "rwnd", "{flow:#}");
}

/// What others overtook was not lost, a server's time before its first answer is no round trip, and a FIN that overtakes the last data ends the pause before
/// them.
#[test]
fn a_stream_whose_segments_overtake_each_other_is_its_programs() {
    const FIN: u8 = 1;
    const WRITE: u32 = 1_200;
    let mut capture = Capture::new(60_000);
    let asked_us = capture.open([80, 80_000], None) + 20_000;
    capture.send(asked_us, CLIENT, 241, PSH);
    let begun_us = asked_us + 1_340_000;
    for at in 0..600 {
        let (us, seq) = (begun_us + at * 14_000, capture.sent[SERVER]);
        let ids = [0, 1].map(|_| capture.next_id(SERVER));
        capture.sent[SERVER] += 2 * WRITE;
        let overtakes = at % 3 == 1;
        for (later_us, number) in (0..).step_by(1_000).zip(if overtakes { [1, 0] } else { [0, 1] }) {
            let flags = [0, PSH][number as usize];
            capture.send_at(
                us + later_us,
                SERVER,
                (seq + number * WRITE, WRITE),
                (flags, ids[number as usize]),
            );
        }
        if overtakes {
            capture.ack(us + 50, CLIENT, seq);
        }
        capture.ack(us + 1_050, CLIENT, seq + 2 * WRITE);
    }
    let mut us = begun_us + 600 * 14_000;
    capture.send(us, SERVER, 382, PSH);
    capture.ack(us + 50, CLIENT, capture.sent[SERVER]);
    us += 17_000_000;
    capture.send(us, SERVER, 150, PSH);
    capture.ack(us + 120_000, CLIENT, capture.sent[SERVER]);
    us += 21_000_000;
    let (seq, ids) = (capture.sent[SERVER], [0, 1].map(|_| capture.next_id(SERVER)));
    capture.send_at(us, SERVER, (seq + 169, 0), (FIN, ids[1]));
    capture.send_at(us + 200, SERVER, (seq, 169), (PSH, ids[0]));
    let flow = capture.judged(SERVER).unwrap();
    assert_eq!(holder(&flow), ["app", "rate"], "{flow}");
    assert!(flow["limited_fraction"]["app"].as_f64().unwrap() > 0.75, "{flow}");
}

/// Host and guest of one machine, behind a slow line of the guest: what answers within some microseconds is where the capture was made.
#[test]
fn an_end_that_answers_at_once_is_near_however_short_the_path() {
    let mut capture = Capture::new(60_000);
    let begun_us = capture.open([680, 85], None);
    for at in 0..400 {
        let us = begun_us + at * 12_000;
        capture.send(us, CLIENT, MSS, 0);
        capture.ack(us + 300, SERVER, capture.sent[CLIENT]);
    }
    assert_eq!(capture.judged(CLIENT).unwrap()["vantage"], "receiver");
}

/// HTTP/2: the server's settings pass while the request is on its way.
#[test]
fn a_request_that_was_under_way_when_the_server_spoke_is_answered_later() {
    let mut capture = Capture::new(60_000);
    let mut us = capture.open([10, 20_000], None) + 1_000;
    for _ in 0..3 {
        // Sent before the request came.
        let [asked, said] = [capture.sent[CLIENT], capture.sent[SERVER]];
        let settings = Tcp::new(ISNS[SERVER] + said, ISNS[CLIENT] + asked, ACK | PSH, 38);
        capture.send(us, CLIENT, 300, PSH);
        capture.pass(us + 5_000, SERVER, Tcp { window: 60_000, ..settings });
        capture.sent[SERVER] += 38;
        capture.ack(us + 5_010, CLIENT, capture.sent[SERVER]);
        capture.ack(us + 20_000, SERVER, capture.sent[CLIENT]);
        us += 320_000;
        for at in 0..6 {
            capture.send(
                us + at * 20,
                SERVER,
                if at == 5 { 400 } else { MSS },
                if at == 5 { PSH } else { 0 },
            );
            capture.ack(us + at * 20 + 10, CLIENT, capture.sent[SERVER]);
        }
        us += 10_000;
    }
    let flow = capture.judged(SERVER).unwrap();
    assert_eq!(holder(&flow), ["app", "response"], "{flow}");
}

/// A server behind a link of `bps`: what it sends leaves at the rate of its frames (1,538 bytes with what is between them), captured near the receiver.
fn at_rate(bps: u64) -> Value {
    const RTT_US: u64 = 20_000;
    let frame_ns = 1_538 * 8 * 1_000_000_000 / bps;
    let mut capture = Capture::new(60_000);
    let begun_us = capture.open([10, RTT_US], Some(7)) + RTT_US;
    capture.send(begun_us - RTT_US, CLIENT, 200, PSH);
    for at in 0..3_000_u64 {
        // Interrupts hand some over together.
        let us = begun_us + (at - at % 3) * frame_ns / 1_000 + at % 3;
        capture.send(us, SERVER, MSS, 0);
        if at % 2 == 1 {
            capture.ack(us + 5, CLIENT, capture.sent[SERVER]);
        }
    }
    capture.judged(SERVER).unwrap()
}

#[test]
fn frames_that_fill_an_ethernet_link_make_a_full_path() {
    let full = at_rate(100_000_000);
    assert_eq!(
        (&full["limited_by"], &full["rule"]),
        (&"path".into(), &"path.full.at_line_rate".into()),
        "{full:#}"
    );
    let sentence = full["verdict"].as_str().unwrap();
    assert!(sentence.contains("its packets with their frames fill 100 Mbit/s"), "{sentence}");
    let less = at_rate(83_000_000);
    assert_ne!(less["rule"], "path.full.at_line_rate", "{less:#}");
}

/// A reader that sleeps: the window narrows at the rate of the link, and holds something back only where it has no room for a segment.
#[test]
fn a_window_that_narrows_is_the_receivers_only_where_it_is_used_up() {
    const WINDOW: u16 = 60_000;
    const SEGMENT_US: u64 = 1_270;
    const ASLEEP_US: u64 = 25_000;
    let mut capture = Capture::new(WINDOW);
    let mut us = capture.open([10, 500], None) + 1_000;
    capture.send(us, CLIENT, 200, PSH);
    for _ in 0..8 {
        while u32::from(capture.window) >= MSS {
            us += SEGMENT_US;
            capture.send(us, SERVER, MSS, 0);
            capture.window -= MSS as u16;
            capture.ack(us + 40, CLIENT, capture.sent[SERVER]);
        }
        us += ASLEEP_US;
        capture.window = WINDOW;
        capture.ack(us, CLIENT, capture.sent[SERVER]);
    }
    let flow = capture.judged(SERVER).unwrap();
    let asleep = flow["limited_fraction"]["receiver"].as_f64().unwrap();
    let expected = ASLEEP_US as f64 / (ASLEEP_US + u64::from(u32::from(WINDOW) / MSS) * SEGMENT_US) as f64;
    assert!((asleep - expected).abs() < 0.05, "{asleep} of {expected}: {flow:#}");
    assert_ne!(flow["limited_by"], "receiver", "{flow:#}");
}

/// A Reno sender that takes a late segment for lost, sends it again and halves its window, twelve times; neither SACK nor timestamps say that it
/// had arrived.
fn halved_by_late_segments(is_at_receiver: bool) -> Value {
    const RTT_US: u64 = 50_000;
    const SEGMENT_US: u64 = 100;
    const LATE_US: u64 = 20_000;
    let mut capture = Capture::new(8_000);
    let (ends_us, ack_us) = if is_at_receiver { ([RTT_US, 10], 3) } else { ([10, RTT_US], RTT_US) };
    let mut us = capture.open(ends_us, Some(7)) + 1_000;
    for window in (0..12).flat_map(|_| 8..=12) {
        let (first, is_late) = (capture.sent[CLIENT], window == 12);
        for at in 0..window {
            let waits_us = if is_late && at == 2 && is_at_receiver { LATE_US } else { 0 };
            capture.send(us + at * SEGMENT_US + waits_us, CLIENT, MSS, 0);
            let arrived = if is_late && at >= 2 { first + 2 * MSS } else { capture.sent[CLIENT] };
            if !(is_late && at == 2) {
                capture.ack(us + at * SEGMENT_US + ack_us, SERVER, arrived);
            }
        }
        us += RTT_US + window * SEGMENT_US;
        if is_late {
            capture.send_at(us - 6 * SEGMENT_US, CLIENT, (first + 2 * MSS, MSS), (0, 0));
            let arrived_us = us - RTT_US + LATE_US - 10 * SEGMENT_US + ack_us;
            capture.ack(arrived_us, SERVER, capture.sent[CLIENT]);
            capture.ack(us - 6 * SEGMENT_US + ack_us, SERVER, capture.sent[CLIENT]);
            us += LATE_US;
        }
    }
    capture.judged(CLIENT).unwrap()
}

/// Without D-SACKs too, what is sent again for nothing is no loss.
#[test]
fn late_segments_that_halve_the_window_are_reordering_at_either_end() {
    for is_at_receiver in [false, true] {
        let flow = halved_by_late_segments(is_at_receiver);
        assert_eq!(flow["retransmits_by_kind"]["spurious"], 12, "{is_at_receiver}: {flow:#}");
        assert_eq!(holder(&flow), ["cwnd", "reordering"], "{is_at_receiver}: {flow:#}");
    }
}

/// Records of 16 kB that reach their receiver at these times of each period, over a path with a round trip of 86 ms.
fn records_of_a_proxy(period_us: u64, offsets_us: &[u64]) -> Value {
    const RTT_US: u64 = 86_000;
    const SEGMENT_US: u64 = 400;
    let mut capture = Capture::new(2_000);
    let mut us = capture.open([10, RTT_US], Some(7)) + 1_000;
    for _ in 0..60 {
        for offset_us in offsets_us {
            for at in 0..11 {
                let (payload, flags) = if at == 10 { (478, PSH) } else { (MSS, 0) };
                capture.send(us + offset_us + at * SEGMENT_US, SERVER, payload, flags);
                if at % 2 == 1 || at == 10 {
                    capture.ack(us + offset_us + at * SEGMENT_US + 3, CLIENT, capture.sent[SERVER]);
                }
            }
        }
        us += period_us;
    }
    capture.judged(SERVER).unwrap()
}

/// Each record ends a write, and leaves when ACKs make room for it; or by a clock of the program's.
#[test]
fn records_in_a_pattern_that_repeats_each_round_trip_are_a_buffers() {
    let flow = records_of_a_proxy(86_200, &[0, 29_400, 51_500]);
    assert_eq!(flow["limited_by"], "sndbuf", "{flow:#}");
    for (period_us, offsets_us) in [(86_100, vec![0, 28_700, 57_400]), (97_000, vec![0, 29_400, 51_500])] {
        let flow = records_of_a_proxy(period_us, &offsets_us);
        assert_eq!(holder(&flow), ["app", "rate"], "{period_us} {offsets_us:?}: {flow:#}");
    }
}

/// A program that asks each millisecond whether its last message was acknowledged, near its receiver, which delays its ACKs by 40 ms; or a kernel that
/// keeps what was written meanwhile.
fn messages(reactions_us: &[u64], sizes: &[u32]) -> Value {
    const RTT_US: u64 = 20_000;
    const DELAY_US: u64 = 43_000;
    let mut capture = Capture::new(2_000);
    let mut us = capture.open([10, RTT_US], Some(7)) + 1_000;
    for (reaction_us, size) in reactions_us.iter().cycle().zip(sizes.iter().cycle()).take(90) {
        us += reaction_us;
        capture.send(us, SERVER, *size, PSH);
        us += DELAY_US;
        capture.ack(us, CLIENT, capture.sent[SERVER]);
        us += RTT_US;
    }
    capture.judged(SERVER).unwrap()
}

#[test]
fn messages_that_follow_delayed_acks_are_held_by_nagle_where_the_kernel_lets_them_out() {
    let polled = messages(&[350, 380, 790, 1_030, 340, 420, 640, 210, 630], &[700]);
    assert_eq!(holder(&polled), ["app", "delayed_ack"], "{polled:#}");
    let held = messages(&[20, 60, 35], &[700]);
    assert_eq!(holder(&held), ["app", "nagle"], "{held:#}");
    let of_several_writes = messages(&[350, 380, 790, 1_030, 340], &[700, 1_400]);
    assert_eq!(holder(&of_several_writes), ["app", "nagle"], "{of_several_writes:#}");
}

/// Flights of 600 segments that leave at once, near their sender, over a bottleneck with a queue for them. Each leaves when this many segments of the
/// one before are not acknowledged.
fn overfilled(left: u64) -> Value {
    const SEGMENTS: u64 = 600;
    const RTT_US: u64 = 100_000;
    const SEGMENT_US: u64 = 120;
    let mut capture = Capture::new(60_000);
    let mut us = capture.open([10, RTT_US], Some(6)) + 1_000;
    for _ in 0..14 {
        let first = capture.sent[CLIENT];
        for at in 0..SEGMENTS {
            let flags = if at + 1 == SEGMENTS { PSH } else { 0 };
            capture.send(us + at * 3, CLIENT, MSS, flags);
        }
        for at in (2..=SEGMENTS).step_by(2) {
            capture.ack(us + RTT_US + at * SEGMENT_US, SERVER, first + at as u32 * MSS);
        }
        us += RTT_US + (SEGMENTS - left) * SEGMENT_US + 20;
    }
    capture.judged(CLIENT).unwrap()
}

/// A window would let out what each ACK acknowledges; a program's clock knows of no ACK.
#[test]
fn flights_that_follow_the_last_acks_of_the_one_before_are_a_buffers() {
    let flow = overfilled(12);
    assert_eq!(flow["limited_by"], "sndbuf", "{flow:#}");
    for left in [0, 300] {
        let flow = overfilled(left);
        assert_ne!(flow["limited_by"], "sndbuf", "{left}: {flow:#}");
        assert_ne!(flow["limited_by"], "cwnd", "{left}: {flow:#}");
    }
}
