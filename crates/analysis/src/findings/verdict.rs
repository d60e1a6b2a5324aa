//! The sentence on a flow: what limited it, for how long, and the arithmetic that says so.
//!
//! A figure above its own bound is explained or left out, and theory is told only where its assumptions hold.

mod arithmetic;

use crate::findings::finding::{Bufferbloat, Latency};
use crate::ground::wording::{bytes, duration, percent, rate};
use crate::judge::{Diagnosis, FULL, Figures};
use arithmetic::{in_flight, offered, response, window_product};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::Rate;

/// Where the cause held for less of the time than this, what was measured meanwhile is said beside what was measured in all.
const NEARLY_ALL: f64 = 0.95;
/// Measured may be so much above a bound, by rounding and by the ends of epochs; more needs a reason, or the bound is not told.
const ABOVE: f64 = 1.01;
/// Why more than the path's rate was read.
const EARLIER: &str = "; what was read beyond that had arrived before the measured time, and waited for a lost segment or in \
                       the token bucket";
/// The flow takes at least this part of what passes in its direction.
const NEARLY_ALONE: f64 = 0.9;

/// A flow with what was found of it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The cell.
    pub spec: &'a CellSpec,
    /// The flow.
    pub flow: &'a FlowSpec,
    /// What limited it.
    pub diagnosis: &'a Diagnosis,
    /// Its round trips.
    pub latency: &'a Latency,
    /// Its goodput.
    pub goodput_bps: u64,
    /// Whether nobody planned its path: only its ends tell of it.
    pub is_observed: bool,
}

/// What theory gives for the flow as it was, bits per second of payload; `None` where the cause has no formula that holds.
pub fn predicted_bps(subject: &Subject<'_>) -> Option<u64> {
    let figures = &subject.diagnosis.figures;
    let asked = |rate: Option<u64>| rate.and_then(|bps| bps.checked_mul(u64::from(subject.flow.parallel)));
    match subject.diagnosis.limited_by {
        // Beside others the path's rate is no prediction of one flow, nor where chance takes datagrams out of a path that is not full.
        LimitedBy::Path => figures.path_goodput_bps.filter(|_| {
            let is_tcp = subject.flow.protocol == Protocol::Tcp;
            subject.is_alone() && (is_tcp || figures.utilisation.is_some_and(|share| share >= FULL))
        }),
        LimitedBy::Rwnd => window_product(figures.rwnd_bytes?, figures),
        LimitedBy::Sndbuf => arithmetic::flight_product(figures),
        LimitedBy::App => asked(subject.flow.bitrate.map(Rate::bps)),
        LimitedBy::Receiver => asked(subject.flow.read_rate.map(Rate::bps)),
        // The kernel's own pacing counts payload (tcp_update_skb_after_send()); only the fq qdisc counts headers.
        LimitedBy::Pacing => asked(subject.flow.max_pacing_rate.map(Rate::bps)),
        LimitedBy::Cwnd => response(subject),
        LimitedBy::Cpu | LimitedBy::Testbed | LimitedBy::Unknown => None,
    }
}

/// What was measured while the cause held, and in words.
struct Measured {
    bps: u64,
    text: String,
}

/// The verdict.
pub fn sentence(subject: &Subject<'_>) -> String {
    let diagnosis = subject.diagnosis;
    let figures = &diagnosis.figures;
    let share = diagnosis.limited_fraction.get(&diagnosis.limited_by).copied().unwrap_or(1.0);
    let measured = || subject.measured();
    let because = match diagnosis.limited_by {
        LimitedBy::Path => path(subject),
        LimitedBy::Rwnd => windowed(figures, &measured().text),
        LimitedBy::Sndbuf => sndbuf(figures, &measured()),
        LimitedBy::Cwnd => cwnd(subject, &measured()),
        LimitedBy::Pacing => pacing(subject),
        LimitedBy::App => app(subject),
        LimitedBy::Receiver => receiver(subject),
        LimitedBy::Cpu => cpu(figures, subject.goodput_bps),
        LimitedBy::Testbed => testbed(figures, subject.goodput_bps),
        LimitedBy::Unknown => {
            format!("{}; {} were measured", not_told(subject), rate(subject.goodput_bps))
        }
    };
    if diagnosis.limited_by == LimitedBy::Unknown {
        return format!(
            "What limits it can't be told: {because}.{}{}",
            others(diagnosis),
            latency(subject.latency)
        );
    }
    let others = others(diagnosis);
    let faults = match &diagnosis.faults[..] {
        [] => String::new(),
        faults => format!(" The testbed: {}.", faults.join("; ")),
    };
    let latency = latency(subject.latency);
    format!(
        "Limited by {} {} of the time: {because}.{others}{latency}{faults}",
        name(diagnosis),
        percent(share)
    )
}

