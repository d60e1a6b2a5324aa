//! What our own server tells beside iperf3's results: samples of its sockets and of datagrams' delays, so that a verdict rests on both ends.
//!
//! A client that can read them says so by the member `pipefill` of its parameters, and the server answers with one of the same name in
//! its results. A stock iperf3 looks at neither: cJSON hands out members by name, and nobody asks for this one. The samples are compressed (JSON,
//! zstd, Base64), because the way back may be as slow as the one that was measured.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pipefill_core::record::{Instrument, TcpSample, ThreadRole};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Read as _;

/// The member's name.
pub const MEMBER: &str = "pipefill";
/// Names of parts of it.
const INSTRUMENT: &str = "instrument";
const OTHER_TESTS: &str = "other_tests";
const MACHINE: &str = "machine";
/// The version of what it contains. A reader ignores a version that it does not know.
pub const VERSION: u32 = 2;
/// Samples of all streams together. Where there are more, they lie further apart.
pub const SAMPLES_MAX: usize = 4_000;
/// JSON of all streams, bytes: what is longer is not read.
const STREAMS_BYTES_MAX: u64 = 16 << 20;
/// Its window is at most this power of two, bytes, so that nobody asks for more memory.
const WINDOW_LOG_MAX: u32 = 23;
/// A second's samples of one stream are some 40 kB of JSON: what is sent may have to go through 50 kbit/s.
const LEVEL: i32 = 9;

/// The server's sockets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FarEnd {
    /// Version of its pipefill.
    pub pipefill: String,
    /// Its streams.
    pub streams: Vec<FarStream>,
    /// How punctual it was; `None` of an older server.
    pub instrument: Option<Instrument>,
    /// Other tests that it served at the same time; `None` of an older server.
    pub other_tests: Option<FarTests>,
    /// What tells its machine from others in this test; `None` of an older server.
    pub machine: Option<[u8; 32]>,
}

/// Other tests whose data went through the server while those of this one did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarTests {
    /// The most at one time.
    pub most: u32,
    /// Time in which there was at least one, microseconds.
    pub together_us: u64,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FarStream {
    /// The number of the stream in the test.
    pub id: u32,
    /// Name of its congestion control.
    pub congestion_control: String,
    /// From one sample to the next, microseconds.
    pub every_us: u64,
    /// Samples, in order of time; microseconds since its test began.
    pub samples: Vec<TcpSample>,
    /// Of UDP that it receives, now and then: its clock when the newest datagram came, nanoseconds since the Unix epoch, and by how
    /// much that is later than the time that the datagram carries, nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transits: Vec<(u64, i64)>,
}

impl FarEnd {
    /// Of `streams`, with so many of their samples that there are no more than [`SAMPLES_MAX`] in all.
    pub fn new(pipefill: &str, mut streams: Vec<FarStream>) -> Self {
        let most = SAMPLES_MAX / streams.len().max(1);
        streams.iter_mut().for_each(|stream| stream.thin(most));
        Self { pipefill: pipefill.to_owned(), streams, instrument: None, other_tests: None, machine: None }
    }

    /// Reads the member; `None` where it is of another version, or not what it should be: then there is no telemetry.
    pub fn read(member: &Value) -> Option<Self> {
        if member.get("version")?.as_u64()? != u64::from(VERSION) {
            return None;
        }
        let pipefill = member.get("pipefill")?.as_str()?.to_owned();
        let compressed = BASE64_STANDARD.decode(member.get("streams")?.as_str()?).ok()?;
        let streams = FarStream::read_all(&decompressed(&compressed)?)?;
        let (instrument, other_tests) = (part(member, INSTRUMENT).map(named), part(member, OTHER_TESTS));
        Some(Self { pipefill, streams, instrument, other_tests, machine: part(member, MACHINE) })
    }

    /// As it is sent.
    pub fn document(&self) -> Value {
        let compressed =
            serde_json::to_vec(&self.streams).ok().and_then(|json| zstd::bulk::compress(&json, LEVEL).ok());
        let streams = compressed.map(|bytes| BASE64_STANDARD.encode(bytes));
        let mut document = json!({"version": VERSION, "pipefill": self.pipefill, "streams": streams});
        if let Some(instrument) = &self.instrument {
            document[INSTRUMENT] = json!(instrument);
        }
        if let Some(other_tests) = &self.other_tests {
            document[OTHER_TESTS] = json!(other_tests);
        }
        if let Some(machine) = &self.machine {
            document[MACHINE] = json!(machine);
        }
        document
    }
}

/// A part that older servers do not send; `None` too where it is not what it should be.
fn part<T: DeserializeOwned>(member: &Value, name: &str) -> Option<T> {
    serde_json::from_value(member.get(name)?.clone()).ok()
}

/// With names of threads that we give them: what a server sends reaches no sentence.
fn named(mut instrument: Instrument) -> Instrument {
    for thread in &mut instrument.threads {
        let name = match thread.thread.to_string().as_str() {
            "the sender" => "the sender",
            "the receiver" => "the receiver",
            _ => "a thread",
        };
        thread.thread = ThreadRole::Other(name.to_owned());
    }
    instrument
}

