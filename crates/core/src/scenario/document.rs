//! The TOML file as layers of settings: every key known, every value readable, each with its place in the text.

use super::aqm;
use super::bounds::{CHANGES_MAX, FLOWS_MAX, TEXT_MAX};
use super::error::{Origin, ScenarioProblem};
use super::key::{APP, CHANGE, Key, KeyKind, SYSCTL, Slot};
use super::layer::{Layer, Setting, Text, unknown_key, unknown_table};
use super::published::{self, PublishedTable};
use super::section::Section;
use super::tc_words;
use super::toml::{TomlEntry, entries, in_file, scalar, tables};
use crate::parse::nearest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use toml_edit::{Array, InlineTable, Item, TableLike, Value};

/// The table of texts that a scenario names.
pub(super) const FILES: &str = "files";

/// A scenario file, read but not yet expanded.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) base: Layer,
    pub(super) variants: Vec<Variant>,
    pub(super) quick: Option<Layer>,
    pub(super) published: Option<PublishedTable>,
    /// Texts that settings name.
    pub(super) files: BTreeMap<String, String>,
    /// Whether variants were left out on purpose.
    pub(super) is_part: bool,
}

impl Document {
    /// Every layer of settings.
    pub(super) fn layers(&self) -> impl Iterator<Item = &Layer> {
        let of_variants = self.variants.iter().flat_map(|variant| {
            let quick = match &variant.quick {
                VariantQuick::Overrides(layers) => layers.as_slice(),
                VariantQuick::AsScenario | VariantQuick::LeftOut => &[],
            };
            quick.iter().chain([&variant.layer])
        });
        [&self.base].into_iter().chain(&self.quick).chain(of_variants)
    }
}

/// One `[[variant]]`.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) name: Text,
    pub(super) layer: Layer,
    pub(super) quick: VariantQuick,
}

/// What `--quick` makes of a variant.
#[derive(Debug, Clone)]
pub(super) enum VariantQuick {
    /// Nothing of its own.
    AsScenario,
    /// `quick = false`.
    LeftOut,
    /// `[variant.quick]`, or one product for each `[[variant.quick]]`.
    Overrides(Vec<Layer>),
}

/// Reads a scenario file.
///
/// # Errors
/// Everything that is wrong with single keys and values.
pub(super) fn read(text: &str) -> Result<Document, Vec<ScenarioProblem>> {
    let parsed = toml_edit::Document::parse(text).map_err(|error| vec![syntax_problem(&error)])?;
    let mut reader = Reader::default();
    let document = reader.document(parsed.as_table());
    match document {
        Some(document) if reader.problems.is_empty() => Ok(document),
        _ => Err(reader.problems),
    }
}

/// Reads a profile: `title`, and keys of `[path]` with one value each. Its places are in the text `source`.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn read_profile(text: &str, source: usize) -> Result<Layer, Vec<ScenarioProblem>> {
    let mut reader = Reader::default();
    let mut layer = Layer::default();
    match toml_edit::Document::parse(text) {
        Ok(parsed) => layer = reader.profile(parsed.as_table()),
        Err(error) => reader.problems.push(syntax_problem(&error)),
    }
    for value in layer.settings.iter_mut().flat_map(|setting| &mut setting.values) {
        value.origin.source = source;
    }
    for problem in &mut reader.problems {
        problem.origin.source = source;
    }
    if reader.problems.is_empty() { Ok(layer) } else { Err(reader.problems) }
}

/// Refuses a text that is longer than any scenario.
///
/// # Errors
/// One that says so.
pub(super) fn check_length(text: &str) -> Result<(), Vec<ScenarioProblem>> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    let message = format!("the text is longer than {TEXT_MAX} bytes");
    let help = "split the scenario; an axis in a list is shorter than a variant for each value";
    Err(vec![ScenarioProblem::new(&in_file(0..0), message, help)])
}

/// Names of devices on some systems, with any extension too.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Why `text` can't be a name, and what to write; `None` where it can: it is used in file names, and an argument of other
/// programs.
pub(super) fn name_problem(text: &str) -> Option<&'static str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let stem = text.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_device = DEVICES.contains(&stem.as_str())
        || port.is_some_and(|number| number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit()));
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_plain) {
        Some("write 1 to 64 letters, digits, \".\", \"_\" or \"-\": it is used in file names")
    } else if text.starts_with(['.', '-']) {
        Some("begin it with a letter or a digit: \".\" hides a file, and \"-\" begins an option")
    } else if text.ends_with('.') {
        Some("end it with a letter or a digit: some file systems drop a dot at the end")
    } else if is_device {
        Some("write another word: it is the name of a device on some systems, e.g. \"my-test\" is free")
    } else {
        None
    }
}

