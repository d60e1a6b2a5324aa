//! Every verdict of three sets of scenarios in the simulator: the catalogue, what 0.1.0 judged wrong, and the held-out set, whose expectations
//! were written before any run. Each flow's limiter is as expected, and no sentence contradicts itself.

use crate::catalogue;
use crate::pipefill::Folder;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A measured rate may be this much above a bound that the same sentence tells, by rounding to three digits and by the ends of epochs.
const ABOVE: f64 = 1.02;
/// What Little's law gives agrees with what was measured in the same time within this.
const AGREES: f64 = 0.12;
/// A prediction of theory, beside what was measured.
const THEORY: std::ops::RangeInclusive<f64> = 0.5..=2.0;

#[test]
fn the_catalogue_says_nothing_that_contradicts_itself() {
    let folder = Folder::new();
    let records = catalogue::records();
    all_right(&entries(&records.folder, 94), |scenario| {
        let words = ["report", scenario.to_str().unwrap(), "--format", "json"];
        of_result(scenario, &folder.pipefill(&words).output().unwrap())
    });
}

#[test]
fn what_was_judged_wrong_is_right() {
    judge("testdata/wrong-verdicts", 40);
}

#[test]
fn the_held_out_scenarios_are_right() {
    judge("testdata/held-out-verdicts", 91);
}

/// Runs every scenario of `set`, of which there are `count`.
fn judge(set: &str, count: usize) {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(set);
    all_right(&entries(&root, count), |file| {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let words = ["run", file.to_str().unwrap(), "--on", "sim", "--out", name, "--json", "--quiet"];
        let wrong = of_result(file, &folder.pipefill(&words).output().unwrap());
        fs::remove_dir_all(folder.path(name)).unwrap();
        wrong
    });
}

/// The scenarios in `root`, of which there are `count`, or their records.
fn entries(root: &Path, count: usize) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir() || path.extension().is_some_and(|e| e == "toml"));
    assert_eq!(found.len(), count, "{}", root.display());
    found
}

/// No scenario has a complaint by `of_scenario`; as many are looked at in parallel as there are CPUs.
fn all_right(scenarios: &[PathBuf], of_scenario: impl Fn(&Path) -> Vec<String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(of_scenario(scenario));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with the verdicts of one scenario.
fn of_result(scenario: &Path, output: &Output) -> Vec<String> {
    let name = scenario.file_stem().unwrap().to_str().unwrap();
    let Ok(result) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![format!("{name}: {}", String::from_utf8_lossy(&output.stderr))];
    };
    let cells = result["cells"].as_array().unwrap();
    cells.iter().flat_map(of_cell).map(|what| format!("{name}: {what}")).collect()
}

fn of_cell(cell: &Value) -> Vec<String> {
    let failed =
        cell["expectations"].as_array().unwrap().iter().filter(|expectation| expectation["held"] != true);
    let mut wrong: Vec<String> = failed
        .map(|expectation| format!("expected {}, measured {}", expectation["text"], expectation["measured"]))
        .collect();
    if cell["verdict"].is_null() {
        wrong.push("no verdict".to_owned());
    }
    for flow in cell["flows"].as_array().unwrap() {
        let sentence = flow["verdict"].as_str().unwrap_or_default();
        wrong.extend(contradictions(sentence));
        let theory = flow["predicted_bps"].as_f64().zip(flow["goodput_bps"].as_f64());
        let is_off = theory.filter(|(predicted, measured)| !THEORY.contains(&(predicted / measured)));
        wrong.extend(
            is_off.map(|(predicted, measured)| {
                format!("predicted {predicted}, measured {measured}: {sentence}")
            }),
        );
    }
    wrong
}

/// Where a sentence tells a bound and, right after it, more than that was measured without a reason; or figures that cannot be.
fn contradictions(sentence: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let has_a_reason = ["before the measured time", "had arrived before", "were in flight before"]
        .iter()
        .any(|reason| sentence.contains(reason));
    for bound in
        ["allows ", "carries at most ", "the pacing rate ", "application reads ", "application offers "]
    {
        if let Some((allowed, measured)) = bound_and_measured(sentence, bound)
            && measured > ABOVE * allowed
            && !has_a_reason
        {
            wrong.push(format!("{measured} of {allowed}: {sentence}"));
        }
    }
    if let Some((product, measured)) = bound_and_measured(sentence, " gives ")
        && !sentence.contains("theory gives")
        && (product / measured - 1.0).abs() > AGREES
    {
        wrong.push(format!("{product} is not {measured}: {sentence}"));
    }
    let odd = ["0.00 µs", "NaN", "inf ", " 0.00 bit/s were measured, so it is full"];
    wrong.extend(
        odd.iter().filter(|text| sentence.contains(**text)).map(|text| format!("{text}: {sentence}")),
    );
    wrong
}

/// The rate after `words`, and the one before "were measured".
fn bound_and_measured(sentence: &str, words: &str) -> Option<(f64, f64)> {
    let (_, after) = sentence.split_once(words)?;
    let (measured, _) = after.split_once(" were measured")?;
    let measured = rate(measured.rsplit([',', ';']).next()?.trim_start())?;
    Some((rate(after)?, measured))
}

/// The rate at the beginning of `text`, bits per second.
fn rate(text: &str) -> Option<f64> {
    let mut words = text.split([' ', ',', ';']);
    let value: f64 = words.next()?.parse().ok()?;
    let factor = match words.next()? {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        _ => return None,
    };
    Some(value * factor)
}

#[test]
fn the_reader_of_sentences_finds_a_contradiction() {
    let of = |text: &str| contradictions(text).len();
    assert_eq!(
        of(
            "an advertised window of 65.5 kB per 50.0 ms round trip allows 10.5 Mbit/s; 30.4 Mbit/s were measured."
        ),
        1
    );
    assert_eq!(
        of(
            "an advertised window of 65.5 kB per 50.0 ms round trip allows 10.5 Mbit/s; 10.4 Mbit/s were measured."
        ),
        0
    );
    assert_eq!(
        of(
            "it carries at most 95.6 Mbit/s of payload (100 Mbit/s with headers); 98.4 Mbit/s were measured, so it is full"
        ),
        1
    );
    assert_eq!(
        of("1 MB were in flight on average; 1 MB / 41.0 ms gives 4.18 Mbit/s, 8.99 Mbit/s were measured"),
        1
    );
    assert_eq!(
        of("1 MB were in flight on average; 1 MB / 41.0 ms gives 4.18 Mbit/s, 3.99 Mbit/s were measured"),
        0
    );
}
