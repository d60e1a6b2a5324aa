//! What other programs may call: run a scenario, judge a capture or the output of another program, watch sockets.

use pipefill_analysis::findings::connections::{Captured, Connections, PastedOutput};
use pipefill_core::backend::Backend;
use pipefill_core::problem::Problem;
use pipefill_observe::{OutputRead, WatchRequest, Watcher, output_of, read_capture};
use pipefill_report::words::{complete_capture, complete_connections, complete_output};
use pipefill_runs::{Failure, Finished, Options, PlannedScenario, Reporter, Session, Stop};
use pipefill_store::Registry;
use std::path::Path;
use std::time::{Duration, Instant};

/// Carries out every run of a scenario on `backend`, keeps its records, and judges them. `reporter` hears what happens meanwhile, and `stop`
/// ends it between two samples.
///
/// # Errors
/// [`Failure`] where a run can't be carried out, or its records can't be kept; runs that were finished stay.
pub fn run_scenario(
    planned: PlannedScenario,
    backend: &dyn Backend,
    options: &Options,
    reporter: &dyn Reporter,
    stop: &Stop,
) -> Result<Finished, Failure> {
    let planned = planned.on(backend);
    let registry = Registry::locate()?.optional(true);
    let session = Session { backend, registry: &registry, stop, base: Path::new("") };
    session.check(&planned)?;
    session.perform(&planned, options, reporter)
}

/// The flows of a capture (pcap or pcapng, also in gzip or zstd), with what limited each, the largest first.
///
/// # Errors
/// [`Problem`] where the file can't be opened, or is no capture. One that breaks off is no error: [`Captured::broken`] says where.
pub fn judge_capture(file: &Path) -> Result<Captured, Problem> {
    Ok(complete_capture(pipefill_observe::judge_capture(&read_capture(file, None)?)))
}

/// The connections that the text of another program shows (iperf3, iperf, netperf, ss, an NDT7 client, a qlog), with what limited each, the fastest first.
///
/// # Errors
/// [`Problem`] where no known program prints such text, or it shows no connection.
pub fn judge_text(text: &str) -> Result<PastedOutput, Problem> {
    Ok(judge_output(&output_of(text.as_bytes(), "the text")?))
}

/// The connections of output that was read already.
pub(crate) fn judge_output(read: &OutputRead) -> PastedOutput {
    complete_output(pipefill_observe::judge_output(read))
}

/// Watches the TCP sockets of this host for `span`, and says what limits each connection that carries data.
///
/// # Errors
/// [`Problem`] where the kernel does not report its sockets, or a namespace can't be entered.
pub fn watch_sockets(request: WatchRequest, span: Duration) -> Result<Connections, Problem> {
    let mut watcher = Watcher::open(request)?;
    watcher.look_until(Some(Instant::now() + span), &Stop::default(), |_| Ok(true))?;
    Ok(complete_connections(watcher.found(usize::MAX)))
}
