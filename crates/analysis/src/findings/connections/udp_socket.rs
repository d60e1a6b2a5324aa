//! A UDP socket of this host as an entry in the list of connections.

use super::finding::ConnectionFinding;
use crate::findings::advice::for_overflowing_socket;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, EndStacks, HostNames, Proposal, Reason, Target};
use crate::findings::udp_socket_report::UdpSocketReport;
use crate::findings::verdict::{Verdict, VerdictReason};
use crate::judge::udp_socket_limited_by;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::evidence::UdpSocketEvidence;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::Observed;

impl ConnectionFinding {
    /// The socket of `observed`, with the `report` of all its samples.
    pub fn of_udp_socket(observed: &Observed, report: UdpSocketReport, looks: usize) -> Self {
        let (limited_by, rule) = udp_socket_limited_by(UdpSocketEvidence { drops: report.socket_drops });
        let advice = (limited_by == LimitedBy::Receiver).then(|| vec![advice(observed, &report)]);
        Self {
            protocol: Protocol::Udp,
            local: observed.local.clone(),
            remote: observed.remote.clone(),
            process: observed.process.as_ref().map(|process| process.name.clone()),
            pid: observed.process.as_ref().map(|process| process.pid),
            samples: looks,
            udp_socket: Some(report),
            verdict: Verdict {
                limited_by: Some(limited_by),
                rule: Some(rule),
                advice,
                reason: Some(VerdictReason::UdpSocket(report)),
                ..Verdict::default()
            },
            ..Self::default()
        }
    }
}

fn advice(observed: &Observed, report: &UdpSocketReport) -> Advice {
    let rmem_max = observed.local_buffers.and_then(|limits| limits.rmem_max);
    let overflow = report.rcvbuf_bytes.and_then(|rcvbuf_bytes| {
        for_overflowing_socket(rcvbuf_bytes, report.socket_drops_peak, report.unread_share)
            .map(|setting| (setting, rcvbuf_bytes))
    });
    let (changes, reason) = match overflow {
        Some((setting, rcvbuf_bytes)) => {
            let change = Change { target: Target::Receiver, setting, key: String::new() };
            let dropped = report.socket_drops_peak;
            (vec![change], Reason::SocketOverflows { rcvbuf_bytes, dropped, rmem_max })
        }
        None => (Vec::new(), Reason::ReaderIsSlow),
    };
    // What a socket receives is read here.
    let hosts = HostNames::Observed(Direction::Reverse);
    let advice = Advice::of(Proposal { changes, reason, hosts, stacks: EndStacks::default() }, None);
    Advice { set: Vec::new(), ..advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::proposal::Setting;

    fn finding(report: UdpSocketReport) -> ConnectionFinding {
        ConnectionFinding::of_udp_socket(&Observed::default(), report, 20)
    }

    #[test]
    fn a_socket_that_drops_is_its_readers_and_one_that_does_not_is_unknown() {
        let quiet = UdpSocketReport { rcvbuf_bytes: Some(200_000), ..UdpSocketReport::default() };
        let verdict = finding(quiet).verdict;
        assert_eq!((verdict.limited_by, verdict.advice), (Some(LimitedBy::Unknown), None));
        let drops = UdpSocketReport { socket_drops: 100, socket_drops_peak: 50, ..quiet };
        let settings = |report| {
            let advice = finding(report).verdict.advice.unwrap();
            let changes = advice.into_iter().flat_map(|advice| advice.proposal.unwrap().changes);
            changes.map(|change| change.setting).collect::<Vec<_>>()
        };
        assert!(matches!(settings(drops)[..], [Setting::Rcvbuf(bytes)] if bytes > 100_000));
        let behind = UdpSocketReport { unread_share: 0.9, ..drops };
        assert_eq!(finding(behind).verdict.limited_by, Some(LimitedBy::Receiver));
        assert!(settings(behind).is_empty(), "no buffer makes up for a reader that is always behind");
    }
}
