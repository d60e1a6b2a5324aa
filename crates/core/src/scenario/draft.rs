//! A cell while its values come in: what was said, and nothing that wasn't.

use super::section::Section;
use crate::cell::{
    CapturePackets, Expectation, Family, Framing, JitterDistribution, LossSpec, LossUnit, Offloads, Payload,
    Pmtud, Protocol, Writer,
};
use crate::hosts::{Place, Shape};
use crate::parse::ParseError;
use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything that was said about one cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) path: PathDraft,
    pub(super) both: HostDraft,
    pub(super) sender: HostDraft,
    pub(super) receiver: HostDraft,
    pub(super) flows: Vec<FlowDraft>,
    pub(super) run: RunDraft,
    pub(super) hosts: HostsDraft,
    pub(super) expectations: Vec<Expectation>,
}

impl Draft {
    /// An empty draft with `flows` flows.
    pub(super) fn new(flows: usize) -> Self {
        Self { flows: vec![FlowDraft::default(); flows], ..Self::default() }
    }

    /// The host that a section speaks of; sections that aren't hosts speak of both.
    pub(super) fn host(&mut self, section: Section) -> &mut HostDraft {
        match section {
            Section::Sender => &mut self.sender,
            Section::Receiver => &mut self.receiver,
            _ => &mut self.both,
        }
    }

    pub(super) fn expect(&mut self, expectation: Expectation) -> Result<(), ParseError> {
        self.expectations.push(expectation);
        Ok(())
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct PathDraft {
    pub(super) profile: Option<String>,
    pub(super) subscriber: Option<Subscriber>,
    pub(super) rtt: Option<Duration>,
    /// The name of a trace.
    pub(super) rtt_trace: Option<String>,
    pub(super) split: Option<Split>,
    pub(super) forward_delay: Option<Duration>,
    pub(super) reverse_delay: Option<Duration>,
    pub(super) rate_layer: Option<Framing>,
    pub(super) overhead: Option<i16>,
    pub(super) mpu: Option<u16>,
    pub(super) loss_unit: Option<LossUnit>,
    pub(super) jitter_distribution: Option<JitterDistribution>,
    pub(super) jitter_reorder: Option<bool>,
    pub(super) duplicate: Option<Ratio>,
    pub(super) reorder: Option<Ratio>,
    pub(super) payload: Option<Payload>,
    pub(super) family: Option<Family>,
    pub(super) mtu: Option<u32>,
    pub(super) inner_mtu: Option<u32>,
    pub(super) pmtud: Option<Pmtud>,
    pub(super) changes: Vec<ChangeDraft>,
    pub(super) forward: WayDraft,
    pub(super) reverse: WayDraft,
}

/// What can be said of each direction apart.
#[derive(Debug, Clone, Default)]
pub(super) struct WayDraft {
    pub(super) rate: Option<Rate>,
    /// The name of a trace.
    pub(super) rate_trace: Option<String>,
    pub(super) queue: Option<QueueLimit>,
    pub(super) aqm: Option<AqmDraft>,
    pub(super) ecn: Option<bool>,
    pub(super) burst: Option<Bytes>,
    pub(super) loss: Option<LossSpec>,
    /// The name of a trace.
    pub(super) loss_trace: Option<String>,
    pub(super) jitter: Option<Duration>,
    pub(super) delay_limit: Option<QueueLimit>,
    pub(super) mark: Option<LossSpec>,
    pub(super) policer_rate: Option<Rate>,
    pub(super) policer_burst: Option<Bytes>,
}

/// What was said in a `[[path.change]]`.
#[derive(Debug, Clone, Default)]
pub(super) struct ChangeDraft {
    pub(super) at: Option<Duration>,
    pub(super) lasts: Option<Duration>,
    pub(super) rtt: Option<Duration>,
    /// Forward, reverse.
    pub(super) delays: [Option<Duration>; 2],
    pub(super) rates: [Option<Rate>; 2],
    pub(super) losses: [Option<LossSpec>; 2],
}

/// Which end of the path is the subscriber's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Subscriber {
    /// A profile's forward direction, to the subscriber, is that of the scenario.
    #[default]
    Receiver,
    /// It is the scenario's reverse direction.
    Sender,
}

/// How `rtt` is divided between the directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    Even,
    Forward,
}

