//! The settings of one end, from its sysctls, its interface and the path.
//!
//! Never: a setting that is taken without effect; what the simulator does not model is refused with a remedy.

use crate::options::{SimOptions, WindowRule};
use crate::segment::Ip;
use pipefill_core::cell::{HostSpec, PathSpec};
use pipefill_core::problem::Problem;
use std::time::Duration;

/// What TCP reads from its host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    /// `tcp_rmem`: minimum, default, maximum, bytes.
    pub(crate) rmem: [u64; 3],
    /// `tcp_wmem`, likewise.
    pub(crate) wmem: [u64; 3],
    /// `tcp_window_scaling`.
    pub(crate) window_scaling: bool,
    /// `tcp_timestamps`.
    pub(crate) timestamps: bool,
    /// `tcp_moderate_rcvbuf`.
    pub(crate) moderate_rcvbuf: bool,
    /// `tcp_slow_start_after_idle`.
    pub(crate) slow_start_after_idle: bool,
    /// `tcp_mtu_probing`: whether it looks for black holes.
    pub(crate) mtu_probing: bool,
    /// `tcp_ecn`: 0 = never, 1 = asks for it and accepts it, 2 = accepts it.
    pub(crate) tcp_ecn: u8,
    /// Whether the socket's congestion control needs ECN (`TCP_CONG_NEEDS_ECN`).
    pub(crate) needs_ecn: bool,
    /// Whether the connection has ECN; see [`Self::agree_with`].
    pub(crate) ecn_agreed: bool,
    /// How the window follows from the buffer.
    pub(crate) window_rule: WindowRule,
    /// Whether the sender makes super-packets.
    pub(crate) gso: bool,
    /// Whether the receiver gets a super-packet in one piece.
    pub(crate) gro: bool,
    /// Whether what arrives was made anew on the path, as the lab's data path does.
    pub(crate) remakes_packets: bool,
    /// The path's packets.
    pub(crate) ip: Ip,
    /// What a packet costs the process that sends it.
    pub(crate) packet_cost: Duration,
}

/// Taken without an effect on a host: nothing is remembered between runs, and the last two are what sockets ask for at most
/// ([`HostSpec::granted_rcvbuf`]).
const IRRELEVANT: [&str; 4] = [
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.core.rmem_max",
    "net.core.wmem_max",
];

impl Host {
    /// Linux 6.12's defaults with the host's own settings.
    ///
    /// # Errors
    /// `Unsupported` for a sysctl that the simulator does not model.
    pub(crate) fn new(spec: &HostSpec, path: &PathSpec, options: SimOptions) -> Result<Self, Problem> {
        let (is_on, offloads) = (|asked: Option<bool>| asked.unwrap_or(true), spec.offloads);
        let mut host = Self {
            rmem: [4096, 131_072, 6 << 20],
            wmem: [4096, 16_384, 4 << 20],
            window_scaling: true,
            timestamps: true,
            moderate_rcvbuf: true,
            slow_start_after_idle: true,
            mtu_probing: false,
            tcp_ecn: 2,
            needs_ecn: false,
            ecn_agreed: false,
            window_rule: options.window_rule,
            gso: options.gso && is_on(offloads.gso) && is_on(offloads.tso),
            gro: options.gso && is_on(offloads.gro),
            remakes_packets: options.gso && options.remakes_packets,
            ip: Ip::of(path),
            packet_cost: options.packet_cost,
        };
        for (name, value) in &spec.sysctl {
            host.set(name, value)?;
        }
        Ok(host)
    }

    /// What a segment carries at most.
    pub(crate) fn mss(&self) -> u32 {
        self.ip.mss(self.timestamps)
    }

    /// Whether its SYN asks for ECN (`tcp_ecn_send_syn()`).
    pub(crate) fn asks_for_ecn(&self) -> bool {
        self.tcp_ecn == 1 || self.needs_ecn
    }

    /// What both ends of a connection have to ask for holds only where both do (RFC 7323, 1.3 and 3.2). This end calls: it asks for ECN,
    /// which the peer accepts (`tcp_ecn_create_request()`); a SYN that is ECT itself is accepted only by a socket whose congestion control needs
    /// ECN too.
    pub(crate) fn agree_with(&mut self, peer: &mut Self) {
        let accepts = peer.needs_ecn || (peer.tcp_ecn != 0 && !self.needs_ecn);
        let ecn = self.asks_for_ecn() && accepts;
        (self.ecn_agreed, peer.ecn_agreed) = (ecn, ecn);
        let (scaling, timestamps) =
            (self.window_scaling && peer.window_scaling, self.timestamps && peer.timestamps);
        for host in [self, peer] {
            (host.window_scaling, host.timestamps) = (scaling, timestamps);
        }
    }

