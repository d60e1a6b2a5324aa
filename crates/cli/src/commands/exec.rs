//! `pipefill exec`: any program behind a path, and what limits its connections.

use crate::args::{ExecArgs, PathOption, typed, typed_change, typed_policer};
use crate::outcome::Outcome;
use crate::page::leave_page_of_connections;
use crate::signals_of_commands::hand_on;
use crate::terminal::Terminal;
use pipefill_analysis::findings::connections::PathDatagrams;
use pipefill_capture::write::file_name;
use pipefill_core::cell::Direction;
use pipefill_core::plan::Selection;
use pipefill_core::problem::Problem;
use pipefill_core::record::{AqmSummary, PathCounts, PathFacts, Setting};
use pipefill_core::scenario::TraceModel;
use pipefill_core::units::Seed;
use pipefill_lab::privilege;
use pipefill_lab::program::{Captures, Carried, Count, ProgramPath, Programs, ensure_uplink};
use pipefill_lab::sysctl::buffer_limits;
use pipefill_observe::{
    DatagramWatcher, DisciplineWatcher, EmulatedPath, Filter, TakenPath, WatchRequest, Watcher,
    keep_connections,
};
use pipefill_report::quantity::QuantityKind;
use pipefill_runs::{Failure, PlannedScenario, Stop};
use pipefill_store::{Aside, Owner, StoreError};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

/// What a path is where no scenario is given; the flow is never run.
const TEXT: &str = "name = \"exec\"\n[run]\nrepeat = 1\n[[flow]]\n";
/// From one look at all sockets to the next; busy ones are looked at ten times as often.
const EVERY: Duration = Duration::from_millis(100);
/// Exit codes of a command that can't be executed, or was not found.
const NOT_STARTED: [i32; 2] = [126, 127];
/// What stands for the far end's address.
const SERVER: &[u8] = b"{server}";

/// Runs the command behind the path.
pub(super) fn exec(args: &ExecArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let asked = asked(args)?;
    let [cell] = asked.plan.cells.as_slice() else {
        return Err(Failure::usage(
            format!("the scenario has {} cells, and a command needs one path", asked.plan.cells.len()),
            "choose values with --set, e.g. --set path.rtt=80ms",
        ));
    };
    if let Some(out) = args.out.as_deref().filter(|out| fs::symlink_metadata(out).is_ok()) {
        return Err(Failure::usage(
            format!("{} is there already", out.display()),
            "choose another one with --out OTHER",
        ));
    }
    if cell.spec.run.capture && args.out.is_none() {
        return Err(Failure::usage(
            "a capture needs a directory to be kept in",
            "name a new one with --out DIR, or leave run.capture out",
        ));
    }
    if args.uplink {
        ensure_uplink()?;
    }
    // The process has one thread until here, and has to: see `acquire`.
    privilege::acquire()?;
    let runs = asked.plan.runs();
    let (run, seed) = runs.first().map_or(("", Seed::new(1)), |run| (&*run.id, run.seed));
    let wants_capture = args.out.as_deref().filter(|_| cell.spec.run.capture);
    let mut aside = wants_capture.map(|out| Aside::create(out, &Owner::current()?)).transpose()?;
    let path = ProgramPath::build(&cell.spec, seed, names_congestion_control(args))?;
    if !args.quiet {
        path.settings()
            .iter()
            .filter(|setting| !setting.met)
            .for_each(|setting| terminal.say(&unmet(setting)));
    }
    let programs = programs(args, path.server());
    let facts = PathFacts::asked(&cell.spec.path);
    let mut datagrams = DatagramWatcher::open(&path, facts.clone())?;
    let mut disciplines = DisciplineWatcher::default();
    let [client_buffers, server_buffers] =
        [path.client_namespace(), path.server_namespace()].map(|netns| buffer_limits(Some(&netns)));
    let near =
        EmulatedPath { local: path.clients(), remote: path.servers(), facts, remote_buffers: server_buffers };
    let far = EmulatedPath {
        local: near.remote,
        remote: near.local,
        facts: near.facts.reversed(),
        remote_buffers: client_buffers,
    };
    let mut watchers = vec![watcher(&path.client_namespace(), &[], near)?];
    if args.server.is_some() || args.uplink {
        // What the far end has with others is not on the path.
        watchers.push(watcher(&path.server_namespace(), &with_peers(path.clients()), far)?);
    }
    let captures = aside.as_mut().map(|aside| captures(run, aside)).transpose()?;
    let carried = path.carry(captures, || {
        path.run(&programs, |running| {
            hand_on(
                |signal| running.signal(signal),
                || {
                    let stop = Stop::when(&running.is_over);
                    Watcher::look_at_all_until(&mut watchers, &stop, || {
                        disciplines.look_if_due(&path);
                        datagrams.look_if_due()
                    })
                },
            )
        })
    });
    let (ended, carried) = carried.map_err(|error| Failure::broken(format!("the path: {error}")))?;
    let (code, looked) = ended.map_err(|error| Failure::broken(format!("starting the command: {error}")))?;
    looked?;
    let datagrams = datagrams.finish()?;
    let disciplines = disciplines.finish(&path, &carried.aqm);
    let taken = TakenPath { datagrams: &datagrams, disciplines: &disciplines, invalid: &carried.invalid };
    // A command that did not start has no findings.
    let did_nothing = watchers.iter().all(Watcher::has_seen_nothing) && datagrams.flows.is_empty();
    if !(NOT_STARTED.contains(&code) && did_nothing) {
        tell(args, terminal, &mut watchers, taken, &carried)?;
        aside.map_or(Ok(()), Aside::appear)?;
    }
    Ok(Outcome::Program(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// The ends of the path, as their captures are called: the command's, the server's.
const NEAR: &str = "near";
const FAR: &str = "far";
/// The near host's name in the lab.
const SENDER: &str = "sender";

/// Files for the captures of both hosts, which are moved to the records.
fn captures<'a>(run: &'a str, aside: &mut Aside) -> Result<Captures<'a>, Failure> {
    let mut file = |host| {
        let name = file_name(host).to_string();
        Ok::<_, StoreError>(Box::new(NamedFile { file: aside.file(&file_name(host))?, name }))
    };
    Ok(Captures { run, files: [file(NEAR)?, file(FAR)?] })
}

/// A file whose errors name it.
struct NamedFile<W> {
    file: W,
    name: String,
}

impl<W> NamedFile<W> {
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("writing {}: {error}", self.name))
    }
}

