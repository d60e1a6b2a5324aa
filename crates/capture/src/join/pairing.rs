//! Which connections of two captures are the same, which capture is nearer to which end, and roughly by how much the clocks differ.

use super::set_ahead::{SetAhead, clocks_set_ahead, corrected};
use super::survey::{Origin, Survey, Surveyed};
use crate::headers::Endpoint;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Connections that are joined at most, the largest first.
pub const PAIRS_MAX: usize = 1 << 12;
/// The times to both ends have to differ by this for one capture to count as nearer, µs.
const NEARER_US: i64 = 20;

/// How it is known which capture is at which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The ends answer sooner at one capture than at the other.
    Answers,
    /// From the comments of the captures.
    Comment,
    /// Assumed without evidence: the first file is the capture of the end that sent more.
    Assumed,
}

/// A connection that both captures have.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Both ends, A and B, as the capture near A has them.
    pub ends: [Endpoint; 2],
    /// The endpoints in the capture near B, which differ where a NAT is in between.
    pub far_ends: [Endpoint; 2],
    /// Which of the two captures is nearer to A: 0 or 1.
    pub at_a: usize,
    /// How that is known.
    pub placed: Placed,
    pub(super) mss: [u32; 2],
    bytes: u64,
    /// B sent more data than A.
    b_sends_more: bool,
    /// When both captures had the same data of the end that sent more.
    common: Vec<(u64, u64)>,
    /// First packets of both, where their handshake is known.
    first_ns: Option<(u64, u64)>,
}

impl Pair {
    /// The second's time of the same data less the first's, at least: their delay, and the clocks' difference.
    fn rough_ns(&self, [first, second]: &[Vec<SetAhead>; 2]) -> Option<i64> {
        let later = |&(mine, its): &(u64, u64)| signed(corrected(second, its), corrected(first, mine));
        self.common.iter().map(later).min().or_else(|| self.first_ns.as_ref().map(later))
    }

    /// Whether an address or port differs between the captures.
    pub fn is_translated(&self) -> bool {
        self.ends != self.far_ends
    }
}

/// What two captures have in common.
#[derive(Debug)]
pub struct Pairing {
    /// The connections of both, the largest first.
    pub pairs: Vec<Pair>,
    /// Connections that only the first has, and only the second.
    pub only: [u64; 2],
    /// Connections in both captures beyond [`PAIRS_MAX`], and connections beyond the number that a survey holds.
    pub left_out: u64,
    /// Both were written by one clock: by pipefill itself, in the same run.
    pub is_same_clock: bool,
    /// Approximate difference to add to times of the first capture before comparing them with times of the second.
    pub(super) rough_ns: i64,
    /// First and last packet of each, as if their clocks had not been set ahead.
    pub(super) spans_ns: [(u64, u64); 2],
    /// Where the clock of the first and of the second capture was set ahead.
    pub(super) ahead: [Vec<SetAhead>; 2],
}

impl Pairing {
    /// Which capture, 0 or 1, is at the end that sends most of the largest connection; `None` without any.
    pub fn senders_capture(&self) -> Option<usize> {
        let largest = self.pairs.first()?;
        Some(if largest.b_sends_more { 1 - largest.at_a } else { largest.at_a })
    }

    /// Of the surveys of the first capture and of the second.
    pub fn of(first: &Survey, second: &Survey) -> Self {
        let origins = [first.origin.as_ref(), second.origin.as_ref()];
        let mut others = Others::new(&second.connections);
        let mut pairs = Vec::new();
        let mut unique = merged(&first.connections);
        for connection in unique.drain(..) {
            if let Some(other) = others.take(&connection) {
                pairs.push(pair(&connection, &other, origins));
            } else {
                others.missing += 1;
            }
        }
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
        let joined = pairs.len();
        pairs.truncate(PAIRS_MAX);
        let pauses = [&first.pauses[..], &second.pauses[..]];
        let ahead =
            pairs.first().map_or_else(Default::default, |pair| clocks_set_ahead(&pair.common, pauses));
        let rough_ns = pairs.iter().find_map(|pair| pair.rough_ns(&ahead)).unwrap_or(0);
        let is_same_clock =
            matches!(origins, [Some(of_first), Some(of_second)] if of_first.run == of_second.run);
        let span = |survey: &Survey, ahead: &[SetAhead]| {
            (survey.first_ns.unwrap_or(0), corrected(ahead, survey.last_ns))
        };
        Self {
            only: [others.missing, others.left()],
            left_out: (joined - pairs.len()) as u64 + first.left_out + second.left_out,
            pairs,
            is_same_clock,
            rough_ns,
            spans_ns: [span(first, &ahead[0]), span(second, &ahead[1])],
            ahead,
        }
    }
}

