//! The oracle's cells: what real Linux 6.12 did in virtual time (`testdata/goldens/README.md`).
//!
//! Never: a cell that the oracle did not finish.

use serde::Deserialize;
use std::fs;
use std::path::Path;

/// Where the goldens are, relative to the workspace.
const FOLDER: &str = "testdata/goldens";
/// Every file, in the order of the page.
pub(crate) const FILES: [&str; 5] = [GRID, "more.jsonl", "blind.jsonl", HELD_OUT, HELD_OUT_NO_LOSS];
/// The first grid: small enough for every test run.
pub(crate) const GRID: &str = "grid.jsonl";
/// Drawn when the simulator's results were final.
pub(crate) const HELD_OUT: &str = "held-out.jsonl";
/// The same without random loss, since those of the former were looked at.
pub(crate) const HELD_OUT_NO_LOSS: &str = "held-out-no-loss.jsonl";
/// Hosts with GSO on, as they are by default: no random loss.
pub(crate) const GSO: &str = "gso.jsonl";
/// Disciplines of the queue, with and without ECN.
pub(crate) const AQM: &str = "aqm.jsonl";
/// Cells from here on were drawn after the last change to the simulator's TCP: those without random loss …
pub(crate) const FIRST_HELD_OUT: u32 = 5000;
/// … and those with it, which no change was made for since.
const FIRST_HELD_OUT_LOSSY: u32 = 4000;

/// One run of one cell on real Linux.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Golden {
    pub(crate) cell: u32,
    /// `tbf rate`: Ethernet frames without FCS.
    pub(crate) rate_bps: u64,
    pub(crate) rtt_ms: f64,
    /// netem's `loss`, forward.
    pub(crate) loss_percent: f64,
    /// netem's second argument of `delay`, both directions: uniform, packets may overtake.
    #[serde(default)]
    pub(crate) jitter_ms: f64,
    pub(crate) congestion_control: String,
    /// `tbf limit`; 0 where the queue has a discipline.
    #[serde(default)]
    pub(crate) queue_bytes: u64,
    /// The discipline of the queue, where it has one.
    #[serde(default)]
    pub(crate) aqm: Option<AqmCell>,
    /// Name of the pair of buffers.
    #[serde(default)]
    pub(crate) buffers: String,
    pub(crate) tcp_rmem: [u64; 3],
    pub(crate) tcp_wmem: [u64; 3],
    /// Streams at once.
    #[serde(default = "single_flow")]
    pub(crate) flows: u32,
    pub(crate) duration_s: f64,
    pub(crate) seed: u64,
    pub(crate) tbf_burst_bytes: u64,
    /// Whether the hosts hand over super-packets; delay and rate are in a router between them then.
    #[serde(default)]
    pub(crate) gso: bool,
    ok: bool,
    #[serde(default)]
    result: Option<Outcome>,
    #[serde(default)]
    series: Option<Series>,
}

/// The discipline of a cell's queue. Delays are at the hosts then, tbf and discipline in a router between them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AqmCell {
    /// In the words of a scenario: `codel`, `red min=12500B …`.
    pub(crate) text: String,
    /// Whether it marks, and both hosts ask for ECN.
    pub(crate) ecn: bool,
    /// Its limit, as a scenario has it.
    pub(crate) queue: String,
    /// The SYN leaves so long after a tick of the millisecond clock.
    pub(crate) phase_ns: u64,
}

/// What a run came to, real or simulated.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Outcome {
    /// Of all streams.
    pub(crate) goodput_bps: f64,
    /// Of all streams.
    pub(crate) retransmits: f64,
    /// Of the first stream.
    pub(crate) min_rtt_us: f64,
    /// Of the first stream's samples.
    pub(crate) ca_state_fraction: StateShares,
    /// Dropped by the bottleneck's queue; null where not counted.
    pub(crate) tbf_dropped: Option<f64>,
    /// What the queue's discipline did.
    #[serde(default)]
    pub(crate) aqm: Option<AqmOutcome>,
}

/// What a discipline did to the packets of all streams.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct AqmOutcome {
    /// Packets dropped, for whatever reason.
    pub(crate) dropped: f64,
    /// Packets marked.
    pub(crate) marked: f64,
    /// Median of the time from a packet's arrival until the link was free for it.
    pub(crate) sojourn_us_p50: f64,
    /// Its 95th percentile.
    pub(crate) sojourn_us_p95: f64,
}

/// Shares of the samples by `tcpi_ca_state`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct StateShares {
    pub(crate) recovery: f64,
    pub(crate) loss: f64,
}

/// The first stream over time: `t_ms`, bytes received by all, cwnd in segments, srtt, the advertised window.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Series {
    pub(crate) rows: Vec<[u64; 5]>,
}

impl Golden {
    /// What Linux did.
    pub(crate) fn outcome(&self) -> &Outcome {
        self.result.as_ref().expect("read() keeps finished cells only")
    }

    /// How Linux did it, thinned.
    pub(crate) fn series(&self) -> Series {
        self.series.clone().unwrap_or_default()
    }

    /// Whether Linux knows the least round trip of its path. The ACK of retransmitted data alone is measured by the timestamps, in
    /// whole milliseconds (`tcp_rtt_tsopt_us()`): of 5.002 ms it makes 5, and whether there is such an ACK is chance.
    pub(crate) fn has_clear_round_trip(&self) -> bool {
        self.rtt_ms < 1.0 || self.rtt_ms.fract() == 0.0
    }

    /// Never looked at while the simulator was tuned; of those with GSO every second one, of those with a discipline every third one.
    pub(crate) fn is_held_out(&self) -> bool {
        if self.aqm.is_some() {
            return self.cell % 3 == 2;
        }
        if self.gso {
            return !self.cell.is_multiple_of(2);
        }
        self.cell >= if self.loss_percent > 0.0 { FIRST_HELD_OUT_LOSSY } else { FIRST_HELD_OUT }
    }
}

/// Every finished golden of the `files`, in their order. A file that doesn't exist has none.
///
/// # Errors
/// A file that can't be read, or a line that isn't a golden.
pub(crate) fn read(root: &Path, files: &[&str]) -> Result<Vec<Golden>, String> {
    let mut goldens = Vec::new();
    for name in files {
        let path = root.join(FOLDER).join(name);
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            goldens.extend(parse(&text).map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    Ok(goldens)
}

fn parse(text: &str) -> Result<Vec<Golden>, String> {
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str::<Golden>(line).map_err(|error| format!("line {}: {error}", number + 1))
    };
    let goldens: Result<Vec<Golden>, String> = text.lines().enumerate().map(parse).collect();
    Ok(goldens?.into_iter().filter(|golden| golden.ok && golden.result.is_some()).collect())
}

fn single_flow() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goldens_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
        let goldens = read(root, &FILES).expect("every line is a golden");
        assert!(goldens.len() >= 104, "{}", goldens.len());
        assert!(goldens.iter().all(|golden| golden.outcome().goodput_bps > 0.0 && golden.flows > 0));
    }
}
