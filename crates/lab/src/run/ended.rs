//! Senders' sockets after their flow, until the run is over. What a closed socket has not sent the kernel would try to send for minutes after its
//! path is gone, in memory that later runs need (`tcp_mem` of tcp(7)).

use super::flow::ConnectedFlow;
use pipefill_core::cell::Protocol;
use socket2::Socket;
use std::net::Shutdown;
use std::sync::Mutex;
use std::time::Duration;

/// Sockets that are shut down for sending; dropping this value discards what they have not sent.
#[derive(Default)]
pub(super) struct EndedSenders(Mutex<Vec<Socket>>);

impl EndedSenders {
    /// Shuts the senders of `flows` down for sending, which sends FIN as closing them would, and keeps them open.
    pub(super) fn take_over(&self, flows: &[ConnectedFlow<'_>]) {
        let of_tcp = flows.iter().filter(|flow| flow.spec.protocol == Protocol::Tcp);
        let senders = of_tcp.flat_map(|flow| &flow.sockets).filter_map(|ends| {
            let sender = ends.sender.try_clone().ok()?;
            // The peer may have ended the connection.
            let _gone = sender.shutdown(Shutdown::Write);
            Some(sender)
        });
        if let Ok(mut kept) = self.0.lock() {
            kept.extend(senders);
        }
    }
}

impl Drop for EndedSenders {
    fn drop(&mut self) {
        for sender in self.0.get_mut().into_iter().flatten() {
            let _gone = sender.set_linger(Some(Duration::ZERO));
        }
    }
}
