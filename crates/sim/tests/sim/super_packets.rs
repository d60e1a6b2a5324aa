//! Whole super-packets lost, as `tc netem` draws on a virtual NIC, against single segments, as a wire loses them.
//!
//! The figures are those of the virtual Linux 6.12: CUBIC, `tcp_rmem` 4096 87380 6291456, `tcp_wmem` 4096 16384 4194304, 1 % loss,
//! means of runs of 5 s (netem's seeds 7 to 9 and 11 to 14 with super-packets at 0.2 ms, else 11 to 14). 10 Gbit/s with
//! super-packets, 2 Gbit/s without; here both with the same rate, which limits neither.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;

/// The mean over four seeds: a run of 3 s sees some hundred losses only.
fn goodput_bps(rtt_us: u32, unit: &str) -> f64 {
    let text = format!(
        "name = \"loss\"\n[path]\nrtt = \"{rtt_us}us\"\nrate = \"10gbit\"\nqueue = \"12500000B\"\nloss = \"1%\"\n\
         loss_unit = \"{unit}\"\n[host]\ntcp_rmem = \"4096 87380 6291456\"\ntcp_wmem = \"4096 16384 4194304\"\n\
         [[flow]]\nduration = \"3s\"\n[run]\nrepeat = 4\nseed = 7\n"
    );
    let scenario = Scenario::parse(&text, "loss.toml").unwrap_or_else(|error| panic!("{error}"));
    let runs = scenario.plan().runs();
    let goodputs = runs.iter().map(|run| {
        let record = Sim::new().run(run, &Unwatched).unwrap_or_else(|error| panic!("{error}"));
        let stream = &record.manifest.streams[0];
        stream.received_bytes as f64 * 8e6 / (stream.stop_us - stream.start_us) as f64
    });
    goodputs.sum::<f64>() / runs.len() as f64
}

/// Single runs of the virtual Linux lie 0.86 to 1.50 Gbit/s and 327 to 385 Mbit/s at 0.2 ms, 321 to 605 and 64 to 83 Mbit/s at 1 ms.
#[test]
fn a_loss_of_super_packets_costs_far_less_than_one_of_segments() {
    for (rtt_us, whole, single) in [(200, 1180e6, 358e6), (1000, 480e6, 74.8e6)] {
        let (got_whole, got_single) = (goodput_bps(rtt_us, "super-packet"), goodput_bps(rtt_us, "segment"));
        println!("{rtt_us} us: {got_whole:.0} and {got_single:.0} bit/s");
        let (ratio, want) = (got_whole / got_single, whole / single);
        assert!(
            (want / 1.5..want * 1.5).contains(&ratio),
            "{rtt_us} us: {ratio:.2} times as fast, Linux {want:.2}"
        );
        for (got, want) in [(got_whole, whole), (got_single, single)] {
            assert!((got / want - 1.0).abs() < 0.25, "{rtt_us} us: {got:.0} instead of {want:.0} bit/s");
        }
    }
}
