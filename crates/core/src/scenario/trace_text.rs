//! Traces as text: mahimahi's delivery opportunities, or a rate, a delay or a loss from each time on.

use super::bounds;
use crate::cell::{BadTrace, RateTrace, StepTrace, TRACE_STEPS_MAX, TraceSteps, ValueSteps};
use crate::parse::{ParseError, duration_text, ratio};
use crate::units::{NANOS_PER_SEC, Rate, Ratio};
use std::ops::Range;

/// Most bytes of a trace's text: two million opportunities.
pub const TRACE_TEXT_MAX: usize = 16 << 20;
/// What one opportunity of mahimahi carries, bytes: `PACKET_SIZE` of its `link_queue.hh`.
const OPPORTUNITY: u64 = 1504;
/// Milliseconds over which opportunities are averaged: the first with which the trace has few enough steps.
const RESOLUTIONS_MS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];
const MICROS_PER_MILLI: u64 = 1_000;
/// The word behind the time at which a trace begins again.
const REPEAT: &str = "repeat";

/// What is wrong with a trace, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceProblem {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: String,
}

impl TraceProblem {
    fn new(line: &Line<'_>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span: line.span.clone(), message: message.into(), help: help.into() }
    }

    fn of_value(line: &Line<'_>, error: ParseError) -> Self {
        Self::new(line, error.message, error.help)
    }
}

/// A line that says something.
#[derive(Debug, Clone)]
struct Line<'a> {
    text: &'a str,
    span: Range<usize>,
}

/// What the values of a trace are called, and one of them with its time.
#[derive(Debug, Clone, Copy)]
struct Noun {
    name: &'static str,
    example: &'static str,
    /// A value at which nothing passes.
    outage: Option<&'static str>,
}

const RATE: Noun = Noun { name: "rate", example: "10mbit", outage: Some("0bit") };
const DELAY: Noun = Noun { name: "round trip", example: "40ms", outage: None };
const LOSS: Noun = Noun { name: "loss", example: "1%", outage: Some("100%") };

/// Reads a trace of rates. Text behind `#`, and empty lines, do not matter. Where the first line is a whole number the trace is mahimahi's.
///
/// # Errors
/// The first line that is wrong, and what to write instead.
pub(super) fn read(text: &str) -> Result<RateTrace, TraceProblem> {
    let first = first_line(text, RATE)?;
    let is_mahimahi = first.text.bytes().all(|byte| byte.is_ascii_digit());
    if is_mahimahi {
        return opportunities(lines(text));
    }
    let (steps, last) = steps(lines(text), RATE, bounds::rate_or_zero)?;
    let ValueSteps { at_us, values, period_us } = steps;
    RateTrace::new(TraceSteps { at: at_us, rates: values, period: period_us }).map_err(|_| {
        let help = format!(
            "end with a rate above zero, or with the time at which it begins again, e.g. \"60s {REPEAT}\""
        );
        TraceProblem::new(&last, "the rate is 0 for ever", help)
    })
}

/// Reads a trace of delays, nanoseconds.
///
/// # Errors
/// As [`read`].
pub(super) fn read_delays(text: &str) -> Result<StepTrace<u64>, TraceProblem> {
    let nanos =
        |text: &str| bounds::duration(text).map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
    read_values(text, DELAY, nanos)
}

/// Reads a trace of losses.
///
/// # Errors
/// As [`read`].
pub(super) fn read_losses(text: &str) -> Result<StepTrace<Ratio>, TraceProblem> {
    read_values(text, LOSS, ratio)
}

fn read_values<V>(
    text: &str,
    noun: Noun,
    parse: impl Fn(&str) -> Result<V, ParseError>,
) -> Result<StepTrace<V>, TraceProblem> {
    first_line(text, noun)?;
    let (steps, last) = steps(lines(text), noun, parse)?;
    let help = "begin at 0s, with each time later than that of the line before";
    StepTrace::new(steps).map_err(|error: BadTrace| TraceProblem::new(&last, error.to_string(), help))
}

/// The first line of a text that is not too long.
fn first_line(text: &str, noun: Noun) -> Result<Line<'_>, TraceProblem> {
    let whole = Line { text, span: 0..text.len().min(1) };
    if text.len() > TRACE_TEXT_MAX {
        let message = format!("the trace is longer than {TRACE_TEXT_MAX} bytes");
        let help = "cut a part out of it: a trace begins again at its end";
        return Err(TraceProblem::new(&whole, message, help));
    }
    lines(text).next().ok_or_else(|| {
        let help = format!("write a line for each {}, e.g. \"0s {}\"", noun.name, noun.example);
        TraceProblem::new(&whole, "the trace is empty", help)
    })
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n')
        .scan(0, |at, whole| {
            let begin = *at;
            *at += whole.len();
            let said = whole.split('#').next().unwrap_or_default();
            let start = begin + said.len() - said.trim_start().len();
            let text = said.trim();
            Some(Line { text, span: start..start + text.len() })
        })
        .filter(|line| !line.text.is_empty())
}

