//! A connection of any length for a reader who looks at any part of it: coarser and coarser levels, and where every segment is worth its room.
//!
//! Invariants: each level has every value within one of its spans, and the counts of its spans add up to the values; rare series are the
//! same at every level. What [`choose`] returns costs no more than it may.

use super::{Graphs, Series, Spans};

/// A level's spans are this many times as long as those of the level below it.
const FACTOR: u64 = 4;
/// With fewer spans of the largest series a level is the last one.
const COARSEST: usize = 400;
/// How many series at most hold their value until the next one: that value is repeated at the begin of each range.
const HOLDING: u64 = 6;
/// The begin of the connection gets one part in this many of the room.
const BEGIN: u64 = 8;
/// Cells of a part that is chosen for no other reason than that nothing near it is shown in full.
const SAMPLE_CELLS: usize = 32;

/// One level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// What comes within one of the times of this length, which follow one another from the connection's first packet, is one span; nanoseconds.
    pub cell_ns: u64,
    /// The series that are not rare and not empty.
    pub series: Vec<(Series, Spans)>,
}

/// Levels of what was collected in cells, the finest first.
pub fn levels(graphs: &Graphs) -> Vec<Level> {
    let common = Series::ALL.into_iter().filter(|series| !series.is_rare());
    let series = common.map(|series| (series, graphs.of(series).clone()));
    let finest = series.filter(|(_, spans)| !spans.is_empty()).collect();
    let mut all = vec![Level { cell_ns: graphs.cell_ns().max(1), series: finest }];
    while let Some(level) = all.last().filter(|level| level.largest() > COARSEST) {
        let cell_ns = level.cell_ns.saturating_mul(FACTOR);
        let series = level.series.iter().map(|(series, spans)| (*series, spans.in_cells(cell_ns)));
        let coarser = Level { cell_ns, series: series.collect() };
        if cell_ns == level.cell_ns {
            break;
        }
        all.push(coarser);
    }
    all
}

impl Level {
    fn largest(&self) -> usize {
        self.series.iter().map(|(_, spans)| spans.as_slice().len()).max().unwrap_or(0)
    }
}

/// Where every segment is to be kept, in whole cells of `graphs`, from its counts: all of it where that has at most `most` values; else the
/// begin, then what is around retransmissions, zero windows and other rare events, then parts spread over the whole. Ranges as
/// [`Wanted::ranges`](super::Wanted::ranges) has them; none where there is no room.
pub fn choose(graphs: &Graphs, most: u64) -> Vec<[u64; 2]> {
    let [from_ns, to_ns] = graphs.range_ns();
    let mut cells = Cells::of(graphs);
    if cells.costs.iter().sum::<u64>() <= most {
        return vec![[from_ns, to_ns.saturating_add(1)]];
    }
    let events = cells.events(graphs);
    let rtt_ns = u64::from(graphs.rtt_us().unwrap_or(0)) * 1000;
    let of_rtt = usize::try_from(rtt_ns / cells.cell_ns).unwrap_or(usize::MAX).clamp(1, cells.costs.len());
    (0..cells.costs.len()).for_each(|cell| cells.take(cell, most / BEGIN));
    for (before, after) in [(0, 0), (1, 1), (1, of_rtt), (2 * of_rtt, 2 * of_rtt)] {
        for event in spread(events.len()).map(|place| events[place]) {
            (event.saturating_sub(before)..=event.saturating_add(after))
                .for_each(|cell| cells.take(cell, most));
        }
    }
    let parts = cells.costs.len().div_ceil(SAMPLE_CELLS);
    for part in spread(parts) {
        (part * SAMPLE_CELLS..(part + 1) * SAMPLE_CELLS).for_each(|cell| cells.take(cell, most));
    }
    cells.ranges([from_ns, to_ns.saturating_add(1)])
}

/// What the segments of each cell cost, and which cells are taken.
struct Cells {
    cell_ns: u64,
    /// Number of the first, counted from the connection's first packet.
    first: u64,
    costs: Vec<u64>,
    is_taken: Vec<bool>,
    spent: u64,
}

impl Cells {
    fn of(graphs: &Graphs) -> Self {
        let [from_ns, to_ns] = graphs.range_ns();
        // At most a few times as many as there may be spans.
        let least_ns = (to_ns - from_ns) / (graphs.wanted.common_max as u64).saturating_mul(4).max(1);
        let cell_ns = graphs.cell_ns().max(least_ns).max(1);
        let first = from_ns / cell_ns;
        let count = usize::try_from(to_ns / cell_ns - first + 1).unwrap_or(usize::MAX);
        let mut cells =
            Self { cell_ns, first, costs: vec![HOLDING; count], is_taken: vec![false; count], spent: 0 };
        for series in Series::ALL.into_iter().filter(|series| !series.is_rare()) {
            for span in graphs.of(series).as_slice() {
                let cell = cells.cell(span.from_ns);
                cells.costs[cell] += span.count;
            }
        }
        cells
    }

