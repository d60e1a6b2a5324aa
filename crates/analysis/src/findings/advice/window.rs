//! Larger windows: the receiver's and the send buffer.

use super::Case;
use super::change::{Change, host_name};
use crate::findings::finding::Advice;
use crate::ground::buffers::{self, triple};
use crate::ground::models::sizing;
use crate::ground::statistics::rounded;
use crate::ground::wording::{bytes, rate};
use pipefill_core::units::{Bytes, Rate};

/// A window of exactly one BDP leaves the path idle whenever an ACK is late.
const MARGIN: f64 = 1.25;
/// A buffer's size is an `int` in the kernel, and `SO_SNDBUF` and `SO_RCVBUF` are doubled (socket(7)).
const BUFFER_MAX: u64 = i32::MAX as u64;
const REQUEST_MAX: u64 = BUFFER_MAX / 2;

impl Case<'_> {
    /// What has to be in flight to reach the target, of one stream.
    pub(super) fn flight_needed(&self) -> Bytes {
        let rtt = self.base_rtt().unwrap_or_default();
        let bdp = Rate::from_bps(self.target_bps()).bdp(rtt).get();
        let streams = u64::from(self.subject.flow.parallel).max(1);
        Bytes::new((rounded(bdp as f64 * MARGIN) / streams).saturating_add(sizing::SUPER_PACKET.get()))
    }

    pub(super) fn larger_receive_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let mut change = Change::default();
        self.receive_buffer(&mut change, needed);
        self.send_buffer_behind(&mut change, needed);
        if change.set.is_empty() {
            return self.nothing("the receive buffer is as large as it can be");
        }
        let why = format!(
            "a window of {} is needed to keep {} in flight over the round trip",
            bytes(needed.get()),
            rate(self.target_bps())
        );
        change.advice(why, self.predicted(self.reachable(needed), self.as_it_is()))
    }

    /// The target, less where a buffer cannot be as large as it needs.
    fn reachable(&self, needed: Bytes) -> u64 {
        let flow = self.subject.flow;
        let largest = if flow.rcvbuf.is_some() { REQUEST_MAX } else { BUFFER_MAX / sizing::RMEM_PER_BYTE };
        let target = self.target_bps();
        if needed.get() <= largest {
            target
        } else {
            rounded(target as f64 * largest as f64 / needed.get() as f64)
        }
    }

    /// The smallest change that lets the receiver advertise `needed`; none where it can.
    fn receive_buffer(&self, change: &mut Change, needed: Bytes) {
        let (spec, flow) = (self.subject.spec, self.subject.flow);
        let (host, name) = (spec.data_receiver(flow.direction), host_name(flow, false));
        if !buffers::windows_are_scaled(spec) {
            change.set.push("host.sysctl.net.ipv4.tcp_window_scaling=1".to_owned());
            change.commands.push("sysctl -w net.ipv4.tcp_window_scaling=1    # both ends".to_owned());
        }
        if let Some(asked) = flow.rcvbuf {
            // A request of the flight itself leaves room for its overhead, for the kernel doubles it.
            let wanted = needed.get().min(REQUEST_MAX);
            if asked.get() < wanted {
                change.set.push(format!("{}={wanted}B", self.key("rcvbuf")));
                change.commands.push(format!("setsockopt(SO_RCVBUF, {wanted})    # needs rmem_max"));
            }
            return;
        }
        let [least, initial, maximum] = triple(host, "net.ipv4.tcp_rmem").unwrap_or([4096, 131_072, 0]);
        let is_fixed =
            host.sysctl.get("net.ipv4.tcp_moderate_rcvbuf").is_some_and(|value| value.trim() == "0");
        let wanted = sizing::tcp_rmem(needed)[2].min(BUFFER_MAX);
        if is_fixed {
            let key = "sysctl.net.ipv4.tcp_moderate_rcvbuf";
            change.set.push(format!("{name}.{key}=1"));
            change.commands.push(format!("sysctl -w net.ipv4.tcp_moderate_rcvbuf=1    # {name}"));
        }
        if maximum < wanted {
            change.sysctl(name, "tcp_rmem", [least, initial, wanted]);
        }
    }

    /// The next limit behind a larger window, where it is near.
    fn send_buffer_behind(&self, change: &mut Change, needed: Bytes) {
        if buffers::send_maximum(self.subject.spec, self.subject.flow) < needed.get() {
            self.send_buffer(change, needed);
        }
    }

    /// A longer transfer only shows the next limit where a buffer is too small for the path.
    pub(super) fn buffers_behind(&self, change: &mut Change) {
        let needed = self.flight_needed();
        if buffers::send_maximum(self.subject.spec, self.subject.flow) < sizing::tcp_wmem(needed)[2] {
            self.send_buffer(change, needed);
        }
        self.receive_buffer(change, needed);
    }

    pub(super) fn larger_send_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let mut change = Change::default();
        self.send_buffer(&mut change, needed);
        if change.set.is_empty() {
            return self.nothing("the send buffer is as large as it can be");
        }
        let why = format!(
            "{} have to be in flight; a writer keeps two thirds of the send buffer filled, and packets cost more memory than their payload",
            bytes(needed.get())
        );
        change.advice(why, self.predicted(self.target_bps(), self.as_it_is()))
    }

    fn send_buffer(&self, change: &mut Change, needed: Bytes) {
        let (spec, flow) = (self.subject.spec, self.subject.flow);
        let maximum = sizing::tcp_wmem(needed)[2].min(BUFFER_MAX);
        if let Some(asked) = flow.sndbuf {
            let wanted = (maximum / 2).min(REQUEST_MAX);
            if asked.get() < wanted {
                change.set.push(format!("{}={wanted}B", self.key("sndbuf")));
                change.commands.push(format!("setsockopt(SO_SNDBUF, {wanted})    # needs wmem_max"));
            }
            return;
        }
        let host = spec.data_sender(flow.direction);
        let [least, initial, before] = triple(host, "net.ipv4.tcp_wmem").unwrap_or([4096, 16_384, 0]);
        if before < maximum {
            change.sysctl(host_name(flow, true), "tcp_wmem", [least, initial, maximum]);
        }
    }
}
