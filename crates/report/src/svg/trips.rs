//! Round trips of a cell as the share that did not exceed them.

use super::legend::{Key, LegendEntry, legend};
use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, through, x_axis, y_axis};
use crate::charts::{SERIES, Trip, Trips};
use crate::quantity::QuantityKind;
use maud::html;

const FRAME: Frame = Frame { left: 78.0, top: 28.0, right: WIDTH - 14.0, bottom: 230.0 };

/// The picture of `trips`.
pub(crate) fn trips(trips: &Trips) -> Picture {
    let x = Scale::logarithmic(trips.x_range, [FRAME.left, FRAME.right]);
    let y = Scale::linear([0.0, 100.0], [FRAME.bottom, FRAME.top]);
    let (below, height) = legend(&entries(trips), FRAME.left, FRAME.bottom + 40.0);
    let line = |trip: &Trip| through(trip.points.iter().map(|point| (x.at(point[0]), y.at(point[1]))));
    let content = html! {
        (y_axis(FRAME, &y, &y.ticks(QuantityKind::Percent, 5), "took no longer"))
        (x_axis(FRAME, &x, &x.ticks(QuantityKind::Time, 6), "round trip"))
        @if let Some(idle_ns) = trips.idle_ns {
            path class="line rate" d={ "M" (n(x.at(idle_ns))) " " (n(FRAME.top)) "V" (n(FRAME.bottom)) } {}
        }
        @for trip in &trips.series { path class=(class(trip)) d=(line(trip)) {} }
        (below)
    };
    Picture::new(FRAME.bottom + 44.0 + height, &trips.title, content)
}

fn class(trip: &Trip) -> String {
    format!("line c{}", trip.tone % SERIES)
}

fn entries(trips: &Trips) -> Vec<LegendEntry> {
    let entry = |trip: &Trip| LegendEntry { key: Key::Line(class(trip), None), text: trip.name.clone() };
    let idle = trips
        .idle_ns
        .map(|_| LegendEntry { key: Key::Line("line rate".to_owned(), None), text: "idle RTT".to_owned() });
    trips.series.iter().map(entry).chain(idle).collect()
}
