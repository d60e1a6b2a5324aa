//! What `pipefill watch` costs beside `ss`: CPU time for each look at 10,000 idle sockets and 100 busy ones, on the same sockets in one run.
//!
//! 1. a look of `watch --json-stream` against a look of `ss -tinm`, both printed into a pipe, in turn (to hold: at least 5 times less, in the median
//!    of the rounds). `ss` starts for each look; `watch` starts once, so that a look is what a long run takes more than a short one, for each
//!    look that it has more. `PIPEFILL_BASELINE=PROGRAM` measures another version of pipefill in each round, too;
//! 2. CPU of `watch` at one look a second, its start included (to hold: below 5 % of a core);
//! 3. the same of `watch --listen`, which is scraped once a second, in both forms in turn (to hold: below 5 % of a core).
//!
//! CPU is that of the process, user and system: answering sock_diag is the kernel's work in the asking process. The sockets are in a network
//! namespace of this process, over loopback. `cargo bench -p pipefill --bench watch`; needs root and ss.

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use pipefill_testkit::goals::judge;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The program of this version.
const BUILT: &str = env!("CARGO_BIN_EXE_pipefill");
/// Connections over loopback: each is two sockets.
const IDLE: usize = 5_000;
const BUSY: usize = 50;
/// Rounds, each with all programs.
const ROUNDS: usize = 5;
/// Looks of `ss` in each.
const SS_LOOKS: u32 = 4;
/// How long `watch` looks in each, once a second: the short run, and the long one.
const SHORT_S: u32 = 2;
const LONG_S: u32 = 12;
/// The same of the run whose share of a core counts.
const SPAN_S: u32 = 20;
/// A look of `ss` costs at least so many of `watch`.
const TIMES_LESS: f64 = 5.0;
/// Cores at one look a second.
const CORES: f64 = 0.05;
/// What a busy connection carries: so much, so often.
const BLOCK: usize = 16 << 10;
const PAUSE: Duration = Duration::from_millis(20);
/// Where metrics are served: nothing else listens in this namespace.
const LISTEN: &str = "127.0.0.1:9466";

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        println!("skipped (lab-unavailable: a network namespace needs root: {error})");
        return ExitCode::SUCCESS;
    }
    judge(beside_ss)
}

/// The goals that were missed.
fn beside_ss() -> Outcome<Vec<String>> {
    if Command::new("ss").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err("ss is not installed: apt-get install iproute2".into());
    }
    prepare()?;
    let _idle = connections(IDLE)?;
    let busy = connections(BUSY)?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| carry(&busy, &done));
        let measured = measure();
        done.store(true, Ordering::Relaxed);
        measured
    })
}

fn prepare() -> Outcome<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    if !Command::new("ip").args(["link", "set", "lo", "up"]).status()?.success() {
        return Err("loopback can't be set up".into());
    }
    Ok(())
}

/// Both ends of `count` connections.
fn connections(count: usize) -> Outcome<Vec<(TcpStream, TcpStream)>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let ours = TcpStream::connect(listener.local_addr()?)?;
        let (theirs, _) = listener.accept()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        all.push((ours, theirs));
    }
    Ok(all)
}

/// Sends a block over each connection, again and again, and reads what has arrived.
fn carry(busy: &[(TcpStream, TcpStream)], done: &AtomicBool) {
    let mut block = vec![0; BLOCK];
    while !done.load(Ordering::Relaxed) {
        for (mut ours, mut theirs) in busy.iter().map(|(ours, theirs)| (ours, theirs)) {
            ignore_full(ours.write(&block));
            while theirs.read(&mut block).is_ok_and(|count| count > 0) {}
        }
        thread::sleep(PAUSE);
    }
}

fn ignore_full(written: std::io::Result<usize>) {
    if let Err(error) = written {
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    }
}

/// Prints the figures; returns the goals that were missed.
fn measure() -> Outcome<Vec<String>> {
    println!(
        "{} idle sockets, {} busy ones; CPU in {ROUNDS} rounds, median (least to most)",
        2 * IDLE,
        2 * BUSY
    );
    let baseline = std::env::var_os("PIPEFILL_BASELINE");
    let (mut ss, mut own, mut before) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ss.push(look_of_ss()?);
        own.push(look_of(OsStr::new(BUILT))?);
        if let Some(baseline) = &baseline {
            before.push(look_of(baseline)?);
        }
    }
    println!("  a look of ss -tinm: {}", millis_of(&ss));
    println!("  a look of watch: {}", millis_of(&own));
    if !before.is_empty() {
        println!("  a look of the baseline: {}", millis_of(&before));
        println!("  watch takes {} of it", spread(&ratios(&own, &before)));
    }
    let ratios = ratios(&ss, &own);
    let goal = format!("{} times less than ss; at least {TIMES_LESS}", spread(&ratios));
    let is_less = (goal, middle(&ratios) >= TIMES_LESS);
    let long = watch(OsStr::new(BUILT), SPAN_S, Stdio::piped())?;
    let null = watch(OsStr::new(BUILT), SPAN_S, Stdio::null())?;
    for (to, seen) in [("into a pipe", &long), ("to /dev/null", &null)] {
        println!(
            "  watch --json-stream {to}, {} looks: {} of CPU in all, {:.2} % of a core, {} KiB of memory at most, {} bytes printed",
            SPAN_S + 1,
            millis(seen.cpu),
            100.0 * cores(seen),
            seen.peak_kib,
            seen.printed
        );
    }
    let share = cores(&long);
    let is_cheap = (format!("{:.2} % of a core; below {} %", 100.0 * share, 100.0 * CORES), share < CORES);
    let served = listen(SPAN_S)?;
    let share = cores(&served.taken);
    println!(
        "  watch --listen, scraped {} times: {} of CPU in all, {} KiB of memory at most, {} series in {} bytes",
        served.scrapes,
        millis(served.taken.cpu),
        served.taken.peak_kib,
        served.series,
        served.bytes
    );
    let is_served_cheaply =
        (format!("--listen: {:.2} % of a core; below {} %", 100.0 * share, 100.0 * CORES), share < CORES);
    let missed = [is_less, is_cheap, is_served_cheaply]
        .into_iter()
        .filter_map(|(goal, holds)| (!tell(&goal, holds)).then_some(goal));
    Ok(missed.collect())
}

