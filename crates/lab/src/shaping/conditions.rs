//! A path of a scenario as the settings of tbf, netem and the discipline of the queue.
//!
//! Everything is on the way out: the round trip's whole delay, and what the forward direction has of loss, jitter and a bottleneck. A packet
//! meets it in the order of the lab's path. What these qdiscs can't do is refused.

use super::discipline::DisciplineQdisc;
use crate::attributes::{bytes, narrow};
use netlink_packet_core::{DefaultNla, NLA_F_NESTED};
use pipefill_core::cell::{
    BottleneckSpec, Cells, DirectionSpec, Framing, JitterDistribution, JitterSpec, LossSpec, LossUnit,
    PathSpec,
};
use pipefill_core::prng::Prng;
use pipefill_core::units::{QueueLimit, Rate, Ratio, Seed};
use pipefill_link::Jitter;
use std::time::Duration;

/// `TC_LINKLAYER_ETHERNET`, `TC_LINKLAYER_ATM`.
const ETHERNET: u8 = 1;
const ATM: u8 = 2;
/// `TCA_TBF_*` (`include/uapi/linux/pkt_sched.h`).
const TBF_PARMS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_BURST: u16 = 6;
/// `TCA_NETEM_*`, and `NETEM_LOSS_GE`.
const NETEM_DELAY_DIST: u16 = 2;
const NETEM_REORDER: u16 = 3;
const NETEM_LOSS: u16 = 5;
const NETEM_RATE: u16 = 6;
const NETEM_RATE64: u16 = 8;
const NETEM_LATENCY64: u16 = 10;
const NETEM_JITTER64: u16 = 11;
const NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;
/// `NETEM_DIST_SCALE`: the unit of a table, one spread.
const DIST_SCALE: f64 = 8192.0;
/// Draws in a table; the kernel takes 16,384 at most.
const DIST_LENGTH: usize = 4096;
/// Bytes per second that take no time: none of a packet's bytes costs a nanosecond.
const NO_LIMIT: u64 = 1_000_000_000_000_000;
/// Packets are held at least at this rate before netem drops them: an application sends faster than the bottleneck.
const OFFERED_AT_LEAST: Rate = Rate::from_bps(10_000_000_000);
/// Packets that netem may hold in any case.
const LIMIT_AT_LEAST: u64 = 10_000;
/// Bytes of a frame before its IP packet: an Ethernet header with two VLAN tags.
const HEADER: u64 = 14 + 2 * 4;

/// What packets meet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conditions {
    /// Options of netem; `None` where it is not needed.
    pub(super) netem: Option<Vec<u8>>,
    /// Options of the bottleneck's tbf.
    pub(super) bottleneck: Option<Vec<u8>>,
    /// How the bottleneck's queue is managed; `None` where it is drop-tail.
    pub(super) discipline: Option<DisciplineQdisc>,
    /// Whether super-packets are cut into segments first.
    pub(super) is_cut: bool,
}

impl Conditions {
    /// The conditions of `path`.
    ///
    /// # Errors
    /// What an interface can't be shaped to, as the end of a sentence.
    pub(super) fn of(path: &PathSpec, seed: Seed) -> Result<Self, String> {
        refuse_hazards(&path.forward)?;
        refuse_hazards(&path.reverse)?;
        let back = DirectionSpec { delay: Duration::ZERO, ..path.reverse.clone() };
        if !back.is_empty() {
            return Err(
                "the reverse direction: only what leaves the interface is shaped (shape the other host's too)"
                    .to_owned(),
            );
        }
        let forward = &path.forward;
        let delays = DirectionSpec { bottleneck: None, aqm: None, framing: None, ..forward.clone() };
        let needs_netem = !delays.is_empty() || !path.rtt().is_zero();
        let netem = needs_netem.then(|| netem(path, seed)).transpose()?;
        let bottleneck = forward.bottleneck.as_ref().map(|bottleneck| tbf(bottleneck, path)).transpose()?;
        if netem.is_none() && bottleneck.is_none() {
            return Err("nothing: the path has no delay, no loss and no rate".to_owned());
        }
        let managed = forward.aqm.as_ref().zip(forward.bottleneck.as_ref());
        Ok(Self {
            netem,
            bottleneck,
            discipline: managed
                .map(|(aqm, bottleneck)| DisciplineQdisc::of(aqm, bottleneck, path))
                .transpose()?,
            is_cut: forward.loss_unit == LossUnit::Segment,
        })
    }

    /// Options of a tbf that passes all packets at once and cuts those that are longer than a frame of an IP packet of `mtu` bytes
    /// (`tbf_segment()`).
    pub(super) fn cutter(mtu: u32) -> Vec<u8> {
        let plain = [0, ETHERNET, 0, 0, 0, 0, 0, 0];
        tbf_options(NO_LIMIT, &plain, u64::from(u32::MAX), u64::from(mtu) + HEADER)
    }
}

