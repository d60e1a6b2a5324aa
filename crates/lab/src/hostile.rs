//! What the kernel hands over as bytes, whatever it holds: the entries of the fuzz targets `frames` and `events`, and a moment of both in
//! every `make test`. Not part of the product: built for tests, and with the feature `fuzzing`.

use crate::frame::Frame;
use crate::sys::packet::SNAP;
use crate::sys::received::{Packet, Received, VNET_LEN};
use crate::trace;

/// A packet from the ring: its virtio header, its length in three bytes, and its first bytes. It is cut in every place, and no byte of
/// it is lost or made.
pub fn frame(bytes: &[u8]) {
    let Some((vnet, rest)) = bytes.split_first_chunk::<VNET_LEN>() else { return };
    let Some((&[high, middle, low], head)) = rest.split_first_chunk::<3>() else { return };
    let head = &head[..head.len().min(SNAP)];
    let len = u32::from_be_bytes([0, high, middle, low]);
    // The ring has the whole length, which is at least that of the first bytes.
    let len = len.max(u32::try_from(head.len()).unwrap_or(u32::MAX));
    let frame = Frame::new(Received {
        realtime_ns: 0,
        is_outgoing: false,
        len,
        vnet: *vnet,
        packet: Packet::Head(head),
    });
    let segments = frame.segments();
    assert!(segments > 0);
    let whole = frame.outgoing(0, segments);
    assert_eq!(whole.len, len as usize);
    if segments == u16::MAX {
        return;
    }
    let headers = frame.segment_len(0) as usize + frame.segment_len(segments - 1) as usize;
    for cut in [1, segments / 2, segments.saturating_sub(1)] {
        if (1..segments).contains(&cut) {
            let [first, second] = [frame.outgoing(0, cut), frame.outgoing(cut, segments - cut)];
            assert!(first.len + second.len > len as usize && first.len + second.len < len as usize + headers);
            assert!(first.head_len <= first.len.min(SNAP) && second.head_len <= second.len.min(SNAP));
        }
    }
}

/// Events of the BPF ring, one behind the other; how many rows they made.
pub fn events(bytes: &[u8]) -> usize {
    trace::rows_of(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `struct event` with this sequence number, and a retransmission unless `kind` is 1.
    fn event(seq: u64, kind: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        [5_u64, 7, seq, seq.wrapping_add(1448)].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(3_u32.to_ne_bytes());
        bytes.extend([kind, 3, 1, 0]);
        bytes.extend([1_u32, 0].iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn whole_events_make_rows_and_parts_of_one_none() {
        assert_eq!(events(&[event(1, 0), event(2, 1)].concat()), 1);
        assert_eq!(events(&event(1, 0)[1..]), 0);
    }

    proptest! {
        #[test]
        fn any_packet_is_cut_without_a_byte_lost(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200), mss in 1_u16..3000, tcp in any::<bool>()
        ) {
            if tcp && bytes.len() > VNET_LEN + 3 + 14 + 10 {
                bytes[1] = 1;
                bytes[4..6].copy_from_slice(&mss.to_ne_bytes());
                bytes[VNET_LEN] = 0;
                bytes[VNET_LEN + 3 + 14] = 0x45;
                bytes[VNET_LEN + 3 + 14 + 9] = 6;
            }
            frame(&bytes);
        }

        #[test]
        fn any_bytes_are_events_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            assert!(events(&bytes) <= bytes.len() / event(0, 0).len());
        }
    }
}
