//! The processes between ours and the command: the first one of the PID namespace, and, for ordinary users, one that gives the command
//! their own user id back.

use super::listening::{Server, wait_until_it_listens};
use super::refusal::{FAILED, Refusal};
use super::uplink;
use crate::namespace::Namespace;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, wait, waitpid};
use nix::unistd::{Pid, close};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// First argument of the first process; nothing that a user would write.
pub(super) const FIRST: &str = "--first-process-of-a-path";
/// Where the command reaches the machine's own network.
pub(super) const UPLINK: &str = "uplink";
/// First argument of the process that becomes the command.
const AS_USER: &str = "--command-of-a-path";
/// How long a server may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where this process was started as a helper of this module: does its work and returns the exit code. To be called before anything else.
pub fn inside(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let _program = arguments.next()?;
    let role = arguments.next()?;
    let words: Vec<OsString> = match role.to_str() {
        Some(FIRST | AS_USER) => arguments.collect(),
        _ => return None,
    };
    let result = if role == FIRST { first_process(&words) } else { Err(become_command(&words)) };
    let code = result.unwrap_or_else(|Refusal { code, why }| {
        eprintln!("error: {why}");
        code
    });
    Some(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Starts server and command, hands on signals, takes what has ended off the kernel's hands, and ends with the command.
fn first_process(words: &[OsString]) -> Result<i32, Refusal> {
    let [sender, receiver, control, ids, address, uplink, server, command @ ..] = words else {
        return Err(Refusal::new("the first process got too few words".to_owned()));
    };
    let inherited = |word: &OsString| -> io::Result<File> {
        let file = File::open(Path::new("/proc/self/fd").join(word))?;
        let number = word.to_str().and_then(|word| word.parse().ok()).unwrap_or(-1);
        close::<i32>(number)?;
        Ok(file)
    };
    let (sender, receiver) = (Namespace::of(inherited(sender)?), Namespace::of(inherited(receiver)?));
    let child = Arc::new(AtomicI32::new(0));
    hand_on_signals(inherited(control)?, Arc::clone(&child))?;
    // Before the mounts: it reads the machine's own resolv.conf.
    let uplink = (uplink == UPLINK).then(|| uplink::start(&receiver)).transpose()?.map(pid);
    own_mounts(uplink.is_some());
    let server = match server.is_empty() {
        true => None,
        false => Some(start_server(&receiver, server, address, ids)?),
    };
    let (word, arguments) =
        command.split_first().ok_or_else(|| Refusal::new("there is no command".to_owned()))?;
    let mut to_start = program(ids, word);
    to_start.args(arguments).env("PIPEFILL_SERVER", address);
    let started = sender.enter(|| to_start.spawn()).map_err(|error| Refusal::of_command(word, &error))?;
    let id = pid(started.id());
    child.store(id.as_raw(), Ordering::Relaxed);
    let code = ended(id, uplink);
    if code.is_err() {
        end(id);
    }
    if let Some(server) = server {
        end(server.id);
    }
    code
}

/// `word` as the user who started us, or as root where that was root.
fn program(ids: &OsStr, word: &OsStr) -> Command {
    if ids.is_empty() {
        return Command::new(word);
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg(AS_USER).arg(ids).arg(word);
    command
}

fn start_server(receiver: &Namespace, text: &OsStr, address: &OsStr, ids: &OsStr) -> Result<Server, Refusal> {
    let mut command = program(ids, OsStr::new("/bin/sh"));
    // What it prints is not the command's output.
    let errors = io::stderr().as_fd().try_clone_to_owned()?;
    command.arg("-c").arg(text).env("PIPEFILL_SERVER", address).stdin(Stdio::null()).stdout(errors);
    let started = receiver.enter(|| command.spawn())?;
    let server = Server { id: pid(started.id()), text: text.to_string_lossy().into_owned() };
    wait_until_it_listens(&server, receiver)?;
    Ok(server)
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap_or(0))
}

/// Each byte of `control` is a signal for the command; its end is ours.
fn hand_on_signals(mut control: File, child: Arc<AtomicI32>) -> io::Result<()> {
    let work = move || {
        let mut byte = [0];
        while control.read(&mut byte).is_ok_and(|count| count > 0) {
            let signal = Signal::try_from(i32::from(byte[0]));
            let id = child.load(Ordering::Relaxed);
            if let (Ok(signal), 1..) = (signal, id) {
                let _ended = kill(Pid::from_raw(id), signal);
            }
        }
        std::process::exit(FAILED);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map(drop)
}

/// /proc that shows the processes of this namespace, as ps(1) wants it, and with an uplink a resolver that can be reached. Where the machine
/// does not allow it, as in some containers, the old ones stay.
fn own_mounts(has_uplink: bool) {
    let none = None::<&str>;
    let is_own = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))
        .is_ok();
    if is_own {
        let _stays = has_uplink.then(uplink::use_resolver);
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _stays = mount(Some("proc"), "/proc", Some("proc"), flags, none);
    }
}

/// Waits for the end of `command`, or of its `uplink`; whatever else ends meanwhile is forgotten.
fn ended(command: Pid, uplink: Option<Pid>) -> Result<i32, Refusal> {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(id, code)) if id == command => return Ok(code),
            Ok(WaitStatus::Signaled(id, signal, _)) if id == command => return Ok(128 + signal as i32),
            Ok(status) if uplink.is_some() && status.pid() == uplink => return Err(uplink::is_gone(status)),
            Err(Errno::ECHILD) => return Ok(FAILED),
            _ => {}
        }
    }
}

/// Asks `server` to end, and waits a little. The end of this process is its own at the latest.
fn end(server: Pid) {
    let began = Instant::now();
    let _ended = kill(server, Signal::SIGTERM);
    while began.elapsed() < PATIENCE
        && matches!(waitpid(server, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive))
    {
        thread::sleep(Duration::from_millis(2));
    }
}

/// In a user namespace in which the ids are those of the user again (user_namespaces(7)): `UID:GID COMMAND…`. Returns where it fails only.
fn become_command(words: &[OsString]) -> Refusal {
    let [ids, word, arguments @ ..] = words else {
        return Refusal::new("there is no command".to_owned());
    };
    if let Err(error) = take_ids(&ids.to_string_lossy()) {
        return error.into();
    }
    Refusal::of_command(word, &Command::new(word).args(arguments).exec())
}

fn take_ids(ids: &str) -> io::Result<()> {
    let (uid, gid) = ids.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} 0 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} 0 1"))
}
