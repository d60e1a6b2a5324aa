//! What theory allows a cell's TCP flows, law by law: the lines beside measured points.
//!
//! Never: a law where its assumptions don't hold. The laws of loss speak of single segments, lost independently.

use crate::ground::buffers;
use crate::ground::models::headers::Headers;
use crate::ground::models::loss::{self, AckPolicy};
use crate::ground::models::window;
use pipefill_core::cell::{CellSpec, Direction, LossSpec, LossUnit, Protocol};
use pipefill_core::traffic::ping::fragments;
use pipefill_core::units::{Bytes, Ratio};
use std::time::Duration;

/// A law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// What headers leave of the path's rate.
    PathRate,
    /// The receive window over the round trip: the one that was advertised, where that is known.
    ReceiveWindow,
    /// What the send buffer lets be in flight, over the round trip.
    SendBuffer,
    /// Mathis et al., 1997.
    Mathis,
    /// Padhye et al., 1998.
    Pftk,
    /// RFC 9438 section 5.
    Cubic,
}

/// What a law allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Which.
    pub law: Law,
    /// Bits per second of payload, all streams of the direction together.
    pub bps: f64,
}

impl Law {
    /// Its name in a legend.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PathRate => "path rate",
            Self::ReceiveWindow => "receive window / RTT",
            Self::SendBuffer => "send buffer / RTT",
            Self::Mathis => "Mathis",
            Self::Pftk => "PFTK",
            Self::Cubic => "CUBIC",
        }
    }
}

/// The probability that a segment is lost on the way of `spec`'s data. `None` where segments are not lost one by one.
pub fn segment_loss(spec: &CellSpec) -> Option<Ratio> {
    let path = match direction(spec)? {
        Direction::Forward => &spec.path.forward,
        Direction::Reverse => &spec.path.reverse,
    };
    match (&path.loss, path.loss_unit) {
        _ if path.loss_trace.is_some() => None,
        (LossSpec::None, _) => Some(Ratio::ZERO),
        (LossSpec::Independent(p), LossUnit::Segment) => Some(*p),
        (LossSpec::Independent(p), LossUnit::SuperPacket) if p.fraction() == 0.0 => Some(*p),
        _ => None,
    }
}

/// Every law that has an answer for the TCP flows of `spec`, were the round trip `rtt` and the loss of segments `p`. `advertised` is the receive
/// window of all streams of the direction together, as measured; without it a window is half of its buffer. None where the cell has no TCP flow.
pub fn bounds(spec: &CellSpec, rtt: Duration, p: Option<Ratio>, advertised: Option<Bytes>) -> Vec<Bound> {
    let Some(direction) = direction(spec) else { return Vec::new() };
    let mss = Bytes::new(Headers::of(&spec.path).mss());
    let streams: u32 =
        buffers::tcp_flows(spec).filter(|flow| flow.direction == direction).map(|flow| flow.parallel).sum();
    let of_all = |bps: f64| bps * f64::from(streams);
    let windows = buffers::tcp_flows(spec)
        .filter(|flow| flow.direction == direction)
        .map(|flow| buffers::windows(Some(spec), flow));
    let least = windows.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]);
    let Some([by_buffer, send]) = least else { return Vec::new() };
    let receive = advertised.map_or(by_buffer, |all| Bytes::new(all.get() / u64::from(streams.max(1))));
    let p = p.filter(|p| (0.0..1.0).contains(&p.fraction()) && p.fraction() > 0.0);
    let most = receive.get().min(send.get()) as f64 / mss.get() as f64;
    let answers = [
        (Law::PathRate, path_rate(spec, direction)),
        (Law::ReceiveWindow, window::window_law(receive, rtt).map(of_all)),
        (Law::SendBuffer, window::window_law(send, rtt).map(of_all)),
        (Law::Mathis, p.and_then(|p| loss::mathis(mss, rtt, p, AckPolicy::EverySegment)).map(of_all)),
        (
            Law::Pftk,
            p.and_then(|p| loss::pftk(mss, rtt, loss::RTO_MIN.max(rtt * 2), p, most, AckPolicy::Delayed))
                .map(of_all),
        ),
        (Law::Cubic, p.and_then(|p| loss::cubic(mss, rtt, p)).map(of_all)),
    ];
    answers.into_iter().filter_map(|(law, bps)| Some(Bound { law, bps: bps? })).collect()
}

/// What the path of `direction` lets through of its flows' payload: of TCP where one of them is TCP, else of the first one's datagrams.
/// `None` where no flow goes there, nothing limits it, or a datagram is fragmented.
pub fn rate_of(spec: &CellSpec, direction: Direction) -> Option<f64> {
    let its = || spec.flows.iter().filter(|flow| flow.direction == direction);
    let mut tcp = its().filter(|flow| flow.protocol == Protocol::Tcp);
    if tcp.next().is_some() {
        return path_rate(spec, direction);
    }
    let udp = its().find(|flow| flow.protocol == Protocol::Udp)?;
    let is_whole = fragments(udp.length, &spec.path).count() == 1;
    let through =
        Headers::of(&spec.path).goodput_through(spec.path.way(direction), Protocol::Udp, udp.length);
    through.filter(|_| is_whole)
}

/// The direction of the TCP flows: forward where any goes there. `None` without one.
fn direction(spec: &CellSpec) -> Option<Direction> {
    let forward = buffers::tcp_flows(spec).any(|flow| flow.direction == Direction::Forward);
    buffers::tcp_flows(spec).next()?;
    Some(if forward { Direction::Forward } else { Direction::Reverse })
}

fn path_rate(spec: &CellSpec, direction: Direction) -> Option<f64> {
    let headers = Headers::of(&spec.path);
    headers.goodput_through(spec.path.way(direction), Protocol::Tcp, Bytes::new(headers.mss()))
}
