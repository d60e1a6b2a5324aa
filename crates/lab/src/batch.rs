//! Segments on their way out: neighbours of one super-packet are joined again, and packets are gathered for one system call.
//!
//! Never: a segment forgotten. Every segment that is joined is in exactly one packet that is taken, with its due time.

use crate::frame::{Frame, mark};
use crate::sys::packet::Outgoing;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use pipefill_link::{Ecn, IpPacket};
use std::rc::Rc;

/// Packets, and bytes, handed to the kernel before the clock is read again: a larger batch delays its last packet.
const PACKETS: usize = 8;
const BYTES: usize = 1 << 16;

/// A segment of a packet: its super-packet and its place in it.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) frame: Rc<Frame>,
    pub(crate) index: u16,
    /// The path marked it CE.
    pub(crate) is_marked: bool,
}

impl IpPacket for Segment {
    fn ecn(&self) -> Ecn {
        if self.is_marked { Ecn::Ce } else { self.frame.ecn() }
    }

    fn set_ce(&mut self) {
        self.is_marked = true;
    }

    fn has_df(&self) -> bool {
        self.frame.has_df()
    }

    fn flow(&self) -> u64 {
        self.frame.flow()
    }

    fn dropped(&self, reason: DropReason) {
        if let Some(counted) = self.frame.counted() {
            counted.dropped(reason);
        }
    }
}

impl Segment {
    /// The path has let it through.
    pub(crate) fn note_delivery(&self) {
        if let Some(counted) = self.frame.counted() {
            counted.delivered();
        }
    }
}

/// What is gathered for the next sending.
#[derive(Default)]
pub(crate) struct Batch {
    /// Neighbouring segments leave apart, as without GRO.
    is_apart: bool,
    packets: Vec<Outgoing>,
    bytes: usize,
    /// When the segments of `packets` were due.
    dues: Vec<Time>,
    run: Option<Run>,
}

/// Neighbouring segments of one super-packet that leave together.
struct Run {
    frame: Rc<Frame>,
    first: u16,
    is_marked: bool,
    dues: Vec<Time>,
}

impl Run {
    fn is_followed_by(&self, segment: &Segment) -> bool {
        Rc::ptr_eq(&self.frame, &segment.frame)
            && usize::from(self.first) + self.dues.len() == usize::from(segment.index)
            // GRO joins no packets whose TOS differ (`inet_gro_receive()`).
            && self.is_marked == segment.is_marked
    }
}

impl Batch {
    /// Nothing yet. Segments of one super-packet leave together where the receiver's interface joins them (`gro`), and apart elsewhere.
    pub(crate) fn new(has_gro: bool) -> Self {
        Self { is_apart: !has_gro, ..Self::default() }
    }

    /// Adds a segment that is due.
    pub(crate) fn join(&mut self, due: Time, segment: Segment) {
        match &mut self.run {
            Some(run) if !self.is_apart && run.is_followed_by(&segment) => run.dues.push(due),
            _ => {
                self.close();
                let Segment { frame, index, is_marked } = segment;
                self.run = Some(Run { frame, first: index, is_marked, dues: vec![due] });
            }
        }
    }

    /// Whether it is time to send, without the packet that is still being joined.
    pub(crate) fn is_full(&self) -> bool {
        self.packets.len() >= PACKETS || self.bytes >= BYTES
    }

    /// Ends the packet that is being joined: it leaves with this batch.
    pub(crate) fn close(&mut self) {
        if let Some(mut run) = self.run.take() {
            let count = u16::try_from(run.dues.len()).unwrap_or(u16::MAX);
            let mut packet = run.frame.outgoing(run.first, count);
            if run.is_marked {
                mark(&mut packet);
            }
            self.bytes += packet.len;
            self.packets.push(packet);
            self.dues.append(&mut run.dues);
        }
    }

    /// Hands packets and dues to `send`, and empties the batch; what is still being joined stays. Nothing is called where
    /// there is no packet.
    pub(crate) fn flush(&mut self, send: impl FnOnce(&[Outgoing], &[Time])) {
        if !self.packets.is_empty() {
            send(&self.packets, &self.dues);
            self.packets.clear();
            self.dues.clear();
            self.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::super_packet;
    use pipefill_capture::write::ecn;
    use proptest::prelude::*;

    const MSS: usize = 1448;

    /// Drives a batch as the forwarder does; returns payload bytes and dues that left.
    fn drive(segments: &[Segment], pauses: &[bool]) -> (usize, Vec<Time>) {
        let (mut batch, mut bytes, mut dues) = (Batch::default(), 0, Vec::new());
        let mut send = |packets: &[Outgoing], left: &[Time]| {
            bytes += packets.iter().map(|packet| packet.len - packet.head_len).sum::<usize>();
            dues.extend_from_slice(left);
        };
        for (i, segment) in segments.iter().enumerate() {
            batch.join(Time::from_nanos(i as u64), segment.clone());
            if batch.is_full() {
                batch.flush(&mut send);
            }
            if pauses[i % pauses.len()] {
                batch.close();
                batch.flush(&mut send);
            }
        }
        batch.close();
        batch.flush(&mut send);
        (bytes, dues)
    }

    proptest! {
        /// Whatever is lost before and wherever the forwarder pauses, each segment leaves once, in order, with its due.
        #[test]
        fn every_segment_leaves_once(
            sizes in prop::collection::vec(1_usize..45, 1..12),
            keep in prop::collection::vec(any::<bool>(), 1..40),
            pauses in prop::collection::vec(prop::bool::weighted(0.1), 1..40),
        ) {
            let frames = sizes.iter().map(|&count| Rc::new(super_packet(count * MSS)));
            let all = frames.flat_map(|frame| {
                (0..frame.segments()).map(move |index| Segment { frame: Rc::clone(&frame), index, is_marked: false }).collect::<Vec<_>>()
            });
            let kept: Vec<Segment> = all.enumerate().filter(|(i, _)| keep[i % keep.len()]).map(|(_, s)| s).collect();
            let (bytes, dues) = drive(&kept, &pauses);
            prop_assert_eq!(bytes, kept.len() * MSS);
            prop_assert_eq!(dues, (0..kept.len() as u64).map(Time::from_nanos).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_marked_segment_leaves_apart_from_those_that_are_not() {
        let frame = Rc::new(super_packet(5 * MSS));
        let mut batch = Batch::new(true);
        for index in 0..5 {
            batch.join(Time::ZERO, Segment { frame: Rc::clone(&frame), index, is_marked: index == 2 });
        }
        batch.close();
        let mut left = Vec::new();
        batch.flush(|packets, _| {
            left = packets.iter().map(|packet| (ecn(&packet.head), packet.len)).collect();
        });
        let headers = frame.segment_len(0) as usize - MSS;
        assert_eq!(left, [(2, headers + 2 * MSS), (3, headers + MSS), (2, headers + 2 * MSS)]);
    }

    #[test]
    fn a_whole_super_packet_leaves_as_one_and_without_gro_as_its_segments() {
        for (has_gro, expected) in [(true, 1), (false, 40)] {
            let frame = Rc::new(super_packet(40 * MSS));
            let mut batch = Batch::new(has_gro);
            for index in 0..40 {
                batch.join(Time::ZERO, Segment { frame: Rc::clone(&frame), index, is_marked: false });
            }
            batch.close();
            let mut packets = 0;
            batch.flush(|gathered, _| packets = gathered.len());
            assert_eq!(packets, expected);
        }
    }
}
