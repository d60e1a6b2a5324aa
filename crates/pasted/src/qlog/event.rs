//! Events of a qlog, each reduced to what it shows of the transfer while the file is read: a file may hold millions.

use crate::iperf3::address;
use crate::number::{Number, Text};
use pipefill_core::tcp_info::CaState;
use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// More events of a trace than these are not kept.
const EVENTS_MAX: usize = 1_000_000;
/// More events than these are not read: about half of a log is of other kinds.
const EVENTS_READ_MAX: usize = 2 * EVENTS_MAX;

/// What stands there, or nothing where it has another form.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lenient<T>(pub(super) T);

impl<'de, T: Default + DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(serde_json::from_value(value).unwrap_or_default()))
    }
}

/// An event as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    pub(super) time: Number,
    pub(super) name: Text,
    /// Of drafts that write the name in two parts.
    pub(super) category: Text,
    #[serde(rename = "type", alias = "event")]
    pub(super) kind: Text,
    pub(super) group_id: Text,
    pub(super) data: Lenient<Data>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    header: Lenient<Header>,
    /// Members of the header, in drafts that have them here.
    packet_type: Text,
    packet_number: Number,
    #[serde(rename = "type")]
    kind: Text,
    raw: Lenient<Raw>,
    frames: Lenient<Vec<Lenient<Frame>>>,
    congestion_window: Number,
    /// What aioquic calls the congestion window.
    cwnd: Number,
    bytes_in_flight: Number,
    ssthresh: Number,
    smoothed_rtt: Number,
    min_rtt: Number,
    latest_rtt: Number,
    rtt_variance: Number,
    pto_count: Number,
    pacing_rate: Number,
    new: Text,
    owner: Text,
    initial_max_data: Number,
    initial_max_stream_data_bidi_local: Number,
    initial_max_stream_data_bidi_remote: Number,
    initial_max_stream_data_uni: Number,
    chosen_version: Text,
    src_ip: Text,
    src_port: Number,
    dst_ip: Text,
    dst_port: Number,
    local: Lenient<End>,
    remote: Lenient<End>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Header {
    packet_type: Text,
    packet_number: Number,
    /// Of drafts before -03.
    packet_size: Number,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Raw {
    length: Number,
    payload_length: Number,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct End {
    ip_v4: Text,
    ip_v6: Text,
    port_v4: Number,
    port_v6: Number,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Frame {
    frame_type: Text,
    stream_id: Number,
    offset: Number,
    length: Number,
    raw: Lenient<Raw>,
    maximum: Number,
    acked_ranges: Lenient<Vec<Lenient<Vec<Number>>>>,
    ce: Number,
}

/// Payload of a stream in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamPart {
    pub(super) stream: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// What an event shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    /// A packet of application data left.
    Sent { number: u64, bytes: u64, is_in_flight: bool, parts: Vec<StreamPart> },
    /// One came.
    Received(Box<Received>),
    /// One is taken for lost.
    Lost { number: u64 },
    /// The congestion controller's figures.
    Metrics(Box<Metrics>),
    /// Its state.
    State { ca_state: CaState, is_app_limited: bool },
    /// The windows that the peer grants when the connection begins.
    Grants(Box<Grants>),
    /// One end closed the connection.
    Closed,
    /// Something about the whole connection.
    Nothing,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Received {
    /// First and last packet number of each range.
    pub(super) acked: Vec<(u64, u64)>,
    /// Packets with CE marks so far, as the peer counts.
    pub(super) ce: Option<u64>,
    /// The window of the connection, from its first byte on.
    pub(super) max_data: Option<u64>,
    /// The same of streams.
    pub(super) max_stream_data: Vec<(u64, u64)>,
    pub(super) parts: Vec<StreamPart>,
}

/// Times in microseconds, sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Metrics {
    pub(super) cwnd: Option<u64>,
    pub(super) in_flight: Option<u64>,
    pub(super) ssthresh: Option<u64>,
    pub(super) srtt_us: Option<u32>,
    pub(super) min_rtt_us: Option<u32>,
    pub(super) latest_rtt_us: Option<u32>,
    pub(super) rttvar_us: Option<u32>,
    pub(super) backoff: Option<u8>,
    pub(super) pacing_rate_bps: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Grants {
    pub(super) data: Option<u64>,
    pub(super) bidi_local: Option<u64>,
    pub(super) bidi_remote: Option<u64>,
    pub(super) uni: Option<u64>,
}

/// An event, reduced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moment {
    /// As it is written.
    pub(super) time: f64,
    /// The sum of this and of all times before it in the trace.
    pub(super) time_sum: f64,
    /// The connection, where a trace has several.
    pub(super) group: String,
    pub(super) shown: Shown,
    /// Both ends, `address:port`.
    pub(super) ends: Option<(String, String)>,
    /// Version of QUIC.
    pub(super) version: Option<String>,
}

/// The events of a trace that show something.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) moments: Vec<Moment>,
    time_sum: f64,
}

impl Events {
    /// Adds `event`; one without a time counts for nothing.
    pub(super) fn push(&mut self, event: Event) {
        let Some(time) = event.time.0 else { return };
        self.time_sum += time;
        let moment = moment(event, time, self.time_sum);
        self.moments.extend(moment.filter(|_| self.moments.len() < EVENTS_MAX));
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventsVisitor;
        impl<'de> Visitor<'de> for EventsVisitor {
            type Value = Events;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Events, A::Error> {
                let mut events = Events::default();
                for _ in 0..EVENTS_READ_MAX {
                    let Some(event) = sequence.next_element::<Lenient<Event>>()? else { return Ok(events) };
                    events.push(event.0);
                }
                while sequence.next_element::<IgnoredAny>()?.is_some() {}
                Ok(events)
            }
        }
        deserializer.deserialize_seq(EventsVisitor)
    }
}

/// `None` for an event that shows nothing of the transfer.
fn moment(event: Event, time: f64, time_sum: f64) -> Option<Moment> {
    let name = event.name.0.or(event.kind.0)?;
    let name = name.rsplit(':').next().unwrap_or(&name);
    let data = event.data.0;
    let mut ends = None;
    let shown = match name.strip_prefix("recovery_").unwrap_or(name) {
        "packet_sent" => data.sent()?,
        "packet_received" => data.received()?,
        "packet_lost" => Shown::Lost { number: data.number()? },
        "metrics_updated" => Shown::Metrics(Box::new(data.metrics())),
        "congestion_state_updated" => data.state()?,
        "parameters_set" if data.owner.0.as_deref() != Some("local") => data.grants(),
        "connection_started" => {
            ends = data.ends();
            Shown::Nothing
        }
        "version_information" => Shown::Nothing,
        _ => return None,
    };
    let version = data.chosen_version.0;
    let group = event.group_id.0.unwrap_or_default();
    Some(Moment { time, time_sum, group, shown, ends, version })
}

impl Data {
    /// Packets of the handshake have spaces of their own, and carry no stream (RFC 9000, 12.3).
    fn is_of_handshake(&self) -> bool {
        let kind = [&self.header.0.packet_type, &self.packet_type, &self.kind]
            .into_iter()
            .find_map(|text| text.0.as_deref());
        matches!(kind, Some("initial" | "handshake" | "retry" | "version_negotiation"))
    }

    fn number(&self) -> Option<u64> {
        if self.is_of_handshake() {
            return None;
        }
        self.header.0.packet_number.count().or(self.packet_number.count())
    }

    /// Each with its kind.
    fn frames(&self) -> impl Iterator<Item = (&str, &Frame)> {
        let frames = self.frames.0.iter();
        frames.filter_map(|frame| Some((frame.0.frame_type.0.as_deref()?, &frame.0)))
    }

    fn closes(&self) -> bool {
        self.frames().any(|(kind, _)| kind == "connection_close")
    }

    fn parts(&self) -> Vec<StreamPart> {
        let streams = self.frames().filter(|(kind, _)| *kind == "stream");
        streams.filter_map(|(_, frame)| frame.part()).filter(|part| part.length > 0).collect()
    }

    fn sent(&self) -> Option<Shown> {
        let number = self.number()?;
        if self.closes() {
            return Some(Shown::Closed);
        }
        // A packet of ACKs alone is not answered (RFC 9002, 2).
        let is_in_flight = self.frames().any(|(kind, _)| kind != "ack");
        let parts = self.parts();
        let payload = parts.iter().map(|part| part.length).fold(0, u64::saturating_add);
        let bytes = self.raw.0.length.count().or(self.header.0.packet_size.count());
        Some(Shown::Sent { number, bytes: bytes.unwrap_or(payload), is_in_flight, parts })
    }

    fn received(&self) -> Option<Shown> {
        if self.is_of_handshake() {
            return None;
        }
        if self.closes() {
            return Some(Shown::Closed);
        }
        let mut received = Received { parts: self.parts(), ..Received::default() };
        for (kind, frame) in self.frames() {
            match kind {
                "ack" => {
                    let ranges = frame.acked_ranges.0.iter().filter_map(|range| {
                        let first = range.0.first()?.count()?;
                        Some((first, range.0.get(1).map_or(Some(first), |last| last.count())?))
                    });
                    received.acked.extend(ranges);
                    received.ce = frame.ce.count().or(received.ce);
                }
                "max_data" => received.max_data = frame.maximum.count().or(received.max_data),
                "max_stream_data" => {
                    received.max_stream_data.extend(frame.stream_id.count().zip(frame.maximum.count()));
                }
                _ => {}
            }
        }
        (received != Received::default()).then(|| Shown::Received(Box::new(received)))
    }

    fn metrics(&self) -> Metrics {
        // Milliseconds in every draft.
        let time = |ms: Number| {
            let us = ms.positive().map(|ms| ms * 1e3).filter(|&us| us >= 1.0 && us < f64::from(u32::MAX));
            us.map(|us| us.round() as u32)
        };
        Metrics {
            cwnd: self.congestion_window.count().or(self.cwnd.count()),
            in_flight: self.bytes_in_flight.count(),
            ssthresh: self.ssthresh.count(),
            srtt_us: time(self.smoothed_rtt),
            min_rtt_us: time(self.min_rtt),
            latest_rtt_us: time(self.latest_rtt),
            rttvar_us: time(self.rtt_variance),
            backoff: self.pto_count.count().and_then(|count| u8::try_from(count).ok()),
            pacing_rate_bps: self.pacing_rate.count().filter(|&bps| bps > 0),
        }
    }

    fn state(&self) -> Option<Shown> {
        let new = self.new.0.as_deref()?;
        let ca_state = match new {
            "recovery" => CaState::Recovery,
            "persistent_congestion" => CaState::Loss,
            _ => CaState::Open,
        };
        Some(Shown::State { ca_state, is_app_limited: new == "application_limited" })
    }

    fn grants(&self) -> Shown {
        Shown::Grants(Box::new(Grants {
            data: self.initial_max_data.count(),
            bidi_local: self.initial_max_stream_data_bidi_local.count(),
            bidi_remote: self.initial_max_stream_data_bidi_remote.count(),
            uni: self.initial_max_stream_data_uni.count(),
        }))
    }

    fn ends(&self) -> Option<(String, String)> {
        let port = |port: Number| port.count().unwrap_or(0);
        let of_end = |end: &End| {
            let v4 = end.ip_v4.0.as_deref().map(|ip| address(ip, port(end.port_v4)));
            v4.or_else(|| end.ip_v6.0.as_deref().map(|ip| address(ip, port(end.port_v6))))
        };
        let flat = |ip: &Text, of_end: Number| ip.0.as_deref().map(|ip| address(ip, port(of_end)));
        let local = flat(&self.src_ip, self.src_port).or_else(|| of_end(&self.local.0));
        let remote = flat(&self.dst_ip, self.dst_port).or_else(|| of_end(&self.remote.0));
        local.zip(remote)
    }
}

impl Frame {
    fn part(&self) -> Option<StreamPart> {
        let raw = &self.raw.0;
        let length = self.length.count().or(raw.payload_length.count()).or(raw.length.count())?;
        Some(StreamPart { stream: self.stream_id.count()?, offset: self.offset.count().unwrap_or(0), length })
    }
}
