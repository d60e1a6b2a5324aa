//! Matrices between hosts that are there already: namespaces, a container, another host by a real sshd; and what is left of a run that was killed.
//!
//! `PIPEFILL_HOSTS_KILLS` says how many runs are killed, and `PIPEFILL_HOSTS_ALL=1` measures the whole study.

mod held_path;
mod podman;
pub(crate) mod sshd;

use crate::measuring::namespace::{Namespace, root_folder, until};
use crate::measuring::{
    Folder, Outcome, Skip, Test, if_quiet, in_time, is_quiet, lab, read, report, slow_test, test,
};
use held_path::{HeldPath, RECEIVER};
use pipefill_core::cell::Direction;
use pipefill_core::record::AqmSample;
use pipefill_store::{decode_manifest, decode_table};
use podman::{BUSYBOX, Container};
use serde_json::Value;
use sshd::Sshd;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Study 3.
const STUDY: &str = include_str!("../../../../scenarios/studies/window.toml");
/// How far a figure may be from the lab's.
const SHARE: f64 = 0.1;
/// Something that listens at the receiver, so that the path is there.
const LISTENS: &str = "iperf3 -s";
/// A sysctl that a run changes.
const SCALING: &str = "/proc/sys/net/ipv4/tcp_window_scaling";

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    let all = &["300us", "1ms", "10ms", "20ms", "50ms"][..];
    for rtt in if is_whole() { all } else { &["10ms"] } {
        tests.push(slow_test(format!("netns: window, {rtt}"), || over_namespaces(rtt)));
        tests.push(slow_test(format!("container: window, {rtt}"), || over_a_container(rtt)));
    }
    // What a window lets out in 1 ms takes most of a CPU by ssh.
    for rtt in if is_whole() { all } else { &["10ms", "20ms"] } {
        tests.push(slow_test(format!("ssh: window, {rtt}"), || over_ssh(rtt)));
    }
    tests.push(slow_test("a_server_of_another_kind", other_servers));
    tests.push(slow_test("what_can_not_be_is_told", refusals));
    tests.push(slow_test("an_interface_is_shaped_for_the_run", shaped));
    tests.push(slow_test("a_shaped_interfaces_queue_is_sampled", a_shaped_queue_is_sampled));
    tests.push(slow_test("a_far_end_that_nobody_wants_ends", its_time_is_up));
    tests.push(test("a_run_that_is_killed_leaves_nothing", killed));
    tests.push(test("what_is_killed_with_its_guard_is_given_back_by_the_next_run", killed_with_its_guard));
    tests
}

fn is_whole() -> bool {
    std::env::var("PIPEFILL_HOSTS_ALL").is_ok_and(|value| value == "1")
}

/// The study without its path, between these places.
fn between(sender: &str, receiver: &str) -> String {
    let from = STUDY.find("[host]").unwrap();
    let to = STUDY.find("[published]").unwrap();
    let hosts = format!("[hosts]\nsender = \"{sender}\"\nreceiver = \"{receiver}\"\n");
    format!("name = \"between\"\n{hosts}\n{}", &STUDY[from..to])
}

const QUICK: [&str; 3] = ["--quick", "--set", "flow.duration=1500ms"];

/// The cell that the lab measures at this round trip, once for all tests.
fn in_the_lab(variant: &str, rtt: &str) -> Result<Value, Skip> {
    static MEASURED: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
    let only = format!("variant={variant},path.rtt={rtt}");
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cell) = measured.get(&only) {
        return Ok(cell.clone());
    }
    let folder = lab()?;
    folder.write("study.toml", STUDY);
    let words = [&["study.toml", "--only", &only][..], &QUICK].concat();
    let cell = report(&folder, &words)?["cells"][0].clone();
    measured.insert(only, cell.clone());
    Ok(cell)
}

