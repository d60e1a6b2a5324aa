//! What holds for every algorithm, and the laws of Reno and HyStart.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

/// A fresh connection with the initial window, a round trip of 20 ms and 1448-byte segments.
pub(super) fn connection() -> Connection {
    Connection {
        now: Time::ZERO,
        cwnd: 10,
        cwnd_cnt: 0,
        ssthresh: INFINITE_SSTHRESH,
        cwnd_clamp: u32::MAX,
        prior_cwnd: 0,
        mss: 1448,
        srtt_us: 20_000,
        min_rtt_us: 20_000,
        delivered: 1,
        delivered_ce: 0,
        has_ecn: false,
        lost: 0,
        delivered_time: Time::ZERO,
        in_flight: 0,
        packets_out: 0,
        snd_una: 0,
        snd_nxt: 0,
        is_cwnd_limited: true,
        app_limited: false,
        mark_app_limited: false,
        ca_state: CaState::Open,
        pacing_rate: u64::MAX,
        max_pacing_rate: u64::MAX,
        needs_pacing: false,
        pacing_time: Time::ZERO,
        last_send: Time::ZERO,
        gso_max_bytes: 65_536,
    }
}

fn algorithm(name: &str) -> Box<dyn CongestionControl> {
    by_name(name, Seed::new(1)).expect("a known name")
}

#[test]
fn names_are_the_kernel_s() {
    for name in ["reno", "cubic", "bbr"] {
        assert_eq!(algorithm(name).name(), name);
    }
    assert!(by_name("vegas", Seed::new(1)).is_none());
}

#[test]
fn slow_start_doubles_and_stops_at_ssthresh() {
    let mut c = Connection { ssthresh: 35, ..connection() };
    let mut reno = algorithm("reno");
    reno.cong_avoid(&mut c, 10);
    assert_eq!(c.cwnd, 20);
    reno.cong_avoid(&mut c, 20);
    assert_eq!((c.cwnd, c.cwnd_cnt), (35, 5), "what is left counts for congestion avoidance");
}

#[test]
fn reno_adds_one_segment_a_round_trip() {
    let mut c = Connection { cwnd: 100, ssthresh: 50, ..connection() };
    let mut reno = algorithm("reno");
    for round in 1..=20 {
        for _ in 0..c.cwnd {
            reno.cong_avoid(&mut c, 1);
        }
        assert_eq!(c.cwnd, 100 + round);
    }
    assert_eq!(reno.ssthresh(&c), 60);
}

#[test]
fn a_window_that_was_not_used_does_not_grow() {
    for name in ["reno", "cubic"] {
        let mut c = Connection { is_cwnd_limited: false, ..connection() };
        algorithm(name).cong_avoid(&mut c, 10);
        assert_eq!(c.cwnd, 10, "{name}");
    }
}

#[test]
fn an_undo_returns_to_the_window_before() {
    for name in ["reno", "cubic"] {
        let c = Connection { cwnd: 20, prior_cwnd: 50, ..connection() };
        assert_eq!(algorithm(name).undo_cwnd(&c), 50, "{name}");
    }
}

#[test]
fn cubic_keeps_seven_tenths_and_converges_fast() {
    let mut cubic = algorithm("cubic");
    let c = Connection { cwnd: 1000, ..connection() };
    assert_eq!(cubic.ssthresh(&c), 700);
    let mut below = Connection { cwnd: 900, ssthresh: 630, ..connection() };
    assert_eq!(cubic.ssthresh(&below), 630);
    // W_max is 900 × (1 + 0.7) / 2 = 765 now, so that the curve is flat close above it.
    below.cwnd = 765;
    below.now = Time::ZERO.after(Duration::from_secs(1));
    cubic.cong_avoid(&mut below, 765);
    assert!(below.cwnd <= 766, "{}", below.cwnd);
}

/// A round of ACKs, `spacing` apart, each with the round trip `rtt_us`.
fn round(cubic: &mut dyn CongestionControl, c: &mut Connection, acks: u32, spacing: Duration, rtt_us: u32) {
    c.snd_nxt = c.snd_una + u64::from(acks) * u64::from(c.mss);
    for _ in 0..acks {
        c.now = c.now.after(spacing);
        c.snd_una += u64::from(c.mss);
        cubic.pkts_acked(c, &AckSample { acked: 1, rtt_us: Some(rtt_us), in_flight: c.cwnd });
    }
}

#[test]
fn hystart_leaves_slow_start_when_the_delay_has_grown() {
    let spacing = Duration::from_millis(3);
    let mut cubic = algorithm("cubic");
    let mut c = Connection { cwnd: 100, ..connection() };
    cubic.init(&mut c);
    round(cubic.as_mut(), &mut c, 20, spacing, 80_000);
    assert_eq!(c.ssthresh, INFINITE_SSTHRESH);
    // An eighth of 80 ms is the threshold; eight samples are gathered first.
    round(cubic.as_mut(), &mut c, 9, spacing, 89_000);
    assert_eq!(c.ssthresh, INFINITE_SSTHRESH);
    round(cubic.as_mut(), &mut c, 20, spacing, 91_000);
    assert_eq!(c.ssthresh, 100);
}

