//! How large a plan may be, so that no scenario and no record makes a program take gigabytes or end in the middle of an allocation.

use super::{Cell, canonical};
use serde::{Deserialize, Deserializer, de};

/// Most cells of a plan: at 30 runs an hour they take a fortnight.
pub const CELLS_MAX: usize = 10_000;
/// Most runs of a plan: at 1 s each, a simulation of all takes more than a day.
pub const RUNS_MAX: u64 = 100_000;
/// Most bytes of all runs together, each with the whole text of its cell. Ten thousand ordinary cells, ten runs each, are below it.
pub const TEXT_MAX: u64 = 128 << 20;

/// What a plan takes, summed cell by cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanSize {
    cells: usize,
    runs: u64,
    /// Bytes of the cells' text.
    text: u64,
    /// The same, each cell as often as it is run.
    text_of_runs: u64,
}

/// Why a plan is too large.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// More than [`CELLS_MAX`].
    #[error("the matrix has {0} cells, more than {CELLS_MAX}")]
    Cells(usize),
    /// More than [`RUNS_MAX`].
    #[error("{cells} cells make {runs} runs, more than {RUNS_MAX}")]
    Runs {
        /// All cells.
        cells: usize,
        /// Their runs.
        runs: u64,
    },
    /// More than [`TEXT_MAX`].
    #[error(
        "{cells} cells in {runs} runs take {} MB of text, more than {} MB",
        .text / 1_000_000, TEXT_MAX / 1_000_000
    )]
    Text {
        /// The cells that were counted.
        cells: usize,
        /// Their runs.
        runs: u64,
        /// Their text in bytes.
        text: u64,
    },
}

impl PlanSize {
    /// Adds a cell that is run `repeat` times and takes `text` bytes.
    ///
    /// # Errors
    /// [`TooLarge`] where the cells alone pass a limit with it.
    pub fn add(&mut self, repeat: u32, text: usize) -> Result<(), TooLarge> {
        let text = u64::try_from(text).unwrap_or(u64::MAX);
        self.cells = self.cells.saturating_add(1);
        self.runs = self.runs.saturating_add(repeat.into());
        self.text = self.text.saturating_add(text);
        self.text_of_runs = self.text_of_runs.saturating_add(text.saturating_mul(repeat.into()));
        if self.cells > CELLS_MAX {
            return Err(TooLarge::Cells(self.cells));
        }
        self.check_text(self.text)
    }

    /// Judges the runs of all cells that were added.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn check_runs(&self) -> Result<(), TooLarge> {
        if self.runs > RUNS_MAX {
            return Err(TooLarge::Runs { cells: self.cells, runs: self.runs });
        }
        self.check_text(self.text_of_runs)
    }

    fn check_text(&self, text: u64) -> Result<(), TooLarge> {
        let Self { cells, runs, .. } = *self;
        if text > TEXT_MAX { Err(TooLarge::Text { cells, runs, text }) } else { Ok(()) }
    }
}

/// The cells of a stored plan, within the limits that a scenario has.
pub(super) fn cells<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cell>, D::Error> {
    let cells = Vec::<Cell>::deserialize(deserializer)?;
    let mut size = PlanSize::default();
    for cell in &cells {
        size.add(cell.spec.run.repeat, canonical(&cell.spec).len()).map_err(de::Error::custom)?;
    }
    size.check_runs().map_err(de::Error::custom)?;
    Ok(cells)
}
