//! Options of `serve` and `test`: iperf3's letters where it has them.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments are help texts, in which brackets are brackets"
)]

use super::letters::{bare_seconds, blocks, iperf_bytes, iperf_rate, whole_seconds};
use ipnet::IpNet;
use pipefill_core::parse;
use pipefill_core::units::{Bytes, Rate};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Port, for TCP and UDP; 0 for any that is free
    #[arg(short, long, value_name = "PORT", default_value_t = pipefill_remote::iperf3::PORT)]
    pub(crate) port: u16,
    /// End after one test
    #[arg(short = '1', long, visible_alias = "one-off")]
    pub(crate) once: bool,
    /// Listen at this address only [default: all addresses of this host]
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,
    /// Refuse tests that are longer, and end those that become longer
    #[arg(long, value_name = "TIME", value_parser = parse::duration, default_value = "1h")]
    pub(crate) max_duration: Duration,
    /// Rate limit per direction and test: TCP is throttled to it, UDP tests that ask for more are refused [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse::rate)]
    pub(crate) max_rate: Option<Rate>,
    /// Serve only clients of this network, e.g. 10.0.0.0/8. May be repeated [default: everybody]
    #[arg(long, value_name = "CIDR")]
    pub(crate) allow: Vec<IpNet>,
    /// Serve only clients that have the key in this file: pipefill test --key FILE, and no iperf3
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Name or address of the server, and its port: HOST, HOST:PORT, [IPV6]:PORT
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) host: String,
    /// The server's port [default: 5201]
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// How long, in seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = whole_seconds, default_value = "10", hide_default_value = false, help_heading = HOW_MUCH)]
    pub(crate) time: u64,
    /// Send this many bytes instead, all streams together, e.g. 100M
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = iperf_bytes, conflicts_with = "time", help_heading = HOW_MUCH)]
    pub(crate) bytes: Option<Bytes>,
    /// Send this many blocks instead, all streams together
    #[arg(short = 'k', long = "blockcount", value_name = "N", value_parser = blocks, conflicts_with_all = ["time", "bytes"], help_heading = HOW_MUCH)]
    pub(crate) blocks: Option<u64>,
    /// Leave out this many seconds at the start
    #[arg(short = 'O', long, value_name = "SECONDS", value_parser = whole_seconds, default_value = "0", help_heading = HOW_MUCH)]
    pub(crate) omit: u64,
    /// Number of streams at once
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) parallel: u32,
    /// From the server to this host
    #[arg(short = 'R', long, conflicts_with = "bidir")]
    pub(crate) reverse: bool,
    /// Both ways at once
    #[arg(long)]
    pub(crate) bidir: bool,
    /// UDP instead of TCP
    #[arg(short, long)]
    pub(crate) udp: bool,
    /// Payload of each stream, bits per second, e.g. 50M or 50mbit; 0 for no bound [default: 1M for UDP, no bound for TCP]
    #[arg(short, long, value_name = "RATE", value_parser = iperf_rate)]
    pub(crate) bitrate: Option<Rate>,
    /// Let the sender's kernel pace each stream to this rate (SO_MAX_PACING_RATE), bits per second, e.g. 50M
    #[arg(long, value_name = "RATE", value_parser = iperf_rate, help_heading = SOCKETS)]
    pub(crate) fq_rate: Option<Rate>,
    /// Send and receive buffer of each socket, at both hosts, e.g. 4M
    #[arg(short, long, value_name = "BYTES", value_parser = iperf_bytes, help_heading = SOCKETS)]
    pub(crate) window: Option<Bytes>,
    /// Payload of a write or a datagram [default: 256K for TCP, 128K with -k, the MSS for UDP]
    #[arg(short, long, value_name = "BYTES", value_parser = iperf_bytes, help_heading = SOCKETS)]
    pub(crate) length: Option<Bytes>,
    /// Congestion control at both hosts
    #[arg(short = 'C', long, visible_alias = "congestion", value_name = "NAME", help_heading = SOCKETS)]
    pub(crate) congestion_control: Option<String>,
    /// Largest segment (TCP_MAXSEG), bytes
    #[arg(short = 'M', long = "set-mss", value_name = "BYTES", value_parser = clap::value_parser!(u32).range(88..=9216), help_heading = SOCKETS)]
    pub(crate) mss: Option<u32>,
    /// Send small segments at once (TCP_NODELAY)
    #[arg(short = 'N', long, help_heading = SOCKETS)]
    pub(crate) no_delay: bool,
    /// Byte of the IP header with DSCP and ECN, 0 to 255
    #[arg(short = 'S', long, value_name = "N", default_value_t = 0, help_heading = SOCKETS)]
    pub(crate) tos: u8,
    /// IPv4 only
    #[arg(short = '4', long = "version4", conflicts_with = "v6", help_heading = SOCKETS)]
    pub(crate) v4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "version6", help_heading = SOCKETS)]
    pub(crate) v6: bool,
    /// Own address
    #[arg(short = 'B', long, value_name = "ADDRESS", help_heading = SOCKETS)]
    pub(crate) bind: Option<IpAddr>,
    /// How long a connection may take to be made, in milliseconds, or e.g. 2s
    #[arg(long, value_name = "MS", value_parser = milliseconds, default_value = "10000", help_heading = SOCKETS)]
    pub(crate) connect_timeout: Duration,
    /// From one line to the next, in seconds; 0 for no lines
    #[arg(short, long, value_name = "SECONDS", value_parser = bare_seconds, default_value = "1")]
    pub(crate) interval: Duration,
    /// Keep records in this new directory, for explain, report and compare: of this host's sockets, of UDP what both hosts counted
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Repeat the test this many times; a comparison needs at least three [default: 1; with --compare as often as in that directory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    /// Say what changed since an earlier test, whose records are in this directory
    #[arg(long, value_name = "DIR", requires = "out")]
    pub(crate) compare: Option<PathBuf>,
    /// Prove to the server that this host has the key in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Put this text before each line, and into the JSON
    #[arg(short = 'T', long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Write the result into this file, after what it has already
    #[arg(long, value_name = "FILE")]
    pub(crate) logfile: Option<PathBuf>,
    /// Print what the server says of the test too
    #[arg(long)]
    pub(crate) get_server_output: bool,
    /// Print the result as JSON in iperf3's form, with a member pipefill for the verdict
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}

/// iperf3's unit, or one of ours.
fn milliseconds(text: &str) -> Result<Duration, parse::ParseError> {
    parse::count(text).map(Duration::from_millis).or_else(|_| parse::duration(text))
}

const HOW_MUCH: &str = "How much";
const SOCKETS: &str = "Sockets";