/// A millisecond on each line, ascending, each an opportunity for [`OPPORTUNITY`] bytes; after the last one the trace begins again. Those
/// at 0 count as of its end, as in later rounds.
fn opportunities<'a>(lines: impl Iterator<Item = Line<'a>>) -> Result<RateTrace, TraceProblem> {
    let mut counts: Vec<(u64, u64)> = Vec::new();
    let (mut at_zero, mut latest) = (0_u64, None::<(u64, Line<'a>)>);
    for line in lines {
        let Ok(millis) = line.text.parse::<u64>() else {
            let message = format!("\"{}\" is not a whole number of milliseconds", line.text);
            let help = "a trace of mahimahi has the millisecond of one opportunity on each line; \
                        one with times and rates begins with e.g. \"0s 10mbit\"";
            return Err(TraceProblem::new(&line, message, help));
        };
        if millis > bounds::SPAN_MAX.as_secs() * MICROS_PER_MILLI {
            let help = format!("write at most {} (1000h)", bounds::SPAN_MAX.as_secs() * MICROS_PER_MILLI);
            return Err(TraceProblem::new(&line, format!("{millis} ms is too late"), help));
        }
        if let Some((before, _)) = latest.as_ref().filter(|(before, _)| millis < *before) {
            let message = format!("the time goes backwards: {millis} ms after {before} ms");
            return Err(TraceProblem::new(
                &line,
                message,
                "sort the lines: each time is that of the line before, or later",
            ));
        }
        match counts.last_mut() {
            _ if millis == 0 => at_zero += 1,
            Some((last, count)) if *last == millis => *count += 1,
            _ => counts.push((millis, 1)),
        }
        latest = Some((millis, line));
    }
    let (Some((end, count)), Some((_, line))) = (counts.last_mut(), latest.as_ref()) else {
        let (_, line) = latest.unwrap_or((0, Line { text: "", span: 0..0 }));
        let help = "the last line is the trace's length in milliseconds: write at least 1";
        return Err(TraceProblem::new(&line, "the trace takes no time", help));
    };
    *count += at_zero;
    let end = *end;
    let averaged = RESOLUTIONS_MS.into_iter().map(|resolution| averaged(&counts, end, resolution));
    let found = averaged.into_iter().find(|steps| steps.at.len() <= TRACE_STEPS_MAX);
    let Some(steps) = found else {
        let message = format!("the rate changes more than {TRACE_STEPS_MAX} times, averaged over 100 ms");
        return Err(TraceProblem::new(
            line,
            message,
            "cut a part out of it: a trace begins again at its end",
        ));
    };
    RateTrace::new(steps)
        .map_err(|error| TraceProblem::new(line, error.to_string(), "write at least one opportunity"))
}

/// The mean rate of each `resolution` milliseconds, where it is another than before. An opportunity at `t` is of the millisecond before `t`.
fn averaged(counts: &[(u64, u64)], end: u64, resolution: u64) -> TraceSteps {
    let mut steps = TraceSteps { at: Vec::new(), rates: Vec::new(), period: Some(end * MICROS_PER_MILLI) };
    let mut push = |at_ms: u64, rate: Rate| {
        if steps.rates.last() != Some(&rate) && steps.at.len() <= TRACE_STEPS_MAX {
            steps.at.push(at_ms * MICROS_PER_MILLI);
            steps.rates.push(rate);
        }
    };
    let mut rest = counts;
    let mut done = 0;
    while let Some((millis, _)) = rest.first() {
        let bin = (millis - 1) / resolution * resolution;
        if bin > done {
            push(done, Rate::from_bps(0));
        }
        let within = rest.partition_point(|(millis, _)| *millis <= bin + resolution);
        let sum: u64 = rest[..within].iter().map(|(_, count)| *count).sum();
        let lasts = resolution.min(end - bin);
        push(bin, Rate::from_bps(sum.saturating_mul(OPPORTUNITY * 8 * 1_000) / lasts));
        done = bin + lasts;
        rest = &rest[within..];
    }
    steps
}

/// `0s 10mbit`: a value from a time on; `20s repeat`: the trace begins again. The steps, and the last line.
fn steps<'a, V>(
    lines: impl Iterator<Item = Line<'a>>,
    noun: Noun,
    parse: impl Fn(&str) -> Result<V, ParseError>,
) -> Result<(ValueSteps<V>, Line<'a>), TraceProblem> {
    let mut steps = ValueSteps { at_us: Vec::new(), values: Vec::new(), period_us: None };
    let mut last = Line { text: "", span: 0..0 };
    for line in lines {
        if steps.period_us.is_some() {
            let help = "write it on the last line: the trace begins again there";
            return Err(TraceProblem::new(&line, format!("a line after \"{REPEAT}\""), help));
        }
        let (time, value) = time_and_value(&line, noun)?;
        check_order(&line, time, steps.at_us.last().copied(), noun)?;
        if value == REPEAT {
            steps.period_us = Some(time);
        } else {
            steps.values.push(parse(value).map_err(|error| TraceProblem::of_value(&line, error))?);
            steps.at_us.push(time);
        }
        if steps.at_us.len() > TRACE_STEPS_MAX {
            let message = format!("the {} changes more than {TRACE_STEPS_MAX} times", noun.name);
            let help = format!("write fewer steps, and let them begin again: end with e.g. \"60s {REPEAT}\"");
            return Err(TraceProblem::new(&line, message, help));
        }
        last = line;
    }
    Ok((steps, last))
}

/// The microsecond of a line, and what stands behind it.
fn time_and_value<'a>(line: &Line<'a>, noun: Noun) -> Result<(u64, &'a str), TraceProblem> {
    let mut words = line.text.split_ascii_whitespace();
    let (Some(time), Some(value), None) = (words.next(), words.next(), words.next()) else {
        let message = format!("\"{}\" is not a time and a {}", line.text, noun.name);
        let outage = noun.outage.map_or_else(String::new, |value| format!(", \"5s {value}\" for an outage"));
        let help =
            format!("write e.g. \"5s {}\"{outage}, or \"20s {REPEAT}\" on the last line", noun.example);
        return Err(TraceProblem::new(line, message, help));
    };
    let span = bounds::duration(time).map_err(|error| TraceProblem::of_value(line, error))?;
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let micro = NANOS_PER_SEC / 1_000_000;
    if nanos % micro != 0 {
        let help = "write whole microseconds, e.g. \"1500us\"";
        return Err(TraceProblem::new(
            line,
            format!("\"{}\" is finer than a microsecond", duration_text(span)),
            help,
        ));
    }
    Ok((nanos / micro, value))
}

