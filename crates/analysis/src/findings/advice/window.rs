//! Larger windows: the receiver's and the send buffer.

use super::Case;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, Reason, Setting, Target};
use crate::findings::verdict::JudgedFlow;
use crate::ground::buffers::{self, is_off, triple};
use crate::ground::models::sizing;
use crate::ground::statistics::rounded;
use pipefill_core::units::{Bytes, Rate};
use std::time::Duration;

/// A window of exactly one BDP leaves the path idle whenever an ACK is late.
const MARGIN: f64 = 1.25;
/// A buffer's size is an `int` in the kernel, and `SO_SNDBUF` and `SO_RCVBUF` are doubled (socket(7)).
const BUFFER_MAX: u64 = i32::MAX as u64;
const REQUEST_MAX: u64 = BUFFER_MAX / 2;
/// So long a reader may have to wait for its CPU: a few slices of the scheduler.
const READER_PAUSE: Duration = Duration::from_millis(10);

impl Case<'_> {
    /// What has to be in flight to reach the target, of one stream.
    pub(super) fn flight_needed(&self) -> Bytes {
        let rtt = self.base_rtt().unwrap_or_default();
        let bdp = Rate::from_bps(self.target_bps()).bdp(rtt).get();
        let streams = u64::from(self.judged.flow.parallel).max(1);
        Bytes::new((rounded(bdp as f64 * MARGIN) / streams).saturating_add(sizing::SUPER_PACKET.get()))
    }

    pub(super) fn larger_receive_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let mut changes = self.receive_buffer(needed);
        // The next limit behind a larger window, where it is near.
        if buffers::send_maximum(self.judged.plan.as_ref(), &self.judged.flow) < needed.get() {
            changes.extend(self.send_buffer(needed));
        }
        if changes.is_empty() {
            return self.nothing(Reason::ReceiveBufferIsLargest);
        }
        let reason = Reason::WindowNeeded { bytes: needed.get(), rate_bps: self.target_bps() };
        self.proposed(changes, reason, self.forecast(self.reachable(needed), self.as_it_is()))
    }

    /// The target, less where a buffer cannot be as large as it needs.
    fn reachable(&self, needed: Bytes) -> u64 {
        let flow = &self.judged.flow;
        let largest = if flow.rcvbuf.is_some() { REQUEST_MAX } else { BUFFER_MAX / sizing::RMEM_PER_BYTE };
        let target = self.target_bps();
        if needed.get() <= largest {
            target
        } else {
            rounded(target as f64 * largest as f64 / needed.get() as f64)
        }
    }

    /// The smallest change that lets the receiver advertise `needed`; none where it can.
    fn receive_buffer(&self, needed: Bytes) -> Vec<Change> {
        let JudgedFlow { plan, flow, .. } = self.judged;
        let mut changes = Vec::new();
        if !buffers::windows_are_scaled(plan.as_ref()) {
            let name = "sysctl.net.ipv4.tcp_window_scaling";
            // A key of one host overrides the key of both hosts.
            let is_off_at = |sends: bool| {
                let host = plan.as_ref().map(|plan| match sends {
                    true => plan.data_sender(flow.direction),
                    false => plan.data_receiver(flow.direction),
                });
                host.is_some_and(|host| is_off(host, "net.ipv4.tcp_window_scaling"))
            };
            changes.push(match [is_off_at(true), is_off_at(false)] {
                [true, false] => self.of_host(true, Setting::WindowScaling, name),
                [false, true] => self.of_host(false, Setting::WindowScaling, name),
                _ => Change {
                    target: Target::Receiver,
                    setting: Setting::WindowScaling,
                    key: format!("host.{name}"),
                },
            });
        }
        if let Some(asked) = flow.rcvbuf {
            // A request of the flight itself leaves room for its overhead, for the kernel doubles it.
            let wanted = needed.get().min(REQUEST_MAX);
            if asked.get() < wanted {
                changes.push(self.of_flow(Target::Receiver, Setting::Rcvbuf(wanted), "rcvbuf"));
            }
            return changes;
        }
        let host = plan.as_ref().map(|plan| plan.data_receiver(flow.direction));
        let sizes = host.and_then(|host| triple(host, "net.ipv4.tcp_rmem"));
        let [least, initial, maximum] = sizes.unwrap_or([4096, 131_072, 0]);
        if host.is_some_and(|host| is_off(host, "net.ipv4.tcp_moderate_rcvbuf")) {
            let name = "sysctl.net.ipv4.tcp_moderate_rcvbuf";
            changes.push(self.of_host(false, Setting::ReceiveAutotuning, name));
        }
        let wanted = sizing::tcp_rmem(needed)[2].min(BUFFER_MAX);
        if maximum < wanted {
            changes.push(self.of_host(false, Setting::TcpRmem([least, initial, wanted]), "tcp_rmem"));
        }
        changes
    }

    /// A buffer for all that comes while a reader is not woken. The kernel doubles a request, which leaves room for what a datagram costs beside its
    /// payload.
    pub(super) fn larger_datagram_buffer(&self) -> Advice {
        let JudgedFlow { plan, flow, goodput_bps, .. } = self.judged;
        let offered = flow.bitrate.filter(|_| plan.is_some());
        let Some((asked, offered)) = flow.rcvbuf.zip(offered) else {
            return self.nothing(Reason::ReaderOverflows);
        };
        let wanted = offered.bytes_in(READER_PAUSE).get().min(REQUEST_MAX);
        if wanted <= asked.get() {
            return self.nothing(Reason::ReaderOverflows);
        }
        let change = self.of_flow(Target::Receiver, Setting::Rcvbuf(wanted), "rcvbuf");
        let all_bps = offered.bps().saturating_mul(u64::from(flow.parallel));
        let room_bps = self.judged.room_bps.map_or(all_bps, rounded);
        let forecast = self.at(all_bps.min(room_bps).max(*goodput_bps));
        self.proposed(vec![change], Reason::ReaderOverflows, Some(forecast))
    }

    /// A longer transfer only shows the next limit where a buffer is too small for the path.
    pub(super) fn buffers_behind(&self) -> Vec<Change> {
        let JudgedFlow { plan, flow, .. } = self.judged;
        let needed = self.flight_needed();
        let is_small = buffers::send_maximum(plan.as_ref(), flow) < sizing::tcp_wmem(needed)[2];
        let sends = is_small.then(|| self.send_buffer(needed)).flatten();
        sends.into_iter().chain(self.receive_buffer(needed)).collect()
    }

    pub(super) fn larger_send_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let Some(change) = self.send_buffer(needed) else {
            return self.nothing(Reason::SendBufferIsLargest);
        };
        let forecast = self.forecast(self.target_bps(), self.as_it_is());
        self.proposed(vec![change], Reason::FlightNeeded { bytes: needed.get() }, forecast)
    }

    /// The change that lets the send buffer hold `needed`; `None` where it can.
    fn send_buffer(&self, needed: Bytes) -> Option<Change> {
        let JudgedFlow { plan, flow, .. } = self.judged;
        let maximum = sizing::tcp_wmem(needed)[2].min(BUFFER_MAX);
        if let Some(asked) = flow.sndbuf {
            let wanted = (maximum / 2).min(REQUEST_MAX);
            return (asked.get() < wanted)
                .then(|| self.of_flow(Target::Sender, Setting::Sndbuf(wanted), "sndbuf"));
        }
        let host = plan.as_ref().map(|plan| plan.data_sender(flow.direction));
        let sizes = host.and_then(|host| triple(host, "net.ipv4.tcp_wmem"));
        let [least, initial, before] = sizes.unwrap_or([4096, 16_384, 0]);
        (before < maximum)
            .then(|| self.of_host(true, Setting::TcpWmem([least, initial, maximum]), "tcp_wmem"))
    }
}
