//! The sending end on its own: a script of ACKs and of time that passes, and what leaves.
//!
//! Segments are numbered from 0, times are milliseconds.

use super::limits::FIRST_BYTE;
use super::sender::{Sender, SenderSettings};
use crate::cc;
use crate::host::Host;
use crate::options::SimOptions;
use crate::segment::{Body, Header, Range, Sacks};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::{Seed, Time};
use pipefill_link::jiffies;
use std::time::Duration;

const SEGMENT: u64 = 1448;
const WINDOW: u64 = 1_000_000;

struct Script {
    sender: Sender,
    now: Time,
}

impl Script {
    /// Reno, connected with a round trip of 100 ms.
    fn new() -> Self {
        let host = Host::usual(SimOptions { gso: false, ..SimOptions::default() });
        let cc = cc::by_name("reno", Seed::new(1)).expect("known");
        let settings =
            SenderSettings { host, cc, sndbuf: Some(10_000_000), max_pacing_rate: None, nodelay: false };
        let mut script = Self { sender: Sender::new(settings), now: Time::from_nanos(1_000_000_000) };
        script.sender.established(script.now, WINDOW, Some(100_000));
        script
    }

    /// The application writes so many segments; returns those that leave at once.
    fn write(&mut self, segments: u64) -> Vec<u64> {
        self.sender.now = self.now;
        assert_eq!(self.sender.write(segments * SEGMENT), segments * SEGMENT);
        self.sender.push_pending();
        self.left()
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_millis(milliseconds));
        self
    }

    /// An ACK for all segments before `next`, with SACK blocks `[from, to)`, which echoes what was sent now.
    fn ack(&mut self, next: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.answer(next, blocks, WINDOW, self.now)
    }

    fn answer(&mut self, next: u64, blocks: &[(u64, u64)], window: u64, echoed: Time) -> Vec<u64> {
        let mut sacks = Sacks::default();
        for &(from, to) in blocks {
            sacks.push(Range { start: seq_of(from), end: seq_of(to) });
        }
        let (ts, ts_echo) = (jiffies::stamp(self.now), jiffies::stamp(echoed));
        self.sender.on_ack(
            self.now,
            &Header { seq: FIRST_BYTE, ack: seq_of(next), window, ts, ts_echo, sacks, ecn: 0 },
        );
        self.left()
    }

    /// The next timer goes off; how long it took, and what left.
    fn timer(&mut self) -> (u64, Vec<u64>) {
        let at = self.sender.timers.next().expect("a timer");
        let waited = u64::try_from(at.since(self.now).as_millis()).expect("soon");
        self.now = at;
        self.sender.on_timer(at);
        (waited, self.left())
    }

    fn left(&mut self) -> Vec<u64> {
        let number = |body| {
            if let Body::Data(data) = body { Some((data.header.seq - FIRST_BYTE) / SEGMENT) } else { None }
        };
        self.sender.outbox.drain(..).filter_map(|(_, body)| number(body)).collect()
    }

    /// cwnd and ssthresh.
    fn windows(&self) -> (u32, u32) {
        (self.sender.conn.cwnd, self.sender.conn.ssthresh)
    }

    fn state(&self) -> CaState {
        self.sender.conn.ca_state
    }
}

fn seq_of(segment: u64) -> u64 {
    FIRST_BYTE + segment * SEGMENT
}

/// RFC 3042, section 2: a new segment for each of the first two duplicates, cwnd as it was; RFC 8985, 6.2: the third shows the
/// loss, and what is lost goes first.
#[test]
fn limited_transmit_keeps_the_ack_clock_until_the_loss_is_certain() {
    let mut script = Script::new();
    assert_eq!(script.write(30), (0..10).collect::<Vec<_>>());
    script.wait(100);
    assert_eq!(script.ack(0, &[(1, 2)]), [10]);
    assert_eq!(script.ack(0, &[(1, 3)]), [11]);
    assert_eq!((script.state(), script.windows().0), (CaState::Disorder, 10));
    assert_eq!(script.ack(0, &[(1, 4)]), [0]);
    assert_eq!((script.state(), script.windows().1), (CaState::Recovery, 5));
}

