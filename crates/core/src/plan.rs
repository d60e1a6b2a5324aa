//! Every run of the matrix, resolved, with a stable id and a seed. Printable without any privilege.

mod selection;
mod shard;
mod size;

pub use selection::Selection;
pub use shard::{Shard, TooFewCells};
pub use size::{CELLS_MAX, PlanSize, RUNS_MAX, TEXT_MAX, TooLarge};

use crate::cell::{Bound, CellSpec, Comparison, ExpectMetric};
use crate::file_name::FileName;
use crate::prng::fnv1a;
use crate::units::{Ratio, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A whole experiment: the product of the axes (one product per variant, in file order).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's `name`.
    pub experiment: FileName,
    /// The scenario's `title`, where it has one.
    pub title: Option<String>,
    /// In file order: the last axis varies fastest.
    // A stored plan has the limits of a scenario.
    #[serde(deserialize_with = "size::cells")]
    #[schemars(with = "Vec<Cell>")]
    pub cells: Vec<Cell>,
    /// Published figures that the scenario names, each already matched to its cell.
    pub published: Vec<Published>,
    /// Where the published figures come from; one line.
    pub published_source: Option<String>,
    /// What the source concluded, with the claims that our figures are held against.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
}

/// One point of the matrix.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cell {
    /// Position in the whole plan, from 0: a part of a plan keeps it.
    pub index: usize,
    /// 12 hex digits, a hash of the resolved cell without `repeat`: equal cells have equal ids in every plan.
    pub id: String,
    /// The coordinates: scenario path → value as written (e.g. `path.rtt` → `10ms`; `variant` → its name).
    pub axes: Vec<(String, String)>,
    /// Whether the backend draws nothing in it, so that every run of it is the same: it is run once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// The resolved values.
    pub spec: CellSpec,
}

/// One repetition of one cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// The scenario's `name`.
    pub experiment: FileName,
    /// The cell.
    pub cell: Cell,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// `{cell id}-{repeat}`.
    pub id: String,
    /// Derived from the experiment's seed, the cell's id and the repetition.
    pub seed: Seed,
    /// Name of the run's directory: sorts in plan order, tells the axes, is safe on every file system.
    pub directory: FileName,
}

/// One published figure set: what somebody else measured in the same cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Published {
    /// Index of the cell.
    pub cell: usize,
    /// Goodput at the receiver.
    pub goodput_bps: Option<f64>,
    /// UDP loss.
    pub lost_percent: Option<f64>,
    /// Retransmitted segments.
    pub retransmits: Option<f64>,
    /// Time in congestion states.
    #[serde(default)]
    pub ca_state_us: Option<PublishedStates>,
}

/// Published times in the congestion states, in microseconds; each where it was published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PublishedStates {
    /// Nothing is wrong.
    pub open: Option<u64>,
    /// Duplicate ACKs or SACKs were seen.
    pub disorder: Option<u64>,
    /// cwnd is being reduced after ECN or local congestion.
    pub cwr: Option<u64>,
    /// Fast recovery.
    pub recovery: Option<u64>,
    /// After a retransmission timeout.
    pub loss: Option<u64>,
}

/// Something that a source concluded: it stands where all of its claims hold.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Conclusion {
    /// What was published.
    pub published: String,
    /// What we say where every claim holds.
    pub if_so: Option<String>,
    /// What we say where one fails.
    pub if_not: Option<String>,
    /// What would be true of the cells if the source were right; none where no run can tell.
    pub claims: Vec<Claim>,
}

/// What a conclusion says of some cells.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Claim {
    /// As the scenario has it: metric and comparison.
    pub text: String,
    /// What is judged.
    pub metric: ExpectMetric,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub against: Against,
    /// Every cell that it speaks of.
    pub pairs: Vec<Pair>,
}

/// The right-hand side of a claim.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// A value, as in an expectation.
    Bound(Bound),
    /// A share of what another cell has.
    OtherCell {
        /// That cell's metric.
        metric: ExpectMetric,
        /// The share of it.
        share: Ratio,
    },
}

/// A cell that a claim speaks of, and the one that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the cell.
    pub cell: usize,
    /// Index of the other one, where the claim compares two.
    pub other: Option<usize>,
}

/// Longest name of a run's directory, in bytes.
const DIRECTORY_MAX: usize = 80;
/// Digits of a cell's number there: no plan has more than [`CELLS_MAX`] cells.
const INDEX_WIDTH: usize = 4;

impl Plan {
    /// Leaves the cells that are `wanted`, under their numbers, with what is said of them.
    pub fn keep(&mut self, wanted: impl Fn(&Cell) -> bool) {
        self.cells.retain(wanted);
        let cells = &self.cells;
        let is_kept = |index: usize| position(cells, index).is_ok();
        self.published.retain(|figure| is_kept(figure.cell));
        for claim in self.conclusions.iter_mut().flat_map(|conclusion| &mut conclusion.claims) {
            claim.pairs.retain(|pair| is_kept(pair.cell) && pair.other.is_none_or(is_kept));
        }
    }

