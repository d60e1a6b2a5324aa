//! The alias of a device that shapes, by which any later process can undo the shaping: nothing else is written anywhere.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first word, with the version of the rest.
const FIRST: &str = "pipefill-shape-1";
/// The first letters of the device's name; the interface's index follows.
const NAME: &str = "pipefill";

/// How to undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Preference of the filters.
    pub(super) preference: u16,
    /// Whether the qdisc that they stand in was made for them.
    pub(super) made_clsact: bool,
    /// When the time is up, for a person: seconds since 1970.
    pub(super) until: u64,
}

impl Mark {
    /// One whose time is up in `span`.
    pub(super) fn new(preference: u16, made_clsact: bool, span: Duration) -> Self {
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + span;
        Self { preference, made_clsact, until: until.as_secs() }
    }

    /// As an alias: 255 bytes at most.
    pub(super) fn text(&self) -> String {
        let clsact = if self.made_clsact { "made" } else { "found" };
        format!("{FIRST} preference={} clsact={clsact} until={}", self.preference, self.until)
    }

    /// From an alias; `None` where that is something else.
    pub(super) fn read(alias: &str) -> Option<Self> {
        let mut words = alias.split(' ');
        (words.next()? == FIRST).then_some(())?;
        let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        Some(Self {
            preference: value("preference")?.parse().ok()?,
            made_clsact: value("clsact")? == "made",
            until: value("until")?.parse().ok()?,
        })
    }
}

/// The device that shapes the interface with this index: 15 letters at most.
pub(super) fn device_name(index: u32) -> String {
    format!("{NAME}{index}")
}

/// The interface whose packets go through a device of that name.
pub(super) fn interface_of(device: &str) -> Option<u32> {
    device.strip_prefix(NAME)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mark = Mark { preference: 49_152, made_clsact: true, until: 1_790_000_000 };
        assert_eq!(Mark::read(&mark.text()), Some(mark));
        assert!(mark.text().len() < 255);
        assert_eq!(Mark::read("uplink of the office"), None);
        assert_eq!(Mark::read("pipefill-shape-1 preference=x"), None);
        assert_eq!(interface_of(&device_name(7)), Some(7));
        assert_eq!(interface_of("pipefill"), None);
    }
}
