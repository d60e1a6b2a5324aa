//! What another watcher saw of the other end of a connection.

use crate::cpu_tracks::CpuOfProcess;
use crate::tracker::micros;
use pipefill_core::record::{OptionsSet, TcpSample};
use std::rc::Rc;
use std::time::Instant;

/// The other end.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Of its process, where that was read.
    pub(crate) cpu: Option<Rc<CpuOfProcess>>,
    /// What its program has set of its socket.
    pub(crate) options: Option<OptionsSet>,
    /// Of its socket, in order of time.
    pub(crate) samples: Vec<TcpSample>,
}

impl Peer {
    /// The same by a clock that began at `began`, where the samples' own began at `own`.
    pub(crate) fn by_the_clock(&self, own: Instant, began: Instant) -> Self {
        let later = micros(own.saturating_duration_since(began));
        let earlier = micros(began.saturating_duration_since(own));
        let by_it = |sample: &TcpSample| TcpSample {
            t_us: sample.t_us.saturating_add(later).saturating_sub(earlier),
            ..sample.clone()
        };
        Self {
            cpu: self.cpu.clone(),
            options: self.options,
            samples: self.samples.iter().map(by_it).collect(),
        }
    }

    /// What its socket showed in the time of these samples.
    pub(crate) fn during(&self, samples: &[TcpSample]) -> &[TcpSample] {
        let Some((first, last)) = samples.first().zip(samples.last()) else { return &[] };
        let from = self.samples.partition_point(|sample| sample.t_us < first.t_us);
        let to = self.samples.partition_point(|sample| sample.t_us <= last.t_us);
        self.samples.get(from..to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::StreamEnd;
    use pipefill_core::tcp_info::TcpInfo;
    use std::time::Duration;

    #[test]
    fn samples_of_a_peer_have_the_time_of_those_that_they_stand_beside() {
        let sample = |t_us| TcpSample::of_info(t_us, 0, StreamEnd::Sender, TcpInfo::default());
        let began = Instant::now();
        let peer = Peer { cpu: None, options: None, samples: [100, 200, 300].map(sample).to_vec() };
        let later = peer.by_the_clock(began + Duration::from_micros(50), began);
        let times = |samples: &[TcpSample]| samples.iter().map(|sample| sample.t_us).collect::<Vec<_>>();
        assert_eq!(times(&later.samples), [150, 250, 350]);
        let earlier = peer.by_the_clock(began, began + Duration::from_micros(50));
        assert_eq!(times(&earlier.samples), [50, 150, 250]);
        assert_eq!(times(later.during(&[sample(151), sample(250)])), [250]);
        assert!(later.during(&[]).is_empty());
    }
}
