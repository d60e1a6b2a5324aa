//! Settings in words that hold for every TCP implementation: for hosts that do not run Linux.

use crate::quantity::{bytes, rate};
use pipefill_analysis::findings::proposal::{Change, Setting};

/// What is set; `None` where the usual name is of no stack.
pub(super) const fn name(setting: &Setting) -> Option<&'static str> {
    Some(match setting {
        Setting::TcpRmem(_)
        | Setting::TcpRmemMaximum(_)
        | Setting::ReceiveAutotuning
        | Setting::Rcvbuf(_)
        | Setting::NoRcvbuf
        | Setting::NoWindowClamp
        | Setting::RmemMax(_)
        | Setting::ReceiveBuffer(_) => "receive buffer",
        Setting::TcpWmem(_) | Setting::Sndbuf(_) | Setting::NoSndbuf | Setting::SendBuffer(_) => {
            "send buffer"
        }
        Setting::WindowScaling => "window scaling",
        Setting::MtuProbing => "path MTU discovery",
        Setting::KeepCwndAfterIdle => "slow start after idle",
        Setting::Bbr => "congestion control",
        Setting::MaxPacingRate(_) | Setting::OtherFlowsMaxPacingRate(_) => "pacing",
        _ => return None,
    })
}

/// Why a buffer is to be larger by which `size` has to be in flight.
pub(super) fn unknown_owner(size: u64) -> String {
    format!("{} have to be in flight; the program or the settings of that host bound the buffer", bytes(size))
}

/// The change at `host`; `None` where the usual words name no setting of Linux.
pub(super) fn in_words(change: &Change, host: &str) -> Option<String> {
    Some(match change.setting {
        Setting::TcpRmem([_, _, maximum]) | Setting::TcpRmemMaximum(maximum) | Setting::RmemMax(maximum) => {
            format!("a receive buffer of {} {host}", bytes(maximum))
        }
        Setting::NoRcvbuf => format!("no fixed receive buffer in the program {host}"),
        Setting::NoSndbuf => format!("no fixed send buffer in the program {host}"),
        Setting::TcpWmem([_, _, maximum]) => format!("a send buffer of {} {host}", bytes(maximum)),
        Setting::Rcvbuf(size) | Setting::ReceiveBuffer(size) => {
            format!("a receive buffer of {} {host}", bytes(size))
        }
        Setting::Sndbuf(size) | Setting::SendBuffer(size) => {
            format!("a send buffer of {} {host}", bytes(size))
        }
        Setting::ReceiveAutotuning => format!("a receive buffer that grows by itself {host}"),
        Setting::WindowScaling => "window scaling (RFC 7323) on both hosts".to_owned(),
        Setting::MtuProbing => format!("path MTU discovery without ICMP (RFC 4821) {host}"),
        Setting::KeepCwndAfterIdle => format!("no slow start after an idle time {host}"),
        Setting::Bbr => {
            format!("a congestion control that measures the path's rate (BBR), where there is one, {host}")
        }
        Setting::MaxPacingRate(kbit) | Setting::OtherFlowsMaxPacingRate(kbit) => {
            format!("data paced at {} at most {host}", rate(kbit.saturating_mul(1_000)))
        }
        _ => return None,
    })
}