/// What is only in the lab's own path, with what to write in its place.
fn refuse_hazards(way: &DirectionSpec) -> Result<(), String> {
    let keys = [
        (
            "mark",
            !way.mark.is_none(),
            "write path.aqm and path.ecn = true, which mark where the queue is long",
        ),
        ("policer", way.policer.is_some(), "write its rate as path.rate, with a short path.queue"),
        (
            "inner_mtu",
            way.inner_mtu.is_some(),
            "set it at a link between the hosts: ip link set dev eth1 mtu 1400",
        ),
        ("rate_trace", way.rate_trace.is_some(), "write one of its rates as path.rate"),
        ("rtt_trace", way.delay_trace.is_some(), "write one of its round trips as path.rtt"),
        ("loss_trace", way.loss_trace.is_some(), "write one of its shares as path.loss"),
        ("change", !way.changes.is_empty(), "shape the interface anew for each of its values"),
    ];
    match keys.into_iter().find(|(_, is_asked, _)| *is_asked) {
        Some((key, _, instead)) => Err(format!(
            "path.{key}: the kernel's qdiscs can't do it ({instead}; or run it with --on lab, a program behind pipefill exec)"
        )),
        None => Ok(()),
    }
}

fn tbf(bottleneck: &BottleneckSpec, path: &PathSpec) -> Result<Vec<u8>, String> {
    let frame = path.full_frame();
    let queue = bottleneck.queue_bytes(path.rtt(), frame).max(frame);
    Ok(tbf_options(
        bottleneck.rate.bps() / 8,
        &ratespec(path.forward.framing())?,
        queue.get(),
        bottleneck.burst.max(frame).get(),
    ))
}

/// What a frame costs, as `struct tc_ratespec` has it before the rate (`psched_l2t_ns()`).
fn ratespec(framing: Framing) -> Result<[u8; 8], String> {
    let Framing { overhead, mpu, cells } = framing;
    let link_layer = match cells {
        Cells::None => ETHERNET,
        Cells::Atm => ATM,
        Cells::Ptm => {
            return Err("path.rate_layer: tbf has no 64/65 octet encoding (write a rate that is a 65th lower, and path.overhead)".to_owned());
        }
    };
    let overhead = u16::try_from(overhead).map_err(|_| {
        format!("path.overhead: tbf has no overhead of {overhead} bytes (write 0B or more; frames count with their 14 bytes of Ethernet)")
    })?;
    let ([low, high], [mpu_low, mpu_high]) = (overhead.to_ne_bytes(), mpu.to_ne_bytes());
    let (cell_log, cell_align) = (0, [0; 2]);
    Ok([cell_log, link_layer, low, high, cell_align[0], cell_align[1], mpu_low, mpu_high])
}

/// `struct tc_tbf_qopt` and its attributes. `rate` is bytes per second.
fn tbf_options(rate: u64, ratespec: &[u8; 8], limit: u64, burst: u64) -> Vec<u8> {
    let mut ratespec = ratespec.to_vec();
    ratespec.extend(narrow(rate).to_ne_bytes());
    let (no_peak, buffer_and_mtu) = ([0; 12], [0; 8]);
    let parms = [&ratespec[..], &no_peak, &narrow(limit).to_ne_bytes(), &buffer_and_mtu].concat();
    let mut all = vec![
        DefaultNla::new(TBF_PARMS, parms),
        DefaultNla::new(TBF_BURST, narrow(burst).to_ne_bytes().into()),
    ];
    if rate > u64::from(u32::MAX) {
        all.push(DefaultNla::new(TBF_RATE64, rate.to_ne_bytes().into()));
    }
    bytes(&all)
}

