//! What connections add to the figures of their groups from look to look, and what was found of them last.

use crate::group_by::{Cgroups, GroupBy};
use crate::groups::{Addition, GroupFigures, Groups, HeldBy, MeteredGroup};
use crate::tracker::{Metered, Tracked};
use pipefill_analysis::findings::connections::{ConnectionFinding, Connections};
use pipefill_core::cell::Direction;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::Process;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Connections that are judged in a second, those first whose time was judged the longest ago: it bounds what the judge costs.
const JUDGED_A_SECOND: u32 = 100;
/// The last findings that are kept, and for how long.
const FINDINGS_MAX: usize = 200;
pub(crate) const FINDINGS_US: u64 = 60_000_000;

/// The totals of `watch` by groups.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Names of the labels of a group, in order.
    pub label_names: Vec<&'static str>,
    /// The labels and figures of each group.
    pub groups: Vec<(Vec<String>, GroupFigures)>,
    /// The figures of connections without a group of their own.
    pub other: GroupFigures,
    /// Groups that there can be at most.
    pub groups_max: usize,
    /// Connections that were counted without a group of their own.
    pub folded_connections: u64,
    /// Connections that are followed.
    pub followed: u64,
    /// The counts of the looks, and UDP sockets that have shown something; without connections.
    pub looks: Connections,
    /// What was found of connections in the last minute, the last one of each; at most 200.
    pub findings: Vec<Arc<ConnectionFinding>>,
}

impl Metrics {
    /// The last findings as `watch --json` has them: a bounded number, the fastest first.
    pub fn connections(&self) -> Connections {
        let mut found = self.looks.clone();
        found.connections.extend(self.findings.iter().map(|finding| (**finding).clone()));
        found.connections.sort_by_key(|finding| std::cmp::Reverse(finding.rate_bps));
        found.connections.truncate(FINDINGS_MAX);
        found
    }
}

/// Adds up.
#[derive(Debug)]
pub(crate) struct Meter {
    by: GroupBy,
    pub(crate) groups_max: usize,
    groups: Groups,
    cgroups: Cgroups,
    folded_connections: u64,
    findings: VecDeque<(u64, Arc<ConnectionFinding>)>,
    /// When the look began.
    at_us: u64,
    at: SystemTime,
    /// Connections missing in this look, and those missing in the one before, by their cookies: where sockets came and went meanwhile, the kernel may
    /// have left out one that is still there.
    missing: HashMap<u64, Metered>,
    missing_before: HashMap<u64, Metered>,
    /// How many of the closed ones were judged.
    pub(crate) closed: u64,
}

impl Meter {
    pub(crate) fn new(by: GroupBy, groups_max: usize) -> Self {
        Self {
            by,
            groups_max,
            groups: Groups::new(groups_max),
            cgroups: Cgroups::default(),
            folded_connections: 0,
            findings: VecDeque::new(),
            at_us: 0,
            at: SystemTime::UNIX_EPOCH,
            missing: HashMap::new(),
            missing_before: HashMap::new(),
            closed: 0,
        }
    }

    /// Connections that may be judged in a look, where there is one every `every`.
    pub(crate) fn judged_max(every: Duration) -> usize {
        (every.as_secs_f64() * f64::from(JUDGED_A_SECOND)).ceil() as usize
    }

    /// A look begins.
    pub(crate) fn begin(&mut self, at_us: u64, at: SystemTime) {
        (self.at_us, self.at) = (at_us, at);
        self.groups.clear_busy();
        self.missing_before = std::mem::take(&mut self.missing);
        self.findings.retain(|(found_us, _)| at_us.saturating_sub(*found_us) <= FINDINGS_US);
    }

    /// Counts what a connection carried since it was counted before; all of it where it was not there then, and `is_first` is false.
    pub(crate) fn count(
        &mut self,
        cookie: u64,
        tracked: &mut Tracked,
        process: Option<&Process>,
        is_first: bool,
    ) {
        let (Some(first), Some(last)) = (tracked.samples.front(), tracked.samples.back()) else { return };
        let now = Metered::of(&last.info);
        let before = tracked
            .metered
            .or_else(|| self.missing_before.remove(&cookie))
            .unwrap_or(Metered { until_us: first.t_us, ..if is_first { now } else { Metered::default() } });
        let Metered { until_us, is_folded, group, .. } = before;
        let mut metered = Metered { until_us, is_folded, group, ..now };
        let sent = now.bytes_acked.saturating_sub(before.bytes_acked);
        let received = now.bytes_received.saturating_sub(before.bytes_received);
        let retransmits = now.retransmits.saturating_sub(before.retransmits);
        if sent > 0 || received > 0 || retransmits > 0 {
            let addition = self.addition(tracked.local, tracked.remote);
            let group = self.group(group, process, tracked.remote);
            let is_other = group.place.is_other();
            let figures = self.groups.at(group.place, self.at_us);
            figures.sent_bytes += sent;
            figures.received_bytes += received;
            figures.retransmits.add(retransmits.into(), &addition);
            self.folded_connections += u64::from(is_other && !metered.is_folded);
            metered.is_folded |= is_other;
            metered.group = Some(group);
        }
        if !tracked.is_busy && tracked.countable_until_us() <= metered.until_us {
            // Idle time has no holder.
            metered.until_us = self.at_us;
        }
        tracked.metered = Some(metered);
    }

