//! One direction of the path, as the diagnosis knows it: its rate, its queue and bucket, and what it dropped.

use super::drops::Drops;
use super::known_run::KnownRun;
use crate::ground::models::headers::Headers;
use crate::ground::models::sizing::SUPER_PACKET;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{Fact, LossKind};
use pipefill_core::units::{Bytes, Rate};

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Way {
    /// Its rate, or that of a simulated host where it has none.
    pub(crate) rate: Option<Fact<Rate>>,
    /// Whether that is the host's.
    pub(crate) is_the_hosts: bool,
    /// What its packets carry beside payload.
    pub(crate) headers: Headers,
    /// What each frame costs of it beside its own bytes.
    pub(crate) overhead: Bytes,
    /// Depth of its token bucket, bytes.
    pub(crate) burst: u64,
    pub(crate) drops: Drops,
    /// Whether it is a policer: a bucket that is much larger than the queue behind it, and than the one super-packet that any bucket has to pass.
    pub(crate) is_policer: bool,
}

impl Way {
    pub(crate) fn of(run: &KnownRun<'_>, direction: Direction, thresholds: &Thresholds) -> Self {
        let known = run.path.way(direction);
        let burst = known.burst.map_or(0, |burst| burst.value.get());
        let hosts_rate = run.host_rate.filter(|_| known.rate.is_none()).map(Fact::asked);
        let looks_policed =
            known.inferred.is_some_and(|way| way.loss.is_some_and(|loss| loss.value == LossKind::Policer));
        let is_policer = |rate: Rate, queue: u64| {
            let base_rtt = run.path.base_rtt();
            let frames = thresholds.policer_frames.whole() * run.path.headers.full_frame().get();
            let short = rate.bdp(base_rtt.mul_f64(thresholds.policer_queue.value())).get().max(frames);
            let large = rate.bdp(base_rtt).get().min(SUPER_PACKET.get() + 1);
            queue <= short
                && burst as f64 >= (queue as f64 * thresholds.policer_burst.value()).max(large as f64)
        };
        Self {
            rate: known.rate.or(hosts_rate),
            is_the_hosts: hosts_rate.is_some(),
            headers: run.path.headers,
            overhead: known.overhead,
            burst,
            drops: run.drops[direction.index()],
            is_policer: looks_policed
                || known
                    .rate
                    .zip(known.queue)
                    .is_some_and(|(rate, queue)| is_policer(rate.value, queue.value.get())),
        }
    }

    /// Payload that it lets through in full segments of `mss` bytes, bits per second.
    pub(crate) fn payload_bps(&self, protocol: Protocol, payload: u64) -> Option<f64> {
        Some(self.headers.goodput(self.rate?.value, self.overhead, protocol, Bytes::new(payload)))
    }

    /// What `bytes` in its queue add to a round trip.
    pub(crate) fn wait_us(&self, bytes: u64) -> Option<u64> {
        let rate = self.rate.filter(|_| !self.is_the_hosts)?.value.bps().max(1);
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(rate)).ok()
    }
}
