//! Why the congestion window was no larger: startup, loss (and whose), reordering, the way of the ACKs, growth.
//!
//! A cause needs evidence: a queue's loss needs drops of that queue in the direction of the data. What was not counted is not 0, and then
//! the window has no cause.

use super::epochs::Epoch;
use super::way::Drops;
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::record::{LossKind, WayFacts};

/// A loss is forgotten after so many round trips: what follows is growth.
const MEMORY_ROUND_TRIPS: u64 = 20;
/// And not before this.
const MEMORY_US: u64 = 2_000_000;
/// A segment that the queue dropped is sent again within so many round trips …
const REPAIR_ROUND_TRIPS: u64 = 3;
/// … or when the retransmission timer says so, which is no sooner than this (`TCP_RTO_MIN`).
const REPAIR_US: u64 = 200_000;
/// Of the segments that were sent again, the receiver had this share already (DSACK, RFC 3708): they were not lost.
const SPURIOUS: f64 = 0.5;
/// With so many of the ACKs lost, fewer than one in two segments is acknowledged by its own: the window grows slowly and in bursts, and
/// timers fire for data that arrived.
const ACKS_LOST: f64 = 0.5;
/// ACKs that wait for this part of the round trip in a queue make it what it is.
const ACKS_WAIT: f64 = 0.5;
/// A round trip of so many base ones has a queue somewhere.
const LONG: f64 = 2.0;
/// Losses at such a round trip are those of a queue.
const RISEN: f64 = 1.5;

/// What is known of the path for one direction of data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    /// Of data.
    pub(super) data: Drops,
    /// Of ACKs.
    pub(super) acks: Drops,
    /// Whether the bottleneck is a policer.
    pub(super) is_policer: bool,
    /// The path's fixed round trip.
    pub(super) base_rtt_us: u64,
    /// Retransmits of the whole run and DSACKs for them, where its end is known.
    pub(super) sent_again: Option<(u32, Option<u32>)>,
    /// What round trips and windows tell of the losses, where nobody planned the path.
    pub(super) observed: Option<WayFacts>,
}

/// What happened in an epoch beside what its sender saw.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Around {
    /// When the queue of the data last dropped by the epoch's end.
    pub(super) overflow_us: Option<u64>,
    /// The mean wait of ACKs in the queue of their way.
    pub(super) ack_wait_us: Option<u64>,
}

/// Follows one stream.
pub(super) struct Refiner {
    losses: Losses,
    /// Why segments were last sent again.
    last: Option<(u64, Option<CwndCause>)>,
    /// The cause of the losses in the last epoch, where those before had the same.
    recurred: Option<CwndCause>,
    memory_us: u64,
}

impl Refiner {
    pub(super) fn new(losses: Losses) -> Self {
        let memory_us = MEMORY_ROUND_TRIPS.saturating_mul(losses.base_rtt_us).max(MEMORY_US);
        Self { losses, last: None, recurred: None, memory_us }
    }

    /// The cause of `epoch`; `None` where the congestion window did not limit it, or nothing tells why.
    pub(super) fn see(&mut self, epoch: &Epoch, limited_by: LimitedBy, around: Around) -> Option<CwndCause> {
        self.recurred = None;
        if epoch.has_losses() {
            let cause = self.whose(epoch, around);
            self.recurred = self.last.and_then(|(_, before)| before).filter(|before| Some(*before) == cause);
            self.last = Some((epoch.to_us, cause));
        }
        if limited_by != LimitedBy::Cwnd || self.may_be_others() {
            return None;
        }
        let recent = self.last.filter(|(at_us, _)| epoch.to_us - at_us <= self.memory_us);
        let by_acks = || self.is_held_by_acks(epoch, around).then_some(CwndCause::AckPath);
        match (recent, self.last) {
            (Some((_, cause)), _) if cause != Some(CwndCause::QueueLoss) => cause,
            (Some((_, cause)), _) => by_acks().or(cause),
            (None, Some(_)) => by_acks().or(Some(CwndCause::Growth)),
            (None, None) => by_acks().or(Some(match epoch.has_ssthresh {
                true => CwndCause::HystartExit,
                false => CwndCause::Startup,
            })),
        }
    }

    /// The cause of the losses in the epoch that [`Self::see`] was told last, where those before had the same: the growth between them is a
    /// tooth of the saw that such losses make.
    pub(super) const fn recurred(&self) -> Option<CwndCause> {
        self.recurred
    }