fn check_order(line: &Line<'_>, time: u64, before: Option<u64>, noun: Noun) -> Result<(), TraceProblem> {
    let text = |micros: u64| duration_text(std::time::Duration::from_micros(micros));
    match before {
        None if time > 0 => {
            let message = format!("the trace has no {} before {}", noun.name, text(time));
            let help = format!("begin with what holds from the start, e.g. \"0s {}\"", noun.example);
            Err(TraceProblem::new(line, message, help))
        }
        Some(before) if time <= before => {
            let message = format!("the time does not go on: {} after {}", text(time), text(before));
            Err(TraceProblem::new(
                line,
                message,
                "sort the lines: each time is later than that of the line before",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    fn rates_of(text: &str) -> Vec<(u64, u64)> {
        let trace = read(text).unwrap_or_else(|problem| panic!("{problem:?}"));
        let TraceSteps { at, rates, .. } = trace.steps();
        at.iter().zip(rates).map(|(at, rate)| (*at, rate.bps())).collect()
    }

    #[test]
    fn opportunities_are_the_rate_of_their_millisecond() {
        let packet = OPPORTUNITY * 8_000;
        assert_eq!(rates_of("1\n1\n5\n6\n"), [(0, 2 * packet), (1_000, 0), (4_000, packet)]);
        assert_eq!(rates_of("0\n2\n# a comment\n\n2\n"), [(0, 0), (1_000, 3 * packet)]);
        let trace = read("1\n1\n5\n6\n").unwrap();
        assert_eq!((trace.steps().period, trace.mean().bps()), (Some(6_000), 4 * packet / 6));
    }

    #[test]
    fn many_opportunities_are_averaged_and_none_is_lost() {
        let text: String =
            (0..250_000_u64).filter(|at| at % 3 != 1).map(|at| format!("{}\n", at + 1)).collect();
        let trace = read(&text).unwrap();
        assert!(trace.steps().at.len() <= TRACE_STEPS_MAX);
        let opportunities = text.lines().count() as u64;
        assert_eq!(trace.mean().bps() / 1_000, opportunities * OPPORTUNITY * 8 / 250_000);
    }

    #[test]
    fn times_and_rates_hold_from_each_on() {
        assert_eq!(
            rates_of("0s 10mbit\n1500ms 0bit # an outage\n2s 512kbit\n"),
            [(0, 10 * MBIT), (1_500_000, 0), (2_000_000, 512_000)]
        );
        assert_eq!(read("0s 1mbit\n2s 3mbit\n4s repeat\n").unwrap().mean().bps(), 2 * MBIT);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_what_to_write() {
        for (text, line, message, help) in [
            ("", 1, "empty", "0s 10mbit"),
            ("# nothing\n", 1, "empty", "0s 10mbit"),
            ("1\n5\n3\n", 3, "backwards", "sort"),
            ("1\ntwo\n", 2, "whole number", "0s 10mbit"),
            ("0\n0\n", 2, "no time", "at least 1"),
            ("99999999999999\n", 1, "too late", "1000h"),
            ("5s 1mbit\n", 1, "no rate before 5s", "from the start"),
            ("0s 1mbit\n5s\n", 2, "not a time and a rate", "0bit"),
            ("0s 1mbit\n5s 2mbit\n5s 1mbit\n", 3, "does not go on", "sort"),
            ("0s 1mbit\n5s 2mbit\n4s repeat\n", 3, "does not go on", "sort"),
            ("0s 1mbit\n5s repeat\n6s 2mbit\n", 3, "after \"repeat\"", "last line"),
            ("0s 1mbit\n5s 0bit\n", 2, "0 for ever", "repeat"),
            ("0s 0bit\n5s repeat\n", 2, "0 for ever", "above zero"),
            ("0s 1Mbps\n", 1, "not a unit", "1mbit"),
            ("0s 1mbit\n10ns 2mbit\n", 2, "finer than a microsecond", "1500us"),
        ] {
            let problem = read(text).expect_err(text);
            assert_eq!(text[..problem.span.start].matches('\n').count() + 1, line, "{text:?} {problem:?}");
            assert!(problem.message.contains(message), "{text:?} {problem:?}");
            assert!(problem.help.contains(help), "{text:?} {problem:?}");
        }
    }

    #[test]
    fn delays_and_losses_hold_from_each_time_on() {
        let delays = read_delays("0s 40ms\n15s 62.5ms # another satellite\n30s repeat\n").unwrap();
        assert_eq!(delays.values(), [40_000_000, 62_500_000]);
        assert_eq!(
            [14_999, 15_000, 30_000].map(|ms| delays.at(ms * 1_000_000) / 1_000),
            [40_000, 62_500, 40_000]
        );
        let losses = read_losses("0s 0.1%\n10s 100%\n10050ms 0%\n").unwrap();
        assert_eq!(
            losses.values().iter().map(|share| share.percent()).collect::<Vec<_>>(),
            [0.1, 100.0, 0.0]
        );
        for (text, line, message, help) in [
            ("", 1, "empty", "0s 40ms"),
            ("5s 40ms\n", 1, "no round trip before 5s", "0s 40ms"),
            ("0s 40ms\n9s\n", 2, "not a time and a round trip", "5s 40ms"),
            ("0s 40ms\n9s 40\n", 2, "needs a unit", "40ms"),
            ("0s 40ms\n9s 9999h\n", 2, "9999h", "1000h"),
            ("0s 40ms\n0s 50ms\n", 2, "does not go on", "sort"),
            ("5s repeat\n", 1, "no round trip before 5s", "0s 40ms"),
        ] {
            let problem = read_delays(text).expect_err(text);
            assert_eq!(text[..problem.span.start].matches('\n').count() + 1, line, "{text:?} {problem:?}");
            assert!(problem.message.contains(message) && problem.help.contains(help), "{text:?} {problem:?}");
        }
        let problem = read_losses("0s 1%\n5s 101%\n").expect_err("more than all");
        assert!(problem.message.contains("more than 100%"), "{problem:?}");
        assert!(read_losses("0s 1%\n5s\n").expect_err("no share").help.contains("5s 100%"));
    }

    #[test]
    fn ten_million_changes_are_refused() {
        let many: String = (0..=TRACE_STEPS_MAX).map(|at| format!("{at}ms {}mbit\n", at % 2 + 1)).collect();
        let problem = read(&many).expect_err("many");
        assert!(problem.message.contains("more than 100000"), "{problem:?}");
        let many: String = (0..=TRACE_STEPS_MAX).map(|at| format!("{at}ms {}ms\n", at % 2 + 1)).collect();
        let problem = read_delays(&many).expect_err("many");
        assert!(problem.message.contains("the round trip changes more than 100000"), "{problem:?}");
        let longer = "1\n".repeat(TRACE_TEXT_MAX / 2 + 1);
        assert!(read(&longer).expect_err("long").message.contains("longer than"));
    }
}
