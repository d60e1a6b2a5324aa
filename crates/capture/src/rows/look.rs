//! One look at a connection: the state of both directions, and what clocked their data since the look before.

use crate::headers::Flags;
use crate::tcp::{Connection, Event, Half, Side};
use pipefill_core::record::PacketSample;
use pipefill_core::tcp_info::CaState;

/// Data that leave so soon after an ACK were waiting for it, nanoseconds.
const PROMPT_NS: u64 = 100_000;

/// What made data leave since the last look, and the most that was out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clocking {
    last_ack_ns: u64,
    acked_to: u64,
    /// New data that followed an ACK at once, and data that did not, bytes.
    pub(super) prompt: u64,
    pub(super) unprompted: u64,
    /// Segments with PSH, and those of them that were no multiple of the MSS.
    pub(super) pushes: u32,
    pub(super) tails: u32,
    /// Payload of the largest packet.
    pub(super) largest: u32,
    /// In flight when ACKs of new data came, before each of them, and how many did.
    pub(super) before_acks: u64,
    pub(super) acks: u32,
    /// In flight after the last packet.
    current: u64,
    /// Where the last segment with PSH ended.
    pushed_to: u64,
    /// Most in flight, most outstanding, and the window then.
    pub(super) in_flight: u64,
    pub(super) unacked: u64,
    pub(super) window: Option<u32>,
}

impl Clocking {
    /// New data passed.
    #[inline]
    pub(super) fn sent(&mut self, event: &Event, connection: &Connection) {
        let (own, peer) = (connection.half(event.side), connection.half(event.side.other()));
        let is_prompt = event.time_ns.saturating_sub(self.last_ack_ns) <= PROMPT_NS;
        let bytes = u64::from(event.payload);
        *(if is_prompt { &mut self.prompt } else { &mut self.unprompted }) += bytes;
        if event.flags.has(Flags::PSH) {
            self.pushed(event, connection);
        }
        self.largest = self.largest.max(event.payload);
        self.current = own.in_flight_bytes();
        self.in_flight = self.in_flight.max(self.current);
        let window = peer.window_bytes();
        if self.window.is_none() || room(own.unacked_bytes(), window) <= room(self.unacked, self.window) {
            (self.unacked, self.window) = (own.unacked_bytes(), window);
        }
    }

    /// Linux sets PSH on every super-packet (`tcp_transmit_skb()` since 5.4): there only a part of a segment at the end tells. Far from the sender
    /// super-packets come in pieces: a segment between two PSHs was a packet by itself.
    fn pushed(&mut self, event: &Event, connection: &Connection) {
        let is_tail = !event.payload.is_multiple_of(connection.half(event.side).mss_bytes().max(1));
        let is_alone = event.segments <= 1
            && (event.seq_from == self.pushed_to || connection.near() != Some(event.side.other()));
        self.pushes += u32::from(is_alone || is_tail);
        self.tails += u32::from(is_tail);
        self.pushed_to = event.seq_to;
    }

    /// The peer acknowledged what `own` has sent, or a part of it.
    #[inline]
    pub(super) fn acked(&mut self, now_ns: u64, own: &Half) {
        // Nothing was outstanding, and nothing is.
        if own.acked_to() == self.acked_to && own.sent_to() == self.acked_to {
            return;
        }
        if own.acked_to() > self.acked_to {
            (self.last_ack_ns, self.acked_to) = (now_ns, own.acked_to());
            self.before_acks += self.current;
            self.acks += 1;
        }
        self.current = own.in_flight_bytes();
    }

    /// A look was taken.
    pub(super) fn begin(&mut self) {
        *self = Self {
            last_ack_ns: self.last_ack_ns,
            acked_to: self.acked_to,
            current: self.current,
            pushed_to: self.pushed_to,
            ..Self::default()
        };
    }

    fn add(&mut self, before: &Self) {
        self.prompt += before.prompt;
        self.unprompted += before.unprompted;
        self.pushes += before.pushes;
        self.tails += before.tails;
        self.before_acks += before.before_acks;
        self.acks += before.acks;
        self.largest = self.largest.max(before.largest);
        self.in_flight = self.in_flight.max(before.in_flight);
        if room(before.unacked, before.window) < room(self.unacked, self.window) {
            (self.unacked, self.window) = (before.unacked, before.window);
        }
    }
}

fn room(unacked: u64, window: Option<u32>) -> u64 {
    window.map_or(u64::MAX, |window| u64::from(window).saturating_sub(unacked))
}

/// Both directions at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) time_ns: u64,
    sides: [SideLook; 2],
}

/// What one side sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideLook {
    pub(super) sent_to: u64,
    pub(super) acked_to: u64,
    pub(super) in_flight: u64,
    pub(super) unacked: u64,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) again_in_flight: u32,
    /// The window that the other side advertises.
    pub(super) window: Option<u32>,
    pub(super) srtt_us: Option<u32>,
    /// The last time from a packet to its answer.
    pub(super) answer_us: Option<u32>,
    pub(super) min_rtt_us: Option<u32>,
    pub(super) rto_us: Option<u32>,
    pub(super) retransmits: u32,
    pub(super) retransmitted_bytes: u64,
    pub(super) segments: u64,
    pub(super) dsacks: u32,
    pub(super) sack_acks: u32,
    pub(super) timeouts: u32,
    /// Segments that came out of order here, whatever the reason.
    pub(super) disordered: u32,
    pub(super) ca_state: Option<CaState>,
    pub(super) mss: u32,
    pub(super) clocking: Clocking,
}

