//! The sentence on a judged flow: what limited it, for how long, and the arithmetic that shows it.
//!
//! A figure above its own bound is explained or left out.

use super::datagrams;
use super::waits::{Waited, rest_by_cause, waited, while_active};
use super::{ALSO, UNKNOWN, faults, limit_name, limited, the_rest};
use crate::quantity::{QuantityKind, bytes, counted, duration, percent, rate, whole_ms};
use pipefill_analysis::findings::finding::{Bufferbloat, Latency};
use pipefill_analysis::findings::metrics::AqmMetrics;
use pipefill_analysis::findings::verdict::{
    JudgedFlow, MOSTLY_STANDS_STILL, STANDS_STILL, agree, flight_product, window_product,
};
use pipefill_analysis::infer::{KnownWay, Policer, SharedBottleneck};
use pipefill_analysis::judge::{Diagnosis, FULL, Figures, QuotaFigures, UnlimitedStart};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::flow_event::FlowEventKind;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::StreamEnd;

/// Where the cause held for less of the time than this, what was measured meanwhile is said beside what was measured in all.
const NEARLY_ALL: f64 = 0.95;
/// Measured may be so much above a bound, by rounding and by the ends of epochs; more needs a reason, or the bound is not told.
const ABOVE: f64 = 1.01;
/// A response function is about a long transfer in a steady state: of one that was faster by more than this it tells nothing.
const ABOVE_THEORY: f64 = 1.25;
/// More than the application offers is told with its reason from here on.
const ABOVE_OFFER: f64 = 1.005;
/// Where a path has no rate, the host's own is the limit from this part of it on.
const NEARLY_ALL_OF_HOST: f64 = 0.9;
/// A thread's wait for a CPU is told from this share of the time on.
const WAITED: f64 = 0.05;
/// Why more than the path's rate was read.
const EARLIER: &str = "; the excess arrived before the measured time and was held behind a lost segment or in the token \
                       bucket";

/// What was measured while the cause held, and in words.
struct Measured {
    bps: u64,
    text: String,
    /// Of a part of the transfer: something was in flight when it began.
    is_of_a_part: bool,
}

/// The verdict on a flow.
pub fn verdict_sentence(judged: &JudgedFlow) -> String {
    let diagnosis = &judged.diagnosis;
    let figures = &diagnosis.figures;
    let (measured, waited) = (measured(judged), waited(diagnosis));
    let because = match diagnosis.limited_by {
        _ if let Some(Waited { because, .. }) = &waited => {
            format!("{because}; {} were measured", rate(judged.goodput_bps))
        }
        _ if let Some(figures) = &figures.datagrams => datagrams::because(judged, figures),
        LimitedBy::App if diagnosis.cause == Some(Cause::Window) => application_window(figures, &measured),
        limit @ (LimitedBy::App | LimitedBy::Pacing | LimitedBy::Sndbuf) if is_from_afar(judged) => {
            format!("{}, {}", what_arrives(limit), measured.text)
        }
        LimitedBy::Path => path(judged),
        LimitedBy::Rwnd => windowed(diagnosis, &measured) + owner_of_window(judged),
        LimitedBy::Sndbuf => sndbuf(figures, &measured),
        LimitedBy::Cwnd => cwnd(judged, &measured),
        LimitedBy::Pacing => pacing(judged),
        LimitedBy::App => app(judged),
        LimitedBy::Receiver => receiver(judged),
        LimitedBy::Cpu => cpu(judged),
        LimitedBy::Testbed => testbed(figures, judged.goodput_bps),
        LimitedBy::Unknown => {
            format!("{} were measured; {}", rate(judged.goodput_bps), not_shown(judged))
        }
    };
    let name = limit_name(diagnosis.limited_by, diagnosis.cause);
    let limit = match diagnosis.limited_by {
        LimitedBy::Unknown => format!("{}: {because}.", UNKNOWN.trim_end_matches('.')),
        _ => match &waited {
            Some(waited) if is_one_of_several(diagnosis, waited.share) => {
                let holder = limit_name(diagnosis.limited_by, None);
                let cause = name[holder.len()..].trim_matches([' ', '(', ')']);
                let [all, its] = [diagnosis.share(), waited.share].map(percent);
                format!("Limited by {holder} {all} of the time ({cause} {its}): {because}.")
            }
            Some(waited) => limited(name, Some(waited.share), &because),
            None => limited(name, Some(diagnosis.share()), &because),
        },
    };
    let others = if waited.is_some() { rest_by_cause(diagnosis) } else { rest(diagnosis) };
    let faults: Vec<String> = diagnosis.faults.iter().map(faults::in_words).collect();
    let testbed = if faults.is_empty() || diagnosis.limited_by == LimitedBy::Unknown {
        String::new()
    } else {
        format!(" The testbed: {}.", faults.join("; "))
    };
    let shared = judged.shared().map_or_else(String::new, of_others);
    let unlimited = unlimited(figures);
    limit
        + &others
        + &while_active(diagnosis, limit_name)
        + &unlimited
        + &latency(&judged.latency)
        + &judged.aqm.as_ref().map_or_else(String::new, aqm)
        + &testbed
        + &shared
}

