//! `pipefill exec`: programs that are not ours, unmodified, behind a path of this machine's kernel; and `pipefill shape`.

mod datagrams;
mod disturbed;
mod drops;
mod shaping;

use crate::measuring::namespace::{Namespace, end, folder_with, root_folder, until};
use crate::measuring::{Folder, Outcome, Skip, Test, excused, if_quiet, is_quiet, names, slow_test, test};
use pipefill_core::record::OptionsSet;
use pipefill_store::decode_manifest;
use pipefill_testkit::witness::Witness;
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// An ordinary user with no other process.
const ORDINARY: u32 = 65_533;
/// Bytes that are transferred.
const FILE: usize = 20_000_000;
/// Two-sided 99.9 % of the normal distribution.
const Z_999: f64 = 3.291;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = vec![
        slow_test("a_file_arrives_as_it_was", || arrives("ipv4", None)),
        slow_test(
            "one_connection_sees_that_another_shares_its_queue",
            one_connection_sees_that_another_shares_its_queue,
        ),
        slow_test("a_path_that_was_stopped_is_not_judged", a_path_that_was_stopped),
        slow_test("the_verdict_knows_the_path_that_exec_emulates", the_emulated_path_is_known),
        slow_test("datagrams_alone_are_told_with_their_rate", datagrams_alone),
        slow_test("the_first_command_of_the_readme_works_in_an_empty_folder", first_command_of_the_readme),
        slow_test("a_file_arrives_over_ipv6", || arrives("ipv6", None)),
        slow_test("a_file_arrives_for_an_ordinary_user", || arrives("ipv4", Some(ORDINARY))),
        slow_test("a_file_arrives_for_an_ordinary_user_over_ipv6", || arrives("ipv6", Some(ORDINARY))),
        slow_test("a_profile_is_the_path_of_a_download", || a_download_behind_lte(None)),
        slow_test("a_profile_is_the_path_of_an_ordinary_user", || a_download_behind_lte(Some(ORDINARY))),
        slow_test("ping_sees_the_delay", || ping_sees_the_delay("ipv4")),
        slow_test("ping_sees_the_delay_of_ipv6", || ping_sees_the_delay("ipv6")),
        slow_test("ping_sees_the_loss", ping_sees_the_loss),
        slow_test("every_way_of_iperf3_works_and_stays_below_the_path", every_way_of_iperf3),
        slow_test("datagrams_handed_over_in_one_piece_arrive_one_by_one", datagrams_in_one_piece),
        slow_test("what_limits_a_program_is_told_and_kept", what_limits_a_program),
        slow_test("what_a_program_has_set_is_read", || what_a_program_has_set(None)),
        slow_test("what_an_ordinary_users_program_has_set_is_read", || {
            what_a_program_has_set(Some(ORDINARY))
        }),
        slow_test("the_machines_own_network_is_reached_through_the_path", the_machines_own_network),
        slow_test("an_uplink_that_is_missing_or_ends_is_told", an_uplink_that_is_missing_or_ends),
        slow_test("the_exit_code_is_the_commands", the_exit_code_is_the_commands),
        slow_test("signals_reach_the_command", signals_reach_the_command),
        slow_test("nothing_is_left_of_what_a_command_started", nothing_is_left),
        test("many_in_a_row_leave_nothing", many_in_a_row),
        slow_test("nothing_is_left_where_exec_itself_is_killed", nothing_is_left_of_a_killed_exec),
    ];
    tests.extend(datagrams::tests());
    tests.extend(disturbed::tests());
    tests.extend(drops::tests());
    tests.extend(shaping::tests());
    tests
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `pipefill exec` with `words`, as `user` where one is named.
fn exec(folder: &Folder, words: &[&str], user: Option<u32>) -> Output {
    let built = assert_cmd::cargo::cargo_bin!("pipefill");
    let mut command = match user {
        None => Command::new(built),
        Some(user) => {
            // Where others can reach it; not written by this process, whose other tests may start programs meanwhile.
            let copy = folder.path("pipefill");
            assert!(Command::new("cp").arg(built).arg(&copy).status().unwrap().success());
            fs::set_permissions(folder.root(), Permissions::from_mode(0o755)).unwrap();
            let mut command = Command::new(copy);
            command.uid(user).gid(user);
            command
        }
    };
    command.arg("exec").args(words).current_dir(folder.root()).stdin(Stdio::null());
    command.output().unwrap()
}