/// The name of an application's kind in its table.
const KIND: &str = "kind";

/// What to say of a parameter that no application has: message and help.
fn unknown_parameter(name: &str) -> (String, String) {
    let known: Vec<&str> = std::iter::once(KIND)
        .chain(Key::of(Section::Flow).filter_map(|key| key.name.strip_prefix(APP)))
        .collect();
    let help = match nearest(name, &known) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("the keys of an application are: {}", known.join(", ")),
    };
    (format!("unknown key \"{name}\" in app"), help)
}

/// What to say of a key that a table of `section` doesn't have: message and help.
fn unknown_member(section: Section, table: &str, name: &str, known: &[&str]) -> (String, String) {
    let help = match nearest(name, known) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("the keys of {section}.{table} are: {}", known.join(", ")),
    };
    (format!("unknown key \"{name}\" in {section}.{table}"), help)
}

/// The scalars of a list with commas between them.
fn joined(list: &Array) -> Option<Text> {
    let texts: Vec<String> = list.iter().map(|value| Some(scalar(value)?.text)).collect::<Option<_>>()?;
    Some(Text { text: texts.join(","), origin: in_file(list.span().unwrap_or(0..0)) })
}

fn syntax_problem(error: &toml_edit::TomlError) -> ScenarioProblem {
    let origin = in_file(error.span().unwrap_or(0..0));
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    ScenarioProblem::new(
        &origin,
        format!("this is not TOML: {message}"),
        "write key = value, and a value with a unit in quotes: rate = \"100mbit\"",
    )
}

#[derive(Default)]
struct Reader {
    problems: Vec<ScenarioProblem>,
}

impl Reader {
    fn document(&mut self, root: &dyn TableLike) -> Option<Document> {
        const EXTRA: [&str; 6] = ["name", "title", "variant", "quick", "published", FILES];
        let base = self.layer(root, &EXTRA, false);
        let (mut name, mut title, mut quick, mut published) = (None, None, None, None);
        let (mut variants, mut files) = (Vec::new(), BTreeMap::new());
        for entry in entries(root) {
            match entry.name {
                "name" => name = self.plain_name(&entry).map(|name| name.text),
                "title" => title = self.line(&entry).map(|title| title.text),
                "variant" => variants = self.variants(&entry),
                "quick" => quick = self.override_table(&entry),
                "published" => published = published::read(&entry, &mut self.problems),
                FILES => files = self.files(&entry),
                _ => {}
            }
        }
        if root.get("name").is_none() {
            self.report(
                &in_file(0..0),
                "the scenario has no name",
                "write name = \"my-experiment\" at the top",
            );
        }
        Some(Document { name: name?, title, base, variants, quick, published, files, is_part: false })
    }

    fn profile(&mut self, root: &dyn TableLike) -> Layer {
        const HELP: &str = "a profile has title = \"…\" and the keys of [path], each with one value";
        let mut layer = Layer::default();
        for entry in entries(root) {
            match entry.name {
                "title" => _ = self.line(&entry),
                "path" => self.section(&entry, Section::Path, &mut layer),
                name => self.report(&entry.at, format!("unknown key \"{name}\" in a profile"), HELP),
            }
        }
        let of_scenarios =
            |setting: &Setting| setting.is_axis || ["profile", "subscriber"].contains(&&*setting.slot.name);
        for setting in layer.settings.iter().filter(|setting| of_scenarios(setting)) {
            if let Some(value) = setting.values.first() {
                let message = format!("path.{} can't stand in a profile like this", setting.slot.name);
                self.problems.push(ScenarioProblem::new(&value.origin, message, HELP));
            }
        }
        layer
    }

