//! The flows of a capture for a terminal: which of them are told of in words.

use pipefill_analysis::findings::connections::{Captured, CapturedFlow};
use pipefill_analysis::findings::verdict::{Verdict, VerdictReason};
use pipefill_analysis::judge::TOO_SHORT;
use pipefill_core::limit::LimitedBy;
use pipefill_report::captured::{Extent, render};
use pipefill_report::explain::capture;
use pipefill_report::table::Style;
use pipefill_report::words::complete_capture;

fn flow(port: u16, bytes: u64, verdict: Verdict) -> CapturedFlow {
    let (src, dst) = (format!("192.0.2.1:{port}"), "198.51.100.2:80".to_owned());
    CapturedFlow {
        src,
        dst,
        bytes,
        data_us: Some(1_000),
        goodput_bps: Some(bytes * 8_000),
        verdict,
        ..CapturedFlow::default()
    }
}

fn short(port: u16) -> CapturedFlow {
    let verdict =
        Verdict { rule: Some(TOO_SHORT), reason: Some(VerdictReason::TooShort), ..Verdict::default() };
    flow(port, 1_500, verdict)
}

fn capture_of(flows: Vec<CapturedFlow>) -> Captured {
    complete_capture(Captured { flows, ..Captured::new() })
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn flows_that_are_too_short_share_one_line_and_keep_their_rows() {
    let judged = Verdict { limited_by: Some(LimitedBy::App), ..Verdict::default() };
    let flows = [flow(9, 50_000, judged)].into_iter().chain((1..=17).map(|at| short(1_000 + at))).collect();
    let found = capture_of(flows);
    let text = render(&found, Extent::Largest(20), Style::default());
    let line = "17 flows are too short to judge (fewer than 10 segments, or less than 2 round trips): 25.5 kB in all. --all shows each.";
    assert!(in_one_line(&text).contains(line), "{text}");
    assert_eq!((times(&text, "192.0.2.1:10"), times(&text, "Too short to judge")), (17, 0), "{text}");
    assert_eq!(times(&text, "192.0.2.1:9 -> "), 1, "{text}");
    let all = render(&found, Extent::All, Style::default());
    assert_eq!((times(&all, "Too short to judge."), times(&all, "--all")), (17, 0), "{all}");
    let explained = capture(&found, "a.pcap", Style::default());
    assert_eq!(
        (times(&explained, "192.0.2.1:10"), times(&explained, "pipefill pcap --all shows each.")),
        (0, 1)
    );
}

#[test]
fn those_that_are_not_in_the_table_are_counted_too() {
    let text = render(&capture_of((0..30).map(short).collect()), Extent::Largest(20), Style::default());
    assert!(text.contains("30 flows are too short") && text.contains("10 smaller flows not shown"), "{text}");
}

#[test]
fn the_only_flow_of_a_capture_is_told_of_in_words() {
    let text = render(&capture_of(vec![short(7)]), Extent::Largest(20), Style::default());
    assert!(text.contains("Too short to judge.") && !text.contains("too short to judge ("), "{text}");
}
