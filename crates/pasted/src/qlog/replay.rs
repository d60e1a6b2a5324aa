//! The state of a connection from its events, sampled as a kernel's socket would be: RFC 9002 has the same quantities as TCP.
//!
//! In flight are packets, with their headers, as congestion control counts them; outstanding is payload of streams, as flow control does.

use super::Clock;
use super::event::{Grants, Metrics, Moment, Received, Shown, StreamPart};
use crate::SAMPLES_MAX;
use crate::samples::{ESTABLISHED, micros, of_info};
use pipefill_core::record::TcpSample;
use pipefill_core::tcp_info::{CaState, TcpInfo};
use std::collections::{BTreeMap, VecDeque};

/// Samples in a round trip: a window that is used up for an instant is seen.
const IN_ROUND_TRIP: u64 = 8;
/// Samples are no closer and no further apart, microseconds.
const STEP_US: [u64; 2] = [1_000, 100_000];
/// More streams than these are not told apart.
const STREAMS_MAX: usize = 4_096;
/// Payload of a packet where no packet with a stream was sent: that of the least datagram that QUIC sends (RFC 9000, 14).
const USUAL_PAYLOAD: u64 = 1_200;

/// A packet that was neither acknowledged nor taken for lost.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    bytes: u64,
    payload: u64,
}

/// One way of the payload: each stream up to its largest offset.
#[derive(Debug, Default)]
struct StreamOffsets {
    ends: BTreeMap<u64, u64>,
    payload: u64,
}

#[derive(Debug, Default)]
struct Connection {
    is_client: bool,
    outstanding: BTreeMap<u64, Outstanding>,
    in_flight: u64,
    unacked: u64,
    sent: StreamOffsets,
    received: StreamOffsets,
    bytes_sent: u64,
    bytes_retrans: u64,
    bytes_acked: u64,
    packets_out: u32,
    data_packets_out: u32,
    data_packets_in: u32,
    delivered: u32,
    resent: u32,
    lost: u32,
    ce: Option<u64>,
    metrics: Metrics,
    grants: Grants,
    max_data: Option<u64>,
    max_stream_data: BTreeMap<u64, u64>,
    latest_stream: Option<u64>,
    largest_sent: u64,
    /// The recovery period lasts until a packet after this one is acknowledged (RFC 9002, 7.3.2).
    recovers_until: Option<u64>,
    logged_state: Option<CaState>,
    is_logged_app_limited: Option<bool>,
    /// When a window was last used up.
    full_us: u64,
    /// Most payload outstanding since the last sample.
    unacked_peak: u64,
    /// The windows of the last two round trips, the largest first; of later ones those that are smaller.
    windows: VecDeque<(u64, u64)>,
    payload_largest: u64,
}

/// The samples from the first payload in either direction on; none where there is no payload.
pub(super) fn samples_of(moments: &[Moment], clock: Clock, is_client: bool) -> Vec<TcpSample> {
    let timed = timed(moments, clock);
    let has_payload = |(_, moment): &&(u64, &Moment)| match &moment.shown {
        Shown::Sent { parts, .. } => !parts.is_empty(),
        Shown::Received(received) => !received.parts.is_empty(),
        _ => false,
    };
    let Some(from_us) = timed.iter().find(has_payload).map(|(t_us, _)| *t_us) else { return Vec::new() };
    let closed = timed.iter().find(|(t_us, moment)| *t_us > from_us && moment.shown == Shown::Closed);
    let to_us = closed.or(timed.last()).map_or(from_us, |(t_us, _)| *t_us);
    let step_us = step_us(moments, to_us - from_us);
    let mut connection = Connection { is_client, full_us: from_us, ..Connection::default() };
    let mut samples: Vec<TcpSample> = Vec::new();
    let mut next_us = from_us;
    for (t_us, moment) in timed {
        while next_us < t_us && next_us >= from_us && samples.len() + 1 < SAMPLES_MAX {
            samples.push(connection.sample(next_us, from_us));
            next_us += step_us;
        }
        if moment.shown == Shown::Closed {
            break;
        }
        connection.apply(&moment.shown, t_us);
    }
    if samples.last().is_none_or(|last| last.t_us < to_us - from_us) {
        samples.push(connection.sample(to_us, from_us));
    }
    // A packet's payload is known in the end.
    let mss = u32::try_from(if connection.payload_largest > 0 {
        connection.payload_largest
    } else {
        USUAL_PAYLOAD
    });
    samples.iter_mut().for_each(|sample| sample.info.mss_bytes = mss.unwrap_or(u32::MAX));
    samples
}

