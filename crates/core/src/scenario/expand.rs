//! The matrix: for each variant the product of its axes, each point resolved to a cell.

use super::bounds::VALUES_MAX;
use super::document::{Document, Variant, VariantQuick};
use super::draft::{Draft, PathDraft, Subscriber};
use super::error::{Origin, ScenarioProblem};
use super::key::Slot;
use super::layer::{Layer, Setting, Text};
use super::named::Named;
use super::published::Written;
use super::resolve::{self, Violation};
use super::section::Section;
use super::toml::in_file;
use crate::file_name::FileName;
use crate::plan::{CELLS_MAX, Cell, Plan, PlanSize, TooLarge, canonical, id_of};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What `--quick` measures of a flow where the scenario doesn't say.
const QUICK_DURATION: Duration = Duration::from_secs(2);

/// Which matrix is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Full,
    /// What `--quick` runs.
    Quick,
}

/// Expands the scenario with the settings of `--set` on top.
///
/// # Errors
/// Every rule that a cell breaks, each once; a published row without a cell.
pub(super) fn expand(
    document: &Document,
    set: &Layer,
    named: &Named,
    extent: Extent,
) -> Result<Plan, Vec<ScenarioProblem>> {
    if let Some(problem) = too_many_keys(document, set, extent) {
        return Err(vec![problem]);
    }
    let products = products(document, set, named, extent);
    let size: usize = products.iter().fold(0, |sum, product| sum.saturating_add(product.size()));
    if size > CELLS_MAX {
        return Err(vec![too_large(&products, &TooLarge::Cells(size))]);
    }
    let values = |product: &Product<'_>| product.size().saturating_mul(product.layer.settings.len());
    let values: usize = products.iter().map(values).fold(0, usize::saturating_add);
    if values > VALUES_MAX {
        return Err(vec![too_many_values(values)]);
    }
    let is_plain = extent == Extent::Full && set.settings.is_empty() && !document.is_part;
    let mut matrix = Matrix { is_plain, ..Matrix::default() };
    for product in &products {
        for point in 0..product.size() {
            let added = matrix.add(product, &product.point(point));
            added.map_err(|size| vec![too_large(&products, &size)])?;
        }
    }
    matrix.size.check_runs().map_err(|size| vec![too_large(&products, &size)])?;
    matrix.into_plan(document, set)
}

/// Every variant is the whole scenario with a few keys changed: what all of them hold is known before any is made.
fn too_many_keys(document: &Document, set: &Layer, extent: Extent) -> Option<ScenarioProblem> {
    let keys = |layer: &Layer| layer.settings.len();
    let common = keys(&document.base) + keys(set) + document.quick.as_ref().map_or(0, keys);
    let of_variant = |variant: &Variant| {
        let own = common + keys(&variant.layer);
        match (&variant.quick, extent) {
            (VariantQuick::Overrides(layers), Extent::Quick) => {
                layers.iter().map(|layer| own + keys(layer)).fold(0, usize::saturating_add)
            }
            _ => own,
        }
    };
    let values = document.variants.iter().map(of_variant).fold(0, usize::saturating_add);
    (values > VALUES_MAX).then(|| too_many_values(values))
}

fn too_many_values(values: usize) -> ScenarioProblem {
    ScenarioProblem::new(
        &in_file(0..0),
        format!("the keys of all cells are {values} values, more than {VALUES_MAX}"),
        "leave out keys that say what is so anyway, shorten the lists, or split the scenario",
    )
}

/// One variant's settings, all layers merged.
struct Product<'a> {
    variant: Option<&'a Text>,
    layer: Layer,
    /// Set by `--set`; `--quick` leaves these alone.
    set: &'a Layer,
    named: &'a Named,
    /// Whether `--quick`'s own rules hold: no `[quick]` stands in the file.
    is_quick: bool,
}

