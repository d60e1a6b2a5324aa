//! What two captures of one transfer say together, for a terminal: a table of both directions, what is lost, the clocks.

use crate::quantity::{self, QuantityKind};
use crate::sheet::SheetEntry;
use crate::table::{Style, lines};
use crate::verdicts::happened;
use pipefill_analysis::findings::connections::{
    BackwardTimes, ClockDifference, DelayBasis, JoinedCaptures, JoinedDirection, JoinedFlow, LostPacket,
    PlacedBy,
};

/// Losses that are listed; the JSON has more.
const LISTED: usize = 5;

/// Both directions of `flow` as two tables, of counts and of delays, each line indented by two columns.
pub(crate) fn tables(flow: &JoinedFlow, style: Style) -> String {
    let ways = [("forward", &flow.forward), ("reverse", &flow.reverse)];
    let drawn = |names: &[&'static str], row: fn(&JoinedDirection) -> Vec<Option<String>>| {
        let headings: Vec<(&str, bool)> = names.iter().map(|&name| (name, !name.is_empty())).collect();
        let named = |(name, way): (&str, &JoinedDirection)| {
            [Some(name.to_owned())].into_iter().chain(row(way)).map(SheetEntry::or_missing).collect()
        };
        lines(&headings, &ways.map(named), style, "  ")
    };
    let has_delays = ways.iter().any(|(_, way)| way.one_way_delay.is_some());
    drawn(&COUNTS, counts) + &if has_delays { drawn(&DELAYS, delays) } else { String::new() }
}

/// Sentences about `flow`: what was lost, how delays are known, what could not be matched.
pub(crate) fn sentences(flow: &JoinedFlow, captures: Option<&JoinedCaptures>) -> Vec<String> {
    let mut all = Vec::new();
    for (name, direction) in [("forward", &flow.forward), ("reverse", &flow.reverse)] {
        all.extend(losses(name, direction));
        all.extend(unmatched(name, direction));
    }
    all.extend(of_delays(flow, captures.is_some_and(is_clock_set)));
    if flow.placed_by == PlacedBy::Assumed {
        all.push(
            "The captures do not show which end is which: the first file is taken as the sender's."
                .to_owned(),
        );
    }
    if let Some((src, dst)) = flow.src_at_receiver.as_ref().zip(flow.dst_at_receiver.as_ref()) {
        all.push(format!(
            "A NAT is between: at the receiver it is {src} -> {dst}, with the same numbers in its handshake."
        ));
    }
    all
}

/// The sentences about both captures as a whole.
pub(crate) fn captures(found: &JoinedCaptures) -> Vec<String> {
    let mut all = vec![format!(
        "Joined: {} of the sender's end, {} of the receiver's.",
        found.sender_file, found.receiver_file
    )];
    if found.same_clock {
        all.push("Both were made by one clock, in the same run of pipefill: delays are absolute.".to_owned());
    }
    all.extend(found.clock.as_ref().map(clock));
    all.extend(found.offset_move.map(|moved| {
        format!(
            "The difference of both clocks moved by {} in the middle of the captures: one of them was set. Delays and jitter are left out.",
            time_of(moved.by_us.unsigned_abs())
        )
    }));
    for (name, times) in [
        (&found.sender_file, &found.backward_times_at_sender),
        (&found.receiver_file, &found.backward_times_at_receiver),
    ] {
        all.extend(times.iter().flat_map(backwards).map(|sentence| format!("{name}: {sentence}")));
    }
    let counts = [
        (found.only_at_sender, "connection(s) in the sender's capture alone"),
        (found.only_at_receiver, "connection(s) in the receiver's capture alone"),
        (found.left_out, "connection(s) not joined, of more than are kept"),
        (
            found.cut_at_sender,
            "packet(s) of the sender's capture without the headers that its snap length cut off",
        ),
        (
            found.cut_at_receiver,
            "packet(s) of the receiver's capture without the headers that its snap length cut off: some of what counts as lost may be these",
        ),
        (found.dropped_at_sender.unwrap_or(0), "packet(s) dropped while capturing at the sender"),
        (
            found.dropped_at_receiver.unwrap_or(0),
            "packet(s) dropped while capturing at the receiver: they count as lost",
        ),
    ];
    all.extend(happened(counts).iter().map(|text| format!("{text}.")));
    all
}

/// How often and how far times ran backwards. Packets out of order by less than a millisecond are usual.
pub(crate) fn backwards(times: &BackwardTimes) -> Vec<String> {
    let time = quantity::duration;
    let set = match (times.set_back, time(times.set_back_us), time(times.set_back_most_us)) {
        (0, ..) => None,
        (1, by, _) => Some(format!("The capture's clock was set back once, by at least {by}")),
        (times, by, most) => Some(format!(
            "The capture's clock was set back {times} times, by at least {by} in all and at most {most} at once"
        )),
    };
    let set = set.map(|set| {
        set + ". What needs the clock across that is left out: rates, times and round trips. A verdict is of the part between in which its flow \
               carried most."
    });
    let late = (times.late_most_us >= 1_000).then(|| {
        let (count, most) = (times.late_packets, time(times.late_most_us));
        format!("Packets written out of order: {count}, by at most {most}.")
    });
    set.into_iter().chain(late).collect()
}

/// Whether the difference of the clocks is not known because one of them was set.
fn is_clock_set(found: &JoinedCaptures) -> bool {
    let both = [found.backward_times_at_sender, found.backward_times_at_receiver];
    found.offset_move.is_some() || both.into_iter().flatten().any(|times| times.set_back > 0)
}

