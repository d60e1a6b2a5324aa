//! The simulator against real Linux: `docs/accuracy.md` (`cargo run --release -p xtask -- accuracy`).
//!
//! Never: a threshold that moves with the result.

mod aqm_page;
mod bounds;
mod cell;
mod golden;
mod measure;
mod page;
mod score;

use bounds::{Verdict, verdicts};
use golden::{FILES, Golden, Outcome};
use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::record::RunRecord;
use pipefill_sim::{Sim, SimOptions, WriterHabit};
use score::Score;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The oracle's SYN leaves so long after a tick of its millisecond clock: 527.4 to 527.8 µs by the packets of four cells.
const PHASE: Duration = Duration::from_nanos(527_600);

/// A look at the clock costs a process of the oracle so much virtual time (`timer_read()` of User-Mode Linux), and each packet that it
/// sends is one: those of a write leave that far apart.
const PACKET_COST: Duration = Duration::from_nanos(256);

/// The page, relative to the workspace.
const PAGE: &str = "docs/accuracy.md";

/// Without arguments runs every golden, writes the page and fails where a bound does not hold; with the numbers of cells prints
/// these.
///
/// # Errors
/// No held-out cell to judge by, goldens that can't be read, a run that failed, a page that can't be written, an argument that is no number.
pub(crate) fn run(root: &Path, arguments: impl Iterator<Item = String>) -> Result<ExitCode, String> {
    let cells: Result<Vec<u32>, String> = arguments
        .map(|text| text.parse().map_err(|_| format!("{text:?} is not the number of a cell")))
        .collect();
    match cells?.as_slice() {
        [] => write(root),
        cells => show(root, cells).map(|()| ExitCode::SUCCESS),
    }
}

fn write(root: &Path) -> Result<ExitCode, String> {
    let scores = judge(golden::read(root, &FILES)?)?;
    has_held_out(&scores)?;
    let gso = judge(golden::read(root, &[golden::GSO])?)?;
    let aqm = judge(golden::read(root, &[golden::AQM])?)?;
    fs::write(root.join(PAGE), page::text(&scores, &gso, &aqm_page::section(&aqm)))
        .map_err(|error| format!("{PAGE}: {error}"))?;
    let all =
        verdicts(&scores).into_iter().chain(bounds::gso_verdicts(&gso)).chain(bounds::aqm_verdicts(&aqm));
    let failed: Vec<Verdict> = all.filter(|verdict| !verdict.holds).collect();
    for Verdict { what, part, measured, bound, .. } in &failed {
        eprintln!("{what}, {part}: {measured}; the bound is {bound}");
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A judgement on cells that were looked at alone is none.
fn has_held_out(scores: &[Score]) -> Result<(), String> {
    match scores.iter().any(|score| score.golden.is_held_out()) {
        true => Ok(()),
        false => Err(format!(
            "none of {} cells is held out: {} has no cell from {} on",
            scores.len(),
            FILES.join(", "),
            golden::FIRST_HELD_OUT
        )),
    }
}

/// Runs every cell.
fn judge(goldens: Vec<Golden>) -> Result<Vec<Score>, String> {
    let outcomes = run_all(&goldens)?;
    let pairs: Vec<(Golden, Outcome)> = goldens.into_iter().zip(outcomes).collect();
    Ok(score::scores(&pairs))
}

/// Prints the cells' figures and series, real beside simulated.
fn show(root: &Path, cells: &[u32]) -> Result<(), String> {
    let goldens = golden::read(root, &[&FILES[..], &[golden::GSO, golden::AQM]].concat())?;
    for golden in goldens.iter().filter(|golden| cells.contains(&golden.cell)) {
        let record = simulate(golden)?;
        let simulated = measure::outcome(golden, &record);
        let scores = score::scores(&[(golden.clone(), simulated)]);
        let rows = if golden.aqm.is_some() { aqm_page::rows(&scores) } else { page::rows(&scores) };
        print!("{rows}{}", page::series(golden, &measure::series(golden, &record)));
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

/// Without GSO a packet is a segment, as on a wire; the oracle's application writes once for each `EPOLLOUT`.
fn simulate(golden: &Golden) -> Result<RunRecord, String> {
    let sim = Sim::with_options(SimOptions {
        gso: golden.gso,
        remakes_packets: false,
        writer: WriterHabit::OncePerWake,
        phase: golden.aqm.as_ref().map_or(PHASE, |aqm| Duration::from_nanos(aqm.phase_ns)),
        packet_cost: PACKET_COST,
        ..SimOptions::default()
    });
    sim.run(&cell::run(golden), &Unwatched).map_err(|error| format!("cell {}: {error}", golden.cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the first grid each third cell; and the held-out ones, of those with random loss, whose many repetitions take long, each ninth. Of fewer
    /// cells the 90th percentile would be that of a single one. `make proof` runs all of them.
    fn is_tested(golden: &Golden) -> bool {
        let is_of_the_grid = golden.cell < 1000 && golden.cell.is_multiple_of(3);
        is_of_the_grid
            || golden.is_held_out() && (golden.loss_percent == 0.0 || golden.cell.is_multiple_of(9))
    }

    /// Every bound of the page.
    #[test]
    fn the_simulator_agrees_with_linux() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
        let mut goldens = golden::read(root, &[golden::GRID, golden::HELD_OUT, golden::HELD_OUT_NO_LOSS])
            .expect("every line is a golden");
        goldens.retain(is_tested);
        let scores = judge(goldens).expect("every cell runs");
        let verdicts = verdicts(&scores);
        assert_eq!(verdicts.len(), 10, "{verdicts:?}");
        let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        println!("{verdicts:#?}");
    }

    /// The same for hosts with GSO on: the held-out half. `make proof` runs the other one too.
    #[test]
    fn the_simulator_agrees_with_linux_in_its_default_way() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
        let mut goldens = golden::read(root, &[golden::GSO]).expect("every line is a golden");
        goldens.retain(Golden::is_held_out);
        let scores = judge(goldens).expect("every cell runs");
        let verdicts = bounds::gso_verdicts(&scores);
        let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        assert!(verdict.holds && verdict.cells == 100, "{verdicts:#?}");
        println!("{verdicts:#?}");
    }

    /// Disciplines of the queue against Linux's qdiscs: the held-out third. `make proof` runs every cell.
    #[test]
    fn the_simulators_disciplines_agree_with_linux() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
        let mut goldens = golden::read(root, &[golden::AQM]).expect("every line is a golden");
        goldens.retain(Golden::is_held_out);
        let scores = judge(goldens).expect("every cell runs");
        assert!(scores.len() >= 20, "{}", scores.len());
        let verdicts = bounds::aqm_verdicts(&scores);
        assert_eq!(verdicts.len(), 4, "{verdicts:?}");
        let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }

    #[test]
    fn cells_that_were_looked_at_alone_are_no_judgement() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
        let goldens = golden::read(root, &[golden::GRID]).expect("every line is a golden");
        let pairs: Vec<(Golden, Outcome)> =
            goldens.into_iter().map(|golden| (golden.clone(), golden.outcome().clone())).collect();
        let refused = has_held_out(&score::scores(&pairs)).expect_err("the grid was looked at");
        assert!(refused.contains("is held out"), "{refused}");
    }
}