    /// Whose fault it is that segments are sent again in `epoch`.
    fn whose(&self, epoch: &Epoch, around: Around) -> Option<CwndCause> {
        if let Some(way) = self.losses.observed {
            return self.whose_by_sockets(epoch, way);
        }
        let (random, queue) = (self.losses.data.random?, self.losses.data.queue?);
        let by_queue = if self.losses.is_policer { CwndCause::Policer } else { CwndCause::QueueLoss };
        let has_just_dropped = has_just_dropped(epoch, around.overflow_us);
        if self.are_spurious(epoch) && !has_just_dropped {
            return self.spurious_cause(epoch).or(Some(if random > 0 {
                CwndCause::RandomLoss
            } else {
                by_queue
            }));
        }
        match (random, queue) {
            (0, 0) if self.losses.data.by_the_testbed() > 0 => Some(by_queue),
            (0, 0) => self.spurious_cause(epoch),
            (0, _) => Some(by_queue),
            (_, 0) => Some(CwndCause::RandomLoss),
            _ if has_just_dropped => Some(by_queue),
            _ => Some(CwndCause::RandomLoss),
        }
    }

    /// The kind of most losses, and a queue's where the round trip is as long as only a queue makes it.
    fn whose_by_sockets(&self, epoch: &Epoch, way: WayFacts) -> Option<CwndCause> {
        let has_risen = epoch.srtt_us.is_some_and(|rtt| rtt as f64 >= RISEN * self.losses.base_rtt_us as f64);
        Some(match way.loss?.value {
            LossKind::Chance if has_risen && way.rate_bps.is_some() => CwndCause::QueueLoss,
            LossKind::Queue => CwndCause::QueueLoss,
            LossKind::Chance => CwndCause::RandomLoss,
            LossKind::Policer => CwndCause::Policer,
            LossKind::Reordering => CwndCause::Reordering,
            LossKind::Acks => CwndCause::AckPath,
        })
    }

    /// Whether most of what was sent again had arrived: by the path's own drops, else by the receiver's DSACKs.
    fn are_spurious(&self, epoch: &Epoch) -> bool {
        let (again, dsacks) =
            self.losses.sent_again.unwrap_or((epoch.retransmits_so_far, epoch.dsacks_so_far));
        let needed = f64::from(again) * SPURIOUS;
        let by_dsack = dsacks.is_some_and(|dsacks| dsacks > 0 && f64::from(dsacks) >= needed);
        let by_drops = self.losses.data.by_the_path().is_some_and(|lost| (lost as f64) < needed);
        by_dsack && by_drops
    }

    /// Why a sender takes what arrived for lost: it came in another order, or its ACKs did not come.
    fn spurious_cause(&self, epoch: &Epoch) -> Option<CwndCause> {
        let is_reordered =
            self.losses.data.reordered.is_some_and(|count| count > 0) || epoch.has_seen_reordering;
        let acks_are_lost = self.losses.acks.share().is_some_and(|share| share >= ACKS_LOST);
        match (is_reordered, acks_are_lost) {
            (_, true) => Some(CwndCause::AckPath),
            (true, _) => Some(CwndCause::Reordering),
            _ => self.losses.acks.by_the_path().filter(|&lost| lost > 0).map(|_| CwndCause::AckPath),
        }
    }

    fn is_held_by_acks(&self, epoch: &Epoch, around: Around) -> bool {
        let they_wait =
            around.ack_wait_us.is_some_and(|wait| wait > 0 && wait as f64 >= ACKS_WAIT * round_trip(epoch));
        they_wait
            || self.meets_no_queue(epoch)
            || self.losses.acks.share().is_some_and(|share| share >= ACKS_LOST)
    }

    /// A round trip that is long, and neither a rate that the data would have met nor a queue that drops some at such a one: it is the ACKs
    /// that wait.
    fn meets_no_queue(&self, epoch: &Epoch) -> bool {
        let round_trip = round_trip(epoch);
        self.losses
            .observed
            .is_some_and(|way| way.rate_bps.is_none() && !way.may_be_its_queue(round_trip as u64))
            && round_trip >= LONG * self.losses.base_rtt_us as f64
    }

    /// What gets through has fallen from a level that it had, and nothing was lost, or once: nothing tells others from ACKs that wait.
    fn may_be_others(&self) -> bool {
        self.losses.observed.is_some_and(|way| {
            way.shared_bps.is_some() && way.rate_bps.is_none() && way.overflow_rtt_us.is_none()
        })
    }
}

/// The mean one of an epoch, microseconds.
fn round_trip(epoch: &Epoch) -> f64 {
    epoch.srtt_mean_us.or(epoch.srtt_us).unwrap_or(0) as f64
}

