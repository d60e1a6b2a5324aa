//! FQ-CoDel (RFC 8290; `net/sched/sch_fq_codel.c`): flows hashed to queues, deficit round robin with precedence of new flows, CoDel for each
//! queue.

use super::codel::Codel;
use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::FqCodelSpec;
use pipefill_core::prng::{Prng, splitmix64};
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::collections::VecDeque;

/// Most queues (`fq_codel_change()`).
const FLOWS_MAX: u32 = 65_536;

/// The queues of all flows.
#[derive(Debug)]
pub(crate) struct FqCodel<T> {
    queues: Vec<FlowQueue<T>>,
    /// Numbers of the queues that have something to send, those of new flows first (RFC 8290, section 4.2).
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    params: FqCodelSpec,
    quantum: i64,
    limit: Limit,
    held: Count,
    memory: u64,
    /// Changes the hash from seed to seed (RFC 8290, section 5.2; `skb_get_hash_perturb()`).
    perturbation: u64,
}

#[derive(Debug)]
struct FlowQueue<T> {
    queue: WaitingQueue<T>,
    codel: Codel,
    /// Bytes that it may send before its turn ends.
    deficit: i64,
    /// Whether it is in one of both lists.
    is_listed: bool,
    /// The flow of the packet that came last.
    flow: u64,
}

impl<T> FqCodel<T> {
    pub(super) fn new(spec: &FqCodelSpec, limit: Limit, mut prng: Prng) -> Self {
        let queue = |_| FlowQueue {
            queue: WaitingQueue::new(),
            codel: Codel::default(),
            deficit: 0,
            is_listed: false,
            flow: 0,
        };
        Self {
            queues: (0..spec.flows.clamp(1, FLOWS_MAX)).map(queue).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            quantum: i64::try_from(spec.quantum.get()).unwrap_or(i64::MAX),
            params: spec.clone(),
            limit,
            held: Count::default(),
            memory: 0,
            perturbation: prng.next_u64(),
        }
    }

    /// The queue of a flow: `reciprocal_scale()` of its perturbed hash.
    fn queue_of(&self, flow: u64) -> u32 {
        let mut state = flow ^ self.perturbation;
        let hash = splitmix64(&mut state) >> 32;
        ((hash * self.queues.len() as u64) >> 32) as u32
    }

    fn pop(&mut self, number: u32) -> Option<Waiting<T>> {
        let waiting = self.queues[number as usize].queue.pop()?;
        self.held -= Count::packet(waiting.packet.bytes);
        self.memory -= true_size(waiting.packet.bytes);
        Some(waiting)
    }
}

impl<T: IpPacket> FqCodel<T> {
    /// Drops half of the fattest queue, but no more than a batch (RFC 8290, section 4.1.3; `fq_codel_drop()`).
    fn drop_from_fattest(&mut self, log: &mut AqmLog<'_>) {
        let mut fattest = 0;
        let mut most = 0;
        for (number, queue) in (0_u32..).zip(&self.queues) {
            let bytes = queue.queue.held().bytes;
            if bytes > most {
                (fattest, most) = (number, bytes);
            }
        }
        let (mut dropped, mut drops) = (0, 0);
        while drops == 0 || (drops < self.params.drop_batch && dropped < most / 2) {
            let Some(waiting) = self.pop(fattest) else { break };
            dropped += u64::from(waiting.packet.bytes);
            drops += 1;
            log.drop_packet(DropReason::QueueFull, &waiting.packet);
        }
        self.queues[fattest as usize].codel.add_signals(drops);
    }
}

impl<T: IpPacket> Discipline<T> for FqCodel<T> {
    /// `fq_codel_enqueue()`.
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        let flow = packet.payload.flow();
        let number = self.queue_of(flow);
        self.held += Count::packet(packet.bytes);
        self.memory += true_size(packet.bytes);
        let queue = &mut self.queues[number as usize];
        if queue.queue.held().packets > 0 && queue.flow != flow {
            log.flow_queues(|counts| counts.collisions += 1);
        }
        queue.flow = flow;
        queue.queue.push(now, packet);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.deficit = self.quantum;
            self.new_flows.push_back(number);
            log.flow_queues(|counts| counts.new_flows += 1);
        }
        if self.limit.is_exceeded_by(self.held + leaving) || self.memory > self.params.memory_limit.get() {
            self.drop_from_fattest(log);
        }
    }

    /// `fq_codel_dequeue()`.
    fn dequeue(&mut self, now: Time, log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        loop {
            let (number, is_new) = match (self.new_flows.front(), self.old_flows.front()) {
                (Some(&number), _) => (number, true),
                (None, Some(&number)) => (number, false),
                (None, None) => return None,
            };
            let flow = &mut self.queues[number as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.end_turn(is_new);
                self.old_flows.push_back(number);
                if is_new {
                    log.flow_queues(|counts| counts.became_old += 1);
                }
                continue;
            }
            let mut codel = std::mem::take(&mut flow.codel);
            let params = self.params.codel.clone();
            let next = || {
                let first = self.pop(number);
                (first, self.held.bytes)
            };
            let waiting = codel.dequeue(now, &params, log, next);
            let flow = &mut self.queues[number as usize];
            flow.codel = codel;
            if let Some(waiting) = waiting {
                flow.deficit -= i64::from(waiting.packet.bytes);
                return Some(waiting);
            }
            // An empty new flow waits for the old ones once, so that it can't starve them (RFC 8290, section 4.2).
            let stays = is_new && !self.old_flows.is_empty();
            flow.is_listed = stays;
            self.end_turn(is_new);
            if stays {
                self.old_flows.push_back(number);
            }
        }
    }

    fn held(&self) -> Count {
        self.held
    }

    fn state(&self) -> AqmState {
        let counts = self.queues.iter().map(|queue| queue.codel.drop_count());
        AqmState { drop_count: Some(counts.max().unwrap_or(0)), ..AqmState::default() }
    }
}

impl<T> FqCodel<T> {
    /// Takes the first queue out of its list.
    fn end_turn(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
        list.pop_front();
    }
}

/// What a frame of `bytes` bytes takes of the kernel's memory (`skb->truesize`): room for headers (`NET_SKB_PAD`), `struct skb_shared_info`,
/// rounded up to a size of kmalloc(), and `struct sk_buff`.
fn true_size(bytes: u32) -> u64 {
    const HEADROOM: u64 = 64;
    const SHARED_INFO: u64 = 320;
    const SK_BUFF: u64 = 256;
    (u64::from(bytes) + HEADROOM + SHARED_INFO).next_power_of_two() + SK_BUFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_as_the_kernel_does() {
        assert_eq!([60, 1514].map(true_size), [768, 2304]);
    }
}
