//! The bottleneck against a model that is too simple to be wrong: a token bucket that lives nanosecond by nanosecond.

use crate::spec::RTT;
use pipefill_core::cell::BottleneckSpec;
use pipefill_core::units::{Bytes, NANOS_PER_SEC, QueueLimit, Rate, Time};
use pipefill_link::{Bottleneck, Element, Packet};
use proptest::prelude::*;
use std::collections::VecDeque;

const TOKENS_PER_BYTE: u64 = 8 * NANOS_PER_SEC;

/// Packet number, and the nanosecond at which it left or was dropped.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Left(usize, u64),
    Dropped(usize, u64),
}

proptest! {
    #[test]
    fn the_bottleneck_is_a_token_bucket_nanosecond_by_nanosecond(
        bps in 500_000_000..40_000_000_000_u64,
        burst in 1_400..4_000_u64,
        limit in 1_514..9_000_u64,
        steps in prop::collection::vec((0..900_u64, 60..=1514_u32), 1..25),
    ) {
        let spec = BottleneckSpec {
            rate: Rate::from_bps(bps),
            queue: QueueLimit::Bytes(Bytes::new(limit)),
            burst: Bytes::new(burst),
        };
        let mut at = 0;
        let offers: Vec<(u64, u32)> = steps.into_iter().map(|(gap, bytes)| { at += gap; (at, bytes) }).collect();
        prop_assert_eq!(by_element(&spec, &offers), by_nanosecond(bps, burst, limit, &offers));
    }
}

fn by_element(spec: &BottleneckSpec, offers: &[(u64, u32)]) -> Vec<Event> {
    let mut bottleneck = Bottleneck::new(spec, RTT);
    let mut events = Vec::new();
    let take = |bottleneck: &mut Bottleneck<usize>, now: Time, events: &mut Vec<Event>| {
        while let Some(released) = bottleneck.take_due(now) {
            events.push(Event::Left(released.packet.payload, released.due.nanos()));
        }
    };
    for (index, &(at, bytes)) in offers.iter().enumerate() {
        let now = Time::from_nanos(at);
        take(&mut bottleneck, now, &mut events);
        let packet = Packet { train: 0, bytes, payload: index };
        if bottleneck.offer(now, packet).is_err() {
            events.push(Event::Dropped(index, at));
        }
        take(&mut bottleneck, now, &mut events);
    }
    take(&mut bottleneck, Time::MAX, &mut events);
    events
}

/// Every nanosecond: tokens come, what can leaves; then the packets of this nanosecond arrive, and leave at once if they can.
fn by_nanosecond(bps: u64, burst: u64, limit: u64, offers: &[(u64, u32)]) -> Vec<Event> {
    let depth = burst * TOKENS_PER_BYTE;
    let mut tokens = depth;
    let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
    let mut events = Vec::new();
    let mut arrivals = offers.iter().enumerate().peekable();
    let mut now = 0;
    while arrivals.peek().is_some() || !queue.is_empty() {
        leave(&mut queue, &mut tokens, now, &mut events);
        while let Some((index, &(_, bytes))) = arrivals.next_if(|(_, offer)| offer.0 == now) {
            let bytes = u64::from(bytes);
            let waiting: u64 = queue.iter().map(|(_, bytes)| bytes).sum();
            if bytes > burst || waiting + bytes > limit {
                events.push(Event::Dropped(index, now));
            } else {
                queue.push_back((index, bytes));
                leave(&mut queue, &mut tokens, now, &mut events);
            }
        }
        now += 1;
        tokens = (tokens + bps).min(depth);
    }
    events
}

fn leave(queue: &mut VecDeque<(usize, u64)>, tokens: &mut u64, now: u64, events: &mut Vec<Event>) {
    while let Some((index, bytes)) = queue.pop_front_if(|(_, bytes)| *bytes * TOKENS_PER_BYTE <= *tokens) {
        *tokens -= bytes * TOKENS_PER_BYTE;
        events.push(Event::Left(index, now));
    }
}
