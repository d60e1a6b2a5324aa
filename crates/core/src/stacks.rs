//! Which TCP implementation sent a SYN: by the order of its options, the initial TTL, and the window.
//!
//! The options' order is code of the stack and is not configurable; a TTL and a window are. The rules are of this project; the idea, and what to look at, is that of
//! passive fingerprinting (Smart et al., USENIX Security 2000; Zalewski's p0f). Where two stacks write the same, nothing is said, or `likely`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A family of TCP implementations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Linux, Android.
    Linux,
    /// Windows.
    Windows,
    /// FreeBSD, NetBSD, OpenBSD, and appliances made of them.
    Bsd,
    /// macOS and iOS.
    Macos,
    /// Solaris and illumos.
    Solaris,
    /// Routers, printers, microcontrollers.
    Embedded,
}

impl Stack {
    /// Whether it can send at a rate that a program or its congestion control sets: Linux (`SO_MAX_PACING_RATE`, since 4.13 without the `fq` qdisc) and XNU.
    /// FreeBSD does with its RACK stack alone (tcp_rack(4)).
    pub const fn paces(self) -> bool {
        matches!(self, Self::Linux | Self::Macos)
    }
}

/// How sure it is which stack sent something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackConfidence {
    /// No other stack is known to open connections so.
    Certain,
    /// Others could be configured so, or a device on the path may have changed the SYN.
    Likely,
    /// Nothing tells.
    #[default]
    Unknown,
}

/// What a SYN or SYN-ACK says of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynForm<'a> {
    /// The kinds of its options in their order, without those of Multipath TCP and fast open: `mss,sok,ts,nop,ws`.
    pub options: &'a str,
    /// Time to live, hop limit, at the capture point.
    pub hops: u8,
    /// IPv4's Don't Fragment.
    pub dont_fragment: bool,
    /// The window field.
    pub window: u16,
    /// The MSS option.
    pub mss: Option<u16>,
}

/// What the window of a SYN has to be.
#[derive(Debug, Clone, Copy)]
enum Window {
    Any,
    Exactly(u16),
    /// A multiple of the MSS, of an Ethernet's where a device on the path has made that smaller.
    OfSegments,
}

struct Rule {
    stack: Stack,
    confidence: StackConfidence,
    options: &'static str,
    ttl: u8,
    window: Window,
}

const ETHERNET_MSS: [u16; 3] = [1460, 1448, 1440];
/// Timestamps in every segment: what is left of the MSS.
const TIMESTAMPS: u16 = 12;
/// Initial TTLs that stacks use; no path has as many hops as lie between two of them.
const INITIAL_TTLS: [u8; 4] = [32, 64, 128, 255];

