//! What is drawn of a run whose true figures are known, and what theory allows a known cell.

use pipefill_analysis::findings::series::{Drawing, Quantity, RunSeries, buckets, with_bands};
use pipefill_analysis::ground::theory::{Bound, Law, bounds, rate_of, segment_loss};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, LossSpec, LossUnit, Protocol};
use pipefill_core::record::{Retransmit, RetransmitKind, RunRecord};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::{Bytes, Ratio};
use pipefill_testkit::builder::{SECOND, Steady, cell, flow, record, run, spec};
use std::time::Duration;

fn drawn(record: &RunRecord, buckets: usize) -> RunSeries {
    let mut drawing = Drawing::of(&record.manifest, buckets);
    record.rows().iter().for_each(|row| drawing.push(row));
    record.retransmits.iter().for_each(|row| drawing.count(row));
    drawing.finish()
}

fn values(series: &RunSeries, quantity: Quantity) -> Vec<u64> {
    let of = series.curves.iter().filter(|curve| curve.quantity == quantity);
    of.flat_map(|curve| curve.points.iter().map(|point| point.value)).collect()
}

fn steady(streams: &[Steady]) -> RunRecord {
    record(run(&cell(0, &[], spec(Protocol::Tcp, 10)), 1), streams)
}

#[test]
fn a_steady_stream_is_a_straight_line() {
    let series = drawn(&steady(&[Steady::default()]), 10);
    assert_eq!(series.bucket_us, SECOND + 500);
    assert!(values(&series, Quantity::Goodput)[1..9].iter().all(|&bps| bps == 80_000_000));
    let of_all = |quantity, value| {
        let values = values(&series, quantity);
        assert!(!values.is_empty() && values.iter().all(|&drawn| drawn == value), "{quantity:?}: {values:?}");
    };
    of_all(Quantity::InFlight, 100_000);
    of_all(Quantity::Cwnd, 200_000);
    of_all(Quantity::Rwnd, 3_000_000);
    of_all(Quantity::Srtt, 10_400);
    assert_eq!(series.retransmitted.iter().map(|mark| mark.sampled).sum::<u64>(), 7);
}

#[test]
fn windows_of_two_streams_are_summed_and_round_trips_are_not() {
    let series = drawn(&steady(&[Steady::default(), Steady { srtt_us: 20_400, ..Steady::default() }]), 10);
    assert_eq!(values(&series, Quantity::Cwnd).last(), Some(&400_000));
    assert_eq!(values(&series, Quantity::Srtt).last(), Some(&15_400));
}

/// Two flows to the receiver, the second one of UDP, and one back: 80, 10 and 20 Mbit/s.
#[test]
fn each_flow_has_its_curve_and_no_sum_goes_both_ways() {
    let mut spec = spec(Protocol::Tcp, 10);
    spec.flows.push(flow(Protocol::Udp));
    spec.flows.push(FlowSpec { direction: Direction::Reverse, ..flow(Protocol::Tcp) });
    let stream = |flow, rate_bps| Steady { flow, rate_bps, ..Steady::default() };
    let streams = [stream(0, 80_000_000), stream(1, 10_000_000), stream(2, 20_000_000)];
    let series = drawn(&record(run(&cell(0, &[], spec), 1), &streams), 10);
    let of_all = |quantity, mbps: u64| {
        assert_eq!(values(&series, quantity)[5], mbps * 1_000_000, "{quantity:?}");
    };
    of_all(Quantity::DirectionGoodput(Direction::Forward), 90);
    let reverse = values(&series, Quantity::DirectionGoodput(Direction::Reverse));
    assert!(reverse.is_empty(), "of an only flow there is no sum");
    [(0, 80), (1, 10), (2, 20)]
        .into_iter()
        .for_each(|(flow, mbps)| of_all(Quantity::FlowGoodput(flow), mbps));
    assert_eq!((values(&series, Quantity::Goodput), values(&series, Quantity::Sent)), (vec![], vec![]));
    let names: Vec<&str> = series.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["0 tcp →", "1 udp →", "2 tcp ←"]);
    assert_eq!(with_bands(&series.flows), [0, 1, 2]);
    let states: Vec<u32> = series.states.iter().map(|(stream, _)| *stream).collect();
    assert_eq!(states, [0, 2], "of TCP, in both directions");
}

