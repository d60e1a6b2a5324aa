//! Everything Linux: namespaces, the data path, traffic and telemetry on this machine's real kernel.
//!
//! The only crate with `unsafe` (all of it under `sys`), clocks, threads inside a run, or a need for privileges.
//! Never: a global setting changed (but an interface that [`shaping`] was asked for), a name left behind, or a figure derived from the records that it writes.

mod attributes;
mod bare_timer;
mod batch;
mod capture;
mod carrier;
mod clock;
pub mod counters;
mod cpu_use;
mod data_path;
mod datagrams;
mod descriptors;
mod ends;
mod environment;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod hostile;
pub mod hosts;
mod icmp;
mod kernel_types;
mod lateness;
pub mod mapped_file;
mod namespace;
mod netlink;
mod nfnetlink;
mod nfqueue;
mod offloads;
pub mod one_end;
mod overflow;
pub mod places;
pub mod privilege;
pub mod probe;
pub mod process_cpu;
pub mod program;
mod restoring;
mod rows;
mod run;
pub mod sender_trace;
pub mod shaping;
pub mod sock_diag;
pub mod socket_list;
pub mod socket_options;
mod starvation;
mod sys;
pub mod sysctl;
mod telemetry;
mod threads;
mod topology;
mod trace;
mod traffic;
mod validity;
mod wait;

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Environment, Manifest, Sink};
use places::Pair;
use privilege::Privilege;
use shaping::ShapedQueue;
use std::process::ExitCode;
use std::time::Duration;

pub use restoring::give_back_left;

/// Where this program started this process for a part of the work: does that part and returns the exit code. To be called before
/// anything else.
pub fn inside() -> Option<ExitCode> {
    program::inside(std::env::args_os())
        .or_else(|| restoring::inside(std::env::args_os()))
        .or_else(|| shaping::inside(std::env::args_os()))
}

/// The backend that runs on this machine's real kernel.
#[derive(Debug)]
pub struct Lab {
    environment: Environment,
    is_traced: bool,
}

impl Lab {
    /// A lab with the privilege that [`privilege::acquire`] found.
    pub fn new(privilege: Privilege) -> Self {
        let is_traced = std::env::var_os("PIPEFILL_BPF").is_none_or(|value| value != "0");
        Self { environment: environment::describe(privilege), is_traced }
    }

    /// This machine, as manifests keep it.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Carries out `run` between two hosts of this machine that are there already. `queue` is that of an interface that is shaped meanwhile.
    ///
    /// # Errors
    /// As [`Backend::stream`].
    pub fn stream_between(
        &self,
        pair: &Pair,
        run: &Run,
        queue: Option<&ShapedQueue>,
        watch: &dyn Watch,
        sink: &mut dyn Sink,
    ) -> Result<Manifest, Problem> {
        run::carry_out_between(pair, run, queue, &self.environment, self.is_traced, watch, sink)
    }

    /// The lab with BPF (where the machine permits it) or without. [`Lab::new`] uses BPF unless `PIPEFILL_BPF=0`.
    #[must_use]
    pub fn traced(self, is_traced: bool) -> Self {
        Self { is_traced, ..self }
    }
}

impl Backend for Lab {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, Problem> {
        run::carry_out(run, &self.environment, self.is_traced, watch, sink)
    }

    fn check(&self, run: &Run) -> Result<(), Problem> {
        run::check(run)
    }

    fn estimate(&self, run: &Run) -> Duration {
        const SET_UP: Duration = Duration::from_millis(300);
        let spec = &run.cell.spec;
        let traffic = spec.flows.iter().map(|flow| flow.start + flow.duration).max().unwrap_or_default();
        SET_UP + traffic + 3 * spec.path.rtt()
    }
}
