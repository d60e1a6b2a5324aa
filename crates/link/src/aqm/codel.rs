//! CoDel (RFC 8289; `include/net/codel_impl.h`).
//!
//! The root of the control law is Linux's: one step of Newton's method for each drop, of 16 bits. It decides when drops come: the second one 50 ms after
//! the first, where the root itself would have it 71 ms after; and a cycle that goes on at the last one's rate begins faster.

use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::CodelSpec;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::time::Duration;

/// A cycle of drops that begins within this many intervals after the last one goes on at its rate (`16 * params->interval`).
const RECENT_INTERVALS: u32 = 16;

/// Bits of a root below 1 (`REC_INV_SQRT_SHIFT`).
const ROOT_SHIFT: u32 = 16;

/// A queue that CoDel manages.
#[derive(Debug)]
pub(crate) struct CodelQueue<T> {
    queue: WaitingQueue<T>,
    limit: Limit,
    params: CodelSpec,
    codel: Codel,
}

impl<T> CodelQueue<T> {
    pub(super) fn new(spec: &CodelSpec, limit: Limit) -> Self {
        Self { queue: WaitingQueue::new(), limit, params: spec.clone(), codel: Codel::default() }
    }
}

impl<T: IpPacket> Discipline<T> for CodelQueue<T> {
    /// `codel_qdisc_enqueue()`.
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        if self.limit.admits(self.queue.held() + leaving, packet.bytes) {
            self.queue.push(now, packet);
        } else {
            log.drop_packet(DropReason::QueueFull, &packet);
        }
    }

    fn dequeue(&mut self, now: Time, log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        let queue = &mut self.queue;
        let next = || {
            let first = queue.pop();
            (first, queue.held().bytes)
        };
        self.codel.dequeue(now, &self.params, log, next)
    }

    fn held(&self) -> Count {
        self.queue.held()
    }

    fn state(&self) -> AqmState {
        AqmState { drop_count: Some(self.codel.drop_count()), ..AqmState::default() }
    }
}

/// The state of one queue (`struct codel_vars`).
#[derive(Debug, Clone, Default)]
pub(super) struct Codel {
    /// Drops or marks since it began to (`count`).
    count: u32,
    /// `count` when the last cycle began.
    last_count: u32,
    /// `1 / sqrt(count)`, approximately, in 65536ths (`rec_inv_sqrt`).
    inverse_root: u16,
    is_dropping: bool,
    /// When the sojourn time has been above the target for an interval; `None` while it is below.
    first_above: Option<Time>,
    /// When the next packet is dropped.
    drop_next: Time,
}

impl Codel {
    /// More signals, for packets that an overflow dropped (`fq_codel_drop()`).
    pub(super) fn add_signals(&mut self, drops: u32) {
        self.count = self.count.saturating_add(drops);
    }

    /// Drops and marks of the cycle that lasts; 0 between cycles.
    pub(super) fn drop_count(&self) -> u64 {
        if self.is_dropping { self.count.into() } else { 0 }
    }

