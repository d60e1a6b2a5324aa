//! A rate of data that arrive, where it stays the same: how evenly they come, and how long the round trips are meanwhile.
//!
//! Without a loss and without a queue in the round trip that is no congestion window's, which would grow, and no path's, which would make a queue.

use super::span::{length, new_bytes_unevenness};
use crate::ground::thresholds::{THIRDS, Thresholds};
use pipefill_core::evidence::SteadyRate;
use pipefill_core::record::PacketSample;

/// A span of some round trips.
#[derive(Debug, Clone, Copy)]
struct ArrivalSpan {
    from_us: u64,
    to_us: u64,
    rate: f64,
    unevenness: f64,
    rtt_us: u32,
    out_of_order: u32,
    bursts_in_round_trip: f64,
}

/// `None` where the rate does not stay the same.
pub(crate) fn steady_rate(samples: &[PacketSample], t: &Thresholds) -> Option<SteadyRate> {
    steady(&spans(samples, t), t)
}

/// Share of the spans in which bursts come further apart than a round trip; `None` without spans.
pub(crate) fn apart_share(samples: &[PacketSample], t: &Thresholds) -> Option<f64> {
    apart(&spans(samples, t), t)
}

/// See [`ArrivingPackets::paused_share`](pipefill_core::evidence::ArrivingPackets::paused_share).
pub(crate) fn paused_share(samples: &[PacketSample], t: &Thresholds) -> f64 {
    let Some(rtt_us) = samples.iter().filter_map(|sample| sample.path_rtt_us).min() else { return 0.0 };
    let longest_us = u64::from(rtt_us) + t.delayed_ack_us.whole();
    let Some((first, last)) = samples.first().zip(samples.last()) else { return 0.0 };
    let (mut paused_us, mut last_heard) = (0, None::<&PacketSample>);
    let (mut bursts, mut before, mut pushes) = (Vec::new(), first.sent_bytes(), 0);
    // What is acknowledged came, also where the capture does not have it.
    let comes = samples.windows(2).filter(|two| two[1].sent_bytes() > two[0].sent_bytes()).map(|two| &two[1]);
    for sample in comes {
        // A silence in which this side speaks is a turn.
        if let Some(last) = last_heard.filter(|last| last.peer_segments == sample.peer_segments) {
            let silent_us = sample.t_us.saturating_sub(last.t_us);
            // In the middle of what was written it is no pause of the program's.
            let goes_on = pushes == 0 && sample.waits.resumptions > last.waits.resumptions;
            if silent_us > longest_us && !goes_on {
                paused_us += silent_us;
                bursts.push(last.sent_bytes().saturating_sub(before));
                before = last.sent_bytes();
            }
            if silent_us > longest_us {
                pushes = 0;
            }
        }
        pushes += sample.pushes;
        last_heard = Some(sample);
    }
    // Slow start on a round trip that was shorter before: each burst is larger than the last one, and the rest follows.
    let grows = |two: &[u64]| two[1] as f64 >= t.slow_start_growth.value() * two[0] as f64;
    if bursts.len() > 1 && bursts.windows(2).all(grows) {
        return 0.0;
    }
    paused_us as f64 / last.t_us.saturating_sub(first.t_us).max(1) as f64
}

/// See [`ArrivingPackets::single_share`](pipefill_core::evidence::ArrivingPackets::single_share).
pub(crate) fn single_share(samples: &[PacketSample], t: &Thresholds) -> f64 {
    let Some(rtt_us) = samples.iter().filter_map(|sample| sample.path_rtt_us).min().map(f64::from) else {
        return 0.0;
    };
    let comes: Vec<&PacketSample> = samples.iter().filter(|sample| sample.new_bytes() > 0).collect();
    let Some((first, last)) = comes.first().zip(comes.last()) else { return 0.0 };
    let goes_on = |two: &[&PacketSample]| {
        two[0].pushes == 0
            && two[1].new_bytes() == u64::from(two[1].mss_bytes)
            && two[1].peer_segments == two[0].peer_segments
            && two[1].out_of_order_segments == two[0].out_of_order_segments
    };
    let apart_us = |two: &[&PacketSample]| two[1].t_us.saturating_sub(two[0].t_us) as f64;
    let gaps = || comes.windows(2).filter(|two| goes_on(two)).map(apart_us).filter(|us| 2.0 * us >= rtt_us);
    // A sender with one segment outstanding sends the next a round trip later.
    let in_turn = t.single_in_turn_from.value() * rtt_us..t.single_in_turn_to.value() * rtt_us;
    let Some(usual_us) = middle(gaps()).filter(|us| !in_turn.contains(us)) else { return 0.0 };
    let even = gaps().filter(|us| (us - usual_us).abs() <= t.single_even.value() * usual_us);
    even.sum::<f64>() / last.t_us.saturating_sub(first.t_us).max(1) as f64
}

