//! What `path.rate_layer` counts: frames as tc's tbf does, or what an Ethernet wire carries.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;

/// Payload bits per second of the third second: past slow start.
fn goodput_bps(layer: &str, direction: &str) -> f64 {
    goodput_with(&format!("rate_layer = \"{layer}\""), direction, 1_000)
}

fn goodput_with(keys: &str, direction: &str, mbit: u64) -> f64 {
    let text = format!(
        "name = \"layer\"\n[path]\nrtt = \"2ms\"\nrate = \"{mbit}mbit\"\nreverse_rate = \"{mbit}mbit\"\nqueue = \"2bdp\"\n\
         reverse_queue = \"2bdp\"\n{keys}\n[[flow]]\ndirection = \"{direction}\"\nduration = \"3s\"\n\
         [run]\nrepeat = 1\n"
    );
    let scenario = Scenario::parse(&text, "layer.toml").unwrap_or_else(|error| panic!("{error}"));
    let record =
        Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{error}"));
    let at = |t_us: u64| {
        let row = record.delivery.iter().rfind(|row| row.t_us <= t_us).expect("samples");
        (row.t_us as f64, row.received_bytes as f64)
    };
    let ((from_us, from), (to_us, to)) = (at(2_000_000), at(2_990_000));
    (to - from) * 8e6 / (to_us - from_us)
}

/// 1448 bytes of each 1514 are payload, and of each 1538 on the wire: what iperf3 shows on Gigabit Ethernet.
#[test]
fn a_gigabit_leaves_956_megabits_of_frames_and_941_of_the_wire() {
    for direction in ["forward", "reverse"] {
        for (layer, want) in [("frame", 956.4e6), ("wire", 941.5e6)] {
            let got = goodput_bps(layer, direction);
            assert!(
                (got / want - 1.0).abs() < 0.002,
                "{direction} {layer}: {got:.0} instead of {want:.0} bit/s"
            );
        }
    }
}

/// A full segment is 33 cells with PPPoE in LLC/SNAP: 1749 bytes, as tc's `stab` counts it with `overhead 26 linklayer atm`.
#[test]
fn cells_an_encoding_and_a_least_size_cost_what_tc_says() {
    for (keys, cost) in [
        ("rate_layer = \"pppoe-llcsnap\"", 1749.0),
        ("rate_layer = \"atm\"\noverhead = \"26B\"", 1749.0),
        ("rate_layer = \"pppoa-vcmux\"", 1696.0),
        ("rate_layer = \"docsis\"", 1518.0),
        ("rate_layer = \"ptm\"\noverhead = \"16B\"", 1554.0),
        ("overhead = \"-14B\"", 1500.0),
        ("mpu = \"2000B\"", 2000.0),
    ] {
        let (got, want) = (goodput_with(keys, "forward", 100), 100e6 * 1448.0 / cost);
        assert!((got / want - 1.0).abs() < 0.005, "{keys}: {got:.0} instead of {want:.0} bit/s");
    }
}
