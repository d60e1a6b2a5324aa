//! Prediction for samples: what most segments of a bulk transfer change in them, in few steps.
//!
//! Invariant: what is taken here is taken the same by [`Observer::segment`](crate::tcp::Observer::segment), which gets every other segment.

use super::{Followed, LOGS_MAX, Sampling};
use crate::tcp::{Connection, Event, Side};

impl Sampling {
    /// Takes predicted data. Returns whether they were bulk data that go on: nothing is changed otherwise.
    #[inline(always)]
    pub(super) fn take_bulk_data(&mut self, connection: &Connection, event: &Event) -> bool {
        let sender = event.side;
        let Some(followed) = self.in_bulk(connection, event, sender) else { return false };
        if !followed.conversation.take_bulk_data(connection, event) {
            return false;
        }
        followed.packet_logs.log_data(event);
        followed.events.pass(event.time_ns);
        followed.clocking[sender as usize].sent_in_bulk(event, connection);
        true
    }

    /// Takes a predicted ACK. Returns whether it was one of bulk data that go on: nothing is changed otherwise.
    #[inline(always)]
    pub(super) fn take_bulk_ack(&mut self, connection: &Connection, event: &Event) -> bool {
        let sender = event.side.other();
        let Some(followed) = self.in_bulk(connection, event, sender) else { return false };
        if !followed.conversation.take_bulk_ack(connection, event) {
            return false;
        }
        followed.packet_logs.log_ack(event);
        followed.events.pass(event.time_ns);
        let clocking = &mut followed.clocking[sender as usize];
        clocking.update_out(connection.half(sender), connection.half(event.side));
        clocking.acked(event.time_ns, connection.half(sender));
        true
    }

    /// The connection where bulk data of `sender` go on, and neither a sample nor a log is due with this segment, nor does it show an event.
    #[inline(always)]
    fn in_bulk(&mut self, connection: &Connection, event: &Event, sender: Side) -> Option<&mut Followed> {
        let may_log = self.logs < LOGS_MAX;
        let at = self.followed.find(connection.id())?;
        let followed = self.followed.at(at);
        let is_in_bulk = followed.bulk_sender == Some(sender)
            && event.time_ns < followed.next_ns
            && !event.is_ce
            && followed.events.follows_soon(event.time_ns)
            && followed.packet_logs.only_logs(followed.unlogged, may_log);
        is_in_bulk.then_some(followed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::exchange::{Exchange, Next, any_next, bulk, handshake_end, syn};
    use crate::tcp::{Observer, Reconstruction};
    use proptest::prelude::*;

    /// One that predicts, and one that takes every segment the general way. Counts what was predicted.
    #[derive(Default)]
    struct Both {
        predicting: Sampling,
        plain: Sampling,
        predicted: usize,
    }

    impl Both {
        /// What changes with each segment is the same in both, but for the logs.
        fn compare(&mut self, connection: &Connection, event: &Event) {
            let parts = |sampling: &mut Sampling| {
                let at = sampling.followed.find(connection.id())?;
                let of = sampling.followed.at(at);
                let kept = (of.samples.len(), of.next_ns, of.unlogged, of.bulk_sender);
                Some(format!("{kept:?} {:?} {:?} {:?}", of.conversation, of.clocking, of.events))
            };
            assert_eq!(parts(&mut self.predicting), parts(&mut self.plain), "after {event:?}");
        }

        fn take(&mut self, is_predicted: bool, connection: &Connection, event: &Event) {
            self.predicted += usize::from(is_predicted);
            if !is_predicted {
                self.predicting.segment(connection, event);
            }
            self.plain.segment(connection, event);
            self.compare(connection, event);
        }
    }

    impl Observer for Both {
        fn segment(&mut self, connection: &Connection, event: &Event) {
            self.take(false, connection, event);
        }

        fn predicted_data(&mut self, connection: &Connection, event: &Event) {
            let is_predicted = self.predicting.take_bulk_data(connection, event);
            self.take(is_predicted, connection, event);
        }

        fn predicted_ack(&mut self, connection: &Connection, event: &Event) {
            let is_predicted = self.predicting.take_bulk_ack(connection, event);
            self.take(is_predicted, connection, event);
        }
    }

    /// Follows the handshake and these segments; how many were predicted.
    fn predicted(follow: impl IntoIterator<Item = Next>) -> usize {
        let (mut exchange, mut reconstruction) = (Exchange::default(), Reconstruction::default());
        let mut both = Both::default();
        for next in [syn(true), syn(false), handshake_end()].into_iter().chain(follow) {
            reconstruction.take_segment(&exchange.segment(&next), &mut both);
        }
        let [predicting, plain] = [&both.predicting, &both.plain].map(|sampling| format!("{sampling:?}"));
        assert_eq!(predicting, plain);
        both.predicted
    }

    /// Bulk data of one side or the other, and what may come between.
    fn any_part() -> impl Strategy<Value = Vec<Next>> {
        let any_bulk = (any::<bool>(), 1..24_usize, prop_oneof![0..400_000_i64, 0..4_000_000_i64]);
        prop_oneof![
            3 => any_bulk.prop_map(|(from_a, times, after_ns)| bulk(from_a, times, after_ns)),
            1 => prop::collection::vec(any_next(), 1..4),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn what_is_predicted_is_what_the_general_way_finds(parts in prop::collection::vec(any_part(), 0..12)) {
            predicted(parts.into_iter().flatten());
        }
    }

    /// Near the sender ACKs come a round trip later; here, near the receiver, at once.
    #[test]
    fn nearly_all_of_a_bulk_transfer_is_predicted() {
        let count = predicted(bulk(true, 4_000, 10_000));
        assert!(count > 11_600, "{count} of 12,000");
    }
}
