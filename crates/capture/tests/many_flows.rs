//! What reading a capture of a million flows holds in memory: no more than a gigabyte, however many there are. From 230,000 on it is as much as may
//! be: without `PIPEFILL_FLOWS` (`make proof` says 1000000) twice as many are read.
//!
//! Counted are live bytes of the whole process. One test in this file: nothing else allocates meanwhile.

use peak_alloc::PeakAlloc;
use pipefill_capture::headers::{Address, Flags, Segment};
use pipefill_capture::rows::Sampling;
use pipefill_capture::tcp::Reconstruction;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes beyond which nothing is held, whatever the number of flows.
const MOST: usize = 1_000_000_000;
/// Bytes of a flow with data in both directions, its samples included: 700 of them are what each direction waited for.
const OF_A_FLOW: usize = 4_400;

/// The `n`-th connection's handshake, request and answer; nobody closes it. It is where the last segment was sent at once.
fn flow(n: u32) -> [Segment; 6] {
    let client = |segment: &mut Segment| {
        (segment.source.address, segment.source.port) =
            (Address::v4(0x0a00_0000 + n / 50_000), (n % 50_000 + 1_024) as u16);
    };
    let segment = |is_client: bool, flags: u8, seq: u32, ack: u32, payload: u32| {
        let mut segment = Segment {
            time_ns: u64::from(n) * 1_000,
            flags: Flags(flags),
            seq,
            ack,
            payload,
            window: 1_000,
            ..Segment::default()
        };
        client(&mut segment);
        (segment.destination.address, segment.destination.port) = (Address::v4(0xc000_0201), 80);
        if !is_client {
            std::mem::swap(&mut segment.source, &mut segment.destination);
        }
        segment
    };
    [
        segment(true, 0x02, 100, 0, 0),
        segment(false, 0x12, 500, 101, 0),
        segment(true, 0x10, 101, 501, 0),
        segment(true, 0x18, 101, 501, 300),
        segment(false, 0x18, 501, 401, 1_400),
        segment(true, 0x10, 401, 1_901, 0),
    ]
}

/// The most bytes that were live at once, and what is left at the end: flows, those left out, those that had to go early.
fn read(flows: u32) -> (usize, u64, u64, u64) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
    for segment in (0..flows).flat_map(flow) {
        reconstruction.take_segment(&segment, &mut sampling);
    }
    let counts = reconstruction.finish(&mut sampling);
    let (kept, left_out) = sampling.finish();
    (MEMORY.peak_usage() - before, kept.len() as u64, left_out, counts.evicted)
}

#[test]
fn any_number_of_flows_is_read_in_a_gigabyte() {
    let flows =
        std::env::var("PIPEFILL_FLOWS").map_or(400_000, |flows| flows.parse().expect("a number of flows"));
    let (peak, kept, left_out, evicted) = read(16_000);
    println!("16,000 flows: {} bytes each", peak / 16_000);
    assert_eq!((kept, left_out, evicted), (16_000, 0, 0));
    assert!(peak / 16_000 <= OF_A_FLOW, "{} bytes each", peak / 16_000);
    let (peak, kept, left_out, evicted) = read(flows);
    println!("{flows} flows: {peak} bytes");
    assert!(kept + left_out == u64::from(flows) && evicted > 0);
    assert!(peak <= MOST, "{peak} bytes");
}
