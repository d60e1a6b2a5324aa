//! When the receiving application holds an interval: it does not read.

use super::super::conditions::is_unread;
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::path::most_dropped;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::Waiting;

pub(super) const DATAGRAMS_DROPPED: Rule = Rule {
    id: RuleId::new("receiver.datagrams_dropped"),
    question: "Do counted drops explain the losses, most of them the receiver's socket's?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| most_dropped(evidence, t, trace) == Some(LimitedBy::Receiver),
};

pub(super) const SOCKET_DROPS: Rule = Rule {
    id: RuleId::new("receiver.socket_drops"),
    question: "Does a UDP socket drop datagrams for which its buffer has no room?",
    needs: Parts::of(&[Part::UdpSocket]),
    holds: |evidence, _, _| evidence.udp_socket.is_some_and(|socket| socket.drops > 0),
};

pub(super) const UNREAD: Rule = Rule {
    id: RuleId::new("receiver.unread"),
    question: "Is the receive window used up in front of data that the application has not read?",
    needs: Parts::of(&[Part::Sender]),
    holds: is_unread,
};

pub(super) const UNREAD_ALONE: Rule = Rule {
    id: RuleId::new("receiver.unread_alone"),
    question: "Is at least half of the receive buffer unread and, where packets show it, does each round trip use up the window that is left?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let Some(arrivals) = evidence.arrivals else { return false };
        // A narrow window limits only a sender that fills it.
        let has_room = arrivals.packets.is_some()
            && arrivals.window_used.is_some_and(|used| trace.below(t.receiver_window_filled, used));
        trace.at_least(t.unread, arrivals.unread_share) && !has_room
    },
};

pub(in crate::judge) const ZERO_WINDOW: Rule = Rule {
    id: RuleId::new("receiver.zero_window"),
    question: "Has the advertised window no room for a segment, with no hole open?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, _, _| evidence.waiting == Some(Waiting::ZeroWindow),
};
