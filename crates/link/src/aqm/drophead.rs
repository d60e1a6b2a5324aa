//! Drop-head: a full queue drops its oldest packet for the new one (`pfifo_tail_enqueue()` in `net/sched/sch_fifo.c`).

use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;

/// A queue that drops at its head.
#[derive(Debug)]
pub(crate) struct Drophead<T> {
    queue: WaitingQueue<T>,
    limit: Limit,
}

impl<T> Drophead<T> {
    pub(super) const fn new(limit: Limit) -> Self {
        Self { queue: WaitingQueue::new(), limit }
    }
}

impl<T: IpPacket> Discipline<T> for Drophead<T> {
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        while !self.limit.admits(self.queue.held() + leaving, packet.bytes) {
            let Some(oldest) = self.queue.pop() else {
                log.drop_packet(DropReason::QueueFull, &packet);
                return;
            };
            log.drop_packet(DropReason::QueueFull, &oldest.packet);
        }
        self.queue.push(now, packet);
    }

    fn dequeue(&mut self, _now: Time, _log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        self.queue.pop()
    }

    fn held(&self) -> Count {
        self.queue.held()
    }

    fn state(&self) -> AqmState {
        AqmState::default()
    }
}
