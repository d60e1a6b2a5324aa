//! Bytes over time in bounded memory.
//!
//! Invariant: the bins add up to the bytes that were put in.

/// Bins of a direction at most; a longer time has longer bins.
const BINS_MAX: u64 = 4096;
/// Length of the first bins.
const FIRST_NS: u64 = 1_000_000;

/// Bytes in times of equal length, from the connection's first packet on or from some time after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    from_ns: u64,
    width_ns: u64,
    bytes: Vec<u64>,
}

impl Default for Bins {
    fn default() -> Self {
        Self { from_ns: 0, width_ns: FIRST_NS, bytes: Vec::new() }
    }
}

impl Bins {
    /// None yet; the first bin begins so long after the connection's first packet, nanoseconds.
    pub fn starting_at(from_ns: u64) -> Self {
        Self { from_ns, ..Self::default() }
    }

    /// When the first bin begins, nanoseconds from the connection's first packet.
    pub const fn from_ns(&self) -> u64 {
        self.from_ns
    }

    /// Length of a bin, nanoseconds.
    pub const fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Bytes of each bin.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// Mean rates of the bins with the time at which each begins, nanoseconds, bits per second.
    pub fn rates(&self) -> impl Iterator<Item = (u64, u64)> {
        let rate = |bytes: u64| u128::from(bytes) * 8_000_000_000 / u128::from(self.width_ns);
        let rates = self.bytes.iter().map(move |&bytes| u64::try_from(rate(bytes)).unwrap_or(u64::MAX));
        (0..).map(|number: u64| self.from_ns.saturating_add(number.saturating_mul(self.width_ns))).zip(rates)
    }

    /// These bins merged into bins of at least `width_ns`.
    #[must_use]
    pub fn of_at_least(&self, width_ns: u64) -> Self {
        let together = width_ns.div_ceil(self.width_ns).clamp(1, BINS_MAX);
        let bytes = self.bytes.chunks(together as usize).map(|bins| bins.iter().sum()).collect();
        Self { from_ns: self.from_ns, width_ns: self.width_ns.saturating_mul(together), bytes }
    }

    /// What comes before the first bin belongs into none.
    pub(super) fn add(&mut self, at_ns: u64, bytes: u64) {
        let Some(at_ns) = at_ns.checked_sub(self.from_ns) else { return };
        while at_ns / self.width_ns >= BINS_MAX {
            *self = self.of_at_least(self.width_ns.saturating_mul(2));
        }
        let place = (at_ns / self.width_ns) as usize;
        if self.bytes.len() <= place {
            self.bytes.resize(place + 1, 0);
        }
        self.bytes[place] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_with_time_and_lose_no_byte() {
        let mut bins = Bins::default();
        let times = [0, FIRST_NS, FIRST_NS * BINS_MAX, 3_600_000_000_000, u64::MAX];
        for at in times {
            bins.add(at, 100);
            assert_eq!(bins.bytes()[(at / bins.width_ns()) as usize % bins.bytes().len()] % 100, 0);
            assert!(bins.bytes().len() as u64 <= BINS_MAX);
        }
        assert_eq!(bins.bytes().iter().sum::<u64>(), 500);
    }

    #[test]
    fn a_rate_is_bits_per_second() {
        let mut bins = Bins::default();
        bins.add(0, 1000);
        bins.add(1_000_000, 3000);
        assert_eq!(bins.rates().collect::<Vec<_>>(), [(0, 8_000_000), (1_000_000, 24_000_000)]);
        assert_eq!(bins.of_at_least(1_500_000).rates().collect::<Vec<_>>(), [(0, 16_000_000)]);
    }
}
