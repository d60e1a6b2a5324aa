//! Samples of every connection, by its packets: what they show of each direction, every 10 ms. No estimate and no verdict.
//!
//! Memory: samples of a connection are thinned out beyond `SAMPLES_MAX`, and all together bounded by `ALL_SAMPLES_MAX`; connections beyond
//! that have their counts and no samples. At most `LOGS_MAX` of them have a log.

mod bucket;
mod bulk;
mod conversation;
mod delays;
mod events;
mod followings;
mod packet_log;
mod repetition;
mod samples;

use crate::headers::{Endpoint, Flags};
use crate::tcp::{Connection, Ended, Event, Observer, RATE_ROUNDS, SegmentKind, Side, Vantage};
use conversation::Conversation;

pub use conversation::Answers;
pub use events::{EventKind, FlowEvent};
use events::{Events, Happened};
use followings::Followings;
use packet_log::PacketLogs;
use pipefill_core::record::{BucketFit, CapturePoint, Micros, PacketSample, Repetition, StreamEnd};
use samples::{Clocking, SamplePair};

/// From one sample to the next, nanoseconds.
const EVERY_NS: u64 = 10_000_000;
/// The first samples come as often as flights do, where these bring [`EARLY_SEGMENTS`]: twice in a round trip, at least [`EARLY_NS`] apart.
const EARLY_SAMPLES: usize = 32;
const EARLY_SEGMENTS: u32 = 2;
const EARLY_NS: u64 = 1_000_000;
/// Samples of one connection; beyond it each two become one.
const SAMPLES_MAX: usize = 1 << 12;
/// Samples of all connections together.
const ALL_SAMPLES_MAX: usize = 1 << 19;
/// Connections that are logged packet by packet at a time.
const LOGS_MAX: usize = 1 << 10;
/// Connections that have ended and are kept; beyond it the smaller half goes.
const DONE_MAX: usize = 1 << 14;
/// Ticks of the capture's clock that a rate is measured over at least: its error is one of them.
const TICKS_MIN: u32 = 5;
/// An ACK is delayed by no more than this (RFC 1122, 4.2.3.2), nanoseconds.
const ACK_LATEST_NS: u64 = 500_000_000;
/// In a pause the state stays what it was: this many samples show it.
const PAUSE_SAMPLES: u64 = 64;

/// Samples every connection of a capture.
#[derive(Debug, Default)]
pub struct Sampling {
    followed: Followings,
    samples: usize,
    /// Connections with a log.
    logs: usize,
    done: Vec<Watched>,
    left_out: u64,
}

/// What the packets of both directions show together.
#[derive(Debug)]
struct Patterns {
    buckets: [Option<BucketFit>; 2],
    /// Of the data that arrive near the capture point.
    repetition: Option<Repetition>,
}

/// A connection that has been sampled to its end.
#[derive(Debug)]
pub struct Watched {
    /// Its last state.
    pub connection: Connection,
    samples: Vec<SamplePair>,
    every_ns: u64,
    happened: Happened,
    answers: [Answers; 2],
    /// Boxed: most connections have neither.
    patterns: Option<Box<Patterns>>,
    /// [`Self::know_clock`]; 0 before.
    resolution_us: u32,
}

#[derive(Debug)]
struct Followed {
    /// [`Connection::id`].
    id: u64,
    samples: Vec<SamplePair>,
    every_ns: u64,
    next_ns: u64,
    /// [`Connection::stretch`] of the last packet.
    stretch: u32,
    /// Packets with data before there is a log.
    unlogged: u8,
    /// Whose bulk data go on.
    bulk_sender: Option<Side>,
    clocking: [Clocking; 2],
    conversation: Conversation,
    events: Events,
    packet_logs: PacketLogs,
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
        let is_full = self.samples >= ALL_SAMPLES_MAX;
        match self.followed.find(connection.id()) {
            Some(at) => Some(self.followed.at(at)),
            None if is_full || event.payload == 0 => None,
            None => Some(self.followed.insert(Followed::new(connection, event.time_ns))),
        }
    }

    fn sort(&mut self) {
        self.done.sort_by_key(|sampled| std::cmp::Reverse(payload(&sampled.connection)));
    }

    fn make_room(&mut self) {
        if self.done.len() < DONE_MAX {
            return;
        }
        self.sort();
        let gone = self.done.drain(DONE_MAX / 2..);
        self.left_out += gone.len() as u64;
        let samples: usize = gone.map(|sampled| sampled.samples.len()).sum();
        self.samples = self.samples.saturating_sub(samples);
    }
}

