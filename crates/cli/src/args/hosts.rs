//! Options of runs between hosts.

use std::path::PathBuf;

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "With --on hosts")]
pub(crate) struct HostsOptions {
    /// Change sysctls of a machine itself, which are for all of its connections; they are given back after each run
    #[arg(long)]
    pub(crate) allow_sysctl: bool,
    /// Send this executable over ssh where the other host has no pipefill [default: this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// The key that a pipefill serve asks for
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}
