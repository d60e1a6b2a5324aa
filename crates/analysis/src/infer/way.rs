//! One direction of the path, as the diagnosis knows it: its rate, its queue and bucket, and what it dropped.

use super::asked_rate;
use super::drops::Drops;
use super::known_run::KnownRun;
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use crate::ground::models::sizing::SUPER_PACKET;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, Framing, Protocol, RateOverTime};
use pipefill_core::record::{Fact, LossKind};
use pipefill_core::units::{Bytes, Rate};
use std::time::Duration;

/// One direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathDirection {
    /// Its rate, or that of a simulated host where it has none.
    rate: Option<Fact<RateOverTime>>,
    /// Since when it has that, microseconds.
    rate_since_us: u64,
    /// Whether that is the host's.
    pub(crate) is_the_hosts: bool,
    /// What its packets carry beside payload.
    pub(crate) headers: Headers,
    /// What each frame costs of it.
    pub(crate) framing: Framing,
    /// Depth of its token bucket, bytes.
    pub(crate) burst: u64,
    pub(crate) drops: Drops,
    /// Whether its bottleneck works as a policer: a bucket that is much larger than the short queue behind it.
    pub(crate) is_policer: bool,
}

impl PathDirection {
    pub(crate) fn of(run: &KnownRun<'_>, direction: Direction, thresholds: &Thresholds) -> Self {
        let known = run.path.way(direction);
        let asked = run.plan.map(|plan| plan.path.way(direction));
        let of_plan = asked.and_then(asked_rate).map(Fact::asked);
        let own_rate = of_plan.or(known.rate.map(|rate| rate.map(RateOverTime::steady)));
        let hosts_rate = run.host_rate.filter(|_| own_rate.is_none());
        let burst = known.burst.map_or(0, |burst| burst.value.get());
        let looks_policed =
            known.inferred.is_some_and(|way| way.loss.is_some_and(|loss| loss.value == LossKind::Policer));
        // The bucket lets bursts through, more than the one super-packet that any bucket has to pass, or there is no queue behind it.
        let is_policer = |rate: Rate, queue: u64| {
            let base_rtt = run.path.base_rtt();
            let frames = |count: u64| count * run.path.headers.full_frame().get();
            let short = rate.bdp(base_rtt.mul_f64(thresholds.policer_queue.value())).get();
            let large = rate.bdp(base_rtt).get().min(SUPER_PACKET.get() + 1);
            queue <= short.max(frames(thresholds.policer_frames.whole()))
                && burst as f64 >= queue as f64 * thresholds.policer_burst.value()
                && (burst >= large || queue <= frames(thresholds.policer_no_queue.whole()))
        };
        Self {
            is_the_hosts: hosts_rate.is_some(),
            rate_since_us: known.rate_since_us().unwrap_or(0),
            rate: own_rate.or(hosts_rate.map(|rate| Fact::asked(RateOverTime::steady(rate)))),
            headers: run.path.headers,
            framing: known.framing,
            burst,
            drops: run.drops[direction.index()],
            is_policer: looks_policed
                || known
                    .rate
                    .zip(known.queue)
                    .is_some_and(|(rate, queue)| is_policer(rate.value, queue.value.get())),
        }
    }

    /// Its rate in `interval`, the mean where it changed; absent before the rate that samples show.
    pub(crate) fn rate(&self, interval: TimeInterval) -> Option<Fact<Rate>> {
        let Fact { value, origin } = self.rate.as_ref().filter(|_| interval.to_us > self.rate_since_us)?;
        let [from, to] = [interval.from_us, interval.to_us].map(Duration::from_micros);
        Some(Fact { value: value.mean(from, to), origin: *origin })
    }

    /// Payload that it lets through in `interval` in segments or datagrams of `payload` bytes, bits per second.
    pub(crate) fn payload_bps(
        &self,
        interval: TimeInterval,
        protocol: Protocol,
        payload: u64,
    ) -> Option<f64> {
        let rate = self.rate(interval)?.value;
        Some(self.headers.goodput(rate, self.framing, protocol, Bytes::new(payload)))
    }

    /// What `bytes` in its queue add to a round trip in `interval`.
    pub(crate) fn wait_us(&self, interval: TimeInterval, bytes: u64) -> Option<u64> {
        let rate = self.rate(interval).filter(|_| !self.is_the_hosts)?.value.bps().max(1);
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(rate)).ok()
    }
}
