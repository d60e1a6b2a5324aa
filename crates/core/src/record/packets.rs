//! What packets show of one direction of a connection, in a row an interval. A socket's own figures (cwnd, buffers, pacing) are no packet's.

use super::StreamEnd;
use crate::tcp_info::CaState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU16, NonZeroU32};

/// Where the capture point is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapturePoint {
    /// Near who sends the data.
    Sender,
    /// Near who receives them.
    Receiver,
    /// A part of the path on either side.
    Between,
    /// Unknown.
    #[default]
    Unknown,
}

/// `packets.jsonl.zst`: the data of one stream as they passed a capture point, its state at the end of an interval and what passed in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PacketSample {
    /// The end of the interval, microseconds since the run began.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// The end of the stream that the capture point stands for: the nearer one, where that is known.
    pub end: StreamEnd,
    /// Where the packets were captured.
    pub capture_point: CapturePoint,
    /// Payload of a full segment.
    pub mss_bytes: u16,
    /// The congestion state that the retransmissions show.
    pub ca_state: Option<CaState>,
    /// Payload acknowledged so far.
    pub acked_bytes: u64,
    /// Whether a full segment was acknowledged so far; absent in older records, and where the handshake was not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_acked: Option<bool>,
    /// Sent and not acknowledged.
    pub unacked_bytes: u64,
    /// Of these, on their way: neither selectively acknowledged nor lost.
    pub in_flight_bytes: u64,
    /// Segments above a hole that are selectively acknowledged, now.
    pub sacked_segments: u32,
    /// Segments taken for lost, now.
    pub lost_segments: u32,
    /// Segments sent again and not yet acknowledged, now.
    pub retrans_segments: u32,
    /// The window that the receiver advertises.
    pub rwnd_bytes: Option<u32>,
    /// It over the largest one so far, in thousandths: known without the scale. Absent before the first.
    #[serde(default)]
    pub rwnd_permille: Option<u16>,
    /// Whether windows are scaled; absent where the handshake was not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Shift of the window that the receiver advertises; absent where windows are not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rwnd_scale: Option<u8>,
    /// The window in the receiver's SYN, which is not scaled (RFC 7323, 2.2); absent where that was not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_window_bytes: Option<NonZeroU16>,
    /// Smoothed round trip from the capture point to the receiver and back.
    pub srtt_us: Option<Micros>,
    /// The least one.
    pub min_rtt_us: Option<Micros>,
    /// The retransmission timeout that follows from it (RFC 6298).
    pub rto_us: Option<Micros>,
    /// The receiver's round trip: from an ACK to the data that echo its timestamp, or that it let out.
    pub receiver_rtt_us: Option<Micros>,
    /// The least round trip between both ends.
    pub path_rtt_us: Option<u32>,
    /// How much longer the last data were under way to the capture point than the fastest, less a tick of their timestamps' clock (RFC 7323); absent
    /// without timestamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_delay_us: Option<Micros>,
    /// The same of what the receiver sent: ACKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_delay_us: Option<Micros>,
    /// Segments with data so far, those sent again included.
    pub segments: u64,
    /// Segments with data of the other direction so far; absent in older records.
    #[serde(default)]
    pub peer_segments: Option<u32>,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// Payload sent again so far.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u32,
    /// DSACKs so far of what was sent again: it had arrived already.
    pub dsacks: u32,
    /// Of what was sent again, what is known to have been for nothing so far, by DSACKs, timestamps, or the time of its ACK (RFC 3522, RFC 3708);
    /// absent in older records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spurious_retransmits: u32,
    /// ACKs so far that tell of CE marks (ECE, RFC 3168), the answer to a SYN aside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ece_acks: u32,
    /// ACKs with SACK blocks so far.
    pub sack_acks: u32,
    /// Segments that passed out of order so far, whatever the reason.
    pub out_of_order_segments: u32,
    /// New payload in the interval that followed an ACK at once.
    pub prompt_bytes: u32,
    /// Of that, what was no more than the ACK acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clocked_bytes: u32,
    /// New payload that followed none.
    pub unprompted_bytes: u32,
    /// Times in the interval that new data came after none for at least half of the path's round trip; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bursts: u16,
    /// Of these, those that followed an ACK at once, or as soon as a program that was woken writes: within 2 ms, and a sixteenth of the round trip.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clocked_bursts: u16,
    /// Segments in flight before each of `bursts`, added up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segments_before_bursts: u16,
    /// Segments with PSH in the interval that tell of a write's end.
    pub pushes: u32,
    /// Of these, those that were no multiple of the MSS.
    pub tails: u32,
    /// Payload of the interval's largest packet.
    pub largest_bytes: u32,
    /// ACKs of new data in the interval.
    pub acks: u32,
    /// In flight before each of them, added up.
    pub in_flight_before_acks_bytes: u64,
    /// Most in flight in the interval.
    pub in_flight_peak_bytes: u32,
    /// Unacknowledged when the advertised window had the least room.
    pub unacked_peak_bytes: u32,
    /// That window.
    pub rwnd_at_peak_bytes: Option<u32>,
    /// What the direction waited for until its last payload.
    #[serde(default)]
    pub waits: Waits,
}