/// What `exec --json` with `words` says of its connections.
///
/// # Errors
/// The path was late, and the machine was too.
fn judged(folder: &Folder, words: &[&str]) -> Result<Value, Skip> {
    let witness = Witness::start();
    let output = exec(folder, words, None);
    let seen = witness.stop();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    if told["invalid"].is_array() { Err(excused(&seen, &told["invalid"].to_string())) } else { Ok(told) }
}

/// The same of what it says in words.
///
/// # Errors
/// As [`judged`].
fn is_judged(said: &str, witness: Witness) -> Outcome {
    let seen = witness.stop();
    // The words of the reasons are in the JSON alone.
    if said.contains("Not judged: ") { Err(excused(&seen, &format!("starved_cpu: {said}"))) } else { Ok(()) }
}

/// The same, whose exit code is `code`; what the command printed.
fn prints(folder: &Folder, words: &[&str], code: i32) -> String {
    let output = exec(folder, words, None);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn arrives(family: &str, user: Option<u32>) -> Outcome {
    let folder = folder_with(&["curl", "python3"])?;
    if user.is_some() && !nix::unistd::geteuid().is_root() {
        return Err(Skip::LabUnavailable("only root can be another user".to_owned()));
    }
    let bytes: Vec<u8> = (0..FILE).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.path("file"), &bytes).unwrap();
    let family = format!("path.family={family}");
    let server = "python3 -m http.server --bind :: 8000 >/dev/null 2>&1";
    let words = ["--rtt", "20ms", "--loss", "1%", "--set", &family, "--quiet", "--server", server, "--"];
    let curl = ["curl", "-sf", "http://{server}:8000/file"];
    let output = exec(&folder, &[&words[..], &curl].concat(), user);
    if user.is_some() && output.status.code() == Some(3) {
        return Err(Skip::LabUnavailable(format!("for an ordinary user: {}", text(&output.stderr))));
    }
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout == bytes, "{} of {FILE} bytes arrived, or others", output.stdout.len());
    Ok(())
}

/// A megabyte at no more than the trace's highest rate, with the round trip of the profile; the uplink's bottleneck is there too.
fn a_download_behind_lte(user: Option<u32>) -> Outcome {
    let folder = folder_with(&["curl", "python3"])?;
    if user.is_some() && !nix::unistd::geteuid().is_root() {
        return Err(Skip::LabUnavailable("only root can be another user".to_owned()));
    }
    fs::write(folder.path("file"), vec![7; 1_000_000]).unwrap();
    let server = "python3 -m http.server 8000 >/dev/null 2>&1";
    let words = ["--profile", "lte", "--quiet", "--server", server, "--"];
    let curl = ["curl", "-sf", "-o", "/dev/null", "-w", "%{size_download} %{time_connect} %{time_total}"];
    let output = exec(&folder, &[&words[..], &curl, &["http://{server}:8000/file"]].concat(), user);
    if user.is_some() && output.status.code() == Some(3) {
        return Err(Skip::LabUnavailable(format!("for an ordinary user: {}", text(&output.stderr))));
    }
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    let figures: Vec<f64> = told.split(' ').map(|figure| figure.parse().unwrap()).collect();
    let [bytes, connected, total] = figures[..] else { panic!("{told}") };
    // 70 ms of round trip less the jitter of the uplink; 32.2 Mbit/s at most.
    assert!(bytes == 1e6 && connected >= 0.065 && total >= bytes * 8.0 / 32.2e6, "{told}");
    Ok(())
}