fn payload(connection: &Connection) -> u64 {
    Side::BOTH.map(|side| connection.half(side).payload_bytes()).into_iter().sum()
}

impl Observer for Sampling {
    #[inline(never)]
    fn segment(&mut self, connection: &Connection, event: &Event) {
        let may_log = self.logs < LOGS_MAX;
        let Some(followed) = self.followed(connection, event) else { return };
        if followed.stretch != connection.stretch() {
            followed.clock_was_set(connection.stretch(), event.time_ns);
        }
        let is_due = event.time_ns >= followed.next_ns && followed.is_due(connection, event);
        let before = followed.samples.len();
        if is_due {
            followed.fill_the_pause(connection, event);
        }
        let logs = usize::from(followed.observe(connection, event, may_log));
        if is_due {
            followed.sample(connection, event);
            let now = followed.samples.len();
            self.samples = (self.samples + now).saturating_sub(before);
        }
        self.logs += logs;
    }

    #[inline(always)]
    fn predicted_data(&mut self, connection: &Connection, event: &Event) {
        if !self.take_bulk_data(connection, event) {
            self.segment(connection, event);
        }
    }

    #[inline(always)]
    fn predicted_ack(&mut self, connection: &Connection, event: &Event) {
        if !self.take_bulk_ack(connection, event) {
            self.segment(connection, event);
        }
    }

    fn ended(&mut self, connection: &Connection, _why: Ended) {
        let followed = self.followed.remove(connection.id());
        let has_log = followed.as_ref().is_some_and(|followed| followed.packet_logs.has_begun());
        self.logs -= usize::from(has_log);
        if payload(connection) == 0 {
            return;
        }
        let (mut samples, mut every_ns, mut happened) = (Vec::new(), EVERY_NS, Happened::default());
        let (mut answers, mut patterns) = ([Answers::default(); 2], None);
        if let Some(mut followed) = followed.filter(|followed| !followed.samples.is_empty()) {
            let ends_ns = followed.conversation.finish(connection);
            let waits = Side::BOTH.map(|side| followed.conversation.waits(side));
            followed.samples.iter_mut().for_each(|pair| pair.end_waits(waits, ends_ns));
            answers = Side::BOTH.map(|side| followed.conversation.answers(side));
            patterns = Patterns::of(&followed.packet_logs, connection).map(Box::new);
            (samples, every_ns) = (followed.samples, followed.every_ns);
            happened = followed.events.into_happened();
            samples.reserve_exact(1);
            let mut clocking = followed.clocking;
            clocking.iter_mut().for_each(Clocking::begin);
            samples.push(SamplePair::of(
                connection,
                (connection.last_ns(), None),
                clocking,
                &followed.conversation,
            ));
        }
        self.make_room();
        self.done.push(Watched {
            connection: connection.clone(),
            samples,
            every_ns,
            happened,
            answers,
            patterns,
            resolution_us: 0,
        });
    }
}

impl Followed {
    fn new(connection: &Connection, now_ns: u64) -> Self {
        let (id, stretch, clocking) = (connection.id(), connection.stretch(), [Clocking::default(); 2]);
        let conversation = Conversation::default();
        Self {
            id,
            samples: Vec::new(),
            every_ns: EVERY_NS,
            next_ns: now_ns,
            stretch,
            unlogged: 0,
            bulk_sender: None,
            clocking,
            conversation,
            events: Events::default(),
            packet_logs: PacketLogs::default(),
        }
    }

    /// The capture's clock was set back: what is counted since the last sample can't be said of any time. The next sample is taken at once.
    #[cold]
    fn clock_was_set(&mut self, stretch: u32, now_ns: u64) {
        (self.stretch, self.next_ns) = (stretch, now_ns);
        self.clocking.iter_mut().for_each(Clocking::begin_anew);
        self.bulk_sender = None;
        self.conversation.clock_was_set();
        self.events.clock_was_set();
        self.packet_logs.clock_was_set();
    }

