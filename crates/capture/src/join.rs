//! One transfer, captured at both ends: what the path between them lost, duplicated, reordered, how long it took, and how the clocks differ.
//!
//! Each capture is read twice. The first time a [`Survey`] notes which connections there are; [`Pairing`] finds those that both have. The
//! second time [`join`] reads both at once, in order of time, and matches packets by sequence range.
//!
//! Memory: of a direction the packets of ten seconds, of all together [`HELD_MAX`] at most (about 150 bytes each; beyond it the oldest are
//! settled early, and counted), and [`SAMPLES_MAX`] samples of delays (32 bytes each), thinned out evenly.

mod clock;
mod pairing;
mod sent;
mod set_ahead;
mod survey;
mod thinned;
mod way;

pub use clock::Clock;
pub use pairing::{PAIRS_MAX, Pair, Pairing, Placed};
pub use set_ahead::OffsetMove;
pub use survey::{Origin, Survey};
pub use way::{Counts, LISTED, Lost, Unmatched};

use crate::headers::{self, Endpoint, Segment};
use crate::read::{ReadError, Reader};
use clock::Clouds;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use set_ahead::{SetAhead, corrected, offset_move};
use std::io::Read;
use thinned::percentile;
use way::{PairedDirection, Spans, shifted};

/// Packets of all connections that are held at once.
pub const HELD_MAX: usize = 1 << 20;
/// Samples of delays of all connections.
pub const SAMPLES_MAX: usize = 1 << 22;
/// Of one direction.
const SAMPLES_OF_ONE: usize = 1 << 12;
const SAMPLES_LEAST: usize = 64;

/// Both captures, joined.
#[derive(Debug)]
pub struct Joined {
    /// In the order of [`Pairing::pairs`].
    pub pairs: Vec<JoinedPair>,
    /// How the clock of the second capture differs from that of the first; `None` where packets of one direction alone were matched, and
    /// where one clock made both.
    pub clock: Option<Clock>,
    /// Both captures have the same clock.
    pub is_same_clock: bool,
    /// The clock of one of them was set so that the difference between both moved. There is no [`Joined::clock`] then, and no delay.
    pub offset_move: Option<OffsetMove>,
    /// Where reading the captures ended early.
    pub broken: [Option<ReadError>; 2],
}

/// A connection.
#[derive(Debug)]
pub struct JoinedPair {
    /// Who, and which capture is at which end.
    pub pair: Pair,
    /// From A to B, from B to A.
    pub ways: [JoinedWay; 2],
}

/// What the path did with the packets of one direction.
#[derive(Debug, Clone)]
pub struct JoinedWay {
    /// When its sender sent the first packet, by the clock of its capture, nanoseconds since 1970; `None` where that capture has none.
    pub first_ns: Option<u64>,
    /// Packets by what became of them.
    pub counts: Counts,
    /// The first that were lost.
    pub lost: Vec<Lost>,
    /// How long packets took; `None` where none was matched, and where the clocks can't be compared.
    pub delay: Option<Delay>,
}

/// One-way delays, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Packets whose delay is known.
    pub samples: u64,
    /// The least: what is left without any queue.
    pub least_ns: i64,
    /// Above that: what half, 95 % and 99 % of the packets do not exceed.
    pub above_ns: [i64; 3],
    /// Difference of the delays of packets that were sent one after the other (IPDV, RFC 3393), without its sign: the same shares; `None`
    /// without two of them.
    pub variation_ns: Option<[i64; 3]>,
    /// What half of the lost data would have waited: the wait of the packet that arrived before it; `None` without losses.
    pub at_loss_ns: Option<i64>,
}

