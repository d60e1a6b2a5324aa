//! What scenarios mean: the cells they resolve to, variants, `--quick`, `--set`, published figures.

use pipefill_core::cell::{
    Bound, CellSpec, Comparison, Direction, ExpectMetric, JitterDistribution, LossSpec, LossUnit, Protocol,
};
use pipefill_core::plan::{Against, Pair, Plan};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio};
use std::time::Duration;

fn scenario(body: &str) -> Scenario {
    let text = format!("name = \"x\"\n{body}");
    Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn cell(body: &str) -> CellSpec {
    let scenario = scenario(body);
    assert_eq!(scenario.plan().cells.len(), 1);
    scenario.plan().cells[0].spec.clone()
}

fn axes(plan: &Plan) -> Vec<String> {
    let axis = |(path, value): &(String, String)| format!("{path}={value}");
    let cell = |axes: &[(String, String)]| axes.iter().map(axis).collect::<Vec<_>>().join(" ");
    plan.cells.iter().map(|c| cell(&c.axes)).collect()
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_name_alone_is_one_bulk_tcp_flow() {
    let cell = cell("");
    assert_eq!(cell.path.rtt(), Duration::ZERO);
    assert_eq!(cell.path.forward.bottleneck, None);
    assert_eq!(cell.sender.congestion_control, "cubic");
    assert!(cell.sender.sysctl.is_empty());
    let [flow] = &cell.flows[..] else { panic!("{} flows", cell.flows.len()) };
    assert_eq!((flow.protocol, flow.direction), (Protocol::Tcp, Direction::Forward));
    assert_eq!((flow.duration, flow.bitrate), (ms(10_000), None));
    assert_eq!(flow.length, Bytes::new(512 << 10));
    assert_eq!((cell.run.repeat, cell.run.seed, cell.run.sample, cell.run.warmup), (5, 1, ms(10), None));
}

#[test]
fn delays_divide_the_round_trip() {
    for (body, forward, reverse) in [
        ("rtt = \"10ms\"", ms(5), ms(5)),
        ("rtt = \"10ms\"\nsplit = \"forward\"", ms(10), ms(0)),
        ("rtt = \"10ms\"\nforward_delay = \"7ms\"", ms(7), ms(3)),
        ("rtt = \"10ms\"\nreverse_delay = \"7ms\"", ms(3), ms(7)),
        ("rtt = \"10ms\"\nforward_delay = \"7ms\"\nreverse_delay = \"3ms\"", ms(7), ms(3)),
        ("forward_delay = \"7ms\"", ms(7), ms(0)),
        ("rtt = \"1ns\"", Duration::from_nanos(1), ms(0)),
    ] {
        let path = cell(&format!("[path]\n{body}")).path;
        assert_eq!((path.forward.delay, path.reverse.delay), (forward, reverse), "{body}");
    }
}

#[test]
fn queues_are_bytes_or_packets_once_resolved() {
    for (body, queue) in [
        ("queue = \"1bdp\"", QueueLimit::Bytes(Bytes::new(1_250_000))),
        ("queue = \"0.5bdp\"", QueueLimit::Bytes(Bytes::new(625_000))),
        ("queue = \"0.000001bdp\"", QueueLimit::Bytes(Bytes::new(1514))),
        ("queue = \"1000p\"", QueueLimit::Packets(1000)),
        ("", QueueLimit::Bytes(Bytes::new(1_250_000))),
    ] {
        let path = cell(&format!("[path]\nrtt = \"10ms\"\nrate = \"1gbit\"\n{body}")).path;
        let bottleneck = path.forward.bottleneck.expect("a rate");
        assert_eq!(bottleneck.queue, queue, "{body}");
        assert_eq!((bottleneck.rate, bottleneck.burst), (Rate::from_bps(1_000_000_000), Bytes::new(32_768)));
        assert_eq!(path.reverse.bottleneck, None);
    }
    for queue in ["", "queue = \"1bdp\""] {
        let path = cell(&format!("[path]\nrtt = \"0ms\"\nrate = \"1gbit\"\n{queue}")).path;
        let queue = path.forward.bottleneck.expect("a rate").queue;
        assert_eq!(queue, QueueLimit::Bytes(Bytes::new(151_400)));
    }
}

#[test]
fn plain_keys_are_forward_and_reverse_keys_reverse() {
    let path = cell(
        "[path]\nloss = \"1%\"\nduplicate = \"2%\"\nreorder = \"3%\"\njitter = \"1ms\"\ndelay_limit = \"7p\"\n\
         jitter_distribution = \"quantiles -1 0 2\"\nloss_unit = \"super-packet\"",
    )
    .path;
    assert_eq!(path.forward.loss, LossSpec::Independent(Ratio::from_percent(1.0)));
    assert_eq!(path.forward.duplicate, Ratio::from_percent(2.0));
    assert_eq!(path.forward.reorder, Ratio::from_percent(3.0));
    assert_eq!(path.forward.delay_limit, Some(QueueLimit::Packets(7)));
    assert_eq!(path.forward.loss_unit, LossUnit::SuperPacket);
    let jitter = path.forward.jitter.expect("jitter");
    assert_eq!(jitter.distribution, JitterDistribution::Quantiles(vec![-1.0, 0.0, 2.0]));
    let reverse = path.reverse;
    assert_eq!((reverse.loss, reverse.jitter, reverse.delay_limit), (LossSpec::None, None, None));
    assert_eq!((reverse.duplicate, reverse.reorder), (Ratio::ZERO, Ratio::ZERO));

    let reverse = cell(
        "[path]\nreverse_loss = \"packets 1,3-5\"\nreverse_rate = \"1mbit\"\nreverse_queue = \"5p\"\nreverse_jitter = \"2ms\"",
    )
    .path
    .reverse;
    assert_eq!(reverse.loss, LossSpec::Packets(vec![1, 3, 4, 5]));
    assert_eq!(reverse.bottleneck.expect("a rate").queue, QueueLimit::Packets(5));
    assert_eq!(reverse.jitter.expect("jitter").spread, ms(2));
}

/// Begin and end of each forward change of each cell, seconds.
fn changes(scenario: &Scenario) -> Vec<Vec<(u64, Option<u64>)>> {
    let of_cell = |spec: &CellSpec| {
        let changes = spec.path.forward.changes.iter();
        changes.map(|change| (change.at.as_secs(), change.lasts.map(|span| span.as_secs()))).collect()
    };
    scenario.plan().cells.iter().map(|cell| of_cell(&cell.spec)).collect()
}

#[test]
fn changes_of_a_variant_replace_those_of_the_scenario_and_a_set_moves_one() {
    let mut scenario = scenario(
        "[[path.change]]\nat = \"1s\"\nloss = \"100%\"\n[[path.change]]\nat = \"3s\"\nrtt = \"8ms\"\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n[[variant.path.change]]\nat = \"5s\"\nfor = [\"1s\", \"2s\"]\nloss = \"50%\"",
    );
    let outage = vec![(1, None), (3, None)];
    assert_eq!(changes(&scenario), [outage, vec![(5, Some(1))], vec![(5, Some(2))]]);
    assert_eq!(scenario.plan().cells[2].axes[1], ("path.change.0.for".to_owned(), "2s".to_owned()));
    let reverse = &scenario.plan().cells[0].spec.path.reverse.changes;
    assert_eq!(
        reverse.iter().map(|change| (change.at, change.delay)).collect::<Vec<_>>(),
        [(ms(3000), Some(ms(4)))]
    );
    scenario.set("path.change.0.at=2s").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(changes(&scenario)[0][0], (2, None));
}

#[test]
fn a_policer_an_inner_link_and_ecn_are_resolved() {
    let cell = cell(
        "[path]\npolicer = { rate = \"20mbit\" }\ninner_mtu = 1400\n[host]\ntcp_ecn = 1\n[receiver]\ntcp_ecn = 2",
    );
    let policer = cell.path.forward.policer.expect("a policer");
    assert_eq!((policer.rate, policer.burst), (Rate::from_bps(20_000_000), Bytes::new(65_536)));
    assert_eq!(cell.path.forward.inner_mtu, cell.path.reverse.inner_mtu);
    let ecn = |host: &pipefill_core::cell::HostSpec| host.sysctl["net.ipv4.tcp_ecn"].clone();
    assert_eq!((ecn(&cell.sender), ecn(&cell.receiver)), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn ends_override_both_and_buffers_become_sysctls() {
    let cell = cell(
        "[host]\ntcp_rmem = \"4096 131072 6MiB\"\ncongestion_control = \"bbr\"\n[host.sysctl]\n\"net.ipv4.tcp_sack\" = 0\n\
         net.ipv4.tcp_timestamps = false\n[sender]\ntcp_rmem = \"1 2 3\"\n[receiver]\ncongestion_control = \"reno\"",
    );
    assert_eq!(cell.sender.sysctl["net.ipv4.tcp_rmem"], "1 2 3");
    assert_eq!(cell.receiver.sysctl["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    assert_eq!(cell.sender.sysctl["net.ipv4.tcp_sack"], "0");
    assert_eq!(cell.sender.sysctl["net.ipv4.tcp_timestamps"], "0");
    assert_eq!((&*cell.sender.congestion_control, &*cell.receiver.congestion_control), ("bbr", "reno"));
}

#[test]
fn both_directions_are_two_flows() {
    let cell = cell("[[flow]]\ndirection = \"both\"\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"1mbit\"");
    let flows: Vec<_> = cell.flows.iter().map(|flow| (flow.protocol, flow.direction)).collect();
    assert_eq!(
        flows,
        [
            (Protocol::Tcp, Direction::Forward),
            (Protocol::Tcp, Direction::Reverse),
            (Protocol::Udp, Direction::Forward)
        ]
    );
}

#[test]
fn expectations_keep_their_unit_and_text() {
    let expect = cell(
        "[path]\nrate = \"1gbit\"\n[expect]\ngoodput = \">= 95% of rate\"\nsrtt = \"<= 12ms\"\nlost = \"within 5% of 90%\"\n\
         retransmits = \"= 3\"\nlimited_by = \"= rwnd\"\nsender = \"within 10% of 2.33gbit\"",
    )
    .expect;
    let parts: Vec<_> = expect.iter().map(|e| (e.comparison, e.bound.clone())).collect();
    assert_eq!(
        parts,
        [
            (Comparison::AtLeast, Bound::OfRate(Ratio::from_fraction(0.95))),
            (Comparison::AtMost, Bound::Value(12_000.0)),
            (Comparison::Within(Ratio::from_fraction(0.05)), Bound::Value(90.0)),
            (Comparison::Equal, Bound::Value(3.0)),
            (Comparison::Equal, Bound::Word("rwnd".into())),
            (Comparison::Within(Ratio::from_fraction(0.1)), Bound::Value(2_330_000_000.0)),
        ]
    );
    assert_eq!(expect[0].text, ">= 95% of rate");
}

#[test]
fn the_last_axis_varies_fastest_and_flows_are_numbered_where_there_are_several() {
    let inline = scenario("[path]\nrtt = [\"1ms\", \"2ms\"]\n[[flow]]\nbitrate = [\"1mbit\", \"2mbit\"]");
    assert_eq!(
        axes(inline.plan()),
        [
            "path.rtt=1ms flow.bitrate=1mbit",
            "path.rtt=1ms flow.bitrate=2mbit",
            "path.rtt=2ms flow.bitrate=1mbit",
            "path.rtt=2ms flow.bitrate=2mbit"
        ]
    );
    let two = scenario("[[flow]]\nstart = [\"1s\", \"2s\"]\n[[flow]]\nparallel = [4]");
    assert_eq!(axes(two.plan())[0], "flow.0.start=1s flow.1.parallel=4");
}

#[test]
fn variants_override_and_replace_flows() {
    let scenario = scenario(
        "[path]\nrtt = [\"1ms\", \"2ms\"]\n[[flow]]\nduration = \"5s\"\n[[flow]]\nduration = \"6s\"\n\
         [[variant]]\nname = \"a\"\npath.rtt = \"3ms\"\nflow.parallel = 2\n\
         [[variant]]\nname = \"b\"\n[[variant.flow]]\nprotocol = \"udp\"\nbitrate = \"1mbit\"",
    );
    let plan = scenario.plan();
    assert_eq!(axes(plan), ["variant=a", "variant=b path.rtt=1ms", "variant=b path.rtt=2ms"]);
    let flows: Vec<_> = plan.cells[0].spec.flows.iter().map(|f| (f.duration, f.parallel)).collect();
    assert_eq!(flows, [(ms(5000), 2), (ms(6000), 2)]);
    assert_eq!(plan.cells[1].spec.flows.len(), 1);
    assert_eq!(plan.cells[1].spec.flows[0].protocol, Protocol::Udp);
}

#[test]
fn quick_without_a_table_is_one_short_run_after_the_warmup() {
    let scenario = scenario(
        "[run]\nwarmup = \"3s\"\n[[flow]]\n[[flow]]\nduration = \"1min\"\n[[flow]]\nduration = \"4s\"",
    );
    let spec = &scenario.quick_plan().cells[0].spec;
    let durations: Vec<_> = spec.flows.iter().map(|flow| flow.duration).collect();
    assert_eq!(durations, [ms(5000), ms(5000), ms(4000)]);
    assert_eq!(spec.run.repeat, 1);
    assert_eq!(scenario.plan().cells[0].spec.run.repeat, 5);
}

#[test]
fn quick_tables_override_and_leave_out() {
    let scenario = scenario(
        "[path]\nrtt = [\"1ms\", \"2ms\"]\n[quick]\nrun.repeat = 1\n[[variant]]\nname = \"a\"\n[variant.quick]\npath.rtt = [\"2ms\"]\n\
         [[variant]]\nname = \"b\"\nquick = false\npath.rate = \"1mbit\"\n\
         [[variant]]\nname = \"c\"\npath.rate = \"2mbit\"\n[[variant.quick]]\npath.rtt = [\"5ms\"]\n[[variant.quick]]\npath.rtt = [\"6ms\"]",
    );
    assert_eq!(scenario.plan().cells.len(), 6);
    let quick = scenario.quick_plan();
    assert_eq!(axes(quick), ["variant=a path.rtt=2ms", "variant=c path.rtt=5ms", "variant=c path.rtt=6ms"]);
    assert!(quick.cells.iter().all(|cell| cell.spec.run.repeat == 1));
    assert_eq!(quick.cells[0].spec.flows[0].duration, ms(10_000));
}

#[test]
fn set_lies_on_top_of_everything_and_the_last_one_holds() {
    let mut scenario =
        scenario("[path]\nrtt = [\"1ms\", \"2ms\"]\n[quick]\npath.rtt = [\"1ms\"]\n[[flow]]\n[[flow]]");
    scenario.set("path.rtt=[10ms, 20ms]").expect("an axis");
    assert_eq!(axes(scenario.plan()), ["path.rtt=10ms", "path.rtt=20ms"]);
    assert_eq!(axes(scenario.quick_plan()), axes(scenario.plan()));
    scenario.set("path.rtt=50ms").expect("a value");
    assert_eq!(axes(scenario.plan()), [""]);
    assert_eq!(scenario.plan().cells[0].spec.path.rtt(), ms(50));
    scenario.set("flow.duration=2s").expect("every flow");
    scenario.set("flow.1.duration=3s").expect("one flow");
    let durations: Vec<_> = scenario.plan().cells[0].spec.flows.iter().map(|f| f.duration).collect();
    assert_eq!(durations, [ms(2000), ms(3000)]);
    scenario.set("path.loss=[\"packets 1,2\",\"1%\"]").expect("quoted commas");
    assert_eq!(axes(scenario.plan()), ["path.loss=packets 1,2", "path.loss=1%"]);
}

#[test]
fn a_set_duration_is_not_shortened_by_quick() {
    let mut scenario = scenario("");
    scenario.set("flow.duration=7s").expect("a duration");
    assert_eq!(scenario.quick_plan().cells[0].spec.flows[0].duration, ms(7000));
}

#[test]
fn published_figures_find_their_cells_and_leave_when_something_else_changed() {
    let mut scenario = scenario(
        "[path]\nrtt = [\"1ms\", \"2ms\"]\nloss = [\"0%\", \"1%\"]\n[published]\nsource = \"a note\"\n\
         [[published.row]]\nwhere = { \"path.rtt\" = \"2ms\", path.loss = \"1%\" }\ngoodput = \"2.33gbit\"\nlost = \"87%\"\nretransmits = 396\nca_state = { open = \"3774ms\", loss = \"1us\" }\n\
         [[published.row]]\nwhere = { \"path.rtt\" = \"1ms\" }\ngoodput = \"1mbit\"",
    );
    let cells = |plan: &Plan| plan.published.iter().map(|row| row.cell).collect::<Vec<_>>();
    let plan = scenario.plan();
    assert_eq!(plan.published_source.as_deref(), Some("a note"));
    assert_eq!(cells(plan), [3, 0, 1]);
    let row = &plan.published[0];
    assert_eq!((row.goodput_bps, row.lost_percent, row.retransmits), (Some(2.33e9), Some(87.0), Some(396.0)));
    let states = row.ca_state_us.expect("two states");
    assert_eq!((states.open, states.recovery, states.loss), (Some(3_774_000), None, Some(1)));
    assert_eq!(plan.published[1].ca_state_us, None);
    assert_eq!((plan.published[1].lost_percent, plan.published[1].retransmits), (None, None));

    scenario.set("run.repeat=1").expect("a count");
    assert_eq!(cells(scenario.plan()), [3, 0, 1]);
    scenario.set("path.rtt=1ms").expect("a duration");
    assert_eq!(cells(scenario.plan()), [0, 1]);
    scenario.set("path.rate=1gbit").expect("a rate");
    assert_eq!(cells(scenario.plan()), [0_usize; 0]);
}

/// A claim speaks of every cell with its values; the other cell differs only by what `than` says.
#[test]
fn claims_find_their_cells_and_those_beside_them() {
    let mut scenario = scenario(
        "[path]\nrtt = [\"1ms\", \"2ms\"]\nloss = [\"0%\", \"1%\"]\n\
         [[published.conclusion]]\nsays = \"loss costs\"\nclaim = [\n\
         { where = { path.loss = \"1%\" }, than = { path.loss = \"0%\" }, goodput = \"<= 50% of goodput\" },\n\
         { where = { \"path.rtt\" = \"2ms\" }, limited_by = \"= cwnd\" }]",
    );
    let claims = &scenario.plan().conclusions[0].claims;
    let pair = |cell, other| Pair { cell, other };
    assert_eq!(claims[0].pairs, [pair(1, Some(0)), pair(3, Some(2))]);
    let half = Against::OtherCell { metric: ExpectMetric::Goodput, share: Ratio::from_percent(50.0) };
    assert_eq!((&claims[0].against, claims[0].comparison), (&half, Comparison::AtMost));
    assert_eq!(claims[1].pairs, [pair(2, None), pair(3, None)]);

    let mut part = scenario.plan().clone();
    part.keep(|cell| cell.index >= 2);
    let claims = &part.conclusions[0].claims;
    assert_eq!((claims[0].pairs.as_slice(), claims[1].pairs.len()), (&[pair(3, Some(2))][..], 2));
    assert_eq!(part.cells.iter().map(|cell| cell.index).collect::<Vec<_>>(), [2, 3]);
    scenario.set("path.rate=1gbit").expect("a rate");
    assert!(scenario.plan().conclusions[0].claims.iter().all(|claim| claim.pairs.is_empty()));
}

/// The keys, forms and words that other programs may rely on, in one file.
#[test]
fn the_contract_parses() {
    let scenario = Scenario::parse(
        r#"
name = "rtt"
[path]
rtt = ["0ms", "1ms", "10ms", "100ms", "1s"]
rate = "1gbit"
queue = "1bdp"
burst = "32KiB"
loss = ["0%", "1%"]
jitter = "0ms"
delay_limit = "100000p"
[host]
tcp_rmem = "4096 131072 6MiB"
tcp_wmem = "4096 16KiB 4MiB"
congestion_control = ["cubic", "bbr"]
[[flow]]
protocol = "tcp"
duration = "10s"
parallel = 1
sndbuf = "4MiB"
bitrate = "20mbit"
read_rate = "20mbit"
max_pacing_rate = "50mbit"
[run]
repeat = 3
seed = 1
sample = "10ms"
capture = false
[expect]
goodput = ">= 95% of rate"
"#,
        "contract.toml",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.plan().cells.len(), 5 * 2 * 2);
    assert_eq!(scenario.plan().runs().len(), 60);
}
