//! What the view looks like (snapshots), and what has to be true of it on any terminal.

use super::*;
use crate::live::onlooker::Onlooker;
use crate::progress::Estimate;
use crate::synthetic;
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, RecordError, Sink, TcpSample};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::{Mutex, OnceLock};

struct Nowhere;

impl Sink for Nowhere {
    fn take(&mut self, _: AnyRow) -> Result<(), RecordError> {
        Ok(())
    }
}

fn runs() -> Vec<Run> {
    synthetic::asked(&[]).plan.runs()
}

/// A sawtooth: cwnd grows and is halved, the round trip with it; the first seven of ten seconds.
fn rows() -> Vec<AnyRow> {
    let saw = |mut row: TcpSample| {
        let phase = (row.t_us / 100_000) % 30;
        row.info.cwnd_bytes = 60_000 + phase * 5_000;
        row.info.in_flight_bytes = row.info.cwnd_bytes.min(190_000);
        row.info.srtt_us = Some(10_000 + u32::try_from(phase).unwrap() * 300);
        row.info.notsent_bytes = 100_000;
        row.info.unacked_bytes = row.info.in_flight_bytes;
        AnyRow::Tcp(row)
    };
    let rows = synthetic::record().rows().into_iter().filter(|row| row.t_us() < 7_000_000);
    rows.map(|row| if let AnyRow::Tcp(row) = row { saw(row) } else { row }).collect()
}

/// One run has ended well, one badly, the third is at work.
fn board() -> Board {
    let runs = runs();
    let estimate = Estimate::new(4, Duration::from_secs(48), 1);
    let board = Mutex::new(Board::new("tiny", "lab", estimate));
    {
        let expected = OnceLock::new();
        let mut nowhere = Nowhere;
        let mut onlooker = Onlooker::new(&runs[0], &board, &expected, &mut nowhere);
        rows().into_iter().for_each(|row| onlooker.take(row).unwrap());
        onlooker.tell();
    }
    let mut inner = board.into_inner().unwrap();
    for (run, note) in [(&runs[0], ""), (&runs[1], "invalid: late_releases")] {
        inner.estimate.end(Duration::from_secs(12), Duration::from_secs(12));
        inner.end(run, Duration::from_secs(12), note);
    }
    let board = Mutex::new(inner);
    let expected = OnceLock::new();
    let mut nowhere = Nowhere;
    let mut onlooker = Onlooker::new(&runs[2], &board, &expected, &mut nowhere);
    rows().into_iter().for_each(|row| onlooker.take(row).unwrap());
    onlooker.tell();
    drop(onlooker);
    let mut board = board.into_inner().unwrap();
    board.reached(&runs[2], Duration::from_secs(7));
    board
}

fn drawn(board: &Board, mode: Mode, [width, height]: [u16; 2], colour: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, board, mode, colour)).unwrap();
    terminal
}

#[test]
fn a_run_at_work() {
    insta::assert_snapshot!(drawn(&board(), Mode::Watching, [80, 24], false).backend());
}

#[test]
fn the_question() {
    insta::assert_snapshot!(drawn(&board(), Mode::Asking, [80, 16], false).backend());
}

#[test]
fn the_help() {
    insta::assert_snapshot!(drawn(&board(), Mode::Help, [80, 24], false).backend());
}

#[test]
fn before_anything_ran() {
    let board = Board::new("tiny", "sim", Estimate::new(4, Duration::from_secs(40), 1));
    insta::assert_snapshot!(drawn(&board, Mode::Watching, [60, 12], false).backend());
}

#[test]
fn every_size_is_drawn() {
    let board = board();
    for width in [1, 2, 5, 10, 24, 27, 40, 79, 200, 400] {
        for height in [1, 2, 3, 8, 12, 60] {
            for mode in [Mode::Watching, Mode::Asking, Mode::Help] {
                drawn(&board, mode, [width, height], true);
            }
        }
    }
}

#[test]
fn without_colours_there_are_none_and_the_text_is_the_same() {
    let text = |colour: bool| drawn(&board(), Mode::Watching, [80, 24], colour).backend().to_string();
    assert_eq!(text(true), text(false));
    let colours = |colour: bool| {
        let terminal = drawn(&board(), Mode::Watching, [80, 24], colour);
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 100);
}
