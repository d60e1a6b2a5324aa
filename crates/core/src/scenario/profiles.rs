//! Named paths: what a kind of access, or of distance, usually is. Each is a file with the source of its numbers.

use super::draft::{PathDraft, WayDraft};
use super::key::CHANGE;

/// A path that is built in.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Its name in a scenario.
    pub name: &'static str,
    /// The file: `title` and `[path]`, with sources in comments. Forward goes to the subscriber.
    pub text: &'static str,
}

macro_rules! profile {
    ($name:literal) => {
        Profile { name: $name, text: include_str!(concat!("profiles/", $name, ".toml")) }
    };
}

/// All, from the slowest access to the shortest distance.
pub const PROFILES: &[Profile] = &[
    profile!("adsl"),
    profile!("vdsl"),
    profile!("cable"),
    profile!("fibre"),
    profile!("wifi"),
    profile!("lte"),
    profile!("5g"),
    profile!("starlink"),
    profile!("geo"),
    profile!("wan-eu-us"),
    profile!("datacentre"),
];

impl Profile {
    /// The profile called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}

impl PathDraft {
    /// With each direction in the place of the other.
    pub(super) fn turned(mut self) -> Self {
        std::mem::swap(&mut self.forward, &mut self.reverse);
        std::mem::swap(&mut self.forward_delay, &mut self.reverse_delay);
        for change in &mut self.changes {
            change.delays.reverse();
            change.rates.reverse();
            change.losses.reverse();
        }
        self
    }

    /// Forgets what the key `name` speaks of under other names: a round trip and the delays of both directions, a rate or a loss and its
    /// trace, all changes.
    pub(super) fn forget_beside(&mut self, name: &str) {
        const DELAYS: [&str; 5] = ["rtt", "rtt_trace", "split", "forward_delay", "reverse_delay"];
        let forget_rate = |way: &mut WayDraft| (way.rate, way.rate_trace) = (None, None);
        let forget_loss = |way: &mut WayDraft| (way.loss, way.loss_trace) = (None, None);
        match name {
            _ if DELAYS.contains(&name) => {
                (self.rtt, self.rtt_trace, self.split) = (None, None, None);
                (self.forward_delay, self.reverse_delay) = (None, None);
            }
            "loss" | "loss_trace" => forget_loss(&mut self.forward),
            "reverse_loss" | "reverse_loss_trace" => forget_loss(&mut self.reverse),
            "rate" | "rate_trace" => forget_rate(&mut self.forward),
            "reverse_rate" | "reverse_rate_trace" => forget_rate(&mut self.reverse),
            _ if name.starts_with(CHANGE) => self.changes.clear(),
            _ => {}
        }
    }
}