/// The cell agrees with the lab's: the limit; on a quiet machine also goodput, or the round trip of a ping of no bytes.
fn agrees(cell: &Value, lab: &Value, what: &str) {
    let [found, wanted] = [cell, lab].map(|cell| match cell["goodput_bps"].as_f64() {
        Some(goodput) if cell["axes"]["variant"] == "tcp" => goodput,
        _ => cell["ping"]["base_rtt_us"].as_f64().unwrap_or_else(|| panic!("{cell:#}")),
    });
    let limits = [cell, lab].map(|cell| cell["limited_by"].clone());
    println!("{what}: {found:.0}, limited by {}, and in the lab {wanted:.0}, {}", limits[0], limits[1]);
    assert_eq!(limits[0], limits[1], "{what}: {cell:#}");
    let is_near = (found - wanted).abs() < SHARE * wanted;
    assert!(is_near || !is_quiet(), "{what}: {found}, and in the lab {wanted}: {cell:#}");
}

fn over_namespaces(rtt: &str) -> Outcome {
    let folder = root_folder(&["iperf3"])?;
    let path = HeldPath::of_study(&folder, rtt, LISTENS);
    near(&folder, &path, &format!("netns:{}", path.receiver), rtt)
}

fn over_a_container(rtt: &str) -> Outcome {
    let folder = root_folder(&["iperf3", "podman", "runc", BUSYBOX])?;
    let path = HeldPath::of_study(&folder, rtt, LISTENS);
    let container = Container::start(&folder, &path.receiver)?;
    near(&folder, &path, &format!("container:{}", container.name()), rtt)
}

/// Both variants, by threads of this machine.
fn near(folder: &Folder, path: &HeldPath, receiver: &str, rtt: &str) -> Outcome {
    folder.write("between.toml", &between(&format!("netns:{}", path.sender), receiver));
    let told = report(folder, &[&["between.toml", "--on", "hosts"][..], &QUICK].concat())?;
    for cell in told["cells"].as_array().unwrap() {
        let variant = cell["axes"]["variant"].as_str().unwrap();
        let lab = in_the_lab(variant, rtt)?;
        agrees(cell, &lab, &format!("{receiver} {variant} {rtt}"));
    }
    // What the run has changed is as it was.
    let scaling = path.at_sender(&["cat", SCALING]).output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&scaling).trim(), "1");
    Ok(())
}

/// The variant of TCP: a far end has no echo.
fn over_ssh(rtt: &str) -> Outcome {
    let folder = root_folder(&[sshd::PROGRAM, "ssh", "ssh-keygen"])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    // At one round trip the other host has pipefill, at the others it is sent.
    let own = if rtt == "10ms" { program.parent().unwrap().to_str().unwrap() } else { "/nowhere" };
    let server = Sshd::prepare(&folder, RECEIVER, &format!("/usr/bin:/bin:{own}"));
    let path = HeldPath::of_study(&folder, rtt, &server.command());
    folder.write("between.toml", &between("local", &format!("ssh:{RECEIVER}")));
    let program = program.to_str().unwrap();
    let words =
        [program, "run", "between.toml", "--on", "hosts", "--only", "variant=tcp", "--out", "ssh", "--json"];
    let sent = sshd::executable(&folder);
    let mut command = path.at_sender(&[&words[..], &QUICK, &["--agent", &sent]].concat());
    command.current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    command.env("PIPEFILL_SSH", server.client());
    let [output] = in_time(|| [command.output().unwrap()])?;
    let told = read(&output);
    let cell = &told["cells"][0];
    assert_eq!(cell["valid"], 1, "{cell:#}");
    agrees(cell, &in_the_lab("tcp", rtt)?, &format!("ssh {rtt}"));
    nothing_left(&server.temporary());
    Ok(())
}

/// `pipefill serve` and a stock iperf3 as places; both ways.
fn other_servers() -> Outcome {
    let folder = root_folder(&["iperf3"])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap().to_owned();
    for server in [format!("{program} serve -p 5201"), LISTENS.to_owned()] {
        let path = HeldPath::of_study(&folder, "10ms", &server);
        let kind = if server == LISTENS { "iperf3" } else { "pipefill" };
        let text = "name = \"servers\"\n[[flow]]\nlength = \"1448B\"\nduration = \"700ms\"\nbitrate = \"20mbit\"\nprotocol = [\"tcp\", \"udp\"]\n\
                    direction = [\"forward\", \"reverse\"]\n[run]\nrepeat = 1\n";
        folder.write("servers.toml", &format!("{text}[hosts]\nreceiver = \"{kind}:{RECEIVER}\"\n"));
        let out = format!("of-{kind}");
        let words = [&program, "run", "servers.toml", "--on", "hosts", "--out", &out, "--json", "--quiet"];
        let mut command = path.at_sender(&words);
        command.current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
        let [output] = in_time(|| [command.output().unwrap()])?;
        let told = read(&output);
        assert_eq!(told["cells"].as_array().unwrap().len(), 4);
        for cell in told["cells"].as_array().unwrap() {
            let goodput = cell["goodput_bps"].as_f64().unwrap_or_else(|| panic!("{cell:#}"));
            let share = if_quiet(1.0 - SHARE, 0.0)..1.0 + SHARE;
            assert!(share.contains(&(goodput / 20e6)), "{kind}: {goodput}: {cell:#}");
        }
    }
    Ok(())
}

