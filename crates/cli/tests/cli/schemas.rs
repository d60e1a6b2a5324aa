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
        schema.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
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

/// A TOML document as the JSON that a checker of editors sees.
fn as_json(text: &str) -> Value {
    use toml_edit::{Array, Item, Table, Value as Toml};
    fn of_value(value: &Toml) -> Value {
        match value {
            Toml::String(text) => text.value().as_str().into(),
            Toml::Integer(number) => (*number.value()).into(),
            Toml::Float(number) => (*number.value()).into(),
            Toml::Boolean(flag) => (*flag.value()).into(),
            Toml::Datetime(time) => time.value().to_string().into(),
            Toml::Array(values) => of_values(values),
            Toml::InlineTable(table) => {
                Value::Object(table.iter().map(|(name, value)| (name.to_owned(), of_value(value))).collect())
            }
        }
    }
    fn of_values(values: &Array) -> Value {
        Value::Array(values.iter().map(of_value).collect())
    }
    fn of_table(table: &Table) -> Value {
        Value::Object(table.iter().map(|(name, item)| (name.to_owned(), of_item(item))).collect())
    }
    fn of_item(item: &Item) -> Value {
        match item {
            Item::None => Value::Null,
            Item::Value(value) => of_value(value),
            Item::Table(table) => of_table(table),
            Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(of_table).collect()),
        }
    }
    of_table(text.parse::<toml_edit::DocumentMut>().unwrap().as_table())
}

fn scenarios_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = files.partition(|path| path.is_dir());
    let is_toml = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    files
        .into_iter()
        .filter(is_toml)
        .chain(folders.iter().flat_map(|folder| scenarios_below(folder)))
        .collect()
}

#[test]
fn shipped_scenarios_are_of_the_schema_that_editors_use() {
    let schema = schema("scenario");
    let files = scenarios_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    assert!(files.len() > 100, "{}", files.len());
    for file in files {
        is_of(&schema, &as_json(&fs::read_to_string(&file).unwrap()), &file.display().to_string());
    }
}

#[test]
fn the_schema_takes_every_key_with_its_example_and_no_other_key() {
    let schema = schema("scenario");
    for key in pipefill_core::scenario::KEYS {
        for section in key.sections {
            let name = if key.name.ends_with('.') {
                format!("{}\"net.a.b\"", key.name)
            } else {
                key.name.to_owned()
            };
            let lines = match name.strip_prefix("change.") {
                Some(name) => format!("[[{section}.change]]\n{name} = {:?}\n", key.example),
                None if name.starts_with("app.") => {
                    format!("[{section}]\napp.kind = \"requests\"\n{name} = {:?}\n", key.example)
                }
                None => format!("[{section}]\n{name} = {:?}\n", key.example),
            };
            let scenario = as_json(&format!("name = \"a\"\n{lines}"));
            is_of(&schema, &scenario, &lines);
            let variant =
                serde_json::json!({"name": "a", "variant": [{"name": "b", "path": scenario["path"]}]});
            assert!(scenario.get("path").is_none() || schema.is_valid(&variant), "{lines}");
        }
    }
    for wrong in [
        "[path]\nrttt = \"1ms\"",
        "[path]\nrtt = 80",
        "[path]\nloss = 0.01",
        "[flow]\nduration = true",
        "[nowhere]\na = 1",
    ] {
        assert!(!schema.is_valid(&as_json(&format!("name = \"a\"\n{wrong}\n"))), "{wrong}");
    }
    assert!(!schema.is_valid(&serde_json::json!({"title": "without a name"})));
}