/// The cause in words.
pub fn name(diagnosis: &Diagnosis) -> &'static str {
    named(diagnosis.limited_by, diagnosis.cwnd_cause)
}

/// The same of a limit and, where that is the congestion window, of why it is no larger.
pub(crate) const fn named(limited_by: LimitedBy, cwnd_cause: Option<CwndCause>) -> &'static str {
    match (limited_by, cwnd_cause) {
        (LimitedBy::App, _) => "the application",
        (LimitedBy::Sndbuf, _) => "the send buffer",
        (LimitedBy::Rwnd, _) => "the receive window",
        (LimitedBy::Cwnd, Some(CwndCause::Startup)) => "the congestion window (slow start)",
        (LimitedBy::Cwnd, Some(CwndCause::HystartExit)) => "the congestion window (slow start ended early)",
        (LimitedBy::Cwnd, Some(CwndCause::RandomLoss)) => "the congestion window (random loss)",
        (LimitedBy::Cwnd, Some(CwndCause::QueueLoss)) => "the congestion window (drops of the queue)",
        (LimitedBy::Cwnd, Some(CwndCause::Policer)) => "the congestion window (drops of a policer)",
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

impl Subject<'_> {
    /// What was measured: the arithmetic is about the time in which the cause held, and the goodput about all of it.
    fn measured(&self) -> Measured {
        let shares = &self.diagnosis.limited_fraction;
        let share = shares.get(&self.diagnosis.limited_by).copied().unwrap_or(1.0);
        match self.diagnosis.figures.acked_bps.filter(|_| share < NEARLY_ALL) {
            Some(bps) => {
                let text =
                    format!("{} were measured in that time, {} in all", rate(bps), rate(self.goodput_bps));
                Measured { bps, text }
            }
            None => {
                Measured { bps: self.goodput_bps, text: format!("{} were measured", rate(self.goodput_bps)) }
            }
        }
    }

    /// Whether TCP data goes the other way too: its ACKs go this way.
    fn shares_with_acks(&self) -> bool {
        let back = self.flow.direction.opposite();
        self.spec.flows.iter().any(|flow| flow.direction == back && flow.protocol == Protocol::Tcp)
    }

    /// Whether nearly all that passes in its direction is this flow's.
    fn is_alone(&self) -> bool {
        let figures = &self.diagnosis.figures;
        let all = figures.path_goodput_bps.zip(figures.utilisation).map(|(path, share)| path as f64 * share);
        all.is_none_or(|all| self.goodput_bps as f64 >= NEARLY_ALONE * all)
    }
}

