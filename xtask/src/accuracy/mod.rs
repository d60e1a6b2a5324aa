//! The simulator against real Linux: `docs/accuracy.md` (`cargo run --release -p xtask -- accuracy`).
//!
//! Never: a threshold that moves with the result.

mod cell;
mod golden;
mod measure;
mod page;
mod score;

use golden::{Golden, Outcome};
use pipefill_core::backend::{Backend, Watch};
use pipefill_core::record::RunRecord;
use pipefill_core::units::Time;
use pipefill_sim::{Options, Sim, WriterHabit};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The page, relative to the workspace.
const PAGE: &str = "docs/accuracy.md";

/// Without arguments runs every golden and writes the page; with the numbers of cells prints these.
///
/// # Errors
/// Goldens that can't be read, a run that failed, a page that can't be written, an argument that is no number.
pub(crate) fn run(root: &Path, arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let cells: Result<Vec<u32>, String> = arguments
        .map(|text| text.parse().map_err(|_| format!("{text:?} is not the number of a cell")))
        .collect();
    match cells?.as_slice() {
        [] => write(root),
        cells => show(root, cells),
    }
}

fn write(root: &Path) -> Result<(), String> {
    let goldens = golden::read(root)?;
    let outcomes = run_all(&goldens)?;
    let pairs: Vec<(Golden, Outcome)> = goldens.into_iter().zip(outcomes).collect();
    let text = page::text(&score::scores(&pairs));
    fs::write(root.join(PAGE), text).map_err(|error| format!("{PAGE}: {error}"))
}

/// Prints the cells' figures and series, real beside simulated.
fn show(root: &Path, cells: &[u32]) -> Result<(), String> {
    let goldens = golden::read(root)?;
    for golden in goldens.iter().filter(|golden| cells.contains(&golden.cell)) {
        let record = simulate(golden)?;
        let simulated = measure::outcome(golden, &record);
        let scores = score::scores(&[(golden.clone(), simulated)]);
        print!("{}{}", page::rows(&scores), page::series(golden, &measure::series(golden, &record)));
        for stream in &record.manifest.streams {
            println!("stream {} at its end: {:?}", stream.stream, stream.tcp);
        }
    }
    Ok(())
}

/// Outcomes in the order of the goldens, one thread a CPU.
fn run_all(goldens: &[Golden]) -> Result<Vec<Outcome>, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, golden)) = take(&next, goldens) {
            done.push((index, simulate(golden).map(|record| measure::outcome(golden, &record))));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker panicked")).collect::<Vec<_>>()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn take<'a>(next: &AtomicUsize, goldens: &'a [Golden]) -> Option<(usize, &'a Golden)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, goldens.get(index)?))
}

/// The oracle has no GSO: a packet is a segment, as on a wire; its application writes once for each `EPOLLOUT`.
fn simulate(golden: &Golden) -> Result<RunRecord, String> {
    let sim =
        Sim::with_options(Options { gso: false, writer: WriterHabit::OncePerWake, ..Options::default() });
    sim.run(&cell::run(golden), &Unwatched).map_err(|error| format!("cell {}: {error}", golden.cell))
}

/// Nobody looks on, nobody stops it.
struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _now: Time) {}

    fn stop_requested(&self) -> bool {
        false
    }
}
