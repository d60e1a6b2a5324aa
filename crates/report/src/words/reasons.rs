//! The verdict on a connection, a captured flow or a test, where samples alone did not decide.

use super::{limit_name, limited, verdict_sentence};
use crate::quantity::{bytes, counted, duration, percent, rate};
use pipefill_analysis::findings::udp_socket_report::UdpSocketReport;
use pipefill_analysis::findings::verdict::{DatagramEvidence, ShortReading, VerdictReason};
use pipefill_analysis::judge::JoinedEvidence;
use pipefill_core::limit::LimitedBy;

/// The sentence.
pub(super) fn sentence(reason: &VerdictReason) -> String {
    match *reason {
        VerdictReason::Judged(ref judged) => verdict_sentence(judged),
        VerdictReason::TooShort => "Too short to judge.".to_owned(),
        VerdictReason::OneDirection => {
            "The limit is unknown: the capture has no packet of the receiver, whose ACKs and windows would show it.".to_owned()
        }
        VerdictReason::CoarseClock => {
            "The limit is unknown: the flow took less than five ticks of the capture's clock.".to_owned()
        }
        VerdictReason::WindowStaysClosed => limited(
            limit_name(LimitedBy::Receiver, None),
            None,
            "its receive buffer was full, and its window did not open again",
        ),
        VerdictReason::ShortReading(reading) => short(reading),
        VerdictReason::FewDatagrams(count) => {
            format!("Too short to judge: {}.", counted(count, "datagram(s)"))
        }
        VerdictReason::SeenOnce => "Too short to judge: it was seen once.".to_owned(),
        VerdictReason::Idle => "Idle: nothing was sent or received.".to_owned(),
        VerdictReason::BothCaptures(ref judged, evidence) => {
            let diagnosis = &judged.diagnosis;
            let because = format!("both captures show that {}", of_both(evidence));
            let name = limit_name(diagnosis.limited_by, diagnosis.cause);
            limited(name, Some(diagnosis.share()), &because)
        }
        VerdictReason::UdpSocket(report) => udp_socket(&report),
        VerdictReason::Datagrams(evidence) => datagrams(evidence),
    }
}

fn udp_socket(report: &UdpSocketReport) -> String {
    let buffer =
        report.rcvbuf_bytes.map_or_else(String::new, |size| format!(" of {} of memory", bytes(size)));
    let peak = bytes(report.receive_queue_peak_bytes);
    match report.socket_drops {
        0 => format!(
            "The limit is unknown: the socket dropped nothing, and at most {peak} of its buffer{buffer} was unread. The kernel does not count what a \
             UDP socket sends or receives."
        ),
        drops => limited(
            limit_name(LimitedBy::Receiver, None),
            None,
            &format!(
                "its buffer{buffer} overflowed by {}; it was at least half full in {} of the samples",
                counted(drops, "datagram(s)"),
                percent(report.unread_share)
            ),
        ),
    }
}

fn short(reading: ShortReading) -> String {
    let what = match reading {
        ShortReading::RoundTrips { span_us, rtt_us } => {
            format!("{} were seen, with round trips of {}", duration(span_us), duration(rtt_us.into()))
        }
        ShortReading::Segments { span_us, segments } => {
            format!("it sent {segments} segments in {}", duration(span_us))
        }
    };
    format!("Too short to judge: {what}. `pipefill watch --for 10s` looks longer.")
}

fn of_both(evidence: JoinedEvidence) -> String {
    match evidence {
        JoinedEvidence::AcksWait { acks_us, data_us } => format!(
            "half of the ACKs waited {} or more on their way back, and half of the data {} or less",
            duration(acks_us),
            duration(data_us)
        ),
        JoinedEvidence::WaitBeforeLoss { is_full, wait_us, longest_us } => format!(
            "data were lost when the queue was {}full: before half of the losses packets waited {} or more, of {} at most",
            if is_full { "" } else { "not " },
            duration(wait_us),
            duration(longest_us)
        ),
        JoinedEvidence::Overtaken(segments) => {
            format!("nothing was lost, and {segments} segments were overtaken")
        }
        JoinedEvidence::AcksLost { lost, all } => {
            format!("no data were lost, and {lost} of {all} ACKs were")
        }
    }
}

fn datagrams(evidence: DatagramEvidence) -> String {
    let DatagramEvidence { limited_by, asked_bps, sent_bps, lost_share } = evidence;
    let Some(sent_bps) = sent_bps else { return "No datagram was sent.".to_owned() };
    let sent = rate(sent_bps);
    match (limited_by, asked_bps) {
        (LimitedBy::Path, _) => {
            let arrived = rate((sent_bps as f64 * (1.0 - lost_share)) as u64);
            let lost = percent(lost_share);
            let because =
                format!("of {sent} that were sent {arrived} arrived, {lost} of the datagrams were lost");
            limited("the path, or by a receiver that is too slow", None, &because)
        }
        (LimitedBy::App, _) => {
            let because = format!("it offered {sent}, and all of it arrived");
            limited("the application", None, &because) + " A higher -b shows what the path can carry."
        }
        (_, Some(asked)) => format!(
            "The sender sent {sent} of the {} that were asked for, and all of it arrived: its CPU or its own interface is the limit.",
            rate(asked)
        ),
        (_, None) => {
            format!(
                "The sender sent {sent}, and all of it arrived: its CPU or its own interface is the limit."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_are_lost_and_those_that_arrive_have_their_figures() {
        let lossy = DatagramEvidence {
            limited_by: LimitedBy::Path,
            asked_bps: Some(100_000_000),
            sent_bps: Some(100_000_000),
            lost_share: 0.1,
        };
        let said = sentence(&VerdictReason::Datagrams(lossy));
        assert!(said.contains("90.0 Mbit/s arrived, 10 %"), "{said}");
        let none = DatagramEvidence { sent_bps: None, ..lossy };
        assert_eq!(sentence(&VerdictReason::Datagrams(none)), "No datagram was sent.");
    }
}
