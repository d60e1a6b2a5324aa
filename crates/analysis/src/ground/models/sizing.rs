//! How large the parts of a testbed have to be: socket buffers, netem's limit, a token bucket.
//!
//! Never: a recommendation below the kernel's own default.

use super::window::packets;
use pipefill_core::units::{Bytes, Rate, Ratio};
use std::time::Duration;

/// What one byte in flight takes of a receive buffer: with `tcp_adv_win_scale = 1`, and by default until a connection has
/// measured its `scaling_ratio`, half of the buffer is kept for overhead (`tcp_win_from_space()`, `include/net/tcp.h`).
pub const RMEM_PER_BYTE: u64 = 2;

/// What one byte in flight takes of a send buffer: each skb counts with its `truesize` until it is acknowledged, and the
/// queue has to hold unsent data beside. Measured on Linux 6.12: 1.7 with GSO, 2.5 to 2.7 with MTU-sized segments.
pub const WMEM_PER_BYTE: u64 = 3;

/// What one byte in flight takes of a send buffer that limits, in super-packets, at most: the writer is woken when a third of it is
/// free (`sk_stream_min_wspace()`), and a packet costs little more than its payload. Measured on Linux 6.12: 1.6 at 200 ms
/// and 4 MB, where ACKs come in bursts, 1.0 at 10 ms and 512 KiB.
const WMEM_PER_BYTE_GSO: f64 = 1.7;
/// The same with packets of one segment each, whose overhead is large.
const WMEM_PER_BYTE_MTU: f64 = 2.7;

/// A full GSO super-packet: what a bucket must take at once (`GSO_LEGACY_MAX_SIZE`).
pub const SUPER_PACKET: Bytes = Bytes::new(65_536);

/// The kernel's usual `tcp_rmem`: least, initial, maximum.
const RMEM_DEFAULT: [u64; 3] = [4_096, 131_072, 6_291_456];
/// The kernel's usual `tcp_wmem`.
const WMEM_DEFAULT: [u64; 3] = [4_096, 16_384, 4_194_304];
/// The timer frequency for which a token bucket is sized: the kernel's default `CONFIG_HZ`.
pub const TIMER_HZ: u64 = 250;
/// Buffers are `int` in the kernel.
const BUFFER_MAX: u64 = 0x7fff_f000;
/// Buffer sizes are rounded up to pages.
const PAGE: u64 = 4_096;

/// The `tcp_rmem` that lets `bdp` bytes be in flight: its maximum is `2 × bdp`, rounded up to pages, at least the default.
pub fn tcp_rmem(bdp: Bytes) -> [u64; 3] {
    raise_maximum(RMEM_DEFAULT, bdp, RMEM_PER_BYTE)
}

/// The `tcp_wmem` that lets `bdp` bytes be in flight: its maximum is `3 × bdp`, rounded up to pages, at least the default.
pub fn tcp_wmem(bdp: Bytes) -> [u64; 3] {
    raise_maximum(WMEM_DEFAULT, bdp, WMEM_PER_BYTE)
}

/// The lines for `/etc/sysctl.d`, on both ends, for `bdp` bytes in flight.
pub fn sysctl_lines(bdp: Bytes) -> Vec<String> {
    let line = |name: &str, [least, initial, maximum]: [u64; 3]| {
        format!("net.ipv4.{name} = {least} {initial} {maximum}")
    };
    vec![line("tcp_rmem", tcp_rmem(bdp)), line("tcp_wmem", tcp_wmem(bdp))]
}

/// The lines for programs that set `SO_RCVBUF` and `SO_SNDBUF` themselves: what they may ask for. The kernel doubles it
/// (socket(7)), so that half of what autotuning may use is enough.
pub fn socket_sysctl_lines(bdp: Bytes) -> Vec<String> {
    let line = |name: &str, maximum: u64| format!("net.core.{name} = {}", maximum / 2);
    vec![line("rmem_max", tcp_rmem(bdp)[2]), line("wmem_max", tcp_wmem(bdp)[2])]
}

