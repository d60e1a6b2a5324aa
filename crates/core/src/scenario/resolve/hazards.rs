//! Marks, policers, inner links and changes of the path: which keys need one another.

use super::super::draft::{ChangeDraft, PathDraft, Split, WayDraft};
use super::Violations;
use crate::cell::{ChangeSpec, Family, InnerMtuSpec, PolicerSpec};
use crate::units::Bytes;
use std::time::Duration;

/// Depth of a policer's bucket where none is given.
const POLICER_BURST: Bytes = Bytes::new(64 << 10);
/// IPv6 needs links of 1280 bytes (RFC 8200, 5).
pub(super) const IPV6_LEAST: u16 = 1280;

/// The policer of a direction whose keys begin with `prefix`; it passes at least a `frame`.
pub(super) fn policer(
    way: &WayDraft,
    prefix: &str,
    frame: Bytes,
    violations: &mut Violations,
) -> Option<PolicerSpec> {
    let Some(rate) = way.policer_rate else {
        if way.policer_burst.is_some() {
            let help = format!("write {prefix}policer = {{ rate = \"20mbit\", burst = \"64KiB\" }}");
            violations.path(&format!("{prefix}policer.burst"), "it has no effect without a rate", &help);
        }
        return None;
    };
    let burst = way.policer_burst.unwrap_or(POLICER_BURST);
    if burst < frame {
        let help = format!("write at least \"{}B\", e.g. \"64KiB\"", frame.get());
        violations.path(&format!("{prefix}policer.burst"), "it must hold at least one frame", &help);
    }
    Some(PolicerSpec { rate, burst })
}

/// The link between the hosts, whose own links carry `mtu`.
pub(super) fn inner_mtu(draft: &PathDraft, mtu: u16, violations: &mut Violations) -> Option<InnerMtuSpec> {
    let Some(inner) = draft.inner_mtu.and_then(|inner| u16::try_from(inner).ok()) else {
        if draft.pmtud.is_some() {
            let help = "give inner_mtu too, e.g. 1400, or leave this out";
            violations.path("pmtud", "it has no effect without inner_mtu", help);
        }
        return None;
    };
    if inner >= mtu {
        let help = format!("write at most {}, or leave it out", mtu - 1);
        violations.path("inner_mtu", &format!("it must be smaller than the hosts' MTU of {mtu}"), &help);
    }
    if draft.family == Some(Family::Ipv6) && inner < IPV6_LEAST {
        let help = "write at least 1280, or family = \"ipv4\"";
        violations.path("inner_mtu", "IPv6 needs at least 1280", help);
    }
    Some(InnerMtuSpec { mtu: inner, pmtud: draft.pmtud.unwrap_or_default() })
}

/// The changes of each direction.
pub(super) fn changes(draft: &PathDraft, violations: &mut Violations) -> [Vec<ChangeSpec>; 2] {
    let mut changes = [Vec::new(), Vec::new()];
    for (number, change) in draft.changes.iter().enumerate() {
        check(draft, change, number, violations);
        let at = change.at.unwrap_or_default();
        let delays = delays(draft, change);
        for (way, changes) in changes.iter_mut().enumerate() {
            let spec = ChangeSpec {
                at,
                lasts: change.lasts,
                rate: change.rates[way],
                loss: change.losses[way].clone(),
                delay: delays[way],
            };
            if spec.rate.is_some() || spec.loss.is_some() || spec.delay.is_some() {
                changes.push(spec);
            }
        }
    }
    changes
}

/// As the path's own `rtt` is divided.
fn delays(draft: &PathDraft, change: &ChangeDraft) -> [Option<Duration>; 2] {
    match (change.rtt, draft.split) {
        (None, _) => change.delays,
        (Some(rtt), Some(Split::Forward)) => [Some(rtt), Some(Duration::ZERO)],
        (Some(rtt), _) => [Some(rtt - rtt / 2), Some(rtt / 2)],
    }
}

fn check(draft: &PathDraft, change: &ChangeDraft, number: usize, violations: &mut Violations) {
    let mut report = |key: &str, message: &str, help: &str| {
        violations.path(&format!("change.{number}.{key}"), message, help);
    };
    let is_empty = change.rtt.is_none()
        && change.delays == [None; 2]
        && change.rates == [None; 2]
        && change.losses.iter().all(Option::is_none);
    // Points at what was written of it.
    let written = if change.at.is_some() { "at" } else { "for" };
    if is_empty {
        let help = "give rate, loss or rtt in it, e.g. loss = \"100%\"";
        report(written, "nothing changes", help);
    } else if change.at.is_none() {
        let keys = ["rate", "reverse_rate", "loss", "reverse_loss", "rtt", "forward_delay", "reverse_delay"];
        let given = [
            change.rates[0].is_some(),
            change.rates[1].is_some(),
            change.losses[0].is_some(),
            change.losses[1].is_some(),
            change.rtt.is_some(),
            change.delays[0].is_some(),
        ];
        let first = given.iter().position(|given| *given).unwrap_or(keys.len() - 1);
        report(keys[first], "the change has no time", "give at too, e.g. at = \"5s\"");
    }
    if change.lasts.is_some_and(|lasts| lasts.is_zero()) {
        report("for", "it must be above zero", "write e.g. \"2s\", or leave it out for the rest of the run");
    }
    for (way, (key, name)) in
        [("rate", "path.rate"), ("reverse_rate", "path.reverse_rate")].into_iter().enumerate()
    {
        let has_rate = [draft.forward.rate, draft.reverse.rate][way].is_some();
        if change.rates[way].is_some() && !has_rate {
            let help = format!("give {name} too: what holds before the change");
            report(key, &format!("it needs {name}"), &help);
        }
    }
    if change.rtt.is_some() && change.delays != [None; 2] {
        let help = "give rtt, or the delay of each direction";
        report("rtt", "forward_delay or reverse_delay is given too", help);
    }
}
