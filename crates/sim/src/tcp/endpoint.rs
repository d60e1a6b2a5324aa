//! One end of a connection: the half of its socket that sends and the half that receives.
//!
//! What one half knows the other's segments say: data acknowledges what came, so that no ACK has to, and what acknowledges lets data go.

use super::receiver::Receiver;
use super::sender::{Sender, SenderSettings};
use crate::segment::{Body, Data, Header};
use pipefill_core::units::Time;

/// Pure ACKs are numbered from here on, as packets of their own; a sending half numbers its super-packets from one.
const ACK_GSO_IDS: u64 = 1 << 38;

/// Both halves.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    last_ack_id: u64,
}

impl Endpoint {
    /// `rcvbuf` is `SO_RCVBUF` as asked, `is_caller` is for the end that connects.
    pub(crate) fn new(settings: SenderSettings, rcvbuf: Option<u64>, is_caller: bool) -> Self {
        let receiver = Receiver::new(settings.host, rcvbuf, is_caller);
        Self { sender: Sender::new(settings), receiver, last_ack_id: ACK_GSO_IDS }
    }

    /// The handshake is complete: the peer's window and timestamp, and unless it took more than one attempt the round trip.
    pub(crate) fn established(&mut self, now: Time, window: u64, ts: u32, rtt_us: Option<u64>) {
        self.receiver.ts_recent = ts;
        self.sender.established(now, window, rtt_us);
        self.receiver.established(now);
    }

    /// The header of the handshake's last segment.
    pub(crate) fn acknowledge(&mut self, now: Time) -> Header {
        self.sender.now = now;
        self.receiver.acknowledge();
        let mut header = self.sender.header(self.sender.snd_nxt);
        self.receiver.complete(&mut header);
        header
    }

    /// When a timer of it is due, or its process done.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        let sender = if self.sender.has_written() { self.sender.next() } else { None };
        Time::earliest(sender, self.receiver.ack_policy.next())
    }

    /// Timers that are due.
    #[inline]
    pub(crate) fn on_timer(&mut self, now: Time) {
        if self.sender.has_written() {
            self.send(|sender| sender.on_timer(now));
        }
        self.receiver.on_timer(now, &self.sender.rtt);
    }

    /// A segment without payload.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, now: Time, header: &Header) {
        let is_misplaced = header.seq < self.receiver.rcv_wup
            || header.seq > self.receiver.rcv_nxt + self.receiver.window_left();
        if is_misplaced || self.is_ack_outdated(header) {
            return;
        }
        self.note_timestamp(header);
        if self.sender.process.holds_until().is_some() {
            self.sender.process.leave(*header);
        } else {
            self.send(|sender| sender.on_ack(now, header));
        }
    }

    /// A segment with payload (`tcp_rcv_established()`): what it acknowledges, then what it carries, then what either lets go, and an
    /// ACK only where nothing went.
    #[inline(never)]
    pub(crate) fn on_data(&mut self, now: Time, data: &Data) {
        if !self.receiver.accepts(now, data) {
            return;
        }
        self.note_timestamp(&data.header);
        let is_news = !self.sender.knows(&data.header);
        let is_held = self.sender.process.holds_until().is_some();
        if is_news && is_held {
            self.sender.process.leave(data.header);
        } else if is_news {
            self.sender.take_header(now, &data.header, true);
        }
        self.receiver.queue(now, data, &self.sender.rtt);
        if is_news && !is_held {
            self.send(Sender::check_send);
        }
        self.receiver.check_ack(now, &self.sender.rtt);
    }

    /// A zero-window probe: an old sequence number, which is thrown away and answered at once.
    pub(crate) fn on_probe(&mut self, now: Time) {
        self.receiver.send_ack(now);
    }

    /// Lets the sending half send: what it sends acknowledges all that came (`__tcp_transmit_skb()`).
    #[inline]
    pub(crate) fn send<T>(&mut self, work: impl FnOnce(&mut Sender) -> T) -> T {
        let blocks = &self.receiver.reassembly;
        self.sender.sack_bytes = if blocks.has_no_sacks() { 0 } else { blocks.option_bytes() };
        let before = self.sender.outbox.len();
        let result = work(&mut self.sender);
        let sent = self.sender.outbox.len();
        self.receiver.sent_before = sent;
        if sent > before {
            self.receiver.snd_nxt = self.sender.snd_nxt;
            if self.receiver.has_news {
                self.receiver.acknowledge();
            }
            self.receiver.ack_policy.note_data_sent(self.sender.now);
            if !self.receiver.reassembly.has_no_sacks() {
                self.add_sacks(before);
            }
        }
        result
    }

    /// Nothing waits to enter the path.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.sender.outbox.is_empty() && self.receiver.outbox.is_empty()
    }

    /// Hands over what waits to enter the path, with the numbers of its super-packets; an ACK is one of its own.
    #[inline]
    pub(crate) fn flush(&mut self, mut offer: impl FnMut(u64, &Body)) {
        self.receiver.sent_before = 0;
        if self.sender.outbox.is_empty() {
            for (_, header) in &self.receiver.outbox {
                self.last_ack_id += 1;
                offer(self.last_ack_id, &Body::Ack(*header));
            }
            self.receiver.outbox.clear();
            return;
        }
        if !self.receiver.outbox.is_empty() {
            self.queue_acks();
        }
        for (gso_id, body) in &mut self.sender.outbox {
            if let Body::Data(Data { header, .. }) | Body::Probe(header) = body {
                self.receiver.complete(header);
            }
            offer(*gso_id, body);
        }
        self.sender.outbox.clear();
    }

    /// Puts ACKs to their places between what the sending half sends.
    fn queue_acks(&mut self) {
        for (acks_before, (sent_before, header)) in self.receiver.outbox.drain(..).enumerate() {
            self.last_ack_id += 1;
            let ack = (self.last_ack_id, Body::Ack(header));
            if self.sender.outbox.len() == acks_before + sent_before {
                self.sender.outbox.push(ack);
            } else {
                self.sender.outbox.insert(acks_before + sent_before, ack);
            }
        }
    }

    /// `tcp_ack()`: only of what is no older than what was acknowledged before.
    #[inline]
    fn note_timestamp(&mut self, header: &Header) {
        if header.ack >= self.sender.snd_una && header.ack <= self.sender.snd_nxt {
            self.receiver.note_timestamp(header);
        }
    }

    /// What has no room for the blocks, since it was cut before there were any, goes without; the kernel would cut it again.
    #[inline(never)]
    fn add_sacks(&mut self, from: usize) {
        for (_, body) in &mut self.sender.outbox[from..] {
            if let Body::Data(data) = body
                && data.len + self.receiver.reassembly.option_bytes() <= self.sender.conn.mss
            {
                data.header.sacks = self.receiver.reassembly.take_sacks();
            }
        }
    }
}

#[cfg(test)]
mod tests;
