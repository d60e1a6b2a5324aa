//! How fast captures are read, beside tshark, tcptrace and a plain read of the same file: `cargo bench -p pipefill-capture --bench reading`.
//!
//! The captures are made here, in a temporary folder: one flow in packets of an MTU, headers only, clean and with 0.3 % of the segments
//! lost, and one that tshark can read in reasonable time. Everything runs on one core, tools and reader in turn; times are CPU time of the
//! process (getrusage). Ends with 1 where a goal is missed.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/reading/made/mod.rs"]
mod made;

use made::container::{Entry, Order, pcap_header, pcap_record};
use made::exchange::{Exchange, Setup};
use made::frame::{ACK, SYN, Tcp, ethernet, stamps, syn_options};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use pipefill_capture::read::Reader;
use pipefill_capture::tcp::{Connection, Ended, Observer, Reconstruction, Side};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Packets of the long captures; data and ACKs together.
const PACKETS: u64 = 10_000_000;
/// Packets of the one for tshark.
const SHORT: u64 = 200_000;
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
    // First, so that nothing else of this process counts.
    let mut all_hold = true;
    let speed = measure("clean", &clean)?;
    all_hold &= goal("packets a CPU-second, clean", speed.per_second, PACKETS_PER_SECOND);
    let peak = peak_memory()?;
    all_hold &= goal("MB below the bound", (MEMORY - peak.min(MEMORY)) as f64 / 1e6, 1e-6);
    println!("memory: {:.1} MB at most, for {PACKETS} packets", peak as f64 / 1e6);
    let lossy_speed = measure("0.3 % lost", &lossy)?;
    let short_speed = measure("0.3 % lost, short", &short)?;
    all_hold &= beside("tshark", &tshark(&short), &short_speed, TIMES_TSHARK)?;
    all_hold &= beside("tcptrace", &tcptrace(&short), &short_speed, TIMES_TCPTRACE)?;
    all_hold &= beside("tcptrace, long", &tcptrace(&lossy), &lossy_speed, TIMES_TCPTRACE)?;
    Ok(all_hold)
}

fn goal(name: &str, found: f64, least: f64) -> bool {
    let holds = found >= least;
    println!("goal: {name}: {found:.3e}, at least {least:.3e}: {}", if holds { "holds" } else { "MISSED" });
    holds
}

/// Of a file: packets, and CPU time for each.
struct Speed {
    packets: u64,
    per_second: f64,
}

fn measure(name: &str, path: &Path) -> io::Result<Speed> {
    let size = path.metadata()?.len();
    let plain = fastest(|| plain_read(path).map(|_| 0))?.0;
    let (seconds, packets) = fastest(|| read(path))?;
    let per_second = packets as f64 / seconds;
    println!(
        "{name}: {packets} packets, {:.1} MB: {per_second:.3e} packets a CPU-second, {:.0} ns each; {:.1} times a plain read",
        size as f64 / 1e6,
        1e9 / per_second,
        seconds / plain,
    );
    Ok(Speed { packets, per_second })
}

/// CPU seconds of the fastest run, and what it returned.
fn fastest(mut work: impl FnMut() -> io::Result<u64>) -> io::Result<(f64, u64)> {
    let mut best = (f64::INFINITY, 0);
    for _ in 0..RUNS {
        let before = cpu_seconds(UsageWho::RUSAGE_SELF)?;
        let result = work()?;
        let seconds = cpu_seconds(UsageWho::RUSAGE_SELF)? - before;
        if seconds < best.0 {
            best = (seconds, result);
        }
    }
    Ok(best)
}

fn cpu_seconds(of: UsageWho) -> io::Result<f64> {
    let usage = getrusage(of)?;
    Ok([usage.user_time(), usage.system_time()].iter().map(|time| time.num_microseconds() as f64 / 1e6).sum())
}

/// Bytes.
fn peak_memory() -> io::Result<u64> {
    Ok(getrusage(UsageWho::RUSAGE_SELF)?.max_rss().cast_unsigned() * 1024)
}

fn plain_read(path: &Path) -> io::Result<u64> {
    let (mut file, mut buffer, mut sum) = (File::open(path)?, vec![0; 256 << 10], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum),
            count => sum += count as u64,
        }
    }
}

/// Counts retransmissions, so that nothing is left out by the compiler.
#[derive(Default)]
struct Sum {
    retransmits: u64,
}

impl Observer for Sum {
    fn ended(&mut self, connection: &Connection, _: Ended) {
        self.retransmits += u64::from(connection.half(Side::A).retransmits());
    }
}

fn read(path: &Path) -> io::Result<u64> {
    let mut reader = Reader::open(File::open(path)?).map_err(io::Error::other)?;
    let (mut all, mut sum) = (Reconstruction::default(), Sum::default());
    while let Some(packet) = reader.next_packet().map_err(io::Error::other)? {
        all.take(&packet, &mut sum);
    }
    let counts = all.finish(&mut sum);
    if counts.not_understood() > 0 {
        return Err(io::Error::other("packets were not understood"));
    }
    Ok(counts.packets)
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

/// Runs a tool on the packets that `ours` was measured with; `true` where the goal holds, or the tool is not there.
fn beside(name: &str, words: &[PathBuf], ours: &Speed, times: f64) -> io::Result<bool> {
    let mut least = f64::INFINITY;
    for _ in 0..2 {
        let before = cpu_seconds(UsageWho::RUSAGE_CHILDREN)?;
        let run =
            Command::new(&words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        match run {
            Ok(status) if status.success() => {
                least = least.min(cpu_seconds(UsageWho::RUSAGE_CHILDREN)? - before);
            }
            Ok(status) => {
                println!("skipped: {name}-failed: {status}");
                return Ok(true);
            }
            Err(error) => {
                println!("skipped: {name}-unavailable: {error}; apt-get install -y tshark tcptrace");
                return Ok(true);
            }
        }
    }
    let theirs = ours.packets as f64 / least;
    println!("{name}: {} packets: {theirs:.3e} packets a CPU-second", ours.packets);
    Ok(goal(&format!("times {name}"), ours.per_second / theirs, times))
}
