//! Expectations as text: `>= 95% of rate`, `<= 12ms`, `within 10% of 2.33gbit`, `= rwnd`; claims may also have
//! `>= 95% of goodput`, a share of another cell's metric.

use crate::cell::{Bound, Comparison, ExpectMetric, Expectation};
use crate::limit::{Cause, CwndCause, LimitedBy};
use crate::parse::{ParseError, count, duration, one_of, rate, ratio};
use crate::plan::{Against, Claim};
use crate::units::Ratio;

/// All metrics, in the order of `[expect]`.
pub(super) const METRICS: [ExpectMetric; 22] = [
    ExpectMetric::Goodput,
    ExpectMetric::Sender,
    ExpectMetric::Retransmits,
    ExpectMetric::MinRtt,
    ExpectMetric::Srtt,
    ExpectMetric::Lost,
    ExpectMetric::BaseRtt,
    ExpectMetric::ForwardRate,
    ExpectMetric::ReverseRate,
    ExpectMetric::PingNaive,
    ExpectMetric::PingDoubled,
    ExpectMetric::PingLaw,
    ExpectMetric::LimitedBy,
    ExpectMetric::Cause,
    ExpectMetric::CwndCause,
    ExpectMetric::AlsoLimitedBy,
    ExpectMetric::Flows,
    ExpectMetric::Bufferbloat,
    ExpectMetric::IdleRtt,
    ExpectMetric::LoadedRtt,
    ExpectMetric::LoadedRttP95,
    ExpectMetric::Fairness,
];

/// Reads an expectation of a metric.
pub(super) fn parse(metric: ExpectMetric, text: &str) -> Result<Expectation, ParseError> {
    let (comparison, rest) = comparison(metric, text)?;
    let bound = bound(metric, rest)?;
    check(metric, comparison, text)?;
    Ok(Expectation { metric, comparison, bound, text: text.to_owned() })
}

/// Reads a claim about a metric; its cells are not known yet.
pub(super) fn parse_claim(metric: ExpectMetric, text: &str) -> Result<Claim, ParseError> {
    let (comparison, rest) = comparison(metric, text)?;
    let against = match of_other_cell(rest)? {
        Some(against) => against,
        None => Against::Bound(bound(metric, rest)?),
    };
    check(metric, comparison, text)?;
    let text = format!("{} {text}", name(metric));
    Ok(Claim { text, metric, comparison, against, pairs: Vec::new() })
}

/// Whether a claim needs a second cell.
pub(super) const fn compares_cells(claim: &Claim) -> bool {
    matches!(claim.against, Against::OtherCell { .. })
}

/// `95% of goodput`, or `goodput` for all of it.
fn of_other_cell(text: &str) -> Result<Option<Against>, ParseError> {
    let (share, word) = text.split_once(" of ").map_or((None, text), |(share, word)| (Some(share), word));
    let Some(metric) = METRICS.into_iter().find(|&metric| name(metric) == word.trim()) else {
        return Ok(None);
    };
    let share = share.map_or(Ok(Ratio::ONE), |share| ratio(share.trim()))?;
    Ok(Some(Against::OtherCell { metric, share }))
}

/// The metric's key in `[expect]`.
pub(super) const fn name(metric: ExpectMetric) -> &'static str {
    match metric {
        ExpectMetric::Goodput => "goodput",
        ExpectMetric::Sender => "sender",
        ExpectMetric::Retransmits => "retransmits",
        ExpectMetric::MinRtt => "min_rtt",
        ExpectMetric::Srtt => "srtt",
        ExpectMetric::Lost => "lost",
        ExpectMetric::BaseRtt => "base_rtt",
        ExpectMetric::ForwardRate => "forward_rate",
        ExpectMetric::ReverseRate => "reverse_rate",
        ExpectMetric::PingNaive => "ping_naive",
        ExpectMetric::PingDoubled => "ping_doubled",
        ExpectMetric::PingLaw => "ping_law",
        ExpectMetric::LimitedBy => "limited_by",
        ExpectMetric::Cause => "cause",
        ExpectMetric::CwndCause => "cwnd_cause",
        ExpectMetric::AlsoLimitedBy => "also_limited_by",
        ExpectMetric::Flows => "flows",
        ExpectMetric::Bufferbloat => "bufferbloat",
        ExpectMetric::IdleRtt => "idle_rtt",
        ExpectMetric::LoadedRtt => "loaded_rtt",
        ExpectMetric::LoadedRttP95 => "loaded_rtt_p95",
        ExpectMetric::Fairness => "fairness",
    }
}

