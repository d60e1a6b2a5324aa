//! What an end counted: the document that both send after [`super::TestState::ExchangeResults`] (`send_results()`, `get_results()`).

use super::ProtocolError;
use super::member::Members;
use crate::far_end::{self, FarEnd};
use serde_json::{Value, json};

/// Streams of one test, both ways.
const STREAMS_MAX: usize = 2 * super::STREAMS_MAX as usize;

/// What a server says of the test is under one of these.
const OUTPUT_TEXT: &str = "server_output_text";
const OUTPUT_JSON: &str = "server_output_json";

/// One end's counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// CPU time of its process as a share of the test's, percent: all, user, system.
    pub cpu_percent: [f64; 3],
    /// Whether it sent, and counts segments sent again.
    pub has_retransmits: bool,
    /// Its congestion control (since 3.6).
    pub congestion_control: Option<String>,
    /// Its streams.
    pub streams: Vec<StreamResult>,
    /// Its telemetry, where it is ours and was asked for it.
    pub telemetry: Option<FarEnd>,
    /// What a server says of the test, where it was asked: text, or a document.
    pub output: Option<Value>,
}

/// One stream at one end, after what was left out at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StreamResult {
    /// [`super::stream_id`].
    pub id: u32,
    /// Payload sent, or received.
    pub bytes: u64,
    /// Segments sent again; `None` where it did not send or does not count.
    pub retransmits: Option<u64>,
    /// RFC 3550 jitter, seconds; 0 at a sender.
    pub jitter_s: f64,
    /// Datagrams that were lost; 0 at a sender.
    pub lost: u64,
    /// Datagrams: sent, or the highest number that arrived.
    pub packets: u64,
    /// From the start of the test, seconds.
    pub start_s: f64,
    /// When it stopped counting, seconds.
    pub end_s: f64,
}

impl Results {
    /// Reads the other end's document.
    ///
    /// # Errors
    /// [`ProtocolError::Member`], and where there are more streams than a test can have.
    pub fn read(document: &Value) -> Result<Self, ProtocolError> {
        let members = Members::of(document)?;
        let percent = |name| Ok::<f64, ProtocolError>(members.number(name)?.unwrap_or(0.0));
        let listed = members.list("streams")?;
        if listed.len() > STREAMS_MAX {
            let why = format!("has {} entries, and {STREAMS_MAX} are the most", listed.len());
            return Err(ProtocolError::Member { member: "streams", why });
        }
        Ok(Self {
            cpu_percent: [percent("cpu_util_total")?, percent("cpu_util_user")?, percent("cpu_util_system")?],
            has_retransmits: members.number("sender_has_retransmits")?.is_some_and(|value| value > 0.0),
            congestion_control: members.text("congestion_used")?,
            streams: listed.iter().map(StreamResult::read).collect::<Result<_, _>>()?,
            telemetry: members.any(far_end::MEMBER).and_then(FarEnd::read),
            output: [OUTPUT_TEXT, OUTPUT_JSON].iter().find_map(|name| members.any(name)).cloned(),
        })
    }

    /// The document that is sent.
    pub fn document(&self) -> Value {
        let [total, user, system] = self.cpu_percent;
        let mut document = json!({
            "cpu_util_total": total,
            "cpu_util_user": user,
            "cpu_util_system": system,
            "sender_has_retransmits": if self.has_retransmits { 1 } else { -1 },
            "streams": self.streams.iter().map(StreamResult::document).collect::<Vec<_>>(),
        });
        if let Some(name) = &self.congestion_control {
            document["congestion_used"] = json!(name);
        }
        if let Some(telemetry) = &self.telemetry {
            document[far_end::MEMBER] = telemetry.document();
        }
        if let Some(output) = &self.output {
            document[if output.is_string() { OUTPUT_TEXT } else { OUTPUT_JSON }] = output.clone();
        }
        document
    }

    /// The stream with this number.
    pub fn stream(&self, id: u32) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}

