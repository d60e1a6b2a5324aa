//! Why the congestion window was no larger: startup, an idle time, loss (and whose), CE marks, reordering, the way of the ACKs, growth.
//!
//! A cause needs evidence: a queue's loss needs drops of that queue in the direction of the data. What was not counted is not 0, and then
//! the window has no cause.

use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use crate::infer::drops::Drops;
use crate::infer::queue;
use pipefill_core::evidence::{Evidence, SenderEvidence};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::{LossKind, WayFacts};

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
    /// Whether segments were sent again before the first sample.
    pub(super) has_lost_before: bool,
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
pub(super) struct Refiner<'a> {
    losses: Losses,
    thresholds: &'a Thresholds,
    /// Whether its slow start may end before anything is lost (HyStart, `hystart_update()` of `tcp_cubic.c`).
    has_hystart: bool,
    /// Why segments were last sent again, or cwnd was cut.
    last: Option<(u64, Option<Cause>)>,
    /// The cause of the losses in the last epoch, where those before had the same.
    recurred: Option<Cause>,
    memory_us: u64,
}

impl<'a> Refiner<'a> {
    /// For a stream whose sender has `congestion_control`; empty where that is not known.
    pub(super) fn new(losses: Losses, congestion_control: &str, thresholds: &'a Thresholds) -> Self {
        let round_trips_us = thresholds.loss_memory.value() * losses.base_rtt_us as f64;
        let memory_us = (round_trips_us as u64).max(thresholds.loss_memory_us.whole());
        let has_hystart = matches!(congestion_control, "" | "cubic");
        Self { losses, thresholds, has_hystart, last: None, recurred: None, memory_us }
    }

    /// The cause of `epoch`; `None` where the congestion window did not limit it, or nothing tells why.
    pub(super) fn observe(
        &mut self,
        evidence: &Evidence,
        limited_by: LimitedBy,
        around: Around,
    ) -> Option<Cause> {
        let sender = evidence.sender.as_ref()?;
        let mut trace = Trace::default();
        self.recurred = None;
        if sender.has_losses() {
            let cause = self.whose(evidence, sender, around, &mut trace);
            self.recurred = self.last.and_then(|(_, before)| before).filter(|before| Some(*before) == cause);
            self.last = Some((evidence.to_us, cause));
        } else if sender.has_marks() {
            // `tcp_enter_cwr()`: cwnd is cut as after a loss.
            let was_marked = self.last.is_some_and(|(_, before)| before == Some(Cause::Ecn));
            self.recurred = was_marked.then_some(Cause::Ecn);
            self.last = Some((evidence.to_us, Some(Cause::Ecn)));
        }
        if limited_by != LimitedBy::Cwnd || self.may_be_others() {
            return None;
        }
        if sender.cwnd_before_idle.is_some() {
            return Some(Cause::IdleRestart);
        }
        let is_awaited = trace.at_least(self.thresholds.timer_awaited, sender.timer_share);
        // An answer that was lost took the ACK with it.
        let is_of_answers = trace.at_least(self.thresholds.timer_awaited, sender.answer_timer_share);
        if is_awaited && (is_of_answers || !self.had_arrived(&mut trace)) {
            return Some(Cause::Timeout);
        }
        let recent = self.last.filter(|(at_us, _)| evidence.to_us - at_us <= self.memory_us);
        if let Some((_, cause)) = recent
            && cause != Some(Cause::QueueLoss)
        {
            // A few losses show neither chance nor a queue: what they left of the window grows again, unless ACKs wait.
            let is_repairing = trace.at_least(self.thresholds.repairing, sender.repair_share);
            let grows = self.losses.observed.is_some() && !is_repairing;
            let is_held = cause.is_none() && grows && self.acks_wait(sender, around, &mut trace);
            let left = if is_held { Cause::AckPath } else { Cause::Growth };
            return cause.or(grows.then_some(left));
        }
        if self.is_held_by_acks(evidence, sender, around, &mut trace) {
            return Some(Cause::AckPath);
        }
        match (recent, self.last) {
            (Some((_, cause)), _) => cause,
            (None, Some(_)) => Some(Cause::Growth),
            (None, None) if sender.has_ssthresh && self.losses.has_lost_before => Some(Cause::Growth),
            (None, None) if sender.has_ssthresh && self.has_hystart => Some(Cause::HystartExit),
            // The route's threshold, or that of an earlier connection (`tcp_init_metrics()`).
            (None, None) if sender.has_ssthresh => Some(Cause::Growth),
            (None, None) => Some(Cause::Startup),
        }
    }

