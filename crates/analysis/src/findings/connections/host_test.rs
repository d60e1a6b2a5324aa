//! What is said of a test between two hosts: a verdict for each of its streams, and one for all of them.

use super::connection::Connection;
use super::delays::{ClockOffset, TestDelays};
use super::finding::{ConnectionFinding, Connections};
use super::test_warnings::{ClockSet, Contradiction, InvalidEnd, OtherTests};
use crate::findings::changes::Changes;
use crate::findings::experiment::SCHEMA;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, Proposal, Setting, Target};
use crate::findings::verdict::{DatagramEvidence, VerdictReason};
use crate::judge::datagrams_limited_by;
use pipefill_core::limit::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// `pipefill serve`.
    Pipefill,
    /// A stock iperf3.
    #[default]
    Iperf3,
}

/// Whose sockets the verdict rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Those of this host alone.
    #[default]
    Own,
    /// Those of both hosts.
    Both,
}

/// What a test says beside its figures: the member `pipefill` of `pipefill test --json`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestFinding {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Who answered.
    pub server: Server,
    /// Whose sockets the verdict rests on.
    pub ends: Ends,
    /// What limits it: of several streams the one that carried most.
    pub limited_by: LimitedBy,
    /// In a sentence.
    pub verdict: String,
    /// What to change, and on which machine.
    pub advice: Vec<Advice>,
    /// Each stream of TCP; empty for UDP.
    pub connections: Vec<ConnectionFinding>,
    /// Why the figures must not be believed: an end was stopped, or waited for a CPU that others had. Empty where they may be; else nothing is said of
    /// what limits the test.
    #[serde(default)]
    pub invalid: Vec<InvalidEnd>,
    /// Figures of the server that can't be.
    #[serde(default)]
    pub contradictions: Vec<Contradiction>,
    /// Other tests through the same server; null where there were none, or the server does not report them.
    #[serde(default)]
    pub other_tests: Option<OtherTests>,
    /// A clock was set while the test ran; null where none was, or that is unknown.
    #[serde(default)]
    pub clock_set: Option<ClockSet>,
    /// The server's clock beside this host's; null where the server does not report it, and where a clock was
    /// set.
    pub clock: Option<ClockOffset>,
    /// How long packets took each way; null where the clocks could not be compared.
    pub one_way_delay: Option<TestDelays>,
    /// Every test in order, where it was made more than once; the document is that of the one in the middle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestResult>,
    /// What changed since an earlier test, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// What `verdict` is composed from; none where nothing was judged, and once it is composed.
    #[serde(skip)]
    #[schemars(skip)]
    pub reason: Option<VerdictReason>,
}

/// One test of several.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestResult {
    /// Payload that the server received, bits per second, all streams together; null where nothing went there.
    pub to_server_bps: Option<f64>,
    /// Payload that this host received, bits per second, all streams together; null where nothing came here.
    pub to_client_bps: Option<f64>,
    /// What limited it.
    pub limited_by: LimitedBy,
    /// In a sentence.
    pub verdict: String,
    /// Whether its figures may be believed.
    pub valid: bool,
}

/// One direction of a test with UDP, all streams together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Datagrams {
    /// What was asked for, bits per second of payload; `None` for as much as goes.
    pub asked_bps: Option<u64>,
    /// What was sent, bits per second of payload.
    pub sent_bps: u64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams that did not arrive.
    pub lost: u64,
}

