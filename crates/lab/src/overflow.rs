//! Whether the path's own lateness made its queue drop: acknowledgements that a stall held back come all at once, the sender
//! answers with a burst as long as the stall, and a queue that has no room for it drops what a punctual path would have carried.
//!
//! Never: a judgement on traffic that nothing acknowledges (UDP is not slowed by a late path, nor does it burst).

use crate::validity::{LATE_RELEASES, invalid};
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, PathSpec, Protocol};
use pipefill_core::record::{Invalid, Stall};
use pipefill_core::units::{Bytes, Time};
use pipefill_link::{FULL_PACKET, Limit};
use std::time::Duration;

/// What is later than this may end a sender's slow start (`HYSTART_DELAY_MIN`, net/ipv4/tcp_cubic.c) on any path.
const NOTICED: Duration = Duration::from_millis(4);
/// No data path in user space promises more.
const PUNCTUAL: Duration = Duration::from_millis(1);
/// Of the times at which a queue began to drop, this share may follow a stall by chance: the stalls of a path that is late by less than its
/// other bounds cover less of the run.
const BY_CHANCE: f64 = 0.1;

/// From which lateness on a stall of this path is kept.
pub(crate) fn noticed(path: &PathSpec) -> Duration {
    let least = [&path.forward, &path.reverse].into_iter().filter_map(|way| filling(way, path.rtt())).min();
    least.map_or(NOTICED, |stall| stall.min(NOTICED))
}

/// The shortest stall whose burst fills a quarter of the queue; `None` without a queue that could be full.
fn filling(way: &DirectionSpec, rtt: Duration) -> Option<Duration> {
    drain_time(way, rtt).map(|drain| (drain / 4).max(PUNCTUAL))
}

/// How long a full queue takes to empty.
fn drain_time(way: &DirectionSpec, rtt: Duration) -> Option<Duration> {
    let bottleneck = way.bottleneck.as_ref()?;
    let bytes = match Limit::resolve(bottleneck.queue, Some(bottleneck.rate), rtt)? {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(u64::from(FULL_PACKET)),
    };
    Some(bottleneck.rate.time_to_send(Bytes::new(bytes)))
}

/// When the queue of one direction began to drop.
pub(crate) struct DropLog {
    /// Drops that are closer together than this, the RTT, are one congestion signal.
    apart: Duration,
    dropped: u64,
    latest: Option<Time>,
    began: Vec<Time>,
}

impl DropLog {
    pub(crate) const fn new(rtt: Duration) -> Self {
        Self { apart: rtt, dropped: 0, latest: None, began: Vec::new() }
    }

    /// Notes that the queue had dropped `dropped` packets in all by `now`.
    pub(crate) fn record(&mut self, now: Time, dropped: u64) {
        if dropped == self.dropped {
            return;
        }
        self.dropped = dropped;
        if self.latest.is_none_or(|latest| now.since(latest) > self.apart) {
            self.began.push(now);
        }
        self.latest = Some(now);
    }

    pub(crate) fn into_beginnings(self) -> Vec<Time> {
        self.began
    }
}

/// Why a run of TCP is invalid in which a queue began to drop after stalls more often than by chance; `began` is forward, reverse.
pub(crate) fn overflowed(spec: &CellSpec, stalls: &[Stall], began: [&[Time]; 2]) -> Vec<Invalid> {
    if spec.flows.iter().all(|flow| flow.protocol != Protocol::Tcp) {
        return Vec::new();
    }
    let (path, rtt) = (&spec.path, spec.path.rtt());
    Direction::ALL
        .into_iter()
        .zip(began)
        .filter_map(|(direction, began)| {
            let way = path.way(direction);
            let (least, drain) = (filling(way, rtt)?, drain_time(way, rtt)?);
            let stalls = stalls.iter().filter(|stall| Duration::from_nanos(stall.late_ns) >= least);
            late_releases(direction, began, &stalls.map(|stall| echo(stall, rtt + drain)).collect::<Vec<_>>())
        })
        .collect()
}

