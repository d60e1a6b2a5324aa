//! What the SYN of a side said: what was negotiated follows from both, and which stack sent it from its form.

use crate::headers::{Flags, Layout, Segment};
use pipefill_core::stacks::{self, Stack, StackConfidence, SynForm};

/// No timer sends a SYN again sooner (RFC 6298, 2.1: a second); what comes sooner is a copy of the capture or the network.
const LEAST_TIMER_NS: u64 = 200_000_000;

/// A SYN or SYN-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Opening {
    /// Time to live, hop limit, at the capture point.
    pub hops: u8,
    /// IPv4's Don't Fragment; IPv6 never fragments on the way.
    pub dont_fragment: bool,
    /// It is a SYN-ACK.
    pub is_answer: bool,
    /// The window field, which no SYN scales.
    pub window: u16,
    /// The MSS option.
    pub mss: Option<u16>,
    /// The shift of windows.
    pub window_scale: Option<u8>,
    /// It takes SACKs.
    pub sack_permitted: bool,
    /// It has timestamps.
    pub has_timestamps: bool,
    /// The order of its options.
    pub layout: Layout,
    /// How often it was sent by a timer, the first time included.
    pub sent: u8,
    ecn_bits: u8,
}

/// What both ends agreed on about ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    /// No ECN.
    Off,
    /// RFC 3168: ECE echoes a mark until CWR answers it.
    Classic,
    /// RFC 9768: AE, CWR and ECE together are a counter.
    Accurate,
}

/// AE, CWR and ECE, the highest bit first.
mod bits {
    pub(super) const ECE: u8 = 0b001;
    /// RFC 3168 6.1.1: CWR and ECE in a SYN.
    pub(super) const CLASSIC: u8 = 0b011;
    /// RFC 9768 3.1.1: all three in a SYN.
    pub(super) const ACCURATE: u8 = 0b111;
}

impl Opening {
    /// Of `segment`, a SYN, `quiet_ns` after the packet before it; `before` is what the same side sent already.
    pub(super) fn of(segment: &Segment, before: Option<Self>, quiet_ns: u64) -> Self {
        let (flags, options) = (segment.flags, &segment.options);
        let ae = u8::from(segment.has_ae) << 2;
        let sent = before.map_or(0, |before| before.sent);
        let is_copy = sent > 0 && quiet_ns < LEAST_TIMER_NS;
        Self {
            sent: if is_copy { sent } else { sent.saturating_add(1) },
            hops: segment.hops,
            dont_fragment: segment.dont_fragment || segment.is_v6,
            is_answer: flags.has(Flags::ACK),
            window: segment.window,
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            has_timestamps: options.timestamps.is_some(),
            layout: options.layout,
            ecn_bits: ae | u8::from(flags.has(Flags::CWR)) << 1 | u8::from(flags.has(Flags::ECE)),
        }
    }
}

impl Opening {
    /// The TCP implementation that sent it, and how sure that is.
    pub fn stack(&self) -> (Option<Stack>, StackConfidence) {
        stacks::recognise(&self.form(&self.layout.words()))
    }

    /// Whether that may probe for the loss of its last segments.
    pub(super) fn sends_loss_probes(&self) -> bool {
        stacks::sends_loss_probes(&self.form(&self.layout.words()))
    }

    const fn form<'a>(&self, options: &'a str) -> SynForm<'a> {
        let Self { hops, dont_fragment, window, mss, .. } = *self;
        SynForm { options, hops, dont_fragment, window, mss }
    }
}

/// What the SYN and the SYN-ACK agree on about ECN (RFC 3168 6.1.1, RFC 9768 3.1.2, table 2).
pub(super) const fn ecn_mode(syn: &Opening, answer: &Opening) -> EcnMode {
    match (syn.ecn_bits, answer.ecn_bits) {
        (bits::ACCURATE, 0b010 | 0b011 | 0b100 | 0b110) => EcnMode::Accurate,
        (bits::ACCURATE | bits::CLASSIC, bits::ECE) => EcnMode::Classic,
        _ => EcnMode::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syn_and_its_answer_decide_on_ecn() {
        let with = |ecn_bits| Opening { ecn_bits, ..Opening::default() };
        let mode = |syn, answer| ecn_mode(&with(syn), &with(answer));
        assert_eq!(mode(0b000, 0b000), EcnMode::Off);
        assert_eq!(mode(0b011, 0b001), EcnMode::Classic);
        // A broken server mirrors all bits.
        assert_eq!(mode(0b011, 0b011), EcnMode::Off);
        assert_eq!(mode(0b111, 0b111), EcnMode::Off);
        // The server knows RFC 3168 alone.
        assert_eq!(mode(0b111, 0b001), EcnMode::Classic);
        for answer in [0b010, 0b011, 0b100, 0b110] {
            assert_eq!(mode(0b111, answer), EcnMode::Accurate, "{answer:03b}");
        }
    }
}
