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