impl TestFinding {
    /// Of a test with TCP: `own` are this host's sockets, `far` those that the server told of, with the server as this host.
    /// `window` is what the test
    /// itself set both buffers to, bytes.
    pub fn of_tcp(
        server: Server,
        own: &[Connection<'_>],
        far: &[Connection<'_>],
        window: Option<u64>,
    ) -> Self {
        let mut found = Connections { connections: ConnectionFinding::of_all(own), ..Connections::new() };
        if !far.is_empty() {
            let told = Connections { connections: ConnectionFinding::of_all(far), ..Connections::new() };
            found.ask_senders(&told);
        }
        if let Some(window) = window {
            found.connections.iter_mut().for_each(|connection| blame_window(connection, window));
        }
        let main = found
            .connections
            .iter()
            .max_by_key(|connection| connection.rate_bps)
            .cloned()
            .unwrap_or_default();
        Self {
            ends: if far.is_empty() { Ends::Own } else { Ends::Both },
            limited_by: main.verdict.limited_by.unwrap_or(LimitedBy::Unknown),
            reason: main.verdict.reason,
            advice: main.verdict.advice.unwrap_or_default(),
            connections: found.connections,
            ..Self::of(server)
        }
    }

    /// Of a test with UDP, by the direction that lost more.
    pub fn of_udp(server: Server, ways: &[Datagrams]) -> Self {
        let worst = ways.iter().max_by(|a, b| a.lost_share().total_cmp(&b.lost_share()));
        let evidence = worst.copied().unwrap_or_default().judge();
        let reason = Some(VerdictReason::Datagrams(evidence));
        Self { limited_by: evidence.limited_by, reason, ..Self::of(server) }
    }

    /// The same of a test that must not be believed: nothing is said of what limits it.
    pub fn invalidated(self, invalid: Vec<InvalidEnd>) -> Self {
        if invalid.is_empty() {
            return self;
        }
        let connections = self.connections.into_iter().map(ConnectionFinding::without_verdict).collect();
        Self {
            invalid,
            limited_by: LimitedBy::Unknown,
            advice: Vec::new(),
            reason: None,
            connections,
            ..self
        }
    }

    fn of(server: Server) -> Self {
        Self {
            schema: SCHEMA,
            server,
            ends: Ends::Own,
            limited_by: LimitedBy::Unknown,
            verdict: String::new(),
            advice: Vec::new(),
            connections: Vec::new(),
            invalid: Vec::new(),
            contradictions: Vec::new(),
            other_tests: None,
            clock_set: None,
            clock: None,
            one_way_delay: None,
            tests: Vec::new(),
            changes: None,
            reason: None,
        }
    }
}

/// Buffers that the test itself has set no sysctl changes.
pub(super) fn blame_window(connection: &mut ConnectionFinding, window: u64) {
    for advice in connection.verdict.advice.iter_mut().flatten() {
        let Some(proposal) = advice.proposal.take_if(|proposal| proposal.is_of_buffers()) else { continue };
        let change =
            Change { target: Target::Program, setting: Setting::TestBuffers(window), key: String::new() };
        *advice = std::mem::take(advice).with(Proposal { changes: vec![change], ..proposal });
    }
}

impl Datagrams {
    fn lost_share(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }

    pub(super) fn judge(self) -> DatagramEvidence {
        let lost_share = self.lost_share();
        let limited_by = match self.sent {
            0 => LimitedBy::Unknown,
            _ => datagrams_limited_by(pipefill_core::evidence::Datagrams {
                lost_share,
                offered_share: self.asked_bps.map(|asked| self.sent_bps as f64 / (asked as f64).max(1.0)),
                ..Default::default()
            }),
        };
        let sent_bps = (self.sent > 0).then_some(self.sent_bps);
        DatagramEvidence { limited_by, asked_bps: self.asked_bps, sent_bps, lost_share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::proposal::{EndStacks, HostNames, Reason};
    use crate::findings::verdict::Verdict;
    use pipefill_core::cell::Direction;

    fn udp(asked_bps: Option<u64>, sent_bps: u64, lost: u64) -> TestFinding {
        let way = Datagrams { asked_bps, sent_bps, sent: 10_000, lost };
        TestFinding::of_udp(Server::Iperf3, &[Datagrams { lost: 0, ..way }, way])
    }

    #[test]
    fn datagrams_that_are_lost_are_the_paths_and_a_sender_that_is_slow_is_not() {
        let lossy = udp(Some(100_000_000), 100_000_000, 1_000);
        assert_eq!(lossy.limited_by, LimitedBy::Path);
        let Some(VerdictReason::Datagrams(told)) = lossy.reason else { panic!("{lossy:?}") };
        assert_eq!((told.sent_bps, told.lost_share), (Some(100_000_000), 0.1));
        assert_eq!(udp(Some(1_000_000), 999_000, 1).limited_by, LimitedBy::App);
        assert_eq!(udp(Some(1_000_000_000), 500_000_000, 0).limited_by, LimitedBy::Unknown);
        assert_eq!(udp(None, 500_000_000, 0).limited_by, LimitedBy::Unknown);
    }

    #[test]
    fn a_test_without_streams_is_unknown() {
        let nothing = TestFinding::of_tcp(Server::Pipefill, &[], &[], None);
        assert_eq!((nothing.limited_by, nothing.ends), (LimitedBy::Unknown, Ends::Own));
    }

    #[test]
    fn an_invalid_test_names_no_limit() {
        let invalid = InvalidEnd {
            end: crate::findings::connections::TestEnd::Server,
            reason: "starved_cpu".to_owned(),
            detail: String::new(),
        };
        let connection = ConnectionFinding {
            verdict: Verdict {
                limited_by: Some(LimitedBy::Path),
                advice: Some(Vec::new()),
                ..Verdict::default()
            },
            rate_bps: Some(7),
            ..ConnectionFinding::default()
        };
        let found = TestFinding {
            limited_by: LimitedBy::Path,
            connections: vec![connection],
            ..TestFinding::of(Server::Pipefill)
        };
        assert_eq!(found.clone().invalidated(Vec::new()), found);
        let found = found.invalidated(vec![invalid.clone()]);
        assert_eq!((found.limited_by, &found.invalid), (LimitedBy::Unknown, &vec![invalid]));
        let connection = &found.connections[0];
        assert_eq!(
            (&connection.verdict, connection.rate_bps),
            (&Verdict::default(), Some(7)),
            "the figures stay"
        );
    }

    #[test]
    fn buffers_that_the_test_has_set_are_its_own_to_change() {
        let advice = |setting| {
            let changes = vec![Change { target: Target::Receiver, setting, key: String::new() }];
            let hosts = HostNames::Observed(Direction::Forward);
            let stacks = EndStacks::default();
            let proposal = Proposal { changes, reason: Reason::StreamsRecoverAlone, hosts, stacks };
            Advice { set: Vec::new(), ..Advice::of(proposal, None) }
        };
        let all = [Setting::TcpRmem([4096, 131_072, 6_291_456]), Setting::Parallel(4)].map(advice);
        let verdict = Verdict { advice: Some(all.to_vec()), ..Verdict::default() };
        let mut connection = ConnectionFinding { verdict, ..ConnectionFinding::default() };
        blame_window(&mut connection, 64 << 10);
        let told = connection.verdict.advice.unwrap();
        assert_eq!(told[0].target, Some(Target::Program));
        assert_eq!(told[0].proposal.as_ref().unwrap().changes[0].setting, Setting::TestBuffers(64 << 10));
        assert_eq!(told[1], all[1]);
    }
}