/// The path stands still while its program does: what the connection carried is no property of the path.
fn a_path_that_was_stopped() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let words = ["exec", "--rtt", "20ms", "--rate", "20mbit", "--json", "--out", "kept", "--server"];
    let ends =
        ["iperf3 -s -1 >/dev/null", "--", "sh", "-c", "touch begun; exec iperf3 -c $PIPEFILL_SERVER -t 3"];
    let child = folder.start(&[&words[..], &ends].concat());
    until(|| folder.path("begun").exists(), "the command does not start");
    sleep(Duration::from_secs(1));
    let signal = |signal| nix::sys::signal::kill(pid(child.id()), signal).unwrap();
    signal(nix::sys::signal::Signal::SIGSTOP);
    sleep(Duration::from_secs(1));
    signal(nix::sys::signal::Signal::SIGCONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    let reasons = told["invalid"].as_array().unwrap_or_else(|| panic!("{told:#}"));
    assert!(reasons.iter().any(|invalid| invalid["reason"] == "starved_cpu"), "{told:#}");
    let fastest = &told["connections"][0];
    assert_eq!((&fastest["limited_by"], &fastest["advice"]), (&Value::Null, &Value::Null), "{fastest:#}");
    assert!(fastest["rate_bps"].as_u64() > Some(0), "the figures stay: {fastest:#}");
    assert!(fastest["verdict"].as_str().is_some_and(|said| said.starts_with("Not judged: ")), "{fastest:#}");
    let report = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["cells"][0]["valid"], 0, "{report:#}");
    Ok(())
}

/// Of a download, whose data the far end sends: its way is the path's reverse one. The control connection's figures are not the headline.
fn the_emulated_path_is_known() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let path =
        ["exec", "--quiet", "--rtt", "20ms", "--rate", "50mbit", "--reverse-rate", "20mbit", "--out", "kept"];
    let ends = ["--server", "iperf3 -s -1 >/dev/null", "--", "iperf3", "-c", "{server}", "-t", "2", "-R"];
    let output = folder.pipefill(&[&path[..], &ends].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    let fastest = cells.iter().filter_map(|cell| cell["goodput_bps"].as_u64()).max();
    assert_eq!(cells[0]["goodput_bps"].as_u64(), fastest, "{report:#}");
    let emulated = &cells[0]["run_values"][0]["emulated"];
    let asked = |bps: u64| serde_json::json!({ "value": bps, "origin": "asked" });
    assert_eq!(emulated["forward"]["rate_bps"], asked(20_000_000), "{emulated:#}");
    assert_eq!(emulated["reverse"]["rate_bps"], asked(50_000_000), "{emulated:#}");
    assert_eq!(emulated["base_rtt_us"], asked(20_000), "{emulated:#}");
    Ok(())
}

fn datagrams_alone() -> Outcome {
    let folder = folder_with(&["ping"])?;
    let words = ["--rtt", "1ms", "--", "ping", "-q", "-c", "100", "-i", "0.01", "-s", "1000", "{server}"];
    let output = exec(&folder, &words, None);
    let said = text(&output.stderr);
    assert!(said.contains("forward 100 packets (") && said.contains("bit/s of frames)"), "{said}");
    Ok(())
}

/// As it stands there, pasted into a shell.
fn first_command_of_the_readme() -> Outcome {
    const README: &str = include_str!("../../../../README.md");
    let folder = folder_with(&["curl", "python3"])?;
    let block = README.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let own = assert_cmd::cargo::cargo_bin!("pipefill").parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", block]).current_dir(folder.root()).env("PATH", path).stdin(Stdio::null());
    let witness = Witness::start();
    let output = shell.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    is_judged(&said, witness)?;
    // BBR, the default of some machines, sends on after losses: what holds it is its estimate, or a buffer where that has grown.
    let control = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let verdict = if control.trim() == "bbr" {
        "Limited by "
    } else {
        "Limited by the congestion window (random loss)"
    };
    assert!(said.contains(verdict), "{said}");
    Ok(())
}

/// Round trips that ping tells, milliseconds.
fn round_trips(printed: &str) -> Vec<f64> {
    let times = printed.lines().filter_map(|line| line.split_once("time="));
    times.filter_map(|(_, rest)| rest.split(' ').next()?.parse().ok()).collect()
}

fn ping_sees_the_delay(family: &str) -> Outcome {
    let folder = folder_with(&["ping"])?;
    let family = format!("path.family={family}");
    let words = ["--rtt", "30ms", "--set", &family, "--", "ping", "-c", "40", "-i", "0.02", "{server}"];
    let mut times = round_trips(&prints(&folder, &words, 0));
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{} round trips of 30 ms: least {least}, median {median}", times.len());
    assert_eq!(times.len(), 40);
    assert!((30.0..if_quiet(30.2, f64::INFINITY)).contains(&least), "{least}");
    Ok(())
}

