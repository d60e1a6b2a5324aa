//! Traces with known figures, in the names of old and new drafts.

use super::*;
use pipefill_core::tcp_info::CaState;
use serde_json::{Value, json};

/// Old names: ten packets of 1,000 bytes of a stream at once, half of them acknowledged after 40 ms, one lost, the rest after 80 ms.
fn events() -> Vec<Value> {
    let event = |time: f64, name: &str, data: Value| json!({"time": time, "name": name, "data": data});
    let metrics = json!({
        "congestion_window": 12_000, "bytes_in_flight": 0, "smoothed_rtt": 40.0, "min_rtt": 40.0, "latest_rtt": 40.0, "rtt_variance": 2.5
    });
    let mut events = vec![
        event(1_000.0, "transport:parameters_set", json!({"owner": "local", "initial_max_data": 1})),
        event(
            1_000.0,
            "transport:parameters_set",
            json!({"owner": "remote", "initial_max_data": 30_000, "initial_max_stream_data_bidi_remote": 20_000}),
        ),
        event(1_000.0, "recovery:metrics_updated", metrics),
        event(
            1_000.0,
            "transport:packet_sent",
            json!({"header": {"packet_type": "initial", "packet_number": 0}, "frames": []}),
        ),
    ];
    for number in 0..10 {
        let frame =
            json!({"frame_type": "stream", "stream_id": 0, "offset": number * 1_000, "length": 1_000});
        let data = json!({"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": 1_040}, "frames": [frame]});
        events.push(event(1_100.0, "transport:packet_sent", data));
    }
    let acked = |ranges: Value| json!({"header": {"packet_type": "1RTT", "packet_number": 0}, "frames": [{"frame_type": "ack", "acked_ranges": ranges}]});
    events.push(event(1_140.0, "transport:packet_received", acked(json!([[0, 3], [5]]))));
    events.push(event(
        1_140.0,
        "recovery:packet_lost",
        json!({"header": {"packet_type": "1RTT", "packet_number": 4}}),
    ));
    events.push(event(1_140.0, "recovery:congestion_state_updated", json!({"new": "recovery"})));
    events.push(event(1_180.0, "transport:packet_received", acked(json!([[0, 9]]))));
    events.push(event(1_200.0, "connectivity:spin_bit_updated", json!({"state": true})));
    events
}

fn document(events: &[Value], more: &Value) -> String {
    let mut trace = json!({"vantage_point": {"type": "client"}, "events": events});
    trace.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"qlog_version": "0.3", "qlog_format": "JSON", "traces": [trace]}).to_string()
}

