//! Settings in the words of QUIC (RFC 9000, 9002): its windows and its congestion control are the library's, not the kernel's.

use crate::quantity::bytes;
use pipefill_analysis::findings::proposal::{Change, Setting};

/// What is set; `None` where QUIC has the same setting under the usual name, or none.
pub(super) const fn name(setting: &Setting) -> Option<&'static str> {
    Some(match setting {
        Setting::TcpRmemMaximum(_) | Setting::ReceiveBuffer(_) => "initial_max_data, initial_max_stream_data",
        Setting::Bbr => "congestion control",
        _ => return None,
    })
}

/// The change at `host`.
pub(super) fn in_words(change: &Change, host: &str) -> Option<String> {
    Some(match change.setting {
        Setting::TcpRmemMaximum(size) | Setting::ReceiveBuffer(size) => format!(
            "flow control of at least {} in the QUIC library {host}: initial_max_data and initial_max_stream_data",
            bytes(size)
        ),
        Setting::Bbr => format!("BBR in the QUIC library {host}, where it has it"),
        _ => return None,
    })
}
