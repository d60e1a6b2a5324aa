//! What the scoreboard keeps together, and what it gives back.

use super::*;

fn board(marks: &[u16]) -> Scoreboard {
    let mut board = Scoreboard::default();
    for (&marks, seq) in marks.iter().zip((0..).step_by(1448)) {
        let xmit_us = 0;
        board.push(Sent { seq, len: 1448, marks, xmit_us, delivered: 0, delivered_us: 0, first_tx_us: 0 });
    }
    board
}

#[test]
fn a_packet_is_sent_again_whole_up_to_the_next_head() {
    let mut board = board(&[mark::HEAD, 0, 0, mark::HEAD, 0]);
    (0..5).for_each(|index| board.mark_lost(index));
    assert_eq!(board.packet_segments(0, 44), 3);
    assert_eq!(board.packet_segments(0, 2), 2);
    assert_eq!(board.packet_segments(2, 44), 1);
    assert_eq!(board.packet_segments(3, 44), 2);
}

#[test]
fn what_is_sacked_or_out_again_ends_what_is_retransmitted_together() {
    let mut board = board(&[mark::HEAD, 0, 0, 0]);
    [0, 1, 3].into_iter().for_each(|index| board.mark_lost(index));
    board.mark_sacked(2);
    assert_eq!(board.packet_segments(0, 44), 2);
    let again = Sent { xmit_us: 1, ..*board.get(1).expect("it is out") };
    board.renew(1, again);
    board.mark_retransmission(1);
    assert_eq!(board.packet_segments(0, 44), 1);
    assert_eq!(board.recount(0, 4 * 1448), Ok(()));
}

#[test]
fn what_is_sacked_side_by_side_becomes_one_packet() {
    let mut single = board(&[mark::HEAD; 6]);
    [1, 2, 4].into_iter().for_each(|index| single.mark_sacked(index));
    assert_eq!(single.packets, 5);
    single.mark_sacked(3);
    assert_eq!(single.packets, 3, "1 to 4 are one");
    let mut large = board(&[mark::HEAD, 0, 0, 0, 0]);
    [1, 2].into_iter().for_each(|index| large.mark_sacked(index));
    assert_eq!(large.packets, 3, "before, SACKed, after");
    assert_eq!(single.recount(0, 6 * 1448), Ok(()));
    assert_eq!(large.recount(0, 5 * 1448), Ok(()));
}

#[test]
fn an_undo_does_not_give_rack_back_what_it_gave_up() {
    let mut board = board(&[mark::HEAD; 3]);
    board.walk_by_time(|segment| (segment.seq == 0).then_some(true));
    board.mark_lost(2);
    board.unmark_losses();
    let mut listed = Vec::new();
    board.walk_by_time(|segment| {
        listed.push(segment.seq);
        Some(false)
    });
    assert_eq!((listed, board.lost_out), (vec![1448, 2896], 0));
}
