//! The simulator: Linux's TCP in virtual time, over the very path elements that the lab drives.
//!
//! Never: a clock, a thread, a socket, chance outside of the run's seed, or an iteration in random order. The same scenario,
//! seed and version give the same bytes on every machine.
#![forbid(unsafe_code)]

mod apps;
mod capture;
pub mod cc;
mod chance;
mod engine;
pub mod fuzz;
mod handshake;
mod host;
mod invariants;
mod network;
mod options;
mod ping;
mod record;
mod run;
mod sampler;
mod segment;
mod settings;
mod stream;
mod tcp;
mod udp;

pub use options::{SimOptions, WindowRule, WriterHabit};

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::cell::CellSpec;
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Manifest, Sink};
use std::time::Duration;

/// The backend that runs in virtual time.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sim {
    options: SimOptions,
    is_checked: bool,
}

impl Sim {
    /// The simulator with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The simulator with other options.
    pub fn with_options(options: SimOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The same simulator, which looks at every instant whether what must always hold does: bytes are conserved, windows and
    /// rates kept, counts right, timers armed. A run in which something doesn't is a [`Problem`]. Several times slower.
    pub fn checked(self) -> Self {
        Self { is_checked: true, ..self }
    }
}

impl Backend for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, Problem> {
        run::carry_out(run, self.options, self.is_checked, watch, sink)
    }

    fn check(&self, run: &Run) -> Result<(), Problem> {
        run::check(run, self.options)
    }

    fn is_deterministic(&self, cell: &CellSpec) -> bool {
        chance::is_absent(cell)
    }

    /// At a million and a half packets a second, as fast as the bottleneck lets them through.
    fn estimate(&self, run: &Run) -> Duration {
        const PACKETS_PER_SECOND: u64 = 1_500_000;
        const PACKET_BITS: u64 = 12_112;
        let spec = &run.cell.spec;
        let bottleneck = spec.path.forward.bottleneck.as_ref();
        let rate = bottleneck.map_or(network::HOST_RATE, |bottleneck| bottleneck.rate);
        let traffic = spec.flows.iter().map(|flow| flow.start + flow.duration).max().unwrap_or_default();
        let work = rate.bps() as f64 / (PACKETS_PER_SECOND * PACKET_BITS) as f64;
        Duration::try_from_secs_f64(traffic.as_secs_f64() * work)
            .unwrap_or(Duration::from_secs(u32::MAX.into()))
    }
}