    /// The cause of the losses in the last epoch, where those before had the same: the growth between them is theirs too.
    pub(super) const fn recurred(&self) -> Option<Cause> {
        self.recurred
    }

    /// Why segments are sent again in the interval of `evidence`.
    fn whose(
        &self,
        evidence: &Evidence,
        sender: &SenderEvidence,
        around: Around,
        trace: &mut Trace,
    ) -> Option<Cause> {
        if let Some(way) = self.losses.observed {
            return self.whose_by_sockets(sender, way, trace);
        }
        let Drops { random, queue, policed, .. } = self.losses.data;
        let (random, queue, policed) = (random?, queue?, policed.unwrap_or(0));
        let is_policed = if policed > 0 { policed > queue } else { self.losses.is_policer };
        let by_queue = if is_policed { Cause::Policer } else { Cause::QueueLoss };
        let has_just_dropped = self.has_just_dropped(evidence, sender, around.overflow_us, trace);
        if self.are_spurious(sender, trace) && !has_just_dropped {
            let lost = if random > 0 { Cause::RandomLoss } else { by_queue };
            return self.spurious_cause(sender, trace).or(Some(lost));
        }
        match (random, queue.saturating_add(policed)) {
            (0, 0) if self.losses.data.by_the_testbed() > 0 => Some(by_queue),
            (0, 0) => self.spurious_cause(sender, trace),
            (0, _) => Some(by_queue),
            (_, 0) => Some(Cause::RandomLoss),
            _ if has_just_dropped => Some(by_queue),
            _ => Some(Cause::RandomLoss),
        }
    }

    /// The kind of most losses, and a queue's where the round trip is as long as only a queue makes it.
    fn whose_by_sockets(&self, sender: &SenderEvidence, way: WayFacts, trace: &mut Trace) -> Option<Cause> {
        let has_risen = sender.srtt_us.is_some_and(|rtt_us| {
            trace.at_least(self.thresholds.loss_in_queue, self.over_base(rtt_us as f64))
        });
        Some(match way.loss?.value {
            LossKind::Chance
                if has_risen && way.rate_bps.is_some() && self.losses.data.may_be(LossKind::Queue) =>
            {
                Cause::QueueLoss
            }
            kind => kind.into(),
        })
    }

    /// Whether most of what was sent again had arrived: by the path's own drops, else by the receiver's DSACKs.
    fn are_spurious(&self, sender: &SenderEvidence, trace: &mut Trace) -> bool {
        let (again, dsacks) =
            self.losses.sent_again.unwrap_or((sender.retransmits_so_far, sender.spurious_so_far));
        let share = |count: f64| if again > 0 { count / f64::from(again) } else { f64::INFINITY };
        dsacks.is_some_and(|dsacks| {
            dsacks > 0 && trace.at_least(self.thresholds.spurious, share(f64::from(dsacks)))
        }) && self
            .losses
            .data
            .by_the_path()
            .is_some_and(|lost| trace.below(self.thresholds.spurious, share(lost as f64)))
    }

    /// Why a sender takes what arrived for lost: it came in another order, or its ACKs did not come.
    fn spurious_cause(&self, sender: &SenderEvidence, trace: &mut Trace) -> Option<Cause> {
        let is_reordered =
            self.losses.data.reordered.is_some_and(|count| count > 0) || sender.has_seen_reordering;
        let acks_are_lost = self.are_acks_lost(trace);
        match (is_reordered, acks_are_lost) {
            (_, true) => Some(Cause::AckPath),
            (true, _) => Some(Cause::Reordering),
            _ => self.losses.acks.by_the_path().filter(|&lost| lost > 0).map(|_| Cause::AckPath),
        }
    }

    fn is_held_by_acks(
        &self,
        evidence: &Evidence,
        sender: &SenderEvidence,
        around: Around,
        trace: &mut Trace,
    ) -> bool {
        // The round trip of what doubles is that of a queue that it has just made.
        let is_doubling = evidence.packets.is_some_and(|packets| packets.is_doubling);
        // Where timestamps tell how long they waited, no round trip does.
        let is_known = sender.ack_delay_us.is_some();
        self.acks_wait(sender, around, trace)
            || !is_known && !is_doubling && self.meets_no_queue(sender, trace)
            || self.are_acks_lost(trace)
    }

