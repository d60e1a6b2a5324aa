//! `pipefill pcap`: what limits the connections of a capture.

use crate::args::PcapArgs;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_analysis::observed::{CapturePoint, Captured, CapturedFlow, Connection};
use pipefill_capture::headers::Other;
use pipefill_capture::read::{ReadError, Reader};
use pipefill_capture::rows::{Sampling, Watched};
use pipefill_capture::tcp::{Counts, Half, Reconstruction, Side};
use pipefill_core::cell::Direction;
use pipefill_core::record::{Observed, TcpSample};
use pipefill_report::{captured, csv};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// Standard input, in place of a file's name.
const STDIN: &str = "-";

/// Reads the capture and says what limits each of its flows.
pub(super) fn pcap(args: &PcapArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let found = read(&args.file)?;
    if args.json {
        terminal.print_data(&(serde_json::to_string_pretty(&found).map_err(Failure::Json)? + "\n"))?;
    } else if args.csv {
        terminal.print_data(&csv::captured(&found).map_err(|error| Failure::Other(error.to_string()))?)?;
    } else {
        terminal.print(&captured::render(&found, args.most, terminal.table_style()))?;
    }
    Ok(if found.broken.is_some() { Outcome::Broken } else { Outcome::Done })
}

fn read(file: &Path) -> Result<Captured, Failure> {
    let name = if file == Path::new(STDIN) { "standard input".to_owned() } else { file.display().to_string() };
    if file == Path::new(STDIN) {
        return found(io::stdin().lock(), &name);
    }
    let opened = File::open(file).map_err(|error| {
        Failure::usage(format!("{name}: {error}"), "name a capture: pcap or pcapng, also in gzip or zstd; - is standard input")
    })?;
    found(opened, &name)
}

fn found(input: impl Read, name: &str) -> Result<Captured, Failure> {
    let mut reader = Reader::open(input).map_err(|error| no_capture(name, &error))?;
    let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
    let broken = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => reconstruction.take(&packet, &mut sampling),
            Ok(None) => break None,
            Err(error) => break Some(format!("{name}: {error}")),
        }
    };
    let counts = reconstruction.finish(&mut sampling);
    let mut found = Captured {
        packets: counts.packets,
        not_understood: not_understood(&counts),
        dropped: reader.dropped(),
        forgotten: counts.evicted,
        broken,
        ..Captured::new()
    };
    for one in sampling.finish() {
        found.flows.extend(flows(&one));
    }
    found.flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    Ok(found)
}

fn no_capture(name: &str, error: &ReadError) -> Failure {
    Failure::usage(
        format!("{name}: {error}"),
        "name a capture as tcpdump -w or Wireshark write it: pcap or pcapng, also in gzip or zstd",
    )
}

fn not_understood(counts: &Counts) -> BTreeMap<String, u64> {
    let kinds = Other::ALL.into_iter().filter(|kind| kind.is_not_understood());
    kinds.map(|kind| (kind.as_str().to_owned(), counts.other(kind))).filter(|&(_, count)| count > 0).collect()
}

/// An entry for each direction that carried data.
fn flows(one: &Watched) -> Vec<CapturedFlow> {
    let near = one.near();
    let samples = one.rows();
    [near, near.other()]
        .into_iter()
        .filter(|&side| one.connection.half(side).payload_bytes() > 0)
        .map(|side| flow(one, side, &samples))
        .collect()
}

fn flow(one: &Watched, side: Side, samples: &[TcpSample]) -> CapturedFlow {
    let half = one.connection.half(side);
    let counts = half.counts();
    let span_us = half.first_data_ns().zip(half.last_data_ns()).map_or(0, |(from, to)| (to - from) / 1_000);
    let mut flow = CapturedFlow {
        src: one.endpoint(side).to_string(),
        dst: one.endpoint(side.other()).to_string(),
        packets: half.packets(),
        bytes: counts.new_bytes,
        goodput_bps: (span_us > 0).then(|| counts.new_bytes.saturating_mul(8_000_000) / span_us),
        span_us,
        retransmits: u64::from(half.retransmits()),
        retransmits_by_kind: by_kind(half),
        min_rtt_us: one.connection.full_rtt_us().map(u64::from),
        rwnd_bytes: samples.iter().filter_map(|row| row.info.rwnd_bytes).max().map(u64::from),
        in_flight_bytes: half.largest_flight_bytes(),
        vantage: vantage(one, side),
        ..CapturedFlow::default()
    };
    let near = one.near();
    let connection = Connection {
        observed: Observed {
            local: one.endpoint(near).to_string(),
            remote: one.endpoint(near.other()).to_string(),
            ..Observed::default()
        },
        congestion_control: String::new(),
        every: Duration::from_nanos(one.every_ns()),
        samples,
        exact: None,
    };
    flow.judge(&connection, if side == near { Direction::Forward } else { Direction::Reverse });
    flow
}

fn by_kind(half: &Half) -> BTreeMap<String, u64> {
    let counts = half.counts();
    let kinds = [("fast", counts.fast), ("rto", counts.rto), ("tlp", counts.tlp), ("spurious", counts.spurious)];
    kinds.into_iter().map(|(kind, count)| (kind.to_owned(), u64::from(count))).collect()
}

fn vantage(one: &Watched, sender: Side) -> CapturePoint {
    use pipefill_capture::tcp::Vantage;
    match (one.connection.vantage(), sender) {
        (Vantage::NearA, Side::A) | (Vantage::NearB, Side::B) => CapturePoint::Sender,
        (Vantage::NearA, Side::B) | (Vantage::NearB, Side::A) => CapturePoint::Receiver,
        (Vantage::Between, _) => CapturePoint::Between,
        (Vantage::Unknown, _) => CapturePoint::Unknown,
    }
}
