//! The byte order of a file or of a section.

/// Whether numbers begin with their highest byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) is_big_endian: bool,
}

impl Order {
    pub(super) const LITTLE: Self = Self { is_big_endian: false };
    pub(super) const BIG: Self = Self { is_big_endian: true };

    #[inline]
    pub(super) const fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    pub(super) const fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// The two bytes at `at`, which are there.
    #[inline]
    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        self.u16([bytes[at], bytes[at + 1]])
    }

    /// The four bytes at `at`, which are there.
    #[inline]
    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = &bytes[at..at + 4];
        self.u32([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Four numbers of four bytes each, one behind the other.
    #[inline(always)]
    pub(super) fn four_u32(self, bytes: &[u8; 16]) -> [u32; 4] {
        let little = [0, 4, 8, 12].map(|at| Self::LITTLE.u32_at(bytes, at));
        if self.is_big_endian { little.map(u32::swap_bytes) } else { little }
    }

    /// A number of eight bytes.
    pub(super) const fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}
