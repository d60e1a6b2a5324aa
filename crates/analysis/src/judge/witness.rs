//! Others who have an opinion: the kernel's own clocks, its application-limited flag.
//!
//! Never: a verdict. A witness that disagrees is shown, because it may be the one that is right.

use crate::ground::thresholds::STANDARD;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{AnyRow, StreamEnd, StreamSummary};
use pipefill_core::tcp_info::TcpInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What somebody else measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Witness {
    /// Who, in the kernel's own words, e.g. `tcpi_rwnd_limited`.
    pub name: String,
    /// What the witness accuses.
    pub accuses: LimitedBy,
    /// For which share of the time.
    pub share: f64,
    /// Whether that agrees with the verdict.
    pub agrees: bool,
}

impl Witness {
    /// Whether it names another cause than the verdict; one that saw nothing names none.
    pub fn accuses_another(&self) -> bool {
        !self.agrees && self.share >= STANDARD.counter_names.value()
    }

    /// The same beside a verdict of `limited_by`.
    #[must_use]
    pub(super) fn with_verdict(self, limited_by: LimitedBy) -> Self {
        let agrees = (self.share >= STANDARD.counter_names.value()) == is_same(self.accuses, limited_by);
        Self { agrees, ..self }
    }

    /// Whether it has measured the verdict's own cause.
    pub fn confirms(&self) -> bool {
        self.agrees && self.share >= STANDARD.counter_names.value()
    }
}

/// Samples of senders, and those of them whose rate the application limited (`tcpi_delivery_rate_app_limited`).
#[derive(Debug, Default)]
pub(super) struct AppLimited {
    samples: u64,
    limited: u64,
}

impl AppLimited {
    pub(super) fn observe(&mut self, row: &AnyRow) {
        if let AnyRow::Tcp(row) = row
            && row.end == StreamEnd::Sender
        {
            self.samples += u64::from(row.info.delivery_app_limited.is_some());
            self.limited += u64::from(row.info.delivery_app_limited == Some(true));
        }
    }
}

/// The witnesses of a flow with these streams; no verdict was asked yet.
pub(super) fn all(streams: &[&StreamSummary], app_limited: &AppLimited) -> Vec<Witness> {
    let sum = |field: fn(&TcpInfo) -> Option<u64>| -> Option<u64> {
        streams.iter().map(|stream| field(stream.tcp.as_ref()?)).sum()
    };
    let busy = sum(|info| info.busy_us).filter(|&busy| busy > 0);
    let clock = |field: fn(&TcpInfo) -> Option<u64>| Some(sum(field)? as f64 / busy? as f64);
    let app = (app_limited.samples > 0).then(|| app_limited.limited as f64 / app_limited.samples as f64);
    let named = [
        ("tcpi_rwnd_limited", LimitedBy::Rwnd, clock(|info| info.rwnd_limited_us)),
        ("tcpi_sndbuf_limited", LimitedBy::Sndbuf, clock(|info| info.sndbuf_limited_us)),
        ("tcpi_delivery_rate_app_limited", LimitedBy::App, app),
    ];
    let witness = |(name, accuses, share): (&str, LimitedBy, Option<f64>)| {
        Some(Witness { name: name.to_owned(), accuses, share: share?, agrees: false })
    };
    named.into_iter().filter_map(witness).collect()
}

/// A reader that does not read is a closed window to the kernel; what a send buffer does not let out looks to it as an
/// application that writes too little.
fn is_same(accuses: LimitedBy, limited_by: LimitedBy) -> bool {
    match accuses {
        LimitedBy::Rwnd => matches!(limited_by, LimitedBy::Rwnd | LimitedBy::Receiver),
        LimitedBy::App => matches!(limited_by, LimitedBy::App | LimitedBy::Sndbuf),
        other => other == limited_by,
    }
}
