//! Advice proposes only what the scenario and the kernel can take, for the flow and the direction that it is about.

use pipefill_analysis::findings::advice::advise;
use pipefill_analysis::findings::finding::{Advice, Bufferbloat, Goal, Latency};
use pipefill_analysis::findings::verdict::{Subject, predicted_bps, sentence};
use pipefill_analysis::judge::{Diagnosis, Figures};
use pipefill_core::cell::{CellSpec, Direction};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::scenario::Scenario;
use std::collections::BTreeMap;

const PATH: &str = "[path]\nrate = \"100mbit\"\nreverse_rate = \"100mbit\"\nrtt = \"40ms\"\nqueue = \"2p\"\nreverse_queue = \"2p\"\n";

fn spec(text: &str) -> CellSpec {
    let text = format!("name = \"x\"\n{text}");
    Scenario::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}")).plan().cells[0].spec.clone()
}

fn diagnosis(spec: &CellSpec, flow: u32, limited_by: LimitedBy, cwnd_cause: Option<CwndCause>) -> Diagnosis {
    let of = &spec.flows[flow as usize];
    Diagnosis {
        flow,
        protocol: of.protocol,
        direction: of.direction,
        limited_by,
        cwnd_cause,
        rule: None,
        margin: None,
        limited_fraction: BTreeMap::from([(limited_by, 1.0)]),
        timeline: Vec::new(),
        figures: Figures {
            path_goodput_bps: Some(95_640_000),
            base_rtt_us: Some(40_000),
            srtt_us: Some(40_000),
            rtt_mean_us: Some(40_000),
            mss_bytes: Some(1448),
            utilisation: Some(0.1),
            loss_share: Some(0.001),
            ..Figures::default()
        },
        confidence: None,
        witnesses: Vec::new(),
        faults: Vec::new(),
    }
}

/// The flow that `diagnosis` is of, with what was found of it.
fn subject<'a>(
    spec: &'a CellSpec,
    diagnosis: &'a Diagnosis,
    latency: &'a Latency,
    goodput_bps: u64,
) -> Subject<'a> {
    Subject {
        spec,
        flow: &spec.flows[diagnosis.flow as usize],
        diagnosis,
        latency,
        goodput_bps,
        is_observed: false,
    }
}

/// The advice for flow `flow` of `text`, which has 10 Mbit/s.
fn advice(text: &str, flow: u32, limited_by: LimitedBy, cause: Option<CwndCause>) -> Vec<Advice> {
    let spec = spec(text);
    let diagnosis = diagnosis(&spec, flow, limited_by, cause);
    let advice = advise(&subject(&spec, &diagnosis, &Latency::default(), 10_000_000), Some(95_640_000.0));
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
    let bloat = Bufferbloat {
        direction: Direction::Forward,
        standing_bytes: Some(1_500_000),
        standing_bdp: Some(3.0),
        added_us: 120_000,
    };
    let latency = Latency {
        idle_rtt_us: Some(40_000),
        loaded_rtt_us_p50: Some(160_000),
        bufferbloat: Some(bloat),
        ..Latency::default()
    };
    let subject = subject(&spec, &diagnosis, &latency, 95_000_000);
    let advice = advise(&subject, Some(95_640_000.0));
    let shown: Vec<_> =
        advice.iter().map(|one| (one.change.as_str(), one.goal, one.predicted_rtt_us)).collect();
    assert_eq!(
        shown,
        [
            ("nothing", Goal::Throughput, None),
            ("path.queue=0.5bdp", Goal::Latency, Some(60_000)),
            ("sender.congestion_control=bbr", Goal::Latency, Some(50_000)),
        ]
    );
    let said = sentence(&subject);
    assert!(
        said.ends_with(
            "Bufferbloat: the queue (forward) holds 1.50 MB (3.0 BDP) and adds 120 ms to the round trip: 40.0 ms without load, 160 ms in \
             the median under it."
        ),
        "{said}"
    );
}

#[test]
fn a_bound_below_what_was_measured_is_not_told() {
    let spec = spec(&format!("{PATH}[[flow]]\n"));
    let of = |window: u64, acked: u64| {
        let base = diagnosis(&spec, 0, LimitedBy::Rwnd, None);
        let figures = Figures { rwnd_bytes: Some(window), acked_bps: Some(acked), ..base.figures };
        let diagnosis = Diagnosis { figures, ..base };
        sentence(&subject(&spec, &diagnosis, &Latency::default(), acked))
    };
    assert!(
        of(65_535, 13_000_000).contains("65.5 kB / 40.0 ms allows 13.1 Mbit/s, 13.0 Mbit/s were measured")
    );
    let above = of(65_535, 20_000_000);
    assert!(
        above.contains("the advertised window of 65.5 kB was used up; 20.0 Mbit/s were measured"),
        "{above}"
    );
}

#[test]
fn theory_is_told_where_it_applies() {
    let theory = |path: &str, cause, loss: f64| {
        let spec = spec(&format!("{path}[[flow]]\n"));
        let base = diagnosis(&spec, 0, LimitedBy::Cwnd, Some(cause));
        let diagnosis = Diagnosis { figures: Figures { loss_share: Some(loss), ..base.figures }, ..base };
        predicted_bps(&subject(&spec, &diagnosis, &Latency::default(), 3_000_000)).is_some()
    };
    let lossy = format!("{PATH}loss = \"1%\"\n");
    assert!(theory(&lossy, CwndCause::RandomLoss, 0.01));
    assert!(!theory(&lossy, CwndCause::RandomLoss, 0.15), "it knows no timeouts");
    assert!(!theory(&lossy, CwndCause::QueueLoss, 0.01) && !theory(&lossy, CwndCause::Reordering, 0.01));
    let in_bursts = format!("{PATH}loss = \"gilbert-elliott p=0.1% r=10%\"\n");
    assert!(!theory(&in_bursts, CwndCause::RandomLoss, 0.01), "segments are lost together");
}
