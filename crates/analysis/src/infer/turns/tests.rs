use super::*;
use crate::ground::thresholds::STANDARD;
use crate::infer::synthetic::of_sender;
use pipefill_core::tcp_info::TcpInfo;

const SEGMENT: u64 = 1_448;

/// What a socket saw: when it sent and received payload, and when something of its own was outstanding.
#[derive(Default)]
struct Socket {
    sent_us: Vec<u64>,
    heard_us: Vec<u64>,
    busy_us: Vec<(u64, u64)>,
    /// When less than a segment waited behind one that was out.
    held_us: Vec<(u64, u64)>,
    rtt_us: u64,
    /// Of each segment.
    payload: u64,
}

impl Socket {
    fn at(&self, t_us: u64) -> TcpSample {
        let until = |events: &[u64]| events.iter().filter(|&&at| at <= t_us).count() as u32;
        let age = |events: &[u64]| t_us - events.iter().copied().filter(|&at| at <= t_us).max().unwrap_or(0);
        let within = |spans: &[(u64, u64)]| spans.iter().any(|&(from, to)| (from..to).contains(&t_us));
        let info = TcpInfo {
            mss_bytes: SEGMENT as u32,
            cwnd_bytes: Some(10 * SEGMENT),
            rwnd_bytes: Some(65_535),
            min_rtt_us: Some(self.rtt_us as u32),
            unacked_bytes: if within(&self.busy_us) { SEGMENT } else { 0 },
            notsent_bytes: Some(if within(&self.held_us) { 300 } else { 0 }),
            data_segs_out: Some(until(&self.sent_us)),
            data_segs_in: Some(until(&self.heard_us)),
            bytes_received: Some(u64::from(until(&self.heard_us)) * self.payload),
            bytes_acked: Some(u64::from(until(&self.sent_us)) * self.payload),
            last_data_sent_us: Some(age(&self.sent_us) / 1_000 * 1_000),
            last_data_recv_us: Some(age(&self.heard_us) / 1_000 * 1_000),
            busy_us: Some(self.busy_us.iter().map(|&(from, to)| to.min(t_us).saturating_sub(from)).sum()),
            ..TcpInfo::default()
        };
        of_sender(t_us, info)
    }

    /// Its waits by samples of `end` each 10 ms, as shares of the time.
    fn waits(&self, end: StreamEnd) -> [f64; 5] {
        let last = self.sent_us.iter().chain(&self.heard_us).max().copied().unwrap_or(0);
        let mut turns = SocketTurns::new(end, &STANDARD);
        (0..last / 10_000).for_each(|at| turns.observe(&self.at(at * 10_000)));
        let found = turns.finish();
        let ends: Vec<u64> =
            found.iter().flat_map(|wait| [wait.interval.from_us, wait.interval.to_us]).collect();
        assert!(ends.is_sorted(), "one after the other");
        let sums = turns.sums();
        let found_us: u64 = found.iter().map(|wait| wait.interval.length_us()).sum();
        assert_eq!(found_us, sums.total_us(), "sums are those of the waits");
        let share = |us: u64| us as f64 / last as f64;
        [sums.request_us, sums.response_us, sums.turns_us, sums.rate_us, sums.nagle_us].map(share)
    }
}

/// A hundred requests one after the other, of one segment each way: as the sender of the answers sees them, and the one who asks.
fn requests(rtt_us: u64, think_us: u64, pause_us: u64) -> [Socket; 2] {
    let mut ends = [Socket { rtt_us, ..Socket::default() }, Socket { rtt_us, ..Socket::default() }];
    let mut asked_us = 0;
    for _ in 0..100 {
        let answered_us = asked_us + think_us;
        ends[0].heard_us.push(asked_us);
        ends[0].sent_us.push(answered_us);
        ends[0].busy_us.push((answered_us, answered_us + rtt_us));
        ends[1].sent_us.push(asked_us);
        ends[1].busy_us.push((asked_us, asked_us + rtt_us));
        ends[1].heard_us.push(answered_us + rtt_us);
        asked_us = answered_us + rtt_us + pause_us;
    }
    ends
}

fn assert_shares(found: [f64; 5], expected: [f64; 5], what: &str) {
    let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.07);
    assert!(is_near, "{what}: {found:.2?}, not {expected:.2?}");
}