/// `struct tc_netem_qopt` and its attributes.
fn netem(path: &PathSpec, seed: Seed) -> Result<Vec<u8>, String> {
    let way = &path.forward;
    let spread = way.jitter.as_ref().map_or(Duration::ZERO, |jitter| jitter.spread);
    let loss = match &way.loss {
        LossSpec::None | LossSpec::GilbertElliott { .. } => 0,
        LossSpec::Independent(share) => probability(*share),
        LossSpec::Packets(_) => return Err("the loss of listed packets".to_owned()),
    };
    // A gap of 1: each packet may be one that overtakes.
    let gap = u32::from(way.reorder != Ratio::ZERO);
    let numbers =
        [ticks(path.rtt()), limit(path, spread), loss, gap, probability(way.duplicate), ticks(spread)];
    let mut options: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let mut all = vec![
        DefaultNla::new(NETEM_LATENCY64, nanos(path.rtt()).to_ne_bytes().into()),
        DefaultNla::new(NETEM_JITTER64, nanos(spread).to_ne_bytes().into()),
        DefaultNla::new(NETEM_PRNG_SEED, seed.get().to_ne_bytes().into()),
    ];
    if way.reorder != Ratio::ZERO {
        let reorder = [probability(way.reorder).to_ne_bytes(), [0; 4]].concat();
        all.push(DefaultNla::new(NETEM_REORDER, reorder));
    }
    if let LossSpec::GilbertElliott { p, r, loss_bad, loss_good } = &way.loss {
        let kept_in_bad = Ratio::from_fraction(1.0 - loss_bad.fraction());
        let model = [*p, *r, kept_in_bad, *loss_good].map(|share| probability(share).to_ne_bytes()).concat();
        all.push(DefaultNla::new(NETEM_LOSS | NLA_F_NESTED, bytes(&[DefaultNla::new(NETEM_LOSS_GE, model)])));
    }
    all.extend(way.jitter.iter().flat_map(|jitter| spread_attributes(jitter, seed)));
    options.extend(bytes(&all));
    Ok(options)
}

/// The distribution of jitter, and what keeps packets in order: with a rate netem lets none leave before the one ahead of it.
fn spread_attributes(jitter: &JitterSpec, seed: Seed) -> Vec<DefaultNla> {
    let mut all = Vec::new();
    if jitter.distribution != JitterDistribution::Uniform {
        all.push(DefaultNla::new(NETEM_DELAY_DIST, table(jitter, seed)));
    }
    if !jitter.reorder {
        let packet_and_cells = [0; 12];
        let rate = [&u32::MAX.to_ne_bytes()[..], &packet_and_cells].concat();
        all.push(DefaultNla::new(NETEM_RATE, rate));
        all.push(DefaultNla::new(NETEM_RATE64, NO_LIMIT.to_ne_bytes().into()));
    }
    all
}

/// Draws of the lab's own jitter, of which netem takes one for each packet: 16-bit numbers, so that four spreads are the most.
fn table(jitter: &JitterSpec, seed: Seed) -> Vec<u8> {
    let Some(mut draws) = Jitter::new(jitter, Prng::stream(seed, "shaping/jitter")) else {
        return Vec::new();
    };
    let spread = jitter.spread.as_nanos() as f64;
    let scaled = |offset: i64| {
        (offset as f64 / spread * DIST_SCALE).clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16
    };
    (0..DIST_LENGTH).flat_map(|_| scaled(draws.offset_ns()).to_ne_bytes()).collect()
}

/// Packets that netem may hold: what is on its way at the bottleneck's rate, or at [`OFFERED_AT_LEAST`], in full frames.
fn limit(path: &PathSpec, spread: Duration) -> u32 {
    let frame = path.full_frame().get();
    let packets = match path.forward.delay_limit {
        Some(QueueLimit::Packets(packets)) => packets,
        Some(QueueLimit::Bytes(size)) => size.get() / frame,
        Some(QueueLimit::Bdp(_)) | None => {
            let rate =
                path.forward.bottleneck.as_ref().map_or(OFFERED_AT_LEAST, |bottleneck| bottleneck.rate);
            let longest = path.rtt() + 4 * spread;
            (rate.max(OFFERED_AT_LEAST).bdp(longest).get() / frame).max(LIMIT_AT_LEAST)
        }
    };
    narrow(packets.max(1))
}

/// A probability in parts of 2^32 - 1.
fn probability(share: Ratio) -> u32 {
    (share.fraction() * f64::from(u32::MAX)).round() as u32
}