/// Microseconds, of which an option takes no more memory: 4 bytes. At most 4,294,967,294.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[schemars(with = "u32")]
pub struct Micros(NonZeroU32);

impl From<u32> for Micros {
    fn from(us: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(us))
    }
}

impl From<Micros> for u32 {
    fn from(us: Micros) -> Self {
        us.0.get() - 1
    }
}

impl From<Micros> for f64 {
    fn from(us: Micros) -> Self {
        u32::from(us).into()
    }
}

impl From<Micros> for u64 {
    fn from(us: Micros) -> Self {
        u32::from(us).into()
    }
}

/// Time of a direction by what it waited for, microseconds so far: with nothing of it to send, or held back by the other end's ACKs.
///
/// `docs/adr/0039-conversations-from-packets.md` has the definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    /// The other side had asked for nothing, or still sent.
    pub request_us: u64,
    /// It was asked, and had not begun to answer.
    pub response_us: u64,
    /// A round trip at each change of speaker.
    pub turns_us: u64,
    /// It sent again without having been asked.
    pub rate_us: u64,
    /// With at most two segments out it waited for an ACK that came later than the round trip and 20 ms.
    pub delayed_ack_us: u64,
    /// The same where less than a segment followed.
    pub nagle_us: u64,
    /// Data was outstanding, and nothing came back for more than three timers.
    pub silence_us: u64,
    /// The receiver's window had no room for a segment.
    pub zero_window_us: u64,
    /// A few segments were out, the retransmission timer was awaited, and sending again helped.
    pub timer_us: u64,
    /// Times that the other side spoke in between.
    pub turns: u32,
    /// Waits of [`Self::delayed_ack_us`].
    pub delayed_acks: u32,
    /// Waits of [`Self::nagle_us`].
    pub nagles: u32,
    /// Times that it went on with what was written, after none for half of a round trip: its data had ended with a full segment.
    pub resumptions: u32,
}

/// What a direction waits for: the parts of [`Waits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waiting {
    /// [`Waits::request_us`].
    Request,
    /// [`Waits::response_us`].
    Response,
    /// [`Waits::turns_us`].
    Turns,
    /// [`Waits::rate_us`].
    Rate,
    /// [`Waits::delayed_ack_us`].
    DelayedAck,
    /// [`Waits::nagle_us`].
    Nagle,
    /// [`Waits::silence_us`].
    Silence,
    /// [`Waits::zero_window_us`].
    ZeroWindow,
    /// [`Waits::timer_us`].
    Timer,
}

impl Waiting {
    /// Every part, in the order of a turn.
    pub const ALL: [Self; 9] = [
        Self::Request,
        Self::Turns,
        Self::Response,
        Self::Rate,
        Self::DelayedAck,
        Self::Nagle,
        Self::Silence,
        Self::ZeroWindow,
        Self::Timer,
    ];
}

impl Waits {
    /// One part, microseconds.
    #[inline]
    pub const fn us(&self, waiting: Waiting) -> u64 {
        match waiting {
            Waiting::Request => self.request_us,
            Waiting::Response => self.response_us,
            Waiting::Turns => self.turns_us,
            Waiting::Rate => self.rate_us,
            Waiting::DelayedAck => self.delayed_ack_us,
            Waiting::Nagle => self.nagle_us,
            Waiting::Silence => self.silence_us,
            Waiting::ZeroWindow => self.zero_window_us,
            Waiting::Timer => self.timer_us,
        }
    }