    /// The packet that leaves at `now` (RFC 8289, section 5.5; `codel_dequeue()`). `next` takes the first packet of the queue, with the bytes
    /// that stay behind it.
    pub(super) fn dequeue<T: IpPacket>(
        &mut self,
        now: Time,
        params: &CodelSpec,
        log: &mut AqmLog<'_>,
        mut next: impl FnMut() -> (Option<Waiting<T>>, u64),
    ) -> Option<Waiting<T>> {
        let (first, backlog) = next();
        let Some(mut waiting) = first else {
            self.is_dropping = false;
            self.first_above = None;
            return None;
        };
        let mut may_drop = self.may_drop(now, &waiting, backlog, params);
        if self.is_dropping {
            if !may_drop {
                self.is_dropping = false;
            }
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                self.step();
                if params.ecn && log.mark(&mut waiting.packet) {
                    self.drop_next = control_law(self.drop_next, params.interval, self.inverse_root);
                    break;
                }
                log.drop_packet(DropReason::Aqm, &waiting.packet);
                (waiting, may_drop) = self.next_after_drop(now, params, &mut next)?;
                if may_drop {
                    self.drop_next = control_law(self.drop_next, params.interval, self.inverse_root);
                } else {
                    self.is_dropping = false;
                }
            }
        } else if may_drop {
            self.start_dropping(now, params.interval);
            if !(params.ecn && log.mark(&mut waiting.packet)) {
                log.drop_packet(DropReason::Aqm, &waiting.packet);
                // The cycle has begun, whatever comes next; an empty queue ends it at its next packet.
                let (first, backlog) = next();
                let Some(following) = first else {
                    self.first_above = None;
                    return None;
                };
                self.may_drop(now, &following, backlog, params);
                waiting = following;
            }
        }
        Some(waiting)
    }

    fn next_after_drop<T>(
        &mut self,
        now: Time,
        params: &CodelSpec,
        next: &mut impl FnMut() -> (Option<Waiting<T>>, u64),
    ) -> Option<(Waiting<T>, bool)> {
        let (first, backlog) = next();
        let Some(waiting) = first else {
            self.is_dropping = false;
            self.first_above = None;
            return None;
        };
        let may_drop = self.may_drop(now, &waiting, backlog, params);
        Some((waiting, may_drop))
    }

    /// Whether the sojourn time has been above the target for an interval (RFC 8289, section 5.6; `codel_should_drop()`).
    fn may_drop<T>(&mut self, now: Time, waiting: &Waiting<T>, backlog: u64, params: &CodelSpec) -> bool {
        if waiting.sojourn(now) < params.target || backlog <= params.frame.get() {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.after(params.interval));
                false
            }
            Some(first_above) => now > first_above,
        }
    }

    /// A cycle of drops begins, with the rate of the last one where that ended a moment ago.
    fn start_dropping(&mut self, now: Time, interval: Duration) {
        self.is_dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let is_recent = now.since(self.drop_next) < RECENT_INTERVALS * interval;
        if delta > 1 && is_recent {
            self.count = delta;
            self.step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = control_law(now, interval, self.inverse_root);
    }

    /// `x (3 - count x²) / 2` (`codel_Newton_step()`).
    fn step(&mut self) {
        let root = u64::from(self.inverse_root) << ROOT_SHIFT;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = (rest.wrapping_mul(root) >> (32 - 2 + 1 + ROOT_SHIFT)) as u16;
    }
}

/// `t + interval / sqrt(count)` (RFC 8289, section 5.6; `codel_control_law()`).
fn control_law(t: Time, interval: Duration, inverse_root: u16) -> Time {
    t.after(interval.mul_f64(f64::from(inverse_root) / f64::from(1_u32 << ROOT_SHIFT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of 1/count: near it, but for the second drop.
    #[test]
    fn drops_come_at_the_interval_over_the_root_of_their_number() {
        let interval = Duration::from_millis(100);
        let mut codel = Codel::default();
        codel.start_dropping(Time::from_nanos(0), interval);
        let mut after_us = vec![codel.drop_next.micros()];
        for _ in 1..100 {
            codel.count += 1;
            codel.step();
            after_us.push(control_law(Time::ZERO, interval, codel.inverse_root).micros());
        }
        assert_eq!([0, 1, 2, 3].map(|drop: usize| after_us[drop] / 100), [999, 500, 562, 487]);
        for (number, after_us) in (1_u32..).zip(after_us).skip(4) {
            let wanted_us = 100_000.0 / f64::from(number).sqrt();
            assert!((after_us as f64 / wanted_us - 1.0).abs() < 0.02, "{number}: {after_us} µs");
        }
    }

    /// A cycle that goes on at a rate far below the last one's finds the root of it in steps by a half: first it drops faster.
    #[test]
    fn a_smaller_count_is_found_in_steps() {
        let mut codel = Codel { count: 100, inverse_root: 6_554, ..Codel::default() };
        codel.count = 4;
        let mut roots = Vec::new();
        for _ in 0..6 {
            codel.step();
            roots.push(codel.inverse_root / 100);
        }
        assert_eq!(roots, [96, 141, 198, 261, 308, 326]);
    }

    #[test]
    fn a_cycle_that_begins_soon_goes_on_at_the_last_ones_rate() {
        let interval = Duration::from_millis(100);
        let ended = Codel { count: 12, last_count: 2, drop_next: Time::ZERO, ..Codel::default() };
        for (after, count) in [(Duration::from_millis(1_599), 10), (Duration::from_millis(1_600), 1)] {
            let mut codel = ended.clone();
            codel.start_dropping(Time::ZERO.after(after), interval);
            assert_eq!(codel.count, count);
        }
    }
}
