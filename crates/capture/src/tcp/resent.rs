//! The last retransmissions of a direction, to find out which were for nothing: by D-SACK (RFC 2883, RFC 3708), by timestamps (Eifel,
//! RFC 3522) or by time.
//!
//! Memory: at most 1024 of a direction.

use super::data::Data;
use super::event::SegmentKind;

use std::collections::VecDeque;

const KEPT_MAX: usize = 1024;

/// How it is known that a retransmission was for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// The receiver reported the bytes as received twice.
    Dsack,
    /// The ACK echoes a transmission before the retransmission.
    Timestamps,
    /// The bytes had been acknowledged, at the capture point, before they were sent again.
    Acknowledged,
    /// They arrived sooner after the retransmission than any round trip takes.
    Time,
}

/// A retransmission of something that had arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spurious {
    /// Its first sequence number, from the connection's first.
    pub seq_from: u64,
    /// The sequence number after its last byte.
    pub seq_to: u64,
    /// When it passed the capture point.
    pub sent_ns: u64,
    /// When that was known.
    pub known_ns: u64,
    /// Why it was sent.
    pub kind: SegmentKind,
    /// Segments in it.
    pub segments: u32,
    /// How it is known.
    pub known_by: KnownBy,
}

#[derive(Debug, Clone, Copy)]
struct ResentRange {
    from: u64,
    to: u64,
    sent_ns: u64,
    tsval: Option<u32>,
    kind: SegmentKind,
    segments: u32,
    is_spurious: bool,
    /// A D-SACK was for it.
    is_reported: bool,
}

