//! Advice proposes only what the scenario and the kernel can take, for the flow and the direction that it is about.

use pipefill_analysis::findings::advice::advise;
use pipefill_analysis::findings::finding::{Advice, Goal, Latency};
use pipefill_analysis::findings::proposal::Target;
use pipefill_analysis::findings::verdict::JudgedFlow;
use pipefill_analysis::judge::{Diagnosis, Figures, HeldTime};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::Waits;
use pipefill_core::scenario::Scenario;
use pipefill_testkit::judged::{PATH, bloated, diagnosis, judged, spec};

/// The advice for flow `flow` of `text`, which has 10 Mbit/s.
fn advice(text: &str, flow: u32, limited_by: LimitedBy, cause: Option<CwndCause>) -> Vec<Advice> {
    let spec = spec(text);
    let diagnosis = diagnosis(&spec, flow, limited_by, cause);
    let judged = judged(&spec, diagnosis, Latency::default(), 10_000_000);
    let advice = advise(&judged);
    for line in advice.iter().flat_map(|one| &one.set) {
        let mut scenario = Scenario::parse(&format!("name = \"x\"\n{text}"), "x.toml").unwrap();
        scenario.set(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    advice
}

fn sets(advice: &[Advice]) -> Vec<String> {
    advice.iter().flat_map(|one| one.set.clone()).collect()
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
        advice.iter().map(|one| (one.set.join(", "), one.goal, one.predicted_rtt_us)).collect();
    assert_eq!(
        shown,
        [
            (String::new(), Goal::Throughput, None),
            ("path.queue=0.5bdp".to_owned(), Goal::Latency, Some(60_000)),
            ("sender.congestion_control=bbr".to_owned(), Goal::Latency, Some(50_000)),
        ]
    );
}

#[test]
fn an_advice_names_where_what_and_to_what_and_how_long_it_would_take() {
    let host = "[host]\ntcp_rmem = \"4096 65536 128KiB\"\ntcp_wmem = \"4096 16KiB 64MiB\"\n";
    let long = PATH.replace("\"2p\"", "\"1bdp\"");
    let rwnd = &advice(&format!("{long}{host}[[flow]]\n"), 0, LimitedBy::Rwnd, None)[0];
    assert_eq!((rwnd.target, rwnd.setting.as_deref()), (Some(Target::Receiver), Some("net.ipv4.tcp_rmem")));
    assert!(rwnd.value.as_ref().unwrap().starts_with("4096 65536 "), "{rwnd:?}");
    // 10 s at 10 Mbit/s are 1.05 s at 95.64 Mbit/s.
    assert_eq!((rwnd.predicted_bps, rwnd.predicted_us), (Some(95_640_000), Some(1_045_587)));
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

/// The advice for an observed connection of 10 Mbit/s that the application limits for `cause`; `held` has the milliseconds of its ledger.
fn of_an_application(
    cause: Cause,
    held: &[(LimitedBy, Option<Cause>, u64)],
    figures: Figures,
) -> Vec<Advice> {
    let spec = spec(&format!("{PATH}[[flow]]\n"));
    let base = diagnosis(&spec, 0, LimitedBy::App, None);
    let time = held.iter().map(|&(limited_by, cause, ms)| HeldTime {
        limited_by,
        cause,
        us: ms * 1_000,
        share: 0.0,
    });
    let diagnosis = Diagnosis {
        cause: Some(cause),
        time: time.collect(),
        figures: Figures { base_rtt_us: Some(40_000), ..figures },
        ..base
    };
    advise(&JudgedFlow { plan: None, ..judged(&spec, diagnosis, Latency::default(), 10_000_000) })
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
    let found: Vec<_> = advice.iter().map(|one| (one.value.clone(), one.predicted_bps)).collect();
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
    assert_eq!(predicted(0), Some(95_640_000), "the path is next");
    assert_eq!(predicted(5), Some(50_000_000), "5 turns of 40 ms");
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
