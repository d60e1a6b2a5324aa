//! `pipefill shape`: a real interface as a path, for a test's own packets and for a time.

use super::test::address;
use crate::args::{PathOption, ShapeArgs, typed};
use crate::outcome::Outcome;
use crate::signals::stop_on_signals;
use crate::signals_of_commands::hand_on;
use crate::terminal::Terminal;
use ipnet::IpNet;
use pipefill_core::cell::{LossSpec, PathSpec};
use pipefill_core::problem::Problem;
use pipefill_core::record::AqmCounted;
use pipefill_core::units::Seed;
use pipefill_lab::places::namespace_file;
use pipefill_lab::shaping::{self, Carried, Flows, Peer, Request, Shaped, ShapedDiscipline, ShapedInterface};
use pipefill_report::quantity::QuantityKind;
use pipefill_runs::{Failure, PlannedScenario, Stop};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGTERM};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The defaults of a path; the flow is never run.
const TEXT: &str = "name = \"shape\"\n[run]\nrepeat = 1\n[[flow]]\n";
/// From one look at signals, time and command to the next.
const STEP: Duration = Duration::from_millis(20);
/// The other end of the ssh session that we run in: its address and port, then ours (sshd(8)).
const SSH_SESSION: &str = "SSH_CONNECTION";
/// A shell's exit codes for a command that it does not find, and for one that it can't execute.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Shapes the interface until the command ends, the time is up, or a signal or `--undo` stops it.
pub(super) fn shape(args: &ShapeArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let netns = args.netns.as_deref().map(namespace_file);
    if args.undo {
        return undo(args, netns.as_deref(), terminal);
    }
    let path = path(args)?;
    let flows = flows(&args.to)?;
    // Without handlers a signal ends this process, and the switch undoes the shaping.
    let stop = args.command.is_empty().then(stop_on_signals).transpose()?;
    let request = Request {
        interface: &args.interface,
        netns: netns.as_deref(),
        path: &path,
        flows: &flows,
        span: args.span,
        seed: Seed::new(1),
    };
    let shaped = Shaped::begin(&request)?;
    let began = Instant::now();
    if !args.quiet && !args.json {
        terminal.say(&beginning(args, &path, shaped.switch()));
    }
    let (ended_by, carried, code) = match stop {
        Some(stop) => {
            let ended_by = wait(&shaped, &stop);
            (ended_by, shaped.end().map_err(|error| left(&error))?, None)
        }
        None => with_command(args, shaped, terminal)?,
    };
    let is_early = began.elapsed() < args.span;
    let ended_by = if ended_by == EndedBy::Time && is_early { EndedBy::Somebody } else { ended_by };
    let told = ShapeReport::new(args, &path, ended_by, carried, code);
    if args.json {
        let document = serde_json::to_string_pretty(&told).map_err(Failure::json)?;
        match code {
            Some(_) => terminal.say(&document),
            None => terminal.print_data(&(document + "\n"))?,
        }
    } else if !args.quiet {
        terminal.say(&told.line());
    }
    Ok(code.map_or(Outcome::Done, Outcome::Program))
}

/// Why it was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum EndedBy {
    /// The command has ended.
    Command,
    /// The time is up.
    Time,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Signal,
    /// `pipefill shape --undo`, or whoever ended the switch.
    Somebody,
}

/// What there is to tell at the end.
#[derive(Debug, Serialize)]
struct ShapeReport<'a> {
    schema: u32,
    interface: &'a str,
    to: &'a [String],
    delay_us: u64,
    rate_bps: Option<u64>,
    queue_bytes: Option<u64>,
    loss_percent: Option<f64>,
    ended_by: EndedBy,
    carried: Option<Carried>,
    exit_code: Option<u8>,
}

impl<'a> ShapeReport<'a> {
    fn new(
        args: &'a ShapeArgs,
        path: &PathSpec,
        ended_by: EndedBy,
        carried: Option<Carried>,
        exit_code: Option<u8>,
    ) -> Self {
        let bottleneck = path.forward.bottleneck.as_ref();
        Self {
            schema: 1,
            interface: &args.interface,
            to: &args.to,
            delay_us: u64::try_from(path.rtt().as_micros()).unwrap_or(u64::MAX),
            rate_bps: bottleneck.map(|bottleneck| bottleneck.rate.bps()),
            queue_bytes: bottleneck
                .map(|bottleneck| bottleneck.queue_bytes(path.rtt(), path.full_frame()).get()),
            loss_percent: match path.forward.loss {
                LossSpec::Independent(share) => Some(share.percent()),
                _ => None,
            },
            ended_by,
            carried,
            exit_code,
        }
    }

