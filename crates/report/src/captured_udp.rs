//! What a capture has beside TCP's flows: the table of UDP flows, what was not read and what to do about it, the subflows of Multipath TCP.

use crate::quantity::{self, counted};
use crate::sheet::SheetEntry;
use crate::table::{Style, lines};
use pipefill_analysis::findings::connections::{
    Captured, MptcpGroup, NatGroup, QuicFigures, RtpSource, UdpFlow, UdpKind,
};
use std::collections::BTreeSet;

/// The columns of a UDP flow.
pub(crate) const HEADINGS: [(&str, bool); 6] = [
    ("from", false),
    ("to", false),
    ("kind", false),
    ("rate", true),
    ("datagrams", true),
    ("longest gap", true),
];

/// At most `most` UDP flows, a line each; empty where there are none.
pub(crate) fn table(found: &Captured, most: usize, style: Style) -> String {
    let rows = rows(found, most);
    if rows.is_empty() { String::new() } else { lines(&HEADINGS, &rows, style, "") }
}

/// The fields of at most `most` UDP flows.
pub(crate) fn rows(found: &Captured, most: usize) -> Vec<Vec<SheetEntry>> {
    found.udp_flows.iter().take(most).map(row).collect()
}

fn row(flow: &UdpFlow) -> Vec<SheetEntry> {
    vec![
        SheetEntry::plain(flow.src.clone()),
        SheetEntry::plain(flow.dst.clone()),
        SheetEntry::plain(kind(flow.kind).to_owned()),
        SheetEntry::or_missing(flow.rate_bps.filter(|_| flow.datagrams >= STEADY_MIN).map(quantity::rate)),
        SheetEntry::plain(flow.datagrams.to_string()),
        SheetEntry::or_missing((flow.datagrams > 1).then(|| quantity::duration(flow.longest_gap_us))),
    ]
}

const fn kind(kind: UdpKind) -> &'static str {
    match kind {
        UdpKind::Quic => "QUIC",
        UdpKind::Rtp => "RTP",
        UdpKind::Other => "UDP",
    }
}

/// What the datagrams of the flows in the table show beside their rate, a sentence each.
pub(crate) fn sentences(found: &Captured, most: usize) -> Vec<String> {
    let shown = || found.udp_flows.iter().take(most);
    // Both directions of a QUIC connection have the same figures.
    let mut told = BTreeSet::new();
    let mut all = Vec::new();
    for flow in shown() {
        if flow.quic.is_none() || !told.contains(&(&flow.dst, &flow.src)) {
            all.extend(of_flow(flow));
        }
        told.insert((&flow.src, &flow.dst));
    }
    if shown().any(|flow| flow.kind == UdpKind::Quic) {
        all.push(
            "QUIC encrypts its windows and acknowledgements: packets show its rate and pauses, not what limits it; \
             a qlog of either end does (pipefill explain FILE.qlog)."
                .to_owned(),
        );
    }
    all
}

fn of_flow(flow: &UdpFlow) -> Vec<String> {
    let ends = format!("{} {} {}", flow.src, if flow.quic.is_some() { "<->" } else { "->" }, flow.dst);
    let mut all: Vec<String> = flow.rtp.iter().map(|source| format!("{ends}: {}.", rtp(source))).collect();
    all.extend(flow.quic.as_ref().map(|figures| format!("{ends}: {}.", quic(figures))));
    let is_steady = flow.kind == UdpKind::Other && flow.datagrams >= STEADY_MIN;
    if let Some(us) = flow.jitter_us.filter(|_| is_steady) {
        let spacing = quantity::duration(flow.span_us / flow.datagrams.saturating_sub(1).max(1));
        let jitter = quantity::duration(us);
        all.push(format!(
            "{ends}: a datagram each {spacing} on average, interarrival jitter {jitter} if sent evenly."
        ));
    }
    all
}

/// Fewer datagrams have no rhythm, and a rate that says nothing.
const STEADY_MIN: u64 = 10;

fn rtp(source: &RtpSource) -> String {
    let lost = match source.lost {
        0 => "none lost".to_owned(),
        lost => format!("{lost} lost ({})", quantity::share(lost as f64 / source.expected.max(1) as f64)),
    };
    let mut parts = vec![format!("{} packets of {}", source.packets, source.expected), lost];
    parts.extend((source.reordered > 0).then(|| format!("{} out of order", source.reordered)));
    parts.push(match source.jitter_us {
        Some(us) => format!("jitter {}", quantity::duration(us)),
        None => "jitter unknown (no usual clock)".to_owned(),
    });
    format!("RTP, source {:08x}, payload type {}: {}", source.ssrc, source.payload_type, parts.join(", "))
}

fn quic(figures: &QuicFigures) -> String {
    let mut parts = vec![match &figures.version {
        Some(version) => format!("QUIC version {version}"),
        None => "QUIC by its port and sizes (no long header was captured)".to_owned(),
    }];
    let time = |us: u64| quantity::duration(us);
    parts.extend(figures.answer_us.map(|us| format!("first answer after {}", time(us))));
    parts.extend(figures.handshake_us.map(|us| format!("handshake {}", time(us))));
    parts.extend(figures.spin_rtt_us.map(|us| format!("round trip by the spin bit {}", time(us))));
    parts.join(", ")
}

