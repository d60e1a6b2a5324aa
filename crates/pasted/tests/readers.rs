//! What each reader makes of its program's output, and of the forms that other versions print.

use pipefill_core::record::{Gap, OptionsSet};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Rate;
use pipefill_pasted::{Output, OutputConnection, read};
use std::time::Duration;

fn only(text: &str) -> OutputConnection {
    let output = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((output.connections.len(), output.datagrams.len()), (1, 0), "{output:?}");
    output.connections.into_iter().next().unwrap()
}

fn gaps(connection: &OutputConnection) -> Vec<Gap> {
    connection.observed.read_from.as_ref().unwrap().gaps.clone()
}

/// Members of a stream's interval of a second from `start` on.
fn interval(start: u32, more: &str) -> String {
    format!(
        r#"{{"streams": [{{"socket": 5, "start": {start}, "end": {}, "seconds": 1, "bytes": 1000000{more}}}]}}"#,
        start + 1
    )
}

const SHOWN: &str = r#", "retransmits": 2, "snd_cwnd": 300000, "snd_wnd": 120000, "rtt": 100000, "rttvar": 50, "omitted": false, "sender": true"#;
const CONNECTED: &str = r#""connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 41014, "remote_host": "10.0.0.2", "remote_port": 5201}]"#;

fn document(start: &str, intervals: &[String], end: &str) -> String {
    format!(
        r#"{{"start": {{{CONNECTED}, {start}}}, "intervals": [{}], "end": {{{end}}}}}"#,
        intervals.join(",")
    )
}

const TEST: &str = r#""version": "iperf 3.12", "tcp_mss_default": 1448, "sock_bufsize": 0, "sndbuf_actual": 16384,
    "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0, "target_bitrate": 0}"#;

/// 1 MB in a second at a round trip of 100 ms are 100 kB a round trip.
#[test]
fn an_interval_of_iperf3_is_a_sample_with_the_flight_of_its_rate() {
    let text =
        document(TEST, &[interval(0, SHOWN), interval(1, SHOWN)], r#""sender_tcp_congestion": "cubic""#);
    let connection = only(&text);
    let observed = &connection.observed;
    assert_eq!((observed.local.as_str(), observed.remote.as_str()), ("10.0.0.1:41014", "10.0.0.2:5201"));
    assert_eq!((connection.congestion_control.as_str(), connection.every), ("cubic", Duration::from_secs(1)));
    assert!(observed.writes_all && observed.read_from.as_ref().unwrap().flight_estimated);
    assert_eq!(gaps(&connection), [Gap::SendBuffer, Gap::LeastRoundTrip]);
    assert_eq!(observed.local_options, Some(OptionsSet::of_buffers(false, None)));
    let told: Vec<_> = connection
        .samples
        .iter()
        .map(|sample| (sample.t_us, sample.info.bytes_acked, sample.info.retransmits))
        .collect();
    assert_eq!(told, [(0, Some(0), 0), (1_000_000, Some(1_000_000), 2), (2_000_000, Some(2_000_000), 4)]);
    let info = connection.samples[0].info;
    assert_eq!(
        (info.unacked_bytes, info.rwnd_bytes, info.cwnd_bytes),
        (100_000, Some(120_000), Some(300_000))
    );
    assert_eq!(connection.samples[0].sndbuf_bytes, None, "what the system chose at first grows");
}

#[test]
fn a_window_that_the_test_sets_is_its_send_buffer() {
    let test = TEST.replace("\"sock_bufsize\": 0", "\"sock_bufsize\": 8192");
    let connection = only(&document(&test, &[interval(0, SHOWN)], ""));
    let sample = &connection.samples[0];
    assert_eq!((sample.sndbuf_bytes, sample.wmem_queued_bytes), (Some(16_384), Some(100_000)));
    assert_eq!((connection.buffers, gaps(&connection)), (Some(8_192), vec![Gap::LeastRoundTrip]));
    let options = connection.observed.ends().map(|end| end.options);
    assert_eq!(options, [Some(OptionsSet::of_buffers(true, None)); 2]);
}

/// 3.1 prints neither the receiver's window nor who sends nor the rate that was asked for.
#[test]
fn an_old_version_leaves_out_what_it_did_not_print() {
    let old = r#"{"streams": [{"socket": 4, "start": 0, "end": 1.0, "seconds": 1.0, "bytes": 1000000, "retransmits": 0, "snd_cwnd": 50000, "rtt": 20000}]}"#;
    let text = document(
        r#""version": "iperf 3.1.3", "test_start": {"protocol": "TCP", "reverse": 0}"#,
        &[old.to_owned()],
        "",
    );
    let connection = only(&text);
    assert_eq!(
        gaps(&connection),
        [Gap::ReceiveWindow, Gap::SendBuffer, Gap::LeastRoundTrip, Gap::OfferedRate]
    );
    assert!(!connection.observed.writes_all && connection.offered.is_none());
    assert_eq!(connection.observed.local_options, None);
}

/// Of a server, and of a client with -R, only what arrived is known.
#[test]
fn the_receivers_side_shows_what_arrived() {
    let plain = interval(0, "");
    for start in [
        r#""test_start": {"protocol": "TCP", "reverse": 1}"#,
        r#""accepted_connection": {"host": "10.0.0.2"}, "test_start": {"protocol": "TCP", "reverse": 0}"#,
    ] {
        let connection = only(&document(start, std::slice::from_ref(&plain), ""));
        assert_eq!(gaps(&connection), [Gap::Sender], "{start}");
        assert_eq!(connection.samples[1].info.bytes_received, Some(1_000_000));
    }
    let reverse_server =
        r#""accepted_connection": {"host": "10.0.0.2"}, "test_start": {"protocol": "TCP", "reverse": 1}"#;
    assert!(!gaps(&only(&document(reverse_server, &[plain], ""))).contains(&Gap::Sender));
}

#[test]
fn both_directions_of_bidir_are_connections_of_their_own() {
    let both = r#"{"streams": [
        {"socket": 5, "start": 0, "end": 1, "bytes": 1000, "rtt": 1000, "snd_cwnd": 10000, "sender": true},
        {"socket": 7, "start": 0, "end": 1, "bytes": 5000, "sender": false}]}"#;
    let output = read(document(TEST, &[both.to_owned()], "").as_bytes()).unwrap();
    let sides: Vec<bool> =
        output.connections.iter().map(|connection| gaps(connection).contains(&Gap::Sender)).collect();
    assert_eq!(sides, [true, false], "the one that carried more comes first");
}

