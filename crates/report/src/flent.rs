//! A flow of a run as a data file of Flent (`.flent.gz`), for those who plot with that.
//!
//! The file is what Flent's `tcp_nup`, `tcp_ndown` or `udp_flood` would have written (`flent/resultset.py`, version 3; the names of
//! the series are those of `flent/tests/`), with the sender's congestion window and smoothed round trip where its `ss` runner has
//! them.

use crate::runs::why_invalid;
use crate::wall_clock;
use flate2::{Compression, GzBuilder};
use pipefill_analysis::findings::intervals::{Interval, StreamIntervals};
use pipefill_analysis::ground::interval::carrying;
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::record::{Manifest, StreamSummary};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::time::Duration;

/// Flent's own step.
pub const STEP_US: u64 = 200_000;
/// The version of the file's form: Flent has read it since 0.12.
const VERSION: u32 = 3;

/// A flow's file, with the flow's index in the cell; pings have none.
///
/// # Errors
/// Those of serde_json and of the compression, which has no file to fail on.
pub fn files(manifest: &Manifest, intervals: &[StreamIntervals]) -> io::Result<Vec<(u32, Vec<u8>)>> {
    carrying(&manifest.run.cell.spec.flows)
        .map(|(index, spec)| {
            let flow = Flow { manifest, index, spec, intervals };
            let mut gz = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
            serde_json::to_writer(&mut gz, &flow.document())?;
            gz.flush()?;
            Ok((index, gz.finish()?))
        })
        .collect()
}

struct Flow<'a> {
    manifest: &'a Manifest,
    index: u32,
    spec: &'a FlowSpec,
    intervals: &'a [StreamIntervals],
}

/// One stream under Flent's name.
struct Series<'a> {
    name: String,
    mss_bytes: Option<u64>,
    intervals: &'a [Interval],
}

