//! The connections of a host as a table for a terminal, one line each, and one connection in words.

use crate::quantity::{self, QuantityKind, counted};
use crate::sheet::SheetEntry;
use crate::table::{Style, lines};
use crate::verdicts::{advice, happened};
use crate::words::UNKNOWN;
use crate::{prose, verdicts};
use pipefill_analysis::findings::connections::{ConnectionFinding, Connections};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::limit::LimitedBy;
use std::fmt::Write;

/// Longest name of a process that a line has room for.
const PROCESS: usize = 12;

/// A line for each connection that is not idle, the fastest first, and below them what is wrong with the looks.
pub fn render(found: &Connections, style: Style) -> String {
    let is_shown = |finding: &&ConnectionFinding| !is_idle(finding) && !is_short_datagrams(finding);
    let busy: Vec<&ConnectionFinding> = found.connections.iter().filter(is_shown).collect();
    let rows_of = |protocol, row: fn(&ConnectionFinding) -> Vec<SheetEntry>| {
        let its =
            busy.iter().filter(move |finding| finding.protocol == protocol && finding.udp_socket.is_none());
        its.map(|finding| row(finding)).collect::<Vec<_>>()
    };
    let (tcp, udp) = (rows_of(Protocol::Tcp, row), rows_of(Protocol::Udp, datagram_row));
    let sockets: Vec<Vec<SheetEntry>> = busy.iter().filter_map(|finding| socket_row(finding)).collect();
    let mut text = String::new();
    if busy.is_empty() {
        let has_few = found.other_datagrams > 0 || found.connections.iter().any(is_short_datagrams);
        let much = if has_few { "enough to judge" } else { "anything" };
        let _ = writeln!(text, "No connection carried {much}.");
    }
    let mut tables = [(&HEADINGS[..], tcp), (&DATAGRAM_HEADINGS[..], udp), (&SOCKET_HEADINGS[..], sockets)];
    // The connections are in order of their rates.
    if busy.first().is_some_and(|finding| finding.protocol == Protocol::Udp && finding.udp_socket.is_none()) {
        tables.swap(0, 1);
    }
    for (headings, rows) in tables.iter().filter(|(_, rows)| !rows.is_empty()) {
        text.extend((!text.is_empty()).then_some('\n'));
        text += &lines(headings, rows, style, "");
    }
    for finding in &busy {
        text.push('\n');
        text.push_str(&in_words(finding, style));
    }
    let _ = writeln!(text, "\n{}", prose::filled(&notes(found), "", "", style.width));
    text
}

/// One connection: its ends, the sentence, the advice.
pub fn in_words(finding: &ConnectionFinding, style: Style) -> String {
    let arrow = match (finding.direction, &finding.udp_socket) {
        (None, Some(_)) => "<->",
        (Some(Direction::Reverse), _) => "<-",
        _ => "->",
    };
    let mut text = format!("{} {arrow} {}{}\n", finding.local, finding.remote, owner(finding));
    let verdict = finding.verdict.sentence.as_deref().unwrap_or(UNKNOWN);
    for sentence in [Some(verdict), quic(finding).as_deref(), exact(finding).as_deref()].into_iter().flatten()
    {
        let _ = writeln!(text, "{}", prose::filled(sentence, "  ", "  ", style.width));
    }
    text + &advice(&finding.verdict, style.width)
}

/// That it is QUIC, where its first datagrams show it.
fn quic(finding: &ConnectionFinding) -> Option<String> {
    let version = finding.datagrams.as_ref()?.quic.as_ref()?;
    Some(format!(
        "QUIC version {version}: its congestion control decides what is offered, and its windows are encrypted."
    ))
}

