//! A half of a TCP connection, from one end to the other: the bytes, the windows, the scoreboard's counts, the timers.
//!
//! `tcp_verify_left_out()`, `tcp_packets_in_flight()` and RFC 9293, 3.8.6 say what has to hold.

use super::{Verdict, holds};
use crate::stream::TcpStream;
use crate::tcp::limits::FIRST_BYTE;
use crate::tcp::receiver::Receiver;
use crate::tcp::rtt::{RTO_MAX_MS, RTO_MIN_US};
use crate::tcp::sender::Sender;

/// One way of a connection at the latest look: the sending half of one end and the receiving half of the other.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// The right edge as the receiver holds it, and the furthest that it told. They differ until the first ACK: a SYN-ACK can't tell
    /// more than 65535 (RFC 7323, 2.2).
    window_right: u64,
    told: u64,
    rcv_nxt: u64,
    snd_una: u64,
    snd_nxt: u64,
    until_recount: u32,
}

impl Half {
    /// The way from the end `from`.
    pub(super) fn look(&mut self, tcp: &TcpStream, from: usize) -> Verdict {
        let (sender, receiver) = (&tcp.ends[from].sender, &tcp.ends[1 - from].receiver);
        let told = self.edge_told(receiver);
        sequence(sender, receiver, told)?;
        applications(sender, receiver, tcp.written(from), tcp.read(1 - from))?;
        self.progress(sender, receiver, told)?;
        Self::congestion_window(sender)?;
        timers(sender, receiver)?;
        self.recount(sender, receiver)?;
        (self.window_right, self.told) = (receiver.window_right, told);
        self.rcv_nxt = receiver.rcv_nxt;
        (self.snd_una, self.snd_nxt) = (sender.snd_una, sender.snd_nxt);
        Ok(())
    }

    fn edge_told(&self, receiver: &Receiver) -> u64 {
        match self.window_right {
            0 => FIRST_BYTE + receiver.first_window(),
            before if before == receiver.window_right && !has_received(receiver) => self.told,
            _ => receiver.window_right,
        }
    }

    /// Nothing is taken back: neither an acknowledgement, nor what was received, nor the window's right edge.
    fn progress(&self, sender: &Sender, receiver: &Receiver, told: u64) -> Verdict {
        let never_back = [
            ("snd_una", self.snd_una, sender.snd_una),
            ("snd_nxt", self.snd_nxt, sender.snd_nxt),
            ("rcv_nxt", self.rcv_nxt, receiver.rcv_nxt),
            ("the right edge of the window", self.told, told),
        ];
        for (name, before, after) in never_back {
            holds(before <= after, || format!("{name} went back from {before} to {after}"))?;
        }
        Ok(())
    }

    /// What left did so within the cwnd of its moment, of which an instant has many: the sender itself looks when it sends.
    fn congestion_window(sender: &Sender) -> Verdict {
        holds(sender.conn.cwnd > 0, || "cwnd is 0".to_owned())?;
        sender.overshoot.map_or(Ok(()), |(in_flight, cwnd)| {
            Err(format!("{in_flight} in flight after a packet, cwnd {cwnd}"))
        })
    }

    fn recount(&mut self, sender: &Sender, receiver: &Receiver) -> Verdict {
        if let Some(left) = self.until_recount.checked_sub(1) {
            self.until_recount = left;
            return Ok(());
        }
        self.until_recount = sender.board.recounts_left_out();
        let (told, counted) = (receiver.rmem_alloc, receiver.memory_held());
        holds(told == counted, || format!("rmem_alloc is {told}, the packets held are {counted}"))?;
        sender.board.recount(sender.snd_una, sender.snd_nxt)
    }
}

/// From its first ACK on the receiver tells its window with the scale, also where the edge did not move.
fn has_received(receiver: &Receiver) -> bool {
    receiver.rcv_nxt > FIRST_BYTE || receiver.reassembly.ranges().next().is_some()
}

/// What was acknowledged was received, what was sent was allowed, what was read was sent.
fn sequence(sender: &Sender, receiver: &Receiver, told: u64) -> Verdict {
    let in_order = [
        ("the byte read", receiver.copied_seq),
        ("rcv_nxt", receiver.rcv_nxt),
        ("snd_nxt", sender.snd_nxt),
        ("the right edge of the window ever told", told),
    ];
    let acknowledged = [
        ("snd_una", sender.snd_una),
        ("rcv_nxt", receiver.rcv_nxt),
        ("snd_nxt", sender.snd_nxt),
        ("write_seq", sender.queue.write_seq),
    ];
    for chain in [in_order, acknowledged] {
        for pair in chain.windows(2) {
            let [(low_name, low), (high_name, high)] = pair else { continue };
            holds(low <= high, || format!("{low_name} is {low}, beyond {high_name}, {high}"))?;
        }
    }
    let furthest = receiver.reassembly.ranges().last().map_or(FIRST_BYTE, |range| range.end);
    holds(furthest <= sender.snd_nxt, || format!("{furthest} was received, {} sent", sender.snd_nxt))
}

/// Written = acknowledged + outstanding + queued; read = delivered in order.
fn applications(sender: &Sender, receiver: &Receiver, written: u64, read: u64) -> Verdict {
    let queued = sender.queue.write_seq - FIRST_BYTE;
    holds(written == queued, || format!("{written} bytes written, {queued} taken"))?;
    let copied = receiver.copied_seq - FIRST_BYTE;
    holds(read == copied, || format!("{read} bytes read, {copied} handed over"))
}

/// Whatever is waited for has a timer, or it may never come (RFC 9293, 3.8.6.1; RFC 6298, 5.1).
fn timers(sender: &Sender, receiver: &Receiver) -> Verdict {
    let (timers, queued) = (&sender.timers, sender.queue.write_seq - sender.snd_nxt);
    let is_armed = !timers.is_idle();
    holds(sender.board.is_empty() || is_armed, || {
        format!("{} segments are out and no timer runs", sender.board.packets_out())
    })?;
    let is_waiting = is_armed || timers.pacing.is_some();
    holds(queued == 0 || is_waiting || !sender.board.is_empty(), || {
        format!("{queued} bytes are queued, nothing is out, no timer runs; window {}", sender.snd_wnd)
    })?;
    let rto_ms = sender.rtt.rto_ms;
    holds((RTO_MIN_US / 1000..=RTO_MAX_MS).contains(&rto_ms), || format!("the timeout is {rto_ms} ms"))?;
    holds(receiver.ack_policy.is_kept(), || "an ACK is owed and no timer runs".to_owned())
}
