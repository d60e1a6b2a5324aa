//! What a kernel can be told or built to do, and what the simulator does where a scenario is silent.

use pipefill_link::FedBy;
use std::time::Duration;

/// How the receive window follows from the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowRule {
    /// `tcp_win_from_space()` since Linux 6.6: the measured share of payload in a packet's memory.
    ScalingRatio,
    /// Before that, and where a scenario sets `net.ipv4.tcp_adv_win_scale`: a fixed fraction, `space - space / 2^n`, or
    /// `space / 2^-n` for n ≤ 0.
    AdvWinScale(i8),
}

/// What a bulk writer does when it is told that there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterHabit {
    /// Writes until the socket refuses, as the lab's application does: the buffer is filled to the brim.
    UntilFull,
    /// Writes once and asks again, as iperf3 does: the buffer stays near the two thirds at which the kernel wakes it.
    OncePerWake,
}

/// Options of the simulated hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimOptions {
    /// The sender hands over super-packets of up to 64 KB (TSO/GSO), as over veth, unless the scenario turns `gso` or `tso` off; without
    /// it one MSS a packet.
    pub gso: bool,
    /// Whether the path is the lab's data path, from which packets come made anew, each at an instant of its own; else netem, from which they
    /// come as the sender made them, and all of one instant together.
    pub remakes_packets: bool,
    /// The rule for the receive window where the scenario does not set `net.ipv4.tcp_adv_win_scale`.
    pub window_rule: WindowRule,
    /// How bulk data is written by flows that do not say it; see `FlowSpec::writer`.
    pub writer: WriterHabit,
    /// What a packet costs the process that sends it: while it writes, what is acknowledged waits, and it looks after that every
    /// sixteen packets. What an ACK lets go costs nothing.
    pub packet_cost: Duration,
    /// How long after a tick of the kernel's millisecond clock the connections begin: timestamps and timers count in ticks.
    pub phase: Duration,
}

impl SimOptions {
    /// What hands the bottleneck its packets: the lab's data path, or netem.
    pub(crate) const fn fed_by(&self) -> FedBy {
        if self.remakes_packets { FedBy::SuperPackets } else { FedBy::Netem }
    }
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            gso: true,
            remakes_packets: true,
            window_rule: WindowRule::ScalingRatio,
            writer: WriterHabit::UntilFull,
            packet_cost: Duration::ZERO,
            phase: Duration::ZERO,
        }
    }
}
