//! What holds a flow of datagrams back, where an emulated path has counted it.

use crate::quantity::{bytes, counted, percent, rate};
use pipefill_analysis::findings::verdict::JudgedFlow;
use pipefill_analysis::judge::DatagramFigures;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::DropReason;

/// The arithmetic of the verdict.
pub(super) fn because(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    match (judged.diagnosis.limited_by, judged.diagnosis.cause) {
        (LimitedBy::App, _) => offered(judged, figures),
        (LimitedBy::Path, Some(Cause::Full)) => full(judged, figures),
        (LimitedBy::Path, Some(Cause::Bursts)) => bursts(judged, figures),
        (LimitedBy::Path, Some(Cause::Shared)) => shared(judged, figures),
        (LimitedBy::Receiver, _) => receiver(judged, figures),
        (LimitedBy::Unknown, _) if lost_share(judged) <= 0.0 => format!(
            "{} arrived, and the path has room for more; QUIC encrypts what would show whether its application, its congestion window or its \
             flow control holds it back (a qlog of either end shows it)",
            rate(judged.goodput_bps)
        ),
        _ => format!(
            "{} of the datagrams were lost{}, {} arrived",
            percent(lost_share(judged)),
            by_reason(figures),
            rate(judged.goodput_bps)
        ),
    }
}

fn lost_share(judged: &JudgedFlow) -> f64 {
    judged.diagnosis.figures.loss_share.unwrap_or(0.0)
}

fn what_was_lost(judged: &JudgedFlow) -> String {
    format!(
        "{} of the datagrams were lost, {} arrived",
        percent(lost_share(judged)),
        rate(judged.goodput_bps)
    )
}

fn offered(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    let offered = rate(figures.offered_bps);
    match lost_share(judged) {
        share if share <= 0.0 => format!("it offers {offered} in datagrams, and all of them arrived"),
        share => format!("it offers {offered} in datagrams, and {} of them were lost", percent(share)),
    }
}

fn full(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    let (offered, lost) = (figures.offered_bps, what_was_lost(judged));
    let Some((possible, way)) = judged.diagnosis.figures.path_goodput_bps.zip(judged.way().rate) else {
        return lost;
    };
    let asked = rate(way.value.bps());
    if offered <= possible {
        let share = percent(offered as f64 / possible.max(1) as f64);
        return format!(
            "it offers {} of payload, {share} of what the path carries ({} of payload at {asked}); {lost}",
            rate(offered),
            rate(possible)
        );
    }
    let excess = 1.0 - possible as f64 / offered as f64;
    format!(
        "it offers {} of payload, but the path carries {} at {asked}: {} of it has no room; {lost}",
        rate(offered),
        rate(possible),
        percent(excess)
    )
}

fn bursts(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    let counts = &figures.counted;
    let burst = counts.burst_packets.unwrap_or(0);
    let size = bytes(counts.burst_bytes.unwrap_or(0));
    let (queue, needed) = queue_and_need(figures);
    let of_path = judged.diagnosis.figures.path_goodput_bps.map_or_else(String::new, |possible| {
        format!(", {} of what the path carries", percent(figures.offered_bps as f64 / possible.max(1) as f64))
    });
    let without_room = part_without_room(figures)
        .map_or_else(String::new, |part| format!(", so {} of such a burst has no room", percent(part)));
    format!(
        "bursts of up to {} ({size}) need a queue of {needed}, but it holds {queue}{without_room}; the mean rate is only {}{of_path}; {}",
        counted(burst, "datagram(s)"),
        rate(figures.offered_bps),
        what_was_lost(judged)
    )
}

/// The part of the longest burst that the queue does not hold.
fn part_without_room(figures: &DatagramFigures) -> Option<f64> {
    let counts = &figures.counted;
    let missing = counts.needed_queue_packets?.saturating_sub(figures.queue_packets?);
    Some(missing as f64 / counts.burst_packets?.max(1) as f64)
}

fn shared(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    let (queue, needed) = queue_and_need(figures);
    format!(
        "other packets fill the queue: the longest burst of this flow needs {needed}, and the queue holds {queue}; {}",
        what_was_lost(judged)
    )
}

/// What the queue holds, and what the flow alone needs, in the unit of the queue's bound.
fn queue_and_need(figures: &DatagramFigures) -> (String, String) {
    let counts = &figures.counted;
    match (figures.queue_packets, figures.queue_bytes) {
        (Some(packets), _) => {
            (counted(packets, "packet(s)"), counted(counts.needed_queue_packets.unwrap_or(0), "packet(s)"))
        }
        (None, held) => (bytes(held.unwrap_or(0)), bytes(counts.needed_queue_bytes.unwrap_or(0))),
    }
}

fn receiver(judged: &JudgedFlow, figures: &DatagramFigures) -> String {
    let counts = &figures.counted;
    let drops = counted(counts.socket_drops.unwrap_or(0), "datagram(s)");
    let buffer =
        counts.rcvbuf_bytes.map_or_else(String::new, |size| format!(" of {} of memory", bytes(size)));
    let unread = figures.unread_share.filter(|&share| share > 0.0).map_or_else(String::new, |share| {
        format!("; it was at least half full in {} of the samples", percent(share))
    });
    format!(
        "its socket's buffer{buffer} was full and dropped {drops}, {} of all{unread}; {} were read",
        percent(lost_share(judged)),
        rate(judged.goodput_bps)
    )
}

/// Where datagrams were lost, with their numbers.
fn by_reason(figures: &DatagramFigures) -> String {
    let word = |reason: DropReason| match reason {
        DropReason::RandomLoss => "by chance",
        DropReason::ExceedsMtu => "too large for the inner link",
        DropReason::Policed => "by the policer",
        DropReason::DelayLimit => "by the delay element, which was full",
        DropReason::QueueFull => "by the full queue",
        DropReason::Aqm => "by the queue's AQM",
        DropReason::ExceedsBurst => "larger than the token bucket",
    };
    let counts = &figures.counted;
    let of_path = DropReason::ALL.into_iter().map(|reason| (counts.dropped(reason), word(reason)));
    let of_socket = (counts.socket_drops.unwrap_or(0), "by the receiving socket");
    let parts: Vec<String> = of_path
        .chain([of_socket])
        .filter(|&(count, _)| count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}
