//! A map of goodput over two axes; light is fast, on a logarithmic scale.

use super::{Picture, WIDTH, n};
use crate::charts::{Field, Map};
use crate::quantity::{self, QuantityKind};
use maud::{Markup, html};

/// The steps of viridis, dark to light; the script has the same.
const VIRIDIS: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];
/// A field narrower than this has no room for a figure.
const ROOM: f64 = 52.0;
/// Where the fields begin.
const CORNER: (f64, f64) = (96.0, 26.0);

/// The picture of `map`.
pub(crate) fn heat(map: &Map<'_>) -> Picture {
    let (left, top) = CORNER;
    let width = (WIDTH - left - 8.0) / map.x.values.len().max(1) as f64;
    let height = if map.y.values.len() > 12 { 12.0 } else { 30.0 };
    let bottom = top + height * map.y.values.len() as f64;
    let every = |count: usize, room: f64, need: f64| ((need / room).ceil() as usize).clamp(1, count.max(1));
    let (columns, rows) = (every(map.x.values.len(), width, 56.0), every(map.y.values.len(), height, 13.0));
    let (low, high) = map.range;
    let content = html! {
        text class="name" x="4" y="14" { (map.y.name) }
        text class="name end" x=(n(WIDTH - 8.0)) y=(n(bottom + 34.0)) { (map.x.name) }
        @for (place, value) in map.x.values.iter().enumerate().step_by(columns) {
            text class="tick middle" x=(n(left + width * (place as f64 + 0.5))) y=(n(bottom + 16.0)) { (clipped(value)) }
        }
        @for (place, value) in map.y.values.iter().enumerate().step_by(rows) {
            text class="tick end" x=(n(left - 6.0)) y=(n(top + height * (place as f64 + 0.5) + 4.0)) { (clipped(value)) }
        }
        @for square in &map.fields { (field(map, square, width, height)) }
        text class="tick" x=(n(left)) y=(n(bottom + 34.0)) { "bit/s; dark: " (QuantityKind::Rate.alone(low)) ", light: " (QuantityKind::Rate.alone(high)) }
    };
    Picture::new(bottom + 42.0, &map.title, content)
}

fn field(map: &Map<'_>, field: &Field, width: f64, height: f64) -> Markup {
    let (across, down) = (field.at[0], field.at[1]);
    let (x, y) = (CORNER.0 + width * across as f64, CORNER.1 + height * down as f64);
    let place = format!("{}, {}", map.x.values[across], map.y.values[down]);
    html! {
        @match field.bps {
            Some(bps) => {
                @let share = share(bps, map.range);
                rect x=(n(x)) y=(n(y)) width=(n(width)) height=(n(height)) fill=(colour(share)) {
                    title { (place) ": " (quantity::rate(bps)) }
                }
                @if width >= ROOM && height >= 20.0 {
                    text class="tick middle" fill=(if share > 0.55 { "#000" } else { "#fff" }) x=(n(x + width / 2.0)) y=(n(y + height / 2.0 + 4.0)) {
                        (quantity::rate(bps).replace("bit/s", ""))
                    }
                }
            }
            None => { rect class="missing" x=(n(x)) y=(n(y)) width=(n(width)) height=(n(height)) { title { (place) ": not measured" } } }
        }
    }
}

/// From 0, slowest, to 1, by the logarithm.
fn share(bps: u64, (low, high): (f64, f64)) -> f64 {
    if bps == 0 || high <= low {
        return if bps == 0 { 0.0 } else { 1.0 };
    }
    ((bps as f64 / low).ln() / (high / low).ln()).clamp(0.0, 1.0)
}

fn colour(share: f64) -> String {
    let at = share * (VIRIDIS.len() - 1) as f64;
    let step = (at as usize).min(VIRIDIS.len() - 2);
    let part = at - step as f64;
    let [red, green, blue] = [0, 1, 2]
        .map(|channel| VIRIDIS[step][channel] + part * (VIRIDIS[step + 1][channel] - VIRIDIS[step][channel]));
    format!("#{:02x}{:02x}{:02x}", red.round() as u8, green.round() as u8, blue.round() as u8)
}

/// A label that fits beside a row.
fn clipped(text: &str) -> String {
    if text.chars().count() <= 14 { text.to_owned() } else { text.chars().take(13).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_runs_from_dark_to_light() {
        assert_eq!((colour(0.0).as_str(), colour(1.0).as_str()), ("#440154", "#fde725"));
        assert_eq!((share(10, (10.0, 1000.0)), share(100, (10.0, 1000.0))), (0.0, 0.5));
        assert_eq!((share(0, (10.0, 1000.0)), share(7, (7.0, 7.0))), (0.0, 1.0));
    }
}