    fn line(&self) -> String {
        let why = match self.ended_by {
            EndedBy::Command | EndedBy::Signal => "",
            EndedBy::Time => ": the time is up",
            EndedBy::Somebody => ": somebody undid it",
        };
        let end = format!("{} is as it was{why}.", self.interface);
        match self.carried {
            None => end,
            Some(Carried { packets, bytes, lost_packets, queue_dropped_packets, discipline }) => format!(
                "{end} {packets} packets were shaped ({}), {lost_packets} lost at random, {queue_dropped_packets} dropped in the queue{}",
                QuantityKind::Bytes.alone(bytes as f64),
                discipline.map_or_else(String::new, discipline_words)
            ),
        }
    }
}

/// What a discipline did, behind the number of packets that its queue dropped.
fn discipline_words(discipline: ShapedDiscipline) -> String {
    match discipline.counted {
        // A queue that drops its oldest packet has no other reason than to be full.
        AqmCounted { dropped_packets: 0, marked_packets: 0, .. } => String::new(),
        AqmCounted { dropped_packets, marked_packets, .. } => {
            format!(" ({dropped_packets} by {}), {marked_packets} marked", discipline.kind)
        }
    }
}

/// The options as a scenario's path.
fn path(args: &ShapeArgs) -> Result<PathSpec, Failure> {
    let ecn = args.ecn.then(|| "true".to_owned());
    let options: [PathOption<'_>; 7] = [
        ("--rtt", &args.rtt, &["rtt"]),
        ("--rate", &args.rate, &["rate"]),
        ("--queue", &args.queue, &["queue"]),
        ("--aqm", &args.aqm, &["aqm"]),
        ("--ecn", &ecn, &["ecn"]),
        ("--loss", &args.loss, &["loss"]),
        ("--jitter", &args.jitter, &["jitter"]),
    ];
    let typed = typed(&options);
    let asked = typed.iter().map(|(_, assignment)| assignment.clone());
    let set: Vec<String> = asked.chain(args.set.iter().cloned()).collect();
    if set.is_empty() {
        return Err(Failure::usage(
            "nothing says what the path is to be",
            "write --rtt 50ms, --rate 100mbit, --loss 1%, or --undo",
        ));
    }
    let asked = PlannedScenario::built_in("shape", TEXT, &set).map_err(|failure| failure.as_typed(&typed))?;
    match asked.plan.cells.as_slice() {
        [cell] => Ok(cell.spec.path.clone()),
        cells => Err(Failure::usage(
            format!("these are {} paths, and an interface can be one", cells.len()),
            "give each option one value",
        )),
    }
}

/// Which packets: those to the hosts and networks that are named, or all but ssh.
fn flows(to: &[String]) -> Result<Flows, Failure> {
    if to.is_empty() {
        let session = std::env::var(SSH_SESSION).ok().and_then(|words| {
            let mut words = words.split(' ');
            Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
        });
        return Ok(Flows::AllButSsh { session });
    }
    let peers = to.iter().map(|text| peers(text)).collect::<Result<Vec<_>, _>>()?;
    Ok(Flows::To(peers.concat()))
}

/// A network as it is, a host's addresses with its port.
fn peers(text: &str) -> Result<Vec<Peer>, Failure> {
    if let Ok(network) = text.parse::<IpNet>() {
        return Ok(vec![Peer {
            address: network.network(),
            prefix_length: network.prefix_len(),
            port: None,
        }]);
    }
    let (host, port) = address(text)?;
    let found = (host.as_str(), 0).to_socket_addrs().map_err(|error| {
        Failure::usage(
            format!("the address of {host}: {error}"),
            "write a name that DNS knows, an address, or a network such as 10.0.0.0/8",
        )
    })?;
    let mut addresses: Vec<IpAddr> = found.map(|found| found.ip()).collect();
    addresses.sort();
    addresses.dedup();
    Ok(addresses.into_iter().map(|address| Peer::host(address, port)).collect())
}

fn wait(shaped: &Shaped, stop: &Stop) -> EndedBy {
    loop {
        if stop.is_requested() {
            return EndedBy::Signal;
        } else if shaped.is_over() {
            return EndedBy::Time;
        }
        sleep(STEP);
    }
}

