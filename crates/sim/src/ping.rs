//! Ping: one request at a time in fragments, the echo, and the round trip of each.
//!
//! Never: a second request under way, or a reply to a request of which a fragment is missing.

use crate::segment::{Body, PingWay};
use pipefill_core::cell::{PathSpec, PingSpec};
use pipefill_core::record::PingSample;
use pipefill_core::traffic::ping::{Exchange, exchange, fragments, patience};
use pipefill_core::units::{Bytes, Time};
use std::time::Duration;

/// Both ends of a ping.
#[derive(Debug)]
pub(crate) struct PingStream {
    spec: PingSpec,
    path: PathSpec,
    patience: Duration,
    until: Time,
    /// Number of the next request, and when it is due.
    number: u64,
    due: Time,
    under_way: Option<UnderWay>,
    outbox: Vec<(PingWay, Body)>,
    samples: Vec<PingSample>,
    sent_bytes: u64,
    replied_bytes: u64,
    last: Option<Time>,
}

/// The request that waits for its reply.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    exchange: Exchange,
    sent: Time,
    /// Fragments that came: of the request, of the reply.
    request: Fragments,
    reply: Fragments,
}

/// Which fragments of a datagram came, a bit each; a datagram has at most 119, at an MTU of 576.
#[derive(Debug, Default)]
struct Fragments(u128);

impl Fragments {
    /// Notes one; true where it was the last of `all`.
    fn complete(&mut self, index: u32, all: usize) -> bool {
        let before = self.0;
        self.0 |= 1 << (index % u128::BITS);
        self.0 != before && self.0.count_ones() as usize == all
    }
}

impl PingStream {
    pub(crate) fn new(spec: PingSpec, path: PathSpec) -> Self {
        let patience = patience(path.rtt());
        Self {
            spec,
            path,
            patience,
            until: Time::ZERO,
            number: 0,
            due: Time::ZERO,
            under_way: None,
            outbox: Vec::new(),
            samples: Vec::new(),
            sent_bytes: 0,
            replied_bytes: 0,
            last: None,
        }
    }

    /// The traffic begins.
    pub(crate) fn begin(&mut self, start: Time, until: Time) {
        (self.due, self.until) = (start, until);
    }

    /// When it acts of itself: the next request, or the end of its patience.
    pub(crate) fn next(&self) -> Option<Time> {
        match &self.under_way {
            Some(ping) => Some(ping.sent.after(self.patience)),
            None => Some(self.due).filter(|&due| due < self.until),
        }
    }

    /// Gives up what is overdue, and sends what is due.
    pub(crate) fn act(&mut self, now: Time) {
        if self.under_way.as_ref().is_some_and(|ping| ping.sent.after(self.patience) <= now) {
            self.end(now, None);
        }
        if self.under_way.is_none() && self.due <= now && now < self.until {
            let (number, exchange) = (self.number, exchange(&self.spec, self.number));
            let (request, reply) = (Fragments::default(), Fragments::default());
            self.under_way = Some(UnderWay { number, exchange, sent: now, request, reply });
            self.number += 1;
            self.sent_bytes += exchange.payload.get();
            self.send(PingWay::Request, number, exchange.payload);
        }
    }

    /// What is to be handed to the path, in order.
    pub(crate) fn outbox(&mut self) -> std::vec::Drain<'_, (PingWay, Body)> {
        self.outbox.drain(..)
    }

    /// A fragment reached the other end.
    pub(crate) fn on_fragment(&mut self, now: Time, way: PingWay, number: u64, index: u32) {
        let Some(ping) = self.under_way.as_mut().filter(|ping| ping.number == number) else { return };
        let Exchange { payload, reply } = ping.exchange;
        let all = |payload| fragments(payload, &self.path).count();
        match way {
            PingWay::Request if ping.request.complete(index, all(payload)) => {
                self.send(PingWay::Reply, number, reply);
            }
            PingWay::Reply if ping.reply.complete(index, all(reply)) => {
                self.replied_bytes += payload.get();
                self.last = Some(now);
                self.end(now, Some(now));
            }
            _ => {}
        }
    }

    /// The samples that are complete.
    pub(crate) fn samples(&mut self, stream: u32) -> impl Iterator<Item = PingSample> {
        self.samples.drain(..).map(move |sample| PingSample { stream, ..sample })
    }

    /// Payload bytes of requests sent, and of those that were answered.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.replied_bytes)
    }

    /// When the last reply came.
    pub(crate) fn last(&self) -> Option<Time> {
        self.last
    }

    fn send(&mut self, way: PingWay, number: u64, payload: Bytes) {
        let packet = |(index, len)| (way, Body::Fragment { way, number, index, len });
        self.outbox.extend((0..).zip(fragments(payload, &self.path)).map(packet));
    }

    fn end(&mut self, now: Time, answered: Option<Time>) {
        let Some(ping) = self.under_way.take() else { return };
        let nanos = |at: Time| u64::try_from(at.since(ping.sent).as_nanos()).unwrap_or(u64::MAX);
        self.samples.push(PingSample {
            t_us: ping.sent.micros(),
            stream: 0,
            number: ping.number,
            payload_bytes: ping.exchange.payload.get(),
            reply_bytes: ping.exchange.reply.get(),
            rtt_ns: answered.map(nanos),
        });
        self.due = now.after(self.spec.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> PingStream {
        let spec = PingSpec { payloads: vec![Bytes::new(2000)], interval: Duration::from_millis(1) };
        let mut stream = PingStream::new(spec, PathSpec::EMPTY);
        stream.begin(Time::ZERO, Time::from_nanos(10_000_000_000));
        stream
    }

    #[test]
    fn a_reply_follows_the_last_fragment_of_its_request() {
        let mut stream = stream();
        stream.act(Time::ZERO);
        assert_eq!(stream.outbox().count(), 2);
        stream.on_fragment(Time::from_nanos(5), PingWay::Request, 0, 1);
        stream.on_fragment(Time::from_nanos(5), PingWay::Request, 0, 1);
        assert_eq!(stream.outbox().count(), 0);
        stream.on_fragment(Time::from_nanos(6), PingWay::Request, 0, 0);
        assert_eq!(stream.outbox().count(), 2);
        stream.on_fragment(Time::from_nanos(8), PingWay::Reply, 0, 0);
        stream.on_fragment(Time::from_nanos(9), PingWay::Reply, 0, 1);
        let samples: Vec<_> = stream.samples(3).collect();
        assert_eq!((samples[0].stream, samples[0].reply_bytes, samples[0].rtt_ns), (3, 2000, Some(9)));
        assert_eq!(stream.next(), Some(Time::from_nanos(1_000_009)));
    }

    #[test]
    fn what_is_not_answered_is_lost_and_the_next_one_sent() {
        let mut stream = stream();
        stream.act(Time::ZERO);
        let late = stream.next().unwrap();
        assert_eq!(late, Time::from_nanos(1_000_000_000));
        stream.act(late);
        assert_eq!(stream.samples(0).map(|sample| sample.rtt_ns).collect::<Vec<_>>(), [None]);
        stream.on_fragment(late, PingWay::Request, 0, 0);
        assert_eq!(stream.next(), Some(late.after(Duration::from_millis(1))));
    }
}
