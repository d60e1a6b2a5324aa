//! What a path that this program emulates counts of one flow of datagrams, and what the receiving socket counts of it.

use super::{DropReason, UdpTotals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `datagrams.jsonl.zst`: one flow of datagrams on the path of `pipefill exec`, cumulative. Packets are IP packets: a datagram that is
/// fragmented has several. Bytes are UDP payload where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DatagramSample {
    /// When it was read, microseconds since the record began.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// Packets that came to the path.
    pub offered_packets: u64,
    /// Their payload.
    pub offered_bytes: u64,
    /// Packets that the path let through to the receiving host.
    pub delivered_packets: u64,
    /// Their payload.
    pub delivered_bytes: u64,
    /// Dropped by chance.
    pub dropped_random_loss_packets: u64,
    /// Dropped by the inner link's MTU.
    pub dropped_exceeds_mtu_packets: u64,
    /// Dropped by the policer.
    pub dropped_policed_packets: u64,
    /// Dropped by the delay element's limit.
    pub dropped_delay_limit_packets: u64,
    /// Dropped by the full queue.
    pub dropped_queue_full_packets: u64,
    /// Dropped by the queue's discipline though there was room; 0 in records of before there was one.
    #[serde(default)]
    pub dropped_aqm_packets: u64,
    /// Dropped because they are larger than the token bucket.
    pub dropped_exceeds_burst_packets: u64,
    /// The longest burst so far: packets that came before what came earlier had left a bottleneck of this flow alone and its token bucket
    /// was full again. Null where the path has no rate, or it changes.
    pub burst_packets: Option<u64>,
    /// Payload of that burst.
    pub burst_bytes: Option<u64>,
    /// The most that such a bottleneck with a queue without bound would have held so far: the queue that this flow needs, if it is alone.
    pub needed_queue_packets: Option<u64>,
    /// The same in bytes of Ethernet frames without FCS.
    pub needed_queue_bytes: Option<u64>,
    /// Dropped by the receiving socket since the flow began (`sk_drops`); where several flows go to one socket, this flow's part by what
    /// arrived. Null where no socket was found.
    pub socket_drops: Option<u64>,
    /// Memory of what that socket has received and its program has not read (`sk_rmem_alloc`).
    pub unread_bytes: Option<u64>,
    /// Its limit (`sk_rcvbuf`).
    pub rcvbuf_bytes: Option<u64>,
}

impl DatagramSample {
    /// Packets that were dropped for `reason`.
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        match reason {
            DropReason::RandomLoss => self.dropped_random_loss_packets,
            DropReason::ExceedsMtu => self.dropped_exceeds_mtu_packets,
            DropReason::Policed => self.dropped_policed_packets,
            DropReason::DelayLimit => self.dropped_delay_limit_packets,
            DropReason::QueueFull => self.dropped_queue_full_packets,
            DropReason::Aqm => self.dropped_aqm_packets,
            DropReason::ExceedsBurst => self.dropped_exceeds_burst_packets,
        }
    }

    /// The same, to be set.
    pub const fn dropped_mut(&mut self, reason: DropReason) -> &mut u64 {
        match reason {
            DropReason::RandomLoss => &mut self.dropped_random_loss_packets,
            DropReason::ExceedsMtu => &mut self.dropped_exceeds_mtu_packets,
            DropReason::Policed => &mut self.dropped_policed_packets,
            DropReason::DelayLimit => &mut self.dropped_delay_limit_packets,
            DropReason::QueueFull => &mut self.dropped_queue_full_packets,
            DropReason::Aqm => &mut self.dropped_aqm_packets,
            DropReason::ExceedsBurst => &mut self.dropped_exceeds_burst_packets,
        }
    }

    /// Packets that the path dropped.
    pub fn dropped_by_path(&self) -> u64 {
        DropReason::ALL.into_iter().map(|reason| self.dropped(reason)).sum()
    }

    /// What became of the packets: those that are still on the path are neither sent nor lost.
    pub fn totals(&self) -> UdpTotals {
        let received = self.delivered_packets.saturating_sub(self.socket_drops.unwrap_or(0));
        UdpTotals {
            sent: self.delivered_packets.saturating_add(self.dropped_by_path()),
            received,
            socket_drops: self.socket_drops,
            ..UdpTotals::default()
        }
    }

    /// Payload that the receiving program can have read.
    pub fn received_bytes(&self) -> u64 {
        let received = self.totals().received;
        let bytes = u128::from(self.delivered_bytes) * u128::from(received);
        bytes.checked_div(u128::from(self.delivered_packets)).map_or(0, |bytes| bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_neither_sent_nor_lost() {
        let mut sample = DatagramSample {
            offered_packets: 100,
            delivered_packets: 60,
            delivered_bytes: 60_000,
            socket_drops: Some(10),
            ..DatagramSample::default()
        };
        *sample.dropped_mut(DropReason::QueueFull) = 30;
        *sample.dropped_mut(DropReason::RandomLoss) = 5;
        let totals = sample.totals();
        assert_eq!((totals.sent, totals.received, totals.socket_drops), (95, 50, Some(10)));
        assert_eq!(sample.received_bytes(), 50_000);
        assert_eq!(DatagramSample::default().received_bytes(), 0);
    }
}
