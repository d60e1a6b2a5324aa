//! One flow at work: its applications, and what they did.

use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::rows::Rows;
use crate::traffic::application::Programs;
use crate::traffic::connect::StreamSockets;
use crate::traffic::counts::StreamCounts;
use crate::traffic::ping::{Echo, Pinger};
use crate::traffic::tcp::{TcpReceiver, TcpSender};
use crate::traffic::udp::{Header, UdpSender};
use pipefill_core::cell::{Application, FlowSpec, Protocol};
use pipefill_core::record::{CaStateSource, CaStateTimes, StreamEnd, StreamSummary, UdpTotals};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::traffic::application::End;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Rate, Time};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A flow with its sockets.
pub(super) struct ConnectedFlow<'a> {
    pub(super) spec: &'a FlowSpec,
    pub(super) index: u32,
    pub(super) first_stream: u32,
    pub(super) sockets: Vec<StreamSockets>,
    pub(super) counts: Vec<StreamCounts>,
}

/// When a flow sends.
#[derive(Clone, Copy)]
pub(super) struct SendingSpan {
    pub(super) start: Time,
    pub(super) until: Time,
}

/// Flags that end the threads of a run.
#[derive(Default)]
pub(super) struct Stops {
    pub(super) senders: AtomicBool,
    pub(super) receivers: AtomicBool,
    pub(super) telemetry: AtomicBool,
}

/// The kernel's figures of the senders at the end, by stream.
pub(super) struct Finals {
    pub(super) infos: Vec<Option<TcpInfo>>,
    pub(super) states: BTreeMap<u32, CaStateTimes>,
}

impl ConnectedFlow<'_> {
    fn state_source(&self, is_watched: bool) -> Option<CaStateSource> {
        let source = if is_watched { CaStateSource::Bpf } else { CaStateSource::Sampled };
        (self.spec.protocol == Protocol::Tcp).then_some(source)
    }

    pub(super) fn span(&self, zero: Time) -> SendingSpan {
        let start = zero.after(self.spec.start);
        SendingSpan { start, until: start.after(self.spec.duration) }
    }

    fn senders(&self) -> Vec<&Socket> {
        self.sockets.iter().map(|sockets| &sockets.sender).collect()
    }

    pub(super) fn send_tcp(
        &self,
        clock: RunClock,
        span: SendingSpan,
        stops: &Stops,
    ) -> io::Result<LatenessMeter> {
        if let Some(end) = End::sender(&self.spec.app, span.start) {
            let sockets = &self.senders();
            return self.programs(StreamEnd::Sender, sockets, clock, span, &stops.senders).run(&end);
        }
        TcpSender {
            sockets: &self.senders(),
            counts: &self.counts,
            clock,
            start: span.start,
            until: span.until,
            bitrate: self.spec.bitrate,
            length: self.spec.length,
            writer: self.spec.writer,
            goal: None,
            stop: &stops.senders,
        }
        .run()
    }

    fn programs<'a>(
        &'a self,
        side: StreamEnd,
        sockets: &'a [&'a Socket],
        clock: RunClock,
        span: SendingSpan,
        stop: &'a AtomicBool,
    ) -> Programs<'a> {
        Programs { sockets, counts: &self.counts, side, clock, start: span.start, until: span.until, stop }
    }

    pub(super) fn receive_tcp(
        &self,
        clock: RunClock,
        span: SendingSpan,
        stops: &Stops,
    ) -> io::Result<LatenessMeter> {
        let sockets: Vec<&Socket> = self.sockets.iter().map(|sockets| &sockets.receiver).collect();
        if let Some(end) = End::receiver(&self.spec.app, span.start) {
            return self.programs(StreamEnd::Receiver, &sockets, clock, span, &stops.receivers).run(&end);
        }
        let (counts, read_rate) = (&self.counts, self.spec.read_rate);
        TcpReceiver {
            sockets: &sockets,
            counts,
            clock,
            start: span.start,
            read_rate,
            discards: false,
            stop: &stops.receivers,
        }
        .run()?;
        Ok(LatenessMeter::new())
    }

    pub(super) fn send_udp(
        &self,
        clock: RunClock,
        span: SendingSpan,
        stops: &Stops,
    ) -> io::Result<LatenessMeter> {
        UdpSender {
            sockets: &self.senders(),
            counts: &self.counts,
            clock,
            start: span.start,
            until: span.until,
            schedule: self.schedule(span.start),
            length: self.spec.length,
            header: Header::Own,
            goal: None,
            stop: &stops.senders,
        }
        .run()
    }

    /// When the datagrams of each stream are due.
    fn schedule(&self, start: Time) -> Schedule {
        match &self.spec.app {
            Application::Bursts(spec) => Schedule::bursts(start, spec, self.spec.length),
            _ => {
                let rate = self.spec.bitrate.unwrap_or(Rate::from_bps(1_000_000));
                Schedule::new(start, rate, self.spec.length)
            }
        }
    }

    pub(super) fn ask(
        &self,
        clock: RunClock,
        span: SendingSpan,
        rows: &Rows,
        patience: Duration,
        stops: &Stops,
    ) -> io::Result<LatenessMeter> {
        let spec = self.spec.ping.clone().unwrap_or_default();
        Pinger {
            socket: &self.sockets[0].sender,
            counts: &self.counts[0],
            clock,
            start: span.start,
            until: span.until,
            spec: &spec,
            patience,
            stream: self.first_stream,
            rows,
            stop: &stops.senders,
        }
        .run()
    }

    pub(super) fn echo(&self, stops: &Stops) -> io::Result<LatenessMeter> {
        Echo { socket: &self.sockets[0].receiver, stop: &stops.receivers }.run()?;
        Ok(LatenessMeter::new())
    }

    pub(super) fn summaries(&self, zero: Time, finals: &Finals, totals: &[UdpTotals]) -> Vec<StreamSummary> {
        let span = self.span(zero);
        self.counts
            .iter()
            .enumerate()
            .zip(self.first_stream..)
            .map(|((i, counts), stream)| StreamSummary {
                stream,
                flow: self.index,
                start_us: Time::from_nanos(counts.started_ns.get()).micros(),
                stop_us: span.until.micros(),
                end_us: Time::from_nanos(counts.last_received_ns.get()).micros(),
                sent_bytes: counts.sent_bytes.get(),
                received_bytes: counts.received_bytes.get(),
                tcp: finals.infos.get(stream as usize).copied().flatten(),
                udp: totals.get(i).map(|totals| UdpTotals { sent: counts.sent.get(), ..*totals }),
                packets: None,
                bucket: None,
                repetition: None,
                datagrams: None,
                ca_state_us: finals.states.get(&stream).copied(),
                ca_state_source: self.state_source(finals.states.contains_key(&stream)),
            })
            .collect()
    }
}
