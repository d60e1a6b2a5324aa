//! What the verdict rests on, figure by figure, and who says otherwise.

use crate::quantity::{self, QuantityKind};
use pipefill_analysis::judge::{Confidence, Diagnosis, RuleId, Witness};
use pipefill_core::limit::LimitedBy;

/// The figures of `diagnosis`, one a line; what limited is marked.
pub(super) fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let figures = &diagnosis.figures;
    let bytes = |value: Option<u64>| value.map(quantity::bytes);
    let time = |us: Option<u64>| us.map(quantity::duration);
    let rate = |bps: Option<u64>| bps.map(quantity::rate);
    let percent = |share: Option<f64>| share.map(|share| QuantityKind::Percent.alone(share * 100.0));
    let some = |share: Option<f64>, least: f64| percent(share.filter(|&share| share > least));
    let queued = figures.wmem_queued_bytes.map(quantity::bytes);
    let sndbuf =
        queued.zip(bytes(figures.sndbuf_bytes)).map(|(queued, limit)| format!("{queued} of {limit}"));
    let waited = time(figures.ack_wait_us.filter(|&us| us > 0));
    // Datagrams are not sent again.
    let (lost, of_all) = match figures.are_of_tcp() {
        true => ("sent again", "of all segments"),
        false => ("lost", "of all datagrams"),
    };
    let quota = figures.quota;
    let used = "of its rate, by all flows of this direction, in the measured time";
    let rows = [
        (
            "in flight, peak",
            bytes(figures.flight_bytes),
            "sent and not acknowledged, most in a round trip, median",
        ),
        ("in flight, average", bytes(figures.flight_mean_bytes), "over the time that this limited"),
        (
            "stood still",
            some(figures.stalled_share, 0.001),
            "of that time: nothing came back for longer than a round trip",
        ),
        ("cwnd", bytes(figures.cwnd_bytes), "the sender's congestion window"),
        ("rwnd", bytes(figures.rwnd_bytes), "the window that the receiver advertised"),
        ("send buffer", sndbuf, "memory in use; a packet costs more than it carries"),
        ("smoothed RTT", time(figures.srtt_us), "including queueing"),
        ("mean RTT", time(figures.rtt_mean_us), "the same, average over that time"),
        ("least RTT", time(figures.min_rtt_us), "excluding queueing"),
        ("pacing rate", rate(figures.pacing_rate_bps), "the rate at which the sender's socket paces"),
        (lost, percent(figures.loss_share), of_all),
        ("path allows", rate(figures.path_goodput_bps), "payload at the bottleneck's rate"),
        ("path used", percent(figures.utilisation), used),
        ("base RTT", time(figures.base_rtt_us), "the path's fixed delay"),
        ("sent in vain", some(figures.spurious_share, 0.0), "of what was sent again: it had arrived (DSACK)"),
        ("ACKs lost", some(figures.ack_loss_share, 0.0), "of what the path carried the other way"),
        ("ACKs waited", waited, "in the queue of their way, on average"),
        ("computed", percent(figures.cpu_share), "of that time: the flow's busiest thread"),
        ("waited for a CPU", percent(figures.cpu_wait_share), "of that time: the same thread"),
        ("quota ran out", percent(quota.map(|quota| quota.periods_share)), "of the periods of its cgroup"),
        (
            "held by quota",
            percent(quota.map(|quota| quota.held_share)),
            "of that time: not allowed to run, the sum over the CPUs",
        ),
        ("used by cgroup", percent(quota.and_then(|quota| quota.used_share)), "of that time, of one CPU"),
    ];
    let of_limit: &[&str] = match diagnosis.limited_by {
        LimitedBy::Cwnd => &["cwnd"],
        LimitedBy::Rwnd => &["rwnd"],
        LimitedBy::Sndbuf => &["send buffer"],
        LimitedBy::Pacing => &["pacing rate"],
        LimitedBy::Path => &["path allows"],
        LimitedBy::Cpu if figures.quota.is_some() => &["quota ran out", "held by quota"],
        LimitedBy::Cpu => &["computed", "waited for a CPU"],
        LimitedBy::App | LimitedBy::Receiver | LimitedBy::Testbed | LimitedBy::Unknown => &[],
    };
    let line = |(name, value, what): (&str, Option<String>, &str)| {
        let mark = if of_limit.contains(&name) { '>' } else { ' ' };
        Some(format!("{mark} {name:<18}{:>20}  {what}", value?))
    };
    rows.into_iter().filter_map(line).collect()
}

/// How sure the verdict is; `None` where the limit is unknown: then there is nothing to be sure of.
pub(super) fn confidence_of(diagnosis: &Diagnosis) -> Option<Confidence> {
    diagnosis.confidence.filter(|_| diagnosis.limited_by != LimitedBy::Unknown)
}

