//! What packets show of both directions of a connection: their state, and what let their data out since the sample before.

use super::conversation::Conversation;
use super::delays::Stamped;
use crate::headers::Flags;
use crate::tcp::{Connection, EcnMode, Event, Half, Side};
use pipefill_core::record::{PacketSample, Waits};
use pipefill_core::tcp_info::CaState;
use std::num::{NonZeroU16, NonZeroU32};

/// Data that leave so soon after an ACK were waiting for it, nanoseconds.
const PROMPT_NS: u64 = 100_000;

/// And a burst after a silence, where a program is woken first and writes: nanoseconds, and this part of the path's round trip at most.
const WOKEN_NS: u64 = 2_000_000;
const WOKEN_PART: u64 = 16;

/// Options take so much of a segment at most (RFC 9293, 3.1), bytes.
const OPTIONS_MAX: u32 = 40;

/// No byte ends there.
const ACKED: u64 = u64::MAX;

/// What let data out since the last sample, and the most that was out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clocking {
    last_ack_ns: u64,
    acked_to: u64,
    /// New data that followed an ACK at once, and data that did not, bytes.
    prompt: u32,
    unprompted: u32,
    /// What the last ACK acknowledged and nothing has followed for, and the part of `prompt` that followed for as much, bytes.
    credit: u32,
    clocked: u32,
    /// The last new data, and how often some came after none for half of the path's round trip, and at once after an ACK.
    last_data_ns: u64,
    bursts: u16,
    clocked_bursts: u16,
    /// Segments in flight before each of `bursts`, of which one counts that is not full.
    before_bursts: u16,
    /// Segments with PSH, and those of them that were no multiple of the MSS. Beyond the largest number none is counted, nor below, and shares stay.
    pushes: u16,
    tails: u16,
    /// Payload of the largest packet.
    largest: u32,
    /// In flight when ACKs of new data came, before each of them, and how many did.
    before_acks: u64,
    acks: u16,
    /// In flight after the last packet.
    current: u32,
    /// Where the last segment with PSH ended.
    pushed_to: u64,
    /// Where the first full segment ended; 0 before it, and [`ACKED`] once it is acknowledged.
    full_to: u64,
    /// Most in flight, most outstanding, and the window then.
    in_flight: u32,
    unacked: u32,
    /// And one more byte: a window may be 0.
    window: Option<NonZeroU32>,
    /// What was outstanding after the last segment of either side.
    pub(super) out: u32,
    /// The window then, and one more byte.
    last_window: Option<NonZeroU32>,
}

impl Clocking {
    /// New data passed; [`Self::update_out`] was called for it.
    pub(super) fn sent(&mut self, event: &Event, connection: &Connection) {
        let silent_ns = event.time_ns.saturating_sub(self.last_data_ns);
        let rtt_ns = connection.full_rtt_us().map_or(0, |us| u64::from(us) * 1_000);
        if self.last_data_ns > 0 && rtt_ns > 0 && silent_ns >= rtt_ns.div_ceil(2) {
            let woken_ns = (rtt_ns / WOKEN_PART).clamp(PROMPT_NS, WOKEN_NS);
            let since_ack_ns = event.time_ns.saturating_sub(self.last_ack_ns);
            self.bursts = self.bursts.saturating_add(1);
            let before = self.current.div_ceil(connection.half(event.side).mss_bytes().max(1));
            self.before_bursts = self.before_bursts.saturating_add(u16::try_from(before).unwrap_or(u16::MAX));
            self.clocked_bursts = self.clocked_bursts.saturating_add(u16::from(since_ack_ns <= woken_ns));
        }
        self.sent_on(event, connection);
    }

