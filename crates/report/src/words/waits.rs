//! The sentence on a direction that mostly waits, with the times that add up to its own.

use super::{ALSO, the_rest};
use crate::quantity::{QuantityKind, bytes, duration, percent};
use pipefill_analysis::judge::Diagnosis;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::Waits;

/// A wait that packets show, where that holds most of the time.
pub(super) struct Waited {
    /// Its part of the time: that of this cause, which is less than that of its holder where this has others.
    pub(super) share: f64,
    /// Why, with its time.
    pub(super) because: String,
}

/// Why the holder of most of the time holds it; `None` where that is no wait.
pub(super) fn waited(diagnosis: &Diagnosis) -> Option<Waited> {
    // A socket shows these by its timer.
    let is_by_timer = matches!(diagnosis.cause, Some(Cause::Silence | Cause::Mtu));
    let waits = diagnosis.figures.waits.or(is_by_timer.then(Waits::default))?;
    let span_us: u64 = diagnosis.time.iter().map(|held| held.us).sum();
    let its = |held: &&pipefill_analysis::judge::HeldTime| {
        held.limited_by == diagnosis.limited_by && held.cause == diagnosis.cause
    };
    let held_us = diagnosis.time.iter().find(its).map(|held| held.us)?;
    let part = format!("{} of {}", duration(held_us), duration(span_us));
    let each = |count: u32| QuantityKind::Time.alone(held_us as f64 * 1e3 / f64::from(count.max(1)));
    let because = match (diagnosis.limited_by, diagnosis.cause?) {
        (LimitedBy::App, Cause::Request) => {
            format!("for {part} the other side had asked for nothing, or was still sending its request")
        }
        (LimitedBy::App, Cause::Response) => {
            format!("for {part} it had been asked and had not begun to answer")
        }
        (LimitedBy::App, Cause::Turns) => format!(
            "{} turns of {} each take {part}{}",
            waits.turns,
            each(waits.turns),
            diagnosis
                .figures
                .base_rtt_us
                .map_or_else(String::new, |us| format!(", with a round trip of {}", duration(us)))
        ),
        (LimitedBy::App, Cause::DelayedAck) => format!(
            "{} at most two segments were out and waited {} for a delayed ACK: {part}",
            times(waits.delayed_acks),
            each(waits.delayed_acks)
        ),
        (LimitedBy::App, Cause::Nagle) => format!(
            "{} less than a segment waited {} for a delayed ACK: {part}",
            times(waits.nagles),
            each(waits.nagles)
        ),
        (LimitedBy::App, Cause::Rate) => {
            format!("for {part} everything was acknowledged and it had nothing to send")
        }
        (LimitedBy::Path, Cause::Silence) => {
            format!(
                "for {part} data was outstanding and nothing came back through several retransmission timers; is the other end up, and is there \
                 a route?"
            )
        }
        (LimitedBy::Path, Cause::Mtu) => {
            let segment =
                diagnosis.figures.mss_bytes.map_or_else(String::new, |size| format!(" ({})", bytes(size)));
            format!(
                "for {part} full-size segments{segment} were sent again and never acknowledged, although smaller ones were: a link on the \
                 way carries smaller packets only, and drops what is larger without an ICMP message"
            )
        }
        _ => return None,
    };
    Some(Waited { share: held_us as f64 / span_us.max(1) as f64, because })
}

/// The other causes that took a tenth of the time and more, also those of the same holder.
pub(super) fn rest_by_cause(diagnosis: &Diagnosis) -> String {
    let named = (diagnosis.limited_by, diagnosis.cause);
    let others = diagnosis.time.iter();
    let others = others.filter(|held| (held.limited_by, held.cause) != named && held.share >= ALSO);
    the_rest(others.map(|held| {
        let cause = held.cause.map_or_else(String::new, |cause| format!(" {}", cause.as_str()));
        format!("{}{cause} {}", held.limited_by.as_str(), percent(held.share))
    }))
}

/// What holds the active time, where that is something else.
pub(super) fn while_active(
    diagnosis: &Diagnosis,
    name: impl Fn(LimitedBy, Option<Cause>) -> &'static str,
) -> String {
    let active = (diagnosis.active_limited_by, diagnosis.active_cause);
    match active {
        (Some(limited_by), cause)
            if (limited_by, cause) != (diagnosis.limited_by, diagnosis.cause)
                && limited_by != LimitedBy::Unknown =>
        {
            format!(" While it is active, {} limits it.", name(limited_by, cause))
        }
        _ => String::new(),
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
