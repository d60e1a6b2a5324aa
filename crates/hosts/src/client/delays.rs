//! What the clocks of both ends say: their offset, and how long packets took each way.

use crate::end::End;
use crate::time::Beside;
use pipefill_analysis::findings::connections::{ClockOffset, DelayOf, TestDelay, TestDelays};
use pipefill_remote::clock::{Clocks, Exchange};
use pipefill_remote::far_end::FarEnd;

/// What was told of clocks.
#[derive(Debug)]
pub(crate) struct Times {
    before: Vec<Exchange>,
    beside: Vec<Exchange>,
    clocks: Option<Clocks>,
    /// This host's clock in the middle of the test.
    middle_ns: u64,
}

impl Times {
    /// Of the series before and after the test, and what was asked beside its data.
    pub(crate) fn of(mut series: Vec<Vec<Exchange>>, beside: Beside) -> Self {
        let after = if series.len() > 1 { series.swap_remove(1) } else { Vec::new() };
        let before = series.pop().unwrap_or_default();
        let at = |series: &[Exchange]| series.last().map(Exchange::at_ns);
        let began = at(&before).unwrap_or(0);
        let middle_ns = began + at(&after).map_or(0, |ended| ended.saturating_sub(began) / 2);
        let clocks = Clocks::of(&before, &after);
        Self { before, beside: beside.exchanges, clocks, middle_ns }
    }

    /// The offset, and its error.
    pub(super) fn clock(&self) -> Option<ClockOffset> {
        let clocks = self.clocks?;
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
        let clocks = self.clocks?;
        let ways = |exchanges: &[Exchange], way: usize| -> Vec<f64> {
            exchanges.iter().map(|one| clocks.one_way_ns(one)[way]).collect()
        };
        let there = far.into_iter().flat_map(|far| &far.streams).flat_map(|one| &one.transits);
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