/// What BPF tells: shares of the congestion states, and what was sent again by why it was. `None` where it does not watch.
pub fn exact(finding: &ConnectionFinding) -> Option<String> {
    let times = finding.ca_state_us?;
    let total = times.total().max(1) as f64;
    let shares: Vec<String> = [
        ("open", times.open),
        ("disorder", times.disorder),
        ("cwr", times.cwr),
        ("recovery", times.recovery),
        ("loss", times.loss),
    ]
    .into_iter()
    .filter(|&(_, us)| us > 0)
    .map(|(state, us)| format!("{state} {}", QuantityKind::Percent.alone(us as f64 / total * 100.0)))
    .collect();
    let span = QuantityKind::Time.alone(total * 1e3);
    let mut text = format!("Congestion states in {span}, by BPF: {}.", shares.join(", "));
    let again = finding.retransmits_by_kind.map(|kinds| {
        happened([
            (kinds.fast, "in fast recovery"),
            (kinds.rto, "after a timeout"),
            (kinds.tlp, "as loss probe(s)"),
            (kinds.spurious, "without need"),
        ])
    });
    match again {
        Some(again) if !again.is_empty() => {
            let _ = write!(text, " Segments sent again meanwhile: {}.", again.join(", "));
        }
        Some(_) => text.push_str(" No segment was sent again meanwhile."),
        None => text.push_str(" Of the segments that were sent again meanwhile some were missed."),
    }
    Some(text)
}

/// What limits it, in a word or two.
pub fn limit(finding: &ConnectionFinding) -> String {
    verdicts::limit(&finding.verdict)
}

/// Whether it carried nothing.
pub fn is_idle(finding: &ConnectionFinding) -> bool {
    finding.rate_bps == Some(0) && finding.verdict.limited_by == Some(LimitedBy::App)
}

/// Whether it is a flow of a few datagrams.
fn is_short_datagrams(finding: &ConnectionFinding) -> bool {
    finding.protocol == Protocol::Udp
        && finding.verdict.limited_by.is_none()
        && finding.verdict.rule.is_some()
}

/// How often it was looked, what was missed, and what is not shown.
pub fn notes(found: &Connections) -> String {
    let time = |us: u64| quantity::duration(us);
    let span = time(found.span_us);
    let mut parts = vec![format!("{} in {span}", counted(found.looks, "look(s)"))];
    if found.late_us >= 10_000 {
        parts.push(format!("the latest {} late", time(found.late_us)));
    }
    parts.extend(happened([
        (found.idle, "idle"),
        (
            found.connections.iter().filter(|finding| is_short_datagrams(finding)).count() as u64,
            "flow(s) with too few datagrams to judge",
        ),
        (found.other_datagrams, "datagram(s) not counted by flow"),
        (found.quiet_udp_sockets, "UDP socket(s) without a queue or drops"),
        (found.closed, "closed meanwhile"),
        (found.too_short, "too short to judge"),
        (found.not_followed, "more than can be followed"),
        (found.unseen.unwrap_or(0), "opened and closed between two looks"),
        (found.interrupted, "look(s) during which sockets came and went"),
    ]));
    if found.unseen.is_none() && found.looks > 1 {
        parts.push("how many opened and closed between two looks is unknown".to_owned());
    }
    parts.join("; ") + "."
}

fn owner(finding: &ConnectionFinding) -> String {
    match (&finding.process, finding.pid) {
        (Some(name), Some(pid)) => format!("  {name} ({pid})"),
        _ => String::new(),
    }
}

const HEADINGS: [(&str, bool); 7] = [
    ("peer", false),
    ("", false),
    ("process", false),
    ("rate", true),
    ("rtt", true),
    ("retr", true),
    ("limited by", false),
];

/// Those of a flow of datagrams.
const DATAGRAM_HEADINGS: [(&str, bool); 7] = [
    ("peer", false),
    ("", false),
    ("process", false),
    ("offered", true),
    ("arrived", true),
    ("lost", true),
    ("limited by", false),
];

fn datagram_row(finding: &ConnectionFinding) -> Vec<SheetEntry> {
    let offered = finding.datagrams.as_ref().and_then(|report| report.offered_bps);
    let figures = [
        SheetEntry::or_missing(offered.map(quantity::rate)),
        SheetEntry::or_missing(finding.rate_bps.map(quantity::rate)),
        SheetEntry::or_missing(finding.lost_percent.map(|percent| quantity::share(percent / 100.0))),
        verdicts::entry(&finding.verdict),
    ];
    ends_of_row(finding).into_iter().chain(figures).collect()
}

/// Those of a UDP socket.
const SOCKET_HEADINGS: [(&str, bool); 6] = [
    ("UDP socket", false),
    ("peer", false),
    ("process", false),
    ("unread", true),
    ("drops", true),
    ("limited by", false),
];

