//! How fast `pipefill pcap` reads captures, beside tshark, tcptrace and a plain read of the same file: `cargo bench -p pipefill --bench reading`.
//!
//! The captures are made by the simulator, in a temporary folder: one CUBIC flow in packets of an MTU, at its sender, without a loss and with 0.3 % of
//! the segments lost. Goals are those of whole packets, as `tcpdump -w` keeps them; a longer capture of headers alone (`tcpdump -s 96`) tells the
//! memory, and its ratios are printed beside. Files are written in large pieces, as `cp` does; what it costs to read one that was written in
//! small pieces, as `tcpdump` does, is printed beside: the kernel keeps such a one in single pages. All are whole commands, start and output included, that run in turn; times are CPU time of
//! their processes (getrusage), the fastest of each. Ends with 1 where a goal is missed on a quiet machine.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use pipefill_capture::read::Reader;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap_header, pcap_record};
use pipefill_testkit::goals::judge;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Packets of the captures with whole packets, 1 KB each in the mean; data and ACKs together.
const PACKETS: u64 = 3_000_000;
/// Packets of the capture of headers alone.
const HEADERS: u64 = 10_000_000;
/// Packets of the one for tshark: so many that the start of both commands counts little. It takes a minute or two.
const SHORT: u64 = 2_000_000;
/// Hosts without offloads, as a capture on a router or a mirror port has their packets: of an MTU, with an ACK for every second one.
const SCENARIO: &str = r#"
name = "reading"
host = { gso = false, tso = false, gro = false, congestion_control = "cubic" }
run = { repeat = 1, sample = "1s", capture = true }
flow = [{ protocol = "tcp", duration = "DURATION" }]
path = { PATH }
"#;
/// A path, and the packets that it carries at least.
#[derive(PartialEq, Eq)]
struct Bench {
    keys: &'static str,
    packets_per_second: u64,
}
/// The send buffer is the limit: nothing is lost.
const CLEAN: &Bench =
    &Bench { keys: r#"rtt = "20ms", rate = "1gbit", queue = "1bdp""#, packets_per_second: 80_000 };
/// So near that a window of some 25 segments makes a long capture in little time.
const LOSSY: &Bench =
    &Bench { keys: r#"rtt = "2ms", rate = "1gbit", loss = "0.3%""#, packets_per_second: 10_000 };
const LITTLE: Order = Order { is_big: false };
const NS: u32 = 0xa1b2_3c4d;
/// Runs of each; the fastest counts, since the machine may be shared. Of tshark one.
const RUNS: usize = 3;
/// Bytes that are written at once.
const LARGE_PIECES: usize = 1 << 20;
const SMALL_PIECES: usize = 4 << 10;
const PACKETS_PER_SECOND: f64 = 8e6;
const TIMES_TSHARK: f64 = 300.0;
const TIMES_TCPTRACE: f64 = 5.0;
const MEMORY: u64 = 200 << 20;
/// This program's argument for [`memory_of`].
const MEMORY_OF: &str = "--memory-of";
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
    let words: Vec<String> = std::env::args().collect();
    if let [_, asked, capture] = &words[..]
        && asked == MEMORY_OF
    {
        return memory_of(Path::new(capture));
    }
    if !words.iter().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    judge(run)
}

/// The goals that were missed.
fn run() -> io::Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let headers = file("headers.pcap");
    write(&headers, CLEAN, HEADERS, Kept::Headers)?;
    let peak = peak_memory(&headers)?;
    println!("memory: {:.1} MB at most, for {HEADERS} packets", peak as f64 / 1e6);
    let mut missed = Vec::new();
    missed.extend(goal("MB below the bound", (MEMORY - peak.min(MEMORY)) as f64 / 1e6, 1e-6));
    let of_pcap = measure("headers alone, clean", &headers)?;
    let recorded = file("recorded.pcapng");
    write(&recorded, CLEAN, SHORT, Kept::Recorded)?;
    let of_pcapng = measure("as recorded, pcapng, clean", &recorded)?;
    println!("pcapng beside pcap, headers alone: {:.2} times the packets a CPU-second", of_pcapng / of_pcap);
    std::fs::remove_file(recorded)?;
    beside("tcptrace, headers alone, clean", &headers, (tcptrace, RUNS))?;
    for (name, path) in [("clean", CLEAN), ("0.3 % lost", LOSSY)] {
        write(&headers, path, SHORT, Kept::Headers)?;
        beside(&format!("tshark, headers alone, {name}"), &headers, (tshark, 1))?;
    }
    std::fs::remove_file(headers)?;
    for (name, path) in [("clean", CLEAN), ("0.3 % lost", LOSSY)] {
        let whole = file("whole.pcap");
        write(&whole, path, PACKETS, Kept::Whole)?;
        let per_second = measure(name, &whole)?;
        let small = file("small-pieces.pcap");
        copy(&whole, &small)?;
        measure(&format!("{name}, written in small pieces"), &small)?;
        std::fs::remove_file(small)?;
        if path == CLEAN {
            missed.extend(goal("packets a CPU-second, clean", per_second, PACKETS_PER_SECOND));
        }
        let times = beside(&format!("tcptrace, {name}"), &whole, (tcptrace, RUNS))?;
        missed.extend(times.and_then(|times| goal("times tcptrace", times, TIMES_TCPTRACE)));
        write(&whole, path, SHORT, Kept::Whole)?;
        let times = beside(&format!("tshark, {name}"), &whole, (tshark, 1))?;
        missed.extend(times.and_then(|times| goal("times tshark", times, TIMES_TSHARK)));
    }
    Ok(missed)
}

