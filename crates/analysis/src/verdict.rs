//! The sentence at a run's end: what limited it, for how long, and the arithmetic that says so.
//!
//! Never: a figure that is not in the diagnosis or the scenario, or a cause that the diagnosis does not name.

use crate::diagnosis::{Diagnosis, Figures};
use crate::models::loss::{self, AckPolicy};
use crate::models::window;
use crate::statistics::rounded;
use crate::wording::{bytes, duration, percent, rate};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, Rate, Ratio};
use std::time::Duration;

/// Where the cause held for less of the time than this, what was measured meanwhile is said beside what was measured in all.
const NEARLY_ALL: f64 = 0.95;
/// From this share of the time on it is said that nothing moved.
const STANDS_STILL: f64 = 0.05;
/// From here on the product of what is in flight is no estimate any more: between two timeouts samples see little of what moves.
const MOSTLY_STANDS_STILL: f64 = 0.5;
/// From this share of what the path carries on, what was read more needs a reason.
const MORE: f64 = 1.005;
/// That reason.
const EARLIER: &str = "; what was read beyond that had arrived before the measured time, and waited for a lost segment or in \
                       the token bucket";

/// What theory gives for the run as it was, bits per second of payload; `None` where the cause has no formula.
pub fn predicted_bps(spec: &CellSpec, diagnosis: &Diagnosis) -> Option<u64> {
    let figures = &diagnosis.figures;
    match diagnosis.limited_by {
        LimitedBy::Path => figures.path_goodput_bps,
        LimitedBy::Rwnd => law(figures.rwnd_bytes?, figures),
        LimitedBy::Sndbuf => in_flight_law(figures).map(|bps| moved(bps, figures)),
        LimitedBy::App => sum_of(spec, |flow| flow.bitrate.map(Rate::bps)),
        LimitedBy::Receiver => sum_of(spec, |flow| flow.read_rate.map(Rate::bps)),
        // The kernel's own pacing counts payload (tcp_update_skb_after_send()); only the fq qdisc counts headers.
        LimitedBy::Pacing => sum_of(spec, |flow| flow.max_pacing_rate.map(Rate::bps)),
        LimitedBy::Cwnd => response(spec, diagnosis),
        LimitedBy::Cpu | LimitedBy::Testbed | LimitedBy::Unknown => None,
    }
}

/// The verdict on a run of `spec` that had `goodput_bps`.
pub fn sentence(spec: &CellSpec, diagnosis: &Diagnosis, goodput_bps: u64) -> String {
    let share = diagnosis.limited_fraction.get(&diagnosis.limited_by).copied().unwrap_or(1.0);
    let figures = &diagnosis.figures;
    let because = match diagnosis.limited_by {
        LimitedBy::Path => path(spec, figures, goodput_bps),
        LimitedBy::Rwnd => {
            windowed("the advertised window", figures.rwnd_bytes, figures, &measured(diagnosis, goodput_bps))
        }
        LimitedBy::Sndbuf => sndbuf(figures, &measured(diagnosis, goodput_bps)),
        LimitedBy::Cwnd => cwnd(spec, diagnosis, &measured(diagnosis, goodput_bps)),
        LimitedBy::Pacing => asked("the pacing rate", predicted_bps(spec, diagnosis), goodput_bps),
        LimitedBy::App => asked("the application offers", predicted_bps(spec, diagnosis), goodput_bps),
        LimitedBy::Receiver => {
            asked("the receiving application reads", predicted_bps(spec, diagnosis), goodput_bps)
        }
        LimitedBy::Cpu => format!("a thread of an end had no CPU time left at {}", rate(goodput_bps)),
        LimitedBy::Testbed => testbed(figures, goodput_bps),
        LimitedBy::Unknown => format!("what was recorded does not tell; {} were measured", rate(goodput_bps)),
    };
    let others = others(diagnosis);
    let faults = match &diagnosis.faults[..] {
        [] => String::new(),
        faults => format!(" The testbed: {}.", faults.join("; ")),
    };
    format!("Limited by {} {} of the time: {because}.{others}{faults}", name(diagnosis), percent(share))
}

/// The cause in words.
pub fn name(diagnosis: &Diagnosis) -> &'static str {
    match (diagnosis.limited_by, diagnosis.cwnd_cause) {
        (LimitedBy::App, _) => "the application",
        (LimitedBy::Sndbuf, _) => "the send buffer",
        (LimitedBy::Rwnd, _) => "the receive window",
        (LimitedBy::Cwnd, Some(CwndCause::Startup)) => "the congestion window (slow start)",
        (LimitedBy::Cwnd, Some(CwndCause::HystartExit)) => "the congestion window (slow start ended early)",
        (LimitedBy::Cwnd, Some(CwndCause::RandomLoss)) => "the congestion window (random loss)",
        (LimitedBy::Cwnd, Some(CwndCause::QueueLoss)) => "the congestion window (drops of the queue)",
        (LimitedBy::Cwnd, Some(CwndCause::Policer)) => "the congestion window (a policer)",
        (LimitedBy::Cwnd, Some(CwndCause::Reordering)) => "the congestion window (reordering)",
        (LimitedBy::Cwnd, Some(CwndCause::AckPath)) => "the congestion window (the path of the ACKs)",
        (LimitedBy::Cwnd, Some(CwndCause::Growth)) => "the congestion window (still growing)",
        (LimitedBy::Cwnd, None) => "the congestion window",
        (LimitedBy::Pacing, _) => "pacing",
        (LimitedBy::Path, _) => "the path",
        (LimitedBy::Receiver, _) => "the receiving application",
        (LimitedBy::Cpu, _) => "the CPU",
        (LimitedBy::Testbed, _) => "the testbed",
        (LimitedBy::Unknown, _) => "something that was not recorded",
    }
}

