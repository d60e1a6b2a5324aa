//! A far end of ours over the user's own ssh: started there, or sent and started, and gone when this goes.
//!
//! The connection of ssh carries words only; data go between the hosts' own addresses.

use super::agent::FIRST;
use crate::random::random;
use pipefill_core::cell::HostSpec;
use pipefill_core::hosts::Server;
use pipefill_core::problem::Problem;
use pipefill_core::record::Setting;
use pipefill_remote::agent::{self, Answer, Request, VERSION};
use pipefill_remote::key::Key;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The command that is used instead of `ssh`: words with spaces between.
const VARIABLE: &str = "PIPEFILL_SSH";
/// How long ssh may take until the other host says something: somebody may have to type a password.
const LOGIN: Duration = Duration::from_secs(120);
/// How long sending the executable may take.
const SENDING: Duration = Duration::from_secs(600);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long ssh may take to end by itself.
const LEAVING: Duration = Duration::from_secs(5);
/// Lines of ssh's and the far end's that are kept for an error message.
const SAID_MAX: usize = 8;
/// What the other host's shell says, each on a line of its own: it has the same pipefill; it wants one.
const HAS: &str = "pipefill: there";
const WANTS: &str = "pipefill: wanted";

/// What is to be done at the other host.
#[derive(Debug, Clone, Default)]
pub(super) struct SshOptions {
    /// The executable that is sent; this one where none is named.
    pub(super) executable: Option<PathBuf>,
    /// Where data connections go; where ssh went to if there is none.
    pub(super) address: Option<IpAddr>,
}

/// The far end.
#[derive(Debug)]
pub(super) struct Agent {
    destination: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    /// Where it serves.
    pub(super) server: Server,
    /// What it asks for.
    pub(super) key: Key,
    /// Its kernel.
    pub(super) kernel: Option<String>,
    /// Whether it is in its machine's own namespace.
    pub(super) is_machine: bool,
}

impl Agent {
    /// Starts it at `destination`; it ends by itself where nobody says within `wanted` that it is still wanted.
    ///
    /// # Errors
    /// [`Problem`], with what ssh said.
    pub(super) fn start(destination: &str, options: &SshOptions, wanted: Duration) -> Result<Self, Problem> {
        let executable = options.executable.clone().unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
        let size = std::fs::metadata(&executable).map_err(|error| {
            Problem::broken(format!(
                "{}: {error}; name another executable with --agent FILE",
                executable.display()
            ))
        })?;
        let mut child = ssh(destination, &script(size.len()))?;
        let said = listen_to_errors(&mut child);
        let lines = lines(child.stdout.take());
        let input = child.stdin.take();
        let key = key()?;
        let secret = Key::read(key.as_bytes()).unwrap_or_else(|| unreachable!("it is long enough"));
        let server = Server { host: String::new(), port: 0 };
        let destination = destination.to_owned();
        let (kernel, is_machine) = (None, true);
        let mut agent =
            Self { destination, child, input, lines, said, server, key: secret, kernel, is_machine };
        agent.arrive(&executable)?;
        agent.begin(key, options.address, wanted)?;
        Ok(agent)
    }

    /// Until it says that it is there.
    fn arrive(&mut self, executable: &Path) -> Result<(), Problem> {
        let mut patience = LOGIN;
        loop {
            let line = self.line(patience)?;
            match line.as_str() {
                HAS => patience = PATIENCE,
                WANTS => {
                    let sent = send(executable, self.input.as_mut());
                    sent.map_err(|error| self.failed(&format!("sending the executable: {error}")))?;
                    patience = SENDING;
                }
                // A greeting of the other host's shell.
                line => {
                    if let Ok(Answer::Ready { version, kernel, is_machine, .. }) = serde_json::from_str(line)
                    {
                        (self.kernel, self.is_machine) = (kernel, is_machine);
                        return if version == VERSION {
                            Ok(())
                        } else {
                            Err(self.failed("it has another version of pipefill"))
                        };
                    }
                }
            }
        }
    }

    fn begin(&mut self, key: String, address: Option<IpAddr>, wanted: Duration) -> Result<(), Problem> {
        let request = Request::Begin { key, address, wanted_s: wanted.as_secs() };
        match self.ask(&request)? {
            Answer::Serving { port, address: Some(address) } => {
                self.server = Server { host: address.to_string(), port };
                Ok(())
            }
            Answer::Serving { .. } => {
                Err(self.failed("it does not know under which address it was reached: write hosts.address"))
            }
            other => Err(self.failed(&format!("it answered {other:?}"))),
        }
    }

    /// Sets the sysctls of `host`, which the records call `place`.
    ///
    /// # Errors
    /// It has gone, or can't.
    pub(super) fn set(
        &mut self,
        host: &HostSpec,
        place: &str,
        changes_machine: bool,
        wanted: Duration,
    ) -> Result<Vec<Setting>, Problem> {
        let (host, place) = (Box::new(host.clone()), place.to_owned());
        let request = Request::Set { host, place, changes_machine, wanted_s: wanted.as_secs() };
        match self.ask(&request)? {
            Answer::Settings { settings } => Ok(settings),
            other => Err(self.failed(&format!("it answered {other:?}"))),
        }
    }

