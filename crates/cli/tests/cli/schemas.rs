//! What the program prints and records is what `schemas/` says.

use crate::pipefill::{Folder, names};
use jsonschema::Validator;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
name = "all"
[path]
rtt = "4ms"
rate = "20mbit"
loss = ["0%", "1%"]
[[flow]]
duration = "1s"
[[flow]]
protocol = "udp"
bitrate = "1mbit"
duration = "1s"
[[flow]]
protocol = "ping"
payloads = "64B 1400B"
duration = "1s"
[run]
repeat = 2
[expect]
goodput = ">= 1mbit"
"#;

fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(format!("{name}.json"));
    jsonschema::validator_for(&json(&fs::read(path).unwrap())).unwrap()
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)))
}

fn is_of(schema: &Validator, document: &Value, what: &str) {
    let problems: Vec<String> =
        schema.iter_errors(document).map(|one| format!("{}: {one}", one.instance_path())).collect();
    assert!(problems.is_empty(), "{what}: {problems:#?}");
}

/// What `words` print is of the schema `name`, and not without each of its names.
fn printed(folder: &Folder, words: &[&str], name: &str) {
    let document = json(&folder.pipefill(words).assert().success().get_output().stdout);
    let schema = schema(name);
    is_of(&schema, &document, name);
    for member in document.as_object().unwrap().keys() {
        let mut without = document.clone();
        without.as_object_mut().unwrap().remove(member);
        assert!(!schema.is_valid(&without), "{name} does not need {member}");
    }
}

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    folder
}

#[test]
fn every_command_prints_what_its_schema_says() {
    let folder = scene();
    printed(&folder, &["report", "o", "--json"], "report");
    printed(&folder, &["explain", "o", "--json"], "explain");
    printed(&folder, &["compare", "o", "o", "--json"], "compare");
    printed(&folder, &["plan", "s.toml", "--json"], "plan");
    printed(&folder, &["bdp", "--rate", "1gbit", "--rtt", "10ms", "--loss", "1%", "--json"], "bdp");
    printed(&folder, &["fix", "o", "--quiet", "--repeat", "2", "--only", "path.loss=0%", "--json"], "fix");
}

#[test]
fn captures_are_told_as_their_schemas_say() {
    let folder = Folder::new();
    folder.write("s.toml", &SCENARIO.replace("repeat = 2", "repeat = 1"));
    let words = ["run", "s.toml", "--on", "sim", "--quiet", "--capture", "--out", "o"];
    folder.pipefill(&words).assert().success();
    let run = names(&folder.path("o/runs")).remove(0);
    let file = |end: &str| format!("o/runs/{run}/artifacts/{end}.pcapng");
    printed(&folder, &["pcap", &file("sender"), "--json"], "pcap");
    printed(&folder, &["pcap", &file("sender"), &file("receiver"), "--json"], "pcap");
    printed(&folder, &["explain", &file("sender"), "--json"], "explain-capture");
}

#[test]
fn a_stream_is_lines_of_its_schema() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    let words = ["run", "s.toml", "--on", "sim", "--quiet", "--out", "o", "--json-stream=samples"];
    let output = folder.pipefill(&words).assert().success().get_output().stdout.clone();
    let schema = schema("stream");
    let mut lines = 0;
    for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        is_of(&schema, &json(line), "stream");
        lines += 1;
    }
    assert!(lines > 100, "{lines}");
    assert!(!schema.is_valid(&serde_json::json!({"event": "unheard_of"})));
}

#[test]
fn records_are_what_their_schemas_say() {
    let folder = scene();
    let mut tables = 0;
    for run in names(&folder.path("o/runs")) {
        let run = folder.path("o/runs").join(run);
        for file in names(&run) {
            match file.strip_suffix(".jsonl.zst") {
                Some(table) => {
                    let schema = schema(table);
                    let text = zstd::decode_all(fs::File::open(run.join(&file)).unwrap()).unwrap();
                    let rows = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
                    rows.for_each(|row| is_of(&schema, &json(row), table));
                    tables += 1;
                }
                None => is_of(&schema("manifest"), &json(&fs::read(run.join(&file)).unwrap()), "manifest"),
            }
        }
    }
    assert!(tables >= 3 * 5, "{tables}");
}
