//! The scoreboard beside a model that keeps one mark for each segment.

use super::*;
use proptest::prelude::*;

const MSS: u32 = 100;

fn transmission(from: u64, to: u64, now: u64) -> Transmission {
    let segments = ((to - from) as u32).div_ceil(MSS);
    Transmission { from, to, now, tsval: now as u32, ip_id: 0, segments }
}

fn segment(n: u64) -> Transmission {
    transmission(n * 100, n * 100 + 100, n)
}

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for n in 0..segments {
        board.push(&segment(n));
    }
    board
}

fn counts(board: &Scoreboard) -> [u32; 5] {
    [board.out(), board.sacked(), board.lost(), board.resent(), board.in_flight()]
}

#[test]
fn an_ack_takes_what_it_covers_and_tells_its_times() {
    let mut board = board(10);
    let delivered = board.acknowledge(450, 100, MSS);
    assert_eq!((delivered.bytes, delivered.times), (450, Some((0, 4))));
    // Half a segment is left of the fifth.
    assert_eq!(counts(&board), [6, 0, 0, 0, 6]);
    assert_eq!(board.find(460).map(|sent| sent.from), Some(450));
}

#[test]
fn marks_move_the_counts_as_the_kernel_does() {
    let mut board = board(10);
    let mut delivered = Delivered::default();
    board.sack(200, 600, 50, MSS, &mut delivered);
    assert_eq!((delivered.bytes, counts(&board)), (400, [10, 4, 0, 0, 6]));
    // What was sent before the last that arrived is lost.
    board.detect_losses(1000, 0);
    assert_eq!(counts(&board), [10, 4, 2, 0, 4]);
    board.resend(&transmission(0, 100, 60), false, MSS);
    assert_eq!(counts(&board), [10, 4, 2, 1, 5]);
    // It arrived: neither lost nor in flight.
    board.sack(0, 100, 90, MSS, &mut delivered);
    assert_eq!(counts(&board), [10, 5, 1, 0, 4]);
    board.acknowledge(600, 91, MSS);
    assert_eq!(counts(&board), [4, 0, 0, 0, 4]);
}

#[test]
fn a_probe_changes_no_count() {
    let mut board = board(3);
    board.resend(&transmission(200, 300, 60), true, MSS);
    assert_eq!(counts(&board), [3, 0, 0, 0, 3]);
    let delivered = board.acknowledge(300, 90, MSS);
    assert!(delivered.resent.is_some_and(|sent| sent.sent_ns == 60));
}

#[test]
fn a_timeout_loses_what_did_not_arrive_but_for_what_was_just_sent() {
    let mut board = board(5);
    let mut delivered = Delivered::default();
    board.push(&transmission(500, 600, 990));
    board.sack(100, 200, 21, MSS, &mut delivered);
    board.time_out(1000, 0);
    assert_eq!(counts(&board), [6, 1, 4, 0, 1]);
}

#[test]
fn the_same_block_again_costs_nothing_and_a_longer_one_its_rest() {
    let mut board = board(10);
    let mut delivered = Delivered::default();
    for right in [300, 300, 500, 500] {
        board.sack(200, right, 50, MSS, &mut delivered);
    }
    board.sack(100, 700, 50, MSS, &mut delivered);
    assert_eq!((delivered.bytes, board.sacked()), (600, 6));
}

#[test]
fn the_oldest_of_too_many_are_forgotten() {
    let mut board = board(ENTRIES_MAX as u64 + 10);
    assert_eq!(board.out(), ENTRIES_MAX as u32);
    // No room to cut one.
    let mut delivered = Delivered::default();
    board.sack(5050, 5080, 50, MSS, &mut delivered);
    assert_eq!((delivered.bytes, board.queue.len()), (100, ENTRIES_MAX));
}

/// What may happen to segments, in units of half a segment.
#[derive(Debug, Clone)]
enum Step {
    Push(u8),
    Ack(u16),
    Sack(u16, u8),
    Resend(u16, u8),
    Detect,
    Undo,
    TimeOut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..12u8).prop_map(Step::Push),
        2 => (0..200u16).prop_map(Step::Ack),
        3 => (0..200u16, 1..9u8).prop_map(|(from, size)| Step::Sack(from, size)),
        2 => (0..200u16, 1..5u8).prop_map(|(from, size)| Step::Resend(from, size)),
        1 => Just(Step::Detect),
        1 => Just(Step::Undo),
        1 => Just(Step::TimeOut),
    ]
}

proptest! {
    #[test]
    fn counts_are_the_sums_and_entries_stay_in_order(steps in prop::collection::vec(step(), 0..80)) {
        let mut board = Scoreboard::default();
        let (mut una, mut next, mut now) = (0u64, 0u64, 0u64);
        let mut sacked = std::collections::BTreeSet::new();
        for step in steps {
            now += 7;
            match step {
                Step::Push(halves) => {
                    let to = next + u64::from(halves) * 50;
                    board.push(&transmission(next, to, now));
                    next = to;
                }
                Step::Ack(at) => {
                    una = una.max((u64::from(at) * 50).min(next));
                    board.acknowledge(una, now, MSS);
                }
                Step::Sack(from, size) => {
                    let from = (u64::from(from) * 50).max(una);
                    let to = (from + u64::from(size) * 50).min(next);
                    if from < to {
                        board.sack(from, to, now, MSS, &mut Delivered::default());
                        sacked.extend((from..to).step_by(50));
                    }
                }
                Step::Resend(from, size) => {
                    let from = u64::from(from) * 50;
                    let to = (from + u64::from(size) * 50).min(next);
                    if from < to {
                        board.resend(&transmission(from, to, now), false, MSS);
                    }
                }
                Step::Detect => {
                    board.detect_losses(now, 3);
                }
                Step::Undo => board.unmark_losses(),
                Step::TimeOut => board.time_out(now, 3),
            }
            let sum = |mark: u8| -> u32 {
                let marked = board.queue.iter().filter(|sent| mark == 0 || sent.is(mark));
                marked.map(|sent| u32::from(sent.segments)).sum()
            };
            prop_assert_eq!([board.out, board.sacked, board.lost, board.resent], [sum(0), sum(SACKED), sum(LOST), sum(RESENT)]);
            let mut at = una;
            for sent in board.queue.iter() {
                prop_assert_eq!(sent.from, at);
                at = sent.to();
                prop_assert!(!(sent.is(SACKED) && sent.is(LOST | RESENT)));
                for half in (sent.from..sent.to()).step_by(50) {
                    prop_assert_eq!(sent.is(SACKED), sacked.contains(&half), "{}", half);
                }
            }
            prop_assert_eq!(at, next);
        }
    }
}
