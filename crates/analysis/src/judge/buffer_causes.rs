//! Why a window, a buffer, a pacing rate, a CPU or a path gives no more, and a congestion window of whose sender nothing is seen: as a scenario asked for it, or as sockets, packets and threads show it.

use crate::ground::buffers::{
    KEPT_BACK, SCALE_BITS, SCALE_OF_OTHERS, UNSCALED, USUAL_SCALE, send_maximum, windows, windows_are_scaled,
};
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{CellSpec, FlowSpec};
use pipefill_core::evidence::{Arrivals, BufferEvidence, Evidence, Plateau, SenderEvidence, ThreadUse};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::stacks::Stack;

/// What refines `limited_by` for a flow of `asked`, or of no scenario, whose sender has `congestion_control`; `None` where the evidence
/// does not support a cause.
pub(super) fn cause(
    limited_by: LimitedBy,
    evidence: &Evidence,
    asked: Option<(&CellSpec, &FlowSpec)>,
    congestion_control: &str,
    thresholds: &Thresholds,
) -> Option<Cause> {
    let sender = evidence.sender.as_ref();
    match (limited_by, asked) {
        (LimitedBy::Cwnd, None) => arrivals_cause(&evidence.arrivals?, thresholds),
        (LimitedBy::Rwnd, Some((plan, flow))) => asked_receive_window(sender?, plan, flow, thresholds),
        (LimitedBy::Rwnd, None) => seen_receive_window(evidence, thresholds),
        (LimitedBy::Sndbuf, Some((plan, flow))) => asked_send_buffer(sender?, plan, flow, thresholds),
        (LimitedBy::Sndbuf, None) => seen_send_buffer(sender?, &evidence.buffers, thresholds),
        (LimitedBy::Pacing, Some((_, flow))) if flow.max_pacing_rate.is_some() => Some(Cause::Program),
        (LimitedBy::Pacing, None) if evidence.buffers.max_pacing_rate_bps.is_some() => Some(Cause::Program),
        (LimitedBy::Pacing, _) => sender.filter(|_| congestion_control == "bbr").map(|_| Cause::Bbr),
        // What is not silent, and loses no full-size segments, is full.
        (LimitedBy::Path, _) => {
            let is_filled_by_others = |share: f64| share < thresholds.path_own.value();
            Some(if evidence.path.own_share.is_some_and(is_filled_by_others) {
                Cause::Shared
            } else {
                Cause::Full
            })
        }
        (LimitedBy::Cpu, _) => {
            let is_waiting = |used: ThreadUse| used.waited > used.computed;
            evidence.endpoint_thread().map(|used| if is_waiting(used) { Cause::Waiting } else { Cause::Busy })
        }
        _ => None,
    }
}

/// Of a congestion window of whose sender nothing is seen: what is lost, or its growth where most of the time has no loss. One that grows though
/// nothing was missing, and not as in slow start, has left slow start without a loss.
fn arrivals_cause(arrivals: &Arrivals, thresholds: &Thresholds) -> Option<Cause> {
    let (cause, undisturbed) = (arrivals.packets?.cwnd_cause, arrivals.whole.undisturbed);
    // Before the rate fell something may have been missing, too.
    let has_lost = arrivals.whole.disordered_share > 0.0 || cause.is_some();
    let is_growing = has_lost
        && undisturbed.share >= thresholds.receiver_settled_share.value()
        && undisturbed.growth.each >= thresholds.receiver_grows.value()
        && undisturbed.growth.whole >= thresholds.receiver_grows_steadily.value();
    let is_whole = arrivals.whole.disordered_share <= 0.0;
    if is_growing { Some(Cause::Growth) } else { cause.or(is_whole.then_some(Cause::HystartExit)) }
}