#[test]
fn a_turn_takes_a_round_trip_and_the_rest_is_who_is_waited_for() {
    for (rtt_ms, think_ms, pause_ms) in
        [(30, 0, 0), (30, 20, 0), (30, 20, 50), (150, 50, 0), (2, 18, 0), (5, 0, 15)]
    {
        let all = (rtt_ms + think_ms + pause_ms) as f64;
        let expected = [pause_ms, think_ms, rtt_ms, 0, 0].map(|ms| f64::from(ms) / all);
        let ends = requests(rtt_ms as u64 * 1_000, think_ms as u64 * 1_000, pause_ms as u64 * 1_000);
        for (socket, end) in ends.iter().zip(StreamEnd::BOTH) {
            assert_shares(socket.waits(end), expected, &format!("{rtt_ms} {think_ms} {pause_ms} {end:?}"));
        }
    }
}

#[test]
fn who_goes_on_unasked_has_its_own_pace() {
    let sent_us: Vec<u64> = (0..100).map(|burst| burst * 100_000).collect();
    let busy_us = sent_us.iter().map(|&at| (at, at + 20_000)).collect();
    let socket = Socket { sent_us, busy_us, rtt_us: 20_000, ..Socket::default() };
    assert_shares(socket.waits(StreamEnd::Sender), [0.0, 0.0, 0.0, 0.8, 0.0], "bursts");
}

#[test]
fn pauses_of_several_timers_show_at_the_receiver_too() {
    let heard_us: Vec<u64> = (0..20).map(|burst| burst * 1_000_000).collect();
    let socket = Socket { heard_us, rtt_us: 20_000, payload: SEGMENT, ..Socket::default() };
    assert_shares(socket.waits(StreamEnd::Receiver), [0.0, 0.0, 0.0, 0.95, 0.0], "the last one is not over");
}

#[test]
fn requests_that_overlap_are_one_turn_and_what_opens_a_window_is_none() {
    let each_us: Vec<u64> = (0..1_000).map(|at| at * 10_000).collect();
    for (payload, turns) in [(200, 1.0), (36, 0.0)] {
        let socket = Socket {
            heard_us: each_us.clone(),
            sent_us: each_us.clone(),
            busy_us: vec![(0, 10_000_000)],
            rtt_us: 40_000,
            payload,
            ..Socket::default()
        };
        for end in StreamEnd::BOTH {
            let what = format!("four of {payload} B at a time, {end:?}");
            assert_shares(socket.waits(end), [0.0, 0.0, turns, 0.0, 0.0], &what);
        }
    }
}

/// An upload in whose round trips of 90 ms the other side opens a window: what is out never falls to 0.
#[test]
fn what_is_said_while_data_stays_out_ends_no_turn() {
    let turns_of = |out: u64| {
        let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD);
        for at in 0..500_u64 {
            let info = TcpInfo {
                mss_bytes: SEGMENT as u32,
                cwnd_bytes: Some(200 * SEGMENT),
                rwnd_bytes: Some(1_000_000),
                min_rtt_us: Some(90_000),
                unacked_bytes: out * SEGMENT,
                notsent_bytes: Some(0),
                data_segs_out: Some(at as u32 * 5),
                data_segs_in: Some((at / 12) as u32),
                bytes_received: Some(at / 12 * 400),
                last_data_sent_us: Some(0),
                last_data_recv_us: Some(at % 12 * 10_000),
                busy_us: Some(at * 10_000),
                ..TcpInfo::default()
            };
            turns.observe(&of_sender(at * 10_000, info));
        }
        let _waits = turns.finish();
        turns.sums().turns
    };
    assert_eq!([turns_of(40), turns_of(6)], [0; 2]);
    assert!(turns_of(5) > 30, "all that is out was sent since the sample before");
}