#[test]
fn hystart_leaves_slow_start_when_a_train_fills_half_of_the_round_trip() {
    let spacing = Duration::from_micros(100);
    let ssthresh_after = |acks, needs_pacing| {
        let mut cubic = algorithm("cubic");
        let mut c = Connection { cwnd: 1000, needs_pacing, ..connection() };
        cubic.init(&mut c);
        round(cubic.as_mut(), &mut c, acks, spacing, 80_000);
        c.ssthresh
    };
    // The round begins with its first ACK; 40 ms are 400 spacings.
    assert_eq!([401, 402].map(|acks| ssthresh_after(acks, false)), [INFINITE_SSTHRESH, 1000]);
    assert_eq!([801, 802].map(|acks| ssthresh_after(acks, true)), [INFINITE_SSTHRESH, 1000]);
}

#[test]
fn hystart_leaves_small_windows_alone() {
    let mut cubic = algorithm("cubic");
    let mut c = Connection { cwnd: 15, ..connection() };
    cubic.init(&mut c);
    round(cubic.as_mut(), &mut c, 2000, Duration::from_micros(100), 80_000);
    assert_eq!(c.ssthresh, INFINITE_SSTHRESH);
}

/// What can happen to an algorithm.
#[derive(Debug, Clone, Copy)]
enum Step {
    Ack { acked: u32, rtt_us: u32, losses: u32 },
    Loss,
    Timeout,
    Recovered,
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    let ack = (1_u32..200, 100_u32..400_000, 0_u32..3);
    prop_oneof![
        8 => ack.prop_map(|(acked, rtt_us, losses)| Step::Ack { acked, rtt_us, losses }),
        1 => Just(Step::Loss),
        1 => Just(Step::Timeout),
        2 => Just(Step::Recovered),
        1 => Just(Step::Idle),
    ]
}

fn change_state(cc: &mut dyn CongestionControl, c: &mut Connection, state: CaState) {
    cc.set_state(c, state);
    c.ca_state = state;
}

fn reduce(cc: &mut dyn CongestionControl, c: &mut Connection, cwnd: u32, state: CaState) {
    c.prior_cwnd = c.cwnd;
    c.ssthresh = cc.ssthresh(c);
    change_state(cc, c, state);
    c.cwnd = if cwnd == 0 { c.ssthresh.min(c.cwnd) } else { cwnd };
}

fn acknowledge(cc: &mut dyn CongestionControl, c: &mut Connection, acked: u32, rtt_us: u32, losses: u32) {
    c.snd_una += u64::from(acked) * u64::from(c.mss);
    c.snd_nxt = c.snd_una + u64::from(c.cwnd) * u64::from(c.mss);
    c.lost += u64::from(losses);
    c.delivered += u64::from(acked);
    c.delivered_time = c.now;
    c.in_flight = c.cwnd.saturating_sub(acked);
    cc.pkts_acked(c, &AckSample { acked, rtt_us: Some(rtt_us), in_flight: c.in_flight });
    let sample = RateSample {
        prior_delivered: c.delivered.saturating_sub(u64::from(c.cwnd)),
        delivered: Some(u64::from(c.cwnd)),
        interval_us: u64::from(rtt_us),
        rtt_us: Some(rtt_us),
        losses,
        acked_sacked: acked,
        prior_in_flight: c.cwnd,
        ..RateSample::default()
    };
    if cc.owns_cwnd() {
        cc.cong_control(c, &sample);
    } else if c.ca_state == CaState::Open {
        cc.cong_avoid(c, acked);
    }
}

fn apply(cc: &mut dyn CongestionControl, c: &mut Connection, step: Step) {
    c.now = c.now.after(Duration::from_millis(7));
    match step {
        Step::Ack { acked, rtt_us, losses } => acknowledge(cc, c, acked, rtt_us, losses),
        Step::Loss => reduce(cc, c, 0, CaState::Recovery),
        Step::Timeout => reduce(cc, c, 1, CaState::Loss),
        Step::Recovered => change_state(cc, c, CaState::Open),
        Step::Idle => {
            c.now = c.now.after(Duration::from_secs(2));
            c.app_limited = true;
            cc.cwnd_event(c, Event::TxStart);
        }
    }
}

proptest! {
    #[test]
    fn windows_stay_in_their_bounds(
        name in prop_oneof![Just("reno"), Just("cubic"), Just("bbr")],
        clamp in 20_u32..5_000,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut cc = algorithm(name);
        let mut c = Connection { cwnd_clamp: clamp, ..connection() };
        cc.init(&mut c);
        for step in steps {
            apply(cc.as_mut(), &mut c, step);
            prop_assert!(c.cwnd >= 1 && c.cwnd <= clamp, "{name}: cwnd {} after {step:?}", c.cwnd);
            prop_assert!(c.ssthresh >= 2, "{name}: ssthresh {} after {step:?}", c.ssthresh);
            prop_assert!(c.pacing_rate > 0, "{name}: no pacing rate after {step:?}");
        }
    }
}
