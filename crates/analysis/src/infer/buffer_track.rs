//! What bounds a stream's windows and buffers, by the samples of either end: scales, sizes, and since when these have not grown.

use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::{BufferEvidence, Plateau};
use pipefill_core::record::{EndFacts, PacketSample, StreamEnd, TcpSample};

/// Follows one stream.
#[derive(Debug, Clone)]
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

/// The largest value so far, step by step.
#[derive(Debug, Clone)]
struct Growth {
    first_bytes: u64,
    /// In order of time, at least one: each is larger than the one before by more than a part that counts as none.
    steps: Vec<Step>,
    /// When the last value was seen.
    seen_us: u64,
}

/// A value that stood for a while.
#[derive(Debug, Clone, Copy)]
struct Step {
    from_us: u64,
    from_bytes: u64,
    /// The largest of the while.
    bytes: u64,
}

impl Growth {
    /// What stood at `t_us`, for as long as it did: packets are judged when all of them are known.
    fn at(&self, t_us: u64) -> Plateau {
        let next = self.steps.partition_point(|step| step.from_us <= t_us).max(1);
        let step = self.steps[next - 1];
        let to_us = self.steps.get(next).map_or(self.seen_us.max(t_us), |next| next.from_us);
        Plateau {
            bytes: step.bytes,
            first_bytes: self.first_bytes,
            steady_us: to_us.saturating_sub(step.from_us),
            most_bytes: self.steps.iter().map(|step| step.bytes).max().unwrap_or(0),
        }
    }
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

    /// What is known at `t_us`, with what is known of the sender's end and of the receiver's.
    pub(crate) fn evidence(&self, t_us: u64, [sender, receiver]: [EndFacts<'_>; 2]) -> BufferEvidence {
        let at = |growth: &Option<Growth>| growth.as_ref().map(|growth| growth.at(t_us));
        BufferEvidence {
            window_scaling: self.window_scaling,
            window_scale: self.window_scale,
            syn_window: self.syn_window,
            segment: self.segment,
            window: at(&self.window),
            rcvbuf: at(&self.rcvbuf),
            sndbuf: at(&self.sndbuf),
            sndbuf_set: sender.options.and_then(|options| options.sndbuf_set),
            rcvbuf_set: receiver.options.and_then(|options| options.rcvbuf_set),
            sender_limits: sender.buffers,
            receiver_limits: receiver.buffers,
            receiver_stack: receiver.stack,
            max_pacing_rate_bps: self.max_pacing_rate_bps,
        }
    }
}

fn grow(growth: &mut Option<Growth>, crept: f64, t_us: u64, bytes: Option<u64>) {
    let Some(bytes) = bytes else { return };
    let step = Step { from_us: t_us, from_bytes: bytes, bytes };
    let growth =
        growth.get_or_insert_with(|| Growth { first_bytes: bytes, steps: vec![step], seen_us: t_us });
    growth.seen_us = t_us;
    if let Some(last) =
        growth.steps.last_mut().filter(|last| bytes as f64 <= (1.0 + crept) * last.from_bytes as f64)
    {
        last.bytes = last.bytes.max(bytes);
    } else {
        growth.steps.push(step);
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
            let evidence = track.evidence(t_us, Default::default());
            assert_eq!(evidence.max_pacing_rate_bps, limit.flatten());
        }
        let evidence = track.evidence(50, Default::default());
        assert_eq!(
            evidence.window,
            Some(Plateau { bytes: 330, first_bytes: 100, steady_us: 30, most_bytes: 330 })
        );
        assert_eq!((evidence.window_scaling, evidence.window_scale), (Some(true), Some(7)));
    }

    /// A program's window that packets show in full: when its last segment comes it is a little larger.
    #[test]
    fn what_stood_before_the_last_step_is_a_plateau() {
        let mut track = BufferTrack::new(&STANDARD);
        for (t_us, rwnd_bytes) in
            [(0, 20_000), (1_000, 23_000), (8_000, 23_100), (8_500, 26_000), (8_600, 26_000)]
        {
            let row = PacketSample {
                t_us,
                rwnd_bytes: Some(rwnd_bytes),
                acked_bytes: 1,
                ..PacketSample::default()
            };
            track.add_packets(&row);
        }
        let plateau =
            |bytes, steady_us| Some(Plateau { bytes, first_bytes: 20_000, steady_us, most_bytes: 26_000 });
        let window_at = |t_us| track.evidence(t_us, Default::default()).window;
        assert_eq!(window_at(500), plateau(20_000, 1_000));
        assert_eq!(window_at(1_100), plateau(23_100, 7_500));
        assert_eq!(window_at(8_550), plateau(26_000, 100));
    }
}