    fn cell(&self, at_ns: u64) -> usize {
        let number = (at_ns / self.cell_ns).saturating_sub(self.first);
        usize::try_from(number).unwrap_or(usize::MAX).min(self.costs.len() - 1)
    }

    /// The cells in which rare events are, in the order of time.
    fn events(&self, graphs: &Graphs) -> Vec<usize> {
        let rare = Series::ALL.into_iter().filter(|series| series.is_rare());
        let all = rare.flat_map(|series| graphs.of(series).as_slice());
        let mut events: Vec<usize> = all.map(|span| self.cell(span.from_ns)).collect();
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Takes it, where it is there, is not taken, and no more than `most` is spent then.
    fn take(&mut self, cell: usize, most: u64) {
        let Some(cost) = self.costs.get(cell) else { return };
        if !self.is_taken[cell] && self.spent + cost <= most {
            self.is_taken[cell] = true;
            self.spent += cost;
        }
    }

    fn ranges(&self, [from_ns, to_ns]: [u64; 2]) -> Vec<[u64; 2]> {
        let mut ranges: Vec<[u64; 2]> = Vec::new();
        for cell in (0..self.costs.len()).filter(|&cell| self.is_taken[cell]) {
            let begin = (self.first + cell as u64).saturating_mul(self.cell_ns);
            let end = begin.saturating_add(self.cell_ns);
            match ranges.last_mut().filter(|last| last[1] == begin) {
                Some(last) => last[1] = end,
                None => ranges.push([begin, end]),
            }
        }
        let clipped = ranges.into_iter().map(|[from, to]| [from.max(from_ns), to.min(to_ns)]);
        clipped.filter(|[from, to]| from < to).collect()
    }
}

/// Each number below `count` once, so that the first few are far from one another: bits in reverse order.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let bits = count.next_power_of_two().trailing_zeros();
    let reversed = move |number: usize| match bits {
        0 => number,
        _ => number.reverse_bits() >> (usize::BITS - bits),
    };
    (0..count.next_power_of_two()).map(reversed).filter(move |&number| number < count)
}

#[cfg(test)]
mod tests {
    use super::super::tests::transfer;
    use super::*;
    use crate::graphs::{Collector, Wanted};
    use crate::headers::Segment;
    use crate::tcp::{Reconstruction, Side};
    use proptest::prelude::*;

    fn collected(segments: &[Segment], wanted: &Wanted) -> Graphs {
        let mut all = Reconstruction::default();
        let mut collector = Collector::new(std::slice::from_ref(wanted));
        segments.iter().for_each(|segment| all.take_segment(segment, &mut collector));
        all.finish(&mut collector);
        collector.into_graphs().remove(0)
    }

    fn in_cells(segments: &[Segment], cells: u64) -> Graphs {
        let whole = collected(segments, &Wanted::whole(0, Side::A));
        let cell_ns = (whole.length_ns() / cells).max(1);
        let wanted = Wanted { cell_ns, common_max: 4 * cells as usize, ..Wanted::whole(0, Side::A) };
        collected(segments, &wanted)
    }