#[test]
fn the_servers_output_shows_the_sender_of_a_reversed_test() {
    let server = document(
        r#""accepted_connection": {}, "test_start": {"protocol": "TCP", "reverse": 1, "target_bitrate": 0}"#,
        &[interval(0, SHOWN)],
        "",
    );
    let server = server.replace("10.0.0.1", "X").replace("10.0.0.2", "10.0.0.1").replace('X', "10.0.0.2");
    let server = server.replace("41014", "Y").replace("5201", "41014").replace('Y', "5201");
    let client = document(r#""test_start": {"protocol": "TCP", "reverse": 1}"#, &[interval(0, "")], "");
    let text = format!(r#"{}, "server_output_json": {server}}}"#, client.strip_suffix('}').unwrap());
    let connection = only(&text);
    assert_eq!(
        (connection.observed.local.as_str(), connection.samples[0].info.rwnd_bytes),
        ("10.0.0.2:5201", Some(120_000))
    );
}

#[test]
fn a_test_that_breaks_off_is_read_up_to_there() {
    let whole = document(TEST, &[interval(0, SHOWN), interval(1, SHOWN)], "");
    let cut = &whole[..whole.rfind("rttvar").unwrap()];
    let connection = only(cut);
    assert_eq!(connection.samples.len(), 2, "the interval that is whole");
    assert!(gaps(&connection).contains(&Gap::Rest));
    let failed = whole.strip_suffix('}').unwrap().to_owned() + r#", "error": "unable to receive results"}"#;
    assert!(gaps(&only(&failed)).contains(&Gap::Rest));
    let nothing = r#"{"start": {}, "intervals": [], "end": {}, "error": "unable to connect to server: Connection refused"}"#;
    let error = read(nothing.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "iperf3 failed: unable to connect to server: Connection refused");
}

#[test]
fn several_documents_and_lines_of_a_stream_are_tests_of_their_own() {
    let single = document(TEST, &[interval(0, SHOWN)], "");
    assert_eq!(read(format!("{single}\n{single}").as_bytes()).unwrap().connections.len(), 2);
    let lines = format!(
        "{{\"event\":\"start\",\"data\":{{{CONNECTED},{TEST}}}}}\n{{\"event\":\"interval\",\"data\":{}}}\n{{\"event\":\"end\",\"data\":{{}}}}\n",
        interval(0, SHOWN)
    );
    let streamed = read(lines.replace("\n    ", " ").as_bytes()).unwrap();
    assert_eq!(
        (streamed.program.as_str(), streamed.connections.len(), streamed.is_cut_off),
        ("iperf3 --json-stream", 1, false)
    );
    let killed = lines.rsplit_once("{\"event\":\"end\"").unwrap().0;
    assert!(read(killed.as_bytes()).unwrap().is_cut_off);
}

#[test]
fn datagrams_are_what_both_ends_counted() {
    let start =
        r#""test_start": {"protocol": "UDP", "blksize": 1448, "reverse": 0, "target_bitrate": 10000000}"#;
    let end = r#""streams": [{"udp": {"socket": 5, "start": 0, "end": 2, "seconds": 2, "bytes": 2896000, "jitter_ms": 0.25,
        "lost_packets": 100, "packets": 2000, "lost_percent": 5, "out_of_order": 3, "sender": true}}]"#;
    let output = read(document(start, &[], end).as_bytes()).unwrap();
    let flow = &output.datagrams[0];
    assert_eq!((flow.sent, flow.lost, flow.reordered, flow.span_us), (2_000, 100, 3, 2_000_000));
    assert_eq!(
        (flow.asked.map(Rate::bps), flow.sends, flow.jitter_ns),
        (Some(10_000_000), true, Some(250_000))
    );
}