    /// Returns whether its log begins with this segment, which it does only where it `may_log`.
    fn observe(&mut self, connection: &Connection, event: &Event, may_log: bool) -> bool {
        self.conversation.observe(connection, event);
        let begins = self.packet_logs.observe(event, &mut self.unlogged, may_log);
        self.events.observe(connection, event, &self.clocking);
        let (own, peer) = (connection.half(event.side), connection.half(event.side.other()));
        let (of_own, of_peer) = event.side.own_and_other(&mut self.clocking);
        // An ACK alone changes nothing for the data of its side.
        if event.seq_to > event.seq_from {
            of_own.update_out(own, peer);
        }
        if event.payload > 0 && event.kind == SegmentKind::New {
            of_own.sent(event, connection);
        }
        of_peer.update_out(peer, own);
        if event.ack.is_some_and(|_| event.kind != SegmentKind::DuplicateAck) {
            of_peer.acked(event.time_ns, peer);
        }
        let bulk_sender = self.conversation.bulk_sender_after(connection, event);
        self.bulk_sender = bulk_sender.filter(|&side| {
            // Both say whether it pauses.
            self.conversation.spoke_ns(side) == Some(self.clocking[side as usize].last_data_ns())
        });
        begins
    }

    /// Takes a sample.
    #[cold]
    #[inline(never)]
    fn sample(&mut self, connection: &Connection, event: &Event) {
        if self.samples.len() == self.samples.capacity() {
            // A small connection has one or two.
            self.samples.reserve_exact(self.samples.len().max(1));
        }
        // A reset has no timestamp.
        let speaker = Some(event.side).filter(|_| !event.flags.has(Flags::RST));
        let moment = (event.time_ns, speaker);
        self.samples.push(SamplePair::of(connection, moment, self.clocking, &self.conversation));
        self.clocking.iter_mut().for_each(Clocking::begin);
        if self.samples.len() > SAMPLES_MAX {
            SamplePair::halve(&mut self.samples);
            self.every_ns *= 2;
        }
        let early_ns = connection.full_rtt_us().map(|us| (u64::from(us) * 1_000 / 2).max(EARLY_NS));
        let early_ns = early_ns.filter(|_| self.samples.len() < EARLY_SAMPLES);
        self.next_ns =
            event.time_ns.saturating_add(early_ns.map_or(self.every_ns, |ns| ns.min(self.every_ns)));
    }

    /// At [`Self::next_ns`] or later: whether it is the usual time, or one side has sent segments since the last sample.
    #[inline(never)]
    fn is_due(&self, connection: &Connection, event: &Event) -> bool {
        let is_usual = self
            .samples
            .last()
            .is_none_or(|last| event.time_ns >= last.time_ns.saturating_add(self.every_ns));
        is_usual
            || Side::BOTH.into_iter().any(|side| {
                self.clocking[side as usize].new_bytes() >= EARLY_SEGMENTS * connection.half(side).mss_bytes()
            })
    }

    /// Nothing passed since shortly after the last sample: what was out after the last packet stayed out.
    #[cold]
    #[inline(never)]
    fn fill_the_pause(&mut self, connection: &Connection, event: &Event) {
        let Some(last) = self.samples.last().copied() else { return };
        let pause_ns = event.time_ns.saturating_sub(last.time_ns);
        let step_ns = self.every_ns.max(pause_ns / PAUSE_SAMPLES);
        let mut next_ns = last.time_ns.checked_add(self.every_ns);
        // What data acknowledge later than any ACK may come was acknowledged by one that the capture does not have; so was what its sender goes on after
        // for longer than several timers.
        let full_rtt_ns = connection.full_rtt_us().map_or(0, |us| u64::from(us) * 1_000);
        if event.payload > 0 && event.kind == SegmentKind::New {
            let is_late = pause_ns > ACK_LATEST_NS + full_rtt_ns;
            for side in Side::BOTH {
                let (is_own, unacked_bytes) = (side == event.side, connection.half(side).unacked_bytes());
                let own_payload = if is_own { u64::from(event.payload) } else { 0 };
                let goes_on = is_own && conversation::is_silent(pause_ns, full_rtt_ns);
                if goes_on || is_late && unacked_bytes <= own_payload {
                    self.clocking[side as usize].end_flight(connection.half(side), own_payload);
                }
            }
        }
        let is_within = |at_ns: &u64| event.time_ns.saturating_sub(*at_ns) >= self.every_ns;
        let before = last;
        let last = before.after_all(&self.clocking, connection, &self.conversation);
        // A wait ended with a segment behind that sample: it stands before what came then.
        let passed_ns = self.events.last_ns();
        if last.has_waited_since(&before) && passed_ns > before.time_ns && is_within(&passed_ns) {
            self.samples.push(last.with_counts(passed_ns, &self.clocking));
            self.clocking.iter_mut().for_each(Clocking::begin);
            next_ns = passed_ns.checked_add(self.every_ns);
        }
        while let Some(at_ns) = next_ns.filter(is_within) {
            self.samples.push(last.without_traffic(at_ns));
            next_ns = at_ns.checked_add(step_ns);
        }
    }
}

