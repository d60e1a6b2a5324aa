//! Advice proposes only what the scenario and the kernel can take, for the flow and the direction that it is about.

use pipefill_analysis::findings::advice::advise;
use pipefill_analysis::findings::finding::{Advice, Goal, Latency};
use pipefill_analysis::findings::metrics::AqmMetrics;
use pipefill_analysis::findings::proposal::Target;
use pipefill_analysis::findings::verdict::JudgedFlow;
use pipefill_analysis::infer::KnownPath;
use pipefill_analysis::judge::{Diagnosis, Figures, HeldTime};
use pipefill_core::cell::Direction;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::{BufferLimits, PathFacts, Waits};
use pipefill_core::scenario::Scenario;
use pipefill_testkit::judged::{PATH, bloated, diagnosis, judged, spec};

/// The advice for flow `flow` of `text`, which has 10 Mbit/s.
fn advice(text: &str, flow: u32, limited_by: LimitedBy, cause: Option<CwndCause>) -> Vec<Advice> {
    let spec = spec(text);
    let diagnosis = diagnosis(&spec, flow, limited_by, cause);
    let judged = judged(&spec, diagnosis, Latency::default(), 10_000_000);
    let advice = advise(&judged);
    for line in advice.iter().flat_map(|advice| &advice.set) {
        let mut scenario = Scenario::parse(&format!("name = \"x\"\n{text}"), "x.toml").unwrap();
        scenario.set(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    advice
}

fn sets(advice: &[Advice]) -> Vec<String> {
    advice.iter().flat_map(|advice| advice.set.clone()).collect()
}

const QUEUE: (LimitedBy, Option<CwndCause>) = (LimitedBy::Cwnd, Some(CwndCause::QueueLoss));
const RANDOM: (LimitedBy, Option<CwndCause>) = (LimitedBy::Cwnd, Some(CwndCause::RandomLoss));

#[test]
fn the_queue_is_that_of_the_datas_direction_and_no_longer_than_it_is() {
    let of = |flow: &str, path: &str| {
        sets(&advice(&format!("{path}[[flow]]\n{flow}"), 0, QUEUE.0, QUEUE.1))[0].clone()
    };
    assert_eq!(of("", PATH), "path.queue=1bdp");
    assert_eq!(of("direction = \"reverse\"\n", PATH), "path.reverse_queue=1bdp");
    let long = PATH.replace("queue = \"2p\"", "queue = \"4bdp\"");
    assert_eq!(of("", &long), "sender.congestion_control=bbr", "the queue is long already");
}

#[test]
fn beside_other_flows_the_key_is_the_flows_own() {
    let beside_udp = format!("{PATH}[[flow]]\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"10mbit\"\n");
    assert_eq!(
        sets(&advice(&beside_udp, 0, RANDOM.0, RANDOM.1)),
        ["flow.0.congestion_control=bbr", "flow.0.parallel=10"]
    );
    let both = format!("{PATH}[[flow]]\ndirection = \"both\"\n");
    assert_eq!(
        sets(&advice(&both, 1, RANDOM.0, RANDOM.1)),
        ["receiver.congestion_control=bbr", "flow.parallel=10"],
        "two flows of one table share its keys; the host is their own"
    );
    let third = format!("{PATH}[[flow]]\ndirection = \"both\"\n[[flow]]\nmax_pacing_rate = \"10mbit\"\n");
    assert_eq!(sets(&advice(&third, 2, LimitedBy::Pacing, None)), ["flow.1.max_pacing_rate=106000kbit"]);
}

#[test]
fn nothing_is_proposed_that_is_so_already_or_beyond_a_limit() {
    let bbr = format!("{PATH}[sender]\ncongestion_control = \"bbr\"\n[[flow]]\nparallel = 1024\n");
    assert!(sets(&advice(&bbr, 0, RANDOM.0, RANDOM.1)).is_empty(), "BBR already, and 1024 streams");
    let many = format!("{PATH}[[flow]]\nparallel = 500\n");
    assert_eq!(sets(&advice(&many, 0, RANDOM.0, RANDOM.1))[1], "flow.parallel=1024");
    let fixed = format!(
        "{PATH}[receiver]\nsysctl.\"net.ipv4.tcp_moderate_rcvbuf\" = 0\ntcp_rmem = \"4096 131072 64MiB\"\n[[flow]]\n"
    );
    assert_eq!(
        sets(&advice(&fixed, 0, LimitedBy::Rwnd, None))[0],
        "receiver.sysctl.net.ipv4.tcp_moderate_rcvbuf=1"
    );
    let far = "[path]\nrate = \"100gbit\"\nrtt = \"1s\"\n[[flow]]\nrcvbuf = \"64KiB\"\n";
    let set = sets(&advice(far, 0, LimitedBy::Rwnd, None));
    let size: u64 = set[0].trim_start_matches("flow.rcvbuf=").trim_end_matches('B').parse().unwrap();
    assert!(size <= i32::MAX as u64 / 2, "{set:?}");
}

#[test]
fn a_prediction_knows_the_other_limits_and_says_nothing_where_nobody_knows() {
    let of = |text: &str, limit: LimitedBy, cause| advice(text, 0, limit, cause)[0].predicted_bps;
    let long = PATH.replace("\"2p\"", "\"1bdp\"");
    let host = "[host]\ntcp_rmem = \"4096 65536 128KiB\"\ntcp_wmem = \"4096 16KiB 64MiB\"\n";
    assert_eq!(of(&format!("{long}{host}[[flow]]\n"), LimitedBy::Rwnd, None), Some(95_640_000));
    let offered = format!("{long}{host}[[flow]]\nbitrate = \"20mbit\"\n");
    assert_eq!(of(&offered, LimitedBy::Rwnd, None), Some(20_000_000), "the application offers no more");
    assert_eq!(
        of(&format!("{PATH}{host}[[flow]]\n"), LimitedBy::Rwnd, None),
        None,
        "a queue of two packets comes next"
    );
    let lossy = format!("{long}loss = \"1%\"\n{host}[[flow]]\n");
    let after = of(&lossy, LimitedBy::Rwnd, None).unwrap();
    assert!(after < 12_000_000, "losses come next: {after}");
    let reordered = format!("{long}reorder = \"1%\"\n{host}[[flow]]\n");
    assert_eq!(of(&reordered, LimitedBy::Rwnd, None), None);
}

#[test]
fn a_queue_that_is_never_empty_is_shortened_for_latency_alone() {
    let text = PATH.replace("\"2p\"", "\"4bdp\"") + "[[flow]]\n";
    let spec = spec(&text);
    let diagnosis = diagnosis(&spec, 0, LimitedBy::Path, None);
    let advice = advise(&judged(&spec, diagnosis, bloated(), 95_000_000));
    let shown: Vec<_> =
        advice.iter().map(|advice| (advice.set.join(", "), advice.goal, advice.predicted_rtt_us)).collect();
    assert_eq!(
        shown,
        [
            (String::new(), Goal::Throughput, None),
            ("path.aqm=fq_codel".to_owned(), Goal::Latency, Some(45_000)),
            ("path.queue=0.5bdp".to_owned(), Goal::Latency, Some(60_000)),
            ("sender.congestion_control=bbr".to_owned(), Goal::Latency, Some(50_000)),
        ]
    );
}

#[test]
fn an_aqm_that_is_there_is_not_advised() {
    let text = PATH.replace("\"2p\"", "\"4bdp\"") + "aqm = \"codel target=90ms\"\n[[flow]]\n";
    let spec = spec(&text);
    let advice = advise(&judged(&spec, diagnosis(&spec, 0, LimitedBy::Path, None), bloated(), 95_000_000));
    assert!(!sets(&advice).iter().any(|set| set == "path.aqm=fq_codel"), "{advice:#?}");
    let (facts, asked) = (PathFacts::default(), PathFacts::asked(&spec.path));
    let known = KnownPath::observed(spec.path.family, &facts, &asked);
    assert!(known.way(Direction::Forward).has_aqm && !known.way(Direction::Reverse).has_aqm);
}

/// Of an AQM that dropped 9 packets and marked `marked`, what is advised last.
fn last_behind(aqm: &str, host: &str, marked: u64) -> (String, Goal) {
    let text = PATH.replace("\"2p\"", "\"1bdp\"") + &format!("aqm = \"{aqm}\"\n{host}[[flow]]\n");
    let spec = spec(&text);
    let mut judged =
        judged(&spec, diagnosis(&spec, 0, LimitedBy::Path, None), Latency::default(), 95_000_000);
    judged.aqm = Some(AqmMetrics {
        direction: Direction::Forward,
        kind: aqm.to_owned(),
        target_us: None,
        packets: 1_000,
        dropped_packets: Some(9),
        overflow_packets: Some(0),
        marked_packets: Some(marked),
        sojourn_us_p50: None,
        sojourn_us_p95: None,
        sojourn_us_p99: None,
        sojourn_us_max: None,
        flow_queues: None,
    });
    let last = advise(&judged).pop().expect("an advice");
    (last.set.join(", "), last.goal)
}

#[test]
fn ecn_is_advised_where_an_aqm_drops_what_it_could_mark() {
    let both = "sender.tcp_ecn=1, receiver.tcp_ecn=1";
    assert_eq!(last_behind("fq_codel", "", 0), (both.to_owned(), Goal::Losses));
    assert_eq!(last_behind("codel", "", 0), (format!("{both}, path.ecn=true"), Goal::Losses));
    for (aqm, host, marked) in [
        ("drophead", "", 0),
        ("fq_codel", "", 5),
        ("fq_codel", "[host]\ncongestion_control = \"bbr\"\n", 0),
        ("fq_codel", "[host]\ntcp_ecn = 1\n", 0),
    ] {
        assert_ne!(last_behind(aqm, host, marked).1, Goal::Losses, "{aqm} {host}");
    }
}

#[test]
fn an_advice_names_where_what_and_to_what_and_how_long_it_would_take() {
    let host = "[host]\ntcp_rmem = \"4096 65536 128KiB\"\ntcp_wmem = \"4096 16KiB 64MiB\"\n";
    let long = PATH.replace("\"2p\"", "\"1bdp\"");
    let rwnd = &advice(&format!("{long}{host}[[flow]]\n"), 0, LimitedBy::Rwnd, None)[0];
    assert_eq!((rwnd.target, rwnd.setting.as_deref()), (Some(Target::Receiver), Some("net.ipv4.tcp_rmem")));
    assert!(rwnd.value.as_ref().unwrap().starts_with("4096 65536 "), "{rwnd:?}");
    // 10 s at 10 Mbit/s are 1.05 s at 95.64 Mbit/s, and what is out grows to 9.6 times as much in 3.3 round trips of 40 ms before.
    assert_eq!((rwnd.predicted_bps, rwnd.predicted_us), (Some(95_640_000), Some(1_140_075)));
    let nothing = &advice(&format!("{PATH}[[flow]]\n"), 0, LimitedBy::Path, None)[0];
    assert_eq!((nothing.target, &nothing.setting, &nothing.value), (None, &None, &None));
    assert_eq!(nothing.predicted_us, Some(10_000_000));
}

#[test]
fn theory_is_told_where_it_applies() {
    let theory = |path: &str, cause, loss: f64| {
        let spec = spec(&format!("{path}[[flow]]\n"));
        let base = diagnosis(&spec, 0, LimitedBy::Cwnd, Some(cause));
        let diagnosis = Diagnosis { figures: Figures { loss_share: Some(loss), ..base.figures }, ..base };
        judged(&spec, diagnosis, Latency::default(), 3_000_000).predicted_bps().is_some()
    };
    let lossy = format!("{PATH}loss = \"1%\"\n");
    assert!(theory(&lossy, CwndCause::RandomLoss, 0.01));
    assert!(!theory(&lossy, CwndCause::RandomLoss, 0.15), "it knows no timeouts");
    assert!(!theory(&lossy, CwndCause::QueueLoss, 0.01) && !theory(&lossy, CwndCause::Reordering, 0.01));
    let in_bursts = format!("{PATH}loss = \"gilbert-elliott p=0.1% r=10%\"\n");
    assert!(!theory(&in_bursts, CwndCause::RandomLoss, 0.01), "segments are lost together");
}

/// An observed connection of 10 Mbit/s over 10 s, whose limit is the first of `held`, which has the milliseconds of its ledger.
fn observed(held: &[(LimitedBy, Option<Cause>, u64)], figures: Figures) -> JudgedFlow {
    let spec = spec(&format!("{}[[flow]]\n", PATH.replace("\"2p\"", "\"1bdp\"")));
    let (limited_by, cause, _) = held[0];
    let base = diagnosis(&spec, 0, limited_by, None);
    let time = held.iter().map(|&(limited_by, cause, ms)| HeldTime {
        limited_by,
        cause,
        us: ms * 1_000,
        share: 0.0,
    });
    let is_active = |(holder, cause, _): &&(LimitedBy, Option<Cause>, u64)| {
        *holder != LimitedBy::App || ![Some(Cause::Request), Some(Cause::Rate)].contains(cause)
    };
    let diagnosis = Diagnosis {
        cause,
        cwnd_cause: cause.and_then(Cause::of_cwnd),
        active_us: Some(held.iter().filter(is_active).map(|(.., ms)| ms * 1_000).sum()),
        time: time.collect(),
        figures: Figures { base_rtt_us: Some(40_000), ..figures },
        ..base
    };
    JudgedFlow { plan: None, ..judged(&spec, diagnosis, Latency::default(), 10_000_000) }
}

/// The advice for such a connection that the application limits for `cause`.
fn of_an_application(
    cause: Cause,
    held: &[(LimitedBy, Option<Cause>, u64)],
    figures: Figures,
) -> Vec<Advice> {
    assert_eq!((held[0].0, held[0].1), (LimitedBy::App, Some(cause)));
    advise(&observed(held, figures))
}

#[test]
fn twice_the_window_halves_its_own_time_and_that_of_rounds_without_a_cause_alone() {
    let held = [
        (LimitedBy::App, Some(Cause::Window), 500),
        (LimitedBy::App, None, 300),
        (LimitedBy::App, Some(Cause::Turns), 200),
    ];
    let figures = Figures { flight_bytes: Some(65_000), ..Figures::default() };
    let advice = of_an_application(Cause::Window, &held, figures);
    let found: Vec<_> = advice.iter().map(|advice| (advice.value.clone(), advice.predicted_bps)).collect();
    let (wider, more) = (Some("130000B".to_owned()), Some("2".to_owned()));
    assert_eq!(found, [(wider, Some(16_666_666)), (more, Some(20_000_000))]);
}

#[test]
fn near_the_receiver_the_window_is_what_arrives_in_a_round_trip() {
    let held = [(LimitedBy::App, Some(Cause::Window), 1_000)];
    let advice = of_an_application(Cause::Window, &held, Figures::default());
    // 10 Mbit/s for 40 ms are 50 kB.
    assert_eq!((advice[0].value.as_deref(), advice[0].predicted_bps), (Some("100000B"), Some(20_000_000)));
}

#[test]
fn what_nagle_held_is_gone_and_each_turn_still_takes_its_round_trip() {
    let held = [(LimitedBy::App, Some(Cause::Nagle), 960), (LimitedBy::App, Some(Cause::Turns), 40)];
    let figures =
        |turns| Figures { waits: Some(Waits { turns, nagles: 5, ..Waits::default() }), ..Figures::default() };
    let predicted = |turns| of_an_application(Cause::Nagle, &held, figures(turns))[0].predicted_bps;
    assert_eq!(predicted(10), Some(25_000_000), "10 turns of 40 ms");
    assert_eq!(predicted(0), Some(50_000_000), "5 waits, each with a turn that is too short to be seen");
}

#[test]
fn an_ack_that_is_not_delayed_still_takes_a_round_trip() {
    let held = [(LimitedBy::App, Some(Cause::DelayedAck), 800), (LimitedBy::App, Some(Cause::Turns), 200)];
    let waits = Waits { delayed_acks: 10, ..Waits::default() };
    let advice =
        of_an_application(Cause::DelayedAck, &held, Figures { waits: Some(waits), ..Figures::default() });
    // 10 ACKs of 40 ms, and the turns.
    assert_eq!(advice[0].predicted_bps, Some(16_666_666));
}

/// What a table of advice shows: what is set, the goodput, and the time of the same bytes in milliseconds.
fn shown(advice: &[Advice]) -> Vec<(&str, Option<u64>, Option<u64>)> {
    let of = |advice: &Advice| {
        (advice.predicted_bps.map(|bps| bps / 100_000), advice.predicted_us.map(|us| us / 1_000))
    };
    advice
        .iter()
        .map(|advice| {
            let (bps, ms) = of(advice);
            (advice.setting.as_deref().unwrap_or("nothing"), bps, ms)
        })
        .collect()
}

#[test]
fn a_lifted_window_grows_by_slow_start_and_the_rest_of_the_time_stays() {
    let held =
        [(LimitedBy::Rwnd, Some(Cause::Program), 9_000), (LimitedBy::Cwnd, Some(Cause::Startup), 1_000)];
    let figures = Figures { acked_bps: Some(11_000_000), mss_bytes: Some(1448), ..Figures::default() };
    let advice = advise(&observed(&held, figures));
    // 9 s at 11 Mbit/s are 99 Mbit: 1.04 s at 95.64 Mbit/s and 0.09 s of growth, beside the second of slow start. In 9 s there would be 852 Mbit.
    assert_eq!(shown(&advice), [("SO_RCVBUF", Some(853), Some(2_124))]);
}

#[test]
fn behind_a_receive_buffer_stands_a_send_buffer_that_its_program_has_set_too() {
    let held = [(LimitedBy::Rwnd, Some(Cause::Program), 1_000)];
    let advice = |sndbuf_bytes| {
        let (cwnd_bytes, sndbuf_bytes) = (Some(400_000), Some(sndbuf_bytes));
        let figures = Figures { cwnd_bytes, sndbuf_bytes, ..Figures::default() };
        let advice = advise(&observed(&held, figures)).remove(0).proposal.expect("without words");
        advice.changes.iter().map(|change| change.setting.name()).collect::<Vec<_>>()
    };
    assert_eq!(advice(425_984), ["SO_RCVBUF", "SO_SNDBUF"], "250 kB out of 660");
    assert_eq!(advice(1_000_000), ["SO_RCVBUF"], "it follows cwnd");
}

#[test]
fn what_buffers_of_seen_hosts_allow_is_the_next_limit() {
    let held = [(LimitedBy::Sndbuf, Some(Cause::Program), 1_000)];
    let limits = BufferLimits {
        tcp_rmem: [4_096, 131_072, 6_291_456],
        tcp_wmem: [4_096, 16_384, 340_000],
        rmem_max: None,
        wmem_max: None,
    };
    let judged = JudgedFlow { sender_limits: Some(limits), ..observed(&held, Figures::default()) };
    let advice = advise(&judged);
    // 200 kB of 340 kB a round trip of 40 ms are 40 Mbit/s.
    assert_eq!(advice[0].predicted_bps.map(|bps| bps / 1_000_000), Some(39));
}

#[test]
fn slow_start_after_idle_has_its_advice_beside_the_wait_of_a_program() {
    let restarts = (LimitedBy::Cwnd, Some(Cause::IdleRestart), 2_500);
    let turns = (LimitedBy::App, Some(Cause::Turns), 500);
    let of = |wait, ms| {
        advise(&observed(&[(LimitedBy::App, Some(wait), ms), restarts, turns], Figures::default()))
    };
    let idle = "net.ipv4.tcp_slow_start_after_idle";
    // All of 100 Mbit goes in the 2.5 s: 1.05 s of them stay.
    assert_eq!(
        shown(&of(Cause::Response, 7_000)),
        [(idle, Some(117), Some(8_545)), ("nothing", Some(100), Some(10_000))]
    );
    let own_pace = of(Cause::Rate, 7_000);
    assert_eq!(shown(&own_pace[..1]), [(idle, None, None)], "its pauses become longer");
    assert_eq!(own_pace[0].predicted_active_bps.map(|bps| bps / 1_000_000), Some(64), "100 Mbit in 1.55 s");
    let kept = |cwnd_before_idle_bytes| {
        let figures = Figures { cwnd_before_idle_bytes, ..Figures::default() };
        let held = [(LimitedBy::App, Some(Cause::Response), 7_000), restarts];
        advise(&observed(&held, figures)).len()
    };
    assert_eq!([kept(Some(470_000)), kept(Some(490_000))], [2, 1], "the queue holds 500 kB of frames");
    assert_eq!(
        shown(&of(Cause::Response, 30_000)),
        [("nothing", Some(100), Some(10_000))],
        "a tenth of the time"
    );
}

#[test]
fn a_black_hole_is_found_after_four_timers_and_carries_nothing_until_then() {
    let with = |control: &str| {
        let held =
            [(LimitedBy::Path, Some(Cause::Mtu), 8_000), (LimitedBy::Cwnd, Some(Cause::RandomLoss), 2_000)];
        let congestion_control = control.to_owned();
        let judged = JudgedFlow { goodput_bps: 0, congestion_control, ..observed(&held, Figures::default()) };
        advise(&judged).remove(0)
    };
    // 10 s less 3.72 s of the handshake, a probe and timers: 6.28 s. BBR doubles its rate each round trip of 40 ms; others need 18.7 s for all of it, and are
    // at 32 Mbit/s in the end.
    assert_eq!(shown(&[with("bbr")]), [("net.ipv4.tcp_mtu_probing", Some(570), None)]);
    assert_eq!(shown(&[with("reno")]), [("net.ipv4.tcp_mtu_probing", Some(101), None)]);
    // CUBIC grows by a twentieth in each of the 154 round trips after its slow start, and fills the path after some 80.
    let cubic = with("cubic").predicted_bps.expect("a prediction");
    assert!((20_000_000..57_000_000).contains(&cubic), "{cubic}");
}

#[test]
fn what_brings_nothing_is_no_advice() {
    let held = [(LimitedBy::Cwnd, Some(Cause::QueueLoss), 1_000)];
    let judged = JudgedFlow { room_bps: Some(10_300_000.0), ..observed(&held, Figures::default()) };
    assert_eq!(shown(&advise(&judged)), [("nothing", Some(100), Some(10_000))]);
}

#[test]
fn a_buffer_of_datagrams_holds_what_comes_while_its_reader_waits() {
    let receiver = |flow: &str| {
        let text = format!("{PATH}[[flow]]\nprotocol = \"udp\"\nbitrate = \"20mbit\"\n{flow}");
        let advice = advice(&text, 0, LimitedBy::Receiver, None).remove(0);
        (advice.set, advice.predicted_bps)
    };
    // 10 ms of 20 Mbit/s.
    assert_eq!(receiver("rcvbuf = \"8KiB\"\n"), (vec!["flow.rcvbuf=25000B".to_owned()], Some(20_000_000)));
    assert_eq!(receiver("rcvbuf = \"1MiB\"\n").0, Vec::<String>::new());
    assert_eq!(receiver("").0, Vec::<String>::new());
}

#[test]
fn a_paced_upload_leaves_its_path_to_the_acks() {
    let both = format!("{PATH}[[flow]]\n[[flow]]\ndirection = \"reverse\"\n");
    let advice = advice(&both, 0, LimitedBy::Cwnd, Some(CwndCause::AckPath));
    assert_eq!(
        (advice[0].setting.as_deref(), advice[0].predicted_bps),
        (Some("SO_MAX_PACING_RATE"), Some(95_640_000))
    );
}

#[test]
fn datagrams_get_no_congestion_control() {
    let text = PATH.replace("\"2p\"", "\"4bdp\"") + "[[flow]]\nprotocol = \"udp\"\nbitrate = \"300mbit\"\n";
    let spec = spec(&text);
    let advice = advise(&judged(&spec, diagnosis(&spec, 0, LimitedBy::Path, None), bloated(), 95_000_000));
    assert_eq!(sets(&advice), ["path.queue=0.5bdp"]);
}

#[test]
fn a_second_request_at_once_needs_no_delay() {
    let turns = |flow: &str| {
        let spec =
            spec(&format!("{PATH}[[flow]]\napp = {{ kind = \"requests\", response = \"2KiB\" }}\n{flow}"));
        let base = diagnosis(&spec, 0, LimitedBy::App, None);
        let held =
            HeldTime { limited_by: LimitedBy::App, cause: Some(Cause::Turns), us: 1_000_000, share: 1.0 };
        let diagnosis = Diagnosis { cause: Some(Cause::Turns), time: vec![held], ..base };
        sets(&advise(&judged(&spec, diagnosis, Latency::default(), 10_000_000)))
    };
    assert_eq!(turns(""), ["flow.app.outstanding=2", "flow.nodelay=true"]);
    assert_eq!(turns("nodelay = true\n"), ["flow.app.outstanding=2"]);
}

#[test]
fn bbr_is_no_advice_where_acks_wait_nor_more_streams_where_a_queue_is_nearly_filled() {
    let of = |flow: &str, cause| {
        sets(&advice(&format!("{PATH}[[flow]]\n{flow}"), 0, LimitedBy::Cwnd, Some(cause)))
    };
    assert_eq!(of("", CwndCause::AckPath), ["flow.parallel=10"]);
    let beside_upload = of("[[flow]]\ndirection = \"reverse\"\n", CwndCause::QueueLoss);
    assert!(!beside_upload.iter().any(|line| line.contains("parallel")), "{beside_upload:?}");
}