/// RFC 6937, section 3: of a window of 10 that shall become 5 one segment leaves for two delivered, not five at once after a pause
/// and not ten; at the end cwnd is ssthresh, and grows from there.
#[test]
fn prr_spreads_the_reduction_over_the_round_trip() {
    let mut script = Script::new();
    script.write(40);
    script.wait(100);
    (2..=4).for_each(|end| drop(script.ack(0, &[(1, end)])));
    let sent: Vec<usize> = (5..=9).map(|end| script.ack(0, &[(1, end)]).len()).collect();
    assert_eq!(sent, [0, 1, 0, 1, 0]);
    script.wait(100);
    script.ack(12, &[]);
    assert_eq!(script.state(), CaState::Open);
    let (cwnd, ssthresh) = script.windows();
    assert!(ssthresh == 5 && (5..=6).contains(&cwnd), "{cwnd}, {ssthresh}");
}

/// RFC 8985, 7.2 and 7.3: two round trips after the last transmission the last segment is sent again; it is not yet a repair.
#[test]
fn a_loss_probe_repeats_the_last_segment_and_counts_for_nothing_yet() {
    let mut script = Script::new();
    script.write(4);
    let (waited, left) = script.timer();
    assert_eq!(left, [3]);
    assert!((200..=208).contains(&waited), "{waited}");
    let board = &script.sender.board;
    assert_eq!((board.in_flight(), board.retrans_out, script.sender.undo.retrans_stamp), (4, 0, None));
}

/// RFC 8985, 7.4.2: probe and original both arrived, so that nothing was lost; cwnd stays.
#[test]
fn a_probe_that_arrives_twice_reduces_nothing() {
    let mut script = Script::new();
    script.write(4);
    script.timer();
    script.ack(4, &[]);
    script.ack(4, &[(3, 4)]);
    assert_eq!((script.state(), script.sender.tlp_high_seq), (CaState::Open, None));
    assert_eq!(script.windows().1, cc::INFINITE_SSTHRESH);
}

/// RFC 8985, 7.4.2: the probe repaired the only loss, which would go unpunished without the reduction.
#[test]
fn a_probe_that_repairs_a_loss_reduces_cwnd_once() {
    let mut script = Script::new();
    script.write(4);
    script.timer();
    script.wait(100);
    script.ack(4, &[]);
    script.write(1);
    script.wait(100);
    script.ack(5, &[]);
    assert_eq!((script.state(), script.windows()), (CaState::Open, (5, 5)));
}

/// RFC 8985, 7.3: the probe is lost too; the timeout counts from the probe and repairs what it sent, which a mark as
/// "retransmitted" would hide.
#[test]
fn a_lost_probe_ends_in_a_timeout_that_repairs_everything() {
    let mut script = Script::new();
    script.write(2);
    assert_eq!(script.timer().1, [1]);
    let (waited, left) = script.timer();
    assert_eq!(left, [0]);
    assert!((300..=320).contains(&waited), "{waited}");
    assert_eq!((script.state(), script.windows().0), (CaState::Loss, 1));
    script.wait(100);
    assert_eq!(script.ack(1, &[]), [1]);
}

/// Sends 10, lets the probe and the timeout pass; the timeout repeated segment 0.
fn timed_out() -> (Script, Time) {
    let mut script = Script::new();
    let sent_at = script.now;
    script.write(10);
    assert_eq!(script.timer().1, [9]);
    assert_eq!(script.timer().1, [0]);
    assert_eq!(script.state(), CaState::Loss);
    (script, sent_at)
}

/// RFC 5682, section 3.1, with the timestamp of RFC 3522, section 3: the ACK answers the original, the timeout was spurious, and
/// what it reduced comes back.
#[test]
fn a_spurious_timeout_is_undone() {
    let (mut script, sent_at) = timed_out();
    script.wait(20);
    script.answer(1, &[], WINDOW, sent_at);
    // The segment acknowledged counts for slow start.
    assert_eq!((script.state(), script.windows().0), (CaState::Open, 11));
    assert_eq!(script.sender.board.lost_out, 0);
}

/// RFC 5682, section 3.1, step 2b: after the first ACK new data is tried; a SACK for what was never sent again shows that the
/// originals arrive.
#[test]
fn f_rto_finds_a_spurious_timeout_by_what_was_not_sent_again() {
    let (mut script, _) = timed_out();
    script.sender.write(5 * SEGMENT);
    script.wait(100);
    assert_eq!(script.ack(1, &[]), [10, 11], "new data, not segment 1");
    script.ack(1, &[(2, 3)]);
    assert_eq!((script.state(), script.sender.board.lost_out), (CaState::Disorder, 0));
}