    /// Whether a value lies within a span.
    fn is_shown(spans: &Spans, at_ns: u64, low: u64, high: u64) -> bool {
        let mut all = spans.as_slice().iter();
        all.any(|span| (span.from_ns..=span.to_ns).contains(&at_ns) && span.low <= low && high <= span.high)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_value_is_at_every_level(
            count in 2_u32..900,
            lost in prop::collection::vec(0_u32..900, 0..8),
            cells in 2_u64..600,
        ) {
            let segments = transfer(count, &lost);
            let exact = collected(&segments, &Wanted::whole(0, Side::A));
            let graphs = in_cells(&segments, cells);
            let all = levels(&graphs);
            for level in &all {
                for series in Series::ALL {
                    let shown = match series.is_rare() {
                        true => Some(graphs.of(series)),
                        false => level.series.iter().find(|(of, _)| *of == series).map(|(_, spans)| spans),
                    };
                    let values = exact.of(series).as_slice();
                    prop_assert_eq!(shown.is_some_and(|spans| !spans.is_empty()), !values.is_empty());
                    let Some(shown) = shown else { continue };
                    prop_assert!(values.iter().all(|value| is_shown(shown, value.from_ns, value.low, value.high)));
                    let counted: u64 = shown.as_slice().iter().map(|span| span.count).sum();
                    prop_assert_eq!(counted, values.iter().map(|value| value.count).sum::<u64>());
                }
            }
            prop_assert_eq!(graphs.sent().bytes().iter().sum::<u64>(), exact.sent().bytes().iter().sum::<u64>());
            prop_assert!(all.windows(2).all(|pair| pair[1].cell_ns == FACTOR * pair[0].cell_ns));
            prop_assert!(all.last().is_some_and(|last| last.largest() <= COARSEST));
        }

        #[test]
        fn what_is_chosen_has_every_segment_and_costs_no_more_than_it_may(
            count in 2_u32..900,
            lost in prop::collection::vec(0_u32..900, 0..8),
            cells in 2_u64..300,
            most in 0_u64..6000,
        ) {
            let segments = transfer(count, &lost);
            let exact = collected(&segments, &Wanted::whole(0, Side::A));
            let graphs = in_cells(&segments, cells);
            let ranges = choose(&graphs, most);
            prop_assert!(ranges.iter().all(|[from, to]| from < to));
            prop_assert!(ranges.windows(2).all(|pair| pair[0][1] < pair[1][0]));
            if ranges.is_empty() {
                return Ok(());
            }
            let detail = collected(&segments, &Wanted { ranges: ranges.clone(), common_max: usize::MAX, ..Wanted::whole(0, Side::A) });
            let is_in = |at: u64| ranges.iter().any(|[from, to]| (*from..*to).contains(&at));
            let mut kept = 0;
            for series in Series::ALL.into_iter().filter(|series| !series.is_rare()) {
                let spans = detail.of(series);
                kept += spans.as_slice().len() as u64;
                prop_assert_eq!(spans.width_ns(), 0);
                for value in exact.of(series).as_slice().iter().filter(|value| is_in(value.from_ns)) {
                    let is_it = |span: &&crate::graphs::ValueSpan| (span.from_ns, span.low, span.high) == (value.from_ns, value.low, value.high);
                    prop_assert!(spans.as_slice().iter().any(|span| is_it(&span)), "{series:?} {value:?}");
                }
                prop_assert!(spans.as_slice().iter().all(|span| is_in(span.from_ns)));
            }
            prop_assert!(kept <= most, "{kept} of {most}");
        }

        #[test]
        fn a_spread_has_each_number_once(count in 0_usize..3000) {
            let mut all: Vec<usize> = spread(count).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    /// A million packets and a thousand retransmissions: the finest level and what is chosen stay within their bounds.
    #[test]
    fn a_long_transfer_is_of_bounded_size() {
        let lost: Vec<u32> = (0..1000).map(|number| number * 499 + 100).collect();
        let segments = transfer(500_000, &lost);
        assert!(segments.len() > 1_000_000);
        let (cells, most) = (4000, 50_000);
        let graphs = in_cells(&segments, cells);
        let all = levels(&graphs);
        assert!(all[0].series.iter().all(|(_, spans)| spans.as_slice().len() as u64 <= cells + 1));
        let sum = |level: &Level| level.series.iter().map(|(_, spans)| spans.as_slice().len()).sum::<usize>();
        assert!(all.iter().map(sum).sum::<usize>() <= 2 * sum(&all[0]));
        let again: usize = [Series::FastRetransmit, Series::RtoRetransmit, Series::TlpRetransmit]
            .map(|of| graphs.of(of).as_slice().len())
            .iter()
            .sum();
        assert_eq!(again, 1000);
        let ranges = choose(&graphs, most);
        let wanted = Wanted { ranges, common_max: usize::MAX, ..Wanted::whole(0, Side::A) };
        let detail = collected(&segments, &wanted);
        let kept: usize = Series::ALL.iter().map(|&of| detail.of(of).as_slice().len()).sum();
        assert!(kept as u64 <= most + 2000 && kept as u64 > most / 2, "{kept}");
    }

    #[test]
    fn a_part_begins_with_what_held_before_it() {
        let segments = transfer(100, &[]);
        let whole = collected(&segments, &Wanted::whole(0, Side::A));
        let ack = whole.of(Series::Ack).as_slice();
        let [from_ns, to_ns] = [ack[20].from_ns + 1, ack[40].from_ns];
        let part =
            collected(&segments, &Wanted { ranges: vec![[from_ns, to_ns]], ..Wanted::whole(0, Side::A) });
        let of_part = part.of(Series::Ack).as_slice();
        assert_eq!((of_part[0].from_ns, of_part[0].low), (from_ns, ack[20].low));
        assert_eq!(of_part[1..], ack[21..40]);
        assert_eq!(part.range_ns(), [from_ns, to_ns]);
        assert_eq!((part.sent().from_ns(), part.length_ns()), (from_ns, whole.length_ns()));
        let bytes = part.sent().bytes().iter().sum::<u64>();
        let inside = |span: &&crate::graphs::ValueSpan| (from_ns..to_ns).contains(&span.from_ns);
        assert_eq!(bytes, 1000 * whole.of(Series::Data).as_slice().iter().filter(inside).count() as u64);
    }
}
