//! Where it was run, what was asked of the machine and what it gave, and the instrument's own errors.
//!
//! Never: a setting that was refused and looks granted.

use super::Page;
use super::terms::term;
use crate::quantity::{MISSING, QuantityKind};
use crate::runs::RunPart;
use indexmap::IndexMap;
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::EnvironmentSummary;
use pipefill_core::record::{Lateness, Setting};
use std::collections::BTreeSet;

/// With more runs than this only the worst of each error is shown.
const RUNS: usize = 60;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Markup {
    html! {
        section id="machine" aria-labelledby="machine-title" {
            h2 id="machine-title" { "The machine" }
            (environment(&page.experiment.environment))
            (settings(page.runs))
            (instrument(page))
        }
    }
}

fn environment(environment: &EnvironmentSummary) -> Markup {
    fn joined<T: ToString>(values: &BTreeSet<T>) -> String {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
    let rows = [
        ("kernel", joined(&environment.kernel)),
        ("CPUs", joined(&environment.cpus)),
        ("CPU model", joined(&environment.cpu_model)),
        ("privilege", joined(&environment.privilege)),
        ("data path", joined(&environment.data_path)),
        ("pipefill", joined(&environment.pipefill)),
    ];
    html! {
        dl class="figures-of-cell" {
            @for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) { div { dt { (name) } dd { bdi { (text) } } } }
        }
    }
}

/// What tells two settings apart.
type Key<'a> = (&'a String, &'a String, &'a Option<String>, &'a Option<String>, &'a Option<String>);

