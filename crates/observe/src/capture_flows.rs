//! What is said of the connections of a capture: judged together where they share a path.

use crate::capture_reading::CaptureRead;
use crate::capture_udp::{mptcp_groups, translated, udp_flows};
use crate::ending;
use crate::handshake;
use pipefill_analysis::findings::connections::{
    AnswerTimes, BackwardTimes, Captured, CapturedFlow, Connection, ConnectionCpu, ConnectionPackets, Judged,
    NatGroup, Unaccepted, judge_together,
};
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_analysis::ground::interval::TimeInterval;
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::{Counts, Half, Side};
use pipefill_core::cell::Direction;
use pipefill_core::record::{CapturePoint, Observed, PacketSample};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Connections of two hosts that are judged together at most.
const TOGETHER: usize = 64;
/// The fewest samples from which a limit is judged.
const FEWEST_SAMPLES: usize = 2;

/// The flows of what was read, the largest first.
pub fn judge_capture(read: &CaptureRead) -> Captured {
    let mut found = Captured {
        packets: read.counts.packets,
        not_understood: not_understood(&read.counts),
        dropped: read.dropped,
        forgotten: read.counts.evicted,
        backward_times: backward_times(read),
        clock_resolution_us: read.clock_resolution_ns.map(|ns| ns / 1_000),
        broken: read.broken.clone(),
        left_out: read.left_out,
        udp_flows: udp_flows(&read.udp),
        udp_left_out: read.udp_left_out,
        mptcp: mptcp_groups(&read.watched),
        ..Captured::new()
    };
    let translated = translated(&read.watched);
    found.nat = translated.iter().map(|group| nat_group(&read.watched, group)).collect();
    for group in by_hosts(&read.watched, &translated) {
        found.flows.extend(flows(&group));
    }
    found.flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    found
}

/// How often and how far the times of what was read ran backwards; `None` where they did not.
fn backward_times(read: &CaptureRead) -> Option<BackwardTimes> {
    let times = read.backward;
    (times.set_back + times.late_packets > 0).then_some(BackwardTimes {
        set_back: times.set_back,
        set_back_us: times.set_back_ns / 1_000,
        set_back_most_us: times.set_back_most_ns / 1_000,
        late_packets: times.late_packets,
        late_most_us: times.late_most_ns.div_ceil(1_000),
    })
}

/// Connections between the same two hosts, seen from the same end, the largest first: they share a path. Of many, some at a time. Their times can be
/// compared: the capture's clock was not set in between. Both sides of a NAT are no two connections that share one.
fn by_hosts<'a>(watched: &'a [Watched], translated: &[Vec<usize>]) -> Vec<Vec<&'a Watched>> {
    let mut hosts: BTreeMap<(IpAddr, IpAddr, u32, usize), Vec<&Watched>> = BTreeMap::new();
    let sides = translated.iter().flat_map(|group| group.iter().enumerate().map(|(side, &at)| (at, side)));
    let side_of_nat: BTreeMap<usize, usize> = sides.collect();
    for (at, seen) in watched.iter().enumerate() {
        let address = |side| seen.endpoint(side).address.ip();
        let (near, far) = (address(seen.near()), address(seen.near().other()));
        let side = side_of_nat.get(&at).copied().unwrap_or(0);
        hosts.entry((near, far, seen.busiest_stretch(), side)).or_default().push(seen);
    }
    hosts.into_values().flat_map(|all| all.chunks(TOGETHER).map(<[_]>::to_vec).collect::<Vec<_>>()).collect()
}

/// One connection on the sides of a NAT, in their order.
fn nat_group(watched: &[Watched], group: &[usize]) -> NatGroup {
    let ends = |&at: &usize| [Side::A, Side::B].map(|side| watched[at].endpoint(side).to_string());
    NatGroup { connections: group.iter().map(ends).collect() }
}

fn not_understood(counts: &Counts) -> BTreeMap<String, u64> {
    let mut names = BTreeMap::new();
    for (other, count) in counts.others.iter() {
        *names.entry(other.name().into_owned()).or_insert(0) += count;
    }
    names
}