/// The window that a receive buffer of `size` advertises at least: half of it. Kernels since 6.6 learn the true share, and
/// come to three quarters with full segments.
pub fn window_of_receive_buffer(size: Bytes) -> Bytes {
    Bytes::new(size.get() / RMEM_PER_BYTE)
}

/// What a send buffer of `size` lets be in flight at least: with packets of one segment each, and with super-packets.
pub fn flight_of_send_buffer(size: Bytes) -> [Bytes; 2] {
    [WMEM_PER_BYTE_MTU, WMEM_PER_BYTE_GSO].map(|cost| Bytes::new((size.get() as f64 / cost) as u64))
}

/// The commands that make this path of an interface `DEV`: all of `rtt` in the direction of the data, a bottleneck with a
/// queue of `queue`, and the one that takes it away again. Each `frame` costs `overhead` of the rate beside its own bytes. The delay element of some kernels counts what waits behind it too, so that its
/// limit holds both. `None` for a frame of no bytes.
pub fn tc_lines(
    rate: Rate,
    rtt: Duration,
    queue: Bytes,
    loss: Option<Ratio>,
    frame: Bytes,
    overhead: Bytes,
) -> Option<Vec<String>> {
    let counted = Bytes::new(frame.get() + overhead.get());
    let limit = netem_limit_packets(rate, rtt, counted)? + packets(queue, frame)?;
    let loss = loss.map_or_else(String::new, |p| format!(" loss {}%", p.percent()));
    let overhead = match overhead.get() {
        0 => String::new(),
        bytes => format!(" overhead {bytes}"),
    };
    let burst = tbf_burst(rate, TIMER_HZ)?;
    Some(vec![
        format!("tc qdisc add dev DEV root handle 1: netem delay {}us limit {limit}{loss}", rtt.as_micros()),
        format!(
            "tc qdisc add dev DEV parent 1:1 tbf rate {}bit burst {} limit {}{overhead}",
            rate.bps(),
            burst.get(),
            queue.get()
        ),
        "tc qdisc del dev DEV root".to_owned(),
    ])
}

/// The smallest `limit` of a netem with this one-way `delay` that does not drop full TCP frames arriving at `rate`:
/// `rate × delay / frame`, rounded up, and one for the packet that arrives as another leaves. Shorter packets (ACKs, small
/// datagrams) need more. netem's default is 1000.
pub fn netem_limit_packets(rate: Rate, delay: Duration, frame: Bytes) -> Option<u64> {
    packets(rate.bytes_in(delay), frame).map(|held| held + 1)
}

/// The smallest `burst` of a tbf that can reach `rate`: what `rate` gives between two ticks of a timer of `hz` (tc-tbf(8)),
/// but at least one GSO super-packet. The bandwidth-delay product has no part in it. `None` for a timer of 0 Hz.
pub fn tbf_burst(rate: Rate, hz: u64) -> Option<Bytes> {
    let tick = rate.bps().checked_div(8 * hz)?;
    Some(Bytes::new(tick).max(SUPER_PACKET))
}

