//! What the kernel's qdisc of a discipline counts, and how it stands, in the words of the records.
//!
//! Never: a figure that the kernel does not report.

use super::discipline::{DISCIPLINE, HEAD_DROP};
use super::kernel::{self, Counts, Qdisc};
use crate::netlink::Rtnetlink;
use pipefill_core::cell::{AqmSpec, Direction};
use pipefill_core::record::{AqmCounted, AqmSample};
use std::fmt;
use std::io;
use std::time::Duration;

/// What the kernel's qdisc of a discipline counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ShapedDiscipline {
    /// The word of the scenario.
    pub kind: &'static str,
    /// Packets that left it.
    pub packets: u64,
    /// Its drops and marks.
    #[serde(flatten)]
    pub counted: AqmCounted,
}

/// Where the statistics of a kind of qdisc have what (`TCA_STATS_APP`, `include/uapi/linux/pkt_sched.h`): places of words of four bytes.
struct Layout {
    kind: &'static str,
    /// Packets dropped for want of room.
    overflow: usize,
    marked: usize,
    /// Microseconds that the packet waited that left last.
    sojourn_us: Option<usize>,
    /// CoDel: `count`, and whether it is dropping.
    cycle: Option<[usize; 2]>,
    /// PIE: the first word of its probability, of which certainty is 2⁶⁴.
    probability: Option<usize>,
}

const LAYOUTS: [Layout; 4] = [
    // `struct tc_codel_xstats`: `maxpacket`, `count`, `lastcount`, `ldelay`, `drop_next`, `drop_overlimit`, `ecn_mark`, `dropping`.
    Layout {
        kind: "codel",
        overflow: 5,
        marked: 6,
        sojourn_us: Some(3),
        cycle: Some([1, 7]),
        probability: None,
    },
    // `struct tc_fq_codel_xstats`: `type`, `maxpacket`, `drop_overlimit`, `ecn_mark`. Its queues' delays are not among them.
    Layout { kind: "fq_codel", overflow: 2, marked: 3, sojourn_us: None, cycle: None, probability: None },
    // `struct tc_pie_xstats`: `prob` of eight bytes, `delay`, `avg_dq_rate`, `dq_rate_estimating`, `packets_in`, `dropped`, `overlimit`, `maxq`,
    // `ecn_mark`.
    Layout { kind: "pie", overflow: 7, marked: 9, sojourn_us: Some(2), cycle: None, probability: Some(0) },
    // `struct tc_red_xstats`: `early`, `pdrop`, `other`, `marked`. Its average is not among them.
    Layout { kind: "red", overflow: 1, marked: 3, sojourn_us: None, cycle: None, probability: None },
];

impl Layout {
    fn of(qdisc: &Qdisc) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.kind == qdisc.kind)
    }
}

/// A word of the statistics of its kind; `None` of a kernel that has fewer.
fn own_word(qdisc: &Qdisc, place: usize) -> Option<u32> {
    let bytes = qdisc.own_counts.get(place * size_of::<u32>()..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

impl ShapedDiscipline {
    /// The discipline of this qdisc; `None` where it is not a discipline of ours.
    pub(super) fn of(qdisc: &Qdisc) -> Option<Self> {
        let Counts { packets, drops, .. } = qdisc.counts;
        if qdisc.kind == HEAD_DROP {
            // It counts drops alone, and all are of a full queue.
            let counted = AqmCounted { overflow_packets: drops, ..AqmCounted::default() };
            return Some(Self { kind: AqmSpec::Drophead.name(), packets, counted });
        }
        let layout = Layout::of(qdisc)?;
        let own = |place| own_word(qdisc, place).map_or(0, u64::from);
        let overflow_packets = own(layout.overflow);
        let counted = AqmCounted {
            dropped_packets: drops.saturating_sub(overflow_packets),
            overflow_packets,
            marked_packets: own(layout.marked),
        };
        Some(Self { kind: layout.kind, packets, counted })
    }
}

/// The one of a device's `qdiscs` that is the discipline of the bottleneck's queue; `None` where that is drop-tail.
pub(super) fn managed(qdiscs: &[Qdisc]) -> Option<&Qdisc> {
    qdiscs.iter().find(|qdisc| qdisc.handle.major == DISCIPLINE)
}

/// A row of the table `aqm`, read at `t_us`. No qdisc sums up how long its packets waited.
fn sample(qdisc: &Qdisc, t_us: u64) -> Option<AqmSample> {
    let ShapedDiscipline { packets, counted, .. } = ShapedDiscipline::of(qdisc)?;
    let layout = Layout::of(qdisc);
    let own = |place| own_word(qdisc, place).map(u64::from);
    let sojourn = layout.and_then(|layout| layout.sojourn_us).filter(|_| packets > 0);
    let cycle = layout.and_then(|layout| layout.cycle);
    let probability = layout.and_then(|layout| layout.probability);
    Some(AqmSample {
        t_us,
        direction: Direction::Forward,
        backlog_packets: Some(qdisc.counts.backlog_packets),
        backlog_bytes: Some(qdisc.counts.backlog_bytes),
        packets,
        sojourn_sum_us: None,
        sojourn_us: sojourn.and_then(own),
        dropped_packets: counted.dropped_packets,
        overflow_packets: counted.overflow_packets,
        marked_packets: counted.marked_packets,
        probability_ppb: probability.and_then(|place| probability_ppb(qdisc, place)),
        drop_count: cycle
            .and_then(|[count, is_dropping]| if own(is_dropping)? > 0 { own(count) } else { Some(0) }),
    })
}

/// `prob` of `pie_dump_stats()`, in parts per billion.
fn probability_ppb(qdisc: &Qdisc, place: usize) -> Option<u64> {
    const BILLION: u128 = 1_000_000_000;
    let bytes = qdisc.own_counts.get(place * size_of::<u32>()..)?.first_chunk()?;
    u64::try_from((u128::from(u64::from_ne_bytes(*bytes)) * BILLION) >> u64::BITS).ok()
}

/// How often a [`ShapedQueue`] is read: an answer of the kernel has the qdiscs of all interfaces of the namespace.
pub const QUEUE_EVERY: Duration = Duration::from_millis(50);

/// The queue of a shaped interface's bottleneck, read while it carries packets.
pub struct ShapedQueue {
    netlink: Rtnetlink,
    device: u32,
}

impl fmt::Debug for ShapedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapedQueue").field("device", &self.device).finish_non_exhaustive()
    }
}