/// The events in order of time, microseconds from the first one on. One that is before the one ahead of it, or later than any transfer lasts, is left
/// out.
fn timed(moments: &[Moment], clock: Clock) -> Vec<(u64, &Moment)> {
    let unit = if clock.is_in_micros { 1e-6 } else { 1e-3 };
    let at = |moment: &Moment| if clock.is_delta { moment.time_sum } else { moment.time };
    let Some(first) = moments.first().map(at) else { return Vec::new() };
    let mut last_us = 0;
    let mut timed = Vec::with_capacity(moments.len());
    for moment in moments {
        if let Some(t_us) = micros((at(moment) - first) * unit).filter(|&t_us| t_us >= last_us) {
            last_us = t_us;
            timed.push((t_us, moment));
        }
    }
    timed
}

fn step_us(moments: &[Moment], span_us: u64) -> u64 {
    let round_trip = |moment: &Moment| match &moment.shown {
        Shown::Metrics(metrics) => metrics.min_rtt_us.or(metrics.latest_rtt_us).or(metrics.srtt_us),
        _ => None,
    };
    let round_trip_us = moments.iter().filter_map(round_trip).min().map_or(STEP_US[1], u64::from);
    let [least, most] = STEP_US;
    (round_trip_us / IN_ROUND_TRIP).clamp(least, most).max(span_us / SAMPLES_MAX as u64 + 1)
}

impl StreamOffsets {
    /// Counts `part`; returns the bytes of it that are new.
    fn add(&mut self, part: StreamPart) -> u64 {
        let end = part.offset.saturating_add(part.length);
        if !self.ends.contains_key(&part.stream) && self.ends.len() >= STREAMS_MAX {
            self.payload = self.payload.saturating_add(part.length);
            return part.length;
        }
        let before = self.ends.entry(part.stream).or_default();
        let new = end.saturating_sub(*before).min(part.length);
        *before = end.max(*before);
        self.payload = self.payload.saturating_add(new);
        new
    }
}

impl Connection {
    fn apply(&mut self, shown: &Shown, t_us: u64) {
        match shown {
            Shown::Sent { number, bytes, is_in_flight, parts } => {
                self.send(*number, *bytes, *is_in_flight, parts);
            }
            Shown::Received(received) => self.receive(received),
            Shown::Lost { number } => self.lose(*number),
            Shown::Metrics(metrics) => self.metrics = metrics.over(self.metrics),
            Shown::State { ca_state, is_app_limited } => {
                self.logged_state = Some(*ca_state);
                // A library that never logs this state may not have it.
                if *is_app_limited || self.is_logged_app_limited.is_some() {
                    self.is_logged_app_limited = Some(*is_app_limited);
                }
            }
            Shown::Grants(grants) => {
                self.grants = **grants;
                self.max_data = self.max_data.max(grants.data);
            }
            Shown::Nothing | Shown::Closed => {}
        }
        if self.is_full() {
            self.full_us = t_us;
        }
        self.unacked_peak = self.unacked_peak.max(self.unacked);
        let shows_acks = matches!(shown, Shown::Received(received) if !received.acked.is_empty());
        if shows_acks || self.windows.is_empty() {
            self.note_window(t_us);
        }
    }

    /// A grant may come before the ACK of what it follows: after an ACK, what is outstanding is what has not arrived.
    fn note_window(&mut self, t_us: u64) {
        let Some(room) = self.room() else { return };
        let window = room.saturating_add(self.unacked);
        while self.windows.back().is_some_and(|(_, smaller)| *smaller <= window) {
            self.windows.pop_back();
        }
        self.windows.push_back((t_us, window));
    }

