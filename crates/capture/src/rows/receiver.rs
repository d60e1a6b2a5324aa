//! What a receiver's socket would have told: what arrived, the window that it advertises, segments out of order.

use super::look::SideLook;
use pipefill_core::record::TcpSample;

/// Follows what arrives.
#[derive(Debug)]
pub(super) struct Receiving {
    rtt_us: Option<u32>,
    widest: u32,
}

impl Receiving {
    /// On a path with this round trip.
    pub(super) const fn new(rtt_us: Option<u32>) -> Self {
        Self { rtt_us, widest: 0 }
    }

    /// Adds to `row` what arrives, by what the far side sends (`arriving`); the round trip is from the own ACKs to the data that echo their
    /// timestamps, as the kernel has it (`tcp_rcv_rtt_measure_ts()`).
    pub(super) fn complete(&mut self, row: &mut TcpSample, arriving: &SideLook, own: &SideLook) {
        let info = &mut row.info;
        info.bytes_received = Some(arriving.acked_to.saturating_sub(1));
        info.data_segs_in = u32::try_from(arriving.segments).ok();
        info.rcv_ooo_segments = Some(arriving.disordered);
        info.local_rwnd_bytes = arriving.window;
        info.rcv_rtt_us = own.answer_us.or(self.rtt_us);
        if let Some(window) = arriving.window {
            self.widest = self.widest.max(window);
            // What is not read takes room from the window.
            row.rmem_alloc_bytes = Some(u64::from(self.widest - window));
            row.rcvbuf_bytes = Some(u64::from(self.widest));
        }
    }
}
