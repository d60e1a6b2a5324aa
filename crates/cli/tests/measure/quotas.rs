//! Processes whose cgroup has a CPU quota: `exec` names the quota as the limit of what they send and receive, and raising it as advised helps.

pub(crate) mod worker;

use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Skip, Test, excused, slow_test};
use pipefill_testkit::witness::Witness;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// CPU time of each period: a twentieth of one CPU.
const QUOTA_US: u64 = 5_000;
const PERIOD_US: u64 = 100_000;
/// The path, which a worker without a quota fills.
const RATE_BPS: f64 = 30e6;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        slow_test("a_sender_that_may_not_run_is_held_by_its_quota", || is_held(false)),
        slow_test("a_receiver_that_may_not_run_is_held_by_its_quota", || is_held(true)),
    ]
}

/// A cgroup with a quota; it goes with this value.
struct Cgroup {
    directory: PathBuf,
    is_version_1: bool,
}

impl Cgroup {
    /// # Errors
    /// This machine has no CPU controller that this process may use.
    fn new() -> Result<Self, Skip> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let has_cpu = words[3].split(',').any(|option| option == "cpu");
            match words[2] {
                "cgroup" if has_cpu => Some((words[1].to_owned(), true)),
                "cgroup2"
                    if fs::read_to_string(format!("{}/cgroup.subtree_control", words[1])).is_ok_and(
                        |controllers| controllers.split_whitespace().any(|controller| controller == "cpu"),
                    ) =>
                {
                    Some((words[1].to_owned(), false))
                }
                _ => None,
            }
        });
        let (mount_point, is_version_1) =
            mounted.ok_or_else(|| Skip::NoCgroup("no CPU controller is mounted".to_owned()))?;
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("pipefill-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = PathBuf::from(mount_point).join(name);
        let refused = |error: std::io::Error| Skip::NoCgroup(format!("{}: {error}", directory.display()));
        fs::create_dir(&directory).map_err(refused)?;
        let cgroup = Self { directory: directory.clone(), is_version_1 };
        if is_version_1 {
            fs::write(cgroup.directory.join("cpu.cfs_period_us"), PERIOD_US.to_string()).map_err(refused)?;
        }
        let quota = if is_version_1 { QUOTA_US.to_string() } else { format!("{QUOTA_US} {PERIOD_US}") };
        fs::write(cgroup.quota_file(), quota).map_err(refused)?;
        // Beside other work a cgroup has the weight of one program: what it may use is to be the quota's alone.
        let (weight, most) = if is_version_1 { ("cpu.shares", "262144") } else { ("cpu.weight", "10000") };
        fs::write(cgroup.directory.join(weight), most).map_err(refused)?;
        Ok(cgroup)
    }

    fn quota_file(&self) -> PathBuf {
        self.directory.join(if self.is_version_1 { "cpu.cfs_quota_us" } else { "cpu.max" })
    }

    /// `command` in this cgroup.
    fn within(&self, command: &str) -> String {
        format!("echo 0 > '{}' && exec {command}", self.directory.join("cgroup.procs").display())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _left = fs::remove_dir(&self.directory);
    }
}

fn is_held(is_receiver: bool) -> Outcome {
    let folder = folder_with(&[])?;
    let cgroup = Cgroup::new()?;
    let before = measured(&folder, &cgroup, is_receiver, "before")?;
    let whose = if is_receiver { "receiving" } else { "sending" };
    println!("{} {}", before["verdict"], before["advice"]);
    assert_eq!((&before["limited_by"], &before["cause"]), (&"cpu".into(), &"quota".into()), "{before:#}");
    assert!(before["rule"].as_str().is_some_and(|rule| rule.starts_with("cpu.quota.")), "{before:#}");
    let sentence = before["verdict"].as_str().unwrap();
    assert!(
        sentence.contains(&format!("the CPU quota of the {whose} process (5 ms of each 100 ms)")),
        "{sentence}"
    );

    let kept = folder.pipefill(&["explain", "before", "--json"]).output().unwrap();
    let kept: Value = serde_json::from_slice(&kept.stdout).unwrap();
    let flow = &kept["cells"][0]["flows"][0];
    assert_eq!((&flow["limited_by"], &flow["cause"]), (&"cpu".into(), &"quota".into()), "{flow:#}");

    let advice = &before["advice"][0];
    assert_eq!(advice["target"], if is_receiver { "receiver" } else { "sender" });
    let (command, file) = (advice["command"].as_str().unwrap(), cgroup.quota_file());
    let value = advice["value"].as_str().unwrap();
    assert!(command.starts_with(&format!("echo '{value}' > '{}' ", file.display())), "{command}");
    fs::write(file, value).unwrap();
    let after = measured(&folder, &cgroup, is_receiver, "after")?;
    let rate = |connection: &Value| connection["rate_bps"].as_f64().unwrap();
    let predicted = advice["predicted_bps"].as_f64().expect("the path's rate is known");
    println!("{} predicted {predicted}, then {}", rate(&before), rate(&after));
    assert!(rate(&after) > 1.5 * rate(&before) && rate(&after) <= RATE_BPS, "{after:#}");
    assert_ne!(after["cause"], "quota", "{after:#}");
    Ok(())
}

/// What `exec` says of the connection of a worker in `cgroup` that sends, or receives.
///
/// # Errors
/// The path was late, and the machine was too.
fn measured(folder: &Folder, cgroup: &Cgroup, is_receiver: bool, kept: &str) -> Result<Value, Skip> {
    let own = std::env::current_exe().unwrap();
    let worker = |role: &str| format!("'{}' {} {role}", own.display(), worker::NAME);
    let (server, client) = match is_receiver {
        true => (cgroup.within(&worker("receive work")), worker("send")),
        false => (worker("receive"), cgroup.within(&worker("send work"))),
    };
    let path = ["--rtt", "20ms", "--rate", "30mbit", "--set", "host.congestion_control=reno"];
    // Small enough to be filled within a period.
    let memory = ["--set", "host.tcp_rmem=4096 131072 1MiB", "--set", "host.tcp_wmem=4096 16384 256KiB"];
    let ends = ["--json", "--out", kept, "--server", &server, "--", "sh", "-c", &client];
    let witness = Witness::start();
    let output = folder.pipefill(&[&["exec"], &path[..], &memory, &ends].concat()).output().unwrap();
    let seen = witness.stop();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let told: Value =
        serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{error}: {printed}"));
    if told["invalid"].is_array() {
        return Err(excused(&seen, &told["invalid"].to_string()));
    }
    Ok(told["connections"][0].clone())
}