/// Why the limit can't be known, and what would tell.
fn not_told(subject: &Subject<'_>) -> &'static str {
    if subject.flow.protocol == Protocol::Udp && subject.is_observed {
        return match subject.flow.bitrate {
            Some(_) => {
                "the sender sent less than was asked for, and all of it arrived: its CPU or its own interface is the limit"
            }
            None => {
                "the sender sent as fast as it could, and all of it arrived: its CPU or its own interface is the limit"
            }
        };
    }
    // No congestion window was seen: it is a receiver's socket.
    if subject.flow.protocol == Protocol::Tcp && subject.diagnosis.figures.cwnd_bytes.is_none() {
        "the receiving socket does not tell: its window is not used up, and no queue stands in its round trip. Whether the \
         sender's application, buffer, pacing or congestion window holds it back, its own socket would tell (pipefill watch there)"
    } else {
        "what was recorded does not tell"
    }
}

fn path(subject: &Subject<'_>) -> String {
    let (figures, goodput_bps) = (&subject.diagnosis.figures, subject.goodput_bps);
    let way = subject.spec.path.way(subject.flow.direction);
    let measured = rate(goodput_bps);
    if subject.flow.protocol == Protocol::Udp {
        let lost = percent(figures.loss_share.unwrap_or(0.0));
        let or_there = if subject.is_observed { ", or by a receiver that is too slow" } else { "" };
        return format!("{lost} were lost on the way{or_there}, {measured} arrived");
    }
    let (Some(possible), Some(bottleneck)) = (figures.path_goodput_bps, &way.bottleneck) else {
        if figures.cwnd_bytes.is_none() {
            return format!("{measured} were measured");
        }
        return format!(
            "its queue overflows, and is not empty in between: the pipe is full; {measured} were measured by this flow"
        );
    };
    let asked = rate(bottleneck.rate.bps());
    let full = figures.utilisation.map_or_else(String::new, |share| match subject.is_alone() {
        true if goodput_bps as f64 > ABOVE * possible as f64 => {
            format!(": the pipe is {} full{EARLIER}", percent(share))
        }
        true if share < FULL && subject.shares_with_acks() => {
            format!(
                ": the pipe is {} full of data, and ACKs of what goes the other way take the rest",
                percent(share)
            )
        }
        // What others send is not seen.
        true if share < FULL && subject.is_observed => {
            format!(": this flow fills {} of the pipe", percent(share))
        }
        true => format!(": the pipe is {} full", percent(share)),
        false => {
            format!(" by this flow: with the others of its direction the pipe is {} full", percent(share))
        }
    });
    format!("{asked} leave {} of payload, {measured} were measured{full}", rate(possible))
}

fn windowed(figures: &Figures, measured: &str) -> String {
    let (Some(window), Some(rtt)) = (figures.rwnd_bytes, figures.rtt_mean_us) else {
        return format!("the advertised window was used up; {measured}");
    };
    let allows = window_product(window, figures).filter(|&bps| is_within(figures.acked_bps, bps));
    match allows {
        Some(bps) => {
            let (window, rtt) = (bytes(window), duration(rtt));
            format!("the advertised window, {window} / {rtt} allows {}, {measured}", rate(bps))
        }
        None => format!("the advertised window of {} was used up; {measured}", bytes(window)),
    }
}

/// Whether what was measured is no more than a bound allows.
fn is_within(measured_bps: Option<u64>, bound_bps: u64) -> bool {
    measured_bps.is_none_or(|measured| measured as f64 <= ABOVE * bound_bps as f64)
}

/// The buffer counts memory, not payload, and its writer is woken when a third of it is free (`sk_stream_min_wspace()`). With GSO
/// a write may go in whole whatever the size, since memory is looked at before a new packet only (`tcp_sendmsg_locked()`).
fn sndbuf(figures: &Figures, measured: &Measured) -> String {
    let flows = in_flight(figures, measured);
    let Some(limit) = figures.sndbuf_bytes else {
        return format!("{flows}, all that a send buffer holds, whose writer wakes when a third is free");
    };
    let size = bytes(limit);
    let is_overfilled = |used: Option<u64>| used.is_some_and(|used| used > limit);
    if is_overfilled(figures.flight_mean_bytes) || is_overfilled(figures.wmem_queued_bytes) {
        return format!(
            "{flows}; the send buffer is {size} of memory, which writes overfill and then wait until a third is free"
        );
    }
    format!(
        "{flows}, all that a send buffer of {size} of memory holds, whose writer wakes when a third is free"
    )
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

/// More than is offered comes out where a backlog from before is worked off.
fn app(subject: &Subject<'_>) -> String {
    let said = asked("the application offers", offered(subject), subject.goodput_bps);
    let is_above = offered(subject).is_some_and(|bps| subject.goodput_bps as f64 > 1.005 * bps as f64);
    if is_above { format!("{said}; the difference was written before the measured time") } else { said }
}

fn cpu(figures: &Figures, goodput_bps: u64) -> String {
    let measured = rate(goodput_bps);
    let shares = figures.cpu_share.zip(figures.cpu_wait_share);
    match shares {
        Some((computed, waited)) if waited >= 0.05 => format!(
            "its busiest thread computed {} of that time and waited {} for a CPU that others used; {measured} were measured",
            percent(computed),
            percent(waited)
        ),
        Some((computed, _)) => {
            format!(
                "its busiest thread computed {} of that time; {measured} were measured",
                percent(computed)
            )
        }
        None => format!("an endpoint's thread was CPU-bound at {measured}"),
    }
}

fn receiver(subject: &Subject<'_>) -> String {
    let asked_bps = subject.flow.read_rate.map(|rate| rate.bps() * u64::from(subject.flow.parallel));
    match asked_bps {
        Some(bps) => asked("the receiving application reads", Some(bps), subject.goodput_bps),
        // Of datagrams its socket drops what is not read in time.
        None if subject.flow.protocol == Protocol::Udp => {
            let lost = percent(subject.diagnosis.figures.loss_share.unwrap_or(0.0));
            format!("its socket's buffer was full; {lost} were lost, {} arrived", rate(subject.goodput_bps))
        }
        None => format!("it left its receive buffer full; {} were measured", rate(subject.goodput_bps)),
    }
}

fn pacing(subject: &Subject<'_>) -> String {
    let figures = &subject.diagnosis.figures;
    let limit = subject.flow.max_pacing_rate.map(|rate| rate.bps() * u64::from(subject.flow.parallel));
    match (limit, figures.pacing_rate_bps) {
        (Some(bps), _) => asked("the pacing rate", Some(bps), subject.goodput_bps),
        (None, Some(bps)) if is_within(Some(subject.goodput_bps), bps) => {
            format!("the sender paced at {}, {} were measured", rate(bps), rate(subject.goodput_bps))
        }
        _ => format!("{} were measured, and no window was used up", rate(subject.goodput_bps)),
    }
}

fn cwnd(subject: &Subject<'_>, measured: &Measured) -> String {
    let figures = &subject.diagnosis.figures;
    let measured = in_flight(figures, measured);
    let lost = percent(figures.loss_share.unwrap_or(0.0));
    match subject.diagnosis.cwnd_cause {
        // A queue that overflows drops many segments at once, which is one event; theory counts events, and they come as they like.
        Some(CwndCause::QueueLoss) => format!("{measured}; {lost} of the segments were sent again"),
        Some(CwndCause::RandomLoss) => {
            let theory = response(subject)
                .map_or_else(String::new, |bps| format!(", for which theory gives {}", rate(bps)));
            let by_chance = figures
                .random_loss_share
                .map_or_else(String::new, |share| format!("; {} were lost by chance", percent(share)));
            format!("{measured}; {lost} of the segments were sent again{by_chance}{theory}")
        }
        Some(CwndCause::Policer) => {
            format!("{measured}; {lost} of the segments were sent again{}", policer(subject))
        }
        Some(CwndCause::Reordering) => {
            let again = match figures.spurious_share.filter(|&share| share > 0.0) {
                Some(share) => format!(
                    "{lost} of the segments were sent again, {} of these without need",
                    percent(share)
                ),
                None => format!("{lost} of the segments were sent again"),
            };
            format!("{measured}; {again}: they came in another order, and were taken for lost")
        }
        Some(CwndCause::AckPath) => format!("{measured}; {}", ack_path(figures)),
        Some(CwndCause::Startup) => format!("{measured}; the transfer ended before slow start did"),
        Some(CwndCause::HystartExit) => {
            format!(
                "{measured}; slow start ended below the BDP, and growth from there takes many round trips"
            )
        }
        Some(CwndCause::Growth) => {
            format!("{measured}; the last loss is long ago, and the window has not recovered yet")
        }
        None => format!("{measured}; nothing that was recorded tells why it was no larger"),
    }
}

fn policer(subject: &Subject<'_>) -> String {
    let way = subject.spec.path.way(subject.flow.direction);
    way.bottleneck.as_ref().map_or_else(String::new, |one| {
        format!(
            ": the path lets bursts of {} through and drops what exceeds {}, for there is hardly a queue",
            bytes(one.burst.get()),
            rate(one.rate.bps())
        )
    })
}

fn ack_path(figures: &Figures) -> String {
    match (figures.ack_loss_share, figures.ack_wait_us, figures.rtt_mean_us) {
        (Some(share), ..) if share >= 0.1 => {
            format!("{} of the packets of the way back, ACKs among them, were lost", percent(share))
        }
        (_, Some(wait), Some(rtt)) if wait > 0 => {
            format!(
                "ACKs waited {} of a round trip of {} in the queue of the way back",
                duration(wait),
                duration(rtt.max(wait))
            )
        }
        _ => "ACKs were lost or late".to_owned(),
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

/// What a queue that is never empty for long costs.
fn latency(latency: &Latency) -> String {
    let Some(Bufferbloat { direction, standing_bytes, standing_bdp, added_us }) = latency.bufferbloat else {
        return String::new();
    };
    let way = match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    let holds = match (standing_bytes, standing_bdp) {
        (Some(size), Some(bdp)) => format!(" holds {} ({bdp:.1} BDP) and", bytes(size)),
        (Some(size), None) => format!(" holds {} and", bytes(size)),
        _ => String::new(),
    };
    let times = latency.idle_rtt_us.zip(latency.loaded_rtt_us_p50);
    let from_to = times.map_or_else(String::new, |(idle, loaded)| {
        format!(": {} without load, {} in the median under it", duration(idle), duration(loaded))
    });
    let worst = latency
        .loaded_rtt_us_p95
        .map_or_else(String::new, |us| format!(", {} at the 95th percentile", duration(us)));
    format!(
        " Bufferbloat: the queue ({way}){holds} adds {} to the round trip{from_to}{worst}.",
        duration(added_us)
    )
}
