//! The page `docs/accuracy.md`: bounds, groups, where the simulator is wrong, every cell.
//!
//! Never: an average without its worst cell.

use super::bounds::{RULES, Verdict, gso_verdicts, repair_agrees, retransmits_agree, verdicts};
use super::golden::{Golden, Series};
use super::score::{Cause, Score, percentile};
use std::fmt::Write;

const HEAD: &str = "\
# How far the simulator is from Linux

Written by `cargo run --release -p xtask -- accuracy`; don't edit. `-- accuracy CELL…` prints single cells with their series.

Every cell of `testdata/goldens/` is run by the simulator without GSO and compared with real Linux 6.12 in virtual time: goodput
until the traffic's end, retransmitted segments, samples in the states Recovery and Loss, least round trip. Of a cell's repetitions
(other seeds of the random loss; Linux and the simulator draw from different generators) the medians are compared. An error above zero
means: the simulator is faster. As in the oracle the SYN leaves 527.6 µs after a tick of the millisecond clock. **No loss**: nothing
was lost. **Queue loss**: only the bottleneck's queue dropped. **Random loss**: netem drew losses. Cells from 4000 on with random loss
and from 5000 on without are held out: they were drawn after the last change to the simulator's results, and nothing was tuned on them.
A held-out cell with random loss has 15 repetitions; where they left more than 10 % of doubt about Linux's median (its 96 % interval, the
4th to the 12th of 15), it has 45, whatever the simulator says.
";

/// Differences whose cause was looked into.
const KNOWN: &str = "
What is known of them:

- **Bursts of no length** (1052, 1063, 1093, 1136, 3070, 3083, 3104, 4032, 4072, 4099 and others with a short queue). In the simulator all packets of a burst
  share an instant. In the oracle what a process writes leaves 256 ns apart (a look at the clock for each) and arrives in pairs, since
  timers are at least 500 ns apart; the receiver holds its socket for 256 ns a packet, and what comes meanwhile is answered once. That
  decides whether a burst fits a short queue, and whether `tcp_rcv_space_adjust()`, which takes off what is unread, enlarges the receive
  buffer a round trip earlier. A model of it was tried and made some cells exact and others worse, since rhythms lock in; a machine
  with other costs per packet has other bursts.
- **10 Gbit/s without GSO** (3043, 4078): 1.2 µs a packet is what the oracle's processes take for one. In cell 4078 eight paced flows
  end at 3 Gbit/s, 3.7 µs a packet, where the simulator, in which only writing has a cost, goes on. (4124 and 4128 were 14 % off until
  a write took its 256 ns a packet and looked after its backlog every 16 packets, as `tcp_sendmsg_locked()` does: what is acknowledged
  meanwhile makes room, and five sixths of the buffer stay filled instead of two thirds.)
- **Few losses a run** (4045, 4067, 4080, 4107, 4125, 4135 and others with random loss): Linux's own repetitions differ by a factor of
  two and more, and medians of few say little. Of seven such cells that were looked at (1029, 1034, 1093, 1183, 3020, 3067, 3069; 32 to
  88 % off with 3 to 5 repetitions) 33 to 35 repetitions of both left 1 to 10 % in five, 17 and 19 % in two (short queues).
- **The end of the first slow start** (26, 1203). Whether the first flights overrun the queue is decided by microseconds: the oracle
  itself gives 110 or 2 retransmits in cell 26 and 17 or 40 in cell 1203, depending on whether its packets are captured.
- **Jitter of many packets' length** (1031, 1036, 3010): not explained yet; the repetitions of Linux differ by a factor of two and more.
- **The least round trip** where a delay is no whole number of milliseconds: an ACK of nothing but retransmitted data is measured by
  the timestamps, in whole milliseconds, and makes the least one too small, in Linux as here; but not always for the same ACK.
";

const CELL_HEAD: &str = "\
| cell | cc | Mbit/s | ms | jitter | loss % | queue BDP | buffers | streams | Linux Mbit/s | sim | error | spread of Linux | retransmits | sim | repair % | sim |
| --: | --- | --: | --: | --: | --: | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
";

const GSO_HEAD: &str = "
## With GSO: the default way of working

