//! What a path does to packets beside delaying, losing and queueing them: marks, a policer, a smaller link, changes over time.

use super::{DirectionSpec, LossSpec, StepTrace, nanos, nanos_opt};
use crate::units::{Bytes, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A policer: what finds no token is dropped, and nothing waits (`act_police` with `conform-exceed drop`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PolicerSpec {
    /// What passes in the long run, counting Ethernet frames without FCS (IP + 14 bytes).
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Depth of its bucket.
    #[serde(rename = "burst_bytes")]
    pub burst: Bytes,
}

/// A link between the hosts that carries smaller IP packets than the hosts' own links.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InnerMtuSpec {
    /// Largest IP packet, bytes.
    #[serde(rename = "mtu_bytes")]
    pub mtu: u16,
    /// Whether the sender of a larger packet is told.
    pub pmtud: Pmtud,
}

/// What becomes of a packet that a link can't carry and must not fragment (RFC 1191, RFC 8201).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pmtud {
    /// It is dropped, and its sender gets an ICMP message with the MTU.
    #[default]
    Icmp,
    /// It is dropped without a word (RFC 2923, section 2.1).
    BlackHole,
}

/// From an instant on, or for a while, a direction is another. What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ChangeSpec {
    /// When it begins, after the traffic's start.
    #[serde(rename = "at_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub at: Duration,
    /// How long it lasts; `None` = to the end.
    #[serde(rename = "for_ns", with = "nanos_opt")]
    #[schemars(with = "Option<u64>")]
    pub lasts: Option<Duration>,
    /// Rate of the bottleneck.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// Loss, in place of what the direction has.
    pub loss: Option<LossSpec>,
    /// Fixed one-way delay of packets that come from then on.
    #[serde(rename = "delay_ns", with = "nanos_opt")]
    #[schemars(with = "Option<u64>")]
    pub delay: Option<Duration>,
}

impl ChangeSpec {
    /// When it ends; `None` = never.
    pub fn end(&self) -> Option<Duration> {
        Some(self.at + self.lasts?)
    }

    /// Whether nothing passes while it holds.
    pub fn is_outage(&self) -> bool {
        self.loss == Some(LossSpec::Independent(Ratio::ONE))
    }

    /// Whether it holds at `instant`, after the traffic's start.
    pub fn holds_at(&self, instant: Duration) -> bool {
        self.at <= instant && self.end().is_none_or(|end| instant < end)
    }
}

/// What a direction is from an instant on, beside its rate ([`DirectionSpec::rate_over_time`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// When it begins, after the traffic's start.
    pub from: Duration,
    /// Number of the change whose loss holds; `None` = the direction's own.
    pub loss_of: Option<usize>,
    /// Fixed one-way delay of the change that holds; `None` = the direction's own.
    pub delay: Option<Duration>,
}

impl DirectionSpec {
    /// Whether it asks for anything of this module.
    pub fn has_hazards(&self) -> bool {
        !self.mark.is_none()
            || self.policer.is_some()
            || self.inner_mtu.is_some()
            || self.delay_trace.is_some()
            || self.loss_trace.is_some()
            || !self.changes.is_empty()
    }

    /// The shortest and the longest fixed one-way delay at any time.
    pub fn delays(&self) -> RangeInclusive<Duration> {
        let traced = self.delay_trace.iter().flat_map(StepTrace::values).map(|ns| Duration::from_nanos(*ns));
        let changed = self.changes.iter().filter_map(|change| change.delay);
        traced.chain(changed).fold(self.delay..=self.delay, |range, delay| {
            *range.start().min(&delay)..=*range.end().max(&delay)
        })
    }

    /// The spans between changes, in order, the first from 0 on. Of changes that overlap the later one in the scenario holds.
    pub fn phases(&self) -> Vec<Phase> {
        let ends = self.changes.iter().filter_map(ChangeSpec::end);
        let mut instants: Vec<Duration> =
            self.changes.iter().map(|change| change.at).chain(ends).chain([Duration::ZERO]).collect();
        instants.sort_unstable();
        instants.dedup();
        instants.into_iter().map(|from| self.phase_at(from)).collect()
    }

    fn phase_at(&self, from: Duration) -> Phase {
        let mut phase = Phase { from, loss_of: None, delay: None };
        for (number, change) in self.changes.iter().enumerate().filter(|(_, change)| change.holds_at(from)) {
            phase.loss_of = change.loss.as_ref().map(|_| number).or(phase.loss_of);
            phase.delay = change.delay.or(phase.delay);
        }
        phase
    }
}

#[cfg(test)]
mod tests {
    use super::super::ValueSteps;
    use super::*;

    #[test]
    fn the_later_of_overlapping_changes_holds_and_what_it_does_not_name_stays() {
        let seconds = Duration::from_secs;
        let change =
            ChangeSpec { at: seconds(2), lasts: Some(seconds(4)), rate: None, loss: None, delay: None };
        let outage = ChangeSpec {
            at: seconds(3),
            lasts: Some(seconds(1)),
            loss: Some(LossSpec::Independent(Ratio::ONE)),
            ..change.clone()
        };
        let slower = ChangeSpec { delay: Some(seconds(1)), ..change };
        let spec = DirectionSpec { changes: vec![slower, outage], ..DirectionSpec::EMPTY };
        let found: Vec<_> = spec
            .phases()
            .iter()
            .map(|phase| (phase.from.as_secs(), phase.delay.map(|delay| delay.as_secs()), phase.loss_of))
            .collect();
        let slow = Some(1);
        assert_eq!(
            found,
            [(0, None, None), (2, slow, None), (3, slow, Some(1)), (4, slow, None), (6, None, None)]
        );
    }

    #[test]
    fn the_range_of_delays_has_those_of_the_trace_and_of_the_changes() {
        let ms = Duration::from_millis;
        let steps = ValueSteps { at_us: vec![0, 5], values: vec![30_000_000, 20_000_000], period_us: None };
        let change = ChangeSpec { at: ms(1), lasts: None, rate: None, loss: None, delay: Some(ms(70)) };
        let spec = DirectionSpec {
            delay: ms(20),
            delay_trace: StepTrace::new(steps).ok(),
            changes: vec![change],
            ..DirectionSpec::EMPTY
        };
        assert_eq!(spec.delays(), ms(20)..=ms(70));
        assert_eq!(DirectionSpec { delay: ms(7), ..DirectionSpec::EMPTY }.delays(), ms(7)..=ms(7));
    }
}
