//! Whether the bursts of a direction repeat each round trip.

use super::bucket::{LoggedKind, LoggedPacket};
use pipefill_core::record::Repetition;

/// Silence before a burst, and how exactly it repeats: these parts of a round trip.
const SILENCE_PART: u32 = 32;
const EXACT_PART: u32 = 128;
/// A round trip grows by this part of it at most: what waits for an ACK waits for a program, too.
const LONGER_PART: u32 = 16;
/// Other times that are tried, in eighths of a round trip.
const OTHERS: std::ops::RangeInclusive<u32> = 1..=7;
/// Fewer bursts show nothing, nor do fewer round trips.
const BURSTS_MIN: usize = 12;
const ROUND_TRIPS_MIN: u32 = 3;

/// `None` where there are too few bursts in these packets, of which `packets[first..]` come before `packets[..first]`.
pub(super) fn find(packets: &[LoggedPacket], first: usize, rtt_us: u32) -> Option<Repetition> {
    let (exact_us, silence_us) = (rtt_us / EXACT_PART, rtt_us / SILENCE_PART);
    if exact_us == 0 {
        return None;
    }
    let (later, earlier) = packets.split_at_checked(first)?;
    let mut new = earlier.iter().chain(later).filter(|packet| packet.kind == LoggedKind::New);
    let begin_us = new.next()?.at_us;
    // From the first packet: the times of a log wrap.
    let times: Vec<u32> = new.map(|packet| packet.at_us.wrapping_sub(begin_us)).collect();
    let is_burst = |pair: &&[u32]| pair[1].saturating_sub(pair[0]) >= silence_us;
    let bursts: Vec<u32> = times.windows(2).filter(is_burst).map(|pair| pair[1]).collect();
    let from = bursts
        .partition_point(|&at_us| at_us < *bursts.first().unwrap_or(&0) + rtt_us + rtt_us / LONGER_PART);
    let counted = &bursts[from..];
    if counted.len() < BURSTS_MIN || times.last()? / rtt_us < ROUND_TRIPS_MIN {
        return None;
    }
    let most = |least_us: u32, most_us: u32| {
        let after = (least_us..=most_us).step_by(exact_us as usize);
        let followed = after.map(|after_us| followed(counted, &bursts, after_us, exact_us)).max();
        (followed.unwrap_or(0) * 1_000 / counted.len()) as u32
    };
    let eighth_us = rtt_us / 8;
    Some(Repetition {
        bursts: counted.len() as u32,
        repeated_permille: most(rtt_us, rtt_us + rtt_us / LONGER_PART),
        otherwise_permille: most(OTHERS.start() * eighth_us, OTHERS.end() * eighth_us),
    })
}

/// How many of `counted` came `after_us` after one of `bursts`, both in order.
fn followed(counted: &[u32], bursts: &[u32], after_us: u32, exact_us: u32) -> usize {
    let mut before = bursts.iter().peekable();
    counted
        .iter()
        .filter(|&&at_us| {
            while before.next_if(|&&burst| burst + after_us + exact_us < at_us).is_some() {}
            before.peek().is_some_and(|&&burst| (burst + after_us).abs_diff(at_us) <= exact_us)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_US: u32 = 86_000;

    /// Bursts of ten packets at these times.
    fn packets(bursts: impl Iterator<Item = u32>) -> Vec<LoggedPacket> {
        let packet = |at_us| LoggedPacket { at_us, from: 0, bytes: 1_448, kind: LoggedKind::New };
        bursts.flat_map(|at_us| (0..10).map(move |piece| packet(at_us + 100 * piece))).collect()
    }

    fn found(bursts: impl Iterator<Item = u32>) -> (u32, u32) {
        let found = find(&packets(bursts), 0, RTT_US).expect("many bursts");
        (found.repeated_permille, found.otherwise_permille)
    }

    /// As a TLS proxy with a small send buffer: three records a round trip, unevenly.
    #[test]
    fn what_acks_let_out_repeats_each_round_trip() {
        let (repeated, otherwise) =
            found((0..15).flat_map(|round| [0, 29_400, 51_500].map(|at| round * 86_300 + at)));
        assert_eq!(repeated, 1_000);
        assert!(otherwise <= 400, "{otherwise}");
    }

    #[test]
    fn an_even_clock_repeats_after_any_of_its_periods() {
        assert_eq!(found((0..45).map(|at| at * RTT_US / 3)), (1_000, 1_000));
        let (repeated, _) = found((0..45).map(|at| at * 31_000));
        assert!(repeated < 400, "{repeated}");
    }

    #[test]
    fn a_program_that_waits_as_long_as_it_likes_repeats_nothing() {
        let mut at = 0;
        let uneven = (0..50_u32).map(|step| {
            at += 12_000 + step * 7_919 % 23_000;
            at
        });
        let (repeated, _) = found(uneven);
        assert!(repeated < 500, "{repeated}");
    }

    #[test]
    fn a_ring_begins_anywhere_and_few_bursts_show_nothing() {
        let all = packets((0..15).flat_map(|round| [0, 29_400, 51_500].map(|at| round * 86_300 + at)));
        let mut ring = all.clone();
        ring.rotate_right(70);
        assert_eq!(find(&ring, 70, RTT_US), find(&all, 0, RTT_US));
        assert_eq!(find(&packets((0..12).map(|at| at * RTT_US)), 0, RTT_US), None);
        assert_eq!(find(&[], 0, RTT_US), None);
        assert_eq!(find(&all, 0, 100), None, "too short to be told from what packets take");
    }
}
