//! qlog: the events of a QUIC connection at one end, as JSON or JSON-SEQ (draft-ietf-quic-qlog-main-schema, -quic-events).
//!
//! Read are the names of the drafts up to -08 (`transport:packet_sent`, `recovery:metrics_updated`) and of those after it (`quic:packet_sent`,
//! `quic:recovery_metrics_updated`). Events of other kinds, and members of unexpected types, are passed over.

mod event;
mod replay;
#[cfg(test)]
mod tests;

use crate::documents::each;
use crate::number::{Number, Text};
use crate::output::{Output, OutputConnection, ReadError};
use event::{Event, Events, Moment};
use pipefill_core::record::{Gap, Observed, ReadFrom};
use replay::samples_of;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// More connections than these are not followed in one file.
const GROUPS_MAX: usize = 1_024;

/// A file in JSON, the first record of one in JSON-SEQ, or a further record of it, which is an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    qlog_version: Text,
    traces: Vec<Trace>,
    trace: Option<Trace>,
    time: Number,
    name: Text,
    category: Text,
    #[serde(rename = "type")]
    kind: Text,
    group_id: Text,
    data: event::Lenient<event::Data>,
}

/// One connection at one end, or several that have a `group_id` each.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Trace {
    vantage_point: event::Lenient<VantagePoint>,
    common_fields: event::Lenient<CommonFields>,
    configuration: event::Lenient<Configuration>,
    events: Events,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VantagePoint {
    #[serde(rename = "type")]
    kind: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommonFields {
    time_format: Text,
}

/// Of drafts before -02.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Configuration {
    time_units: Text,
}

/// How the times of a trace are written.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// Each counts from the event before it.
    is_delta: bool,
    is_in_micros: bool,
}

impl Trace {
    fn clock(&self) -> Clock {
        let format = self.common_fields.0.time_format.0.as_deref();
        Clock {
            is_delta: matches!(format, Some("delta" | "relative_to_previous_event")),
            is_in_micros: self.configuration.0.time_units.0.as_deref() == Some("us"),
        }
    }

    /// Whether the events are the client's.
    fn is_client(&self) -> bool {
        self.vantage_point.0.kind.0.as_deref() == Some("client")
    }
}

/// Whether `text` is one.
pub(crate) fn is_its(text: &str) -> bool {
    text.contains("\"qlog_version\"") || text.contains("\"urn:ietf:params:qlog:")
}

/// Reads every trace of `text`.
pub(crate) fn read(text: &str) -> Result<Output, ReadError> {
    let mut output = Output { program: "qlog".to_owned(), ..Output::default() };
    // The records of JSON-SEQ, behind their header.
    let (mut header, mut sequence) = (Trace::default(), Events::default());
    let mut traces = Vec::new();
    output.is_cut_off = each(text, |document: Document| {
        output.version = output.version.take().or(document.qlog_version.0);
        traces.extend(document.traces);
        if let Some(trace) = document.trace {
            header = trace;
        } else if document.time.0.is_some() {
            let Document { time, name, category, kind, group_id, data, .. } = document;
            sequence.push(Event { time, name, category, kind, group_id, data });
        }
    })?;
    header.events = sequence;
    traces.push(header);
    let mut groups: BTreeMap<(usize, String), Vec<Moment>> = BTreeMap::new();
    for (number, trace) in traces.iter_mut().enumerate() {
        for moment in std::mem::take(&mut trace.events.moments) {
            let key = (number, moment.group.clone());
            if groups.contains_key(&key) || groups.len() < GROUPS_MAX {
                groups.entry(key).or_default().push(moment);
            }
        }
    }
    let connections = groups.into_iter().filter_map(|((number, _), moments)| {
        let trace = traces.get(number)?;
        connection(&moments, trace.clock(), trace.is_client())
    });
    output.connections = connections.collect();
    // Whether they share a path, or were there at the same time, a log without addresses does not show: each has its own name.
    let is_many = output.connections.len() > 1;
    for (at, connection) in output.connections.iter_mut().enumerate() {
        if is_many && connection.observed.local.is_empty() {
            connection.observed.local = format!("connection {}", at + 1);
        }
    }
    Ok(output)
}

fn connection(moments: &[Moment], clock: Clock, is_client: bool) -> Option<OutputConnection> {
    let samples = samples_of(moments, clock, is_client);
    let (first, last) = (samples.first()?, samples.last()?);
    let every_us = samples.get(1)?.t_us.saturating_sub(first.t_us);
    let sends = last.info.bytes_sent >= last.info.bytes_received;
    let lacks = |is_absent: bool, gap: Gap| is_absent.then_some(gap);
    let gaps = [
        lacks(!sends, Gap::Sender),
        lacks(sends && last.info.srtt_us.is_none(), Gap::RoundTrip),
        lacks(sends && last.info.rwnd_bytes.is_none(), Gap::ReceiveWindow),
        lacks(sends && last.info.cwnd_bytes.is_none(), Gap::CongestionWindow),
        lacks(sends, Gap::Unsent),
    ];
    let ends = moments.iter().find_map(|moment| moment.ends.clone()).unwrap_or_default();
    let version = moments.iter().find_map(|moment| moment.version.clone()).unwrap_or_default();
    Some(OutputConnection {
        observed: Observed {
            local: ends.0,
            remote: ends.1,
            quic: Some(version),
            read_from: Some(ReadFrom { gaps: gaps.into_iter().flatten().collect(), ..ReadFrom::default() }),
            ..Observed::default()
        },
        every: Duration::from_micros(every_us),
        samples,
        ..OutputConnection::default()
    })
}
