//! What a test measured, and what its sockets say: figures, verdict, records.

use super::contradictions::contradiction;
use super::delays::Times;
use super::{TestRequest, Tested};
use crate::end::End;
use crate::machine::machine;
use pipefill_analysis::findings::connections::{
    Connection, ConnectionCpu, DatagramCount, DatagramFlow, Datagrams, InvalidEnd, OtherTests, Server,
    TestEnd, TestFinding,
};
use pipefill_core::problem::Problem;
use pipefill_core::record::{Instrument, Invalid, Observed, OptionsSet, Process, TcpSample, UdpTotals};
use pipefill_core::units::{Bytes, Rate};
use pipefill_lab::one_end::why_invalid;
use pipefill_lab::sysctl::buffer_limits;
use pipefill_remote::far_end::{FarEnd, FarStream, FarTests};
use pipefill_remote::iperf3::{
    Cookie, Parameters, Results, StreamResult, TestDirection, Transport, stream_id,
};
use pipefill_report::iperf3::measured::{Counted, Interval, Measured, TestStream};
use pipefill_report::words::complete_test;
use pipefill_runs::{KeptConnection, Recorded};
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The number that iperf3's first stream usually has, and how far the next ones are from it.
const FIRST_SOCKET: u32 = 5;
const NEXT_SOCKET: u32 = 2;

/// What is told of a test.
#[derive(Debug)]
pub(super) struct MeasuredTest {
    pub(super) measured: Measured,
    /// Own address and the peer's of each stream.
    addresses: Vec<[SocketAddr; 2]>,
    machine: Option<[u8; 32]>,
}

impl MeasuredTest {
    /// What is known before data flows.
    pub(super) fn begin(asked: &TestRequest, parameters: &Parameters, cookie: &Cookie, end: &End) -> Self {
        let unknown = [SocketAddr::from(([0, 0, 0, 0], 0)); 2];
        let addresses: Vec<[SocketAddr; 2]> =
            (0..end.transfer.len()).map(|index| end.transfer.addresses(index).unwrap_or(unknown)).collect();
        let host = |address: SocketAddr| (address.ip().to_canonical().to_string(), address.port());
        let stream = |(index, [local, remote]): (usize, &[SocketAddr; 2])| TestStream {
            socket: FIRST_SOCKET + NEXT_SOCKET * u32::try_from(index).unwrap_or(0),
            local: host(*local),
            remote: host(*remote),
            sends: end.transfer.sends(index),
            ..TestStream::default()
        };
        let is_udp = parameters.transport == Transport::Udp;
        let mss = if is_udp { None } else { end.transfer.sample(0).map(|sample| sample.info.mss_bytes) };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let measured = Measured {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            system: system(),
            started_unix_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(0),
            host: asked.host.clone(),
            title: asked.title.clone(),
            cookie: cookie.as_str().to_owned(),
            mss_bytes: mss.map_or(0, u64::from),
            asked_mss: parameters.mss,
            bitrate_bps: parameters.bitrate_bps,
            window_bytes: parameters.window.unwrap_or(0),
            buffers: end.transfer.buffers(0),
            is_udp,
            length: parameters.length,
            omit_s: parameters.omit_s,
            time_s: parameters.time_s,
            bytes: parameters.bytes,
            blocks: parameters.blocks,
            is_reverse: parameters.way == TestDirection::ToClient,
            tos: parameters.tos,
            parallel: parameters.streams,
            streams: addresses.iter().enumerate().map(stream).collect(),
            ..Measured::default()
        };
        Self { measured, addresses, machine: machine(cookie) }
    }