    /// The same, without a pause before it.
    #[inline(always)]
    fn sent_on(&mut self, event: &Event, connection: &Connection) {
        let own = connection.half(event.side);
        let is_prompt = event.time_ns.saturating_sub(self.last_ack_ns) <= PROMPT_NS;
        let let_out = if is_prompt { &mut self.prompt } else { &mut self.unprompted };
        *let_out = let_out.saturating_add(event.payload);
        if is_prompt {
            let clocked = event.payload.min(self.credit);
            self.credit -= clocked;
            self.clocked = self.clocked.saturating_add(clocked);
        }
        self.last_data_ns = event.time_ns;
        if self.full_to == 0 && event.payload.saturating_add(OPTIONS_MAX) >= own.mss_bytes() {
            self.full_to = event.seq_to.min(event.seq_from + u64::from(own.mss_bytes()));
        }
        if event.flags.has(Flags::PSH) {
            self.pushed(event, connection);
        }
        self.largest = self.largest.max(event.payload);
        self.current = whole(own.in_flight_bytes());
        self.in_flight = self.in_flight.max(self.current);
        if room(self.out, self.last_window) <= room(self.unacked, self.window) {
            (self.unacked, self.window) = (self.out, self.last_window);
        }
    }

    /// Linux sets PSH on every super-packet (`tcp_transmit_skb()` since 5.4): there only a part of a segment at the end tells. Far from the sender
    /// super-packets come in pieces: a segment between two PSHs was a packet by itself.
    fn pushed(&mut self, event: &Event, connection: &Connection) {
        let is_tail = !event.payload.is_multiple_of(connection.half(event.side).mss_bytes().max(1));
        let is_alone = event.segments <= 1
            && (event.seq_from == self.pushed_to || connection.near() != Some(event.side.other()));
        if (is_alone || is_tail) && self.pushes < u16::MAX {
            self.pushes += 1;
            self.tails += u16::from(is_tail);
        }
        self.pushed_to = event.seq_to;
    }

    /// The peer acknowledged what `own` has sent, or a part of it.
    #[inline(always)]
    pub(super) fn acked(&mut self, now_ns: u64, own: &Half) {
        // Nothing was outstanding, and nothing is.
        if own.acked_to() == self.acked_to && own.sent_to() == self.acked_to {
            return;
        }
        if own.acked_to() > self.acked_to {
            self.credit = whole(own.acked_to() - self.acked_to);
            (self.last_ack_ns, self.acked_to) = (now_ns, own.acked_to());
            if self.full_to > 0 && own.acked_to() >= self.full_to {
                self.full_to = ACKED;
            }
            if self.acks < u16::MAX {
                self.before_acks += u64::from(self.current);
                self.acks += 1;
            }
        }
        self.current = whole(own.in_flight_bytes());
    }

    /// New data passed without a pause before it, and the window of the other side is what it was.
    #[inline(always)]
    pub(super) fn sent_in_bulk(&mut self, event: &Event, connection: &Connection) {
        self.out = whole(connection.half(event.side).unacked_bytes());
        self.sent_on(event, connection);
    }

    /// When the last new data passed.
    pub(super) const fn last_data_ns(&self) -> u64 {
        self.last_data_ns
    }

    /// A segment of either side passed.
    #[inline(always)]
    pub(super) fn update_out(&mut self, own: &Half, peer: &Half) {
        self.out = whole(own.unacked_bytes());
        self.last_window = one_more(peer.window_bytes());
    }

    /// All that was sent is acknowledged, but for the last `new_bytes`.
    pub(super) fn end_flight(&mut self, own: &Half, new_bytes: u64) {
        (self.out, self.acked_to) = (0, own.acked_to().max(own.sent_to().saturating_sub(new_bytes)));
    }

    /// New payload since the last sample.
    pub(super) const fn new_bytes(&self) -> u32 {
        self.prompt.saturating_add(self.unprompted)
    }

    /// The same, and no time since an earlier ACK is known.
    pub(super) fn begin_anew(&mut self) {
        self.begin();
        (self.last_ack_ns, self.last_data_ns) = (0, 0);
    }

    /// That of the least room.
    fn window(&self) -> Option<u32> {
        one_less(self.window)
    }

    /// A sample was taken.
    pub(super) fn begin(&mut self) {
        *self = Self {
            last_ack_ns: self.last_ack_ns,
            acked_to: self.acked_to,
            credit: self.credit,
            last_data_ns: self.last_data_ns,
            current: self.current,
            pushed_to: self.pushed_to,
            full_to: self.full_to,
            out: self.out,
            last_window: self.last_window,
            ..Self::default()
        };
    }
}

fn one_more(window: Option<u32>) -> Option<NonZeroU32> {
    window.and_then(|window| NonZeroU32::new(window.saturating_add(1)))
}

