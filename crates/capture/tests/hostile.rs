//! Hostile captures: the entries of the fuzz targets, fed for a few seconds without a nightly compiler.

use pipefill_testkit::entries::captures;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read_as_far_as_they_can_be(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        captures::file(&bytes);
        captures::packets(&bytes);
        captures::datagrams(&bytes);
    }

    #[test]
    fn any_segments_leave_a_state_that_can_be(bytes in prop::collection::vec(any::<u8>(), 0..900)) {
        prop_assert_eq!(captures::segments(&bytes), bytes.len() as u64 / 6);
    }

    #[test]
    fn any_two_ends_are_joined_as_far_as_they_can_be(bytes in prop::collection::vec(any::<u8>(), 0..900)) {
        prop_assert!(captures::two_ends(&bytes) <= 1);
    }

    /// A pcap of raw IP whose packets may be anything.
    #[test]
    fn any_packets_in_a_whole_capture(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
        for packet in &packets {
            let length = (packet.len() as u32).to_le_bytes();
            file.extend([[0; 4], [0; 4], length, length].concat());
            file.extend(packet);
        }
        prop_assert_eq!(captures::file(&file), packets.len() as u64);
    }
}

/// The last time is the largest that a container has: a copy comes a tick of centuries after its first. A fuzz target found it.
#[test]
fn a_clock_that_ticks_once_in_centuries_overflows_nothing() {
    let head = [40, 0, 255, 255, 40, 49, 243, 255, 255, 255, 0, 54, 54, 0, 255, 0, 255, 59, 60, 60, 60, 60];
    let rest = [
        54, 0, 255, 0, 255, 59, 60, 60, 60, 60, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1, 0, 0, 147,
        38, 1, 1, 0, 0, 0, 9, 91, 1, 147, 38, 147, 147, 147, 147, 1, 38, 1, 1, 112,
    ];
    captures::segments(&[&head[..], &[255; 25], &rest].concat());
}