fn path(spec: &CellSpec, figures: &Figures, goodput_bps: u64) -> String {
    let Some(possible) = figures.path_goodput_bps else {
        return format!(
            "{} were lost on the way, {} arrived",
            percent(figures.loss_share.unwrap_or(0.0)),
            rate(goodput_bps)
        );
    };
    let goes = |direction| spec.flows.iter().any(|flow| flow.direction == direction);
    let way = if goes(Direction::Forward) { &spec.path.forward } else { &spec.path.reverse };
    let asked =
        way.bottleneck.as_ref().map_or_else(String::new, |one| format!("{} leave ", rate(one.rate.bps())));
    let measured = rate(goodput_bps);
    let is_both = goes(Direction::Forward) && goes(Direction::Reverse);
    let (of, where_) = if is_both { (" forward", " in both directions together") } else { ("", "") };
    let full = figures.utilisation.map_or_else(String::new, |share| {
        let more = if !is_both && goodput_bps as f64 > MORE * possible as f64 { EARLIER } else { "" };
        format!(": the pipe is {} full{of}{more}", percent(share))
    });
    format!("{asked}{} of payload{of}, {measured} were measured{where_}{full}", rate(possible))
}

/// What was measured: the arithmetic is about the time in which the cause held, and the goodput about all of it.
fn measured(diagnosis: &Diagnosis, goodput_bps: u64) -> String {
    let share = diagnosis.limited_fraction.get(&diagnosis.limited_by).copied().unwrap_or(1.0);
    match diagnosis.figures.acked_bps.filter(|_| share < NEARLY_ALL) {
        Some(bps) => format!("{} were measured in that time, {} in all", rate(bps), rate(goodput_bps)),
        None => format!("{} were measured", rate(goodput_bps)),
    }
}

fn windowed(what: &str, window_bytes: Option<u64>, figures: &Figures, measured: &str) -> String {
    let (Some(window), Some(rtt)) = (window_bytes, figures.min_rtt_us) else {
        return format!("{what} was used up; {measured}");
    };
    let allows = law(window, figures).map_or_else(String::new, |bps| format!(" allows {}", rate(bps)));
    format!("{what}, {} / {}{allows}, {measured}", bytes(window), duration(rtt))
}

/// The buffer counts memory, not payload, and its writer is woken when a third of it is free (`sk_stream_min_wspace()`). With GSO
/// a write may go in whole whatever the size, since memory is looked at before a new packet only (`tcp_sendmsg_locked()`).
fn sndbuf(figures: &Figures, measured: &str) -> String {
    let flows = in_flight(figures, measured);
    let Some(limit) = figures.sndbuf_bytes else {
        return format!("{flows}, all that a send buffer holds, whose writer wakes when a third is free");
    };
    let size = bytes(limit);
    if figures.flight_mean_bytes.is_some_and(|flight| flight > limit) {
        return format!(
            "{flows}; the send buffer is {size} of memory, which writes overfill and then wait until a third is free"
        );
    }
    format!(
        "{flows}, all that a send buffer of {size} of memory holds, whose writer wakes when a third is free"
    )
}

/// Little's law: what is in flight in the mean, a round trip, in the time in which anything moved.
fn in_flight(figures: &Figures, measured: &str) -> String {
    let (Some(flight), Some(rtt)) = (figures.flight_mean_bytes, figures.rtt_mean_us) else {
        return measured.to_owned();
    };
    let still = figures.stalled_share.unwrap_or(0.0);
    if still >= MOSTLY_STANDS_STILL {
        return format!(
            "for {} of the time nothing came back for longer than a round trip, and the sender waited for a timer; in the rest, in \
             the mean, {} were in flight; {measured}",
            percent(still),
            bytes(flight)
        );
    }
    let gives = in_flight_law(figures).map_or_else(String::new, |bps| match still {
        STANDS_STILL.. => format!(
            " gives {}, and as nothing came back for longer than a round trip for {} of the time, {}",
            rate(bps),
            percent(still),
            rate(moved(bps, figures))
        ),
        _ => format!(" gives {}", rate(bps)),
    });
    let flight = bytes(flight);
    format!("in the mean {flight} were in flight; {flight} / {}{gives}, {measured}", duration(rtt))
}

