//! From tests with a server to the record of a run: rows in order of time, sums, settings.
//!
//! The other end's samples have another clock. Its first one is taken to be as old as this end's first one: both ends begin within the time that
//! the word for it travels.

use crate::client::{EndedStream, EndedTest, reason_of_end};
use pipefill_analysis::findings::connections::InvalidEnd;
use pipefill_core::hosts;
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{
    AnyRow, AqmSample, CaStateSource, DeliverySample, Environment, Instrument, Manifest, Observed,
    RECORD_VERSION, Setting, Sink, StreamEnd, StreamSummary, Subject, TcpSample, UdpTotals,
};
use pipefill_core::tcp_info::TcpInfo;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What was measured.
pub(super) struct Measured {
    /// From when the run's time counts.
    pub(super) zero: Instant,
    /// The test that each flow was.
    pub(super) flows: Vec<EndedTest>,
    /// How the discipline of a shaped interface stood, where there is one.
    pub(super) queue: Vec<AqmSample>,
    /// Of the other host.
    pub(super) far_settings: Vec<Setting>,
    /// Whether this host is the one that sends in the forward direction.
    pub(super) is_own_sender: bool,
}

/// Hands the rows to `sink`, and returns the manifest.
///
/// # Errors
/// [`Problem`].
pub(super) fn write(
    run: &Run,
    measured: Measured,
    own_settings: Vec<Setting>,
    environment: Environment,
    began: SystemTime,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    let subject = subject(&measured);
    let settings = if measured.is_own_sender {
        [own_settings, measured.far_settings]
    } else {
        [measured.far_settings, own_settings]
    };
    let mut settings = settings.concat();
    let invalid = why_invalid(&measured.flows);
    let mut streams = Vec::new();
    let mut rows: Vec<AnyRow> = measured.queue.into_iter().map(AnyRow::Aqm).collect();
    for (flow, of_flow) in (0..).zip(measured.flows) {
        for stream in of_flow.streams {
            let number = u32::try_from(streams.len()).unwrap_or(u32::MAX);
            let numbered = Numbered::new(number, flow, measured.zero, stream);
            settings.extend(numbered.settings());
            streams.push(numbered.summary());
            rows.extend(numbered.rows());
        }
    }
    rows.sort_by_key(AnyRow::t_us);
    rows.into_iter().try_for_each(|row| sink.push(row))?;
    let millis = |span: Duration| u64::try_from(span.as_millis()).ok();
    Ok(Manifest {
        version: RECORD_VERSION,
        pipefill: env!("CARGO_PKG_VERSION").to_owned(),
        backend: hosts::BACKEND.to_owned(),
        run: run.clone(),
        subject,
        started_unix_ms: began.duration_since(UNIX_EPOCH).ok().and_then(millis),
        wall_ms: began.elapsed().ok().and_then(millis),
        environment,
        settings,
        streams,
        counters: Vec::new(),
        aqm: Vec::new(),
        instrument: Instrument::default(),
        invalid: invalid.iter().map(reason_of_end).collect(),
        tables: None,
        artifacts: Vec::new(),
    })
}

/// Each reason of either end once: all flows are measured by the same two processes.
fn why_invalid(flows: &[EndedTest]) -> Vec<InvalidEnd> {
    let mut known: Vec<InvalidEnd> = Vec::new();
    for invalid in flows.iter().flat_map(|flow| &flow.invalid) {
        if !known.iter().any(|known| (known.end, &known.reason) == (invalid.end, &invalid.reason)) {
            known.push(invalid.clone());
        }
    }
    known
}

/// The sender's address and the receiver's, as this host sees them.
fn subject(measured: &Measured) -> Subject {
    let addresses = measured.flows.iter().flat_map(|flow| &flow.streams).find_map(|stream| stream.addresses);
    let [mut local, mut remote] = addresses
        .map_or_else(Default::default, |both| both.map(|address| address.ip().to_canonical().to_string()));
    if !measured.is_own_sender {
        std::mem::swap(&mut local, &mut remote);
    }
    Subject::Observed(Observed { local, remote, ..Observed::default() })
}

/// A stream with its place in the run.
struct Numbered {
    number: u32,
    flow: u32,
    /// When data began and ended to flow, microseconds of the run.
    start_us: u64,
    stop_us: u64,
    /// When both ends had stopped counting.
    end_us: u64,
    /// Samples of the end that sends, of the end that receives.
    samples: [Vec<TcpSample>; 2],
    stream: EndedStream,
}