/// From when to when a stall shows at the queues: from its first late packet until the burst that answers its last one is through.
fn echo(stall: &Stall, after: Duration) -> [u64; 2] {
    [stall.t_us.saturating_sub(stall.late_ns / 1_000), stall.t_us + after.as_micros() as u64]
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn late_releases(direction: Direction, began: &[Time], echoes: &[[u64; 2]]) -> Option<Invalid> {
    let is_echo = |t: u64| echoes.iter().any(|[from, until]| (*from..=*until).contains(&t));
    let after_stalls = began.iter().filter(|at| is_echo(at.micros())).count();
    (after_stalls as f64 > BY_CHANCE * began.len() as f64).then(|| {
        let detail = format!(
            "{after_stalls} of {} overflows of the queue ({}) followed a stall of the data path (bound: a tenth)",
            began.len(),
            direction.as_str()
        );
        invalid(LATE_RELEASES, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;

    fn spec(queue: &str, flow: &str) -> CellSpec {
        let text = format!(
            "name = \"x\"\n[path]\nrtt = \"20ms\"\nrate = \"100mbit\"\nqueue = \"{queue}\"\n[[flow]]\n{flow}\n"
        );
        Scenario::parse(&text, "x.toml").unwrap().plan().cells[0].spec.clone()
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn stall(t_ms: u64, late_ms: u64) -> Stall {
        Stall { direction: Direction::Reverse, t_us: t_ms * 1_000, late_ns: late_ms * 1_000_000 }
    }

    #[test]
    fn a_stall_counts_from_a_quarter_of_the_queue_on() {
        let of = |queue: &str| noticed(&spec(queue, "duration = \"1s\"").path).as_micros();
        assert_eq!([of("0.1bdp"), of("0.25bdp"), of("0.5bdp"), of("2bdp")], [1_000, 1_250, 2_500, 4_000]);
        assert_eq!(noticed(&PathSpec::EMPTY), NOTICED);
    }

    #[test]
    fn drops_within_a_round_trip_are_one_beginning() {
        let mut log = DropLog::new(Duration::from_millis(20));
        for (ms, dropped) in [(1, 0), (10, 5), (11, 5), (30, 6), (50, 7), (71, 8)] {
            log.record(at(ms), dropped);
        }
        assert_eq!(log.into_beginnings(), [at(10), at(71)]);
    }

    #[test]
    fn a_queue_that_drops_when_the_path_has_stalled_makes_a_run_invalid() {
        let tcp = spec("0.25bdp", "duration = \"1s\"");
        let of =
            |spec: &CellSpec, stalls: &[Stall], began: &[Time]| overflowed(spec, stalls, [began, &[]]).len();
        let natural: Vec<Time> = (1..10).map(|n| at(n * 1_000)).collect();
        let with = |ms: u64| [natural.clone(), vec![at(ms)]].concat();
        assert_eq!(of(&tcp, &[stall(500, 6), stall(520, 2)], &with(530)), 0, "one of ten may be chance");
        assert_eq!(of(&tcp, &[stall(500, 6), stall(1_500, 6)], &[with(510), vec![at(1_524)]].concat()), 1);
        assert_eq!(of(&tcp, &[stall(500, 6)], &[at(495)]), 1, "while it lasted");
        assert_eq!(
            of(&tcp, &[stall(500, 6)], &[at(493), at(526)]),
            0,
            "before it, and when its burst was through"
        );
        assert_eq!(of(&tcp, &[stall(500, 1)], &[at(510)]), 0, "too short a stall");
        assert_eq!(of(&tcp, &[stall(500, 6)], &[]), 0, "nothing dropped");
        let udp = spec("0.25bdp", "protocol = \"udp\"\nbitrate = \"120mbit\"\nduration = \"1s\"");
        assert_eq!(of(&udp, &[stall(500, 6)], &[at(510)]), 0, "nothing acknowledges UDP");
    }
}