/// How sure the verdict is, and why.
pub(super) fn confidence(diagnosis: &Diagnosis, is_observed: bool) -> Option<String> {
    let word = match confidence_of(diagnosis)? {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    if !diagnosis.figures.are_of_tcp() {
        let by = match diagnosis.figures.datagrams {
            Some(_) => "what the path and the receiving socket counted",
            None if is_observed => "what both ends counted",
            None => "what each place has dropped",
        };
        return Some(format!("Confidence: {word}, by {by}."));
    }
    let share = diagnosis.limited_fraction.get(&diagnosis.limited_by)?;
    let counters = of_counters(diagnosis);
    Some(format!("Confidence: {word}; it held {} of the time{counters}.", quantity::percent(*share)))
}

/// The rule that decided, what it asks, and how far a threshold would have to move for another limit.
pub(super) fn rule(rule: Option<RuleId>, margin: Option<f64>) -> Option<String> {
    let rule = rule?;
    let question =
        rule.question().map_or_else(String::new, |question| format!(" \u{201c}{question}\u{201d}"));
    let margin = margin.map_or_else(
        || "No single threshold decides.".to_owned(),
        |margin| {
            format!(
                "The nearest threshold that would name another limit is {} away.",
                quantity::share(margin)
            )
        },
    );
    Some(format!("Rule: {rule}.{question} {margin}"))
}

/// What the kernel's counters say to the verdict. One agrees only where it has measured the same limit.
fn of_counters(diagnosis: &Diagnosis) -> String {
    let witnesses = || diagnosis.witnesses.iter();
    let against: Vec<&str> = witnesses()
        .filter(|witness| witness.accuses_another())
        .map(|witness| witness.name.as_str())
        .collect();
    if !against.is_empty() {
        format!(", and {} points to another cause", against.join(", "))
    } else if witnesses().any(Witness::confirms) {
        ", and the kernel's counters agree".to_owned()
    } else if witnesses().next().is_some() {
        ", and no kernel counter objects".to_owned()
    } else {
        String::new()
    }
}

/// The witnesses of `diagnosis`, one a line, with what is known of those that disagree.
pub(super) fn witnesses(diagnosis: &Diagnosis) -> Vec<String> {
    let line = |witness: &Witness| {
        let opinion = if witness.agrees { "agrees" } else { "disagrees" };
        let remark =
            remark(witness, diagnosis.limited_by).map_or_else(String::new, |text| format!(": {text}"));
        let share = quantity::percent(witness.share);
        format!("{:<32}{share:>6} of the time, {opinion}{remark}", witness.name)
    };
    diagnosis.witnesses.iter().map(line).collect()
}

fn remark(witness: &Witness, limited_by: LimitedBy) -> Option<&'static str> {
    match (witness.accuses, limited_by, witness.agrees) {
        (LimitedBy::Sndbuf, LimitedBy::Sndbuf, false) => Some("it misses most send buffers"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::judge::Figures;
    use pipefill_core::cell::{Direction, Protocol};

    fn confidence_text(limited_by: LimitedBy, counters: &[(LimitedBy, f64)]) -> Option<String> {
        let witness = |&(accuses, share): &(LimitedBy, f64)| {
            let agrees = (share >= 0.5) == (accuses == limited_by);
            Witness { name: "counter".to_owned(), accuses, share, agrees }
        };
        let diagnosis = Diagnosis {
            flow: 0,
            protocol: Protocol::Tcp,
            direction: Direction::Forward,
            limited_by,
            cause: None,
            cwnd_cause: None,
            rule: None,
            margin: None,
            limited_fraction: [(limited_by, 0.974)].into(),
            active_limited_by: Some(limited_by),
            active_cause: None,
            time: Vec::new(),
            timeline: Vec::new(),
            figures: Figures { mss_bytes: Some(1448), ..Figures::default() },
            confidence: Some(Confidence::High),
            witnesses: counters.iter().map(witness).collect(),
            faults: Vec::new(),
            events: Vec::new(),
            active_us: None,
        };
        confidence(&diagnosis, false)
    }

    #[test]
    fn a_rule_shows_its_question_and_its_margin() {
        let id = pipefill_analysis::judge::RULES[0].id;
        let said = rule(Some(id), Some(0.016)).unwrap();
        assert!(
            said.starts_with(&format!("Rule: {id}. \u{201c}")) && said.contains("is 1.6 % away"),
            "{said}"
        );
        assert!(rule(Some(id), None).unwrap().ends_with("No single threshold decides."));
        assert_eq!(rule(None, Some(0.5)), None);
    }

    #[test]
    fn counters_agree_only_where_one_has_measured_the_limit() {
        use LimitedBy::{App, Path, Rwnd, Unknown};
        let held = "Confidence: high; it held 97 % of the time";
        assert_eq!(confidence_text(Path, &[]), Some(format!("{held}.")));
        assert_eq!(
            confidence_text(Path, &[(Rwnd, 0.0)]),
            Some(format!("{held}, and no kernel counter objects."))
        );
        assert_eq!(
            confidence_text(Rwnd, &[(Rwnd, 0.9)]),
            Some(format!("{held}, and the kernel's counters agree."))
        );
        assert_eq!(
            confidence_text(Path, &[(App, 0.9)]),
            Some(format!("{held}, and counter points to another cause."))
        );
        assert_eq!(confidence_text(Unknown, &[(Rwnd, 0.0)]), None, "nothing to be sure of");
    }
}