/// What a capture without TCP data has in its place.
pub(crate) fn in_place_of_tcp(found: &Captured) -> String {
    let mut parts = Vec::new();
    let datagrams: u64 = found.udp_flows.iter().map(|flow| flow.datagrams).sum();
    if datagrams > 0 {
        let of_kind = |wanted: UdpKind| found.udp_flows.iter().filter(|flow| flow.kind == wanted).count();
        let kinds: Vec<String> = [UdpKind::Quic, UdpKind::Rtp]
            .into_iter()
            .filter(|&wanted| of_kind(wanted) > 0)
            .map(|wanted| format!("{} {}", of_kind(wanted), kind(wanted)))
            .collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let flows = counted(found.udp_flows.len() as u64, "flow(s)");
        parts.push(format!("{} in {flows}{kinds}", counted(datagrams, "UDP datagram(s)")));
    }
    let others = found.not_understood.iter();
    parts.extend(others.map(|(name, &count)| format!("{} of {name}", counted(count, "packet(s)"))));
    match parts.is_empty() {
        true if found.packets == 0 => {
            "No TCP connection carried data: the capture has no packets.".to_owned()
        }
        true => "No TCP connection carried data: the packets are handshakes, acknowledgements and resets."
            .to_owned(),
        false => format!("No TCP connection carried data. The capture has {}.", parts.join(", ")),
    }
}

/// How many packets were not read, by name; `None` where all were.
pub(crate) fn not_read(found: &Captured) -> Option<String> {
    let names: Vec<String> =
        found.not_understood.iter().map(|(name, count)| format!("{count} {name}")).collect();
    (!names.is_empty()).then(|| format!("not read: {}", names.join(", ")))
}

/// What to do about packets that were not read, by their names.
struct Remedy {
    is_for: fn(&str) -> bool,
    sentence: &'static str,
}

const REMEDIES: [Remedy; 5] = [
    Remedy {
        is_for: |name| name.starts_with("link type"),
        sentence: "To read that link type, capture on an interface with Ethernet or IP, or cut its header of N bytes off: \
                   editcap -C N -T rawip -F pcap IN OUT.",
    },
    Remedy {
        is_for: |name| name == "802.11 protected",
        sentence: "Encrypted frames of 802.11 show no TCP: capture on the host's own interface, or decrypt them (airdecap-ng).",
    },
    Remedy {
        is_for: |name| name.starts_with("ESP") || name == "MACsec",
        sentence: "Encrypted packets show no TCP: capture where they are not encrypted.",
    },
    Remedy {
        is_for: |name| name.ends_with("cut by the snap length"),
        sentence: "The snap length cut headers: capture with tcpdump -s 128 or more.",
    },
    Remedy {
        is_for: |name| name == "SCTP" || name == "DCCP",
        sentence: "pipefill judges TCP alone; Wireshark reads SCTP and DCCP.",
    },
];

/// What to do about what was not read, a sentence each.
pub(crate) fn remedies(found: &Captured) -> Vec<&'static str> {
    let is_needed = |remedy: &&Remedy| found.not_understood.keys().any(|name| (remedy.is_for)(name));
    REMEDIES.iter().filter(is_needed).map(|remedy| remedy.sentence).collect()
}

/// Which connections belong together: subflows of Multipath TCP, both sides of a NAT; a sentence each.
pub(crate) fn groups(found: &Captured) -> Vec<String> {
    found.mptcp.iter().map(subflows).chain(found.nat.iter().map(sides_of_nat)).collect()
}

fn sides_of_nat(group: &NatGroup) -> String {
    let sides: Vec<String> = group.connections.iter().map(|[src, dst]| format!("{src} <-> {dst}")).collect();
    format!(
        "{} are one connection on both sides of a NAT, with the same numbers in its packets: it was captured twice.",
        sides.join(" and ")
    )
}

fn subflows(group: &MptcpGroup) -> String {
    let subflows: Vec<String> = group.subflows.iter().map(|[src, dst]| format!("{src} <-> {dst}")).collect();
    match &subflows[..] {
        [only] => format!("{only} is a connection of Multipath TCP; no other subflow of it carried data."),
        all => format!(
            "These are {} subflows of one connection of Multipath TCP: {}.",
            all.len(),
            all.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_capture_without_tcp_says_what_it_has() {
        let udp = UdpFlow { datagrams: 7, kind: UdpKind::Quic, ..UdpFlow::default() };
        let not_understood =
            BTreeMap::from([("SCTP".to_owned(), 3), ("link type USB_LINUX (189)".to_owned(), 2)]);
        let found = Captured { packets: 12, udp_flows: vec![udp], not_understood, ..Captured::new() };
        assert_eq!(
            in_place_of_tcp(&found),
            "No TCP connection carried data. The capture has 7 UDP datagrams in 1 flow (1 QUIC), 3 packets of SCTP, 2 packets of link type USB_LINUX (189)."
        );
        assert_eq!(not_read(&found).as_deref(), Some("not read: 3 SCTP, 2 link type USB_LINUX (189)"));
        assert_eq!(remedies(&found).len(), 2);
        let empty = Captured::new();
        assert!(in_place_of_tcp(&empty).contains("no packets") && remedies(&empty).is_empty());
    }
}
