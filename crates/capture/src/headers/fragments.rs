//! IP packets that come in fragments (RFC 791 3.2, RFC 8200 4.5), put together as far as headers need it.
//!
//! Memory: at most [`PACKETS_MAX`] packets at once, of each its first [`HELD`] bytes and [`RANGES_MAX`] ranges; the oldest goes.

use super::Other;
use super::ip::{self, Address, Carried, Fragment};

const PACKETS_MAX: usize = 64;
/// The headers of a tunnel and of TCP within it are shorter.
const HELD: usize = 512;
/// Fragments come in order, but for a few.
const RANGES_MAX: usize = 16;
/// The most that an IP packet carries.
const LENGTH_MAX: u32 = 0xffff;
/// All fragments but the last have a multiple of this.
const UNIT: u32 = 8;
/// What has not come by then does not come any more (`IP_FRAG_TIME` in Linux).
const TIMEOUT_NS: u64 = 30_000_000_000;
/// Congestion experienced (RFC 3168 5).
const CE: u8 = 3;

/// The packets of which a part has come.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    packets: Vec<Held>,
    /// The last that was complete.
    whole: Option<Held>,
}

/// The key by which fragments belong to one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    source: Address,
    destination: Address,
    id: u32,
    protocol: u8,
}

#[derive(Debug)]
struct Held {
    key: Key,
    begun_ns: u64,
    bytes: [u8; HELD],
    /// Which of these bytes were captured.
    captured: Ranges,
    /// What has come.
    arrived: Ranges,
    /// Where the last fragment ended.
    end: Option<u32>,
    is_marked: bool,
}

impl Fragments {
    /// The packet of `protocol` that `carried` completes, a fragment that stands at `place`.
    ///
    /// # Errors
    /// [`Other::Fragment`] where more has to come; [`Other::LaterFragment`] of a UDP datagram whose first fragment is not held.
    #[cold]
    pub(super) fn join(
        &mut self,
        protocol: u8,
        carried: &Carried<'_>,
        place: Fragment,
        now_ns: u64,
    ) -> Result<Carried<'_>, Other> {
        self.packets.retain(|held| now_ns.saturating_sub(held.begun_ns) < TIMEOUT_NS);
        let Carried { source, destination, .. } = *carried;
        let key = Key { source, destination, id: place.id, protocol };
        let at = match self.packets.iter().position(|held| held.key == key) {
            Some(at) => at,
            None if protocol == ip::UDP && place.from > 0 => return Err(Other::LaterFragment),
            None => self.begin(key, now_ns),
        };
        if !self.packets[at].add(carried, place) {
            self.packets.swap_remove(at);
            return Err(Other::Fragment);
        }
        if !self.packets[at].is_complete() {
            return Err(Other::Fragment);
        }
        let held = self.whole.insert(self.packets.swap_remove(at));
        Ok(Carried {
            ecn: if held.is_marked { CE } else { carried.ecn },
            fragment: None,
            length: held.arrived.prefix(),
            bytes: &held.bytes[..held.captured.prefix() as usize],
            ..*carried
        })
    }

    /// Where the packet is that begins.
    fn begin(&mut self, key: Key, now_ns: u64) -> usize {
        if self.packets.len() == PACKETS_MAX {
            let ages = self.packets.iter().map(|held| held.begun_ns).enumerate();
            if let Some((oldest, _)) = ages.min_by_key(|&(_, begun_ns)| begun_ns) {
                self.packets.swap_remove(oldest);
            }
        }
        self.packets.push(Held {
            key,
            begun_ns: now_ns,
            bytes: [0; HELD],
            captured: Ranges::default(),
            arrived: Ranges::default(),
            end: None,
            is_marked: false,
        });
        self.packets.len() - 1
    }

    /// Bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let ranges = 2 * (RANGES_MAX + 1) * size_of::<(u32, u32)>();
        let held = self.packets.len() + usize::from(self.whole.is_some());
        self.packets.capacity() * size_of::<Held>() + held * ranges
    }
}

impl Held {
    /// `false` where the packet can't be, or has more ranges than are followed.
    fn add(&mut self, carried: &Carried<'_>, place: Fragment) -> bool {
        let to = place.from.saturating_add(carried.length);
        if to > LENGTH_MAX || place.has_more && !carried.length.is_multiple_of(UNIT) {
            return false;
        }
        if !place.has_more && self.end.replace(to).is_some_and(|end| end != to) {
            return false;
        }
        self.is_marked |= carried.ecn == CE;
        let from = HELD.min(place.from as usize);
        let count = carried.bytes.len().min(HELD - from);
        self.bytes[from..from + count].copy_from_slice(&carried.bytes[..count]);
        self.captured.add(from as u32, (from + count) as u32) && self.arrived.add(place.from, to)
    }

    fn is_complete(&self) -> bool {
        self.end == Some(self.arrived.prefix())
    }
}

/// Ranges in order, apart from one another.
#[derive(Debug, Default)]
struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// `false` where they are too many.
    fn add(&mut self, from: u32, to: u32) -> bool {
        let first = self.0.partition_point(|range| range.1 < from);
        let last = self.0.partition_point(|range| range.0 <= to);
        let joined = self.0[first..last]
            .iter()
            .fold((from, to), |(from, to), range| (from.min(range.0), to.max(range.1)));
        self.0.splice(first..last, [joined]);
        self.0.len() <= RANGES_MAX
    }

    /// The end of the range that begins with 0.
    fn prefix(&self) -> u32 {
        self.0.first().filter(|range| range.0 == 0).map_or(0, |range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_hold_what_a_set_holds(parts in prop::collection::vec((0..60_u32, 0..20_u32), 0..12)) {
            let (mut ranges, mut set) = (Ranges::default(), [false; 80]);
            for (from, length) in parts {
                ranges.add(from, from + length);
                set[from as usize..(from + length) as usize].fill(true);
                let holds = |at: &u32| ranges.0.iter().any(|range| range.0 <= *at && *at < range.1);
                prop_assert!((0..80).all(|at| holds(&at) == set[at as usize]));
                let begin = set.iter().take_while(|&&is_in| is_in).count();
                prop_assert_eq!(ranges.prefix(), begin as u32);
                prop_assert!(ranges.0.windows(2).all(|two| two[0].1 < two[1].0));
            }
        }
    }
}
