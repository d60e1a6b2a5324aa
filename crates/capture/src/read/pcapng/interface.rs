//! Interface description blocks: link type, time resolution and offset of an interface (draft-ietf-opsawg-pcapng, 4.2).

use super::options::{BlockOptions, Sink};
use crate::read::order::Order;
use crate::read::{LinkType, PACKET_LIMIT, Problem, ReadError};

/// The most interfaces of a section.
pub(super) const INTERFACES_MAX: u32 = 65_536;
/// `if_tsresol` and `if_tsoffset`.
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
/// Microseconds, where nothing else is said.
const DEFAULT_RESOLUTION: u8 = 6;
/// The flag of powers of two.
const BINARY: u8 = 0x80;

pub(super) struct Interface {
    link: LinkType,
    snap_length: u32,
    clock: Clock,
    offset_ns: i64,
}

/// Ticks of an interface in nanoseconds.
enum Clock {
    /// Nanoseconds in a tick.
    Whole(u64),
    /// Ticks in a second.
    Parts(u128),
}

impl Clock {
    /// `None` for a resolution that 128 bits don't hold.
    fn of(resolution: u8) -> Option<Self> {
        if resolution & BINARY != 0 {
            return Some(Self::Parts(1 << (resolution & !BINARY)));
        }
        match resolution {
            0..=9 => Some(Self::Whole(10u64.pow(9 - u32::from(resolution)))),
            10..=38 => Some(Self::Parts(10u128.pow(u32::from(resolution)))),
            _ => None,
        }
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        match *self {
            Self::Whole(ns) => ticks.saturating_mul(ns),
            Self::Parts(parts) => {
                let ns = u128::from(ticks) * 1_000_000_000 / parts;
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Interface {
    /// From a block without its last length; `options` are its own.
    pub(super) fn read(
        order: Order,
        bytes: &[u8],
        options: BlockOptions<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Self, ReadError> {
        let (mut resolution, mut place, mut seconds) = (DEFAULT_RESOLUTION, 0, 0);
        options.read(|option| {
            sink.comment(option);
            match (option.code, option.value) {
                (RESOLUTION, &[value, ..]) => (resolution, place) = (value, option.offset),
                (OFFSET, value) => {
                    if let Ok(bytes) = <[u8; 8]>::try_from(value) {
                        seconds = order.u64(bytes).cast_signed();
                    }
                }
                _ => {}
            }
        })?;
        let unknown = || ReadError::new(place, Problem::Resolution { value: resolution });
        Ok(Self {
            link: LinkType(order.u16_at(bytes, 8)),
            snap_length: order.u32_at(bytes, 12),
            clock: Clock::of(resolution).ok_or_else(unknown)?,
            offset_ns: seconds.saturating_mul(1_000_000_000),
        })
    }

    pub(super) const fn link(&self) -> LinkType {
        self.link
    }

    /// Bytes of a packet that are kept; 0 means all.
    pub(super) const fn snap_length(&self) -> u32 {
        if self.snap_length == 0 { PACKET_LIMIT } else { self.snap_length }
    }

    #[inline]
    pub(super) fn time_ns(&self, high: u32, low: u32) -> u64 {
        self.clock.ns(u64::from(high) << 32 | u64::from(low)).saturating_add_signed(self.offset_ns)
    }
}
