//! How fast `pipefill pcap` reads captures, beside tshark, tcptrace and a plain read of the same file: `cargo bench -p pipefill --bench reading`.
//!
//! The captures are made here, in a temporary folder: one flow in packets of an MTU, headers only, clean and with 0.3 % of the segments
//! lost, and one that tshark can read in reasonable time. All are whole commands, start and output included, that run in turn; times are CPU
//! time of their processes (getrusage), the fastest of each. Ends with 1 where a goal is missed.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../capture/tests/reading/made/mod.rs"]
mod made;

use made::container::{Entry, Order, pcap_header, pcap_record};
use made::exchange::{Exchange, Setup};
use made::frame::{ACK, SYN, Tcp, ethernet, stamps, syn_options};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use pipefill_capture::read::Reader;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Packets of the long captures; data and ACKs together.
const PACKETS: u64 = 10_000_000;
/// Packets of the one for tshark: so many that the start of both commands counts little.
const SHORT: u64 = 500_000;
const LITTLE: Order = Order { is_big: false };
const NS: u32 = 0xa1b2_3c4d;
/// Runs of each; the fastest counts, since the machine may be shared.
const RUNS: usize = 3;
const PACKETS_PER_SECOND: f64 = 8e6;
const TIMES_TSHARK: f64 = 300.0;
const TIMES_TCPTRACE: f64 = 5.0;
const MEMORY: u64 = 200 << 20;
const TSHARK_FIELDS: [&str; 8] = [
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.window_size",
    "tcp.analysis.retransmission",
];

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let [clean, lossy, short] = ["clean.pcap", "lossy.pcap", "short.pcap"].map(file);
    write_clean(&clean, PACKETS)?;
    write_lossy(&lossy, PACKETS)?;
    write_lossy(&short, SHORT)?;
    // First, so that no other tool's memory counts.
    let own = cpu_seconds(&pipefill(&clean))?;
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss().cast_unsigned() * 1024;
    println!("memory: {:.1} MB at most, for {PACKETS} packets", peak as f64 / 1e6);
    let mut all_hold = goal("MB below the bound", (MEMORY - peak.min(MEMORY)) as f64 / 1e6, 1e-6);
    all_hold &= own.is_some();
    let per_second = measure("clean", &clean)?;
    all_hold &= goal("packets a CPU-second, clean", per_second, PACKETS_PER_SECOND);
    measure("0.3 % lost", &lossy)?;
    all_hold &= beside("tcptrace, clean", &clean, tcptrace, TIMES_TCPTRACE)?;
    all_hold &= beside("tcptrace, 0.3 % lost", &lossy, tcptrace, TIMES_TCPTRACE)?;
    all_hold &= beside("tshark, 0.3 % lost", &short, tshark, TIMES_TSHARK)?;
    Ok(all_hold)
}

fn goal(name: &str, found: f64, least: f64) -> bool {
    let holds = found >= least;
    println!("goal: {name}: {found:.3e}, at least {least:.3e}: {}", if holds { "holds" } else { "MISSED" });
    holds
}

/// Packets a CPU-second; says how far from a plain read that is.
fn measure(name: &str, path: &Path) -> io::Result<f64> {
    let (mut plain, mut own) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        plain = plain.min(plain_read(path)?);
        own = own.min(cpu_seconds(&pipefill(path))?.unwrap_or(f64::INFINITY));
    }
    let packets = packets(path)?;
    println!(
        "{name}: {packets} packets, {:.1} MB: {:.3e} packets a CPU-second, {:.0} ns each; {:.1} times a plain read",
        path.metadata()?.len() as f64 / 1e6,
        packets as f64 / own,
        1e9 * own / packets as f64,
        own / plain,
    );
    Ok(packets as f64 / own)
}

/// CPU seconds of this process for reading a file.
fn plain_read(path: &Path) -> io::Result<f64> {
    let before = used(UsageWho::RUSAGE_SELF)?;
    let (mut file, mut buffer) = (File::open(path)?, vec![0; 64 << 10]);
    while file.read(&mut buffer)? > 0 {}
    Ok(used(UsageWho::RUSAGE_SELF)? - before)
}

/// Packets of a capture that was made here.
fn packets(path: &Path) -> io::Result<u64> {
    let mut reader = Reader::open(File::open(path)?).map_err(io::Error::other)?;
    while reader.next_packet().map_err(io::Error::other)?.is_some() {}
    Ok(reader.packets())
}

/// User and system time so far, seconds.
fn used(of: UsageWho) -> io::Result<f64> {
    let usage = getrusage(of)?;
    Ok([usage.user_time(), usage.system_time()].iter().map(|time| time.num_microseconds() as f64 / 1e6).sum())
}

