//! A run's metrics on records whose true figures are known.

use pipefill_analysis::findings::metrics::{CaStateTimes, RetransmitCounts, RunMetrics};
use pipefill_analysis::ground::interval::warmup;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{CaStateSource, Retransmit, RetransmitKind, RunRecord};
use pipefill_testkit::builder::{Steady, cell, flow, record, run, spec};
use proptest::prelude::*;
use std::time::Duration;

fn of(spec: CellSpec, streams: &[Steady]) -> RunRecord {
    record(run(&cell(0, &[], spec), 1), streams)
}

fn tcp(streams: &[Steady]) -> RunRecord {
    of(spec(Protocol::Tcp, 10), streams)
}

#[test]
fn a_steady_stream_has_its_rate() {
    let got = RunMetrics::of(&tcp(&[Steady::default()]));
    assert_eq!(got.goodput_bps, Some(80_000_000));
    assert_eq!(got.sender_bps, Some(80_000_000));
    assert_eq!(got.goodput_whole_bps, Some(80_000_000));
    assert_eq!(got.fairness_index, None);
    assert_eq!(got.tcp.retransmits, Some(7));
    assert_eq!(got.tcp.min_rtt_us, Some(10_000));
    assert_eq!(got.tcp.srtt_us_p50, Some(10_400));
    assert_eq!(got.tcp.cwnd_bytes_p50, Some(200_000));
    assert_eq!(got.tcp.rwnd_bytes_p50, Some(3_000_000));
    assert_eq!(got.tcp.in_flight_bytes_p50, Some(100_000));
    assert_eq!(got.tcp.wmem_queued_bytes_p50, Some(200_000));
    assert_eq!(got.tcp.sndbuf_bytes_p50, Some(4_194_304));
    assert_eq!(got.udp.lost_percent, None);
}

/// Half a second without data: inside the warm-up of one second it costs nothing, without it 5 %.
#[test]
fn the_warm_up_is_left_out() {
    let slow_start = Steady { first_us: 500_000, ..Steady::default() };
    let got = RunMetrics::of(&tcp(&[slow_start]));
    assert_eq!(got.goodput_bps, Some(80_000_000));
    assert_eq!(got.goodput_whole_bps, Some(76_000_000));
}

/// Study 1: ten seconds of data that arrive half a second later still have their rate.
#[test]
fn a_long_path_does_not_look_slow() {
    let late = Steady { one_way_us: 500_000, ..Steady::default() };
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let got = RunMetrics::of(&of(spec(protocol, 1_000), &[late]));
        assert_eq!(got.goodput_bps, Some(80_000_000), "{protocol:?}");
        assert_eq!(got.goodput_whole_bps, Some(80_000_000), "{protocol:?}");
    }
}

#[test]
fn the_automatic_warm_up_follows_its_rule() {
    let mut spec = spec(Protocol::Tcp, 10);
    spec.run.warmup = None;
    let of_rtt = |ms| warmup(spec.run.warmup, &spec.flows[0], Duration::from_millis(ms));
    assert_eq!(of_rtt(0), Duration::from_millis(500));
    assert_eq!(of_rtt(10), Duration::from_millis(700));
    assert_eq!(of_rtt(1_000), Duration::from_secs(2));
}

#[test]
fn streams_add_up_and_fairness_is_jains() {
    let (fast, slow) = (
        Steady { rate_bps: 120_000_000, ..Steady::default() },
        Steady { rate_bps: 40_000_000, ..Steady::default() },
    );
    let got = RunMetrics::of(&tcp(&[fast, slow]));
    assert_eq!(got.goodput_bps, Some(160_000_000));
    let each: Vec<_> = got.streams.iter().map(|s| s.goodput_bps).collect();
    assert_eq!(each, [Some(120_000_000), Some(40_000_000)]);
    assert!((got.fairness_index.unwrap() - 0.8).abs() < 1e-9);
    assert_eq!(got.tcp.cwnd_bytes_p50, Some(400_000));
    assert_eq!(got.tcp.retransmits, Some(14));
}