/// See [`ArrivingPackets::resumed_share`](pipefill_core::evidence::ArrivingPackets::resumed_share).
pub(crate) fn resumed_share(samples: &[PacketSample], t: &Thresholds) -> Option<f64> {
    let bursts = samples.iter().map(|sample| f64::from(sample.bursts)).sum::<f64>();
    let resumptions = f64::from(samples.last()?.waits.resumptions);
    (bursts >= t.resumed_bursts.value()).then_some(resumptions / bursts)
}

/// See [`ArrivingPackets::bursts_in_round_trip`](pipefill_core::evidence::ArrivingPackets::bursts_in_round_trip).
pub(crate) fn bursts_in_round_trip(samples: &[PacketSample]) -> Option<f64> {
    let rtt_us = samples.iter().filter_map(|sample| sample.path_rtt_us).min()?;
    let bursts: u64 = samples.iter().skip(1).map(|sample| u64::from(sample.bursts)).sum();
    let span_us = samples.last()?.t_us.saturating_sub(samples.first()?.t_us);
    (span_us > 0).then(|| (bursts * u64::from(rtt_us)) as f64 / span_us as f64)
}

/// See [`ArrivingPackets::fallen_share`](pipefill_core::evidence::ArrivingPackets::fallen_share).
pub(crate) fn fallen_share(samples: &[PacketSample], t: &Thresholds) -> f64 {
    let Some(rtt_us) = samples.iter().filter_map(|sample| sample.path_rtt_us).min() else { return 0.0 };
    let Some(first) = samples.iter().find(|sample| sample.sent_bytes() > 0) else { return 0.0 };
    let segment = samples.iter().map(|sample| u64::from(sample.mss_bytes)).max().unwrap_or(0);
    let in_order =
        samples.partition_point(|sample| sample.out_of_order_segments == first.out_of_order_segments);
    let samples = &samples[..in_order];
    let Some(last) = samples.last() else { return 0.0 };
    // A flight that is paced takes most of a round trip.
    let cut_us = first.t_us + (t.slow_start_paced.value() * f64::from(rtt_us)) as u64;
    let round_us = u64::from(rtt_us).max(1);
    let rounds = last.t_us.saturating_sub(cut_us).div_ceil(round_us).saturating_sub(1);
    let flights = flights(samples, cut_us, round_us);
    let flights = &flights[..flights.partition_point(|&(round, _)| round < rounds)];
    let Some((&(end, _), before)) = flights.split_last() else { return 0.0 };
    let fallen = before.iter().zip(&flights[1..]).filter(|((round, flight), (next, bytes))| {
        let bytes = if *next == round + 1 { *bytes } else { 0 };
        round + 1 < end
            && *flight >= t.packet_fallen_segments.whole() * segment
            && (bytes as f64) < t.packet_fallen.value() * *flight as f64
    });
    fallen.count() as f64 / rounds.max(1) as f64
}

/// The rounds of so long after a time in which something came, by their numbers, and how much, bytes: of a connection that is open for days they
/// are few.
fn flights(samples: &[PacketSample], from_us: u64, round_us: u64) -> Vec<(u64, u64)> {
    let (mut flights, mut sent) = (Vec::<(u64, u64)>::new(), 0);
    for sample in samples {
        // A SYN that is not acknowledged yet is outstanding too, and no data.
        let bytes = sample.sent_bytes().saturating_sub(sent);
        sent = sample.sent_bytes().max(sent);
        let Some(since_us) = sample.t_us.checked_sub(from_us).filter(|_| bytes > 0) else { continue };
        let round = since_us / round_us;
        match flights.last_mut() {
            Some((last, flight)) if *last == round => *flight += bytes,
            _ => flights.push((round, bytes)),
        }
    }
    flights
}