fn comparison(metric: ExpectMetric, text: &str) -> Result<(Comparison, &str), ParseError> {
    if let Some(rest) = text.strip_prefix(">=") {
        return Ok((Comparison::AtLeast, rest.trim()));
    }
    if let Some(rest) = text.strip_prefix("<=") {
        return Ok((Comparison::AtMost, rest.trim()));
    }
    if let Some(rest) = text.strip_prefix('=') {
        return Ok((Comparison::Equal, rest.trim()));
    }
    if let Some((share, rest)) = text.strip_prefix("within ").and_then(|rest| rest.split_once(" of ")) {
        return Ok((Comparison::Within(ratio(share.trim())?), rest.trim()));
    }
    Err(ParseError::new(
        format!("\"{text}\" is not a comparison"),
        format!("write e.g. \"{}\"", example(metric)),
    ))
}

fn bound(metric: ExpectMetric, text: &str) -> Result<Bound, ParseError> {
    #[expect(clippy::cast_precision_loss, reason = "bounds of metrics are far below 2^53")]
    let value = |number: u64| Bound::Value(number as f64);
    match metric {
        ExpectMetric::Goodput
        | ExpectMetric::Sender
        | ExpectMetric::ForwardRate
        | ExpectMetric::ReverseRate
        | ExpectMetric::PingNaive
        | ExpectMetric::PingDoubled
        | ExpectMetric::PingLaw => match text.strip_suffix("of rate") {
            Some(share) => ratio(share.trim()).map(Bound::OfRate),
            None => rate(text).map(|rate| value(rate.bps())),
        },
        ExpectMetric::Retransmits => count(text).map(value),
        ExpectMetric::MinRtt
        | ExpectMetric::Srtt
        | ExpectMetric::BaseRtt
        | ExpectMetric::IdleRtt
        | ExpectMetric::LoadedRtt
        | ExpectMetric::LoadedRttP95 => duration(text).map(|span| Bound::Value(span.as_secs_f64() * 1e6)),
        ExpectMetric::Lost => ratio(text).map(|share| Bound::Value(share.percent())),
        ExpectMetric::Fairness => ratio(text).map(|index| Bound::Value(index.fraction())),
        ExpectMetric::LimitedBy | ExpectMetric::AlsoLimitedBy => {
            word(text, LimitedBy::ALL.iter().map(|limit| limit.as_str()))
        }
        ExpectMetric::Cause => word(text, Cause::ALL.iter().map(|cause| cause.as_str())),
        ExpectMetric::CwndCause => word(text, CwndCause::ALL.iter().map(|cause| cause.as_str())),
        ExpectMetric::Flows => flows(text),
        ExpectMetric::Bufferbloat => word(text, ["forward", "reverse", "none"].into_iter()),
    }
}

/// One of the words, or several with `|` between them.
fn word(text: &str, known: impl Iterator<Item = &'static str>) -> Result<Bound, ParseError> {
    let words: Vec<(&str, &str)> = known.map(|word| (word, word)).collect();
    for part in text.split('|') {
        one_of(part.trim(), &words)?;
    }
    Ok(Bound::Word(text.to_owned()))
}

