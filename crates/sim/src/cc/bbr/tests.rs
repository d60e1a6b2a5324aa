//! BBR over a toy path: one queue, no loss, an ACK for every segment.

use super::super::tests::connection;
use super::*;
use std::collections::VecDeque;

/// Service time of a segment: 1448 bytes in 100 µs are 116 Mbit/s.
const SERVICE_US: u64 = 100;
const RTT_US: u64 = 20_000;
/// BDP in segments: `RTT_US / SERVICE_US`.
const BDP: u32 = 200;

/// A segment on its way: when its ACK returns, and what was known when it left.
struct Sent {
    acked_us: u64,
    sent_us: u64,
    delivered: u64,
    delivered_us: u64,
}

/// A sender with its path.
struct Toy {
    bbr: Bbr,
    c: Connection,
    path: VecDeque<Sent>,
    link_free_us: u64,
    next_send_us: u64,
}

impl Toy {
    fn new(seed: u64) -> Self {
        let (mut bbr, mut c) = (Bbr::new(Seed::new(seed)), connection());
        bbr.init(&mut c);
        Self { bbr, c, path: VecDeque::new(), link_free_us: 0, next_send_us: 0 }
    }

    /// Runs until `end_us`, a microsecond a step.
    fn run(&mut self, end_us: u64, mut watch: impl FnMut(&Bbr, &Connection)) {
        while self.c.now.micros() < end_us {
            let now_us = self.c.now.micros() + 1;
            self.c.now = Time::from_nanos(now_us * 1_000);
            while self.path.front().is_some_and(|sent| sent.acked_us <= now_us) {
                self.acknowledge(now_us);
                watch(&self.bbr, &self.c);
            }
            self.send(now_us);
        }
    }

    fn send(&mut self, now_us: u64) {
        while self.c.in_flight < self.c.cwnd && self.next_send_us <= now_us {
            self.link_free_us = self.link_free_us.max(now_us) + SERVICE_US;
            self.path.push_back(Sent {
                acked_us: self.link_free_us + RTT_US,
                sent_us: now_us,
                delivered: self.c.delivered,
                delivered_us: self.c.delivered_time.micros(),
            });
            self.c.in_flight += 1;
            let gap_us = u64::from(self.c.mss) * 1_000_000 / self.c.pacing_rate;
            self.next_send_us = self.next_send_us.max(now_us) + gap_us;
            self.c.pacing_time = Time::from_nanos(self.next_send_us * 1_000);
        }
    }

    fn acknowledge(&mut self, now_us: u64) {
        let Some(sent) = self.path.pop_front() else { return };
        let prior_in_flight = self.c.in_flight;
        self.c.in_flight -= 1;
        self.c.delivered += 1;
        self.c.delivered_time = self.c.now;
        let rtt_us = u32::try_from(now_us - sent.sent_us).ok();
        let sample = RateSample {
            prior_delivered: sent.delivered,
            delivered: Some(self.c.delivered - sent.delivered),
            interval_us: (now_us - sent.delivered_us).max(now_us - sent.sent_us),
            rtt_us,
            acked_sacked: 1,
            prior_in_flight,
            ..RateSample::default()
        };
        self.bbr.cong_control(&mut self.c, &sample);
    }
}

#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let mut toy = Toy::new(1);
    let mut modes = vec![Mode::Startup];
    toy.run(1_500_000, |bbr, _| {
        if modes.last() != Some(&bbr.mode) {
            modes.push(bbr.mode);
        }
    });
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBw]);
    let bw = toy.bbr.max_bw.get();
    let path = BW_UNIT / SERVICE_US;
    assert!(bw.abs_diff(path) * 100 < path, "{bw} of {path}");
    assert!((RTT_US..RTT_US + 2 * SERVICE_US).contains(&u64::from(toy.bbr.min_rtt_us)));
}

#[test]
fn the_gain_cycle_probes_drains_and_cruises() {
    let mut toy = Toy::new(1);
    toy.run(1_000_000, |_, _| {});
    let mut gains = Vec::new();
    toy.run(1_700_000, |bbr, _| {
        if gains.last() != Some(&bbr.pacing_gain) {
            gains.push(bbr.pacing_gain);
        }
    });
    let after_probe = gains.iter().position(|&gain| gain == CYCLE_GAINS[0]).expect("a probe");
    assert_eq!(gains[after_probe..after_probe + 3], [CYCLE_GAINS[0], CYCLE_GAINS[1], CYCLE_GAINS[2]]);
}

