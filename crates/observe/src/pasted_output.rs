//! The output of another program as connections: to be judged, and to be kept as records.

use crate::capture_reading::{STDIN, capture_name};
use pipefill_analysis::findings::connections::{
    Connection, ConnectionCpu, DatagramFlow, PastedConnection, PastedOutput, ProcessCpuRows,
};
use pipefill_core::problem::Problem;
use pipefill_core::record::{CpuSample, HostContext, ReadFrom, ThreadRole, UdpTotals};
use pipefill_core::units::Bytes;
use pipefill_pasted::{BYTES_MAX, Output, OutputConnection, OutputDatagrams, ReadError};
use pipefill_runs::{Failure, KeptConnection, Recorded, Written, write_connections};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// How many bytes are looked at to distinguish text from a capture.
const BEGINNING: usize = 512;

/// The output of a program, read.
#[derive(Debug, Clone)]
pub struct OutputRead {
    output: Output,
    context: HostContext,
}

impl OutputRead {
    /// Adds context from `file`, printed on the same host: `tc -s qdisc` or `nstat -az`.
    ///
    /// # Errors
    /// [`Problem`] where it can't be read, or shows neither.
    pub fn beside(mut self, file: &Path) -> Result<Self, Problem> {
        let name = capture_name(file);
        let context = pipefill_pasted::read_context(&bytes_of(file)?, &name).map_err(|error| {
            let what = match error {
                ReadError::Unknown => format!("{name} shows neither a queueing discipline nor a counter"),
                error => format!("{name}: {error}"),
            };
            Problem::usage(
                what,
                "give what `tc -s qdisc` or `nstat -az` printed on the host of the connection",
            )
        })?;
        self.context.qdiscs.extend(context.qdiscs);
        self.context.counters.extend(context.counters);
        Ok(self)
    }
}

/// Whether `file`, or standard input, begins like text: a capture has bytes that no text has. Nothing of standard input is lost.
///
/// # Errors
/// [`Problem`] where it can't be opened or read.
pub fn is_text(file: &Path) -> Result<bool, Problem> {
    if file == Path::new(STDIN) {
        return io::stdin().lock().fill_buf().map(looks_like_text).map_err(Problem::file("reading", file));
    }
    let mut head = Vec::new();
    let opened = File::open(file).map_err(Problem::file("opening", file))?;
    opened.take(BEGINNING as u64).read_to_end(&mut head).map_err(Problem::file("reading", file))?;
    Ok(looks_like_text(&head))
}

/// The separator of JSON-SEQ (RFC 7464) is a control character that text may begin with.
fn looks_like_text(head: &[u8]) -> bool {
    let head = &head[..head.len().min(BEGINNING)];
    let is_of_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | 0x1e) || *byte >= b' ';
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character may be cut at the end.
        Err(error) => error.error_len().is_none(),
    };
    !head.is_empty() && is_utf8 && head.iter().all(is_of_text)
}

/// Reads `file`, or standard input.
///
/// # Errors
/// [`Problem`] where it can't be read, or is the output of no known program.
pub fn read_output(file: &Path) -> Result<OutputRead, Problem> {
    output_of(&bytes_of(file)?, &capture_name(file))
}

/// What is in `file`, or on standard input, up to a byte more than is read.
fn bytes_of(file: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let most = BYTES_MAX as u64 + 1;
    let read = if file == Path::new(STDIN) {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        let opened = File::open(file).map_err(Problem::file("opening", file))?;
        BufReader::new(opened).take(most).read_to_end(&mut bytes)
    };
    read.map_err(Problem::file("reading", file))?;
    Ok(bytes)
}

/// The output in `bytes`, called `name` in messages.
///
/// # Errors
/// [`Problem`] where they are the output of no known program.
pub fn output_of(bytes: &[u8], name: &str) -> Result<OutputRead, Problem> {
    let output = pipefill_pasted::read(bytes).map_err(|error| unreadable(&error, name))?;
    Ok(OutputRead { output, context: HostContext::default() })
}

fn unreadable(error: &ReadError, name: &str) -> Problem {
    let remedy = match error {
        ReadError::TooLarge { .. } => {
            "give the part of it that matters: one test, or the readings of one connection"
        }
        ReadError::Json { .. } | ReadError::Unknown => GIVE,
        ReadError::NoConnection { .. } => {
            "give an output with at least one interval of a test, or of ss with -i: ss -tinm"
        }
        ReadError::Failed { .. } => "repeat the test; iperf3 printed no interval before it failed",
    };
    let what = match error {
        ReadError::Unknown => {
            format!("{name} is not a pcap or pcapng file, and not the output of a known program")
        }
        error => format!("{name}: {error}"),
    };
    Problem::usage(what, remedy)
}

/// What `explain` reads.
const GIVE: &str = "give the directory that `pipefill run` named, a capture (pcap or pcapng, also in gzip or zstd), or what iperf3 -J, iperf3, iperf, netperf, ss -tinm or an NDT7 client printed, or a qlog";