/// Time in the kernel's ticks of 64 ns (`PSCHED_SHIFT`).
fn ticks(span: Duration) -> u32 {
    u32::try_from(span.as_nanos() >> 6).unwrap_or(u32::MAX)
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::AqmSpec;
    use pipefill_core::units::Bytes;

    const SEED: Seed = Seed::new(1);

    fn bottleneck(rate: u64, queue: QueueLimit) -> Option<BottleneckSpec> {
        let (overhead, burst) = (Bytes::new(0), Bytes::new(32_768));
        Some(BottleneckSpec { rate: Rate::from_bps(rate), overhead, queue, burst })
    }

    fn word(bytes: &[u8], number: usize) -> u32 {
        u32::from_ne_bytes(bytes[number * 4..][..4].try_into().unwrap())
    }

    #[test]
    fn the_whole_round_trip_is_on_the_way_out() {
        let mut path = PathSpec::EMPTY;
        path.forward.delay = Duration::from_millis(20);
        path.reverse.delay = Duration::from_millis(30);
        path.forward.loss = LossSpec::Independent(Ratio::from_percent(50.0));
        let conditions = Conditions::of(&path, SEED).unwrap();
        let netem = conditions.netem.unwrap();
        assert_eq!(word(&netem, 0), 50_000_000 / 64, "ticks of 64 ns");
        assert_eq!(word(&netem, 1), 41_281, "50 ms of 10 Gbit/s in frames of 1514 bytes");
        assert_eq!(word(&netem, 2), u32::MAX / 2 + 1);
        assert_eq!((conditions.bottleneck, conditions.is_cut), (None, true));
        assert_eq!(conditions.discipline, None);
    }

    #[test]
    fn a_rate_alone_needs_no_netem() {
        let mut path = PathSpec::EMPTY;
        path.forward.bottleneck = bottleneck(100_000_000, QueueLimit::Bytes(Bytes::new(1)));
        let conditions = Conditions::of(&path, SEED).unwrap();
        assert_eq!(conditions.netem, None);
        let tbf = conditions.bottleneck.unwrap();
        assert_eq!(word(&tbf, 3), 12_500_000, "bytes per second");
        assert_eq!(word(&tbf, 7), 1514, "a queue for a frame at least");
        // Beyond 32 bits the rate is an attribute of its own.
        path.forward.bottleneck = bottleneck(100_000_000_000, QueueLimit::Packets(10));
        let tbf = Conditions::of(&path, SEED).unwrap().bottleneck.unwrap();
        assert_eq!((word(&tbf, 3), word(&tbf, 7)), (u32::MAX, 15_140));
        assert!(tbf.windows(8).any(|bytes| bytes == 12_500_000_000_u64.to_ne_bytes()));
    }

    #[test]
    fn a_discipline_and_cells_belong_to_the_bottleneck_and_need_no_netem() {
        let mut path = PathSpec::EMPTY;
        path.forward.bottleneck = bottleneck(16_000_000, QueueLimit::Packets(1_000));
        path.forward.aqm = Some(AqmSpec::Drophead);
        path.forward.framing = Some(Framing { overhead: 26, mpu: 64, cells: Cells::Atm });
        let conditions = Conditions::of(&path, SEED).unwrap();
        assert_eq!(conditions.netem, None);
        assert_eq!(conditions.discipline.map(|qdisc| qdisc.kind), Some("pfifo_head_drop"));
        // `struct tc_ratespec` behind the attribute's head: cell_log, linklayer, overhead, cell_align, mpu.
        let tbf = conditions.bottleneck.unwrap();
        assert_eq!(
            (tbf[5], &tbf[6..8], &tbf[10..12]),
            (ATM, &26_u16.to_ne_bytes()[..], &64_u16.to_ne_bytes()[..])
        );
    }

    #[test]
    fn framing_that_tbf_has_not_is_refused_with_what_to_write() {
        let mut path = PathSpec::EMPTY;
        path.forward.bottleneck = bottleneck(16_000_000, QueueLimit::Packets(1_000));
        for (framing, instead) in [
            (Framing { overhead: 30, mpu: 0, cells: Cells::Ptm }, "a 65th lower"),
            (Framing { overhead: -4, mpu: 0, cells: Cells::Atm }, "write 0B or more"),
        ] {
            path.forward.framing = Some(framing);
            let refused = Conditions::of(&path, SEED).unwrap_err();
            assert!(refused.contains(instead), "{refused}");
        }
    }

    #[test]
    fn what_can_not_be_done_is_refused() {
        assert!(Conditions::of(&PathSpec::EMPTY, SEED).unwrap_err().contains("nothing"));
        let mut path = PathSpec::EMPTY;
        path.reverse.bottleneck = bottleneck(1_000_000, QueueLimit::Packets(10));
        assert!(Conditions::of(&path, SEED).unwrap_err().contains("reverse direction"));
        let mut path = PathSpec::EMPTY;
        path.forward.loss = LossSpec::Packets(vec![3]);
        assert!(Conditions::of(&path, SEED).unwrap_err().contains("listed packets"));
        let mut path = PathSpec::EMPTY;
        path.forward.delay = Duration::from_millis(1);
        path.forward.mark = LossSpec::Packets(vec![3]);
        let marked = Conditions::of(&path, SEED).unwrap_err();
        assert!(marked.starts_with("path.mark: ") && marked.contains("write path.aqm"), "{marked}");
    }

    #[test]
    fn a_table_of_jitter_has_the_spread_as_its_unit() {
        let spread = Duration::from_millis(2);
        let jitter = JitterSpec { spread, distribution: JitterDistribution::Normal, reorder: false };
        let draws = table(&jitter, SEED);
        let values =
            draws.as_chunks::<2>().0.iter().map(|bytes| f64::from(i16::from_ne_bytes(*bytes)) / DIST_SCALE);
        let squares: f64 = values.map(|value| value * value).sum();
        let deviation = (squares / DIST_LENGTH as f64).sqrt();
        assert!((0.95..1.05).contains(&deviation), "{deviation}");
    }
}
