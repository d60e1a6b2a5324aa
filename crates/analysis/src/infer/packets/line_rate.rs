//! A rate that is an Ethernet link's: what passes fills it, whatever the round trips and windows are.
//!
//! A window, a program or a congestion control that gives just such a rate all the time would be a chance: the rates are a factor of 2.5 to 10 apart. Never: of a
//! few segments, whose times say too little.

use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::{
    ETHERNET_MSS, FRAME_HEADER, FULL_MSS, HEADERS, JUMBO_MSS, JUMBO_MTU, LINE_RATES_BPS, MTU, TUNNEL_MSS,
    Thresholds,
};
use pipefill_core::record::PacketSample;

/// What filled a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRate {
    pub(crate) interval: TimeInterval,
    pub(crate) bps: u64,
}

/// `None` where the rate is none of a link's, or most of the time another.
pub(crate) fn line_rate(samples: &[PacketSample], t: &Thresholds) -> Option<LineRate> {
    let mss = samples.last()?.mss_bytes;
    packets_of(mss)
        .into_iter()
        .find_map(|packet| of_frames(samples, (packet + FRAME_HEADER) / f64::from(mss.max(1)), t))
}

/// Where a full frame is `frame` times its payload.
fn of_frames(samples: &[PacketSample], frame: f64, t: &Thresholds) -> Option<LineRate> {
    let (first, last) = samples.first().zip(samples.last())?;
    if last.segments.saturating_sub(first.segments) < t.line_rate_segments.whole() {
        return None;
    }
    let steps = steps(samples, frame, t);
    let whole_us = last.t_us.saturating_sub(first.t_us) as f64;
    LINE_RATES_BPS.iter().find_map(|&bps| {
        let filled = |from: usize| {
            let filled = &steps[from..];
            let together = Step::of_all(filled);
            let interval = together.interval;
            let others = filled.iter().filter(|step| !step.fills(bps, t)).count();
            let is_filled = filled.len() as f64 >= t.line_rate_steps.value()
                // The end may be one.
                && others as f64 <= (t.line_rate_others.value() * filled.len() as f64).max(1.0)
                && interval.length_us() as f64 >= t.line_rate_share.value() * whole_us
                && together.fills(bps, t);
            is_filled.then_some(LineRate { interval, bps })
        };
        // A burst of the start may be as fast.
        let mut begins = (0..steps.len()).filter(|&from| steps[from].reaches(bps, t));
        begins.find_map(filled)
    })
}

/// What passed in a time.
struct Step {
    interval: TimeInterval,
    /// With the headers of their frames.
    bits: f64,
    /// Of what may belong to the time before or after it.
    error: f64,
}

impl Step {
    /// Of one or more in their order.
    fn of_all(steps: &[Self]) -> Self {
        let interval = steps[0].interval.around(steps[steps.len() - 1].interval);
        let error = steps.iter().map(|step| step.error).fold(0.0, f64::max);
        Self { interval, bits: steps.iter().map(|step| step.bits).sum(), error }
    }

    fn reaches(&self, bps: u64, t: &Thresholds) -> bool {
        self.bits + self.error >= t.line_rate_least.value() * self.of_link(bps)
    }

    fn fills(&self, bps: u64, t: &Thresholds) -> bool {
        self.reaches(bps, t) && self.bits - self.error <= t.line_rate_most.value() * self.of_link(bps)
    }

    /// What a link carries meanwhile.
    fn of_link(&self, bps: u64) -> f64 {
        bps as f64 * self.interval.length_us() as f64 / 1e6
    }
}

