//! Judges a cell's `[expect]` assertions.
//!
//! Never: an expectation that holds because nothing was measured.

use crate::findings::metrics::PingMetrics;
use crate::findings::result::{CellResult, ExpectationResult, FlowResult, Value};
use crate::findings::verdict::Verdict;
use pipefill_core::cell::{Bound, CellSpec, Comparison, ExpectMetric, Expectation};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};

/// Judges all assertions of `spec` on `result`, in order.
pub fn evaluate(spec: &CellSpec, result: &CellResult) -> Vec<ExpectationResult> {
    spec.expect.iter().map(|expectation| judge(spec, result, expectation)).collect()
}

fn judge(spec: &CellSpec, result: &CellResult, expectation: &Expectation) -> ExpectationResult {
    let measured = measured(result, expectation.metric);
    let bound = bound(spec, &expectation.bound);
    let held = match (&measured, &bound) {
        (Some(_), Some(Value::Word(wanted))) if expectation.metric == ExpectMetric::Flows => {
            Some(are_as_wanted(&result.flows, wanted))
        }
        (Some(measured), Some(bound)) => compare(measured, expectation.comparison, bound),
        _ => None,
    };
    ExpectationResult { text: expectation.text.clone(), held, measured, bound, reason: None }
}

/// What `metric` of a cell came to; `None` where it was not measured.
pub(crate) fn measured(result: &CellResult, metric: ExpectMetric) -> Option<Value> {
    let number = |value: Option<u64>| value.map(|v| Value::Number(v as f64));
    match metric {
        ExpectMetric::Goodput => number(result.goodput_bps),
        ExpectMetric::Sender => number(result.sender_bps),
        ExpectMetric::Retransmits => number(result.tcp.retransmits),
        ExpectMetric::MinRtt => number(result.tcp.min_rtt_us),
        ExpectMetric::Srtt => number(result.tcp.srtt_us_p50),
        ExpectMetric::Lost => result.udp.lost_percent.map(Value::Number),
        ExpectMetric::BaseRtt => ping(result, |ping| ping.base_rtt_us),
        ExpectMetric::ForwardRate => ping(result, |ping| ping.forward_bps.map(|bps| bps as f64)),
        ExpectMetric::ReverseRate => ping(result, |ping| ping.reverse_bps.map(|bps| bps as f64)),
        ExpectMetric::PingNaive => ping(result, |ping| ping.naive_bps.map(|bps| bps as f64)),
        ExpectMetric::PingDoubled => ping(result, |ping| ping.doubled_bps.map(|bps| bps as f64)),
        ExpectMetric::PingLaw => ping(result, |ping| ping.law_bps.map(|bps| bps as f64)),
        ExpectMetric::LimitedBy => result.verdict.limited_by.map(|l| Value::Word(l.as_str().to_owned())),
        ExpectMetric::Cause => result.verdict.cause.map(|cause| Value::Word(cause.as_str().to_owned())),
        ExpectMetric::CwndCause => {
            result.verdict.cwnd_cause.map(|cause| Value::Word(cause.as_str().to_owned()))
        }
        ExpectMetric::AlsoLimitedBy => runner_up(result).map(|l| Value::Word(l.as_str().to_owned())),
        ExpectMetric::Flows => flows(result).map(Value::Word),
        ExpectMetric::Bufferbloat => result.headline().map(|flow| {
            let direction = flow.latency.bufferbloat.map(|bufferbloat| bufferbloat.direction.as_str());
            Value::Word(direction.unwrap_or("none").to_owned())
        }),
        ExpectMetric::IdleRtt => number(result.headline().and_then(|flow| flow.latency.idle_rtt_us)),
        ExpectMetric::LoadedRtt => number(result.headline().and_then(|flow| flow.latency.loaded_rtt_us_p50)),
        ExpectMetric::LoadedRttP95 => {
            number(result.headline().and_then(|flow| flow.latency.loaded_rtt_us_p95))
        }
        ExpectMetric::Fairness => result.fairness_index.map(Value::Number),
    }
}

/// `limited_by` and `cause` of each flow; `None` where one was not diagnosed.
fn flows(result: &CellResult) -> Option<String> {
    let word = |flow: &FlowResult| {
        let limit = flow.verdict.limited_by?.as_str();
        Some(
            flow.verdict
                .cause
                .map_or_else(|| limit.to_owned(), |cause| format!("{limit} {}", cause.as_str())),
        )
    };
    let words: Option<Vec<String>> = result.flows.iter().map(word).collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(", "))
}

/// Whether each flow has its `wanted` limit. A limit that is wanted without a cause may have any cause; a cause may be one of
/// `cwnd_cause`, which has fewer words.
fn are_as_wanted(flows: &[FlowResult], wanted: &str) -> bool {
    let has = |flow: &FlowResult, wanted: &str| {
        let Verdict { limited_by, cause, cwnd_cause, .. } = &flow.verdict;
        let (limit, refined) =
            wanted.split_once(' ').map_or((wanted, None), |(limit, cause)| (limit, Some(cause.trim())));
        let causes = [cause.map(Cause::as_str), cwnd_cause.map(CwndCause::as_str)];
        limited_by.map(LimitedBy::as_str) == Some(limit) && refined.is_none_or(|_| causes.contains(&refined))
    };
    let wanted: Vec<&str> = wanted.split(',').collect();
    flows.len() == wanted.len()
        && flows
            .iter()
            .zip(&wanted)
            .all(|(flow, wanted)| wanted.split('|').any(|limit| has(flow, limit.trim())))
}

fn ping(result: &CellResult, figure: fn(&PingMetrics) -> Option<f64>) -> Option<Value> {
    result.ping.as_ref().and_then(figure).map(Value::Number)
}

/// The second cause, where it took a tenth of the time and more.
fn runner_up(result: &CellResult) -> Option<LimitedBy> {
    let shares = result.verdict.limited_fraction.as_ref()?;
    let others =
        shares.iter().filter(|&(&cause, &share)| Some(cause) != result.verdict.limited_by && share >= 0.1);
    others.max_by(|a, b| a.1.total_cmp(b.1)).map(|(&cause, _)| cause)
}

/// The right-hand side of a comparison in numbers.
pub(crate) fn bound(spec: &CellSpec, bound: &Bound) -> Option<Value> {
    match bound {
        Bound::Value(value) => Some(Value::Number(*value)),
        Bound::Word(word) => Some(Value::Word(word.clone())),
        Bound::OfRate(share) => {
            let rate = spec.path.forward.bottleneck.as_ref()?.rate;
            Some(Value::Number(rate.bps() as f64 * share.fraction()))
        }
    }
}

/// Whether `comparison` holds between `measured` and `bound`; `None` for a number against a word.
pub(crate) fn compare(measured: &Value, comparison: Comparison, bound: &Value) -> Option<bool> {
    match (measured, comparison, bound) {
        (Value::Number(x), Comparison::AtLeast, Value::Number(y)) => Some(x >= y),
        (Value::Number(x), Comparison::AtMost, Value::Number(y)) => Some(x <= y),
        (Value::Number(x), Comparison::Within(share), Value::Number(y)) => {
            Some((x - y).abs() <= share.fraction() * y)
        }
        (Value::Number(x), Comparison::Equal, Value::Number(y)) => Some(x == y),
        (Value::Word(x), Comparison::Equal, Value::Word(y)) => {
            Some(y.split('|').any(|word| word.trim() == x))
        }
        _ => None,
    }
}