    /// Adds to one part.
    pub const fn add(&mut self, waiting: Waiting, us: u64) {
        let part = match waiting {
            Waiting::Request => &mut self.request_us,
            Waiting::Response => &mut self.response_us,
            Waiting::Turns => &mut self.turns_us,
            Waiting::Rate => &mut self.rate_us,
            Waiting::DelayedAck => &mut self.delayed_ack_us,
            Waiting::Nagle => &mut self.nagle_us,
            Waiting::Silence => &mut self.silence_us,
            Waiting::ZeroWindow => &mut self.zero_window_us,
            Waiting::Timer => &mut self.timer_us,
        };
        *part = part.saturating_add(us);
    }

    /// All parts together.
    #[inline]
    pub fn total_us(&self) -> u64 {
        Waiting::ALL.iter().map(|&waiting| self.us(waiting)).sum()
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        Waiting::ALL.iter().for_each(|&waiting| self.add(waiting, other.us(waiting)));
        self.turns = self.turns.saturating_add(other.turns);
        self.delayed_acks = self.delayed_acks.saturating_add(other.delayed_acks);
        self.nagles = self.nagles.saturating_add(other.nagles);
        self.resumptions = self.resumptions.saturating_add(other.resumptions);
        self
    }

    /// What came since `first`.
    #[must_use]
    pub const fn since(&self, first: &Self) -> Self {
        Self {
            request_us: self.request_us.saturating_sub(first.request_us),
            response_us: self.response_us.saturating_sub(first.response_us),
            turns_us: self.turns_us.saturating_sub(first.turns_us),
            rate_us: self.rate_us.saturating_sub(first.rate_us),
            delayed_ack_us: self.delayed_ack_us.saturating_sub(first.delayed_ack_us),
            nagle_us: self.nagle_us.saturating_sub(first.nagle_us),
            silence_us: self.silence_us.saturating_sub(first.silence_us),
            zero_window_us: self.zero_window_us.saturating_sub(first.zero_window_us),
            timer_us: self.timer_us.saturating_sub(first.timer_us),
            turns: self.turns.saturating_sub(first.turns),
            delayed_acks: self.delayed_acks.saturating_sub(first.delayed_acks),
            nagles: self.nagles.saturating_sub(first.nagles),
            resumptions: self.resumptions.saturating_sub(first.resumptions),
        }
    }
}

fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

impl PacketSample {
    /// Whether something was acknowledged, but never a full segment, and a full one is outstanding: a link may carry smaller packets only and drop what
    /// is larger without a word (RFC 2923, 2.1). A SYN is such a small one where the other side has asked for something since: the way back works. What is
    /// captured near the receiver was carried.
    pub fn may_lose_full_segments(&self) -> bool {
        let segment = u64::from(self.mss_bytes);
        // The end of what is out may be a smaller one, which arrives.
        let small_at_end = u32::from(!self.unacked_bytes.is_multiple_of(segment.max(1)));
        let has_full_arrived =
            self.full_acked.unwrap_or(self.acked_bytes >= segment) || self.sacked_segments > small_at_end;
        let has_asked = self.full_acked.is_some() && self.peer_segments.is_some_and(|count| count > 0);
        let has_small_arrived = self.acked_bytes > 0 || has_asked;
        let is_before_path = self.capture_point != CapturePoint::Receiver;
        is_before_path && !has_full_arrived && has_small_arrived && self.unacked_bytes >= segment
    }

    /// Payload that was sent so far, each byte once.
    pub const fn sent_bytes(&self) -> u64 {
        self.acked_bytes.saturating_add(self.unacked_bytes)
    }

    /// New payload in the interval.
    pub fn new_bytes(&self) -> u64 {
        u64::from(self.prompt_bytes) + u64::from(self.unprompted_bytes)
    }

    /// Most in flight in the interval and at its end.
    pub fn most_in_flight_bytes(&self) -> u64 {
        u64::from(self.in_flight_peak_bytes).max(self.in_flight_bytes)
    }

    /// Room in the advertised window when there was least; `None` where nothing was sent or the window is unknown.
    pub fn least_room_bytes(&self) -> Option<u64> {
        self.rwnd_at_peak_bytes.map(|window| u64::from(window.saturating_sub(self.unacked_peak_bytes)))
    }

    /// Whether more is outstanding than the advertised window lets out, twice over: that window is not the receiver's, or the capture does not have its ACKs.
    pub fn exceeds_window(&self) -> bool {
        let twice = |window: u32| 2 * u64::from(window);
        self.rwnd_bytes.is_some_and(|window| window > 0 && self.unacked_bytes > twice(window))
    }