const SS: &str = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0      144480      10.0.0.1:48122    10.0.0.2:9000  users:((\"iperf3\",pid=4711,fd=5))
\t skmem:(r0,rb131072,t0,tb2626560,f2136,w200000,o0,bl0,d0) ts sack cubic wscale:7,10 rto:452 rtt:50.06/0.02 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:120 ssthresh:50 bytes_sent:1572488 bytes_retrans:2896 bytes_acked:1425112 segs_out:1102 segs_in:559 data_segs_out:1100 send 3983940bps lastsnd:4 lastrcv:8680 lastack:4 pacing_rate 1533896bps delivery_rate 23120000bps delivered:1000 busy:8680ms rwnd_limited:4340ms(50.0%) unacked:99 retrans:0/2 rcv_space:14480 rcv_ssthresh:64088 notsent:1128 minrtt:50.005 snd_wnd:276480
";

#[test]
fn one_reading_of_ss_stands_for_the_round_trip_before_it() {
    let connection = only(SS);
    assert_eq!(connection.congestion_control, "cubic");
    assert_eq!(connection.observed.process.as_ref().unwrap().pid, 4711);
    assert_eq!(gaps(&connection), [Gap::Readings]);
    let [before, middle, now] = &connection.samples[..] else { panic!("three samples") };
    assert_eq!((before.t_us, middle.t_us, now.t_us), (0, 25_030, 50_060));
    // 23.12 Mbit/s for 50.06 ms.
    assert_eq!(now.info.bytes_acked.unwrap() - before.info.bytes_acked.unwrap(), 144_673);
    let info = now.info;
    assert_eq!(
        (info.unacked_bytes, info.cwnd_bytes, info.ssthresh_bytes),
        (143_352, Some(173_760), Some(72_400))
    );
    assert_eq!((info.rwnd_bytes, info.rwnd_scale, info.notsent_bytes), (Some(276_480), Some(7), Some(1_128)));
    assert_eq!((info.srtt_us, info.min_rtt_us, info.rto_us), (Some(50_060), Some(50_005), Some(452_000)));
    assert_eq!(
        (info.busy_us, info.rwnd_limited_us, info.sndbuf_limited_us),
        (Some(8_680_000), Some(4_340_000), Some(0))
    );
    assert_eq!(
        (info.ca_state, info.retransmits, info.delivery_app_limited),
        (Some(CaState::Open), 2, Some(false))
    );
    assert_eq!(
        (now.sndbuf_bytes, now.wmem_queued_bytes, now.rcvbuf_bytes),
        (Some(2_626_560), Some(200_000), Some(131_072))
    );
}

/// The same socket a second later.
fn later() -> String {
    let moved = [
        ("bytes_acked:1425112", "bytes_acked:4425112"),
        ("lastrcv:8680", "lastrcv:9680"),
        ("busy:8680ms", "busy:9600ms"),
    ];
    moved.iter().fold(SS.to_owned(), |text, (before, now)| text.replace(before, now))
}

#[test]
fn the_time_between_two_readings_is_the_clocks_or_that_of_an_age() {
    let every = |text: String| only(&text).every;
    assert_eq!(
        every(SS.to_owned() + &later()),
        Duration::from_secs(1),
        "nothing came: lastrcv grew by 1000 ms"
    );
    let timed = |first: &str, second: &str| every(format!("{first}\n{SS}{second}\n{}", later()));
    assert_eq!(timed("1795591232.25", "1795591232.75"), Duration::from_millis(500));
    assert_eq!(timed("Thu Nov 26 10:00:00 UTC 2026", "Thu Nov 26 10:00:02 UTC 2026"), Duration::from_secs(2));
    assert_eq!(gaps(&only(&(SS.to_owned() + &later()))), [Gap::Times]);
    // The same reading twice is one.
    assert_eq!(gaps(&only(&(SS.to_owned() + SS))), [Gap::Times]);
}

/// Of iproute2 4.9, without -m, in one line, with a filter for a state, of IPv6; rates had letters.
#[test]
fn other_forms_of_ss_are_read() {
    let old = "ESTAB      0      144480 [fd00::1]:48122 [fd00::2]:9000\n\t cubic wscale:7,7 rto:204 rtt:1.5/0.75 mss:1448 cwnd:10 bytes_acked:1000 segs_out:10 segs_in:5 send 77.2Mbps pacing_rate 154.4Mbps/200.0Mbps unacked:5 rcv_space:14600\n";
    let connection = only(old);
    assert_eq!(connection.observed.local, "[fd00::1]:48122");
    let info = connection.samples[1].info;
    assert_eq!(
        (info.pacing_rate_bps, info.max_pacing_rate_bps),
        (Some(154_400_000), Some(Some(200_000_000)))
    );
    assert_eq!(
        info.notsent_bytes,
        Some(144_480 - 5 * 1_448 - 1_448),
        "by the queue: this version prints no notsent"
    );
    assert_eq!(gaps(&connection), [Gap::ReceiveWindow, Gap::SendBuffer, Gap::LeastRoundTrip, Gap::Readings]);
    let one_line = "0 0 10.0.0.1:22 10.0.0.3:51000 timer:(keepalive,18min,0) uid:0 ino:5 sk:1 cubic wscale:7,7 rto:204 rtt:1/1 mss:1448 cwnd:10 bytes_acked:9\n";
    assert_eq!(only(one_line).observed.remote, "10.0.0.3:51000");
    let spaced =
        "tcp   ESTAB 0 0    10.0.0.1%eth0: 22   10.0.0.3: 51000\n\t cubic rto:204 rtt:1/1 mss:1448 cwnd:10\n";
    assert_eq!(only(spaced).observed.local, "10.0.0.1%eth0:22");
}

/// A listing without -i says nothing of windows.
#[test]
fn a_listing_of_addresses_is_not_read() {
    let text =
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.0.0.1:22 10.0.0.3:51000\n";
    assert!(read(text.as_bytes()).is_err());
    assert!(read(b"hello").is_err() && read(b"").is_err());
}

#[test]
fn the_text_of_iperf3_has_windows_and_no_round_trip() {
    let text = "Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 46242 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  4.00 MBytes  33.6 Mbits/sec    3    789 KBytes
[  5]   1.00-2.00   sec  5.00 MBytes  41.9 Mbits/sec    0    789 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  9.00 MBytes  37.7 Mbits/sec    3             sender
[  5]   0.00-2.05   sec  8.50 MBytes  34.8 Mbits/sec                  receiver

iperf Done.
";
    let connection = only(text);
    assert_eq!(connection.observed.remote, "10.0.0.2:5201");
    let last = connection.samples.last().unwrap();
    assert_eq!((last.t_us, last.info.bytes_acked, last.info.retransmits), (2_000_000, Some(9 << 20), 3));
    assert!(gaps(&connection).contains(&Gap::RoundTrip));
    let udp = text.replace("Retr  Cwnd", "Jitter    Lost/Total Datagrams").replace(
        "34.8 Mbits/sec                  receiver",
        "34.8 Mbits/sec  0.012 ms  11/863 (1.3%)  receiver",
    );
    let flows: Output = read(udp.as_bytes()).unwrap();
    assert_eq!((flows.datagrams[0].sent, flows.datagrams[0].lost), (863, 11));
}

#[test]
fn iperf_2_shows_the_round_trip_with_e() {
    let text = "------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5001 with pid 100 (1 flows)
------------------------------------------------------------
[  1] local 10.0.0.1%veth0 port 51000 connected with 10.0.0.2 port 5001 (sock=3) (icwnd/mss/irtt=14/1448/20000)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec  11/0         2       50K/40000(500) us  32768
[  1] 1.0000-2.0000 sec  1.25 MBytes  10.5 Mbits/sec  10/0         0       60K/40000(500) us  32768
[  1] 0.0000-2.0000 sec  2.50 MBytes  10.5 Mbits/sec  21/0         2       60K/40000(500) us  32768
";
    let connection = only(text);
    let [first, _, last] = &connection.samples[..] else { panic!("{connection:?}") };
    assert_eq!((first.info.srtt_us, first.info.cwnd_bytes), (Some(40_000), Some(50 << 10)));
    assert_eq!((last.info.bytes_acked, last.info.retransmits), (Some(5 << 19), 2));
    // 1.25 MiB a second for 40 ms.
    assert_eq!(first.info.unacked_bytes, 52_429);
}

#[test]
fn a_download_of_ndt7_shows_the_servers_socket() {
    let line = |elapsed: u64, acked: u64| {
        format!(
            r#"{{"Key":"measurement","Value":{{"ConnectionInfo":{{"Client":"10.0.0.2:50000","Server":"10.0.0.1:443"}},"Origin":"server","Test":"download","TCPInfo":{{"CAState":0,"SndMSS":1448,"SndCwnd":100,"Unacked":80,"RTT":20000,"MinRTT":19000,"BytesAcked":{acked},"BytesReceived":500,"SndWnd":200000,"NotsentBytes":1000,"PacingRate":1000000,"ElapsedTime":{elapsed}}}}}}}"#
        )
    };
    let text = format!("{}\n{}\n", line(250_000, 1_000_000), line(500_000, 2_000_000));
    let connection = only(&text);
    let info = connection.samples[1].info;
    assert_eq!(
        (info.unacked_bytes, info.rwnd_bytes, info.pacing_rate_bps),
        (115_840, Some(200_000), Some(8_000_000))
    );
    assert_eq!((connection.every, gaps(&connection)), (Duration::from_millis(250), vec![Gap::SendBuffer]));
    let archive = format!(
        r#"{{"Download": {{"ServerMeasurements": [{}]}}}}"#,
        [line(1, 1), line(2, 2)]
            .map(|line| line.split_once("\"Value\":").unwrap().1.strip_suffix('}').unwrap().to_owned())
            .join(",")
    );
    assert_eq!(only(&archive).samples.len(), 2);
}

/// 1.25 MB/s at a gain of 1.25 are 12.5 Mbit/s; only a socket with BBR has these figures.
#[test]
fn bbrs_figures_of_ndt7_name_bbr_and_fill_in_what_an_older_server_lacks() {
    let line = |elapsed: u64, more: &str| {
        format!(
            r#"{{"Origin":"server","Test":"download","TCPInfo":{{"SndMSS":1448,"SndCwnd":100,"Unacked":80,"RTT":20000,"BytesAcked":{elapsed},"ElapsedTime":{elapsed}}}{more}}}"#
        )
    };
    let bbr = r#","BBRInfo":{"ElapsedTime":1,"BW":1250000,"MinRTT":19000,"PacingGain":320,"CwndGain":512}"#;
    let connection = only(&[line(250_000, bbr), line(500_000, bbr)].join("\n"));
    let info = connection.samples[1].info;
    assert_eq!((info.pacing_rate_bps, info.min_rtt_us), (Some(12_500_000), Some(19_000)));
    assert_eq!(connection.congestion_control, "bbr");
    let without = only(&[line(250_000, ""), line(500_000, "")].join("\n"));
    assert_eq!((without.congestion_control.as_str(), without.samples[1].info.pacing_rate_bps), ("", None));
}
