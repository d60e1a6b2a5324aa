//! What a real Prometheus makes of `watch --listen`, while iperf3 is limited by its application, a planted window or planted losses. It takes a
//! Prometheus, which `make proof` installs.

use super::{CLIENT, SERVER, Stage};
use crate::measuring::namespace::{end, installed, root_folder, until};
use crate::measuring::{Folder, Outcome, Test, slow_test};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) fn tests() -> Vec<Test> {
    vec![
        slow_test("prometheus_scrapes_and_every_query_of_the_dashboard_has_data", scrape),
        slow_test("seconds_of_a_planted_window_grow_in_prometheus", || planted(&WINDOW)),
        slow_test("seconds_of_planted_losses_grow_in_prometheus", || planted(&LOSSES)),
        slow_test("alerts_fire_when_they_should", alerts),
        slow_test("the_systemd_unit_exposes_little", unit),
    ]
}

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// What `command` prints.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Prometheus, which scrapes `target` each second.
struct Prometheus {
    _running: Running,
    url: String,
}

impl Prometheus {
    fn start(folder: &Folder, target: &str) -> Self {
        let rules = packaging("prometheus/pipefill.rules.yml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{rules:?}]\n\
             scrape_configs: [{{job_name: pipefill, static_configs: [{{targets: [{target:?}]}}]}}]\n"
        );
        folder.write("prometheus.yml", &config);
        output(Command::new("promtool").args(["check", "config"]).arg(folder.path("prometheus.yml")));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}");
        let running = Command::new("prometheus")
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--enable-feature=exemplar-storage")
            .current_dir(folder.root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self { _running: Running(running.unwrap()), url }
    }

    /// What `/api/v1/PATH` answers; `None` where it does not answer yet.
    fn api(&self, path: &str, fields: &[String]) -> Option<Value> {
        let mut curl = Command::new("curl");
        curl.args(["-sG", &format!("{}/api/v1/{path}", self.url)]);
        fields.iter().for_each(|field| {
            curl.args(["--data-urlencode", field]);
        });
        serde_json::from_slice(&curl.output().unwrap().stdout).ok()
    }

    /// Seconds of iperf3's connections so far, of those series that have `labels` too.
    fn seconds(&self, labels: &str) -> f64 {
        let query = format!("sum(pipefill_limited_seconds_total{{process=\"iperf3\"{labels}}})");
        self.values(&query).first().copied().unwrap_or(0.0)
    }

    /// Of the seconds of iperf3's connections in the next twelve all, and those that `limited_by` held. There are as many as pass.
    fn grown(&self, limited_by: &str) -> [f64; 2] {
        let labels = ["".to_owned(), format!(",limited_by=\"{limited_by}\"")];
        until(|| self.seconds("") > 0.5, "no second of iperf3 was counted");
        let (before, began) = (labels.each_ref().map(|labels| self.seconds(labels)), Instant::now());
        sleep(Duration::from_secs(12));
        let after = labels.each_ref().map(|labels| self.seconds(labels));
        let took = began.elapsed().as_secs_f64();
        let [all, held] = [after[0] - before[0], after[1] - before[1]];
        println!("{all} s were counted in {took} s, {held} s of them for {limited_by}");
        // A look and a scrape lie between, each a second; the control connection adds what it says.
        assert!((took - 3.0..took + 4.0).contains(&all), "{all} s in {took} s");
        [all, held]
    }

    /// The values that a query has now.
    fn values(&self, query: &str) -> Vec<f64> {
        let Some(answer) = self.api("query", &[format!("query={query}")]) else { return Vec::new() };
        assert_eq!(answer["status"], "success", "{query}: {answer:#}");
        let results = answer["data"]["result"].as_array().unwrap();
        results.iter().map(|result| result["value"][1].as_str().unwrap().parse().unwrap()).collect()
    }
}

