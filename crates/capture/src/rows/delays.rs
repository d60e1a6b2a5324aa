//! How much longer the packets of a side were under way than its fastest one, by the clock that their timestamps show (RFC 7323, 4.1).
//!
//! What grows or shrinks as slowly as clocks differ is taken for that difference.

/// A timestamp, and when a segment with it passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) at_ns: u64,
    pub(super) tsval: u32,
}

/// What one tick of a timestamp clock lasts: Linux, Windows and the BSDs of today; what is older; Linux where a route asks for it (`tcp_usec_ts`).
const TICKS_NS: [i64; 3] = [1_000_000, 10_000_000, 1_000];
/// Ticks after which the clock is known.
const KNOWN_AFTER: i64 = 64;
/// A queue that drains while packets pass makes ticks look shorter, by at most this factor …
const SHORTEST: f64 = 0.8;
/// … and one that fills longer.
const LONGEST: f64 = 3.0;
/// Clocks differ by at most this part.
const SKEW: f64 = 200e-6;

/// Of points in order of time: microseconds by which each came later than the fastest one, less a tick, which it may have been sent later. Where there is no point, that of
/// the one before; absent before the first, and where the clock is not known.
pub(super) fn delays_us(points: &[Option<Stamped>]) -> Vec<Option<u32>> {
    let (mut before, mut ticks) = (None::<Stamped>, 0_i64);
    let counted = points.iter().map(|point| {
        let point = (*point)?;
        let since = before.map_or(0, |before| point.tsval.wrapping_sub(before.tsval).cast_signed());
        ticks += i64::from(since);
        before = Some(point);
        Some((point.at_ns, ticks))
    });
    let counted: Vec<Option<(u64, i64)>> = counted.collect();
    let known: Vec<(u64, i64)> = counted.iter().flatten().copied().collect();
    let Some(&(first_ns, _)) = known.first() else { return vec![None; points.len()] };
    let tick_ns = tick_ns(&known);
    let late_ns = |(at_ns, ticks): (u64, i64)| {
        let passed_ns = i64::try_from(at_ns.saturating_sub(first_ns)).ok()?;
        passed_ns.checked_sub(ticks.checked_mul(tick_ns?)?)
    };
    let late = counted.iter().map(|point| Some((point.as_ref()?.0, late_ns((*point)?)?)));
    let mut late: Vec<Option<(u64, i64)>> = late.collect();
    remove_skew(&mut late);
    let least_ns = late.iter().flatten().map(|&(_, ns)| ns).min().unwrap_or(0);
    let delay_us = |(_, ns): (u64, i64)| {
        let ns = ns.saturating_sub(least_ns).saturating_sub(tick_ns.unwrap_or(0)).max(0);
        u32::try_from(ns / 1_000).unwrap_or(u32::MAX)
    };
    let mut last = None;
    let last_us = |point: Option<(u64, i64)>| {
        last = point.map(delay_us).or(last);
        last
    };
    late.into_iter().map(last_us).collect()
}

/// Takes off what the fastest packets of the first and of the last third show of clocks that differ.
fn remove_skew(late: &mut [Option<(u64, i64)>]) {
    let third = late.len() / 3;
    let fastest = |part: &[Option<(u64, i64)>]| part.iter().flatten().copied().min_by_key(|&(_, ns)| ns);
    let Some((first, last)) = fastest(&late[..third]).zip(fastest(&late[late.len() - third..])) else {
        return;
    };
    let skew = last.1.saturating_sub(first.1) as f64 / last.0.saturating_sub(first.0).max(1) as f64;
    if skew.abs() <= SKEW {
        let since_first = |at_ns: u64| (at_ns as f64 - first.0 as f64) * skew;
        late.iter_mut().flatten().for_each(|(at_ns, ns)| *ns = ns.saturating_sub(since_first(*at_ns) as i64));
    }
}

/// The tick of the clock that gave `points`, each with its ticks so far: that of all the time, else of the part in which it looks shortest.
fn tick_ns(points: &[(u64, i64)]) -> Option<i64> {
    let measured = |from: &(u64, i64), to: &(u64, i64)| {
        let ticks = to.1 - from.1;
        (ticks >= KNOWN_AFTER).then(|| to.0.saturating_sub(from.0) as f64 / ticks as f64)
    };
    let explains = |measured: f64| {
        TICKS_NS.into_iter().find(|&tick_ns| (SHORTEST..=LONGEST).contains(&(measured / tick_ns as f64)))
    };
    let parts = points
        .iter()
        .enumerate()
        .filter_map(|(at, from)| points[at..].iter().find_map(|to| measured(from, to)));
    let all = measured(points.first()?, points.last()?)?;
    explains(all).or_else(|| explains(parts.reduce(f64::min)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A packet each 10 ms by a clock of `tick_ns`, each so much later than the first.
    fn delays(tick_ns: u64, late_ms: impl Fn(u64) -> u64) -> Vec<Option<u32>> {
        let point = |at: u64| {
            let tsval = (u64::from(u32::MAX) - 50 + at * 10 * MS / tick_ns) as u32;
            Some(Stamped { at_ns: 1_000 * MS + at * 10 * MS + late_ms(at) * MS, tsval })
        };
        delays_us(&(0..200).map(point).collect::<Vec<_>>())
    }

    #[test]
    fn a_queue_that_fills_makes_each_packet_later() {
        for tick_ns in [MS, 10 * MS, 1_000] {
            let delays = delays(tick_ns, |at| 7 * at);
            let tick_us = tick_ns / 1_000;
            let expected = |at: u64| Some((7_000 * at).saturating_sub(tick_us) as u32);
            assert!((0..200).all(|at| delays[at as usize] == expected(at)), "{tick_ns}");
        }
    }

    /// Four fifths of the time that passes, once 200 ms have passed.
    #[test]
    fn a_queue_may_fill_several_times_as_fast_as_clocks_tick() {
        let delays = delays(MS, |at| 40 * at.saturating_sub(20));
        assert_eq!((delays[20], delays[199]), (Some(0), Some(7_159_000)));
    }

    #[test]
    fn a_queue_that_drains_is_seen_from_its_end() {
        let delays = delays(MS, |at| (200 - at) / 2);
        assert_eq!((delays[0], delays[199]), (Some(99_000), Some(0)));
    }

    /// 150 ppm over 2,000 s.
    #[test]
    fn clocks_that_differ_are_no_queue() {
        for ppm in [150, -150_i64] {
            let point = |at: u64| {
                let skew_ns = (at * 10_000 * MS) as i64 / 1_000_000 * ppm;
                let at_ns = (1_000 * MS + at * 10_000 * MS).wrapping_add_signed(skew_ns);
                Some(Stamped { at_ns, tsval: (at * 10_000) as u32 })
            };
            let delays = delays_us(&(0..200).map(point).collect::<Vec<_>>());
            assert!(delays.iter().all(|&delay| delay == Some(0)), "{ppm}");
        }
    }

    #[test]
    fn other_clocks_and_few_packets_tell_nothing() {
        assert!(delays(4 * MS, |_| 0).iter().all(Option::is_none));
        let few = [Some(Stamped { at_ns: 0, tsval: 1 }), None, Some(Stamped { at_ns: 9 * MS, tsval: 10 })];
        assert_eq!(delays_us(&few), [None; 3]);
        assert_eq!(delays_us(&[]), []);
    }
}
