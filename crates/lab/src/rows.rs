//! The way of the samples from the telemetry's thread to the record: a thread of its own writes them, so that neither
//! compression nor a disk makes a sample late.
//!
//! Never: a row dropped. Where the writer falls behind by more than [`WAITING`] rows, the telemetry waits for it, and its
//! lateness shows it.

use pipefill_core::record::{AnyRow, Sink, SinkError};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Rows that may wait: a quarter of a second of eight TCP streams sampled every millisecond.
const WAITING: usize = 8192;

/// The writer rests this long after it has written what there was, so that rows come to it in heaps: waking it for every row
/// cost the telemetry, at a sample a millisecond, as much as the samples did.
const REST: Duration = Duration::from_millis(50);

/// Where the telemetry and pings put their rows.
#[derive(Clone)]
pub(crate) struct Rows(SyncSender<AnyRow>);

/// Rows are not taken any more: the sink failed.
#[derive(Debug)]
pub(crate) struct Closed;

/// The other end, for the thread that writes.
pub(crate) struct Waiting(Receiver<AnyRow>);

/// Both ends.
pub(crate) fn channel() -> (Rows, Waiting) {
    let (sender, receiver) = sync_channel(WAITING);
    (Rows(sender), Waiting(receiver))
}

impl Rows {
    /// Hands one row over.
    pub(crate) fn send(&self, row: AnyRow) -> Result<(), Closed> {
        self.0.send(row).map_err(|_| Closed)
    }
}

impl Waiting {
    /// Hands every row to `sink`, until all who write have ended or the sink fails.
    pub(crate) fn drain_into(self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        while let Ok(first) = self.0.recv() {
            sink.push(first)?;
            self.0.try_iter().try_for_each(|row| sink.push(row))?;
            thread::sleep(REST);
        }
        Ok(())
    }
}
