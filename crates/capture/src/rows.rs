//! Rows for the judge, from packets: what the socket at the capture point would have told, every 10 ms, as far as packets tell it.
//!
//! Near a sender the capture has what its socket knows: what is in flight, the peer's window, the round trip, what is sent again. It does not
//! have cwnd, the send buffer and whether data waits: [`sender`] estimates these from when data leave. Near a receiver it has what arrives
//! and the window that goes back.
//!
//! Memory: looks at a connection are thinned out beyond [`LOOKS_MAX`], and all together bounded by [`ALL_LOOKS_MAX`]; connections beyond that
//! have their counts and no rows.

mod afar;
mod followings;
mod look;
mod receiver;
mod sender;

use crate::headers::Endpoint;
use crate::tcp::{Connection, Ended, Event, Kind, Observer, Side, Vantage};
use followings::Followings;
use look::{Clocking, Look, SideLook};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{CapturePoint, PacketSample, StreamEnd, TcpSample};

/// From one look to the next, nanoseconds.
const EVERY_NS: u64 = 10_000_000;
/// Looks at one connection; beyond it each second one goes.
const LOOKS_MAX: usize = 1 << 12;
/// Looks at all connections together.
const ALL_LOOKS_MAX: usize = 1 << 19;
/// Connections that have ended and are kept; beyond it the smaller half goes.
const DONE_MAX: usize = 1 << 16;
/// In a pause the state stays what it was: so many looks show it.
const PAUSE_LOOKS: u64 = 64;

/// Looks at every connection of a capture.
#[derive(Debug, Default)]
pub struct Sampling {
    followed: Followings,
    looks: usize,
    done: Vec<Watched>,
    left_out: u64,
}

/// A connection that has been looked at to its end.
#[derive(Debug)]
pub struct Watched {
    /// Its last state.
    pub connection: Connection,
    looks: Vec<Look>,
    every_ns: u64,
}

#[derive(Debug)]
struct Followed {
    /// [`Connection::id`].
    id: u64,
    looks: Vec<Look>,
    every_ns: u64,
    next_ns: u64,
    clocking: [Clocking; 2],
}

impl Sampling {
    /// Those that carried data, the one with the most first; and how many smaller ones were left out, for want of room.
    pub fn finish(mut self) -> (Vec<Watched>, u64) {
        self.sort();
        (self.done, self.left_out)
    }

    /// Of a connection that has carried data.
    #[inline]
    fn followed(&mut self, connection: &Connection, event: &Event) -> Option<&mut Followed> {
        let is_full = self.looks >= ALL_LOOKS_MAX;
        match self.followed.find(connection.id()) {
            Some(at) => Some(self.followed.at(at)),
            None if is_full || event.payload == 0 => None,
            None => Some(self.followed.insert(Followed::new(connection.id(), event.time_ns))),
        }
    }

    fn sort(&mut self) {
        self.done.sort_by_key(|one| std::cmp::Reverse(payload(&one.connection)));
    }

    fn make_room(&mut self) {
        if self.done.len() < DONE_MAX {
            return;
        }
        self.sort();
        let gone = self.done.drain(DONE_MAX / 2..);
        self.left_out += gone.len() as u64;
        let looks: usize = gone.map(|one| one.looks.len()).sum();
        self.looks = self.looks.saturating_sub(looks);
    }
}

fn payload(connection: &Connection) -> u64 {
    [Side::A, Side::B].map(|side| connection.half(side).payload_bytes()).into_iter().sum()
}

impl Observer for Sampling {
    #[inline]
    fn segment(&mut self, connection: &Connection, event: &Event) {
        let Some(one) = self.followed(connection, event) else { return };
        one.see(connection, event);
        if event.time_ns >= one.next_ns {
            let (before, now) = one.look(connection, event);
            self.looks = (self.looks + now).saturating_sub(before);
        }
    }

