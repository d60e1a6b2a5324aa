//! The graphs of a capture: every kind of layer is drawn and named, a document is well-formed, a part is cut where it is asked for.

use pipefill_report::capture_graphs::{Graph, Layer, Mark, Shows, Subject};
use pipefill_report::pictures::capture_graph;
use resvg::usvg::roxmltree::Document;

const MS: u64 = 1_000_000;

const SEQUENCE: [(Shows, &str); 11] = [
    (Shows::WindowEdge, "ACK + window"),
    (Shows::Ack, "ACK"),
    (Shows::DuplicateAck, "duplicate ACK"),
    (Shows::Sack, "SACK"),
    (Shows::Dsack, "D-SACK"),
    (Shows::Data, "data"),
    (Shows::OutOfOrder, "out of order"),
    (Shows::FastRetransmit, "fast retransmit"),
    (Shows::RtoRetransmit, "RTO retransmit"),
    (Shows::TlpRetransmit, "TLP probe"),
    (Shows::Spurious, "spurious retransmit"),
];
const EVENTS: [(Shows, &str); 5] = [
    (Shows::ZeroWindow, "zero window"),
    (Shows::ZeroWindowProbe, "window probe"),
    (Shows::Syn, "SYN"),
    (Shows::Fin, "FIN"),
    (Shows::Reset, "RST"),
];

fn mark(at_ms: u64, low: u64, high: u64) -> Mark {
    Mark { from_ns: at_ms * MS, to_ns: at_ms * MS, low, high, count: 1 }
}

fn graph(subject: Subject, layers: impl IntoIterator<Item = (Shows, Vec<Mark>)>) -> Graph {
    Graph {
        subject,
        title: "Graph: [2001:db8::1]:1 → [2001:db8::2]:2 <&>".to_owned(),
        shown_ns: [0, 1000 * MS],
        notes: vec![
            "A note of a few words that is longer than one line of a picture, and so it has two.".to_owned(),
        ],
        layers: layers.into_iter().map(|(shows, marks)| Layer { shows, marks }).collect(),
    }
}

/// The texts, and how many shapes the picture has.
fn drawn(graph: &Graph) -> (Vec<String>, usize) {
    let svg = capture_graph(graph).expect("a picture");
    let tree = Document::parse(&svg).expect("well-formed");
    let texts = tree.descendants().filter_map(|node| node.text().filter(|_| node.has_tag_name("text")));
    let paths =
        tree.descendants().filter(|node| node.has_tag_name("path") && node.attribute("d") != Some(""));
    (texts.map(str::to_owned).collect(), paths.count())
}

#[test]
fn every_layer_of_a_time_sequence_is_drawn_and_named() {
    let all = || SEQUENCE.into_iter().chain(EVENTS);
    let two =
        |number: u64| vec![mark(number * 50, number * 1000, number * 1000 + 1448), mark(900, 20_000, 20_000)];
    let whole =
        graph(Subject::TimeSequence, (1..).zip(all()).map(|(number, (shows, _))| (shows, two(number))));
    let (texts, paths) = drawn(&whole);
    for (_, name) in all() {
        assert_eq!(texts.iter().filter(|text| *text == name).count(), 1, "{name} in {texts:?}");
    }
    for number in 0..whole.layers.len() {
        let mut without = whole.clone();
        without.layers.remove(number);
        assert!(drawn(&without).1 < paths, "{:?} has no shape", whole.layers[number].shows);
    }
}

#[test]
fn the_other_graphs_have_their_units() {
    let marks = |value| vec![mark(0, value, value), mark(500, value / 2, value / 2)];
    let cases = [
        (
            Subject::Windows,
            vec![(Shows::Outstanding, marks(1 << 20)), (Shows::Window, marks(1 << 20))],
            "600 kB",
        ),
        (
            Subject::Rtt,
            vec![(Shows::RttSample, marks(40 * MS)), (Shows::SmoothedRtt, marks(40 * MS))],
            "20 ms",
        ),
        (
            Subject::Throughput,
            vec![(Shows::Goodput, marks(20_000_000)), (Shows::Throughput, marks(0))],
            "10 Mbit/s",
        ),
    ];
    for (subject, layers, tick) in cases {
        let (texts, _) = drawn(&graph(subject, layers));
        assert!(texts.iter().any(|text| text == tick), "{tick} in {texts:?}");
        assert!(texts.iter().any(|text| text == "time since the first packet"));
    }
}

#[test]
fn a_limit_far_above_is_cut_off_and_says_so() {
    let layers = |window| {
        [(Shows::Outstanding, vec![mark(0, 1000, 1000)]), (Shows::Window, vec![mark(0, window, window)])]
    };
    let says = |window| drawn(&graph(Subject::Windows, layers(window))).0.join("\n").contains("cut off");
    assert!(says(1_000_000) && !says(1100));
}

#[test]
fn a_part_has_what_holds_at_its_begin_and_nothing_from_elsewhere() {
    let layers = [
        (Shows::Ack, vec![mark(10, 1000, 1000), mark(990, 9000, 9000)]),
        (Shows::Data, vec![mark(420, 1000, 2000)]),
        (Shows::RtoRetransmit, vec![mark(20, 1, 1000)]),
    ];
    let part = Graph { shown_ns: [400 * MS, 500 * MS], ..graph(Subject::TimeSequence, layers) };
    let (texts, _) = drawn(&part);
    let has = |name: &str| texts.iter().any(|text| text == name);
    assert!(has("ACK") && has("data") && !has("RTO retransmit"), "{texts:?}");
    assert!(has("time from 0.400000 s after the first packet") && has("40 ms"), "{texts:?}");
    assert!(has("relative sequence number, from 1000 B on") && has("400 B"), "{texts:?}");
}

#[test]
fn nothing_is_no_picture() {
    assert_eq!(capture_graph(&graph(Subject::Rtt, [(Shows::RttSample, Vec::new())])), None);
}
