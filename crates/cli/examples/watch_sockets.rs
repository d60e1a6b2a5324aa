//! Watches the connections of this host for a second, and prints what limits each.
//!
//! `cargo run -p pipefill --example watch_sockets -- dport = :443`

use pipefill::{Filter, Problem, WatchRequest};
use std::time::Duration;

fn main() -> Result<(), Problem> {
    let filter: Vec<String> = std::env::args().skip(1).collect();
    print!("{}", verdicts(&filter, Duration::from_secs(1))?);
    Ok(())
}

/// A line for each connection that `filter` (in the words of ss(8)) matches.
pub(crate) fn verdicts(filter: &[String], span: Duration) -> Result<String, Problem> {
    let filter = Filter::read(filter)?;
    let request =
        WatchRequest { filter, pid: None, netns: None, every: Duration::from_millis(100), emulated: None };
    let mut lines = String::new();
    for connection in pipefill::watch_sockets(request, span)?.connections {
        lines += &format!(
            "{} to {}: {}\n",
            connection.local,
            connection.remote,
            connection.verdict.sentence.as_deref().unwrap_or("unknown")
        );
    }
    Ok(lines)
}
