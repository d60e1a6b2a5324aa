//! The connections that were seen, look by look. Of an idle one only its last counters are kept, of a busy one its last samples.
//!
//! What is held is bounded: connections beyond [`CONNECTIONS_MAX`] are counted and not followed, and a connection keeps [`SAMPLES_MAX`]
//! samples at most. The same is held of those that closed.

use crate::groups::MeteredGroup;
use pipefill_analysis::findings::connections::Exact;
use pipefill_core::record::{Observed, OptionsSet, Process, StreamEnd, TcpSample};
use pipefill_core::tcp_info::{self, TcpInfo};
use pipefill_lab::sock_diag::SocketReport;
use pipefill_lab::socket_list::Brief;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Connections that are followed.
const CONNECTIONS_MAX: usize = 200_000;
/// Samples of one connection: two minutes at one look a second, and more than an epoch at any rate.
const SAMPLES_MAX: usize = 600;
/// The same of a program behind a path of its own, which is judged when it is over: a minute at the looks of a busy connection.
pub(crate) const SAMPLES_OF_A_PROGRAM: usize = 6_000;
/// Samples of all connections together: where more are not idle, each keeps fewer, at least the last two.
const SAMPLES_ALL: usize = 600 * 500;
/// How many closed connections are kept for the findings.
const CLOSED_MAX: usize = 1_000;
/// A connection that carried something so lately is busy: it is looked at more often.
const BUSY_US: u64 = 3_000_000;
/// One that has carried nothing for so long is idle, and what it did before is forgotten.
const IDLE_US: u64 = 60_000_000;
/// How long after its samples the time of a busy connection is judged.
const HELD_BACK_US: u64 = 1_000_000;
/// `tcpi_unacked`, `tcpi_bytes_acked` with `tcpi_bytes_received`, `tcpi_notsent_bytes`.
const UNACKED: Range<usize> = 24..28;
const BYTES: Range<usize> = 120..136;
const NOTSENT: Range<usize> = 144..148;

/// One connection.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Of its file; 0 until a process has accepted it.
    pub(crate) inode: u32,
    /// Whose it was, once it has closed.
    pub(crate) process: Option<Rc<Process>>,
    /// What its program has set, of a connection that has closed.
    pub(crate) options: Option<OptionsSet>,
    pub(crate) congestion_control: String,
    /// The last samples, one where it is idle; `raw` is never kept.
    pub(crate) samples: VecDeque<TcpSample>,
    /// What BPF reported of the connection, where it is watched.
    pub(crate) exact: Option<Exact>,
    /// In which look it was seen last.
    look: u64,
    /// In how many looks it was seen.
    pub(crate) looks: u64,
    /// Whether anything happened lately, or is under way.
    pub(crate) is_busy: bool,
    counters: [u8; 16],
    /// When they last changed.
    changed_us: u64,
    /// When it was seen last.
    seen_us: u64,
    /// What its group's totals contain of the connection, where there are groups.
    pub(crate) metered: Option<Metered>,
}

/// What the figures of a group have of a connection: its counters, and its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Metered {
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_received: u64,
    pub(crate) retransmits: u32,
    /// Its time up to here is counted.
    pub(crate) until_us: u64,
    /// Whether it was counted as one without a group of its own.
    pub(crate) is_folded: bool,
    /// Its group.
    pub(crate) group: Option<MeteredGroup>,
}

impl Metered {
    /// The counters of `info`.
    pub(crate) fn of(info: &TcpInfo) -> Self {
        Self {
            bytes_acked: info.bytes_acked.unwrap_or(0),
            bytes_received: info.bytes_received.unwrap_or(0),
            retransmits: info.retransmits,
            ..Self::default()
        }
    }
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
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Samples of one connection at most.
    samples_max: usize,
    connections: HashMap<u64, Tracked>,
    /// Cookies of those over loopback by their local and remote address: each has its other end here too.
    on_loopback: HashMap<(SocketAddr, SocketAddr), u64>,
    look: u64,
    /// Connections that keep more than one sample.
    lively: usize,
    /// Cookies of those that each look asks for, as of the end of the last look at all.
    asked_for: Vec<u64>,
    /// Cookies of those that this look at all has shown by themselves.
    shown: Vec<u64>,
    /// Cookies of those that are busy, as of the end of the last look at all.
    busy: Vec<u64>,
    /// The last look that confirmed all idle connections by their number alone.
    confirmed: Confirmed,
    pub(crate) gone: Gone,
    /// Connections that were seen for the first time.
    pub(crate) appeared: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Confirmed {
    look: u64,
    t_us: u64,
}

impl Default for Tracker {
    fn default() -> Self {
        Self::keeping(SAMPLES_MAX)
    }
}

impl Tracker {
    /// A tracker without a connection, which keeps at most `samples_max` samples of each.
    pub(crate) fn keeping(samples_max: usize) -> Self {
        Self {
            samples_max,
            connections: HashMap::default(),
            on_loopback: HashMap::default(),
            look: 0,
            lively: 0,
            asked_for: Vec::new(),
            shown: Vec::new(),
            busy: Vec::new(),
            confirmed: Confirmed::default(),
            gone: Gone::default(),
            appeared: 0,
        }
    }