/// Two hosts, and a scenario that shapes the sender's interface to 20 Mbit/s with these keys of its path beside. Of the rate alone: not every
/// kernel has netem.
fn shaped_scenario(folder: &Folder, hosts: [&str; 2], path: &str) {
    let [sender, receiver] = hosts;
    folder.write(
        "shaped.toml",
        &format!(
            "name = \"shaped\"\n[hosts]\nsender = \"{sender}\"\nreceiver = \"{receiver}\"\naddress = \"10.99.0.2\"\n\
             shape = \"sender:w0\"\n[path]\nrate = \"20mbit\"\n{path}\n[[flow]]\nduration = \"2s\"\n[run]\nrepeat = 1\n"
        ),
    );
}

fn shaped() -> Outcome {
    let folder = root_folder(&["tc"])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, "10.99.0.2");
    let qdiscs = || here.command(&["tc", "qdisc", "show"]).output().unwrap().stdout;
    let before = qdiscs();
    let [sender, receiver] = [&here, &there].map(|host| format!("netns:{}", host.file()));
    shaped_scenario(&folder, [&sender, &receiver], "queue = \"64KiB\"");
    let told = report(&folder, &["shaped.toml", "--on", "hosts"])?;
    let goodput = told["cells"][0]["goodput_bps"].as_f64().unwrap_or_else(|| panic!("{told:#}"));
    println!("{goodput:.0} bit/s; {}", told["cells"][0]["verdict"]);
    assert!((if_quiet(17e6, 1.0)..20e6).contains(&goodput), "{told:#}");
    assert_eq!(qdiscs(), before);
    Ok(())
}

/// The kernel's counters of the queue's discipline over time, with a receiver on this machine and with a server of tests. `pfifo_head_drop` is in every
/// kernel; what a kernel lacks of the others it says (`exec::shaping`).
fn a_shaped_queue_is_sampled() -> Outcome {
    let folder = root_folder(&["tc"])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, "10.99.0.2");
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap().to_owned();
    let mut serving = there.command(&[&program, "serve", "-p", "5201"]);
    let mut serving = serving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(
        || !there.command(&["ss", "-Hltn", "sport = :5201"]).output().unwrap().stdout.is_empty(),
        "no server",
    );
    let [sender, receiver] = [&here, &there].map(|host| format!("netns:{}", host.file()));
    for (out, hosts) in [("near", [&*sender, &*receiver]), ("far", ["local", "pipefill:10.99.0.2"])] {
        shaped_scenario(&folder, hosts, "queue = \"40p\"\naqm = \"drophead\"");
        let words = [&program, "run", "shaped.toml", "--on", "hosts", "--out", out, "--json", "--quiet"];
        let mut command = here.command(&words);
        command.current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
        let output = command.output().unwrap();
        assert!(folder.path(out).exists(), "{}", String::from_utf8_lossy(&output.stderr));
        let run = fs::read_dir(folder.path(out).join("runs")).unwrap().next().unwrap().unwrap().path();
        let did = decode_manifest(File::open(run.join("manifest.json")).unwrap()).unwrap().aqm.remove(0);
        let rows: Vec<AqmSample> = decode_table(File::open(run.join("aqm.jsonl.zst")).unwrap()).unwrap();
        let last = rows.last().unwrap();
        println!("{out}: {} rows, the last one {last:?}", rows.len());
        // 20 a second; a late machine has fewer.
        let most = last.t_us as f64 / 45e3 + 2.0;
        assert!((if_quiet(30.0, 2.0)..=most).contains(&(rows.len() as f64)), "{out}: {} rows", rows.len());
        assert!(rows.is_sorted_by_key(|row| (row.t_us, row.packets, row.overflow_packets)), "{out}");
        assert!(rows.iter().all(|row| row.direction == Direction::Forward), "{out}");
        let backlogs = rows.iter().map(|row| (row.backlog_packets.unwrap(), row.backlog_bytes.unwrap()));
        let longest = backlogs.max().unwrap();
        assert!(longest.0 > 0 && longest.0 <= 40 && longest.1 <= 40 * 1514, "{out}: {longest:?}");
        let unknown =
            |row: &AqmSample| [row.sojourn_sum_us, row.sojourn_us, row.drop_count, row.probability_ppb];
        assert!(rows.iter().all(|row| unknown(row) == [None; 4]), "{out}: {last:?}");
        assert!(last.overflow_packets > 0 && last.dropped_packets == 0, "{out}: {last:?}");
        let counted = did.counted.unwrap();
        assert!(counted.overflow_packets >= last.overflow_packets, "{out}: {counted:?}, {last:?}");
        assert!(did.packets >= last.packets, "{out}: {did:?}, {last:?}");
    }
    serving.kill().unwrap();
    serving.wait().unwrap();
    Ok(())
}

