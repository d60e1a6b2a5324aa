//! What the reader says of each retransmission, against what the simulated sender meant and what the path did with every packet.

use crate::{Kept, captured};
use pipefill_capture::headers::{self, Segment};
use pipefill_capture::read::Reader;
use pipefill_capture::tcp::{Connection, Event, Observer, Reconstruction, SegmentKind, Side, Spurious};
use pipefill_core::cell::CapturePackets;
use pipefill_core::record::RetransmitKind;
use pipefill_core::scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Paths with losses, reordering and both; each is run with every congestion control.
const PATHS: [&str; 12] = [
    "rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"",
    "rtt = \"40ms\"\nrate = \"20mbit\"\nloss = \"5%\"",
    "rtt = \"10ms\"\nrate = \"50mbit\"\nloss = \"0.2%\"",
    "rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"20p\"",
    "rtt = \"50ms\"\nrate = \"20mbit\"\nqueue = \"0.5bdp\"",
    "rtt = \"40ms\"\nrate = \"20mbit\"\nloss = \"gilbert-elliott p=0.3% r=15%\"",
    "rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"",
    "rtt = \"30ms\"\nrate = \"20mbit\"\njitter = \"5ms\"\njitter_reorder = true",
    "rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"\nloss = \"1%\"",
    "rtt = \"30ms\"\nrate = \"20mbit\"\njitter = \"5ms\"\njitter_reorder = true\nloss = \"1%\"",
    "rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nreverse_loss = \"5%\"",
    "rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"20%\"",
];
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// Streams of data, and of short answers, whose last segments are probed.
const FLOWS: [&str; 3] = [
    "duration = \"3s\"",
    "duration = \"3s\"\nparallel = 3",
    "duration = \"120s\"\nbitrate = \"100kbit\"\nlength = \"6000B\"",
];

/// Stream, microseconds since 1970, and the number from the stream's first byte, which is 1.
type TransmissionPlace = (u64, u64, u64);

/// Retransmissions: what each was, and whether it turned out to be for nothing.
#[derive(Default)]
struct RetransmissionKinds(BTreeMap<TransmissionPlace, (SegmentKind, bool)>);

impl Observer for RetransmissionKinds {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        if event.side == Side::A && event.kind.is_retransmit() && event.payload > 0 {
            self.0.insert((connection.id(), event.time_ns / 1000, event.seq_from), (event.kind, false));
        }
    }

    fn spurious(&mut self, connection: &Connection, _: Side, spurious: &Spurious) {
        if let Some(retransmission) =
            self.0.get_mut(&(connection.id(), spurious.sent_ns / 1000, spurious.seq_from))
        {
            retransmission.1 = true;
        }
    }
}

/// Of one kind: how many there are, how many the reader has so, and how many it calls so.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    there: u32,
    right: u32,
    called: u32,
}

impl Score {
    fn count(&mut self, is_so: bool, is_called_so: bool) {
        self.there += u32::from(is_so);
        self.called += u32::from(is_called_so);
        self.right += u32::from(is_so && is_called_so);
    }

    /// The smaller one of: found of those that are there, right of those that are called so.
    fn share(self) -> f64 {
        f64::from(self.right) / f64::from(self.there.max(self.called))
    }
}

#[derive(Default)]
struct Scores {
    fast: Score,
    rto: Score,
    tlp: Score,
    spurious: Score,
}

#[test]
fn retransmissions_are_told_by_their_kind() {
    let mut scores = Scores::default();
    for (path, control) in PATHS.into_iter().flat_map(|path| CONTROLS.map(|control| (path, control))) {
        for flow in FLOWS {
            let text = format!(
                "name = \"kinds\"\n[path]\n{path}\n[host]\ncongestion_control = \"{control}\"\n[[flow]]\n{flow}\n[run]\nrepeat = 1\n"
            );
            let scenario = Scenario::parse(&text, "kinds.toml").unwrap_or_else(|error| panic!("{error}"));
            let (_, kept) = captured(&scenario.plan().runs().swap_remove(0), Some(CapturePackets::Split));
            compare(&kept, &text, &mut scores);
        }
    }
    let Scores { fast, rto, tlp, spurious } = scores;
    println!("fast {fast:?}, rto {rto:?}, tlp {tlp:?}, spurious {spurious:?}");
    assert!(fast.there > 10_000 && rto.there > 200 && tlp.there > 100 && spurious.there > 400);
    assert!(fast.share() == 1.0 && rto.share() == 1.0 && tlp.share() >= 0.95 && spurious.share() >= 0.95);
}