fn products<'a>(
    document: &'a Document,
    set: &'a Layer,
    named: &'a Named,
    extent: Extent,
) -> Vec<Product<'a>> {
    let overrides = |variant: &Variant| matches!(variant.quick, VariantQuick::Overrides(_));
    let is_stated = document.quick.is_some() || document.variants.iter().any(overrides);
    let is_quick = extent == Extent::Quick && !is_stated;
    let product = |variant: Option<&'a Variant>, quick: Option<&Layer>| {
        let mut layer = document.base.clone();
        let scenario_quick = document.quick.as_ref().filter(|_| extent == Extent::Quick);
        let variant_layer = variant.map(|variant| &variant.layer);
        for top in [variant_layer, scenario_quick, quick, Some(set)].into_iter().flatten() {
            layer.overlay(top);
        }
        Product { variant: variant.map(|variant| &variant.name), layer, set, named, is_quick }
    };
    if document.variants.is_empty() {
        return vec![product(None, None)];
    }
    let of_variant = |variant: &'a Variant| match (&variant.quick, extent) {
        (VariantQuick::LeftOut, Extent::Quick) => Vec::new(),
        (VariantQuick::Overrides(layers), Extent::Quick) => {
            layers.iter().map(|layer| product(Some(variant), Some(layer))).collect()
        }
        _ => vec![product(Some(variant), None)],
    };
    document.variants.iter().flat_map(of_variant).collect()
}

impl Product<'_> {
    fn axes(&self) -> impl DoubleEndedIterator<Item = &Setting> {
        self.layer.settings.iter().filter(|setting| setting.is_axis)
    }

    fn size(&self) -> usize {
        self.axes().fold(1, |size, axis| size.saturating_mul(axis.values.len()))
    }

    /// Every setting with its value at a point of the product; the last axis varies fastest.
    fn point(&self, index: usize) -> Vec<(&Setting, &Text)> {
        let mut rest = index;
        let mut point: Vec<_> = self
            .layer
            .settings
            .iter()
            .rev()
            .map(|setting| {
                let count = setting.values.len();
                let value = &setting.values[rest % count];
                rest /= count;
                (setting, value)
            })
            .collect();
        point.reverse();
        point
    }

    fn draft(&self, point: &[(&Setting, &Text)]) -> Result<Draft, Vec<ScenarioProblem>> {
        let flows = self.layer.flow_count();
        let mut draft = Draft::new(flows);
        let mut problems = Vec::new();
        draft.path = self.profiled(point);
        for (setting, value) in point {
            if setting.slot.flow.is_some_and(|flow| flow >= flows) {
                let message = format!("not every variant has a flow {}", setting.slot.flow.unwrap_or(0));
                let help = "flows count from 0; write flow.KEY to set a key in every flow";
                problems.push(ScenarioProblem::new(&value.origin, message, help));
            } else if let Err(error) = setting.slot.apply(setting.key, &value.text, &mut draft) {
                problems.push(ScenarioProblem::new(&value.origin, error.message, error.help));
            }
        }
        if self.is_quick {
            self.shorten(&mut draft);
        }
        if problems.is_empty() { Ok(draft) } else { Err(problems) }
    }

    /// What the profile of a point says of the path, without what other settings say of the same.
    fn profiled(&self, point: &[(&Setting, &Text)]) -> PathDraft {
        let in_path = || point.iter().filter(|(setting, _)| setting.slot.section == Section::Path);
        let of_key = |name: &str| in_path().find(|(setting, _)| setting.slot.name == name);
        let Some((_, profile)) = of_key("profile") else { return PathDraft::default() };
        let mut path = self.named.profile(&profile.text);
        let mut draft = Draft::default();
        if let Some((setting, value)) = of_key("subscriber")
            && setting.slot.apply(setting.key, &value.text, &mut draft).is_ok()
            && draft.path.subscriber == Some(Subscriber::Sender)
        {
            path = path.turned();
        }
        in_path().for_each(|(setting, _)| path.forget_beside(&setting.slot.name));
        path
    }

    /// `--quick` where the scenario has no `[quick]`: one run, and 2 s of each flow after its warm-up. What `--set` says, and
    /// axes, stay.
    fn shorten(&self, draft: &mut Draft) {
        let is_free = |slot: &Slot| {
            let is_axis = self.layer.deciding(slot).is_some_and(|setting| setting.is_axis);
            !is_axis && self.set.deciding(slot).is_none()
        };
        if is_free(&Slot::new(Section::Run, "repeat")) {
            draft.run.repeat = Some(1);
        }
        let sample = draft.run.sample.unwrap_or(resolve::SAMPLE);
        let enough = draft.run.warmup.unwrap_or_default() + QUICK_DURATION.max(sample);
        for (index, flow) in draft.flows.iter_mut().enumerate() {
            if is_free(&Slot::in_flow(index, "duration")) {
                flow.duration = Some(flow.duration.unwrap_or(resolve::DURATION).min(enough));
            }
        }
    }

    /// Where a violation points: the first of its slots that was written; else the variant, else the file's beginning.
    fn problem(&self, violation: &Violation, point: &[(&Setting, &Text)]) -> ScenarioProblem {
        let chosen = |slot: &Slot| {
            let setting = self.layer.deciding(slot)?;
            let (_, value) = point.iter().find(|(other, _)| other.slot == setting.slot)?;
            Some(&value.origin)
        };
        let origin = violation.slots.iter().find_map(chosen);
        // What nobody wrote is the profile's.
        let origin = origin.or_else(|| chosen(&Slot::new(Section::Path, "profile")));
        let origin = origin.or(self.variant.map(|name| &name.origin));
        ScenarioProblem::new(
            origin.unwrap_or(&in_file(0..0)),
            violation.message.as_str(),
            violation.help.as_str(),
        )
    }
}