/// RFC 5682, section 3.1, step 3a: only the new data arrives; the timeout was right, and the repair goes on.
#[test]
fn f_rto_finds_a_true_timeout_and_repairs() {
    let (mut script, _) = timed_out();
    script.sender.write(5 * SEGMENT);
    script.wait(100);
    script.ack(1, &[]);
    script.wait(100);
    assert_eq!(script.ack(1, &[(10, 11)]).first(), Some(&1));
    assert_eq!((script.state(), script.sender.frto), (CaState::Loss, false));
}

/// RFC 3708, section 4 (RFC 2883 reports): every retransmission turns out to be a duplicate, so that the reduction comes back.
#[test]
fn dsacks_for_every_retransmission_undo_the_reduction() {
    let mut script = Script::new();
    script.write(20);
    script.wait(100);
    (2..=4).for_each(|end| drop(script.ack(0, &[(1, end)])));
    assert_eq!((script.state(), script.windows().1), (CaState::Recovery, 5));
    let next = script.sender.board.end_index();
    // The timestamp echoed is the retransmission's, so that only the D-SACK can tell.
    script.wait(100);
    script.ack(next, &[]);
    assert!(script.windows().0 < 10);
    script.ack(next, &[(0, 1)]);
    assert_eq!((script.state(), script.windows().0), (CaState::Open, 10));
}

/// RFC 9293, 3.8.6.1: a shut window is probed, at intervals that double; each answer that keeps it shut starts the next.
#[test]
fn a_shut_window_is_probed_ever_more_seldom_until_it_opens() {
    let mut script = Script::new();
    script.write(5);
    script.wait(100);
    assert!(script.answer(5, &[], 0, script.now).is_empty());
    assert!(script.write(5).is_empty());
    let mut intervals = Vec::new();
    for _ in 0..4 {
        let at = script.sender.timers.next().expect("the persist timer");
        intervals.push(u64::try_from(at.since(script.now).as_millis()).expect("soon"));
        script.now = at;
        script.sender.on_timer(at);
        let bodies: Vec<Body> = script.sender.outbox.drain(..).map(|(_, body)| body).collect();
        assert!(matches!(bodies[..], [Body::Probe(_)]), "{bodies:?}");
        assert!(script.answer(5, &[], 0, at).is_empty());
    }
    let first = script.sender.rtt.rto_ms;
    for (interval, doubled) in intervals.iter().zip([1, 2, 4, 8]) {
        assert!((first * doubled..=first * doubled * 9 / 8 + 2).contains(interval), "{intervals:?}");
    }
    assert_eq!(script.answer(5, &[], WINDOW, script.now), [5, 6, 7, 8, 9]);
    assert_eq!(script.sender.backoff, 0);
}

/// `old_ack` in `tcp_ack()`: what an overtaken ACK SACKs is tagged, but never counted as delivered.
#[test]
fn what_an_overtaken_ack_tells_is_tagged_and_not_counted_as_delivered() {
    let mut script = Script::new();
    script.write(6);
    script.wait(100).ack(2, &[(5, 6)]);
    let counted = script.sender.conn.delivered;
    script.ack(1, &[(3, 4)]);
    assert_eq!((script.sender.board.sacked_out, script.sender.conn.delivered), (2, counted));
    script.ack(2, &[(4, 5)]);
    assert_eq!((script.sender.board.sacked_out, script.sender.conn.delivered), (3, counted + 1));
}

/// `tcp_cong_avoid()` renews `snd_cwnd_stamp` with every ACK, so that `tcp_cwnd_application_limited()` never halves the window of an
/// application that offers too little, but not seldom. Linux 6.18 keeps 92 segments for answers of 46 each 30 ms.
#[test]
fn an_application_that_uses_half_of_cwnd_keeps_it() {
    let mut script = Script::new();
    script.sender.conn.cwnd = 40;
    for turn in 0..20 {
        script.write(10);
        script.wait(100);
        script.ack(10 * (turn + 1), &[]);
    }
    assert_eq!(script.windows().0, 40);
}