    /// The figures and the verdict.
    ///
    /// # Errors
    /// The server's results lack a stream.
    pub(super) fn end(
        mut self,
        parameters: &Parameters,
        end: &mut End,
        theirs: Results,
        times: &Times,
    ) -> Result<Tested, Problem> {
        let ours = end.results();
        let cpu_percent = [ours.cpu_percent[0], theirs.cpu_percent[0]];
        let mut contradictions = Vec::new();
        for (index, stream) in self.measured.streams.iter_mut().enumerate() {
            let own = counted(&ours.streams[index], end.transfer.counted()[index].reordered);
            let far = theirs.stream(ours.streams[index].id).map(|result| counted(result, 0));
            let far = far.ok_or_else(|| {
                Problem::broken(format!("the server's results have no stream {}", ours.streams[index].id))
            })?;
            (stream.sent, stream.received) = if stream.sends { (own, far) } else { (far, own) };
            let results = theirs.stream(ours.streams[index].id).map(|far| [&ours.streams[index], far]);
            contradictions.extend(
                results.and_then(|results| contradiction(index, stream.socket, parameters, end, results)),
            );
        }
        self.measured.cpu_percent = [ours.cpu_percent, theirs.cpu_percent];
        let controls = [ours.congestion_control, theirs.congestion_control.clone()];
        self.measured.congestion_control = controls;
        if self.measured.is_reverse {
            self.measured.congestion_control.reverse();
        }
        self.measured.server_output = theirs.output.filter(|_| parameters.wants_output);
        let server = if theirs.telemetry.is_some() { Server::Pipefill } else { Server::Iperf3 };
        let invalid = self.invalid_ends(parameters, end, theirs.telemetry.as_ref(), cpu_percent);
        let other_tests = other_tests(end, theirs.telemetry.as_ref());
        let clock_set = times.clock_set();
        if clock_set.is_some() {
            self.measured.forget_jitter();
        }
        let (clock, one_way_delay) = (times.clock(), times.delays(end, theirs.telemetry.as_ref()));
        let (finding, kept) = match parameters.transport {
            Transport::Udp => (
                TestFinding::of_udp(server, &self.datagrams(parameters)),
                self.datagram_flows(parameters).map(Recorded::from).collect(),
            ),
            Transport::Tcp => {
                let mut kept = self.kept(end, parameters);
                let far = theirs.telemetry.map(|far| self.far(far, parameters)).unwrap_or_default();
                let finding =
                    TestFinding::of_tcp(server, &connections(&kept), &connections(&far), parameters.window);
                keep_senders(&mut kept, far, parameters.omit_s * 1_000_000);
                (finding, kept.into_iter().map(Recorded::from).collect())
            }
        };
        // What breaks now breaks because the test is over.
        let _closed = end.transfer.finish();
        let reasons = invalid.iter().map(reason_of_end).collect();
        let finding = TestFinding { contradictions, other_tests, clock_set, clock, one_way_delay, ..finding };
        let finding = complete_test(finding.invalidated(invalid));
        Ok(Tested { measured: self.measured, finding, kept, invalid: reasons })
    }

    /// Why the figures of either end must not be believed; `cpu_percent` is what each used of the test's time, this host first.
    pub(super) fn invalid_ends(
        &self,
        parameters: &Parameters,
        end: &End,
        far: Option<&FarEnd>,
        cpu_percent: [f64; 2],
    ) -> Vec<InvalidEnd> {
        let cpu_percent = self.is_one_machine(far).then_some(cpu_percent);
        invalid_ends(parameters, end, far, cpu_percent)
    }

    /// Whether the server is on this machine, as its addresses or itself tell.
    fn is_one_machine(&self, far: Option<&FarEnd>) -> bool {
        let is_own_address = |[local, remote]: &[SocketAddr; 2]| local.ip() == remote.ip();
        let far = far.and_then(|far| far.machine);
        self.addresses.first().is_some_and(is_own_address) || far.is_some() && far == self.machine
    }

    /// This host's sockets after the time that is left out.
    fn kept(&self, end: &mut End, parameters: &Parameters) -> Vec<KeptConnection> {
        let from_us = end.base().at.micros();
        let every = end.every();
        let samples = std::mem::take(&mut end.samples);
        let own = |(index, mut samples): (usize, Vec<_>)| {
            samples.retain(|sample: &TcpSample| sample.t_us >= from_us);
            let [local, remote] = self.addresses[index];
            let congestion_control = end.transfer.congestion_control(index).unwrap_or_default();
            let process = Process { pid: std::process::id(), name: "pipefill".to_owned() };
            let observed = Observed {
                local_buffers: buffer_limits(None),
                ..observed((local, remote), Some(process), parameters)
            };
            let sender_samples = Vec::new();
            KeptConnection {
                observed,
                congestion_control,
                offered: offered(parameters),
                every,
                samples,
                exact: None,
                cpu: ConnectionCpu::default(),
                sender_samples,
                receiver_samples: Vec::new(),
            }
        };
        samples.into_iter().enumerate().map(own).collect()
    }

    /// The server's sockets, which it looked at itself. Addresses are those that this host sees: another host's may stand between.
    fn far(&self, far: FarEnd, parameters: &Parameters) -> Vec<KeptConnection> {
        let index = |id: u32| {
            (0..self.addresses.len())
                .find(|&index| u32::try_from(index).is_ok_and(|index| stream_id(index) == id))
        };
        let streams = far.streams.into_iter().filter_map(|stream| Some((index(stream.id)?, stream)));
        streams
            .map(|(index, stream)| {
                let [local, remote] = self.addresses[index];
                let every = Duration::from_micros(stream.every_us);
                let observed = observed((remote, local), None, parameters);
                let FarStream { congestion_control, samples, .. } = stream;
                let sender_samples = Vec::new();
                KeptConnection {
                    observed,
                    congestion_control,
                    offered: offered(parameters),
                    every,
                    samples,
                    exact: None,
                    cpu: ConnectionCpu::default(),
                    sender_samples,
                    receiver_samples: Vec::new(),
                }
            })
            .collect()
    }

