//! The collector on a connection that is made by hand, and the file for xplot.

use super::xpl::{Graph, write};
use super::*;
use crate::headers::{Address, Segment, TcpOptions};
use crate::tcp::Reconstruction;

const START_NS: u64 = 1_000_000_000_000;
const MSS: u32 = 1000;

/// From 192.0.2.1:40000 to 192.0.2.2:80, or back.
fn segment(at_ms: u64, from_client: bool, seq: u32, ack: u32, flags: u8, payload: u32) -> Segment {
    let end = |last: u32, port| Endpoint { address: Address::v4(0xc000_0200 + last), port };
    let ends = [end(1, 40_000), end(2, 80)];
    let [source, destination] = if from_client { ends } else { [ends[1], ends[0]] };
    Segment {
        time_ns: START_NS + at_ms * 1_000_000,
        source,
        destination,
        seq,
        ack,
        flags: Flags(flags),
        payload,
        ip_id: at_ms as u16,
        window: 10_000,
        options: TcpOptions::default(),
        ..Segment::default()
    }
}

fn collected(segments: &[Segment]) -> Graphs {
    let mut all = Reconstruction::default();
    let mut collector = Collector::new(&[Wanted::whole(0, Side::A)]);
    segments.iter().for_each(|segment| all.take_segment(segment, &mut collector));
    all.finish(&mut collector);
    collector.into_graphs().remove(0)
}

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;

/// A handshake, then `count` segments, each of which is acknowledged 20 ms later; those of the numbers `lost` are missed until the three
/// after them have arrived, and are sent again.
pub(super) fn transfer(count: u32, lost: &[u32]) -> Vec<Segment> {
    let mut all = vec![
        segment(0, true, 0, 0, SYN, 0),
        segment(20, false, 0, 1, SYN | ACK, 0),
        segment(20, true, 1, 1, ACK, 0),
    ];
    let lost: std::collections::BTreeSet<u32> = lost.iter().copied().collect();
    let mut at_ms = 21;
    for number in 0..count {
        let seq = 1 + number * MSS;
        all.push(segment(at_ms, true, seq, 1, ACK, MSS));
        if lost.contains(&number) {
            for _ in 0..3 {
                all.push(segment(at_ms + 1, false, 1, seq, ACK, 0));
            }
            all.push(segment(at_ms + 2, true, seq, 1, ACK, MSS));
        }
        all.push(segment(at_ms + 20, false, 1, seq + MSS, ACK, 0));
        at_ms += 21;
    }
    all
}

/// A handshake, two segments, one sent again after a timeout, a window of 0, and a FIN.
fn short() -> Graphs {
    let closed = Segment { window: 0, ..segment(320, false, 501, 2101, ACK, 0) };
    collected(&[
        segment(0, true, 100, 0, SYN, 0),
        segment(20, false, 500, 101, SYN | ACK, 0),
        segment(20, true, 101, 501, ACK, 0),
        segment(21, true, 101, 501, ACK, MSS),
        segment(22, true, 1101, 501, ACK, MSS),
        segment(41, false, 501, 1101, ACK, 0),
        segment(300, true, 1101, 501, ACK, MSS),
        closed,
        segment(340, true, 2101, 501, ACK | FIN, 0),
    ])
}

#[test]
fn each_event_is_in_its_series() {
    let graphs = short();
    let spans = |series: Series| -> Vec<(u64, u64, u64)> {
        let of = graphs.of(series).as_slice().iter();
        of.map(|span| (span.from_ns / 1_000_000, span.low, span.high)).collect()
    };
    assert_eq!(spans(Series::Data), [(21, 1, 1001), (22, 1001, 2001)]);
    assert_eq!(spans(Series::RtoRetransmit), [(300, 1001, 2001)]);
    assert_eq!(spans(Series::Ack), [(20, 1, 1), (41, 1001, 1001), (320, 2001, 2001)]);
    assert_eq!(spans(Series::WindowEdge).last(), Some(&(320, 2001, 2001)));
    assert_eq!(spans(Series::ZeroWindow), [(320, 2001, 2001)]);
    assert_eq!(spans(Series::Syn), [(0, 0, 1)]);
    assert_eq!(spans(Series::Fin), [(340, 2002, 2002)]);
    assert_eq!(graphs.sent().bytes().iter().sum::<u64>(), 3000);
    assert_eq!(graphs.acked().bytes().iter().sum::<u64>(), 2000);
    assert_eq!(graphs.length_ns(), 340_000_000);
    let most = graphs.of(Series::Outstanding).as_slice().iter().map(|span| span.high).max();
    assert_eq!(most, Some(2000));
}

