//! `pipefill shape`: what is shaped, what is not, and that nothing is left, however it ends.
//!
//! Here on this machine's kernel, in two namespaces; with `PIPEFILL_LINUX_KIT=DIR` also in a guest whose kernel has netem (`kit`).

mod kit;

use crate::measuring::namespace::{Namespace, end, root_folder, until};
use crate::measuring::{Folder, Outcome, Test, if_quiet, slow_test, test};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The other end's addresses: one that is shaped, one that is not.
const SHAPED: &str = "10.78.0.2";
const OTHER: &str = "10.78.0.3";

pub(super) fn tests() -> Vec<Test> {
    let mut all = vec![
        test("shaping: a_rate_holds_for_the_named_host_alone", a_rate_holds_for_the_named_host_alone),
        slow_test("shaping: a_discipline_is_the_kernels_own_qdisc", a_discipline_is_the_kernels_own_qdisc),
        slow_test("shaping: ssh_is_not_shaped", ssh_is_not_shaped),
        slow_test("shaping: filters_of_others_stay", filters_of_others_stay),
        slow_test("shaping: where_there_is_no_way_nothing_is_changed", where_there_is_no_way),
        slow_test("shaping: the_exit_code_is_the_commands", the_exit_code_is_the_commands),
        slow_test("shaping: in_a_kernel_with_netem", kit::in_a_kernel_with_netem),
    ];
    all.push(slow_test("shaping: nothing_is_left_by: SIGKILL at any moment", killed_at_any_moment));
    all.extend(ENDS.iter().map(|(name, end)| {
        slow_test(format!("shaping: nothing_is_left_by: {name}"), || nothing_is_left(*end))
    }));
    all
}

/// Two hosts, and what shaping could change at the first one before it did.
struct Scene {
    folder: Folder,
    near: Namespace,
    far: Namespace,
    before: String,
}

impl Scene {
    fn new() -> Result<Self, super::Skip> {
        let folder = root_folder(&["tc"])?;
        let (near, far) = (Namespace::new(), Namespace::new());
        near.join("10.78.0.1", &far, SHAPED);
        far.ip(&format!("addr add {OTHER}/24 dev w1"));
        let mut scene = Self { folder, near, far, before: String::new() };
        until(|| scene.state().contains(" state UP "), "w0 is not up");
        scene.before = scene.state();
        Ok(scene)
    }