#[test]
fn states_follow_the_samples_to_the_end_of_the_stream() {
    let series = drawn(&steady(&[Steady::default()]), 600);
    let (stream, stays) = &series.states[0];
    assert_eq!((*stream, stays[0].value, stays[1].value), (0, CaState::Open, CaState::Recovery));
    assert_eq!((stays[0].to_us, stays[1].to_us), (200_000, 300_000));
    assert_eq!(stays[stays.len() - 1].to_us, 10 * SECOND);
}

#[test]
fn retransmissions_that_were_watched_have_their_kind() {
    let mut record = steady(&[Steady::default()]);
    record.manifest.streams[0].ca_state_source = Some(pipefill_core::record::CaStateSource::Exact);
    let row = |t_us, kind| Retransmit {
        t_us,
        stream: 0,
        seq_from: 1,
        seq_to: 2,
        segments: 3,
        refused_segments: 0,
        kind,
    };
    record.retransmits = vec![
        row(1, RetransmitKind::Fast),
        row(2, RetransmitKind::Rto),
        row(9 * SECOND, RetransmitKind::Fast),
    ];
    let series = drawn(&record, 10);
    let kinds: Vec<[u64; 4]> = series.retransmitted.iter().map(|mark| mark.by_kind).collect();
    assert_eq!(kinds, [[3, 3, 0, 0], [3, 0, 0, 0]]);
}

#[test]
fn many_runs_share_the_points() {
    assert_eq!((buckets(0), buckets(1), buckets(100), buckets(100_000)), (600, 600, 240, 24));
}

#[test]
fn laws_speak_where_they_hold() {
    let mut spec = spec(Protocol::Tcp, 100);
    spec.receiver.sysctl.insert("net.ipv4.tcp_rmem".to_owned(), "4096 131072 2000000".to_owned());
    let laws = |bounds: &[Bound]| bounds.iter().map(|bound| bound.law).collect::<Vec<_>>();
    let rtt = Duration::from_millis(100);
    let without_loss = bounds(&spec, rtt, segment_loss(&spec), None);
    assert_eq!(laws(&without_loss), [Law::PathRate, Law::ReceiveWindow, Law::SendBuffer]);
    // A window of half of 2 MB over 100 ms.
    assert_eq!(without_loss[1].bps, 80e6);
    spec.path.forward.loss = LossSpec::Independent(Ratio::from_percent(1.0));
    let with_loss = bounds(&spec, rtt, segment_loss(&spec), None);
    assert_eq!(laws(&with_loss)[3..], [Law::Mathis, Law::Pftk, Law::Cubic]);
    spec.path.forward.loss_unit = LossUnit::SuperPacket;
    assert_eq!(segment_loss(&spec), None);
    spec.flows[0].parallel = 3;
    assert_eq!(bounds(&spec, rtt, None, None)[1].bps, 240e6);
    // 4.5 MB over 100 ms, whatever the buffer.
    assert_eq!(bounds(&spec, rtt, None, Some(Bytes::new(4_500_000)))[1].bps, 360e6);
    assert_eq!(laws(&bounds(&spec, Duration::ZERO, None, None)), [Law::PathRate]);
    spec.flows.clear();
    assert_eq!(bounds(&spec, rtt, None, None), []);
}

#[test]
fn a_direction_lets_through_what_its_flows_headers_leave() {
    let mut spec = spec(Protocol::Udp, 10);
    let forward = |spec: &CellSpec| rate_of(spec, Direction::Forward).map(f64::round);
    assert_eq!(forward(&spec), Some((1e9 * 1_448.0 / 1_490.0_f64).round()));
    assert_eq!(rate_of(&spec, Direction::Reverse), None, "no flow");
    spec.flows.push(flow(Protocol::Tcp));
    assert_eq!(forward(&spec), Some((1e9 * 1_448.0 / 1_514.0_f64).round()));
    spec.flows.truncate(1);
    spec.flows[0].length = Bytes::new(8_000);
    assert_eq!(forward(&spec), None, "fragments");
}

#[test]
fn without_window_scaling_a_window_is_64_kib_at_most() {
    let mut spec = spec(Protocol::Tcp, 10);
    spec.sender.sysctl.insert("net.ipv4.tcp_window_scaling".to_owned(), "0".to_owned());
    let law = bounds(&spec, Duration::from_millis(10), None, None)[1];
    assert_eq!((law.law, law.bps), (Law::ReceiveWindow, 52_428_000.0));
}
