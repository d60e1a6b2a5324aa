//! The event loop: virtual time jumps to the next thing that happens.
//!
//! At one instant the applications come first that were woken before, then arrivals (forward, then reverse), timers in order
//! of streams, and applications that set themselves this instant. An application that a packet wakes gets its turn a moment
//! later, as a process does. Never: two orders for the same run.

use crate::invariants::Checks;
use crate::network::Network;
use crate::segment::{Body, Data, Segment};
use crate::stream::SimStream;
use pipefill_core::cell::Direction;
use pipefill_core::units::Time;
use pipefill_link::Released;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// From an interrupt to the packet of the process that it woke: 2 µs on the virtual Linux 6.12. What both send stays two bursts,
/// which a short queue tells apart.
const WAKE: Duration = Duration::from_micros(2);

/// Where a stream's applications are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Process {
    #[default]
    Asleep,
    Woken,
    /// Its turn is now.
    Running,
}

/// What the engine has to do for a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Agenda {
    process: Process,
    /// Something happened to it at this instant.
    is_touched: bool,
    /// The earliest of its wakes that are in the heap.
    armed: Option<Time>,
}

/// What may be the first part of a super-packet that arrives.
struct Held {
    gso_id: u64,
    stream: u32,
    data: Data,
}

impl Held {
    /// Whether `next` is more of it, which is then a part of it.
    fn takes(&mut self, gso_id: u64, next: &Data) -> bool {
        self.gso_id == gso_id && self.data.join(next)
    }
}

/// Streams, the path, and what happens next.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) streams: Vec<SimStream>,
    /// One for each stream.
    agendas: Vec<Agenda>,
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    /// Whose applications are woken, and when their turn is; all wait equally long.
    woken: VecDeque<(Time, u32)>,
    /// Those to which something happened at this instant.
    touched: Vec<u32>,
    /// Looks on where the run asks for it.
    checks: Option<Box<Checks>>,
}

impl Engine {
    pub(crate) fn new(now: Time, network: Network, streams: Vec<SimStream>, checks: Option<Checks>) -> Self {
        let agendas = vec![Agenda::default(); streams.len()];
        Self {
            now,
            network,
            streams,
            agendas,
            wakes: BinaryHeap::new(),
            woken: VecDeque::new(),
            touched: Vec::new(),
            checks: checks.map(Box::new),
        }
    }

