//! For each cause, the figure of the scenario that packets do not show exactly and that runs of the simulator estimate.

use crate::findings::connections::CapturedFlow;

/// A figure of the scenario that may be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knob {
    /// Losses by chance, percent.
    Loss,
    /// Packets that overtake, percent.
    Reorder,
    /// Half the width of the delay's spread, microseconds.
    Jitter,
    /// ACKs that are not lost, percent.
    AcksThatArrive,
    /// What the way back of ACKs is faster than they came.
    AckRate,
    /// The bottleneck's queue, bytes.
    Queue,
    /// What the bottleneck is faster than its estimate.
    Rate,
    /// What the receive window is larger than what was advertised.
    Window,
    /// What the send buffer is larger than what it held.
    Sndbuf,
}

/// A value of a knob, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Of this one.
    pub knob: Knob,
    /// So much.
    pub value: f64,
}

impl Knob {
    /// The scenario's key.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Reorder => "reorder",
            Self::Jitter => "jitter",
            Self::AcksThatArrive => "reverse_loss",
            Self::AckRate => "reverse_rate",
            Self::Queue => "queue",
            Self::Rate => "rate",
            Self::Window => "the receive buffer",
            Self::Sndbuf => "sndbuf",
        }
    }

    /// Whether a larger value slows a flow down.
    pub(super) const fn slows(self) -> bool {
        matches!(self, Self::Loss | Self::Reorder | Self::Jitter)
    }

    /// The least and the most that is tried.
    pub(super) fn range(self, main: &CapturedFlow) -> (f64, f64) {
        let rtt_us = main.min_rtt_us.unwrap_or(0) as f64;
        match self {
            Self::Loss => (1e-4, 60.0),
            Self::Reorder => (1e-3, 50.0),
            Self::Jitter => ((rtt_us / 1e3).max(1.0), (rtt_us / 2.0).max(2.0)),
            Self::AcksThatArrive => (1.0, 99.0),
            Self::Queue => (1_514.0, 1e8),
            Self::AckRate | Self::Rate | Self::Window | Self::Sndbuf => (0.1, 10.0),
        }
    }

    /// The factor from one value to the next, while all results are on one side of the captured goodput.
    pub(super) const fn step(self) -> f64 {
        match self {
            Self::AckRate | Self::Rate | Self::Window | Self::Sndbuf => 1.5,
            _ => 4.0,
        }
    }
}
