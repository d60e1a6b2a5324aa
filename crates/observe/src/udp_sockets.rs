//! The UDP sockets of a host, look by look: what waits in their queues and what they drop. The kernel counts nothing else of them.

use crate::filter::Filter;
use crate::processes::Processes;
use pipefill_analysis::findings::connections::ConnectionFinding;
use pipefill_analysis::findings::udp_socket_report::UdpSocketReport;
use pipefill_core::record::{BufferLimits, Observed};
use pipefill_lab::sock_diag::{SockDiag, UdpSocket};
use std::collections::{BTreeMap, HashSet};
use std::io;

/// Sockets that are followed.
const SOCKETS_MAX: usize = 4_096;

/// What was seen so far. A socket that closes is forgotten where it has shown nothing, or when that is too long ago.
#[derive(Debug, Default)]
pub(crate) struct UdpSockets {
    /// By cookie.
    all: BTreeMap<u64, Followed>,
}

#[derive(Debug)]
struct Followed {
    socket: UdpSocket,
    first_drops: u32,
    looks: u64,
    unread_looks: u64,
    report: UdpSocketReport,
    /// Of its drops, those that were asked for with [`UdpSockets::new_drops`].
    counted_drops: u64,
    /// When it was seen last.
    seen_us: u64,
}

impl UdpSockets {
    /// Looks at `now_us` at those that `filter` wants, and of these at those with the inodes `own`, where there are such. Closed ones are kept
    /// for `kept_us`. Returns the inodes of those that are forgotten.
    ///
    /// # Errors
    /// The kernel does not list UDP sockets.
    pub(crate) fn look(
        &mut self,
        diag: &mut SockDiag,
        filter: &Filter,
        own: Option<&HashSet<u32>>,
        now_us: u64,
        kept_us: u64,
    ) -> io::Result<Vec<u32>> {
        let Self { all } = self;
        diag.dump_udp(|socket| {
            let is_wanted = filter.matches(socket.local, socket.remote)
                && own.is_none_or(|own| own.contains(&socket.inode));
            if is_wanted && (all.len() < SOCKETS_MAX || all.contains_key(&socket.cookie)) {
                all.entry(socket.cookie).or_insert_with(|| Followed::since(socket)).observe(socket, now_us);
            }
        })?;
        Ok(self.forget_closed(now_us, kept_us))
    }

    /// After a look at `now_us`.
    fn forget_closed(&mut self, now_us: u64, kept_us: u64) -> Vec<u32> {
        let is_gone = |followed: &Followed| {
            let missing_us = now_us - followed.seen_us;
            missing_us > 0 && (missing_us > kept_us || !followed.has_shown_something())
        };
        let gone = self.all.extract_if(.., |_, followed| is_gone(followed));
        gone.map(|(_, followed)| followed.socket.inode).collect()
    }

    /// Whose those are that have shown something, before they close.
    pub(crate) fn find_processes(&self, processes: &mut Processes) {
        let shown = self.all.values().filter(|followed| followed.has_shown_something());
        processes.find(shown.map(|followed| followed.socket.inode), std::iter::empty());
    }

    /// An entry for each that has shown something.
    pub(crate) fn findings(
        &self,
        processes: &Processes,
        limits: Option<BufferLimits>,
    ) -> Vec<ConnectionFinding> {
        let shown = self.all.values().filter(|followed| followed.has_shown_something());
        let finding = |followed: &Followed| {
            let UdpSocket { local, remote, inode, .. } = followed.socket;
            let observed = Observed {
                process: processes.of(inode).map(|process| (**process).clone()),
                local: local.to_string(),
                // Not connected: it takes datagrams from anybody.
                remote: if remote.port() == 0 { "*".to_owned() } else { remote.to_string() },
                local_buffers: limits,
                ..Observed::default()
            };
            let unread_share = followed.unread_looks as f64 / followed.looks.max(1) as f64;
            let report = UdpSocketReport { unread_share, ..followed.report };
            let looks = usize::try_from(followed.looks).unwrap_or(usize::MAX);
            ConnectionFinding::of_udp_socket(&observed, report, looks)
        };
        shown.map(finding).collect()
    }

    /// The sockets that dropped datagrams since this was asked before, and how many.
    pub(crate) fn new_drops(&mut self) -> impl Iterator<Item = (&UdpSocket, u64)> {
        self.all.values_mut().filter_map(|followed| {
            let drops = followed.report.socket_drops;
            let new = drops - std::mem::replace(&mut followed.counted_drops, drops);
            (new > 0).then_some((&followed.socket, new))
        })
    }