    fn ended(&mut self, connection: &Connection, _why: Ended) {
        let followed = self.followed.remove(connection.id());
        if payload(connection) == 0 {
            return;
        }
        let (mut looks, every_ns) = followed.map_or((Vec::new(), EVERY_NS), |one| (one.looks, one.every_ns));
        if !looks.is_empty() {
            looks.push(Look::of(connection, connection.last_ns(), [Clocking::default(); 2]));
        }
        self.make_room();
        self.done.push(Watched { connection: connection.clone(), looks, every_ns });
    }
}

impl Followed {
    fn new(id: u64, now_ns: u64) -> Self {
        let clocking = [Clocking::default(); 2];
        Self { id, looks: Vec::new(), every_ns: EVERY_NS, next_ns: now_ns, clocking }
    }

    #[inline]
    fn see(&mut self, connection: &Connection, event: &Event) {
        let sender = event.side as usize;
        if event.payload > 0 && event.kind == Kind::New {
            self.clocking[sender].sent(event, connection);
        }
        if event.ack.is_some_and(|_| event.kind != Kind::DuplicateAck) {
            let peer = event.side.other();
            self.clocking[peer as usize].acked(event.time_ns, connection.half(peer));
        }
    }

    /// Takes a look. Returns how many there were, and are.
    #[cold]
    #[inline(never)]
    fn look(&mut self, connection: &Connection, event: &Event) -> (usize, usize) {
        let before = self.looks.len();
        self.fill_the_pause(event.time_ns);
        let clocking = self.clocking;
        self.looks.push(Look::of(connection, event.time_ns, clocking));
        self.clocking.iter_mut().for_each(Clocking::begin);
        if self.looks.len() > LOOKS_MAX {
            look::halve(&mut self.looks);
            self.every_ns *= 2;
        }
        self.next_ns = event.time_ns.saturating_add(self.every_ns);
        (before, self.looks.len())
    }

    /// Nothing passed since the last look: what was so then stayed so.
    fn fill_the_pause(&mut self, now_ns: u64) {
        let Some(&last) = self.looks.last() else { return };
        let pause_ns = now_ns.saturating_sub(last.time_ns);
        let step_ns = self.every_ns.max(pause_ns / PAUSE_LOOKS);
        let mut at_ns = last.time_ns.saturating_add(step_ns);
        while let Some(next_ns) = at_ns.checked_add(step_ns).filter(|&next_ns| next_ns <= now_ns) {
            self.looks.push(last.without_traffic(at_ns));
            at_ns = next_ns;
        }
    }
}

impl Watched {
    /// From one look to the next, nanoseconds.
    pub const fn every_ns(&self) -> u64 {
        self.every_ns
    }

    /// The end whose socket the capture stands for: the one that it is near. Between the two, the one that sent more.
    pub fn near(&self) -> Side {
        self.connection.near().unwrap_or_else(|| {
            let [a, b] = [Side::A, Side::B].map(|side| self.connection.half(side).payload_bytes());
            if b > a { Side::B } else { Side::A }
        })
    }

    /// What holds the end back that the capture was not made at, and in which share of the time, where its packets tell that.
    pub fn limit_from_afar(&self) -> Option<(LimitedBy, f64)> {
        afar::limit(&self.looks, self.near())
    }

    /// Address and port of a side.
    pub const fn endpoint(&self, side: Side) -> Endpoint {
        self.connection.endpoint(side)
    }

    /// Where the data of `sender` were captured.
    pub fn capture_point(&self, sender: Side) -> CapturePoint {
        match (self.connection.vantage(), sender) {
            (Vantage::NearA, Side::A) | (Vantage::NearB, Side::B) => CapturePoint::Sender,
            (Vantage::NearA, Side::B) | (Vantage::NearB, Side::A) => CapturePoint::Receiver,
            (Vantage::Between, _) => CapturePoint::Between,
            (Vantage::Unknown, _) => CapturePoint::Unknown,
        }
    }

    /// What packets show of the data of `sender`, in order of time; times count from `from_ns`.
    pub fn samples(&self, sender: Side, from_ns: u64) -> Vec<PacketSample> {
        let end = if sender == self.near() { StreamEnd::Sender } else { StreamEnd::Receiver };
        let of_connection = PacketSample {
            end,
            capture_point: self.capture_point(sender),
            path_rtt_us: self.connection.full_rtt_us(),
            ..PacketSample::default()
        };
        self.looks.iter().map(|look| look.sample(sender, from_ns, of_connection)).collect()
    }