fn clock(clock: &ClockDifference) -> String {
    let ahead = if clock.offset_us < 0 { "behind" } else { "ahead of" };
    let drift = clock.drift_ppm.zip(clock.drift_error_ppm).map_or_else(String::new, |(drift, error)| {
        let way = if drift < 0.0 { "slower" } else { "faster" };
        format!(", and runs {:.1} ± {error:.1} ppm {way}", drift.abs())
    });
    format!(
        "The receiver's clock is {} ± {} {ahead} the sender's{drift}, if the least delays of both directions are the same; whatever they are, it \
         is no further off than {}.",
        exact(clock.offset_us.unsigned_abs()),
        time_of(clock.offset_error_us),
        time_of(clock.offset_bound_us),
    )
}

const COUNTS: [&str; 7] = ["", "data", "lost", "ACKs", "lost", "twice", "reordered"];
const DELAYS: [&str; 8] = ["", "delay", "wait 50 %", "95 %", "99 %", "IPDV 50 %", "95 %", "99 %"];

fn counts(way: &JoinedDirection) -> Vec<Option<String>> {
    let numbers = [
        way.data_segments,
        way.lost_data_segments,
        way.pure_acks,
        way.lost_pure_acks,
        way.duplicated,
        way.reordered,
    ];
    numbers.map(|number| Some(number.to_string())).to_vec()
}

fn delays(way: &JoinedDirection) -> Vec<Option<String>> {
    let delay = way.one_way_delay.as_ref();
    let values = [
        delay.map(|delay| delay.min_us),
        delay.map(|delay| delay.above_min_us_p50),
        delay.map(|delay| delay.above_min_us_p95),
        delay.map(|delay| delay.above_min_us_p99),
        delay.and_then(|delay| delay.ipdv_us_p50),
        delay.and_then(|delay| delay.ipdv_us_p95),
        delay.and_then(|delay| delay.ipdv_us_p99),
    ];
    values.map(|value| value.map(time)).to_vec()
}

fn losses(name: &str, direction: &JoinedDirection) -> Option<String> {
    let lost = direction.lost_data_segments + direction.lost_pure_acks;
    if lost == 0 {
        return None;
    }
    let share = direction
        .lost_share
        .map_or_else(String::new, |share| format!(" ({} %)", QuantityKind::Ratio.alone(share * 100.0)));
    let again = match direction.lost_retransmits {
        0 => String::new(),
        count => format!(", {} of them", quantity::counted(count, "retransmission(s)")),
    };
    let first: Vec<String> = direction.first_losses.iter().take(LISTED).map(lost_packet).collect();
    Some(format!("Lost {name}: {lost}{share}{again}. The first: {}.", first.join("; ")))
}

fn lost_packet(lost: &LostPacket) -> String {
    let what = match lost.seq_to - lost.seq_from {
        0 => "an ACK".to_owned(),
        _ => format!("{}–{}", lost.seq_from, lost.seq_to),
    };
    let again = if lost.retransmit { ", sent again" } else { "" };
    format!("{what} at {} (packet {}{again})", quantity::duration(lost.t_us), lost.packet)
}

fn unmatched(name: &str, direction: &JoinedDirection) -> Option<String> {
    let unmatched = &direction.unmatched;
    let counts = [
        (unmatched.sent_before, "sent before the other capture begins"),
        (unmatched.sent_after, "sent too late to be in the other capture"),
        (unmatched.received_before, "received before the sender's capture begins"),
        (unmatched.received_after, "received after the sender's capture ends"),
        (unmatched.received_only, "received and missing in the sender's capture"),
        (unmatched.hurried, "judged early, for want of memory"),
    ];
    let parts = happened(counts);
    (!parts.is_empty()).then(|| format!("Not matched {name}: {}.", parts.join("; ")))
}

/// How the least delay is known, and what the losses say of the queue.
fn of_delays(flow: &JoinedFlow, is_clock_set: bool) -> Vec<String> {
    let mut all = Vec::new();
    let Some(delay) = flow.forward.one_way_delay.or(flow.reverse.one_way_delay) else {
        let why = if is_clock_set {
            "a clock was set meanwhile"
        } else {
            "packets of one direction alone were matched"
        };
        all.push(format!("Delays are not known: {why}."));
        return all;
    };
    if delay.basis == DelayBasis::HalfRtt {
        all.push("The least delays are half of the least round trip: that both directions take the same is assumed.".to_owned());
    }
    let before = flow
        .forward
        .one_way_delay
        .and_then(|delay| Some((delay.above_min_us_before_loss?, delay.above_min_us_p99)));
    if let Some((wait, longest)) = before.filter(|_| flow.forward.lost_data_segments > 0) {
        all.push(format!(
            "Before half of the losses data waited {} or more, where 99 % wait {} or less.",
            time(wait),
            time(longest)
        ));
    }
    all
}

fn time(us: i64) -> String {
    if us == 0 { "0 s".to_owned() } else { QuantityKind::Time.alone(us as f64 * 1e3) }
}

/// Microseconds with all digits, from a second on.
fn exact(us: u64) -> String {
    if us < 1_000_000 { time_of(us) } else { format!("{}.{:06} s", us / 1_000_000, us % 1_000_000) }
}

fn time_of(us: u64) -> String {
    time(i64::try_from(us).unwrap_or(i64::MAX))
}