/// Every setting that was asked for, each once, with how many runs had it so.
fn settings(runs: &[RunPart]) -> Markup {
    let mut alike: IndexMap<Key<'_>, (&Setting, usize)> = IndexMap::new();
    for setting in runs.iter().flat_map(|run| &run.settings).filter(|setting| setting.asked.is_some()) {
        let Setting { place, name, asked, got, why, met: _ } = setting;
        alike.entry((place, name, asked, got, why)).or_insert((setting, 0)).1 += 1;
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| MISSING.to_owned());
    html! {
        @if !alike.is_empty() {
            details open[alike.values().any(|(setting, _)| !setting.met)] {
                summary { "Asked of the machine, and got (" (alike.len()) " settings)" }
                div class="scroll" tabindex="0" role="region" aria-label="Settings, asked and got" {
                    table {
                        thead { tr {
                            th scope="col" { "where" } th scope="col" { "setting" } th scope="col" { "asked" } th scope="col" { "got" }
                            th scope="col" { "granted" } th scope="col" class="number" { "times" }
                        } }
                        tbody { @for (setting, count) in alike.values() {
                            tr {
                                th scope="row" { (setting.place) }
                                td { code { (setting.name) } }
                                td { bdi { (text(&setting.asked)) } }
                                td { bdi { (text(&setting.got)) } }
                                td class=[(!setting.met).then_some("bad")] {
                                    @if setting.met { "yes" } @else { "no" }
                                    @if let Some(why) = &setting.why { ": " (why) }
                                }
                                td class="number" { (count) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// A run's directory, its latenesses in nanoseconds, its losses, the last of them stolen time in microseconds.
type Row<'a> = (&'a str, [Option<u64>; 5], [Option<u64>; 5]);

/// The errors of each run, or the worst of all.
fn instrument(page: &Page<'_>) -> Markup {
    let rows: Vec<Row<'_>> = page.runs.iter().map(row).collect();
    let worst = |place: usize| rows.iter().filter_map(|row| row.1[place]).max();
    let lost = |place: usize| rows.iter().filter_map(|row| row.2[place]).max();
    let places = [0, 1, 2, 3, 4];
    let everything = ("the worst of all runs", places.map(worst), places.map(lost));
    let shown: Vec<_> = if rows.len() > RUNS { vec![everything] } else { rows };
    let is_told = shown.iter().any(|row| row.1.iter().chain(&row.2).any(Option::is_some));
    let time = |value: Option<u64>| {
        value.map_or_else(|| MISSING.to_owned(), |ns| QuantityKind::Time.alone(ns as f64))
    };
    let count = |value: Option<u64>| value.map_or_else(|| MISSING.to_owned(), |count| count.to_string());
    html! {
        @for sentence in in_words(page.runs) { p { (sentence) } }
        @if is_told {
            details {
                summary { "The instrument's own errors" }
                div class="scroll" tabindex="0" role="region" aria-label="The instrument's own errors" {
                    table {
                        thead { tr {
                            th scope="col" { "run" }
                            th scope="col" class="number" { (term("late", "path p50")) }
                            th scope="col" class="number" { (term("late", "path p99")) }
                            th scope="col" class="number" { (term("late", "sender p99")) }
                            th scope="col" class="number" { (term("late", "samples p99")) }
                            th scope="col" class="number" { (term("late", "bare timer p99")) }
                            th scope="col" class="number" { "samples missed" }
                            th scope="col" class="number" { "ring drops" }
                            th scope="col" class="number" { "refused packets" }
                            th scope="col" class="number" { "lost events" }
                            th scope="col" class="number" { "CPU stolen" }
                        } }
                        tbody { @for (name, late, lost) in &shown {
                            tr {
                                th scope="row" { bdi { (name) } }
                                @for value in late { td class="number" { (time(*value)) } }
                                @for value in &lost[..4] { td class="number" { (count(*value)) } }
                                td class="number" { (time(lost[4].map(|us| us * 1000))) }
                            }
                        } }
                    }
                }
            }
        } @else if !page.runs.is_empty() {
            p { "The simulator is its own instrument: it is never late, and loses nothing." }
        }
    }
}

fn row(part: &RunPart) -> Row<'_> {
    let instrument = &part.instrument;
    let path = [&instrument.release_lateness_forward, &instrument.release_lateness_reverse];
    let worse = |field: fn(&Lateness) -> u64| path.iter().copied().flatten().map(field).max();
    let p99 = |lateness: &Option<Lateness>| lateness.as_ref().map(|lateness| lateness.p99_ns);
    (
        &part.series.directory,
        [
            worse(|l| l.p50_ns),
            worse(|l| l.p99_ns),
            p99(&instrument.send_lateness),
            p99(&instrument.sample_lateness),
            p99(&instrument.timer_lateness),
        ],
        [
            samples(part).map(|(due, taken)| due - taken),
            instrument.ring_drops,
            instrument.transmit_drops,
            instrument.trace_lost_events,
            instrument.steal_us,
        ],
    )
}

/// How many samples were due, and how many of these were taken.
fn samples(part: &RunPart) -> Option<(u64, u64)> {
    let due = part.instrument.samples_due?;
    Some((due, part.instrument.samples_taken?.min(due)))
}

/// Whether the telemetry sampled when it was due, and how late this machine woke a thread that does nothing else.
fn in_words(runs: &[RunPart]) -> Vec<String> {
    let name = |part: &RunPart| match runs.len() {
        1 => String::new(),
        _ => format!(" (run {})", part.series.directory),
    };
    let known = || runs.iter().filter_map(|part| Some((part, samples(part)?)));
    let (due, taken) = known().fold((0, 0), |sum, (_, counts)| (sum.0 + counts.0, sum.1 + counts.1));
    let most = known().max_by_key(|(_, (due, taken))| due - taken).filter(|(_, (due, taken))| taken < due);
    let sampled = (due > 0).then(|| match most {
        None => format!("Every one of the {due} samples that were due was taken."),
        Some((part, (of, got))) => format!(
            "Of {due} samples that were due {taken} were taken: at the others the machine was late. The most are missing in one run: \
             {} of {of}{}.",
            of - got,
            name(part)
        ),
    });
    let timers = runs.iter().filter_map(|part| Some((part, part.instrument.timer_lateness.as_ref()?)));
    let woken = timers.max_by_key(|(_, late)| late.p99_ns).map(|(part, late)| {
        let time = |ns: u64| QuantityKind::Time.alone(ns as f64);
        format!(
            "A bare timer, which only sleeps, woke late by {} in the median, {} at the 99th percentile and {} at most{}. It tells a late \
             machine from a slow data path: where it is late, every program on this machine is.",
            time(late.p50_ns),
            time(late.p99_ns),
            time(late.max_ns),
            if runs.len() > 1 { format!(", in the worst run{}", name(part)) } else { String::new() }
        )
    });
    sampled.into_iter().chain(woken).collect()
}
