//! The JSON Schema of a scenario, written from the table of keys that the parser reads: editors complete and check by it.
//!
//! Never: a key that isn't in that table, a form that the parser does not take, or a shipped scenario that does not name it.

use pipefill_core::scenario::{Key, KeyKind, SCHEMA_URL, Section, TOP};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// The scenarios that are shipped, relative to the workspace.
const SCENARIOS: &str = "scenarios";

/// The shipped scenarios whose first line does not name the schema.
///
/// # Errors
/// A scenario can't be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for entry in WalkDir::new(root.join(SCENARIOS)).sort_by_file_name() {
        let path = entry.map_err(|error| format!("{SCENARIOS}: {error}"))?.into_path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !begins_with_schema(&text) {
            let name = path.strip_prefix(root).unwrap_or(&path).display();
            problems.push(format!("{name}: its first line must name the schema: #:schema {SCHEMA_URL}"));
        }
    }
    Ok(problems)
}

/// Whether the first line is the one that taplo reads.
fn begins_with_schema(scenario: &str) -> bool {
    scenario.lines().next().and_then(|line| line.strip_prefix("#:schema ")) == Some(SCHEMA_URL)
}

/// All of it but the title.
pub(crate) fn schema() -> Value {
    let link = |section: Section| (section.name().to_owned(), json!({"$ref": format!("#/$defs/{section}")}));
    let sections: Map<String, Value> = Section::ALL.into_iter().map(link).collect();
    let defs: Map<String, Value> =
        Section::ALL.into_iter().map(|section| (section.name().to_owned(), of_section(section))).collect();
    let overrides = json!({"type": "object", "properties": sections, "additionalProperties": false});
    let quick = |doc: &str| {
        let sets = json!({"type": "array", "items": overrides});
        described(json!({"anyOf": [overrides, sets, {"type": "boolean"}]}), doc)
    };
    let mut of_variant = sections.clone();
    let mut properties = sections;
    for (name, doc) in TOP {
        let form = match *name {
            "variant" => continue,
            "quick" => quick(doc),
            "files" => described(json!({"type": "object", "additionalProperties": {"type": "string"}}), doc),
            "published" => described(json!({"type": "object"}), doc),
            _ => described(json!({"type": "string"}), doc),
        };
        if ["name", "title", "quick"].contains(name) {
            of_variant.insert((*name).to_owned(), form.clone());
        }
        properties.insert((*name).to_owned(), form);
    }
    let doc = TOP.iter().find(|(name, _)| *name == "variant").map_or("", |(_, doc)| doc);
    let variant = json!({"type": "object", "properties": of_variant, "required": ["name"], "additionalProperties": false});
    properties.insert("variant".to_owned(), described(json!({"type": "array", "items": variant}), doc));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_URL,
        "type": "object",
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
        "$defs": defs,
    })
}

fn of_section(section: Section) -> Value {
    let mut table = object();
    for key in Key::of(section) {
        put(&mut table, key.name, key);
    }
    match section {
        // `[[flow]]`, and `[variant.flow]`, which sets a key in each.
        Section::Flow => json!({"anyOf": [{"type": "array", "items": table}, table]}),
        _ => table,
    }
}

/// Puts the value of `key` at the dotted `name` below `parent`.
fn put(parent: &mut Value, name: &str, key: &Key) {
    match name.split_once('.') {
        // Any name below it.
        Some((table, "")) => {
            let any = json!({"type": "object", "additionalProperties": value(key)});
            parent["properties"][table] = described(any, key.doc);
        }
        Some((table, rest)) => {
            let slot = &mut parent["properties"][table];
            if table == "change" {
                if slot.is_null() {
                    *slot = json!({"type": "array", "items": object()});
                }
                put(&mut slot["items"], rest, key);
            } else if let Some(forms) = slot.get_mut("anyOf") {
                put(table_among(forms), rest, key);
            } else {
                if slot.is_null() {
                    *slot = object();
                }
                put(slot, rest, key);
            }
        }
        None => parent["properties"][name] = described(value(key), key.doc),
    }
}

/// The table with named keys among `forms`: it takes the place of one with any keys.
fn table_among(forms: &mut Value) -> &mut Value {
    let forms = forms.as_array_mut().expect("forms are a list");
    let is_table = |form: &Value| form["type"] == "object";
    let at = forms.iter().position(is_table).unwrap_or_else(|| {
        forms.push(object());
        forms.len() - 1
    });
    if forms[at].get("properties").is_none() {
        forms[at] = object();
        forms[at]["properties"]["kind"] = json!({"type": "string"});
    }
    &mut forms[at]
}

/// A value, or a list of values where that makes an axis.
fn value(key: &Key) -> Value {
    let mut forms = forms(key.kind);
    if key.axis {
        // A list may be one value of an axis, too.
        let items = json!({"anyOf": forms});
        forms.push(json!({"type": "array", "items": items, "minItems": 1}));
    }
    let mut value = match &mut forms[..] {
        [only] => only.take(),
        _ => json!({"anyOf": forms}),
    };
    value["examples"] = json!([key.example]);
    if let Some(default) = key.default {
        value["default"] = default.into();
    }
    value
}

/// What a kind of value looks like in TOML.
fn forms(kind: KeyKind) -> Vec<Value> {
    let text = || json!({"type": "string"});
    let begins_with = |pattern: &str| json!({"type": "string", "pattern": pattern});
    match kind {
        KeyKind::Duration | KeyKind::Rate | KeyKind::Bytes | KeyKind::Queue => {
            vec![begins_with("^ *-?[0-9.]")]
        }
        KeyKind::Ratio => vec![begins_with("^ *[0-9.]+ *%")],
        KeyKind::Count => vec![json!({"type": "integer", "minimum": 0}), text()],
        KeyKind::Flag => vec![json!({"type": "boolean"}), text()],
        KeyKind::Application | KeyKind::Aqm | KeyKind::Loss => vec![text(), json!({"type": "object"})],
        KeyKind::Writes => vec![text(), json!({"type": "array", "items": text()})],
        KeyKind::Sysctl => vec![text(), json!({"type": "integer"})],
        KeyKind::Word
        | KeyKind::Buffers
        | KeyKind::Sizes
        | KeyKind::Trace
        | KeyKind::DelayTrace
        | KeyKind::LossTrace
        | KeyKind::Profile
        | KeyKind::Expectation => vec![text()],
    }
}

fn object() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

fn described(mut form: Value, doc: &str) -> Value {
    form["description"] = doc.into();
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_schema_of_this_project() {
        assert!(begins_with_schema(&format!("#:schema {SCHEMA_URL}\nname = \"x\"\n")));
        for text in
            ["", "name = \"x\"\n", "#:schema ../schemas/scenario.json\n", "# A path.\n#:schema https://x\n"]
        {
            assert!(!begins_with_schema(text), "{text}");
        }
        assert_eq!(schema()["$id"], SCHEMA_URL);
    }
}