    /// How many have shown nothing.
    pub(crate) fn quiet(&self) -> u64 {
        self.all.values().filter(|followed| !followed.has_shown_something()).count() as u64
    }

    /// Only those that `filter` wants are followed further.
    pub(crate) fn retain(&mut self, filter: &Filter) {
        self.all.retain(|_, followed| filter.matches(followed.socket.local, followed.socket.remote));
    }
}

impl Followed {
    fn since(socket: &UdpSocket) -> Self {
        Self {
            socket: *socket,
            first_drops: socket.memory.map_or(0, |memory| memory.drops),
            looks: 0,
            unread_looks: 0,
            report: UdpSocketReport::default(),
            counted_drops: 0,
            seen_us: 0,
        }
    }

    fn observe(&mut self, socket: &UdpSocket, now_us: u64) {
        let report = &mut self.report;
        (self.socket, self.seen_us) = (*socket, now_us);
        self.looks += 1;
        report.receive_queue_bytes = socket.receive_queue.into();
        report.receive_queue_peak_bytes = report.receive_queue_peak_bytes.max(report.receive_queue_bytes);
        report.send_queue_bytes = socket.send_queue.into();
        report.send_queue_peak_bytes = report.send_queue_peak_bytes.max(report.send_queue_bytes);
        if let Some(memory) = socket.memory {
            let drops = u64::from(memory.drops.wrapping_sub(self.first_drops));
            report.socket_drops_peak = report.socket_drops_peak.max(drops - report.socket_drops);
            report.socket_drops = drops;
            report.rcvbuf_bytes = Some(memory.rcvbuf.into());
            self.unread_looks += u64::from(memory.rmem_alloc >= memory.rcvbuf / 2);
        }
    }

    fn has_shown_something(&self) -> bool {
        let report = &self.report;
        report.socket_drops > 0 || report.receive_queue_peak_bytes > 0 || report.send_queue_peak_bytes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_lab::sock_diag::Memory;

    fn socket(drops: u32, rmem_alloc: u32) -> UdpSocket {
        UdpSocket {
            cookie: 1,
            local: "0.0.0.0:5000".parse().unwrap(),
            remote: "0.0.0.0:0".parse().unwrap(),
            inode: 1,
            receive_queue: rmem_alloc,
            send_queue: 0,
            memory: Some(Memory { rmem_alloc, rcvbuf: 1_000, sndbuf: 0, wmem_queued: 0, drops }),
        }
    }

    #[test]
    fn a_closed_socket_is_kept_for_a_while_where_it_has_shown_something_and_its_drops_are_handed_on_once() {
        let mut sockets = UdpSockets::default();
        for (inode, drops) in [(1, 0), (2, 7)] {
            let mut followed = Followed::since(&socket(0, 0));
            followed.observe(&UdpSocket { inode, ..socket(drops, 0) }, 10);
            sockets.all.insert(inode.into(), followed);
        }
        let drops = |sockets: &mut UdpSockets| -> Vec<(u32, u64)> {
            sockets.new_drops().map(|(socket, drops)| (socket.inode, drops)).collect()
        };
        assert_eq!((drops(&mut sockets), drops(&mut sockets)), (vec![(2, 7)], vec![]));
        assert!(sockets.forget_closed(10, 100).is_empty(), "both are there");
        assert_eq!(sockets.forget_closed(11, 100), [1]);
        assert!(sockets.forget_closed(110, 100).is_empty());
        assert_eq!(sockets.forget_closed(111, 100), [2]);
    }

    #[test]
    fn drops_count_from_the_first_look() {
        let mut followed = Followed::since(&socket(u32::MAX - 1, 0));
        followed.observe(&socket(u32::MAX - 1, 0), 0);
        assert!(!followed.has_shown_something());
        followed.observe(&socket(8, 900), 1);
        followed.observe(&socket(9, 100), 2);
        let report = followed.report;
        assert_eq!((report.socket_drops, report.socket_drops_peak), (11, 10), "the counter wraps");
        assert_eq!((report.receive_queue_bytes, report.receive_queue_peak_bytes), (100, 900));
        assert_eq!((followed.looks, followed.unread_looks), (3, 1));
    }
}