#[test]
fn windows_of_one_direction_only_are_added() {
    let mut both = spec(Protocol::Tcp, 10);
    both.flows.push(flow(Protocol::Tcp));
    both.flows[1].direction = Direction::Reverse;
    let reverse = Steady { flow: 1, cwnd_bytes: 999, ..Steady::default() };
    let got = RunMetrics::of(&of(both, &[Steady::default(), reverse]));
    assert_eq!(got.tcp.cwnd_bytes_p50, Some(200_000));
    assert_eq!(got.goodput_bps, Some(160_000_000));
}

/// Of 100 spans of 100 ms every fourth, from the third on, is in recovery: 25.
#[test]
fn congestion_states_fill_the_streams_life() {
    let got = RunMetrics::of(&tcp(&[Steady::default()]));
    let times = got.tcp.ca_state_us.unwrap();
    let want = CaStateTimes { open: 7_500_000, recovery: 2_500_000, ..CaStateTimes::default() };
    assert_eq!(times, want);
    assert_eq!(got.tcp.tcp_samples, Some(100));
    assert_eq!(got.tcp.sample_interval_us_p50, Some(100_000));
    assert_eq!(got.tcp.sample_interval_us_max, Some(100_000));
}

#[test]
fn retransmits_are_counted_by_kind_where_every_one_was_seen() {
    let by_kind = |record: &RunRecord| RunMetrics::of(record).tcp.retransmits_by_kind;
    let row = |kind, segments| Retransmit {
        t_us: 1,
        stream: 0,
        seq_from: 1,
        seq_to: 2,
        segments,
        refused_segments: 0,
        kind,
    };
    let mut watched = tcp(&[Steady::default()]);
    watched.retransmits = vec![
        row(RetransmitKind::Fast, 3),
        row(RetransmitKind::Tlp, 1),
        row(RetransmitKind::Fast, 2),
        row(RetransmitKind::Spurious, 4),
    ];
    assert_eq!(by_kind(&watched), None, "nobody says that the list is whole");
    watched.manifest.streams[0].ca_state_source = Some(CaStateSource::Bpf);
    watched.manifest.instrument.trace_lost_events = Some(0);
    assert_eq!(by_kind(&watched), Some(RetransmitCounts { fast: 5, rto: 0, tlp: 1, spurious: 4 }));
    watched.manifest.instrument.trace_lost_events = Some(1);
    assert_eq!(by_kind(&watched), None);
    watched.manifest.instrument.trace_lost_events = Some(0);
    watched.manifest.streams[0].ca_state_source = Some(CaStateSource::Sampled);
    assert_eq!(by_kind(&watched), None);
    assert_eq!(by_kind(&of(spec(Protocol::Udp, 10), &[Steady::default()])), None);
}

#[test]
fn udp_loses_what_is_not_received() {
    let lossy = Steady { rate_bps: 100_000_000, lost_permille: 250, ..Steady::default() };
    let got = RunMetrics::of(&of(spec(Protocol::Udp, 10), &[lossy]));
    assert_eq!(got.udp.datagrams_sent, Some(86_325));
    assert!((got.udp.lost_percent.unwrap() - 25.0).abs() < 0.001);
    assert_eq!(got.udp.socket_drops, Some(3));
    assert_eq!(got.udp.reordered, Some(2));
    assert_eq!(got.udp.jitter_ns, Some(12_000));
    assert_eq!(got.udp.one_way_delay_min_ns, Some(5_000_000));
    let goodput = got.goodput_bps.unwrap() as f64;
    assert!((goodput / 75e6 - 1.0).abs() < 1e-6, "{goodput}");
    assert_eq!((got.tcp.retransmits, got.tcp.cwnd_bytes_p50), (None, None));
}