impl Patterns {
    /// `None` where there are none.
    fn of(logs: &PacketLogs, connection: &Connection) -> Option<Self> {
        let buckets = Side::BOTH.map(|side| logs.bucket(connection, side));
        let sender = connection.near().map(Side::other);
        let repetition = sender.and_then(|sender| logs.repetition(connection, sender));
        let has_some = repetition.is_some() || buckets.iter().any(Option::is_some);
        has_some.then_some(Self { buckets, repetition })
    }
}

impl Watched {
    /// What its packets show; `None` where the capture's clock is coarse.
    fn patterns(&self) -> Option<&Patterns> {
        self.patterns.as_deref().filter(|_| self.resolution_us == 0)
    }

    /// From one sample to the next, nanoseconds.
    pub const fn every_ns(&self) -> u64 {
        self.every_ns
    }

    /// What happened to the data of `sender`, in no order.
    pub fn events(&self, sender: Side) -> Vec<FlowEvent> {
        self.happened.as_ref().map_or_else(Vec::new, |happened| happened[sender as usize].clone())
    }

    /// The leaky bucket that explains the losses of the data of `sender`; `None` where the capture's clock is coarse.
    pub fn bucket(&self, sender: Side) -> Option<BucketFit> {
        self.patterns()?.buckets[sender as usize]
    }

    /// How the bursts of the data of `sender` repeat, where its receiver is near; `None` where the capture's clock is coarse.
    pub fn repetition(&self, sender: Side) -> Option<Repetition> {
        self.patterns()?.repetition.filter(|_| self.connection.near() == Some(sender.other()))
    }

    /// How fast `side` answers requests; none where the capture's clock is too coarse for its ACKs.
    pub fn answers(&self, side: Side) -> Option<(Answers, u32)> {
        let ack_us = self.connection.answers_us()[side as usize].filter(|&us| self.shows(us))?;
        Some((self.answers[side as usize], ack_us))
    }

    /// The resolution of the capture's clock, where that is coarse: what is shorter is not known.
    pub(crate) fn know_clock(&mut self, resolution_ns: u64) {
        self.resolution_us = (resolution_ns / 1_000).min(u64::from(u32::MAX)) as u32;
    }

    fn vantage(&self) -> Vantage {
        self.connection.vantage_by_clock(self.resolution_us)
    }

    /// The path's round trip, µs; `None` where the clock does not show that it is longer than a tick. The least of all that were seen, since a
    /// handshake may wait for a busy server or an address, and one of a coarse clock may be a tick off; a segment that overtook others makes the least absurd.
    pub fn path_rtt_us(&self) -> Option<u32> {
        let is_disordered = self.resolution_us == 0
            && Side::BOTH.iter().any(|&side| self.connection.half(side).has_reordering());
        let rtt_us =
            if is_disordered { self.connection.full_rtt_us() } else { self.connection.least_rtt_us() };
        rtt_us.filter(|&us| self.shows(us))
    }

    /// The largest rate of payload over some round trips, bits per second; `None` where these are too few ticks of the clock.
    pub fn bottleneck_bps(&self, sender: Side) -> Option<u64> {
        let rounds_us = self.path_rtt_us().map_or(0, |us| us.saturating_mul(RATE_ROUNDS));
        let is_long = u64::from(rounds_us) >= self.least_timed_us();
        self.connection.half(sender).bottleneck_bps().filter(|_| is_long)
    }

    /// The least time over which the clock gives a rate, µs; 0 where it is not coarse.
    pub fn least_timed_us(&self) -> u64 {
        u64::from(self.resolution_us) * u64::from(TICKS_MIN)
    }

    /// Whether what the clock shows as `us` is longer than a tick; none is 0.
    fn shows(&self, us: u32) -> bool {
        us >= self.resolution_us.saturating_mul(2).max(1)
    }

