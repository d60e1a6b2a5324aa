//! A scenario's discipline of the queue as the qdisc of this kernel that has its name.
//!
//! The qdisc is the child of the bottleneck's tbf, as the lab's own path has it.

use crate::attributes::{bytes, narrow};
use netlink_packet_core::DefaultNla;
use pipefill_core::cell::{AqmSpec, BottleneckSpec, CodelSpec, PathSpec, PieSpec, RedSpec};
use pipefill_link::red_weight_log;
use std::time::Duration;

/// `TCA_CODEL_*` (`include/uapi/linux/pkt_sched.h`); `TCA_FQ_CODEL_*` has the first four too.
const CODEL_TARGET: u16 = 1;
const CODEL_LIMIT: u16 = 2;
const CODEL_INTERVAL: u16 = 3;
const CODEL_ECN: u16 = 4;
const FQ_CODEL_FLOWS: u16 = 5;
const FQ_CODEL_QUANTUM: u16 = 6;
const FQ_CODEL_DROP_BATCH_SIZE: u16 = 8;
const FQ_CODEL_MEMORY_LIMIT: u16 = 9;
/// `TCA_PIE_*`.
const PIE_TARGET: u16 = 1;
const PIE_LIMIT: u16 = 2;
const PIE_TUPDATE: u16 = 3;
const PIE_ALPHA: u16 = 4;
const PIE_BETA: u16 = 5;
const PIE_ECN: u16 = 6;
/// `TCA_RED_*`, and the flags of `struct tc_red_qopt`.
const RED_PARMS: u16 = 1;
const RED_STAB: u16 = 2;
const RED_MAX_P: u16 = 3;
const RED_ECN: u8 = 1;
const RED_HARDDROP: u8 = 2;
const RED_ADAPTATIVE: u8 = 4;
/// `RED_STAB_SIZE`: shifts of the average, by the length of an idle time.
const RED_STAB_SIZE: usize = 256;
/// The longest such shift (`tc_red_eval_idle_damping()`).
const RED_SHIFT_MAX: f64 = 31.0;
/// Idle times are distinguished up to this many units.
const RED_IDLE_UNITS: f64 = 512.0;
/// The kernel's ticks in a second (`PSCHED_TICKS_PER_SEC`).
const TICKS: f64 = 15_625_000.0;
/// Weights of alpha and beta that the kernel takes at most (`pie_policy`).
const PIE_WEIGHT_MAX: f64 = 32.0;

/// The name (major number) of its qdisc at the device.
pub(super) const DISCIPLINE: u16 = 4;
/// The drop-head queue, as tc calls it.
pub(super) const HEAD_DROP: &str = "pfifo_head_drop";

/// A qdisc below the bottleneck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DisciplineQdisc {
    /// Its kind, as tc calls it.
    pub(super) kind: &'static str,
    pub(super) options: Vec<u8>,
}

impl DisciplineQdisc {
    /// The one of `aqm`, at the bottleneck of `path`.
    ///
    /// # Errors
    /// What the kernel's qdisc can't do, and what to write instead.
    pub(super) fn of(aqm: &AqmSpec, bottleneck: &BottleneckSpec, path: &PathSpec) -> Result<Self, String> {
        let frame = path.full_frame();
        let limit = bottleneck.queue_bytes(path.rtt(), frame).max(frame);
        let packets = narrow((limit.get() / frame.get().max(1)).max(1));
        Ok(match aqm {
            AqmSpec::Drophead => Self { kind: HEAD_DROP, options: packets.to_ne_bytes().into() },
            AqmSpec::Codel(codel) => {
                Self { kind: "codel", options: bytes(&codel_attributes(codel, packets)) }
            }
            AqmSpec::FqCodel(fq_codel) => {
                let mut all = codel_attributes(&fq_codel.codel, packets).to_vec();
                all.extend([
                    number(FQ_CODEL_FLOWS, fq_codel.flows),
                    number(FQ_CODEL_QUANTUM, narrow(fq_codel.quantum.get())),
                    number(FQ_CODEL_DROP_BATCH_SIZE, fq_codel.drop_batch),
                    number(FQ_CODEL_MEMORY_LIMIT, narrow(fq_codel.memory_limit.get())),
                ]);
                Self { kind: "fq_codel", options: bytes(&all) }
            }
            AqmSpec::Pie(pie) => Self { kind: "pie", options: bytes(&pie_attributes(pie, packets)?) },
            AqmSpec::Red(red) => {
                Self { kind: "red", options: bytes(&red_attributes(red, narrow(limit.get()), bottleneck)?) }
            }
            AqmSpec::Dualpi2(_) => {
                return Err("path.aqm: dualpi2 is refused at interfaces (write fq_codel, codel, pie or red, or run it with --on lab)".to_owned());
            }
        })
    }
}