impl ResentRange {
    fn tell(&mut self, known_ns: u64, known_by: KnownBy) -> Spurious {
        self.is_spurious = true;
        let Self { from, to, sent_ns, kind, segments, .. } = *self;
        Spurious { seq_from: from, seq_to: to, sent_ns, known_ns, kind, segments, known_by }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Resent {
    ranges: VecDeque<ResentRange>,
    /// So many of the first lie below what was acknowledged when something that was sent again last arrived.
    below: usize,
}

impl Resent {
    pub(super) fn push(&mut self, data: &Data<'_>, to: u64, kind: SegmentKind, segments: u32) {
        if self.ranges.len() == KEPT_MAX {
            self.ranges.pop_front();
            self.below = self.below.saturating_sub(1);
        }
        let (from, sent_ns, tsval) = (data.from, data.now(), data.tsval());
        self.ranges.push_back(ResentRange {
            from,
            to,
            sent_ns,
            tsval,
            kind,
            segments,
            is_spurious: false,
            is_reported: false,
        });
    }

    /// The receiver reports that `from..to` arrived once more. Of all that is in there the last retransmission that was not reported yet was
    /// for nothing: as many transmissions arrived after the first, and those before the first one were needed. It may be known already. Returns
    /// whether there was one: otherwise the network made the copy.
    pub(super) fn reported(&mut self, from: u64, to: u64, known_ns: u64, found: &mut Vec<Spurious>) -> bool {
        let (mut at, mut has_any) = (from, false);
        while at < to {
            let mut open = self.ranges.iter_mut().rev().filter(|entry| !entry.is_reported && at < entry.to);
            let Some(entry) = open.find(|entry| entry.from <= at) else {
                let begins = self.ranges.iter().filter(|entry| !entry.is_reported && entry.from > at);
                at = begins.map(|entry| entry.from).min().unwrap_or(to);
                continue;
            };
            (entry.is_reported, at, has_any) = (true, entry.to, true);
            if !entry.is_spurious {
                found.push(entry.tell(known_ns, KnownBy::Dsack));
            }
        }
        has_any
    }

    /// The last retransmission was acknowledged before it was sent.
    pub(super) fn was_acknowledged(&mut self, known_ns: u64, found: &mut Vec<Spurious>) {
        let last = self.ranges.back_mut().filter(|entry| !entry.is_spurious);
        found.extend(last.map(|entry| entry.tell(known_ns, KnownBy::Acknowledged)));
    }

    /// The byte at `at`, up to which all is acknowledged, arrived by a transmission with the timestamp `echo`: all later ones were for nothing.
    pub(super) fn find_later(&mut self, at: u64, echo: u32, known_ns: u64, found: &mut Vec<Spurious>) {
        let is_later = |tsval: u32| echo.wrapping_sub(tsval).cast_signed() < 0;
        self.below += self.ranges.range(self.below..).take_while(|entry| entry.to <= at).count();
        for entry in self.ranges.range_mut(self.below..) {
            let is_it = entry.from <= at && at < entry.to && !entry.is_spurious;
            if is_it && entry.tsval.is_some_and(is_later) {
                found.push(entry.tell(known_ns, KnownBy::Timestamps));
            }
        }
    }

    /// The byte at `at` arrived, and what answers was sent before `since_ns`: what was sent from then on was for nothing.
    pub(super) fn find_since(&mut self, at: u64, since_ns: u64, known_ns: u64, found: &mut Vec<Spurious>) {
        for entry in self.ranges.iter_mut().rev().take_while(|entry| entry.sent_ns > since_ns) {
            if entry.from <= at && at < entry.to && !entry.is_spurious {
                found.push(entry.tell(known_ns, KnownBy::Time));
            }
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<ResentRange>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Segment;
    use crate::tcp::data::SegmentSize;

    /// 1000 bytes, sent again, with the time as timestamp.
    fn push(resent: &mut Resent, time_ns: u64, from: u64) {
        let mut segment = Segment { time_ns, ..Segment::default() };
        segment.options.timestamps = Some((time_ns as u32, 0));
        let to = from + 1000;
        let data = Data {
            segment: &segment,
            from,
            to,
            size: SegmentSize { mss: 1000, largest: 1000 },
            has_sack: true,
            opening: None,
            full_rtt_us: None,
            is_first: false,
        };
        resent.push(&data, to, SegmentKind::FastRetransmit, 1);
    }

    /// The same bytes at each of these times.
    fn resent(times: &[u64]) -> Resent {
        let mut resent = Resent::default();
        times.iter().for_each(|&now| push(&mut resent, now, 1));
        resent
    }

    fn sent(found: &[Spurious]) -> Vec<u64> {
        found.iter().map(|entry| entry.sent_ns).collect()
    }

    /// The first transmission that arrived was needed, and those after it were not.
    #[test]
    fn a_report_is_of_the_last_one_that_was_not_reported() {
        let (mut resent, mut found) = (resent(&[10, 20, 30]), Vec::new());
        assert!(resent.reported(1, 1001, 40, &mut found) && resent.reported(1, 1001, 41, &mut found));
        assert_eq!(sent(&found), [30, 20]);
        assert!(!resent.reported(2001, 3001, 42, &mut found), "that was sent once");
    }

    #[test]
    fn what_is_known_already_is_told_once_and_its_report_is_of_nothing_else() {
        let (mut resent, mut found) = (resent(&[10, 20]), Vec::new());
        resent.was_acknowledged(20, &mut found);
        resent.reported(1, 1001, 40, &mut found);
        assert_eq!((sent(&found), found[0].known_by), (vec![20], KnownBy::Acknowledged));
    }

    #[test]
    fn a_report_of_two_segments_is_of_both() {
        let (mut resent, mut found) = (resent(&[10]), Vec::new());
        for (now, from) in [(11, 3001), (12, 1001)] {
            push(&mut resent, now, from);
        }
        resent.reported(1, 4001, 40, &mut found);
        assert_eq!(sent(&found), [10, 12, 11]);
    }

    #[test]
    fn an_echo_tells_of_all_that_were_sent_later() {
        let (mut resent, mut found) = (resent(&[10, 20, 30]), Vec::new());
        resent.find_later(1, 10, 40, &mut found);
        assert_eq!(sent(&found), [20, 30]);
    }

    #[test]
    fn what_answers_too_soon_answers_an_earlier_one() {
        let (mut resent, mut found) = (resent(&[10, 20, 30]), Vec::new());
        resent.find_since(1, 25, 40, &mut found);
        assert_eq!((sent(&found), found[0].known_by), (vec![30], KnownBy::Time));
    }
}
