//! The largest socket buffers that a cell allows, as its scenario has them.

use crate::ground::models::sizing;
use pipefill_core::cell::{CellSpec, FlowSpec, HostSpec, Protocol};
use pipefill_core::units::Bytes;

/// The TCP flows of `spec`.
pub(crate) fn tcp_flows(spec: &CellSpec) -> impl Iterator<Item = &FlowSpec> {
    spec.flows.iter().filter(|flow| flow.protocol == Protocol::Tcp)
}

/// The largest send buffer of `flow`: what it asks for, which the kernel doubles, else the maximum of `tcp_wmem`.
pub(crate) fn send_maximum(spec: &CellSpec, flow: &FlowSpec) -> u64 {
    let of_host =
        triple(spec.data_sender(flow.direction), "net.ipv4.tcp_wmem").map(|[_, _, maximum]| maximum);
    doubled(flow.sndbuf).or(of_host).unwrap_or(sizing::tcp_wmem(Bytes::new(0))[2])
}

/// The largest receive buffer of `flow`, in the same way. Without autotuning a buffer stays as it begins.
pub(crate) fn receive_maximum(spec: &CellSpec, flow: &FlowSpec) -> u64 {
    let host = spec.data_receiver(flow.direction);
    let is_fixed = host.sysctl.get("net.ipv4.tcp_moderate_rcvbuf").is_some_and(|value| value.trim() == "0");
    let of_host = triple(host, "net.ipv4.tcp_rmem").map(|sizes| if is_fixed { sizes[1] } else { sizes[2] });
    doubled(flow.rcvbuf).or(of_host).unwrap_or(sizing::tcp_rmem(Bytes::new(0))[2])
}

/// What one stream of `flow` may have in flight by its receive buffer, and by its send buffer with super-packets, which is what hosts send
/// where they may.
pub(crate) fn windows(spec: &CellSpec, flow: &FlowSpec) -> [Bytes; 2] {
    let receive = sizing::window_of_receive_buffer(Bytes::new(receive_maximum(spec, flow)));
    let receive = if windows_are_scaled(spec) { receive } else { receive.min(Bytes::new(UNSCALED)) };
    let [_, send] = sizing::flight_of_send_buffer(Bytes::new(send_maximum(spec, flow)));
    [receive, send]
}

/// The largest window without window scaling (RFC 9293 section 3.1).
const UNSCALED: u64 = 65_535;

fn doubled(asked: Option<Bytes>) -> Option<u64> {
    asked.map(|size| size.get().saturating_mul(2))
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