fn ping_sees_the_loss() -> Outcome {
    const COUNT: f64 = 600.0;
    let folder = folder_with(&["ping"])?;
    let words = ["--rtt", "1ms", "--loss", "10%", "--", "ping", "-q", "-c", "600", "-i", "0.005", "{server}"];
    let printed = prints(&folder, &words, 0);
    let summary = printed.lines().find(|line| line.contains("packets transmitted")).expect("a summary");
    let number =
        |at: usize| summary.split(", ").nth(at).and_then(|part| part.split(' ').next()?.parse::<f64>().ok());
    let lost = number(0).expect("sent") - number(1).expect("received");
    // Lost on the way there or on the way back.
    let p = 1.0 - 0.9 * 0.9;
    let spread = Z_999 * (COUNT * p * (1.0 - p)).sqrt();
    println!("{lost} of {COUNT} lost, expected {} ± {spread:.0}", COUNT * p);
    assert!((lost - COUNT * p).abs() <= spread, "{lost} of {COUNT}, expected {} ± {spread}", COUNT * p);
    Ok(())
}

fn every_way_of_iperf3() -> Outcome {
    /// What headers leave of the path, with what waited in the queue at the end.
    const MOST: f64 = 50e6;
    let folder = folder_with(&["iperf3"])?;
    for more in ["", "-R", "--bidir", "-P 8", "-u -b 30M", "-u -b 30M -R"] {
        let words = ["--rtt", "10ms", "--rate", "50mbit", "--reverse-rate", "50mbit", "--quiet"];
        let server =
            ["--server", "iperf3 -s -1 >/dev/null", "--", "iperf3", "-c", "{server}", "-t", "2", "-J"];
        let more: Vec<&str> = more.split(' ').filter(|word| !word.is_empty()).collect();
        let printed = prints(&folder, &[&words[..], &server, &more].concat(), 0);
        let told: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        let end = &told["end"];
        let sums =
            ["sum_received", "sum_received_bidir_reverse"].map(|name| end[name]["bits_per_second"].as_f64());
        let rates: Vec<f64> = sums.into_iter().flatten().collect();
        println!("{more:?}: {rates:.0?}");
        assert_eq!(rates.len(), if more.contains(&"--bidir") { 2 } else { 1 }, "{end}");
        let least = if_quiet(if more.contains(&"-u") { 29e6 } else { 30e6 }, 1.0);
        assert!(rates.iter().all(|rate| (least..MOST).contains(rate)), "{more:?}: {rates:?}");
    }
    Ok(())
}

/// UDP_SEGMENT: 20 datagrams in each system call.
fn datagrams_in_one_piece() -> Outcome {
    const RECEIVE: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5000))
n = 0
while len(s.recv(65535)) == 1000: n += 1
open('count', 'w').write(str(n))
s.sendto(b'done', ('10.77.0.1', 5001))
";
    const SEND: &str = "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5001))
s.setsockopt(17, 103, 1000)
for _ in range(5):
    s.sendto(b'x' * 20000, (sys.argv[1], 5000))
    time.sleep(0.02)
s.setsockopt(17, 103, 0)
s.sendto(b'end', (sys.argv[1], 5000))
s.recv(10)
";
    let folder = folder_with(&["python3"])?;
    folder.write("receive.py", RECEIVE);
    folder.write("send.py", SEND);
    let words = ["--rtt", "5ms", "--server", "python3 receive.py", "--", "python3", "send.py", "{server}"];
    let output = exec(&folder, &words, None);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(fs::read_to_string(folder.path("count")).unwrap(), "100");
    assert!(said.contains("forward 101 packets"), "the path decides about each datagram: {said}");
    Ok(())
}

fn what_limits_a_program() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let path = ["--rtt", "20ms", "--rate", "20mbit", "--reverse-rate", "20mbit", "--aqm", "fq_codel"];
    let words = [&path[..], &["--json", "--out", "records"]].concat();
    let server = ["--server", "iperf3 -s -1 >/dev/null", "--", "iperf3", "-c", "{server}", "-t", "4", "-R"];
    let told = judged(&folder, &[&words[..], &server].concat())?;
    let connections = told["connections"].as_array().unwrap();
    let fastest = &connections[0];
    println!("{}", fastest["verdict"]);
    // What the server sends, as its own socket tells it.
    assert_eq!(
        (&fastest["limited_by"], &fastest["direction"]),
        (&"path".into(), &"reverse".into()),
        "{fastest}"
    );
    assert_eq!(fastest["process"], "iperf3");
    assert!(fastest["verdict"].as_str().is_some_and(|verdict| verdict.contains("by the path")), "{fastest}");
    let explained = folder.pipefill(&["explain", "records", "--json"]).output().unwrap();
    assert!(explained.status.success(), "{}", text(&explained.stderr));
    assert!(text(&explained.stdout).contains("\"path\""), "{}", text(&explained.stdout));
    the_queues_are_kept(&folder);
    Ok(())
}