/// Whether another holder has more of the time than this cause, and less than all causes of its holder.
fn is_one_of_several(diagnosis: &Diagnosis, share: f64) -> bool {
    diagnosis.time.iter().any(|held| held.limited_by != diagnosis.limited_by && held.share > share)
}

/// That a token bucket kept the path's rate from holding.
fn unlimited(figures: &Figures) -> String {
    let told = figures.unlimited.zip(figures.path_rate_bps);
    told.map_or_else(String::new, |(UnlimitedStart { bucket_bytes, lasted_us }, limit)| {
        format!(
            " The token bucket ({}) let any rate pass for the first {}; the limit of {} held only after that.",
            bytes(bucket_bytes),
            duration(lasted_us),
            rate(limit)
        )
    })
}

/// Whether only what arrives at the receiver was seen, of a connection that no scenario describes.
fn is_from_afar(judged: &JudgedFlow) -> bool {
    let figures = &judged.diagnosis.figures;
    judged.is_observed() && judged.flow.protocol == Protocol::Tcp && !figures.are_of_the_sender()
}

/// What the receiver's end shows of a sender that `limit` holds back.
const fn what_arrives(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Pacing => "data came evenly, at the same rate, without a queue and without losses",
        LimitedBy::Sndbuf => {
            "data came in bursts a round trip apart, at the same rate, without a queue and without losses, as from a buffer that is \
             emptied and filled again; a window of the sender's would have grown"
        }
        _ => "segments with PSH show that all that was written was sent",
    }
}

/// What was measured: the arithmetic is about the time in which the cause held, and the goodput about all of it.
fn measured(judged: &JudgedFlow) -> Measured {
    let in_all = rate(judged.goodput_bps);
    let share = judged.diagnosis.share();
    // What was acknowledged in that time is a part of what was in all.
    let is_a_part =
        |bps: &u64| share < NEARLY_ALL && *bps as f64 * share <= ABOVE * judged.goodput_bps as f64;
    match judged.diagnosis.figures.acked_bps.filter(is_a_part) {
        Some(bps) => {
            let text = format!("{} were measured in that time, {in_all} in all", rate(bps));
            Measured { bps, text, is_of_a_part: true }
        }
        None => {
            Measured { bps: judged.goodput_bps, text: format!("{in_all} were measured"), is_of_a_part: false }
        }
    }
}

/// Why the limit can't be known, and what would show it.
fn not_shown(judged: &JudgedFlow) -> &'static str {
    let (flow, figures) = (&judged.flow, &judged.diagnosis.figures);
    match flow.protocol {
        Protocol::Udp if judged.is_observed() && flow.bitrate.is_some() => {
            "the sender sent less than was asked for, and all of it arrived: its CPU or its own interface is the limit"
        }
        Protocol::Udp if judged.is_observed() => {
            "the sender sent as fast as it could, and all of it arrived: its CPU or its own interface is the limit"
        }
        Protocol::Tcp if !figures.are_of_the_sender() => {
            "the receiving end cannot show the limit: its window has room and its round trip shows no queue. Run `pipefill watch` on \
             the sender to see whether its application, send buffer, pacing or congestion window is the limit"
        }
        _ => "the recorded data do not show the limit",
    }
}