/// The first that fits counts.
const RULES: [Rule; 29] = {
    use Stack::{Bsd, Embedded, Linux, Macos, Solaris, Windows};
    use StackConfidence::{Certain, Likely};
    use Window::{Any, Exactly, OfSegments};
    const fn rule(
        stack: Stack,
        confidence: StackConfidence,
        options: &'static str,
        ttl: u8,
        window: Window,
    ) -> Rule {
        Rule { stack, confidence, options, ttl, window }
    }
    [
        // tcp_options_write(): MSS; SACK and timestamps share four bytes; NOP, window scale.
        rule(Linux, Certain, "mss,sok,ts,nop,ws", 64, OfSegments),
        rule(Linux, Certain, "mss,sok,ts", 64, OfSegments),
        // The window is also what SO_RCVBUF leaves. illumos has this order too.
        rule(Linux, Likely, "mss,sok,ts,nop,ws", 64, Any),
        rule(Linux, Likely, "mss,sok,ts", 64, Any),
        rule(Linux, Likely, "mss,nop,nop,ts,nop,ws", 64, OfSegments),
        // Without timestamps OpenBSD writes the same, with its own window.
        rule(Bsd, Likely, "mss,nop,nop,sok,nop,ws", 64, Exactly(16_384)),
        rule(Linux, Likely, "mss,nop,nop,sok,nop,ws", 64, Any),
        rule(Linux, Likely, "mss,nop,nop,sok", 64, OfSegments),
        rule(Linux, Likely, "mss,nop,ws", 64, OfSegments),
        // Windows has a TTL of 128; Vista and later have no timestamps unless they are turned on.
        rule(Windows, Certain, "mss,nop,ws,nop,nop,sok", 128, Any),
        rule(Windows, Certain, "mss,nop,ws,sok,ts", 128, Any),
        rule(Windows, Certain, "mss,nop,nop,sok", 128, Any),
        rule(Windows, Certain, "mss,nop,ws,nop,nop,ts,nop,nop,sok", 128, Any),
        rule(Windows, Certain, "mss,nop,nop,ts,nop,nop,sok", 128, Any),
        rule(Windows, Likely, "mss,nop,ws", 128, Any),
        rule(Windows, Likely, "mss", 128, Any),
        // XNU's tcp_output(): SACK behind the timestamps, then the end of options.
        rule(Macos, Certain, "mss,nop,ws,nop,nop,ts,sok,eol", 64, Exactly(65_535)),
        rule(Macos, Likely, "mss,nop,ws,nop,nop,ts,sok,eol", 64, Any),
        // FreeBSD's tcp_addoptions(): no padding between them.
        rule(Bsd, Certain, "mss,nop,ws,sok,ts", 64, Exactly(65_535)),
        rule(Bsd, Likely, "mss,nop,ws,sok,ts", 64, Any),
        rule(Bsd, Likely, "mss,nop,ws,sok,eol", 64, Any),
        // OpenBSD's and NetBSD's tcp_output().
        rule(Bsd, Certain, "mss,nop,nop,sok,nop,ws,nop,nop,ts", 64, Any),
        rule(Bsd, Likely, "mss,nop,ws,sok,nop,nop,nop,nop,ts", 64, Any),
        // 4.4BSD before SACK.
        rule(Bsd, Likely, "mss,nop,ws,nop,nop,ts", 64, Any),
        // Solaris up to 9, and 10.
        rule(Solaris, Certain, "nop,ws,nop,nop,ts,nop,nop,sok,mss", 64, Any),
        rule(Solaris, Likely, "mss,nop,ws,nop,nop,sok", 64, OfSegments),
        // Cisco's IOS: eight segments of 516 bytes.
        rule(Embedded, Certain, "mss", 255, Exactly(4_128)),
        // Solaris up to 7 has a TTL of 255 and probes the path's MTU; see `recognise()`.
        rule(Solaris, Likely, "mss", 255, OfSegments),
        // lwIP: no other stack of today has this TTL.
        rule(Embedded, Likely, "mss", 255, Any),
    ]
};

/// The stack that sends such SYNs, and how sure that is.
pub fn recognise(syn: &SynForm<'_>) -> (Option<Stack>, StackConfidence) {
    let found = RULES.iter().find(|rule| rule.fits(syn));
    found.map_or((None, StackConfidence::Unknown), |rule| (Some(rule.stack), rule.confidence))
}

/// The window of the SYN of Windows up to 8.1, and of 10 before version 1607.
const WINDOW_OF_WINDOWS_7: u16 = 8_192;

/// Whether the sender of such a SYN may probe for the loss of its last segments (RFC 8985 7); also where nothing tells which stack it is. Linux does
/// since 3.10, XNU by default (`tcp_enable_tlp`), Windows since 10 version 1607 and Server 2016, which always offer a window scale. FreeBSD does not
/// unless its RACK stack is loaded (tcp_rack(4)).
pub fn sends_loss_probes(syn: &SynForm<'_>) -> bool {
    match recognise(syn).0 {
        None | Some(Stack::Linux | Stack::Macos) => true,
        Some(Stack::Windows) => syn.options.contains("ws") && syn.window != WINDOW_OF_WINDOWS_7,
        Some(Stack::Bsd | Stack::Solaris | Stack::Embedded) => false,
    }
}

impl Rule {
    fn fits(&self, syn: &SynForm<'_>) -> bool {
        let ttl = INITIAL_TTLS.into_iter().find(|&ttl| ttl >= syn.hops);
        // Solaris discovers the path's MTU (RFC 1191), small stacks do not.
        let probes_mtu = self.stack != Stack::Solaris || syn.dont_fragment;
        ttl == Some(self.ttl) && self.options == syn.options && self.window.fits(syn) && probes_mtu
    }
}