/// An entry for each direction of each connection that carried data.
fn flows(group: &[&Watched]) -> Vec<CapturedFlow> {
    let from_ns = group.iter().map(|seen| seen.connection.first_ns()).min().unwrap_or(0);
    let samples: Vec<[Vec<PacketSample>; 2]> =
        group.iter().map(|seen| sides(seen).map(|side| seen.samples(side, from_ns))).collect();
    let judged: Vec<usize> = (0..group.len()).filter(|&at| samples[at][0].len() >= FEWEST_SAMPLES).collect();
    let connections: Vec<Connection<'_>> =
        judged.iter().map(|&at| connection(group[at], &samples[at], from_ns)).collect();
    let (results, facts) = judge_together(&connections);
    let mut found: BTreeMap<usize, Vec<Judged>> = judged.into_iter().zip(results).collect();
    let mut flows = Vec::new();
    for (at, seen) in group.iter().enumerate() {
        let results = found.remove(&at).unwrap_or_default();
        for ((side, direction), samples) in sides(seen).into_iter().zip(Direction::ALL).zip(&samples[at]) {
            if seen.connection.half(side).payload_bytes() > 0 {
                let mut flow = flow(seen, side, samples, from_ns);
                flow.judge(&results, direction);
                flow.add_path_facts(&facts, direction);
                flow.know_stacks(handshake::stack(&seen.connection, side.other()).0);
                flows.push(flow);
            }
        }
    }
    flows
}

fn connection<'a>(
    watched: &Watched,
    [sent, received]: &'a [Vec<PacketSample>; 2],
    from_ns: u64,
) -> Connection<'a> {
    let near = watched.near();
    Connection {
        observed: Observed {
            local: watched.endpoint(near).to_string(),
            remote: watched.endpoint(near.other()).to_string(),
            local_stack: handshake::stack(&watched.connection, near).0,
            remote_stack: handshake::stack(&watched.connection, near.other()).0,
            ..Observed::default()
        },
        congestion_control: String::new(),
        offered: None,
        every: Duration::from_nanos(watched.every_ns()),
        samples: &[],
        peer_samples: &[],
        packets: ConnectionPackets {
            sent,
            received,
            lives: sides(watched).map(|side| life(watched, side, from_ns)),
            buckets: sides(watched).map(|side| watched.bucket(side)),
            repetition: watched.repetition(near.other()),
        },
        exact: None,
        cpu: ConnectionCpu::default(),
    }
}

/// What it sends and what it receives, seen from the end that stands for it.
fn sides(watched: &Watched) -> [Side; 2] {
    [watched.near(), watched.near().other()]
}

/// From the first payload of either direction to the last of `side`; `None` where the capture's clock does not
/// show how long that was.
fn life(watched: &Watched, side: Side, from_ns: u64) -> Option<TimeInterval> {
    let halves = Side::BOTH.map(|side| watched.connection.half(side));
    if halves.iter().any(|half| half.has_unknown_span()) {
        return None;
    }
    let first_ns = halves.iter().filter_map(|half| half.data_ns()).map(|(first, _)| first).min()?;
    let (_, last_ns) = watched.connection.half(side).data_ns()?;
    let us = |at_ns: u64| at_ns.saturating_sub(from_ns) / 1_000;
    Some(TimeInterval { from_us: us(first_ns), to_us: us(last_ns) })
}

/// From the first SYN to the first payload of either direction.
fn setup_us(watched: &Watched) -> Option<u64> {
    let halves = Side::BOTH.map(|side| watched.connection.half(side));
    if halves.iter().any(|half| half.has_unknown_span()) {
        return None;
    }
    watched.connection.opening(Side::A)?;
    let first_ns = halves.iter().filter_map(|half| half.data_ns()).map(|(first, _)| first).min()?;
    Some(first_ns.saturating_sub(watched.connection.first_ns()) / 1_000)
}

