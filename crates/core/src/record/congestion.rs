//! What sampling can't see of a TCP sender: the time in each congestion state, and every retransmission.
//!
//! Where nobody watched, the times are absent and the source says `sampled`.

use crate::tcp_info::CaState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Microseconds in each congestion state (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CaStateTimes {
    /// Nothing is wrong.
    pub open: u64,
    /// Duplicate ACKs or SACKs were seen.
    pub disorder: u64,
    /// cwnd is being reduced after ECN or local congestion.
    pub cwr: u64,
    /// Fast recovery.
    pub recovery: u64,
    /// After a retransmission timeout.
    pub loss: u64,
}

impl CaStateTimes {
    /// All states together.
    pub fn total(&self) -> u64 {
        self.open + self.disorder + self.cwr + self.recovery + self.loss
    }

    /// The sum of both, state by state.
    #[must_use]
    pub const fn plus(self, other: &Self) -> Self {
        Self {
            open: self.open + other.open,
            disorder: self.disorder + other.disorder,
            cwr: self.cwr + other.cwr,
            recovery: self.recovery + other.recovery,
            loss: self.loss + other.loss,
        }
    }

    /// Adds `span_us` microseconds in `state`.
    pub fn add(&mut self, state: CaState, span_us: u64) {
        *match state {
            CaState::Open => &mut self.open,
            CaState::Disorder => &mut self.disorder,
            CaState::Cwr => &mut self.cwr,
            CaState::Recovery => &mut self.recovery,
            CaState::Loss => &mut self.loss,
        } += span_us;
    }
}

/// Where the times in the congestion states come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaStateSource {
    /// Every change was seen in the kernel, by BPF.
    Bpf,
    /// Nobody watched: the samples of `tcp.jsonl.zst` tell, as finely as they lie.
    Sampled,
    /// The simulator's own state machine.
    Exact,
}

/// `retransmits.jsonl.zst`: one retransmission, of one segment or of several that left together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Retransmit {
    /// When it left.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// First sequence number, relative to the SYN's: the stream's first byte is 1. 64 bits, so that it does not wrap.
    pub seq_from: u64,
    /// Sequence number after the last one.
    pub seq_to: u64,
    /// Segments, as `tcpi_total_retrans` counts them.
    pub segments: u32,
    /// Of these, attempts before this one that the sender's own host refused (`TCPRETRANSFAIL`: a full device); they never left.
    #[serde(default)]
    pub refused_segments: u32,
    /// Why it was sent.
    pub kind: RetransmitKind,
}

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetransmitKind {
    /// In fast recovery (RFC 6675, RFC 8985).
    Fast,
    /// After a retransmission timeout (RFC 6298).
    Rto,
    /// A tail loss probe (RFC 8985, section 7).
    Tlp,
    /// In a recovery that the sender then took back, since nothing had been lost (RFC 3522, RFC 3708, RFC 5682).
    Spurious,
}

impl RetransmitKind {
    /// The kind of a retransmission that left in `state`, as far as that moment tells: a loss probe is sent outside of any
    /// recovery (`tcp_schedule_loss_probe()` arms it in Open and CWR only).
    pub const fn in_state(state: CaState) -> Self {
        match state {
            CaState::Loss => Self::Rto,
            CaState::Recovery => Self::Fast,
            CaState::Open | CaState::Disorder | CaState::Cwr => Self::Tlp,
        }
    }
}

/// The retransmissions of one stream that wait for their recovery's end, which tells whether they were needed.
#[derive(Debug, Clone, Default)]
pub struct Episode {
    waiting: Vec<Retransmit>,
}

impl Episode {
    /// A recovery longer than this is told before its end, so that what waits stays small.
    const LONGEST: usize = 4096;

    /// Takes a retransmission; returns whether there are rows to hand on by [`Episode::end`] now.
    pub fn push(&mut self, row: Retransmit) -> bool {
        self.waiting.push(row);
        row.kind == RetransmitKind::Tlp || self.waiting.len() >= Self::LONGEST
    }

    /// The recovery is over: its rows in order, as spurious ones where it was `undone`.
    pub fn end(&mut self, undone: bool) -> impl Iterator<Item = Retransmit> + '_ {
        self.waiting.drain(..).map(move |row| {
            let in_recovery = matches!(row.kind, RetransmitKind::Fast | RetransmitKind::Rto);
            Retransmit {
                kind: if undone && in_recovery { RetransmitKind::Spurious } else { row.kind },
                ..row
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(t_us: u64, state: CaState) -> Retransmit {
        let kind = RetransmitKind::in_state(state);
        Retransmit { t_us, stream: 0, seq_from: 1, seq_to: 2, segments: 1, refused_segments: 0, kind }
    }

    #[test]
    fn an_undone_recovery_makes_its_retransmits_spurious_and_no_others() {
        let mut episode = Episode::default();
        assert!(!episode.push(row(1, CaState::Recovery)));
        assert!(!episode.push(row(2, CaState::Loss)));
        let kinds: Vec<_> = episode.end(true).map(|row| (row.t_us, row.kind)).collect();
        assert_eq!(kinds, [(1, RetransmitKind::Spurious), (2, RetransmitKind::Spurious)]);
        assert!(episode.push(row(3, CaState::Open)), "a probe waits for nothing");
        assert_eq!(episode.end(false).map(|row| row.kind).collect::<Vec<_>>(), [RetransmitKind::Tlp]);
        assert_eq!(episode.end(true).count(), 0);
    }

    #[test]
    fn every_state_has_its_place() {
        let mut times = CaStateTimes::default();
        for (state, span) in [
            (CaState::Open, 1),
            (CaState::Disorder, 2),
            (CaState::Cwr, 4),
            (CaState::Recovery, 8),
            (CaState::Loss, 16),
        ] {
            times.add(state, span);
        }
        assert_eq!(times, CaStateTimes { open: 1, disorder: 2, cwr: 4, recovery: 8, loss: 16 });
        assert_eq!(times.total(), 31);
    }
}