/// It drops many at once, and chance a packet here and there.
fn has_just_dropped(epoch: &Epoch, overflow_us: Option<u64>) -> bool {
    let repair_us = REPAIR_ROUND_TRIPS.saturating_mul(epoch.srtt_us.unwrap_or(0)).saturating_add(REPAIR_US);
    overflow_us.is_some_and(|at| epoch.from_us.saturating_sub(at) <= repair_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(random: u64, queue: u64) -> Drops {
        Drops { random: Some(random), queue: Some(queue), ..Drops::default() }
    }

    fn refiner(data: Drops) -> Refiner {
        Refiner::new(Losses { data, ..Losses::default() })
    }

    fn epoch(from_us: u64, retransmits: u32) -> Epoch {
        Epoch { from_us, to_us: from_us + 40_000, retransmits, srtt_us: Some(10_000), ..Epoch::default() }
    }

    fn after(overflow_us: Option<u64>) -> Around {
        Around { overflow_us, ..Around::default() }
    }

    #[test]
    fn a_loss_is_the_queues_where_it_has_just_dropped_and_else_chance() {
        let mut refiner = refiner(dropped(6, 45));
        let mut see = |from_us, retransmits, overflow_us| {
            refiner.see(&epoch(from_us, retransmits), LimitedBy::Cwnd, after(overflow_us))
        };
        assert_eq!(see(0, 0, None), Some(CwndCause::Startup));
        assert_eq!(see(100_000, 45, Some(120_000)), Some(CwndCause::QueueLoss), "in the epoch");
        assert_eq!(
            see(350_000, 1, Some(120_000)),
            Some(CwndCause::QueueLoss),
            "three round trips and the timer"
        );
        assert_eq!(see(350_001, 0, Some(120_000)), Some(CwndCause::QueueLoss), "what the last one left");
        assert_eq!(see(390_000, 1, Some(120_000)), Some(CwndCause::RandomLoss));
        assert_eq!(see(800_000, 0, Some(120_000)), Some(CwndCause::RandomLoss));
        assert_eq!(see(2_800_000, 0, Some(120_000)), Some(CwndCause::Growth));
    }

    #[test]
    fn losses_of_the_same_cause_recur() {
        let mut refiner = refiner(dropped(6, 45));
        let mut recurred = |from_us, retransmits, overflow_us| {
            let _cause = refiner.see(&epoch(from_us, retransmits), LimitedBy::Cwnd, after(overflow_us));
            refiner.recurred()
        };
        assert_eq!(recurred(0, 9, Some(0)), None, "the first one");
        assert_eq!(recurred(4_000_000, 0, Some(0)), None, "no loss");
        assert_eq!(recurred(5_000_000, 9, Some(5_000_000)), Some(CwndCause::QueueLoss));
        assert_eq!(recurred(9_000_000, 1, Some(5_000_000)), None, "chance");
        assert_eq!(recurred(9_900_000, 1, Some(5_000_000)), Some(CwndCause::RandomLoss));
    }

    #[test]
    fn where_there_is_one_kind_of_losses_it_is_that() {
        let of = |data| refiner(data).see(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(dropped(3, 0)), Some(CwndCause::RandomLoss));
        assert_eq!(of(dropped(0, 3)), Some(CwndCause::QueueLoss));
        assert_eq!(refiner(dropped(3, 3)).see(&epoch(0, 1), LimitedBy::Rwnd, after(None)), None);
        let mut policed = Refiner::new(Losses { data: dropped(0, 3), is_policer: true, ..Losses::default() });
        assert_eq!(policed.see(&epoch(0, 1), LimitedBy::Cwnd, after(None)), Some(CwndCause::Policer));
    }

    #[test]
    fn a_missing_counter_is_not_zero_and_a_queue_that_dropped_nothing_is_not_blamed() {
        let of = |data| refiner(data).see(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(Drops::default()), None, "nobody counted");
        assert_eq!(of(dropped(0, 0)), None, "nothing was dropped and nothing reordered");
        assert_eq!(of(Drops { reordered: Some(9), ..dropped(0, 0) }), Some(CwndCause::Reordering));
    }

    #[test]
    fn acks_that_are_lost_or_wait_hold_the_window_back() {
        let lost = Losses {
            data: dropped(0, 0),
            acks: Drops { offered: Some(100), ..dropped(90, 0) },
            ..Losses::default()
        };
        assert_eq!(
            Refiner::new(lost).see(&epoch(0, 1), LimitedBy::Cwnd, after(None)),
            Some(CwndCause::AckPath)
        );
        assert_eq!(
            Refiner::new(lost).see(&epoch(0, 0), LimitedBy::Cwnd, after(None)),
            Some(CwndCause::AckPath)
        );
        let waiting = |wait| Around { ack_wait_us: Some(wait), ..Around::default() };
        let of = |wait| refiner(dropped(0, 0)).see(&epoch(0, 0), LimitedBy::Cwnd, waiting(wait));
        assert_eq!([of(6_000), of(4_000)], [Some(CwndCause::AckPath), Some(CwndCause::Startup)]);
    }

    #[test]
    fn what_had_arrived_already_was_not_lost() {
        let losses = Losses {
            data: Drops { reordered: Some(50), ..dropped(3, 0) },
            sent_again: Some((100, Some(90))),
            ..Losses::default()
        };
        let of = |losses| Refiner::new(losses).see(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(losses), Some(CwndCause::Reordering));
        let lossy = Losses { data: Drops { reordered: Some(50), ..dropped(80, 0) }, ..losses };
        assert_eq!(of(lossy), Some(CwndCause::RandomLoss), "the drops explain them");
    }
}