#[derive(Default)]
struct Matrix {
    cells: Vec<Cell>,
    written: Vec<Written>,
    /// Id → index, and where the cell's coordinates stand.
    seen: BTreeMap<String, usize>,
    problems: Vec<ScenarioProblem>,
    /// Place and message of each problem.
    told: BTreeSet<(usize, usize, String)>,
    size: PlanSize,
    /// The whole matrix, neither `--quick` nor `--set`: equal cells are a mistake, and so is a published row without a cell.
    is_plain: bool,
}

impl Matrix {
    /// Adds a point, or what is wrong with it.
    ///
    /// # Errors
    /// The plan is too large with it.
    fn add(&mut self, product: &Product<'_>, point: &[(&Setting, &Text)]) -> Result<(), TooLarge> {
        let complain = |violations: Vec<Violation>| {
            let problems = violations.iter().map(|violation| product.problem(violation, point));
            problems.collect::<Vec<_>>()
        };
        let resolve = |draft| resolve::cell(&draft, product.named).map_err(complain);
        let resolved = product.draft(point).and_then(resolve);
        let spec = match resolved {
            Ok(spec) => spec,
            Err(problems) => {
                problems.into_iter().for_each(|problem| self.report(problem));
                return Ok(());
            }
        };
        let (axes, written) = coordinates(product, point);
        let text = canonical(&spec);
        let id = id_of(&text);
        if let Some(first) = self.seen.get(&id) {
            if self.is_plain {
                let problem = twin_problem(product, point, &axes, &self.cells[*first].axes);
                self.report(problem);
            }
            return Ok(());
        }
        self.size.add(spec.run.repeat, text.len())?;
        let index = self.cells.len();
        self.seen.insert(id.clone(), index);
        self.written.push(written);
        self.cells.push(Cell { index, id, axes, deterministic: false, spec });
        Ok(())
    }

    fn report(&mut self, problem: ScenarioProblem) {
        let (source, start) = (problem.origin.source, problem.origin.span.start);
        if self.told.insert((source, start, problem.message.clone())) {
            self.problems.push(problem);
        }
    }

