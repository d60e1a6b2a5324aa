//! What `app` means: tables, texts, axes, and what lies over what.

use pipefill_core::cell::{
    Application, BurstsSpec, FlowSpec, Protocol, RequestsSpec, WindowSpec, WritesSpec,
};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::Bytes;
use std::time::Duration;

fn scenario(flow: &str) -> Scenario {
    let text = format!("name = \"x\"\n[[flow]]\n{flow}");
    Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn flows(scenario: &Scenario) -> Vec<FlowSpec> {
    scenario.plan().cells.iter().map(|cell| cell.spec.flows[0].clone()).collect()
}

fn app(flow: &str) -> Application {
    flows(&scenario(flow)).remove(0).app
}

fn requests() -> RequestsSpec {
    RequestsSpec {
        request: Bytes::new(200),
        response: Bytes::new(64 << 10),
        think: Duration::ZERO,
        outstanding: 1,
        count: None,
        pause: Duration::ZERO,
    }
}

#[test]
fn every_kind_is_a_table_or_a_text() {
    for (table, text, want) in [
        (
            "{ kind = \"requests\", response = \"64KiB\" }",
            "requests response=64KiB",
            Application::Requests(requests()),
        ),
        (
            "{ outstanding = 4, count = 9, pause = \"1ms\", think = \"20ms\", kind = \"requests\", request = \"1B\", response = \"64KiB\" }",
            "requests request=1B response=64KiB think=20ms outstanding=4 count=9 pause=1ms",
            Application::Requests(RequestsSpec {
                request: Bytes::new(1),
                think: Duration::from_millis(20),
                outstanding: 4,
                count: Some(9),
                pause: Duration::from_millis(1),
                ..requests()
            }),
        ),
        (
            "{ kind = \"bursts\", size = \"1MB\", every = \"2s\" }",
            "bursts size=1MB every=2s",
            Application::Bursts(BurstsSpec { size: Bytes::new(1_000_000), every: Duration::from_secs(2) }),
        ),
        (
            "{ kind = \"window\", size = \"2MiB\" }",
            "window size=2MiB",
            Application::Window(WindowSpec { size: Bytes::new(2 << 20) }),
        ),
        (
            "{ kind = \"writes\", sizes = [\"300B\", \"1200B\"], think = \"5ms\" }",
            "writes sizes=300B,1200B think=5ms",
            Application::Writes(WritesSpec {
                sizes: vec![Bytes::new(300), Bytes::new(1200)],
                response: Bytes::new(1),
                think: Duration::from_millis(5),
            }),
        ),
    ] {
        assert_eq!(app(&format!("app = {table}")), want, "{table}");
        assert_eq!(app(&format!("app = \"{text}\"")), want, "{text}");
        assert_eq!(flows(&scenario(&format!("app = [\"bulk\", {table}]")))[1].app, want, "{table} in a list");
        let mut set = scenario("");
        set.set(&format!("flow.0.app={text}")).unwrap();
        assert_eq!(flows(&set)[0].app, want, "--set {text}");
        let json = serde_json::to_string(&want).unwrap();
        assert_eq!(serde_json::from_str::<Application>(&json).unwrap(), want, "{json}");
    }
}

#[test]
fn a_bulk_flow_is_written_as_before() {
    let flow = &flows(&scenario("app = \"bulk\""))[0];
    let json = serde_json::to_value(flow).unwrap();
    assert!(json.get("app").is_none() && json.get("nodelay").is_none(), "{json}");
    assert_eq!(serde_json::from_value::<FlowSpec>(json).unwrap(), *flow);
}

#[test]
fn lists_are_axes_of_applications_and_of_their_parameters() {
    let plan = scenario("app = [\"bulk\", { kind = \"window\", size = \"2MiB\" }]");
    let axes: Vec<_> = plan.plan().cells.iter().flat_map(|cell| cell.axes.clone()).collect();
    let axis = |value: &str| ("flow.app".to_owned(), value.to_owned());
    assert_eq!(axes, [axis("bulk"), axis("window size=2MiB")]);

    let plan = scenario("app = { kind = \"requests\", response = \"1MB\", think = [\"1ms\", \"20ms\"] }");
    let axes: Vec<_> = plan.plan().cells.iter().flat_map(|cell| cell.axes.clone()).collect();
    let axis = |value: &str| ("flow.app.think".to_owned(), value.to_owned());
    assert_eq!(axes, [axis("1ms"), axis("20ms")]);

    let writes = flows(&scenario("app = { kind = \"writes\", sizes = [[\"300B\"], [\"300B\", \"1200B\"]] }"));
    let counts: Vec<usize> = writes
        .iter()
        .map(|flow| match &flow.app {
            Application::Writes(writes) => writes.sizes.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_parameter_is_set_alone_and_an_application_replaces_those_of_another() {
    let text = "app = { kind = \"requests\", response = \"64KiB\", think = \"1ms\" }";
    let mut edited = scenario(text);
    edited.set("flow.app.think=20ms").unwrap();
    let want = RequestsSpec { think: Duration::from_millis(20), ..requests() };
    assert_eq!(flows(&edited)[0].app, Application::Requests(want));
    edited.set("flow.0.app.think=0ms").unwrap();
    assert_eq!(flows(&edited)[0].app, Application::Requests(requests()));
    edited.set("flow.app=bulk").unwrap();
    assert_eq!(flows(&edited)[0].app, Application::Bulk);

    let variants = format!(
        "{text}\n[[variant]]\nname = \"a\"\n[variant.flow]\napp.response = \"1MiB\"\n\
         [[variant]]\nname = \"b\"\n[variant.flow]\napp = {{ kind = \"window\", size = \"1MiB\" }}\n"
    );
    let got: Vec<&str> = flows(&scenario(&variants)).iter().map(|flow| flow.app.as_str()).collect();
    assert_eq!(got, ["requests", "window"]);
}

#[test]
fn sizes_are_set_as_in_a_file() {
    for text in ["300B,1200B", "300B 1200B", "[300B, 1200B]", "[\"300B\",\"1200B\"]"] {
        let mut edited = scenario("app = { kind = \"writes\", sizes = [\"1B\"] }");
        edited.set(&format!("flow.app.sizes={text}")).unwrap_or_else(|error| panic!("{error}"));
        let Application::Writes(writes) = &flows(&edited)[0].app else { panic!("{text}") };
        assert_eq!(writes.sizes, [Bytes::new(300), Bytes::new(1200)], "{text}");
    }
}

#[test]
fn datagrams_come_in_bursts_without_a_bitrate() {
    let flow =
        &flows(&scenario("protocol = \"udp\"\napp = { kind = \"bursts\", size = \"1MB\", every = \"2s\" }"))
            [0];
    assert_eq!((flow.protocol, flow.bitrate, flow.length), (Protocol::Udp, None, Bytes::new(1448)));
    assert_eq!(flow.app.as_str(), "bursts");
}

#[test]
fn the_caret_stands_below_the_parameter() {
    let text =
        "name = \"x\"\n[[flow]]\napp = { kind = \"requests\", response = \"64KiB\", think = \"20\" }\n";
    let error = Scenario::parse(text, "test.toml").expect_err("no unit").to_string();
    assert!(error.contains("test.toml:3:56") && error.contains("\"20ms\""), "{error}");
    let text = text.replace("{ kind", "[{ kind").replace('}', "}]");
    let error = Scenario::parse(&text, "test.toml").expect_err("no unit").to_string();
    assert!(error.contains("test.toml:3:57") && error.contains("\"20ms\""), "{error}");
}
