//! The scoreboard counted again from its segments, for the simulator's own checks.

use super::{Scoreboard, Sent, counts, mark, waits};

/// Segments that a recount's share of an instant looks at, in the mean.
const SHARE: u32 = 32;

impl Scoreboard {
    /// How many times after one recount none is made, so that what they cost does not grow with the list.
    pub(crate) fn recounts_left_out(&self) -> u32 {
        self.packets_out() / SHARE
    }

    /// What is wrong with the list, which should hold every byte from `snd_una` to `snd_nxt` once, or with its counts
    /// (`tcp_verify_left_out()`).
    pub(crate) fn recount(&self, snd_una: u64, snd_nxt: u64) -> Result<(), String> {
        self.covers(snd_una, snd_nxt)?;
        let marked = |marks: u16| self.segments.iter().filter(|segment| segment.has(marks)).count() as u64;
        let below_hint =
            (self.first..self.hint).filter_map(|index| self.get(index)).filter(|sent| waits(sent)).count();
        let is_open = |segment: &Sent, at: u64| counts(segment, at) && !segment.has(mark::UNLISTED);
        let open = self.segments.iter().filter(|segment| is_open(segment, segment.xmit_us)).count() as u64;
        let is_current =
            |&&(index, at): &&(u64, u64)| self.get(index).is_some_and(|segment| is_open(segment, at));
        let listed = self.by_time.iter().filter(is_current).count() as u64;
        for (name, told, counted) in [
            ("sacked_out", self.sacked_out.into(), marked(mark::SACKED)),
            ("lost_out", self.lost_out.into(), marked(mark::LOST)),
            ("retrans_out", self.retrans_out.into(), marked(mark::RETRANS)),
            ("packets", self.packets.into(), marked(mark::HEAD)),
            ("segments below the hint that wait", 0, below_hint as u64),
            ("entries by time", listed, open),
        ] {
            if told != counted {
                return Err(format!("{name}: {told}, and a recount says {counted}"));
            }
        }
        let left = self.sacked_out + self.lost_out;
        if left > self.packets_out() {
            return Err(format!("{left} segments have left of {} that are out", self.packets_out()));
        }
        Ok(())
    }

    fn covers(&self, snd_una: u64, snd_nxt: u64) -> Result<(), String> {
        let mut next = snd_una;
        for segment in &self.segments {
            if segment.seq != next || segment.len == 0 {
                return Err(format!(
                    "a segment of {} bytes at {} where {next} is due",
                    segment.len, segment.seq
                ));
            }
            if segment.has(mark::SACKED) && segment.has(mark::LOST) {
                return Err(format!("the segment at {} is both SACKed and lost", segment.seq));
            }
            next = segment.end();
        }
        if next == snd_nxt { Ok(()) } else { Err(format!("the list ends at {next}, snd_nxt is {snd_nxt}")) }
    }
}
