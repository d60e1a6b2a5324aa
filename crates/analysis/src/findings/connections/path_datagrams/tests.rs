use super::*;
use crate::findings::proposal::Setting;
use crate::judge::RuleId;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::{Fact, WayFacts};

/// 10 s on a path of 100 Mbit/s with a queue of 30 packets; datagrams of 1,470 bytes, `offered` of them, counted every 100 ms.
struct Case {
    offered: u64,
    queue: u64,
    random: u64,
    socket: Option<u64>,
    needed: u64,
    unread: u64,
}

const FINE: Case = Case { offered: 8_500, queue: 0, random: 0, socket: Some(0), needed: 20, unread: 0 };

fn flow(case: &Case) -> PathDatagrams {
    let rate_bps = Some(Fact::asked(100_000_000));
    let forward = WayFacts {
        rate_bps,
        queue_us: Some(Fact::asked(3_634)),
        queue_packets: Some(Fact::asked(30)),
        ..WayFacts::default()
    };
    let emulated = PathFacts { base_rtt_us: Some(Fact::asked(1_000)), forward, ..PathFacts::default() };
    let observed = Observed {
        local: "10.77.0.1:5000".to_owned(),
        remote: "10.77.0.2:5201".to_owned(),
        emulated,
        ..Observed::default()
    };
    let samples = (1..=100).map(|number| {
        let part = |all: u64| all * number / 100;
        let delivered = part(case.offered - case.queue - case.random);
        DatagramSample {
            t_us: number * 100_000,
            offered_packets: part(case.offered),
            offered_bytes: part(case.offered) * 1_470,
            delivered_packets: delivered,
            delivered_bytes: delivered * 1_470,
            dropped_queue_full_packets: part(case.queue),
            dropped_random_loss_packets: part(case.random),
            burst_packets: Some(85),
            burst_bytes: Some(85 * 1_470),
            needed_queue_packets: Some(case.needed),
            needed_queue_bytes: Some(case.needed * 1_512),
            socket_drops: case.socket.map(part),
            unread_bytes: Some(case.unread),
            rcvbuf_bytes: Some(212_992),
            ..DatagramSample::default()
        }
    });
    PathDatagrams {
        observed,
        sends: true,
        every: Duration::from_millis(100),
        first_us: 0,
        last_us: 10_000_000,
        samples: samples.collect(),
        counters: Vec::new(),
    }
}

fn decided(case: &Case) -> (Option<LimitedBy>, Option<Cause>, &'static str) {
    let verdict = flow(case).finding().verdict;
    (verdict.limited_by, verdict.cause, verdict.rule.expect("a rule").as_str())
}

fn settings(case: &Case) -> Vec<Setting> {
    let advice = flow(case).finding().verdict.advice.expect("advice");
    let proposals = advice.into_iter().filter_map(|advice| advice.proposal);
    proposals.flat_map(|proposal| proposal.changes).map(|change| change.setting).collect()
}

#[test]
fn what_arrives_is_all_that_the_application_offers() {
    assert_eq!(decided(&FINE), (Some(LimitedBy::App), Some(Cause::Rate), "app.rate.datagrams_arrive"));
    let finding = flow(&FINE).finding();
    assert_eq!((finding.protocol, finding.lost_percent), (Protocol::Udp, Some(0.0)));
    assert_eq!(finding.rate_bps, Some(9_996_000));
    assert!(settings(&FINE).is_empty());
}

#[test]
fn a_flow_above_the_rate_fills_the_path_and_one_below_bursts() {
    let path = Some(LimitedBy::Path);
    let over = Case { offered: 100_000, queue: 17_500, needed: 17_470, ..FINE };
    assert_eq!(decided(&over), (path, Some(Cause::Full), "path.full.datagrams"));
    assert!(settings(&over).is_empty(), "nothing at an end makes the path faster");
    let bursts = Case { queue: 3_200, needed: 54, ..FINE };
    assert_eq!(decided(&bursts), (path, Some(Cause::Bursts), "path.bursts.datagrams"));
    let [Setting::SpacedDatagrams(spacing), Setting::QueuePackets(packets)] = settings(&bursts)[..] else {
        panic!("{:?}", settings(&bursts))
    };
    assert_eq!((spacing, packets), (Duration::from_nanos(10_000_000_000 / 8_500), 54));
    let others = Case { queue: 3_200, needed: 30, ..FINE };
    assert_eq!(decided(&others), (path, Some(Cause::Shared), "path.shared.datagrams"));
}

#[test]
fn losses_by_chance_and_drops_of_the_socket_have_their_places() {
    let chance = Case { random: 200, ..FINE };
    assert_eq!(decided(&chance), (Some(LimitedBy::Path), None, "path.datagrams_dropped"));
    let socket = Case { socket: Some(500), ..FINE };
    let (limited_by, cause, rule) = decided(&socket);
    assert_eq!((limited_by, cause, rule), (Some(LimitedBy::Receiver), None, "receiver.datagrams_dropped"));
    let [Setting::Rcvbuf(bytes)] = settings(&socket)[..] else { panic!("{:?}", settings(&socket)) };
    assert!(bytes > 212_992 / 2, "{bytes}");
    // No buffer makes up for a program that is always behind.
    assert!(settings(&Case { unread: 200_000, ..socket }).is_empty());
}

#[test]
fn few_datagrams_are_too_short_to_judge() {
    let short = flow(&Case { offered: 9, ..FINE }).finding();
    assert_eq!(short.verdict.rule.map(RuleId::as_str), Some("too_short"));
    assert_eq!(short.datagrams.map(|report| report.datagrams_sent), Some(9));
}

/// Its congestion control offers what the path takes; what holds it back below that is encrypted.
#[test]
fn quic_fills_the_path_or_is_unknown() {
    let of = |case: &Case| {
        let mut flow = flow(case);
        flow.observed.quic = Some("1".to_owned());
        let verdict = flow.finding().verdict;
        (verdict.limited_by, verdict.cause, verdict.rule.expect("a rule").as_str())
    };
    // 96.8 and 60.5 Mbit/s of frames.
    let nearly_all = Case { offered: 80_000, ..FINE };
    assert_eq!(of(&nearly_all), (Some(LimitedBy::Path), Some(Cause::Full), "path.full.quic"));
    let below = Case { offered: 50_000, ..FINE };
    assert_eq!(of(&below), (Some(LimitedBy::Unknown), None, "unknown.quic"));
    assert_eq!(decided(&nearly_all).2, "app.rate.datagrams_arrive", "without a congestion control");
    let drops = Case { offered: 80_000, queue: 400, needed: 40, ..FINE };
    assert_eq!(of(&drops), (Some(LimitedBy::Path), Some(Cause::Full), "path.full.datagrams"));
}
