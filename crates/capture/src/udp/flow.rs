//! One direction of a UDP conversation.

use super::quic::{self, Quic, QuicVersion};
use super::rtp::{Rtp, RtpStream};
use crate::headers::{Datagram, Endpoint};

/// `https` over UDP (RFC 9114 3.1.2).
const HTTP3_PORT: u16 = 443;
/// Datagrams of a session before its media: STUN and DTLS (RFC 7983).
const RTP_BEGINS_WITHIN: u64 = 64;
/// A pause this long is a gap, nanoseconds.
pub const GAP_NS: u64 = 1_000_000_000;

/// Datagrams from one end to another.
#[derive(Debug, Clone)]
pub struct UdpFlow {
    pub(super) id: u64,
    /// Who sent them.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// How many.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// When the first passed, nanoseconds since 1970.
    pub first_ns: u64,
    /// When the last passed.
    pub last_ns: u64,
    /// Pauses of at least [`GAP_NS`].
    pub gaps: u64,
    /// The longest pause, nanoseconds.
    pub longest_gap_ns: u64,
    last_spacing_ns: Option<u64>,
    /// The sum of the differences between one spacing and the next, and how many.
    spacing_changes: (u64, u64),
    /// The largest one, bytes of payload.
    largest: u32,
    /// What was captured of every payload may be a short header of QUIC; so may be nothing.
    may_be_quic: bool,
    rtp: Option<Box<Rtp>>,
    quic: Option<Box<Quic>>,
}

impl UdpFlow {
    pub(super) fn begin(id: u64, datagram: &Datagram<'_>) -> Self {
        let mut flow = Self {
            id,
            source: datagram.source,
            destination: datagram.destination,
            datagrams: 0,
            bytes: 0,
            first_ns: datagram.time_ns,
            last_ns: datagram.time_ns,
            gaps: 0,
            longest_gap_ns: 0,
            last_spacing_ns: None,
            spacing_changes: (0, 0),
            largest: 0,
            may_be_quic: true,
            rtp: None,
            quic: None,
        };
        flow.push(datagram);
        flow
    }

    pub(super) fn ends(&self) -> (Endpoint, Endpoint) {
        (self.source, self.destination)
    }

    pub(super) fn push(&mut self, datagram: &Datagram<'_>) {
        if self.datagrams > 0 {
            self.take_spacing(datagram.time_ns.saturating_sub(self.last_ns));
        }
        self.datagrams += 1;
        self.bytes = self.bytes.saturating_add(u64::from(datagram.length));
        self.last_ns = self.last_ns.max(datagram.time_ns);
        self.largest = self.largest.max(datagram.length);
        self.may_be_quic &= datagram.payload.first().is_none_or(|&first| quic::is_short(first));
        match &mut self.quic {
            Some(quic) => quic.push(datagram),
            None => self.quic = Quic::begin(datagram).map(Box::new),
        }
        if self.quic.is_some() {
            return;
        }
        match &mut self.rtp {
            Some(rtp) => rtp.push(datagram),
            None if self.datagrams <= RTP_BEGINS_WITHIN => self.rtp = Rtp::begin(datagram).map(Box::new),
            None => {}
        }
    }

    fn take_spacing(&mut self, spacing_ns: u64) {
        self.gaps += u64::from(spacing_ns >= GAP_NS);
        self.longest_gap_ns = self.longest_gap_ns.max(spacing_ns);
        if let Some(last) = self.last_spacing_ns.replace(spacing_ns) {
            let (sum, count) = self.spacing_changes;
            self.spacing_changes = (sum.saturating_add(last.abs_diff(spacing_ns)), count + 1);
        }
    }

    /// What shows it is not in its own headers.
    pub(super) fn is_quic_as_well(&mut self, version: Option<QuicVersion>) {
        self.quic.get_or_insert_with(|| Box::new(Quic::of_unseen(version)));
    }

    /// From the first datagram to the last, nanoseconds.
    pub const fn span_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }

    /// By how much one spacing between datagrams differs from the next, on average: with an even sender the variation of the path's delay. `None`
    /// for fewer than three datagrams.
    pub fn spacing_change_ns(&self) -> Option<u64> {
        let (sum, count) = self.spacing_changes;
        sum.checked_div(count)
    }

    /// Whether it goes to or comes from the port of HTTP/3, as far as was captured looks like QUIC, and has datagrams as large as QUIC's first ones.
    /// For captures without payload, or from the middle of a connection.
    pub(super) fn is_quic_by_port(&self) -> bool {
        let has_port = [self.source, self.destination].iter().any(|end| end.port == HTTP3_PORT);
        has_port && self.may_be_quic && self.largest >= quic::INITIAL_MIN
    }

    /// Its streams of RTP; none where it is something else.
    pub fn rtp(&self) -> Vec<&RtpStream> {
        match &self.rtp {
            Some(rtp) if self.quic.is_none() => rtp.valid(self.datagrams),
            _ => Vec::new(),
        }
    }

    /// What its long headers say; `None` where it is not QUIC.
    pub fn quic(&self) -> Option<&Quic> {
        self.quic.as_deref()
    }
}
