//! Hostile input for the parsers: the entries of the fuzz targets, fed for a few seconds without a nightly compiler.

use pipefill_core::scenario::Scenario;
use pipefill_testkit::changes::{changed, changes};
use pipefill_testkit::entries::scenarios as entries;
use proptest::prelude::*;

const SCENARIO: &str = "path.rtt=[5ms,50ms]\nname = \"t\"\n[path]\nrate = \"1gbit\"\nrtt = [\"5ms\", \"20ms\"]\n\
    queue = \"0.5bdp\"\nloss = \"gilbert-elliott p=1% r=20% loss_bad=100%\"\njitter = \"1ms\"\n\
    jitter_distribution = \"quantiles -1 0 0.5 3\"\n[host]\ntcp_rmem = \"4096 131072 6MiB\"\n\
    [host.sysctl]\n\"net.ipv4.tcp_sack\" = 0\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"20mbit\"\nlength = \"1448B\"\n\
    [[flow]]\napp = { kind = \"writes\", sizes = [[\"300B\"], [\"300B\", \"1200B\"]], think = \"1ms\" }\nnodelay = true\n\
    [[flow]]\napp = [\"bulk\", { kind = \"requests\", response = \"64KiB\", count = 3 }]\n\
    [[variant]]\nname = \"a\"\n[variant.path]\nreverse_loss = \"packets 3,7,9-12\"\n[run]\nrepeat = 2\nsample = \"10ms\"\n\
    [expect]\ngoodput = \">= 95% of rate\"\n";

/// A plan of two cells, as `experiment.json` has it.
fn plan() -> Vec<u8> {
    let file = SCENARIO.split_once('\n').map_or("", |(_, file)| file);
    let scenario = Scenario::parse(file, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    serde_json::to_vec(scenario.plan()).expect("a plan is JSON")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_scenario_or_an_error(text in any::<String>(), changes in changes()) {
        entries::scenario(&text);
        entries::scenario(&String::from_utf8_lossy(&changed(SCENARIO.as_bytes(), &changes)));
    }

    #[test]
    fn any_json_is_a_plan_or_an_error(changes in changes()) {
        entries::plan(&changed(&plan(), &changes));
    }
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn the_scenario_that_is_changed_is_one() {
    let file = SCENARIO.split_once('\n').map_or("", |(_, file)| file);
    let scenario = pipefill_core::scenario::Scenario::parse(file, "test.toml");
    assert!(scenario.is_ok(), "{}", scenario.err().map(|error| error.to_string()).unwrap_or_default());
    assert!(entries::plan(&plan()) > 1);
}
