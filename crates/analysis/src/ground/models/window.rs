//! The window law, the time that slow start needs, and when a window is used up.
//!
//! Never: a queue or a header here; these are upper bounds on a path that does nothing but delay.

use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Bytes;
use std::time::Duration;

/// The initial congestion window, segments (RFC 6928 section 2).
pub const INITIAL_WINDOW_SEGMENTS: u64 = 10;

/// Share of the advertised window that is out, as its sender sees it. One without room for a full segment is used up: the sender waits
/// (`tcp_snd_wnd_test()`; RFC 9293, 3.8.6.2.1). `None` where the window is unknown.
pub fn rwnd_used(info: &TcpInfo) -> Option<f64> {
    Some(window_used(u64::from(info.rwnd_bytes?), info.unacked_bytes, info.mss_bytes.into()))
}

/// The same of a `window` with `unacked` bytes of segments of `mss` bytes.
pub fn window_used(window: u64, unacked: u64, mss: u64) -> f64 {
    let is_full = window.saturating_sub(unacked) < mss;
    let used = unacked as f64 / window.max(1) as f64;
    if is_full { used.max(1.0) } else { used }
}

/// The window law: at most one window per round trip, `8 × window / rtt` bits per second. `None` at a zero RTT.
pub fn window_law(window: Bytes, rtt: Duration) -> Option<f64> {
    (!rtt.is_zero()).then(|| window.get() as f64 * 8.0 / rtt.as_secs_f64())
}

/// A volume in full packets, rounded up. `None` for a packet of no bytes.
pub fn packets(volume: Bytes, packet: Bytes) -> Option<u64> {
    (packet.get() > 0).then(|| volume.get().div_ceil(packet.get()))
}

/// Rounds that slow start needs until `window` is in flight, from an initial window of ten segments, doubling each round
/// trip (RFC 5681 section 3.1, without loss, HyStart or delayed-ACK effects). `None` for an `mss` of 0.
pub fn slow_start_rounds(window: Bytes, mss: Bytes) -> Option<u32> {
    let wanted = packets(window, mss)?;
    let doublings = (0..64).find(|&n| u128::from(INITIAL_WINDOW_SEGMENTS) << n >= u128::from(wanted))?;
    Some(doublings)
}

/// Time from the first data segment until `window` is in flight: [`slow_start_rounds`] round trips. The handshake is not
/// counted.
pub fn slow_start_time(window: Bytes, mss: Bytes, rtt: Duration) -> Option<Duration> {
    slow_start_rounds(window, mss).map(|rounds| rtt * rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Rate;
    use proptest::prelude::*;

    #[test]
    fn a_window_without_room_for_a_segment_is_used_up() {
        let used = |rwnd, unacked_bytes| {
            let info =
                TcpInfo { rwnd_bytes: Some(rwnd), unacked_bytes, mss_bytes: 1448, ..TcpInfo::default() };
            rwnd_used(&info)
        };
        assert_eq!(used(0, 0), Some(1.0));
        assert_eq!(used(1447, 0), Some(1.0));
        assert_eq!(used(1448, 0), Some(0.0));
        assert_eq!(used(14480, 7240), Some(0.5));
        assert_eq!(used(14480, 13100), Some(1.0));
    }

    /// The worked example of study 3: 65,535 bytes at 10 ms are 52.428 Mbit/s.
    #[test]
    fn study_3_worked_example() {
        assert_eq!(window_law(Bytes::new(65_535), Duration::from_millis(10)), Some(52_428_000.0));
        assert_eq!(window_law(Bytes::new(65_535), Duration::ZERO), None);
    }

    /// Study 3's own (mistaken) figure: 65,500 bytes at 11 ms are 47,636,363 bit/s, and twice that is the "corrected" one.
    #[test]
    fn study_3_naive_and_corrected() {
        let rtt = Duration::from_millis(11);
        let naive = window_law(Bytes::new(65_500), rtt).unwrap();
        let corrected = window_law(Bytes::new(131_000), rtt).unwrap();
        assert_eq!((naive as u64, corrected as u64), (47_636_363, 95_272_727));
    }

    /// Study 2: 1 Gbit/s × 10 ms = 1.25 MB; at 1,448 bytes that is 864 segments.
    #[test]
    fn study_2_bdp() {
        let bdp = Rate::from_bps(1_000_000_000).bdp(Duration::from_millis(10));
        assert_eq!(bdp, Bytes::new(1_250_000));
        assert_eq!(packets(bdp, Bytes::new(1_448)), Some(864));
        assert_eq!(packets(bdp, Bytes::new(0)), None);
    }

    /// 10 → 20 → 40 → … → 1280 ≥ 864 after seven doublings.
    #[test]
    fn slow_start_doubles_from_ten() {
        let (bdp, mss) = (Bytes::new(1_250_000), Bytes::new(1_448));
        assert_eq!(slow_start_rounds(bdp, mss), Some(7));
        assert_eq!(slow_start_rounds(Bytes::new(14_480), mss), Some(0));
        assert_eq!(slow_start_rounds(Bytes::new(14_481), mss), Some(1));
        assert_eq!(slow_start_time(bdp, mss, Duration::from_millis(10)), Some(Duration::from_millis(70)));
    }

    proptest! {
        #[test]
        fn a_bdp_as_window_gives_the_rate(mbit in 1_u64..100_000, ms in 1_u64..2_000) {
            let (rate, rtt) = (Rate::from_bps(mbit * 1_000_000), Duration::from_millis(ms));
            let got = window_law(rate.bdp(rtt), rtt).unwrap();
            prop_assert!(got <= rate.bps() as f64 * (1.0 + 1e-12));
            prop_assert!((got / rate.bps() as f64 - 1.0).abs() < 8e-3);
        }

        #[test]
        fn slow_start_covers_the_window(segments in 1_u64..1_000_000_000) {
            let mss = Bytes::new(1_448);
            let rounds = slow_start_rounds(Bytes::new(segments * 1_448), mss).unwrap();
            prop_assert!(INITIAL_WINDOW_SEGMENTS << rounds >= segments);
            prop_assert!(rounds == 0 || INITIAL_WINDOW_SEGMENTS << (rounds - 1) < segments);
        }
    }
}
