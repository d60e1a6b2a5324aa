//! Hostile input for the parsers: the entries of the fuzz targets, fed for a few seconds without a nightly compiler.
//!
//! Bytes at random find little, so that most input is something valid with a few places changed.

#[path = "../../../fuzz/entries.rs"]
mod entries;

use pipefill_core::record::{TcpSample, encode_table};
use proptest::prelude::*;
use proptest::sample::Index;

const SCENARIO: &str = "path.rtt=[5ms,50ms]\nname = \"t\"\n[path]\nrate = \"1gbit\"\nrtt = [\"5ms\", \"20ms\"]\n\
    queue = \"0.5bdp\"\nloss = \"gilbert-elliott p=1% r=20% loss_bad=100%\"\njitter = \"1ms\"\n\
    jitter_distribution = \"quantiles -1 0 0.5 3\"\n[host]\ntcp_rmem = \"4096 131072 6MiB\"\n\
    [host.sysctl]\n\"net.ipv4.tcp_sack\" = 0\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"20mbit\"\nlength = \"1448B\"\n\
    [[variant]]\nname = \"a\"\n[variant.path]\nreverse_loss = \"packets 3,7,9-12\"\n[run]\nrepeat = 2\nsample = \"10ms\"\n\
    [expect]\ngoodput = \">= 95% of rate\"\n";

/// A table without a row as it is written.
fn table() -> Vec<u8> {
    let rows: Vec<TcpSample> = Vec::new();
    let mut bytes = Vec::new();
    encode_table(&rows, &mut bytes).expect("no rows can be written");
    bytes
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
        entries::records(&changed(&table(), &changes));
    }
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn the_scenario_that_is_changed_is_one() {
    let file = SCENARIO.split_once('\n').map_or("", |(_, file)| file);
    let scenario = pipefill_core::scenario::Scenario::parse(file, "test.toml");
    assert!(scenario.is_ok(), "{}", scenario.err().map(|error| error.to_string()).unwrap_or_default());
}
