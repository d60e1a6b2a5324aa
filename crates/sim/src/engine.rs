//! The event loop: virtual time jumps to the next thing that happens.
//!
//! At one instant arrivals come first (forward, then reverse), then timers in order of streams, then applications. What an
//! application makes its end send leaves a moment later, because a process has to be woken first. Never: two orders for the
//! same run.

use crate::invariants::Checks;
use crate::network::Network;
use crate::segment::{Body, Data, Segment};
use crate::stream::{Stream, join};
use pipefill_core::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// From an interrupt to the packet of the process that it woke, 2 µs on the virtual Linux 6.12. It keeps what both send at two
/// instants, and a queue sees two bursts.
const WAKE: Duration = Duration::from_micros(2);

/// Streams, the path, and what happens next.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) now: Time,
    pub(crate) network: Network,
    pub(crate) streams: Vec<Stream>,
    /// Joins segments that arrive together.
    gro: bool,
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    /// The earliest wake of each stream that is in the heap.
    armed: Vec<Option<Time>>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Looks on where the run asks for it.
    checks: Option<Box<Checks>>,
}

impl Engine {
    pub(crate) fn new(network: Network, streams: Vec<Stream>, gro: bool, checks: Option<Checks>) -> Self {
        let count = streams.len();
        Self {
            now: Time::ZERO,
            network,
            streams,
            gro,
            wakes: BinaryHeap::new(),
            armed: vec![None; count],
            touched: Vec::new(),
            is_touched: vec![false; count],
            checks: checks.map(Box::new),
        }
    }

    /// Looks at every stream again, since something changed from outside.
    pub(crate) fn touch_all(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.touch(stream as u32));
        self.settle();
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Time> {
        let wake = self.wakes.peek().map(|Reverse((at, _))| *at);
        self.network.next_due().into_iter().chain(wake).min().map(|at| at.max(self.now))
    }

    /// Lets everything happen that happens at `at`.
    pub(crate) fn advance(&mut self, at: Time) {
        self.now = at;
        self.deliver();
        self.fire_timers();
        self.settle();
        if let Some(checks) = &mut self.checks {
            checks.look_at_streams(at, &self.streams, &self.armed);
        }
    }

    /// What is wrong, where the run is checked and something is.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.checks.as_ref()?.broken()
    }

    fn deliver(&mut self) {
        let mut held: Option<(u64, u32, Data)> = None;
        while let Some(packet) = self.network.take_due(self.now) {
            let (train, segment) = (packet.train, packet.payload);
            if let Some(checks) = &mut self.checks {
                checks.on_arrival(self.now, &segment, &self.streams);
            }
            let Segment { stream, body } = segment;
            if let (true, Body::Data(data)) = (self.gro, body) {
                if !held.as_mut().is_some_and(|(of, _, first)| *of == train && join(first, &data)) {
                    let before = held.replace((train, stream, data));
                    self.arrive_held(before);
                }
            } else {
                self.arrive_held(held.take());
                self.arrive(stream, &body);
            }
        }
        self.arrive_held(held);
        if let Some(checks) = &mut self.checks {
            checks.look_at_path(self.now, &self.network);
        }
    }

    fn arrive_held(&mut self, held: Option<(u64, u32, Data)>) {
        if let Some((_, stream, data)) = held {
            self.arrive(stream, &Body::Data(data));
        }
    }

    fn arrive(&mut self, stream: u32, body: &Body) {
        let now = self.now;
        if let Some(target) = self.streams.get_mut(stream as usize) {
            target.on_arrival(now, body);
            self.touch(stream);
        }
    }

    fn fire_timers(&mut self) {
        while let Some(&Reverse((at, stream))) = self.wakes.peek()
            && at <= self.now
        {
            self.wakes.pop();
            let index = stream as usize;
            if self.armed[index] == Some(at) {
                self.armed[index] = None;
                self.streams[index].on_timer(self.now);
                self.touch(stream);
            }
        }
    }

    /// The applications' turn; what they and the ends have to send goes to the path; the next wake is noted.
    fn settle(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        for stream in touched.drain(..) {
            let index = stream as usize;
            self.is_touched[index] = false;
            let target = &mut self.streams[index];
            target.flush(self.now, Duration::ZERO, &mut self.network);
            target.run_applications(self.now);
            target.flush(self.now, WAKE, &mut self.network);
            if let Some(at) = target.next()
                && self.armed[index].is_none_or(|armed| at < armed)
            {
                self.armed[index] = Some(at);
                self.wakes.push(Reverse((at, stream)));
            }
        }
        self.touched = touched;
    }

    fn touch(&mut self, stream: u32) {
        if !std::mem::replace(&mut self.is_touched[stream as usize], true) {
            self.touched.push(stream);
        }
    }
}