/// The most memory that `pipefill pcap` has, in bytes: asked of a process of its own, since what is known is the largest of all children.
fn peak_memory(capture: &Path) -> io::Result<u64> {
    let output = Command::new(std::env::current_exe()?).arg(MEMORY_OF).arg(capture).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| io::Error::other(format!("pipefill pcap failed: {text}")))
}

/// Prints that figure.
fn memory_of(capture: &Path) -> ExitCode {
    match cpu_seconds(&pipefill(capture)) {
        Ok(Some(_)) => {}
        _ => return ExitCode::FAILURE,
    }
    match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => {
            println!("{}", usage.max_rss() * 1024);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prints whether a goal holds; returns it where it is missed.
fn goal(name: &str, found: f64, least: f64) -> Option<String> {
    let goal = format!("{name}: {found:.3e}, at least {least:.3e}");
    let holds = found >= least;
    println!("goal: {goal}: {}", if holds { "holds" } else { "MISSED" });
    (!holds).then_some(goal)
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

/// What a capture has of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Headers,
    Whole,
    /// The simulator's own file, with all of its packets.
    Recorded,
}

/// Writes a capture of a flow over `path` into `to`, with at least `packets` packets.
fn write(to: &Path, path: &Bench, packets: u64, kept: Kept) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("reading.toml");
    let duration = format!("{}s", packets.div_ceil(path.packets_per_second));
    std::fs::write(&scenario, SCENARIO.replace("DURATION", &duration).replace("PATH", path.keys))?;
    let records = folder.path().join("records");
    let words =
        [Path::new("run"), &scenario, Path::new("--on"), Path::new("sim"), Path::new("--out"), &records];
    let output = Command::new(env!("CARGO_BIN_EXE_pipefill")).args(words).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let run = std::fs::read_dir(records.join("runs"))?.next().ok_or(io::ErrorKind::NotFound)??;
    let recorded = run.path().join("artifacts/sender.pcapng");
    if kept == Kept::Recorded {
        return std::fs::copy(recorded, to).map(drop);
    }
    as_pcap(&recorded, to, packets, kept)
}

/// The same packets in a form that tcptrace reads: a pcap of nanoseconds. The simulator's captures have headers alone; a payload is zeros.
fn as_pcap(from: &Path, to: &Path, packets: u64, kept: Kept) -> io::Result<()> {
    let mut reader = Reader::open(File::open(from)?).map_err(io::Error::other)?;
    let mut to = BufWriter::with_capacity(LARGE_PIECES, File::create(to)?);
    to.write_all(&pcap_header(LITTLE, NS, 1))?;
    while let Some(packet) =
        reader.next_packet().map_err(io::Error::other)?.filter(|packet| packet.number <= packets)
    {
        let (time_ns, original) = (packet.time_ns, packet.original_length);
        let mut bytes = packet.bytes.to_vec();
        if kept == Kept::Whole {
            bytes.resize(original as usize, 0);
        }
        to.write_all(&pcap_record(LITTLE, 1, &ContainerPacket { time_ns, original, bytes }))?;
    }
    if reader.packets() < packets {
        return Err(io::Error::other(format!(
            "{} packets were simulated, {packets} are needed",
            reader.packets()
        )));
    }
    to.flush()
}

/// The same file, written in small pieces.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    let mut piece = vec![0; SMALL_PIECES];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            count => to.write_all(&piece[..count])?,
        }
    }
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

/// A tool's command for a capture, and how often it runs.
type Tool = (fn(&Path) -> Vec<PathBuf>, usize);

/// Runs `pipefill pcap` and a tool on the same capture in turn: how many times as fast it is, `None` where the tool is not there.
fn beside(name: &str, path: &Path, (tool, runs): Tool) -> io::Result<Option<f64>> {
    let (mut own, mut theirs) = (f64::INFINITY, f64::INFINITY);
    for run in 0..RUNS {
        own = own.min(cpu_seconds(&pipefill(path))?.unwrap_or(f64::INFINITY));
        if run >= runs {
            continue;
        }
        match cpu_seconds(&tool(path)) {
            Ok(Some(seconds)) => theirs = theirs.min(seconds),
            Ok(None) => {
                println!("skipped: {name}: the tool failed");
                return Ok(None);
            }
            Err(error) => {
                println!("skipped: {name}: {error}; apt-get install -y tshark tcptrace");
                return Ok(None);
            }
        }
    }
    println!("{name}: {theirs:.3} s, pipefill {own:.3} s: {:.2} times", theirs / own);
    Ok(Some(theirs / own))
}
