//! A judged flow of a scenario, for tests of advice and of sentences.

use pipefill_analysis::findings::finding::{Bufferbloat, Latency};
use pipefill_analysis::findings::verdict::JudgedFlow;
use pipefill_analysis::infer::KnownPath;
use pipefill_analysis::judge::{Diagnosis, Figures};
use pipefill_core::cell::{CellSpec, Direction};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::scenario::Scenario;
use std::collections::BTreeMap;

pub const PATH: &str = "[path]\nrate = \"100mbit\"\nreverse_rate = \"100mbit\"\nrtt = \"40ms\"\nqueue = \"2p\"\nreverse_queue = \"2p\"\n";

pub fn spec(text: &str) -> CellSpec {
    let text = format!("name = \"x\"\n{text}");
    Scenario::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}")).plan().cells[0].spec.clone()
}

pub fn diagnosis(
    spec: &CellSpec,
    flow: u32,
    limited_by: LimitedBy,
    cwnd_cause: Option<CwndCause>,
) -> Diagnosis {
    let of = &spec.flows[flow as usize];
    Diagnosis {
        flow,
        protocol: of.protocol,
        direction: of.direction,
        limited_by,
        cause: cwnd_cause.map(Into::into),
        cwnd_cause,
        rule: None,
        margin: None,
        limited_fraction: BTreeMap::from([(limited_by, 1.0)]),
        active_limited_by: Some(limited_by),
        active_cause: cwnd_cause.map(Into::into),
        active_us: None,
        time: Vec::new(),
        timeline: Vec::new(),
        figures: Figures {
            path_goodput_bps: Some(95_640_000),
            base_rtt_us: Some(40_000),
            srtt_us: Some(40_000),
            rtt_mean_us: Some(40_000),
            mss_bytes: Some(1448),
            utilisation: Some(0.1),
            loss_share: Some(0.001),
            ..Figures::default()
        },
        confidence: None,
        witnesses: Vec::new(),
        faults: Vec::new(),
        events: Vec::new(),
    }
}

/// The flow that `diagnosis` is of, with what was found of it.
pub fn judged(spec: &CellSpec, diagnosis: Diagnosis, latency: Latency, goodput_bps: u64) -> JudgedFlow {
    let flow = spec.flows[diagnosis.flow as usize].clone();
    let host = spec.data_sender(flow.direction);
    JudgedFlow {
        plan: Some(spec.clone()),
        path: KnownPath::asked(&spec.path),
        flows: spec.flows.clone(),
        congestion_control: flow.congestion_control.clone().unwrap_or(host.congestion_control.clone()),
        flow,
        sender_limits: None,
        receiver_limits: None,
        sender_options: None,
        receiver_options: None,
        sender_quota: None,
        receiver_quota: None,
        diagnosis,
        latency,
        aqm: None,
        goodput_bps,
        room_bps: Some(95_640_000.0),
    }
}

/// The round trips of a flow whose queue of 3 BDP is never empty.
pub fn bloated() -> Latency {
    let bloat = Bufferbloat {
        direction: Direction::Forward,
        standing_bytes: Some(1_500_000),
        standing_bdp: Some(3.0),
        added_us: 120_000,
    };
    Latency {
        idle_rtt_us: Some(40_000),
        loaded_rtt_us_p50: Some(160_000),
        bufferbloat: Some(bloat),
        ..Latency::default()
    }
}