fn spans(samples: &[PacketSample], t: &Thresholds) -> Vec<ArrivalSpan> {
    let rtt_us = samples.iter().filter_map(|sample| sample.receiver_rtt_us).min().map(Into::into);
    let (mut spans, mut rest) = (Vec::new(), samples);
    while !rest.is_empty() {
        let (own, later) = rest.split_at(length(rest, rtt_us, t));
        rest = later;
        spans.extend(ArrivalSpan::of(own));
    }
    // What is left over at the end says little.
    let whole_us = spans.first().map_or(0, ArrivalSpan::length_us);
    spans.pop_if(|last| last.length_us() < whole_us.div_ceil(2));
    spans
}

fn apart(spans: &[ArrivalSpan], t: &Thresholds) -> Option<f64> {
    let bursts = t.arrival_bursts_rare.value()..=t.arrival_bursts_apart.value();
    let apart = spans.iter().filter(|span| bursts.contains(&span.bursts_in_round_trip)).count();
    (!spans.is_empty()).then(|| apart as f64 / spans.len() as f64)
}

fn steady(spans: &[ArrivalSpan], t: &Thresholds) -> Option<SteadyRate> {
    let usual = middle(spans.iter().map(|span| span.rate))?;
    let least_us = spans.iter().map(|span| span.rtt_us).min()?;
    let started = spans.iter().position(|span| span.rate >= t.receiver_started.value() * usual)?;
    let settled = &spans[started..];
    let same = t.arrival_same.value() * usual;
    let is_same = |span: &ArrivalSpan| (span.rate - usual).abs() <= same && span.out_of_order == 0;
    if settled.len() < t.arrival_spans.count() || !settled.iter().all(is_same) || has_trend(settled, t) {
        return None;
    }
    let risen = || settled.iter().map(|span| f64::from(span.rtt_us) / f64::from(least_us.max(1)));
    let time = |spans: &[ArrivalSpan]| spans.iter().map(ArrivalSpan::length_us).sum::<u64>() as f64;
    Some(SteadyRate {
        share: time(settled) / time(spans),
        unevenness: middle(settled.iter().map(|span| span.unevenness))?,
        rtt_risen_most: nearly_most(risen(), t.arrival_flat_share.value())?,
        rtt_risen: middle(risen())?,
        bursts_in_round_trip: middle(settled.iter().map(|span| span.bursts_in_round_trip))?,
    })
}

impl ArrivalSpan {
    fn of(samples: &[PacketSample]) -> Option<Self> {
        let (first, last) = (samples.first()?, samples.last()?);
        let bytes: f64 = samples.iter().skip(1).map(|sample| sample.new_bytes() as f64).sum();
        let length_us = last.t_us.checked_sub(first.t_us).filter(|&us| us > 0)?;
        Some(Self {
            from_us: first.t_us,
            to_us: last.t_us,
            rate: bytes / length_us as f64,
            unevenness: new_bytes_unevenness(samples)?,
            rtt_us: samples.iter().filter_map(|sample| sample.receiver_rtt_us).max()?.into(),
            out_of_order: last.out_of_order_segments.saturating_sub(first.out_of_order_segments),
            bursts_in_round_trip: bursts_in_round_trip(samples).unwrap_or(0.0),
        })
    }

    const fn length_us(&self) -> u64 {
        self.to_us - self.from_us
    }
}

/// A congestion window grows.
fn has_trend(spans: &[ArrivalSpan], t: &Thresholds) -> bool {
    let third = (spans.len() / THIRDS).max(1).min(spans.len());
    let mean = |spans: &[ArrivalSpan]| spans.iter().map(|span| span.rate).sum::<f64>() / spans.len() as f64;
    let (first, last) = (mean(&spans[..third]), mean(&spans[spans.len() - third..]));
    (last - first).abs() > t.arrival_trend.value() * first
}

/// The least of the values that at most that share of them exceeds: a single late ACK says nothing.
fn nearly_most(values: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let beyond = (share * all.len() as f64) as usize;
    all.iter().rev().nth(beyond).copied()
}

