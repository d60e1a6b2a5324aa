//! Why a buffer, a window or a pacing rate is no larger, as a scenario asked for it.

use crate::ground::buffers::{send_maximum, windows, windows_are_scaled};
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{CellSpec, FlowSpec};
use pipefill_core::evidence::{Evidence, SenderEvidence};
use pipefill_core::limit::{Cause, LimitedBy};

/// What refines `limited_by` for `flow` of `plan`; `None` where the evidence does not support a cause.
pub(super) fn cause(
    limited_by: LimitedBy,
    evidence: &Evidence,
    plan: &CellSpec,
    flow: &FlowSpec,
    thresholds: &Thresholds,
) -> Option<Cause> {
    let sender = evidence.sender.as_ref();
    match limited_by {
        LimitedBy::Rwnd => of_the_receive_window(sender?, plan, flow, thresholds),
        LimitedBy::Sndbuf => of_the_send_buffer(sender?, plan, flow, thresholds),
        LimitedBy::Pacing if flow.max_pacing_rate.is_some() => Some(Cause::Program),
        LimitedBy::Pacing => {
            let host = &plan.data_sender(flow.direction).congestion_control;
            (flow.congestion_control.as_ref().unwrap_or(host) == "bbr").then_some(Cause::Bbr)
        }
        _ => None,
    }
}

/// `tcp_select_window()`, `tcp_rcv_space_adjust()`: autotuning ends at the maximum of `tcp_rmem`, and never begins for a buffer that is set.
fn of_the_receive_window(
    sender: &SenderEvidence,
    plan: &CellSpec,
    flow: &FlowSpec,
    thresholds: &Thresholds,
) -> Option<Cause> {
    if !windows_are_scaled(Some(plan)) {
        return Some(Cause::Unscaled);
    }
    if let Some(asked) = flow.rcvbuf {
        let receiver = plan.data_receiver(flow.direction);
        let most = receiver.sysctl.get("net.core.rmem_max").and_then(|value| value.trim().parse().ok());
        return Some(if most.is_some_and(|most: u64| most < asked.get()) {
            Cause::RmemMax
        } else {
            Cause::Program
        });
    }
    let [largest, _] = windows(Some(plan), flow);
    let share = sender.rwnd? as f64 / largest.get().max(1) as f64;
    let is_largest = share >= thresholds.buffer_is_largest.value();
    Some(if is_largest { Cause::Maximum } else { Cause::Autotuning })
}

/// `tcp_sndbuf_expand()`: the buffer follows cwnd up to the maximum of `tcp_wmem`.
fn of_the_send_buffer(
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