    /// What both ends counted of each stream, after the time that is left out.
    fn datagram_flows<'a>(
        &'a self,
        parameters: &'a Parameters,
    ) -> impl Iterator<Item = DatagramFlow> + use<'a> {
        let asked = offered(parameters);
        let length = Bytes::new(parameters.length);
        let process = Process { pid: std::process::id(), name: "pipefill".to_owned() };
        self.measured.streams.iter().enumerate().map(move |(index, stream)| {
            let [local, remote] = self.addresses[index];
            DatagramFlow {
                observed: observed((local, remote), Some(process.clone()), parameters),
                sends: stream.sends,
                asked,
                length,
                span_us: stream.sent.span_us,
                end_us: stream.sent.span_us.max(stream.received.span_us),
                sent_bytes: stream.sent.bytes,
                received_bytes: stream.received.bytes,
                totals: UdpTotals {
                    reordered: stream.received.reordered,
                    jitter_ns: (!self.measured.is_clock_set).then_some(stream.received.jitter_ns),
                    ..totals(stream)
                },
                counts: if stream.sends { Vec::new() } else { self.counts(index) },
            }
        })
    }

    /// What this host had received by the end of each interval.
    fn counts(&self, index: usize) -> Vec<DatagramCount> {
        let counted = self.measured.intervals.iter().filter(|interval| !interval.is_omitted);
        let sum = |so_far: &mut DatagramCount, interval: &Interval| {
            let counted = interval.streams[index].counted;
            *so_far = DatagramCount {
                t_us: interval.to_us,
                sent: so_far.sent + counted.packets,
                received: so_far.received + counted.packets.saturating_sub(counted.lost),
                reordered: so_far.reordered + counted.reordered,
                jitter_ns: counted.jitter_ns,
            };
            Some(*so_far)
        };
        counted.scan(DatagramCount::default(), sum).collect()
    }

    fn datagrams(&self, parameters: &Parameters) -> Vec<Datagrams> {
        let of_way = |sends: bool| {
            let streams: Vec<&TestStream> =
                self.measured.streams.iter().filter(|stream| stream.sends == sends).collect();
            let span_us = streams.iter().map(|stream| stream.sent.span_us).max()?.max(1);
            let bytes: u64 = streams.iter().map(|stream| stream.sent.bytes).sum();
            let totals = || streams.iter().map(|stream| totals(stream));
            let asked = parameters.bitrate_bps.saturating_mul(streams.len() as u64);
            Some(Datagrams {
                asked_bps: (asked > 0).then_some(asked),
                sent_bps: (bytes as f64 * 8e6 / span_us as f64) as u64,
                sent: totals().map(|totals| totals.sent).sum(),
                lost: totals().map(|totals| totals.sent - totals.received).sum(),
            })
        };
        [true, false].into_iter().filter_map(of_way).collect()
    }
}

/// Keeps what the server told of the sockets on which it sends beside this host's own. Its first sample is taken to be as old as this end's first
/// one: both ends begin within the time that the word for it travels. This host's are those after the time that is left out.
fn keep_senders(kept: &mut [KeptConnection], far: Vec<KeptConnection>, omit_us: u64) {
    for mut far in far {
        let is_its_peer = |own: &&mut KeptConnection| {
            own.observed.remote == far.observed.local && own.observed.local == far.observed.remote
        };
        let Some(own) = kept.iter_mut().find(is_its_peer) else { continue };
        let carried = own.connection().carried();
        let (Some(first), Some(far_first)) = (own.samples.first(), far.samples.first()) else { continue };
        if carried.received <= carried.sent {
            continue;
        }
        let (first_us, far_first_us) = (first.t_us, far_first.t_us);
        for sample in &mut far.samples {
            sample.t_us = (sample.t_us - far_first_us + first_us).saturating_sub(omit_us);
        }
        far.samples.retain(|sample| sample.t_us >= first_us);
        (own.congestion_control, own.sender_samples) = (far.congestion_control, far.samples);
    }
}