/// Of an even number of values the upper one.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    fn found_rate(change: impl Fn(usize, &mut ArrivalSpan)) -> Option<SteadyRate> {
        let span = |at: usize| {
            let from_us = at as u64 * 100_000;
            let mut span = ArrivalSpan {
                from_us,
                to_us: from_us + 100_000,
                rate: 1.0,
                unevenness: 0.0,
                rtt_us: 20_000,
                out_of_order: 0,
                bursts_in_round_trip: 0.0,
            };
            change(at, &mut span);
            span
        };
        steady(&(0..20).map(span).collect::<Vec<_>>(), &STANDARD)
    }

    fn sample(t_us: u64, unacked_bytes: u64, path_rtt_us: u32) -> PacketSample {
        let path_rtt_us = Some(path_rtt_us);
        PacketSample { t_us, unacked_bytes, mss_bytes: 1460, path_rtt_us, ..PacketSample::default() }
    }

    #[test]
    fn of_a_connection_that_is_open_for_years_those_rounds_count_in_which_something_came() {
        const YEAR_US: u64 = 31_536_000_000_000;
        let at = |t_us, unacked_bytes| sample(t_us, unacked_bytes, 1_000);
        let bursts = [(10, 100_000), (2_000, 200_000), (3_000, 210_000), (4_000, 310_000), (9_000, 320_000)];
        let mut samples: Vec<PacketSample> = bursts.map(|(t_us, bytes)| at(t_us, bytes)).to_vec();
        let fallen = fallen_share(&samples, &STANDARD);
        assert!((fallen - 1.0 / 8.0).abs() < 1e-9, "{fallen}");
        samples.push(at(14 * YEAR_US, 330_000));
        assert!(fallen_share(&samples, &STANDARD) < 1e-9);
    }

    #[test]
    fn a_syn_that_is_outstanding_is_no_flight() {
        let at = |t_us, unacked_bytes| sample(t_us, unacked_bytes, 86_000);
        let samples = [at(0, 1), at(86_000, 0), at(190_000, 0), at(190_100, 1460)];
        assert_eq!(fallen_share(&samples, &STANDARD).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_rate_that_stays_the_same_is_found_from_its_start_on() {
        let whole = SteadyRate { share: 1.0, rtt_risen_most: 1.0, rtt_risen: 1.0, ..SteadyRate::default() };
        assert_eq!(found_rate(|_, _| ()), Some(whole));
        assert_eq!(
            found_rate(|_, span| span.unevenness = 1.3),
            Some(SteadyRate { unevenness: 1.3, ..whole })
        );
        let in_bursts = found_rate(|_, span| span.bursts_in_round_trip = 1.0);
        assert_eq!(in_bursts, Some(SteadyRate { bursts_in_round_trip: 1.0, ..whole }));
        assert_eq!(
            found_rate(|at, span| span.rate = if at == 0 { 0.2 } else { 1.0 }),
            Some(SteadyRate { share: 0.95, ..whole })
        );
        let risen = found_rate(|at, span| span.rtt_us += at as u32 * 200).map(|rate| rate.rtt_risen_most);
        assert_eq!(risen, Some(1.17), "a queue grows");
        let late = |at, span: &mut ArrivalSpan| span.rtt_us *= if at == 9 { 2 } else { 1 };
        assert_eq!(found_rate(late), Some(whole), "a late ACK");
    }

    #[test]
    fn bursts_are_apart_where_fewer_than_one_comes_in_a_round_trip() {
        let span = |bursts_in_round_trip| ArrivalSpan {
            from_us: 0,
            to_us: 100_000,
            rate: 1.0,
            unevenness: 1.0,
            rtt_us: 20_000,
            out_of_order: 1,
            bursts_in_round_trip,
        };
        let share =
            |bursts: &[f64]| apart(&bursts.iter().map(|&bursts| span(bursts)).collect::<Vec<_>>(), &STANDARD);
        assert_eq!(share(&[0.5, 0.85, 0.3, 0.67]), Some(1.0));
        assert_eq!(share(&[1.0, 1.0, 0.86, 0.5]), Some(0.25), "a window's come once in each");
        assert_eq!(share(&[0.0, 0.29]), Some(0.0), "pauses");
        assert_eq!(share(&[]), None);
    }

    #[test]
    fn a_loss_or_a_rate_that_grows_is_not_steady() {
        assert_eq!(found_rate(|at, span| span.out_of_order = u32::from(at == 9)), None, "a loss");
        assert_eq!(found_rate(|at, span| span.rate += at as f64 / 200.0), None, "a window that grows");
        assert_eq!(found_rate(|at, span| span.rate += (at % 2) as f64), None, "now more, now less");
    }

    /// What arrives with a round trip of 200 ms, a sample each 10 ms: `bytes` in each.
    fn arriving(bytes: impl Fn(u64) -> u64) -> Vec<PacketSample> {
        let mut acked_bytes = 0;
        let sample = |at: u64| {
            acked_bytes += bytes(at);
            PacketSample {
                t_us: at * 10_000,
                acked_bytes,
                unprompted_bytes: bytes(at) as u32,
                mss_bytes: 1_448,
                path_rtt_us: Some(200_000),
                ..PacketSample::default()
            }
        };
        (0..600).map(sample).collect()
    }

    #[test]
    fn a_pause_is_longer_than_a_round_trip_and_a_delayed_ack() {
        let paused = |every: u64| {
            let samples = arriving(|at| if at.is_multiple_of(every) { 40_000 } else { 0 });
            paused_share(&samples, &STANDARD)
        };
        assert_eq!([paused(1), paused(20), paused(24)], [0.0; 3], "ACKs may have let it out");
        assert_eq!(
            [paused(25), paused(90)],
            [22.0 * 25.0 / 599.0, 5.0 * 90.0 / 599.0],
            "from the second burst on to the last one"
        );
        let mut asked = arriving(|at| if at.is_multiple_of(90) { 40_000 } else { 0 });
        asked.iter_mut().for_each(|sample| sample.peer_segments = Some((sample.t_us / 900_000) as u32));
        assert_eq!(paused_share(&asked, &STANDARD), 0.0, "this side asks in each");
    }

    /// Full segments, one each 290 ms, with a round trip of `rtt_us`.
    fn single(rtt_us: u32, change: impl Fn(u64, &mut PacketSample)) -> f64 {
        let sample = |at: u64| {
            let mut sample = PacketSample {
                t_us: at * 290_000,
                acked_bytes: at * 1_448,
                unprompted_bytes: 1_448,
                mss_bytes: 1_448,
                path_rtt_us: Some(rtt_us),
                ..PacketSample::default()
            };
            change(at, &mut sample);
            sample
        };
        single_share(&(0..50).map(sample).collect::<Vec<_>>(), &STANDARD)
    }

    #[test]
    fn single_segments_are_a_lines_where_nothing_else_lets_them_out_so() {
        assert_eq!([single(100_000, |_, _| ()), single(500_000, |_, _| ())], [1.0; 2]);
        assert!((0.5..0.7).contains(&single(100_000, |at, sample| {
            sample.t_us += if at % 5 == 4 { 70_000 } else { 0 };
        })));
        type Change = dyn Fn(u64, &mut PacketSample);
        let others: [(u32, &Change, &str); 6] = [
            (280_000, &|_, _| (), "the ACK of the one before lets it out"),
            (700_000, &|_, _| (), "more than two in a round trip"),
            (100_000, &|_, sample| sample.pushes = 1, "each is a write"),
            (100_000, &|_, sample| sample.unprompted_bytes = 2_896, "two at once"),
            (100_000, &|at, sample| sample.peer_segments = Some(at as u32), "each is asked for"),
            (100_000, &|at, sample| sample.out_of_order_segments = at as u32, "each fills a hole"),
        ];
        for (rtt_us, change, why) in others {
            assert_eq!(single(rtt_us, change).to_bits(), 0.0_f64.to_bits(), "{why}");
        }
    }

    #[test]
    fn a_round_trip_that_brings_less_than_half_of_the_one_before_has_fallen() {
        let fallen = |flights: &[u64]| {
            let samples =
                arriving(|at| if at % 20 == 0 { flights[(at / 20) as usize % flights.len()] } else { 0 });
            fallen_share(&samples, &STANDARD)
        };
        assert!(fallen(&[120_000, 50_000]) > 0.4, "{}", fallen(&[120_000, 50_000]));
        assert_eq!(fallen(&[120_000, 70_000]), 0.0, "more than half");
        assert_eq!(fallen(&[20_000, 5_000]), 0.0, "of a few segments");
        let growing: Vec<u64> = (1..=30).map(|round| round * 20_000).collect();
        assert_eq!(fallen(&growing), 0.0, "a window");
    }
}