fn path(judged: &JudgedFlow) -> String {
    let (figures, goodput_bps) = (&judged.diagnosis.figures, judged.goodput_bps);
    let measured = rate(goodput_bps);
    if judged.flow.protocol == Protocol::Udp {
        let lost = percent(figures.loss_share.unwrap_or(0.0));
        let or_there = if judged.is_observed() { ", or by a receiver that is too slow" } else { "" };
        return format!("{lost} were lost on the way{or_there}, {measured} arrived");
    }
    let (Some(possible), Some(asked)) = (figures.path_goodput_bps, figures.path_rate_bps) else {
        if let Some(line) = figures.path_rate_bps {
            return format!("its packets with their frames fill {}; {measured} were measured", rate(line));
        }
        if !figures.are_of_the_sender() {
            return format!("{measured} were measured");
        }
        return format!(
            "its queue overflows and is not empty in between, so it is full; {measured} were measured by this flow"
        );
    };
    let full = figures.utilisation.map_or_else(String::new, |share| match judged.is_alone() {
        // What was sent and is not acknowledged waits in front of it.
        true if goodput_bps as f64 > ABOVE * possible as f64 && judged.is_observed() => {
            ", so it is full, and the rest waits in its queue".to_owned()
        }
        true if goodput_bps as f64 > ABOVE * possible as f64 => {
            let why = if figures.unlimited.is_some() { "" } else { EARLIER };
            format!(", so it is {}{why}", filled(share))
        }
        true if share < FULL && shares_with_acks(judged) => {
            format!(", so it is {} of data; ACKs of the other direction take the rest", filled(share))
        }
        true if goodput_bps >= possible && judged.is_observed() => ", so this flow fills it".to_owned(),
        // What others send is not seen: the two rates before it give the part.
        true if judged.is_observed() => {
            let part = goodput_bps as f64 / possible as f64;
            if share < FULL {
                format!(", so this flow fills {} of it", percent(part))
            } else {
                format!(", so it is {}", filled(part))
            }
        }
        true => format!(", so it is {}", filled(share)),
        false => {
            format!(" by this flow; with the others of its direction it is {}", filled(share))
        }
    });
    format!(
        "it carries at most {} of payload ({} with headers); {measured} were measured{full}",
        rate(possible),
        rate(asked)
    )
}

/// How full a path is: `full`, `89 % full`.
fn filled(share: f64) -> String {
    let part = percent(share);
    if part == "100 %" { "full".to_owned() } else { format!("{part} full") }
}

/// Whether TCP data goes the other way too: its ACKs go this way.
fn shares_with_acks(judged: &JudgedFlow) -> bool {
    let back = judged.flow.direction.opposite();
    judged.flows.iter().any(|flow| flow.direction == back && flow.protocol == Protocol::Tcp)
}

/// What was acknowledged in a part of the transfer may be more than the product by what was in flight when the part began.
fn windowed(diagnosis: &Diagnosis, measured: &Measured) -> String {
    let (figures, measured_text) = (&diagnosis.figures, &measured.text);
    let (Some(window), Some(rtt)) = (figures.rwnd_bytes, figures.rtt_mean_us) else {
        return format!("the advertised window was used up; {measured_text}");
    };
    let product = window_product(window, figures);
    let in_flight_before = window
        .saturating_mul(8_000_000)
        .checked_div(diagnosis.held_us())
        .filter(|_| measured.is_of_a_part)
        .unwrap_or_default();
    let allows = |bps: u64| {
        format!(
            "an advertised window of {} per {} round trip allows {}; {measured_text}",
            bytes(window),
            duration(rtt),
            rate(bps)
        )
    };
    match product {
        Some(bps) if is_within(figures.acked_bps, bps) => allows(bps),
        Some(bps) if is_within(figures.acked_bps, bps.saturating_add(in_flight_before)) => {
            format!("{}; up to {} of it were in flight before", allows(bps), bytes(window))
        }
        _ => format!("the advertised window of {} was used up; {measured_text}", bytes(window)),
    }
}

