//! What our own server tells beside iperf3's results: samples of its sockets and of datagrams' delays, so that a verdict rests on both ends.
//!
//! A client that can read them says so by the member `pipefill` of its parameters, and the server answers with one of the same name in
//! its results. A stock iperf3 looks at neither: cJSON hands out members by name, and nobody asks for this one.

use pipefill_core::record::TcpSample;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The member's name.
pub const MEMBER: &str = "pipefill";
/// The version of what it contains. A reader ignores a version that it does not know.
pub const VERSION: u32 = 1;
/// Samples of all streams together. Where there are more, they lie further apart.
pub const SAMPLES_MAX: usize = 4_000;

/// The server's sockets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FarEnd {
    /// [`VERSION`].
    pub version: u32,
    /// Version of its pipefill.
    pub pipefill: String,
    /// Its streams.
    pub streams: Vec<FarStream>,
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
        Self { version: VERSION, pipefill: pipefill.to_owned(), streams }
    }

    /// Reads the member; `None` where it is of another version, or not what it should be: then there is no telemetry. What the
    /// server's results may have in all bounds it.
    pub fn read(member: &Value) -> Option<Self> {
        let version = member.get("version")?.as_u64()?;
        let read = || Self::deserialize(member).ok();
        let read = (version == u64::from(VERSION)).then(read).flatten()?;
        let is_in_order = |one: &FarStream| one.samples.is_sorted_by_key(|sample| sample.t_us);
        read.streams.iter().all(is_in_order).then_some(read)
    }

    /// As it is sent.
    pub fn document(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

impl FarStream {
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
    use pipefill_core::record::StreamEnd;
    use pipefill_core::tcp_info::TcpInfo;
    use serde_json::json;

    fn sample(t_us: u64) -> TcpSample {
        TcpSample {
            t_us,
            stream: 0,
            end: StreamEnd::Sender,
            info: TcpInfo::default(),
            wmem_queued_bytes: None,
            sndbuf_bytes: None,
            rmem_alloc_bytes: None,
            rcvbuf_bytes: None,
            raw: None,
        }
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
        assert_eq!(FarEnd::read(&json!({"version": 2})), None);
        assert_eq!(FarEnd::read(&json!("pipefill")), None);
    }
}
