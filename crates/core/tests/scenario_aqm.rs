//! Disciplines of the queue in scenarios: defaults, axes, and what is refused.

use pipefill_core::cell::{AqmSpec, DirectionSpec};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::{Bytes, QueueLimit};
use std::time::Duration;

fn parse(path: &str) -> Result<Scenario, String> {
    let text = format!("name = \"aqm\"\n[path]\n{path}\n");
    Scenario::parse(&text, "aqm.toml").map_err(|error| error.to_string())
}

/// The forward directions of all cells.
fn ways(path: &str) -> Vec<DirectionSpec> {
    let scenario = parse(path).unwrap_or_else(|error| panic!("{error}"));
    scenario.plan().cells.iter().map(|cell| cell.spec.path.forward.clone()).collect()
}

fn forward_of(path: &str) -> DirectionSpec {
    let mut ways = ways(path);
    assert_eq!(ways.len(), 1);
    ways.remove(0)
}

fn queue(way: &DirectionSpec) -> QueueLimit {
    way.bottleneck.as_ref().expect("a rate").queue
}

#[test]
fn a_word_has_the_defaults_of_linux() {
    let way = forward_of("rate = \"50mbit\"\naqm = \"fq_codel\"\nmtu = 9000");
    let Some(AqmSpec::FqCodel(spec)) = &way.aqm else { panic!("{way:?}") };
    assert_eq!(
        (spec.codel.target, spec.codel.interval),
        (Duration::from_millis(5), Duration::from_millis(100))
    );
    assert!(spec.codel.ecn);
    assert_eq!((spec.flows, spec.quantum, spec.drop_batch), (1024, Bytes::new(9014), 64));
    assert_eq!(queue(&way), QueueLimit::Packets(10_240));
    let marks = |path: &str| way_of(path).aqm.is_some_and(|aqm| aqm.marks());
    let kinds = ["codel", "pie", "red", "fq_codel", "dualpi2"];
    assert_eq!(kinds.map(|kind| marks(&format!("aqm = \"{kind}\""))), [false, false, false, true, true]);
    assert!(marks("aqm = \"pie\"\necn = true"));
    assert!(!marks("aqm = \"fq_codel\"\necn = false"));
}

fn way_of(path: &str) -> DirectionSpec {
    forward_of(&format!("rate = \"50mbit\"\n{path}"))
}

#[test]
fn a_queue_that_is_given_is_the_limit() {
    assert_eq!(queue(&way_of("aqm = \"codel\"\nqueue = \"64p\"")), QueueLimit::Packets(64));
    assert_eq!(queue(&way_of("aqm = \"codel\"")), QueueLimit::Packets(1_000));
    assert_eq!(queue(&way_of("aqm = \"drophead\"")), queue(&way_of("")));
}

#[test]
fn words_tables_and_texts_are_an_axis_together() {
    let list = "aqm = [\"droptail\", { kind = \"codel\", target = \"10ms\", interval = \"200ms\" }, \"pie target=20ms alpha=1.5\"]";
    let ways = ways(&format!("rate = \"50mbit\"\necn = true\n{list}"));
    let kinds: Vec<Option<&str>> = ways.iter().map(|way| way.aqm.as_ref().map(AqmSpec::name)).collect();
    assert_eq!(kinds, [None, Some("codel"), Some("pie")]);
    let targets: Vec<Option<Duration>> =
        ways.iter().map(|way| way.aqm.as_ref().and_then(AqmSpec::target)).collect();
    assert_eq!(targets, [None, Some(Duration::from_millis(10)), Some(Duration::from_millis(20))]);
    let table = way_of(
        "aqm = { kind = \"red\", min = \"30kB\", max = \"90kB\", adaptive = true }\nqueue = \"400kB\"",
    );
    let Some(AqmSpec::Red(red)) = table.aqm else { panic!("{:?}", table.aqm) };
    assert_eq!(
        (red.min, red.max, red.burst, red.adaptive),
        (Bytes::new(30_000), Bytes::new(90_000), 50, true)
    );
    let mut scenario = parse("rate = \"50mbit\"").expect("a scenario");
    scenario.set("path.aqm=codel target=2ms").unwrap_or_else(|error| panic!("{error}"));
    let set = scenario.plan().cells[0].spec.path.forward.aqm.as_ref().and_then(AqmSpec::target);
    assert_eq!(set, Some(Duration::from_millis(2)));
}

/// What is refused, the text that is marked, and a word of the remedy.
#[test]
fn what_makes_no_sense_is_refused_where_it_stands() {
    let cases = [
        ("aqm = \"fqcodel\"", "fqcodel", "fq_codel"),
        ("aqm = { kind = \"codell\" }", "codell", "codel"),
        ("aqm = { target = \"5ms\" }", "no kind", "kind"),
        ("aqm = { kind = \"codel\", target = \"200ms\" }", "not below the interval", "interval"),
        ("aqm = \"codel target=100ms interval=100ms\"", "not below the interval", "interval"),
        ("aqm = { kind = \"codel\", tupdate = \"5ms\" }", "tupdate", "pie"),
        ("aqm = { kind = \"pie\", flows = 5 }", "flows", "fq_codel"),
        ("aqm = { kind = \"codel\", ecn = true }", "ecn", "beside aqm"),
        ("aqm = { kind = \"codel\", limit = 100 }", "limit", "queue"),
        ("aqm = { kind = \"codel\", target = [\"5ms\", \"6ms\"] }", "target", "list of such tables"),
        ("aqm = { kind = \"codel\", target = \"5\" }", "5", "5ms"),
        ("aqm = { kind = \"pie\", tupdate = \"10us\" }", "too short", "1ms"),
        ("aqm = { kind = \"fq_codel\", quantum = \"10B\" }", "quantum", "300B"),
        ("aqm = { kind = \"fq_codel\", flows = 0 }", "flows", "1"),
        ("aqm = { kind = \"red\", min = \"90kB\", max = \"30kB\" }", "not below max", "min"),
        ("aqm = { kind = \"red\", max = \"30MB\" }\nqueue = \"400kB\"", "below the queue", "longer queue"),
        ("ecn = true", "no effect without aqm", "aqm"),
        ("aqm = \"dualpi2\"\necn = false", "always marks", "pie"),
        ("reverse_aqm = \"codel\"", "no effect without reverse_rate", "reverse_rate"),
        ("aqm = true", "aqm", "fq_codel"),
    ];
    for (path, shown, remedy) in cases {
        let error = parse(&format!("rate = \"50mbit\"\n{path}")).expect_err(path);
        assert!(error.contains(shown) && error.contains(remedy), "{path}:\n{error}");
        assert!(error.contains("aqm.toml:4") || error.contains("aqm.toml:5"), "{path}:\n{error}");
        assert!(error.contains('^'), "{path}:\n{error}");
    }
    let error = parse("aqm = \"codel\"").expect_err("no rate");
    assert!(error.contains("no effect without rate"), "{error}");
}
