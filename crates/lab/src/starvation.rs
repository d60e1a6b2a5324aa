//! Whether a run was short of a CPU that others had: past a bound it is invalid, not slow.
//!
//! A run whose *own* threads use the CPUs up is valid, and limited by the CPU. The bounds are part of `docs/metrics.md`.

use crate::validity::invalid;
use pipefill_core::cell::{CellSpec, Direction, FlowSpec};
use pipefill_core::record::{CpuUse, Instrument, Invalid, Lateness, ThreadCpu};

/// A flow that nothing but its threads limits may be slower by as much as one of them waited for a CPU that others had.
const WAITED: f64 = 0.10;
/// Where the scenario sets a rate, buffers bridge a part of such a wait: 100 and 2000 Mbit/s were met with 8 and 17 %, 2000 Mbit/s were
/// missed with 27 %.
const WAITED_AT_A_RATE: f64 = 0.20;
/// While a bare timer is late by more than this, in nanoseconds, a process that does no work at all does not run: a bound of a bucket of
/// its histogram, next above the span between two of its deadlines.
const STOPPED_NS: u64 = 16_384_000;
/// A process that does not run for longer than this is slower by a twentieth, as a path is that is late by a fortieth of the round
/// trip in both directions.
const STOPPED: f64 = 0.05;

const STARVED_CPU: &str = "starved_cpu";

/// The reasons why a run that was short of a CPU is invalid; empty = it was not, or only of what its own threads used.
pub(crate) fn starved(spec: &CellSpec, instrument: &Instrument) -> Vec<Invalid> {
    let stopped = instrument.timer_lateness.as_ref().and_then(stopped);
    let waited = instrument.cpu_use.as_ref().and_then(|used| waited(spec, &instrument.threads, used));
    stopped.into_iter().chain(waited).collect()
}

/// The same of one end of a test between hosts: `has_rate` says whether it was asked for a rate.
pub(crate) fn starved_end(instrument: &Instrument, has_rate: bool) -> Vec<Invalid> {
    let bound = if has_rate { WAITED_AT_A_RATE } else { WAITED };
    let stopped = instrument.timer_lateness.as_ref().and_then(stopped);
    let waited = instrument.cpu_use.as_ref().and_then(|used| {
        waited_beyond(instrument.threads.iter().map(|thread| (thread, used.span_us, bound)), used)
    });
    stopped.into_iter().chain(waited).collect()
}

/// The process did not run: it was stopped, or the machine was.
fn stopped(timer: &Lateness) -> Option<Invalid> {
    let late = timer.histogram.iter().filter(|&&(bound, _)| bound > STOPPED_NS);
    let late = late.fold(0_u64, |sum, &(_, count)| sum.saturating_add(count));
    let share = late as f64 / timer.count.max(1) as f64;
    (share > STOPPED).then(|| {
        let detail = format!(
            "the process did not run for {:.0} % of the time: a bare timer missed that share of its deadlines by more than {} ms, the worst by {:.0} ms (bound: {:.0} %)",
            100.0 * share,
            STOPPED_NS / 1_000_000,
            timer.max_ns as f64 / 1e6,
            100.0 * STOPPED,
        );
        invalid(STARVED_CPU, detail)
    })
}

/// A thread of a flow waited for a CPU that others had.
fn waited(spec: &CellSpec, threads: &[ThreadCpu], used: &CpuUse) -> Option<Invalid> {
    let of_flows = threads.iter().filter_map(|thread| {
        let flow = spec.flows.get(usize::try_from(thread.thread.flow()?).ok()?)?;
        let bound = if has_rate(spec, flow) { WAITED_AT_A_RATE } else { WAITED };
        Some((thread, u64::try_from(flow.duration.as_micros()).unwrap_or(u64::MAX), bound))
    });
    waited_beyond(of_flows, used)
}

/// Of threads, each with the time over which it worked in microseconds and its bound, that which waited longest beyond it. Whose the CPUs were is
/// told by who used them meanwhile: of the wait, others have the share that they have of the time that was used.
fn waited_beyond<'a>(
    threads: impl Iterator<Item = (&'a ThreadCpu, u64, f64)>,
    used: &CpuUse,
) -> Option<Invalid> {
    let by_others = used.others_us as f64 / (used.own_us.saturating_add(used.others_us)).max(1) as f64;
    let beyond = threads.filter_map(|(thread, span_us, bound)| {
        let waited = thread.wait_us? as f64 / span_us.max(1) as f64;
        (waited * by_others > bound).then_some((&thread.thread, waited, bound))
    });
    let worst = beyond.max_by(|a, b| a.1.total_cmp(&b.1));
    worst.map(|(thread, waited, bound)| {
        let detail = format!(
            "{thread} waited for a CPU for {:.0} % of its time, {:.0} % for other processes (bound: {:.0} %), which used {:.1} of {} CPUs",
            100.0 * waited,
            100.0 * waited * by_others,
            100.0 * bound,
            used.others_us as f64 / used.span_us.max(1) as f64,
            used.cpus,
        );
        invalid(STARVED_CPU, detail)
    })
}