    /// Counts a connection that is busy now.
    pub(crate) fn count_busy(&mut self, tracked: &mut Tracked, process: Option<&Process>) {
        let rtt_us = tracked.samples.back().and_then(|last| last.info.srtt_us);
        let group = self.group_of(tracked, process);
        if let Some(metered) = &mut tracked.metered {
            metered.group = Some(group);
        }
        let addition = self.addition(tracked.local, tracked.remote);
        let figures = self.groups.at(group.place, self.at_us);
        figures.busy += 1;
        rtt_us.into_iter().for_each(|rtt_us| figures.rtt.add(rtt_us.into(), &addition));
    }

    /// Keeps what was counted of a connection that this look did not show; all of its time will be.
    pub(crate) fn leave(&mut self, cookie: u64, tracked: &Tracked) {
        let counted =
            tracked.metered.map(|metered| Metered { until_us: tracked.active_until_us(), ..metered });
        self.missing.extend(counted.map(|metered| (cookie, metered)));
    }

    /// Counts the time of a connection up to `to_us` by the holders in `finding`; time without a holder is unknown.
    pub(crate) fn hold(
        &mut self,
        tracked: &Tracked,
        process: Option<&Process>,
        finding: Option<ConnectionFinding>,
        to_us: u64,
    ) {
        let from_us = tracked.metered.map_or(to_us, |metered| metered.until_us);
        let Some(finding) = finding else {
            let unknown =
                HeldBy { direction: Direction::Forward, limited_by: LimitedBy::Unknown, cause: None };
            self.add_held(tracked, process, [(unknown, to_us.saturating_sub(from_us))]);
            return;
        };
        if let Some(direction) = finding.direction {
            let mut held_us: BTreeMap<HeldBy, u64> = BTreeMap::new();
            let mut unknown_us = to_us.saturating_sub(from_us);
            for span in &finding.timeline {
                let us = span.to_us.min(to_us).saturating_sub(span.from_us.max(from_us));
                let us = us.min(unknown_us);
                let cause = span.cause.or(span.cwnd_cause.map(Cause::from));
                *held_us.entry(HeldBy { direction, limited_by: span.limited_by, cause }).or_default() += us;
                unknown_us -= us;
            }
            let unknown = HeldBy { direction, limited_by: LimitedBy::Unknown, cause: None };
            *held_us.entry(unknown).or_default() += unknown_us;
            self.add_held(tracked, process, held_us);
        }
        self.findings.retain(|(_, other)| other.local != finding.local || other.remote != finding.remote);
        self.findings.push_back((self.at_us, Arc::new(finding)));
        if self.findings.len() > FINDINGS_MAX {
            self.findings.pop_front();
        }
    }

    fn add_held(
        &mut self,
        tracked: &Tracked,
        process: Option<&Process>,
        held_us: impl IntoIterator<Item = (HeldBy, u64)>,
    ) {
        let addition = self.addition(tracked.local, tracked.remote);
        let group = self.group_of(tracked, process);
        let figures = self.groups.at(group.place, self.at_us);
        for (held_by, us) in held_us.into_iter().filter(|(_, us)| *us > 0) {
            figures.held_us.entry(held_by).or_default().add(us, &addition);
        }
    }

    /// Counts datagrams that a UDP socket dropped.
    pub(crate) fn count_udp_drops(&mut self, process: Option<&Process>, remote: SocketAddr, drops: u64) {
        let group = self.group(None, process, remote);
        self.groups.at(group.place, self.at_us).udp_drops += drops;
    }

    fn addition(&self, local: SocketAddr, remote: SocketAddr) -> Addition {
        Addition { local, remote, at: self.at, at_us: self.at_us }
    }

    fn group_of(&mut self, tracked: &Tracked, process: Option<&Process>) -> MeteredGroup {
        let known = tracked.metered.and_then(|metered| metered.group);
        self.group(known, process, tracked.remote)
    }