/// Why the figures of either end must not be believed.
/// `cpu_percent` is what both ends used of the test's
/// time, this host's first, where they share a machine: none of it is others'.
fn invalid_ends(
    parameters: &Parameters,
    end: &End,
    far: Option<&FarEnd>,
    cpu_percent: Option<[f64; 2]>,
) -> Vec<InvalidEnd> {
    let has_rate = [parameters.bitrate_bps, parameters.pacing_bps, parameters.read_rate_bps] != [0; 3];
    let ends =
        [(TestEnd::Client, end.punctual()), (TestEnd::Server, far.and_then(|far| far.instrument.as_ref()))];
    let reasons = ends.into_iter().flat_map(|(end, instrument)| {
        let of_peer = cpu_percent.map_or(0.0, |[own, far]| if end == TestEnd::Client { far } else { own });
        let reasons = instrument.map(|instrument| why_invalid(&beside_peer(instrument, of_peer), has_rate));
        reasons.into_iter().flatten().map(move |invalid| InvalidEnd {
            end,
            reason: invalid.reason,
            detail: invalid.detail,
        })
    });
    reasons.collect()
}

/// With the CPU time of the peer on the same machine as the test's own.
fn beside_peer(instrument: &Instrument, percent: f64) -> Instrument {
    let mut instrument = instrument.clone();
    if let Some(used) = &mut instrument.cpu_use {
        let of_peer = ((percent.max(0.0) / 100.0 * used.span_us as f64) as u64).min(used.others_us);
        used.others_us -= of_peer;
        used.own_us = used.own_us.saturating_add(of_peer);
    }
    instrument
}

/// The same in a record.
pub(crate) fn reason_of_end(invalid: &InvalidEnd) -> Invalid {
    let place = if invalid.end == TestEnd::Client { "this host" } else { "the server" };
    Invalid { reason: invalid.reason.clone(), detail: format!("at {place}: {}", invalid.detail) }
}

/// What the server tells of other tests.
fn other_tests(end: &End, far: Option<&FarEnd>) -> Option<OtherTests> {
    let FarTests { most, together_us } = far?.other_tests.filter(|others| others.most > 0)?;
    let time_share = together_us as f64 / end.elapsed().as_micros().max(1) as f64;
    Some(OtherTests { most, time_share: time_share.min(1.0) })
}

/// What each stream is to send; `None` for as much as goes.
fn offered(parameters: &Parameters) -> Option<Rate> {
    (parameters.bitrate_bps > 0).then(|| Rate::from_bps(parameters.bitrate_bps))
}

/// Datagrams of a stream.
fn totals(stream: &TestStream) -> UdpTotals {
    UdpTotals::of_both_ends(stream.sent.packets, stream.received.packets, stream.received.lost)
}

fn connections(all: &[KeptConnection]) -> Vec<Connection<'_>> {
    all.iter().map(KeptConnection::connection).collect()
}

fn observed(
    (local, remote): (SocketAddr, SocketAddr),
    process: Option<Process>,
    parameters: &Parameters,
) -> Observed {
    // Both ends set what `-w` and `-N` ask for.
    let options = (parameters.transport == Transport::Tcp)
        .then(|| OptionsSet::of_buffers(parameters.window.is_some(), Some(parameters.no_delay)));
    Observed {
        process,
        local: local.to_string(),
        remote: remote.to_string(),
        writes_all: offered(parameters).is_none(),
        local_options: options,
        remote_options: options,
        ..Observed::default()
    }
}

fn counted(result: &StreamResult, reordered: u64) -> Counted {
    Counted {
        bytes: result.bytes,
        retransmits: result.retransmits,
        packets: result.packets,
        lost: result.lost,
        reordered,
        jitter_ns: (result.jitter_s.max(0.0) * 1e9) as u64,
        span_us: ((result.end_s - result.start_s).max(0.0) * 1e6) as u64,
    }
}

/// As `uname -a` has it.
fn system() -> String {
    let read = |name: &str| {
        fs::read_to_string(format!("/proc/sys/kernel/{name}"))
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    let parts = ["ostype", "hostname", "osrelease", "version"].map(read);
    format!("{} {}", parts.join(" "), std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::CpuUse;

    #[test]
    fn what_the_peer_uses_on_the_same_machine_is_the_tests_own() {
        let cpu_use = Some(CpuUse { cpus: 2, span_us: 1_000_000, own_us: 900_000, others_us: 1_000_000 });
        let instrument = Instrument { cpu_use, ..Instrument::default() };
        let others = |percent| {
            let used = beside_peer(&instrument, percent).cpu_use.unwrap();
            (used.own_us, used.others_us)
        };
        assert_eq!(others(0.0), (900_000, 1_000_000), "another machine");
        assert_eq!(others(95.0), (1_850_000, 50_000));
        assert_eq!(others(400.0), (1_900_000, 0));
        assert_eq!(others(f64::NAN), (900_000, 1_000_000));
    }
}
