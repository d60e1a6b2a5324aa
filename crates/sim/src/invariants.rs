//! What has to hold in every simulated run, whatever the scenario: looked at after every instant, where a run asks for it.
//!
//! The checks reckon for themselves (a bucket of their own for the utilisation, a list of their own of what arrived), so that an
//! error in the simulator isn't repeated here. The first one that fails ends the run.

mod arrivals;
mod connection;
mod path;

use crate::network::Network;
use crate::segment::Segment;
use crate::stream::{SimStream, Transport};
use arrivals::Arrivals;
use connection::Half;
use path::CheckedDirection;
use pipefill_core::cell::{Direction, PathSpec};
use pipefill_core::units::Time;

/// The outcome of a check: what is wrong, with the figures.
type Verdict = Result<(), String>;

/// More instants than this at one point of virtual time are a loop.
const LONGEST_STANDSTILL: u32 = 100_000;
/// Instants that a run may have before it has sent anything.
const FREE_INSTANTS: u64 = 10_000;
/// Instants for each packet: it arrives, is answered, and moves a timer or two.
const INSTANTS_PER_PACKET: u64 = 16;
/// Instants for each millisecond of a stream: its applications' and its timers' ticks.
const INSTANTS_PER_MILLISECOND: u64 = 16;

/// The checks of one run and what they remember.
#[derive(Debug)]
pub(crate) struct Checks {
    ways: [CheckedDirection; 2],
    streams: Vec<Watched>,
    last: Time,
    standstill: u32,
    instants: u64,
    /// The first check that failed.
    broken: Option<String>,
}

/// What is remembered of a stream.
#[derive(Debug, Default)]
struct Watched {
    /// At the end that sends the data, and at the one that takes it.
    arrivals: [Arrivals; 2],
    /// Of the same two ends' sending halves.
    halves: [Half; 2],
}

impl Checks {
    pub(crate) fn new(path: &PathSpec, streams: usize) -> Self {
        Self {
            ways: [
                CheckedDirection::new(&path.forward, "forward"),
                CheckedDirection::new(&path.reverse, "reverse"),
            ],
            streams: std::iter::repeat_with(Watched::default).take(streams).collect(),
            last: Time::ZERO,
            standstill: 0,
            instants: 0,
            broken: None,
        }
    }

    /// What is wrong, if anything.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// A packet has left the path and is about to reach its end.
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        direction: Direction,
        segment: &Segment,
        streams: &[SimStream],
    ) {
        let number = segment.stream as usize;
        let (Some(stream), Some(watched)) = (streams.get(number), self.streams.get_mut(number)) else {
            return;
        };
        let way = &self.ways[usize::from(direction != Direction::Forward)];
        let verdict = way.is_not_early(now, &segment.body);
        watched.arrivals[stream.end_reached(direction)].note(&segment.body);
        self.judge(now, Some(number), verdict);
    }

    /// Everything that leaves the path at `now` has arrived.
    pub(crate) fn look_at_path(&mut self, now: Time, network: &Network) {
        let clock = self.clock(now, network);
        self.judge(now, None, clock);
        for (way, direction) in [(0, Direction::Forward), (1, Direction::Reverse)] {
            let verdict = self.ways[way].look(now, network.counts(direction), &network.backlog(direction));
            self.judge(now, None, verdict);
        }
    }

    /// Everything that happens at `now` has happened; each stream comes with what the engine will wake it for.
    pub(crate) fn look_at_streams<'a>(
        &mut self,
        now: Time,
        streams: impl Iterator<Item = (&'a SimStream, Option<Time>)>,
    ) {
        for (number, (stream, armed)) in streams.enumerate() {
            let next = Time::earliest(stream.next(), stream.next_application());
            let verdict = is_awaited(now, next, armed).and_then(|()| self.stream(number, stream));
            self.judge(now, Some(number), verdict);
        }
    }

    fn stream(&mut self, number: usize, stream: &SimStream) -> Verdict {
        let Watched { arrivals, halves } = &mut self.streams[number];
        match &stream.transport {
            Transport::Tcp(tcp) => {
                for (end, half) in halves.iter_mut().enumerate() {
                    arrivals[end].cover(&tcp.ends[end].receiver)?;
                    half.look(tcp, end)?;
                }
                Ok(())
            }
            Transport::Udp(_) | Transport::Ping(_) => {
                let (sent, received) = stream.bytes();
                holds(received <= sent, || format!("{received} bytes of datagrams received, {sent} sent"))
            }
        }
    }

    /// Time never goes back, and never stands still for ever.
    fn clock(&mut self, now: Time, network: &Network) -> Verdict {
        holds(now >= self.last, || format!("virtual time went back from {} ns", self.last.nanos()))?;
        self.standstill = if now == self.last { self.standstill + 1 } else { 0 };
        self.last = now;
        self.instants += 1;
        let due = network.next_due();
        holds(due.is_none_or(|due| due > now), || format!("a packet was left in the path, due at {due:?}"))?;
        holds(self.standstill < LONGEST_STANDSTILL, || {
            format!("{LONGEST_STANDSTILL} instants at the same time")
        })?;
        let offered = |direction| network.counts(direction).offered.packets;
        let packets = offered(Direction::Forward) + offered(Direction::Reverse);
        let ticks = now.micros() / 1000 * self.streams.len() as u64;
        let most = FREE_INSTANTS + INSTANTS_PER_PACKET * packets + INSTANTS_PER_MILLISECOND * ticks;
        holds(self.instants <= most, || format!("{} instants for {packets} packets", self.instants))
    }

    fn judge(&mut self, now: Time, stream: Option<usize>, verdict: Verdict) {
        if let (Err(what), None) = (verdict, &self.broken) {
            let of = stream.map(|stream| format!("stream {stream}: ")).unwrap_or_default();
            self.broken = Some(format!("{of}{what}, at {:.6} s", now.nanos() as f64 / 1e9));
        }
    }
}

/// The engine wakes the stream no later than it asks, and it asks for nothing that is past.
fn is_awaited(now: Time, next: Option<Time>, armed: Option<Time>) -> Verdict {
    let Some(next) = next else { return Ok(()) };
    holds(next >= now, || format!("a timer at {} ns is past", next.nanos()))?;
    holds(armed.is_some_and(|armed| armed <= next), || {
        format!("a timer at {} ns that nobody waits for", next.nanos())
    })
}

fn holds(is_true: bool, what: impl FnOnce() -> String) -> Verdict {
    if is_true { Ok(()) } else { Err(what()) }
}
