//! The section of `docs/accuracy.md` on disciplines of the queue.

use super::bounds::{aqm_verdicts, signals_agree, sojourns_agree};
use super::page::{by, signed_percent, write_group, write_table_of_verdicts};
use super::score::Score;
use std::fmt::Write;

const HEAD: &str = "
## AQM and ECN

Cells of `aqm.jsonl`, drawn at random: discipline, ECN, rate, round trip, number of streams, congestion control. The oracle has netem, below it tbf, below
that the discipline. Sojourn times of Linux are those of every packet: from its arrival at the queue until the packet before it left. Medians over repetitions
are compared (other seeds, other instants of the SYN between two ticks): three, and seven of PIE and RED, which draw; 21 where the seven of Linux leave more than
10 % and 2 packets of doubt about its median of drops or marks (from the least to the largest), whatever the simulator says. Numbers of packets agree within
10 % or 2 packets, the 95th percentile of the sojourn time within 15 % or 100 µs. Cells whose number leaves 2 when divided by 3 are held out: the disciplines
and TCP's answer to marks were mended by the others. DualPI2 is not in that kernel; its tests are the equations of RFC 9332 (`crates/link/src/aqm/dualpi2.rs`).

Where they differ, most runs differ in the overshoot of slow start, which is a large part of a run: which of the packets of several streams is dropped first decides
what follows (7012, 7018), and the receive window of the simulator opens a little earlier (7045, 7060, as in the cells below). Several BBR streams that
answer no mark share a queue in more than one way (7015). A process of the oracle that has the socket lets ACKs wait, and so cuts bursts into parts: of 34
packets 17 find the bucket's tokens, 17 more come 5 µs later. In the simulator they come at once, RED's average is twice as high, and slow start ends early (7027).
";

const CELL_HEAD: &str = "\
| cell | discipline | ECN | cc | Mbit/s | ms | streams | Linux Mbit/s | sim | error | drops | sim | marks | sim | sojourn p50 µs | sim | p95 µs | sim | agrees |
| --: | --- | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
";

/// The section.
pub(super) fn section(scores: &[Score]) -> String {
    let mut text = HEAD.to_owned();
    write_table_of_verdicts(&mut text, &aqm_verdicts(scores));
    for (title, groups) in
        [("discipline", by(scores, discipline)), ("cc", by(scores, |s| s.golden.congestion_control.clone()))]
    {
        let _ = write!(text, "\n| {title} | cells | median | p90 | p95 | worst | bias |\n");
        text.push_str("| --- | --: | --: | --: | --: | --: | --: |\n");
        for (name, group) in groups {
            write_group(&mut text, &name, &group);
        }
    }
    let _ = write!(text, "\n{CELL_HEAD}{}", rows(scores));
    text
}

/// A row of the table of cells for each score.
pub(super) fn rows(scores: &[Score]) -> String {
    scores.iter().map(row).collect()
}

/// The kind, and `adaptive red` by itself.
fn discipline(score: &Score) -> String {
    let text = score.golden.aqm.as_ref().map_or("", |aqm| &aqm.text);
    let kind = text.split(' ').next().unwrap_or(text);
    if text.contains("adaptive=true") { format!("adaptive {kind}") } else { kind.to_owned() }
}

fn row(score: &Score) -> String {
    let golden = &score.golden;
    let (real, simulated) = (score.real.aqm.unwrap_or_default(), score.simulated.aqm.unwrap_or_default());
    let agrees = match (signals_agree(score), sojourns_agree(score)) {
        (true, true) => "yes",
        (false, true) => "sojourn",
        (true, false) => "drops, marks",
        (false, false) => "no",
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {agrees} |\n",
        golden.cell,
        discipline(score),
        if golden.aqm.as_ref().is_some_and(|aqm| aqm.ecn) { "yes" } else { "no" },
        golden.congestion_control,
        golden.rate_bps as f64 / 1e6,
        golden.rtt_ms,
        golden.flows,
        score.real.goodput_bps / 1e6,
        score.simulated.goodput_bps / 1e6,
        signed_percent(score.error()),
        real.dropped,
        simulated.dropped,
        real.marked,
        simulated.marked,
        real.sojourn_us_p50,
        simulated.sojourn_us_p50,
        real.sojourn_us_p95,
        simulated.sojourn_us_p95,
    )
}
