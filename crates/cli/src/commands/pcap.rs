//! `pipefill pcap`: what limits the connections of a capture.

mod joined;

use crate::args::{CsvTable, PcapArgs};
use crate::capture_graphs::{Which, draw, page};
use crate::outcome::Outcome;
use crate::reproduction;
use crate::terminal::Terminal;
use pipefill_observe::{judge_capture, read_capture};
use pipefill_report::captured::{self, Extent};
use pipefill_report::csv;
use pipefill_report::words::complete_capture;
use pipefill_runs::Failure;

/// Reads the capture and prints what limits each of its flows.
pub(super) fn pcap(args: &PcapArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let found = match &args.files[..] {
        [file] => judge_capture(&read_capture(file, None)?),
        [first, second] if args.graphs.is_none() && args.page.is_none() => joined::joined(first, second)?,
        [_, _] => {
            let [option, to] =
                if args.graphs.is_some() { ["--graphs", "DIR"] } else { ["--page", "FILE.html"] };
            return Err(Failure::usage(
                format!("{option} draws one capture, and two were given"),
                format!("name the capture to draw alone: pipefill pcap FILE {option} {to}"),
            ));
        }
        files => {
            return Err(Failure::usage(
                format!("{} captures were given", files.len()),
                "give one capture, or two of the same transfer: the sender's and the receiver's",
            ));
        }
    };
    let found = complete_capture(found);
    if let Some(file) = &args.scenario {
        reproduction::write(&found, file, !args.no_fit, terminal)?;
    }
    let which = Which::of(args)?;
    let drawn = args
        .graphs
        .as_deref()
        .zip(args.files.first())
        .map(|(folder, file)| draw(file, &which, folder).map(|files| (folder, files.len())));
    let drawn = drawn.transpose()?;
    let page = args
        .page
        .as_deref()
        .zip(args.files.first())
        .map(|(to, file)| page::write(file, &which, &found, to).map(|count| (to, count)));
    let page = page.transpose()?;
    if args.json {
        terminal.print_data(&(serde_json::to_string_pretty(&found).map_err(Failure::json)? + "\n"))?;
    } else if let Some(rows) = args.csv {
        let text = match rows {
            CsvTable::Flows => csv::captured(&found),
            CsvTable::Time => csv::captured_time(&found),
        };
        terminal.print_data(&text.map_err(|error| Failure::broken(error.to_string()))?)?;
    } else {
        let extent = if args.all { Extent::All } else { Extent::Largest(args.most) };
        terminal.print(&captured::render(&found, extent, terminal.table_style()))?;
    }
    if let Some((folder, count)) = drawn {
        terminal.say(&format!("{count} files in {}", folder.display()));
    }
    if let Some((to, count)) = page {
        terminal.say(&format!("page: {} (connections drawn: {count})", to.display()));
    }
    Ok(if found.broken.is_some() { Outcome::Broken } else { Outcome::Done })
}