/// At most [`STREAMS_BYTES_MAX`] of them.
fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = zstd::Decoder::with_buffer(bytes).ok()?;
    decoder.window_log_max(WINDOW_LOG_MAX).ok()?;
    let mut all = Vec::new();
    decoder.take(STREAMS_BYTES_MAX + 1).read_to_end(&mut all).ok()?;
    (all.len() as u64 <= STREAMS_BYTES_MAX).then_some(all)
}

impl FarStream {
    /// Reads the JSON of all streams; `None` where it is not what it should be, or samples are not in order of time.
    pub fn read_all(json: &[u8]) -> Option<Vec<Self>> {
        let all: Vec<Self> = serde_json::from_slice(json).ok()?;
        let is_in_order = |stream: &Self| stream.samples.is_sorted_by_key(|sample| sample.t_us);
        all.iter().all(is_in_order).then_some(all)
    }

    /// Leaves so many samples, about.
    fn thin(&mut self, most: usize) {
        let step = thin(&mut self.samples, most).max(thin(&mut self.transits, most));
        self.every_us = self.every_us.saturating_mul(step as u64);
    }
}

/// Leaves every n-th of `all`, and the last one; returns n.
fn thin<T>(all: &mut Vec<T>, most: usize) -> usize {
    let step = all.len().div_ceil(most.max(2)).max(1);
    let last = all.len().saturating_sub(1);
    let mut index = 0;
    all.retain(|_| {
        let is_kept = index % step == 0 || index == last;
        index += 1;
        is_kept
    });
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::{StreamEnd, ThreadCpu};
    use pipefill_core::tcp_info::TcpInfo;
    use serde_json::json;

    fn sample(t_us: u64) -> TcpSample {
        TcpSample::of_info(t_us, 0, StreamEnd::Sender, TcpInfo::default())
    }

    fn stream(samples: u64) -> FarStream {
        FarStream { every_us: 10, samples: (0..samples).map(sample).collect(), ..FarStream::default() }
    }

    #[test]
    fn samples_are_bounded_and_the_last_one_stays() {
        let far = FarEnd::new("0", vec![stream(100_000), stream(10)]);
        assert!(far.streams[0].samples.len() <= SAMPLES_MAX / 2 + 1);
        assert_eq!(far.streams[0].samples.last().unwrap().t_us, 99_999);
        assert_eq!((far.streams[0].every_us, far.streams[1].every_us), (500, 10));
        assert_eq!(FarEnd::read(&far.document()), Some(far));
    }

    #[test]
    fn what_is_of_another_version_or_out_of_order_is_not_there() {
        let mut far = FarEnd::new("0", vec![stream(3)]);
        far.streams[0].samples.reverse();
        assert_eq!(FarEnd::read(&far.document()), None);
        assert_eq!(FarEnd::read(&json!({"version": 1, "pipefill": "0", "streams": []})), None);
        assert_eq!(FarEnd::read(&json!({"version": 2})), None);
        assert_eq!(FarEnd::read(&json!("pipefill")), None);
    }

    #[test]
    fn an_older_server_tells_less_and_a_hostile_one_no_words() {
        let thread = |name: &str| ThreadCpu {
            thread: ThreadRole::Other(name.to_owned()),
            user_us: 1,
            system_us: 2,
            wait_us: Some(3),
        };
        let threads = vec![thread("the sender"), thread("\u{1b}[2J\npath 100 %")];
        let instrument = Some(Instrument { threads, ..Instrument::default() });
        let other_tests = Some(FarTests { most: 2, together_us: 7 });
        let far = FarEnd { instrument, other_tests, ..FarEnd::new("0", vec![stream(3)]) };
        let mut document = far.document();
        let read = FarEnd::read(&document).unwrap();
        assert_eq!(read.other_tests, far.other_tests);
        let names: Vec<String> =
            read.instrument.unwrap().threads.iter().map(|thread| thread.thread.to_string()).collect();
        assert_eq!(names, ["the sender", "a thread"]);
        document["instrument"] = json!("soon");
        document["other_tests"] = json!([1]);
        let read = FarEnd::read(&document).unwrap();
        assert_eq!((read.instrument, read.other_tests, read.streams.len()), (None, None, 1));
    }

    #[test]
    fn samples_are_sent_compressed_and_read_within_bounds() {
        let far = FarEnd::new("0", vec![stream(4_000)]);
        let (sent, json) =
            (far.document().to_string().len(), serde_json::to_vec(&far.streams).unwrap().len());
        assert!(10 * sent < json, "{sent} of {json} bytes");
        let of = |length: u64| {
            let json = [b"[", &vec![b' '; length as usize - 2][..], b"]"].concat();
            let streams = BASE64_STANDARD.encode(zstd::bulk::compress(&json, 1).unwrap());
            FarEnd::read(&json!({"version": VERSION, "pipefill": "", "streams": streams}))
        };
        assert_eq!(of(STREAMS_BYTES_MAX), Some(FarEnd::default()));
        assert_eq!(of(STREAMS_BYTES_MAX + 1), None);
        let cut = |bytes: &[u8]| {
            FarEnd::read(
                &json!({"version": VERSION, "pipefill": "", "streams": BASE64_STANDARD.encode(bytes)}),
            )
        };
        let whole = zstd::bulk::compress(b"[]", 1).unwrap();
        assert_eq!(cut(&whole), Some(FarEnd::default()));
        assert!((0..whole.len()).all(|length| cut(&whole[..length]).is_none()));
    }
}