fn raise_maximum([least, initial, maximum]: [u64; 3], bdp: Bytes, per_byte: u64) -> [u64; 3] {
    let needed = bdp.get().saturating_mul(per_byte).min(BUFFER_MAX).div_ceil(PAGE) * PAGE;
    [least, initial, needed.max(maximum)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Study 2's path needs no more than the defaults of today; study 4's at 300 ms does.
    #[test]
    fn buffers_never_shrink_below_the_default() {
        assert_eq!(tcp_rmem(Bytes::new(1_250_000)), RMEM_DEFAULT);
        assert_eq!(tcp_wmem(Bytes::new(1_250_000)), WMEM_DEFAULT);
        let study_4 = Rate::from_bps(200_000_000).bdp(Duration::from_millis(300));
        assert_eq!(study_4, Bytes::new(7_500_000));
        assert_eq!(tcp_rmem(study_4)[2], 15_003_648);
        assert_eq!(
            sysctl_lines(study_4),
            ["net.ipv4.tcp_rmem = 4096 131072 15003648", "net.ipv4.tcp_wmem = 4096 16384 22503424"]
        );
    }

    /// Study 1's note: 100 Mbit/s for one second in packets of 1,448 bytes are some 8,600.
    #[test]
    fn netem_holds_the_forward_bdp() {
        let rate = Rate::from_bps(100_000_000);
        let limit = netem_limit_packets(rate, Duration::from_secs(1), Bytes::new(1_448));
        assert_eq!(limit, Some(8_634));
        assert_eq!(netem_limit_packets(rate, Duration::ZERO, Bytes::new(1_514)), Some(1));
    }

    /// tc-tbf(8): 10 Mbit/s at 100 Hz needs 12.5 kB ("at least 10 kB"), which a super-packet exceeds; 1 Gbit/s at 250 Hz 500 kB.
    #[test]
    fn a_bucket_covers_a_tick_and_a_super_packet() {
        let tick = |mbit: u64, hz| tbf_burst(Rate::from_bps(mbit * 1_000_000), hz);
        assert_eq!(tick(10, 100), Some(SUPER_PACKET));
        assert_eq!(tick(1_000, 250), Some(Bytes::new(500_000)));
        assert_eq!(tick(1_000, 0), None);
    }

    /// Study 4: Linux 6.12 had 2.49 MB in flight of a send buffer of 4 MB with GSO, and 1.68 MB without.
    #[test]
    fn a_send_buffer_holds_less_than_its_size() {
        let [mtu, gso] = flight_of_send_buffer(Bytes::new(4_000_000)).map(|flight| flight.get() as f64);
        assert!((gso / 2.49e6 - 1.0).abs() < 0.1 && (mtu / 1.68e6 - 1.0).abs() < 0.15, "{mtu} {gso}");
    }

    #[test]
    fn tc_lines_are_complete() {
        let (rate, rtt) = (Rate::from_bps(1_000_000_000), Duration::from_millis(10));
        let (queue, frame, none) = (Bytes::new(1_250_000), Bytes::new(1_514), Bytes::new(0));
        let lines = tc_lines(rate, rtt, queue, Some(Ratio::from_percent(1.0)), frame, none).unwrap();
        assert_eq!(
            lines,
            [
                "tc qdisc add dev DEV root handle 1: netem delay 10000us limit 1653 loss 1%",
                "tc qdisc add dev DEV parent 1:1 tbf rate 1000000000bit burst 500000 limit 1250000",
                "tc qdisc del dev DEV root"
            ]
        );
        assert_eq!(tc_lines(rate, rtt, queue, None, none, none), None);
    }

    proptest! {
        #[test]
        fn a_buffer_holds_its_flight_and_fits_an_int(bdp in 0_u64..1 << 40) {
            for buffer in [tcp_rmem(Bytes::new(bdp)), tcp_wmem(Bytes::new(bdp))] {
                prop_assert!(buffer[2] % PAGE == 0 && i32::try_from(buffer[2]).is_ok());
                prop_assert!(buffer[2] >= (2 * bdp).min(BUFFER_MAX));
            }
        }

        #[test]
        fn the_limit_never_drops_what_the_delay_holds(mbit in 1_u64..10_000, ms in 0_u64..1_000) {
            let (rate, delay, frame) = (Rate::from_bps(mbit * 1_000_000), Duration::from_millis(ms), Bytes::new(1_514));
            let limit = netem_limit_packets(rate, delay, frame).unwrap();
            prop_assert!(limit * 1_514 >= rate.bytes_in(delay).get());
        }
    }
}
