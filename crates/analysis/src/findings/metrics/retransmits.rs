//! Retransmits by kind, from the list that BPF or the simulator made of them.
//!
//! Never: a count where anything may be missing from that list.

use pipefill_core::record::{CaStateSource, Manifest, Retransmit, RetransmitKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Segments sent again, by why they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RetransmitCounts {
    /// In fast recovery.
    pub fast: u64,
    /// After a retransmission timeout.
    pub rto: u64,
    /// Tail loss probes.
    pub tlp: u64,
    /// In a recovery that the sender took back.
    pub spurious: u64,
}

impl RetransmitCounts {
    /// Of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Retransmit>) -> Self {
        let mut counts = Self::default();
        rows.into_iter().for_each(|row| counts.add(row));
        counts
    }

    fn add(&mut self, row: &Retransmit) {
        *match row.kind {
            RetransmitKind::Fast => &mut self.fast,
            RetransmitKind::Rto => &mut self.rto,
            RetransmitKind::Tlp => &mut self.tlp,
            RetransmitKind::Spurious => &mut self.spurious,
        } += u64::from(row.segments);
    }
}

/// Counts the rows of a run.
pub(super) struct Kinds(Option<RetransmitCounts>);

impl Kinds {
    /// Nothing to count without TCP, where a sender was not watched, and where events were lost.
    pub(super) fn of(manifest: &Manifest) -> Self {
        let mut senders = manifest.streams.iter().filter(|stream| stream.tcp.is_some()).peekable();
        let has_senders = senders.peek().is_some();
        let is_watched = senders
            .all(|stream| matches!(stream.ca_state_source, Some(CaStateSource::Bpf | CaStateSource::Exact)));
        let is_whole = manifest.instrument.trace_lost_events.unwrap_or(0) == 0;
        Self((has_senders && is_watched && is_whole).then(RetransmitCounts::default))
    }

    pub(super) fn add(&mut self, row: &Retransmit) {
        if let Some(counts) = &mut self.0 {
            counts.add(row);
        }
    }

    pub(super) fn counts(&self) -> Option<RetransmitCounts> {
        self.0
    }
}
