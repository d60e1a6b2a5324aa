//! RTP (RFC 3550), which has no mark of its own: version 2, and a few sources whose sequence numbers go on over several packets.

use crate::headers::Datagram;

const HEADER: usize = 12;
/// Payload types that are RTCP's packet types instead (RFC 5761 4).
const RTCP: core::ops::RangeInclusive<u8> = 192..=223;
/// Sources of one flow that are followed: audio, video, and what repairs them.
const SOURCES_MAX: usize = 4;
/// RFC 3550 A.1: a jump by less is a loss (`MAX_DROPOUT`), back by less a packet that was overtaken (`MAX_MISORDER`).
const DROPOUT_MAX: u16 = 3000;
const MISORDER_MAX: u16 = 100;
/// Packets in sequence until a source is one: RFC 3550 A.1 has two (`MIN_SEQUENTIAL`), where the session is known to be RTP.
const SEQUENTIAL_MIN: u32 = 4;
/// Rates of media clocks (RFC 3551, and what dynamic types have), Hz.
const CLOCKS: [u32; 8] = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 90_000];
/// A media clock runs this much beside its rate at most.
const CLOCK_TOLERANCE: f64 = 0.05;

/// The sources of a flow that may be RTP.
#[derive(Debug, Clone)]
pub(super) struct Rtp {
    sources: Vec<RtpStream>,
}

/// One source of a flow.
#[derive(Debug, Clone)]
pub struct RtpStream {
    /// Its identifier (SSRC).
    pub source: u32,
    /// The type of its payload.
    pub payload_type: u8,
    /// Packets that were captured.
    pub packets: u64,
    /// Of these, behind one with a larger number.
    pub reordered: u64,
    /// Jumps too large for losses: it began anew.
    pub restarts: u64,
    sequential: u32,
    highest: u16,
    /// Expected before the last restart.
    expected: u64,
    /// Numbers since then, the first included.
    run: u64,
    first: (u64, u32),
    last: (u64, u32),
    /// Timestamps from the first to the last packet, wrap-arounds included.
    ticks: i64,
    /// RFC 3550 6.4.1, for each clock, seconds.
    jitter: [f64; CLOCKS.len()],
}

struct Header {
    payload_type: u8,
    sequence: u16,
    timestamp: u32,
    source: u32,
}

impl Header {
    /// RFC 3550 5.1 and A.1: version, type, and lengths that fit.
    fn read(datagram: &Datagram<'_>) -> Option<Self> {
        let (header, _) = datagram.payload.split_first_chunk::<HEADER>()?;
        let length = HEADER + usize::from(header[0] & 0xf) * 4;
        let is_rtp = header[0] >> 6 == 2 && !RTCP.contains(&header[1]) && datagram.length as usize >= length;
        let number =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        is_rtp.then(|| Self {
            payload_type: header[1] & 0x7f,
            sequence: u16::from_be_bytes([header[2], header[3]]),
            timestamp: number(4),
            source: number(8),
        })
    }
}

impl Rtp {
    /// Of a datagram that may be RTP.
    pub(super) fn begin(datagram: &Datagram<'_>) -> Option<Self> {
        let header = Header::read(datagram)?;
        Some(Self { sources: vec![RtpStream::begin(&header, datagram.time_ns)] })
    }

    pub(super) fn push(&mut self, datagram: &Datagram<'_>) {
        let Some(header) = Header::read(datagram) else { return };
        match self.sources.iter().position(|stream| stream.source == header.source) {
            Some(at) => self.sources[at].push(&header, datagram.time_ns),
            None if self.sources.len() < SOURCES_MAX => {
                self.sources.push(RtpStream::begin(&header, datagram.time_ns));
            }
            None => {}
        }
    }

