//! One direction of the path, as the diagnosis knows it: its rate, its queue and bucket, and what it dropped.

use crate::ground::models::headers::Headers;
use crate::ground::models::sizing::SUPER_PACKET;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{DropReason, LossKind, Manifest, PathCount};
use pipefill_core::units::{Bytes, Rate};

/// Packets that the path dropped in one direction, by reason; `None` where nobody counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) random: Option<u64>,
    pub(crate) queue: Option<u64>,
    pub(crate) delay_limit: Option<u64>,
    pub(crate) exceeds_burst: Option<u64>,
    pub(crate) offered: Option<u64>,
    pub(crate) reordered: Option<u64>,
}

impl Drops {
    pub(crate) fn of(manifest: &Manifest, direction: Direction) -> Self {
        let count = |count| manifest.path_count(direction, count);
        let dropped = |reason| count(PathCount::Dropped(reason));
        Self {
            random: dropped(DropReason::RandomLoss),
            queue: dropped(DropReason::QueueFull),
            delay_limit: dropped(DropReason::DelayLimit),
            exceeds_burst: dropped(DropReason::ExceedsBurst),
            offered: count(PathCount::Offered),
            reordered: count(PathCount::Reordered),
        }
    }

    /// What the path that was asked for dropped: by chance and by its queue. `None` where one of both was not counted.
    pub(crate) fn by_the_path(self) -> Option<u64> {
        Some(self.random?.saturating_add(self.queue?))
    }

    /// What the instrument dropped.
    pub(crate) fn by_the_testbed(self) -> u64 {
        self.delay_limit.unwrap_or(0).saturating_add(self.exceeds_burst.unwrap_or(0))
    }

    /// Most of what was lost was lost by the instrument, not by the path that was asked for.
    pub(crate) fn are_the_testbeds(self) -> bool {
        self.by_the_testbed() > self.by_the_path().unwrap_or(0)
    }

    /// Share of what was offered that did not get through; `None` where nobody counted.
    pub(crate) fn share(self) -> Option<f64> {
        let lost = self.by_the_path()?.saturating_add(self.by_the_testbed());
        let offered = self.offered.filter(|&offered| offered > 0)?;
        Some(lost as f64 / offered as f64)
    }
}

/// One direction.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// Its rate, or that of a simulated host where it has none.
    pub(crate) rate: Option<Rate>,
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
    pub(crate) fn of(manifest: &Manifest, direction: Direction, thresholds: &Thresholds) -> Self {
        let path = &manifest.run.cell.spec.path;
        let bottleneck = path.way(direction).bottleneck.as_ref();
        let rate = bottleneck.map(|one| one.rate);
        let queue = bottleneck.map(|one| one.queue_bytes(path.rtt(), path.full_frame()).get());
        let burst = bottleneck.map_or(0, |one| one.burst.get());
        let hosts_rate = manifest.environment.host_rate().filter(|_| rate.is_none());
        let looks_policed = manifest.subject.observed().is_some_and(|observed| {
            observed.path.way(direction).loss.is_some_and(|loss| loss.value == LossKind::Policer)
        });
        Self {
            rate: rate.or(hosts_rate),
            is_the_hosts: hosts_rate.is_some(),
            headers: Headers::of(path),
            overhead: bottleneck.map_or(Bytes::new(0), |one| one.overhead),
            burst,
            drops: Drops::of(manifest, direction),
            is_policer: looks_policed
                || rate.zip(queue).is_some_and(|(rate, queue)| {
                    let frames = thresholds.policer_frames.whole() * path.full_frame().get();
                    let short =
                        rate.bdp(path.rtt().mul_f64(thresholds.policer_queue.value())).get().max(frames);
                    let large = rate.bdp(path.rtt()).get().min(SUPER_PACKET.get() + 1);
                    queue <= short
                        && burst as f64 >= (queue as f64 * thresholds.policer_burst.value()).max(large as f64)
                }),
        }
    }

    /// Payload that it lets through in full segments of `mss` bytes, bits per second.
    pub(crate) fn payload_bps(&self, protocol: Protocol, payload: u64) -> Option<f64> {
        Some(self.headers.goodput(self.rate?, self.overhead, protocol, Bytes::new(payload)))
    }

    /// What `bytes` in its queue add to a round trip.
    pub(crate) fn wait_us(&self, bytes: u64) -> Option<u64> {
        let rate = self.rate.filter(|_| !self.is_the_hosts)?.bps().max(1);
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(rate)).ok()
    }
}