/// Reads both captures and joins the connections that `pairing` found in both.
pub fn join<A: Read, B: Read>(
    first: &mut Reader<'_, A>,
    second: &mut Reader<'_, B>,
    pairing: Pairing,
) -> Joined {
    let mut joining = Joining::new(&pairing);
    let (mut broken_a, mut broken_b) = (None, None);
    let ahead = pairing.ahead.clone();
    let mut from_first = next(first, &ahead[0], &mut broken_a);
    let mut from_second = next(second, &ahead[1], &mut broken_b);
    loop {
        let at = |segment: &Segment| shifted(segment.time_ns, pairing.rough_ns);
        let is_first = match (&from_first, &from_second) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(from_first), Some(from_second)) => at(from_first) <= from_second.time_ns,
        };
        let taken = if is_first { &mut from_first } else { &mut from_second };
        if let Some(segment) = taken.take() {
            let now_ns = if is_first { at(&segment) } else { segment.time_ns };
            joining.take(usize::from(!is_first), &segment, now_ns);
        }
        if is_first {
            from_first = next(first, &ahead[0], &mut broken_a);
        } else {
            from_second = next(second, &ahead[1], &mut broken_b);
        }
    }
    let is_set_back = first.backward_times().set_back + second.backward_times().set_back > 0;
    joining.finish(pairing, [broken_a, broken_b], is_set_back)
}

/// The next TCP segment of a capture.
fn next<R: Read>(
    reader: &mut Reader<'_, R>,
    ahead: &[SetAhead],
    broken: &mut Option<ReadError>,
) -> Option<Segment> {
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                if let Ok(segment) = headers::segment(&packet) {
                    return Some(Segment { time_ns: corrected(ahead, segment.time_ns), ..segment });
                }
            }
            Ok(None) => return None,
            Err(error) => {
                *broken = Some(error);
                return None;
            }
        }
    }
}

/// From whom to whom, as one capture has it.
type Ends = (Endpoint, Endpoint);

struct Joining {
    /// For each capture: the direction of a packet, an index of `ways`.
    places: [HashMap<Ends, usize, RandomState>; 2],
    /// Two of each pair: from A to B, from B to A.
    ways: Vec<PairedDirection>,
    /// For each way, the capture of its sender.
    sender: Vec<usize>,
    held: usize,
}

impl Joining {
    fn new(pairing: &Pairing) -> Self {
        let samples = (SAMPLES_MAX / (2 * pairing.pairs.len()).max(1)).clamp(SAMPLES_LEAST, SAMPLES_OF_ONE);
        let mut joining = Self { places: Default::default(), ways: Vec::new(), sender: Vec::new(), held: 0 };
        for pair in &pairing.pairs {
            for end in [0, 1] {
                // The capture of the sender of what leaves this end.
                let at = if end == 0 { pair.at_a } else { 1 - pair.at_a };
                let rough_ns = if at == 0 { pairing.rough_ns } else { -pairing.rough_ns };
                let spans =
                    Spans { sender: pairing.spans_ns[at], receiver: pairing.spans_ns[1 - at], rough_ns };
                let index = joining.ways.len();
                for (capture, ends) in [(pair.at_a, pair.ends), (1 - pair.at_a, pair.far_ends)] {
                    joining.places[capture].insert((ends[end], ends[1 - end]), index);
                }
                joining.ways.push(PairedDirection::new(pair.mss[end], spans, samples));
                joining.sender.push(at);
            }
        }
        joining
    }

    /// A packet of capture `which`, at `now_ns` by the clock of the second.
    fn take(&mut self, which: usize, segment: &Segment, now_ns: u64) {
        let Some(&at) = self.places[which].get(&(segment.source, segment.destination)) else { return };
        let (way, sender) = (&mut self.ways[at], self.sender[at]);
        let before = way.held();
        // A way counts by the clock of its receiver: where that is the first capture's, the second one sends.
        let now_ns = if sender == 0 { now_ns } else { shifted(now_ns, way.rough_ns()) };
        if which == sender {
            way.sent(segment, now_ns);
        } else {
            way.arrived(segment, now_ns);
        }
        self.held = (self.held + way.held()).saturating_sub(before);
        while self.held > HELD_MAX && way.held() > 0 {
            let before = way.held();
            way.make_room();
            self.held = (self.held + way.held()).saturating_sub(before);
        }
    }

