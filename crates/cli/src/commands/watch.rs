//! `pipefill watch`: what limits the connections of this host.

use crate::args::WatchArgs;
use crate::outcome::Outcome;
use crate::page::leave_page_of_connections;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use crate::watch::view;
use pipefill_core::problem::Problem;
use pipefill_endpoint::{Endpoint, ListenAddress};
use pipefill_observe::{Filter, WatchRequest, Watcher, keep_connections};
use pipefill_report::connections;
use pipefill_report::words::complete_connections;
use pipefill_runs::{Failure, Stop};
use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Samples the sockets and prints what limits each.
pub(super) fn watch(args: &WatchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let what = WatchRequest {
        filter: Filter::read(&args.filter)?,
        pid: args.pid,
        netns: args.netns.clone(),
        every: args.interval,
        emulated: None,
    };
    if let Some(out) = args.out.as_deref().filter(|out| fs::symlink_metadata(out).is_ok()) {
        return Err(Failure::usage(
            format!("{} is there already", out.display()),
            "choose another one with --out OTHER",
        ));
    }
    // Before anything is looked at: the address may be wrong.
    let listener = args.listen.map(ListenAddress::listen).transpose()?;
    let stop = stop_on_signals()?;
    let mut watcher = Watcher::open(what)?;
    // One look shows no change: a second one follows after an interval.
    let until = args.span.map(|span| Instant::now() + span.max(args.interval));
    let is_live = !args.once && until.is_none() && listener.is_none() && terminal.is_interactive();
    let stream = |watcher: &mut Watcher| {
        let found = complete_connections(watcher.news());
        terminal.print_while_read(&(serde_json::to_string(&found).map_err(Problem::json)? + "\n"))
    };
    if let Some(listener) = listener {
        watcher = watcher.with_groups(args.group_by.clone(), args.groups.into());
        serve(&mut watcher, listener, args.interval, until, &stop, terminal)?;
    } else if args.once {
        watcher.look_once(&stop)?;
        if args.json_stream {
            stream(&mut watcher)?;
        }
    } else if args.json_stream {
        watcher.look_until(until, &stop, stream)?;
    } else if is_live {
        view(&mut watcher, &stop, terminal)?;
    } else {
        watcher.look_until(until, &stop, |_| Ok(true))?;
    }
    if let Some(out) = &args.out {
        let kept = keep_connections(std::slice::from_mut(&mut watcher), None, out)?;
        terminal.say(&leave_page_of_connections(&kept, terminal)?);
    }
    if !args.json_stream && !is_live && args.listen.is_none() {
        let found = complete_connections(watcher.found(usize::MAX));
        if args.json {
            terminal.print_data(&(serde_json::to_string_pretty(&found).map_err(Failure::json)? + "\n"))?;
        } else {
            terminal.print(&connections::render(&found, terminal.table_style()))?;
        }
    }
    Ok(Outcome::Done)
}

/// Looks, and serves what it sees at `listener`.
fn serve(
    watcher: &mut Watcher,
    listener: TcpListener,
    every: Duration,
    until: Option<Instant>,
    stop: &Stop,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let (mut listener, mut endpoint) = (Some(listener), None::<Endpoint>);
    watcher.look_until(until, stop, |watcher| {
        let Some(metrics) = watcher.metrics() else { return Ok(true) };
        if let Some(endpoint) = &endpoint {
            endpoint.publish(metrics);
        } else if let Some(listener) = listener.take() {
            let started = Endpoint::start(listener, metrics, every)?;
            let address = started.address();
            terminal.say(&format!("metrics at http://{address}/metrics, findings at /connections"));
            endpoint = Some(started);
        }
        Ok(true)
    })?;
    Ok(())
}