    fn into_plan(mut self, document: &Document, set: &Layer) -> Result<Plan, Vec<ScenarioProblem>> {
        let published = document.published.as_ref();
        if self.is_plain && self.problems.is_empty() {
            let lost = published.map(|table| table.problems(&self.cells, &self.written));
            lost.into_iter().flatten().for_each(|problem| self.report(problem));
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let is_measured =
            |setting: &&Setting| !matches!(setting.slot.section, Section::Run | Section::Expect);
        let changed: Vec<String> =
            set.settings.iter().filter(is_measured).map(|setting| setting.slot.path(1)).collect();
        Ok(Plan {
            experiment: FileName::cleaned(&document.name),
            title: document.title.clone(),
            published: published.map_or_else(Vec::new, |table| table.figures(&self.written, &changed)),
            published_source: published.and_then(|table| table.source.clone()),
            conclusions: published
                .map_or_else(Vec::new, |table| table.conclusions(&self.cells, &self.written, &changed)),
            cells: self.cells,
        })
    }
}

/// The axes of a point, and all of its settings, as written.
fn coordinates(product: &Product<'_>, point: &[(&Setting, &Text)]) -> (Written, Written) {
    let flows = product.layer.flow_count();
    let variant = product.variant.map(|name| ("variant".to_owned(), name.text.clone()));
    let label = |(setting, value): &(&Setting, &Text)| (setting.slot.path(flows), value.text.clone());
    let is_axis = |(setting, _): &&(&Setting, &Text)| setting.is_axis;
    let axes = variant.iter().cloned().chain(point.iter().filter(is_axis).map(label));
    let written = variant.iter().cloned().chain(point.iter().map(label));
    (axes.collect(), written.collect())
}

/// Two points that resolve to the same cell, e.g. `10ms` and `0.01s`.
fn twin_problem(
    product: &Product<'_>,
    point: &[(&Setting, &Text)],
    axes: &Written,
    twin: &Written,
) -> ScenarioProblem {
    let flows = product.layer.flow_count();
    let differs = |(setting, value): &&(&Setting, &Text)| {
        setting.is_axis && !twin.contains(&(setting.slot.path(flows), value.text.clone()))
    };
    let origin = point.iter().find(differs).map(|(_, value)| &value.origin);
    let origin = origin.or(product.variant.map(|name| &name.origin));
    let name = |axes: &Written| {
        let parts: Vec<String> = axes.iter().map(|(path, value)| format!("{path} = {value}")).collect();
        parts.join(", ")
    };
    ScenarioProblem::new(
        origin.unwrap_or(&in_file(0..0)),
        format!("two cells of the matrix are the same: \"{}\" and \"{}\"", name(twin), name(axes)),
        "leave one out; run.repeat says how often a cell is run",
    )
}

/// Points at the longest list, or at the repetitions where they are what makes the plan large.
fn too_large(products: &[Product<'_>], size: &TooLarge) -> ScenarioProblem {
    let settings = || products.iter().flat_map(|product| &product.layer.settings);
    let is_repeat = |setting: &&Setting| setting.slot == Slot::new(Section::Run, "repeat");
    let longest = settings().filter(|setting| setting.is_axis).max_by_key(|axis| axis.values.len());
    let (guilty, help) = match size {
        TooLarge::Cells(_) => (longest, "shorten the lists, or split the scenario"),
        TooLarge::Runs { .. } | TooLarge::Text { .. } => (
            settings().find(is_repeat).or(longest),
            "lower run.repeat, shorten the lists, or split the scenario",
        ),
    };
    let origin: Option<&Origin> = guilty.and_then(|axis| axis.values.first()).map(|value| &value.origin);
    ScenarioProblem::new(origin.unwrap_or(&in_file(0..0)), size.to_string(), help)
}
