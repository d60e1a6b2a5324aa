//! What a packet meets before it is held: loss, the inner link's MTU, the policer, marks, duplication, in that order; and what its delay is.
//!
//! None of these takes time. A part that the scenario does not ask for does not exist, and where it asks for none, neither does the entry.

use crate::counters::{Count, Counters};
use crate::duplicate::Duplicate;
use crate::ip_packet::IpPacket;
use crate::loss::Loss;
use crate::packet::Packet;
use crate::policer::Policer;
use pipefill_core::cell::{DirectionSpec, InnerMtuSpec, LossUnit, Phase, Pmtud, StepTrace};
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::{Ratio, Seed, Time};
use std::time::Duration;

/// The Ethernet header, which a packet's bytes have beside its IP packet.
const ETHERNET: u32 = 14;

/// The parts that take no time.
#[derive(Debug)]
pub(crate) struct PathEntry<T> {
    loss: Option<Loss>,
    inner_mtu: Option<InnerMtuSpec>,
    /// Dropped by the inner link, and to be reported to their senders.
    unreported: Vec<Packet<T>>,
    policer: Option<Policer>,
    mark: Option<Loss>,
    duplicate: Option<Duplicate>,
    changes: Option<Changes>,
}

/// What becomes of a packet at the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Dropped,
    Once,
    Twice,
}

/// What holds when, of a direction that changes.
#[derive(Debug)]
struct Changes {
    phases: Vec<Phase>,
    /// The direction's own delay over time, nanoseconds; `None` = always `own_delay`.
    delays: Option<StepTrace<u64>>,
    own_delay: Duration,
    /// The delay that was told last.
    delay: Duration,
    /// The direction's own loss over time.
    shares: Option<StepTrace<Ratio>>,
    /// The losses of the changes, in the order of the scenario; `None` where one loses nothing.
    losses: Vec<Option<Loss>>,
    /// When the traffic began; `None` = not yet, and nothing changes before.
    begin: Option<Time>,
    /// Number of the phase that holds.
    phase: usize,
}

impl<T: IpPacket> PathEntry<T> {
    /// The entry of `spec`; `None` where it does nothing. Each part draws from its own stream of `seed`.
    pub(crate) fn new(spec: &DirectionSpec, name: &str, seed: Seed) -> Option<Self> {
        let stream = |part: &str| Prng::stream(seed, &format!("{name}/{part}"));
        let is_traced = spec.delay_trace.is_some() || spec.loss_trace.is_some();
        let changes = (is_traced || !spec.changes.is_empty()).then(|| Changes {
            phases: spec.phases(),
            delays: spec.delay_trace.clone(),
            own_delay: spec.delay,
            delay: spec.delay,
            shares: spec.loss_trace.clone(),
            losses: (0_usize..)
                .zip(&spec.changes)
                .map(|(number, change)| {
                    let loss = change.loss.as_ref()?;
                    Loss::new(loss, spec.loss_unit, stream(&format!("change {number} loss")))
                })
                .collect(),
            begin: None,
            phase: 0,
        });
        let loss = match spec.loss_trace {
            Some(_) => Some(Loss::following(spec.loss_unit, stream("loss"))),
            None => Loss::new(&spec.loss, spec.loss_unit, stream("loss")),
        };
        let entry = Self {
            loss,
            inner_mtu: spec.inner_mtu.clone(),
            unreported: Vec::new(),
            policer: spec.policer.as_ref().map(Policer::new),
            mark: Loss::new(&spec.mark, LossUnit::Segment, stream("mark")),
            duplicate: Duplicate::new(spec.duplicate, stream("duplicate")),
            changes,
        };
        let does_something = entry.loss.is_some()
            || entry.inner_mtu.is_some()
            || entry.policer.is_some()
            || entry.mark.is_some()
            || entry.duplicate.is_some()
            || entry.changes.is_some();
        does_something.then_some(entry)
    }

    /// The traffic begins at `now`: changes count from here.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(changes) = &mut self.changes {
            changes.begin = Some(now);
        }
    }

    /// The fixed delay from `now` on, where it is another than before.
    pub(crate) fn delay_changed(&mut self, now: Time) -> Option<Duration> {
        let changes = self.changes.as_mut()?;
        changes.advance(now);
        let own = || match &changes.delays {
            Some(delays) => Duration::from_nanos(delays.at(changes.since_begin(now))),
            None => changes.own_delay,
        };
        let delay = changes.phases[changes.phase].delay.unwrap_or_else(own);
        let before = std::mem::replace(&mut changes.delay, delay);
        (delay != before).then_some(delay)
    }

    /// Decides about a packet that comes at `now`; drops and marks are counted.
    pub(crate) fn admit(&mut self, now: Time, packet: &mut Packet<T>, counters: &mut Counters) -> Fate {
        if self.loses(now, packet.gso_id) {
            counters.drop_packet(DropReason::RandomLoss, packet);
            return Fate::Dropped;
        }
        if let Some(inner) = &self.inner_mtu
            && packet.bytes > u32::from(inner.mtu) + ETHERNET
            && packet.payload.has_df()
        {
            counters.drop_packet(DropReason::ExceedsMtu, packet);
            if inner.pmtud == Pmtud::Icmp {
                self.unreported.push(packet.clone());
            }
            return Fate::Dropped;
        }
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, packet.bytes)) {
            counters.drop_packet(DropReason::Policed, packet);
            return Fate::Dropped;
        }
        if let Some(mark) = &mut self.mark
            && packet.payload.is_ect()
            && mark.drops(packet.gso_id)
        {
            packet.payload.set_ce();
            counters.marked += Count::packet(packet.bytes);
        }
        if self.duplicate.as_mut().is_some_and(Duplicate::copies) { Fate::Twice } else { Fate::Once }
    }

    /// The packets that the inner link dropped and whose senders are to be told, in the order in which they came.
    pub(crate) fn take_oversized(&mut self) -> impl Iterator<Item = Packet<T>> {
        self.unreported.drain(..)
    }

    fn loses(&mut self, now: Time, gso_id: u64) -> bool {
        let mut loss = &mut self.loss;
        if let Some(changes) = &mut self.changes {
            if let Some(number) = changes.phases[changes.phase].loss_of {
                loss = &mut changes.losses[number];
            } else if let (Some(shares), Some(own)) = (&changes.shares, loss.as_mut()) {
                own.set_probability(shares.at(changes.since_begin(now)));
            }
        }
        loss.as_mut().is_some_and(|loss| loss.drops(gso_id))
    }
}

impl Changes {
    /// Nanoseconds since the traffic began; zero before.
    fn since_begin(&self, now: Time) -> u64 {
        self.begin.map_or(0, |begin| now.nanos().saturating_sub(begin.nanos()))
    }

    fn advance(&mut self, now: Time) {
        let Some(begin) = self.begin else { return };
        while self.phases.get(self.phase + 1).is_some_and(|next| begin.after(next.from) <= now) {
            self.phase += 1;
        }
    }
}
