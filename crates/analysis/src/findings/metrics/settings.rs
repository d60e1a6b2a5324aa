//! The settings that were asked for and not granted.
//!
//! The backend knows whether the value that was read back fulfils the request (a kernel doubles a buffer), and notes it in `met`.

use pipefill_core::record::Setting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting that the machine did not grant: what was measured is not quite what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct UnmetSetting {
    /// `sender`, `receiver`, or `stream 0 sender` for a socket option.
    pub place: String,
    /// E.g. `net.ipv4.tcp_rmem`, `SO_SNDBUF`.
    pub name: String,
    /// As asked.
    pub asked: Option<String>,
    /// As read back; null where it could not be read.
    pub got: Option<String>,
    /// Why they differ; null where nobody knows.
    pub why: Option<String>,
}

/// The settings that were not granted, in the order of `settings`.
pub(super) fn unmet(settings: &[Setting]) -> Vec<UnmetSetting> {
    let refused = settings.iter().filter(|setting| !setting.met);
    refused
        .map(|Setting { place, name, asked, got, why, met: _ }| UnmetSetting {
            place: place.clone(),
            name: name.clone(),
            asked: asked.clone(),
            got: got.clone(),
            why: why.clone(),
        })
        .collect()
}