    /// Where the clock of either capture was set, by how much they differ is not known at any time, nor what depends on it.
    fn finish(mut self, pairing: Pairing, broken: [Option<ReadError>; 2], is_set_back: bool) -> Joined {
        let set_ahead = offset_move(&pairing.ahead);
        self.ways.iter_mut().for_each(PairedDirection::finish);
        let least = |way: &PairedDirection| way.least_ns;
        // One clock makes no packet arrive before it was sent.
        let is_same_clock = pairing.is_same_clock
            && !is_set_back
            && set_ahead.is_none()
            && self.ways.iter().filter_map(least).all(|least| least >= 0);
        let clouds = if is_same_clock { None } else { self.clouds(&pairing) };
        let offset_move = set_ahead.or_else(|| clouds.as_ref()?.offset_move().filter(|_| !is_set_back));
        let clock = clouds.filter(|_| !is_set_back && offset_move.is_none()).map(|clouds| clouds.clock());
        let mut ways = self.ways.into_iter();
        let mut pairs = Vec::new();
        for pair in pairing.pairs {
            let compared = Compared { clock, is_same_clock, at_a: pair.at_a };
            let (Some(forward), Some(reverse)) = (ways.next(), ways.next()) else { break };
            let ways = [joined(forward, &compared, 0), joined(reverse, &compared, 1)];
            pairs.push(JoinedPair { pair, ways });
        }
        Joined { pairs, clock, is_same_clock, offset_move, broken }
    }

    /// From the connection of which most was matched in both directions.
    fn clouds(&self, pairing: &Pairing) -> Option<Clouds> {
        let known = |at: usize| self.ways[2 * at].delays.seen.min(self.ways[2 * at + 1].delays.seen);
        let best = (0..pairing.pairs.len()).max_by_key(|&at| (known(at), std::cmp::Reverse(at)))?;
        let ways = [&self.ways[2 * best].envelope, &self.ways[2 * best + 1].envelope];
        let [forward, reverse] = if pairing.pairs[best].at_a == 0 { ways } else { [ways[1], ways[0]] };
        Clouds::of(forward.points(), reverse.points())
    }
}

/// How times of both captures are compared.
struct Compared {
    clock: Option<Clock>,
    is_same_clock: bool,
    at_a: usize,
}

impl Compared {
    /// What a packet took that left end `end` at `sent_ns` and arrived `delay_ns` later, by the two clocks.
    fn delay_ns(&self, end: usize, sent_ns: u64, delay_ns: i64) -> Option<i64> {
        let Some(clock) = &self.clock else { return self.is_same_clock.then_some(delay_ns) };
        let is_from_first = (end == 0) == (self.at_a == 0);
        Some(if is_from_first {
            delay_ns.saturating_sub(clock.ahead_ns(sent_ns))
        } else {
            delay_ns.saturating_add(clock.ahead_ns(shifted(sent_ns, delay_ns)))
        })
    }
}

fn joined(way: PairedDirection, compared: &Compared, end: usize) -> JoinedWay {
    let delay = delay(&way, compared, end);
    JoinedWay { first_ns: way.first_ns, counts: way.counts, lost: way.lost, delay }
}

fn delay(way: &PairedDirection, compared: &Compared, end: usize) -> Option<Delay> {
    let of = |&(sent_ns, delay_ns): &(u64, i64)| compared.delay_ns(end, sent_ns, delay_ns);
    let least_ns = way.envelope.points().filter_map(|point| of(&point)).min()?;
    let above = |point: &(u64, i64)| Some(of(point)?.saturating_sub(least_ns).max(0));
    let mut waits: Vec<i64> = way.delays.all.iter().filter_map(above).collect();
    waits.sort_unstable();
    let mut variations: Vec<i64> = way.variations.all.iter().map(|value| value.saturating_abs()).collect();
    variations.sort_unstable();
    let mut at_loss: Vec<i64> =
        way.lost_ns.all.iter().filter_map(|&lost| above(before(way, lost)?)).collect();
    at_loss.sort_unstable();
    Some(Delay {
        samples: way.delays.seen,
        least_ns,
        above_ns: percentiles(&waits)?,
        variation_ns: percentiles(&variations),
        at_loss_ns: percentile(&at_loss, 50),
    })
}

/// The last sample of a packet that was sent before `lost_ns`.
fn before(way: &PairedDirection, lost_ns: u64) -> Option<&(u64, i64)> {
    let at = way.delays.all.partition_point(|&(sent_ns, _)| sent_ns <= lost_ns);
    way.delays.all.get(at.checked_sub(1)?)
}

fn percentiles(sorted: &[i64]) -> Option<[i64; 3]> {
    Some([percentile(sorted, 50)?, percentile(sorted, 95)?, percentile(sorted, 99)?])
}