fn tell(what: &str, holds: bool) -> bool {
    println!("  {what} {}", if holds { "holds" } else { "does not hold" });
    holds
}

/// What a process took.
struct Taken {
    cpu: Duration,
    wall: Duration,
    /// Peak of its resident memory (`VmHWM`), as last seen.
    peak_kib: u64,
    printed: usize,
}

fn cores(taken: &Taken) -> f64 {
    taken.cpu.as_secs_f64() / taken.wall.as_secs_f64()
}

fn millis(span: Duration) -> String {
    format!("{:.2} ms", span.as_secs_f64() * 1e3)
}

/// CPU of a look of `ss`, its start included.
fn look_of_ss() -> Outcome<Duration> {
    let mut cpu = Duration::ZERO;
    for _ in 0..SS_LOOKS {
        cpu += cpu_of(Command::new("ss").arg("-tinm").stdout(Stdio::piped()))?.cpu;
    }
    Ok(cpu / SS_LOOKS)
}

/// CPU of a look of `watch`, without its start.
fn look_of(program: &OsStr) -> Outcome<Duration> {
    let [short, long] = [SHORT_S, LONG_S].map(|span_s| watch(program, span_s, Stdio::piped()));
    Ok(long?.cpu.saturating_sub(short?.cpu) / (LONG_S - SHORT_S))
}

/// Round by round.
fn ratios(of: &[Duration], to: &[Duration]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of.as_secs_f64() / to.as_secs_f64()).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

/// `4.4 (4.1 to 4.9)`.
fn spread(values: &[f64]) -> String {
    let sorted = sorted(values);
    format!("{:.2} ({:.2} to {:.2})", middle(values), sorted[0], sorted[sorted.len() - 1])
}

fn millis_of(spans: &[Duration]) -> String {
    let millis: Vec<f64> = spans.iter().map(|span| span.as_secs_f64() * 1e3).collect();
    format!("{} ms", spread(&millis))
}

fn watch(program: &OsStr, span_s: u32, output: Stdio) -> Outcome<Taken> {
    let span = format!("{span_s}s");
    let mut command = Command::new(program);
    cpu_of(command.args(["watch", "--json-stream", "--for", &span]).stdout(output))
}

/// What serving took, and what the last scrape had.
struct Served {
    taken: Taken,
    scrapes: u64,
    series: usize,
    bytes: usize,
}

/// `watch --listen`, scraped once a second.
fn listen(span_s: u32) -> Outcome<Served> {
    let span = format!("{span_s}s");
    let mut command = Command::new(BUILT);
    command.args(["watch", "--listen", LISTEN, "--for", &span]).stdout(Stdio::null()).stderr(Stdio::null());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let scraper = scope.spawn(|| {
            let (mut scrapes, mut last) = (0, String::new());
            while !is_over.load(Ordering::Relaxed) {
                let accept = ["text/plain", "application/openmetrics-text"][usize::from(scrapes % 2 == 1)];
                if let Ok(answer) = scrape(accept) {
                    (scrapes, last) = (scrapes + 1, answer);
                }
                thread::sleep(Duration::from_secs(1));
            }
            (scrapes, last)
        });
        let taken = cpu_of(&mut command);
        is_over.store(true, Ordering::Relaxed);
        let (scrapes, last) = scraper.join().map_err(|_| "the scraper panicked")?;
        let series = last.lines().filter(|line| line.starts_with("pipefill_")).count();
        Ok(Served { taken: taken?, scrapes, series, bytes: last.len() })
    })
}

fn scrape(accept: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(LISTEN)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {LISTEN}\r\nAccept: {accept}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Runs `command` to its end, as the only child meanwhile.
fn cpu_of(command: &mut Command) -> Outcome<Taken> {
    let before = children_cpu()?;
    let began = Instant::now();
    let mut child = command.spawn()?;
    let output = child.stdout.take();
    let (printed, peak_kib) = thread::scope(|scope| {
        let reader = scope.spawn(|| output.map_or(Ok(0), read_all));
        let peak_kib = wait(&mut child)?;
        let printed = reader.join().map_err(|_| "the reader panicked")??;
        Ok::<_, Box<dyn Error>>((printed, peak_kib))
    })?;
    Ok(Taken { cpu: children_cpu()? - before, wall: began.elapsed(), peak_kib, printed })
}

fn read_all(mut output: ChildStdout) -> std::io::Result<usize> {
    let mut buffer = vec![0; 1 << 16];
    let mut all = 0;
    loop {
        match output.read(&mut buffer)? {
            0 => return Ok(all),
            count => all += count,
        }
    }
}

/// Waits for the end; the last peak of its memory before.
fn wait(child: &mut Child) -> Outcome<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    loop {
        peak_kib = peak_kib.max(fs::read_to_string(&status).ok().and_then(|text| peak(&text)).unwrap_or(0));
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(peak_kib),
            Some(status) => return Err(format!("a command failed: {status}").into()),
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn children_cpu() -> Outcome<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Ok(Duration::from_micros(u64::try_from(micros(usage.user_time()) + micros(usage.system_time()))?))
}