#[test]
fn the_first_phase_depends_on_the_seed_and_is_never_the_drain() {
    let phase = |seed| {
        let mut bbr = Bbr::new(Seed::new(seed));
        bbr.enter_probe_bw(&connection());
        bbr.cycle_index
    };
    let mut phases: Vec<usize> = (0..200).map(phase).collect();
    assert_eq!(phase(7), phase(7));
    phases.sort_unstable();
    phases.dedup();
    assert_eq!(phases, [0, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn after_ten_seconds_the_flight_is_cut_for_200_ms() {
    let mut toy = Toy::new(1);
    let (mut first_us, mut last_us, mut least) = (0, 0, u32::MAX);
    toy.run(12_000_000, |bbr, c| {
        if bbr.mode == Mode::ProbeRtt {
            first_us = if first_us == 0 { c.now.micros() } else { first_us };
            last_us = c.now.micros();
            least = least.min(c.in_flight);
        }
    });
    assert!((9_900_000..11_500_000).contains(&first_us), "{first_us}");
    assert!((200_000..300_000).contains(&(last_us - first_us)), "{}", last_us - first_us);
    assert!(least <= CWND_MIN, "{least}");
    assert!(toy.c.cwnd > BDP, "cwnd returns: {}", toy.c.cwnd);
}

/// A least round trip that is only met again, as by a flow that a window holds, does not count as news.
#[test]
fn an_equal_round_trip_does_not_put_off_the_probe() {
    let mut c = connection();
    let mut bbr = Bbr::new(Seed::new(1));
    bbr.init(&mut c);
    for round in 1..=510_u64 {
        c.now = Time::from_nanos(round * 20_000_000);
        let sample = RateSample { rtt_us: Some(20_000), acked_sacked: 1, ..RateSample::default() };
        bbr.cong_control(&mut c, &sample);
        assert_eq!(bbr.mode == Mode::ProbeRtt, c.now.micros() > 10_000_000, "round {round}");
    }
}

#[test]
fn the_initial_rate_is_the_initial_window_over_the_round_trip() {
    let toy = Toy::new(1);
    // 10 × 1448 bytes in 20 ms, gain 739/256, less one per cent.
    assert!((2_060_000..2_080_000).contains(&toy.c.pacing_rate), "{}", toy.c.pacing_rate);
    assert!(toy.c.needs_pacing);
}

#[test]
fn a_recovery_conserves_packets_and_ends_with_the_old_window() {
    let mut toy = Toy::new(1);
    toy.run(1_000_000, |_, _| {});
    let before = toy.c.cwnd;
    toy.bbr.ssthresh(&toy.c);
    toy.c.ca_state = CaState::Recovery;
    let in_flight = toy.c.in_flight - 21;
    toy.c.in_flight = in_flight;
    let sample = RateSample { losses: 20, acked_sacked: 1, ..RateSample::default() };
    toy.bbr.cong_control(&mut toy.c, &sample);
    assert_eq!(toy.c.cwnd, in_flight + 1);
    toy.c.ca_state = CaState::Open;
    toy.bbr.cong_control(&mut toy.c, &RateSample { acked_sacked: 1, ..RateSample::default() });
    assert!(toy.c.cwnd.abs_diff(before) <= 3, "{} of {before}", toy.c.cwnd);
}

/// Two intervals of five round trips each that lose a third and deliver the same.
#[test]
fn a_policer_is_found_and_its_rate_kept() {
    let mut c = connection();
    let mut bbr = Bbr::new(Seed::new(1));
    bbr.init(&mut c);
    for round in 1..=20_u64 {
        c.now = Time::from_nanos(round * 20_000_000);
        c.delivered_time = c.now;
        c.delivered += 100;
        c.lost += 50;
        let sample = RateSample {
            prior_delivered: c.delivered - 100,
            delivered: Some(100),
            interval_us: 20_000,
            rtt_us: Some(20_000),
            losses: 50,
            acked_sacked: 100,
            prior_in_flight: 150,
            ..RateSample::default()
        };
        bbr.cong_control(&mut c, &sample);
    }
    let used = bbr.long_term.bw_in_use().expect("a policer");
    assert_eq!(used, 100 * BW_UNIT / 20_000);
}

#[test]
fn slow_flows_send_single_segments() {
    let c = Connection { pacing_rate: 149_999, ..connection() };
    assert_eq!(control::min_tso_segs(&c), 1);
    assert_eq!(control::min_tso_segs(&Connection { pacing_rate: 150_000, ..c }), 2);
}
