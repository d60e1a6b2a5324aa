//! What bounds a stream's windows and buffers, by the samples of either end: scales, sizes, and since when these have not grown.

use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{BufferEvidence, Plateau};
use pipefill_core::record::{BufferLimits, PacketSample, StreamEnd, TcpSample};
use pipefill_core::stacks::Stack;

/// Follows one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferTrack {
    /// See [`Thresholds::buffer_crept`].
    crept: f64,
    window_scaling: Option<bool>,
    window_scale: Option<u8>,
    syn_window: Option<u64>,
    segment: Option<u64>,
    window: Option<Growth>,
    rcvbuf: Option<Growth>,
    sndbuf: Option<Growth>,
    max_pacing_rate_bps: Option<u64>,
}

/// The largest value so far.
#[derive(Debug, Clone, Copy)]
struct Growth {
    bytes: u64,
    first_bytes: u64,
    /// When it was reached but for a part that counts as none …
    since_us: u64,
    /// … and what it was then.
    since_bytes: u64,
}

impl BufferTrack {
    pub(crate) const fn new(thresholds: &Thresholds) -> Self {
        Self {
            crept: thresholds.buffer_crept.value(),
            window_scaling: None,
            window_scale: None,
            syn_window: None,
            segment: None,
            window: None,
            rcvbuf: None,
            sndbuf: None,
            max_pacing_rate_bps: None,
        }
    }

    /// Takes the next sample of either end, in order of time.
    pub(crate) fn add(&mut self, row: &TcpSample) {
        let info = &row.info;
        let (scale, window) = match row.end {
            StreamEnd::Sender => (info.rwnd_scale, info.rwnd_bytes),
            StreamEnd::Receiver => (info.local_rwnd_scale, info.local_rwnd_bytes),
        };
        self.window_scaling = info.window_scaling.or(self.window_scaling);
        self.window_scale = scale.or(self.window_scale);
        // Of a SYN-ACK the window is not scaled (RFC 7323, 2.2). The kernel counts the SYN as a byte.
        let is_of_syn = row.end == StreamEnd::Sender && info.bytes_acked.is_some_and(|bytes| bytes <= 1);
        let window = window.filter(|_| !is_of_syn);
        grow(&mut self.window, self.crept, row.t_us, window.map(u64::from));
        match row.end {
            StreamEnd::Sender => {
                self.max_pacing_rate_bps = info.max_pacing_rate_bps.flatten();
                grow(&mut self.sndbuf, self.crept, row.t_us, row.sndbuf_bytes);
            }
            StreamEnd::Receiver => grow(&mut self.rcvbuf, self.crept, row.t_us, row.rcvbuf_bytes),
        }
    }

    /// Takes the next sample of packets.
    pub(crate) fn add_packets(&mut self, row: &PacketSample) {
        self.window_scaling = row.window_scaling.or(self.window_scaling);
        self.window_scale = row.rwnd_scale.or(self.window_scale);
        self.syn_window = row.syn_window_bytes.map(|window| window.get().into()).or(self.syn_window);
        self.segment = Some(u64::from(row.mss_bytes)).max(self.segment);
        let window = row.rwnd_bytes.filter(|_| row.acked_bytes > 0);
        grow(&mut self.window, self.crept, row.t_us, window.map(u64::from));
    }

    /// What is known at `t_us`, with what the hosts of the sender and of the receiver allow, and the receiver's TCP implementation.
    pub(crate) fn evidence(
        &self,
        t_us: u64,
        [sender_limits, receiver_limits]: [Option<BufferLimits>; 2],
        receiver_stack: Option<Stack>,
    ) -> BufferEvidence {
        let at = |growth: Option<Growth>| {
            growth.map(|growth| Plateau {
                bytes: growth.bytes,
                first_bytes: growth.first_bytes,
                steady_us: t_us.saturating_sub(growth.since_us),
            })
        };
        BufferEvidence {
            window_scaling: self.window_scaling,
            window_scale: self.window_scale,
            syn_window: self.syn_window,
            segment: self.segment,
            window: at(self.window),
            rcvbuf: at(self.rcvbuf),
            sndbuf: at(self.sndbuf),
            sender_limits,
            receiver_limits,
            receiver_stack,
            max_pacing_rate_bps: self.max_pacing_rate_bps,
        }
    }
}

fn grow(growth: &mut Option<Growth>, crept: f64, t_us: u64, bytes: Option<u64>) {
    let Some(bytes) = bytes else { return };
    let largest =
        growth.get_or_insert(Growth { bytes, first_bytes: bytes, since_us: t_us, since_bytes: bytes });
    largest.bytes = largest.bytes.max(bytes);
    if bytes as f64 > (1.0 + crept) * largest.since_bytes as f64 {
        (largest.since_us, largest.since_bytes) = (t_us, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::of_sender;
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::tcp_info::TcpInfo;

    #[test]
    fn a_window_is_steady_since_it_last_grew_and_a_pacing_limit_is_the_last_one() {
        let mut track = BufferTrack::new(&STANDARD);
        // The last one is larger by too little to have grown.
        let samples = [(10, 100, None), (20, 300, Some(Some(8_000))), (30, 200, Some(None)), (40, 330, None)];
        for (t_us, window, limit) in samples {
            let info = TcpInfo {
                rwnd_bytes: Some(window),
                window_scaling: Some(true),
                rwnd_scale: Some(7),
                max_pacing_rate_bps: limit,
                ..TcpInfo::default()
            };
            track.add(&of_sender(t_us, info));
            let evidence = track.evidence(t_us, [None; 2], None);
            assert_eq!(evidence.max_pacing_rate_bps, limit.flatten());
        }
        let evidence = track.evidence(50, [None; 2], None);
        assert_eq!(evidence.window, Some(Plateau { bytes: 330, first_bytes: 100, steady_us: 30 }));
        assert_eq!((evidence.window_scaling, evidence.window_scale), (Some(true), Some(7)));
    }
}
