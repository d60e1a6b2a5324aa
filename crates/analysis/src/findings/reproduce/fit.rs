//! Fits a scenario to its capture: a figure that packets do not show exactly is changed until the simulated goodput equals the captured one.

use super::Draft;
use super::knob::{Knob, Setting};

/// Goodput this close is the same.
const CLOSE: f64 = 0.05;
/// Runs of the scenario at most, and packets that they carry together: some twenty seconds of the simulator.
const RUNS_MAX: u32 = 14;
const PACKETS_MAX: u64 = 20_000_000;
/// Bytes of a full segment, for an estimate of the work.
const SEGMENT: u64 = 1_448;

/// What a run of the scenario came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// The first flow's goodput, bits per second.
    pub goodput_bps: f64,
    /// Bytes of all flows of all repetitions.
    pub bytes: u64,
}

/// The goodput of a fitted scenario beside the captured one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitResult {
    /// Of the scenario's largest flow on the simulator, bits per second.
    pub goodput_bps: f64,
    /// The same as it was captured.
    pub captured_bps: f64,
}

/// The scenario that comes closest.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What was changed in it to come closest.
    pub setting: Option<Setting>,
    /// What came of it; `None` where it was not run, because that would take too long, or there is no goodput to compare.
    pub result: Option<FitResult>,
    /// Runs of a scenario that it took, each with all its repetitions.
    pub runs: u32,
}

/// Fits `draft`, which `simulate` runs. The same draft has the same result, whatever the machine's speed: its bounds are runs and packets.
///
/// # Errors
/// Those of `simulate`.
pub fn fit<E>(draft: &Draft<'_>, simulate: &mut dyn FnMut(&str) -> Result<Simulated, E>) -> Result<Fit, E> {
    let target = draft.main.goodput_bps.unwrap_or(0) as f64;
    let bytes: u64 = draft.flows.iter().map(|(flow, _)| flow.bytes).sum();
    if target <= 0.0 || 3 * bytes / SEGMENT > PACKETS_MAX / 4 {
        return Ok(Fit { setting: None, result: None, runs: 0 });
    }
    let mut search = Search { draft, simulate, target, runs: 0, packets: 0, best: None };
    search.run(None)?;
    for knob in draft.knobs() {
        if !search.is_over() {
            search.turn(knob)?;
        }
    }
    Ok(search.finish())
}

struct Search<'a, E> {
    draft: &'a Draft<'a>,
    simulate: &'a mut dyn FnMut(&str) -> Result<Simulated, E>,
    target: f64,
    runs: u32,
    packets: u64,
    /// What came closest, and its goodput.
    best: Option<(Option<Setting>, f64)>,
}

impl<E> Search<'_, E> {
    /// Runs the scenario with `setting`; its goodput over the captured one.
    fn run(&mut self, setting: Option<Setting>) -> Result<f64, E> {
        let found = (self.simulate)(&self.draft.text(setting, None))?;
        self.runs += 1;
        self.packets += found.bytes / SEGMENT;
        if self.best.is_none_or(|(_, best)| off(found.goodput_bps, self.target) < off(best, self.target)) {
            self.best = Some((setting, found.goodput_bps));
        }
        Ok(found.goodput_bps / self.target)
    }

    /// Whether the fit is close, or the budget has no room for another run as long as the earlier ones.
    fn is_over(&self) -> bool {
        let each = self.packets / u64::from(self.runs.max(1));
        let is_close = self.best.is_some_and(|(_, bps)| off(bps, self.target) <= CLOSE.ln_1p());
        is_close || self.runs >= RUNS_MAX || self.packets + each > PACKETS_MAX
    }

    /// Values of `knob` until one is too fast and one too slow, then those between. A run without it has its goodput already.
    fn turn(&mut self, knob: Knob) -> Result<(), E> {
        let (least, most) = knob.range(self.draft.main);
        let rounded = |value: f64| three_digits(value).clamp(least, most);
        let without = self.best.map_or(1.0, |(_, bps)| bps / self.target);
        let (mut at, mut ratio) = match self.draft.unset(knob) {
            Some(value) => (value, without),
            // More of what is not there can only be of use one way.
            None if knob.slows() && without < 1.0 => return Ok(()),
            None => {
                let at = rounded(self.draft.guess(knob));
                (at, self.run(Some(Setting { knob, value: at }))?)
            }
        };
        let (mut few, mut many) = (None, None);
        while !self.is_over() {
            let is_too_little = (ratio > 1.0) == knob.slows();
            *(if is_too_little { &mut few } else { &mut many }) = Some(at);
            let next = rounded(match (few, many) {
                (Some(few), Some(many)) => f64::sqrt(few * many),
                _ if is_too_little => at * knob.step(),
                _ => at / knob.step(),
            });
            if next == at {
                break;
            }
            at = next;
            ratio = self.run(Some(Setting { knob, value: at }))?;
        }
        Ok(())
    }

    fn finish(self) -> Fit {
        let (setting, bps) = self.best.unwrap_or((None, 0.0));
        let result = FitResult { goodput_bps: bps, captured_bps: self.target };
        Fit { setting, result: Some(result), runs: self.runs }
    }
}

/// How far `bps` is from `target`, whichever is larger: 0 for the same.
fn off(bps: f64, target: f64) -> f64 {
    (bps.max(1.0) / target).ln().abs()
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