fn one_less(window: Option<NonZeroU32>) -> Option<u32> {
    window.map(|window| window.get() - 1)
}

/// What a window has room for; without end where it is not known. `window` is one more byte.
fn room(unacked: u32, window: Option<NonZeroU32>) -> u32 {
    window.map_or(u32::MAX, |window| (window.get() - 1).saturating_sub(unacked))
}

/// No window is larger than a gigabyte (RFC 7323, 2.3).
fn whole(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The samples of both directions at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct SamplePair {
    pub(super) time_ns: u64,
    /// How often the capture's clock had been set back by then, at most 65,535.
    pub(super) stretch: u16,
    sides: [PacketSample; 2],
    /// The timestamp of the segment with which it was taken, and its side; absent without one.
    tsval: u32,
    speaker: Option<Side>,
}

impl SamplePair {
    /// After the last segment of `speaker`, which passed at `time_ns`; of none at the end.
    pub(super) fn of(
        connection: &Connection,
        (time_ns, speaker): (u64, Option<Side>),
        clocking: [Clocking; 2],
        conversation: &Conversation,
    ) -> Self {
        // With AccECN the bits are a counter's.
        let has_ece = connection.ecn_mode() != Some(EcnMode::Accurate);
        let side = |side: Side| PacketSample {
            waits: conversation.waits(side),
            syn_window_bytes: connection.opening(side.other()).and_then(|syn| NonZeroU16::new(syn.window)),
            ece_acks: if has_ece { connection.half(side.other()).ecn().ece } else { 0 },
            ..sample(connection.half(side), connection.half(side.other()), clocking[side as usize])
        };
        let tsval = speaker.and_then(|side| connection.half(side).last_stamp());
        Self {
            time_ns,
            stretch: u16::try_from(connection.stretch()).unwrap_or(u16::MAX),
            sides: [side(Side::A), side(Side::B)],
            tsval: tsval.unwrap_or(0),
            speaker: speaker.filter(|_| tsval.is_some()),
        }
    }

    /// Of the data of `sender`.
    pub(super) const fn of_side(&self, sender: Side) -> &PacketSample {
        &self.sides[sender as usize]
    }

    /// The timestamp of `side`, where it was taken with a segment of it.
    pub(super) fn stamped(&self, side: Side) -> Option<Stamped> {
        let (at_ns, tsval) = (self.time_ns, self.tsval);
        (self.speaker == Some(side)).then_some(Stamped { at_ns, tsval })
    }

    /// What both sides had sent by then.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sides.iter().map(PacketSample::sent_bytes).sum()
    }

    /// The same with what was out and what had been waited for after the last segment, which came too soon for a sample of its own.
    pub(super) fn after_all(
        mut self,
        clocking: &[Clocking; 2],
        connection: &Connection,
        conversation: &Conversation,
    ) -> Self {
        for (side, clocking) in Side::BOTH.into_iter().zip(clocking) {
            let sample = &mut self.sides[side as usize];
            let (acked_bytes, unacked_bytes) = payload(connection.half(side), clocking.acked_to);
            sample.acked_bytes = acked_bytes.max(sample.acked_bytes);
            sample.unacked_bytes = unacked_bytes.min(clocking.out.into());
            sample.in_flight_bytes = clocking.current.min(clocking.out).into();
            sample.rwnd_bytes = one_less(clocking.last_window);
            sample.waits = conversation.waits(side);
            if clocking.out == 0 {
                (sample.sacked_segments, sample.lost_segments, sample.retrans_segments) = (0, 0, 0);
                sample.ca_state = sample.ca_state.map(|_| CaState::Open);
            }
        }
        self
    }

    /// Whether a wait of either side ended after `before`.
    pub(super) fn has_waited_since(&self, before: &Self) -> bool {
        self.sides
            .iter()
            .zip(&before.sides)
            .any(|(now, before)| now.waits.total_us() != before.waits.total_us())
    }

    /// The same at `time_ns`, with what was counted up to then.
    pub(super) fn with_counts(self, time_ns: u64, clocking: &[Clocking; 2]) -> Self {
        let [a, b] = self.sides;
        let sides = [counted(a, &clocking[0]), counted(b, &clocking[1])];
        Self { time_ns, sides, speaker: None, ..self }
    }

    /// The waits of each side, all of which end at these times.
    pub(super) fn end_waits(&mut self, waits: [Waits; 2], ends_ns: [Option<u64>; 2]) {
        for ((sample, waits), end_ns) in self.sides.iter_mut().zip(waits).zip(ends_ns) {
            if end_ns.is_some_and(|end_ns| self.time_ns >= end_ns) {
                sample.waits = waits;
            }
        }
    }

    /// The same at `time_ns`, when nothing more was sent.
    pub(super) fn without_traffic(self, time_ns: u64) -> Self {
        let sides = self.sides.map(PacketSample::without_traffic);
        Self { time_ns, sides, speaker: None, ..self }
    }

    /// Each two of `pairs` as one.
    pub(super) fn halve(pairs: &mut Vec<Self>) {
        let joined = |pair: &[Self]| {
            let (last, before) = pair.split_last()?;
            let mut last = *last;
            for before in before {
                last.sides.iter_mut().zip(&before.sides).for_each(|(side, before)| side.extend_back(before));
            }
            Some(last)
        };
        *pairs = pairs.chunks(2).filter_map(joined).collect();
    }
}