fn scrape() -> Outcome {
    let folder = root_folder(&["iperf3", "prometheus", "promtool", "curl"])?;
    let stage = Stage::new(&["iperf3", "-s"], 5201);
    // It listens in the own namespace.
    let (watching, at) = folder.serve_metrics(&["--netns", &stage.client.file()]);
    let _watching = Running(watching);
    let prometheus = Prometheus::start(&folder, &at.to_string());
    let _client = Running(stage.begin(&["iperf3", "-c", SERVER, "-B", CLIENT, "-t", "60", "-b", "20M"]));
    let [all, app] = prometheus.grown("app");
    assert!(app > 0.8 * all, "{app} s of {all} s");
    let bps = prometheus.values("8 * sum(rate(pipefill_goodput_bytes_total{direction=\"forward\"}[10s]))")[0];
    assert!((15e6..25e6).contains(&bps), "{bps}");
    assert_eq!(prometheus.values("up"), [1.0]);

    let metrics = output(Command::new("curl").args(["-s", &format!("http://{at}/metrics")]));
    checked_metrics(&metrics);
    let dashboard: Value =
        serde_json::from_slice(&fs::read(packaging("grafana/pipefill-watch.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() >= panels.len(), "{queries:?}");
    for query in queries {
        let query = query.replace("$__rate_interval", "10s").replace("$instance", ".*");
        assert!(!query.contains('$'), "{query}");
        let values = prometheus.values(&query);
        assert!(!values.is_empty() && values.iter().all(|value| value.is_finite()), "{query}: {values:?}");
    }
    let now = output(Command::new("date").arg("+%s"));
    let now: u64 = now.trim().parse().unwrap();
    for series in ["pipefill_limited_seconds_total", "pipefill_rtt_seconds_bucket"] {
        let fields = [format!("query={series}"), format!("start={}", now - 60), format!("end={}", now + 60)];
        let exemplars = prometheus.api("query_exemplars", &fields).unwrap();
        let remote = &exemplars["data"][0]["exemplars"][0]["labels"]["remote"];
        assert_eq!(remote, &format!("{SERVER}:5201"), "{exemplars:#}");
    }
    Ok(())
}

/// What limits iperf3 behind an emulated path.
struct Planted {
    limited_by: &'static str,
    /// Of `exec`.
    path: &'static [&'static str],
    /// What is done at the far end before its server starts.
    far: &'static str,
}

/// 128 KiB of payload in each 40 ms: a quarter of the rate.
const WINDOW: Planted = Planted {
    limited_by: "rwnd",
    path: &["--rtt", "40ms", "--rate", "100mbit"],
    far: "echo 4096 131072 262144 >/proc/sys/net/ipv4/tcp_rmem",
};
const LOSSES: Planted = Planted { limited_by: "cwnd", path: &["--rtt", "40ms", "--loss", "1%"], far: "true" };

fn planted(planted: &Planted) -> Outcome {
    let folder = root_folder(&["iperf3", "prometheus", "promtool", "curl", "sh"])?;
    folder.write("far.sh", &format!("{}\nexec iperf3 -s\n", planted.far));
    let mark = format!("pipefill-{}-{}", std::process::id(), planted.limited_by);
    let iperf3 = ["iperf3", "-c", "{server}", "-C", "cubic", "-t", "60", "--title", &mark];
    let exec = [&["exec", "--quiet"], planted.path, &["--server", "sh far.sh", "--"], &iperf3].concat();
    let _exec = Running(folder.start(&exec));
    let client = || client_with(&mark);
    until(|| client().is_some(), "no client of iperf3 was started");
    let namespace = format!("/proc/{}/ns/net", client().unwrap());
    let (watching, at) = folder.serve_metrics(&["--netns", &namespace]);
    let _watching = Running(watching);
    let prometheus = Prometheus::start(&folder, &at.to_string());
    let [all, held] = prometheus.grown(planted.limited_by);
    assert!(held > 0.8 * all, "{held} s of {all} s");
    let again = prometheus.values("sum(rate(pipefill_retransmits_total{process=\"iperf3\"}[10s]))")[0];
    assert_eq!(again > 0.0, planted.limited_by == "cwnd", "{again} segments a second were sent again");
    Ok(())
}

/// The client of iperf3 with `mark` among its arguments, and not the `exec` that started it.
fn client_with(mark: &str) -> Option<u32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_client = |pid: &u32| {
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.starts_with("iperf3\0") && arguments.contains(mark)
    };
    pids.into_iter().find(is_client)
}

/// `promtool check metrics` has nothing to say.
fn checked_metrics(metrics: &str) {
    let mut check = Command::new("promtool");
    let check =
        check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let told = check.wait_with_output().unwrap();
    let said = [told.stdout, told.stderr].concat();
    assert!(told.status.success() && said.is_empty(), "{}{metrics}", String::from_utf8_lossy(&said));
}

fn alerts() -> Outcome {
    installed(&["promtool"])?;
    let told = output(
        Command::new("promtool").args(["check", "rules"]).arg(packaging("prometheus/pipefill.rules.yml")),
    );
    assert!(told.contains("3 rules found"), "{told}");
    output(Command::new("promtool").args(["test", "rules"]).arg(packaging("prometheus/pipefill.tests.yml")));
    Ok(())
}

/// By systemd's own count, in which 10 is everything.
fn unit() -> Outcome {
    const EXPOSURE_MAX: &str = "30";
    installed(&["systemd-analyze"])?;
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    output(
        Command::new("systemd-analyze")
            .args(["security", "--offline=yes", &threshold])
            .arg(packaging("pipefill-watch.service")),
    );
    Ok(())
}