#[derive(Debug, Clone, Default)]
pub(super) struct HostDraft {
    pub(super) tcp_rmem: Option<String>,
    pub(super) tcp_wmem: Option<String>,
    pub(super) tcp_ecn: Option<u32>,
    pub(super) congestion_control: Option<String>,
    pub(super) sysctl: BTreeMap<String, String>,
    pub(super) offloads: Offloads,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FlowDraft {
    pub(super) protocol: Option<Protocol>,
    pub(super) direction: Option<Ways>,
    pub(super) start: Option<Duration>,
    pub(super) duration: Option<Duration>,
    pub(super) parallel: Option<u32>,
    pub(super) bitrate: Option<Rate>,
    pub(super) length: Option<Bytes>,
    pub(super) read_rate: Option<Rate>,
    pub(super) sndbuf: Option<Bytes>,
    pub(super) rcvbuf: Option<Bytes>,
    pub(super) max_pacing_rate: Option<Rate>,
    pub(super) congestion_control: Option<String>,
    pub(super) writer: Option<Writer>,
    pub(super) app: AppDraft,
    pub(super) nodelay: Option<bool>,
    pub(super) payloads: Option<Vec<Bytes>>,
    pub(super) interval: Option<Duration>,
}

/// What kind of application a flow has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AppKind {
    #[default]
    Bulk,
    Requests,
    Bursts,
    Window,
    Writes,
}

/// What was said about an application.
#[derive(Debug, Clone, Default)]
pub(super) struct AppDraft {
    pub(super) kind: Option<AppKind>,
    pub(super) request: Option<Bytes>,
    pub(super) response: Option<Bytes>,
    pub(super) think: Option<Duration>,
    pub(super) outstanding: Option<u32>,
    pub(super) count: Option<u64>,
    pub(super) pause: Option<Duration>,
    pub(super) size: Option<Bytes>,
    pub(super) every: Option<Duration>,
    pub(super) sizes: Option<Vec<Bytes>>,
}

/// What kind of discipline a queue has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AqmKind {
    #[default]
    Droptail,
    Drophead,
    Codel,
    FqCodel,
    Pie,
    Red,
    Dualpi2,
}

/// What was said about a discipline.
#[derive(Debug, Clone, Default)]
pub(super) struct AqmDraft {
    pub(super) kind: AqmKind,
    pub(super) target: Option<Duration>,
    pub(super) interval: Option<Duration>,
    pub(super) flows: Option<u32>,
    pub(super) quantum: Option<Bytes>,
    pub(super) memory_limit: Option<Bytes>,
    pub(super) drop_batch: Option<u32>,
    pub(super) tupdate: Option<Duration>,
    pub(super) alpha: Option<f64>,
    pub(super) beta: Option<f64>,
    pub(super) min: Option<Bytes>,
    pub(super) max: Option<Bytes>,
    pub(super) probability: Option<Ratio>,
    pub(super) avpkt: Option<Bytes>,
    pub(super) burst: Option<u32>,
    pub(super) adaptive: Option<bool>,
    pub(super) harddrop: Option<bool>,
    pub(super) coupling: Option<f64>,
    pub(super) step: Option<Duration>,
}

/// A flow's `direction` as a scenario has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    Forward,
    Reverse,
    Both,
}

#[derive(Debug, Clone, Default)]
pub(super) struct RunDraft {
    pub(super) repeat: Option<u32>,
    pub(super) seed: Option<u64>,
    pub(super) sample: Option<Duration>,
    pub(super) warmup: Option<Duration>,
    pub(super) capture: Option<bool>,
    pub(super) capture_packets: Option<CapturePackets>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct HostsDraft {
    pub(super) sender: Option<Place>,
    pub(super) receiver: Option<Place>,
    pub(super) address: Option<IpAddr>,
    pub(super) shape: Option<Shape>,
}
