//! Intervals of runs of any length: their number is bounded, whatever a record says.

use pipefill_analysis::findings::intervals::Following;
use pipefill_analysis::findings::series::{Drawing, Quantity};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{
    AnyRow, AqmCounted, AqmSample, AqmSummary, Element, Manifest, PathSample, RunRecord,
};
use pipefill_testkit::builder::{Steady, cell, record, run, spec};

/// A run that says that its only stream stopped at `stop_us`.
fn until(stop_us: u64) -> RunRecord {
    let cell = cell(0, &[], spec(Protocol::Tcp, 10));
    let mut record = record(run(&cell, 1), &[Steady::default()]);
    record.manifest.streams[0].stop_us = stop_us;
    record
}

#[test]
fn a_run_of_eleven_days_has_longer_intervals_instead_of_more() {
    for (stop_us, width_us, count) in [(10_000_000, 200_000, 50), (1 << 50, 5_629_600_000, 199_997)] {
        let record = until(stop_us);
        let mut following = Following::of(&record.manifest, 200_000);
        record.rows().iter().for_each(|row| following.push(row));
        let streams = following.finish();
        assert_eq!((streams[0].width_us, streams[0].intervals.len()), (width_us, count));
        let last = streams[0].intervals.last().unwrap();
        assert_eq!(last.to_us, stop_us);
        let sent: f64 = streams[0].intervals.iter().map(|interval| interval.sent_bytes).sum();
        assert_eq!(sent.round() as u64, record.manifest.streams[0].sent_bytes);
    }
}

/// Rows from after the run's end would each make a bucket of their own.
#[test]
fn what_a_page_keeps_does_not_grow_with_rows_outside_of_the_run() {
    let record = until(10_000_000);
    let mut drawing = Drawing::of(&record.manifest, 100);
    for n in 0..50_000 {
        drawing.push(&AnyRow::Path(PathSample {
            t_us: n * 1_000_000_000,
            direction: Direction::Forward,
            element: Element::Queue,
            backlog_packets: n % 7,
            backlog_bytes: n % 7,
            dropped_packets: n,
        }));
    }
    let series = drawing.finish();
    let points: usize = series.curves.iter().map(|curve| curve.points.len()).sum();
    assert!(points <= 2 * 101 && series.drops.len() <= 101, "{points} points, {} drops", series.drops.len());
}

/// A kernel's qdisc has no sum, and its run no rows of the path.
#[test]
fn of_a_kernels_qdisc_the_last_packets_wait_and_the_backlog_are_drawn() {
    let mut record = until(10_000_000);
    let counted = Some(AqmCounted::default());
    record.manifest.aqm = vec![AqmSummary {
        direction: Direction::Forward,
        kind: "codel".to_owned(),
        packets: 2,
        counted,
        sojourn_us_p50: None,
        sojourn_us_p95: None,
        sojourn_us_p99: None,
        sojourn_us_max: None,
        flow_queues: None,
    }];
    let curve = |manifest: &Manifest, sojourn_us: Option<u64>, quantity: Quantity| {
        let mut drawing = Drawing::of(manifest, 100);
        for n in 1..=2 {
            drawing.push(&AnyRow::Aqm(AqmSample {
                t_us: n * 1_000_000,
                direction: Direction::Forward,
                backlog_packets: Some(n),
                backlog_bytes: Some(n * 1_514),
                packets: n,
                sojourn_sum_us: None,
                sojourn_us,
                dropped_packets: 0,
                overflow_packets: 0,
                marked_packets: 0,
                probability_ppb: None,
                drop_count: None,
            }));
        }
        let curves = drawing.finish().curves;
        let curve = curves.into_iter().find(|curve| curve.quantity == quantity);
        curve.map(|curve| curve.points.iter().map(|point| (point.t_us, point.value)).collect::<Vec<_>>())
    };
    let manifest = &record.manifest;
    let sojourns = curve(manifest, Some(6_200), Quantity::Sojourn);
    assert_eq!(sojourns, Some(vec![(1_000_000, 6_200), (2_000_000, 6_200)]));
    assert_eq!(curve(manifest, None, Quantity::Sojourn), None);
    let backlog = curve(manifest, None, Quantity::Backlog);
    assert_eq!(backlog, Some(vec![(1_000_000, 1_514), (2_000_000, 3_028)]));
    // With counters of the path there are its rows.
    record.manifest.aqm[0].counted = None;
    assert_eq!(curve(&record.manifest, None, Quantity::Backlog), None);
}

/// Ten packets waited 2 ms each, then none left, then five waited 8 ms each.
#[test]
fn sojourn_times_are_means_of_what_left_since_the_sample_before() {
    let record = until(10_000_000);
    let mut drawing = Drawing::of(&record.manifest, 100);
    for (t_us, packets, sojourn_sum_us) in
        [(1_000_000, 10, 20_000), (2_000_000, 10, 20_000), (3_000_000, 15, 60_000)]
    {
        let row = |direction| AqmSample {
            t_us,
            direction,
            backlog_packets: Some(1),
            backlog_bytes: Some(1_514),
            packets,
            sojourn_sum_us: Some(sojourn_sum_us),
            sojourn_us: Some(1),
            dropped_packets: 0,
            overflow_packets: 0,
            marked_packets: 0,
            probability_ppb: None,
            drop_count: Some(0),
        };
        drawing.push(&AnyRow::Aqm(row(Direction::Forward)));
        drawing.push(&AnyRow::Aqm(AqmSample {
            sojourn_sum_us: Some(9 * sojourn_sum_us),
            ..row(Direction::Reverse)
        }));
    }
    let series = drawing.finish();
    let curve = series.curves.iter().find(|curve| curve.quantity == Quantity::Sojourn).expect("drawn");
    let points: Vec<(u64, u64)> = curve.points.iter().map(|point| (point.t_us, point.value)).collect();
    assert_eq!(points, [(1_000_000, 2_000), (3_000_000, 8_000)]);
}
