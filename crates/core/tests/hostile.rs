//! Hostile input for the parsers: the entries of the fuzz targets, fed for a few seconds without a nightly compiler.
//!
//! Bytes at random find little, so that most input is something valid with a few places changed.

#[path = "../../../fuzz/entries.rs"]
mod entries;

use pipefill_core::scenario::Scenario;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use std::sync::LazyLock;

/// A short run of the lab: its manifest, and some rows of every table.
static RECORD: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../fuzz/seeds/record.json")).expect("the seed is JSON")
});
const TABLES: [&str; 7] = ["tcp", "delivery", "udp", "ping", "path", "cpu", "retransmits"];

const SCENARIO: &str = "path.rtt=[5ms,50ms]\nname = \"t\"\n[path]\nrate = \"1gbit\"\nrtt = [\"5ms\", \"20ms\"]\n\
    queue = \"0.5bdp\"\nloss = \"gilbert-elliott p=1% r=20% loss_bad=100%\"\njitter = \"1ms\"\n\
    jitter_distribution = \"quantiles -1 0 0.5 3\"\n[host]\ntcp_rmem = \"4096 131072 6MiB\"\n\
    [host.sysctl]\n\"net.ipv4.tcp_sack\" = 0\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"20mbit\"\nlength = \"1448B\"\n\
    [[variant]]\nname = \"a\"\n[variant.path]\nreverse_loss = \"packets 3,7,9-12\"\n[run]\nrepeat = 2\nsample = \"10ms\"\n\
    [expect]\ngoodput = \">= 95% of rate\"\n";

/// A table's rows, a line each.
fn lines(table: &str) -> Vec<u8> {
    let rows = RECORD[table].as_array().expect("the seed has every table");
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

fn manifest() -> Vec<u8> {
    RECORD["manifest"].to_string().into_bytes()
}

/// A plan of two cells, as `experiment.json` has it.
fn plan() -> Vec<u8> {
    let file = SCENARIO.split_once('\n').map_or("", |(_, file)| file);
    let scenario = Scenario::parse(file, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    serde_json::to_vec(scenario.plan()).expect("a plan is JSON")
}

/// `whole` with pieces cut out, doubled or overwritten.
fn changed(whole: &[u8], changes: &[(Index, Index, u8)]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for (at, until, kind) in changes {
        if bytes.is_empty() {
            break;
        }
        let (a, b) = (at.index(bytes.len()), until.index(bytes.len()));
        let (start, end) = (a.min(b), a.max(b));
        match kind % 4 {
            0 => bytes.truncate(end),
            1 => drop(bytes.drain(start..end)),
            2 => bytes.splice(start..start, bytes[start..end].to_vec()).for_each(drop),
            _ => bytes[start] = *kind,
        }
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(Index, Index, u8)>> {
    prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_scenario_or_an_error(text in any::<String>(), changes in changes()) {
        entries::scenario(&text);
        entries::scenario(&String::from_utf8_lossy(&changed(SCENARIO.as_bytes(), &changes)));
    }

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

    #[test]
    fn any_json_is_a_plan_or_an_error(changes in changes()) {
        entries::plan(&changed(&plan(), &changes));
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
    assert!(pipefill_core::record::decode_manifest(&*manifest()).is_ok());
    assert!(entries::plan(&plan()) > 1);
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn the_scenario_that_is_changed_is_one() {
    let file = SCENARIO.split_once('\n').map_or("", |(_, file)| file);
    let scenario = pipefill_core::scenario::Scenario::parse(file, "test.toml");
    assert!(scenario.is_ok(), "{}", scenario.err().map(|error| error.to_string()).unwrap_or_default());
}
