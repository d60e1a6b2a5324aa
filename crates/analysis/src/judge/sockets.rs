//! What the sending socket alone tells of an epoch: a reader that is slow, a pacing limit, an application that offers less.
//!
//! For connections that nobody planned: no schedule of an application is known, no memory of the other end, no limit of a socket.

use super::epochs::Epoch;
use crate::ground::models::window::has_shrunk;
use pipefill_core::limit::LimitedBy;

/// A pacing rate that a limit has set (`sk_max_pacing_rate`) is what gets through, but for what rounding takes.
const PACED: f64 = 0.92;
/// And it is the same for so many round trips: a congestion control's own follows what it measures, BBR's in cycles of eight.
const STEADY_ROUND_TRIPS: u64 = 12;
/// A pacing rate of which so little gets through is not what holds data back.
const UNPACED: f64 = 0.70;
/// A writer that waits for room is woken when a third of the buffer is free: a buffer that limits is never emptier for long.
const BUFFER_KEPT: f64 = 0.30;
/// Two thirds, at which the writer is woken (`sk_stream_min_wspace()`), is the least that such a buffer shows at its fullest.
const BUFFER_FULL: f64 = 0.65;

/// The advertised window is used up, and was larger before: the receiving application does not keep up.
pub(super) fn is_unread(epoch: &Epoch) -> bool {
    let is_smaller = epoch.rwnd.zip(epoch.rwnd_widest).is_some_and(|(now, widest)| has_shrunk(now, widest));
    epoch.has_used_rwnd() && is_smaller && epoch.repair_share < 0.5
}

/// A socket's own limit (`SO_MAX_PACING_RATE`), which no socket tells: the rate that gets through is the pacing rate, and that does not change.
pub(super) fn is_paced(epoch: &Epoch) -> bool {
    let round_trip = epoch.srtt_us.or(epoch.min_rtt_us).unwrap_or(0).max(1);
    let is_steady = epoch.pacing_steady_us >= STEADY_ROUND_TRIPS * round_trip;
    is_steady && epoch.pacing_rate_bps.is_some_and(|rate| epoch.acked_bps() >= PACED * rate as f64)
}

/// The send buffer gets full, and is never nearly empty: its writer waits for it, and not it for its writer.
pub(super) fn keeps_its_buffer_full(epoch: &Epoch) -> bool {
    epoch.sndbuf_used.is_some_and(|most| most >= BUFFER_FULL)
        && epoch.sndbuf_least.is_none_or(|least| least >= BUFFER_KEPT)
}

/// Neither a window nor the buffer is used up: whoever wants more fills at least that one.
pub(super) fn offers_less(epoch: &Epoch, sndbuf: f64) -> bool {
    !epoch.has_used_cwnd() && !epoch.has_used_rwnd() && epoch.sndbuf_used.is_none_or(|used| used < sndbuf)
}

/// Data waits at most looks, and no window holds it back. Where much less than the pacing rate gets through, it is an application whose
/// writes come in lumps and leave paced; else nothing that a socket tells explains the rate.
pub(super) fn not_held_back(epoch: &Epoch) -> LimitedBy {
    let is_unpaced = epoch.pacing_rate_bps.is_some_and(|rate| epoch.acked_bps() < UNPACED * rate as f64);
    if is_unpaced || epoch.app_limited_share > 0.0 { LimitedBy::App } else { LimitedBy::Unknown }
}