    /// The end whose socket the capture stands for: the one that it is near. Between the two, the one that sent more.
    pub fn near(&self) -> Side {
        self.vantage().near().unwrap_or_else(|| {
            let [a, b] = Side::BOTH.map(|side| self.connection.half(side).payload_bytes());
            if b > a { Side::B } else { Side::A }
        })
    }

    /// Address and port of a side.
    pub const fn endpoint(&self, side: Side) -> Endpoint {
        self.connection.endpoint(side)
    }

    /// Where the data of `sender` were captured.
    pub fn capture_point(&self, sender: Side) -> CapturePoint {
        match (self.vantage(), sender) {
            (Vantage::NearA, Side::A) | (Vantage::NearB, Side::B) => CapturePoint::Sender,
            (Vantage::NearA, Side::B) | (Vantage::NearB, Side::A) => CapturePoint::Receiver,
            (Vantage::Between, _) => CapturePoint::Between,
            (Vantage::Unknown, _) => CapturePoint::Unknown,
        }
    }

    /// The part of the capture, between two settings of its clock, in which the connection carried most: by [`Connection::stretch`].
    pub fn busiest_stretch(&self) -> u32 {
        let parts = self.samples.chunk_by(|sample, next| sample.stretch == next.stretch);
        let carried = |part: &[SamplePair]| {
            part.last().map_or(0, SamplePair::sent_bytes).saturating_sub(part[0].sent_bytes())
        };
        let busiest = parts.rev().max_by_key(|part| carried(part));
        busiest.map_or(self.connection.stretch(), |part| part[0].stretch.into())
    }

    /// What packets show of the data of `sender` in that part, in order of time; times count from `from_ns`.
    pub fn samples(&self, sender: Side, from_ns: u64) -> Vec<PacketSample> {
        let stretch = self.busiest_stretch();
        let end = if sender == self.near() { StreamEnd::Sender } else { StreamEnd::Receiver };
        let (capture_point, path_rtt_us) = (self.capture_point(sender), self.path_rtt_us());
        let shown = |us: Option<Micros>| us.filter(|&us| self.shows(us.into()));
        let pairs: Vec<&SamplePair> =
            self.samples.iter().filter(|pair| u32::from(pair.stretch) == stretch).collect();
        let delays = [sender, sender.other()].map(|side| {
            let points: Vec<_> = pairs.iter().map(|pair| pair.stamped(side)).collect();
            delays::delays_us(&points)
        });
        let is_fine = self.resolution_us == 0;
        let delay_us = |of: usize, at: usize| delays[of][at].filter(|_| is_fine);
        let sample = |(at, pair): (usize, &&SamplePair)| {
            let seen = pair.of_side(sender);
            PacketSample {
                t_us: pair.time_ns.saturating_sub(from_ns) / 1_000,
                end,
                capture_point,
                path_rtt_us,
                srtt_us: shown(seen.srtt_us),
                min_rtt_us: shown(seen.min_rtt_us),
                receiver_rtt_us: seen.receiver_rtt_us.filter(|&us| self.shows(us.into())),
                data_delay_us: delay_us(0, at).map(Into::into),
                ack_delay_us: delay_us(1, at).map(Into::into),
                waits: conversation::shown(seen.waits, self.resolution_us),
                ..*seen
            }
        };
        pairs.iter().enumerate().map(sample).collect()
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
        let large = kept.iter().filter(|sampled| payload(&sampled.connection) == 1_400).count();
        assert_eq!(large, count.div_ceil(1_000), "the larger ones are all there");
    }

    /// Times that no capture can have, from clocks that are wrong: the pause ends, and its samples are as few as of any other.
    #[test]
    fn a_pause_until_the_end_of_time_is_a_pause() {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        for (time_ns, seq) in [(0, 1), (u64::MAX - 1, 1_001), (u64::MAX, 2_001), (u64::MAX, 3_001)] {
            let segment = Segment { time_ns, ..data(1, 0, seq, 1_000) };
            reconstruction.take_segment(&segment, &mut sampling);
        }
        reconstruction.finish(&mut sampling);
        let watched = &sampling.finish().0[0];
        let samples = watched.samples(watched.near(), 0);
        assert!((3..=70).contains(&samples.len()), "{}", samples.len());
    }

