//! The lab held against the machine's own kernel: delay, loss, rate and window laws. Each cell of the scenario is a test.

use crate::measuring::{Folder, Outcome, Test, cells, if_quiet, is_quiet, lab, names, report, tests_of};
use pipefill_core::record::{AqmSample, PingSample, UdpSample};
use pipefill_store::decode_table;
use serde_json::Value;
use std::fs::File;
use std::path::Path;

const SCENARIO: &str = include_str!("scenarios/kernel.toml");

/// Payload of a full segment with timestamps, and its Ethernet frame without FCS.
const MSS: f64 = 1448.0;
const FRAME: f64 = 1514.0;
/// Two-sided 99 % of the normal distribution.
const Z_99: f64 = 2.576;

/// Cells that carry more than 200 Mbit/s: for a quiet machine.
const FAST: [&str; 4] = ["loss", "rate=1gbit", "short", "long"];

pub(crate) fn tests() -> Vec<Test> {
    tests_of(cells(SCENARIO), &FAST, is_as_asked)
}

fn is_as_asked(only: &str) -> Outcome {
    let folder = lab()?;
    folder.write("kernel.toml", SCENARIO);
    let report = report(&folder, &["kernel.toml", "--only", only])?;
    let cell = Cell(&report["cells"][0]);
    match cell.axis("variant") {
        "delay" => delay_is_exact(&cell),
        "loss" => loss_is_per_segment(&folder.path("lab/runs")),
        "rate" => bottleneck_is_full(&cell),
        "window" | "far-window" => window_law_holds(&cell),
        "short" => close_to(&cell, "lost_percent", 100.0 * (1.0 - 1000.0 * MSS * 8.0 / 0.2 / 500e6), 3.0),
        "long" => close_to(&cell, "lost_percent", 0.0, 0.0),
        "mark" => marks_are_echoed(&Record::of(&folder)),
        "aqm" => {
            a_ping_waits_for_the_target(&cell, &Record::of(&folder));
            a_discipline_is_sampled(&cell, &folder);
        }
        "aqm-ecn" => an_aqm_marks_and_drops_nothing(&Record::of(&folder)),
        "policer" => a_policer_passes_burst_and_rate(&Record::of(&folder)),
        "trace" => a_trace_is_followed(&folder),
        "delay-trace" => round_trips_follow_their_trace(&folder),
        "outage" => an_outage_ends(&Record::of(&folder)),
        "small-link" => icmp_lowers_the_mss(&Record::of(&folder), cell.axis("path.family")),
        "black-hole" => nothing_passes_a_black_hole(&Record::of(&folder)),
        other => panic!("a variant without a check: {other}"),
    }
    Ok(())
}

struct Cell<'a>(&'a Value);

impl Cell<'_> {
    fn axis(&self, name: &str) -> &str {
        self.0["axes"][name].as_str().unwrap_or_else(|| panic!("no axis {name} in {}", self.0))
    }

    fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.0))
    }
}

fn close_to(cell: &Cell<'_>, name: &str, want: f64, tolerance: f64) {
    let got = cell.number(name);
    println!("{}: {name} {got:.4}, wanted {want:.4} ± {tolerance}", cell.0["axes"]);
    assert!((got - want).abs() <= tolerance, "{name} is {got}, not {want} ± {tolerance}");
}

fn milliseconds(text: &str) -> f64 {
    let number = |unit: &str| text.strip_suffix(unit).and_then(|digits| digits.parse::<f64>().ok());
    number("ms").or_else(|| number("s").map(|seconds| seconds * 1e3)).unwrap()
}

/// The smallest RTT that the sender saw is never below what was asked, and on a quiet machine within 0.15 ms of it.
fn delay_is_exact(cell: &Cell<'_>) {
    let asked_us = milliseconds(cell.axis("path.rtt")) * 1e3;
    if is_quiet() {
        close_to(cell, "min_rtt_us", asked_us, 150.0);
    }
    let least_us = cell.number("min_rtt_us");
    assert!(least_us >= asked_us - 1.0, "{least_us} of {asked_us} µs: nothing leaves early");
}

