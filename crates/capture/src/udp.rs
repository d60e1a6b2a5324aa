//! UDP flows, from packets alone: how much, how fast, with which pauses; RTP's losses and jitter, QUIC's handshake and round trips.
//!
//! Memory: [`FLOWS_MAX`] flows of about 0.2 kB, and up to 1 kB more for one that may be RTP or QUIC. Beyond that the smaller half goes, and is counted.

mod flow;
mod quic;
mod rtp;

pub use flow::{GAP_NS, UdpFlow};
pub use quic::{Quic, QuicVersion, quic_version};
pub use rtp::RtpStream;

use crate::headers::{Datagram, Endpoint};
use crate::tcp::Observer;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::hash::BuildHasher;

/// Flows that are kept at once; one direction of a conversation is one.
pub const FLOWS_MAX: usize = 1 << 16;

/// The UDP flows of a capture.
#[derive(Debug)]
pub struct UdpFlows {
    hasher: RandomState,
    places: HashTable<u32>,
    flows: Vec<UdpFlow>,
    limit: usize,
    opened: u64,
    left_out: u64,
}

impl Default for UdpFlows {
    fn default() -> Self {
        Self::new(FLOWS_MAX)
    }
}

impl UdpFlows {
    /// At most `limit` flows.
    pub fn new(limit: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            places: HashTable::new(),
            flows: Vec::new(),
            limit: limit.max(1),
            opened: 0,
            left_out: 0,
        }
    }

    /// The flows, the one with the most bytes first, and how many smaller ones were left out.
    pub fn finish(mut self) -> (Vec<UdpFlow>, u64) {
        self.share_quic();
        self.sort();
        (self.flows, self.left_out)
    }

    /// Long headers of a QUIC connection may be in one direction alone, or in none.
    fn share_quic(&mut self) {
        let unseen: Vec<Option<Option<QuicVersion>>> =
            self.flows.iter().map(|flow| self.unseen_quic(flow)).collect();
        for (flow, found) in self.flows.iter_mut().zip(unseen) {
            if let Some(version) = found {
                flow.is_quic_as_well(version);
            }
        }
    }

    /// The version of the flow's peer, where that is QUIC; `Some(None)` where the ports alone say so.
    fn unseen_quic(&self, flow: &UdpFlow) -> Option<Option<QuicVersion>> {
        let peer = self.find((flow.destination, flow.source)).map(|at| &self.flows[at]);
        match peer.and_then(UdpFlow::quic) {
            Some(quic) => Some(quic.version()),
            None => (flow.is_quic_by_port() || peer.is_some_and(UdpFlow::is_quic_by_port)).then_some(None),
        }
    }

    /// The flow in the other direction.
    fn find(&self, ends: (Endpoint, Endpoint)) -> Option<usize> {
        let hash = self.hasher.hash_one(ends);
        let flows = &self.flows;
        self.places.find(hash, |&at| flows[at as usize].ends() == ends).map(|&at| at as usize)
    }

    fn insert(&mut self, flow: UdpFlow) {
        if self.flows.len() >= self.limit {
            self.make_room();
        }
        let at = self.flows.len() as u32;
        self.flows.push(flow);
        self.place(at);
    }

    fn place(&mut self, at: u32) {
        let (hasher, flows) = (&self.hasher, &self.flows);
        let hash_of = |&at: &u32| hasher.hash_one(flows[at as usize].ends());
        self.places.insert_unique(hash_of(&at), at, hash_of);
    }

    fn sort(&mut self) {
        self.flows.sort_by_key(|flow| (Reverse(flow.bytes), flow.id));
    }

    #[cold]
    fn make_room(&mut self) {
        self.sort();
        let kept = self.limit / 2;
        self.left_out += (self.flows.len() - kept) as u64;
        self.flows.truncate(kept);
        self.places.clear();
        for at in 0..kept as u32 {
            self.place(at);
        }
    }
}

impl Observer for UdpFlows {
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        match self.find((datagram.source, datagram.destination)) {
            Some(at) => self.flows[at].push(datagram),
            None => {
                let flow = UdpFlow::begin(self.opened, datagram);
                self.opened += 1;
                self.insert(flow);
            }
        }
    }
}
