//! The three-way handshake: SYN, SYN-ACK, ACK, each sent again until it is answered (RFC 9293, 3.5; RFC 6298, 5.7).

use crate::segment::{Body, Data};
use pipefill_core::units::Time;
use pipefill_link::jiffies;

/// `TCP_TIMEOUT_INIT`, ticks.
const FIRST_TIMEOUT: u64 = 1000;
/// `tcp_syn_linear_timeouts`: so many SYNs more are sent before the wait doubles (since Linux 6.5).
const LINEAR_TIMEOUTS: u32 = 4;
/// `TCP_RTO_MAX`, ticks.
const LONGEST_TIMEOUT: u64 = 120_000;

/// One end's message that waits for its answer.
#[derive(Debug, Default)]
struct Asking {
    sent: Time,
    deadline: Option<Time>,
    attempts: u32,
}

impl Asking {
    /// The wait doubles with every attempt but the first `linear`.
    fn send(&mut self, now: Time, linear: u32) {
        let doublings = self.attempts.saturating_sub(linear).min(16);
        let ticks = (FIRST_TIMEOUT << doublings).min(LONGEST_TIMEOUT);
        self.attempts += 1;
        self.sent = now;
        self.deadline = Some(jiffies::deadline(now, ticks));
    }

    fn is_due(&self, now: Time) -> bool {
        self.deadline.is_some_and(|at| at <= now)
    }

    /// The answer is there: the round trip, unless it might belong to an earlier attempt (Karn).
    fn answered(&mut self, now: Time) -> Option<u64> {
        self.deadline = None;
        (self.attempts == 1).then(|| now.micros().saturating_sub(self.sent.micros()))
    }
}

/// A connection on its way to be one.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    syn: Asking,
    syn_ack: Asking,
    is_connected: bool,
    is_accepted: bool,
    /// TSval of the SYN, which the receiver echoes.
    called_at: u32,
}

/// What an end has learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learned {
    Nothing,
    /// The sender is connected, with the window told and the round trip.
    Connected {
        window: u64,
        ts: u32,
        rtt_us: Option<u64>,
    },
    /// The same again: the ACK was lost.
    ConnectedBefore,
    /// The receiver has its connection, with the window told and the round trip.
    Accepted {
        window: u64,
        ts: u32,
        rtt_us: Option<u64>,
    },
}

impl Handshake {
    /// The sender calls.
    pub(crate) fn connect(&mut self, now: Time) -> Body {
        self.syn.send(now, LINEAR_TIMEOUTS);
        Body::Syn { ts: jiffies::stamp(now) }
    }

    /// The listening application has the connection.
    pub(crate) fn is_accepted(&self) -> bool {
        self.is_accepted
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Time> {
        Time::earliest(self.syn.deadline, self.syn_ack.deadline)
    }

    /// A message that is due again: from the sender, from the receiver, whose first window is `window`.
    pub(crate) fn on_timer(&mut self, now: Time, window: u64) -> (Option<Body>, Option<Body>) {
        let syn = self.syn.is_due(now).then(|| self.connect(now));
        let syn_ack = self.syn_ack.is_due(now).then(|| self.answer(now, window));
        (syn, syn_ack)
    }

    /// A message reached the end that it is for; `window` is the receiver's first. A SYN is answered, back the other way; a SYN-ACK the
    /// sender's end acknowledges itself.
    pub(crate) fn on_message(&mut self, now: Time, body: &Body, window: u64) -> (Option<Body>, Learned) {
        match body {
            Body::Syn { ts } if !self.is_accepted => {
                self.called_at = *ts;
                (Some(self.answer(now, window)), Learned::Nothing)
            }
            Body::SynAck { .. } if self.is_connected => (None, Learned::ConnectedBefore),
            Body::SynAck { window, ts, .. } => {
                self.is_connected = true;
                let rtt_us = self.syn.answered(now);
                (None, Learned::Connected { window: *window, ts: *ts, rtt_us })
            }
            Body::HandshakeAck(header) | Body::Data(Data { header, .. }) if !self.is_accepted => {
                self.is_accepted = true;
                let rtt_us = self.syn_ack.answered(now);
                (None, Learned::Accepted { window: header.window, ts: header.ts, rtt_us })
            }
            _ => (None, Learned::Nothing),
        }
    }

    fn answer(&mut self, now: Time, window: u64) -> Body {
        self.syn_ack.send(now, 0);
        Body::SynAck { window, ts: jiffies::stamp(now), ts_echo: self.called_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Header;

    #[test]
    fn three_messages_connect_and_a_lost_one_is_sent_again() {
        let mut handshake = Handshake::default();
        let syn = handshake.connect(Time::ZERO);
        let again = handshake.next().expect("a deadline");
        assert!(again >= Time::from_nanos(1_000_000_000));
        assert!(handshake.on_timer(again, 1).0.is_some());
        let at = |ms: u64| again.after(std::time::Duration::from_millis(ms));
        let (answer, _) = handshake.on_message(at(5), &syn, 65_160);
        let answer = answer.expect("a SYN-ACK");
        let (_, learned) = handshake.on_message(at(10), &answer, 0);
        assert!(matches!(learned, Learned::Connected { window: 65_160, rtt_us: None, .. }));
        let ack = Body::HandshakeAck(Header { window: 64_256, ..Header::default() });
        let (_, learned) = handshake.on_message(at(15), &ack, 0);
        assert_eq!(learned, Learned::Accepted { window: 64_256, ts: 0, rtt_us: Some(10_000) });
        assert!(handshake.is_accepted() && handshake.next().is_none());
    }
}