/// CPU seconds of a command from its start to its end; `None` where it fails.
///
/// # Errors
/// It can't be started.
fn cpu_seconds(words: &[PathBuf]) -> io::Result<Option<f64>> {
    let before = used(UsageWho::RUSAGE_CHILDREN)?;
    let mut command = Command::new(&words[0]);
    let status = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let seconds = used(UsageWho::RUSAGE_CHILDREN)? - before;
    Ok(status.success().then_some(seconds))
}

/// A transfer with an ACK for every second segment, 100 in flight.
fn write_clean(path: &Path, packets: u64) -> io::Result<()> {
    let mut to = BufWriter::new(File::create(path)?);
    to.write_all(&pcap_header(LITTLE, NS, 1))?;
    let mut now = 1_700_000_000_000_000_000;
    let mut put = |tcp: &Tcp, step_ns: u64| {
        now += step_ns;
        let frame = ethernet(&[], 0x0800, &tcp.v4());
        let original = (frame.len() + tcp.payload) as u32;
        to.write_all(&pcap_record(LITTLE, 1, &Entry { time_ns: now, original, bytes: frame }))
    };
    put(&Tcp { options: syn_options(1460, 7, 1, 0), ..Tcp::new(0, 0, SYN, 0) }, 0)?;
    put(&Tcp { options: syn_options(1460, 7, 1, 1), ..Tcp::new(0, 1, SYN | ACK, 0) }.back(), 10_000_000)?;
    put(&Tcp { options: stamps(2, 1), ..Tcp::new(1, 1, ACK, 0) }, 1000)?;
    let (mut sent, mut id) = (0u32, 0u16);
    for _ in 0..packets / 3 {
        for _ in 0..2 {
            id = id.wrapping_add(1).max(1);
            let options = stamps(10 + sent / 100, 7);
            put(
                &Tcp { options, id, ..Tcp::new(1u32.wrapping_add(sent.wrapping_mul(1448)), 1, ACK, 1448) },
                12_000,
            )?;
            sent += 1;
        }
        let acked = sent.saturating_sub(100);
        let options = stamps(10 + sent / 100, 10 + acked / 100);
        put(
            &Tcp { options, id, ..Tcp::new(1, 1u32.wrapping_add(acked.wrapping_mul(1448)), ACK, 0) }.back(),
            10,
        )?;
    }
    to.flush()
}

/// A transfer that loses 0.3 % of its segments, until it has about `packets`.
fn write_lossy(path: &Path, packets: u64) -> io::Result<()> {
    let mut to = BufWriter::new(File::create(path)?);
    to.write_all(&pcap_header(LITTLE, NS, 1))?;
    let setup = Setup {
        segments: packets / 2,
        window: 100,
        rtt_ns: 20_000_000,
        gap_ns: 12_000,
        lost_before: 0,
        lost_behind: 3000,
        place: 0,
        seed: 3,
        isn: 1,
        stamp: 1,
    };
    let mut outcome = Ok(());
    Exchange::new(setup, &mut |seen| {
        let entry = Entry { time_ns: seen.time_ns, original: seen.original, bytes: seen.frame };
        if outcome.is_ok() {
            outcome = to.write_all(&pcap_record(LITTLE, 1, &entry));
        }
    })
    .run();
    outcome.and_then(|()| to.flush())
}

fn pipefill(path: &Path) -> Vec<PathBuf> {
    [Path::new(env!("CARGO_BIN_EXE_pipefill")), Path::new("pcap"), path].map(Path::to_owned).to_vec()
}

fn tshark(path: &Path) -> Vec<PathBuf> {
    let mut words = ["tshark", "-r"].map(PathBuf::from).to_vec();
    words.push(path.to_owned());
    words.extend(["-T", "fields"].map(PathBuf::from));
    words.extend(TSHARK_FIELDS.iter().flat_map(|field| ["-e", field]).map(PathBuf::from));
    words
}

fn tcptrace(path: &Path) -> Vec<PathBuf> {
    let mut words = ["tcptrace", "-l", "-r"].map(PathBuf::from).to_vec();
    words.push(path.to_owned());
    words
}

/// Runs `pipefill pcap` and a tool on the same capture in turn; `true` where the goal holds, or the tool is not there.
fn beside(name: &str, path: &Path, tool: fn(&Path) -> Vec<PathBuf>, times: f64) -> io::Result<bool> {
    let (mut own, mut theirs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        own = own.min(cpu_seconds(&pipefill(path))?.unwrap_or(f64::INFINITY));
        match cpu_seconds(&tool(path)) {
            Ok(Some(seconds)) => theirs = theirs.min(seconds),
            Ok(None) => {
                println!("skipped: {name}: the tool failed");
                return Ok(true);
            }
            Err(error) => {
                println!("skipped: {name}: {error}; apt-get install -y tshark tcptrace");
                return Ok(true);
            }
        }
    }
    println!("{name}: {theirs:.3} s, pipefill {own:.3} s");
    Ok(goal(&format!("times {name}"), theirs / own, times))
}