    /// The sections in `table`; `extra` names are the caller's. In an override, `[x.flow]` sets a key in every flow.
    fn layer(&mut self, table: &dyn TableLike, extra: &[&'static str], is_override: bool) -> Layer {
        let mut layer = Layer::default();
        for entry in entries(table) {
            match Section::from_name(entry.name) {
                Some(Section::Flow) => self.flows(&entry, is_override, &mut layer),
                Some(section) => self.section(&entry, section, &mut layer),
                None if extra.contains(&entry.name) => {}
                None => {
                    let (message, help) = unknown_table(entry.name, extra);
                    self.report(&entry.at, message, help);
                }
            }
        }
        layer
    }

    fn section(&mut self, entry: &TomlEntry<'_>, section: Section, layer: &mut Layer) {
        match entry.item.as_table_like() {
            Some(table) => self.keys(table, section, &Slot::new(section, ""), layer),
            None => self.report(
                &entry.at,
                format!("\"{section}\" must be a table"),
                format!("write [{section}] on a line of its own, and its keys below"),
            ),
        }
    }

    fn flows(&mut self, entry: &TomlEntry<'_>, is_override: bool, layer: &mut Layer) {
        if let Some(flows) = tables(entry.item).filter(|flows| !flows.is_empty()) {
            layer.flows = Some(flows.len());
            if flows.len() > FLOWS_MAX {
                self.report(
                    &entry.at,
                    format!("there are {} flows, more than {FLOWS_MAX}", flows.len()),
                    "flows of the same kind are one flow with parallel = N",
                );
                return;
            }
            for (index, (table, _)) in flows.into_iter().enumerate() {
                self.keys(table, Section::Flow, &Slot::in_flow(index, ""), layer);
            }
            return;
        }
        match entry.item.as_table_like() {
            Some(table) if is_override => {
                self.keys(table, Section::Flow, &Slot::new(Section::Flow, ""), layer);
            }
            _ => self.report(
                &entry.at,
                "flows must be a list of tables",
                "write [[flow]] with two brackets, once for each flow; or leave it out for one TCP flow",
            ),
        }
    }

    /// The keys of a section; `place` is a slot without a name.
    fn keys(&mut self, table: &dyn TableLike, section: Section, place: &Slot, layer: &mut Layer) {
        for entry in entries(table) {
            if entry.name == SYSCTL.trim_end_matches('.') && Key::find(section, SYSCTL).is_some() {
                self.sysctls(&entry, SYSCTL, place, layer);
                continue;
            }
            if section == Section::Path && entry.name == CHANGE.trim_end_matches('.') {
                self.changes(&entry, layer);
                continue;
            }
            if !Key::of_table(section, entry.name).is_empty() && Key::find(section, entry.name).is_none() {
                self.table_of_keys(&entry, place, layer);
                continue;
            }
            match Key::find(section, entry.name) {
                Some(key) if key.kind == KeyKind::Application => self.application(&entry, key, place, layer),
                Some(key) if key.kind == KeyKind::Aqm => self.aqm(&entry, key, place, layer),
                Some(key) => {
                    let name = entry.name.to_owned();
                    self.setting(&entry, key, Slot { name, ..place.clone() }, layer);
                }
                None => {
                    let (message, help) = unknown_key(section, entry.name);
                    let of_tc =
                        (section == Section::Path).then(|| tc_words::translated(&entry, table)).flatten();
                    self.report(&entry.at, message, of_tc.unwrap_or(help));
                }
            }
        }
    }

    /// `policer = { rate = "20mbit", burst = "64KiB" }`, whose keys are called `policer.rate` and `policer.burst`.
    fn table_of_keys(&mut self, entry: &TomlEntry<'_>, place: &Slot, layer: &mut Layer) {
        let names = Key::of_table(place.section, entry.name);
        let Some(table) = entry.item.as_table_like() else {
            let example = |name: &&str| {
                let key = Key::find(place.section, &format!("{}.{name}", entry.name))?;
                Some(format!("{name} = \"{}\"", key.example))
            };
            let members: Vec<String> = names.iter().filter_map(example).collect();
            let help = format!("write {} = {{ {} }}", entry.name, members.join(", "));
            self.report(&entry.value_at(), format!("\"{}\" must be a table", entry.name), help);
            return;
        };
        for member in entries(table) {
            let name = format!("{}.{}", entry.name, member.name);
            match Key::find(place.section, &name) {
                Some(key) => self.setting(&member, key, Slot { name, ..place.clone() }, layer),
                None => {
                    let (message, help) = unknown_member(place.section, entry.name, member.name, &names);
                    self.report(&member.at, message, help);
                }
            }
        }
    }

    /// `[[path.change]]`: each table's keys are called by its number, `change.0.at`.
    fn changes(&mut self, entry: &TomlEntry<'_>, layer: &mut Layer) {
        let list = tables(entry.item).filter(|list| (1..=CHANGES_MAX).contains(&list.len()));
        let Some(list) = list else {
            let message = format!("changes must be a list of 1 to {CHANGES_MAX} tables");
            let help = match tables(entry.item) {
                Some(list) if list.len() > CHANGES_MAX => format!(
                    "these are {}: keep {CHANGES_MAX}, or put them into a file and name it: rate_trace, rtt_trace or loss_trace",
                    list.len()
                ),
                _ => "write [[path.change]] with two brackets, once for each change".to_owned(),
            };
            self.report(&entry.at, message, help);
            return;
        };
        layer.lists_changes = true;
        let names = Key::of_table(Section::Path, entry.name);
        for (number, (table, _)) in list.into_iter().enumerate() {
            for member in entries(table) {
                let name = format!("{CHANGE}{number}.{}", member.name);
                match Key::find(Section::Path, &name) {
                    Some(key) => self.setting(&member, key, Slot::new(Section::Path, &name), layer),
                    None => {
                        let (message, help) = unknown_member(Section::Path, entry.name, member.name, &names);
                        self.report(&member.at, message, help);
                    }
                }
            }
        }
    }

    /// `app = "bulk"`, a table with `kind` whose parameters are keys of their own, or a list of both, which is an axis.
    fn application(&mut self, entry: &TomlEntry<'_>, key: &'static Key, place: &Slot, layer: &mut Layer) {
        let slot = Slot { name: key.name.to_owned(), ..place.clone() };
        let Some(table) = entry.item.as_table_like() else {
            self.setting(entry, key, slot, layer);
            return;
        };
        // What the kind replaces comes before it.
        let (kinds, parameters): (Vec<_>, Vec<_>) =
            entries(table).into_iter().partition(|entry| entry.name == KIND);
        for entry in kinds.iter().chain(&parameters) {
            self.parameter(entry, key, place, layer);
        }
    }

    /// `kind`, which is the value of `key` itself, or a parameter, which is a key of its own.
    fn parameter(&mut self, entry: &TomlEntry<'_>, key: &'static Key, place: &Slot, layer: &mut Layer) {
        let name = match entry.name {
            KIND => key.name.to_owned(),
            name => format!("{APP}{name}"),
        };
        match Key::find(place.section, &name) {
            Some(key) => self.setting(entry, key, Slot { name, ..place.clone() }, layer),
            None => {
                let (message, help) = unknown_parameter(entry.name);
                self.report(&entry.at, message, help);
            }
        }
    }

    /// A table in a list of applications as one text: `requests response=64KiB`.
    fn application_text(&mut self, table: &InlineTable, key: &'static Key) -> Option<Text> {
        let before = self.problems.len();
        let mut alone = Layer::default();
        let place = Slot::new(Section::Flow, "");
        for entry in entries(table) {
            if entry.item.is_array() && entry.name != "sizes" {
                let help = "write one value; for an axis of this parameter alone, write one table with the list in it";
                self.report(
                    &entry.value_at(),
                    format!("a list of applications has one {}", entry.name),
                    help,
                );
                return None;
            }
            self.parameter(&entry, key, &place, &mut alone);
        }
        let span = table.span().unwrap_or(0..0);
        let (kinds, parameters): (Vec<Setting>, Vec<Setting>) =
            alone.settings.into_iter().partition(|setting| setting.slot.name == key.name);
        let Some(kind) = kinds.first().filter(|_| self.problems.len() == before) else {
            if self.problems.len() == before {
                self.report(
                    &in_file(span),
                    "the application has no kind",
                    "write e.g. kind = \"requests\" in it",
                );
            }
            return None;
        };
        let value =
            |setting: &Setting| setting.values.first().map_or_else(String::new, |value| value.text.clone());
        let mut text = value(kind);
        for setting in &parameters {
            let name = setting.slot.name.trim_start_matches(APP);
            let _ = write!(text, " {name}={}", value(setting).replace(' ', ","));
        }
        Some(Text { text, origin: in_file(span) })
    }

    /// `aqm = "fq_codel"`, a table with `kind`, or a list of both, which is an axis.
    fn aqm(&mut self, entry: &TomlEntry<'_>, key: &'static Key, place: &Slot, layer: &mut Layer) {
        let slot = Slot { name: key.name.to_owned(), ..place.clone() };
        let Some(table) = entry.item.as_table_like() else {
            self.setting(entry, key, slot, layer);
            return;
        };
        let at = entry.value_at();
        let Some(text) = self.aqm_text(table, &at) else { return };
        match Setting::checked(slot, key, vec![Text { text, origin: at.clone() }], false, &at) {
            Ok(setting) => layer.settings.push(setting),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// A table of a discipline as one text: `codel target=5ms interval=100ms`.
    fn aqm_text(&mut self, table: &dyn TableLike, at: &Origin) -> Option<String> {
        let kind = entries(table).into_iter().find(|member| member.name == KIND);
        let kind = kind.and_then(|member| scalar(member.item.as_value()?));
        let Some(word) = kind else {
            self.report(at, "the discipline has no kind", "write e.g. kind = \"codel\" in it");
            return None;
        };
        let kind = aqm::kind(&word.text);
        let kind = kind.map_err(|error| self.report(&word.origin, error.message, error.help)).ok()?;
        let mut text = word.text;
        for member in entries(table).iter().filter(|member| member.name != KIND) {
            let Some(value) = member.item.as_value().and_then(scalar) else {
                let help = "write one value; for an axis, write a list of such tables";
                self.report(&member.value_at(), format!("a discipline has one {}", member.name), help);
                return None;
            };
            if let Err(error) = aqm::check_parameter(kind, member.name, &value.text) {
                self.report(&member.value_at(), error.message, error.help);
                return None;
            }
            let _ = write!(text, " {}={}", member.name, value.text);
        }
        Some(text)
    }

    /// `[host.sysctl]`: quoted names, or dotted ones, which TOML reads as tables in tables.
    fn sysctls(&mut self, entry: &TomlEntry<'_>, prefix: &str, place: &Slot, layer: &mut Layer) {
        let Some(table) = entry.item.as_table_like() else {
            let example =
                "write [host.sysctl] on a line of its own, and below it e.g. \"net.ipv4.tcp_sack\" = 0";
            self.report(&entry.at, "\"sysctl\" must be a table", example);
            return;
        };
        for entry in entries(table) {
            let name = format!("{prefix}{}", entry.name);
            if entry.item.is_table_like() {
                self.sysctls(&entry, &format!("{name}."), place, layer);
            } else if let Some(key) = Key::find(place.section, &name) {
                self.setting(&entry, key, Slot { name, ..place.clone() }, layer);
            }
        }
    }

    fn setting(&mut self, entry: &TomlEntry<'_>, key: &'static Key, slot: Slot, layer: &mut Layer) {
        let at = entry.value_at();
        let (values, is_axis) = match entry.item {
            Item::Value(Value::Array(list))
                if key.kind != KeyKind::Writes || list.iter().any(Value::is_array) =>
            {
                (list.iter().map(|value| self.text(value, key)).collect(), true)
            }
            Item::Value(value) => (self.text(value, key).map(|text| vec![text]), false),
            _ => {
                let help = format!("write {}", key.kind.describe());
                self.report(&entry.at, format!("\"{}\" is not a table", key.name), help);
                return;
            }
        };
        let Some(values) = values else { return };
        match Setting::checked(slot, key, values, is_axis, &at) {
            Ok(setting) => layer.settings.push(setting),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// A value's text where its TOML type fits the key: words need quotes, switches of sysctls are 0 and 1.
    fn text(&mut self, value: &Value, key: &'static Key) -> Option<Text> {
        let written = match (value, key.kind) {
            (Value::InlineTable(table), KeyKind::Application) => return self.application_text(table, key),
            (Value::InlineTable(table), KeyKind::Aqm) => {
                let origin = in_file(table.span().unwrap_or(0..0));
                return self.aqm_text(table, &origin).map(|text| Text { text, origin });
            }
            (Value::Array(list), KeyKind::Writes) => joined(list),
            _ => scalar(value).filter(|_| {
                value.is_str()
                    || !matches!(
                        key.kind,
                        KeyKind::Word
                            | KeyKind::Application
                            | KeyKind::Aqm
                            | KeyKind::Trace
                            | KeyKind::DelayTrace
                            | KeyKind::LossTrace
                            | KeyKind::Profile
                    )
            }),
        };
        match written {
            Some(text) if key.kind == KeyKind::Sysctl && value.is_bool() => {
                Some(Text { text: u8::from(text.text == "true").to_string(), ..text })
            }
            Some(text) => Some(text),
            None => {
                let at = in_file(value.span().unwrap_or(0..0));
                let message = format!("{} takes {}", key.name, key.kind.describe());
                self.report(&at, message, format!("write e.g. {} = \"{}\"", key.name, key.example));
                None
            }
        }
    }

    fn variants(&mut self, entry: &TomlEntry<'_>) -> Vec<Variant> {
        let Some(list) = tables(entry.item).filter(|list| !list.is_empty()) else {
            self.report(
                &entry.at,
                "variants must be a list of tables",
                "write [[variant]] with two brackets, once for each variant",
            );
            return Vec::new();
        };
        let mut variants: Vec<Variant> = Vec::new();
        let mut names = BTreeSet::new();
        for (table, span) in list {
            let at = span.map_or_else(|| entry.at.clone(), in_file);
            let Some(variant) = self.variant(table, &at) else {
                continue;
            };
            if !names.insert(variant.name.text.clone()) {
                let message = format!("there are two variants called \"{}\"", variant.name.text);
                self.report(&variant.name.origin, message, "give each variant its own name");
            }
            variants.push(variant);
        }
        variants
    }

    fn variant(&mut self, table: &dyn TableLike, at: &Origin) -> Option<Variant> {
        let layer = self.layer(table, &["name", "quick"], true);
        let mut name = None;
        let mut quick = VariantQuick::AsScenario;
        for entry in entries(table) {
            match entry.name {
                "name" => name = Some(self.plain_name(&entry)?),
                "quick" => quick = self.variant_quick(&entry),
                _ => {}
            }
        }
        if name.is_none() {
            self.report(at, "the variant has no name", "write name = \"tcp\" in it");
        }
        Some(Variant { name: name?, layer, quick })
    }

    fn variant_quick(&mut self, entry: &TomlEntry<'_>) -> VariantQuick {
        if entry.item.as_bool() == Some(false) {
            return VariantQuick::LeftOut;
        }
        if let Some(list) = tables(entry.item).filter(|list| !list.is_empty()) {
            let layers = list.iter().map(|(table, _)| self.layer(*table, &[], true));
            return VariantQuick::Overrides(layers.collect());
        }
        VariantQuick::Overrides(self.override_table(entry).into_iter().collect())
    }

    fn override_table(&mut self, entry: &TomlEntry<'_>) -> Option<Layer> {
        let Some(table) = entry.item.as_table_like() else {
            self.report(
                &entry.at,
                "\"quick\" must be a table of keys",
                "write [quick] and below it e.g. flow.duration = \"2s\"; a variant may also have quick = false",
            );
            return None;
        };
        Some(self.layer(table, &[], true))
    }

    /// `[files]`: each key is a name, each value a text.
    fn files(&mut self, entry: &TomlEntry<'_>) -> BTreeMap<String, String> {
        const HELP: &str = "write [files] on a line of its own, and below it a name and a text: \"my.trace\" = \"0s 10mbit\"";
        let Some(table) = entry.item.as_table_like() else {
            self.report(&entry.at, format!("\"{FILES}\" must be a table of texts"), HELP);
            return BTreeMap::new();
        };
        let mut files = BTreeMap::new();
        for file in entries(table) {
            match file.item.as_str() {
                Some(text) => _ = files.insert(file.name.to_owned(), text.to_owned()),
                None => self.report(&file.value_at(), format!("\"{}\" must be a text", file.name), HELP),
            }
        }
        files
    }

    fn plain_name(&mut self, entry: &TomlEntry<'_>) -> Option<Text> {
        let name = self.line(entry)?;
        let Some(help) = name_problem(&name.text) else { return Some(name) };
        self.report(&name.origin, format!("\"{}\" can't be a name", name.text), help);
        None
    }

    /// One line of text.
    fn line(&mut self, entry: &TomlEntry<'_>) -> Option<Text> {
        let text = entry.item.as_value().filter(|value| value.is_str()).and_then(scalar);
        let text = text.filter(|text| !text.text.chars().any(char::is_control));
        if text.is_none() {
            let example = format!("write {} = \"…\"", entry.name);
            self.report(&entry.value_at(), format!("\"{}\" must be one line of text", entry.name), example);
        }
        text
    }

    fn report(&mut self, at: &Origin, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(ScenarioProblem::new(at, message, help));
    }
}
