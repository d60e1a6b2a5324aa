//! How fast the simulator is, in data packets per second of one core, alone and beside ns-3.
//!
//! A data packet is an MTU segment that the sender sends, a retransmission included; ACKs are not counted. CPU time is that of
//! the measuring thread (`/proc/thread-self/schedstat`), so that a busy machine makes the figure worse, but not wrong. Rows are
//! taken and thrown away: files are not the simulator's.
//!
//! `cargo bench -p pipefill-sim --bench speed`. Instructions are counted by `perf stat` or, where the machine has no counters,
//! by valgrind's callgrind over a shorter run; without either the column says so.

mod instructions;
mod ns3;
mod work;

use pipefill_testkit::goals::judge;
use std::convert::Infallible;
use std::process::ExitCode;
use work::{Figures, WORK, Work};

/// `--instructions NAME`: what the counting tool runs, and nothing else.
const CHILD: &str = "--instructions";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, ..] = arguments.as_slice()
        && flag == CHILD
    {
        print!("{}", Work::named(name).carry_out(instructions::SECONDS).packets);
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    judge(|| Ok::<_, Infallible>(measure()))
}

/// The goals that were missed.
fn measure() -> Vec<String> {
    println!("the simulator, one TCP flow, best of {} runs", work::ROUNDS);
    println!(
        "{:<44} {:>9} {:>8} {:>9} {:>10} {:>12} {:>7}",
        "", "packets", "CPU s", "Mbit/s", "packets/s", "instructions", "to hold"
    );
    let (mut first, mut missed) = (None, Vec::new());
    for work in &WORK {
        let figures = work.best();
        let counted = instructions::per_packet(work.name);
        let to_hold = work.to_hold.map_or("-".to_owned(), |million| format!("{million} M"));
        println!(
            "{:<44} {:>9} {:>8.3} {:>9.1} {:>8.2} M {:>12} {:>7}",
            work.name,
            figures.packets,
            figures.cpu_seconds,
            figures.goodput_bps / 1e6,
            figures.packets_per_second() / 1e6,
            counted.map_or_else(|why| why, |count| format!("{count:.0}")),
            to_hold,
        );
        missed.extend(work.missed(&figures));
        first.get_or_insert(figures);
    }
    if let Some(ours) = first {
        missed.extend(ns3::compare(&ours));
    }
    missed
}
