//! How packets cross the middle: held by the kernel until they are due, or copied out of one interface and into the other.

use pipefill_core::cell::{
    CellSpec, Direction, DirectionSpec, FlowSpec, LossSpec, LossUnit, Payload, Protocol,
};
use std::time::Duration;

/// How packets cross the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// This process copies them, headers or all of it, from one packet socket to another.
    Copied,
    /// The kernel holds them in queues; where it can't, they are copied.
    Held,
}

impl Carrier {
    /// The one for the path of `spec`. What the kernel holds it lets go as it came: where the path takes super-packets apart, lets packets
    /// overtake each other or changes them, and where hosts do not make or join super-packets, they are copied. So are the headers of
    /// datagrams, of which there are many for as much payload: that takes less time than to ask for each (`docs/adr/0071-held-packets.md`).
    pub(crate) fn of(spec: &CellSpec) -> Self {
        let is_datagrams = |flow: &FlowSpec| flow.protocol == Protocol::Udp;
        let has_datagrams = spec.path.payload == Payload::Zeros && spec.flows.iter().any(is_datagrams);
        let is_held = !has_datagrams
            && Direction::ALL.into_iter().all(|direction| {
                let (sender, receiver) = (spec.data_sender(direction), spec.data_receiver(direction));
                let makes_and_joins = [sender.offloads.gso, sender.offloads.tso, receiver.offloads.gro];
                only_delays_or_loses(spec.path.way(direction)) && !makes_and_joins.contains(&Some(false))
            });
        let is_allowed = std::env::var_os("PIPEFILL_NFQUEUE").is_none_or(|value| value != "0");
        if is_held && is_allowed { Self::Held } else { Self::Copied }
    }
}

/// Whether it does nothing else to a packet, to all of them after the same delay.
fn only_delays_or_loses(direction: &DirectionSpec) -> bool {
    let rest = DirectionSpec {
        delay: Duration::ZERO,
        loss: LossSpec::None,
        loss_unit: LossUnit::Segment,
        loss_trace: None,
        ..direction.clone()
    };
    rest == DirectionSpec::EMPTY
}
