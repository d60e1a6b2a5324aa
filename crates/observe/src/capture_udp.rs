//! The UDP flows of a capture, and the subflows of Multipath TCP, as findings.

use pipefill_analysis::findings::connections::{MptcpGroup, QuicFigures, RtpSource, UdpFlow, UdpKind};
use pipefill_capture::headers::Endpoint;
use pipefill_capture::mptcp::mptcp_connections;
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::Side;
use pipefill_capture::translated::translated_connections;
use pipefill_capture::udp::{self, Quic, QuicVersion, RtpStream};
use std::collections::BTreeMap;

/// What was read of UDP.
pub(crate) fn udp_flows(found: &[udp::UdpFlow]) -> Vec<UdpFlow> {
    let by_ends = PeerIndex::of(found);
    found.iter().map(|flow| udp_flow(flow, by_ends.peer(flow))).collect()
}

/// Finds the flow of the other direction.
struct PeerIndex<'a>(BTreeMap<[Endpoint; 2], &'a udp::UdpFlow>);

impl<'a> PeerIndex<'a> {
    fn of(found: &'a [udp::UdpFlow]) -> Self {
        Self(found.iter().map(|flow| ([flow.source, flow.destination], flow)).collect())
    }

    fn peer(&self, flow: &udp::UdpFlow) -> Option<&'a udp::UdpFlow> {
        self.0.get(&[flow.destination, flow.source]).copied()
    }
}

fn udp_flow(flow: &udp::UdpFlow, peer: Option<&udp::UdpFlow>) -> UdpFlow {
    let span_us = flow.span_ns() / 1_000;
    let rtp: Vec<RtpSource> = flow.rtp().into_iter().map(rtp_source).collect();
    let quic = flow.quic().map(|quic| quic_figures((flow, quic), peer));
    UdpFlow {
        src: flow.source.to_string(),
        dst: flow.destination.to_string(),
        datagrams: flow.datagrams,
        bytes: flow.bytes,
        rate_bps: flow.bytes.saturating_mul(8_000_000).checked_div(span_us),
        span_us,
        gaps: flow.gaps,
        longest_gap_us: flow.longest_gap_ns / 1_000,
        jitter_us: match rtp.iter().filter_map(|source| source.jitter_us).max() {
            Some(us) => Some(us),
            None => flow.spacing_change_ns().map(|ns| ns / 1_000),
        },
        kind: match (&quic, rtp.is_empty()) {
            (Some(_), _) => UdpKind::Quic,
            (None, false) => UdpKind::Rtp,
            (None, true) => UdpKind::Other,
        },
        rtp,
        quic,
    }
}

fn rtp_source(stream: &RtpStream) -> RtpSource {
    RtpSource {
        ssrc: stream.source,
        payload_type: stream.payload_type,
        packets: stream.packets,
        expected: stream.expected(),
        lost: stream.lost(),
        reordered: stream.reordered,
        clock_hz: stream.clock_hz(),
        jitter_us: stream.jitter_ns().map(|ns| ns / 1_000),
    }
}

/// The figures of QUIC; the handshake's times are the same for both directions.
fn quic_figures((flow, quic): (&udp::UdpFlow, &Quic), peer: Option<&udp::UdpFlow>) -> QuicFigures {
    let peer_quic = peer.and_then(|peer| Some((peer, peer.quic()?)));
    let answer_ns = peer_quic.and_then(|peer| {
        let [client, server] = client_first((flow, quic), peer);
        first_ns(server)?.checked_sub(first_ns(client)?)
    });
    let handshake_ns = peer_quic.and_then(|peer| {
        let [(_, client), _] = client_first((flow, quic), peer);
        client.first_short_ns()?.checked_sub(client.first_initial_ns()?)
    });
    let us = |ns: u64| ns / 1_000;
    QuicFigures {
        version: quic.version().map(QuicVersion::name),
        answer_us: answer_ns.map(us),
        handshake_us: handshake_ns.map(us),
        spin_rtt_us: quic.spin_rtt_ns(answer_ns).map(us),
    }
}

type QuicFlow<'a> = (&'a udp::UdpFlow, &'a Quic);

/// Who sent the first datagram is the client.
fn client_first<'a>(first: QuicFlow<'a>, second: QuicFlow<'a>) -> [QuicFlow<'a>; 2] {
    if (first.0.first_ns, first.0.source) <= (second.0.first_ns, second.0.source) {
        [first, second]
    } else {
        [second, first]
    }
}

/// When the handshake's first datagram passed; that of the flow, where nothing of the payload was captured; `None` where the capture begins later.
fn first_ns((flow, quic): QuicFlow<'_>) -> Option<u64> {
    match quic.version() {
        Some(_) => quic.first_long_ns(),
        None => quic.first_short_ns().is_none().then_some(flow.first_ns),
    }
}

/// Which of the connections with data are one on both sides of a NAT; by their places in `watched`.
pub(crate) fn translated(watched: &[Watched]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..watched.len()).collect();
    order.sort_by_key(|&at| watched[at].connection.id());
    let connections: Vec<_> = order.iter().map(|&at| &watched[at].connection).collect();
    let groups = translated_connections(&connections).into_iter();
    groups.map(|group| group.into_iter().map(|at| order[at]).collect()).collect()
}

/// Which of the connections with data are subflows of one of Multipath TCP.
pub(crate) fn mptcp_groups(watched: &[Watched]) -> Vec<MptcpGroup> {
    let mut ordered: Vec<&Watched> = watched.iter().collect();
    ordered.sort_by_key(|seen| seen.connection.id());
    let connections: Vec<_> = ordered.iter().map(|seen| &seen.connection).collect();
    let groups = mptcp_connections(&connections).into_iter();
    groups
        .map(|group| MptcpGroup {
            version: group.version,
            token: format!("{:08x}", group.token),
            subflows: group
                .subflows
                .iter()
                .map(|&at| [Side::A, Side::B].map(|side| ordered[at].endpoint(side).to_string()))
                .collect(),
        })
        .collect()
}