    /// The window that flow control grants at `t_us`: the largest of the last two round trips, since a receiver grants more not with each ACK but when a
    /// part of the window has arrived.
    fn window(&mut self, t_us: u64) -> Option<u64> {
        let round_trip_us = self.metrics.srtt_us.map_or(STEP_US[1], u64::from);
        let is_past = |at_us: u64| t_us.saturating_sub(at_us) > 2 * round_trip_us;
        // The last one holds until another event.
        while self.windows.len() > 1 && self.windows.front().is_some_and(|(at_us, _)| is_past(*at_us)) {
            self.windows.pop_front();
        }
        self.windows.front().map(|(_, window)| *window)
    }

    fn send(&mut self, number: u64, bytes: u64, is_in_flight: bool, parts: &[StreamPart]) {
        self.packets_out = self.packets_out.saturating_add(1);
        self.largest_sent = self.largest_sent.max(number);
        let payload = parts.iter().map(|part| part.length).fold(0, u64::saturating_add);
        // A new stream has a window of its own.
        if parts.iter().any(|part| !self.sent.ends.contains_key(&part.stream)) {
            self.windows.clear();
        }
        let new = parts.iter().map(|&part| self.sent.add(part)).fold(0, u64::saturating_add);
        if payload > 0 {
            self.data_packets_out = self.data_packets_out.saturating_add(1);
            self.latest_stream = parts.last().map(|part| part.stream);
            self.payload_largest = self.payload_largest.max(payload);
            self.bytes_sent = self.bytes_sent.saturating_add(payload);
            self.bytes_retrans = self.bytes_retrans.saturating_add(payload - new);
            self.resent = self.resent.saturating_add(u32::from(new == 0));
        }
        if is_in_flight && self.outstanding.insert(number, Outstanding { bytes, payload }).is_none() {
            self.in_flight = self.in_flight.saturating_add(bytes);
            self.unacked = self.unacked.saturating_add(payload);
        }
    }

    fn receive(&mut self, received: &Received) {
        for &(first, last) in &received.acked {
            if first > last {
                continue;
            }
            let acked: Vec<u64> = self.outstanding.range(first..=last).map(|(number, _)| *number).collect();
            for number in acked {
                let Some(packet) = self.take(number) else { continue };
                self.bytes_acked = self.bytes_acked.saturating_add(packet.payload);
                self.delivered = self.delivered.saturating_add(1);
                if self.recovers_until.is_some_and(|until| number > until) {
                    self.recovers_until = None;
                }
            }
        }
        self.ce = self.ce.max(received.ce);
        self.max_data = self.max_data.max(received.max_data);
        for &(stream, maximum) in &received.max_stream_data {
            if self.max_stream_data.contains_key(&stream) || self.max_stream_data.len() < STREAMS_MAX {
                let before = self.max_stream_data.entry(stream).or_default();
                *before = maximum.max(*before);
            }
        }
        for &part in &received.parts {
            self.received.add(part);
        }
        self.data_packets_in = self.data_packets_in.saturating_add(u32::from(!received.parts.is_empty()));
    }

    fn lose(&mut self, number: u64) {
        let Some(packet) = self.take(number) else { return };
        self.lost = self.lost.saturating_add(u32::from(packet.payload > 0));
        self.recovers_until.get_or_insert(self.largest_sent);
    }

    fn take(&mut self, number: u64) -> Option<Outstanding> {
        let packet = self.outstanding.remove(&number)?;
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        self.unacked = self.unacked.saturating_sub(packet.payload);
        Some(packet)
    }

    /// What flow control lets out beside what was sent: of the connection, and of the stream that sent last. Absent where the log shows neither.
    fn room(&self) -> Option<u64> {
        let of_connection = self.max_data.map(|limit| limit.saturating_sub(self.sent.payload));
        let of_stream = self.latest_stream.and_then(|stream| {
            let limit = self.max_stream_data.get(&stream).copied().max(self.granted(stream))?;
            Some(limit.saturating_sub(self.sent.ends.get(&stream).copied().unwrap_or(0)))
        });
        of_connection.into_iter().chain(of_stream).min()
    }

