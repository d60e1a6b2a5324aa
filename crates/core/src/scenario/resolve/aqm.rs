//! What was said about a queue's discipline, resolved: Linux's defaults, and which keys need it.

use super::super::aqm::{CODEL_INTERVAL, CODEL_TARGET};
use super::super::draft::{AqmDraft, AqmKind, WayDraft};
use super::Violations;
use crate::cell::{AqmSpec, CodelSpec, Dualpi2Spec, FqCodelSpec, PieSpec, RedSpec};
use crate::units::{Bytes, QueueLimit, Ratio};
use std::time::Duration;

/// Defaults of `fq_codel_init()`.
const FLOWS: u32 = 1024;
const MEMORY_LIMIT: Bytes = Bytes::new(32 << 20);
const DROP_BATCH: u32 = 64;
/// Defaults of `pie_params_init()`.
const PIE_TARGET: Duration = Duration::from_millis(15);
const PIE_TUPDATE: Duration = Duration::from_millis(15);
const PIE_WEIGHTS: [f64; 2] = [2.0, 20.0];
/// Defaults of tc-red(8) and `red_parse_opt()`.
const RED_AVPKT: Bytes = Bytes::new(1_000);
const RED_PROBABILITY: f64 = 2.0;
/// Defaults of `dualpi2_reset_default()`.
const DUALPI2_TARGET: Duration = Duration::from_millis(15);
const DUALPI2_TUPDATE: Duration = Duration::from_millis(16);
const DUALPI2_WEIGHTS: [f64; 2] = [0.16, 3.2];
const DUALPI2_COUPLING: f64 = 2.0;
const DUALPI2_STEP: Duration = Duration::from_millis(1);

/// The queue of a discipline where none is given (`codel_init()`, `fq_codel_init()`, `pie_params_init()`, `dualpi2_reset_default()`); `None`
/// where the discipline has no default of its own.
pub(super) fn default_queue(way: &WayDraft) -> Option<QueueLimit> {
    match way.aqm.as_ref()?.kind {
        AqmKind::Codel | AqmKind::Pie => Some(QueueLimit::Packets(1_000)),
        AqmKind::FqCodel => Some(QueueLimit::Packets(10_240)),
        AqmKind::Dualpi2 => Some(QueueLimit::Packets(10_000)),
        AqmKind::Droptail | AqmKind::Drophead | AqmKind::Red => None,
    }
}

/// The discipline of a direction whose keys begin with `prefix`, and whose queue holds `queue`; `None` = drop-tail.
pub(super) fn resolve(
    way: &WayDraft,
    prefix: &str,
    queue: Option<QueueLimit>,
    frame: Bytes,
    violations: &mut Violations,
) -> Option<AqmSpec> {
    let Some(draft) = &way.aqm else {
        if way.ecn.is_some() {
            let help = format!("write {prefix}aqm too, e.g. {prefix}aqm = \"fq_codel\", or leave this out");
            let message = format!("it has no effect without {prefix}aqm");
            violations.path(&format!("{prefix}ecn"), &message, &help);
        }
        return None;
    };
    let Some(queue) = queue else {
        let help = format!("give {prefix}rate too, e.g. \"100mbit\", or leave this out");
        let message = format!("it has no effect without {prefix}rate");
        violations.path(&format!("{prefix}aqm"), &message, &help);
        return None;
    };
    let ecn = |default: bool| way.ecn.unwrap_or(default);
    let codel = |marks: bool| CodelSpec {
        target: draft.target.unwrap_or(CODEL_TARGET),
        interval: draft.interval.unwrap_or(CODEL_INTERVAL),
        ecn: ecn(marks),
        frame,
    };
    Some(match draft.kind {
        AqmKind::Droptail => return None,
        AqmKind::Drophead => AqmSpec::Drophead,
        AqmKind::Codel => AqmSpec::Codel(codel(false)),
        AqmKind::FqCodel => AqmSpec::FqCodel(FqCodelSpec {
            codel: codel(true),
            flows: draft.flows.unwrap_or(FLOWS),
            quantum: draft.quantum.unwrap_or(frame),
            memory_limit: draft.memory_limit.unwrap_or(MEMORY_LIMIT),
            drop_batch: draft.drop_batch.unwrap_or(DROP_BATCH),
        }),
        AqmKind::Pie => AqmSpec::Pie(PieSpec {
            target: draft.target.unwrap_or(PIE_TARGET),
            tupdate: draft.tupdate.unwrap_or(PIE_TUPDATE),
            alpha: draft.alpha.unwrap_or(PIE_WEIGHTS[0]),
            beta: draft.beta.unwrap_or(PIE_WEIGHTS[1]),
            ecn: ecn(false),
            frame,
        }),
        AqmKind::Red => AqmSpec::Red(red(draft, prefix, ecn(false), queue_bytes(queue, frame), violations)),
        AqmKind::Dualpi2 => {
            if way.ecn == Some(false) {
                let help = format!("leave {prefix}ecn out, or write {prefix}aqm = \"pie\"");
                violations.path(&format!("{prefix}ecn"), "dualpi2 always marks", &help);
            }
            AqmSpec::Dualpi2(Dualpi2Spec {
                target: draft.target.unwrap_or(DUALPI2_TARGET),
                tupdate: draft.tupdate.unwrap_or(DUALPI2_TUPDATE),
                alpha: draft.alpha.unwrap_or(DUALPI2_WEIGHTS[0]),
                beta: draft.beta.unwrap_or(DUALPI2_WEIGHTS[1]),
                coupling: draft.coupling.unwrap_or(DUALPI2_COUPLING),
                step: draft.step.unwrap_or(DUALPI2_STEP),
                frame,
            })
        }
    })
}

/// Thresholds that are not given follow from the limit (tc-red(8)): a quarter and a twelfth of it, and a burst from both.
fn red(draft: &AqmDraft, prefix: &str, ecn: bool, limit: Bytes, violations: &mut Violations) -> RedSpec {
    let max = draft.max.unwrap_or(Bytes::new(limit.get() / 4));
    let min = draft.min.unwrap_or(Bytes::new(max.get() / 3));
    let avpkt = draft.avpkt.unwrap_or(RED_AVPKT);
    if max > limit || min >= max {
        let message = format!("RED needs min below max below the queue: {min}, {max}, {limit}");
        let help = "write a longer queue, or e.g. min = \"30kB\", max = \"90kB\" with queue = \"400kB\"";
        violations.path(&format!("{prefix}aqm"), &message, help);
    }
    let burst = (2 * min.get() + max.get()) / (3 * avpkt.get());
    // `tc` refuses a burst that the average can't express: at least min / avpkt packets.
    let least = min.get() / avpkt.get() + 1;
    RedSpec {
        min,
        max,
        probability: draft.probability.unwrap_or(Ratio::from_percent(RED_PROBABILITY)),
        avpkt,
        burst: draft.burst.unwrap_or_else(|| u32::try_from(burst.max(least)).unwrap_or(u32::MAX)),
        adaptive: draft.adaptive.unwrap_or(false),
        ecn,
        harddrop: draft.harddrop.unwrap_or(false),
    }
}

/// What a queue holds in full frames; BDPs are bytes by now.
fn queue_bytes(queue: QueueLimit, frame: Bytes) -> Bytes {
    match queue {
        QueueLimit::Bytes(bytes) => bytes,
        QueueLimit::Packets(packets) => Bytes::new(packets.saturating_mul(frame.get())),
        QueueLimit::Bdp(_) => frame,
    }
}