fn codel_attributes(codel: &CodelSpec, packets: u32) -> [DefaultNla; 4] {
    [
        number(CODEL_TARGET, micros(codel.target)),
        number(CODEL_LIMIT, packets),
        number(CODEL_INTERVAL, micros(codel.interval)),
        number(CODEL_ECN, u32::from(codel.ecn)),
    ]
}

/// The kernel has whole numbers as weights.
fn pie_attributes(pie: &PieSpec, packets: u32) -> Result<[DefaultNla; 6], String> {
    let weight = |name: &str, weight: f64| {
        if weight.fract() == 0.0 && (0.0..=PIE_WEIGHT_MAX).contains(&weight) {
            Ok(weight as u32)
        } else {
            Err(format!(
                "path.aqm: the kernel's pie has no {name} of {weight} (write a whole number from 0 to {PIE_WEIGHT_MAX})"
            ))
        }
    };
    Ok([
        number(PIE_TARGET, micros(pie.target)),
        number(PIE_LIMIT, packets),
        number(PIE_TUPDATE, micros(pie.tupdate)),
        number(PIE_ALPHA, weight("alpha", pie.alpha)?),
        number(PIE_BETA, weight("beta", pie.beta)?),
        number(PIE_ECN, u32::from(pie.ecn)),
    ])
}

/// `struct tc_red_qopt`, the table of an idle time, and the probability (`red_parse_opt()` of iproute2's `tc/q_red.c`).
fn red_attributes(red: &RedSpec, limit: u32, bottleneck: &BottleneckSpec) -> Result<[DefaultNla; 3], String> {
    let span = red.max.get().saturating_sub(red.min.get()) as f64;
    let probability = red.probability.fraction();
    // `tc_red_eval_P()`: the power of two above what a byte of the average adds.
    let plog = (1..=i32::BITS).find(|&log| probability / span * 2.0_f64.powf(log.into()) > 1.0);
    let plog =
        plog.ok_or("path.aqm: RED's probability is too small for its thresholds (write a larger one)")?;
    let wlog = red_weight_log(red);
    let (scell_log, stab) = idle_damping(wlog, red, bottleneck);
    let flags = [(red.ecn, RED_ECN), (red.harddrop, RED_HARDDROP), (red.adaptive, RED_ADAPTATIVE)];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum::<u8>();
    let thresholds = [limit, narrow(red.min.get()), narrow(red.max.get())];
    let mut parms: Vec<u8> = thresholds.iter().flat_map(|bytes| bytes.to_ne_bytes()).collect();
    parms.extend([wlog, u8::try_from(plog).unwrap_or(u8::MAX), scell_log, flags]);
    Ok([
        DefaultNla::new(RED_PARMS, parms),
        DefaultNla::new(RED_STAB, stab),
        number(RED_MAX_P, (probability * f64::from(u32::MAX)) as u32),
    ])
}

/// `tc_red_eval_idle_damping()`: by how much the average shrinks in an idle time, in units of 2 to the power of the number.
fn idle_damping(wlog: u8, red: &RedSpec, bottleneck: &BottleneckSpec) -> (u8, Vec<u8>) {
    let packet_ticks = bottleneck.rate.time_to_send(red.avpkt).as_secs_f64() * TICKS;
    let shrinks = -(1.0 - 0.5_f64.powi(wlog.into())).ln() / packet_ticks.max(1.0);
    let longest = RED_SHIFT_MAX / shrinks;
    let fits = |log: &u8| longest / 2.0_f64.powi((*log).into()) < RED_IDLE_UNITS;
    let log = (0..u8::try_from(u32::BITS - 1).unwrap_or(u8::MAX)).find(fits).unwrap_or_default();
    let shift = |unit: usize| (unit as f64 * 2.0_f64.powi(log.into()) * shrinks).min(RED_SHIFT_MAX) as u8;
    let mut table: Vec<u8> = (0..RED_STAB_SIZE).map(shift).collect();
    if let Some(last) = table.last_mut() {
        *last = RED_SHIFT_MAX as u8;
    }
    (log, table)
}

fn number(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().into())
}

fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{NLA_HEADER_SIZE, NlasIterator};
    use pipefill_core::cell::FqCodelSpec;
    use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio};
    use std::collections::BTreeMap;

    const BOTTLENECK: BottleneckSpec = BottleneckSpec {
        rate: Rate::from_bps(10_000_000),
        overhead: Bytes::new(0),
        queue: QueueLimit::Packets(500),
        burst: Bytes::new(32_768),
    };

    fn codel() -> CodelSpec {
        CodelSpec {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            frame: Bytes::new(1514),
        }
    }

    /// The numbers of the attributes that have four bytes.
    fn numbers(options: &[u8]) -> BTreeMap<u16, u32> {
        let all = NlasIterator::new(options).map(Result::unwrap).map(|nla| {
            let value = nla.value().first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
            (nla.kind(), value.unwrap())
        });
        all.collect()
    }

    #[test]
    fn fq_codel_has_the_scenarios_parameters_in_the_kernels_units() {
        let spec = FqCodelSpec {
            codel: codel(),
            flows: 1024,
            quantum: Bytes::new(1514),
            memory_limit: Bytes::new(32 << 20),
            drop_batch: 64,
        };
        let qdisc = DisciplineQdisc::of(&AqmSpec::FqCodel(spec), &BOTTLENECK, &PathSpec::EMPTY).unwrap();
        assert_eq!(qdisc.kind, "fq_codel");
        let expected =
            [(1, 5_000), (2, 500), (3, 100_000), (4, 1), (5, 1024), (6, 1514), (8, 64), (9, 32 << 20)];
        assert_eq!(numbers(&qdisc.options), BTreeMap::from(expected));
    }

    #[test]
    fn a_queue_of_bytes_is_counted_in_full_frames() {
        let bottleneck = BottleneckSpec { queue: QueueLimit::Bytes(Bytes::new(100_000)), ..BOTTLENECK };
        let of = |aqm| DisciplineQdisc::of(&aqm, &bottleneck, &PathSpec::EMPTY).unwrap();
        assert_eq!(numbers(&of(AqmSpec::Codel(codel())).options)[&CODEL_LIMIT], 66);
        let head = of(AqmSpec::Drophead);
        assert_eq!((head.kind, head.options), ("pfifo_head_drop", 66_u32.to_ne_bytes().to_vec()));
    }

    /// `tc qdisc add … red limit 400000 min 30000 max 90000 avpkt 1000 burst 50 bandwidth 10mbit ecn` sends `Wlog` 5, `Plog` 22, `Scell_log` 15.
    #[test]
    fn red_is_what_tc_sends() {
        let spec = RedSpec {
            min: Bytes::new(30_000),
            max: Bytes::new(90_000),
            probability: Ratio::from_percent(2.0),
            avpkt: Bytes::new(1_000),
            burst: 50,
            adaptive: false,
            ecn: true,
            harddrop: false,
        };
        let bottleneck = BottleneckSpec { queue: QueueLimit::Bytes(Bytes::new(400_000)), ..BOTTLENECK };
        let qdisc = DisciplineQdisc::of(&AqmSpec::Red(spec), &bottleneck, &PathSpec::EMPTY).unwrap();
        let parms = &qdisc.options[NLA_HEADER_SIZE..][..16];
        let words: Vec<u32> =
            parms.as_chunks::<4>().0[..3].iter().map(|word| u32::from_ne_bytes(*word)).collect();
        assert_eq!(words, [400_000, 30_000, 90_000]);
        assert_eq!(&parms[12..], [5, 22, 15, RED_ECN]);
        let table = NlasIterator::new(&*qdisc.options).map(Result::unwrap).find(|nla| nla.kind() == RED_STAB);
        let table = table.unwrap().value().to_vec();
        assert_eq!((table.len(), table[0], table[255]), (256, 0, 31));
        assert!(table.is_sorted());
    }

    #[test]
    fn what_no_qdisc_has_is_refused_with_what_to_write() {
        let pie = PieSpec {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2.5,
            beta: 20.0,
            ecn: false,
            frame: Bytes::new(1514),
        };
        let refused = |aqm| DisciplineQdisc::of(&aqm, &BOTTLENECK, &PathSpec::EMPTY).unwrap_err();
        assert!(refused(AqmSpec::Pie(pie.clone())).contains("write a whole number from 0 to 32"));
        let whole =
            DisciplineQdisc::of(&AqmSpec::Pie(PieSpec { alpha: 2.0, ..pie }), &BOTTLENECK, &PathSpec::EMPTY);
        let expected = [(1, 15_000), (2, 500), (3, 15_000), (4, 2), (5, 20), (6, 0)];
        assert_eq!(numbers(&whole.unwrap().options), BTreeMap::from(expected));
    }
}
