//! `pipefill fix`: before, predicted, after, and whether it helped.
//!
//! Never: a word of success where the interval of the difference holds zero.

use crate::prose::filled;
use crate::quantity::{MISSING, QuantityKind, share};
use crate::table::Style;
use pipefill_analysis::findings::experiment::coordinates;
use pipefill_analysis::findings::fix::{End, Proof, ROUNDS, Round};
use pipefill_analysis::findings::paired_runs::{Comparison, Difference, Median};
use pipefill_analysis::ground::statistics::VALUES_MIN;
use pipefill_analysis::judge::FULL;
use pipefill_core::limit::LimitedBy;

/// Prose is hard to read in longer lines.
const PROSE: u16 = 80;

/// The proofs of `experiment`, cell by cell. Ends with a newline.
pub fn render(experiment: &str, proofs: &[Proof], style: Style) -> String {
    let width = style.width.min(PROSE);
    let mut parts = vec![format!("{experiment}: the advice, tried")];
    parts.extend(proofs.iter().map(|proof| proved(proof, width, style)));
    parts.join("\n\n") + "\n"
}

fn proved(proof: &Proof, width: u16, style: Style) -> String {
    let mut lines = vec![format!("{} on {}", coordinates(&proof.axes), proof.backend)];
    for (index, round) in proof.rounds.iter().enumerate() {
        lines.extend(round_lines(index + 1, round, width, style));
        lines.push(String::new());
    }
    lines.push(filled(&conclusion(proof), "  ", "  ", width));
    lines.join("\n")
}

fn round_lines(number: usize, round: &Round, width: u16, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if number == 1 {
        lines.extend(round.verdict_before.iter().map(|text| filled(text, "  ", "  ", width)));
    }
    lines.push(filled(&format!("Round {number}: {}", round.advice.change), "  ", "    ", width));
    let Some(comparison) = &round.comparison else {
        lines.push("    no valid pair of runs".to_owned());
        return lines;
    };
    if let Some(rtt) = &round.loaded_rtt {
        lines.push(format!("    {:<10}{:>12}   round trip under load", "before", time(rtt.before_us)));
        let predicted =
            round.advice.predicted_rtt_us.map_or_else(|| MISSING.to_owned(), |us| time(us as f64));
        lines.push(format!("    {:<10}{predicted:>12}", "predicted"));
        lines.push(format!("    {:<10}{:>12}", "after", time(rtt.after_us)));
        lines.push(filled(&outcome(comparison, round), "    ", "    ", width));
        return lines;
    }
    if let Some(resent) = &round.retransmits {
        lines.push(format!("    {:<10}{:>12}   segments sent again", "before", resent.before));
        lines.push(format!("    {:<10}{:>12}", "after", resent.after));
        lines.push(filled(&outcome(comparison, round), "    ", "    ", width));
        return lines;
    }
    let predicted = round.advice.predicted_bps.or(round.advice.predicted_active_bps);
    let predicted = predicted.map_or_else(|| MISSING.to_owned(), |bps| rate(bps as f64));
    lines.push(side("before", &comparison.before, round.limited_by_before));
    lines.push(format!("    {:<10}{predicted:>12}", "predicted"));
    lines.push(side("after", &comparison.after, round.limited_by_after));
    lines.push(filled(
        &painted(&outcome(comparison, round), comparison.verdict, style),
        "    ",
        "    ",
        width,
    ));
    lines
}

fn side(name: &str, median: &Median, limited_by: Option<LimitedBy>) -> String {
    let interval = match (median.low_bps, median.high_bps, median.coverage) {
        (Some(low), Some(high), _) if rate(low) == rate(high) => "no spread".to_owned(),
        (Some(low), Some(high), Some(coverage)) => {
            format!("{} to {} ({})", rate(low), rate(high), share(coverage))
        }
        _ => "no interval".to_owned(),
    };
    let limit = limited_by.map_or(MISSING, LimitedBy::as_str);
    format!("    {name:<10}{:>12}   {interval:<36}{limit}", rate(median.bps))
}

