//! The first reading of a capture: its connections, their times, the nearer end, and how to recognise them in the other capture.
//!
//! Memory: [`SURVEY_MAX`] connections, the first of the capture, with at most 2.4 kB each.

use super::set_ahead::LEAST_NS;
use crate::headers::Endpoint;
use crate::tcp::{Connection, Ended, Event, Observer, SegmentKind, Side};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Connections that are surveyed.
const SURVEY_MAX: usize = 1 << 14;
/// Long pauses that are noted, the first of the capture.
const PAUSES_MAX: usize = 1 << 12;
/// Parts of the sequence numbers with their times, of each direction; beyond it each second one goes.
const MARKS_MAX: usize = 64;

/// Who wrote a capture, from pipefill's comment in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The run's id. Two captures with the same were made by one clock.
    pub run: String,
    /// The end that it was captured at: `sender` or `receiver`.
    pub host: String,
}

impl Origin {
    /// From the comments of a capture; `None` where pipefill did not write it.
    pub fn of(comments: &[String]) -> Option<Self> {
        let word = |text: &str, name: &str| {
            text.split(' ').find_map(|word| Some(word.strip_prefix(name)?.to_owned()))
        };
        let own = comments.iter().find(|text| text.starts_with("pipefill "))?;
        Some(Self { run: word(own, "run=")?, host: word(own, "host=")? })
    }
}

/// The connections of one capture.
#[derive(Debug, Default)]
pub struct Survey {
    pub(super) connections: Vec<Surveyed>,
    pub(super) first_ns: Option<u64>,
    pub(super) last_ns: u64,
    /// From the packet before each long pause to the packet after it.
    pub(super) pauses: Vec<(u64, u64)>,
    /// Who wrote it.
    pub origin: Option<Origin>,
    /// Connections beyond those that are surveyed.
    pub(super) left_out: u64,
    marks: HashMap<u64, [Marks; 2], FixedState>,
}

/// One connection, as one capture has it.
#[derive(Debug, Clone)]
pub(super) struct Surveyed {
    /// Of A, of B.
    pub(super) ends: [Endpoint; 2],
    /// First sequence numbers, where both SYNs are in the capture.
    pub(super) isns: Option<[u32; 2]>,
    pub(super) mss: [u32; 2],
    pub(super) payload: [u64; 2],
    /// To the end and back, µs.
    pub(super) answers_us: [Option<u32>; 2],
    pub(super) first_ns: u64,
    pub(super) marks: [Marks; 2],
}

impl Surveyed {
    /// This connection with its ends A and B exchanged.
    pub(super) fn swapped(mut self) -> Self {
        self.ends.reverse();
        self.isns = self.isns.map(|[a, b]| [b, a]);
        self.mss.reverse();
        self.payload.reverse();
        self.answers_us.reverse();
        self.marks.reverse();
        self
    }

    pub(super) fn bytes(&self) -> u64 {
        self.payload[0].saturating_add(self.payload[1])
    }
}

/// When the data first reached each multiple of a number of bytes: multiples are the same in every capture, whatever its super-packets.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// Number of the part of the sequence numbers, in their order, and when its first data passed.
    all: Vec<(u64, u64)>,
    /// Each part has two to this power of them.
    shift: u32,
}

impl Marks {
    /// Data up to `seq` pass for the first time.
    fn observe(&mut self, seq: u64, time_ns: u64) {
        let part = seq >> self.shift;
        if self.all.last().is_some_and(|&(last, _)| part <= last) {
            return;
        }
        self.all.push((part, time_ns));
        if self.all.len() >= MARKS_MAX {
            self.all = self.coarser(self.shift + 1).collect();
            self.shift += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The marks at the multiples of a larger number of bytes.
    fn coarser(&self, shift: u32) -> impl Iterator<Item = (u64, u64)> + '_ {
        let by = shift.saturating_sub(self.shift);
        let mut last = None;
        self.all.iter().map(move |&(part, time)| (part >> by, time)).filter(move |&(part, _)| {
            let is_new = last != Some(part);
            last = Some(part);
            is_new
        })
    }

    /// Times at which both captures have the same data: in this one, in `other`. Either may have begun before the sequence numbers wrapped at 2^32.
    pub(super) fn both(&self, other: &Self) -> Vec<(u64, u64)> {
        let shift = self.shift.max(other.shift);
        let round = (1_u64 << 32).checked_shr(shift).unwrap_or(0);
        let found = [(0, 0), (round, 0), (0, round)].map(|(own, its)| self.in_common(other, shift, own, its));
        found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// As [`Self::both`] at multiples of `1 << shift`, with `own` and `its` added to the numbers of this capture and of `other`.
    fn in_common(&self, other: &Self, shift: u32, own: u64, its: u64) -> Vec<(u64, u64)> {
        let mut others = other.coarser(shift).map(|(part, time)| (part + its, time)).peekable();
        let parts = self.coarser(shift).map(|(part, time)| (part + own, time));
        parts
            .filter_map(|(part, time)| {
                while others.next_if(|&(other, _)| other < part).is_some() {}
                others.next_if(|&(other, _)| other == part).map(|(_, its)| (time, its))
            })
            .collect()
    }
}

impl Observer for Survey {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        self.first_ns = Some(self.first_ns.map_or(event.time_ns, |first| first.min(event.time_ns)));
        let last_ns = self.last_ns;
        self.last_ns = last_ns.max(event.time_ns);
        let is_long = last_ns > 0 && event.time_ns.saturating_sub(last_ns) >= LEAST_NS / 2;
        if is_long && self.pauses.len() < PAUSES_MAX {
            self.pauses.push((last_ns, event.time_ns));
        }
        if !matches!(event.kind, SegmentKind::New | SegmentKind::Syn) {
            return;
        }
        let is_known = self.marks.contains_key(&connection.id());
        if !is_known && self.marks.len() + self.connections.len() >= SURVEY_MAX {
            return;
        }
        let seq = u64::from(connection.half(event.side).first_seq()).saturating_add(event.seq_to);
        self.marks.entry(connection.id()).or_default()[event.side as usize].observe(seq, event.time_ns);
    }

    fn ended(&mut self, connection: &Connection, _why: Ended) {
        let marks = self.marks.remove(&connection.id());
        if self.connections.len() >= SURVEY_MAX {
            self.left_out += 1;
            return;
        }
        let each =
            |value: fn(&Connection, Side) -> u64| [value(connection, Side::A), value(connection, Side::B)];
        let [a, b] = [connection.half(Side::A), connection.half(Side::B)];
        self.connections.push(Surveyed {
            ends: [connection.endpoint(Side::A), connection.endpoint(Side::B)],
            isns: (a.has_syn() && b.has_syn()).then(|| [a.first_seq(), b.first_seq()]),
            mss: [a.mss_bytes(), b.mss_bytes()],
            payload: each(|connection, side| connection.half(side).payload_bytes()),
            answers_us: connection.answers_us(),
            first_ns: connection.first_ns(),
            marks: marks.unwrap_or_default(),
        });
    }
}
