//! The process that sends: its packets take time, and while it holds the socket, ACKs and timers wait (`lock_sock()`,
//! `sk_backlog`, `tcp_release_cb()`).
//!
//! What it sends between two looks after the backlog leaves at once, and the time passes after it.

use super::sender::Sender;
use crate::segment::Header;
use pipefill_core::units::Time;
use std::time::Duration;

/// Who holds the socket, and what waits for it.
#[derive(Debug)]
pub(crate) struct Process {
    /// What a packet costs it.
    cost: Duration,
    /// Packets that have left since it was begun with.
    pub(crate) sent: u32,
    /// It holds the socket until then.
    until: Option<Time>,
    backlog: Vec<Header>,
}

impl Process {
    pub(crate) fn new(cost: Duration) -> Self {
        Self { cost, sent: 0, until: None, backlog: Vec::new() }
    }

    /// Whether what it sends takes time.
    pub(crate) fn takes_time(&self) -> bool {
        self.cost > Duration::ZERO
    }

    /// Until when the socket is held.
    #[inline]
    pub(crate) fn holds_until(&self) -> Option<Time> {
        self.until
    }

    /// Leaves `ack` to be taken when the socket is free (`tcp_add_backlog()`).
    pub(crate) fn leave(&mut self, ack: Header) {
        self.backlog.push(ack);
    }
}

impl Sender {
    /// Does `work` at `now` as a process does it, which then holds the socket for as long as the packets take.
    pub(crate) fn in_process(&mut self, now: Time, work: impl FnOnce(&mut Self)) {
        self.now = now;
        self.process.sent = 0;
        work(self);
        let until = now.after(self.process.cost * self.process.sent);
        self.process.until = Some(until).filter(|&until| until > now);
    }

    /// `release_sock()`: what came meanwhile is taken, still by the process. An ACK costs what a packet does.
    pub(crate) fn release(&mut self, now: Time) {
        if self.process.until.is_none_or(|until| until > now) {
            return;
        }
        let mut backlog = std::mem::take(&mut self.process.backlog);
        self.in_process(now, |sender| {
            for ack in backlog.drain(..) {
                sender.on_ack(now, &ack);
                sender.process.sent += 1;
            }
        });
        self.process.backlog = backlog;
    }

    /// When a timer of it is due, or the socket free.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.process.until.or_else(|| self.timers.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;
    use crate::host::Host;
    use crate::options::SimOptions;
    use crate::tcp::limits::FIRST_BYTE;
    use crate::tcp::sender::SenderSettings;
    use pipefill_core::units::Seed;

    const SEGMENT: u64 = 1448;

    /// Connected, with a cwnd and a window that let everything go.
    fn sender(cost: Duration) -> Sender {
        let options = SimOptions { gso: false, packet_cost: cost, ..SimOptions::default() };
        let host = Host::usual(options);
        let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
        let mut sender = Sender::new(SenderSettings {
            host,
            cc,
            sndbuf: Some(1 << 20),
            max_pacing_rate: None,
            nodelay: false,
        });
        sender.established(Time::from_nanos(1_000_000), 1 << 20, Some(100_000));
        sender.conn.cwnd = 1000;
        sender
    }

    /// `tcp_sendmsg_locked()` looks after the backlog every sixteen packets.
    #[test]
    fn a_write_that_takes_time_stops_to_take_what_was_acknowledged() {
        let mut sender = sender(Duration::from_nanos(256));
        let begin = Time::from_nanos(2_000_000);
        sender.in_process(begin, |sender| assert_eq!(sender.write(40 * SEGMENT), 16 * SEGMENT));
        assert!(sender.queue.is_writing());
        let until = begin.after(Duration::from_nanos(16 * 256));
        assert_eq!((sender.next(), sender.in_flight()), (Some(until), 16));
        let ack = FIRST_BYTE + 4 * SEGMENT;
        sender.process.leave(Header { ack, window: 1 << 20, ts: 2, ts_echo: 1, ..Header::default() });
        sender.release(begin);
        assert_eq!(sender.snd_una, FIRST_BYTE, "the process still has the socket");
        sender.release(until);
        assert_eq!(sender.snd_una, ack);
        assert_eq!(sender.process.holds_until(), Some(until.after(Duration::from_nanos(256))));
        sender.in_process(until, |sender| assert_eq!(sender.write_on(), 16 * SEGMENT));
        sender.in_process(until, |sender| assert_eq!(sender.write_on(), 8 * SEGMENT));
        assert!(!sender.queue.is_writing());
    }

    #[test]
    fn a_write_that_takes_no_time_goes_on_to_its_end() {
        let mut sender = sender(Duration::ZERO);
        let begin = Time::from_nanos(2_000_000);
        sender.in_process(begin, |sender| assert_eq!(sender.write(40 * SEGMENT), 40 * SEGMENT));
        assert_eq!(sender.process.holds_until(), None);
    }
}