    /// A host that is asked for nothing, on a path that asks for nothing.
    #[cfg(test)]
    pub(crate) fn usual(options: SimOptions) -> Self {
        let spec = HostSpec {
            congestion_control: "cubic".to_owned(),
            sysctl: std::collections::BTreeMap::new(),
            offloads: pipefill_core::cell::Offloads::default(),
        };
        Self::new(&spec, &PathSpec::EMPTY, options).expect("defaults are modelled")
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let understood = match name {
            "net.ipv4.tcp_rmem" => triple(value).map(|sizes| self.rmem = sizes),
            "net.ipv4.tcp_wmem" => triple(value).map(|sizes| self.wmem = sizes),
            "net.ipv4.tcp_window_scaling" => flag(value).map(|on| self.window_scaling = on),
            "net.ipv4.tcp_timestamps" => flag(value).map(|on| self.timestamps = on),
            "net.ipv4.tcp_moderate_rcvbuf" => flag(value).map(|on| self.moderate_rcvbuf = on),
            "net.ipv4.tcp_slow_start_after_idle" => flag(value).map(|on| self.slow_start_after_idle = on),
            "net.ipv4.tcp_mtu_probing" => value
                .trim()
                .parse()
                .ok()
                .filter(|mode: &u8| *mode <= 1)
                .map(|mode| self.mtu_probing = mode == 1),
            "net.ipv4.tcp_ecn" => {
                value.trim().parse().ok().filter(|mode| *mode <= 2).map(|mode| self.tcp_ecn = mode)
            }
            "net.ipv4.tcp_adv_win_scale" => {
                value.trim().parse().ok().map(|scale| self.window_rule = WindowRule::AdvWinScale(scale))
            }
            "net.ipv4.tcp_sack" => flag(value).filter(|&on| on).map(|_| ()),
            "net.ipv4.tcp_congestion_control" => Some(()),
            _ if IRRELEVANT.contains(&name) => Some(()),
            _ => None,
        };
        understood.ok_or_else(|| {
            Problem::machine(
                format!("the simulator does not model {name} = {value}"),
                "leave it out, or run it with --on lab",
            )
        })
    }
}

fn triple(value: &str) -> Option<[u64; 3]> {
    let sizes: Vec<u64> = value.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    sizes.try_into().ok()
}

fn flag(value: &str) -> Option<bool> {
    value.trim().parse::<u8>().ok().map(|number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, value: &str) -> Result<Host, Problem> {
        let mut host = Host::usual(SimOptions::default());
        host.set(name, value)?;
        Ok(host)
    }

    /// `tcp_ecn` of the end that calls and of the one that listens.
    #[test]
    fn ecn_needs_an_end_that_asks_and_one_that_accepts() {
        let agreed = |modes: [u8; 2]| {
            let [mut from, mut to] =
                modes.map(|tcp_ecn| Host { tcp_ecn, ..Host::usual(SimOptions::default()) });
            from.agree_with(&mut to);
            assert_eq!(from.ecn_agreed, to.ecn_agreed);
            from.ecn_agreed
        };
        assert_eq!(
            [[1, 2], [1, 1], [1, 0], [2, 1], [2, 2], [0, 1]].map(agreed),
            [true, true, false, false, false, false]
        );
    }

    #[test]
    fn sysctls_become_settings_and_unknown_ones_are_refused() {
        assert_eq!(host("net.ipv4.tcp_rmem", "4096 87380\t6291456").map(|h| h.rmem[1]).ok(), Some(87_380));
        let old = host("net.ipv4.tcp_adv_win_scale", "1").map(|h| h.window_rule).ok();
        assert_eq!(old, Some(WindowRule::AdvWinScale(1)));
        assert!(host("net.ipv4.tcp_sack", "0").is_err());
        assert!(host("net.ipv4.tcp_ecn", "3").is_err(), "AccECN");
        assert!(host("net.ipv4.tcp_fack", "1").is_err());
    }
}
