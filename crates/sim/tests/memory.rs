//! What a run holds in memory is what is in flight: it does not grow with the run's length.
//!
//! Counted are live bytes of the whole process, so that no queue, list or history anywhere in the engine can hide. One test in
//! this file: nothing else allocates meanwhile.

use peak_alloc::PeakAlloc;
use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::record::{AnyRow, Sink, SinkError};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A longer run may meet a longer burst, and a buffer doubles; growth with the duration would be a factor of ten.
const MARGIN: f64 = 2.0;

/// As a file does, it keeps no row.
#[derive(Default)]
struct Counting {
    rows: u64,
}

impl Sink for Counting {
    fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
        self.rows += 1;
        Ok(())
    }
}

/// Rows, and the most bytes that were live at once beyond those that were live before.
fn peak(path: &str, flow: &str, seconds: u32) -> (u64, usize) {
    let text = format!(
        "name = \"t\"\n[path]\nrtt = \"20ms\"\nrate = \"50mbit\"\nqueue = \"1bdp\"\n{path}\n[[flow]]\n{flow}\n\
         duration = \"{seconds}s\"\n[run]\nsample = \"1ms\"\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = scenario.plan().runs().remove(0);
    let mut sink = Counting::default();
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    Sim::new().stream(&run, &Unwatched, &mut sink).unwrap_or_else(|error| panic!("{error}"));
    (sink.rows, MEMORY.peak_usage() - before)
}

#[test]
fn a_run_of_ten_times_the_length_holds_no_more() {
    let tcp = |control: &str| format!("protocol = \"tcp\"\ncongestion_control = \"{control}\"");
    let udp = "protocol = \"udp\"\nbitrate = \"60mbit\"\nlength = \"1200B\"".to_owned();
    let cases = [
        ("", tcp("cubic")),
        ("loss = \"1%\"", tcp("bbr")),
        ("loss = \"0.1%\"\njitter = \"2ms\"", tcp("cubic")),
        ("jitter = \"2ms\"", udp),
    ];
    for (path, flow) in cases {
        let (short_rows, short) = peak(path, &flow, 20);
        let (long_rows, long) = peak(path, &flow, 200);
        println!("{path:?} {flow:?}: {short} bytes at 20 s, {long} at 200 s");
        assert!(short_rows > 40_000 && long_rows > 9 * short_rows, "{short_rows}, {long_rows} rows");
        assert!(long as f64 <= short as f64 * MARGIN, "{path:?} {flow:?}: {short} bytes grew to {long}");
    }
}
