//! What the packets of one direction show that only its socket knows: whether data wait, and what lets them out. Figures, no verdict.
//!
//! The estimates are in the spirit of T-RAT (Zhang et al., SIGCOMM 2002) and of Siekkinen et al. (2008), over spans of some round trips. Linux sets PSH
//! on the last segment of what was written, and in a longer queue only once for each half of the largest window (`forced_push()`): so PSH shows
//! a queue that has run dry. Then the application offers no more, or its buffer holds no more. Super-packets always end with PSH (since 5.4) and
//! hide the others: but a buffer is filled again only when a third of it is free (`sk_stream_min_wspace()`), so that less than the most is in
//! flight when ACKs come. Where data wait, they leave on ACKs, or evenly by a pacing rate.

mod rate;
mod span;

pub(crate) use rate::{SteadyRate, steady_rate};
pub(crate) use span::PacketSpan;

use pipefill_core::record::PacketSample;

/// Samples of a stream that are kept: beyond it neighbours become one.
const SAMPLES_MAX: usize = 1 << 14;
/// In so many round trips of slow start the flight grows by this factor at least.
const SLOW_START_ROUND_TRIPS: u64 = 3;
const SLOW_START: f64 = 1.5;

/// One stream's samples in order of time, in a bounded number of intervals.
#[derive(Debug, Clone, Default)]
pub(crate) struct PacketTrack {
    samples: Vec<PacketSample>,
    /// Samples that become one.
    stride: usize,
    /// Of these, still to come.
    missing: usize,
}

/// What the packets of one stream show.
#[derive(Debug)]
pub(crate) struct PacketEvidence<'a> {
    pub(crate) samples: &'a [PacketSample],
    /// Of each sample: the most in flight in the round trip before, and at the next one.
    pub(crate) flights: Vec<u64>,
    /// All samples, cut.
    pub(crate) spans: Vec<PacketSpan>,
    /// New payload over the time of all samples, bits per second.
    pub(crate) mean_bps: u64,
}

impl PacketTrack {
    /// Takes the next sample.
    pub(crate) fn push(&mut self, sample: &PacketSample) {
        if self.samples.len() >= SAMPLES_MAX {
            self.halve();
        }
        match self.samples.last_mut().filter(|_| self.missing > 0) {
            Some(last) => {
                let before = std::mem::replace(last, *sample);
                last.extend_back(&before);
                self.missing -= 1;
            }
            None => {
                self.samples.push(*sample);
                self.missing = self.stride.max(1) - 1;
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[PacketSample] {
        &self.samples
    }

    fn halve(&mut self) {
        self.samples = PacketSample::in_pairs(&self.samples);
        self.stride = 2 * self.stride.max(1);
        self.missing = 0;
    }
}

impl<'a> PacketEvidence<'a> {
    pub(crate) fn of(samples: &'a [PacketSample]) -> Self {
        let flights: Vec<u64> = (0..samples.len()).map(|at| flight_around(samples, at)).collect();
        let spans = span::cut(samples, &flights);
        Self { spans, flights, samples, mean_bps: mean_bps(samples) }
    }

    /// Whether the flight at sample `at` is larger than that of some round trips before, as slow start makes it.
    pub(crate) fn is_doubling(&self, at: usize) -> bool {
        let now = &self.samples[at];
        let back_us = SLOW_START_ROUND_TRIPS * now.srtt_us.map_or(0, u64::from);
        let since_us = |sample: &PacketSample| sample.t_us.saturating_add(back_us);
        let before = self.samples[..at].partition_point(|sample| since_us(sample) < now.t_us);
        let flight = before.checked_sub(1).map_or(0, |before| self.flights[before]);
        flight == 0 || self.flights[at] as f64 >= SLOW_START * flight as f64
    }
}

/// The most in flight in the round trip before sample `at`, and at the next one.
fn flight_around(samples: &[PacketSample], at: usize) -> u64 {
    let now = &samples[at];
    let since_us = now.t_us.saturating_sub(now.srtt_us.map_or(0, u64::from));
    let before = samples[..at].iter().rev().take_while(|sample| sample.t_us >= since_us);
    let after = samples[at..].iter().take(2);
    before.chain(after).map(PacketSample::most_in_flight_bytes).max().unwrap_or(0)
}

fn mean_bps(samples: &[PacketSample]) -> u64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0 };
    let bytes = last.acked_bytes.saturating_sub(first.acked_bytes);
    bytes.saturating_mul(8_000_000) / last.t_us.saturating_sub(first.t_us).max(1)
}
