//! What was collected of a connection, as what a report draws.

use pipefill_capture::graphs::{Bins, Graphs, Series, Spans, ValueSpan};
use pipefill_capture::tcp::Vantage;
use pipefill_report::capture_graphs::{Graph, Layer, Mark, Shows, Subject};

/// Rates of a picture.
const RATES: u64 = 100;
/// A rate is a mean over at least an RTT, unless that leaves fewer rates than this.
const RATES_LEAST: u64 = 10;

/// The pictures of a connection, with at most `marks` marks in a layer, and the names of their files.
pub(super) fn pictures(graphs: &Graphs, marks: usize) -> Vec<(&'static str, Graph)> {
    let whole = graphs.range_ns();
    let graph = |subject, what: &str, (layers, merged): (Vec<Layer>, Option<String>)| Graph {
        subject,
        title: format!("{what}: {}", title(graphs)),
        shown_ns: whole,
        notes: [vantage_sentence(graphs.vantage()).to_owned()].into_iter().chain(merged).collect(),
        layers,
    };
    let sequence = |what, most| graph(Subject::TimeSequence, what, layers(graphs, &TIME_SEQUENCE, most));
    let windows = layers(graphs, &WINDOWS, marks);
    let mut pictures = vec![
        ("time-sequence", sequence("Time-sequence", marks)),
        ("window", graph(Subject::Windows, "Outstanding and window", windows)),
        ("rtt", graph(Subject::Rtt, "RTT", layers(graphs, &RTT, marks))),
        ("throughput", graph(Subject::Throughput, "Throughput", (rates(graphs), None))),
    ];
    if let Some(shown_ns) = detail(graphs) {
        let whole = sequence("Time-sequence, a part", usize::MAX);
        pictures.push(("time-sequence-detail", Graph { shown_ns, ..whole }));
    }
    pictures
}

/// The length of the detail in round trips, and how many of them precede its subject.
const DETAIL_RTTS: u64 = 5;
const BEFORE_RTTS: u64 = 1;

/// A few round trips around the first retransmission or zero window, or from the middle of the connection, in which single segments can
/// be seen. `None` where the whole is no more, or the RTT is not known.
fn detail(graphs: &Graphs) -> Option<[u64; 2]> {
    let rtt_ns = u64::from(graphs.rtt_us()?) * 1000;
    let about = [Series::FastRetransmit, Series::RtoRetransmit, Series::TlpRetransmit, Series::ZeroWindow];
    let first =
        about.iter().filter_map(|&series| graphs.of(series).as_slice().first()).map(|span| span.from_ns);
    let around_ns = first.min().unwrap_or(graphs.length_ns() / 2);
    let from_ns = around_ns.saturating_sub(rtt_ns.saturating_mul(BEFORE_RTTS));
    let length_ns = rtt_ns.saturating_mul(DETAIL_RTTS);
    let is_whole = graphs.range_ns() == [0, graphs.length_ns()];
    (is_whole && length_ns > 0 && length_ns < graphs.length_ns() / 2).then(|| [from_ns, from_ns + length_ns])
}

pub(super) fn title(graphs: &Graphs) -> String {
    let [from, to] = graphs.ends();
    format!("{from} → {to}")
}

/// What can be seen depends on it.
pub(super) const fn vantage_sentence(vantage: Vantage) -> &'static str {
    match vantage {
        Vantage::NearA => "Captured near the end that opened the connection.",
        Vantage::NearB => "Captured near the end that accepted the connection.",
        Vantage::Between => "Captured between the ends.",
        Vantage::Unknown => "It is not known where on the path this was captured.",
    }
}

/// A series, and what it is in a picture; a later one is drawn over an earlier one.
pub(super) type Part = (Series, Shows);

