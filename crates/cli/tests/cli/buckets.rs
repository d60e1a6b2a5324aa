//! Token buckets in the simulator: one that hides the rate, one that holds less than a BDP; and buffers that a scenario's host caps.

use crate::pipefill::Folder;
use serde_json::Value;

/// The cells of `scenario`, run in the simulator.
fn cells(scenario: &str) -> Vec<Value> {
    let folder = Folder::new();
    folder.write("s.toml", scenario);
    let output = folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["cells"].as_array().unwrap().clone()
}

fn first_advice(cell: &Value) -> (&str, &str) {
    let advice = &cell["advice"][0];
    (advice["target"].as_str().unwrap(), advice["change"].as_str().unwrap())
}

/// What Kubernetes once wrote for a limit of 10 Mbit/s: a bucket of 256 MB, of which 32 are enough to show it.
#[test]
fn a_bucket_that_hides_the_rate_is_said_and_a_small_one_proposed() {
    let scenario = |burst: &str| {
        format!(
            "name = \"bucket\"\n[path]\nrate = \"10mbit\"\nrtt = \"1ms\"\nburst = \"{burst}\"\nqueue = \"64KiB\"\n\
             [[flow]]\nduration = \"4s\"\n[run]\nrepeat = 1\nwarmup = \"0s\"\n"
        )
    };
    let cell = &cells(&scenario("32MiB"))[0];
    let verdict = cell["verdict"].as_str().unwrap();
    assert!(verdict.contains("The token bucket (33.6 MB) let any rate pass for the first"), "{verdict}");
    assert_eq!(first_advice(cell), ("bottleneck", "path.burst=32768B"), "{cell:#}");
    let predicted = cell["advice"][0]["predicted_bps"].as_f64().unwrap();
    let after = cells(&scenario("32768B"));
    let measured = after[0]["goodput_bps"].as_f64().unwrap();
    assert!((predicted / measured - 1.0).abs() <= 0.2, "{predicted} predicted, {measured} measured");
    let verdict = after[0]["verdict"].as_str().unwrap();
    assert!(!verdict.contains("token bucket"), "{verdict}");
}

/// With the queue that tc makes of its latency hosts are done with the bucket within milliseconds, and the warm-up leaves them out.
#[test]
fn a_bucket_that_most_bytes_fit_into_is_said_however_short_it_lasts() {
    for warmup in ["", "warmup = \"0s\"\n"] {
        let scenario = format!(
            "name = \"bucket\"\n[path]\nrate = \"10mbit\"\nrtt = \"1ms\"\nburst = \"256MiB\"\nqueue = \"262175KiB\"\n\
             [[flow]]\nduration = \"10s\"\n[run]\nrepeat = 1\n{warmup}"
        );
        let cell = &cells(&scenario)[0];
        let verdict = cell["verdict"].as_str().unwrap();
        assert!(verdict.contains("The token bucket (268 MB) let any rate pass for the first"), "{verdict}");
        assert!(!verdict.contains("excess"), "said once: {verdict}");
        assert_eq!(first_advice(cell), ("bottleneck", "path.burst=32768B"), "{cell:#}");
    }
}

/// An ingress policer as Open vSwitch makes it, by a bucket of the bottleneck and by the key for it.
#[test]
fn a_policer_whose_bucket_is_small_is_one_at_any_round_trip() {
    let paths = [
        "rate = \"15mbit\"\nburst = \"20KiB\"\nqueue = \"1p\"",
        "policer = { rate = \"15mbit\", burst = \"6kB\" }",
    ];
    for (path, key) in paths.into_iter().zip(["path.burst", "path.policer.burst"]) {
        let scenario = format!(
            "name = \"policer\"\n[path]\nrtt = [\"20ms\", \"60ms\"]\n{path}\n[[flow]]\nduration = \"10s\"\n[run]\nrepeat = 1\n"
        );
        for cell in cells(&scenario) {
            assert_eq!(
                (&cell["limited_by"], &cell["cause"]),
                (&"cwnd".into(), &"policer".into()),
                "{cell:#}"
            );
            let (target, change) = first_advice(&cell);
            assert!(target == "bottleneck" && change.starts_with(key), "{change}");
        }
    }
}

/// `sk_setsockopt()`: what a program asks for beyond `net.core.rmem_max` becomes it, doubled.
#[test]
fn a_scenarios_maximum_of_buffers_holds_for_its_sockets() {
    let cell = &cells(
        "name = \"clamp\"\n[path]\nrate = \"1gbit\"\nrtt = \"50ms\"\n[receiver.sysctl]\n\"net.core.rmem_max\" = 212992\n\
         [[flow]]\nrcvbuf = \"32MiB\"\nduration = \"5s\"\n[run]\nrepeat = 1\n",
    )[0];
    assert_eq!((&cell["limited_by"], &cell["cause"]), (&"rwnd".into(), &"rmem_max".into()), "{cell:#}");
    let window = cell["rwnd_bytes_p50"].as_u64().unwrap();
    assert!((212_992..2 * 212_992).contains(&window), "{window}");
}

#[test]
fn the_simulator_has_no_buffers_of_datagrams_and_says_so() {
    let folder = Folder::new();
    folder.write(
        "s.toml",
        "name = \"udp\"\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"10mbit\"\nrcvbuf = \"8KiB\"\n",
    );
    let output = folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("does not model the buffers of UDP sockets") && told.contains("--on lab"),
        "{told}"
    );
}