    /// A look at all sockets begins.
    pub(crate) fn begin(&mut self) {
        self.look += 1;
        self.shown.clear();
    }

    /// Takes a socket at `t_us`; `is_all` where all are looked at, not only the busy ones.
    pub(crate) fn push(&mut self, seen: &SocketReport<'_>, t_us: u64, is_all: bool) {
        let most = (SAMPLES_ALL / self.lively.max(1)).clamp(2, self.samples_max);
        if is_all {
            self.shown.push(seen.cookie);
        }
        if let Some(known) = self.connections.get_mut(&seen.cookie) {
            known.confirm(self.confirmed);
            known.looks += u64::from(is_all && known.look != self.look);
            known.look = self.look;
            known.observe(seen, t_us, most);
        } else if is_all && self.connections.len() >= CONNECTIONS_MAX {
            self.gone.not_followed += 1;
        } else if is_all && let Some(sample) = sample(seen, t_us) {
            let tracked = Tracked {
                local: seen.local,
                remote: seen.remote,
                inode: seen.inode,
                process: None,
                options: None,
                congestion_control: seen.congestion_control.unwrap_or_default().to_owned(),
                samples: VecDeque::from([sample]),
                exact: None,
                look: self.look,
                looks: 1,
                is_busy: is_under_way(seen),
                counters: counters(seen.info),
                changed_us: t_us,
                seen_us: t_us,
                metered: None,
            };
            self.appeared += 1;
            if tracked.is_on_loopback() {
                self.on_loopback.insert((tracked.local, tracked.remote), seen.cookie);
            }
            self.connections.insert(seen.cookie, tracked);
        }
    }

    /// Takes a socket's entry in the short list at `t_us`. True where nothing happened on the socket, so that it need not be asked for.
    pub(crate) fn takes_as_idle(&mut self, brief: &Brief, t_us: u64) -> bool {
        let look = self.look;
        let confirmed = self.confirmed;
        self.connections.get_mut(&brief.cookie).is_some_and(|known| {
            known.confirm(confirmed);
            known.is_still_idle(brief, look, t_us)
        })
    }

    /// Whether a socket in the short list is new, or had been idle.
    pub(crate) fn is_news(&self, brief: &Brief) -> bool {
        self.connections.get(&brief.cookie).is_none_or(|known| !known.is_asked_for())
    }

    /// Connections that are asked for in every look, without regard to the short list: recently active ones, and ones that no program has accepted.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = (u64, &Tracked)> {
        self.listed(&self.asked_for)
    }

    /// How many of them there were at the end of the last look at all.
    pub(crate) fn asked_for_count(&self) -> usize {
        self.asked_for.len()
    }

    /// Every connection was there at `t_us`, in this look.
    pub(crate) const fn confirm(&mut self, t_us: u64) {
        self.confirmed = Confirmed { look: self.look, t_us };
    }

    /// Whether one more can be followed.
    pub(crate) fn has_room(&self) -> bool {
        self.connections.len() < CONNECTIONS_MAX
    }

    /// Whether the connection with this cookie is followed.
    pub(crate) fn knows(&self, cookie: u64) -> bool {
        self.connections.contains_key(&cookie)
    }

    /// Counts a connection that is not followed for want of room.
    pub(crate) fn leave_out(&mut self) {
        self.gone.not_followed += 1;
    }