/// What the headers leave of the bottleneck's rate, and on a quiet machine 99 % of it.
fn bottleneck_is_full(cell: &Cell<'_>) {
    let rate = if cell.axis("path.rate") == "1gbit" { 1e9 } else { 1e8 };
    let full = rate * MSS / FRAME;
    assert!(cell.number("goodput_bps") <= 1.01 * full, "{} bit/s of {full}", cell.number("goodput_bps"));
    if is_quiet() {
        close_to(cell, "goodput_bps", full, 0.01 * full);
    }
}

/// Advertised window over the RTT that was (`delay_is_exact` judges the path; here a path that was a little late is no fault), within
/// 10 %.
fn window_law_holds(cell: &Cell<'_>) {
    let law = cell.number("rwnd_bytes_p50") * 8e6 / cell.number("srtt_us_p50");
    close_to(cell, "goodput_bps", law, 0.1 * law);
}

/// The manifest of the only run of a folder.
struct Record(Value);

impl Record {
    fn of(folder: &Folder) -> Self {
        let runs = folder.path("lab/runs");
        let run = runs.join(names(&runs).remove(0));
        Self(serde_json::from_reader(File::open(run.join("manifest.json")).unwrap()).unwrap())
    }

    /// By how much a counter rose; 0 where it is left out.
    fn counter(&self, place: &str, name: &str) -> u64 {
        let counters = self.0["counters"].as_array().unwrap();
        let found = counters.iter().find(|each| each["place"] == place && each["name"] == name);
        found.map_or(0, |each| each["after"].as_u64().unwrap() - each["before"].as_u64().unwrap())
    }

    fn forward(&self, name: &str) -> u64 {
        self.counter("path forward", name)
    }

    /// A figure of the sender's socket at the end.
    fn sender(&self, name: &str) -> u64 {
        let tcp = &self.0["streams"][0]["tcp"];
        tcp[name].as_u64().unwrap_or_else(|| panic!("no {name} in {tcp}"))
    }

    fn received(&self) -> u64 {
        self.0["streams"][0]["received_bytes"].as_u64().unwrap()
    }
}

/// The receiver's kernel counts the marks (several neighbours once), its checksums are right, and the sender hears of them.
fn marks_are_echoed(record: &Record) {
    let (marked, came) =
        (record.forward("marked_random_packets"), record.counter("receiver nstat", "IpExtInCEPkts"));
    println!("{marked} marked, {came} came, {} echoed", record.sender("delivered_ce_segments"));
    assert!(0 < came && came <= marked, "{came} of {marked}");
    assert!(record.sender("delivered_ce_segments") > 0);
    assert_eq!(record.0["streams"][0]["tcp"]["ecn_negotiated"], true);
    let place = "receiver nstat";
    let wrong = record.counter(place, "TcpInCsumErrors") + record.counter(place, "IpInHdrErrors");
    assert_eq!(wrong, 0, "checksums");
    let settings = record.0["settings"].as_array().unwrap();
    let ecn = settings.iter().find(|each| each["name"] == "net.ipv4.tcp_ecn").unwrap();
    assert_eq!((&ecn["asked"], &ecn["got"]), (&"1".into(), &"1".into()));
}

/// RFC 8290: beside a bulk flow a sparse one waits for little more than the target; here up to three of them. A drop-tail queue of 1000 packets holds
/// 240 ms. CoDel has no queue for the sparse flow: its pings wait behind the bulk flow, which comes in bursts where a busy machine lets the sender run
/// late. There half of the packets wait for less than the target, which no burst changes.
fn a_ping_waits_for_the_target(cell: &Cell<'_>, record: &Record) {
    const BASE_US: f64 = 20e3;
    const TARGET_US: f64 = 5e3;
    const TARGETS_US: f64 = 3.0 * TARGET_US;
    const DROPTAIL_US: f64 = BASE_US + 60e3;
    let loaded_us = cell.0["flows"][0]["loaded_rtt_us_p95"].as_f64().unwrap();
    let aqm = cell.axis("path.aqm");
    println!("{aqm}: {loaded_us} µs at the 95th percentile, {}", record.0["aqm"]);
    if aqm == "droptail" {
        assert!(loaded_us > DROPTAIL_US);
        assert_eq!(record.0["aqm"], Value::Null);
        return;
    }
    let most_us =
        if aqm == "codel" { if_quiet(BASE_US + TARGETS_US, DROPTAIL_US) } else { BASE_US + TARGETS_US };
    assert!(loaded_us <= most_us, "{loaded_us}");
    let waited_us = |quantile: &str| record.0["aqm"][0][format!("sojourn_us_{quantile}")].as_f64().unwrap();
    assert!(waited_us("p50") <= TARGET_US, "{}", waited_us("p50"));
    if is_quiet() {
        assert!(waited_us("p95") <= TARGETS_US, "{}", waited_us("p95"));
    }
    assert!(record.forward("dropped_aqm_packets") > 0);
    assert_eq!(record.0["aqm"][0]["kind"], aqm);
    assert_eq!(cell.0["aqm"][0]["target_us"], 5000);
}

