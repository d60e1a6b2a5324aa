//! The options of TCP's header (RFC 9293 3.1, RFC 7323, RFC 2018, RFC 8684). Unknown ones are passed over; a length that can't be ends them.

use super::mptcp::{self, Mptcp};

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;
const FAST_OPEN: u8 = 34;
/// Bytes of the timestamps and two NOPs.
pub(super) const STAMPS: usize = 12;
/// Blocks that 40 bytes of options hold.
pub const SACKS_MAX: usize = 4;
/// RFC 7323 2.3: a larger shift means this.
const SHIFT_MAX: u8 = 14;

/// What the options said.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size, in a SYN.
    pub mss: Option<u16>,
    /// The shift of windows, in a SYN.
    pub window_scale: Option<u8>,
    /// The sender of a SYN takes SACKs.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Of Multipath TCP, what begins a connection or a subflow.
    pub mptcp: Option<Mptcp>,
    /// Which kinds there are, in what order.
    pub layout: Layout,
    sacks: [(u32, u32); SACKS_MAX],
    sack_count: u8,
}

impl PartialEq for TcpOptions {
    /// Compares the blocks in use; older blocks may still be in the array.
    fn eq(&self, other: &Self) -> bool {
        let fields =
            |of: &Self| (of.mss, of.window_scale, of.sack_permitted, of.timestamps, of.mptcp, of.layout);
        fields(self) == fields(other) && self.sacks() == other.sacks()
    }
}

/// The kinds of the first 16 options of a header, in their order; kinds that no rule asks for are all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout(u64);

impl Layout {
    const USUAL: Self = Self::of(&[OptionKind::Nop, OptionKind::Nop, OptionKind::Timestamps]);

    /// Of these kinds.
    pub const fn of(kinds: &[OptionKind]) -> Self {
        let (mut layout, mut at) = (Self(0), 0);
        while at < kinds.len() {
            layout = layout.and(kinds[at]);
            at += 1;
        }
        layout
    }

    const fn and(self, kind: OptionKind) -> Self {
        if self.0 >> 60 != 0 { self } else { Self(self.0 << 4 | kind as u64) }
    }

    /// The kinds in their order, in short words; those of Multipath TCP and fast open belong to the connection and not to the stack.
    pub fn words(self) -> String {
        let word = |kind: OptionKind| match kind {
            OptionKind::End => Some("eol"),
            OptionKind::Nop => Some("nop"),
            OptionKind::Mss => Some("mss"),
            OptionKind::WindowScale => Some("ws"),
            OptionKind::SackPermitted => Some("sok"),
            OptionKind::Sack => Some("sack"),
            OptionKind::Timestamps => Some("ts"),
            OptionKind::Mptcp | OptionKind::FastOpen => None,
            OptionKind::Other => Some("other"),
        };
        self.kinds().filter_map(word).collect::<Vec<_>>().join(",")
    }

    /// The kinds, in the order of the header.
    pub fn kinds(self) -> impl Iterator<Item = OptionKind> {
        let codes = (0..16).rev().map(move |at| self.0 >> (4 * at) & 0xf).filter(|&code| code != 0);
        codes.map(|code| OptionKind::ALL[code as usize - 1])
    }
}

/// What an option is, for the order of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum OptionKind {
    /// End of the option list.
    End = 1,
    /// Padding.
    Nop,
    /// Maximum segment size.
    Mss,
    /// Window scale.
    WindowScale,
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack,
    /// Timestamps.
    Timestamps,
    /// Multipath TCP.
    Mptcp,
    /// Fast open (RFC 7413).
    FastOpen,
    /// Another one.
    Other,
}

impl OptionKind {
    const ALL: [Self; 10] = [
        Self::End,
        Self::Nop,
        Self::Mss,
        Self::WindowScale,
        Self::SackPermitted,
        Self::Sack,
        Self::Timestamps,
        Self::Mptcp,
        Self::FastOpen,
        Self::Other,
    ];

    const fn of(kind: u8) -> Self {
        match kind {
            END => Self::End,
            NOP => Self::Nop,
            MSS => Self::Mss,
            WINDOW_SCALE => Self::WindowScale,
            SACK_PERMITTED => Self::SackPermitted,
            SACK => Self::Sack,
            TIMESTAMPS => Self::Timestamps,
            MPTCP => Self::Mptcp,
            FAST_OPEN => Self::FastOpen,
            _ => Self::Other,
        }
    }
}

impl TcpOptions {
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
        self.layout = Layout::USUAL;
        true
    }

    #[inline(always)]
    fn clear(&mut self) {
        (self.mss, self.window_scale, self.timestamps) = (None, None, None);
        (self.sack_permitted, self.sack_count) = (false, 0);
        (self.mptcp, self.layout) = (None, Layout::default());
    }

    #[inline(never)]
    pub(super) fn walk(&mut self, mut bytes: &[u8]) {
        while let &[kind, ref rest @ ..] = bytes {
            self.layout = self.layout.and(OptionKind::of(kind));
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
            (MPTCP, value) => self.mptcp = mptcp::read(value).or(self.mptcp),
            _ => {}
        }
    }
}
