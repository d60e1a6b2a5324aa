//! A test that has come to its end: what both ends counted, and samples of their sockets, before anybody judges it.

use super::Tested;
use super::delays::Times;
use super::outcome::MeasuredTest;
use crate::end::End;
use pipefill_analysis::findings::connections::InvalidEnd;
use pipefill_core::problem::Problem;
use pipefill_core::record::TcpSample;
use pipefill_core::units::Time;
use pipefill_remote::iperf3::{Parameters, Results, StreamResult};
use std::net::SocketAddr;
use std::time::Instant;

/// The end of a test.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) told: MeasuredTest,
    pub(super) end: End,
    pub(super) theirs: Results,
    pub(super) times: Times,
}

/// What both ends counted of a test.
#[derive(Debug)]
pub struct EndedTest {
    /// Its streams.
    pub streams: Vec<EndedStream>,
    /// Why that must not be believed: an end was stopped, or late. Empty where it may be.
    pub invalid: Vec<InvalidEnd>,
}

/// One of its streams.
#[derive(Debug)]
pub struct EndedStream {
    /// Whether this end sent.
    pub sends: bool,
    /// The instant from which the times of this end's samples count.
    pub zero: Instant,
    /// When data began to flow, after that instant.
    pub began: Time,
    /// What this end counted.
    pub own: StreamResult,
    /// What the other end counted.
    pub far: StreamResult,
    /// Datagrams that came after a later one, where this end received.
    pub reordered: u64,
    /// Samples of this end's socket; none for UDP.
    pub own_samples: Vec<TcpSample>,
    /// Samples of the other end's, whose times count from an instant of its own; none where it has no telemetry.
    pub far_samples: Vec<TcpSample>,
    /// Congestion control: this end's, the other one's.
    pub congestion_control: [Option<String>; 2],
    /// `SO_SNDBUF` and `SO_RCVBUF` of this end's socket, bytes.
    pub buffers: [u64; 2],
    /// Own address and the peer's; `None` once it is closed.
    pub addresses: Option<[SocketAddr; 2]>,
}

impl Ended {
    /// With its figures and its verdict.
    ///
    /// # Errors
    /// The server's results lack a stream.
    pub(super) fn told(self, parameters: &Parameters) -> Result<Tested, Problem> {
        let Self { told, mut end, theirs, times } = self;
        told.end(parameters, &mut end, theirs, &times)
    }

    /// Its streams as they are.
    ///
    /// # Errors
    /// The server's results lack one.
    pub(super) fn streams(mut self, parameters: &Parameters) -> Result<EndedTest, Problem> {
        let ours = self.end.results();
        let cpu_percent = [ours.cpu_percent[0], self.theirs.cpu_percent[0]];
        let invalid =
            self.told.invalid_ends(parameters, &self.end, self.theirs.telemetry.as_ref(), cpu_percent);
        let zero = Instant::now().checked_sub(self.end.transfer.now().since(Time::ZERO));
        let zero = zero.unwrap_or_else(Instant::now);
        let began = self.end.base().at;
        let mut own_samples = std::mem::take(&mut self.end.samples).into_iter();
        let mut telemetry = self.theirs.telemetry.take().unwrap_or_default().streams;
        let counted = self.end.transfer.counted();
        let streams = ours.streams.iter().enumerate().map(|(index, own)| -> Result<EndedStream, Problem> {
            let far = self.theirs.stream(own.id).copied();
            let far = far
                .ok_or_else(|| Problem::broken(format!("the server's results have no stream {}", own.id)))?;
            let told = telemetry.iter_mut().find(|stream| stream.id == own.id).map(std::mem::take);
            let (far_name, far_samples) =
                told.map_or((None, Vec::new()), |told| (Some(told.congestion_control), told.samples));
            Ok(EndedStream {
                sends: self.end.transfer.sends(index),
                zero,
                began,
                own: *own,
                far,
                reordered: counted.get(index).map_or(0, |counts| counts.reordered),
                own_samples: own_samples.next().unwrap_or_default(),
                far_samples,
                congestion_control: [
                    self.end.transfer.congestion_control(index),
                    far_name
                        .filter(|name| !name.is_empty())
                        .or_else(|| self.theirs.congestion_control.clone()),
                ],
                buffers: self.end.transfer.buffers(index),
                addresses: self.end.transfer.addresses(index),
            })
        });
        let streams = streams.collect::<Result<_, Problem>>()?;
        // What breaks now breaks because the test is over.
        let _closed = self.end.transfer.finish();
        Ok(EndedTest { streams, invalid })
    }
}
