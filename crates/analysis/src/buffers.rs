//! The largest socket buffers that a cell allows, as its scenario has them.
//!
//! Never: what a buffer carries; see `models::sizing`.

use crate::models::sizing;
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, HostSpec, Protocol};
use pipefill_core::units::Bytes;

/// The TCP flows of `spec`.
pub(crate) fn tcp_flows(spec: &CellSpec) -> impl Iterator<Item = &FlowSpec> {
    spec.flows.iter().filter(|flow| flow.protocol == Protocol::Tcp)
}

/// The host that sends in `direction`.
pub(crate) fn sender(spec: &CellSpec, direction: Direction) -> &HostSpec {
    match direction {
        Direction::Forward => &spec.sender,
        Direction::Reverse => &spec.receiver,
    }
}

/// The host that receives in `direction`.
pub(crate) fn receiver(spec: &CellSpec, direction: Direction) -> &HostSpec {
    match direction {
        Direction::Forward => &spec.receiver,
        Direction::Reverse => &spec.sender,
    }
}

/// The largest send buffer of a flow in `direction`: what it asks for, which the kernel doubles, else the maximum of `tcp_wmem`.
pub(crate) fn send_maximum(spec: &CellSpec, direction: Direction) -> u64 {
    let of_flow = tcp_flows(spec).filter_map(|flow| flow.sndbuf).map(|size| size.get() * 2).min();
    let of_host = triple(sender(spec, direction), "net.ipv4.tcp_wmem").map(|[_, _, maximum]| maximum);
    of_flow.or(of_host).unwrap_or(sizing::tcp_wmem(Bytes::new(0))[2])
}

/// The largest receive buffer, in the same way.
pub(crate) fn receive_maximum(spec: &CellSpec, direction: Direction) -> u64 {
    let of_flow = tcp_flows(spec).filter_map(|flow| flow.rcvbuf).map(|size| size.get() * 2).min();
    let of_host = triple(receiver(spec, direction), "net.ipv4.tcp_rmem").map(|[_, _, maximum]| maximum);
    of_flow.or(of_host).unwrap_or(sizing::tcp_rmem(Bytes::new(0))[2])
}

/// A sysctl of three sizes.
pub(crate) fn triple(host: &HostSpec, name: &str) -> Option<[u64; 3]> {
    let words: Vec<u64> =
        host.sysctl.get(name)?.split_whitespace().map_while(|word| word.parse().ok()).collect();
    words.try_into().ok()
}

/// Whether a window larger than 65,535 bytes can be told: window scaling is on at both ends.
pub(crate) fn windows_are_scaled(spec: &CellSpec) -> bool {
    let is_off = |host: &HostSpec| {
        host.sysctl.get("net.ipv4.tcp_window_scaling").is_some_and(|value| value.trim() == "0")
    };
    !is_off(&spec.sender) && !is_off(&spec.receiver)
}
