//! What a page has of a direction of a connection in a capture: levels of detail, and every segment where there was room.
//!
//! Packed: columns of differences as JSON, gzip, base64. Who reads captures is not known here.

use crate::capture_graphs::{Graph, Layer, Mark, Shows};
use crate::quantity::QuantityKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// One direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// What tells it from the others of the page: its ends, or the cell of its run.
    pub label: String,
    /// Its ends.
    pub ends: [String; 2],
    /// What was collected, nanoseconds from the connection's first packet: from and to.
    pub range_ns: [u64; 2],
    /// Where every segment is there: in order, apart from one another, up to but without the second time.
    pub every_ns: Vec<[u64; 2]>,
    /// The finest first.
    pub levels: Vec<Level>,
    /// What is the same at every level: retransmissions, zero windows, SYN, FIN, RST.
    pub rare: Vec<Layer>,
    /// Every segment of `every_ns`.
    pub every: Vec<Layer>,
    /// Payload over time.
    pub payload: Payload,
    /// The path's RTT, nanoseconds; `None` where it is not known.
    pub rtt_ns: Option<u64>,
    /// Sentences that have to be known of it.
    pub notes: Vec<String>,
    /// The command that has every segment of a part, but for the part and the page's name: `pipefill pcap a.pcap --connection 3`.
    pub command: String,
    /// Stem of the name of such a page.
    pub stem: String,
    /// Its still pictures.
    pub pictures: Vec<Graph>,
}

/// The whole in spans of at most one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// What came within this time is one mark, nanoseconds.
    pub cell_ns: u64,
    /// What is not rare.
    pub layers: Vec<Layer>,
}

/// Payload in bins of equal length.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Payload {
    /// When the first begins, nanoseconds from the connection's first packet.
    pub from_ns: u64,
    /// Length of each.
    pub width_ns: u64,
    /// Bytes of all data packets, retransmissions included.
    pub sent: Vec<u64>,
    /// Bytes that were acknowledged.
    pub acked: Vec<u64>,
}

/// What the page's script reads of it when it begins.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct CaptureHead {
    label: String,
    from: String,
    to: String,
    range_ns: [u64; 2],
    rtt_ns: Option<u64>,
    notes: Vec<String>,
    /// What there is of it, in a sentence.
    detail: String,
    command: String,
    stem: String,
}

/// What it reads when it is drawn. Times are nanoseconds from the connection's first packet.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Packed {
    every_ns: Vec<[u64; 2]>,
    levels: Vec<PackedLevel>,
    rare: Vec<Marks>,
    every: Vec<Marks>,
    payload: Payload,
}

#[derive(Debug, JsonSchema, Serialize)]
struct PackedLevel {
    cell_ns: u64,
    layers: Vec<Marks>,
}

/// Marks in the order of time, as columns: each time and each low value since the one before.
#[derive(Debug, JsonSchema, Serialize)]
struct Marks {
    shows: Shows,
    times: Vec<u64>,
    /// How long each is; empty where all are moments.
    lasts: Vec<u64>,
    lows: Vec<i64>,
    /// How much higher the high value is than the low one; empty where all are the same.
    heights: Vec<u64>,
    /// How many each stands for; empty where all stand for one.
    counts: Vec<u64>,
}

impl Segments {
    pub(crate) fn head(&self) -> CaptureHead {
        let [from, to] = self.ends.clone();
        CaptureHead {
            label: self.label.clone(),
            from,
            to,
            range_ns: self.range_ns,
            rtt_ns: self.rtt_ns,
            notes: self.notes.clone(),
            detail: self.detail(),
            command: self.command.clone(),
            stem: self.stem.clone(),
        }
    }

    /// Whether every segment of the range is there.
    pub fn is_whole(&self) -> bool {
        self.every_ns.iter().any(|[from, to]| *from <= self.range_ns[0] && *to > self.range_ns[1])
    }

    /// What there is of it, in a sentence or two.
    pub(crate) fn detail(&self) -> String {
        if self.is_whole() {
            return "Every segment is on this page.".to_owned();
        }
        let [from, to] = self.range_ns;
        let every: u64 = self.every_ns.iter().map(|[from, to]| to - from).sum();
        let share = 100.0 * every as f64 / (to - from).max(1) as f64;
        let cell_ns = self.levels.first().map_or(0, |level| level.cell_ns);
        let rare = match self.rare.iter().flat_map(|layer| &layer.marks).all(|mark| mark.count == 1) {
            true => "every retransmission and zero window is on this page",
            false => "retransmissions and zero windows are too many for this page: some are one mark",
        };
        format!(
            "Every segment is on this page for {} of the time: the begin, what is around retransmissions and zero windows, and parts of \
             the rest. Elsewhere what came within {} is one mark, from the least to the largest value; {rare}.",
            QuantityKind::Percent.alone(share),
            QuantityKind::Time.alone(cell_ns as f64),
        )
    }