/// What the pairs of `round` say, in words.
pub(crate) fn outcome(comparison: &Comparison, round: &Round) -> String {
    if let Some(rtt) = &round.loaded_rtt {
        let interval = rtt.low_us.zip(rtt.high_us);
        return beside_goodput(
            comparison,
            rtt.verdict,
            (rtt.difference_us, interval, rtt.pairs.len()),
            time,
            round,
        );
    }
    if let Some(resent) = &round.retransmits {
        let interval = resent.low.zip(resent.high);
        let segments = |count: f64| format!("{count:.0}");
        let figure = (resent.difference, interval, resent.pairs.len());
        return beside_goodput(comparison, resent.verdict, figure, segments, round);
    }
    let pairs = match (comparison.pairs.len(), comparison.pairs_run) {
        (valid, run) if valid == run => format!("{valid} pairs"),
        (valid, run) => format!("{valid} valid pairs of {run}"),
    };
    let said = match comparison.verdict {
        Difference::More => format!("Helped: {} ({}; {pairs}).", gain(comparison), interval(comparison)),
        Difference::Less => {
            format!("Made it worse: {} ({}; {pairs}).", gain(comparison), interval(comparison))
        }
        Difference::NotShown => {
            let seen = comparison.detectable_bps.map_or_else(String::new, |bps| {
                format!(" One of {} would have shown four times in five.", rate(bps))
            });
            format!("No difference shown: {} holds zero ({pairs}).{seen}", interval(comparison))
        }
        Difference::TooFewPairs => format!("No verdict: an interval needs {VALUES_MIN} pairs ({pairs})."),
    };
    let error = round.prediction_error.map_or_else(String::new, |error| {
        let off = if error >= 0.0 { "high" } else { "low" };
        let per_cent = format!("{:.1}", error.abs() * 100.0);
        if per_cent == "0.0" {
            " The prediction was right to 0.1 %.".to_owned()
        } else {
            format!(" The prediction was {per_cent} % too {off}.")
        }
    });
    let dropped = if round.kept { "" } else { " The change is taken back." };
    format!("{said}{error}{dropped}")
}

/// What the pairs say of a change that is for another figure than goodput: their median difference, its interval, and their number.
fn beside_goodput(
    goodput: &Comparison,
    verdict: Difference,
    (difference, interval, pairs): (f64, Option<(f64, f64)>, usize),
    shown: impl Fn(f64) -> String,
    round: &Round,
) -> String {
    let said = match (verdict, interval) {
        (Difference::Less, Some((low, high))) => {
            format!(
                "Helped: {} less (95 % interval {} to {} less; {pairs} pairs)",
                shown(-difference),
                shown(-high),
                shown(-low)
            )
        }
        (Difference::More, Some((low, high))) => {
            format!(
                "Made it worse: {} more (95 % interval {} to {} more; {pairs} pairs)",
                shown(difference),
                shown(low),
                shown(high)
            )
        }
        (Difference::TooFewPairs, _) | (_, None) => {
            format!("No verdict: an interval needs {VALUES_MIN} pairs ({pairs} pairs)")
        }
        _ => format!("No difference shown ({pairs} pairs)"),
    };
    let dropped = if round.kept { "" } else { " The change is taken back." };
    format!("{said}; goodput {}.{dropped}", gain(goodput))
}

fn time(us: f64) -> String {
    QuantityKind::Time.alone(us * 1e3)
}

fn gain(comparison: &Comparison) -> String {
    comparison.gain().map_or_else(
        || format!("by {}", rate(comparison.difference.bps)),
        |gain| format!("{:+.1} %", gain * 100.0),
    )
}

fn interval(comparison: &Comparison) -> String {
    let Median { low_bps, high_bps, .. } = comparison.difference;
    let signed = |bps: Option<f64>| {
        bps.map_or_else(
            || MISSING.to_owned(),
            |bps| if bps < 0.0 { format!("−{}", rate(-bps)) } else { format!("+{}", rate(bps)) },
        )
    };
    match (signed(low_bps), signed(high_bps)) {
        (low, high) if low == high => format!("{low}, no spread"),
        (low, high) => format!("95 % interval {low} to {high}"),
    }
}