const TIME_SEQUENCE: [Part; 16] = [
    (Series::WindowEdge, Shows::WindowEdge),
    (Series::Ack, Shows::Ack),
    (Series::DuplicateAck, Shows::DuplicateAck),
    (Series::Sack, Shows::Sack),
    (Series::Data, Shows::Data),
    (Series::OutOfOrder, Shows::OutOfOrder),
    (Series::FastRetransmit, Shows::FastRetransmit),
    (Series::RtoRetransmit, Shows::RtoRetransmit),
    (Series::TlpRetransmit, Shows::TlpRetransmit),
    (Series::Dsack, Shows::Dsack),
    (Series::Spurious, Shows::Spurious),
    (Series::ZeroWindowProbe, Shows::ZeroWindowProbe),
    (Series::ZeroWindow, Shows::ZeroWindow),
    (Series::Syn, Shows::Syn),
    (Series::Fin, Shows::Fin),
    (Series::Reset, Shows::Reset),
];
const WINDOWS: [Part; 3] = [
    (Series::InFlight, Shows::InFlight),
    (Series::Outstanding, Shows::Outstanding),
    (Series::Window, Shows::Window),
];
const RTT: [Part; 2] = [(Series::Rtt, Shows::RttSample), (Series::Srtt, Shows::SmoothedRtt)];

/// The layers, and a sentence about merged values where there are such.
fn layers(graphs: &Graphs, parts: &[Part], most: usize) -> (Vec<Layer>, Option<String>) {
    let fewer: Vec<(Spans, Part)> = parts
        .iter()
        .map(|&part| {
            let most = if part.0.is_rare() { usize::MAX } else { most };
            (graphs.of(part.0).at_most(most), part)
        })
        .collect();
    let width_ns = fewer.iter().map(|(spans, _)| spans.width_ns()).max().unwrap_or(0);
    let layers = fewer.iter().map(|(spans, part)| layer(*part, spans));
    (layers.collect(), merged(graphs, parts, width_ns))
}

/// Every series that has a place in a picture, in the order of drawing.
pub(super) fn all_parts() -> impl Iterator<Item = Part> {
    [&TIME_SEQUENCE[..], &WINDOWS, &RTT].into_iter().flatten().copied()
}

/// A series as a layer.
pub(super) fn layer((series, shows): Part, spans: &Spans) -> Layer {
    // RTTs are in µs.
    let factor = if matches!(series, Series::Rtt | Series::Srtt) { 1000 } else { 1 };
    let mark = |span: &ValueSpan| Mark {
        from_ns: span.from_ns,
        to_ns: span.to_ns,
        low: span.low * factor,
        high: span.high * factor,
        count: span.count,
    };
    Layer { shows, marks: spans.as_slice().iter().map(mark).collect() }
}

fn merged(graphs: &Graphs, parts: &[Part], width_ns: u64) -> Option<String> {
    if width_ns == 0 {
        return None;
    }
    let ms = width_ns.div_ceil(1_000_000);
    let rare = || parts.iter().filter(|(series, _)| series.is_rare());
    let rest = if rare().count() == 0 {
        ""
    } else if rare().all(|(series, _)| graphs.of(*series).width_ns() == 0) {
        " Retransmissions and zero windows are drawn each."
    } else {
        " So are retransmissions."
    };
    Some(format!("What came within {ms} ms is one mark, from the least to the largest value.{rest}"))
}

/// Means over whole round trips, so that bursts of a window's size do not look like a change of the rate. The last is left out where its
/// time is not over.
fn rates(graphs: &Graphs) -> Vec<Layer> {
    let [begin_ns, end_ns] = graphs.range_ns();
    let length_ns = end_ns - begin_ns;
    let rtt_ns = u64::from(graphs.rtt_us().unwrap_or(0)) * 1000;
    let least_ns = (length_ns / RATES).max(1);
    let of_rtts_ns = least_ns.div_ceil(rtt_ns.max(1)).saturating_mul(rtt_ns);
    let width_ns = least_ns.max(of_rtts_ns.min(length_ns / RATES_LEAST));
    let layer = |shows, bins: &Bins| {
        let longer = bins.of_at_least(width_ns);
        let mark = |(from_ns, bps): (u64, u64)| {
            let to_ns = from_ns.saturating_add(longer.width_ns());
            Mark { from_ns, to_ns, low: bps, high: bps, count: 1 }
        };
        let is_over = |mark: &Mark| mark.to_ns <= end_ns || mark.from_ns == begin_ns;
        Layer { shows, marks: longer.rates().map(mark).filter(is_over).collect() }
    };
    vec![layer(Shows::Goodput, graphs.acked()), layer(Shows::Throughput, graphs.sent())]
}