impl Flow<'_> {
    fn document(&self) -> Value {
        let all = self.series();
        let longest = all.iter().map(|series| series.intervals).max_by_key(|intervals| intervals.len());
        let x_values: Vec<f64> = longest.unwrap_or_default().iter().map(end_s).collect();
        let mut results: Map<String, Value> =
            all.iter().map(|series| (series.name.clone(), json!(series.values(x_values.len())))).collect();
        let sum: Vec<f64> = (0..x_values.len())
            .map(|at| all.iter().filter_map(|series| series.intervals.get(at)).map(mbps).sum())
            .collect();
        if self.spec.protocol == Protocol::Tcp {
            let mean: Vec<f64> =
                sum.iter().map(|all_streams| all_streams / all.len().max(1) as f64).collect();
            results.insert(format!("{} avg", self.base()), json!(mean));
            results.insert(format!("{} sum", self.base()), json!(sum));
        }
        let raw: Map<String, Value> =
            all.iter().map(|series| (series.name.clone(), series.raw(self.t0().as_secs_f64()))).collect();
        json!({
            "version": VERSION,
            "metadata": self.metadata(&all),
            "x_values": x_values,
            "results": results,
            "raw_values": raw,
        })
    }

    fn is_reverse(&self) -> bool {
        self.spec.direction == Direction::Reverse
    }

    /// What Flent calls streams of this kind.
    fn base(&self) -> String {
        let protocol = if self.spec.protocol == Protocol::Udp { "UDP" } else { "TCP" };
        format!("{protocol} {}", if self.is_reverse() { "download" } else { "upload" })
    }

    fn test(&self) -> &'static str {
        match (self.spec.protocol, self.is_reverse()) {
            (Protocol::Udp, _) => "udp_flood",
            (_, false) => "tcp_nup",
            (_, true) => "tcp_ndown",
        }
    }

    /// A single UDP stream has no number there.
    fn series(&self) -> Vec<Series<'_>> {
        let streams: Vec<&StreamSummary> =
            self.manifest.streams.iter().filter(|stream| stream.flow == self.index).collect();
        let is_numbered = self.spec.protocol == Protocol::Tcp || streams.len() > 1;
        let series = |(number, summary): (usize, &StreamSummary)| {
            let of_stream = self.intervals.iter().find(|stream| stream.stream == summary.stream);
            Series {
                name: if is_numbered { format!("{}::{number}", self.base()) } else { self.base() },
                mss_bytes: summary.tcp.map(|info| info.mss_bytes.into()),
                intervals: of_stream.map_or(&[], |stream| &stream.intervals),
            }
        };
        (1..).zip(streams).map(series).collect()
    }

    /// Since 1970. In virtual time that is when everything began; a clock beyond the year 9999, which no date here has, is at its end.
    fn t0(&self) -> Duration {
        Duration::from_millis(self.manifest.started_unix_ms.unwrap_or(0).min(wall_clock::LAST_UNIX_MS))
    }

    fn metadata(&self, all: &[Series<'_>]) -> Value {
        let run = &self.manifest.run;
        let moment = wall_clock::moment(self.manifest.started_unix_ms.unwrap_or(0));
        let time = moment.map(|moment| humantime::format_rfc3339_millis(moment).to_string());
        let seconds = self.spec.duration.as_secs_f64();
        let units: Map<String, Value> =
            all.iter().map(|series| (series.name.clone(), json!({"UNITS": "Mbits/s"}))).collect();
        let made = format!(
            "{}, made by pipefill {} on {}",
            run.experiment, self.manifest.pipefill, self.manifest.backend
        );
        let why = why_invalid(&self.manifest.invalid);
        let title =
            if why.is_some() { format!("INVALID RUN {}", run.directory) } else { run.directory.to_string() };
        let note = why.map_or(made.clone(), |why| format!("{why}. {made}"));
        json!({
            "NAME": self.test(),
            "TITLE": title,
            "NOTE": note,
            "TIME": time,
            "T0": time,
            "DATA_FILENAME": format!("{}-flow{}.flent.gz", run.directory, self.index),
            "LENGTH": seconds,
            "TOTAL_LENGTH": seconds,
            "STEP_SIZE": self.intervals.first().map_or(STEP_US, |stream| stream.width_us) as f64 / 1e6,
            "HOST": "receiver",
            "HOSTS": ["receiver"],
            "LOCAL_HOST": "sender",
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {"upload_streams": all.len(), "download_streams": all.len()},
            "FLENT_VERSION": null,
            "SERIES_META": units,
        })
    }
}

impl Series<'_> {
    /// As many as there are steps; null where this stream has ended.
    fn values(&self, steps: usize) -> Vec<Option<f64>> {
        (0..steps).map(|at| self.intervals.get(at).map(mbps)).collect()
    }

    /// The same, each with the sender's look: the window in packets and the round trip in milliseconds, as `ss` has them.
    fn raw(&self, t0_s: f64) -> Value {
        let point = |interval: &Interval| {
            let mut object = Map::new();
            object.insert("t".to_owned(), json!(t0_s + end_s(interval)));
            object.insert("val".to_owned(), json!(mbps(interval)));
            if let Some((look, mss)) = interval.look.zip(self.mss_bytes.filter(|&mss| mss > 0)) {
                let cwnd = look.cwnd_bytes.map(|bytes| ("tcp_cwnd".to_owned(), json!(bytes / mss)));
                object.extend(cwnd);
                let rtt = look.srtt_us.map(|us| ("tcp_rtt".to_owned(), json!(us as f64 / 1e3)));
                object.extend(rtt);
            }
            Value::Object(object)
        };
        self.intervals.iter().map(point).collect()
    }
}

fn end_s(interval: &Interval) -> f64 {
    interval.to_us as f64 / 1e6
}

/// What the receiving application read.
fn mbps(interval: &Interval) -> f64 {
    let length_us = interval.to_us.saturating_sub(interval.from_us);
    if length_us == 0 { 0.0 } else { interval.received_bytes * 8.0 / length_us as f64 }
}
