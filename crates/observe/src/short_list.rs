//! Looks at all sockets by a short list of them, where BPF makes one: only those on which something happened are asked for all that the
//! kernel knows. On a machine with thousands of idle sockets such a look takes less CPU time than a dump (`make bench`).

use crate::filter::Filter;
use crate::tracker::{Tracker, micros};
use pipefill_lab::sock_diag::{CONNECTED, Dump, SockDiag};
use pipefill_lab::socket_list::{Brief, SocketList, Which};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

/// With fewer sockets a dump takes no longer.
const WORTH_IT: usize = 1_000;
/// Asking for one socket takes as long as this many sockets of a dump.
const QUESTION: usize = 8;

/// Who is asked for: cookie, local and remote address.
type Questions = Vec<(u64, SocketAddr, SocketAddr)>;

/// The list, from the first look on that is worth it.
#[derive(Debug)]
pub(crate) struct ShortList {
    /// The namespace; the own one where there is none.
    netns: Option<PathBuf>,
    state: ListState,
    /// Whether connections closed before the last look, without which the list need not name those that are idle.
    had_closed: bool,
}

#[derive(Debug)]
enum ListState {
    NotTried,
    Refused,
    Ready(Box<SocketList>),
}

/// What a pass over the list found.
struct Pass {
    questions: Questions,
    sockets: usize,
}

impl ShortList {
    /// Starts nothing yet.
    pub(crate) const fn of(netns: Option<PathBuf>) -> Self {
        Self { netns, state: ListState::NotTried, had_closed: true }
    }

    /// Looks at all sockets that `filter` wants. `None` where a dump is to be made instead: few sockets, most of them new or busy, states
    /// that the list does not have, or no permission.
    ///
    /// # Errors
    /// The kernel does not answer questions for single sockets.
    pub(crate) fn look(
        &mut self,
        filter: &Filter,
        diag: &mut SockDiag,
        tracker: &mut Tracker,
        began: Instant,
    ) -> io::Result<Option<Dump>> {
        if tracker.count() < WORTH_IT || filter.states & !CONNECTED != 0 {
            return Ok(None);
        }
        // These sockets alone need too many questions, without those that the list adds.
        if tracker.asked_for_count() * QUESTION > tracker.count() {
            self.had_closed = true;
            return Ok(None);
        }
        let t_us = micros(began.elapsed());
        let Some(pass) = self.pass(filter, tracker, t_us) else { return Ok(None) };
        if pass.questions.len() * QUESTION > pass.sockets {
            return Ok(None);
        }
        diag.look_at(&pass.questions, |seen| tracker.push(seen, micros(began.elapsed()), true))?;
        Ok(Some(Dump { sockets: pass.sockets, ..Dump::default() }))
    }

    /// Looks by the short list; `None` where there is no list.
    fn pass(&mut self, filter: &Filter, tracker: &mut Tracker, t_us: u64) -> Option<Pass> {
        // Where connections come and go all the time, the list has to name all.
        let by_changes = filter.wants_all() && tracker.has_room() && !std::mem::take(&mut self.had_closed);
        let list = self.ready()?;
        let changed = if by_changes { changes(list, tracker, t_us).transpose() } else { None };
        let Ok(pass) = changed.unwrap_or_else(|| all(list, filter, tracker, t_us)) else {
            self.state = ListState::Refused;
            return None;
        };
        self.had_closed = pass.sockets < tracker.count();
        Some(pass)
    }

    fn ready(&mut self) -> Option<&mut SocketList> {
        if matches!(self.state, ListState::NotTried) {
            let started = SocketList::start(self.netns.as_deref());
            self.state = started.map_or(ListState::Refused, |list| ListState::Ready(Box::new(list)));
        }
        match &mut self.state {
            ListState::Ready(list) => Some(list),
            ListState::NotTried | ListState::Refused => None,
        }
    }
}

/// Asks for the sockets on which something happened. `None` where the number of sockets shows that an unknown one has closed.
fn changes(list: &mut SocketList, tracker: &mut Tracker, t_us: u64) -> io::Result<Option<Pass>> {
    let mut questions: Questions =
        tracker.asked_for().map(|(cookie, tracked)| (cookie, tracked.local, tracked.remote)).collect();
    let mut new = 0;
    let connected = list.each(Which::Changed, |brief| {
        if tracker.is_news(brief) {
            new += usize::from(!tracker.knows(brief.cookie));
            questions.push((brief.cookie, brief.local, brief.remote));
        }
    })?;
    let sockets = usize::try_from(connected).unwrap_or(usize::MAX);
    if sockets != tracker.count() + new {
        return Ok(None);
    }
    tracker.confirm(t_us);
    Ok(Some(Pass { questions, sockets }))
}

/// Goes through all sockets and asks for those on which something happened.
fn all(list: &mut SocketList, filter: &Filter, tracker: &mut Tracker, t_us: u64) -> io::Result<Pass> {
    let mut pass = Pass { questions: Vec::new(), sockets: 0 };
    let mut left_out = 0;
    list.each(Which::All, |brief| {
        if !is_wanted(filter, brief) {
            return;
        }
        pass.sockets += 1;
        if !tracker.has_room() && !tracker.knows(brief.cookie) {
            left_out += 1;
        } else if !tracker.takes_as_idle(brief, t_us) {
            pass.questions.push((brief.cookie, brief.local, brief.remote));
        }
    })?;
    (0..left_out).for_each(|_| tracker.leave_out());
    Ok(pass)
}

fn is_wanted(filter: &Filter, brief: &Brief) -> bool {
    filter.states >> brief.state & 1 == 1 && filter.matches(brief.local, brief.remote)
}
