//! A record as if nobody had planned it: what one end's sockets tell, and nothing else.

use pipefill_core::cell::{Application, CellSpec, Direction, FlowSpec, Offloads, PathSpec, Protocol, Writer};
use pipefill_core::record::{
    BufferLimits, CpuUse, Environment, Instrument, Manifest, Observed, StreamEnd, StreamSummary, Subject,
    TcpSample,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose sockets are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Those that the data comes from.
    #[default]
    Sender,
    /// Those that the data goes to.
    Receiver,
}

impl View {
    /// `sender` or `receiver`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    const fn end(self) -> StreamEnd {
        match self {
            Self::Sender => StreamEnd::Sender,
            Self::Receiver => StreamEnd::Receiver,
        }
    }

    /// Whether `sample` is of that end.
    pub fn sees(self, sample: &TcpSample) -> bool {
        sample.end == self.end()
    }
}

/// `manifest` without the plan's facts, the emulator's counters, and what the other end knows.
pub fn blindfolded(manifest: &Manifest, view: View) -> Manifest {
    let mut blind = manifest.clone();
    let [local_buffers, remote_buffers] = known_limits(manifest, view);
    blind.subject = Subject::Observed(Observed { local_buffers, remote_buffers, ..Observed::default() });
    forget_the_plan(&mut blind.run.cell.spec);
    blind.settings = Vec::new();
    blind.counters = Vec::new();
    blind.aqm = Vec::new();
    blind.environment = Environment { host_rate_bps: None, facts: Default::default(), ..blind.environment };
    blind.instrument = Instrument { cpu_use: None::<CpuUse>, ..Instrument::default() };
    for stream in &mut blind.streams {
        forget_the_ends(stream, view);
    }
    blind
}

/// What the hosts of the plan's sender and receiver allow sockets to buffer, as far as the end that is looked at knows: its own. Where data
/// goes both ways, that is the end of the forward data.
fn known_limits(manifest: &Manifest, view: View) -> [Option<BufferLimits>; 2] {
    let flows = &manifest.run.cell.spec.flows;
    let is_reverse = !flows.is_empty() && flows.iter().all(|flow| flow.direction == Direction::Reverse);
    let sees_sender = (view == View::Sender) != is_reverse;
    let limits = |place: &str| {
        let of = |name: &str| {
            let mut settings = manifest.settings.iter();
            settings.find(|setting| setting.place == place && setting.name == name)?.got.as_deref()
        };
        BufferLimits::of(of)
    };
    [limits("sender").filter(|_| sees_sender), limits("receiver").filter(|_| !sees_sender)]
}

/// `spec` without what only a scenario says.
pub fn forget_the_plan(spec: &mut CellSpec) {
    // A socket's address tells its family.
    spec.path = PathSpec { family: spec.path.family, ..PathSpec::EMPTY };
    spec.expect = Vec::new();
    for host in [&mut spec.sender, &mut spec.receiver] {
        host.sysctl.clear();
        host.offloads = Offloads::default();
    }
    for flow in &mut spec.flows {
        forget_the_options(flow);
    }
}

fn forget_the_options(flow: &mut FlowSpec) {
    flow.read_rate = None;
    flow.sndbuf = None;
    flow.rcvbuf = None;
    flow.max_pacing_rate = None;
    flow.writer = Writer::default();
    flow.app = Application::default();
    flow.nodelay = false;
    if flow.protocol == Protocol::Tcp {
        flow.bitrate = None;
    }
}

/// The sending socket knows what was acknowledged.
fn forget_the_ends(stream: &mut StreamSummary, view: View) {
    stream.udp = None;
    stream.ca_state_us = None;
    stream.ca_state_source = None;
    stream.tcp = stream.tcp.filter(|_| view == View::Sender);
    let acked = stream.tcp.and_then(|info| info.bytes_acked).unwrap_or(0);
    stream.sent_bytes = acked;
    stream.received_bytes = acked;
}