    /// The sources whose numbers go on, if most of the flow's datagrams are theirs: the rest is RTCP, STUN or DTLS on the same port (RFC 5761, RFC 7983).
    pub(super) fn valid(&self, datagrams: u64) -> Vec<&RtpStream> {
        let valid: Vec<&RtpStream> = self.sources.iter().filter(|stream| stream.is_valid()).collect();
        let packets: u64 = valid.iter().map(|stream| stream.packets).sum();
        if packets * 2 > datagrams { valid } else { Vec::new() }
    }
}

impl RtpStream {
    fn begin(header: &Header, time_ns: u64) -> Self {
        let now = (time_ns, header.timestamp);
        Self {
            source: header.source,
            payload_type: header.payload_type,
            packets: 1,
            reordered: 0,
            restarts: 0,
            sequential: 1,
            highest: header.sequence,
            expected: 0,
            run: 1,
            first: now,
            last: now,
            ticks: 0,
            jitter: [0.0; CLOCKS.len()],
        }
    }

    /// `update_seq()` of RFC 3550 A.1.
    fn push(&mut self, header: &Header, time_ns: u64) {
        self.packets += 1;
        let ahead = header.sequence.wrapping_sub(self.highest);
        match ahead {
            1..DROPOUT_MAX => {
                self.sequential =
                    if ahead == 1 { self.sequential.saturating_add(1) } else { self.sequential };
                self.run += u64::from(ahead);
                self.highest = header.sequence;
            }
            0 => self.reordered += 1,
            _ if ahead.wrapping_neg() <= MISORDER_MAX => self.reordered += 1,
            _ => {
                self.restarts += 1;
                self.expected += self.run;
                (self.run, self.highest) = (1, header.sequence);
            }
        }
        self.take_time(header.timestamp, time_ns);
    }

    /// RFC 3550 6.4.1: J += (|D| − J) / 16, where D is by how much longer the packets were apart at the capture than at their source.
    fn take_time(&mut self, timestamp: u32, time_ns: u64) {
        let ticks = timestamp.wrapping_sub(self.last.1).cast_signed();
        let apart = time_ns.wrapping_sub(self.last.0).cast_signed() as f64 / 1e9;
        for (jitter, clock) in self.jitter.iter_mut().zip(CLOCKS) {
            let late = (apart - f64::from(ticks) / f64::from(clock)).abs();
            *jitter += (late - *jitter) / 16.0;
        }
        self.ticks = self.ticks.saturating_add(i64::from(ticks));
        self.last = (time_ns, timestamp);
    }

    fn is_valid(&self) -> bool {
        self.sequential >= SEQUENTIAL_MIN && self.restarts * 4 < self.packets
    }

    /// Packets that its numbers announce.
    pub const fn expected(&self) -> u64 {
        self.expected + self.run
    }

    /// Of these, missing (RFC 3550 A.3): where some came twice, fewer than were lost.
    pub const fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.packets)
    }

    /// The rate of its media clock, Hz: by its payload type (RFC 3551 6), else the usual one that its timestamps follow; `None` where they follow none.
    pub fn clock_hz(&self) -> Option<u32> {
        match self.payload_type {
            0 | 3 | 4 | 5 | 7 | 8 | 9 | 12 | 13 | 15 | 18 => Some(8_000),
            6 => Some(16_000),
            10 | 11 => Some(44_100),
            16 => Some(11_025),
            17 => Some(22_050),
            14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
            _ => {
                let seconds = self.last.0.saturating_sub(self.first.0) as f64 / 1e9;
                let rate = self.ticks as f64 / seconds;
                let is_near = |clock: &u32| (rate / f64::from(*clock) - 1.0).abs() < CLOCK_TOLERANCE;
                CLOCKS.into_iter().find(is_near)
            }
        }
    }

    /// Interarrival jitter (RFC 3550 6.4.1), nanoseconds; `None` where its clock is not known.
    pub fn jitter_ns(&self) -> Option<u64> {
        let clock = self.clock_hz()?;
        let at = CLOCKS.iter().position(|&rate| rate == clock)?;
        Some((self.jitter[at] * 1e9).round() as u64)
    }
}