/// iperf3 sets `TCP_NODELAY` of its connections, and with `-w` both buffers of those that carry data. That which controls them carries too little to
/// be seen by each look: it may have no record.
fn what_a_program_has_set(user: Option<u32>) -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    if user.is_some() && !nix::unistd::geteuid().is_root() {
        return Err(Skip::LabUnavailable("only root can be another user".to_owned()));
    }
    fs::create_dir(folder.path("kept")).unwrap();
    fs::set_permissions(folder.path("kept"), Permissions::from_mode(0o777)).unwrap();
    let without = [Some(OptionsSet::of_buffers(false, Some(true))); 2];
    let with = [Some(OptionsSet::of_buffers(true, Some(true))); 2];
    for (records, buffers, data) in
        [("kept/with", &["-w", "64K"][..], with), ("kept/without", &[][..], without)]
    {
        let server = "iperf3 -s -1 >/dev/null";
        let words = ["--rtt", "40ms", "--rate", "100mbit", "--out", records, "--server", server];
        let iperf3 = ["--", "iperf3", "-c", "{server}", "-t", "1", "-N"];
        let output = exec(&folder, &[&words[..], &iperf3, buffers].concat(), user);
        if user.is_some() && output.status.code() == Some(3) {
            return Err(Skip::LabUnavailable(format!("for an ordinary user: {}", text(&output.stderr))));
        }
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let runs = folder.path(records).join("runs");
        let options: Vec<[Option<OptionsSet>; 2]> = names(&runs)
            .iter()
            .map(|run| decode_manifest(File::open(runs.join(run).join("manifest.json")).unwrap()).unwrap())
            .map(|manifest| manifest.subject.observed().expect("no scenario").ends().map(|end| end.options))
            .collect();
        assert!(options.contains(&data), "{options:?}: {said}");
        assert!(options.iter().all(|of| [data, without].contains(of)), "{options:?}: {said}");
    }
    Ok(())
}

/// The fastest connection is kept as the server has it: its data go forward, through the queue that fills.
fn the_queues_are_kept(folder: &Folder) {
    let report = |form: &str| {
        let output = folder.pipefill(&["report", "records", "--format", form]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let told: Value = serde_json::from_str(&report("json")).unwrap();
    let queues = told["cells"][0]["aqm"].as_array().unwrap();
    let of = |direction: &str| queues.iter().find(|queue| queue["direction"] == direction).unwrap();
    let [data, acks] = ["forward", "reverse"].map(of);
    assert_eq!((&data["kind"], &acks["kind"]), (&"fq_codel".into(), &"fq_codel".into()));
    assert!(data["dropped_packets"].as_u64().unwrap() > 0, "{data}");
    assert!(data["sojourn_us_p50"].as_u64().unwrap() > 1_000, "{data}");
    assert_eq!(acks["dropped_packets"], 0, "{acks}");
    let samples = report("csv-aqm-samples");
    let mut lines = samples.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|column| *column == name).unwrap();
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let of_data: Vec<Vec<&str>> =
        rows.filter(|row| row[place("cell")] == "0" && row[place("direction")] == "forward").collect();
    let numbers =
        |name: &str| of_data.iter().map(|row| row[place(name)].parse().unwrap()).collect::<Vec<u64>>();
    let [times, left, dropped] = ["t_us", "packets", "dropped_packets"].map(numbers);
    assert!(times.len() > 40 && times.is_sorted(), "4 s at 20 a second: {times:?}");
    assert!(left.is_sorted() && left[left.len() / 2] < left[left.len() - 1], "{left:?}");
    assert!(dropped.last() > dropped.first(), "{dropped:?}");
}

/// A machine of two namespaces: one that a user has, and the world, with a web server and a resolver.
fn the_machines_own_network() -> Outcome {
    const RESOLVER: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 53))
