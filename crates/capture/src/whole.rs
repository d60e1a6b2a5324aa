//! A capture from its first packet to its last: one loop for all that look at connections.
//!
//! It is compiled here, for a reader of any kind, and not in each crate that reads.

use crate::join::{Origin, Survey};
use crate::read::{BackwardTimes, ReadError, Reader};
use crate::rows::{Sampling, Watched};
use crate::tcp::{Counts, Observer, Reconstruction};
use crate::udp::{UdpFlow, UdpFlows};
use std::io::Read;

/// Where a capture comes from.
pub type Source = Box<dyn Read>;

/// What was read of a capture.
#[derive(Debug)]
pub struct Whole {
    /// What was counted.
    pub counts: Counts,
    /// How often and how far its times ran backwards.
    pub backward: BackwardTimes,
    /// The resolution of its clock, nanoseconds, where that is coarse: [`Reader::clock_resolution_ns`]. `None` where pipefill wrote it: what is
    /// simulated has times as round as its delays.
    pub clock_resolution_ns: Option<u64>,
    /// Why reading ended early.
    pub broken: Option<ReadError>,
}

/// What a capture has.
#[derive(Debug)]
pub struct Connections {
    /// How far it was read.
    pub whole: Whole,
    /// Its connections with data, the one with the most first.
    pub watched: Vec<Watched>,
    /// Smaller ones that were left out.
    pub left_out: u64,
    /// Its UDP flows, the one with the most first.
    pub udp: Vec<UdpFlow>,
    /// Smaller ones that were left out.
    pub udp_left_out: u64,
}

/// Tells `observer` of everything in the capture, to its end or to where it can't be read.
pub fn follow(reader: &mut Reader<'_, Source>, observer: &mut dyn Observer) -> Whole {
    all(reader, &mut (&mut (), observer))
}

/// The connections of the capture, with the looks at them; `survey` is told of them too.
pub fn connections(reader: &mut Reader<'_, Source>, survey: Option<&mut Survey>) -> Connections {
    let (mut sampling, mut datagrams) = (Sampling::default(), UdpFlows::default());
    let mut observer = (&mut sampling, &mut datagrams);
    let whole = match survey {
        None => all(reader, &mut observer),
        Some(survey) => all(reader, &mut (&mut observer, survey)),
    };
    let ((mut watched, left_out), (udp, udp_left_out)) = (sampling.finish(), datagrams.finish());
    watched.iter_mut().for_each(|watched| watched.know_clock(whole.clock_resolution_ns.unwrap_or(0)));
    Connections { whole, watched, left_out, udp, udp_left_out }
}

fn all<O: Observer>(reader: &mut Reader<'_, Source>, observer: &mut O) -> Whole {
    let mut reconstruction = Reconstruction::default();
    let broken = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => reconstruction.push(&packet, observer),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let backward = reader.backward_times();
    let is_own = Origin::of(reader.comments()).is_some();
    let clock_resolution_ns = reader.clock_resolution_ns().filter(|_| !is_own);
    Whole { counts: reconstruction.finish(observer), backward, clock_resolution_ns, broken }
}