/// Twelve turns of 10 ms, and a request that a timer sends again after 210 ms, in each 310 ms.
#[test]
fn what_waits_for_a_timer_beside_turns_is_none_of_them() {
    let turns_of = |has_lost: bool| {
        let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD);
        for at in 0..620_u64 {
            let (cycle, part) = (at / 31, at % 31);
            let waits = part >= 10;
            let requests = (cycle * 12 + part.min(10)) as u32;
            let info = TcpInfo {
                mss_bytes: SEGMENT as u32,
                cwnd_bytes: Some(10 * SEGMENT),
                rwnd_bytes: Some(1_000_000),
                min_rtt_us: Some(10_000),
                unacked_bytes: SEGMENT,
                notsent_bytes: Some(0),
                data_segs_out: Some(requests),
                data_segs_in: Some(requests),
                retransmits: if has_lost { 1 + cycle as u32 } else { 0 },
                last_data_sent_us: Some(if waits { (part - 10) * 10_000 } else { 0 }),
                last_data_recv_us: Some(if waits { (part - 10) * 10_000 } else { 0 }),
                busy_us: Some(at * 10_000),
                ..TcpInfo::default()
            };
            turns.observe(&of_sender(at * 10_000, info));
        }
        let waits = turns.finish();
        assert!(waits.windows(2).all(|two| two[0].interval.to_us <= two[1].interval.from_us), "{waits:?}");
        let is_of_turn = |wait: &&Wait| has_lost && wait.waiting == Waiting::Turns;
        let late = waits.iter().filter(is_of_turn).filter(|wait| {
            let middle_us = (wait.interval.from_us + wait.interval.to_us) / 2;
            (150_000..300_000).contains(&(middle_us % 310_000))
        });
        assert_eq!(late.count(), 0, "no turn lies where the timer is awaited: {waits:?}");
        turns.sums().turns_us as f64 / 6.2e6
    };
    assert!((0.35..0.42).contains(&turns_of(true)), "{}", turns_of(true));
    assert!(turns_of(false) > 0.42, "an answer may take so long: {}", turns_of(false));
}

#[test]
fn less_than_a_segment_that_waits_for_a_late_ack_is_held_by_nagle() {
    let (rtt_us, delay_us) = (2_000, 40_000);
    let mut socket = Socket { rtt_us, ..Socket::default() };
    for at in (0..100).map(|request| request * (2 * rtt_us + delay_us)) {
        let acked_us = at + rtt_us + delay_us;
        socket.heard_us.push(at);
        socket.sent_us.extend([at, acked_us]);
        socket.busy_us.push((at, acked_us + rtt_us));
        socket.held_us.push((at, acked_us));
    }
    assert_shares(socket.waits(StreamEnd::Sender), [0.0, 0.0, 0.05, 0.0, 0.95], "40 of 44 ms");
    for (nodelay, held) in [(false, 0.9..1.0), (true, 0.0..0.01)] {
        let options = OptionsSet { nodelay: Some(nodelay), ..OptionsSet::default() };
        let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD).knowing(Some(options));
        (0..4_400).for_each(|at| turns.observe(&socket.at(at * 1_000)));
        turns.finish();
        let share = turns.sums().nagle_us as f64 / 4.4e6;
        assert!(held.contains(&share), "TCP_NODELAY {nodelay}: {share:.2}");
    }
}

/// Two segments, of which the second waits for the ACK of the first, and an answer: at 2 ms one sample has the ACK, the second segment, the answer and
/// the next message. A server that answers after as long, of messages of one segment, delays no ACK.
#[test]
fn a_late_ack_is_seen_where_the_answer_follows_in_the_same_sample() {
    let of = |rtt_us: u64, segments: u64| {
        let mut socket = Socket { rtt_us, ..Socket::default() };
        for at in (0..100).map(|message| message * (segments * rtt_us + 40_000)) {
            let acked_us = at + rtt_us + 40_000;
            socket.sent_us.extend([at, acked_us].into_iter().take(segments as usize));
            socket.heard_us.push(at + segments * rtt_us + 40_000);
            socket.busy_us.push((at, at + segments * rtt_us + 40_000));
        }
        let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD);
        let last_us = socket.sent_us.iter().max().copied().unwrap_or(0);
        (0..last_us / 10_000).for_each(|at| turns.observe(&socket.at(at * 10_000)));
        turns.finish();
        turns.sums().delayed_ack_us as f64 / last_us as f64
    };
    for rtt_us in [2_000, 5_000, 30_000] {
        let share = of(rtt_us, 2);
        let expected = (rtt_us + 40_000) as f64 / (2 * rtt_us + 40_000) as f64;
        assert!((share - expected).abs() < 0.1, "{rtt_us} µs: {share:.2}, not {expected:.2}");
        let share = of(rtt_us, 1);
        assert!(share < 0.01, "{rtt_us} µs, an answer: {share:.2}");
    }
}