    /// The same with an unknown window.
    #[must_use]
    pub const fn without_window(self) -> Self {
        Self { rwnd_bytes: None, rwnd_at_peak_bytes: None, rwnd_permille: None, ..self }
    }

    /// Retransmissions that are known to have been for nothing.
    pub fn known_spurious(&self) -> u32 {
        self.dsacks.max(self.spurious_retransmits)
    }

    /// Whether the receiver's ACKs show segments that came in another order: more SACKs than those that were sent again for nothing explain, or
    /// none at all, where no timer has sent that again: its duplicate ACKs did (RFC 5681, 3.2).
    pub fn has_seen_reordering(&self) -> bool {
        let spurious = self.known_spurious();
        spurious > 0 && (self.sack_acks > spurious || self.sack_acks == 0 && self.timeouts == 0)
    }

    /// Makes this interval begin where `before` began, which ended with it.
    pub fn extend_back(&mut self, before: &Self) {
        self.prompt_bytes = self.prompt_bytes.saturating_add(before.prompt_bytes);
        self.clocked_bytes = self.clocked_bytes.saturating_add(before.clocked_bytes);
        self.unprompted_bytes = self.unprompted_bytes.saturating_add(before.unprompted_bytes);
        self.bursts = self.bursts.saturating_add(before.bursts);
        self.clocked_bursts = self.clocked_bursts.saturating_add(before.clocked_bursts);
        self.segments_before_bursts =
            self.segments_before_bursts.saturating_add(before.segments_before_bursts);
        self.pushes = self.pushes.saturating_add(before.pushes);
        self.tails = self.tails.saturating_add(before.tails);
        self.acks = self.acks.saturating_add(before.acks);
        self.in_flight_before_acks_bytes =
            self.in_flight_before_acks_bytes.saturating_add(before.in_flight_before_acks_bytes);
        self.largest_bytes = self.largest_bytes.max(before.largest_bytes);
        self.in_flight_peak_bytes = self.in_flight_peak_bytes.max(before.in_flight_peak_bytes);
        let room = |sample: &Self| sample.least_room_bytes().unwrap_or(u64::MAX);
        if room(before) < room(self) {
            self.unacked_peak_bytes = before.unacked_peak_bytes;
            self.rwnd_at_peak_bytes = before.rwnd_at_peak_bytes;
        }
    }

    /// Each two of `samples`, which follow each other, as one.
    pub fn in_pairs(samples: &[Self]) -> Vec<Self> {
        let joined = |pair: &[Self]| {
            let (last, before) = pair.split_last()?;
            let mut last = *last;
            before.iter().for_each(|before| last.extend_back(before));
            Some(last)
        };
        samples.chunks(2).filter_map(joined).collect()
    }

    /// The same state after an interval in which nothing passed.
    #[must_use]
    pub const fn without_traffic(self) -> Self {
        Self {
            prompt_bytes: 0,
            clocked_bytes: 0,
            unprompted_bytes: 0,
            bursts: 0,
            clocked_bursts: 0,
            segments_before_bursts: 0,
            pushes: 0,
            tails: 0,
            largest_bytes: 0,
            acks: 0,
            in_flight_before_acks_bytes: 0,
            in_flight_peak_bytes: 0,
            unacked_peak_bytes: 0,
            rwnd_at_peak_bytes: None,
            ..self
        }
    }

    /// The same with counts of its own data that begin at `first`, an earlier sample of the stream.
    #[must_use]
    pub const fn since(&self, first: &Self) -> Self {
        Self {
            acked_bytes: self.acked_bytes.saturating_sub(first.acked_bytes),
            segments: self.segments.saturating_sub(first.segments),
            retransmits: self.retransmits.saturating_sub(first.retransmits),
            retransmitted_bytes: self.retransmitted_bytes.saturating_sub(first.retransmitted_bytes),
            timeouts: self.timeouts.saturating_sub(first.timeouts),
            dsacks: self.dsacks.saturating_sub(first.dsacks),
            spurious_retransmits: self.spurious_retransmits.saturating_sub(first.spurious_retransmits),
            ece_acks: self.ece_acks.saturating_sub(first.ece_acks),
            sack_acks: self.sack_acks.saturating_sub(first.sack_acks),
            out_of_order_segments: self.out_of_order_segments.saturating_sub(first.out_of_order_segments),
            waits: self.waits.since(&first.waits),
            ..*self
        }
    }
}