fn testbed(figures: &Figures, goodput_bps: u64) -> String {
    match figures.path_goodput_bps.filter(|&possible| goodput_bps as f64 >= 0.9 * possible as f64) {
        Some(possible) => format!(
            "the path has no rate, and the host itself sends {} of payload at most, {} were measured",
            rate(possible),
            rate(goodput_bps)
        ),
        None => format!(
            "what was lost or slow belongs to the testbed, not to TCP or the path; {} were measured",
            rate(goodput_bps)
        ),
    }
}

fn cwnd(spec: &CellSpec, diagnosis: &Diagnosis, measured: &str) -> String {
    let figures = &diagnosis.figures;
    let measured = in_flight(figures, measured);
    match diagnosis.cwnd_cause {
        // A queue that overflows drops many segments at once, which is one event; theory counts events, and they come as they like.
        Some(CwndCause::QueueLoss) => {
            let lost = percent(figures.loss_share.unwrap_or(0.0));
            format!("{measured}; {lost} of the segments were sent again")
        }
        Some(CwndCause::RandomLoss) => {
            let lost = percent(figures.loss_share.unwrap_or(0.0));
            let is_still = figures.stalled_share.is_some_and(|share| share >= MOSTLY_STANDS_STILL);
            let theory = if is_still { "theory, which knows no timeouts," } else { "theory" };
            let theory = response(spec, diagnosis)
                .map_or_else(String::new, |bps| format!(", for which {theory} gives {}", rate(bps)));
            let by_chance = figures
                .random_loss_share
                .map_or_else(String::new, |share| format!("; {} were lost by chance", percent(share)));
            format!("{measured}; {lost} of the segments were sent again{by_chance}{theory}")
        }
        Some(CwndCause::Startup) => format!("{measured}; the transfer ended before slow start did"),
        Some(CwndCause::HystartExit) => {
            format!(
                "{measured}; slow start ended below the BDP, and growth from there takes many round trips"
            )
        }
        _ => format!("{measured}; the last loss is long ago, and the window has not recovered yet"),
    }
}

fn asked(what: &str, asked_bps: Option<u64>, goodput_bps: u64) -> String {
    match asked_bps {
        Some(bps) => format!("{what} {}, {} were measured", rate(bps), rate(goodput_bps)),
        None => format!("{} were measured, and no window was used up", rate(goodput_bps)),
    }
}

/// The other categories that took a tenth of the time and more.
fn others(diagnosis: &Diagnosis) -> String {
    let others: Vec<String> = diagnosis
        .limited_fraction
        .iter()
        .filter(|&(&cause, &share)| cause != diagnosis.limited_by && share >= 0.1)
        .map(|(cause, &share)| format!("{} {}", cause.as_str(), percent(share)))
        .collect();
    if others.is_empty() { String::new() } else { format!(" The rest: {}.", others.join(", ")) }
}

/// The window law over the least round trip: while a window limits, nothing queues for long.
fn law(window_bytes: u64, figures: &Figures) -> Option<u64> {
    window::window_law(Bytes::new(window_bytes), Duration::from_micros(figures.min_rtt_us?)).map(rounded)
}

/// What is left of `bps`, since nothing moves for some of the time.
fn moved(bps: u64, figures: &Figures) -> u64 {
    rounded(bps as f64 * (1.0 - figures.stalled_share.unwrap_or(0.0)))
}

/// What was in flight in the mean, over the round trip as it was.
fn in_flight_law(figures: &Figures) -> Option<u64> {
    let rtt = Duration::from_micros(figures.rtt_mean_us?);
    window::window_law(Bytes::new(figures.flight_mean_bytes?), rtt).map(rounded)
}

/// CUBIC's and Reno's response to the loss that was seen (RFC 9438, 5; Mathis 1997). BBR has none.
fn response(spec: &CellSpec, diagnosis: &Diagnosis) -> Option<u64> {
    let figures = &diagnosis.figures;
    if !diagnosis.cwnd_cause?.is_loss() {
        return None;
    }
    let streams = spec.flows.iter().filter(|flow| flow.protocol == Protocol::Tcp);
    let (mss, rtt) = (Bytes::new(figures.mss_bytes?), Duration::from_micros(figures.srtt_us?));
    let p = Ratio::from_fraction(figures.random_loss_share.or(figures.loss_share)?.clamp(0.0, 1.0));
    let of_flow = |flow: &FlowSpec| {
        let host = if flow.direction == Direction::Forward { &spec.sender } else { &spec.receiver };
        let name = flow.congestion_control.as_ref().unwrap_or(&host.congestion_control);
        let bps = match name.as_str() {
            "cubic" => loss::cubic(mss, rtt, p),
            "reno" => loss::mathis(mss, rtt, p, AckPolicy::EverySegment),
            _ => None,
        };
        Some(bps? * f64::from(flow.parallel))
    };
    let total: Option<f64> = streams.map(of_flow).sum();
    total.map(rounded)
}

fn sum_of(spec: &CellSpec, rate: impl Fn(&FlowSpec) -> Option<u64>) -> Option<u64> {
    spec.flows.iter().map(|flow| Some(rate(flow)? * u64::from(flow.parallel))).sum()
}