    /// Forgets connections, which are neither closed nor gone.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&Tracked) -> bool) {
        self.connections.retain(|_, tracked| is_kept(tracked));
        self.on_loopback.retain(|_, cookie| self.connections.contains_key(cookie));
    }

    /// The look has ended: what was not seen is gone. Its connections go to `closed` first.
    pub(crate) fn end(&mut self, closed: impl FnMut(u64, Tracked)) {
        // Where all were confirmed, only those can have become busy or idle that were shown, or had been asked for.
        let mut cookies = std::mem::take(&mut self.shown);
        cookies.append(&mut self.asked_for);
        if self.confirmed.look != self.look {
            self.remove_gone(closed);
            cookies = self.connections.keys().copied().collect();
        }
        cookies.sort_unstable();
        cookies.dedup();
        self.busy.clear();
        self.lively = 0;
        cookies.retain(|cookie| {
            let Some(tracked) = self.connections.get(cookie) else { return false };
            self.lively += usize::from(tracked.samples.len() >= 2);
            if tracked.is_busy {
                self.busy.push(*cookie);
            }
            tracked.is_asked_for()
        });
        self.asked_for = cookies;
    }

    fn remove_gone(&mut self, mut closed: impl FnMut(u64, Tracked)) {
        let (look, confirmed) = (self.look, self.confirmed);
        for (cookie, mut tracked) in self.connections.extract_if(|_, tracked| tracked.look != look) {
            tracked.confirm(confirmed);
            self.gone.closed += u64::from(tracked.looks >= 2);
            self.gone.too_short += u64::from(tracked.looks < 2);
            // Another connection may have its ports by now.
            if let Entry::Occupied(entry) = self.on_loopback.entry((tracked.local, tracked.remote))
                && *entry.get() == cookie
            {
                entry.remove();
            }
            closed(cookie, tracked);
        }
    }

    /// A connection, to note what BPF reports of it.
    pub(crate) fn get_mut(&mut self, cookie: u64) -> Option<&mut Tracked> {
        self.connections.get_mut(&cookie)
    }

    /// Connections that were busy at the end of the last look at all sockets.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (u64, &Tracked)> {
        self.listed(&self.busy)
    }

    fn listed<'a>(&'a self, cookies: &'a [u64]) -> impl Iterator<Item = (u64, &'a Tracked)> {
        cookies.iter().filter_map(|&cookie| Some((cookie, self.connections.get(&cookie)?)))
    }

    /// Every connection, to note what its group's totals contain of it.
    pub(crate) fn connections_mut(&mut self) -> impl Iterator<Item = (u64, &mut Tracked)> {
        self.connections.iter_mut().map(|(&cookie, tracked)| (cookie, tracked))
    }

    /// How many of them were busy then.
    pub(crate) fn busy_count(&self) -> usize {
        self.busy.len()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.connections.len()
    }

    /// Every connection that is there.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (u64, &Tracked)> {
        self.connections.iter().map(|(&cookie, tracked)| (cookie, tracked))
    }

    /// Whether it was there in more than one look.
    pub(crate) const fn was_seen_again(&self, tracked: &Tracked) -> bool {
        tracked.looks >= 2 || self.confirmed.look > tracked.look
    }

    /// One of them.
    pub(crate) fn get(&self, cookie: u64) -> Option<&Tracked> {
        self.connections.get(&cookie)
    }

    /// The socket at the other end of `tracked`, where both are this host's.
    pub(crate) fn peer_on_loopback(&self, tracked: &Tracked) -> Option<&Tracked> {
        self.get(*self.on_loopback.get(&(tracked.remote, tracked.local))?)
    }
}

/// The last connections that closed, and can be judged.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    all: VecDeque<Tracked>,
    samples: usize,
    /// How many there were in all.
    pub(crate) pushed: u64,
}

impl Closed {
    /// Keeps a closed connection; one with a single sample shows nothing and is left out.
    pub(crate) fn push(&mut self, tracked: Tracked) {
        if tracked.samples.len() < 2 {
            return;
        }
        self.pushed += 1;
        self.samples += tracked.samples.len();
        self.all.push_back(tracked);
        while self.all.len() > CLOSED_MAX || self.samples > SAMPLES_ALL {
            self.samples -= self.all.pop_front().map_or(0, |tracked| tracked.samples.len());
        }
    }

    /// The last one first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Tracked> {
        self.all.iter().rev()
    }
}