    /// What the socket of [`Watched::near`] would have told, in order of time; times count from `from_ns`.
    pub fn rows(&self, from_ns: u64) -> Vec<TcpSample> {
        let near = self.near();
        let sending: Vec<&SideLook> = self.looks.iter().map(|look| look.of_side(near)).collect();
        let estimates = sender::estimate(&self.looks, near);
        let mut receiving = receiver::Receiving::new(self.connection.full_rtt_us());
        let rows = self.looks.iter().zip(sending).zip(estimates);
        rows.map(|((look, sent), estimate)| {
            let mut row = sender::row(sent, &estimate);
            receiving.complete(&mut row, look.of_side(near.other()), sent);
            row.t_us = look.time_ns.saturating_sub(from_ns) / 1_000;
            row
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{Flags, Segment};
    use crate::tcp::Reconstruction;

    /// A segment of the sender at `port`, `ms` after the first.
    fn data(port: u16, ms: u64, seq: u32, payload: u32) -> Segment {
        let mut segment =
            Segment { time_ns: ms * 1_000_000, seq, payload, flags: Flags(0x10), ..Segment::default() };
        (segment.source.port, segment.destination.port) = (port, 80);
        segment
    }

    #[test]
    fn of_more_connections_than_are_kept_the_smaller_ones_go() {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        let count = DONE_MAX + 1_000;
        // Every port anew: a SYN with another number ends the connection before.
        for at in 0..count {
            let (port, isn) = ((at % 60_000) as u16 + 1_000, (at / 60_000) as u32 * 1_000_000);
            let syn = Segment { flags: Flags(0x02), ..data(port, at as u64, isn, 0) };
            reconstruction.take_segment(&syn, &mut sampling);
            let payload = if at % 1_000 == 0 { 1_400 } else { 100 };
            reconstruction.take_segment(&data(port, at as u64, isn + 1, payload), &mut sampling);
        }
        reconstruction.finish(&mut sampling);
        let (kept, left_out) = sampling.finish();
        assert_eq!(kept.len() as u64 + left_out, count as u64);
        assert!(left_out > 0 && kept.len() <= DONE_MAX, "{}", kept.len());
        let large = kept.iter().filter(|one| payload(&one.connection) == 1_400).count();
        assert_eq!(large, count.div_ceil(1_000), "the larger ones are all there");
    }

    /// Times that no capture can have, from clocks that are wrong: the pause ends, and its looks are as few as of any other.
    #[test]
    fn a_pause_until_the_end_of_time_is_a_pause() {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        for (time_ns, seq) in [(0, 1), (u64::MAX - 1, 1_001), (u64::MAX, 2_001), (u64::MAX, 3_001)] {
            let segment = Segment { time_ns, ..data(1, 0, seq, 1_000) };
            reconstruction.take_segment(&segment, &mut sampling);
        }
        reconstruction.finish(&mut sampling);
        let rows = sampling.finish().0[0].rows(0);
        assert!((3..=70).contains(&rows.len()), "{}", rows.len());
    }

    /// Three packets in ten seconds: what was so in between is shown.
    #[test]
    fn a_pause_has_looks_of_what_was_before() {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        for (ms, seq) in [(0, 1), (10, 1_001), (10_000, 2_001)] {
            reconstruction.take_segment(&data(1, ms, seq, 1_000), &mut sampling);
        }
        reconstruction.finish(&mut sampling);
        let (kept, _) = sampling.finish();
        let rows = kept[0].rows(kept[0].connection.first_ns());
        assert!((60..80).contains(&rows.len()), "{}", rows.len());
        assert!(rows.is_sorted_by_key(|row| row.t_us));
        let in_the_pause = rows.iter().filter(|row| (20_000..9_000_000).contains(&row.t_us));
        assert!(in_the_pause.clone().count() > 50);
        assert!(in_the_pause.clone().all(|row| row.info.unacked_bytes == 2_000), "nothing was acknowledged");
    }
}
