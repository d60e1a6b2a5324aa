//! Into which sizes a sender cuts its data: smaller ones than the handshake agreed on behind a link with a smaller MTU (RFC 1191).
//!
//! A segment below the full size that does not end a write (no PSH) was cut for its size. What packets hold of several segments is a multiple of that
//! size then. Not learned: from packets that may end writes alone, since an application's messages have sizes of their own.

use std::num::NonZeroU16;

/// Packets in a row that agree on a size.
const PACKETS: u8 = 8;
/// Of these, segments by themselves that end no write.
const CUTS: u8 = 2;

/// The packets in a row that agree on a smaller size than a full segment's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cuts {
    /// Payload of a segment; 0 without any.
    size: u16,
    packets: u8,
    cuts: u8,
    /// What the handshake agreed on, where another size is known since.
    agreed: Option<AgreedSize>,
}

/// Payload of a full segment, and the most that a packet of one segment has.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgreedSize {
    pub(super) mss: NonZeroU16,
    pub(super) largest: u16,
}

impl Cuts {
    /// Takes a packet of full segments.
    #[inline(always)]
    pub(super) const fn take_full(&mut self) {
        if self.size != 0 {
            self.begin(0);
        }
    }

    /// Takes a packet whose payload is not a multiple of a full segment's. Returns the size of a full segment once enough packets agree.
    #[cold]
    pub(super) fn take_other(&mut self, payload: u32, ends_write: bool, mss: u16) -> Option<u16> {
        let size = u32::from(self.size);
        let is_single = payload < u32::from(mss);
        let agrees = size > 0 && payload.is_multiple_of(size);
        if is_single && ends_write && !agrees {
            // The end of a write; a longer one was cut into other sizes.
            if size > 0 && payload > size {
                self.begin(0);
            }
            return None;
        }
        if !agrees {
            // What is left of a packet that was cut once more.
            if !is_single || payload < size {
                return None;
            }
            self.begin(payload as u16);
        }
        self.packets = self.packets.saturating_add(1);
        self.cuts = self.cuts.saturating_add(u8::from(is_single && !ends_write));
        (self.packets >= PACKETS && self.cuts >= CUTS).then_some(self.size)
    }

    /// Another size than `agreed` is known.
    pub(super) fn learned(&mut self, agreed: AgreedSize) {
        self.begin(0);
        self.agreed.get_or_insert(agreed);
    }

    /// What the handshake agreed on, where a packet shows that it is in use again: the path's MTU has grown.
    pub(super) fn take_back(&mut self, payload: u32, mss: u16) -> Option<AgreedSize> {
        let agreed = u32::from(self.agreed?.mss.get());
        let is_its = payload > u32::from(mss) && (payload <= agreed || payload.is_multiple_of(agreed));
        if is_its { self.agreed.take() } else { None }
    }

    const fn begin(&mut self, size: u16) {
        (self.size, self.packets, self.cuts) = (size, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u16 = 1_448;

    /// What is learned of packets, each with its payload and whether it ends a write.
    fn learned(packets: impl IntoIterator<Item = (u32, bool)>) -> Option<u16> {
        let mut cuts = Cuts::default();
        packets.into_iter().find_map(|(payload, ends_write)| {
            if payload.is_multiple_of(u32::from(MSS)) {
                cuts.take_full();
                return None;
            }
            cuts.take_other(payload, ends_write, MSS)
        })
    }

    #[test]
    fn segments_that_end_no_write_show_their_size() {
        let far = (0..20).map(|at| (1_348, at % 2 == 1));
        assert_eq!(learned(far), Some(1_348), "near the receiver each second one has PSH");
        let near = (0..20).map(|at| if at % 5 == 0 { (1_348, false) } else { (2_696 * (1 + at % 3), true) });
        assert_eq!(learned(near), Some(1_348), "super-packets");
        let cut_again = (0..20).map(|at| if at % 2 == 0 { (1_348, false) } else { (200, false) });
        assert_eq!(learned(cut_again), Some(1_348), "and what is left of them");
    }

    #[test]
    fn messages_of_one_size_and_full_segments_show_none() {
        assert_eq!(learned((0..50).map(|_| (1_000, true))), None);
        assert_eq!(learned((0..50).map(|at| (1_000 * (1 + at % 5), true))), None, "several at once");
        assert_eq!(learned((0..50).map(|at| (if at % 6 == 0 { 1_448 } else { 1_348 }, false))), None);
        assert_eq!(learned((0..50).map(|at| (1_000 + at * 7, false))), None, "any size");
    }

    #[test]
    fn a_larger_packet_takes_the_handshakes_size_back() {
        let agreed = AgreedSize { mss: NonZeroU16::new(MSS).unwrap(), largest: 1_460 };
        let taken_back = |payload: u32| {
            let mut cuts = Cuts::default();
            cuts.learned(agreed);
            cuts.take_back(payload, 1_348).map(|agreed| agreed.mss)
        };
        assert_eq!([taken_back(1_448), taken_back(2_896)], [NonZeroU16::new(MSS); 2]);
        assert_eq!([taken_back(2_696), taken_back(700)], [None; 2]);
    }
}