    /// Whether ACKs wait on their way for much of a round trip.
    fn acks_wait(&self, sender: &SenderEvidence, around: Around, trace: &mut Trace) -> bool {
        around.ack_wait_us.filter(|&wait_us| wait_us > 0).is_some_and(|wait_us| {
            let round_trip_us = round_trip_us(sender);
            let share = if round_trip_us > 0.0 { wait_us as f64 / round_trip_us } else { f64::INFINITY };
            trace.at_least(self.thresholds.acks_wait, share)
        })
    }

    fn are_acks_lost(&self, trace: &mut Trace) -> bool {
        self.losses.acks.share().is_some_and(|share| trace.at_least(self.thresholds.acks_lost, share))
    }

    /// A round trip that is long, and neither a rate that the data would have met nor a queue that drops some at such a one: it is the ACKs
    /// that wait.
    fn meets_no_queue(&self, sender: &SenderEvidence, trace: &mut Trace) -> bool {
        let round_trip_us = round_trip_us(sender);
        self.losses.observed.is_some_and(|way| {
            way.rate_bps.is_none() && !queue::may_overflow(&way, round_trip_us as u64, self.thresholds)
        }) && trace.at_least(self.thresholds.round_trip_long, self.over_base(round_trip_us))
    }

    /// Whether what a timer is awaited for had arrived: ACKs were lost or late.
    fn had_arrived(&self, trace: &mut Trace) -> bool {
        let last = matches!(self.last, Some((_, Some(Cause::AckPath | Cause::Reordering))));
        last || self.are_acks_lost(trace)
    }

    fn over_base(&self, rtt_us: f64) -> f64 {
        let base_us = self.losses.base_rtt_us as f64;
        if base_us > 0.0 { rtt_us / base_us } else { f64::INFINITY }
    }

    /// A queue drops many at once, and chance a packet here and there: whether it dropped so shortly before that what is sent again now
    /// is what it dropped.
    fn has_just_dropped(
        &self,
        evidence: &Evidence,
        sender: &SenderEvidence,
        overflow_us: Option<u64>,
        trace: &mut Trace,
    ) -> bool {
        let Some(at_us) = overflow_us else { return false };
        let since_us = evidence.from_us.saturating_sub(at_us) as f64;
        let srtt_us = sender.srtt_us.unwrap_or(0) as f64;
        let beyond_us = (since_us - self.thresholds.repair.value() * srtt_us).max(0.0);
        trace.at_most(self.thresholds.repair_timer_us, beyond_us)
    }

    /// What gets through has fallen from a level that it had, and nothing was lost, or once: nothing tells others from ACKs that wait.
    fn may_be_others(&self) -> bool {
        self.losses.observed.is_some_and(|way| {
            way.shared_bps.is_some() && way.rate_bps.is_none() && way.overflow_rtt_us.is_none()
        })
    }
}

