//! The JSON Schemas in `schemas/`, written from the types that are written out.
//!
//! Never: a schema that was edited by hand, or one of a type that no program prints.

use pipefill_analysis::calculator::Calculation;
use pipefill_analysis::changes::Changes;
use pipefill_analysis::experiment::Experiment;
use pipefill_analysis::proof::Proof;
use pipefill_core::plan::Plan;
use pipefill_core::record::{
    CpuSample, DeliverySample, Manifest, PathSample, PingSample, Retransmit, TcpSample, UdpSample,
};
use pipefill_report::explain::Explanation;
use pipefill_report::html::data_schema;
use pipefill_report::json::OfCells;
use pipefill_report::stream::Event;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Their folder, relative to the workspace.
const FOLDER: &str = "schemas";

/// Writes all of them.
///
/// # Errors
/// A file can't be written.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for (name, text) in all()? {
        fs::write(folder.join(&name), text).map_err(|error| format!("{FOLDER}/{name}: {error}"))?;
    }
    Ok(())
}

/// What is wrong with them as they are.
///
/// # Errors
/// A schema can't be made.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let is_current = |name: &str, text: &str| {
        fs::read_to_string(root.join(FOLDER).join(name)).is_ok_and(|old| old == text)
    };
    let outdated = |(name, text): (String, String)| {
        (!is_current(&name, &text))
            .then(|| format!("{FOLDER}/{name} is out of date: cargo run -p xtask -- schemas"))
    };
    Ok(all()?.into_iter().filter_map(outdated).collect())
}

/// Each schema's file and text.
fn all() -> Result<BTreeMap<String, String>, String> {
    let schemas = [
        ("report", "pipefill report --json, run --json, study NAME --json", schema::<Experiment>()),
        ("compare", "pipefill compare --json", schema::<Changes>()),
        ("explain", "pipefill explain --json", schema::<OfCells<'_, Explanation<'_>>>()),
        ("fix", "pipefill fix --json", schema::<OfCells<'_, Proof>>()),
        ("plan", "pipefill plan --json", schema::<Plan>()),
        ("bdp", "pipefill bdp --json", schema::<Calculation>()),
        ("stream", "a line of pipefill run --json-stream", schema::<Event<'_>>()),
        ("page", "PageData", data_schema()),
        ("manifest", "manifest.json of a run", schema::<Manifest>()),
        ("tcp", "a line of tcp.jsonl.zst", schema::<TcpSample>()),
        ("delivery", "a line of delivery.jsonl.zst", schema::<DeliverySample>()),
        ("udp", "a line of udp.jsonl.zst", schema::<UdpSample>()),
        ("ping", "a line of ping.jsonl.zst", schema::<PingSample>()),
        ("path", "a line of path.jsonl.zst", schema::<PathSample>()),
        ("cpu", "a line of cpu.jsonl.zst", schema::<CpuSample>()),
        ("retransmits", "a line of retransmits.jsonl.zst", schema::<Retransmit>()),
    ];
    schemas
        .into_iter()
        .map(|(name, title, schema)| Ok((format!("{name}.json"), text(title, schema)?)))
        .collect()
}

/// As the type is written: what can be null is there, as null.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn text(title: &str, mut schema: Schema) -> Result<String, String> {
    schema.insert("title".to_owned(), title.into());
    Ok(serde_json::to_string_pretty(&schema).map_err(|error| format!("{title}: {error}"))? + "\n")
}
