//! Windows, buffers and round trips of all streams of one direction, at each moment.
//!
//! Never: a stream that has not begun or has ended, or a sum of which a part was not measured.

use super::Quantity;
use crate::ground::interval::TimeInterval;
use pipefill_core::record::TcpSample;

/// What is followed of a sample, in the order of [`values`].
const QUANTITIES: [Quantity; 6] =
    [Quantity::InFlight, Quantity::Cwnd, Quantity::Rwnd, Quantity::Queued, Quantity::Sndbuf, Quantity::Srtt];

type Values = [Option<u64>; QUANTITIES.len()];

/// The last sample of each stream.
#[derive(Debug)]
pub(super) struct Sums {
    streams: Vec<(u32, TimeInterval, Option<Values>)>,
}

impl Sums {
    /// Of streams with their lives.
    pub(super) fn of(lives: Vec<(u32, TimeInterval)>) -> Self {
        Self { streams: lives.into_iter().map(|(stream, life)| (stream, life, None)).collect() }
    }

    /// Takes the next sample; what all streams together have now. Nothing from a stream that is not followed.
    pub(super) fn observe(&mut self, row: &TcpSample) -> [Option<(Quantity, u64)>; QUANTITIES.len()] {
        let is_its = |(stream, life, _): &&mut (u32, TimeInterval, Option<Values>)| {
            *stream == row.stream && (life.from_us..life.to_us).contains(&row.t_us)
        };
        match self.streams.iter_mut().find(is_its) {
            Some((_, _, last)) => *last = Some(values(row)),
            None => return [None; QUANTITIES.len()],
        }
        let is_alive = |life: &TimeInterval| (life.from_us..life.to_us).contains(&row.t_us);
        let alive = self.streams.iter().filter(|(_, life, _)| is_alive(life));
        let seen: Vec<&Values> = alive.filter_map(|(_, _, last)| last.as_ref()).collect();
        std::array::from_fn(|place| {
            let sum = seen.iter().map(|values| values[place]).sum::<Option<u64>>()?;
            let quantity = QUANTITIES[place];
            Some((quantity, if quantity == Quantity::Srtt { sum / seen.len() as u64 } else { sum }))
        })
    }
}

fn values(row: &TcpSample) -> Values {
    let info = &row.info;
    [
        info.in_flight_bytes,
        info.cwnd_bytes,
        info.rwnd_bytes.map(u64::from),
        row.wmem_queued_bytes,
        row.sndbuf_bytes,
        info.srtt_us.map(u64::from),
    ]
}