impl Numbered {
    fn new(number: u32, flow: u32, zero: Instant, mut stream: EndedStream) -> Self {
        let later_us = micros(stream.zero.saturating_duration_since(zero));
        let start_us = later_us + stream.began.micros();
        let after = |seconds: f64| start_us + (seconds.max(0.0) * 1e6) as u64;
        let (stop_us, end_us) = (after(stream.own.end_s), after(stream.own.end_s.max(stream.far.end_s)));
        let mut own = std::mem::take(&mut stream.own_samples);
        let mut far = std::mem::take(&mut stream.far_samples);
        let first_us = |samples: &[TcpSample]| samples.first().map_or(0, |sample| sample.t_us);
        let (own_first, far_first) = (first_us(&own), first_us(&far));
        for sample in &mut own {
            sample.t_us += later_us;
        }
        for sample in &mut far {
            sample.t_us = sample.t_us - far_first + own_first + later_us;
        }
        let mut samples = if stream.sends { [own, far] } else { [far, own] };
        for (samples, end) in samples.iter_mut().zip([StreamEnd::Sender, StreamEnd::Receiver]) {
            samples.iter_mut().for_each(|sample| (sample.stream, sample.end) = (number, end));
        }
        Self { number, flow, start_us, stop_us, end_us, samples, stream }
    }

    fn sent(&self) -> &pipefill_remote::iperf3::StreamResult {
        if self.stream.sends { &self.stream.own } else { &self.stream.far }
    }

    fn received(&self) -> &pipefill_remote::iperf3::StreamResult {
        if self.stream.sends { &self.stream.far } else { &self.stream.own }
    }

    fn is_udp(&self) -> bool {
        self.stream.congestion_control[0].is_none()
    }

    fn summary(&self) -> StreamSummary {
        let tcp: Option<TcpInfo> = self.samples[0].last().map(|sample| sample.info);
        StreamSummary {
            stream: self.number,
            flow: self.flow,
            start_us: self.start_us,
            stop_us: self.stop_us,
            end_us: self.end_us,
            sent_bytes: self.sent().bytes,
            received_bytes: self.received().bytes,
            tcp,
            udp: self.is_udp().then(|| self.datagrams()),
            packets: None,
            bucket: None,
            repetition: None,
            datagrams: None,
            ca_state_us: None,
            ca_state_source: (!self.is_udp()).then_some(CaStateSource::Sampled),
        }
    }

    fn datagrams(&self) -> UdpTotals {
        let received = self.received();
        UdpTotals {
            reordered: self.stream.reordered,
            jitter_ns: Some((received.jitter_s.max(0.0) * 1e9) as u64),
            ..UdpTotals::of_both_ends(self.sent().packets, received.packets, received.lost)
        }
    }

    /// What was asked of its sockets is the flow's; this is what they had.
    fn settings(&self) -> Vec<Setting> {
        let ends = if self.stream.sends { ["sender", "receiver"] } else { ["receiver", "sender"] };
        let of = |end: &str, name: &str, got: String| Setting {
            place: format!("stream {} {end}", self.number),
            name: name.to_owned(),
            asked: None,
            got: Some(got),
            why: None,
            met: true,
        };
        let names = ends.iter().zip(&self.stream.congestion_control);
        let mut settings: Vec<Setting> =
            names.filter_map(|(end, name)| Some(of(end, "TCP_CONGESTION", name.clone()?))).collect();
        let buffers = ["SO_SNDBUF", "SO_RCVBUF"].into_iter().zip(self.stream.buffers);
        settings.extend(buffers.map(|(name, bytes)| of(ends[0], name, bytes.to_string())));
        settings
    }

