//! Whatever was found of a flow, the figures of its sentence multiply out.

use pipefill_analysis::findings::finding::Latency;
use pipefill_analysis::judge::{Diagnosis, Figures, HeldTime};
use pipefill_core::cell::CellSpec;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::Waits;
use pipefill_report::words::verdict_sentence;
use pipefill_testkit::arithmetic::wrong_figures;
use pipefill_testkit::judged::{PATH, diagnosis, judged, spec};
use proptest::prelude::*;
use std::sync::LazyLock;

static SPEC: LazyLock<CellSpec> = LazyLock::new(|| spec(&format!("{PATH}[[flow]]\n")));

/// From `from` to `to`, each order of magnitude as often as another.
fn magnitudes(from: u64, to: u64) -> impl Strategy<Value = u64> {
    ((from as f64).ln()..(to as f64).ln()).prop_map(|exponent| exponent.exp() as u64)
}

prop_compose! {
    fn figures()(
        window in magnitudes(1, 1 << 30),
        flight in magnitudes(1, 1 << 30),
        rtt_us in magnitudes(1, 10_000_000),
        of_product in prop_oneof![0.9..1.1_f64, 0.001..2.0],
        still in prop_oneof![Just(0.0), 0.0..1.0_f64],
        changing in 0.0..0.6_f64,
        utilisation in 0.0..1.0_f64,
    ) -> Figures {
        let product_bps = flight as f64 * 8e6 / rtt_us as f64;
        Figures {
            rwnd_bytes: Some(window),
            flight_bytes: Some(flight),
            flight_mean_bytes: Some(flight),
            rtt_mean_us: Some(rtt_us),
            stalled_share: Some(still),
            changing_share: Some(changing),
            utilisation: Some(utilisation),
            acked_bps: Some((product_bps * of_product) as u64),
            ..diagnosis(&SPEC, 0, LimitedBy::Cwnd, None).figures
        }
    }
}

fn holder() -> impl Strategy<Value = (LimitedBy, Option<Cause>)> {
    use LimitedBy::{App, Cwnd, Path, Receiver, Rwnd, Sndbuf};
    proptest::sample::select(vec![
        (Rwnd, None),
        (Cwnd, Some(Cause::Growth)),
        (Cwnd, Some(Cause::RandomLoss)),
        (Sndbuf, None),
        (Path, None),
        (Receiver, None),
        (App, Some(Cause::Window)),
        (App, Some(Cause::Request)),
        (App, Some(Cause::Response)),
        (App, Some(Cause::Turns)),
        (App, Some(Cause::DelayedAck)),
        (App, Some(Cause::Nagle)),
        (App, Some(Cause::Rate)),
        (Path, Some(Cause::Silence)),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_figures_of_a_sentence_multiply_out(
        figures in figures(),
        (limited_by, cause) in holder(),
        others in proptest::collection::vec((holder(), magnitudes(1, 1_000_000_000)), 0..4),
        held_us in magnitudes(1, 1_000_000_000),
        count in 1..5_000_u32,
        is_observed: bool,
    ) {
        let mut held: Vec<((LimitedBy, Option<Cause>), u64)> =
            others.into_iter().filter(|(holder, _)| *holder != (limited_by, cause)).collect();
        held.push(((limited_by, cause), held_us));
        let span_us: u64 = held.iter().map(|(_, us)| us).sum();
        let share = |us: u64| us as f64 / span_us as f64;
        let of_holder: u64 = held.iter().filter(|((holder, _), _)| *holder == limited_by).map(|(_, us)| us).sum();
        let waits = Waits { turns: count, delayed_acks: count, nagles: count, ..Waits::default() };
        let cwnd_cause = match cause {
            Some(Cause::Growth) => Some(CwndCause::Growth),
            Some(Cause::RandomLoss) => Some(CwndCause::RandomLoss),
            _ => None,
        };
        let diagnosis = Diagnosis {
            cause,
            limited_fraction: [(limited_by, share(of_holder))].into(),
            time: held
                .iter()
                .map(|&((limited_by, cause), us)| HeldTime { limited_by, cause, us, share: share(us) })
                .collect(),
            figures: Figures { waits: Some(waits), ..figures },
            ..diagnosis(&SPEC, 0, limited_by, cwnd_cause)
        };
        // What the sender acknowledged in the holder's time is a part of all.
        let goodput_bps = (figures.acked_bps.unwrap_or(0) as f64 * share(of_holder)) as u64;
        let judged = judged(&SPEC, diagnosis, Latency::default(), goodput_bps);
        let plan = judged.plan.clone().filter(|_| !is_observed);
        let said = verdict_sentence(&pipefill_analysis::findings::verdict::JudgedFlow { plan, ..judged });
        prop_assert!(wrong_figures(&said).is_empty(), "{:?} in {said}", wrong_figures(&said));
    }
}
