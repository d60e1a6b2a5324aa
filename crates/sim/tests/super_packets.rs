//! Whole super-packets lost, as `tc netem` draws on a virtual NIC, against single segments, as a wire loses them.
//!
//! The figures are those of the virtual Linux 6.12 (study `loss`): CUBIC for 15 s, `tcp_rmem` 4096 87380 6291456, `tcp_wmem`
//! 4096 16384 4194304, 1 % loss. 10 Gbit/s with super-packets, 2 Gbit/s without; here both with the same rate, which limits neither.

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::Time;
use pipefill_sim::Sim;

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: Time) {}
    fn stop_requested(&self) -> bool {
        false
    }
}

fn goodput_bps(rtt_us: u32, unit: &str) -> f64 {
    let text = format!(
        "name = \"loss\"\n[path]\nrtt = \"{rtt_us}us\"\nrate = \"10gbit\"\nqueue = \"12500000B\"\nloss = \"1%\"\n\
         loss_unit = \"{unit}\"\n[host]\ntcp_rmem = \"4096 87380 6291456\"\ntcp_wmem = \"4096 16384 4194304\"\n\
         [[flow]]\nduration = \"3s\"\n[run]\nrepeat = 1\nseed = 7\n"
    );
    let scenario = Scenario::parse(&text, "loss.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = scenario.plan().runs().swap_remove(0);
    let record = Sim::new().run(&run, &Quiet).unwrap_or_else(|error| panic!("{error}"));
    let stream = &record.manifest.streams[0];
    stream.received_bytes as f64 * 8e6 / (stream.stop_us - stream.start_us) as f64
}

/// 1.09 Gbit/s and 332 Mbit/s at 0.2 ms, 417 and 73.7 Mbit/s at 1 ms: 3.3 and 5.7 times.
#[test]
fn a_loss_of_super_packets_costs_far_less_than_one_of_segments() {
    for (rtt_us, whole, single) in [(200, 1093.54e6, 332.48e6), (1000, 417.26e6, 73.71e6)] {
        let (got_whole, got_single) = (goodput_bps(rtt_us, "super-packet"), goodput_bps(rtt_us, "segment"));
        let (ratio, want) = (got_whole / got_single, whole / single);
        println!("{rtt_us} us: {got_whole:.0} and {got_single:.0} bit/s, {ratio:.2} times; Linux {want:.2}");
        assert!((ratio / want - 1.0).abs() < 0.25, "{rtt_us} us: {ratio:.2} times, on Linux {want:.2}");
        for (got, want) in [(got_whole, whole), (got_single, single)] {
            assert!((got / want - 1.0).abs() < 0.25, "{rtt_us} us: {got:.0} instead of {want:.0} bit/s");
        }
    }
}
