//! `pipefill watch`: what limits the connections of this host.

use crate::args::WatchArgs;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::signals::Stop;
use crate::terminal::Terminal;
use crate::watch::{Filter, Watcher, What, keep, view};
use pipefill_report::connections;
use pipefill_report::words::complete_connections;
use std::fs;
use std::time::{Duration, Instant};

/// How long `--once` looks.
const ONCE: Duration = Duration::from_secs(1);

/// Looks at the sockets and says what limits each.
pub(super) fn watch(args: &WatchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let what = What {
        filter: Filter::read(&args.filter)?,
        pid: args.pid,
        netns: args.netns.clone(),
        every: args.interval,
    };
    if let Some(out) = args.out.as_deref().filter(|out| fs::symlink_metadata(out).is_ok()) {
        return Err(Failure::usage(
            format!("{} is there already", out.display()),
            "choose another one with --out OTHER",
        ));
    }
    let stop = Stop::on_signals()?;
    let mut watcher = Watcher::open(what)?;
    let span = if args.once { Some(ONCE) } else { args.span };
    // One look tells nothing: there is a second one, an interval later.
    let until = span.map(|span| Instant::now() + span.max(args.interval));
    if args.json_stream {
        watcher.look_until(until, &stop, |watcher| {
            let found = complete_connections(watcher.news());
            terminal.print_data(&(serde_json::to_string(&found).map_err(Failure::Json)? + "\n"))?;
            Ok(true)
        })?;
    } else if let (None, true) = (until, terminal.is_interactive()) {
        view(&mut watcher, &stop, terminal)?;
    } else {
        watcher.look_until(until, &stop, |_| Ok(true))?;
    }
    if let Some(out) = &args.out {
        let kept = keep(std::slice::from_mut(&mut watcher), out, terminal)?;
        terminal.say(&kept);
    }
    let was_shown = args.json_stream || (until.is_none() && terminal.is_interactive());
    if !was_shown {
        let found = complete_connections(watcher.found(usize::MAX));
        if args.json {
            terminal.print_data(&(serde_json::to_string_pretty(&found).map_err(Failure::Json)? + "\n"))?;
        } else {
            terminal.print(&connections::render(&found, terminal.table_style()))?;
        }
    }
    Ok(Outcome::Done)
}
