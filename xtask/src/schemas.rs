//! The JSON Schemas in `schemas/`, written from the types that are written out.
//!
//! Never: a schema that was edited by hand, or one of a type that no program prints.

use crate::scenario_schema;
use pipefill_analysis::findings::changes::Changes;
use pipefill_analysis::findings::confusion::Catalogue;
use pipefill_analysis::findings::connections::{Captured, Connections, TestFinding};
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::fix::Proof;
use pipefill_analysis::ground::calculator::Calculation;
use pipefill_core::plan::Plan;
use pipefill_core::record::{
    AqmSample, CpuSample, DatagramSample, DeliverySample, Manifest, NO_VALUE, PacketSample, PathSample,
    PingSample, Retransmit, Row, TcpSample, UdpSample,
};
use pipefill_report::explain::{ExplainedCapture, ExplainedOutput, Explanation};
use pipefill_report::html::data_schema;
use pipefill_report::json::OfCells;
use pipefill_report::stream::Event;
use pipefill_report::sweep::SweepStatus;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
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
        ("explain-capture", "pipefill explain CAPTURE --json", schema::<ExplainedCapture<'_>>()),
        ("explain-output", "pipefill explain OUTPUT --json", schema::<ExplainedOutput<'_>>()),
        ("fix", "pipefill fix --json", schema::<OfCells<'_, Proof>>()),
        ("plan", "pipefill plan --json", schema::<Plan>()),
        ("bdp", "pipefill bdp --json", schema::<Calculation>()),
        ("stream", "a line of pipefill run --json-stream", schema::<Event<'_>>()),
        ("pcap", "pipefill pcap --json", schema::<Captured>()),
        ("watch", "pipefill watch --json, a line of watch --json-stream", schema::<Connections>()),
        ("sweep", "pipefill sweep DIR --json", schema::<SweepStatus<'_>>()),
        ("test", "the member pipefill of pipefill test --json", schema::<TestFinding>()),
        ("catalogue", "pipefill catalogue --json", schema::<Catalogue>()),
        ("page", "PageData", data_schema()),
        ("manifest", "manifest.json of a run", schema::<Manifest>()),
        ("tcp", "a line of tcp.jsonl.zst", line::<TcpSample>()),
        ("delivery", "a line of delivery.jsonl.zst", line::<DeliverySample>()),
        ("udp", "a line of udp.jsonl.zst", line::<UdpSample>()),
        ("ping", "a line of ping.jsonl.zst", line::<PingSample>()),
        ("path", "a line of path.jsonl.zst", line::<PathSample>()),
        ("cpu", "a line of cpu.jsonl.zst", line::<CpuSample>()),
        ("retransmits", "a line of retransmits.jsonl.zst", line::<Retransmit>()),
        ("packets", "a line of packets.jsonl.zst", line::<PacketSample>()),
        ("datagrams", "a line of datagrams.jsonl.zst", line::<DatagramSample>()),
        ("aqm", "a line of aqm.jsonl.zst", line::<AqmSample>()),
    ];
    let scenario =
        Schema::try_from(scenario_schema::schema()).map_err(|error| format!("scenario: {error}"))?;
    let schemas = schemas.into_iter().chain([("scenario", "a scenario's file", scenario)]);
    schemas.map(|(name, title, schema)| Ok((format!("{name}.json"), text(title, schema)?))).collect()
}

/// As the type is written: what can be null is there, as null.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// A row as a table's line has it, which is without null: see `pipefill_core::record::Gaps`.
fn line<R: Row + JsonSchema>() -> Schema {
    let mut schema = schema::<R>();
    let object = schema.ensure_object();
    let mut missing = Vec::new();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties.iter_mut().filter(|(_, property)| takes_null(property)) {
            without_null(property);
            if R::GAPS.numbers.contains(&name.as_str()) {
                note(property, &format!("In a table {NO_VALUE} stands for null."));
                property.as_object_mut().and_then(|members| members.remove("format"));
            } else if R::GAPS.texts.contains(&name.as_str()) {
                note(property, "In a table an empty text stands for null.");
                if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
                    choices.push(json!({"const": ""}));
                }
            } else {
                note(property, "In a table it is left out and not null.");
                missing.push(name.clone());
            }
        }
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|name| !missing.iter().any(|missing_name| name == missing_name));
    }
    schema
}

fn takes_null(property: &Value) -> bool {
    let types = property["type"].as_array().into_iter().flatten().any(|kind| kind == "null");
    types || property["anyOf"].as_array().into_iter().flatten().any(|choice| choice["type"] == "null")
}

fn without_null(property: &mut Value) {
    if let Some(only) =
        property["type"].as_array().and_then(|types| types.iter().find(|kind| *kind != "null").cloned())
    {
        property["type"] = only;
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
    }
}

fn note(property: &mut Value, sentence: &str) {
    let described = property["description"].as_str().unwrap_or_default();
    property["description"] = format!("{described} {sentence}").trim_start().into();
}

fn text(title: &str, mut schema: Schema) -> Result<String, String> {
    schema.insert("title".to_owned(), title.into());
    Ok(serde_json::to_string_pretty(&schema).map_err(|error| format!("{title}: {error}"))? + "\n")
}
