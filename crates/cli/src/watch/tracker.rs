//! The connections that were seen, look by look. Of an idle one only its last counters are kept, of a busy one its last samples.
//!
//! What is held is bounded: connections beyond [`CONNECTIONS_MAX`] are counted and not followed, and a connection keeps [`SAMPLES_MAX`]
//! samples at most.

use pipefill_core::record::{Observed, StreamEnd, TcpSample};
use pipefill_core::tcp_info;
use pipefill_lab::sock_diag::Seen;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;

/// Connections that are followed.
const CONNECTIONS_MAX: usize = 200_000;
/// Samples of one connection: two minutes at one look a second, and more than an epoch at any rate.
const SAMPLES_MAX: usize = 600;
/// Busy connections that keep that many; of more each keeps fewer.
const SAMPLES_ALL: usize = 600 * 500;
/// A connection that carried something so lately is busy: it is looked at more often.
const BUSY_US: u64 = 3_000_000;
/// One that has carried nothing for so long is idle, and what it did before is forgotten.
const IDLE_US: u64 = 60_000_000;
/// `tcpi_unacked`, `tcpi_bytes_acked` with `tcpi_bytes_received`, `tcpi_notsent_bytes`: where they did not change, nothing happened.
const UNACKED: Range<usize> = 24..28;
const BYTES: Range<usize> = 120..136;
const NOTSENT: Range<usize> = 144..148;

/// One connection.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) inode: u32,
    pub(crate) congestion_control: String,
    /// The last samples, one where it is idle; `raw` is never kept.
    pub(crate) samples: VecDeque<TcpSample>,
    /// In which look it was seen last.
    look: u64,
    /// In how many looks it was seen.
    pub(crate) looks: u64,
    /// Whether anything happened lately, or is under way.
    pub(crate) is_busy: bool,
    counters: [u8; 16],
    /// When they last changed.
    changed_us: u64,
}

/// What happened to connections that are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    /// Closed after at least two looks.
    pub(crate) closed: u64,
    /// Seen in one look only: too short to judge.
    pub(crate) too_short: u64,
    /// There were more than are followed.
    pub(crate) not_followed: u64,
}

/// All connections by their cookies.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    connections: HashMap<u64, Tracked>,
    look: u64,
    busy: usize,
    pub(crate) gone: Gone,
}

impl Tracker {
    /// A look at all sockets begins.
    pub(crate) fn begin(&mut self) {
        self.look += 1;
        self.busy = self.connections.values().filter(|one| one.is_busy).count();
    }

    /// Takes a socket at `t_us`; `is_all` where all are looked at, not only the busy ones.
    pub(crate) fn take(&mut self, seen: &Seen<'_>, t_us: u64, is_all: bool) {
        let most = (SAMPLES_ALL / self.busy.max(1)).clamp(16, SAMPLES_MAX);
        if let Some(known) = self.connections.get_mut(&seen.cookie) {
            known.looks += u64::from(is_all && known.look != self.look);
            known.look = self.look;
            known.see(seen, t_us, most);
        } else if is_all && self.connections.len() >= CONNECTIONS_MAX {
            self.gone.not_followed += 1;
        } else if is_all && let Some(sample) = sample(seen, t_us) {
            let is_busy = sample.info.unacked_bytes > 0 || sample.info.notsent_bytes > 0;
            let one = Tracked {
                local: seen.local,
                remote: seen.remote,
                inode: seen.inode,
                congestion_control: seen.congestion_control.unwrap_or_default().to_owned(),
                samples: VecDeque::from([sample]),
                look: self.look,
                looks: 1,
                is_busy,
                counters: counters(seen.info),
                changed_us: t_us,
            };
            self.connections.insert(seen.cookie, one);
        }
    }

    /// The look has ended: what was not seen is gone. Its connections go to `closed` first.
    pub(crate) fn end(&mut self, mut closed: impl FnMut(Tracked)) {
        let look = self.look;
        let gone = self.connections.extract_if(|_, one| one.look != look);
        for (_, one) in gone {
            self.gone.closed += u64::from(one.looks >= 2);
            self.gone.too_short += u64::from(one.looks < 2);
            closed(one);
        }
    }

    /// Every connection that is there.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (u64, &Tracked)> {
        self.connections.iter().map(|(&cookie, one)| (cookie, one))
    }

    /// One of them.
    pub(crate) fn get(&self, cookie: u64) -> Option<&Tracked> {
        self.connections.get(&cookie)
    }
}

impl Tracked {
    fn see(&mut self, seen: &Seen<'_>, t_us: u64, most: usize) {
        let now = counters(seen.info);
        let is_still = |range: Range<usize>| {
            seen.info.get(range).is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0))
        };
        let has_changed = now != self.counters;
        if !has_changed && self.samples.len() == 1 && is_still(UNACKED) && is_still(NOTSENT) {
            // Nothing happened: the one sample that an idle connection has is of now.
            self.samples[0].t_us = t_us;
            self.is_busy = false;
            return;
        }
        let is_later = self.samples.back().is_none_or(|last| last.t_us < t_us);
        let Some(sample) = sample(seen, t_us).filter(|_| is_later) else { return };
        if has_changed {
            self.changed_us = t_us;
        }
        self.counters = now;
        let idle_us = t_us - self.changed_us;
        self.is_busy = idle_us < BUSY_US || sample.info.unacked_bytes > 0 || sample.info.notsent_bytes > 0;
        self.samples.push_back(sample);
        let kept = if self.is_busy || idle_us < IDLE_US { most } else { 1 };
        while self.samples.len() > kept {
            self.samples.pop_front();
        }
    }

    /// Who it is, as far as its socket tells.
    pub(crate) fn observed(&self, process: Option<&pipefill_core::record::Process>) -> Observed {
        Observed {
            process: process.cloned(),
            local: self.local.to_string(),
            remote: self.remote.to_string(),
            ..Observed::default()
        }
    }
}

fn counters(info: &[u8]) -> [u8; 16] {
    info.get(BYTES).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
}

fn sample(seen: &Seen<'_>, t_us: u64) -> Option<TcpSample> {
    let memory =
        |of: fn(pipefill_lab::sock_diag::Memory) -> u32| seen.memory.map(|memory| u64::from(of(memory)));
    Some(TcpSample {
        t_us,
        stream: 0,
        end: StreamEnd::Sender,
        info: tcp_info::decode(seen.info)?,
        wmem_queued_bytes: memory(|memory| memory.wmem_queued),
        sndbuf_bytes: memory(|memory| memory.sndbuf),
        rmem_alloc_bytes: memory(|memory| memory.rmem_alloc),
        rcvbuf_bytes: memory(|memory| memory.rcvbuf),
        raw: None,
    })
}