/// Where packets, which have no congestion window, do not show it.
fn owner_of_window(judged: &JudgedFlow) -> &'static str {
    let diagnosis = &judged.diagnosis;
    if judged.is_observed() && diagnosis.figures.cwnd_bytes.is_none() && diagnosis.cause.is_none() {
        "; a program that set its receive buffer and the maximum of tcp_rmem look the same here"
    } else {
        ""
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
        return format!("{flows}; that fills the send buffer, whose writer wakes when a third is free");
    };
    let size = bytes(limit);
    let is_overfilled = |used: Option<u64>| used.is_some_and(|used| used > limit);
    if is_overfilled(figures.flight_mean_bytes) || is_overfilled(figures.wmem_queued_bytes) {
        return format!(
            "{flows}; the send buffer is {size} (kernel memory): a write may overshoot it, then blocks until a third is free"
        );
    }
    format!(
        "{flows}; that fills a send buffer of {size} (kernel memory), whose writer wakes when a third is free"
    )
}

fn testbed(figures: &Figures, goodput_bps: u64) -> String {
    match figures
        .path_goodput_bps
        .filter(|&possible| goodput_bps as f64 >= NEARLY_ALL_OF_HOST * possible as f64)
    {
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
fn app(judged: &JudgedFlow) -> String {
    let offered_bps = judged.of_all_streams(judged.flow.bitrate);
    let said = asked("the application offers", offered_bps, judged.goodput_bps);
    let is_above = offered_bps.is_some_and(|bps| judged.goodput_bps as f64 > ABOVE_OFFER * bps as f64);
    if is_above { format!("{said}; the difference was written before the measured time") } else { said }
}

/// What goes out in a round trip, and what TCP's own windows have room for.
fn application_window(figures: &Figures, measured: &Measured) -> String {
    let Some(rtt_us) = figures.rtt_mean_us.or(figures.base_rtt_us).filter(|&us| us > 0) else {
        return measured.text.clone();
    };
    let each = measured.bps as f64 * rtt_us as f64 / 8e6;
    let known = figures.flight_bytes.and_then(known_window).unwrap_or_default();
    let allowed = figures.rwnd_bytes.into_iter().chain(figures.cwnd_bytes).min();
    let allows = allowed.map_or_else(String::new, |window| format!("; TCP would allow {}", bytes(window)));
    format!(
        "{} each {} = {}{known}{allows}; {}",
        QuantityKind::Bytes.alone(each),
        duration(rtt_us),
        rate(measured.bps),
        measured.text
    )
}

/// Windows of applications by their size: `CHAN_SES_WINDOW_DEFAULT` of OpenSSH, and the initial window of HTTP/2 (RFC 9113, 6.9.2). What is out at
/// most is the window and its framing, of which samples may miss a part.
fn known_window(most_out: u64) -> Option<String> {
    let known = [(2 << 20, "an OpenSSH channel window"), (65_535, "an HTTP/2 window")];
    let is_its = |&(size, _): &(u64, _)| (size - size / 20..=size + size / 10).contains(&most_out);
    let (_, name) = known.into_iter().find(is_its)?;
    Some(format!("; at most {} are out, the size of {name}", bytes(most_out)))
}

fn cpu(judged: &JudgedFlow) -> String {
    let figures = &judged.diagnosis.figures;
    let measured = rate(judged.goodput_bps);
    if let Some(quota) = figures.quota.filter(|_| judged.diagnosis.cause == Some(Cause::Quota)) {
        return of_quota(judged, quota);
    }
    let shares = figures.cpu_share.zip(figures.cpu_wait_share);
    match shares {
        Some((computed, waited)) if waited >= WAITED => format!(
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
        None if judged.is_observed() => {
            format!(
                "the sender wrote as fast as it could, and no window was used up; {measured} were measured"
            )
        }
        None => format!("an endpoint's thread was CPU-bound at {measured}"),
    }
}

/// The quota, and how much of the time its cgroup was not allowed to run; several CPUs together may be held longer than the time was.
fn of_quota(judged: &JudgedFlow, figures: QuotaFigures) -> String {
    let (whose, quota) = match figures.end {
        StreamEnd::Sender => ("sending", &judged.sender_quota),
        StreamEnd::Receiver => ("receiving", &judged.receiver_quota),
    };
    let allowed = quota.as_ref().map_or_else(String::new, |quota| {
        format!(" ({} of each {})", whole_ms(quota.quota_us), whole_ms(quota.period_us))
    });
    format!(
        "the CPU quota of the {whose} process{allowed} ran out in {} of its periods, and its threads were not allowed to run {} of the time; {} were \
         measured",
        percent(figures.periods_share),
        percent(figures.held_share.min(1.0)),
        rate(judged.goodput_bps)
    )
}

fn receiver(judged: &JudgedFlow) -> String {
    match judged.of_all_streams(judged.flow.read_rate) {
        Some(bps) => asked("the receiving application reads", Some(bps), judged.goodput_bps),
        // Of datagrams its socket drops what is not read in time.
        None if judged.flow.protocol == Protocol::Udp => {
            let lost = percent(judged.diagnosis.figures.loss_share.unwrap_or(0.0));
            format!("its socket's buffer was full; {lost} were lost, {} arrived", rate(judged.goodput_bps))
        }
        None => format!("it did not drain its receive buffer; {} were measured", rate(judged.goodput_bps)),
    }
}

fn pacing(judged: &JudgedFlow) -> String {
    let figures = &judged.diagnosis.figures;
    match (judged.of_all_streams(judged.flow.max_pacing_rate), figures.pacing_rate_bps) {
        (Some(bps), _) => asked("the pacing rate", Some(bps), judged.goodput_bps),
        (None, Some(bps)) if is_within(Some(judged.goodput_bps), bps) => {
            format!("the sender paced at {}, {} were measured", rate(bps), rate(judged.goodput_bps))
        }
        _ => format!("{} were measured, and no window was used up", rate(judged.goodput_bps)),
    }
}

/// What was in flight, and what that gives a round trip where Little's law holds: of what was acknowledged, and of what is told as measured.
fn in_flight(figures: &Figures, measured: &Measured) -> String {
    let (Some(flight), Some(rtt)) = (figures.flight_mean_bytes, figures.rtt_mean_us) else {
        return measured.text.clone();
    };
    let (measured_bps, measured) = (measured.bps, &measured.text);
    let still = figures.stalled_share.unwrap_or(0.0);
    let (flight, rtt) = (bytes(flight), duration(rtt));
    if still >= MOSTLY_STANDS_STILL {
        return format!(
            "for {} of the time nothing came back for longer than a round trip, and the sender waited for a timer; in the rest {flight} \
             were in flight on average; {measured}",
            percent(still)
        );
    }
    match flight_product(figures).filter(|&bps| agree(bps, measured_bps)) {
        Some(bps) if still >= STANDS_STILL => format!(
            "{flight} were in flight on average; {flight} / {rtt}, less the {} of the time in which nothing came back for longer than a \
             round trip, gives {}, {measured}",
            percent(still),
            rate(bps)
        ),
        Some(bps) => {
            format!("{flight} were in flight on average; {flight} / {rtt} gives {}, {measured}", rate(bps))
        }
        None => format!("{flight} were in flight on average, with a round trip of {rtt}; {measured}"),
    }
}

fn cwnd(judged: &JudgedFlow, measured: &Measured) -> String {
    let figures = &judged.diagnosis.figures;
    let (measured_bps, measured) = (measured.bps, in_flight(figures, measured));
    // The receiver's end does not count what was sent.
    let again = figures.loss_share.map(|share| format!("{} of the segments were sent again", percent(share)));
    let behind = |joint: &str| again.as_ref().map_or_else(String::new, |again| format!("{joint}{again}"));
    match judged.diagnosis.cause {
        // A queue that overflows drops many segments at once, which is one event; theory counts events, and they come as they like.
        Some(Cause::QueueLoss) => format!("{measured}{}", behind("; ")),
        Some(Cause::RandomLoss) => {
            let theory = judged
                .response_bps()
                .filter(|&bps| measured_bps as f64 <= ABOVE_THEORY * bps as f64)
                .map_or_else(String::new, |bps| format!(", for which theory gives {}", rate(bps)));
            let by_chance = figures
                .random_loss_share
                .map_or_else(String::new, |share| format!("; {} were lost by chance", percent(share)));
            format!("{measured}{}{by_chance}{theory}", behind("; "))
        }
        Some(Cause::Policer) => format!("{measured}{}{}", behind("; "), policer(judged)),
        Some(Cause::Reordering) => {
            let again = again.as_deref().unwrap_or("segments were sent again");
            let needless = figures
                .spurious_share
                .filter(|&share| share > 0.0)
                .map_or_else(String::new, |share| format!(", {} of these without need", percent(share)));
            format!("{measured}; {again}{needless}: they came in another order, and were taken for lost")
        }
        Some(Cause::AckPath) => format!("{measured}; {}", ack_path(figures)),
        Some(Cause::Startup) => format!("{measured}; the transfer ended before slow start did"),
        Some(Cause::HystartExit) => {
            format!(
                "{measured}; slow start ended below the BDP, and growth from there takes many round trips"
            )
        }
        Some(Cause::Growth) => {
            format!("{measured}; the last loss is long ago, and the window has not recovered yet")
        }
        Some(Cause::Timeout) => {
            let awaited = judged.diagnosis.time.iter().filter(|held| held.cause == Some(Cause::Timeout));
            let us: u64 = awaited.map(|held| held.us).sum();
            let ran_out = judged.diagnosis.events.iter().filter(|event| event.kind == FlowEventKind::Timeout);
            let count: u64 = ran_out.map(|event| event.count).sum();
            let times =
                if count > 0 { format!(" ({})", counted(count, "timeout(s)")) } else { String::new() };
            format!(
                "{measured}; for {} nothing came back until the retransmission timer ran out{times}{}",
                duration(us),
                behind(", and ")
            )
        }
        Some(Cause::Ecn) => {
            let acks = counted(figures.ce_segments.unwrap_or(0), "ACK(s)");
            format!("{measured}; {acks} with CE marks cut it{}", behind(", and "))
        }
        Some(Cause::IdleRestart) => {
            let before = figures
                .cwnd_before_idle_bytes
                .map_or_else(String::new, |cwnd| format!(", although it was {} before", bytes(cwnd)));
            format!("{measured}; after each idle time it starts again with slow start{before}")
        }
        _ => format!("{measured}; the recorded data do not show why it was no larger"),
    }
}

fn policer(judged: &JudgedFlow) -> String {
    let KnownWay { rate: limit, burst, policer, .. } = *judged.way();
    let bucket = limit.zip(burst).map(|(limit, burst)| (limit.value, limit.value, burst.value));
    let policer = policer.map(|Policer { rate, most, burst }| (rate, most, burst));
    policer.or(bucket).map_or_else(String::new, |(least, most, burst)| {
        let [least, most] = [least, most].map(|limit| rate(limit.bps()));
        let limit = if least == most { least } else { format!("a rate between {least} and {most}") };
        format!(
            ": the path lets bursts of {} through and drops what exceeds {limit}, for there is hardly a queue",
            bytes(burst.get())
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
fn rest(diagnosis: &Diagnosis) -> String {
    let others = diagnosis.limited_fraction.iter();
    let others = others.filter(|&(&limit, &share)| limit != diagnosis.limited_by && share >= ALSO);
    the_rest(others.map(|(limit, &share)| format!("{} {}", limit.as_str(), percent(share))))
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

/// What the discipline of the queue did.
fn aqm(aqm: &AqmMetrics) -> String {
    let mut done = Vec::new();
    let counts = [
        (aqm.dropped_packets, "dropped"),
        (aqm.marked_packets, "marked"),
        (aqm.overflow_packets, "dropped for want of room"),
    ];
    for (count, verb) in counts {
        done.extend(
            count.filter(|&count| count > 0).map(|count| format!("{verb} {}", counted(count, "packet(s)"))),
        );
    }
    let done = if done.is_empty() { "dropped and marked nothing".to_owned() } else { done.join(", ") };
    let target = aqm.target_us.map_or_else(String::new, |target| format!(" (target {})", duration(target)));
    let waited = aqm.sojourn_us_p50.zip(aqm.sojourn_us_p95).zip(aqm.sojourn_us_p99);
    let waited = waited.map_or_else(String::new, |((p50, p95), p99)| {
        let [p50, p95, p99] = [p50, p95, p99].map(duration);
        format!(
            "; packets waited {p50} in the median, {p95} at the 95th and {p99} at the 99th percentile{target}"
        )
    });
    format!(" The AQM {} {done}{waited}.", aqm.kind)
}

/// What the flow shows of others at its bottleneck.
fn of_others(shared: SharedBottleneck) -> String {
    let because = match shared.slow_bps {
        Some(bps) => format!("At times only {} got through although the round trip stayed up", rate(bps)),
        None => "The rate left to this flow is unknown".to_owned(),
    };
    let or_acks = if shared.may_be_acks { ", or ACKs wait on their way back" } else { "" };
    format!(" {because}: others share the bottleneck, or its rate changes{or_acks}.")
}