/// `tcp_select_window()`, `tcp_rcv_space_adjust()`: autotuning ends at the maximum of `tcp_rmem`, and never begins for a buffer that is set.
fn asked_receive_window(
    sender: &SenderEvidence,
    plan: &CellSpec,
    flow: &FlowSpec,
    thresholds: &Thresholds,
) -> Option<Cause> {
    if !windows_are_scaled(Some(plan)) {
        return Some(Cause::Unscaled);
    }
    if let Some(asked) = flow.rcvbuf {
        let is_capped = plan.data_receiver(flow.direction).granted_rcvbuf(asked) < asked;
        return Some(if is_capped { Cause::RmemMax } else { Cause::Program });
    }
    let [largest, _] = windows(Some(plan), flow);
    let share = sender.rwnd? as f64 / largest.get().max(1) as f64;
    let is_largest = share >= thresholds.buffer_is_largest.value();
    Some(if is_largest { Cause::Maximum } else { Cause::Autotuning })
}

/// `tcp_sndbuf_expand()`: the buffer follows cwnd up to the maximum of `tcp_wmem`.
fn asked_send_buffer(
    sender: &SenderEvidence,
    plan: &CellSpec,
    flow: &FlowSpec,
    thresholds: &Thresholds,
) -> Option<Cause> {
    if flow.sndbuf.is_some() {
        return Some(Cause::Program);
    }
    let share = sender.sndbuf? as f64 / send_maximum(Some(plan), flow).max(1) as f64;
    (share >= thresholds.buffer_is_largest.value()).then_some(Cause::Maximum)
}

/// By the receiver's buffer where its socket was sampled, else by the window that it advertises; whether its program has set the buffer is known
/// where the kernel tells, and else shows in both.
fn seen_receive_window(evidence: &Evidence, thresholds: &Thresholds) -> Option<Cause> {
    let buffers = &evidence.buffers;
    let window = buffers.window?;
    if buffers.window_scaling == Some(false) && is_largest(window.bytes, UNSCALED, thresholds) {
        return Some(Cause::Unscaled);
    }
    let rounds_us = thresholds.buffer_fixed_rounds.value() * round_trip_us(evidence)?;
    let is_fixed = |plateau: Plateau| plateau.steady_us as f64 >= rounds_us;
    match (buffers.rcvbuf, buffers.rcvbuf_set) {
        (Some(rcvbuf), _) => of_receive_buffer(rcvbuf, window, buffers, is_fixed, thresholds),
        (None, Some(true)) => Some(Cause::Program),
        (None, Some(false)) => {
            of_window(window, buffers, is_fixed, thresholds).filter(|&cause| cause != Cause::Program)
        }
        (None, None) => of_window(window, buffers, is_fixed, thresholds),
    }
}

fn is_largest(bytes: u64, of: u64, thresholds: &Thresholds) -> bool {
    bytes as f64 >= thresholds.buffer_is_largest.value() * of as f64
}

fn of_receive_buffer(
    rcvbuf: Plateau,
    window: Plateau,
    buffers: &BufferEvidence,
    is_fixed: impl Fn(Plateau) -> bool,
    thresholds: &Thresholds,
) -> Option<Cause> {
    let rmem = buffers.receiver_limits.map(|limits| limits.tcp_rmem);
    // `tcp_rcv_space_adjust()` moves the clamp with a buffer that it makes larger.
    let has_outgrown_clamp = rmem.is_some_and(|[_, first, largest]| {
        rcvbuf.bytes > first && is_largest(rcvbuf.bytes, largest, thresholds)
    });
    // `tcp_win_from_space()`: of a buffer that packets fill, half and more is window.
    let of_buffer = window.bytes as f64 / rcvbuf.bytes.max(1) as f64;
    let is_narrow = of_buffer < thresholds.window_of_buffer.value();
    if is_fixed(rcvbuf) && is_fixed(window) && is_narrow && !has_outgrown_clamp {
        return Some(Cause::Clamped);
    }
    if buffers.rcvbuf_set == Some(true) {
        return Some(if asks_for_more(&rcvbuf, buffers) { Cause::RmemMax } else { Cause::Program });
    }
    let [_, first, largest] = rmem?;
    // A window of the sender's first samples may be older than the buffer's first one.
    let is_autotuned = has_grown(rcvbuf)
        || rcvbuf.bytes == first
        || window.bytes as f64 > thresholds.window_autotuned.value() * window.first_bytes as f64;
    match (is_fixed(rcvbuf), is_largest(rcvbuf.bytes, largest, thresholds)) {
        (true, true) => Some(Cause::Maximum),
        // `tcp_rcv_space_adjust()` has stopped below the maximum.
        (true, false) if buffers.rcvbuf_set == Some(false) => Some(Cause::Autotuning),
        // `sock_setsockopt()`: what is asked beyond `rmem_max` becomes it, doubled.
        (true, false) if asks_for_more(&rcvbuf, buffers) => Some(Cause::RmemMax),
        (true, false) => Some(Cause::Program),
        (false, _) => is_autotuned.then_some(Cause::Autotuning),
    }
}

