//! A scenario that reproduces the flows between two hosts of a capture: the path as their packets show it, and what limits each at its ends.

mod candidates;
mod ends;
mod fit;
mod knob;
mod path;

pub use fit::{Fit, FitResult, Simulated, fit};
pub use knob::{Knob, Setting};

use crate::findings::connections::{Captured, CapturedFlow};
use core::net::{IpAddr, SocketAddr};
use pipefill_core::cell::Direction;
use pipefill_core::scenario::SCHEMA_URL;

/// Flows with less than this share of the largest flow's bytes are left out, and so are flows beyond a number.
const SMALL: f64 = 0.01;
const FLOWS_MAX: usize = 16;

/// A flow of the scenario: it goes as the largest one does, or against it.
type Placed<'a> = (&'a CapturedFlow, Direction);

/// What is to be reproduced: the largest flow, which goes forward and is the scenario's first, and those between the same two hosts.
#[derive(Debug)]
pub struct Draft<'a> {
    name: String,
    main: &'a CapturedFlow,
    flows: Vec<Placed<'a>>,
}

impl<'a> Draft<'a> {
    /// Of what was captured, for a scenario called `name`; `None` without any flow whose times are known.
    pub fn of(found: &'a Captured, name: &str) -> Option<Self> {
        let main = found.flows.iter().find(|flow| flow.data_us.is_some())?;
        Some(Self { name: name.to_owned(), main, flows: beside(&found.flows, main) })
    }

    /// The scenario with the figures of the packets, and with `setting` in place of one of them; `note` becomes a comment line.
    pub fn text(&self, setting: Option<Setting>, note: Option<&str>) -> String {
        let mut text = format!(
            "#:schema {SCHEMA_URL}\n# Made from a capture of {} -> {}.\n# {}\n",
            self.main.src,
            self.main.dst,
            self.main.verdict.sentence.as_deref().unwrap_or("The limit is unknown.")
        );
        text += &note.map_or_else(String::new, |note| format!("# {note}\n"));
        text += &format!("\nname = \"{}\"\n", self.name);
        path::write(&mut text, self, setting);
        ends::write(&mut text, self, setting);
        text += "\n[run]\nrepeat = 3\nwarmup = \"0s\"\n";
        text
    }

    /// The flows of a direction.
    fn of_way(&self, way: Direction) -> Vec<&'a CapturedFlow> {
        self.flows.iter().filter(|(_, direction)| *direction == way).map(|(flow, _)| *flow).collect()
    }
}

/// The flows between the hosts of `main`, with their directions.
fn beside<'a>(all: &'a [CapturedFlow], main: &CapturedFlow) -> Vec<Placed<'a>> {
    let ends = |flow: &CapturedFlow| (address(&flow.src), address(&flow.dst));
    let (from, to) = ends(main);
    let timed = all.iter().filter(|flow| flow.data_us.is_some());
    let flows = timed.filter_map(|flow| match ends(flow) {
        ends if ends == (from, to) => Some((flow, Direction::Forward)),
        ends if ends == (to, from) => Some((flow, Direction::Reverse)),
        _ => None,
    });
    flows.filter(|(flow, _)| flow.bytes as f64 >= SMALL * main.bytes as f64).take(FLOWS_MAX).collect()
}

fn address(end: &str) -> Option<IpAddr> {
    end.parse().ok().map(|end: SocketAddr| end.ip())
}

#[cfg(test)]
mod tests;