impl Window {
    fn fits(self, syn: &SynForm<'_>) -> bool {
        let is_multiple = |segment: u16| syn.window > 0 && syn.window.checked_rem(segment) == Some(0);
        match self {
            Self::Any => true,
            Self::Exactly(window) => syn.window == window,
            Self::OfSegments => syn
                .mss
                .into_iter()
                .flat_map(|mss| [mss, mss.saturating_sub(TIMESTAMPS)])
                .chain(ETHERNET_MSS)
                .any(is_multiple),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_told_by_the_form_of_their_syns() {
        use Stack::{Bsd, Embedded, Linux, Macos, Solaris, Windows};
        use StackConfidence::{Certain, Likely, Unknown};
        let table = [
            // Linux 6.x, 3.x, its answer with timestamps, behind a PPPoE line, with SO_RCVBUF.
            (Some(Linux), Certain, "mss,sok,ts,nop,ws", 64, 64_240, 1460),
            (Some(Linux), Certain, "mss,sok,ts,nop,ws", 51, 29_200, 1460),
            (Some(Linux), Certain, "mss,sok,ts,nop,ws", 63, 65_160, 1460),
            (Some(Linux), Certain, "mss,sok,ts,nop,ws", 57, 64_240, 1452),
            (Some(Linux), Likely, "mss,sok,ts,nop,ws", 64, 5_000, 1460),
            (Some(Linux), Likely, "mss,nop,nop,sok,nop,ws", 64, 64_240, 1460),
            // Windows 10, XP, with timestamps turned on.
            (Some(Windows), Certain, "mss,nop,ws,nop,nop,sok", 128, 64_240, 1460),
            (Some(Windows), Certain, "mss,nop,nop,sok", 110, 64_240, 1440),
            (Some(Windows), Certain, "mss,nop,ws,sok,ts", 113, 65_535, 1460),
            (Some(Macos), Certain, "mss,nop,ws,nop,nop,ts,sok,eol", 64, 65_535, 1460),
            (Some(Bsd), Certain, "mss,nop,ws,sok,ts", 60, 65_535, 1460),
            (Some(Bsd), Certain, "mss,nop,nop,sok,nop,ws,nop,nop,ts", 64, 16_384, 1460),
            (Some(Bsd), Likely, "mss,nop,ws,nop,nop,ts", 64, 16_384, 512),
            (Some(Solaris), Certain, "nop,ws,nop,nop,ts,nop,nop,sok,mss", 62, 32_850, 1460),
            (Some(Solaris), Likely, "mss", 250, 8_760, 1460),
            (Some(Embedded), Certain, "mss", 254, 4_128, 536),
            (Some(Embedded), Likely, "mss", 255, 5_000, 1460),
            (None, Unknown, "mss", 64, 65_535, 1460),
            (None, Unknown, "", 64, 1_000, 1460),
            (None, Unknown, "mss,sok,ts,nop,ws", 128, 64_240, 1460),
        ];
        for (stack, confidence, options, hops, window, mss) in table {
            let syn = SynForm { options, hops, dont_fragment: true, window, mss: Some(mss) };
            assert_eq!(recognise(&syn), (stack, confidence), "{syn:?}");
        }
    }

    #[test]
    fn some_stacks_send_no_loss_probes() {
        let table = [
            (true, "mss,sok,ts,nop,ws", 64, 64_240),
            (true, "mss,nop,ws,nop,nop,ts,sok,eol", 64, 65_535),
            // Windows 10 and 11, 7, XP.
            (true, "mss,nop,ws,nop,nop,sok", 128, 64_240),
            (false, "mss,nop,ws,nop,nop,sok", 128, 8_192),
            (false, "mss,nop,nop,sok", 128, 65_535),
            // FreeBSD, OpenBSD, Solaris.
            (false, "mss,nop,ws,sok,ts", 64, 65_535),
            (false, "mss,nop,nop,sok,nop,ws,nop,nop,ts", 64, 16_384),
            (false, "nop,ws,nop,nop,ts,nop,nop,sok,mss", 64, 32_850),
            // Nobody's.
            (true, "sok,mss", 64, 1_000),
        ];
        for (is_sent, options, hops, window) in table {
            let syn = SynForm { options, hops, dont_fragment: true, window, mss: Some(1_460) };
            assert_eq!(sends_loss_probes(&syn), is_sent, "{syn:?}");
        }
    }

    #[test]
    fn a_small_stack_probes_no_mtu() {
        let syn = SynForm { options: "mss", hops: 255, dont_fragment: false, window: 5_840, mss: Some(1460) };
        assert_eq!(recognise(&syn), (Some(Stack::Embedded), StackConfidence::Likely));
    }
}