impl Look {
    pub(super) fn of(connection: &Connection, time_ns: u64, clocking: [Clocking; 2]) -> Self {
        let side = |side: Side| {
            let (own, peer) = (connection.half(side), connection.half(side.other()));
            SideLook::of(own, peer, clocking[side as usize])
        };
        Self { time_ns, sides: [side(Side::A), side(Side::B)] }
    }

    pub(super) const fn of_side(&self, side: Side) -> &SideLook {
        &self.sides[side as usize]
    }

    /// What it shows of the data of `sender`.
    pub(super) fn sample(&self, sender: Side, from_ns: u64, of_connection: PacketSample) -> PacketSample {
        let (own, peer) = (self.of_side(sender), self.of_side(sender.other()));
        let Clocking { prompt, unprompted, pushes, tails, largest, before_acks, acks, .. } = own.clocking;
        PacketSample {
            t_us: self.time_ns.saturating_sub(from_ns) / 1_000,
            mss_bytes: own.mss,
            ca_state: own.ca_state,
            acked_bytes: own.acked_to.saturating_sub(1),
            unacked_bytes: own.unacked,
            in_flight_bytes: own.in_flight,
            sacked_segments: own.sacked,
            lost_segments: own.lost,
            retrans_segments: own.again_in_flight,
            rwnd_bytes: own.window,
            srtt_us: own.srtt_us,
            min_rtt_us: own.min_rtt_us,
            rto_us: own.rto_us,
            receiver_rtt_us: peer.answer_us,
            segments: own.segments,
            retransmits: own.retransmits,
            retransmitted_bytes: own.retransmitted_bytes,
            timeouts: own.timeouts,
            dsacks: own.dsacks,
            sack_acks: own.sack_acks,
            out_of_order_segments: own.disordered,
            prompt_bytes: prompt,
            unprompted_bytes: unprompted,
            pushes,
            tails,
            largest_bytes: largest,
            acks,
            in_flight_before_acks_bytes: before_acks,
            in_flight_peak_bytes: own.clocking.in_flight,
            unacked_peak_bytes: own.clocking.unacked,
            rwnd_at_peak_bytes: own.clocking.window,
            ..of_connection
        }
    }

    /// The same at `time_ns`, when nothing more was sent.
    pub(super) fn without_traffic(mut self, time_ns: u64) -> Self {
        self.time_ns = time_ns;
        self.sides.iter_mut().for_each(|side| side.clocking = Clocking::default());
        self
    }
}

impl SideLook {
    fn of(own: &Half, peer: &Half, clocking: Clocking) -> Self {
        let counts = own.counts();
        Self {
            sent_to: own.sent_to(),
            acked_to: own.acked_to(),
            in_flight: own.in_flight_bytes(),
            unacked: own.unacked_bytes(),
            sacked: own.sacked_segments(),
            lost: own.lost_segments(),
            again_in_flight: own.retrans_segments(),
            window: peer.window_bytes(),
            srtt_us: own.srtt_us(),
            answer_us: own.last_answer_us(),
            min_rtt_us: own.min_rtt_us(),
            rto_us: own.rto_us(),
            retransmits: own.retransmits(),
            retransmitted_bytes: counts.retransmitted_bytes,
            segments: counts.segments,
            dsacks: counts.dsacks,
            sack_acks: counts.sack_acks,
            timeouts: counts.timeouts,
            disordered: counts.out_of_order + counts.lost_before,
            ca_state: own.ca_state(),
            mss: own.mss_bytes(),
            clocking,
        }
    }

    /// Most in flight since the look before.
    pub(super) fn most_in_flight(&self) -> u64 {
        self.clocking.in_flight.max(self.in_flight)
    }

    /// Room that was left in the peer's window when there was least.
    pub(super) fn least_room(&self) -> Option<u64> {
        self.clocking.window.map(|window| u64::from(window).saturating_sub(self.clocking.unacked))
    }

    /// New bytes that left since the look before.
    pub(super) const fn new_bytes(&self) -> u64 {
        self.clocking.prompt + self.clocking.unprompted
    }
}

/// Standard deviation over mean of what left in each look; `None` where nothing did.
pub(super) fn unevenness(looks: &[Look], side: Side) -> Option<f64> {
    let bytes: Vec<f64> = looks.iter().skip(1).map(|look| look.of_side(side).new_bytes() as f64).collect();
    let count = bytes.len().max(1) as f64;
    let mean = bytes.iter().sum::<f64>() / count;
    let variance = bytes.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// Each second look goes; what left before it is counted with the next one.
pub(super) fn halve(looks: &mut Vec<Look>) {
    let mut kept = Vec::with_capacity(looks.len() / 2 + 1);
    for pair in looks.chunks(2) {
        let Some(mut last) = pair.last().copied() else { continue };
        if let [first, _] = pair {
            for (side, before) in last.sides.iter_mut().zip(first.sides) {
                side.clocking.add(&before.clocking);
            }
        }
        kept.push(last);
    }
    *looks = kept;
}
