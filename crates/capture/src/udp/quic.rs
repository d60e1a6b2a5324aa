//! QUIC by its long headers, which no version changes (RFC 8999 5.1), and by the public header of Google's first versions.
//!
//! Everything behind is encrypted; the spin bit of short headers (RFC 9000 17.4) shows round trips where the ends take part.

use crate::headers::Datagram;

const LONG_HEADER: u8 = 0x80;
/// RFC 9000 17.2: 1 in all packets but Version Negotiation.
const FIXED_BIT: u8 = 0x40;
const SPIN_BIT: u8 = 0x20;
/// RFC 9000 17.2: longer ones are of no version that is known.
const CONNECTION_ID_MAX: u8 = 20;
/// RFC 9369.
const VERSION_2: u32 = 0x6b33_43cf;
/// RFC 9000 14.1: a client's first datagram has at least this many bytes.
pub(super) const INITIAL_MIN: u32 = 1200;
/// Spin bit: round trips that are kept; beyond it each second one.
const SPINS_MAX: usize = 128;
/// Fewer changes of the spin bit show no rhythm.
const SPINS_MIN: u64 = 4;

/// Whether a payload that begins with `first` may have a short header (RFC 9000 17.3.1).
pub(super) const fn is_short(first: u8) -> bool {
    first & (LONG_HEADER | FIXED_BIT) == FIXED_BIT
}

/// The version in long headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicVersion(pub u32);

/// A QUIC flow in one direction.
#[derive(Debug, Clone)]
pub struct Quic {
    version: Option<QuicVersion>,
    /// Of an Initial with the size of a client's.
    first_initial_ns: Option<u64>,
    first_long_ns: Option<u64>,
    first_short_ns: Option<u64>,
    /// Long headers, and short ones.
    headers: [u64; 2],
    spin: Option<(bool, Option<u64>)>,
    spins: u64,
    spin_ns: Vec<u64>,
    /// Of how many round trips one is kept.
    kept_of: u64,
}

/// The version of QUIC in the long header that `payload` begins with; `None` where it has none.
pub fn quic_version(payload: &[u8]) -> Option<QuicVersion> {
    let header = LongHeader::read(payload).or_else(|| LongHeader::read_google(payload))?;
    Some(QuicVersion(header.version))
}

struct LongHeader {
    version: u32,
    is_initial: bool,
}

impl QuicVersion {
    /// Its name: `1`, `2`, `draft-29`, `Q043`, else its number.
    pub fn name(self) -> String {
        let bytes = self.0.to_be_bytes();
        match self.0 {
            1 => "1".to_owned(),
            VERSION_2 => "2".to_owned(),
            draft @ 0xff00_0001..=0xff00_00ff => format!("draft-{}", draft & 0xff),
            _ if is_google(bytes) => bytes.map(char::from).into_iter().collect(),
            mvfst @ 0xface_b000..=0xface_b0ff => format!("mvfst-{:02x}", mvfst & 0xff),
            other => format!("0x{other:08x}"),
        }
    }

    /// One of Google's, whose headers are others.
    fn is_google(self) -> bool {
        is_google(self.0.to_be_bytes())
    }

    /// Versions that are in use, or were: of others a long header could be anything.
    fn is_known(self) -> bool {
        matches!(self.0, 1 | VERSION_2 | 0xff00_0001..=0xff00_00ff | 0xface_b000..=0xface_b0ff)
            || self.is_google()
    }
}

/// `Q`, `T` (with TLS) and three digits.
fn is_google(bytes: [u8; 4]) -> bool {
    matches!(bytes[0], b'Q' | b'T') && bytes[1..].iter().all(u8::is_ascii_digit)
}

impl LongHeader {
    /// RFC 8999 5.1, with the bounds of RFC 9000 17.2.
    fn read(payload: &[u8]) -> Option<Self> {
        let (&[first, a, b, c, d, id_length], rest) = payload.split_first_chunk::<6>()?;
        if first & (LONG_HEADER | FIXED_BIT) != LONG_HEADER | FIXED_BIT {
            return None;
        }
        let version = u32::from_be_bytes([a, b, c, d]);
        // Q046 has both lengths in one byte, in units that never are as large.
        let is_packed = is_google([a, b, c, d]) && version <= u32::from_be_bytes(*b"Q049");
        if !QuicVersion(version).is_known() {
            return None;
        }
        let kind = first >> 4 & 3;
        let is_initial = kind == if version == VERSION_2 { 1 } else { 0 };
        if is_packed {
            return Some(Self { version, is_initial: true });
        }
        let own = rest.get(usize::from(id_length));
        (id_length <= CONNECTION_ID_MAX && own.is_none_or(|&length| length <= CONNECTION_ID_MAX))
            .then_some(Self { version, is_initial })
    }