fn only(text: &str) -> OutputConnection {
    assert!(is_its(text));
    let output = read(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((output.program.as_str(), output.connections.len()), ("qlog", 1));
    output.connections.into_iter().next().unwrap()
}

#[test]
fn a_trace_is_samples_with_both_windows() {
    let connection = only(&document(&events(), &json!({})));
    assert_eq!(connection.every, Duration::from_millis(5), "an eighth of a round trip");
    let at = |t_us: u64| connection.samples.iter().rev().find(|sample| sample.t_us <= t_us).unwrap().info;
    let sent = at(10_000);
    assert_eq!((sent.in_flight_bytes, sent.unacked_bytes, sent.mss_bytes), (Some(10_400), 10_000, 1_000));
    // 20,000 of the stream and 30,000 of the connection: 10,000 more of the stream may leave.
    assert_eq!((sent.cwnd_bytes, sent.rwnd_bytes), (Some(12_000), Some(20_000)));
    assert_eq!((sent.srtt_us, sent.min_rtt_us, sent.rttvar_us), (Some(40_000), Some(40_000), Some(2_500)));
    let lost = at(60_000);
    assert_eq!((lost.bytes_acked, lost.unacked_bytes, lost.retransmits), (Some(5_000), 4_000, 1));
    assert_eq!(lost.rwnd_bytes, Some(20_000), "the receiver grants no more yet");
    assert_eq!((lost.ca_state, lost.in_flight_bytes), (Some(CaState::Recovery), Some(4 * 1_040)));
    let last = connection.samples.last().unwrap();
    // Of what was outstanding since the sample before.
    assert_eq!((last.t_us, last.info.bytes_acked, last.info.unacked_bytes), (80_000, Some(9_000), 4_000));
    assert_eq!(last.info.in_flight_bytes, Some(0));
    let gaps = &connection.observed.read_from.as_ref().unwrap().gaps;
    assert_eq!((gaps, connection.observed.quic.as_deref()), (&vec![Gap::Unsent], Some("")));
}

/// The names of drafts from -09 on, as a sequence of records.
#[test]
fn new_names_in_json_seq_show_the_same() {
    let old = only(&document(&events(), &json!({})));
    let renamed = |name: &str| match name {
        "recovery:metrics_updated" => "quic:recovery_metrics_updated".to_owned(),
        name => format!("quic:{}", name.split_once(':').unwrap().1),
    };
    let header = json!({"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"vantage_point": {"type": "client"}}});
    let mut text = format!("\u{1e}{header}\n");
    for mut event in events() {
        event["name"] = renamed(event["name"].as_str().unwrap()).into();
        for frame in event["data"]["frames"].as_array_mut().into_iter().flatten() {
            if let Some(length) = frame.as_object_mut().unwrap().remove("length") {
                frame["raw"] = json!({"payload_length": length});
            }
        }
        text += &format!("\u{1e}{event}\n");
    }
    assert_eq!(only(&text).samples, old.samples);
}

/// aioquic's names of the window and of a lost packet, and draft-02's two-part names.
#[test]
fn other_names_show_the_same() {
    let wanted = only(&document(&events(), &json!({}))).samples;
    let mut events = events();
    for event in &mut events {
        let data = event["data"].as_object_mut().unwrap();
        if let Some(cwnd) = data.remove("congestion_window") {
            data.insert("cwnd".to_owned(), cwnd);
        }
        if event["name"] == "recovery:packet_lost" {
            event["data"] = json!({"type": "1RTT", "packet_number": 4});
        }
        let (category, kind) = event["name"]
            .as_str()
            .unwrap()
            .split_once(':')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        event.as_object_mut().unwrap().remove("name");
        (event["category"], event["type"]) = (category.into(), kind.into());
    }
    assert_eq!(only(&document(&events, &json!({}))).samples, wanted);
}

#[test]
fn times_may_count_from_the_event_before() {
    let wanted = only(&document(&events(), &json!({}))).samples;
    for format in ["delta", "relative_to_previous_event"] {
        let mut events = events();
        let mut before = 0.0;
        for event in &mut events {
            let time = event["time"].as_f64().unwrap();
            event["time"] = (time - before).into();
            before = time;
        }
        assert_eq!(
            only(&document(&events, &json!({"common_fields": {"time_format": format}}))).samples,
            wanted
        );
    }
}

#[test]
fn room_in_both_windows_for_a_round_trip_is_the_program_s() {
    let connection = only(&document(&events(), &json!({})));
    let flags: Vec<_> =
        connection.samples.iter().map(|sample| (sample.t_us, sample.info.delivery_app_limited)).collect();
    // 10,400 of 12,000 in flight: room for one more packet, so that the program could have sent it.
    assert!(flags.contains(&(10_000, Some(false))) && flags.contains(&(80_000, Some(true))), "{flags:?}");
    let mut paced = events();
    paced[2]["data"]["pacing_rate"] = 1_000_000.into();
    let sample = only(&document(&paced, &json!({}))).samples.last().unwrap().clone();
    assert_eq!((sample.info.delivery_app_limited, sample.info.pacing_rate_bps), (None, Some(1_000_000)));
}

/// A receiver's log shows what arrived.
#[test]
fn a_receivers_log_lacks_the_sender() {
    let mut events = events();
    for event in &mut events {
        match event["name"].as_str().unwrap() {
            "transport:packet_sent" => event["name"] = "transport:packet_received".into(),
            "transport:packet_received" => event["name"] = "transport:packet_sent".into(),
            _ => {}
        }
    }
    let connection = only(&document(&events, &json!({})));
    assert_eq!(connection.observed.read_from.as_ref().unwrap().gaps, [Gap::Sender]);
    assert_eq!(connection.samples.last().unwrap().info.bytes_received, Some(10_000));
}

#[test]
fn several_connections_of_a_trace_are_told_apart() {
    let grouped = |group: &str| {
        let mut events = events();
        events.iter_mut().for_each(|event| event["group_id"] = group.into());
        events
    };
    let both: Vec<Value> = [grouped("a"), grouped("b")].concat();
    let output = read(&document(&both, &json!({}))).unwrap();
    let names: Vec<&str> =
        output.connections.iter().map(|connection| connection.observed.local.as_str()).collect();
    assert_eq!(names, ["connection 1", "connection 2"]);
}

#[test]
fn members_of_other_forms_are_passed_over() {
    let wanted = only(&document(&events(), &json!({}))).samples;
    let mut odd = events();
    for (at, event) in [
        json!({"time": 1_100.0, "name": "transport:packet_sent", "data": "x"}),
        json!({"time": 1_100.0, "name": 5, "data": {"frames": {}}}),
        json!({"time": -5.0, "name": "recovery:packet_lost", "data": {"packet_number": 9}}),
        json!({"time": "nan", "name": "recovery:packet_lost", "data": {"packet_number": 9}}),
        json!({"time": 1_100.0, "name": "transport:packet_received", "data": {"frames": [5, {"frame_type": "ack", "acked_ranges": [[9, 0], [], "x", [-1, 4]]}]}}),
        json!([1, 2, 3]),
    ]
    .into_iter()
    .enumerate()
    {
        odd.insert(5 + at, event);
    }
    assert_eq!(only(&document(&odd, &json!({"vantage_point": {"type": "client"}}))).samples, wanted);
}

/// What was outstanding then is not waited for.
#[test]
fn a_connection_ends_where_it_is_closed() {
    let mut closed = events();
    let close = json!({"header": {"packet_type": "1RTT", "packet_number": 10}, "frames": [{"frame_type": "connection_close"}]});
    closed.insert(14, json!({"time": 1_120.0, "name": "transport:packet_sent", "data": close}));
    let connection = only(&document(&closed, &json!({})));
    let last = connection.samples.last().unwrap();
    assert_eq!((last.t_us, last.info.bytes_acked), (20_000, Some(0)));
}

#[test]
fn one_that_breaks_off_keeps_what_came_before() {
    let text = document(&events(), &json!({}));
    let output = read(&text[..text.len() - 200]).unwrap();
    assert!(output.is_cut_off && output.connections.len() == 1);
}