    /// Round trips of 64 ms: four bursts of a segment of `payload` bytes, each so late after the ACK of the one before. Bursts that follow a silence, and of
    /// them those that an ACK woke, and those that go on with what was written.
    fn bursts(late_us: u64, payload: u32) -> [u16; 3] {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        let mut segment = |us: u64, is_ack: bool, flags: u8, [seq, ack]: [u32; 2], payload: u32| {
            let mut segment =
                Segment { flags: Flags(flags), ack, time_ns: us * 1_000, ..data(1, 0, seq, payload) };
            if is_ack {
                std::mem::swap(&mut segment.source, &mut segment.destination);
            }
            reconstruction.take_segment(&segment, &mut sampling);
        };
        segment(0, false, 0x02, [0, 0], 0);
        segment(64_000, true, 0x12, [0, 1], 0);
        segment(64_001, false, 0x10, [1, 1], 0);
        let (mut us, mut seq) = (64_002, 1);
        for _ in 0..4 {
            segment(us, false, 0x10, [seq, 1], payload);
            segment(us + 64_000, true, 0x10, [1, seq + payload], 0);
            (us, seq) = (us + 64_000 + late_us, seq + payload);
        }
        reconstruction.finish(&mut sampling);
        let watched = &sampling.finish().0[0];
        let samples = watched.samples(watched.near(), 0);
        let sum = |of: fn(&PacketSample) -> u16| samples.iter().map(of).sum::<u16>();
        let resumptions = samples.last().map_or(0, |sample| sample.waits.resumptions);
        [sum(|sample| sample.bursts), sum(|sample| sample.clocked_bursts), resumptions as u16]
    }

    /// A program that an ACK wakes writes soon after it, and one by its own clock at any time.
    #[test]
    fn a_burst_is_clocked_by_the_ack_that_woke_its_program() {
        assert_eq!(bursts(2_000, 100), [3, 3, 0]);
        assert_eq!(bursts(2_001, 100), [3, 0, 0]);
    }

    /// Without options a full segment has the default size (RFC 9293, 3.7.1).
    #[test]
    fn a_burst_goes_on_with_what_was_written_where_data_ended_with_a_full_segment() {
        assert_eq!(bursts(2_000, 536), [3, 3, 3]);
    }

    /// A capture without ACKs: what goes on in order after several timers was acknowledged, also where nothing answers.
    #[test]
    fn in_a_pause_longer_than_several_timers_nothing_is_out() {
        let out = |pause_ms: u64| {
            let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
            for (ms, seq) in [(0, 1), (20, 101), (20 + pause_ms, 201), (40 + pause_ms, 301)] {
                reconstruction.take_segment(&data(1, ms, seq, 100), &mut sampling);
            }
            reconstruction.finish(&mut sampling);
            let watched = &sampling.finish().0[0];
            let samples = watched.samples(watched.near(), watched.connection.first_ns());
            assert!(samples.is_sorted_by_key(|sample| sample.acked_bytes));
            assert!(samples.is_sorted_by_key(PacketSample::sent_bytes));
            let in_the_pause =
                samples.iter().find(|sample| sample.t_us > 30_000 && sample.t_us < pause_ms * 1_000);
            in_the_pause.map(|sample| sample.unacked_bytes)
        };
        assert_eq!([out(500), out(700)], [Some(200), Some(0)]);
    }

    /// Two packets, and an ACK of nothing after ten seconds: what was so in between is shown.
    #[test]
    fn a_pause_has_samples_of_what_was_before() {
        let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
        for (ms, seq) in [(0, 1), (10, 1_001)] {
            reconstruction.take_segment(&data(1, ms, seq, 1_000), &mut sampling);
        }
        let Segment { source, destination, .. } = data(1, 0, 0, 0);
        let ack = Segment { source: destination, destination: source, ack: 1, ..data(1, 10_000, 0, 0) };
        reconstruction.take_segment(&ack, &mut sampling);
        reconstruction.finish(&mut sampling);
        let (kept, _) = sampling.finish();
        let samples = kept[0].samples(kept[0].near(), kept[0].connection.first_ns());
        assert!((60..80).contains(&samples.len()), "{}", samples.len());
        assert!(samples.is_sorted_by_key(|sample| sample.t_us));
        let in_the_pause = samples.iter().filter(|sample| (20_000..9_000_000).contains(&sample.t_us));
        assert!(in_the_pause.clone().count() > 50);
        assert!(in_the_pause.clone().all(|sample| sample.unacked_bytes == 2_000), "nothing was acknowledged");
        assert!(in_the_pause.clone().all(|sample| sample.new_bytes() == 0), "nothing was sent");
    }
}