    /// Samples, and beside each what had been sent and received by then, as far as sockets tell it.
    fn rows(self) -> Vec<AnyRow> {
        let (number, start_us, end_us) = (self.number, self.start_us, self.end_us);
        let (is_udp, sent, received) = (self.is_udp(), self.sent().bytes, self.received().bytes);
        let delivery = |t_us, sent_bytes, received_bytes| {
            AnyRow::Delivery(DeliverySample { t_us, stream: number, sent_bytes, received_bytes })
        };
        let mut rows = vec![delivery(start_us, 0, 0)];
        let [of_sender, of_receiver] = self.samples;
        let has_both = !of_receiver.is_empty() && !of_sender.is_empty();
        let mut samples: Vec<TcpSample> = of_sender.into_iter().chain(of_receiver).collect();
        samples.sort_by_key(|sample| sample.t_us);
        let (mut gone, mut come) = (0, 0);
        for sample in samples {
            let (t_us, end) = (sample.t_us, sample.end);
            match end {
                StreamEnd::Sender => {
                    gone = gone.max(sample.info.bytes_acked.unwrap_or(0));
                    if !has_both {
                        come = come.max(gone);
                    }
                }
                StreamEnd::Receiver => {
                    come = come.max(sample.info.bytes_received.unwrap_or(0));
                    gone = gone.max(come);
                }
            }
            rows.push(AnyRow::Tcp(sample));
            if t_us > start_us {
                rows.push(delivery(t_us, gone, come));
            }
        }
        if is_udp {
            rows.push(delivery(end_us, sent, received));
        }
        rows
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::findings::connections::TestEnd;
    use pipefill_core::units::Time;
    use pipefill_remote::iperf3::StreamResult;

    fn sample(t_us: u64, [acked, received]: [u64; 2]) -> TcpSample {
        let info = TcpInfo { bytes_acked: Some(acked), bytes_received: Some(received), ..TcpInfo::default() };
        TcpSample::of_info(t_us, 9, StreamEnd::Sender, info)
    }

    fn ended(sends: bool, far_samples: Vec<TcpSample>, zero: Instant) -> EndedStream {
        let counted = |bytes| StreamResult { bytes, end_s: 1.0, ..StreamResult::default() };
        let name = Some("cubic".to_owned());
        EndedStream {
            sends,
            zero: zero + Duration::from_micros(1_000),
            began: Time::from_nanos(50_000),
            own: counted(700),
            far: counted(600),
            reordered: 0,
            own_samples: vec![sample(60, [0, 0]), sample(500_060, [300, 0])],
            far_samples,
            congestion_control: [name.clone(), name],
            buffers: [1, 2],
            addresses: None,
        }
    }

    fn table(numbered: Numbered) -> Vec<(u64, Option<StreamEnd>, u64, u64)> {
        let mut rows = numbered.rows();
        rows.sort_by_key(AnyRow::t_us);
        rows.into_iter()
            .map(|row| match row {
                AnyRow::Delivery(row) => (row.t_us, None, row.sent_bytes, row.received_bytes),
                AnyRow::Tcp(row) => (row.t_us, Some(row.end), 0, u64::from(row.stream)),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn each_end_has_its_own_reasons() {
        let late = |end, detail: &str| InvalidEnd {
            end,
            reason: "late_samples".to_owned(),
            detail: detail.to_owned(),
        };
        let flow = || EndedTest {
            streams: Vec::new(),
            invalid: vec![late(TestEnd::Client, "a"), late(TestEnd::Server, "b")],
        };
        let reasons: Vec<_> = why_invalid(&[flow(), flow()]).iter().map(reason_of_end).collect();
        let details: Vec<&str> = reasons.iter().map(|reason| reason.detail.as_str()).collect();
        assert_eq!(details, ["at this host: a", "at the server: b"]);
    }

    #[test]
    fn both_ends_samples_are_on_one_clock() {
        let zero = Instant::now();
        let far = vec![sample(7_000, [0, 0]), sample(507_010, [0, 200])];
        let numbered = Numbered::new(3, 0, zero, ended(true, far, zero));
        assert_eq!((numbered.start_us, numbered.stop_us), (1_050, 1_001_050));
        let (sender, receiver) = (Some(StreamEnd::Sender), Some(StreamEnd::Receiver));
        let told = table(numbered);
        assert_eq!(told[0], (1_050, None, 0, 0));
        let tcp: Vec<_> =
            told.iter().filter(|row| row.1.is_some()).map(|row| (row.0, row.1, row.3)).collect();
        let at = [(1_060, sender, 3), (1_060, receiver, 3), (501_060, sender, 3), (501_070, receiver, 3)];
        assert_eq!(tcp, at);
        // What was acknowledged is no more than what was sent, and what the receiver had is its own count.
        assert_eq!(told.last(), Some(&(501_070, None, 300, 200)));
    }

    #[test]
    fn without_the_other_end_what_was_acknowledged_was_received() {
        let zero = Instant::now();
        let told = table(Numbered::new(0, 0, zero, ended(true, Vec::new(), zero)));
        assert_eq!(told.last(), Some(&(501_060, None, 300, 300)));
        let summary = Numbered::new(0, 0, zero, ended(false, Vec::new(), zero)).summary();
        assert_eq!((summary.sent_bytes, summary.received_bytes, summary.tcp), (600, 700, None));
    }
}
