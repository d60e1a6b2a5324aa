//! What packets tell of the sender's state, beside what its socket told at the same time.

use pipefill_capture::read::Reader;
use pipefill_capture::tcp::{Connection, Event, Half, Observer, Reconstruction, Side};
use pipefill_core::record::TcpSample;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// What was so after a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketState {
    unix_ns: u64,
    in_flight: u64,
    retransmits: u32,
    bytes: u64,
    srtt_us: Option<u32>,
    min_rtt_us: Option<u32>,
}

impl PacketState {
    fn of(half: &Half, unix_ns: u64) -> Self {
        Self {
            unix_ns,
            in_flight: half.in_flight_segments().into(),
            retransmits: half.retransmits(),
            bytes: half.payload_bytes(),
            srtt_us: half.srtt_us(),
            min_rtt_us: half.min_rtt_us(),
        }
    }
}

/// A capture at the sender.
pub(crate) struct Followed {
    /// The beginning of its run, nanoseconds since 1970.
    pub(crate) zero_ns: u64,
    /// The states of those who opened the connections, in the order of the SYNs.
    pub(crate) connections: Vec<Vec<PacketState>>,
}

#[derive(Default)]
struct Follow(BTreeMap<u64, Vec<PacketState>>);

impl Observer for Follow {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        let states = self.0.entry(connection.id()).or_default();
        states.push(PacketState::of(connection.half(Side::A), event.time_ns));
    }
}

/// The capture of a run of ours.
///
/// # Panics
/// It is none.
pub(crate) fn follow(path: &Path) -> Followed {
    let mut reader = Reader::open(File::open(path).unwrap()).unwrap();
    let (mut reconstruction, mut all) = (Reconstruction::default(), Follow::default());
    while let Some(packet) = reader.next_packet().unwrap() {
        reconstruction.push(&packet, &mut all);
    }
    reconstruction.finish(&mut all);
    let zero =
        reader.comments().iter().find_map(|comment| comment.rsplit_once("zero_unix_ns=")?.1.parse().ok());
    Followed { zero_ns: zero.expect("a capture of a run"), connections: all.0.into_values().collect() }
}

/// In how many samples of a socket each figure agrees.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreement {
    samples: usize,
    in_flight: usize,
    srtt: usize,
    min_rtt: usize,
    bytes: usize,
    retransmits: usize,
    /// The kernel's count in the last sample, and that of the packets until then.
    last_retransmits: [u32; 2],
}

/// A sample is read in this time before it is noted, and packets pass before their sender counts them: what was so then counts as well.
const BEFORE_NS: u64 = 300_000;

impl Agreement {
    /// Compares a sample since the first data.
    pub(crate) fn push(&mut self, row: &TcpSample, zero_ns: u64, states: &[PacketState]) {
        let info = &row.info;
        let at = zero_ns + row.t_us * 1000;
        let end = states.partition_point(|state| state.unix_ns <= at + 1000);
        let begin = states.partition_point(|state| state.unix_ns + BEFORE_NS < at).saturating_sub(1);
        let near = &states[begin.min(end)..end];
        if info.bytes_sent == Some(0) || !near.iter().any(|state| state.bytes > 0) {
            return;
        }
        let segments = info.in_flight_bytes.unwrap() / u64::from(info.mss_bytes);
        let any = |is_so: &dyn Fn(&PacketState) -> bool| usize::from(near.iter().any(is_so));
        self.samples += 1;
        self.in_flight += any(&|state| state.in_flight.abs_diff(segments) <= 1);
        self.srtt += any(&|state| agrees(state.srtt_us, info.srtt_us));
        self.min_rtt += any(&|state| agrees(state.min_rtt_us, info.min_rtt_us));
        self.bytes += any(&|state| Some(state.bytes) == info.bytes_sent);
        self.retransmits += any(&|state| state.retransmits == info.retransmits);
        let closest =
            near.iter().map(|state| state.retransmits).min_by_key(|count| count.abs_diff(info.retransmits));
        self.last_retransmits = [info.retransmits, closest.unwrap_or(0)];
    }

    /// Whether what is counted agrees in `share` of the samples, and the count of retransmissions in the last one. That holds on any machine.
    pub(crate) fn counts_hold(&self, share: f64) -> bool {
        let [kernel, packets] = self.last_retransmits;
        kernel == packets && self.hold([self.in_flight, self.bytes, self.retransmits], share)
    }

    /// Whether the round trips agree in `share` of the samples. A packet is captured at one instant and handled by TCP at another: the share is
    /// lower where a machine stops in between.
    pub(crate) fn round_trips_hold(&self, share: f64) -> bool {
        self.hold([self.srtt, self.min_rtt], share)
    }

    fn hold<const N: usize>(&self, agreeing: [usize; N], share: f64) -> bool {
        self.samples > 100 && agreeing.iter().all(|&count| count as f64 >= share * self.samples as f64)
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| 100.0 * count as f64 / self.samples.max(1) as f64;
        let [kernel, packets] = self.last_retransmits;
        write!(
            f,
            "{} samples, equal in: in flight {:.2} %, srtt {:.2} %, min_rtt {:.2} %, bytes {:.2} %, retransmits {:.2} %; retransmits at the end {kernel} {packets}",
            self.samples,
            share(self.in_flight),
            share(self.srtt),
            share(self.min_rtt),
            share(self.bytes),
            share(self.retransmits)
        )
    }
}

/// Within 1 % or 50 µs.
fn agrees(found: Option<u32>, wanted: Option<u32>) -> bool {
    found.zip(wanted).is_some_and(|(found, wanted)| found.abs_diff(wanted) <= (wanted / 100).max(50))
}
