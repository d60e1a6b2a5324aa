//! The bottleneck against a model that is too simple to be wrong: a token bucket that lives nanosecond by nanosecond.

use crate::spec::RTT;
use pipefill_core::cell::BottleneckSpec;
use pipefill_core::units::{Bytes, NANOS_PER_SEC, QueueLimit, Rate, Time};
use pipefill_link::{Bottleneck, Element, FedBy, Packet};
use proptest::prelude::*;
use std::collections::VecDeque;

const TOKENS_PER_BYTE: u64 = 8 * NANOS_PER_SEC;

/// What became of a packet, and at which nanosecond.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Left(u64),
    Dropped(u64),
}

/// A packet's number and its fate.
type Event = (usize, Fate);

/// What happens first at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feed {
    /// A root qdisc: every arrival is followed by a departure, if there is one.
    OneByOne,
    /// A child of netem: all arrivals come first.
    AnInstantAtOnce,
}

proptest! {
    #[test]
    fn the_bottleneck_is_a_token_bucket_nanosecond_by_nanosecond(
        bps in 500_000_000..40_000_000_000_u64,
        burst in 1_400..4_000_u64,
        overhead in prop_oneof![Just(0_u64), 0..50_u64],
        limit in 1_514..9_000_u64,
        steps in prop::collection::vec((prop_oneof![Just(0), 0..900_u64], 60..=1514_u32), 1..25),
        is_behind_delay: bool,
    ) {
        let spec = BottleneckSpec {
            rate: Rate::from_bps(bps),
            overhead: Bytes::new(overhead),
            queue: QueueLimit::Bytes(Bytes::new(limit)),
            burst: Bytes::new(burst),
        };
        let mut at = 0;
        let offers: Vec<(u64, u32)> = steps.into_iter().map(|(gap, bytes)| { at += gap; (at, bytes) }).collect();
        let bottleneck =
            Bottleneck::new(&spec, RTT).fed_by(if is_behind_delay { FedBy::Netem } else { FedBy::Device });
        let feed = if is_behind_delay { Feed::AnInstantAtOnce } else { Feed::OneByOne };
        let mut fates = by_nanosecond((bps, burst, overhead, limit), feed, &offers);
        fates.sort_unstable();
        prop_assert_eq!(by_element(bottleneck, &offers), fates);
    }
}

fn by_element(mut bottleneck: Bottleneck<usize>, offers: &[(u64, u32)]) -> Vec<Event> {
    let mut events = Vec::new();
    let take = |bottleneck: &mut Bottleneck<usize>, now: Time, events: &mut Vec<Event>| {
        while let Some(released) = bottleneck.take_due(now) {
            events.push((released.packet.payload, Fate::Left(released.due.nanos())));
        }
    };
    for (index, &(at, bytes)) in offers.iter().enumerate() {
        let now = Time::from_nanos(at);
        take(&mut bottleneck, now, &mut events);
        let packet = Packet { gso_id: 0, bytes, payload: index };
        if bottleneck.offer(now, packet).is_err() {
            events.push((index, Fate::Dropped(at)));
        }
        take(&mut bottleneck, now, &mut events);
    }
    take(&mut bottleneck, Time::MAX, &mut events);
    assert!(events.is_sorted_by_key(instant), "{events:?}");
    events.sort_unstable();
    events
}

/// Every nanosecond tokens come; fed one by one, what can leaves, then the packets of this nanosecond arrive, and leave at once
/// if they can; fed an instant at once, they arrive, then what can leaves.
fn by_nanosecond(
    (bps, burst, overhead, limit): (u64, u64, u64, u64),
    feed: Feed,
    offers: &[(u64, u32)],
) -> Vec<Event> {
    let leave =
        |queue: &mut _, tokens: &mut _, now, events: &mut _| leave(queue, tokens, overhead, now, events);
    let depth = burst * TOKENS_PER_BYTE;
    let mut tokens = depth;
    let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
    let mut events = Vec::new();
    let mut arrivals = offers.iter().enumerate().peekable();
    let mut now = 0;
    while arrivals.peek().is_some() || !queue.is_empty() {
        if feed == Feed::OneByOne {
            leave(&mut queue, &mut tokens, now, &mut events);
        }
        while let Some((index, &(_, bytes))) = arrivals.next_if(|(_, offer)| offer.0 == now) {
            let bytes = u64::from(bytes);
            let waiting: u64 = queue.iter().map(|(_, bytes)| bytes).sum();
            if bytes + overhead > burst || waiting + bytes > limit {
                events.push((index, Fate::Dropped(now)));
            } else {
                queue.push_back((index, bytes));
                if feed == Feed::OneByOne {
                    leave(&mut queue, &mut tokens, now, &mut events);
                }
            }
        }
        if feed == Feed::AnInstantAtOnce {
            leave(&mut queue, &mut tokens, now, &mut events);
        }
        now += 1;
        tokens = (tokens + bps).min(depth);
    }
    events
}

fn leave(
    queue: &mut VecDeque<(usize, u64)>,
    tokens: &mut u64,
    overhead: u64,
    now: u64,
    events: &mut Vec<Event>,
) {
    let cost = |bytes: u64| (bytes + overhead) * TOKENS_PER_BYTE;
    while let Some((index, bytes)) = queue.pop_front_if(|(_, bytes)| cost(*bytes) <= *tokens) {
        *tokens -= cost(bytes);
        events.push((index, Fate::Left(now)));
    }
}

fn instant((_, fate): &Event) -> u64 {
    match fate {
        Fate::Left(at) | Fate::Dropped(at) => *at,
    }
}
