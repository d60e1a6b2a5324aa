//! The engine `ray`: a task for each shard, handed over to the Python package, which tells of each that has ended.

use super::Sweep;
use crate::terminal::Terminal;
use pipefill_core::problem::Problem;
use pipefill_runs::Failure;
use pipefill_runs::Stop;
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Tries of a task after the first one.
const RETRIES: u32 = 3;
const LOOK: Duration = Duration::from_millis(100);
/// Exit code of Python without the module.
const REMEDY: &str = "pip install 'pipefill[ray]' into the environment whose python3 comes first in PATH";

/// A shard that has ended.
#[derive(Debug, Deserialize)]
struct Ended {
    shard: u32,
    exit_code: Option<i32>,
    error: Option<String>,
}

/// Runs `shards`; returns when all have ended. RAY_ADDRESS names a cluster; without it Ray starts one here.
///
/// # Errors
/// No Python, package or Ray here; [`Failure`] where Ray itself fails.
pub(super) fn carry_out(
    sweep: &Sweep,
    shards: &[u32],
    stop: &Stop,
    terminal: &Terminal,
) -> Result<(), Failure> {
    has_package()?;
    let mut child = start()?;
    let failed = |error: std::io::Error| Failure::broken(format!("python3 -m pipefill.ray: {error}"));
    let tasks: Vec<_> =
        shards.iter().map(|&shard| json!({ "shard": shard, "words": sweep.words(shard) })).collect();
    let document = json!({ "parent": std::process::id(), "cpus": sweep.description.cpus, "retries": RETRIES, "tasks": tasks });
    if let Some(mut input) = child.stdin.take() {
        input.write_all(document.to_string().as_bytes()).map_err(failed)?;
    }
    if let Some(output) = child.stdout.take() {
        tell(&lines(output), &child, stop, terminal);
    }
    let status = child.wait().map_err(failed)?;
    // 2 says that a task failed, which the records say too.
    match status.code() {
        Some(0 | 2) => Ok(()),
        _ => Err(Failure::broken(format!("python3 -m pipefill.ray ended with {status}"))),
    }
}

fn has_package() -> Result<(), Failure> {
    let unsupported = |what: String| Failure::from(Problem::machine(what, REMEDY));
    let words = ["-c", "import pipefill.ray"];
    match Command::new("python3").args(words).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().last().unwrap_or("no reason given").to_owned();
            Err(unsupported(format!("python3 has no pipefill with ray: {last}")))
        }
        Err(error) => Err(unsupported(format!("python3 cannot be started: {error}"))),
    }
}

fn start() -> Result<Child, Failure> {
    Command::new("python3")
        .args(["-m", "pipefill.ray"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::broken(format!("python3 cannot be started: {error}")))
}

/// The lines of `output` as they come: a wait for one must not keep a stop waiting.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn tell(lines: &Receiver<String>, child: &Child, stop: &Stop, terminal: &Terminal) {
    loop {
        if stop.is_unanswered() {
            super::end(child);
        }
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                if let Ok(ended) = serde_json::from_str::<Ended>(&line) {
                    terminal.say(&ended.line());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Ended {
    fn line(&self) -> String {
        match (self.exit_code, &self.error) {
            (Some(code), _) => format!("shard {}: exit status: {code}", self.shard),
            (None, why) => format!("shard {}: {}", self.shard, why.as_deref().unwrap_or("no reason given")),
        }
    }
}
