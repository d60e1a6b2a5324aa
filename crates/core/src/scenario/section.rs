//! The tables of a scenario that hold keys.

use std::fmt;

/// A table of the scenario that holds keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `[path]`
    Path,
    /// `[host]`: both ends.
    Host,
    /// `[sender]` overrides `[host]`.
    Sender,
    /// `[receiver]` overrides `[host]`.
    Receiver,
    /// `[[flow]]`
    Flow,
    /// `[run]`
    Run,
    /// `[expect]`
    Expect,
    /// `[hosts]`: where both ends are, for `--on hosts`
    Hosts,
}

impl Section {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Path,
        Self::Host,
        Self::Sender,
        Self::Receiver,
        Self::Flow,
        Self::Run,
        Self::Expect,
        Self::Hosts,
    ];

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Host => "host",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Flow => "flow",
            Self::Run => "run",
            Self::Expect => "expect",
            Self::Hosts => "hosts",
        }
    }

    /// The section called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