/// A segment each 400 ms, of which what is sent again 200 ms later waited for the retransmission timer.
#[test]
fn what_a_timer_sends_again_waited_for_no_late_ack() {
    let delayed = |is_sent_again: bool| {
        let mut socket = Socket { rtt_us: 20_000, ..Socket::default() };
        for at in (0..50).map(|segment| segment * 400_000) {
            socket.sent_us.extend([at, at + 200_000]);
            socket.busy_us.push((at, at + 220_000));
        }
        let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD);
        for t_us in (0..19_600_000).step_by(10_000) {
            let mut row = socket.at(t_us);
            row.info.retransmits = if is_sent_again { ((t_us + 200_000) / 400_000) as u32 } else { 0 };
            turns.observe(&row);
        }
        turns.finish();
        turns.sums().delayed_ack_us
    };
    assert!(delayed(false) > 5_000_000, "{}", delayed(false));
    assert_eq!(delayed(true), 0);
}

#[test]
fn a_socket_without_the_ages_of_its_payload_shows_no_turns() {
    let [socket, _] = requests(30_000, 20_000, 0);
    let mut turns = SocketTurns::new(StreamEnd::Sender, &STANDARD);
    for at in 0..100 {
        let mut row = socket.at(at * 10_000);
        row.info.last_data_sent_us = None;
        turns.observe(&row);
    }
    assert!(turns.finish().is_empty());
}

#[test]
fn counters_and_times_that_run_backwards_or_are_huge_do_no_harm() {
    let [socket, _] = requests(30_000, 20_000, 0);
    for end in StreamEnd::BOTH {
        let mut turns = SocketTurns::new(end, &STANDARD);
        for t_us in [0, 500_000, 100_000, 900_000, u64::MAX / 2, 5, u64::MAX, 7, u64::MAX] {
            let mut row = socket.at(t_us);
            let is_even = t_us % 2 == 0;
            row.info.data_segs_out = Some(if is_even { 9 } else { u32::MAX });
            row.info.data_segs_in = Some(if is_even { u32::MAX } else { 3 });
            row.info.unacked_bytes = if is_even { u64::MAX } else { 1 };
            row.info.busy_us = Some(if is_even { u64::MAX } else { 0 });
            row.info.bytes_received = Some(if is_even { u64::MAX } else { 0 });
            row.info.last_data_sent_us = Some(if is_even { 0 } else { u64::MAX });
            turns.observe(&row);
        }
        assert!(turns.finish().iter().all(|wait| wait.interval.from_us < wait.interval.to_us), "{end:?}");
    }
}

/// A receiver's waits are kept until its samples end.
#[test]
fn what_is_kept_of_a_receiver_grows_with_the_logarithm_of_its_time() {
    let age = |t_us: u64, every_us: u64| Some(t_us % every_us);
    let kept = |hours: u64| {
        let mut turns = SocketTurns::new(StreamEnd::Receiver, &STANDARD);
        for t_us in
            (0..hours * 3_600).flat_map(|second| (0..10).map(move |part| second * 1_000_000 + part * 100_000))
        {
            let mut row = Socket { rtt_us: 30_000, ..Socket::default() }.at(t_us);
            row.info.data_segs_out = Some((t_us / 500_000) as u32);
            row.info.data_segs_in = Some((t_us.saturating_sub(130_000) / 500_000) as u32);
            row.info.last_data_sent_us = age(t_us, 500_000);
            row.info.last_data_recv_us = age(t_us + 370_000, 500_000);
            turns.observe(&row);
        }
        turns.finish().len()
    };
    // Twice the time doubles the interval once.
    let [four, eight, sixteen] = [4, 8, 16].map(kept);
    let step = PACKET_SAMPLES_MAX + PACKET_SAMPLES_MAX / 10;
    assert!(eight <= four + step && sixteen <= eight + step, "{four}, {eight}, {sixteen}");
}

/// Requests of eight commands, answered at once: of round trips that do not divide the interval, one more ends in some intervals than fit into it.
#[test]
fn turns_that_do_not_divide_an_interval_are_no_overlapping_ones() {
    for rtt_us in [30_000, 70_000, 80_000, 90_000, 130_000, 150_000] {
        let times: Vec<u64> = (0..5_000_000 / rtt_us).map(|turn| 1_000 + turn * (rtt_us + 150)).collect();
        let socket = Socket {
            heard_us: times.iter().skip(1).copied().collect(),
            busy_us: vec![(1_000, 5_000_000)],
            sent_us: times,
            rtt_us,
            payload: 40,
            ..Socket::default()
        };
        let [_, _, turns, ..] = socket.waits(StreamEnd::Sender);
        assert!(turns > 0.75, "{turns} with {rtt_us} µs");
    }
}