/// The table `aqm` of the run, every 10 ms, ends with what the manifest counts.
fn a_discipline_is_sampled(cell: &Cell<'_>, folder: &Folder) {
    let runs = folder.path("lab/runs");
    let file = runs.join(names(&runs).remove(0)).join("aqm.jsonl.zst");
    if cell.axis("path.aqm") == "droptail" {
        assert!(!file.exists(), "drop-tail has no such table");
        return;
    }
    let rows: Vec<AqmSample> = decode_table(File::open(file).unwrap()).unwrap();
    let last = rows.last().unwrap();
    println!("{} rows, the last one {last:?}", rows.len());
    assert!(rows.len() > 200 && rows.is_sorted_by_key(|row| row.sojourn_sum_us));
    let record = Record::of(folder);
    assert!(last.dropped_packets > 0 && last.dropped_packets <= record.forward("dropped_aqm_packets"));
    assert!(last.packets <= record.forward("delivered_packets"));
}

/// The receiver's kernel counts the marks, and its checksums are right.
fn an_aqm_marks_and_drops_nothing(record: &Record) {
    let (marked, came) =
        (record.forward("marked_aqm_packets"), record.counter("receiver nstat", "IpExtInCEPkts"));
    println!("{marked} marked, {came} came, {} sent again", record.sender("retransmits"));
    assert!(0 < came && came <= marked, "{came} of {marked}");
    assert_eq!((record.forward("dropped_aqm_packets"), record.forward("dropped_queue_full_packets")), (0, 0));
    assert_eq!(record.sender("retransmits"), 0);
    assert_eq!(record.counter("receiver nstat", "TcpInCsumErrors"), 0);
}

fn a_policer_passes_burst_and_rate(record: &Record) {
    let stream = &record.0["streams"][0];
    let [start, end] = ["start_us", "end_us"].map(|name| stream[name].as_f64().unwrap());
    let most = 65_536.0 + 10e6 / 8.0 * (end - start) / 1e6;
    let (passed, dropped) = (record.forward("delivered_bytes"), record.forward("dropped_policed_packets"));
    println!("{passed} bytes of at most {most:.0}; {dropped} packets dropped");
    // Beside the datagrams there may be neighbour discovery.
    assert!(dropped > 0 && passed as f64 <= most + FRAME, "{passed} bytes, more than {most}");
}

/// In each second of a valid run what arrives is what the trace lets through, within 2 %.
fn a_trace_is_followed(folder: &Folder) {
    let runs = folder.path("lab/runs");
    let run = runs.join(names(&runs).remove(0));
    let start_us = Record::of(folder).0["streams"][0]["start_us"].as_u64().unwrap();
    let rows: Vec<UdpSample> = decode_table(File::open(run.join("udp.jsonl.zst")).unwrap()).unwrap();
    let arrived = |second: u64| {
        let at_us = start_us + second * 1_000_000;
        let next = rows.partition_point(|row| row.t_us < at_us);
        let (from, to) = (&rows[next - 1], &rows[next.min(rows.len() - 1)]);
        let share = (at_us - from.t_us) as f64 / (to.t_us - from.t_us).max(1) as f64;
        (from.received as f64 + share * (to.received - from.received) as f64) * (MSS + 42.0)
    };
    for (second, mbit) in [(1, 20.0), (2, 5.0), (3, 10.0), (4, 20.0)] {
        let (got, wanted) = (arrived(second + 1) - arrived(second), mbit * 125_000.0);
        println!("second {second}: {got:.0} bytes of {wanted:.0}");
        assert!(got <= 1.02 * wanted, "second {second}: {got} bytes of {wanted}");
        assert!(got >= 0.98 * wanted, "second {second}: {got} bytes of {wanted}");
    }
}

