//! The options of TCP's header (RFC 9293 3.1, RFC 7323, RFC 2018). Unknown ones are passed over; a length that can't be ends them.

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// Bytes of the timestamps and two NOPs.
pub(super) const STAMPS: usize = 12;
/// Blocks that 40 bytes of options hold.
pub const SACKS_MAX: usize = 4;
/// RFC 7323 2.3: a larger shift means this.
const SHIFT_MAX: u8 = 14;

/// What the options said.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Options {
    /// Maximum segment size, in a SYN.
    pub mss: Option<u16>,
    /// The shift of windows, in a SYN.
    pub window_scale: Option<u8>,
    /// The sender of a SYN takes SACKs.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    sacks: [(u32, u32); SACKS_MAX],
    sack_count: u8,
}

impl PartialEq for Options {
    /// Blocks that are no more count for nothing.
    fn eq(&self, other: &Self) -> bool {
        let fields = |of: &Self| (of.mss, of.window_scale, of.sack_permitted, of.timestamps);
        fields(self) == fields(other) && self.sacks() == other.sacks()
    }
}

impl Options {
    /// The blocks of a SACK option, in its order: left and right edge.
    #[inline]
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..usize::from(self.sack_count)]
    }

    /// Whether there are any.
    #[inline]
    pub(crate) const fn has_sacks(&self) -> bool {
        self.sack_count > 0
    }

    /// What was captured of them, in place of what was there.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8]) {
        match bytes.split_first_chunk() {
            Some((first, rest)) if self.read_stamps(first) => {
                self.walk(rest);
            }
            _ => {
                self.clear();
                self.walk(bytes);
            }
        }
    }

    /// What nearly every segment has (RFC 7323, appendix A), in place of what was there; `false` where it is something else.
    #[inline(always)]
    pub(super) fn read_stamps(&mut self, bytes: &[u8; STAMPS]) -> bool {
        let &[_, _, _, _, a, b, c, d, e, f, g, h] = bytes;
        if bytes[..4] != [NOP, NOP, TIMESTAMPS, 10] {
            return false;
        }
        self.clear();
        self.timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
        true
    }

    #[inline(always)]
    fn clear(&mut self) {
        (self.mss, self.window_scale, self.timestamps) = (None, None, None);
        (self.sack_permitted, self.sack_count) = (false, 0);
    }

    #[inline(never)]
    pub(super) fn walk(&mut self, mut bytes: &[u8]) {
        while let &[kind, ref rest @ ..] = bytes {
            match kind {
                END => return,
                NOP => bytes = rest,
                _ => {
                    let Some(value) = rest.first().and_then(|&length| bytes.get(2..usize::from(length)))
                    else {
                        return;
                    };
                    self.take(kind, value);
                    bytes = &bytes[2 + value.len()..];
                }
            }
        }
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift.min(SHIFT_MAX)),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            }
            (SACK, blocks) => {
                let (edges, _) = blocks.as_chunks::<8>();
                self.sack_count = edges.len().min(SACKS_MAX) as u8;
                for (block, &[a, b, c, d, e, f, g, h]) in self.sacks.iter_mut().zip(edges) {
                    *block = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                }
            }
            _ => {}
        }
    }
}
