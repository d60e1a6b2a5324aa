//! Hostile records, `experiment.json`s and files of the registry: the entries of the fuzz targets, fed for a few seconds without a nightly
//! compiler. Any bytes are what they should be, or an error; never a panic.

use pipefill_core::scenario::Scenario;
use pipefill_store::{
    ExperimentDirectory, Owner, Records, Registry, Request, StoreError, SummaryWriter, summaries,
};
use pipefill_testkit::changes::{changed, changes};
use pipefill_testkit::entries::record::RECORD;
use pipefill_testkit::entries::records as entries;
use proptest::prelude::*;
use proptest::sample::Index;
use std::fs;
use std::path::Path;

const TABLES: [&str; 8] = ["tcp", "delivery", "udp", "ping", "path", "cpu", "retransmits", "packets"];
const EXPERIMENT: &str = "experiment.json";
const SCENARIO: &str = "name = \"tiny\"\n[path]\nrtt = [\"1ms\", \"10ms\"]\nrate = \"100mbit\"\n";

/// A table's rows, a line each.
fn lines(table: &str) -> Vec<u8> {
    let rows = RECORD[table].as_array().expect("the seed has every table");
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

fn manifest() -> Vec<u8> {
    RECORD["manifest"].to_string().into_bytes()
}

/// Does `what` with an experiment of two cells, as it is asked for.
fn with_request<T>(what: impl FnOnce(&Request<'_>) -> T) -> T {
    let scenario = Scenario::parse(SCENARIO, "tiny.toml").unwrap_or_else(|error| panic!("{error}"));
    let plan = scenario.plan();
    what(&Request {
        backend: "sim",
        study: None,
        scenario: SCENARIO,
        set: &[],
        only: &[],
        quick: false,
        plan,
        part_of: None,
        records: Records::Rows,
    })
}

/// The text of an `experiment.json`, made in `folder`.
fn stored(folder: &Path) -> String {
    with_request(|request| ExperimentDirectory::create(folder, request)).unwrap();
    fs::read_to_string(folder.join(EXPERIMENT)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600), changes in changes()) {
        entries::records(&bytes);
        entries::records(&changed(&manifest(), &changes));
    }

    #[test]
    fn any_lines_are_rows_or_an_error(table in 0..TABLES.len(), changes in changes()) {
        let rows = changed(&lines(TABLES[table]), &changes);
        entries::rows(&rows);
        let whole = zstd::encode_all(&*lines(TABLES[table]), 1).expect("memory");
        entries::records(&changed(&whole, &changes));
    }

    /// Digits alone, so that most of it stays JSON.
    #[test]
    fn any_number_is_taken_or_refused(table in 0..TABLES.len(), digits in prop::collection::vec((any::<Index>(), b'0'..=b'9'), 1..6)) {
        let mut bytes = lines(TABLES[table]);
        for (at, digit) in digits {
            let numbers: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
            let at = numbers[at.index(numbers.len())];
            bytes.splice(at..at, std::iter::repeat_n(digit, 5));
        }
        entries::rows(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_experiment_json_is_one_or_an_error(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        let text = stored(folder.path());
        fs::write(folder.path().join(EXPERIMENT), changed(text.as_bytes(), &changes)).unwrap();
        if let Ok(Some(experiment)) = ExperimentDirectory::open(folder.path()) {
            let plan = &experiment.stored.plan;
            prop_assert_eq!(plan.runs().len(), plan.run_count());
            let _same_or_not = with_request(|request| experiment.stored.difference(request));
        }
    }

    #[test]
    fn any_file_of_summaries_is_one_or_an_error(changes in changes(), figures in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let manifest = pipefill_store::decode_manifest(&*manifest()).unwrap();
        let mut writer = SummaryWriter::open(folder.path()).unwrap();
        for _ in 0..3 {
            writer.append(&manifest, &figures).unwrap();
            writer.flush().unwrap();
        }
        let read = || -> Result<Vec<u64>, StoreError> {
            summaries(folder.path())?.map(|summary| Ok(summary?.read::<u64>()?.1)).collect()
        };
        prop_assert_eq!(read().unwrap(), [figures]);
        let file = folder.path().join("summary.jsonl.zst");
        let bytes = changed(&fs::read(&file).unwrap(), &changes);
        fs::write(&file, bytes).unwrap();
        // What is left of it is what it was.
        prop_assert!(read().map_or(true, |all| all.iter().all(|kept| *kept == figures)));
    }

    #[test]
    fn any_entry_of_the_registry_is_one_or_is_let_alone(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(&folder.path().join("registry"));
        let owner = Owner::current().unwrap();
        let entry = registry.enter(&owner, folder.path(), false).unwrap();
        let file = fs::read_dir(folder.path().join("registry")).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, changed(text.as_bytes(), &changes)).unwrap();
        registry.sweep().unwrap();
        drop(entry);
    }
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn what_is_changed_is_read_as_it_is() {
    for table in TABLES {
        let rows = RECORD[table].as_array().map_or(0, Vec::len);
        assert!(rows >= 3, "{table} has {rows} rows");
        assert!(entries::rows(&lines(table)) >= rows, "{table}");
    }
    assert!(pipefill_store::decode_manifest(&*manifest()).is_ok());
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path());
    assert!(ExperimentDirectory::open(folder.path()).unwrap().is_some());
}