/// Runs the command meanwhile. Signals are the command's; SIGTERM and SIGHUP undo the shaping as well, at once.
fn with_command(
    args: &ShapeArgs,
    shaped: Shaped,
    terminal: &Terminal,
) -> Result<(EndedBy, Option<Carried>, Option<u8>), Failure> {
    let Some((word, words)) = args.command.split_first() else {
        return Err(Failure::broken("there is no command"));
    };
    let mut child = match Command::new(word).args(words).spawn() {
        Ok(child) => child,
        Err(error) => {
            let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
            shaped.end().map_err(|error| left(&error))?;
            terminal.say(&format!("error: {}: {error}", word.to_string_lossy()));
            return Ok((EndedBy::Command, None, Some(code)));
        }
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let state = Mutex::new((Some(shaped), None));
    let end = |ended_by: EndedBy| -> io::Result<()> {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shaped) = state.0.take() {
            state.1 = Some((ended_by, shaped.end()?));
        }
        Ok(())
    };
    let give = |signal: u8| {
        let named = Signal::from_named_raw(signal.into());
        // The process may have ended already.
        let _ended = pid.zip(named).map(|(pid, named)| kill_process(pid, named));
        if [SIGTERM, SIGHUP].contains(&i32::from(signal)) {
            let _told_at_the_end = end(EndedBy::Signal);
        }
    };
    let is_over = || {
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.as_ref().is_some_and(Shaped::is_over)
    };
    let status = hand_on(give, || {
        ended(&mut child, is_over, |time_is_up| {
            if !args.quiet && !args.json {
                terminal.say(time_is_up);
            }
            end(EndedBy::Time)
        })
        .map_err(|error| left(&error))
    })?;
    end(EndedBy::Command).map_err(|error| left(&error))?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(2);
    let code = Some(u8::try_from(code).unwrap_or(u8::MAX));
    let ended = state.into_inner().unwrap_or_else(PoisonError::into_inner).1;
    Ok(ended.map_or((EndedBy::Signal, None, code), |(ended_by, carried)| (ended_by, carried, code)))
}

/// Waits for the command; `early` hears where the shaping ends before.
fn ended(
    child: &mut Child,
    is_over: impl Fn() -> bool,
    early: impl Fn(&str) -> io::Result<()>,
) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if is_over() {
            early("the shaping has ended before the command, which goes on without it")?;
        }
        sleep(STEP);
    }
}

/// `--undo`.
fn undo(args: &ShapeArgs, netns: Option<&Path>, terminal: &Terminal) -> Result<Outcome, Failure> {
    let not_permitted = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::machine(
            format!("{} can't be read or changed: {error}", args.interface),
            "run it as root",
        ),
        _ => left(&error),
    };
    let found = shaping::shaped_interfaces(netns).map_err(not_permitted)?;
    let of_it = |found: &&ShapedInterface| found.interface.as_deref() == Some(&args.interface);
    let undone: Vec<&ShapedInterface> = found.iter().filter(of_it).collect();
    undone.iter().try_for_each(|shaping| shaping::undo(shaping, netns)).map_err(not_permitted)?;
    if args.json {
        let document = serde_json::json!({"schema": 1, "undone": undone});
        let text = serde_json::to_string_pretty(&document).map_err(Failure::json)?;
        terminal.print_data(&(text + "\n"))?;
    } else if !args.quiet {
        terminal.say(&match undone.is_empty() {
            true => format!("{} is not shaped", args.interface),
            false => format!("{} is as it was", args.interface),
        });
    }
    Ok(Outcome::Done)
}

fn beginning(args: &ShapeArgs, path: &PathSpec, switch: u32) -> String {
    let mut what = Vec::new();
    if !path.rtt().is_zero() {
        what.push(format!("{} more round trip", QuantityKind::Time.alone(path.rtt().as_nanos() as f64)));
    }
    if let Some(bottleneck) = &path.forward.bottleneck {
        let queue = bottleneck.queue_bytes(path.rtt(), path.full_frame()).get();
        let (rate, queue) =
            (QuantityKind::Rate.alone(bottleneck.rate.bps() as f64), QuantityKind::Bytes.alone(queue as f64));
        let managed =
            path.forward.aqm.as_ref().map_or_else(String::new, |aqm| format!(" and {}", aqm.name()));
        what.push(format!("{rate} with a queue of {queue}{managed}"));
    }
    what.extend(args.loss.iter().map(|loss| format!("{loss} loss")));
    what.extend(args.jitter.iter().map(|jitter| format!("jitter of {jitter}")));
    let what = if what.is_empty() { "shaped".to_owned() } else { what.join(", ") };
    let to = if args.to.is_empty() { "all but ssh".to_owned() } else { format!("to {}", args.to.join(", ")) };
    let until = if args.command.is_empty() { "until Ctrl-C" } else { "until the command ends" };
    let span = QuantityKind::Time.alone(args.span.as_nanos() as f64);
    format!(
        "{}: {what}, {to}; {until}, {span} at most. Process {switch} undoes it, also where this one is killed",
        args.interface
    )
}

/// What could not be undone.
fn left(error: &io::Error) -> Problem {
    Problem::usage(format!("undoing the shaping: {error}"), "pipefill doctor lists what is left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ends_are_networks_and_hosts() {
        let of = |text: &str| peers(text).unwrap();
        let net = Peer { address: [10, 0, 0, 0].into(), prefix_length: 8, port: None };
        assert_eq!(of("10.1.2.3/8"), [net]);
        assert_eq!(of("10.1.2.3"), [Peer::host([10, 1, 2, 3].into(), None)]);
        assert_eq!(of("10.1.2.3:5201"), [Peer::host([10, 1, 2, 3].into(), Some(5201))]);
        assert_eq!(of("[fd77::2]:5201"), [Peer::host("fd77::2".parse().unwrap(), Some(5201))]);
        assert!(peers("").is_err() && peers("10.1.2.3:x").is_err());
    }
}