/// At each step no round trip is shorter than the trace's, and the shortest one is no more than 1 ms longer.
fn round_trips_follow_their_trace(folder: &Folder) {
    let runs = folder.path("lab/runs");
    let run = runs.join(names(&runs).remove(0));
    let start_us = Record::of(folder).0["streams"][0]["start_us"].as_u64().unwrap();
    let rows: Vec<PingSample> = decode_table(File::open(run.join("ping.jsonl.zst")).unwrap()).unwrap();
    for (from_ms, to_ms, wanted_ms) in
        [(10, 680, 20.0), (710, 1_330, 60.0), (1_410, 1_960, 35.0), (2_010, 2_680, 20.0)]
    {
        // A packet has the delay of the instant at which it enters its direction.
        let is_within = |row: &&PingSample| (from_ms..to_ms).contains(&((row.t_us - start_us) / 1_000));
        let trips = rows.iter().filter(is_within).filter_map(|row| row.rtt_ns);
        let least = trips.min().unwrap_or_else(|| panic!("no ping from {from_ms} ms on")) as f64 / 1e6;
        println!("from {from_ms} ms on at least {least:.3} ms of {wanted_ms} ms");
        assert!((wanted_ms..wanted_ms + 1.0).contains(&least), "from {from_ms} ms on {least} ms");
    }
}

/// TCP times out in it, and what it sends again arrives.
fn an_outage_ends(record: &Record) {
    assert!(record.forward("dropped_random_loss_packets") > 0);
    assert!(record.counter("sender nstat", "TcpExtTCPTimeouts") > 0);
    assert!(record.sender("bytes_acked") > 0 && record.received() > 0);
}

/// 1400 bytes less 20 or 40 of IP, 20 of TCP and 12 of timestamps.
fn icmp_lowers_the_mss(record: &Record, family: &str) {
    let mss = if family == "ipv4" { 1348 } else { 1328 };
    println!(
        "MSS {}, {} too large",
        record.sender("mss_bytes"),
        record.forward("dropped_exceeds_mtu_packets")
    );
    assert!(record.forward("dropped_exceeds_mtu_packets") > 0);
    assert_eq!(record.sender("mss_bytes"), mss);
    assert!(record.received() > 0);
}

fn nothing_passes_a_black_hole(record: &Record) {
    assert!(record.forward("dropped_exceeds_mtu_packets") > 0);
    assert_eq!((record.received(), record.sender("mss_bytes")), (0, 1448));
}

/// Of at least 100,000 segments, most of which reached the path inside of super-packets, the lost ones lie within the 99 %
/// interval of 0.2 %.
fn loss_is_per_segment(runs: &Path) {
    let name = names(runs).into_iter().find(|name| name.contains("-loss-")).unwrap();
    let manifest: Value =
        serde_json::from_reader(File::open(runs.join(name).join("manifest.json")).unwrap()).unwrap();
    let counter = |place: &str, name: &str| {
        let counters = manifest["counters"].as_array().unwrap();
        let found = counters.iter().find(|each| each["place"] == place && each["name"] == name);
        found.unwrap_or_else(|| panic!("no {place} {name}"))["after"].as_f64().unwrap()
    };
    let segments = counter("path forward", "offered_packets");
    let lost = counter("path forward", "dropped_random_loss_packets");
    let packets = counter("sender interface", "path0 tx_packets");
    println!("loss: {lost} of {segments} segments, which came in {packets} packets");
    assert!(segments >= 100_000.0, "{segments} segments are too few");
    assert!(packets < segments / 3.0, "{packets} packets carried {segments} segments: no super-packets");
    let p = 0.002;
    let spread = Z_99 * (segments * p * (1.0 - p)).sqrt();
    assert!(
        (lost - segments * p).abs() <= spread,
        "{lost} of {segments} lost, wanted {} ± {spread}",
        segments * p
    );
}