impl<W: Write> Write for NamedFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(&error))
    }
}

/// Of the sockets in the network namespace that `file` stands for, as far as `words` want them.
fn watcher(file: &Path, words: &[String], emulated: EmulatedPath) -> Result<Watcher, Problem> {
    let netns = Some(file.to_string_lossy().into_owned());
    let (filter, emulated) = (Filter::read(words)?, Some(emulated));
    Watcher::open(WatchRequest { filter, pid: None, netns, every: EVERY, emulated })
}

fn with_peers([near, far]: [IpAddr; 2]) -> Vec<String> {
    ["dst", &near.to_string(), "or", "dst", &far.to_string()].map(str::to_owned).to_vec()
}

/// The table, the path, and the records.
fn tell(
    args: &ExecArgs,
    terminal: &Terminal,
    watchers: &mut [Watcher],
    taken: TakenPath<'_>,
    carried: &Carried,
) -> Result<(), Failure> {
    let [forward, reverse] = Direction::ALL.map(|direction| PathCounts::of(&carried.counters, direction));
    for (watcher, is_far) in watchers.iter_mut().zip([false, true]) {
        let [from_here, to_here] = if is_far { [reverse, forward] } else { [forward, reverse] };
        watcher.path_counted(from_here, to_here);
    }
    let mut found = watchers.iter_mut().map(|watcher| watcher.found(usize::MAX));
    let mut connections = found.next().unwrap_or_default();
    found.for_each(|peer| connections.ask_senders(&peer));
    connections.other_datagrams = taken.datagrams.other_packets;
    connections.add_datagrams(taken.datagrams.flows.iter().map(PathDatagrams::finding));
    let connections = connections.invalidated(carried.invalid.clone());
    let connections = pipefill_report::words::complete_connections(connections);
    if args.json {
        terminal.say(&serde_json::to_string_pretty(&connections).map_err(Failure::json)?);
    } else if !args.quiet {
        terminal
            .say(pipefill_report::connections::render(&connections, terminal.error_table_style()).trim_end());
        if !carried.counters.is_empty() {
            terminal.say(&path_line(carried, connections.span_us, connections.connections.is_empty()));
        }
    }
    if let Some(out) = &args.out {
        let kept = leave_page_of_connections(&keep_connections(watchers, Some(taken), out)?, terminal)?;
        if !args.quiet && !args.json {
            terminal.say(&kept);
            carried.captured.iter().for_each(|count| terminal.say(&capture_line(count, out)));
        }
    }
    Ok(())
}