/// What a scenario asks for and these hosts have not.
fn refusals() -> Outcome {
    let folder = root_folder(&[])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, "10.99.0.2");
    let receiver = format!("netns:{}", there.file());
    let hosts = format!("[hosts]\nsender = \"netns:{}\"\nreceiver = \"{receiver}\"\n", here.file());
    for (text, code, said) in [
        (format!("{hosts}[path]\nrtt = \"10ms\"\n"), 2, "[path]"),
        (format!("{hosts}shape = \"sender:w0\"\n[path]\nrate = \"20mbit\"\n"), 2, "[hosts] address"),
        (format!("{hosts}shape = \"receiver:w0\"\n[path]\nrate = \"20mbit\"\n"), 2, "sender:eth0"),
        (format!("{hosts}[host]\ngro = false\n"), 2, "offloads"),
        ("[path]\n".to_owned(), 2, "[hosts]"),
        (
            format!("[hosts]\nreceiver = \"{receiver}\"\n[sender]\ntcp_wmem = \"4096 16384 1MiB\"\n"),
            2,
            "[hosts] address",
        ),
        ("[hosts]\nreceiver = \"netns:there-is-none\"\n".to_owned(), 2, "ip netns"),
        (
            "[hosts]\nreceiver = \"iperf3:192.0.2.1\"\n[host]\nsysctl.\"net.ipv4.tcp_sack\" = 0\n".to_owned(),
            2,
            "--allow-sysctl",
        ),
    ] {
        folder.write("refused.toml", &format!("name = \"refused\"\n{text}"));
        let output = folder.pipefill(&["run", "refused.toml", "--on", "hosts", "--quiet"]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}: {told}");
        assert!(told.contains(said), "{text}: {told}");
    }
    Ok(())
}

/// The word by which a far end and the process that gives settings back are known.
const HELPERS: [&str; 2] = ["--far-end-of-a-matrix", "--give-settings-back"];

/// A far end whose caller keeps the connection, and wants nothing more.
fn its_time_is_up() -> Outcome {
    let folder = root_folder(&[])?;
    let sent = folder.path("sent");
    fs::create_dir(&sent).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("pipefill"));
    command.arg(HELPERS[0]).arg(&sent).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || output.next().unwrap().unwrap();
    assert!(line().contains("\"ready\""));
    assert!(!sent.exists(), "what was sent is removed at once");
    let asked = format!(
        "{{\"ask\":\"begin\",\"key\":\"{}\",\"address\":\"127.0.0.1\",\"wanted_s\":1}}\n",
        "k".repeat(64)
    );
    input.write_all(asked.as_bytes()).unwrap();
    assert!(line().contains("\"serving\""));
    let began = Instant::now();
    assert!(child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    Ok(())
}