while True:
    q, peer = s.recvfrom(600)
    end = q.index(0, 12) + 5
    is_a = q[end - 4:end - 2] == bytes([0, 1])
    answer = bytes([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 98, 0, 2]) if is_a else b''
    s.sendto(q[:2] + bytes([0x81, 0x80, 0, 1, 0, is_a, 0, 0, 0, 0]) + q[12:end] + answer, peer)
";
    let folder = root_folder(&["curl", "python3", "pasta", "nft", "unshare", "nsenter"])?;
    folder.write("resolver.py", RESOLVER);
    folder.write("resolv.conf", "nameserver 10.98.0.2\n");
    folder.write("page", "from the world\n");
    std::fs::write(folder.path("large"), vec![b'x'; 3_000_000]).unwrap();
    let (machine, world) = (Namespace::new(), Namespace::new());
    machine.join("10.98.0.1", &world, "10.98.0.2");
    machine.ip("route add default via 10.98.0.2");
    let serve = |words: &[&str]| {
        let mut command = world.command(words);
        command.current_dir(folder.root()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut servers = [serve(&["python3", "-m", "http.server", "80"]), serve(&["python3", "resolver.py"])];
    let listening = || text(&world.command(&["ss", "-Hlntu"]).output().unwrap().stdout);
    until(|| [":53 ", ":80 "].iter().all(|port| listening().contains(port)), "the servers do not listen");
    // In a mount namespace, in which the machine's resolver is ours.
    let run = |options: &str, curl: &str| {
        let program = assert_cmd::cargo::cargo_bin!("pipefill").display();
        let exec = format!("{program} exec --rtt 60ms {options} --uplink -- curl -s -m 10 -w '{curl}");
        let bind = format!("mount --bind {}/resolv.conf /etc/resolv.conf", folder.root().display());
        machine.command(&["unshare", "--mount", "sh", "-c", &format!("{bind} && {exec}")]).output().unwrap()
    };
    let page = run("--quiet", "%{time_connect}' http://some.example/page");
    // The receiver's kernel sends it over the path: pasta alone would take 20 times as long.
    let witness = Witness::start();
    let large = run("--reverse-rate 20mbit", "%{time_total}' -o /dev/null http://some.example/large");
    servers.iter_mut().for_each(end);
    assert!(page.status.success(), "{}", text(&page.stderr));
    let printed = text(&page.stdout);
    let (page, seconds) = printed.split_once('\n').expect("a page and a time");
    println!("{page:?}, connected after {seconds} s");
    assert_eq!(page, "from the world");
    let told = text(&large.stderr);
    let took: f64 = text(&large.stdout).parse().expect("seconds");
    println!("3 MB at 20 Mbit/s took {took} s\n{told}");
    assert!((1.2..if_quiet(2.5, 10.0)).contains(&took), "{took}");
    is_judged(&told, witness)?;
    // Its sender is a socket of the far end, so that more is known than what a receiver's socket tells.
    assert!(told.contains("Limited by the path"), "{told}");
    // The name takes a round trip, and the connection another one.
    assert_eq!(page, "from the world");
    assert!(
        seconds.parse::<f64>().is_ok_and(|seconds| (0.12..if_quiet(0.5, 10.0)).contains(&seconds)),
        "{seconds}"
    );
    Ok(())
}

/// Each connection is judged alone: that the first one sees the second one is what it infers from its own samples.
fn one_connection_sees_that_another_shares_its_queue() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let servers = "exec >/dev/null 2>&1; iperf3 -s -1 -p 5202 & exec iperf3 -s -1 -p 5201";
    let clients =
        "iperf3 -c $PIPEFILL_SERVER -p 5201 -t 10 & sleep 5; iperf3 -c $PIPEFILL_SERVER -p 5202 -t 5; wait";
    let words =
        ["--rtt", "20ms", "--rate", "40mbit", "--json", "--server", servers, "--", "sh", "-c", clients];
    let told = judged(&folder, &words)?;
    let all = told["connections"].as_array().expect("connections");
    // Beside it is a connection for control, which carries little.
    let to = |port: &str| {
        let its = all
            .iter()
            .filter(|connection| connection["remote"].as_str().is_some_and(|remote| remote.ends_with(port)));
        its.max_by_key(|connection| connection["rate_bps"].as_u64()).expect("a connection")
    };
    let first = to(":5201");
    println!("{} bit/s: {}", first["rate_bps"], first["verdict"]);
    assert_eq!(first["limited_by"], "path", "{first:#}");
    // How much gets through before and after needs samples in time.
    let is_told = first["verdict"].as_str().is_some_and(|said| said.contains("others share the bottleneck"));
    assert!(is_told || !is_quiet(), "{first:#}");
    Ok(())
}

