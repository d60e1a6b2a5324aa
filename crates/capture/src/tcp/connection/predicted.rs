//! Header prediction (Van Jacobson; `tcp_rcv_established()`): what most segments of a bulk transfer are, in few steps.
//!
//! Invariant: what is taken here is taken the same by the general way, which gets every other segment.

use super::{Connection, answers_us};
use crate::headers::{Flags, Segment};
use crate::tcp::data::Data;
use crate::tcp::event::{Event, SegmentKind};
use crate::tcp::half::Half;
use crate::tcp::sender::Ack;
use crate::tcp::side::Side;

/// What a segment was that is predicted.
pub(super) enum Predicted {
    /// Data in order that acknowledge nothing new and change no window.
    Data,
    /// An ACK of something new and nothing else; whether it showed something that was sent for nothing.
    Ack { has_found: bool },
}

impl Connection {
    /// `None` where the segment is neither: nothing is changed then.
    #[inline(always)]
    pub(super) fn take_predicted(
        &mut self,
        segment: &Segment,
        side: Side,
        event: &mut Event,
    ) -> Option<Predicted> {
        let (own, peer) = side.own_and_other(&mut self.halves);
        let is_plain = segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0 && !segment.options.has_sacks();
        if !is_plain || segment.seq != own.wrap(own.next) {
            return None;
        }
        let news = u64::from(segment.ack.wrapping_sub(peer.wrap(peer.una)));
        if news == 0 {
            return take_data(segment, own, peer, event).then_some(Predicted::Data);
        }
        let full_rtt_us = self.handshake.full_rtt_us().or_else(|| answers_us(own, peer));
        let has_found = take_ack(segment, own, peer, (news, full_rtt_us), event)?;
        Some(Predicted::Ack { has_found })
    }
}

#[inline(always)]
fn take_data(segment: &Segment, own: &mut Half, peer: &mut Half, event: &mut Event) -> bool {
    let is_usual = segment.payload > 1 && own.advertises_again(segment) && peer.is_known;
    let size = own.segment_size();
    let Some(sender) = own.sender.as_mut().filter(|sender| is_usual && sender.is_past_first_round()) else {
        return false;
    };
    let from = own.next;
    let to = from + u64::from(segment.payload);
    let has_sack = own.may_get_sacks;
    // Behind the first round the path's round trip is not asked for.
    let data = Data { segment, from, to, size, has_sack, opening: None, full_rtt_us: None, is_first: false };
    sender.take_in_order(&data, own.una, &mut own.next);
    own.take_size(segment, peer);
    own.count(segment);
    own.take_stamps(segment, peer);
    (event.seq_from, event.seq_to) = (from, to);
    event.segments = size.segments(segment.payload);
    event.window_bytes = own.window_bytes();
    (event.ack, event.kind) = (Some(peer.una), SegmentKind::New);
    true
}

#[inline(always)]
fn take_ack(
    segment: &Segment,
    own: &mut Half,
    peer: &mut Half,
    (news, full_rtt_us): (u64, Option<u32>),
    event: &mut Event,
) -> Option<bool> {
    let is_usual = segment.payload == 0 && own.is_known;
    let is_of_data = peer.una > 0 && news <= peer.unacked_bytes() && peer.sender.is_some();
    if !(is_usual && is_of_data) {
        return None;
    }
    own.count(segment);
    own.take_stamps(segment, peer);
    own.watch_right_edge(peer);
    own.advertise(segment);
    own.acks_apart = true;
    let (to, mss) = (peer.una + news, peer.mss_bytes());
    let ack =
        Ack { segment, to, blocks: &[], is_bare: false, mss, full_rtt_us, spoke_ns: own.last_data_ns() };
    let outcome = peer.acknowledged(&ack);
    (event.seq_from, event.seq_to, event.segments) = (own.next, own.next, 1);
    event.window_bytes = own.window_bytes();
    (event.ack, event.rtt_us, event.kind) = (Some(to), outcome.rtt_us, SegmentKind::PureAck);
    event.shows_unseen = outcome.shows_unseen;
    Some(outcome.has_found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::exchange::{Exchange, Next, any_next, bulk, handshake_end, syn};
    use crate::tcp::key::Key;
    use proptest::prelude::*;

    /// A connection that takes every segment the general way, or first as it is predicted. Counts what was.
    struct Follower {
        connection: Connection,
        event: Event,
        predicts: bool,
        predicted: u32,
    }

    impl Follower {
        fn new(first: &Segment, predicts: bool) -> Self {
            let (key, from_high) = Key::of(first);
            let connection = Connection::new(0, key, first, from_high);
            Self { connection, event: Event::none(), predicts, predicted: 0 }
        }

        fn push(&mut self, segment: &Segment) {
            let side = self.connection.side(Key::of(segment).1);
            self.event.begin(segment, side);
            let predicted =
                self.predicts.then(|| self.connection.take_predicted(segment, side, &mut self.event));
            match predicted.flatten() {
                Some(predicted) => {
                    self.predicted += 1;
                    if matches!(predicted, Predicted::Ack { has_found: true }) {
                        self.connection.tell_spurious(&mut ());
                    }
                }
                None => self.connection.take_any(segment, side, &mut self.event, &mut ()),
            }
        }
    }

    /// Both ways, over the handshake and what follows; how many segments were predicted.
    fn both_ways(follow: &[Next]) -> Result<u32, TestCaseError> {
        let mut exchange = Exchange::default();
        let mut both: Option<[Follower; 2]> = None;
        for next in [syn(true), syn(false)].iter().chain(follow) {
            let segment = exchange.segment(next);
            let both =
                both.get_or_insert_with(|| [true, false].map(|predicts| Follower::new(&segment, predicts)));
            both.iter_mut().for_each(|follower| follower.push(&segment));
            prop_assert_eq!(both[0].event, both[1].event);
        }
        let [predicting, plain] = both.expect("a handshake");
        prop_assert_eq!(format!("{:?}", predicting.connection), format!("{:?}", plain.connection));
        Ok(predicting.predicted)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn what_is_predicted_is_what_the_general_way_finds(follow in prop::collection::vec(any_next(), 0..60)) {
            both_ways(&follow)?;
        }
    }

    #[test]
    fn nearly_all_of_a_bulk_transfer_is_predicted() {
        let mut follow = vec![handshake_end()];
        follow.extend(bulk(true, 100, 10_000_000));
        let predicted = both_ways(&follow).expect("the same both ways");
        assert!(predicted > 290, "{predicted} of {}", follow.len());
    }
}