/// What limits each connection of the output.
pub fn judge_output(read: &OutputRead) -> PastedOutput {
    let output = &read.output;
    let kept: Vec<KeptConnection> = output.connections.iter().map(kept).collect();
    // Connections between the same hosts share a path.
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, connection) in kept.iter().enumerate() {
        let hosts = (host(&connection.observed.local), host(&connection.observed.remote));
        groups.entry(hosts).or_default().push(at);
    }
    let mut connections = Vec::new();
    for members in groups.values() {
        let group: Vec<Connection<'_>> = members.iter().map(|&at| kept[at].connection()).collect();
        let buffers = members.iter().find_map(|&at| output.connections[at].buffers);
        connections.extend(PastedConnection::of_all(&group, buffers));
    }
    connections.extend(output.datagrams.iter().map(|flow| PastedConnection::of_datagrams(&datagrams(flow))));
    connections.sort_by_key(|connection| Reverse(connection.finding.rate_bps));
    let found = PastedOutput {
        read_from: read_from(output),
        connections,
        left_out: output.left_out,
        ..PastedOutput::default()
    };
    found.beside(read.context.clone())
}

/// Writes the connections as an experiment into `target`, where nothing is.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub fn keep_output(read: &OutputRead, target: &Path) -> Result<Written, Failure> {
    let connections: Vec<KeptConnection> = read.output.connections.iter().map(kept).collect();
    let mut names: Vec<String> = connections.iter().map(|connection| connection.name(&connections)).collect();
    let mut all: Vec<Recorded> = connections.into_iter().map(Recorded::from).collect();
    for flow in &read.output.datagrams {
        names.push(format!("udp {}", flow.observed.remote));
        all.push(datagrams(flow).into());
    }
    write_connections(&[all], &[Vec::new()], &names, "explain", target)
}

/// Of all connections: what none of them shows.
fn read_from(output: &Output) -> ReadFrom {
    let each = || {
        let observed = output.connections.iter().map(|connection| &connection.observed);
        observed
            .chain(output.datagrams.iter().map(|flow| &flow.observed))
            .filter_map(|observed| observed.read_from.as_ref())
    };
    let mut gaps: Vec<_> = each().flat_map(|read_from| read_from.gaps.iter().copied()).collect();
    gaps.sort_unstable();
    gaps.dedup();
    ReadFrom {
        program: output.program.clone(),
        version: output.version.clone(),
        flight_estimated: each().any(|read_from| read_from.flight_estimated),
        sample_per_round: each().any(|read_from| read_from.sample_per_round),
        gaps,
    }
}

fn kept(connection: &OutputConnection) -> KeptConnection {
    let [local, remote] = connection.cpu.map(|share| cpu_rows(share, connection));
    KeptConnection {
        observed: connection.observed.clone(),
        congestion_control: connection.congestion_control.clone(),
        offered: connection.offered,
        every: connection.every,
        samples: connection.samples.clone(),
        exact: None,
        cpu: ConnectionCpu { local, remote },
        sender_samples: Vec::new(),
        receiver_samples: Vec::new(),
    }
}

/// The share of a CPU, which is known of the whole test, at the time of each sample.
fn cpu_rows(share: Option<f64>, connection: &OutputConnection) -> ProcessCpuRows {
    let used = |share: f64, t_us: u64| {
        CpuSample::of_thread(
            t_us,
            ThreadRole::Sender { flow: 0 },
            (share.min(1.0) * t_us as f64) as u64,
            None,
        )
    };
    let samples = share
        .into_iter()
        .flat_map(|share| connection.samples.iter().map(move |sample| used(share, sample.t_us)));
    ProcessCpuRows { quota: None, samples: samples.collect() }
}

fn datagrams(flow: &OutputDatagrams) -> DatagramFlow {
    let received = flow.sent.saturating_sub(flow.lost);
    let payload = |datagrams: u64| datagrams.saturating_mul(flow.length);
    DatagramFlow {
        observed: flow.observed.clone(),
        sends: flow.sends,
        asked: flow.asked,
        length: Bytes::new(flow.length),
        span_us: flow.span_us,
        end_us: flow.span_us,
        sent_bytes: payload(flow.sent),
        received_bytes: payload(received),
        totals: UdpTotals {
            sent: flow.sent,
            received,
            reordered: flow.reordered,
            jitter_ns: flow.jitter_ns,
            ..UdpTotals::default()
        },
        counts: Vec::new(),
    }
}

/// The address without its port.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_captures() {
        let texts: [&[u8]; 4] = [b"{\n\t\"start\"", b"\x1e{\"qlog", b"State Recv-Q", "Größe".as_bytes()];
        assert!(texts.iter().all(|text| looks_like_text(text)));
        assert!(looks_like_text(&"Größe".as_bytes()[..3]), "a letter that is cut");
        let captures: [&[u8]; 5] = [
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
            &[0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0, 0, 0],
            &[0x1f, 0x8b, 8],
            &[0x28, 0xb5, 0x2f, 0xfd],
            b"",
        ];
        assert!(captures.iter().all(|bytes| !looks_like_text(bytes)));
    }
}