    /// The group of a connection, which was in `known` before.
    fn group(
        &mut self,
        known: Option<MeteredGroup>,
        process: Option<&Process>,
        remote: SocketAddr,
    ) -> MeteredGroup {
        let pid = process.map(|process| process.pid);
        let is_current =
            |group: &MeteredGroup| group.pid == pid && self.groups.is_current(group.place, self.at_us);
        if let Some(known) = known.filter(is_current) {
            return known;
        }
        // A UDP socket without a peer.
        let remote = (remote.port() != 0).then_some(remote.ip());
        let labels = self.by.labels(process, remote, &mut self.cgroups);
        MeteredGroup { place: self.groups.find_or_add(labels, self.at_us), pid }
    }

    /// The totals up to now, for `followed` connections; `looks` has the figures of the looks, without connections.
    pub(crate) fn metrics(&self, looks: Connections, followed: u64) -> Metrics {
        Metrics {
            label_names: self.by.names(),
            groups: self.groups.all(),
            other: self.groups.other().clone(),
            groups_max: self.groups_max,
            folded_connections: self.folded_connections,
            followed,
            looks,
            findings: self.findings.iter().map(|(_, finding)| Arc::clone(finding)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Tracker;
    use pipefill_analysis::judge::Span;
    use pipefill_lab::sock_diag::SocketReport;
    use proptest::prelude::*;

    /// A look each second, of connections by cookie, the payload that was acknowledged, and the bytes in flight.
    struct MeteredTracker {
        tracker: Tracker,
        meter: Meter,
        looks: u64,
    }

    impl MeteredTracker {
        fn new() -> Self {
            let meter = Meter::new("remote/32".parse().unwrap(), 10);
            Self { tracker: Tracker::default(), meter, looks: 0 }
        }

        fn look(&mut self, connections: &[(u64, u64, u32)]) {
            let Self { tracker, meter, looks } = self;
            let (at_us, is_first) = (*looks * 1_000_000, *looks == 0);
            meter.begin(at_us, SystemTime::UNIX_EPOCH);
            tracker.begin();
            for &(cookie, acked, unacked) in connections {
                let mut info = vec![0; 240];
                for (at, value) in [(24, unacked), (68, 20_000), (100, acked as u32 / 1_000)] {
                    info[at..at + 4].copy_from_slice(&value.to_ne_bytes());
                }
                info[120..128].copy_from_slice(&acked.to_ne_bytes());
                let seen = SocketReport {
                    cookie,
                    local: ([10, 0, 0, 1], 50_000).into(),
                    remote: ([10, 0, 0, 2], 443).into(),
                    state: 1,
                    uid: 0,
                    inode: 7,
                    info: &info,
                    congestion_control: None,
                    memory: None,
                };
                tracker.push(&seen, at_us, true);
            }
            tracker.end(|cookie, mut gone| {
                meter.count(cookie, &mut gone, None, is_first);
                meter.leave(cookie, &gone);
            });
            for (cookie, tracked) in tracker.connections_mut() {
                meter.count(cookie, tracked, None, is_first);
            }
            *looks += 1;
        }

        fn figures(&self) -> GroupFigures {
            let all = self.meter.groups.all();
            assert!(all.len() <= 1, "{all:?}");
            all.into_iter().map(|(_, figures)| figures).next().unwrap_or_default()
        }

        fn until_us(&self, cookie: u64) -> u64 {
            self.tracker.get(cookie).unwrap().metered.unwrap().until_us
        }
    }

    fn finding(spans: &[(u64, u64, LimitedBy)]) -> ConnectionFinding {
        let span = |&(from_us, to_us, limited_by)| Span {
            stream: 0,
            from_us,
            to_us,
            limited_by,
            cause: None,
            cwnd_cause: None,
            rule: None,
        };
        let timeline = spans.iter().map(span).collect();
        ConnectionFinding { direction: Some(Direction::Forward), timeline, ..ConnectionFinding::default() }
    }

    fn held(figures: &GroupFigures) -> Vec<(LimitedBy, u64)> {
        figures.held_us.iter().map(|(held_by, sum)| (held_by.limited_by, sum.total)).collect()
    }

    #[test]
    fn what_was_carried_before_the_first_look_is_not_counted_and_all_of_a_later_connection_is() {
        let mut looks = MeteredTracker::new();
        looks.look(&[(1, 5_000, 0)]);
        assert_eq!(looks.figures(), GroupFigures::default());
        looks.look(&[(1, 8_000, 0), (2, 1_500, 0)]);
        looks.look(&[(1, 8_000, 0)]);
        let figures = looks.figures();
        assert_eq!((figures.sent_bytes, figures.retransmits.total), (4_500, 4));
        assert_eq!(figures.retransmits.worst.unwrap().amount, 3);
    }

    /// The kernel may leave out a socket while others come and go.
    #[test]
    fn a_connection_that_one_look_did_not_show_is_not_counted_again() {
        let mut looks = MeteredTracker::new();
        looks.look(&[]);
        looks.look(&[(1, 1_000_000, 0)]);
        looks.look(&[]);
        looks.look(&[(1, 1_000_700, 0)]);
        assert_eq!(looks.figures().sent_bytes, 1_000_700);
        looks.look(&[]);
        looks.look(&[]);
        looks.look(&[(1, 1_000_700, 0)]);
        assert_eq!(looks.figures().sent_bytes, 2_001_400, "two looks later it counts as another one");
    }

    #[test]
    fn time_is_counted_while_there_is_something_to_do_a_second_later_and_idle_time_is_nobodys() {
        let mut looks = MeteredTracker::new();
        for at in 0..4 {
            looks.look(&[(1, at * 1_000, 1)]);
        }
        let tracked = looks.tracker.get(1).unwrap();
        assert_eq!(
            (looks.until_us(1), tracked.countable_until_us(), tracked.active_until_us()),
            (0, 2_000_000, 3_000_000)
        );
        // Nothing is in flight any more: its time ended with what was acknowledged last.
        for _ in 4..20 {
            looks.look(&[(1, 4_000, 0)]);
        }
        let tracked = looks.tracker.get(1).unwrap();
        assert_eq!((looks.until_us(1), tracked.countable_until_us()), (0, 4_000_000), "not judged yet");
        looks.tracker.get_mut(1).unwrap().metered.as_mut().unwrap().until_us = 4_000_000;
        looks.look(&[(1, 4_000, 0)]);
        assert_eq!(looks.until_us(1), 20_000_000);
    }

    #[test]
    fn time_goes_to_the_holders_in_it_and_the_rest_is_unknown() {
        let mut looks = MeteredTracker::new();
        for at in 0..4 {
            looks.look(&[(1, at * 1_000, 1)]);
        }
        let spans = [
            (0, 500_000, LimitedBy::App),
            (500_000, 1_200_000, LimitedBy::Rwnd),
            (1_900_000, 9_000_000, LimitedBy::App),
        ];
        let tracked = looks.tracker.get(1).unwrap();
        looks.meter.hold(tracked, None, Some(finding(&spans)), 2_000_000);
        let told = held(&looks.figures());
        assert_eq!(
            told,
            [(LimitedBy::App, 600_000), (LimitedBy::Rwnd, 700_000), (LimitedBy::Unknown, 700_000)]
        );
        looks.meter.hold(tracked, None, Some(ConnectionFinding::default()), 2_000_000);
        assert_eq!(held(&looks.figures()), told, "nothing was carried: nobody was held");
        looks.meter.hold(tracked, None, None, 2_000_000);
        assert_eq!(held(&looks.figures())[2], (LimitedBy::Unknown, 2_700_000), "not judged");
        let found = looks.meter.metrics(Connections::new(), 1).connections();
        assert_eq!(found.connections.len(), 1, "the last one of each connection");
    }

    #[test]
    fn findings_are_of_the_last_minute_and_bounded() {
        let mut looks = MeteredTracker::new();
        looks.look(&[(1, 0, 1)]);
        for port in 0..300 {
            let remote = format!("192.0.2.1:{port}");
            let tracked = looks.tracker.get(1).unwrap();
            let finding = ConnectionFinding { remote, rate_bps: Some(port), ..finding(&[]) };
            looks.meter.hold(tracked, None, Some(finding), 0);
        }
        let found = looks.meter.metrics(Connections::new(), 1).connections();
        assert_eq!((found.connections.len(), found.connections[0].rate_bps), (FINDINGS_MAX, Some(299)));
        for _ in 0..62 {
            looks.look(&[]);
        }
        assert!(looks.meter.metrics(Connections::new(), 0).connections().connections.is_empty());
    }

    #[test]
    fn judging_is_bounded_by_time() {
        let judged = |ms| Meter::judged_max(Duration::from_millis(ms));
        assert_eq!((judged(100), judged(1_000), judged(10_000)), (10, 100, 1_000));
    }

    proptest! {
        /// The counted time is the elapsed time, for any finding.
        #[test]
        fn time_is_conserved(
            spans in prop::collection::vec((0_u64..5_000_000, 0_u64..5_000_000, 0..LimitedBy::ALL.len()), 0..20),
            to_us in 0_u64..6_000_000,
        ) {
            let mut looks = MeteredTracker::new();
            looks.look(&[(1, 0, 1)]);
            let spans: Vec<_> =
                spans.into_iter().map(|(from, to, holder)| (from, to, LimitedBy::ALL[holder])).collect();
            let tracked = looks.tracker.get(1).unwrap();
            looks.meter.hold(tracked, None, Some(finding(&spans)), to_us);
            let total: u64 = held(&looks.figures()).into_iter().map(|(_, us)| us).sum();
            prop_assert_eq!(total, to_us);
        }
    }
}