fn of_window(
    window: Plateau,
    buffers: &BufferEvidence,
    is_fixed: impl Fn(Plateau) -> bool,
    thresholds: &Thresholds,
) -> Option<Cause> {
    // `tcp_select_initial_window()`: the scale fits the largest buffer that the receiver may have, and is smaller only where a program has
    // set one before the handshake.
    let promised = buffers.window_scale.map(|scale| 1_u64 << (u32::from(scale) + SCALE_BITS));
    let largest = buffers.receiver_limits.map(|limits| limits.tcp_rmem[2].max(limits.rmem_max.unwrap_or(0)));
    let is_set_before =
        promised.zip(largest).is_some_and(|(promised, largest)| promised.saturating_mul(2) <= largest);
    if !is_fixed(window) {
        // The first window of the host's usual buffer has yet to grow.
        let is_usual = !is_set_before
            && buffers.receiver_limits.is_some_and(|limits| window.bytes <= limits.tcp_rmem[1]);
        // A window that packets show to grow later is the buffer's that has not grown yet.
        let will_grow = window.most_bytes as f64 > thresholds.window_autotuned.value() * window.bytes as f64;
        return (has_grown(window) || is_usual || will_grow).then_some(Cause::Autotuning);
    }
    let (scale, promised) = buffers.window_scale.zip(promised)?;
    if is_set_before {
        return Some(Cause::Program);
    }
    // A buffer that a program has set before the handshake is there from the beginning: only the part of it that is window may still grow.
    let has_doubled = window.bytes as f64 > thresholds.window_autotuned.value() * window.first_bytes as f64;
    if let Some(limits) = buffers.receiver_limits {
        let largest_buffer = limits.tcp_rmem[2].max(1) as f64;
        let may_be_largest = window.bytes as f64 / largest_buffer >= thresholds.window_of_buffer.value();
        // Below the maximum a buffer that has stopped growing is a program's, which may have set it after the handshake.
        return match (may_be_largest, has_doubled) {
            (true, _) => Some(Cause::Maximum),
            (false, false) => Some(Cause::Program),
            (false, true) => None,
        };
    }
    // Which buffer a scale is made for, Linux's code tells: other stacks use one scale for all buffers, and a larger one.
    let is_linux = buffers.receiver_stack == Some(Stack::Linux);
    let may_be_linux = buffers.receiver_stack.is_none() && scale < SCALE_OF_OTHERS;
    // A buffer that a program has set before the handshake has the smallest scale for it. A smaller `tcp_rmem` leaves that of its maximum, of which a
    // part is window, or of `rmem_max`.
    let is_smallest = (is_linux || may_be_linux) && scale < USUAL_SCALE && needs_scale(window.bytes, scale);
    if is_smallest && (!has_doubled || begins_cut(buffers, thresholds)) {
        return Some(Cause::Program);
    }
    if has_doubled {
        return Some(Cause::Maximum);
    }
    if !is_linux && !may_be_linux {
        return None;
    }
    if scale < USUAL_SCALE {
        return Some(Cause::Maximum);
    }
    let is_at_least = |part: f64, of: u64| window.bytes as f64 >= part * of as f64;
    if is_at_least(thresholds.window_of_scale.value(), promised) || begins_small(buffers, thresholds) {
        return Some(Cause::Maximum);
    }
    // Else a program has set the buffer after the handshake, or `rmem_max` has made the scale and `tcp_rmem` is smaller: the SYN shows a `tcp_rmem`
    // that is not the usual one, and nobody makes it that small.
    let usual = 1 << (u32::from(USUAL_SCALE) + SCALE_BITS);
    let is_far_below = !is_at_least(thresholds.window_far_of_scale.value(), promised)
        && !is_at_least(thresholds.window_far_of_usual.value(), usual);
    is_far_below.then_some(Cause::Program)
}