/// Cut into steps long enough that a segment more or less is no other rate, and short enough to show the start.
fn steps(samples: &[PacketSample], frame: f64, t: &Thresholds) -> Vec<Step> {
    let Some((first, last)) = samples.first().zip(samples.last()) else { return Vec::new() };
    let all = last.segments.saturating_sub(first.segments);
    let least = (all / t.line_rate_cut.whole()).max(t.line_rate_step.whole());
    let passed = |sample: &PacketSample| sample.sent_bytes() + sample.retransmitted_bytes;
    let (mut steps, mut from, mut largest) = (Vec::new(), first, 0);
    for now in &samples[1..] {
        largest = largest.max(now.largest_bytes);
        if now.segments.saturating_sub(from.segments) < least || now.t_us <= from.t_us {
            continue;
        }
        let of_payload = |bytes: u64| 8.0 * bytes as f64 * frame;
        steps.push(Step {
            interval: TimeInterval { from_us: from.t_us, to_us: now.t_us },
            bits: of_payload(passed(now).saturating_sub(passed(from))),
            error: of_payload(u64::from(largest.max(now.mss_bytes.into()))),
        });
        (from, largest) = (now, 0);
    }
    steps
}

/// What full packets may have, bytes.
fn packets_of(mss: u16) -> Vec<f64> {
    let own = f64::from(mss) + HEADERS;
    match mss {
        JUMBO_MSS.. => vec![JUMBO_MTU],
        FULL_MSS..=ETHERNET_MSS => vec![MTU],
        TUNNEL_MSS..FULL_MSS => vec![MTU, own],
        _ => vec![own],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;

    /// A second of payload at `bps` of a link, each 10 ms; `others` of ten samples bring a tenth less.
    fn found(bps: f64, mss: u16, others: u64) -> Option<u64> {
        let (mut bytes, mut samples) = (0.0, Vec::new());
        for at in 0..100_u64 {
            let part = if at % 10 < others { 0.9 } else { 1.0 };
            bytes += part * bps / 8.0 / 100.0;
            samples.push(PacketSample {
                t_us: at * 10_000,
                mss_bytes: mss,
                acked_bytes: bytes as u64,
                segments: bytes as u64 / u64::from(mss),
                largest_bytes: mss.into(),
                ..PacketSample::default()
            });
        }
        line_rate(&samples, &STANDARD).map(|found| found.bps)
    }

    #[test]
    fn the_rate_of_a_link_is_known_with_its_frames() {
        assert_eq!(found(94.15e6, 1_448, 0), Some(100_000_000), "100BASE-T, with timestamps");
        assert_eq!(found(94.93e6, 1_460, 0), Some(100_000_000), "without");
        assert_eq!(found(9.43e6, 1_428, 0), Some(10_000_000), "a shaper, Multipath TCP");
        assert_eq!(found(94.0e6, 1_368, 0), Some(100_000_000), "packets that are smaller");
        assert_eq!(found(941.5e6, 1_448, 0), Some(1_000_000_000));
        for bps in [90e6, 97e6, 50e6, 880e6] {
            assert_eq!(found(bps, 1_448, 0), None, "{bps}");
        }
        assert_eq!(found(95.5e6, 1_448, 5), None, "often less");
    }

    /// A start that grows for a third of the time, with a burst at its beginning.
    #[test]
    fn what_is_filled_after_a_start_is_filled() {
        let mut bytes = 0;
        let sample = |at: u64| {
            bytes += if (2..32).contains(&at) { 60_000 } else { 117_700 };
            PacketSample {
                t_us: at * 10_000,
                mss_bytes: 1_448,
                acked_bytes: bytes,
                segments: bytes / 1_448,
                largest_bytes: 1_448,
                ..PacketSample::default()
            }
        };
        let found = line_rate(&(0..100).map(sample).collect::<Vec<_>>(), &STANDARD).expect("it fills a link");
        assert_eq!(found.bps, 100_000_000);
        assert!((300_000..=360_000).contains(&found.interval.from_us), "{found:?}");
    }

    #[test]
    fn few_segments_show_no_rate() {
        let sample = |at: u64| PacketSample {
            t_us: at * 1_000,
            mss_bytes: 1_448,
            acked_bytes: at * 11_768,
            segments: at * 8,
            largest_bytes: 1_448,
            ..PacketSample::default()
        };
        let found = |count| line_rate(&(0..count).map(sample).collect::<Vec<_>>(), &STANDARD);
        assert_eq!(found(40).map(|found| found.bps), Some(100_000_000));
        assert_eq!(found(10), None);
    }
}