/// The limiter of each flow, with its cause where that matters, and `|` between what may be either: `rwnd, cwnd random_loss|path`.
fn flows(text: &str) -> Result<Bound, ParseError> {
    let limits: Vec<(&str, LimitedBy)> =
        LimitedBy::ALL.iter().map(|limit| (limit.as_str(), *limit)).collect();
    for part in text.split(',').flat_map(|flow| flow.split('|')) {
        let (limit, cause) =
            part.trim().split_once(' ').map_or((part.trim(), None), |(a, b)| (a, Some(b.trim())));
        let limit = one_of(limit, &limits)?;
        let Some(cause) = cause else { continue };
        word(cause, Cause::ALL.iter().map(|known| known.as_str()))?;
        if !limit.causes().iter().any(|known| known.as_str() == cause) {
            return Err(ParseError::new(no_such_cause(&[limit], cause), causes_of(&[limit])));
        }
    }
    Ok(Bound::Word(text.to_owned()))
}

/// The first of the words of `cause` that refines none of the limits of `limited_by`, as message and help.
pub(super) fn cause_of_another_limit(limited_by: &str, cause: &str) -> Option<(String, String)> {
    let limits: Vec<LimitedBy> =
        limited_by.split('|').filter_map(|limit| LimitedBy::from_word(limit.trim())).collect();
    let is_of_them =
        |cause: &str| limits.iter().flat_map(|limit| limit.causes()).any(|known| known.as_str() == cause);
    let other = cause.split('|').map(str::trim).find(|cause| !is_of_them(cause))?;
    Some((no_such_cause(&limits, other), causes_of(&limits)))
}

fn no_such_cause(limits: &[LimitedBy], cause: &str) -> String {
    let limits: Vec<&str> = limits.iter().map(|limit| limit.as_str()).collect();
    format!("\"{cause}\" is not a cause of {}", limits.join(" or "))
}

/// What to write instead.
fn causes_of(limits: &[LimitedBy]) -> String {
    let of_one = |limit: &LimitedBy| match limit.causes() {
        [] => format!("{} has no cause: leave it out", limit.as_str()),
        causes => {
            let causes: Vec<&str> = causes.iter().map(|cause| cause.as_str()).collect();
            format!("the causes of {} are: {}", limit.as_str(), causes.join(", "))
        }
    };
    limits.iter().map(of_one).collect::<Vec<_>>().join("; ")
}

/// Words are only equal or not; measured quantities never are.
fn check(metric: ExpectMetric, comparison: Comparison, text: &str) -> Result<(), ParseError> {
    let equal = comparison == Comparison::Equal;
    let fits = match metric {
        ExpectMetric::LimitedBy
        | ExpectMetric::Cause
        | ExpectMetric::CwndCause
        | ExpectMetric::AlsoLimitedBy
        | ExpectMetric::Flows
        | ExpectMetric::Bufferbloat => equal,
        ExpectMetric::Retransmits => true,
        _ => !equal,
    };
    if fits {
        return Ok(());
    }
    let why = if equal {
        "a measured value is never exactly equal to a number"
    } else {
        "a word can only be compared with ="
    };
    Err(ParseError::new(format!("\"{text}\": {why}"), format!("write e.g. \"{}\"", example(metric))))
}

const fn example(metric: ExpectMetric) -> &'static str {
    match metric {
        ExpectMetric::Goodput | ExpectMetric::Sender => ">= 95% of rate",
        ExpectMetric::Retransmits => "<= 3",
        ExpectMetric::ForwardRate
        | ExpectMetric::ReverseRate
        | ExpectMetric::PingNaive
        | ExpectMetric::PingDoubled
        | ExpectMetric::PingLaw => "within 5% of 100mbit",
        ExpectMetric::MinRtt | ExpectMetric::Srtt | ExpectMetric::BaseRtt => "<= 12ms",
        ExpectMetric::IdleRtt => "within 10% of 20ms",
        ExpectMetric::LoadedRtt => ">= 60ms",
        ExpectMetric::LoadedRttP95 => "<= 35ms",
        ExpectMetric::Fairness => ">= 95%",
        ExpectMetric::Flows => "= rwnd, app",
        ExpectMetric::Bufferbloat => "= forward",
        ExpectMetric::Lost => "within 5% of 90%",
        ExpectMetric::LimitedBy | ExpectMetric::AlsoLimitedBy => "= rwnd",
        ExpectMetric::Cause => "= turns",
        ExpectMetric::CwndCause => "= startup",
    }
}