/// Whether the SYN shows a first buffer that is too small for the scale: not one that a program has set by then, nor the usual one. Of half of it a SYN
/// advertises whole segments, as far as its field goes.
fn begins_small(buffers: &BufferEvidence, thresholds: &Thresholds) -> bool {
    let Some((window, segment)) = buffers.syn_window.zip(buffers.segment) else { return false };
    !begins_cut(buffers, thresholds) && window + 2 * segment <= UNSCALED
}

/// Whether the SYN shows a Linux whose first windows are small whatever the buffer is, so that no buffer grows with them.
fn begins_cut(buffers: &BufferEvidence, thresholds: &Thresholds) -> bool {
    let shown = buffers.syn_window.zip(buffers.segment);
    shown.is_some_and(|(window, segment)| {
        window as f64 <= thresholds.syn_window_segments.value() * segment as f64
    })
}

/// Whether the header could not hold all of a buffer with a window of `bytes` with a smaller scale.
const fn needs_scale(bytes: u64, scale: u8) -> bool {
    match scale.checked_sub(1) {
        Some(smaller) => bytes + KEPT_BACK > UNSCALED << smaller,
        None => true,
    }
}

fn asks_for_more(rcvbuf: &Plateau, buffers: &BufferEvidence) -> bool {
    let most = buffers.receiver_limits.and_then(|limits| limits.rmem_max);
    most.is_some_and(|most| rcvbuf.bytes == most.saturating_mul(2))
}

const fn has_grown(plateau: Plateau) -> bool {
    plateau.bytes > plateau.first_bytes
}

fn seen_send_buffer(
    sender: &SenderEvidence,
    buffers: &BufferEvidence,
    thresholds: &Thresholds,
) -> Option<Cause> {
    if buffers.sndbuf_set == Some(true) {
        return Some(Cause::Program);
    }
    let (sndbuf, [_, _, largest]) = (sender.sndbuf?, buffers.sender_limits?.tcp_wmem);
    let part = thresholds.buffer_is_largest.value();
    if sndbuf as f64 >= part * largest as f64 {
        return Some(Cause::Maximum);
    }
    // `tcp_sndbuf_expand()`: at least twice cwnd, unless a program has set it (`SOCK_SNDBUF_LOCK`).
    let follows = sender.cwnd?.saturating_mul(2).min(largest);
    let may_be_set = buffers.sndbuf_set.is_none();
    (may_be_set && (sndbuf as f64) < part * follows as f64).then_some(Cause::Program)
}