/// Whether the server dropped the handshake's ACK: B is the end that was opened to.
fn unaccepted(watched: &Watched) -> Option<Unaccepted> {
    let (syn_acks, has_data_again) = watched.connection.unaccepted();
    Unaccepted::of(syn_acks, has_data_again, watched.capture_point(Side::B) == CapturePoint::Sender)
}

/// The figures of the packets, without a verdict.
fn flow(watched: &Watched, side: Side, samples: &[PacketSample], from_ns: u64) -> CapturedFlow {
    let half = watched.connection.half(side);
    let counts = half.counts();
    let is_near = side == watched.near();
    let back = watched.connection.half(side.other());
    let last = samples.last();
    let is_silent = last.is_some_and(|last| last.waits.silence_us > 0 && last.unacked_bytes > 0);
    let mut rtts: Vec<u32> =
        samples.iter().filter(|_| is_near).filter_map(|sample| sample.srtt_us.map(u32::from)).collect();
    rtts.sort_unstable();
    let data_ns = half.data_ns();
    let data_us = data_ns.map_or(0, |(from, to)| to.saturating_sub(from) / 1_000);
    let data_us = (!half.has_unknown_span()).then_some(data_us);
    let span_us = life(watched, side, from_ns).map(TimeInterval::length_us);
    let (stack, stack_confidence) = handshake::stack(&watched.connection, side);
    CapturedFlow {
        src: watched.endpoint(side).to_string(),
        dst: watched.endpoint(side.other()).to_string(),
        packets: half.packets(),
        segments: counts.segments,
        bytes: counts.new_bytes,
        goodput_bps: data_us
            .filter(|&us| us >= watched.least_timed_us().max(1))
            .map(|us| counts.new_bytes.saturating_mul(8_000_000) / us),
        start_us: data_ns.map_or(0, |(at_ns, _)| at_ns.saturating_sub(from_ns) / 1_000),
        data_us,
        setup_us: setup_us(watched),
        syns: Side::BOTH.map(|side| watched.connection.opening(side).map_or(0, |syn| syn.sent)),
        unaccepted: unaccepted(watched),
        answers: watched.answers(side).map_or_else(AnswerTimes::default, |(answers, ack_us)| AnswerTimes {
            answers: answers.count,
            least_us: answers.least_us,
            ack_us,
        }),
        verdict: Verdict { span_us, ..Verdict::default() },
        retransmits: u64::from(half.retransmits()),
        retransmits_by_kind: by_kind(half),
        min_rtt_us: watched.path_rtt_us().map(u64::from),
        rwnd_bytes: samples
            .iter()
            .filter_map(|sample| sample.rwnd_bytes.max(sample.rwnd_at_peak_bytes))
            .max()
            .map(u64::from),
        in_flight_bytes: half.largest_flight_bytes(),
        fastest_bps: watched.bottleneck_bps(side),
        stack,
        stack_confidence,
        options: handshake::options(&watched.connection, side),
        counts: handshake::counts(&watched.connection, side),
        ended: ending::ended(&watched.connection, side, is_silent),
        missing: ending::missing(&watched.connection, side),
        events: ending::events(watched, side, from_ns),
        least_timed_us: watched.least_timed_us(),
        is_window_closed: back.window_bytes() == Some(0),
        vantage: watched.capture_point(side),
        acks: back.packets().saturating_sub(back.counts().segments),
        srtt_us: rtts.get(rtts.len() / 2).copied().map(u64::from),
        ..CapturedFlow::default()
    }
}

fn by_kind(half: &Half) -> BTreeMap<String, u64> {
    let counts = half.counts();
    let kinds = [
        ("fast", counts.fast),
        ("rto", counts.rto),
        ("tlp", counts.tlp),
        ("syn", half.syns_again()),
        ("fin", counts.fins()),
        ("spurious", counts.spurious),
    ];
    kinds.into_iter().map(|(kind, count)| (kind.to_owned(), u64::from(count))).collect()
}
