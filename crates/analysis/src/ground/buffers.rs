//! The largest socket buffers that a scenario allows; without one those that the kernel has by itself.

use crate::ground::models::sizing;
use pipefill_core::cell::{CellSpec, FlowSpec, HostSpec, Protocol};
use pipefill_core::units::Bytes;

/// The TCP flows of `spec`.
pub(crate) fn tcp_flows(spec: &CellSpec) -> impl Iterator<Item = &FlowSpec> {
    spec.flows.iter().filter(|flow| flow.protocol == Protocol::Tcp)
}

/// The largest send buffer of `flow`: what it asks for, which the kernel doubles, else the maximum of `tcp_wmem`.
pub(crate) fn send_maximum(plan: Option<&CellSpec>, flow: &FlowSpec) -> u64 {
    let host = plan.map(|plan| plan.data_sender(flow.direction));
    let asked = flow.sndbuf.map(|asked| host.map_or(asked, |host| host.granted_sndbuf(asked)));
    let of_host = host.and_then(|host| triple(host, "net.ipv4.tcp_wmem")).map(|[_, _, maximum]| maximum);
    doubled(asked).or(of_host).unwrap_or(sizing::tcp_wmem(Bytes::new(0))[2])
}

/// The largest receive buffer of `flow`, in the same way. Without autotuning a buffer stays as it begins.
pub(crate) fn receive_maximum(plan: Option<&CellSpec>, flow: &FlowSpec) -> u64 {
    let host = plan.map(|plan| plan.data_receiver(flow.direction));
    let asked = flow.rcvbuf.map(|asked| host.map_or(asked, |host| host.granted_rcvbuf(asked)));
    let of_host = host.and_then(|host| {
        let is_fixed = is_off(host, "net.ipv4.tcp_moderate_rcvbuf");
        triple(host, "net.ipv4.tcp_rmem").map(|sizes| if is_fixed { sizes[1] } else { sizes[2] })
    });
    doubled(asked).or(of_host).unwrap_or(sizing::tcp_rmem(Bytes::new(0))[2])
}

/// What one stream of `flow` may have in flight by its receive buffer, and by its send buffer with super-packets, which is what hosts send
/// where they may.
pub(crate) fn windows(plan: Option<&CellSpec>, flow: &FlowSpec) -> [Bytes; 2] {
    let receive = sizing::window_of_receive_buffer(Bytes::new(receive_maximum(plan, flow)));
    let receive = if windows_are_scaled(plan) { receive } else { receive.min(Bytes::new(UNSCALED)) };
    let [_, send] = sizing::flight_of_send_buffer(Bytes::new(send_maximum(plan, flow)));
    [receive, send]
}

/// The largest window without window scaling (RFC 9293 section 3.1).
pub(crate) const UNSCALED: u64 = 65_535;

/// A receiver with a buffer of 2^(n + this) bytes to the next power of two has a scale of n (`tcp_select_initial_window()`).
pub(crate) const SCALE_BITS: u32 = 15;

/// A receiver keeps back a segment of its buffer (`tcp_init_buffer_space()`): at most a jumbo frame's, whatever MSS the path has made of it.
pub(crate) const KEPT_BACK: u64 = 8_960;

/// The scale of Linux's usual maximum of `tcp_rmem`, 6 MiB.
pub(crate) const USUAL_SCALE: u8 = 7;

/// The least scale that other stacks choose by themselves: macOS 5, FreeBSD 6, Windows 8.
pub(crate) const SCALE_OF_OTHERS: u8 = 5;

fn doubled(granted: Option<Bytes>) -> Option<u64> {
    granted.map(|size| size.get().saturating_mul(2))
}

/// A sysctl of three sizes.
pub(crate) fn triple(host: &HostSpec, name: &str) -> Option<[u64; 3]> {
    let words: Vec<u64> =
        host.sysctl.get(name)?.split_whitespace().map_while(|word| word.parse().ok()).collect();
    words.try_into().ok()
}

/// Whether a window larger than 65,535 bytes can be told: window scaling is on at both ends.
pub(crate) fn windows_are_scaled(plan: Option<&CellSpec>) -> bool {
    let hosts = plan.into_iter().flat_map(|plan| [&plan.sender, &plan.receiver]);
    hosts.into_iter().all(|host| !is_off(host, "net.ipv4.tcp_window_scaling"))
}

/// Whether the scenario turns a sysctl off.
pub(crate) fn is_off(host: &HostSpec, name: &str) -> bool {
    host.sysctl.get(name).is_some_and(|value| value.trim() == "0")
}