/// The scenario, with the options as what is set in it.
fn asked(args: &ExecArgs) -> Result<PlannedScenario, Failure> {
    // A queue stands at each bottleneck that there is.
    let has_rate = args.profile.is_some() || args.rate.is_some() || args.rate_trace.is_some();
    let has_reverse_rate =
        args.profile.is_some() || args.reverse_rate.is_some() || args.reverse_rate_trace.is_some();
    let [queues, aqms, ecns]: [&[&str]; 3] = match (has_rate, has_reverse_rate) {
        (_, false) => [&["queue"], &["aqm"], &["ecn"]],
        (false, true) => [&["reverse_queue"], &["reverse_aqm"], &["reverse_ecn"]],
        (true, true) => [&["queue", "reverse_queue"], &["aqm", "reverse_aqm"], &["ecn", "reverse_ecn"]],
    };
    let ecn = args.ecn.then(|| "true".to_owned());
    let [rate_trace, reverse_rate_trace] =
        [&args.rate_trace, &args.reverse_rate_trace].map(|trace| trace.as_deref().map(trace_from_here));
    let options: [PathOption<'_>; 14] = [
        ("--profile", &args.profile, &["profile"]),
        ("--rtt", &args.rtt, &["rtt"]),
        ("--rate", &args.rate, &["rate"]),
        ("--rate-trace", &rate_trace, &["rate_trace"]),
        ("--reverse-rate", &args.reverse_rate, &["reverse_rate"]),
        ("--reverse-rate-trace", &reverse_rate_trace, &["reverse_rate_trace"]),
        ("--queue", &args.queue, queues),
        ("--aqm", &args.aqm, aqms),
        ("--ecn", &ecn, ecns),
        ("--loss", &args.loss, &["loss", "reverse_loss"]),
        ("--jitter", &args.jitter, &["jitter", "reverse_jitter"]),
        ("--mark", &args.mark, &["mark", "reverse_mark"]),
        ("--inner-mtu", &args.inner_mtu, &["inner_mtu"]),
        ("--pmtud", &args.pmtud, &["pmtud"]),
    ];
    let mut typed = typed(&options);
    typed.extend(args.policer.iter().flat_map(|policer| typed_policer(policer)));
    typed.extend(args.change.iter().enumerate().flat_map(|(number, change)| typed_change(number, change)));
    let mut set = vec!["path.payload=kept".to_owned()];
    // A download goes to the command.
    set.extend(args.profile.is_some().then(|| "path.subscriber=sender".to_owned()));
    // What may not be marked is not.
    set.extend((args.mark.is_some() || args.ecn).then(|| "host.tcp_ecn=1".to_owned()));
    set.extend(typed.iter().map(|(_, assignment)| assignment.clone()));
    set.extend(args.set.iter().cloned());
    set.extend(args.capture.then(|| "run.capture=true".to_owned()));
    let planned = match &args.scenario {
        Some(file) => PlannedScenario::file(file, &Selection { set, ..Selection::default() }),
        None => PlannedScenario::built_in("exec", TEXT, &set),
    };
    planned.map_err(|failure| failure.as_typed(&typed))
}

/// A trace as it is named here: a scenario's files are relative to its own folder.
fn trace_from_here(name: &str) -> String {
    let is_file = TraceModel::find(name).is_none() && Path::new(name).exists();
    let file = is_file.then(|| std::path::absolute(name).ok()).flatten();
    file.map_or_else(|| name.to_owned(), |file| file.to_string_lossy().into_owned())
}

/// Whether a congestion control is set: a scenario always has one, without a scenario the machine's is used.
fn names_congestion_control(args: &ExecArgs) -> bool {
    let names = |set: &String| set.split('=').next().is_some_and(|key| key.ends_with(".congestion_control"));
    args.scenario.is_some() || args.set.iter().any(names)
}

fn programs(args: &ExecArgs, server: IpAddr) -> Programs {
    let named = |word: &OsString| with_address(word, server);
    Programs {
        command: args.command.iter().map(named).collect(),
        server: args.server.as_ref().map(named),
        has_uplink: args.uplink,
    }
}

/// `word` with the address in place of `{server}`; an IPv6 address in a URL stands in brackets (RFC 3986, 3.2.2).
fn with_address(word: &OsStr, server: IpAddr) -> OsString {
    let (mut out, mut rest) = (Vec::new(), word.as_bytes());
    while let Some(at) = rest.windows(SERVER.len()).position(|window| window == SERVER) {
        out.extend_from_slice(&rest[..at]);
        let is_in_url =
            out.ends_with(b"://") || out.ends_with(b"@") && out.windows(3).any(|window| window == b"://");
        match server {
            IpAddr::V6(address) if is_in_url => out.extend(format!("[{address}]").bytes()),
            address => out.extend(address.to_string().bytes()),
        }
        rest = &rest[at + SERVER.len()..];
    }
    out.extend_from_slice(rest);
    OsString::from_vec(out)
}

