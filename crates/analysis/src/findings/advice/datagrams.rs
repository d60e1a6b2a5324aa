//! What a flow of datagrams needs at a queue that its bursts overflow, or at a socket that its reader leaves full.

use super::Case;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, Reason, Setting, Target};
use std::time::Duration;

/// A reader that leaves half of its buffer unread in this part of the readings is behind all the time.
const IS_BEHIND: f64 = 0.5;
/// Memory of a datagram in a full frame, bytes (`SKB_TRUESIZE()` of a buffer of 2 KiB).
const TRUESIZE: u64 = 2_304;
/// The kernel doubles what a program asks of `SO_RCVBUF` (`__sock_set_rcvbuf()`).
const DOUBLED: u64 = 2;

/// What a socket of `rcvbuf_bytes` of memory needs that dropped as many as `dropped` datagrams at a time; `None` where its reader is behind in
/// most readings.
pub(crate) fn for_overflowing_socket(rcvbuf_bytes: u64, dropped: u64, unread_share: f64) -> Option<Setting> {
    let size = rcvbuf_bytes.saturating_add(dropped.saturating_mul(TRUESIZE)) / DOUBLED;
    (unread_share < IS_BEHIND).then_some(Setting::Rcvbuf(size))
}

impl Case<'_> {
    /// Even sending, or a queue that holds a burst. Either brings all that is offered, as far as the reader takes it.
    pub(super) fn without_bursts(&self) -> Vec<Advice> {
        let Some(figures) = self.judged.diagnosis.figures.datagrams else { return Vec::new() };
        let counted = figures.counted;
        let (Some(burst), Some(needed)) = (counted.burst_packets, counted.needed_queue_packets) else {
            return Vec::new();
        };
        let span = self.judged.flow.duration.as_nanos();
        let spacing = span.checked_div(u128::from(counted.offered_packets)).unwrap_or(0);
        let spacing = Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX));
        let offered_bps = figures.offered_bps;
        let reason = Reason::BurstsOverflowQueue { burst, needed, offered_bps };
        let change = |target, setting, key| vec![Change { target, setting, key }];
        let paced = change(Target::Program, Setting::SpacedDatagrams(spacing), String::new());
        let key = Self::path_key(self.judged.flow.direction, "queue");
        let queued = change(Target::Bottleneck, Setting::QueuePackets(needed), key);
        let predicted = Some(self.at(offered_bps));
        vec![self.proposed(paced, reason, predicted), self.proposed(queued, reason, predicted)]
    }

    pub(super) fn for_the_receiver_of_datagrams(&self) -> Advice {
        let figures = self.judged.diagnosis.figures.datagrams;
        let rcvbuf_bytes = figures.and_then(|figures| figures.counted.rcvbuf_bytes);
        let Some((figures, rcvbuf_bytes)) = figures.zip(rcvbuf_bytes) else {
            return self.larger_datagram_buffer();
        };
        let dropped = figures.socket_drops_peak;
        let unread_share = figures.unread_share.unwrap_or(0.0);
        let Some(setting) = for_overflowing_socket(rcvbuf_bytes, dropped, unread_share) else {
            return self.nothing(Reason::ReaderIsBehind { read_bps: self.judged.goodput_bps });
        };
        let rmem_max = self.judged.receiver_limits.and_then(|limits| limits.rmem_max);
        let change = self.of_flow(Target::Receiver, setting, "rcvbuf");
        let counted = figures.counted;
        let delivered = u128::from(figures.offered_bps) * u128::from(counted.delivered_bytes);
        let predicted = delivered.checked_div(u128::from(counted.offered_bytes));
        let predicted = predicted.and_then(|bps| u64::try_from(bps).ok()).map(|bps| self.at(bps));
        self.proposed(vec![change], Reason::SocketOverflows { rcvbuf_bytes, dropped, rmem_max }, predicted)
    }
}
