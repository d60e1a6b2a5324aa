//! How late the instrument was: a histogram of the time between when something was due and when it happened.

use hdrhistogram::Histogram;
use pipefill_core::record::Lateness;
use std::time::Duration;

/// Collects latenesses up to 60 s with three significant figures.
pub(crate) struct LatenessMeter {
    histogram: Histogram<u64>,
}

const LONGEST_NS: u64 = 60_000_000_000;

impl LatenessMeter {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram accepts"));
        Self { histogram }
    }

    pub(crate) fn record(&mut self, late: Duration) {
        self.histogram.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }

    /// `None` where nothing happened.
    pub(crate) fn summary(&self) -> Option<Lateness> {
        let h = &self.histogram;
        (!h.is_empty()).then(|| Lateness {
            count: h.len(),
            p50_ns: h.value_at_quantile(0.5),
            p99_ns: h.value_at_quantile(0.99),
            p999_ns: h.value_at_quantile(0.999),
            max_ns: h.max(),
            histogram: h
                .iter_log(1_000, 2.0)
                .map(|step| (step.value_iterated_to() + 1, step.count_since_last_iteration()))
                .collect(),
        })
    }
}