fn socket_row(finding: &ConnectionFinding) -> Option<Vec<SheetEntry>> {
    let report = finding.udp_socket.as_ref()?;
    Some(vec![
        SheetEntry::plain(finding.local.clone()),
        SheetEntry::plain(finding.remote.clone()),
        SheetEntry::or_missing(finding.process.as_ref().map(|name| name.chars().take(PROCESS).collect())),
        SheetEntry::plain(quantity::bytes(report.receive_queue_bytes)),
        SheetEntry::plain(report.socket_drops.to_string()),
        verdicts::entry(&finding.verdict),
    ])
}

fn ends_of_row(finding: &ConnectionFinding) -> [SheetEntry; 3] {
    let way = match finding.direction {
        Some(Direction::Forward) => "out",
        Some(Direction::Reverse) => "in",
        None => "",
    };
    [
        SheetEntry::plain(finding.remote.clone()),
        SheetEntry::plain(way.to_owned()),
        SheetEntry::or_missing(finding.process.as_ref().map(|name| name.chars().take(PROCESS).collect())),
    ]
}

fn row(finding: &ConnectionFinding) -> Vec<SheetEntry> {
    let figures = [
        SheetEntry::or_missing(finding.rate_bps.map(quantity::rate)),
        SheetEntry::or_missing(finding.rtt_us.map(quantity::duration)),
        SheetEntry::or_missing(finding.retransmits.map(|count| count.to_string())),
        verdicts::entry(&finding.verdict),
    ];
    ends_of_row(finding).into_iter().chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::findings::connections::DatagramReport;
    use pipefill_analysis::findings::udp_socket_report::UdpSocketReport;
    use pipefill_analysis::findings::verdict::Verdict;
    use pipefill_core::limit::Cause;

    fn datagrams(limited_by: Option<LimitedBy>, cause: Option<Cause>) -> ConnectionFinding {
        ConnectionFinding {
            protocol: Protocol::Udp,
            local: "[fd77::1]:51942".to_owned(),
            remote: "[fd77::2]:5201".to_owned(),
            process: Some("iperf3".to_owned()),
            direction: Some(Direction::Forward),
            rate_bps: Some(6_400_000),
            lost_percent: Some(35.75),
            datagrams: Some(DatagramReport {
                offered_bps: Some(10_000_000),
                quic: Some("1".to_owned()),
                ..DatagramReport::default()
            }),
            verdict: Verdict { limited_by, cause, ..Verdict::default() },
            ..ConnectionFinding::default()
        }
    }

    #[test]
    fn flows_of_datagrams_and_sockets_have_tables_of_80_columns() {
        let socket = ConnectionFinding {
            udp_socket: Some(UdpSocketReport { socket_drops: 672, ..UdpSocketReport::default() }),
            datagrams: None,
            local: "0.0.0.0:5000".to_owned(),
            remote: "*".to_owned(),
            direction: None,
            ..datagrams(Some(LimitedBy::Receiver), None)
        };
        let connections = vec![datagrams(Some(LimitedBy::Path), Some(Cause::Bursts)), socket];
        let found = Connections { connections, other_datagrams: 3, ..Connections::new() };
        let text = render(&found, Style::default());
        let row =
            text.lines().find(|line| line.starts_with("[fd77::2]:5201")).unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains("10.0 Mbit/s  6.40 Mbit/s  35.8 %  path bursts"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("0.0.0.0:5000") && line.contains("672")), "{text}");
        assert!(
            text.contains("QUIC version 1") && text.contains("3 datagrams not counted by flow"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn few_datagrams_are_counted_and_have_no_line() {
        let short = ConnectionFinding {
            verdict: Verdict {
                rule: Some(pipefill_analysis::judge::RuleId::TOO_SHORT),
                ..Verdict::default()
            },
            ..datagrams(None, None)
        };
        let found = Connections { connections: vec![short], ..Connections::new() };
        let text = render(&found, Style::default());
        assert!(text.starts_with("No connection carried enough to judge."), "{text}");
        assert!(text.contains("1 flow with too few datagrams to judge"), "{text}");
    }
}