/// As the sender measured it, else the path's; what arrives at a socket, or near one, is judged round trip by round trip.
fn round_trip_us(evidence: &Evidence) -> Option<f64> {
    let sender = evidence.sender.as_ref();
    let measured = sender.and_then(|sender| sender.srtt_mean_us.or(sender.srtt_us));
    let of_path = Some(evidence.path.base_rtt_us).filter(|&us| us > 0);
    let is_near = |arrivals: &Arrivals| evidence.buffers.rcvbuf.is_some() || arrivals.packets.is_some();
    let of_arrivals = evidence.arrivals.filter(is_near).map(|_| evidence.length_us());
    measured.or(of_path).or(of_arrivals).filter(|&us| us > 0).map(|us| us as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::evidence::{ArrivalsOfAll, ArrivingPackets, Growth, PathEvidence, Settled};
    use pipefill_core::record::BufferLimits;

    /// After losses at the beginning.
    #[test]
    fn a_window_that_grows_for_most_of_the_time_without_a_loss_is_growth() {
        let cause = |disordered_share, share, whole| {
            let undisturbed = Settled { share, growth: Growth { each: 1.3, whole }, ..Settled::default() };
            let whole = ArrivalsOfAll { disordered_share, undisturbed, ..ArrivalsOfAll::default() };
            let packets =
                ArrivingPackets { cwnd_cause: Some(Cause::RandomLoss), ..ArrivingPackets::default() };
            let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
            arrivals_cause(&arrivals, &STANDARD)
        };
        for since in [0.1, 0.0] {
            assert_eq!(cause(since, 0.6, 2.0), Some(Cause::Growth));
        }
        for lossy in [cause(0.1, 0.4, 2.0), cause(0.1, 0.6, 1.0)] {
            assert_eq!(lossy, Some(Cause::RandomLoss));
        }
    }

    #[test]
    fn a_window_that_grows_though_nothing_was_missing_has_left_slow_start_early() {
        let cause = |disordered_share| {
            let whole = ArrivalsOfAll { disordered_share, ..ArrivalsOfAll::default() };
            let packets = Some(ArrivingPackets::default());
            arrivals_cause(&Arrivals { whole, packets, ..Arrivals::default() }, &STANDARD)
        };
        assert_eq!(cause(0.0), Some(Cause::HystartExit));
        assert_eq!(cause(0.1), None, "what was missing may be why");
    }

    const LIMITS: BufferLimits = BufferLimits {
        tcp_rmem: [4_096, 131_072, 6_291_456],
        tcp_wmem: [4_096, 16_384, 4_194_304],
        rmem_max: Some(212_992),
        wmem_max: Some(212_992),
    };

    fn steady(bytes: u64) -> Option<Plateau> {
        Some(Plateau { bytes, first_bytes: bytes, steady_us: 1_000_000, most_bytes: bytes })
    }

    fn growing(bytes: u64) -> Option<Plateau> {
        Some(Plateau { bytes, first_bytes: bytes / 2, steady_us: 10_000, most_bytes: bytes })
    }

    /// Of a sender with a round trip of 100 ms.
    fn of(limited_by: LimitedBy, buffers: BufferEvidence) -> Option<Cause> {
        let sender = SenderEvidence { srtt_us: Some(100_000), ..SenderEvidence::default() };
        let evidence = Evidence { buffers, sender: Some(sender), ..Evidence::default() };
        cause(limited_by, &evidence, None, "cubic", &STANDARD)
    }

    #[test]
    fn a_receive_buffer_is_its_programs_where_it_stays_below_what_the_host_allows() {
        let with_window = |bytes, rcvbuf| {
            let receiver_limits = Some(LIMITS);
            of(
                LimitedBy::Rwnd,
                BufferEvidence { window: steady(bytes), rcvbuf, receiver_limits, ..Default::default() },
            )
        };
        let rwnd = |rcvbuf: Option<Plateau>| with_window(rcvbuf.map_or(0, |buffer| buffer.bytes / 2), rcvbuf);
        assert_eq!(rwnd(steady(131_072)), Some(Cause::Program));
        assert_eq!(rwnd(steady(425_984)), Some(Cause::RmemMax), "twice net.core.rmem_max");
        assert_eq!(rwnd(steady(6_291_456)), Some(Cause::Maximum));
        assert_eq!(rwnd(growing(2_000_000)), Some(Cause::Autotuning));
        assert_eq!(with_window(90_000, steady(225_000)), Some(Cause::Program), "0.4 of the buffer");
        assert_eq!(with_window(90_000, steady(225_001)), Some(Cause::Clamped), "TCP_WINDOW_CLAMP");
        assert_eq!(with_window(90_000, growing(225_001)), Some(Cause::Autotuning));
        let young = |bytes| Some(Plateau { steady_us: 700_000, ..steady(bytes).unwrap_or_default() });
        assert_eq!(rwnd(young(200_000)), None, "seven round trips");
        assert_eq!(rwnd(young(131_072)), Some(Cause::Autotuning), "the usual one, which has yet to grow");
        assert_eq!(with_window(90_000, steady(6_291_456)), Some(Cause::Maximum), "no clamp stays so small");
    }

    /// `SO_BUF_LOCK`.
    #[test]
    fn a_receive_buffer_that_the_kernel_tells_of_is_its_programs_or_not_whatever_its_size_shows() {
        let (window_scaling, window_scale) = (Some(true), Some(7));
        let cause = |buffers| {
            let buffers =
                BufferEvidence { window_scaling, window_scale, receiver_limits: Some(LIMITS), ..buffers };
            of(LimitedBy::Rwnd, buffers)
        };
        let of_buffer = |rcvbuf: Option<Plateau>, rcvbuf_set| {
            let window = steady(rcvbuf.map_or(0, |buffer| buffer.bytes / 2));
            cause(BufferEvidence { window, rcvbuf, rcvbuf_set, ..Default::default() })
        };
        let young = Some(Plateau { steady_us: 100_000, ..steady(262_144).unwrap_or_default() });
        for (rcvbuf, set, unset) in [
            (steady(131_072), Cause::Program, Cause::Autotuning),
            (steady(425_984), Cause::RmemMax, Cause::Autotuning),
            (steady(6_291_456), Cause::Program, Cause::Maximum),
            (growing(2_000_000), Cause::Program, Cause::Autotuning),
        ] {
            let both = [true, false].map(|is_set| of_buffer(rcvbuf, Some(is_set)));
            assert_eq!(both, [Some(set), Some(unset)], "{rcvbuf:?}");
        }
        assert_eq!([of_buffer(young, Some(true)), of_buffer(young, None)], [Some(Cause::Program), None]);
        let of_window = |bytes, rcvbuf_set| {
            cause(BufferEvidence { window: steady(bytes), rcvbuf_set, ..Default::default() })
        };
        let all = |bytes| [Some(true), Some(false), None].map(|is_set| of_window(bytes, is_set));
        assert_eq!(all(65_536), [Some(Cause::Program), None, Some(Cause::Program)]);
        assert_eq!(all(3_145_728), [Some(Cause::Program), Some(Cause::Maximum), Some(Cause::Maximum)]);
    }

    #[test]
    fn a_window_alone_shows_its_owner_by_its_scale_where_the_receiver_runs_linux() {
        let of_stack = |receiver_stack, window, scale, receiver_limits| {
            let (window_scaling, window_scale) = (Some(true), Some(scale));
            of(
                LimitedBy::Rwnd,
                BufferEvidence {
                    window,
                    window_scaling,
                    window_scale,
                    receiver_limits,
                    receiver_stack,
                    ..Default::default()
                },
            )
        };
        let rwnd = |window, scale, limits| of_stack(Some(Stack::Linux), window, scale, limits);
        for stack in [None, Some(Stack::Windows)] {
            assert_eq!(of_stack(stack, steady(65_536), 8, None), None, "Windows always sends this scale");
            assert_eq!(of_stack(stack, growing(65_536), 8, None), Some(Cause::Autotuning), "any stack's");
        }
        assert_eq!(rwnd(steady(86_000), 7, None), None, "set after the handshake, or a smaller tcp_rmem");
        assert_eq!(rwnd(steady(86_000), 10, None), Some(Cause::Program), "nobody makes that so small");
        assert_eq!(rwnd(steady(1_000_000), 14, None), None, "a tcp_rmem that nobody raised with rmem_max");
        assert_eq!(rwnd(steady(3_145_728), 7, None), Some(Cause::Maximum));
        let small = |stack, window| of_stack(stack, window, 3, None);
        let grown = Some(Plateau { first_bytes: 65_536, ..steady(300_000).unwrap_or_default() });
        for stack in [None, Some(Stack::Linux)] {
            assert_eq!(small(stack, steady(300_000)), Some(Cause::Program), "the smallest scale for it");
            assert_eq!(small(stack, steady(260_696)), Some(Cause::Program), "of 256 KiB, less a segment");
            assert_eq!(small(stack, steady(253_000)), Some(Cause::Maximum), "that of a larger tcp_rmem");
            assert_eq!(small(stack, grown), Some(Cause::Maximum), "it was half and less");
        }
        assert_eq!(small(Some(Stack::Windows), steady(300_000)), None, "its scale shows nothing");
        assert_eq!(of_stack(None, steady(3_000_000), 6, None), None, "macOS may have that");
        assert_eq!(
            rwnd(steady(262_000), 3, Some(LIMITS)),
            Some(Cause::Program),
            "tcp_rmem needs a scale of 7"
        );
        assert_eq!(rwnd(growing(262_000), 7, None), Some(Cause::Autotuning));
        let unscaled = |bytes| {
            of(
                LimitedBy::Rwnd,
                BufferEvidence { window: steady(bytes), window_scaling: Some(false), ..Default::default() },
            )
        };
        assert_eq!([unscaled(65_535), unscaled(20_000)], [Some(Cause::Unscaled), None]);
    }

    #[test]
    fn a_window_of_the_maximum_of_tcp_rmem_is_that_whatever_rmem_max_made_of_the_scale() {
        let rwnd = |window: u64, largest: u64| {
            let receiver_limits = Some(BufferLimits {
                tcp_rmem: [4_096, 65_536.min(largest), largest],
                rmem_max: Some(4_194_304),
                ..LIMITS
            });
            let (window, window_scaling, window_scale) = (steady(window), Some(true), Some(7));
            of(
                LimitedBy::Rwnd,
                BufferEvidence {
                    window,
                    window_scaling,
                    window_scale,
                    receiver_limits,
                    ..Default::default()
                },
            )
        };
        for largest in [32_768, 98_304, 262_144, 1_048_576] {
            for window in [largest * 4 / 10 + 1, largest * 6 / 10, largest * 9 / 10] {
                assert_eq!(rwnd(window, largest), Some(Cause::Maximum), "{window} of {largest}");
            }
            assert_eq!(rwnd(largest / 3, largest), Some(Cause::Program), "set after the handshake");
        }
    }

    #[test]
    fn a_first_buffer_too_small_for_the_scale_shows_a_smaller_tcp_rmem() {
        let rwnd = |syn_window, scale| {
            let (window, window_scaling, window_scale) = (steady(62_464), Some(true), Some(scale));
            let (receiver_stack, segment) = (Some(Stack::Linux), Some(1_448));
            of(
                LimitedBy::Rwnd,
                BufferEvidence {
                    window,
                    window_scaling,
                    window_scale,
                    syn_window,
                    segment,
                    receiver_stack,
                    ..Default::default()
                },
            )
        };
        for scale in [7, 10, 14] {
            assert_eq!(rwnd(Some(32_120), scale), Some(Cause::Maximum), "half of 64 KiB");
            assert_eq!(rwnd(Some(48_180), scale), Some(Cause::Maximum), "half of 96 KiB");
            for usual in [64_240, 65_160, 65_535, 29_200, 28_960, 14_600] {
                let own = (scale > 7).then_some(Cause::Program);
                assert_eq!(rwnd(Some(usual), scale), own, "{usual}: Linux's own");
            }
            assert_eq!(rwnd(None, scale), (scale > 7).then_some(Cause::Program));
        }
        assert_eq!(rwnd(Some(16_060), 0), Some(Cause::Program), "set before the handshake");
    }

    /// Linux before 4.20 (a data node of HDFS, jumbo frames, `SO_RCVBUF` 128 KiB).
    #[test]
    fn a_window_that_grows_from_a_cut_one_may_be_of_a_buffer_that_a_program_has_set() {
        let rwnd = |bytes, syn_window, segment| {
            let window = Some(Plateau { first_bytes: syn_window, ..steady(bytes).unwrap_or_default() });
            let (window_scaling, window_scale, syn_window) = (Some(true), Some(2), Some(syn_window));
            let segment = Some(segment);
            let buffers = BufferEvidence {
                window,
                window_scaling,
                window_scale,
                syn_window,
                segment,
                ..Default::default()
            };
            of(LimitedBy::Rwnd, buffers)
        };
        assert_eq!(rwnd(122_112, 26_847, 8_949), Some(Cause::Program));
        assert_eq!(rwnd(122_112, 26_847, 1_370), Some(Cause::Program), "the path has cut the MSS");
        assert_eq!(rwnd(100_000, 26_847, 8_949), Some(Cause::Maximum), "half of a tcp_rmem");
        assert_eq!(rwnd(131_072, 60_000, 1_448), Some(Cause::Maximum), "half of it was window at first");
    }

    #[test]
    fn a_path_that_others_fill_too_is_shared() {
        let of_share = |own_share| {
            let path = PathEvidence { own_share, ..PathEvidence::default() };
            cause(LimitedBy::Path, &Evidence { path, ..Evidence::default() }, None, "cubic", &STANDARD)
        };
        assert_eq!([of_share(Some(0.79)), of_share(Some(0.8))], [Some(Cause::Shared), Some(Cause::Full)]);
        assert_eq!(of_share(None), Some(Cause::Full), "nobody else was seen");
    }

    #[test]
    fn a_pacing_rate_is_the_programs_where_the_socket_has_a_limit_and_else_bbrs() {
        let pacing = |max_pacing_rate_bps, congestion_control| {
            let evidence = Evidence {
                buffers: BufferEvidence { max_pacing_rate_bps, ..BufferEvidence::default() },
                sender: Some(SenderEvidence::default()),
                ..Evidence::default()
            };
            cause(LimitedBy::Pacing, &evidence, None, congestion_control, &STANDARD)
        };
        assert_eq!(pacing(Some(8_000_000), "bbr"), Some(Cause::Program));
        assert_eq!([pacing(None, "bbr"), pacing(None, "cubic")], [Some(Cause::Bbr), None]);
    }

    #[test]
    fn a_send_buffer_that_does_not_follow_cwnd_is_its_programs() {
        let cause_of = |sndbuf, cwnd, sender_limits, sndbuf_set| {
            let sender =
                SenderEvidence { sndbuf: Some(sndbuf), cwnd: Some(cwnd), ..SenderEvidence::default() };
            let buffers = BufferEvidence { sender_limits, sndbuf_set, ..BufferEvidence::default() };
            let evidence = Evidence { buffers, sender: Some(sender), ..Evidence::default() };
            cause(LimitedBy::Sndbuf, &evidence, None, "cubic", &STANDARD)
        };
        let sndbuf = |sndbuf, cwnd, sender_limits| cause_of(sndbuf, cwnd, sender_limits, None);
        assert_eq!(sndbuf(65_536, 140_000, Some(LIMITS)), Some(Cause::Program));
        assert_eq!(sndbuf(4_194_304, 9_000_000, Some(LIMITS)), Some(Cause::Maximum));
        assert_eq!(sndbuf(300_000, 140_000, Some(LIMITS)), None, "it follows cwnd");
        assert_eq!(sndbuf(65_536, 140_000, None), None, "nobody read what the host allows");
        // `SO_BUF_LOCK`.
        assert_eq!(cause_of(300_000, 140_000, None, Some(true)), Some(Cause::Program));
        assert_eq!(cause_of(65_536, 140_000, Some(LIMITS), Some(false)), None, "the kernel sizes it");
        assert_eq!(cause_of(4_194_304, 9_000_000, Some(LIMITS), Some(false)), Some(Cause::Maximum));
    }
}