    /// Gives them back.
    ///
    /// # Errors
    /// It has gone, or some were not given back.
    pub(super) fn restore(&mut self) -> Result<(), Problem> {
        match self.ask(&Request::Restore)? {
            Answer::Restored { left } if left.is_empty() => Ok(()),
            Answer::Restored { left } => {
                Err(self.failed(&format!("it did not get its settings back: {}", left.join("; "))))
            }
            other => Err(self.failed(&format!("it answered {other:?}"))),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, Problem> {
        let sent =
            self.input.as_mut().map_or(Err(io::ErrorKind::BrokenPipe.into()), |to| agent::write(to, request));
        sent.map_err(|error| self.failed(&error.to_string()))?;
        let line = self.line(PATIENCE)?;
        match serde_json::from_str(&line) {
            Ok(Answer::Failed { why }) => Err(self.failed(&why)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.failed("it sent something else than an answer")),
        }
    }

    fn line(&mut self, patience: Duration) -> Result<String, Problem> {
        self.lines.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                self.failed(&format!("it said nothing for {} s", patience.as_secs()))
            }
            RecvTimeoutError::Disconnected => {
                // What it said last may still be on its way.
                thread::sleep(Duration::from_millis(100));
                self.failed("the connection ended")
            }
        })
    }

    /// With what ssh and the far end have said.
    fn failed(&self, why: &str) -> Problem {
        let said = self
            .said
            .lock()
            .map(|said| said.iter().cloned().collect::<Vec<_>>().join("; "))
            .unwrap_or_default();
        let said = if said.is_empty() { said } else { format!(" ({said})") };
        Problem::broken(format!("ssh {}: {why}{said}", self.destination))
    }
}

impl Drop for Agent {
    /// The end of its input is its own; ssh follows.
    fn drop(&mut self) {
        drop(self.input.take());
        let began = Instant::now();
        while began.elapsed() < LEAVING {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// What the other host's shell does. It reads so many bytes only when it has asked for them, and what is sent there is removed by the far end
/// itself, by the shell when that ends, and when the connection ends before all has come.
fn script(size: u64) -> String {
    let version = concat!("pipefill ", env!("CARGO_PKG_VERSION"));
    format!(
        r#"own=$(command -v pipefill 2>/dev/null)
if [ -n "$own" ] && [ "$("$own" --version 2>/dev/null </dev/null)" = "{version}" ]; then
  echo "{HAS}"
  exec "$own" {FIRST}
fi
umask 077
folder=$(mktemp -d "${{TMPDIR:-/tmp}}/pipefill.XXXXXXXX") || exit 1
trap "rm -rf \"$folder\"" EXIT
trap "exit 1" HUP INT TERM PIPE
within=
if command -v timeout >/dev/null 2>&1; then within="timeout {seconds}"; fi
echo "{WANTS}"
$within head -c {size} >"$folder/pipefill"
[ "$(wc -c <"$folder/pipefill")" -eq {size} ] || exit 1
chmod 700 "$folder/pipefill"
"$folder/pipefill" {FIRST} "$folder""#,
        seconds = SENDING.as_secs(),
    )
}

/// The user's own ssh, with its keys and its configuration.
fn ssh(destination: &str, script: &str) -> Result<Child, Problem> {
    let command = std::env::var(VARIABLE).unwrap_or_else(|_| "ssh".to_owned());
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or("ssh");
    let mut ssh = Command::new(program);
    ssh.args(words).args([
        "-T",
        "-o",
        "ClearAllForwardings=yes",
        "-o",
        "ServerAliveInterval=15",
        "--",
        destination,
    ]);
    // The login shell of the other host takes it as one word of sh(1).
    ssh.arg(format!("exec sh -c '{}'", script.replace('\'', r"'\''")));
    ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ssh.spawn().map_err(|error| {
        Problem::machine(
            format!("starting {program}: {error}"),
            format!("install an ssh client, or name one in {VARIABLE}"),
        )
    })
}

fn send(executable: &Path, to: Option<&mut ChildStdin>) -> io::Result<()> {
    let to = to.ok_or(io::ErrorKind::BrokenPipe)?;
    io::copy(&mut File::open(executable)?, to).map(drop)
}

/// What nobody can guess, as text.
fn key() -> Result<String, Problem> {
    let bytes = random::<32>().map_err(|error| Problem::broken(format!("reading /dev/urandom: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Lines of `from`, as they come; the channel closes with it.
fn lines(from: Option<ChildStdout>) -> Receiver<String> {
    let (sender, receiver) = sync_channel(16);
    let read = move || {
        let Some(from) = from else { return };
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            let got = (&mut from).take(agent::LINE_MAX as u64).read_until(b'\n', &mut line);
            let is_over = !got.is_ok_and(|count| count > 0);
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if is_over || sender.send(line).is_err() {
                return;
            }
        }
    };
    // Without it the other host says nothing.
    let _thread = thread::Builder::new().name("ssh".to_owned()).spawn(read);
    receiver
}

/// The last lines of its standard error.
fn listen_to_errors(child: &mut Child) -> Arc<Mutex<VecDeque<String>>> {
    let said = Arc::new(Mutex::new(VecDeque::new()));
    if let Some(errors) = child.stderr.take() {
        let said = Arc::clone(&said);
        let read = move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let Ok(mut said) = said.lock() else { return };
                if said.len() == SAID_MAX {
                    said.pop_front();
                }
                said.push_back(line);
            }
        };
        let _thread = thread::Builder::new().name("ssh errors".to_owned()).spawn(read);
    }
    said
}