#[test]
fn the_instrument_and_the_paths_drops_are_told() {
    let got = RunMetrics::of(&tcp(&[Steady::default()])).instrument;
    assert_eq!(got.path_lateness_p50_ns, Some(25_000));
    assert_eq!(got.path_lateness_p99_ns, Some(60_000));
    assert_eq!(got.send_lateness_p99_ns, None);
    assert_eq!(got.cpu_us["path forward"], 123);
    let drops: Vec<_> = got.path_drops.into_iter().collect();
    let want = [("forward queue_full", 5), ("reverse random_loss", 0)];
    assert_eq!(drops, want.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn what_was_not_recorded_is_none() {
    let mut bare = tcp(&[Steady::default()]);
    bare.delivery.clear();
    bare.tcp.clear();
    bare.manifest.streams[0].tcp = None;
    let got = RunMetrics::of(&bare);
    assert_eq!((got.goodput_bps, got.sender_bps, got.goodput_whole_bps), (None, None, None));
    assert_eq!((got.tcp.retransmits, got.tcp.min_rtt_us, got.tcp.ca_state_us), (None, None, None));
    assert_eq!(got.tcp.cwnd_bytes_p50, None);
    assert_eq!(got.tcp.tcp_samples, Some(0));
}

/// One stream without a rate leaves no total: a sum of what happens to be there would be a lie.
#[test]
fn a_missing_stream_leaves_no_total() {
    let mut half = tcp(&[Steady::default(), Steady::default()]);
    half.delivery.retain(|row| row.stream == 0);
    let got = RunMetrics::of(&half);
    assert_eq!(got.goodput_bps, None);
    assert_eq!(got.streams[0].goodput_bps, Some(80_000_000));
    half.tcp.iter_mut().for_each(|row| row.info.rwnd_bytes = None);
    assert_eq!(RunMetrics::of(&half).tcp.rwnd_bytes_p50, None);
}

#[test]
fn a_stream_shorter_than_its_warm_up_has_no_goodput() {
    let mut short = tcp(&[Steady::default()]);
    short.manifest.streams[0].stop_us = 900_000;
    let got = RunMetrics::of(&short);
    assert_eq!(got.goodput_bps, None);
    assert!(got.goodput_whole_bps.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the rate and the delay, goodput is the rate, and never more than was delivered.
    #[test]
    fn goodput_is_the_rate(kbit in 8_u64..10_000_000, one_way_us in 0_u64..900_000) {
        let steady = Steady { rate_bps: kbit * 1_000, one_way_us, ..Steady::default() };
        let got = RunMetrics::of(&of(spec(Protocol::Tcp, one_way_us * 2 / 1_000), &[steady]));
        let goodput = got.goodput_bps.unwrap() as f64;
        // Bytes are whole at each of two edges, and the path's delay is a whole millisecond here.
        let slack = 16.0 + steady.rate_bps as f64 * 0.001 / 9.0;
        prop_assert!((goodput - steady.rate_bps as f64).abs() <= slack, "{} against {}", goodput, steady.rate_bps);
    }

    /// The order of rows is no information.
    #[test]
    fn the_order_of_rows_does_not_matter(seed in any::<u64>()) {
        let ordered = tcp(&[Steady::default(), Steady { rate_bps: 5_000_000, ..Steady::default() }]);
        let mut shuffled = ordered.clone();
        let mut prng = pipefill_core::prng::Prng::stream(pipefill_core::units::Seed::new(seed), "shuffle");
        for i in (1..shuffled.delivery.len()).rev() {
            shuffled.delivery.swap(i, prng.below(i as u64 + 1) as usize);
        }
        for i in (1..shuffled.tcp.len()).rev() {
            shuffled.tcp.swap(i, prng.below(i as u64 + 1) as usize);
        }
        prop_assert_eq!(RunMetrics::of(&ordered), RunMetrics::of(&shuffled));
    }
}
