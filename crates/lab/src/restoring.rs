//! Settings of hosts that were there before us: changed for a run, and given back by a process of its own when the run is over, whatever became
//! of us.
//!
//! That process is this program again. It hears of each value before it is changed, and waits for the end of our pipe, which comes also with
//! SIGKILL. What it knows is on paper too ([`note`]), for the case that it is killed itself. Never: a value that is changed before the old one is
//! known.

mod note;

pub use note::give_back_left;

use crate::namespace::Namespace;
use nix::sys::signal::SigSet;
use nix::unistd::dup;
use note::Note;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

/// First argument of that process; nothing that a user would write.
const FIRST: &str = "--give-settings-back";
/// The prefix of its message about a value that it could not restore.
const FAILED: &str = "not given back: ";

/// Knows what is to be given back; does so when it goes.
#[derive(Debug)]
pub(crate) struct Restorer {
    child: Child,
    pipe: Option<ChildStdin>,
    /// None where this process is not root: its settings end with their namespaces.
    note: Option<Note>,
    /// Cookies of the namespaces; 0 where the kernel has none (before Linux 5.14).
    cookies: Vec<u64>,
}

impl Restorer {
    /// For settings of these namespaces.
    ///
    /// # Errors
    /// There can be no more processes.
    pub(crate) fn start(namespaces: &[&Namespace]) -> io::Result<Self> {
        let note = Note::create().ok();
        let mut command = Command::new("/proc/self/exe");
        command.arg(FIRST).arg(note.as_ref().map_or(Path::new(""), Note::path));
        let mut inherited: Vec<OwnedFd> = Vec::new();
        if let Some(note) = &note {
            // Its lock is that process's too.
            inherited.push(dup(note.file())?);
        }
        for namespace in namespaces {
            // Open in programs that are started from now on.
            let copy = dup(namespace.fd())?;
            command.arg(copy.as_raw_fd().to_string());
            inherited.push(copy);
        }
        // Ctrl-C at a terminal is for us: this process ends after us.
        command.process_group(0).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        drop(inherited);
        let pipe = child.stdin.take();
        let cookies = namespaces.iter().map(|namespace| namespace.cookie().unwrap_or(0)).collect();
        Ok(Self { child, pipe, note, cookies })
    }

    /// Notes that the sysctl `name` of namespace `which` is going to be changed.
    ///
    /// # Errors
    /// It can't be read, or the restoring process is gone.
    pub(crate) fn keep(&mut self, which: usize, name: &str) -> io::Result<()> {
        let old = fs::read_to_string(sysctl_path(name))?;
        let old = old.trim_end_matches('\n');
        let cookie = self.cookies.get(which).copied().filter(|&cookie| cookie != 0);
        if let Some((note, cookie)) = self.note.as_mut().zip(cookie) {
            note.add(cookie, name, old)?;
        }
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(format!("{which} {name} {old}\n").as_bytes())
    }

    /// Gives everything back. Returns what could not be.
    ///
    /// # Errors
    /// That process was ended before.
    pub(crate) fn end(&mut self) -> io::Result<Vec<String>> {
        drop(self.pipe.take());
        let mut said = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut said)?;
        }
        match self.child.wait()?.success() {
            true => {
                Ok(said.lines().filter_map(|line| line.strip_prefix(FAILED)).map(str::to_owned).collect())
            }
            false => {
                // Unlocked, it is anybody's to read.
                drop(self.note.take());
                let told = give_back_left();
                let why = "the process that gives settings back was ended by somebody else";
                Err(io::Error::other(if told.is_empty() {
                    why.to_owned()
                } else {
                    format!("{why}; {}", told.join("; "))
                }))
            }
        }
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        // Who wants to know what could not be given back has called it before.
        let _told = self.end();
    }
}

/// Who gives the settings of a host back.
pub(crate) struct Changes<'a> {
    pub(crate) restorer: &'a mut Restorer,
    /// Which of its namespaces it is.
    pub(crate) which: usize,
}

/// Where a sysctl of the calling thread's namespace is.
pub(crate) fn sysctl_path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// Where this process was started to restore settings: does so and returns the exit code. To be called before anything else.
pub(crate) fn inside(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let _program = arguments.next()?;
    if arguments.next()?.to_str() != Some(FIRST) {
        return None;
    }
    // Who ends us with everything else must not end this one.
    let _most = SigSet::all().thread_block();
    let note = arguments.next()?;
    let namespaces: io::Result<Vec<Namespace>> = arguments.map(|word| inherited(&word)).collect();
    let Ok(namespaces) = namespaces else { return Some(ExitCode::FAILURE) };
    let known: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    let mut output = io::stdout();
    for line in known.iter().rev() {
        if let Err(why) = give_back(&namespaces, line) {
            // We may have gone.
            let _unheard = writeln!(output, "{FAILED}{why}");
        }
    }
    if !note.is_empty() {
        note::remove(Path::new(&note));
    }
    Some(ExitCode::SUCCESS)
}

fn inherited(word: &OsString) -> io::Result<Namespace> {
    Ok(Namespace::of(File::open(Path::new("/proc/self/fd").join(word))?))
}

/// `WHICH NAME VALUE`.
fn give_back(namespaces: &[Namespace], line: &str) -> Result<(), String> {
    let mut words = line.splitn(3, ' ');
    let (which, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let value = words.next().unwrap_or_default();
    let namespace = which.parse().ok().and_then(|which: usize| namespaces.get(which));
    let Some(namespace) = namespace else { return Err(name.to_owned()) };
    let write = || {
        let path = sysctl_path(name);
        // What could not be changed needs nothing.
        match fs::read_to_string(&path) {
            Ok(now) if now.trim_end_matches('\n') == value => Ok(()),
            _ => fs::write(&path, value),
        }
    };
    namespace.enter(write).map_err(|error| format!("{name} = {value}: {error}"))
}
