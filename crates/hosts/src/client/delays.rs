//! What the clocks of both ends say: their offset, and how long packets took each way.

use crate::end::End;
use crate::time::Beside;
use pipefill_analysis::findings::connections::{ClockOffset, ClockSet, DelayOf, TestDelay, TestDelays};
use pipefill_remote::clock::{Clocks, Exchange};
use pipefill_remote::far_end::FarEnd;
use std::time::{Duration, Instant, SystemTime};

/// What was told of clocks.
#[derive(Debug)]
pub(crate) struct Times {
    before: Vec<Exchange>,
    beside: Vec<Exchange>,
    clocks: Option<Clocks>,
    /// This host's clock in the middle of the test.
    middle_ns: u64,
    /// By how much this host's clock was set, nanoseconds; 0 where it was not.
    set_here_ns: i64,
}

/// This host's two clocks at an instant: nobody sets the monotonic one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BothClocks(SystemTime, Instant);

impl BothClocks {
    pub(crate) fn now() -> Self {
        Self(SystemTime::now(), Instant::now())
    }

    /// By how much the real-time clock was set since then, nanoseconds.
    fn set_by_ns(self) -> i64 {
        /// Less lies within the reading of two clocks one after the other on a busy machine.
        const LEAST: i64 = 10_000_000;
        let now = Self::now();
        let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        let real = match now.0.duration_since(self.0) {
            Ok(span) => nanos(span),
            Err(back) => -nanos(back.duration()),
        };
        let moved = real.saturating_sub(nanos(now.1.duration_since(self.1)));
        if moved.unsigned_abs() > LEAST.unsigned_abs() { moved } else { 0 }
    }
}

impl Times {
    /// Of the series before and after the test, and what was asked beside its data.
    pub(crate) fn of(mut series: Vec<Vec<Exchange>>, beside: Beside, began_at: BothClocks) -> Self {
        let set_here_ns = began_at.set_by_ns();
        let after = if series.len() > 1 { series.swap_remove(1) } else { Vec::new() };
        let before = series.pop().unwrap_or_default();
        let at = |series: &[Exchange]| series.last().map(Exchange::at_ns);
        let began = at(&before).unwrap_or(0);
        let middle_ns = began + at(&after).map_or(0, |ended| ended.saturating_sub(began) / 2);
        let clocks = Clocks::of(&before, &after);
        Self { before, beside: beside.exchanges, clocks, middle_ns, set_here_ns }
    }

    /// Whether a clock of either host was set.
    pub(super) fn clock_set(&self) -> Option<ClockSet> {
        let apart = self.clocks.and_then(|clocks| clocks.set_by_ns(&self.beside));
        let by_ns = apart.or((self.set_here_ns != 0).then_some(-self.set_here_ns))?;
        Some(ClockSet { by_us: by_ns / 1_000 })
    }

    /// What both clocks say, unless one of them was set.
    fn steady(&self) -> Option<Clocks> {
        self.clocks.filter(|_| self.clock_set().is_none())
    }

    /// The offset, and its error.
    pub(super) fn clock(&self) -> Option<ClockOffset> {
        let clocks = self.steady()?;
        let (offset, error) = clocks.offset_ns(self.middle_ns);
        let drift = clocks.drift_ppm();
        Some(ClockOffset {
            offset_us: (offset / 1e3).round() as i64,
            offset_error_us: (error / 1e3).ceil() as u64,
            drift_ppm: drift.map(|[drift, _]| drift),
            drift_error_ppm: drift.map(|[_, error]| error),
            round_trip_us: clocks.round_trip_ns() / 1_000,
        })
    }

    /// How long packets took. Of a direction with datagrams they count; else the messages beside the data do.
    pub(super) fn delays(&self, end: &End, far: Option<&FarEnd>) -> Option<TestDelays> {
        let clocks = self.steady()?;
        let ways = |exchanges: &[Exchange], way: usize| -> Vec<f64> {
            exchanges.iter().map(|exchange| clocks.one_way_ns(exchange)[way]).collect()
        };
        let there = far.into_iter().flat_map(|far| &far.streams).flat_map(|stream| &stream.transits);
        let there = there.map(|&(at_ns, transit_ns)| clocks.to_server_ns(at_ns, transit_ns)).collect();
        let back = end.transits.iter().flatten();
        let back = back.map(|&(at_ns, transit_ns)| clocks.to_client_ns(at_ns, transit_ns)).collect();
        let delay = |way: usize, datagrams: Vec<f64>| {
            let idle = ways(&self.before, way);
            if datagrams.is_empty() {
                TestDelay::new(&idle, &ways(&self.beside, way), DelayOf::Messages)
            } else {
                TestDelay::new(&idle, &datagrams, DelayOf::Datagrams)
            }
        };
        let (_, error) = clocks.offset_ns(self.middle_ns);
        let [to_server, to_client] = [delay(0, there), delay(1, back)];
        Some(TestDelays { to_server, to_client, error_us: (error / 1e3).ceil() as u64 })
    }
}
