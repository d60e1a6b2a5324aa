//! Snapshots of the view, and its properties on a terminal of any size.

use super::*;
use crate::estimate::Estimate;
use crate::live::state::Snapshot;
use crate::live::synthetic;
use crate::live::tap::LiveTap;
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Sink, SinkError, TcpSample};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::{Mutex, OnceLock};

struct Nowhere;

impl Sink for Nowhere {
    fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
        Ok(())
    }
}

fn runs() -> Vec<Run> {
    synthetic::runs()
}

/// A sawtooth: cwnd grows and is halved, the round trip with it; the first seven of ten seconds.
fn rows() -> Vec<AnyRow> {
    let saw = |mut row: TcpSample| {
        let phase = (row.t_us / 100_000) % 30;
        let cwnd = 60_000 + phase * 5_000;
        row.info.cwnd_bytes = Some(cwnd);
        row.info.in_flight_bytes = Some(cwnd.min(190_000));
        row.info.srtt_us = Some(10_000 + u32::try_from(phase).unwrap() * 300);
        row.info.notsent_bytes = Some(100_000);
        row.info.unacked_bytes = cwnd.min(190_000);
        AnyRow::Tcp(row)
    };
    let rows = synthetic::record().rows().into_iter().filter(|row| row.t_us() < 7_000_000);
    rows.map(|row| if let AnyRow::Tcp(row) = row { saw(row) } else { row }).collect()
}

/// One run has ended well, one badly, the third is at work.
fn state() -> LiveState {
    let runs = runs();
    let estimate = Estimate::new(4, Duration::from_secs(48), 1);
    let state = Mutex::new(LiveState::new("tiny", "lab", estimate));
    {
        let expected = OnceLock::new();
        let mut nowhere = Nowhere;
        let mut tap = LiveTap::new(&runs[0], &state, &expected, &mut nowhere);
        rows().into_iter().for_each(|row| tap.push(row).unwrap());
        tap.update();
    }
    let mut inner = state.into_inner().unwrap();
    for (run, note) in [(&runs[0], ""), (&runs[1], "invalid: late_releases")] {
        inner.estimate.end(Duration::from_secs(12), Duration::from_secs(12));
        inner.end(run, Duration::from_secs(12), note);
    }
    let state = Mutex::new(inner);
    let expected = OnceLock::new();
    let mut nowhere = Nowhere;
    let mut tap = LiveTap::new(&runs[2], &state, &expected, &mut nowhere);
    rows().into_iter().for_each(|row| tap.push(row).unwrap());
    tap.update();
    drop(tap);
    let mut state = state.into_inner().unwrap();
    state.reached(&runs[2], Duration::from_secs(7));
    state
}

fn drawn(state: &LiveState, mode: Mode, [width, height]: [u16; 2], colour: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, mode, colour)).unwrap();
    terminal
}

#[test]
fn a_run_at_work() {
    insta::assert_snapshot!(drawn(&state(), Mode::Watching, [80, 24], false).backend());
}

#[test]
fn a_run_of_several_flows() {
    let run = &runs()[0];
    let mut state = LiveState::new("mixed", "sim", Estimate::new(1, Duration::from_secs(10), 1));
    state.show(run, Snapshot { history: synthetic::mixed(), causes: Vec::new() });
    state.reached(run, Duration::from_secs(1));
    insta::assert_snapshot!(drawn(&state, Mode::Watching, [80, 24], false).backend());
    state.end(run, Duration::from_secs(10), "");
    let after = drawn(&state, Mode::Watching, [80, 24], false).backend().to_string();
    assert!(after.contains("→ 85.0 Mbit/s  ← 20.0 Mbit/s"), "{after}");
}

#[test]
fn the_question() {
    insta::assert_snapshot!(drawn(&state(), Mode::Asking, [80, 16], false).backend());
}

#[test]
fn the_help() {
    insta::assert_snapshot!(drawn(&state(), Mode::Help, [80, 24], false).backend());
}

#[test]
fn before_anything_ran() {
    let state = LiveState::new("tiny", "sim", Estimate::new(4, Duration::from_secs(40), 1));
    insta::assert_snapshot!(drawn(&state, Mode::Watching, [60, 12], false).backend());
}

#[test]
fn every_size_is_drawn() {
    let state = state();
    for width in [1, 2, 5, 10, 24, 27, 40, 79, 200, 400] {
        for height in [1, 2, 3, 8, 12, 60] {
            for mode in [Mode::Watching, Mode::Asking, Mode::Help] {
                drawn(&state, mode, [width, height], true);
            }
        }
    }
}

#[test]
fn without_colours_there_are_none_and_the_text_is_the_same() {
    let text = |colour: bool| drawn(&state(), Mode::Watching, [80, 24], colour).backend().to_string();
    assert_eq!(text(true), text(false));
    let colours = |colour: bool| {
        let terminal = drawn(&state(), Mode::Watching, [80, 24], colour);
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 100);
}
