//! The text of `ss -ti`, with `-m`, `-e`, `-o`, `-p` and `-O` or without: one reading, or several, with the times between them or without.
//!
//! Printed by `tcp_stats_print()` and `print_skmeminfo()` of iproute2 (`misc/ss.c`), 4.0 to 6.x. A value of 0 is mostly left out.

mod clock;
mod reading;

use crate::output::{Output, OutputConnection};
use crate::samples::are_rounds;
use clock::Clock;
use pipefill_core::record::{Gap, Observed, ReadFrom, TcpSample};
use pipefill_core::tcp_info::TcpInfo;
use reading::Reading;
use std::collections::BTreeMap;
use std::time::Duration;

/// More sockets than these are not held; a listing of a busy host has some ten thousand.
const READINGS_MAX: usize = 200_000;

/// Reads what looks like it.
pub(crate) fn read(text: &str) -> Option<Output> {
    let mut clock = Clock::default();
    let mut readings: Vec<Reading> = Vec::new();
    let mut left_out = 0;
    for line in text.lines() {
        if let Some(mut reading) = Reading::begin(line) {
            clock.note(line, false);
            if readings.len() >= READINGS_MAX {
                left_out += 1;
                continue;
            }
            reading.at_us = clock.now_us();
            readings.push(reading);
        } else if line.starts_with([' ', '\t']) || reading::has_figures(line) {
            if let Some(reading) = readings.last_mut() {
                reading.add(line);
            }
        } else {
            clock.note(line, true);
        }
    }
    // A listing without -i says nothing of a window.
    let has_figures = readings.iter().any(Reading::has_figures);
    has_figures.then_some(())?;
    let mut order: Vec<(String, String)> = Vec::new();
    let mut by_ends: BTreeMap<(String, String), Vec<Reading>> = BTreeMap::new();
    for reading in readings.into_iter().filter(Reading::has_figures) {
        let ends = (reading.local.clone(), reading.remote.clone());
        by_ends.entry(ends.clone()).or_insert_with(|| {
            order.push(ends);
            Vec::new()
        });
        if let Some(all) = by_ends.get_mut(&(reading.local.clone(), reading.remote.clone())) {
            all.push(reading);
        }
    }
    let connections = order.iter().filter_map(|ends| by_ends.remove(ends)).filter_map(connection).collect();
    Some(Output { program: "ss -ti".to_owned(), connections, left_out, ..Output::default() })
}

/// One connection by all of its readings. Counters that go back are another connection's: what was before tells nothing.
fn connection(mut readings: Vec<Reading>) -> Option<OutputConnection> {
    let goes_back = |pair: &[Reading]| match pair {
        [before, now] => {
            now.info.bytes_acked < before.info.bytes_acked
                || now.info.bytes_received < before.info.bytes_received
        }
        _ => false,
    };
    if let Some(at) = readings.windows(2).rposition(goes_back) {
        readings.drain(..=at);
    }
    let are_timed = readings.iter().all(|reading| reading.at_us.is_some());
    let (times_us, samples) = timed(&readings);
    let last = readings.last()?;
    let gaps = [
        (readings.len() == 1).then_some(Gap::Readings),
        (readings.len() > 1 && !are_timed).then_some(Gap::Times),
        last.memory.is_none().then_some(Gap::SendBuffer),
        last.info.rwnd_bytes.is_none().then_some(Gap::ReceiveWindow),
        last.info.min_rtt_us.is_none().then_some(Gap::LeastRoundTrip),
        last.info.bytes_acked.is_none().then_some(Gap::Bytes),
    ];
    Some(OutputConnection {
        observed: Observed {
            process: last.process.clone(),
            local: last.local.clone(),
            remote: last.remote.clone(),
            read_from: Some(ReadFrom {
                sample_per_round: readings.len() > 1 && are_rounds(&samples),
                gaps: gaps.into_iter().flatten().collect(),
                ..ReadFrom::default()
            }),
            ..Observed::default()
        },
        congestion_control: last.congestion_control.clone(),
        every: times_us.map_or(Duration::from_secs(1), Duration::from_micros),
        samples,
        ..OutputConnection::default()
    })
}

/// The samples, and the time from the first to the second. A single reading stands for the round trip before it: for its beginning, its middle and
/// its end.
fn timed(readings: &[Reading]) -> (Option<u64>, Vec<TcpSample>) {
    let mut samples: Vec<TcpSample> = Vec::new();
    let mut now_us = 0_u64;
    for (at, reading) in readings.iter().enumerate() {
        if let Some(before) = at.checked_sub(1).and_then(|before| readings.get(before)) {
            // The same reading twice is one.
            let Some(after_us) = reading.time_since(before).filter(|&us| us > 0) else { continue };
            now_us = now_us.saturating_add(after_us);
        }
        samples.push(reading.sample(now_us));
    }
    if let ([only], Some(reading)) = (&samples[..], readings.last()) {
        let round_trip_us = u64::from(only.info.srtt_us.unwrap_or(0)).max(1_000);
        let before = |us: u64| at_a_time_before(only, us, round_trip_us, reading.is_busy());
        samples = vec![before(round_trip_us), before(round_trip_us / 2), before(0)];
    }
    let every = samples.first().zip(samples.get(1)).map(|(first, next)| next.t_us - first.t_us);
    (every, samples)
}

/// The same `us` before, in a record that ends at `end_us`: with the bytes that the socket's own delivery rate gives for that time (`tcp_rate_gen()`).
fn at_a_time_before(sample: &TcpSample, us: u64, end_us: u64, is_busy: bool) -> TcpSample {
    let info = sample.info;
    // Of a socket with nothing outstanding the rate is one of some time ago.
    let delivered = info
        .delivery_rate_bps
        .filter(|_| info.unacked_bytes > 0)
        .map(|bps| u128::from(bps) * u128::from(us) / 8_000_000);
    let delivered = delivered.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
    let busy_us = info.busy_us.filter(|&busy_us| is_busy && busy_us > 0);
    let part = busy_us.map_or(0.0, |busy_us| us.min(busy_us) as f64 / busy_us as f64);
    // What was delivered is acknowledged, but for what came out of order.
    let bytes_acked = info.bytes_acked.map(|bytes| bytes.saturating_sub(delivered));
    // The clocks of the limits run for the same part of it as in all of the connection's life.
    let before = |clock: Option<u64>| clock.map(|now| (now as f64 * (1.0 - part)) as u64);
    let info = TcpInfo {
        bytes_acked,
        busy_us: before(info.busy_us),
        rwnd_limited_us: before(info.rwnd_limited_us),
        sndbuf_limited_us: before(info.sndbuf_limited_us),
        ..info
    };
    TcpSample { t_us: end_us - us, info, ..sample.clone() }
}