fn compare(kept: &Kept, name: &str, scores: &mut Scores) {
    let file = kept.file("sender.pcapng");
    let truth = for_nothing(&file, &kept.file("receiver.pcapng"));
    let told = read_kinds(&file).0;
    let meant = meant(kept);
    assert!(told.keys().eq(meant.keys()), "{name}: {} told, {} sent", told.len(), meant.len());
    for ((place, meant), (kind, is_for_nothing)) in meant.iter().zip(told.values()) {
        scores.spurious.count(truth.contains(place), *is_for_nothing);
        // Of a recovery that was taken back, the row does not say what began it.
        if *meant == RetransmitKind::Spurious {
            continue;
        }
        scores.fast.count(*meant == RetransmitKind::Fast, *kind == SegmentKind::FastRetransmit);
        scores.rto.count(*meant == RetransmitKind::Rto, *kind == SegmentKind::RtoRetransmit);
        scores.tlp.count(*meant == RetransmitKind::Tlp, *kind == SegmentKind::TlpRetransmit);
    }
}

/// Every segment that the sender sent again, and why.
fn meant(kept: &Kept) -> BTreeMap<TransmissionPlace, RetransmitKind> {
    let comment = kept.capture("sender").comment;
    let zero: u64 =
        comment.rsplit("zero_unix_ns=").next().and_then(|text| text.parse().ok()).expect("a number");
    let segments = kept.retransmits().flat_map(|row| {
        let parts = u64::from(row.segments);
        let size = (row.seq_to - row.seq_from).div_ceil(parts);
        (0..parts).map(move |at| {
            ((u64::from(row.stream), zero / 1000 + row.t_us, row.seq_from + at * size), row.kind)
        })
    });
    segments.collect()
}

fn read_kinds(file: &[u8]) -> RetransmissionKinds {
    let mut reader = Reader::open(file).expect("a capture");
    let (mut reconstruction, mut told) = (Reconstruction::default(), RetransmissionKinds::default());
    while let Some(packet) = reader.next_packet().expect("whole") {
        reconstruction.push(&packet, &mut told);
    }
    reconstruction.finish(&mut told);
    told
}

/// First port of the streams.
const FIRST_PORT: u16 = 32_768;

fn segments(file: &[u8]) -> Vec<Segment> {
    let mut reader = Reader::open(file).expect("a capture");
    let mut all = Vec::new();
    while let Some(packet) = reader.next_packet().expect("whole") {
        all.extend(headers::segment(&packet));
    }
    all
}

/// Retransmissions of what an earlier transmission brought.
fn for_nothing(sender: &[u8], receiver: &[u8]) -> BTreeSet<TransmissionPlace> {
    let taken = taken(receiver);
    let (mut first, mut has_come, mut found) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for segment in segments(sender).into_iter().filter(|segment| segment.payload > 0) {
        let stream = segment.source.port - FIRST_PORT;
        let isn = *first.entry(stream).or_insert(segment.seq);
        if has_come.contains(&(stream, segment.seq)) {
            found.insert((
                u64::from(stream),
                segment.time_ns / 1000,
                u64::from(segment.seq.wrapping_sub(isn)) + 1,
            ));
        }
        if taken.contains(&(stream, segment.seq, segment.ip_id)) {
            has_come.insert((stream, segment.seq));
        }
    }
    found
}

/// What arrived and was not refused: stream, number, identification. A receiver refuses what has an older timestamp than what it
/// acknowledged last (PAWS, RFC 7323 5; `tcp_paws_check()` allows one tick), so that even what arrives may have to be sent again.
fn taken(receiver: &[u8]) -> BTreeSet<(u16, u32, u16)> {
    let (mut taken, mut have, mut recent, mut acked) =
        (BTreeSet::new(), BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for segment in segments(receiver) {
        if segment.source.port < FIRST_PORT {
            acked.insert(segment.destination.port - FIRST_PORT, segment.ack);
            continue;
        }
        let stream = segment.source.port - FIRST_PORT;
        let Some((stamp, _)) = segment.options.timestamps else {
            panic!("the simulator's hosts have timestamps")
        };
        let newest: &mut u32 = recent.entry(stream).or_insert(stamp);
        let is_old = newest.wrapping_sub(stamp).cast_signed() > 1;
        let is_below = |acked: &u32| segment.seq.wrapping_sub(*acked).cast_signed() <= 0;
        if !is_old && acked.get(&stream).is_none_or(is_below) {
            *newest = stamp;
        }
        if segment.payload > 0 && (!is_old || have.contains(&(stream, segment.seq))) {
            have.insert((stream, segment.seq));
            taken.insert((stream, segment.seq, segment.ip_id));
        }
    }
    taken
}