Hosts hand over super-packets, as they do unless they are told otherwise; delay and rate are in a router between them (netem with a TBF
child, as everywhere here), and the application writes once for each EPOLLOUT. No random loss: netem would lose whole super-packets. The
simulator does the same with `writer = \"once-per-wake\"`, and the receiver gets the packets that the sender made. (In the lab the data
path makes them anew, which costs the receiver's buffer other sums: there the simulator follows the lab.) Cells with an odd number are held
out: nothing was tuned on them.
";

const GSO_KNOWN: &str = "
Most of those further off than 5 %, worst first, have a queue of at most half a BDP, some one smaller than the bucket: tbf takes or drops a
super-packet whole where it fits the bucket, and here a queue takes segments.
";

/// The whole page; `aqm` is the section on disciplines of the queue.
pub(crate) fn text(scores: &[Score], gso: &[Score], aqm: &str) -> String {
    let mut text = HEAD.to_owned();
    write_verdicts(&mut text, &verdicts(scores));
    write_gso(&mut text, gso);
    text.push_str(aqm);
    write_groups(&mut text, scores);
    write_secondary(&mut text, scores);
    write_wrong(&mut text, scores);
    write_repair(&mut text, scores);
    let _ = write!(text, "\n## Every cell\n\n{CELL_HEAD}{}", rows(scores));
    text
}

/// One row of the table of cells for each score.
pub(crate) fn rows(scores: &[Score]) -> String {
    scores.iter().map(row).collect()
}

/// A cell over time: real, then simulated.
pub(crate) fn series(golden: &Golden, simulated: &Series) -> String {
    let mut text = String::from(
        "    t_ms  received_kB        sim   cwnd    sim  srtt_us      sim       rwnd        sim\n",
    );
    let real = golden.series();
    for (real, sim) in real.rows.iter().zip(&simulated.rows) {
        let [t, received, cwnd, srtt, rwnd] = *real;
        let (received, sim_received) = (received / 1000, sim[1] / 1000);
        let _ = writeln!(
            text,
            "{t:8} {received:12} {sim_received:10} {cwnd:6} {:6} {srtt:8} {:8} {rwnd:10} {:10}",
            sim[2], sim[3], sim[4]
        );
    }
    text
}

fn write_gso(text: &mut String, scores: &[Score]) {
    text.push_str(GSO_HEAD);
    write_table_of_verdicts(text, &gso_verdicts(scores));
    text.push_str("\n| buffers | cells | median | p90 | p95 | worst | bias |\n| --- | --: | --: | --: | --: | --: | --: |\n");
    for (name, group) in by(scores, |score| score.golden.buffers.clone()) {
        write_group(text, &name, &group);
    }
    let mut wrong: Vec<Score> = scores.iter().filter(|score| score.error().abs() > 0.05).cloned().collect();
    wrong.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    let _ = write!(text, "{GSO_KNOWN}\n{CELL_HEAD}{}", rows(&wrong));
}

fn write_verdicts(text: &mut String, verdicts: &[Verdict]) {
    let _ = write!(text, "\n## The bounds\n\n{RULES}");
    write_table_of_verdicts(text, verdicts);
}

pub(super) fn write_table_of_verdicts(text: &mut String, verdicts: &[Verdict]) {
    text.push_str("\n| cells | what | number | measured | bound | holds |\n");
    text.push_str("| --- | --- | --: | --- | --- | --- |\n");
    for Verdict { what, part, cells, measured, bound, holds } in verdicts {
        let holds = if *holds { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {part} | {what} | {cells} | {measured} | {bound} | {holds} |");
    }
}

/// A heading and the groups below it.
type Grouping<'a> = (&'static str, Vec<(String, Vec<&'a Score>)>);

fn groupings(scores: &[Score]) -> Vec<Grouping<'_>> {
    let by_cause = Cause::ALL
        .map(|cause| (cause.word().to_owned(), scores.iter().filter(|s| s.cause == cause).collect()))
        .to_vec();
    vec![
        ("By cause", by_cause),
        (
            "By congestion control and cause",
            by(scores, |s| format!("{}, {}", s.golden.congestion_control, s.cause.word())),
        ),
        ("By buffers, cells without random loss", without_random_loss(scores, |s| s.golden.buffers.clone())),
        ("By round trip", by(scores, |s| decade("ms", s.golden.rtt_ms))),
        ("By rate", by(scores, |s| decade("Mbit/s", s.golden.rate_bps as f64 / 1e6))),
        ("By number of streams", by(scores, |s| format!("{:2}", s.golden.flows))),
        ("By queue", by(scores, |s| queue_group(&s.golden))),
        ("By jitter", by(scores, |s| if s.golden.jitter_ms > 0.0 { "with" } else { "without" }.to_owned())),
    ]
}

/// Groups by name, sorted by it.
pub(super) fn by(scores: &[Score], name: impl Fn(&Score) -> String) -> Vec<(String, Vec<&Score>)> {
    let mut groups = std::collections::BTreeMap::<String, Vec<&Score>>::new();
    for score in scores {
        groups.entry(name(score)).or_default().push(score);
    }
    groups.into_iter().collect()
}

fn without_random_loss(scores: &[Score], name: impl Fn(&Score) -> String) -> Vec<(String, Vec<&Score>)> {
    let mut groups = by(scores, name);
    for (_, group) in &mut groups {
        group.retain(|score| score.cause != Cause::Random);
    }
    groups
}

fn decade(unit: &str, value: f64) -> String {
    let from = 10_f64.powf(value.log10().floor());
    format!("{from:>5} to {} {unit}", from * 10.0)
}

/// See [`KNOWN`].
fn queue_group(golden: &Golden) -> String {
    let is_below = golden.queue_bytes < golden.tbf_burst_bytes;
    if is_below { "smaller than the bucket" } else { "at least the bucket" }.to_owned()
}

fn write_groups(text: &mut String, scores: &[Score]) {
    text.push_str("\n## Groups\n\nErrors of the goodput: absolute values, but for the bias, which is the median of the signed error.\n");
    for (title, groups) in groupings(scores) {
        let _ = write!(text, "\n### {title}\n\n| group | cells | median | p90 | p95 | worst | bias |\n");
        text.push_str("| --- | --: | --: | --: | --: | --: | --: |\n");
        for (name, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
            write_group(text, name, group);
        }
    }
}

pub(super) fn write_group(text: &mut String, name: &str, group: &[&Score]) {
    let errors = absolute_errors(group);
    let signed: Vec<f64> = group.iter().map(|score| score.error()).collect();
    let columns = [50, 90, 95, 100].map(|rank| percentile(&errors, rank).map_or_else(dash, percent));
    let bias = percentile(&signed, 50).map_or_else(dash, signed_percent);
    let _ = writeln!(text, "| {} | {} | {} | {bias} |", name.trim(), group.len(), columns.join(" | "));
}

fn write_secondary(text: &mut String, scores: &[Score]) {
    text.push_str("\n## Retransmits, repair, round trip\n\n");
    text.push_str("Ratio: retransmits of the simulator over those of Linux, cells in which Linux had any. Repair: difference of the share of the\n");
    text.push_str(
        "time in Recovery and Loss, in percentage points. Least round trip: largest relative difference.\n\n",
    );
    text.push_str("| cells | ratio p10 | median | p90 | retransmits where Linux had none | repair median | p90 of the absolute value | least round trip |\n");
    text.push_str("| --- | --: | --: | --: | --: | --: | --: | --: |\n");
    for cause in Cause::ALL {
        let group: Vec<&Score> = scores.iter().filter(|score| score.cause == cause).collect();
        if !group.is_empty() {
            write_secondary_row(text, cause, &group);
        }
    }
}

fn write_secondary_row(text: &mut String, cause: Cause, group: &[&Score]) {
    let ratios: Vec<f64> = group.iter().filter_map(|score| score.retransmit_ratio()).collect();
    let ratio = |rank| percentile(&ratios, rank).map_or_else(dash, |ratio| format!("{ratio:.2}"));
    let invented =
        group.iter().filter(|s| s.real.retransmits == 0.0 && s.simulated.retransmits > 0.0).count();
    let repair: Vec<f64> = group.iter().map(|score| score.repair_difference()).collect();
    let repair_size: Vec<f64> = repair.iter().map(|difference| difference.abs()).collect();
    let rtt: Vec<f64> =
        group.iter().map(|s| (s.simulated.min_rtt_us / s.real.min_rtt_us - 1.0).abs()).collect();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {invented} | {} | {} | {} |",
        cause.word(),
        ratio(10),
        ratio(50),
        ratio(90),
        percentile(&repair, 50).map_or_else(dash, signed_percent),
        percentile(&repair_size, 90).map_or_else(dash, percent),
        percentile(&rtt, 100).map_or_else(dash, percent),
    );
}

/// A cell whose goodput is further off is named as wrong.
const fn wrong_from(cause: Cause) -> f64 {
    match cause {
        Cause::Nothing | Cause::Queue => 0.05,
        Cause::Random => 0.25,
    }
}

fn write_wrong(text: &mut String, scores: &[Score]) {
    let is_wrong = |score: &&Score| score.error().abs() > wrong_from(score.cause);
    let mut wrong: Vec<Score> = scores.iter().filter(is_wrong).cloned().collect();
    wrong.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    let _ = write!(
        text,
        "\n## Where the simulator is wrong\n\n{} of {} cells are off by more than 5 % (without random loss) or 25 % (with it), worst first.\n",
        wrong.len(),
        scores.len()
    );
    text.push_str(KNOWN);
    for cause in Cause::ALL {
        let of_cause: Vec<&Score> = wrong.iter().filter(|score| score.cause == cause).collect();
        if !of_cause.is_empty() {
            let slower = of_cause.iter().filter(|score| score.error() < 0.0).count();
            let _ = write!(
                text,
                "\n{}: {} cells; the simulator is slower in {slower}.\n",
                cause.word(),
                of_cause.len()
            );
        }
    }
    if !wrong.is_empty() {
        let _ = write!(text, "\n{CELL_HEAD}{}", rows(&wrong));
    }
}

fn write_repair(text: &mut String, scores: &[Score]) {
    let differs = |score: &&Score| score.is_lossy() && !(retransmits_agree(score) && repair_agrees(score));
    let cells: Vec<Score> = scores.iter().filter(differs).cloned().collect();
    if !cells.is_empty() {
        let _ = write!(
            text,
            "\n## Where retransmits or repair differ\n\nLossy cells beyond the rules above.\n\n{CELL_HEAD}{}",
            rows(&cells)
        );
    }
}

fn row(score: &Score) -> String {
    let golden = &score.golden;
    let bdp = golden.rate_bps as f64 / 8.0 * golden.rtt_ms / 1000.0;
    format!(
        "| {} | {} | {} | {} | {} | {} | {:.2} | {} | {} | {:.2} | {:.2} | {} | {} | {:.0} | {:.0} | {:.1} | {:.1} |\n",
        golden.cell,
        golden.congestion_control,
        golden.rate_bps as f64 / 1e6,
        golden.rtt_ms,
        golden.jitter_ms,
        golden.loss_percent,
        golden.queue_bytes as f64 / bdp,
        golden.buffers,
        golden.flows,
        score.real.goodput_bps / 1e6,
        score.simulated.goodput_bps / 1e6,
        signed_percent(score.error()),
        percent(score.real_spread),
        score.real.retransmits,
        score.simulated.retransmits,
        score.real.repair_share * 100.0,
        score.simulated.repair_share * 100.0,
    )
}

fn absolute_errors(scores: &[&Score]) -> Vec<f64> {
    scores.iter().map(|score| score.error().abs()).collect()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

pub(super) fn signed_percent(share: f64) -> String {
    format!("{:+.2} %", share * 100.0)
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::golden::Outcome;
    use super::super::score::scores;
    use super::*;

    fn golden(cell: u32, loss_percent: f64) -> Golden {
        let json = serde_json::json!({
            "cell": cell, "seed": 1, "rate_bps": 100_000_000, "rtt_ms": 20.0, "loss_percent": loss_percent,
            "congestion_control": "cubic", "queue_bytes": 250_000, "buffers": "default",
            "tcp_rmem": [4096, 131_072, 6_291_456], "tcp_wmem": [4096, 16_384, 4_194_304],
            "duration_s": 30.0, "tbf_burst_bytes": 32_768, "ok": true,
            "result": {
                "goodput_bps": 90e6, "retransmits": 10.0, "min_rtt_us": 20_000.0, "tbf_dropped": 0.0,
                "ca_state_fraction": {"recovery": 0.1, "loss": 0.0},
            },
        });
        serde_json::from_value(json).expect("a golden")
    }

    fn page(goodput_bps: f64, loss_percent: f64) -> String {
        let golden = golden(2, loss_percent);
        let simulated = Outcome { goodput_bps, ..golden.outcome().clone() };
        text(&scores(&[(golden, simulated)]), &[], "")
    }

    #[test]
    fn a_cell_within_its_bounds_is_not_wrong() {
        let page = page(90e6, 0.0);
        assert!(
            page.contains(
                "| tuned on or looked at | goodput without random loss | 1 | median 0.00 %, p95 0.00 % | median 0.10 %, p95 4.50 % | yes |"
            ),
            "{page}"
        );
        assert!(page.contains("0 of 1 cells are off"), "{page}");
    }

    #[test]
    fn what_is_wrong_depends_on_the_cause() {
        let (without, with) = (page(81e6, 0.0), page(81e6, 1.0));
        assert!(without.contains("1 of 1 cells are off") && without.contains("-10.00 %"), "{without}");
        assert!(with.contains("0 of 1 cells are off"), "{with}");
    }

    #[test]
    fn the_middle_repetition_counts() {
        let golden = golden(2, 1.0);
        let outcome = |goodput_bps| Outcome { goodput_bps, ..golden.outcome().clone() };
        let pairs = [90e6, 99e6, 180e6].map(|goodput| (golden.clone(), outcome(goodput)));
        let scores = scores(&pairs);
        assert_eq!(scores.len(), 1);
        assert!((scores[0].error() - 0.1).abs() < 1e-9);
    }
}