    /// Looks at every stream again, since something changed from outside.
    pub(crate) fn touch_all(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.touch(stream as u32));
        self.settle();
    }

    /// When something happens next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        let wake = self.wakes.peek().map(|Reverse((at, _))| *at);
        let turn = self.woken.front().map(|(at, _)| *at);
        let own = Time::earliest(wake, turn);
        Time::earliest(self.network.next_due(), own).map(|at| at.max(self.now))
    }

    /// Lets everything happen that happens at `at`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, at: Time) {
        self.now = at;
        self.give_turns();
        for direction in [Direction::Forward, Direction::Reverse] {
            if self.network.is_due(at, direction) {
                self.deliver(direction);
            }
        }
        if let Some(checks) = &mut self.checks {
            checks.look_at_path(self.now, &self.network);
        }
        if self.wakes.peek().is_some_and(|Reverse((wake, _))| *wake <= at) {
            self.fire_timers();
        }
        self.settle();
        if let Some(checks) = &mut self.checks {
            let armed = self.agendas.iter().map(|agenda| agenda.armed);
            checks.look_at_streams(at, self.streams.iter().zip(armed));
        }
    }

    /// What is wrong, where the run is checked and something is.
    #[inline]
    pub(crate) fn broken(&self) -> Option<&str> {
        self.checks.as_ref()?.broken()
    }

    /// Everything that arrives now, this way.
    #[inline(never)]
    fn deliver(&mut self, direction: Direction) {
        let mut held: Option<Held> = None;
        while let Some(Released { packet, .. }) = &self.network.take_due(self.now, direction) {
            self.network.show_arrival(self.now, direction, packet);
            if let Some(checks) = &mut self.checks {
                checks.on_arrival(self.now, direction, &packet.payload, &self.streams);
            }
            let Segment { stream, body, .. } = &packet.payload;
            match body {
                Body::Data(data) if self.joins(*stream, direction) => {
                    if !held.as_mut().is_some_and(|held| held.takes(packet.gso_id, data)) {
                        let next = Held { gso_id: packet.gso_id, stream: *stream, data: *data };
                        self.arrive_held(direction, held.replace(next).as_ref());
                    }
                }
                _ => {
                    self.arrive_held(direction, held.take().as_ref());
                    self.arrive(*stream, direction, body);
                }
            }
        }
        self.arrive_held(direction, held.as_ref());
    }

    /// Whether what arrives together of a stream, this way, is joined before TCP takes it.
    fn joins(&self, stream: u32, direction: Direction) -> bool {
        self.streams.get(stream as usize).is_some_and(|stream| stream.joins(direction))
    }

    fn arrive_held(&mut self, direction: Direction, held: Option<&Held>) {
        if let Some(Held { stream, data, .. }) = held {
            self.arrive(*stream, direction, &Body::Data(*data));
        }
    }

    fn arrive(&mut self, stream: u32, direction: Direction, body: &Body) {
        let now = self.now;
        if let Some(target) = self.streams.get_mut(stream as usize) {
            target.on_arrival(now, direction, body);
            self.touch(stream);
        }
    }

    #[inline(never)]
    fn fire_timers(&mut self) {
        while let Some(&Reverse((at, stream))) = self.wakes.peek()
            && at <= self.now
        {
            self.wakes.pop();
            let index = stream as usize;
            if self.agendas[index].armed == Some(at) {
                self.agendas[index].armed = None;
                self.streams[index].on_timer(self.now);
                self.touch(stream);
            }
        }
    }

    /// What was woken runs before anything else comes: two bursts as far apart as a turn takes are answered one by one.
    #[inline]
    fn give_turns(&mut self) {
        if self.woken.front().is_some_and(|(at, _)| *at <= self.now) {
            while let Some((_, stream)) = self.woken.pop_front_if(|(at, _)| *at <= self.now) {
                self.agendas[stream as usize].process = Process::Running;
                self.touch(stream);
            }
            self.settle();
        }
    }

    /// Every stream that something happened to, in order.
    #[inline(never)]
    fn settle(&mut self) {
        self.touched.sort_unstable();
        for at in 0..self.touched.len() {
            self.settle_one(self.touched[at]);
        }
        self.touched.clear();
    }

    /// The applications whose turn it is; what they and the ends have to send goes to the path; the next wake is noted.
    #[inline(always)]
    fn settle_one(&mut self, stream: u32) {
        let index = stream as usize;
        let (target, agenda) = (&mut self.streams[index], &mut self.agendas[index]);
        agenda.is_touched = false;
        let mut application = target.next_application();
        if agenda.process == Process::Running || application.is_some_and(|at| at <= self.now) {
            target.run_applications(self.now);
            application = target.next_application();
            if agenda.process == Process::Running {
                agenda.process = Process::Asleep;
            }
        } else if agenda.process == Process::Asleep && target.wakes_application(self.now) {
            agenda.process = Process::Woken;
            self.woken.push_back((self.now.after(WAKE), stream));
        }
        target.flush(self.now, &mut self.network);
        if let Some(at) = Time::earliest(target.next(), application)
            && agenda.armed.is_none_or(|armed| at < armed)
        {
            agenda.armed = Some(at);
            self.wakes.push(Reverse((at, stream)));
        }
    }

    fn touch(&mut self, stream: u32) {
        if !std::mem::replace(&mut self.agendas[stream as usize].is_touched, true) {
            self.touched.push(stream);
        }
    }
}