impl StreamResult {
    fn read(document: &Value) -> Result<Self, ProtocolError> {
        let members = Members::of(document)?;
        let number = |name| Ok::<f64, ProtocolError>(members.number(name)?.unwrap_or(0.0));
        let count = |name| Ok::<u64, ProtocolError>(members.count(name, u64::MAX)?.unwrap_or(0));
        let id = members.count("id", u32::MAX.into())?;
        let missing = || ProtocolError::Member { member: "id", why: "is missing".to_owned() };
        Ok(Self {
            id: id.and_then(|id| u32::try_from(id).ok()).ok_or_else(missing)?,
            bytes: count("bytes")?,
            retransmits: members.number("retransmits")?.and_then(retransmits),
            jitter_s: number("jitter")?,
            // Datagrams that arrive twice can make it negative.
            lost: number("errors")?.max(0.0) as u64,
            packets: count("packets")?,
            start_s: number("start_time")?,
            end_s: number("end_time")?,
        })
    }

    fn document(&self) -> Value {
        let retransmits = self.retransmits.map_or(json!(-1), |count| json!(count));
        json!({
            "id": self.id, "bytes": self.bytes, "retransmits": retransmits, "jitter": self.jitter_s,
            "errors": self.lost, "omitted_errors": 0, "packets": self.packets, "omitted_packets": 0,
            "start_time": self.start_s, "end_time": self.end_s,
        })
    }
}

/// -1 stands for none, and 3.12 writes it as 2^64 - 1 for UDP.
fn retransmits(count: f64) -> Option<u64> {
    (0.0..1e18).contains(&count).then_some(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As a server of 3.12 sends it.
    const OF_3_12: &str = r#"{"cpu_util_total":12.5,"cpu_util_user":1.5,"cpu_util_system":11,"sender_has_retransmits":-1,
        "congestion_used":"cubic","streams":[{"id":1,"bytes":123456789012,"retransmits":-1,"jitter":0,"errors":0,"packets":0,
        "start_time":0,"end_time":2.000664}]}"#;

    #[test]
    fn a_stock_servers_document_is_read() {
        let read = Results::read(&serde_json::from_str(OF_3_12).unwrap()).unwrap();
        assert_eq!(read.cpu_percent, [12.5, 1.5, 11.0]);
        let stream = read.stream(1).unwrap();
        assert_eq!((stream.bytes, stream.retransmits, stream.end_s), (123_456_789_012, None, 2.000_664));
        assert!(read.telemetry.is_none() && !read.has_retransmits);
    }

    #[test]
    fn what_is_written_is_read() {
        let stream =
            StreamResult { id: 3, bytes: 7, retransmits: Some(2), packets: 9, ..StreamResult::default() };
        let results = Results { has_retransmits: true, streams: vec![stream], ..Results::default() };
        assert_eq!(Results::read(&results.document()), Ok(results));
    }

    #[test]
    fn a_number_that_stands_for_none_is_none() {
        assert_eq!([-1.0, 18_446_744_073_709_551_615.0, 3.0].map(retransmits), [None, None, Some(3)]);
    }

    #[test]
    fn streams_without_a_number_and_too_many_are_refused() {
        assert!(Results::read(&json!({"streams": [{}]})).unwrap_err().to_string().contains("\"id\""));
        let many: Vec<Value> = (0..=STREAMS_MAX).map(|id| json!({"id": id})).collect();
        assert!(Results::read(&json!({"streams": many})).unwrap_err().to_string().contains("257"));
    }

    proptest! {
        #[test]
        fn any_number_is_a_result_or_an_error(number: f64) {
            let text = format!(r#"{{"cpu_util_total":{number},"streams":[{{"id":1,"bytes":{number},"errors":{number}}}]}}"#);
            if let Ok(document) = serde_json::from_str(&text) {
                let _read = Results::read(&document);
            }
        }
    }
}
