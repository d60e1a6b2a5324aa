//! What the handshake of a captured connection agreed on, for the data of one side.

use pipefill_analysis::findings::connections::{FlowCounts, FlowOptions};
use pipefill_capture::tcp::{Connection, EcnMode, Opening, Side};
use pipefill_core::stacks::{Stack, StackConfidence};

/// RFC 9293 3.7.1: what a SYN without the option means.
const MSS_WITHOUT_OPTION: [u16; 2] = [536, 1220];

/// What decides how `side` may send.
pub(crate) fn options(connection: &Connection, side: Side) -> FlowOptions {
    let receiver = connection.opening(side.other());
    let both = connection.opening(side).zip(receiver);
    let without_option = MSS_WITHOUT_OPTION[usize::from(connection.is_v6())];
    let ecn = connection.ecn_mode();
    FlowOptions {
        mss_bytes: receiver.map(|syn| syn.mss.unwrap_or(without_option)),
        window_scale: connection.half(side.other()).window_scale(),
        sack: both.map(|(own, its)| own.sack_permitted && its.sack_permitted),
        timestamps: both.map(|(own, its)| own.has_timestamps && its.has_timestamps),
        ecn: ecn.map(|mode| mode != EcnMode::Off),
        accurate_ecn: ecn.map(|mode| mode == EcnMode::Accurate),
    }
}

/// The TCP implementation of `side`, by its SYN.
pub(crate) fn stack(connection: &Connection, side: Side) -> (Option<Stack>, StackConfidence) {
    connection.opening(side).map_or((None, StackConfidence::Unknown), Opening::stack)
}

/// What is counted of the data of `side`.
pub(crate) fn counts(connection: &Connection, side: Side) -> FlowCounts {
    let (sent, back) = (connection.half(side).ecn(), connection.half(side.other()).ecn());
    let is_counter = connection.ecn_mode() == Some(EcnMode::Accurate);
    let of_flag = |count: u32| if is_counter { 0 } else { u64::from(count) };
    let (own, peer) = (connection.half(side), connection.half(side.other()));
    let counts = own.counts();
    FlowCounts {
        ce: u64::from(sent.ce),
        ece: of_flag(back.ece),
        cwr: of_flag(sent.cwr),
        zero_windows: peer.zero_windows().into(),
        window_probes: own.window_probes().into(),
        duplicate_acks: counts.duplicate_acks.into(),
        out_of_order: counts.out_of_order.into(),
        duplicates: counts.captured_twice.into(),
        keep_alives: own.keep_alives().into(),
        network_duplicates: counts.network_duplicates.into(),
    }
}