    /// The window of a stream when it begins: bit 0 of its number says who opened it, bit 1 whether it has one direction (RFC 9000, 2.1).
    fn granted(&self, stream: u64) -> Option<u64> {
        let is_ours = (stream & 1 == 0) == self.is_client;
        match (stream & 2 != 0, is_ours) {
            (true, _) => self.grants.uni,
            (false, true) => self.grants.bidi_remote,
            (false, false) => self.grants.bidi_local,
        }
    }

    /// Whether a window has no room for another packet.
    fn is_full(&self) -> bool {
        let packet = self.payload_largest;
        let has_no_room = |room: u64| room < packet;
        self.metrics.cwnd.is_some_and(|cwnd| has_no_room(cwnd.saturating_sub(self.in_flight)))
            || self.room().is_some_and(has_no_room)
    }

    /// Whether the program had nothing to send: its log says so; or, where nothing paces, both windows have had room for a round trip (RFC 9002,
    /// 7.8).
    fn is_app_limited(&self, t_us: u64) -> Option<bool> {
        if self.is_logged_app_limited.is_some() {
            return self.is_logged_app_limited;
        }
        let (Some(_), Some(srtt_us), None) =
            (self.metrics.cwnd, self.metrics.srtt_us, self.metrics.pacing_rate_bps)
        else {
            return None;
        };
        Some(t_us.saturating_sub(self.full_us) > u64::from(srtt_us))
    }

    /// The state at `t_us`, in a record that begins at `from_us`; of the payload that is outstanding the most since the last sample.
    fn sample(&mut self, t_us: u64, from_us: u64) -> TcpSample {
        let rwnd = self.window(t_us);
        let unacked = std::mem::replace(&mut self.unacked_peak, self.unacked).min(rwnd.unwrap_or(u64::MAX));
        let metrics = &self.metrics;
        let in_flight = if self.packets_out > 0 { self.in_flight } else { metrics.in_flight.unwrap_or(0) };
        let recovers = if self.recovers_until.is_some() { CaState::Recovery } else { CaState::Open };
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let info = TcpInfo {
            state: ESTABLISHED,
            ca_state: Some(self.logged_state.unwrap_or(recovers)),
            cwnd_bytes: metrics.cwnd,
            ssthresh_bytes: metrics.ssthresh,
            in_flight_bytes: Some(in_flight),
            unacked_bytes: unacked,
            rwnd_bytes: rwnd.map(short),
            srtt_us: metrics.srtt_us,
            rttvar_us: metrics.rttvar_us,
            min_rtt_us: metrics.min_rtt_us,
            backoff: metrics.backoff,
            pacing_rate_bps: metrics.pacing_rate_bps,
            delivery_app_limited: self.is_app_limited(t_us),
            bytes_sent: Some(self.bytes_sent),
            bytes_retrans: Some(self.bytes_retrans),
            bytes_acked: Some(self.bytes_acked),
            bytes_received: Some(self.received.payload),
            // Data of a lost packet goes into another one, with a new number.
            retransmits: self.resent.max(self.lost),
            segs_out: Some(self.packets_out),
            data_segs_out: Some(self.data_packets_out),
            data_segs_in: Some(self.data_packets_in),
            delivered_segments: Some(self.delivered),
            delivered_ce_segments: self.ce.map(short),
            ..TcpInfo::default()
        };
        of_info(t_us - from_us, info)
    }
}

impl Metrics {
    /// With what `before` had and this event does not repeat.
    fn over(self, before: Self) -> Self {
        Self {
            cwnd: self.cwnd.or(before.cwnd),
            in_flight: self.in_flight.or(before.in_flight),
            ssthresh: self.ssthresh.or(before.ssthresh),
            srtt_us: self.srtt_us.or(before.srtt_us),
            min_rtt_us: self.min_rtt_us.or(before.min_rtt_us),
            latest_rtt_us: self.latest_rtt_us.or(before.latest_rtt_us),
            rttvar_us: self.rttvar_us.or(before.rttvar_us),
            backoff: self.backoff.or(before.backoff),
            pacing_rate_bps: self.pacing_rate_bps.or(before.pacing_rate_bps),
        }
    }
}