fn an_uplink_that_is_missing_or_ends() -> Outcome {
    let folder = root_folder(&["pasta", "nft", "unshare", "nsenter"])?;
    let (machine, world) = (Namespace::new(), Namespace::new());
    machine.join("10.98.0.1", &world, "10.98.0.2");
    machine.ip("route add default via 10.98.0.2");
    let program = assert_cmd::cargo::cargo_bin!("pipefill").display();
    let without_tun =
        format!("mount -t tmpfs none /dev/net && exec {program} exec --rtt 1ms --uplink -- true");
    let refused = machine.command(&["unshare", "--mount", "sh", "-c", &without_tun]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("/dev/net/tun"), "{}", text(&refused.stderr));

    let begun = folder.path("begun");
    let words =
        format!("exec {program} exec --rtt 1ms --uplink -- sh -c 'touch {}; exec sleep 60'", begun.display());
    let mut command = machine.command(&["sh", "-c", &words]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| begun.exists(), "the command does not start");
    let uplink = descendant(child.id(), "passt").expect("an uplink");
    nix::sys::signal::kill(pid(uplink), nix::sys::signal::Signal::SIGKILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("pasta ended (SIGKILL)"), "{}", text(&output.stderr));
    Ok(())
}

/// A process called `name` that `ancestor` has started, or one that it has started (`/proc/PID/stat`, proc_pid_stat(5)).
fn descendant(ancestor: u32, name: &str) -> Option<u32> {
    let parent_and_name = |id: u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(") ")?;
        let parent: u32 = after.split(' ').nth(1)?.parse().ok()?;
        Some((parent, before.split_once('(')?.1.to_owned()))
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|&id: &u32| {
        let is_called = parent_and_name(id).is_some_and(|(_, called)| called.starts_with(name));
        is_called
            && std::iter::successors(Some(id), |&id| Some(parent_and_name(id)?.0)).any(|id| id == ancestor)
    })
}

fn the_exit_code_is_the_commands() -> Outcome {
    let folder = folder_with(&[])?;
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 42"], 42),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["no-such-program"], 127),
        (&["/etc/passwd"], 126),
    ] {
        prints(&folder, &[&["--rtt", "1ms", "--"], command].concat(), code);
    }
    // A queue needs no rate in the other direction.
    prints(&folder, &["--reverse-rate", "50mbit", "--queue", "64KiB", "--", "true"], 0);
    for (server, says) in [("exit 3", "ended before it listened (exit code 3)"), ("kill $$", "SIGTERM")] {
        let output = exec(&folder, &["--server", server, "--", "true"], None);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
    assert_eq!(
        prints(&folder, &["--quiet", "--", "sh", "-c", "echo $PIPEFILL_SERVER {server}"], 0),
        "10.77.0.2 10.77.0.2\n"
    );
    Ok(())
}

fn signals_reach_the_command() -> Outcome {
    let folder = folder_with(&[])?;
    let script = "trap 'echo asked; exit 9' TERM; echo ready > ready; while :; do sleep 0.02; done";
    let child = folder.start(&["exec", "--quiet", "--rtt", "1ms", "--", "sh", "-c", script]);
    until(|| folder.path("ready").exists(), "the command does not start");
    nix::sys::signal::kill(pid(child.id()), nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(9), "asked\n"));
    Ok(())
}

fn pid(id: u32) -> nix::unistd::Pid {
    nix::unistd::Pid::from_raw(i32::try_from(id).unwrap())
}

/// Processes with `word` in their command line, but for those of the tests themselves.
fn running(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| text(&line).contains(word)))
        .count()
}

