//! When a server is ready: once a socket of its host listens.

use super::refusal::Refusal;
use crate::namespace::Namespace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// From one look to the next.
const STEP: Duration = Duration::from_millis(5);
/// `TCP_LISTEN` as /proc/net/tcp writes it.
const LISTEN: &str = "0A";

/// A program at the far end.
pub(super) struct Server {
    pub(super) id: Pid,
    /// Its command, for messages.
    pub(super) text: String,
}

/// Returns once a socket of `namespace` waits for peers: a listening TCP socket, or any UDP socket.
pub(super) fn wait_until_it_listens(server: &Server, namespace: &Namespace) -> Result<(), Refusal> {
    let began = Instant::now();
    loop {
        match waitpid(server.id, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => return Err(server.ended(&format!("exit code {code}"))),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Err(server.ended(signal.as_str())),
            _ => {}
        }
        if namespace.enter(|| Ok(has_listener()))? {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            let text = format!("the server does not listen after {} s: {}", PATIENCE.as_secs(), server.text);
            return Err(Refusal::new(text));
        }
        thread::sleep(STEP);
    }
}

impl Server {
    fn ended(&self, how: &str) -> Refusal {
        Refusal::new(format!("the server ended before it listened ({how}): {}", self.text))
    }
}

/// Whether a socket in the calling thread's network namespace waits for peers (proc_net(5)).
fn has_listener() -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let listens = |line: &str| line.split_whitespace().nth(3) == Some(LISTEN);
    ["tcp", "tcp6"].iter().any(|name| read(name).lines().any(listens))
        || ["udp", "udp6"].iter().any(|name| read(name).lines().count() > 1)
}
