//! The far end of a matrix that was started over ssh: serves tests, sets sysctls and gives them back, and is gone when nobody wants it any more.
//!
//! Never: a process, a file or a setting that outlives it. Its own executable, where it was sent, is removed as soon as it runs.

use crate::server::{Listening, Log, Policy};
use pipefill_core::problem::Problem;
use pipefill_lab::places::{Changed, HostNamespace};
use pipefill_remote::agent::{self, Answer, Request, VERSION};
use pipefill_remote::key::Key;
use pipefill_runs::Stop;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader};
use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// First argument of such a process; nothing that a user would write.
pub(super) const FIRST: &str = "--far-end-of-a-matrix";
/// How long it waits for the first word.
const PATIENCE: Duration = Duration::from_secs(60);
/// No test may be longer.
const LONGEST: Duration = Duration::from_hours(24);

/// Where this process was started as a far end: is it, and tells how it ended. To be called before anything else. The argument after the first
/// one names the folder in which it was sent.
pub fn far_end(mut arguments: impl Iterator<Item = OsString>, log: Log) -> Option<io::Result<()>> {
    let _program = arguments.next()?;
    if arguments.next()?.to_str() != Some(FIRST) {
        return None;
    }
    if let Some(folder) = arguments.next() {
        // Who started it removes it as well.
        let _gone = fs::remove_dir_all(Path::new(&folder));
    }
    let mut end = FarEnd { log, settings: None, wanted_until: Instant::now() + PATIENCE };
    Some(end.work())
}

struct FarEnd {
    log: Log,
    settings: Option<Changed>,
    wanted_until: Instant,
}

impl FarEnd {
    fn work(&mut self) -> io::Result<()> {
        self.say(&Answer::Ready {
            version: VERSION,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
            is_machine: HostNamespace::own()?.is_machine(),
        })?;
        let requests = requests()?;
        loop {
            let left = self.wanted_until.saturating_duration_since(Instant::now());
            match requests.recv_timeout(left) {
                Ok(request) => {
                    let answer = self.answer(request).unwrap_or_else(|why| Answer::Failed { why });
                    self.say(&answer)?;
                }
                // What was changed is given back when this goes.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn say(&self, answer: &Answer) -> io::Result<()> {
        agent::write(&mut io::stdout().lock(), answer)
    }

    fn answer(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Begin { key, address, wanted_s } => {
                self.is_wanted_for(wanted_s);
                let key = Key::read(key.as_bytes()).ok_or("the key is too short")?;
                begin(key, address, self.log).map_err(|failure| failure.to_string())
            }
            Request::Set { host, place, changes_machine, wanted_s } => {
                self.is_wanted_for(wanted_s);
                // The former run's are given back first.
                self.settings = None;
                let own = HostNamespace::own().map_err(|error| error.to_string())?;
                let may_change = changes_machine || !own.is_machine();
                let changed = own.change(&place, &host, may_change).map_err(|error| error.to_string())?;
                let settings = changed.settings.clone();
                self.settings = Some(changed);
                Ok(Answer::Settings { settings })
            }
            Request::Restore => {
                let given = self.settings.take().map_or(Ok(Vec::new()), Changed::give_back);
                given.map(|left| Answer::Restored { left }).map_err(|error| error.to_string())
            }
        }
    }

    fn is_wanted_for(&mut self, seconds: u64) {
        self.wanted_until = Instant::now() + Duration::from_secs(seconds).min(LONGEST);
    }
}

/// What is asked, line by line, until the stream ends.
fn requests() -> io::Result<Receiver<Request>> {
    let (sender, receiver) = sync_channel(1);
    let read = move || {
        let mut from = BufReader::new(io::stdin());
        while let Ok(Some(request)) = agent::read(&mut from) {
            if sender.send(request).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("requests".to_owned()).spawn(read)?;
    Ok(receiver)
}

/// Serves tests until the process ends.
fn begin(key: Key, address: Option<IpAddr>, log: Log) -> Result<Answer, Problem> {
    let reached = address.or_else(reached);
    let policy = Policy {
        port: 0,
        bind: reached,
        once: false,
        max_duration: LONGEST,
        max_rate: None,
        allow: Vec::new(),
        key: Some(key),
    };
    let listening = Listening::begin(policy)?;
    let port = listening.address.port();
    let serve = move || drop(listening.serve(&Stop::default(), log));
    let serving = thread::Builder::new().name("server".to_owned()).spawn(serve);
    serving.map_err(|error| Problem::broken(format!("starting a thread: {error}")))?;
    Ok(Answer::Serving { port, address: reached })
}

/// The address of this host that ssh has reached (`SSH_CONNECTION` of ssh(1)): client, its port, server, its port.
fn reached() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(2)?.parse().ok()
}