/// Where it ended, and why.
pub(crate) fn conclusion(proof: &Proof) -> String {
    let last = proof.rounds.iter().rev().find(|round| round.kept);
    let after = last.and_then(|round| round.comparison.as_ref()).map(|comparison| comparison.after.bps);
    let share = after.zip(proof.path_goodput_bps).map(|(after, path)| after / path as f64);
    let reached = after.map_or_else(String::new, |after| {
        format!(
            "In the end {}{}, with {}. ",
            rate(after),
            share.map_or_else(String::new, of_path),
            proof.set.join(", ")
        )
    });
    let why = proof.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let end = match proof.end {
        End::PipeFull if share.is_some_and(|share| share < FULL) => format!(
            "The path is the limit most of the time, not all of it. {}",
            last.and_then(|round| round.verdict_after.as_deref()).unwrap_or_default()
        ),
        End::PipeFull => "The path is the limit: the pipe is full.".to_owned(),
        End::NothingToChange => format!("Nothing to change{why}."),
        End::NothingLeft if !why.is_empty() => format!("No further change{why}."),
        End::NothingLeft if proof.set.is_empty() => {
            format!("What could be changed did not help{}.", unmoved(proof))
        }
        End::NothingLeft => "No further change promises more.".to_owned(),
        End::Failed => format!("It failed{why}."),
        End::RoundsUsed => format!("It ends after {ROUNDS} rounds; there may be more to gain."),
    };
    format!("{reached}{end}")
}

/// What limits after the last change that was taken back.
fn unmoved(proof: &Proof) -> String {
    let limit = proof.rounds.last().and_then(|round| round.limited_by_after);
    limit.map_or_else(String::new, |limit| format!(": the limit is still {}", limit.as_str()))
}

/// A window of measurement may hold what was queued before it, so that a little more arrives than the path lets through.
fn of_path(share: f64) -> String {
    if share >= 0.995 {
        ", all that the path lets through".to_owned()
    } else {
        format!(", {:.0} % of what the path lets through", share * 100.0)
    }
}

fn painted(text: &str, verdict: Difference, style: Style) -> String {
    let colour = match verdict {
        Difference::More => 32,
        Difference::Less => 31,
        Difference::NotShown | Difference::TooFewPairs => 33,
    };
    if style.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

fn rate(bps: f64) -> String {
    QuantityKind::Rate.alone(bps)
}

#[cfg(test)]
mod tests {
    use super::{of_path, outcome};
    use pipefill_analysis::findings::experiment::CellResult;
    use pipefill_analysis::findings::finding::{Advice, Goal};
    use pipefill_analysis::findings::fix::Round;
    use pipefill_analysis::findings::paired_runs::{Comparison, RttComparison};

    fn outcome_of(pairs: &[(u64, u64)]) -> String {
        let advice = Advice {
            change: "flow.parallel=4".to_owned(),
            set: Vec::new(),
            commands: Vec::new(),
            why: String::new(),
            predicted_bps: None,
            ..Advice::default()
        };
        let round = Round::of(Vec::new(), advice, &CellResult::default(), &CellResult::default());
        outcome(&Comparison::of(pairs, pairs.len()).unwrap(), &round)
    }

    #[test]
    fn a_shorter_round_trip_is_told_with_what_it_costs() {
        let advice = Advice { goal: Goal::Latency, predicted_rtt_us: Some(25_000), ..Advice::default() };
        let nothing = CellResult::default();
        let rtts = vec![(142_000, 23_000), (143_000, 23_500), (141_000, 22_500)];
        let round = Round {
            loaded_rtt: RttComparison::of(rtts),
            kept: true,
            ..Round::of(Vec::new(), advice, &nothing, &nothing)
        };
        let goodput = Comparison::of(&[(47_800_000, 47_500_000); 3], 3).unwrap();
        let text = outcome(&goodput, &round);
        assert!(text.starts_with("Helped: 119 ms less (95 % interval"), "{text}");
        assert!(text.ends_with("3 pairs); goodput -0.6 %."), "{text}");
    }

    #[test]
    fn what_was_not_shown_says_what_could_have_been() {
        let text =
            outcome_of(&[(100_000_000, 101_000_000), (100_000_000, 98_000_000), (100_000_000, 103_000_000)]);
        assert!(
            text.contains("holds zero (3 pairs). One of ") && text.contains(" four times in five"),
            "{text}"
        );
        let text = outcome_of(&[(100_000_000, 200_000_000); 2]);
        assert!(text.starts_with("No verdict: an interval needs 3 pairs (2 pairs)."), "{text}");
    }

    #[test]
    fn more_than_the_path_is_all_of_it() {
        assert_eq!(
            [0.81, 0.994, 1.02].map(of_path),
            [
                ", 81 % of what the path lets through",
                ", 99 % of what the path lets through",
                ", all that the path lets through",
            ]
        );
    }
}