/// Runs that are killed at any instant; over ssh, and between namespaces.
fn killed() -> Outcome {
    let folder = root_folder(&[sshd::PROGRAM, "ssh", "ssh-keygen", "tc"])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, "10.99.0.2");
    // So that it is sent, which takes long.
    let server = Sshd::prepare(&folder, "10.99.0.2", "/usr/bin:/bin");
    let command = server.command();
    let mut listening = there.command(&command.split(' ').collect::<Vec<_>>());
    let mut listening = listening.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(
        || !there.command(&["ss", "-Hltn", "sport = :2222"]).output().unwrap().stdout.is_empty(),
        "no sshd",
    );
    let scene = |namespace: &Namespace| {
        let read = |words: &[&str]| namespace.command(words).output().unwrap().stdout;
        [read(&["sysctl", "-a", "--pattern", "^net.ipv4.tcp_"]), read(&["tc", "qdisc"])]
    };
    let before = [&here, &there].map(scene);
    folder.write("ssh.toml", &between("local", "ssh:10.99.0.2"));
    folder.write("netns.toml", &between("local", &format!("netns:{}", there.file())));
    let count = std::env::var("PIPEFILL_HOSTS_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap().to_owned();
    let sent = sshd::executable(&folder);
    for number in 0..count {
        let (file, longest) = if number % 2 == 0 { ("ssh.toml", 4_000) } else { ("netns.toml", 2_500) };
        let out = format!("killed-{number}");
        let words = [&program, "run", file, "--on", "hosts", "--only", "variant=tcp", "--quick", "--quiet"];
        let words = [&words[..], &["--out", &out, "--agent", &sent]].concat();
        // Not by nice(1) and nsenter(1), which would be killed in its place.
        let mut run = here.command(&words);
        run.current_dir(folder.root())
            .env("XDG_RUNTIME_DIR", folder.runtime())
            .env("PIPEFILL_SSH", server.client());
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let instant = Duration::from_millis(random_below(longest));
        sleep(instant);
        child.kill().unwrap();
        child.wait().unwrap();
        let what = format!("{file} killed after {instant:?}");
        println!("{what}");
        nothing_left(&server.temporary());
        let is_as_before = || [&here, &there].map(scene) == before;
        until(is_as_before, &format!("{what}: settings are not as they were"));
    }
    listening.kill().unwrap();
    listening.wait().unwrap();
    Ok(())
}

/// A run and the process that would give its settings back, killed together: the next command does so.
fn killed_with_its_guard() -> Outcome {
    let folder = root_folder(&["pgrep"])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, "10.99.0.2");
    let scaling = || {
        let output = there.command(&["cat", SCALING]).output().unwrap().stdout;
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    assert_eq!(scaling(), "1");
    folder.write("netns.toml", &between("local", &format!("netns:{}", there.file())));
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap().to_owned();
    let words = [&program, "run", "netns.toml", "--on", "hosts", "--only", "variant=tcp", "--quiet"];
    let mut run = here.command(&words);
    run.current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| scaling() == "0", "the run has set nothing");
    let guards =
        Command::new("pgrep").args(["-P", &child.id().to_string(), "-f", "--", HELPERS[1]]).output().unwrap();
    let guards = String::from_utf8(guards.stdout).unwrap();
    assert!(!guards.trim().is_empty(), "nobody would give it back");
    let killed =
        Command::new("kill").arg("-9").args(guards.split_whitespace()).arg(child.id().to_string()).status();
    assert!(killed.unwrap().success());
    child.wait().unwrap();
    assert_eq!(scaling(), "0", "somebody else has given it back");
    let told = folder.pipefill(&["doctor", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told["settings"].to_string().contains("net.ipv4.tcp_window_scaling = 1"), "{told:#}");
    assert_eq!(scaling(), "1");
    let again = folder.pipefill(&["doctor", "--json"]).output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["settings"], serde_json::json!([]));
    Ok(())
}

/// No process and no file of ours, within the time that it takes to notice.
fn nothing_left(temporary: &Path) {
    until(|| helpers().is_empty(), "a process is left");
    until(|| fs::read_dir(temporary).unwrap().next().is_none(), "a file is left");
}

/// Processes of this machine that are ours.
fn helpers() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| HELPERS.iter().any(|word| line.split('\0').nth(1) == Some(word))).collect()
}

fn random_below(most: u64) -> u64 {
    let mut bytes = [0; 8];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    u64::from_ne_bytes(bytes) % most
}