#[test]
fn the_time_sequence_graph_is_tcptraces() {
    let mut text = Vec::new();
    write(Graph::TimeSequence, &short(), &mut text).unwrap();
    let want = "\
timeval unsigned
title
192.0.2.1:40000_==>_192.0.2.2:80 (time sequence graph)
xlabel
time
ylabel
sequence number
green
line 1000.020000 1 1000.041000 1
line 1000.041000 1 1000.041000 1001
dtick 1000.020000 1
line 1000.041000 1001 1000.320000 1001
line 1000.320000 1001 1000.320000 2001
dtick 1000.041000 1001
line 1000.320000 2001 1000.340000 2001
dtick 1000.320000 2001
yellow
line 1000.020000 10001 1000.041000 10001
line 1000.041000 10001 1000.041000 11001
utick 1000.020000 10001
line 1000.041000 11001 1000.320000 11001
line 1000.320000 11001 1000.320000 2001
utick 1000.041000 11001
line 1000.320000 2001 1000.340000 2001
utick 1000.320000 2001
green
white
darrow 1000.021000 1
line 1000.021000 1 1000.021000 1001
uarrow 1000.021000 1001
darrow 1000.022000 1001
line 1000.022000 1001 1000.022000 2001
uarrow 1000.022000 2001
magenta
darrow 1000.300000 1001
line 1000.300000 1001 1000.300000 2001
uarrow 1000.300000 2001
atext 1000.300000 2001
RTO
yellow
box 1000.320000 2001
atext 1000.320000 2001
Z
orange
diamond 1000.000000 0
line 1000.000000 0 1000.000000 1
uarrow 1000.000000 1
atext 1000.000000 1
SYN
orange
box 1000.340000 2002
atext 1000.340000 2002
FIN
go
";
    assert_eq!(String::from_utf8(text).unwrap(), want);
}

#[test]
fn every_graph_begins_and_ends_as_xplot_reads_it() {
    for graph in Graph::ALL {
        let mut text = Vec::new();
        write(graph, &short(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("timeval unsigned\ntitle\n") && text.ends_with("\ngo\n"), "{text}");
        assert!(
            text.lines().filter(|line| line.starts_with("line ") || line.starts_with("dot ")).count() > 0
        );
        let has_five = |line: &str| line.split(' ').count() == 5;
        assert!(text.lines().filter(|line| line.starts_with("line ")).all(has_five), "{graph:?}");
    }
}

#[test]
fn a_long_transfer_is_bounded_and_loses_no_retransmission() {
    let count = COMMON_MAX as u32 * 3;
    let mut segments = vec![segment(0, true, 0, 0, SYN, 0), segment(1, false, 0, 1, SYN | ACK, 0)];
    let mut resent = 0;
    for number in 0..count {
        let at = 10 + u64::from(number) * 3;
        let seq = 1 + number * MSS;
        segments.push(segment(at, true, seq, 1, ACK, MSS));
        if number % 100 == 0 {
            segments.push(segment(at + 1, true, seq, 1, ACK, MSS));
            resent += 1;
        }
        segments.push(segment(at + 2, false, 1, seq + MSS, ACK, 0));
    }
    let graphs = collected(&segments);
    for series in Series::ALL {
        let most = if series.is_rare() { RARE_MAX } else { COMMON_MAX };
        assert!(graphs.of(series).as_slice().len() <= most, "{series:?}");
    }
    let data = graphs.of(Series::Data);
    assert_eq!(data.as_slice().iter().map(|span| span.count).sum::<u64>(), u64::from(count));
    assert!(data.width_ns() > 0 && data.as_slice().len() > COMMON_MAX / 4);
    let alone = [Series::FastRetransmit, Series::RtoRetransmit, Series::TlpRetransmit]
        .iter()
        .flat_map(|&series| graphs.of(series).as_slice());
    assert_eq!(alone.filter(|span| span.count == 1).count(), resent);
    assert_eq!(graphs.acked().bytes().iter().sum::<u64>(), u64::from(count) * u64::from(MSS));
}
