//! Options of `shape`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments are help texts, in which brackets are brackets"
)]

use super::PATH;
use super::words::set_words;
use pipefill_core::parse;
use std::ffi::OsString;
use std::time::Duration;

/// Nobody waits longer for a test than a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, clap::Args)]
pub(crate) struct ShapeArgs {
    /// The interface that the packets leave by, e.g. eth0
    pub(crate) interface: String,
    /// What the round trip becomes longer by, e.g. 50ms; all of it on the way out
    #[arg(long, value_name = "TIME", help_heading = PATH)]
    pub(crate) rtt: Option<String>,
    /// Bottleneck on the way out, e.g. 100mbit [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = PATH)]
    pub(crate) rate: Option<String>,
    /// What may wait at the bottleneck, e.g. 1bdp, 256KiB, 100p [default: one BDP, at least 100 frames]
    #[arg(long, value_name = "SIZE", help_heading = PATH)]
    pub(crate) queue: Option<String>,
    /// How the queue is managed, by this kernel's qdisc: droptail, drophead, codel, fq_codel, pie or red, e.g. fq_codel or "codel target=5ms" [default: droptail]
    #[arg(long, value_name = "AQM", help_heading = PATH)]
    pub(crate) aqm: Option<String>,
    /// The AQM marks packets in place of dropping them where they may be marked
    #[arg(long, requires = "aqm", help_heading = PATH)]
    pub(crate) ecn: bool,
    /// Random loss on the way out, e.g. 1%
    #[arg(long, value_name = "SHARE", help_heading = PATH)]
    pub(crate) loss: Option<String>,
    /// Spread of the delay on the way out, e.g. 2ms
    #[arg(long, value_name = "TIME", help_heading = PATH)]
    pub(crate) jitter: Option<String>,
    /// Set another key of a scenario's path, e.g. path.burst=64KiB or path.jitter_distribution=normal. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = set_words(), hide_possible_values = true, help_heading = PATH)]
    pub(crate) set: Vec<String>,
    /// Shape only what goes to this host or network; with a port, only connections with that port at either end. May be
    /// repeated [default: all but ssh]
    #[arg(long, value_name = "CIDR|HOST[:PORT]")]
    pub(crate) to: Vec<String>,
    /// Undo it at the latest after this time
    #[arg(long = "for", value_name = "TIME", value_parser = span, default_value = "10min")]
    pub(crate) span: Duration,
    /// The interface is in this network namespace: a name of ip netns, or a file such as /proc/PID/ns/net
    #[arg(long, value_name = "NAME")]
    pub(crate) netns: Option<String>,
    /// Undo what shapes the interface now
    #[arg(long, conflicts_with_all = ["rtt", "rate", "queue", "aqm", "loss", "jitter", "set", "to", "command"])]
    pub(crate) undo: bool,
    /// Print nothing of our own
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print what it was, and what went through, as JSON at the end; with a command on standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Run this meanwhile, and undo it when that ends [default: until Ctrl-C]
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

fn span(text: &str) -> Result<Duration, String> {
    match parse::duration(text) {
        Ok(span) if span.is_zero() || span > LONGEST => Err("more than 0 s, and 24h at most".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}