/// Whether the scenario says how fast the flow may be.
fn has_rate(spec: &CellSpec, flow: &FlowSpec) -> bool {
    let path = match flow.direction {
        Direction::Forward => &spec.path.forward,
        Direction::Reverse => &spec.path.reverse,
    };
    path.bottleneck.is_some()
        || [flow.bitrate, flow.read_rate, flow.max_pacing_rate].iter().any(Option::is_some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lateness::LatenessMeter;
    use pipefill_core::record::ThreadRole;
    use pipefill_core::scenario::Scenario;
    use pipefill_core::units::Time;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000;

    /// A flow of ten seconds; `extra` is one more key of it.
    fn spec(extra: &str) -> CellSpec {
        let text = format!("name = \"x\"\n[path]\n[[flow]]\nduration = \"10s\"\n{extra}\n");
        Scenario::parse(&text, "x.toml").unwrap().plan().cells[0].spec.clone()
    }

    /// Ten seconds of two CPUs.
    fn instrument(thread: &str, wait_us: Option<u64>, own_us: u64, others_us: u64) -> Instrument {
        let thread = ThreadRole::from(thread);
        Instrument {
            threads: vec![ThreadCpu { thread, user_us: 0, system_us: 0, wait_us }],
            cpu_use: Some(CpuUse { cpus: 2, span_us: 10 * SECOND, own_us, others_us }),
            ..Instrument::default()
        }
    }

    /// A bare timer over ten seconds, of which a stop took `stopped`.
    fn timer(stopped: Duration) -> Instrument {
        let (every, end) = (Duration::from_millis(10), Time::from_nanos(10_000_000_000));
        let mut lateness = LatenessMeter::new();
        let mut due = lateness.record_deadlines(Time::ZERO, every, Time::ZERO.after(stopped));
        while due < end {
            due = lateness.record_deadlines(due, every, due);
        }
        Instrument { timer_lateness: lateness.summary(), ..Instrument::default() }
    }

    fn is_starved(instrument: &Instrument) -> bool {
        !starved(&spec(""), instrument).is_empty()
    }

    #[test]
    fn a_thread_that_waited_for_others_makes_a_run_invalid() {
        let others = |wait_us| is_starved(&instrument("flow 0 receiver", Some(wait_us), 0, 20 * SECOND));
        assert_eq!([others(SECOND), others(SECOND + SECOND / 100)], [false, true]);
        let half = |wait_us| is_starved(&instrument("flow 0 sender", Some(wait_us), 8 * SECOND, 8 * SECOND));
        assert_eq!([half(2 * SECOND), half(2 * SECOND + SECOND / 100)], [false, true]);
    }

    #[test]
    fn a_flow_with_a_rate_may_wait_longer() {
        let read = |extra: &str, wait_us| {
            !starved(&spec(extra), &instrument("flow 0 sender", Some(wait_us), 0, 20 * SECOND)).is_empty()
        };
        for key in ["bitrate = \"1mbit\"", "read_rate = \"1mbit\"", "max_pacing_rate = \"1mbit\""] {
            assert_eq!([read(key, 2 * SECOND), read(key, 2 * SECOND + SECOND / 100)], [false, true], "{key}");
        }
        let text = "name = \"x\"\n[path]\nrate = \"1mbit\"\n[[flow]]\nduration = \"10s\"\n";
        let spec = Scenario::parse(text, "x.toml").unwrap().plan().cells[0].spec.clone();
        let waited = instrument("flow 0 sender", Some(2 * SECOND), 0, 20 * SECOND);
        assert_eq!(starved(&spec, &waited), []);
    }

    #[test]
    fn a_machine_that_the_runs_own_threads_use_up_is_no_fault() {
        assert!(!is_starved(&instrument("flow 0 sender", Some(6 * SECOND), 19 * SECOND, SECOND)));
    }

    #[test]
    fn what_is_not_known_or_is_no_flows_thread_is_not_judged() {
        assert!(!is_starved(&instrument("flow 0 sender", None, 0, 20 * SECOND)));
        assert!(!is_starved(&instrument("telemetry", Some(9 * SECOND), 0, 20 * SECOND)));
        assert!(!is_starved(&instrument("flow 7 sender", Some(9 * SECOND), 0, 20 * SECOND)), "no such flow");
        let unknown =
            Instrument { cpu_use: None, ..instrument("flow 0 sender", Some(9 * SECOND), 0, 20 * SECOND) };
        assert!(!is_starved(&unknown));
    }

    #[test]
    fn a_process_that_was_stopped_makes_a_run_invalid() {
        let is_stopped = |ms| is_starved(&timer(Duration::from_millis(ms)));
        assert_eq!(
            [is_stopped(0), is_stopped(500), is_stopped(540), is_stopped(3_333)],
            [false, false, true, true]
        );
    }
}