impl Tracked {
    fn observe(&mut self, seen: &SocketReport<'_>, t_us: u64, most: usize) {
        if seen.inode != 0 {
            self.inode = seen.inode;
        }
        let now = counters(seen.info);
        let has_changed = now != self.counters;
        let is_under_way = is_under_way(seen);
        if !has_changed && self.samples.len() == 1 && !is_under_way {
            // Nothing happened: an idle connection's only sample is still valid. It is not rewritten, since there may be many.
            self.seen_us = t_us;
            self.is_busy = false;
            return;
        }
        let is_later = self.seen_us < t_us;
        let Some(sample) = sample(seen, t_us).filter(|_| is_later) else { return };
        if self
            .samples
            .back()
            .is_some_and(|last| is_opening(&last.info) || goes_back(&last.info, &sample.info))
        {
            self.samples.clear();
        }
        if self.samples.len() == 1 {
            self.samples[0].t_us = self.seen_us;
        }
        self.seen_us = t_us;
        if has_changed {
            self.changed_us = t_us;
        }
        self.counters = now;
        let idle_us = t_us - self.changed_us;
        self.is_busy = idle_us < BUSY_US || is_under_way;
        self.samples.push_back(sample);
        let kept = if self.is_busy || idle_us < IDLE_US { most } else { 1 };
        let over = self.samples.len().saturating_sub(kept);
        if over > 0 {
            self.samples.drain(..over);
            self.samples.shrink_to(2 * kept);
        }
    }

    /// Up to when the time of a running connection can be counted: the last second is not judged yet.
    pub(crate) fn countable_until_us(&self) -> u64 {
        let last_us = self.samples.back().map_or(0, |last| last.t_us);
        self.active_until_us().min(last_us.saturating_sub(HELD_BACK_US))
    }

    /// Up to when it did something, or had something to do.
    pub(crate) fn active_until_us(&self) -> u64 {
        self.samples.back().filter(|last| has_work(last)).map_or(self.changed_us, |last| last.t_us)
    }

    /// Whether each look asks for it.
    fn is_asked_for(&self) -> bool {
        self.is_busy || self.samples.len() > 1 || self.inode == 0
    }

    /// Notes the look in which all were there.
    fn confirm(&mut self, confirmed: Confirmed) {
        if confirmed.look > self.look {
            (self.look, self.seen_us) = (confirmed.look, confirmed.t_us);
            self.looks += 1;
        }
    }

    /// Notes that it was seen in `look` where it is idle and stays so; one that nobody has accepted yet is asked for its inode again.
    fn is_still_idle(&mut self, brief: &Brief, look: u64, t_us: u64) -> bool {
        const ESTABLISHED: u8 = 1;
        let may_be_accepted = self.inode == 0 && brief.state == ESTABLISHED;
        let is_idle = self.samples.len() == 1 && !brief.is_under_way && !may_be_accepted;
        if !is_idle || self.counters != counters_of(brief.bytes_acked, brief.bytes_received) {
            return false;
        }
        self.looks += u64::from(self.look != look);
        self.look = look;
        self.seen_us = t_us;
        self.is_busy = false;
        true
    }

    /// Whether both ends are sockets of this host.
    pub(crate) fn is_on_loopback(&self) -> bool {
        self.remote.ip().to_canonical().is_loopback()
    }

    /// The ends and properties of the connection, from its socket and `process`.
    pub(crate) fn observed(&self, process: Option<&Process>) -> Observed {
        Observed {
            process: process.cloned(),
            local: self.local.to_string(),
            remote: self.remote.to_string(),
            ..Observed::default()
        }
    }
}

/// Whether data waits to be written, acknowledged or read, although no counter moves.
fn is_under_way(seen: &SocketReport<'_>) -> bool {
    let is_still =
        |range: Range<usize>| seen.info.get(range).is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0));
    // A little unread data does not stop a sender: half a buffer does.
    let is_unread = seen.memory.is_some_and(|memory| memory.rmem_alloc > memory.rcvbuf / 2);
    !is_still(UNACKED) || !is_still(NOTSENT) || is_unread
}

/// Whether a sample has data outstanding or queued.
fn has_work(sample: &TcpSample) -> bool {
    let TcpInfo { unacked_bytes, notsent_bytes, .. } = sample.info;
    let unread = sample.rmem_alloc_bytes.zip(sample.rcvbuf_bytes);
    unacked_bytes > 0
        || notsent_bytes.is_some_and(|bytes| bytes > 0)
        || unread.is_some_and(|(unread, most)| unread > most / 2)
}