/// Payload that is acknowledged where everything before `acked_to` is, and the rest of it.
fn payload(own: &Half, acked_to: u64) -> (u64, u64) {
    let to = own.payload_to();
    (acked_to.min(to).saturating_sub(1), to.saturating_sub(acked_to.max(1)))
}

/// Of the data of `own`; its time, stream and place are not set.
fn sample(own: &Half, peer: &Half, clocking: Clocking) -> PacketSample {
    let counts = own.counts();
    let (acked_bytes, unacked_bytes) = payload(own, own.acked_to().max(clocking.acked_to));
    let state = PacketSample {
        mss_bytes: u16::try_from(own.mss_bytes()).unwrap_or(u16::MAX),
        ca_state: own.ca_state(),
        acked_bytes,
        full_acked: own.has_syn().then_some(clocking.full_to == ACKED),
        unacked_bytes,
        in_flight_bytes: own.in_flight_bytes(),
        sacked_segments: own.sacked_segments(),
        lost_segments: own.lost_segments(),
        retrans_segments: own.retrans_segments(),
        rwnd_bytes: peer.window_bytes(),
        rwnd_permille: peer.window_permille(),
        window_scaling: peer.has_scaled_windows(own),
        rwnd_scale: peer.window_scale().filter(|_| peer.has_scaled_windows(own) == Some(true)),
        srtt_us: own.srtt_us().map(Into::into),
        min_rtt_us: own.min_rtt_us().map(Into::into),
        rto_us: own.rto_us().map(Into::into),
        receiver_rtt_us: peer.last_answer_us().map(Into::into),
        segments: counts.segments,
        peer_segments: Some(u32::try_from(peer.counts().segments).unwrap_or(u32::MAX)),
        retransmits: own.retransmits(),
        retransmitted_bytes: counts.retransmitted_bytes,
        timeouts: counts.timeouts,
        dsacks: counts.dsacks,
        spurious_retransmits: counts.spurious,
        sack_acks: counts.sack_acks,
        out_of_order_segments: counts.out_of_order + counts.lost_before,
        ..PacketSample::default()
    };
    counted(state, &clocking)
}

/// The same with what was counted since the sample before.
fn counted(sample: PacketSample, clocking: &Clocking) -> PacketSample {
    PacketSample {
        prompt_bytes: clocking.prompt,
        clocked_bytes: clocking.clocked,
        unprompted_bytes: clocking.unprompted,
        bursts: clocking.bursts,
        clocked_bursts: clocking.clocked_bursts,
        segments_before_bursts: clocking.before_bursts,
        pushes: clocking.pushes.into(),
        tails: clocking.tails.into(),
        largest_bytes: clocking.largest,
        acks: clocking.acks.into(),
        in_flight_before_acks_bytes: clocking.before_acks,
        in_flight_peak_bytes: clocking.in_flight,
        unacked_peak_bytes: clocking.unacked,
        rwnd_at_peak_bytes: clocking.window(),
        ..sample
    }
}
