//! Connections that no scenario describes: of sockets, of captures, of tests between hosts.

mod captured;
mod captured_udp;
mod connection;
mod context;
mod datagram_flow;
mod datagram_report;
mod delays;
mod ending;
mod finding;
mod handshake;
mod host_test;
mod joined;
mod pasted;
mod path_datagrams;
mod process_cpu;
mod second_capture;
mod test_warnings;
mod udp_socket;
mod unplanned;

pub use captured::{AnswerTimes, Captured, CapturedFlow, Unaccepted};
pub use captured_udp::{MptcpGroup, NatGroup, QuicFigures, RtpSource, UdpFlow, UdpKind};
pub use connection::{Carried, Connection, ConnectionPackets, Exact, Judged, judge_together};
pub use context::{Bearing, ContextFact, ContextRemark};
pub use datagram_flow::{DatagramCount, DatagramFlow};
pub use datagram_report::DatagramReport;
pub use delays::{ClockOffset, DelayOf, TestDelay, TestDelays};
pub use ending::{EndedBy, EndingKind, FlowEnding, MissingPart};
pub use finding::{ConnectionFinding, Connections};
pub use handshake::{FlowCounts, FlowOptions};
pub use host_test::{Datagrams, Ends, Server, TestFinding, TestResult};
pub use joined::{
    BackwardTimes, ClockDifference, DelayBasis, JoinedCaptures, JoinedDirection, JoinedFlow, LostPacket,
    OffsetMove, OneWayDelay, PlacedBy, UnmatchedPackets,
};
pub use pasted::{PastedConnection, PastedOutput};
pub use path_datagrams::PathDatagrams;
pub use process_cpu::{ConnectionCpu, ProcessCpuRows};
pub use test_warnings::{
    ClockSet, Contradiction, ContradictionKind, CountUnit, InvalidEnd, OtherTests, TestEnd,
};
pub use unplanned::{BACKEND, cell};

#[cfg(test)]
mod tests;