/// Whether counts of bytes fell: it is another socket, or a kernel that stopped counting. Earlier samples are useless then.
fn goes_back(before: &TcpInfo, now: &TcpInfo) -> bool {
    now.bytes_acked < before.bytes_acked || now.bytes_received < before.bytes_received
}

fn counters(info: &[u8]) -> [u8; 16] {
    info.get(BYTES).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
}

/// The counters in the form of the short list.
fn counters_of(bytes_acked: u64, bytes_received: u64) -> [u8; 16] {
    let mut both = [0; 16];
    both[..8].copy_from_slice(&bytes_acked.to_ne_bytes());
    both[8..].copy_from_slice(&bytes_received.to_ne_bytes());
    both
}

/// Whether the handshake is under way (`TCP_SYN_SENT`, `TCP_SYN_RECV`): no window was advertised yet, and what is out is a SYN.
const fn is_opening(info: &TcpInfo) -> bool {
    matches!(info.state, 2 | 3)
}

fn sample(seen: &SocketReport<'_>, t_us: u64) -> Option<TcpSample> {
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

/// Microseconds of a span.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::findings::connections::{
        Connection, ConnectionCpu, ConnectionFinding, ConnectionPackets,
    };
    use pipefill_core::limit::LimitedBy;
    use std::time::Duration;

    /// Milliseconds from one look to the next.
    const STEP_MS: u64 = 100;

    /// Figures of `struct tcp_info` of a sender with an application that offers little.
    #[derive(Clone, Copy)]
    struct Figures {
        acked: u64,
        unacked: u32,
        segments: u32,
    }

    fn info(figures: Figures) -> Vec<u8> {
        let mut bytes = vec![0; 240];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        for (at, value) in [(8, 204_000), (16, 1_000), (24, figures.unacked), (68, 10_000), (76, u32::MAX)] {
            put(at, &value.to_ne_bytes());
        }
        // cwnd, segs_out, segs_in, min_rtt, data_segs_out, delivered, rwnd.
        let segments = figures.segments;
        for (at, value) in [
            (80, 100),
            (136, segments),
            (140, segments),
            (148, 10_000),
            (156, segments),
            (192, segments),
            (228, 1 << 20),
        ] {
            put(at, &value.to_ne_bytes());
        }
        put(120, &figures.acked.to_ne_bytes());
        put(200, &figures.acked.to_ne_bytes());
        bytes[0] = 1;
        bytes
    }

    fn socket_report(cookie: u64, info: &[u8]) -> SocketReport<'_> {
        SocketReport {
            cookie,
            local: SocketAddr::from(([10, 0, 0, 1], 50_000)),
            remote: SocketAddr::from(([10, 0, 0, 2], 443)),
            state: 1,
            uid: 0,
            inode: 7,
            info,
            congestion_control: Some("cubic"),
            memory: None,
        }
    }

    /// A look at all sockets, number `look`, in which only `seen` is there.
    fn look_at(tracker: &mut Tracker, look: u64, seen: &SocketReport<'_>) {
        tracker.begin();
        tracker.push(seen, look * STEP_MS * 1_000, true);
        tracker.end(|_, _| ());
    }

    fn finding(tracked: &Tracked) -> ConnectionFinding {
        let samples: Vec<TcpSample> = tracked.samples.iter().cloned().collect();
        ConnectionFinding::of(&Connection {
            observed: tracked.observed(None),
            congestion_control: tracked.congestion_control.clone(),
            offered: None,
            every: Duration::from_millis(STEP_MS),
            samples: &samples,
            peer_samples: &[],
            packets: ConnectionPackets::default(),
            exact: tracked.exact.as_ref(),
            cpu: ConnectionCpu::default(),
        })
    }

    /// 1 Mbit in every second, of segments of 1000 bytes, counted from `first`.
    fn carried(first: u32) -> ConnectionFinding {
        let mut tracker = Tracker::default();
        for at in 0..100_u32 {
            let segments = first.wrapping_add(at * 12);
            let figures = Figures { acked: u64::from(at) * 12_500, unacked: at % 2, segments };
            look_at(&mut tracker, at.into(), &socket_report(1, &info(figures)));
        }
        finding(tracker.get(1).unwrap())
    }

    #[test]
    fn a_count_of_segments_that_wraps_changes_nothing() {
        let (plain, wrapped) = (carried(1_000_000), carried(u32::MAX - 600));
        assert_eq!((plain.verdict.limited_by, plain.rate_bps), (Some(LimitedBy::App), Some(1_000_000)));
        assert_eq!(plain, wrapped);
    }

    #[test]
    fn bytes_that_go_back_are_another_socket() {
        let mut tracker = Tracker::default();
        let acked = [5_000_000, 6_000_000, 7_000_000, 1_000, 2_000, 3_000];
        for (at, acked) in (0..).zip(acked) {
            let figures = Figures { acked, unacked: 1, segments: (acked / 1_000) as u32 };
            look_at(&mut tracker, at, &socket_report(1, &info(figures)));
        }
        let tracked = tracker.get(1).unwrap();
        assert_eq!(tracked.samples.len(), 3);
        assert_eq!(finding(tracked).rate_bps, Some(80_000), "2,000 bytes in 200 ms");
    }

    /// Its window of 0 is none that a receiver closed.
    #[test]
    fn a_handshake_is_no_sample_of_the_connection() {
        let mut tracker = Tracker::default();
        for (at, state) in (0..).zip([2, 2, 1, 1]) {
            let mut info = info(Figures { acked: 1_000 * at, unacked: 1, segments: 1 });
            info[0] = state;
            look_at(&mut tracker, at, &socket_report(1, &info));
        }
        let states = tracker.get(1).unwrap().samples.iter().map(|sample| sample.info.state);
        assert_eq!(states.collect::<Vec<u8>>(), [1, 1]);
    }

    #[test]
    fn what_closes_is_handed_over_once_and_counted() {
        let mut tracker = Tracker::default();
        let mut closed = Vec::new();
        let figures = info(Figures { acked: 0, unacked: 1, segments: 0 });
        for (at, cookies) in (1..).zip([vec![1, 2], vec![1, 3], vec![]]) {
            tracker.begin();
            cookies
                .iter()
                .for_each(|&cookie| tracker.push(&socket_report(cookie, &figures), at * 1_000, true));
            tracker.end(|_, tracked| closed.push(tracked.looks));
        }
        closed.sort_unstable();
        assert_eq!(closed, [1, 1, 2]);
        assert_eq!(tracker.gone, Gone { closed: 1, too_short: 2, not_followed: 0 });
        assert_eq!(tracker.connections().count(), 0);
    }

    #[test]
    fn the_other_end_over_loopback_is_found_while_it_is_there() {
        let figures = info(Figures { acked: 0, unacked: 0, segments: 0 });
        let (ours, theirs): (SocketAddr, SocketAddr) =
            (([127, 0, 0, 1], 50_000).into(), ([127, 0, 0, 1], 443).into());
        let both = |tracker: &mut Tracker, t_us: u64, cookies: [u64; 2]| {
            tracker.begin();
            for (cookie, local, remote) in [(cookies[0], ours, theirs), (cookies[1], theirs, ours)] {
                tracker.push(&SocketReport { local, remote, ..socket_report(cookie, &figures) }, t_us, true);
            }
            tracker.push(&socket_report(9, &figures), t_us, true);
            tracker.end(|_, _| ());
        };
        let mut tracker = Tracker::default();
        both(&mut tracker, 1, [1, 2]);
        let peer = |tracker: &Tracker, cookie| {
            tracker.peer_on_loopback(tracker.get(cookie).unwrap()).map(|peer| peer.remote)
        };
        assert_eq!([1, 2, 9].map(|cookie| peer(&tracker, cookie)), [Some(ours), Some(theirs), None]);
        // Another connection takes the same ports, from one look to the next.
        both(&mut tracker, 2, [3, 4]);
        assert_eq!([3, 4].map(|cookie| peer(&tracker, cookie)), [Some(ours), Some(theirs)]);
        tracker.retain(|tracked| tracked.local != theirs);
        assert_eq!((peer(&tracker, 3), tracker.on_loopback.len()), (None, 1));
        look_at(&mut tracker, 3, &socket_report(9, &figures));
        assert!(tracker.on_loopback.is_empty());
    }

    #[test]
    fn an_inode_that_comes_with_accept_is_taken_and_never_lost() {
        let mut tracker = Tracker::default();
        let figures = info(Figures { acked: 0, unacked: 0, segments: 0 });
        for (at, inode, kept) in [(1, 0, 0), (2, 9, 9), (3, 0, 9)] {
            look_at(&mut tracker, at, &SocketReport { inode, ..socket_report(1, &figures) });
            assert_eq!(tracker.get(1).unwrap().inode, kept);
        }
    }

    /// The window of such a receiver is closed, so that nothing arrives that could be counted.
    #[test]
    fn data_that_nobody_reads_is_under_way() {
        use pipefill_lab::sock_diag::Memory;
        let figures = info(Figures { acked: 0, unacked: 0, segments: 0 });
        for (rmem_alloc, is_busy) in [(0, false), (1_000, false), (60_000, true)] {
            let memory = Some(Memory { rmem_alloc, rcvbuf: 100_000, sndbuf: 0, wmem_queued: 0, drops: 0 });
            let mut tracker = Tracker::default();
            (0..100).for_each(|at| {
                look_at(&mut tracker, at, &SocketReport { memory, ..socket_report(1, &figures) });
            });
            let tracked = tracker.get(1).unwrap();
            assert_eq!((tracked.is_busy, tracked.samples.len() > 1), (is_busy, is_busy), "{rmem_alloc}");
        }
    }

    #[test]
    fn an_idle_minute_frees_the_samples() {
        let mut tracker = Tracker::default();
        let quiet_from = 2 * SAMPLES_MAX as u64;
        let at_end = |tracker: &Tracker| {
            let samples = &tracker.get(1).unwrap().samples;
            (samples.len(), samples.capacity())
        };
        for at in 0..quiet_from {
            let figures = Figures { acked: at * 1_000, unacked: 0, segments: at as u32 };
            look_at(&mut tracker, at, &socket_report(1, &info(figures)));
        }
        assert_eq!(at_end(&tracker).0, SAMPLES_MAX);
        let quiet = info(Figures { acked: (quiet_from - 1) * 1_000, unacked: 0, segments: 0 });
        for at in quiet_from..quiet_from + IDLE_US / STEP_MS / 1_000 + 1 {
            look_at(&mut tracker, at, &socket_report(1, &quiet));
        }
        let (samples, room) = at_end(&tracker);
        assert!(samples == 1 && room <= 4 && !tracker.get(1).unwrap().is_busy, "{samples} of {room}");
    }

    #[test]
    fn of_a_program_behind_a_path_more_is_kept_than_of_any_connection() {
        let looks = 2 * SAMPLES_MAX as u64;
        let kept = |mut tracker: Tracker| {
            for at in 0..looks {
                let figures = Figures { acked: at * 1_000, unacked: 0, segments: at as u32 };
                look_at(&mut tracker, at, &socket_report(1, &info(figures)));
            }
            tracker.get(1).unwrap().samples.len()
        };
        assert_eq!(kept(Tracker::default()), SAMPLES_MAX);
        assert_eq!(kept(Tracker::keeping(SAMPLES_OF_A_PROGRAM)), looks as usize);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut tracker = Tracker::default();
        let (lively, looks) = (2_000, 300);
        for at in 1..=looks {
            let figures = info(Figures { acked: at * 1_000, unacked: 1, segments: at as u32 });
            tracker.begin();
            (0..lively).for_each(|cookie| tracker.push(&socket_report(cookie, &figures), at * 1_000, true));
            tracker.end(|_, _| ());
        }
        let samples: usize = tracker.connections().map(|(_, tracked)| tracked.samples.len()).sum();
        assert!(samples <= SAMPLES_ALL && samples > SAMPLES_ALL / 2, "{samples}");
        let mut closed = Closed::default();
        tracker.begin();
        tracker.end(|_, tracked| closed.push(tracked));
        assert_eq!((closed.pushed, closed.all.len()), (lively, CLOSED_MAX));
        assert!(closed.samples <= SAMPLES_ALL);
    }

    #[test]
    fn more_connections_than_are_followed_are_counted() {
        let mut tracker = Tracker::default();
        let figures = info(Figures { acked: 0, unacked: 0, segments: 0 });
        tracker.begin();
        let most = CONNECTIONS_MAX as u64;
        (0..most + 5).for_each(|cookie| tracker.push(&socket_report(cookie, &figures), 1, true));
        tracker.push(&socket_report(most - 1, &figures), 2, true);
        assert_eq!((tracker.connections.len(), tracker.gone.not_followed), (CONNECTIONS_MAX, 5));
    }
}