    /// The cell with this number; `None` where the plan does not have it.
    pub fn find(&self, index: usize) -> Option<&Cell> {
        position(&self.cells, index).ok().map(|at| &self.cells[at])
    }

    /// A cell that the plan has: its number comes from this plan.
    ///
    /// # Panics
    /// There is none with this number.
    pub fn cell(&self, index: usize) -> &Cell {
        self.find(index).unwrap_or_else(|| panic!("the plan has no cell {index}"))
    }

    /// Every run in plan order: cell by cell, repetition by repetition.
    pub fn runs(&self) -> Vec<Run> {
        self.cells
            .iter()
            .flat_map(|cell| (1..=cell.spec.run.repeat).map(|repeat| self.run(cell, repeat)))
            .collect()
    }

    /// How many runs there are.
    pub fn run_count(&self) -> usize {
        let repeats = self.cells.iter().map(|cell| cell.spec.run.repeat as usize);
        repeats.fold(0, usize::saturating_add)
    }

    /// The runs of the cell with this id, in plan order.
    pub fn runs_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = Run> + 'a {
        let cells = self.cells.iter().filter(move |cell| cell.id == id);
        cells.flat_map(|cell| (1..=cell.spec.run.repeat).map(|repeat| self.run(cell, repeat)))
    }

    fn run(&self, cell: &Cell, repeat: u32) -> Run {
        Run {
            experiment: self.experiment.clone(),
            cell: cell.clone(),
            repeat,
            id: format!("{}-{repeat}", cell.id),
            seed: Seed::new(cell.spec.run.seed).derive(&format!("{}/{repeat}", cell.id)),
            directory: self.directory(cell, repeat, '-'),
        }
    }

    /// The name that 0.1.0 gave the directory of `run`: `rtt=10ms` in place of `rtt-10ms`, which DuckDB and others read as a
    /// partition of a table.
    pub fn directory_of_0_1_0(&self, run: &Run) -> FileName {
        self.directory(&run.cell, run.repeat, '=')
    }

    /// `{index}-{axes}-r{repeat}`, e.g. `0003-tcp-rtt-10ms-r1`: numbers padded so that names sort in plan order, the
    /// axes shortened where the name would pass [`DIRECTORY_MAX`]. `between` stands between an axis and its value.
    fn directory(&self, cell: &Cell, repeat: u32, between: char) -> FileName {
        let repeat_width = cell.spec.run.repeat.to_string().len();
        let head = format!("{:0INDEX_WIDTH$}", cell.index);
        let tail = format!("-r{repeat:0repeat_width$}");
        let mut axes: String = cell.axes.iter().map(|axis| axis_label(axis, between)).collect();
        axes.truncate(DIRECTORY_MAX.saturating_sub(head.len() + tail.len()));
        FileName::cleaned(&format!("{head}{axes}{tail}"))
    }
}

/// Where the cell with this number stands among `cells`, which are in the order of their numbers.
fn position(cells: &[Cell], index: usize) -> Result<usize, usize> {
    cells.binary_search_by_key(&index, |cell| cell.index)
}

/// The stable name of a resolved cell: 12 hex digits of FNV-1a over its canonical JSON (keys sorted, nulls left out, so
/// that a later optional setting changes no id), without the repetitions and the expectations, which change no run.
pub fn cell_id(spec: &CellSpec) -> String {
    id_of(&canonical(spec))
}

/// 12 hex digits of [`canonical`] text.
pub(crate) fn id_of(canonical: &str) -> String {
    let hash = fnv1a(canonical.as_bytes());
    // Folded to 48 bits as the authors of FNV advise (xor-folding).
    format!("{:012x}", (hash >> 48) ^ (hash & 0xffff_ffff_ffff))
}

/// What a cell's id is made of.
pub(crate) fn canonical(spec: &CellSpec) -> String {
    let mut value = serde_json::json!(spec);
    if let Some(cell) = value.as_object_mut() {
        cell.remove("expect");
        if let Some(run) = cell.get_mut("run").and_then(Value::as_object_mut) {
            run.remove("repeat");
        }
    }
    let mut text = String::new();
    write_canonical(&value, &mut text);
    text
}

/// `-rtt-10ms`; for the variant its name alone. ASCII only; `=` nowhere but as `between`.
fn axis_label((path, value): &(String, String), between: char) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let plain = |text: &str| -> String {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c) || c == between;
        text.replace('%', "pct").chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
    };
    if path == "variant" {
        format!("-{}", plain(value))
    } else {
        format!("-{}{between}{}", plain(name), plain(value))
    }
}

/// JSON with sorted keys and without null members, whatever order the map type has.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().filter(|(_, value)| !value.is_null()).collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}