    pub(crate) fn packed(&self) -> Packed {
        let level = |level: &Level| PackedLevel { cell_ns: level.cell_ns, layers: marks(&level.layers) };
        Packed {
            every_ns: self.every_ns.clone(),
            levels: self.levels.iter().map(level).collect(),
            rare: marks(&self.rare),
            every: marks(&self.every),
            payload: self.payload.clone(),
        }
    }
}

impl Packed {
    /// In one line of letters.
    ///
    /// # Errors
    /// Those of serde_json.
    pub(crate) fn line(&self) -> serde_json::Result<String> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::new(9));
        let written = gzip.write_all(&serde_json::to_vec(self)?).and_then(|()| gzip.finish());
        written.map(|bytes| STANDARD.encode(bytes)).map_err(serde_json::Error::io)
    }
}

fn marks(layers: &[Layer]) -> Vec<Marks> {
    let some = |layer: &&Layer| !layer.marks.is_empty();
    layers.iter().filter(some).map(|layer| Marks::of(layer.shows, &layer.marks)).collect()
}

impl Marks {
    fn of(shows: Shows, marks: &[Mark]) -> Self {
        let mut sorted: Vec<&Mark> = marks.iter().collect();
        sorted.sort_by_key(|mark| mark.from_ns);
        let unless = |usual: u64, of: &dyn Fn(&Mark) -> u64| -> Vec<u64> {
            let all: Vec<u64> = sorted.iter().map(|mark| of(mark)).collect();
            if all.iter().all(|&value| value == usual) { Vec::new() } else { all }
        };
        let (mut at, mut low) = (0, 0);
        Self {
            shows,
            times: sorted
                .iter()
                .map(|mark| mark.from_ns - std::mem::replace(&mut at, mark.from_ns))
                .collect(),
            lasts: unless(0, &|mark| mark.to_ns - mark.from_ns),
            lows: sorted
                .iter()
                .map(|mark| (mark.low as i64).wrapping_sub(std::mem::replace(&mut low, mark.low) as i64))
                .collect(),
            heights: unless(0, &|mark| mark.high - mark.low),
            counts: unless(1, &|mark| mark.count),
        }
    }
}

/// The lines of several, for a page.
///
/// # Errors
/// Those of serde_json.
pub(crate) fn lines<'a>(all: impl Iterator<Item = &'a Segments>) -> serde_json::Result<String> {
    let lines: serde_json::Result<Vec<String>> = all.map(|segments| segments.packed().line()).collect();
    Ok(lines?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::io;

    /// What the script makes of columns.
    fn unpacked(columns: &Value) -> Vec<Mark> {
        let of =
            |name: &str, place: usize| columns[name].as_array().unwrap().get(place).and_then(Value::as_i64);
        let (mut at, mut low) = (0, 0);
        let mark = |place| {
            at += of("times", place).unwrap();
            low += of("lows", place).unwrap();
            Mark {
                from_ns: at as u64,
                to_ns: (at + of("lasts", place).unwrap_or(0)) as u64,
                low: low as u64,
                high: (low + of("heights", place).unwrap_or(0)) as u64,
                count: of("counts", place).unwrap_or(1) as u64,
            }
        };
        (0..columns["times"].as_array().unwrap().len()).map(mark).collect()
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_in_the_order_of_time(
            values in prop::collection::vec((0..1_u64 << 50, 0..99_u64, 0..1_u64 << 50, 0..99_u64, 1..9_u64), 1..50),
        ) {
            let mark = |&(from_ns, last, low, height, count): &(u64, u64, u64, u64, u64)| {
                Mark { from_ns, to_ns: from_ns + last, low, high: low + height, count }
            };
            let mut marks: Vec<Mark> = values.iter().map(mark).collect();
            let layer = Layer { shows: Shows::Data, marks: marks.clone() };
            let packed = Packed {
                every_ns: vec![[0, 9]],
                levels: Vec::new(),
                rare: super::marks(&[layer]),
                every: Vec::new(),
                payload: Payload { from_ns: 0, width_ns: 1, sent: vec![3], acked: vec![2] },
            };
            let line = packed.line().unwrap();
            prop_assert!(line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
            let json = io::read_to_string(GzDecoder::new(&STANDARD.decode(line).unwrap()[..])).unwrap();
            let value: Value = serde_json::from_str(&json).unwrap();
            marks.sort_by_key(|mark| mark.from_ns);
            prop_assert_eq!(unpacked(&value["rare"][0]), marks);
            prop_assert_eq!(&value["rare"][0]["shows"], "data");
        }
    }
}