impl ShapedQueue {
    /// The one of this device in this thread's namespace; `None` where it is drop-tail.
    pub(super) fn open(device: u32) -> io::Result<Option<Self>> {
        let netlink = Rtnetlink::connect()?;
        let is_managed = managed(&kernel::qdiscs(&netlink, device)?).is_some();
        Ok(is_managed.then_some(Self { netlink, device }))
    }

    /// How its discipline stands; `t_us` is now, by the run's clock. `None` where the interface is shaped no more.
    pub fn sample(&self, t_us: u64) -> Option<AqmSample> {
        let qdiscs = kernel::qdiscs(&self.netlink, self.device).ok()?;
        sample(managed(&qdiscs)?, t_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::bytes;
    use netlink_packet_core::DefaultNla;

    /// A message as `RTM_GETQDISC` answers with it: 1,000 packets of 1,514 bytes have left, 7 of them wait, 30 were dropped.
    fn answered(kind: &str, own: &[u32]) -> Qdisc {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let basic = [1_514_000_u64.to_ne_bytes().to_vec(), words(&[1_000, 0])].concat();
        let stats = bytes(&[
            DefaultNla::new(1, basic),
            DefaultNla::new(4, words(own)),
            // qlen, backlog, drops, requeues, overlimits.
            DefaultNla::new(3, words(&[7, 10_598, 30, 2, 9])),
        ]);
        let attributes =
            bytes(&[DefaultNla::new(1, [kind.as_bytes(), b"\0"].concat()), DefaultNla::new(7, stats)]);
        // `struct tcmsg`: family, index, handle 4:, parent 3:1, references.
        let header = words(&[0, 5, 0x4_0000, 0x3_0001, 1]);
        kernel::qdisc_of([header, attributes].concat().as_slice()).expect("a message of a qdisc")
    }

    fn read(kind: &str, own: &[u32]) -> AqmSample {
        let qdisc = answered(kind, own);
        assert_eq!(managed(std::slice::from_ref(&qdisc)), Some(&qdisc));
        sample(&qdisc, 40).expect("a discipline")
    }

    #[test]
    fn what_the_kernel_reports_of_a_discipline_is_a_row_and_the_rest_is_absent() {
        let row = AqmSample {
            t_us: 40,
            direction: Direction::Forward,
            backlog_packets: Some(7),
            backlog_bytes: Some(10_598),
            packets: 1_000,
            sojourn_sum_us: None,
            sojourn_us: None,
            dropped_packets: 28,
            overflow_packets: 2,
            marked_packets: 11,
            probability_ppb: None,
            drop_count: None,
        };
        let codel = [1_514, 5, 3, 6_200, 900, 2, 11, 1, 0];
        assert_eq!(read("codel", &codel), AqmSample { sojourn_us: Some(6_200), drop_count: Some(5), ..row });
        let between_cycles = [1_514, 5, 3, 200, 0, 2, 11, 0, 0];
        let resting = AqmSample { sojourn_us: Some(200), drop_count: Some(0), ..row };
        assert_eq!(read("codel", &between_cycles), resting);
        assert_eq!(read("fq_codel", &[0, 1_514, 2, 11, 40, 1, 2, 0, 0, 0]), row);
        // A quarter of 2⁶⁴.
        let quarter = (1_u64 << 62).to_ne_bytes();
        let quarter = quarter.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes));
        let pie: Vec<u32> = quarter.chain([14_900, 0, 0, 1_030, 28, 2, 40, 11]).collect();
        let controlled = AqmSample { sojourn_us: Some(14_900), probability_ppb: Some(250_000_000), ..row };
        assert_eq!(read("pie", &pie), controlled);
        assert_eq!(read("red", &[28, 2, 0, 11]), row);
        let head = AqmSample { dropped_packets: 0, overflow_packets: 30, marked_packets: 0, ..row };
        assert_eq!(read("pfifo_head_drop", &[]), head);
        assert_eq!(sample(&answered("htb", &[]), 40), None);
    }
}
