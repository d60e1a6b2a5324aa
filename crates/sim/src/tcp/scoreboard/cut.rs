//! Segments that became too large for the path, cut into smaller ones.

use super::{Scoreboard, Sent, mark};

impl Scoreboard {
    /// Cuts every segment of more than `mss` bytes that is not SACKed, and takes its pieces for lost (`tcp_simple_retransmit()`,
    /// `tcp_fragment()`). False where there is none.
    pub(crate) fn cut_to(&mut self, mss: u32) -> bool {
        let is_too_large = |segment: &Sent| segment.len > mss && !segment.has(mark::SACKED);
        if !self.segments.iter().any(is_too_large) {
            return false;
        }
        let lost_before = self.lost_out;
        for segment in std::mem::take(&mut self.segments) {
            if is_too_large(&segment) {
                self.segments.extend(pieces(segment, mss));
            } else {
                self.segments.push_back(segment);
            }
        }
        let counted = |marks: u16| self.segments.iter().filter(|segment| segment.has(marks)).count() as u32;
        let [sacked, lost, retrans, packets] =
            [mark::SACKED, mark::LOST, mark::RETRANS, mark::HEAD].map(counted);
        (self.sacked_out, self.lost_out, self.retrans_out, self.packets) = (sacked, lost, retrans, packets);
        self.lost += u64::from(self.lost_out.saturating_sub(lost_before));
        self.hint = self.first;
        self.rebuild_by_time();
        true
    }
}

/// A segment in pieces of `mss` bytes: the first has its packet's memory, the last its PSH. They are back on the list by time once they
/// are sent again, which may be at the instant of the first transmission.
fn pieces(segment: Sent, mss: u32) -> impl Iterator<Item = Sent> {
    (0..segment.len.div_ceil(mss)).map(move |number| {
        let (seq, len) = (segment.seq + u64::from(number * mss), mss.min(segment.len - number * mss));
        let not_here = if number > 0 { mark::HEAD } else { 0 }
            | if number * mss + len < segment.len { mark::PUSH } else { 0 };
        Sent {
            seq,
            len,
            marks: segment.marks & !(not_here | mark::RETRANS) | mark::LOST | mark::UNLISTED,
            ..segment
        }
    })
}