/// A setting that was not granted.
fn unmet(setting: &Setting) -> String {
    let Setting { place, name, asked, got, why, .. } = setting;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let why = why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("warning: {place}: {name} is {}, not {}{why}", text(got), text(asked))
}

/// What the path carried and dropped in `span_us`, and its precision; with `is_alone` also the rate, since no TCP connection has it.
fn path_line(carried: &Carried, span_us: u64, is_alone: bool) -> String {
    let ways = Direction::ALL.iter().zip(&carried.lateness).map(|(direction, late)| {
        let count = |name: &str| {
            let place = format!("path {}", direction.as_str());
            let found =
                carried.counters.iter().find(|counter| counter.place == place && counter.name == name);
            found.map_or(0, |counter| counter.after)
        };
        let lost = count("dropped_random_loss_packets");
        let queue = count("dropped_queue_full_packets");
        let others: String = [
            ("dropped_aqm_packets", "dropped by the AQM"),
            ("marked_aqm_packets", "marked by the AQM"),
            ("marked_random_packets", "marked"),
            ("dropped_policed_packets", "dropped by the policer"),
            ("dropped_exceeds_mtu_packets", "too large for the inner link"),
        ]
        .into_iter()
        .filter(|(name, _)| count(name) > 0)
        .map(|(name, what)| format!(", {} {what}", count(name)))
        .collect();
        let late = late.as_ref().map_or_else(String::new, |late| {
            let [p99, worst] = [late.p99_ns, late.max_ns].map(|ns| ns as f64 / 1e6);
            format!(", 99 % of them at most {p99:.2} ms late, the worst {worst:.2} ms")
        });
        let aqm =
            carried.aqm.iter().find(|aqm| aqm.direction == *direction).map_or_else(String::new, aqm_words);
        let name = direction.as_str();
        let rate = is_alone.then(|| {
            let bits = count("offered_bytes").saturating_mul(8) as f64;
            format!(" ({} of frames)", QuantityKind::Rate.alone(bits * 1e6 / span_us.max(1) as f64))
        });
        let rate = rate.unwrap_or_default();
        format!(
            "{name} {} packets{rate}, {lost} lost at random, {queue} in the queue{others}{aqm}{late}",
            count("offered_packets")
        )
    });
    let text = format!("path ({}): {}", carried.data_path, ways.collect::<Vec<_>>().join("; "));
    match carried.own_drops {
        0 => text,
        drops => format!(
            "{text}. It had no room for {drops} packets of its own: these losses are the instrument's"
        ),
    }
}

/// How long packets waited in a queue with a discipline.
fn aqm_words(aqm: &AqmSummary) -> String {
    let sojourns = [aqm.sojourn_us_p50, aqm.sojourn_us_p95, aqm.sojourn_us_p99];
    let [p50, p95, p99] = sojourns.map(|us| us.unwrap_or(0) as f64 / 1e3);
    format!(
        ", {p50:.2} ms in {} in the median, {p95:.2} ms at the 95th and {p99:.2} ms at the 99th percentile",
        aqm.kind
    )
}

/// Where a host's capture is, and whether it is whole.
fn capture_line(count: &Count, out: &Path) -> String {
    // Which end sends is the programs' affair.
    let end = if count.host == SENDER { NEAR } else { FAR };
    let file = out.join(&*file_name(end));
    let text = format!("capture of {} packets: {}", count.captured, file.display());
    match count.dropped {
        0 => text,
        dropped => format!("{text}. It had no room for {dropped} packets more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_can_t_be_written_is_named() {
        let mut full = NamedFile {
            file: fs::OpenOptions::new().write(true).open("/dev/full").unwrap(),
            name: "near.pcapng".to_owned(),
        };
        let error = full.write_all(&[0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("writing near.pcapng: No space left on device"), "{error}");
    }

    #[test]
    fn the_address_takes_its_place() {
        let (v4, v6) = ("10.77.0.2".parse().unwrap(), "fd77::2".parse().unwrap());
        let of = |word: &str, address| with_address(OsStr::new(word), address).into_string().unwrap();
        assert_eq!(of("http://{server}:80/{server}", v4), "http://10.77.0.2:80/10.77.0.2");
        assert_eq!(of("http://{server}:80/", v6), "http://[fd77::2]:80/");
        assert_eq!(of("http://user@{server}/", v6), "http://user@[fd77::2]/");
        assert_eq!(of("{server}", v6), "fd77::2");
        assert_eq!(of("nothing", v4), "nothing");
    }
}