/// The mean round trip of an interval, microseconds.
fn round_trip_us(sender: &SenderEvidence) -> f64 {
    sender.srtt_mean_us.or(sender.srtt_us).unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::{Fact, Origin};

    fn dropped(random: u64, queue: u64) -> Drops {
        Drops { random: Some(random), queue: Some(queue), ..Drops::default() }
    }

    fn refiner(data: Drops) -> Refiner<'static> {
        refiner_of(Losses { data, ..Losses::default() })
    }

    fn refiner_of(losses: Losses) -> Refiner<'static> {
        Refiner::new(losses, "", &STANDARD)
    }

    fn epoch(from_us: u64, retransmits: u32) -> Evidence {
        let sender = SenderEvidence { retransmits, srtt_us: Some(10_000), ..SenderEvidence::default() };
        Evidence { from_us, to_us: from_us + 40_000, sender: Some(sender), ..Evidence::default() }
    }

    fn after(overflow_us: Option<u64>) -> Around {
        Around { overflow_us, ..Around::default() }
    }

    #[test]
    fn a_loss_is_the_queues_where_it_has_just_dropped_and_else_chance() {
        let mut refiner = refiner(dropped(6, 45));
        let mut observe = |from_us, retransmits, overflow_us| {
            refiner.observe(&epoch(from_us, retransmits), LimitedBy::Cwnd, after(overflow_us))
        };
        assert_eq!(observe(0, 0, None), Some(Cause::Startup));
        assert_eq!(observe(100_000, 45, Some(120_000)), Some(Cause::QueueLoss), "in the epoch");
        assert_eq!(
            observe(350_000, 1, Some(120_000)),
            Some(Cause::QueueLoss),
            "three round trips and the timer"
        );
        assert_eq!(observe(350_001, 0, Some(120_000)), Some(Cause::QueueLoss), "what the last one left");
        assert_eq!(observe(390_000, 1, Some(120_000)), Some(Cause::RandomLoss));
        assert_eq!(observe(800_000, 0, Some(120_000)), Some(Cause::RandomLoss));
        assert_eq!(observe(2_800_000, 0, Some(120_000)), Some(Cause::Growth));
    }

    #[test]
    fn what_few_losses_of_any_kind_have_left_grows_once_they_are_repaired() {
        let see = |observed, repair_share| {
            let mut refiner = refiner_of(Losses { observed, ..Losses::default() });
            let mut lossy = epoch(0, 9);
            lossy.sender.as_mut().expect("a sender").repair_share = repair_share;
            refiner.observe(&lossy, LimitedBy::Cwnd, after(None))
        };
        let unknown = Some(WayFacts { rate_bps: None, loss: None, ..WayFacts::default() });
        assert_eq!([see(unknown, 0.0), see(unknown, 1.0), see(None, 0.0)], [Some(Cause::Growth), None, None]);
    }

    #[test]
    fn losses_of_the_same_cause_recur() {
        let mut refiner = refiner(dropped(6, 45));
        let mut recurred = |from_us, retransmits, overflow_us| {
            let _cause = refiner.observe(&epoch(from_us, retransmits), LimitedBy::Cwnd, after(overflow_us));
            refiner.recurred()
        };
        assert_eq!(recurred(0, 9, Some(0)), None, "the first one");
        assert_eq!(recurred(4_000_000, 0, Some(0)), None, "no loss");
        assert_eq!(recurred(5_000_000, 9, Some(5_000_000)), Some(Cause::QueueLoss));
        assert_eq!(recurred(9_000_000, 1, Some(5_000_000)), None, "chance");
        assert_eq!(recurred(9_900_000, 1, Some(5_000_000)), Some(Cause::RandomLoss));
    }

    #[test]
    fn where_there_is_one_kind_of_losses_it_is_that() {
        let of = |data| refiner(data).observe(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(dropped(3, 0)), Some(Cause::RandomLoss));
        assert_eq!(of(dropped(0, 3)), Some(Cause::QueueLoss));
        assert_eq!(refiner(dropped(3, 3)).observe(&epoch(0, 1), LimitedBy::Rwnd, after(None)), None);
        let mut policed = refiner_of(Losses { data: dropped(0, 3), is_policer: true, ..Losses::default() });
        assert_eq!(policed.observe(&epoch(0, 1), LimitedBy::Cwnd, after(None)), Some(Cause::Policer));
    }

    #[test]
    fn a_missing_counter_is_not_zero_and_a_queue_that_dropped_nothing_is_not_blamed() {
        let of = |data| refiner(data).observe(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(Drops::default()), None, "nobody counted");
        assert_eq!(of(dropped(0, 0)), None, "nothing was dropped and nothing reordered");
        assert_eq!(of(Drops { reordered: Some(9), ..dropped(0, 0) }), Some(Cause::Reordering));
    }

    #[test]
    fn acks_that_are_lost_or_wait_hold_the_window_back() {
        let lost = Losses {
            data: dropped(0, 0),
            acks: Drops { offered: Some(100), ..dropped(90, 0) },
            ..Losses::default()
        };
        assert_eq!(
            refiner_of(lost).observe(&epoch(0, 1), LimitedBy::Cwnd, after(None)),
            Some(Cause::AckPath)
        );
        assert_eq!(
            refiner_of(lost).observe(&epoch(0, 0), LimitedBy::Cwnd, after(None)),
            Some(Cause::AckPath)
        );
        let waiting = |wait| Around { ack_wait_us: Some(wait), ..Around::default() };
        let of = |wait| refiner(dropped(0, 0)).observe(&epoch(0, 0), LimitedBy::Cwnd, waiting(wait));
        assert_eq!([of(6_000), of(4_000)], [Some(Cause::AckPath), Some(Cause::Startup)]);
    }

    #[test]
    fn marks_cut_the_window_without_a_loss_and_an_idle_time_without_either() {
        let mut refiner = refiner(dropped(0, 0));
        let sender = |ce_segments, cwnd_before_idle| SenderEvidence {
            ce_segments,
            cwnd_before_idle,
            has_ssthresh: true,
            srtt_us: Some(10_000),
            ..SenderEvidence::default()
        };
        let mut observe = |from_us, ce_segments, before_idle| {
            let sender = Some(sender(ce_segments, before_idle));
            let evidence = Evidence { from_us, to_us: from_us + 40_000, sender, ..Evidence::default() };
            let cause = refiner.observe(&evidence, LimitedBy::Cwnd, after(None));
            (cause, refiner.recurred())
        };
        assert_eq!(observe(0, 3, None), (Some(Cause::Ecn), None));
        assert_eq!(observe(40_000, 0, None), (Some(Cause::Ecn), None), "what the last ones left");
        assert_eq!(observe(3_000_000, 0, None), (Some(Cause::Growth), None));
        assert_eq!(observe(3_040_000, 1, None), (Some(Cause::Ecn), Some(Cause::Ecn)));
        assert_eq!(observe(9_000_000, 0, Some(100_000)), (Some(Cause::IdleRestart), None));
    }

    #[test]
    fn a_timer_is_awaited_for_what_was_lost_and_not_for_what_had_arrived() {
        let observe = |data, acks, timer_share| {
            let mut evidence = epoch(0, 1);
            evidence.sender.as_mut().expect("a sender").timer_share = timer_share;
            refiner_of(Losses { data, acks, ..Losses::default() }).observe(
                &evidence,
                LimitedBy::Cwnd,
                after(None),
            )
        };
        let none = Drops::default();
        assert_eq!(observe(dropped(3, 0), none, 0.5), Some(Cause::Timeout));
        assert_eq!(observe(dropped(3, 0), none, 0.4), Some(Cause::RandomLoss));
        let acks = Drops { offered: Some(100), ..dropped(90, 0) };
        assert_eq!(observe(dropped(0, 0), acks, 1.0), Some(Cause::AckPath));
        let before_the_timer = Evidence {
            sender: Some(SenderEvidence { timer_share: 1.0, ..SenderEvidence::default() }),
            ..Evidence::default()
        };
        let mut refiner = refiner_of(Losses { data: dropped(0, 0), acks, ..Losses::default() });
        assert_eq!(refiner.observe(&before_the_timer, LimitedBy::Cwnd, after(None)), Some(Cause::AckPath));
    }

    /// What was seen of losses elsewhere in the connection makes no lost ACK of a timer.
    #[test]
    fn what_a_timer_is_awaited_for_is_its_own_unless_the_last_losses_were_none() {
        let waits = |seen: LossKind, last: Option<Cause>| {
            let loss = Some(Fact { value: seen, origin: Origin::Inferred });
            let observed = Some(WayFacts { loss, ..WayFacts::default() });
            let mut refiner = refiner_of(Losses { observed, ..Losses::default() });
            refiner.last = last.map(|cause| (0, Some(cause)));
            let sender = Some(SenderEvidence { timer_share: 1.0, ..SenderEvidence::default() });
            let evidence = Evidence { to_us: 40_000, sender, ..Evidence::default() };
            refiner.observe(&evidence, LimitedBy::Cwnd, after(None))
        };
        for seen in [LossKind::Acks, LossKind::Reordering, LossKind::Chance] {
            assert_eq!(waits(seen, None), Some(Cause::Timeout), "{seen:?}");
            assert_eq!(waits(seen, Some(Cause::RandomLoss)), Some(Cause::Timeout), "{seen:?}");
            assert_eq!(waits(seen, Some(Cause::AckPath)), Some(Cause::AckPath), "{seen:?}");
        }
    }

    #[test]
    fn what_had_arrived_already_was_not_lost() {
        let losses = Losses {
            data: Drops { reordered: Some(50), ..dropped(3, 0) },
            sent_again: Some((100, Some(90))),
            ..Losses::default()
        };
        let of = |losses| refiner_of(losses).observe(&epoch(0, 1), LimitedBy::Cwnd, after(None));
        assert_eq!(of(losses), Some(Cause::Reordering));
        let lossy = Losses { data: Drops { reordered: Some(50), ..dropped(80, 0) }, ..losses };
        assert_eq!(of(lossy), Some(Cause::RandomLoss), "the drops explain them");
    }
}