fn nothing_is_left() -> Outcome {
    let folder = folder_with(&[])?;
    let word = format!("86400.{}", std::process::id());
    for (script, code) in [
        (format!("sleep {word} & exit 3"), 3),
        (format!("setsid sleep {word} & setsid sh -c 'trap \"\" TERM HUP; sleep {word}' & exit 0"), 0),
        (format!("(sleep {word} </dev/null >/dev/null 2>&1 &) & wait; kill -SEGV $$"), 139),
    ] {
        prints(&folder, &["--rtt", "5ms", "--quiet", "--", "sh", "-c", &script], code);
        assert_eq!(running(&word), 0, "{script}");
    }
    let server = format!("sleep {word} & python3 -m http.server >/dev/null 2>&1");
    prints(&folder, &["--rtt", "5ms", "--quiet", "--server", &server, "--", "true"], 0);
    assert_eq!(running(&word), 0, "the server's");
    Ok(())
}

/// What the kernel counts of what was made: network namespaces, processes, open files. Free objects that a CPU still holds count as used until
/// the cache is shrunk.
fn counted() -> [u64; 3] {
    let _shrunk = fs::write("/sys/kernel/slab/net_namespace/shrink", "1");
    let namespaces = fs::read_to_string("/proc/slabinfo").unwrap_or_default();
    let line = namespaces.lines().find(|line| line.starts_with("net_namespace "));
    let namespaces = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0);
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes =
        processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    let files = fs::read_to_string("/proc/sys/fs/file-nr").unwrap();
    [namespaces, processes as u64, files.split_whitespace().next().unwrap().parse().unwrap()]
}

/// Random paths, and commands that succeed, fail, do not obey and leave something behind. `PIPEFILL_EXEC_RUNS`: how many, 20 if nothing else is
/// said.
fn many_in_a_row() -> Outcome {
    /// What other programs of the machine may open and end meanwhile.
    const MARGIN: [u64; 3] = [2, 30, 500];
    let folder = folder_with(&[])?;
    let runs = std::env::var("PIPEFILL_EXEC_RUNS").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
    let word = format!("86402.{}", std::process::id());
    let commands = [
        ("true".to_owned(), 0),
        ("exit 7".to_owned(), 7),
        ("kill -TERM $$".to_owned(), 143),
        (format!("trap '' TERM; sleep {word} & sleep 0.02; exit 5"), 5),
        (format!("setsid sh -c 'trap \"\" HUP TERM INT; sleep {word}' >/dev/null 2>&1 & exit 0"), 0),
        (
            "python3 -c 'import socket; socket.create_connection((\"{server}\", 9), 1)' 2>/dev/null; exit 3"
                .to_owned(),
            3,
        ),
    ];
    let before = counted();
    let mut state = 1_u64;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for number in 0..runs {
        let (rtt, rate) = (format!("{}ms", draw(30)), format!("{}mbit", 1 + draw(500)));
        let (loss, family) =
            (format!("{}%", draw(5)), format!("path.family=ipv{}", [4, 6][draw(2) as usize]));
        let (script, code) = &commands[draw(commands.len() as u64) as usize];
        let words =
            ["--rtt", &rtt, "--rate", &rate, "--loss", &loss, "--set", &family, "--", "sh", "-c", script];
        let output = folder.pipefill(&[&["exec"], &words[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(*code), "run {number}, {words:?}: {}", text(&output.stderr));
        assert_eq!(running(&word), 0, "run {number}, {words:?}");
    }
    // The kernel takes namespaces down a moment later.
    let is_clean =
        || counted().iter().zip(before).zip(MARGIN).all(|((&now, before), margin)| now <= before + margin);
    until(is_clean, "namespaces, processes or files are left");
    println!("{runs} runs: {before:?} before, {:?} after", counted());
    Ok(())
}

fn nothing_is_left_of_a_killed_exec() -> Outcome {
    let folder = folder_with(&[])?;
    let word = format!("86401.{}", std::process::id());
    for after_ms in (0..20).map(|number| number * number) {
        let script = format!("setsid sleep {word} & sleep {word}");
        let mut child =
            folder.start(&["exec", "--rtt", "5ms", "--rate", "50mbit", "--", "sh", "-c", &script]);
        sleep(Duration::from_millis(after_ms));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "it was still there after {after_ms} ms");
        until(|| running(&word) == 0, "a process is left");
    }
    Ok(())
}