    /// Q043 and before: flags with the version's, an identifier of eight bytes, the version.
    fn read_google(payload: &[u8]) -> Option<Self> {
        let (header, _) = payload.split_first_chunk::<13>()?;
        let version = [header[9], header[10], header[11], header[12]];
        let is_first = header[0] & 0x89 == 0x09 && version[0] == b'Q' && is_google(version);
        is_first.then_some(Self { version: u32::from_be_bytes(version), is_initial: true })
    }
}

impl Quic {
    /// Of a datagram with a long header; `None` where it has none.
    pub(super) fn begin(datagram: &Datagram<'_>) -> Option<Self> {
        let header =
            LongHeader::read(datagram.payload).or_else(|| LongHeader::read_google(datagram.payload))?;
        let mut quic = Self::of_unseen(Some(QuicVersion(header.version)));
        quic.take_long(&header, datagram);
        Some(quic)
    }

    /// Of a direction whose long headers are not in the capture.
    pub(super) const fn of_unseen(version: Option<QuicVersion>) -> Self {
        Self {
            version,
            first_initial_ns: None,
            first_long_ns: None,
            first_short_ns: None,
            headers: [0; 2],
            spin: None,
            spins: 0,
            spin_ns: Vec::new(),
            kept_of: 1,
        }
    }

    pub(super) fn push(&mut self, datagram: &Datagram<'_>) {
        let Some(&first) = datagram.payload.first() else { return };
        if first & LONG_HEADER != 0 || self.version.is_some_and(QuicVersion::is_google) {
            if let Some(header) = LongHeader::read(datagram.payload) {
                self.take_long(&header, datagram);
            }
        } else if is_short(first) {
            self.take_short(first, datagram.time_ns);
        }
    }

    fn take_long(&mut self, header: &LongHeader, datagram: &Datagram<'_>) {
        // After Version Negotiation and in compatible ones (RFC 9368) the last version counts.
        self.version = Some(QuicVersion(header.version));
        self.headers[0] += 1;
        self.first_long_ns.get_or_insert(datagram.time_ns);
        if header.is_initial && datagram.length >= INITIAL_MIN {
            self.first_initial_ns.get_or_insert(datagram.time_ns);
        }
    }

    fn take_short(&mut self, first: u8, time_ns: u64) {
        self.headers[1] += 1;
        self.first_short_ns.get_or_insert(time_ns);
        let is_set = first & SPIN_BIT != 0;
        match self.spin {
            Some((was_set, _)) if was_set == is_set => {}
            Some((_, changed_ns)) => {
                if let Some(ns) = changed_ns.and_then(|changed_ns| time_ns.checked_sub(changed_ns)) {
                    self.take_spin(ns);
                }
                self.spin = Some((is_set, Some(time_ns)));
            }
            None => self.spin = Some((is_set, None)),
        }
    }

    fn take_spin(&mut self, ns: u64) {
        if self.spins.is_multiple_of(self.kept_of) {
            self.spin_ns.push(ns);
        }
        self.spins += 1;
        if self.spin_ns.len() > SPINS_MAX {
            let mut at = 0;
            self.spin_ns.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.kept_of *= 2;
        }
    }

    /// Its version; `None` where no long header was captured.
    pub const fn version(&self) -> Option<QuicVersion> {
        self.version
    }

    /// When its first Initial passed, nanoseconds since 1970.
    pub const fn first_initial_ns(&self) -> Option<u64> {
        self.first_initial_ns
    }

    /// When its first long header passed.
    pub const fn first_long_ns(&self) -> Option<u64> {
        self.first_long_ns
    }

    /// When its first short header passed: its sender has the keys of the connection.
    pub const fn first_short_ns(&self) -> Option<u64> {
        self.first_short_ns
    }

    /// The median round trip by the spin bit, nanoseconds, where it spins. An end that does not take part sets it at random (RFC 9000 17.4): it then
    /// changes with every second packet, or more often than `least_ns`, a round trip that is known, allows.
    pub fn spin_rtt_ns(&self, least_ns: Option<u64>) -> Option<u64> {
        if self.spins < SPINS_MIN {
            return None;
        }
        let mut sorted = self.spin_ns.clone();
        sorted.sort_unstable();
        let median = *sorted.get(sorted.len() / 2)?;
        let is_plausible = match least_ns {
            Some(least_ns) => median >= least_ns / 2,
            None => self.spins * 4 <= self.headers[1],
        };
        is_plausible.then_some(median)
    }
}