/// Keeps one connection for each pair of ports: the one that carried most.
fn merged(all: &[Surveyed]) -> Vec<Surveyed> {
    let mut places: HashMap<[Endpoint; 2], usize, RandomState> = HashMap::default();
    let mut kept: Vec<Surveyed> = Vec::new();
    for connection in all {
        let at = *places.entry(sorted(connection.ends)).or_insert(kept.len());
        match kept.get_mut(at) {
            None => kept.push(connection.clone()),
            Some(before) if before.bytes() < connection.bytes() => *before = connection.clone(),
            Some(_) => {}
        }
    }
    kept
}

/// The second capture's connections, found by their ends, or by the numbers of their handshake.
struct Others {
    all: Vec<Option<Surveyed>>,
    by_ends: HashMap<[Endpoint; 2], usize, RandomState>,
    by_numbers: HashMap<[u32; 2], usize, RandomState>,
    missing: u64,
}

impl Others {
    fn new(all: &[Surveyed]) -> Self {
        let all: Vec<Option<Surveyed>> = merged(all).into_iter().map(Some).collect();
        let found = |at: usize| all[at].as_ref();
        let by_ends = (0..all.len()).filter_map(|at| Some((sorted(found(at)?.ends), at))).collect();
        let by_numbers = (0..all.len()).filter_map(|at| Some((found(at)?.isns?, at))).collect();
        Self { by_ends, by_numbers, missing: 0, all }
    }

    /// The same connection as `wanted`, with its A and B.
    fn take(&mut self, wanted: &Surveyed) -> Option<Surveyed> {
        let same_ends = self.by_ends.get(&sorted(wanted.ends)).copied();
        let same_numbers = || self.by_numbers.get(&wanted.isns?).copied();
        let at = same_ends.or_else(same_numbers)?;
        let place = self.all.get_mut(at)?;
        let found = place.clone()?;
        let found = if found.ends[0] == wanted.ends[1] { found.swapped() } else { found };
        is_same(wanted, &found).then(|| *place = None)?;
        Some(found)
    }

    fn left(&self) -> u64 {
        self.all.iter().flatten().count() as u64
    }
}

/// Ports are used again: the same connection has the same numbers in its handshake, or data in common.
fn is_same(first: &Surveyed, second: &Surveyed) -> bool {
    if let Some((own, its)) = first.isns.zip(second.isns) {
        return own == its;
    }
    let has_marks = |of: &Surveyed| of.marks.iter().any(|marks| !marks.is_empty());
    let in_common = (0..2).any(|end| !first.marks[end].both(&second.marks[end]).is_empty());
    in_common || !has_marks(first) || !has_marks(second)
}

fn sorted(mut ends: [Endpoint; 2]) -> [Endpoint; 2] {
    ends.sort_unstable();
    ends
}

fn pair(first: &Surveyed, second: &Surveyed, origins: [Option<&Origin>; 2]) -> Pair {
    let (at_a, placed) = nearer_end(first, second, origins);
    let (near, far) = if at_a == 0 { (first, second) } else { (second, first) };
    Pair {
        ends: near.ends,
        far_ends: far.ends,
        at_a,
        placed,
        mss: near.mss,
        bytes: first.bytes(),
        b_sends_more: first.payload[1] > first.payload[0],
        common: common(first, second),
        first_ns: first.isns.map(|_| (first.first_ns, second.first_ns)),
    }
}

/// Which of the two is nearer to A.
fn nearer_end(first: &Surveyed, second: &Surveyed, origins: [Option<&Origin>; 2]) -> (usize, Placed) {
    let further = |end: usize| {
        let (mine, its) = (first.answers_us[end]?, second.answers_us[end]?);
        Some(i64::from(mine) - i64::from(its))
    };
    // How much longer A takes to answer the first capture than the second, and B the other way round.
    let by_ends = [further(0), further(1).map(|us| -us)];
    let sum: i64 = by_ends.into_iter().flatten().sum();
    if sum.abs() >= NEARER_US {
        return (usize::from(sum > 0), Placed::Answers);
    }
    let sends_more = usize::from(first.payload[1] > first.payload[0]);
    // A capture whose comment names the sender is taken for the end that sent more.
    let says = |at: usize, host: &str| origins[at].is_some_and(|origin| origin.host == host);
    let (at_sender, placed) = if says(0, "sender") && says(1, "receiver") {
        (0, Placed::Comment)
    } else if says(1, "sender") && says(0, "receiver") {
        (1, Placed::Comment)
    } else {
        (0, Placed::Assumed)
    };
    (if sends_more == 0 { at_sender } else { 1 - at_sender }, placed)
}

/// When both had the same data, of the end that sent more.
fn common(first: &Surveyed, second: &Surveyed) -> Vec<(u64, u64)> {
    let sender = usize::from(first.payload[1] > first.payload[0]);
    first.marks[sender].both(&second.marks[sender])
}

/// `later − earlier`, whichever is which.
pub(super) fn signed(later: u64, earlier: u64) -> i64 {
    i64::try_from(i128::from(later) - i128::from(earlier)).unwrap_or(i64::MAX)
}
