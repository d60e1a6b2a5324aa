//! What a server claims and this host's sockets contradict. Nobody can check a server's figures but by what its kernel has acknowledged.

use crate::end::End;
use pipefill_analysis::findings::connections::{Contradiction, ContradictionKind, CountUnit};
use pipefill_remote::iperf3::{Parameters, StreamResult, Transport};

/// What a server may count elsewhere in time, bytes: a stock one that is told of the end may be in the middle of a write.
const BLOCK_SLACK: u64 = 1 << 20;
/// The same of datagrams, and as a share of them.
const DATAGRAMS_SLACK: u64 = 100;

/// What both ends know of a stream.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// What the server says.
    far: StreamResult,
    /// What this end counted over the time that the server counts too.
    own: StreamResult,
    /// What this end sent in all, bytes and datagrams: also while nothing counted.
    all: (u64, u64),
    /// What the server's kernel has acknowledged, bytes; `None` where this end does not send, and where both count from different instants.
    acknowledged: Option<u64>,
    /// The largest window that it advertised, bytes.
    window: u64,
}

/// Of the stream at `index`, which is printed as stream `number`.
pub(super) fn contradiction(
    index: usize,
    number: u32,
    parameters: &Parameters,
    end: &End,
    [own, far]: [&StreamResult; 2],
) -> Option<Contradiction> {
    let is_udp = parameters.transport == Transport::Udp;
    let counted = end.transfer.counted()[index];
    // Each end leaves out its own first seconds.
    let is_comparable = parameters.omit_s == 0;
    let counts = Counts {
        far: *far,
        own: *own,
        all: (counted.bytes, counted.packets),
        acknowledged: end.acknowledged(index).filter(|_| is_comparable),
        window: end.largest_window(index),
    };
    let (kind, unit, claimed, counted) = if end.transfer.sends(index) {
        if is_udp { counts.datagrams_sent() } else { counts.sent() }
    } else if is_comparable {
        if is_udp { counts.datagrams_received() } else { counts.received() }
    } else {
        None
    }?;
    Some(Contradiction { stream: number, kind, unit, claimed, counted })
}

type FoundContradiction = Option<(ContradictionKind, CountUnit, u64, u64)>;

impl Counts {
    fn sent(&self) -> FoundContradiction {
        let (claimed, (sent, _)) = (self.far.bytes, self.all);
        if claimed > sent {
            return Some((ContradictionKind::ReceivedMoreThanSent, CountUnit::Bytes, claimed, sent));
        }
        // What was acknowledged and not read lies in the receive buffer, of which half at least is advertised (`tcp_adv_win_scale`).
        let acknowledged = self.acknowledged?;
        let unread = (2 * self.window).saturating_add(BLOCK_SLACK);
        let is_less = claimed.saturating_add(unread) < acknowledged;
        is_less.then_some((
            ContradictionKind::ReceivedLessThanAcknowledged,
            CountUnit::Bytes,
            claimed,
            acknowledged,
        ))
    }

    fn received(&self) -> FoundContradiction {
        let (claimed, received) = (self.far.bytes, self.own.bytes);
        let is_less = claimed.saturating_add(BLOCK_SLACK) < received;
        is_less.then_some((ContradictionKind::SentLessThanReceived, CountUnit::Bytes, claimed, received))
    }

    fn datagrams_sent(&self) -> FoundContradiction {
        let claimed = self.far.packets.saturating_sub(self.far.lost);
        let (bytes, datagrams) = self.all;
        if claimed > datagrams {
            let kind = ContradictionKind::ReceivedMoreThanSent;
            return Some((kind, CountUnit::Datagrams, claimed, datagrams));
        }
        // A stock server counts the payload of duplicates too.
        (self.far.bytes > bytes.saturating_mul(2)).then_some((
            ContradictionKind::ReceivedMoreThanSent,
            CountUnit::Bytes,
            self.far.bytes,
            bytes,
        ))
    }

    fn datagrams_received(&self) -> FoundContradiction {
        let (claimed, received) = (self.far.packets, self.own.packets.saturating_sub(self.own.lost));
        let is_less = claimed.saturating_add(DATAGRAMS_SLACK.max(claimed / 100)) < received;
        is_less.then_some((ContradictionKind::SentLessThanReceived, CountUnit::Datagrams, claimed, received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn counts(far_bytes: u64) -> Counts {
        let far = StreamResult { bytes: far_bytes, ..StreamResult::default() };
        let own = StreamResult { bytes: 2 * GB, ..StreamResult::default() };
        let acknowledged = Some(2 * GB - 5_000_000);
        Counts { far, own, all: (2 * GB, 0), acknowledged, window: 3_000_000 }
    }

    fn kind(found: FoundContradiction) -> Option<ContradictionKind> {
        found.map(|(kind, ..)| kind)
    }

    #[test]
    fn a_server_can_not_have_received_more_than_was_sent_or_less_than_it_acknowledged() {
        assert_eq!(kind(counts(2 * GB).sent()), None);
        assert_eq!(kind(counts(2 * GB + 1).sent()), Some(ContradictionKind::ReceivedMoreThanSent));
        assert_eq!(kind(counts(2 * GB - 11_000_000).sent()), None, "the rest is in its receive buffer");
        assert_eq!(
            kind(counts(2 * GB - 13_000_000).sent()),
            Some(ContradictionKind::ReceivedLessThanAcknowledged)
        );
        assert_eq!(kind(Counts { acknowledged: None, ..counts(0) }.sent()), None);
        assert_eq!(kind(counts(u64::MAX).sent()), Some(ContradictionKind::ReceivedMoreThanSent));
    }

    #[test]
    fn a_server_can_not_have_sent_less_than_came_in() {
        assert_eq!(kind(counts(2 * GB - 1_000_000).received()), None);
        assert_eq!(kind(counts(1_000_000).received()), Some(ContradictionKind::SentLessThanReceived));
    }

    #[test]
    fn datagrams_are_compared_by_their_numbers() {
        let of = |packets, lost, bytes| {
            let far = StreamResult { packets, lost, bytes, ..StreamResult::default() };
            let own = StreamResult { packets: 10_000, lost: 0, ..StreamResult::default() };
            Counts { far, own, all: (10_000_000, 10_000), acknowledged: None, window: 0 }
        };
        let more = Some(ContradictionKind::ReceivedMoreThanSent);
        assert_eq!(kind(of(10_000, 500, 9_500_000).datagrams_sent()), None);
        assert_eq!(kind(of(10_000, 0, 11_000_000).datagrams_sent()), None, "duplicates");
        assert_eq!(kind(of(10_001, 0, 10_001_000).datagrams_sent()), more);
        assert_eq!(kind(of(10_000, 0, 30_000_000).datagrams_sent()), more);
        assert_eq!(kind(of(9_950, 0, 0).datagrams_received()), None);
        let less = Some(ContradictionKind::SentLessThanReceived);
        assert_eq!(kind(of(1_000, 0, 0).datagrams_received()), less);
        assert_eq!(kind(of(u64::MAX, u64::MAX, u64::MAX).datagrams_sent()), more);
    }
}