    /// Waits until nothing of the shaping is left.
    fn until_as_before(&self, what: &str) {
        let began = Instant::now();
        loop {
            let state = self.state();
            if state == self.before {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{what}: {state}\nbefore: {}", self.before);
            sleep(Duration::from_millis(5));
        }
    }

    /// Qdiscs, filters and devices of the near host.
    fn state(&self) -> String {
        let of = |words: &[&str]| {
            let output = self.near.command(words).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        of(&["tc", "qdisc", "show"])
            + &of(&["tc", "filter", "show", "dev", "w0", "egress"])
            + &of(&["ip", "-o", "link"])
    }

    fn pipefill(&self, words: &[&str]) -> Command {
        let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
        let mut command = self.near.command(&[&[program], words].concat());
        command.current_dir(self.folder.root()).env("XDG_RUNTIME_DIR", self.folder.runtime());
        command
    }

    /// `pipefill shape w0` with `words`, which is up.
    fn shaping(&self, words: &[&str]) -> Child {
        let mut command = self.pipefill(&[&["shape", "w0"], words].concat());
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("undoes it"), "{line}");
        assert_ne!(self.state(), self.before);
        child
    }

    fn output(&self, words: &[&str]) -> Output {
        self.pipefill(words).output().unwrap()
    }

    /// A server at the far host's `port`; it ends with the scene.
    fn serve(&self, port: &str) -> Served {
        let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
        let mut command = self.far.command(&[program, "serve", "-p", port]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        Served(child)
    }
}

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

/// Received, Mbit/s.
fn rate(test: &Value) -> f64 {
    test["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or_else(|| panic!("{test:#}")) / 1e6
}

fn a_rate_holds_for_the_named_host_alone() -> Outcome {
    let scene = Scene::new()?;
    let _server = scene.serve("5201");
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let tests = format!(
        "{program} test {SHAPED} -t 2 -O 1 -J >shaped.json; {program} test {OTHER} -t 1 -J >other.json"
    );
    let output = scene
        .output(&["shape", "w0", "--rate", "20mbit", "--to", SHAPED, "--json", "--", "sh", "-c", &tests]);
    let told = json(&output.stderr);
    assert_eq!(told["ended_by"], "command", "{told:#}");
    let read = |name: &str| json(&std::fs::read(scene.folder.path(name)).unwrap());
    let (shaped, other) = (rate(&read("shaped.json")), rate(&read("other.json")));
    // 1448 of 1514 bytes of a frame are payload.
    let full = 20.0 * 1448.0 / 1514.0;
    assert!((if_quiet(15.0, 0.0)..full * 1.02).contains(&shaped), "{shaped} Mbit/s of 20");
    assert!(other > 2.0 * full, "{other} Mbit/s, as if it were shaped too");
    let bytes = told["carried"]["bytes"].as_f64().unwrap();
    assert!((bytes * 8.0 / 1e6) > 2.0 * shaped, "{told:#}");
    assert_eq!(scene.state(), scene.before);
    Ok(())
}

/// `pfifo_head_drop` is in every kernel; of the others this one has, or lacks, each.
fn a_discipline_is_the_kernels_own_qdisc() -> Outcome {
    let scene = Scene::new()?;
    let _server = scene.serve("5201");
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let test = format!("{program} test {SHAPED} -t 2 -J >test.json; tc -d qdisc show >qdiscs");
    let shaped = |words: &[&str]| {
        let all = [&["shape", "w0"], words, &["--to", SHAPED, "--json", "--", "sh", "-c", &test]].concat();
        let output = scene.output(&all);
        assert_eq!(scene.state(), scene.before, "{words:?}");
        let read = |name: &str| std::fs::read(scene.folder.path(name)).unwrap();
        (json(&output.stderr), rate(&json(&read("test.json"))), String::from_utf8(read("qdiscs")).unwrap())
    };
    let (told, mbit, qdiscs) = shaped(&["--rate", "10mbit", "--queue", "50p", "--aqm", "drophead"]);
    assert!(
        qdiscs.contains("qdisc pfifo_head_drop 4: dev pipefill") && qdiscs.contains("limit 50p"),
        "{qdiscs}"
    );
    let did = &told["carried"]["discipline"];
    assert_eq!((&did["kind"], &did["dropped_packets"]), (&"drophead".into(), &0.into()), "{told:#}");
    assert_eq!(did["overflow_packets"], told["carried"]["queue_dropped_packets"], "{told:#}");
    assert!(did["overflow_packets"].as_u64().unwrap() > 0 && mbit < 10.0, "{told:#}");

    // A full segment is 33 cells of 53 bytes.
    let framing = ["--set", "path.rate_layer=pppoe-llcsnap"];
    let (_, mbit, qdiscs) = shaped(&[&["--rate", "16mbit", "--queue", "100p"], &framing[..]].concat());
    let full = 16.0 * 1448.0 / (33.0 * 53.0);
    assert!((if_quiet(0.9 * full, 0.0)..full * 1.05).contains(&mbit), "{mbit} Mbit/s of {full}");
    assert!(qdiscs.contains("linklayer atm"), "{qdiscs}");

    for (aqm, module) in
        [("codel", "sch_codel"), ("fq_codel", "sch_fq_codel"), ("pie", "sch_pie"), ("red", "sch_red")]
    {
        let words =
            ["shape", "w0", "--rate", "10mbit", "--aqm", aqm, "--to", SHAPED, "--", "tc", "qdisc", "show"];
        let output = scene.output(&words);
        let [shown, said] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        match output.status.code() {
            Some(0) => assert!(shown.contains(&format!("qdisc {aqm} 4: dev pipefill")), "{aqm}: {shown}"),
            code => {
                assert_eq!(code, Some(3), "{aqm}: {said}");
                assert!(
                    said.contains(&format!("this kernel has no {aqm}")) && said.contains(module),
                    "{said}"
                );
            }
        }
        assert_eq!(scene.state(), scene.before, "{aqm}");
    }
    Ok(())
}

fn ssh_is_not_shaped() -> Outcome {
    let scene = Scene::new()?;
    let _servers = [scene.serve("22"), scene.serve("5201")];
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let of = |port: &str| format!("{program} test {SHAPED} -p {port} -t 1 -b 100M -J >{port}.json");
    let tests = format!("{}; {}", of("22"), of("5201"));
    scene.output(&["shape", "w0", "--rate", "5mbit", "--quiet", "--", "sh", "-c", &tests]);
    let rate_of =
        |port: &str| rate(&json(&std::fs::read(scene.folder.path(&format!("{port}.json"))).unwrap()));
    let (ssh, other) = (rate_of("22"), rate_of("5201"));
    assert!(ssh > 2.0 * other, "{ssh} Mbit/s to port 22, {other} to another one");
    assert!(other < 10.0, "{other} Mbit/s to another port");
    Ok(())
}

/// How shaping ends that nobody waits for.
type End = fn(&Scene, &mut Child);

const ENDS: &[(&str, End)] = &[
    ("Ctrl-C", |_, child| signal(child, Signal::SIGINT)),
    ("SIGTERM", |_, child| signal(child, Signal::SIGTERM)),
    ("SIGHUP", |_, child| signal(child, Signal::SIGHUP)),
    ("SIGKILL", |_, child| signal(child, Signal::SIGKILL)),
    ("--undo", |scene, _| {
        assert!(scene.output(&["shape", "w0", "--undo"]).status.success());
    }),
    ("the end of the switch", |_, child| {
        kill(switch_of(child), Signal::SIGTERM).unwrap();
    }),
    ("doctor, where all were killed", |scene, child| {
        kill_with_switch(scene, child);
        let output = scene.output(&["doctor", "--json"]);
        let undone = &json(&output.stdout)["shaping"]["undone"][0];
        assert_eq!(undone["interface"], "w0", "{}", String::from_utf8_lossy(&output.stdout));
    }),
    ("the next one, where all were killed", |scene, child| {
        kill_with_switch(scene, child);
        let output = scene.output(&["shape", "w0", "--rate", "1mbit", "--", "true"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }),
];

/// Both, and waits until they have ended.
fn kill_with_switch(scene: &Scene, child: &mut Child) {
    kill(switch_of(child), Signal::SIGKILL).unwrap();
    signal(child, Signal::SIGKILL);
    let _status = child.wait();
    until(|| !scene.has_switch(), "a killed switch still runs");
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// The only child of a process that shapes.
fn switch_of(child: &Child) -> Pid {
    try_switch_of(child).expect("it has no child")
}

fn try_switch_of(child: &Child) -> Option<Pid> {
    let file = format!("/proc/{0}/task/{0}/children", child.id());
    let children = std::fs::read_to_string(file).ok()?;
    Some(Pid::from_raw(children.trim().parse().ok()?))
}

/// Whether it is gone or a zombie, whose files are closed. Its command line goes before them: doctor would still reach its address.
fn has_ended(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, fields)| fields.starts_with(['Z', 'X']))
}

fn nothing_is_left(end: End) -> Outcome {
    let scene = Scene::new()?;
    let mut child = scene.shaping(&["--rate", "10mbit", "--for", "10min"]);
    end(&scene, &mut child);
    scene.until_as_before("ended");
    until(|| !scene.has_switch(), "the switch still runs");
    let _status = child.wait();
    Ok(())
}

/// While it is put up, too; with its switch every other time.
fn killed_at_any_moment() -> Outcome {
    let scene = Scene::new()?;
    for moment in 0..20 {
        let mut command = scene.pipefill(&["shape", "w0", "--rate", "10mbit"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(moment * 8));
        let switch = (moment % 2 == 1).then(|| try_switch_of(&child)).flatten();
        signal(&child, Signal::SIGKILL);
        let killed = switch.filter(|switch| kill(*switch, Signal::SIGKILL).is_ok());
        // A request that waits in the kernel is carried out before the process ends.
        let _status = child.wait();
        if let Some(killed) = killed {
            until(|| has_ended(killed), "a killed switch still runs");
            assert!(scene.output(&["doctor", "--json"]).status.success());
        }
        scene.until_as_before(&format!("killed after {} ms, switch: {switch:?}", moment * 8));
    }
    until(|| !scene.has_switch(), "a switch still runs");
    Ok(())
}

impl Scene {
    /// Whether a switch is in the near host's namespace.
    fn has_switch(&self) -> bool {
        let own = std::fs::read_link(self.near.file()).unwrap();
        let switches = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
            let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == b"--undo-shaping-of")
        });
        switches
            .into_iter()
            .any(|process| std::fs::read_link(process.path().join("ns/net")).is_ok_and(|its| its == own))
    }

    fn tc(&self, words: &str) {
        let words: Vec<&str> = ["tc"].into_iter().chain(words.split(' ')).collect();
        assert!(self.near.command(&words).status().unwrap().success(), "{words:?}");
    }
}

fn filters_of_others_stay() -> Outcome {
    let mut scene = Scene::new()?;
    scene.tc("qdisc add dev w0 clsact");
    scene.tc("filter add dev w0 egress protocol ip pref 7 u32 match ip dport 9 0xffff");
    scene.before = scene.state();
    let mut child = scene.shaping(&["--rate", "10mbit", "--to", SHAPED]);
    let meanwhile = scene.state();
    assert!(meanwhile.contains("pref 6 ") && meanwhile.contains("pref 7 "), "{meanwhile}");
    signal(&child, Signal::SIGINT);
    assert!(child.wait().unwrap().success());
    assert_eq!(scene.state(), scene.before);
    // Without a host our filters would keep ssh from those of others.
    let output = scene.output(&["shape", "w0", "--rate", "10mbit"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(scene.state(), scene.before);
    // Filters that came meanwhile keep the qdisc that they stand in.
    scene.tc("qdisc del dev w0 clsact");
    let mut child = scene.shaping(&["--rate", "10mbit", "--to", SHAPED]);
    scene.tc("filter add dev w0 ingress protocol ip pref 7 u32 match ip dport 9 0xffff");
    signal(&child, Signal::SIGINT);
    assert!(child.wait().unwrap().success());
    let after = scene.state();
    assert!(after.contains("clsact") && !after.contains("pipefill"), "{after}");
    Ok(())
}

fn where_there_is_no_way() -> Outcome {
    let mut scene = Scene::new()?;
    let refused = |scene: &Scene, words: &[&str], code: i32, why: &str| {
        let output = scene.output(&[&["shape"], words].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(why), "{words:?}: {told}");
        assert_eq!(scene.state(), scene.before, "{words:?}");
    };
    let doctor = scene.output(&["doctor", "--json"]);
    let checks = json(&doctor.stdout)["checks"].to_string();
    if checks.contains("absent; the lab needs none") {
        refused(&scene, &["w0", "--rtt", "50ms"], 3, "no netem");
        refused(&scene, &["w0", "--rate", "1mbit", "--loss", "1%"], 3, "no netem");
    }
    refused(&scene, &["lo", "--rate", "1mbit"], 2, "both directions");
    refused(&scene, &["none", "--rate", "1mbit"], 2, "there is w0");
    refused(&scene, &["w0"], 2, "--rtt 50ms");
    refused(&scene, &["w0", "--rate", "1mbit", "--for", "2days"], 2, "--for");
    refused(&scene, &["w0", "--rate", "1mbit", "--set", "path.reverse_rate=1mbit"], 2, "reverse");
    refused(&scene, &["w0", "--rate", "1mbit", "--aqm", "dualpi2"], 2, "write fq_codel");
    refused(&scene, &["w0", "--rate", "1mbit", "--aqm", "pie alpha=2.5"], 2, "write a whole number");
    refused(&scene, &["w0", "--rate", "1mbit", "--set", "path.mark=1%"], 2, "write path.aqm");
    refused(&scene, &["w0", "--rate", "1mbit", "--set", "path.rate_layer=ptm"], 2, "a 65th lower");
    refused(&scene, &["w0", "--rate", "1mbit", "--to", "nowhere.invalid"], 2, "nowhere.invalid");
    scene.tc("qdisc add dev w0 ingress");
    scene.before = scene.state();
    refused(&scene, &["w0", "--rate", "1mbit"], 3, "ingress");
    scene.tc("qdisc del dev w0 ingress");
    scene.before = scene.state();
    let mut child = scene.shaping(&["--rate", "1mbit"]);
    scene.before = scene.state();
    refused(&scene, &["w0", "--rate", "1mbit"], 2, "already");
    signal(&child, Signal::SIGINT);
    let _status = child.wait();
    Ok(())
}

fn the_exit_code_is_the_commands() -> Outcome {
    let scene = Scene::new()?;
    for (command, code) in [(&["true"][..], 0), (&["sh", "-c", "exit 7"], 7), (&["no-such-program"], 127)] {
        let output = scene.output(&[&["shape", "w0", "--rate", "1mbit", "--"], command].concat());
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(scene.state(), scene.before);
    }
    // SIGTERM undoes it at once, whatever the command does with it.
    let mut child =
        scene.shaping(&["--rate", "1mbit", "--", "sh", "-c", "trap '' TERM; touch deaf; exec sleep 60"]);
    until(|| scene.folder.path("deaf").exists(), "the command does not start");
    signal(&child, Signal::SIGTERM);
    until(|| scene.state() == scene.before, "it waits for the command");
    assert!(child.try_wait().unwrap().is_none());
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    for id in children.split_whitespace() {
        let _ended = kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL);
    }
    let _status = child.wait();
    // The time is up first.
    let output =
        scene.output(&["shape", "w0", "--rate", "1mbit", "--for", "200ms", "--json", "--", "sleep", "1"]);
    assert_eq!(json(&output.stderr)["ended_by"], "time");
    assert_eq!(scene.state(), scene.before);
    Ok(())
}
