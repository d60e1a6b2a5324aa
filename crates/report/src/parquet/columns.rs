//! What each column of the Parquet file holds, beside the axes.

use ::parquet::basic::Type as Physical;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::headline::diagnosis;
use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_core::limit::LimitedBy;
use serde_json::{Value, json};

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Physical,
    /// One sentence, with the unit where the name has none.
    pub(super) about: &'static str,
    /// Where a row's JSON has it.
    pub(super) pointer: &'static str,
}

/// A run as JSON, with what its row has beside: of its cell, and of the verdict on its headline.
pub(super) fn row(cell: &CellResult, run: &RunMetrics) -> serde_json::Result<Value> {
    let mut row = serde_json::to_value(run)?;
    let reasons: Vec<&str> = run.invalid.iter().map(|invalid| invalid.reason.as_str()).collect();
    row["cell"] = json!(cell.index);
    row["deterministic"] = json!(cell.deterministic);
    row["offered_bps"] = json!(cell.offered_bps);
    let disciplines =
        run.aqm.iter().map(|aqm| Ok((aqm.direction.as_str().to_owned(), serde_json::to_value(aqm)?)));
    row["aqm"] = Value::Object(disciplines.collect::<serde_json::Result<_>>()?);
    row["seed"] = json!(run.seed.to_string());
    row["valid"] = json!(run.is_valid());
    row["invalid"] = if reasons.is_empty() { Value::Null } else { json!(reasons.join(",")) };
    if let Some(diagnosis) = diagnosis(run) {
        let share = |of: LimitedBy| diagnosis.limited_fraction.get(&of).copied().unwrap_or_default();
        let shares = LimitedBy::ALL.iter().map(|&of| (of.as_str().to_owned(), json!(share(of))));
        row["limited_by"] = json!(diagnosis.limited_by);
        row["cause"] = json!(diagnosis.cause);
        row["cwnd_cause"] = json!(diagnosis.cwnd_cause);
        row["limited_fraction"] = Value::Object(shares.collect());
    }
    Ok(row)
}

const fn column(name: &'static str, kind: Physical, pointer: &'static str, about: &'static str) -> Column {
    Column { name, kind, about, pointer }
}

const INTEGER: Physical = Physical::INT64;
const FLOAT: Physical = Physical::DOUBLE;
const FLAG: Physical = Physical::BOOLEAN;
const TEXT: Physical = Physical::BYTE_ARRAY;

/// In the order of the file.
pub(super) const COLUMNS: &[Column] = &[
    column("cell", INTEGER, "/cell", "number of the cell in the whole plan, from 0"),
    column("cell_id", TEXT, "/cell_id", "hash of the cell's resolved values"),
    column("repeat", INTEGER, "/repeat", "which repetition, from 1"),
    column("run", TEXT, "/id", "the run's id"),
    column("seed", TEXT, "/seed", "the run's seed, in decimal: it has 64 bits"),
    column("directory", TEXT, "/directory", "name of the run's directory"),
    column("backend", TEXT, "/backend", "what ran it: lab or sim"),
    column("valid", FLAG, "/valid", "whether the run may be believed"),
    column("invalid", TEXT, "/invalid", "why it may not: reasons with commas between; null where it may"),
    column("deterministic", FLAG, "/deterministic", "whether every run of the cell would be the same"),
    column(
        "goodput_bps",
        INTEGER,
        "/goodput_bps",
        "payload bits/s at the receivers, in the measured windows",
    ),
    column("goodput_whole_bps", INTEGER, "/goodput_whole_bps", "the same without leaving out a warm-up"),
    column("sender_bps", INTEGER, "/sender_bps", "payload bits/s that the sending sockets took"),
    column("offered_bps", INTEGER, "/offered_bps", "what the applications offer; null without a limit"),
    column("fairness_index", FLOAT, "/fairness_index", "Jain's index over the streams"),
    column("retransmits", INTEGER, "/retransmits", "TCP segments sent again"),
    column("retransmits_fast", INTEGER, "/retransmits_by_kind/fast", "of these in fast recovery"),
    column("retransmits_rto", INTEGER, "/retransmits_by_kind/rto", "of these after a timeout"),
    column("retransmits_tlp", INTEGER, "/retransmits_by_kind/tlp", "of these tail loss probes"),
    column(
        "retransmits_spurious",
        INTEGER,
        "/retransmits_by_kind/spurious",
        "of these in a recovery that was taken back",
    ),
    column("min_rtt_us", INTEGER, "/min_rtt_us", "smallest RTT of any sender"),
    column("srtt_us_p50", INTEGER, "/srtt_us_p50", "median smoothed RTT, by time"),
    column("srtt_us_p95", INTEGER, "/srtt_us_p95", "smoothed RTT that 95 % of the time did not exceed"),
    column("cwnd_bytes_p50", INTEGER, "/cwnd_bytes_p50", "median congestion window"),
    column("rwnd_bytes_p50", INTEGER, "/rwnd_bytes_p50", "median advertised window"),
    column("in_flight_bytes_p50", INTEGER, "/in_flight_bytes_p50", "median in flight"),
    column("wmem_queued_bytes_p50", INTEGER, "/wmem_queued_bytes_p50", "median send queue, truesize"),
    column("sndbuf_bytes_p50", INTEGER, "/sndbuf_bytes_p50", "median limit of the send queue"),
    column("ca_state_us_open", INTEGER, "/ca_state_us/open", "time in Open, all streams"),
    column("ca_state_us_disorder", INTEGER, "/ca_state_us/disorder", "time in Disorder"),
    column("ca_state_us_cwr", INTEGER, "/ca_state_us/cwr", "time in CWR"),
    column("ca_state_us_recovery", INTEGER, "/ca_state_us/recovery", "time in Recovery"),
    column("ca_state_us_loss", INTEGER, "/ca_state_us/loss", "time in Loss"),
    column("limited_by", TEXT, "/limited_by", "what limited the flow with the most to gain"),
    column("cause", TEXT, "/cause", "what refines that"),
    column("cwnd_cause", TEXT, "/cwnd_cause", "where that is cwnd: why it was no larger"),
    column("limited_fraction_app", FLOAT, "/limited_fraction/app", "share of the time that app limited it"),
    column("limited_fraction_sndbuf", FLOAT, "/limited_fraction/sndbuf", "the same for sndbuf"),
    column("limited_fraction_rwnd", FLOAT, "/limited_fraction/rwnd", "the same for rwnd"),
    column("limited_fraction_cwnd", FLOAT, "/limited_fraction/cwnd", "the same for cwnd"),
    column("limited_fraction_pacing", FLOAT, "/limited_fraction/pacing", "the same for pacing"),
    column("limited_fraction_path", FLOAT, "/limited_fraction/path", "the same for path"),
    column("limited_fraction_receiver", FLOAT, "/limited_fraction/receiver", "the same for receiver"),
    column("limited_fraction_cpu", FLOAT, "/limited_fraction/cpu", "the same for cpu"),
    column("limited_fraction_testbed", FLOAT, "/limited_fraction/testbed", "the same for testbed"),
    column("limited_fraction_unknown", FLOAT, "/limited_fraction/unknown", "the same for what is unknown"),
    column("lost_percent", FLOAT, "/lost_percent", "UDP: datagrams that did not arrive"),
    column("datagrams_sent", INTEGER, "/datagrams_sent", "UDP: datagrams sent"),
    column(
        "datagrams_received",
        INTEGER,
        "/datagrams_received",
        "UDP: datagrams received, duplicates not counted",
    ),
    column("socket_drops", INTEGER, "/socket_drops", "UDP: dropped by the receivers' sockets"),
    column("duplicates", INTEGER, "/duplicates", "UDP: received again"),
    column("reordered", INTEGER, "/reordered", "UDP: arrived after a later one"),
    column("jitter_ns", INTEGER, "/jitter_ns", "UDP: RFC 3550 jitter"),
    column("one_way_delay_min_ns", INTEGER, "/one_way_delay_min_ns", "UDP: smallest one-way delay"),
    column("one_way_delay_p50_ns", INTEGER, "/one_way_delay_p50_ns", "UDP: median one-way delay"),
    column("one_way_delay_p99_ns", INTEGER, "/one_way_delay_p99_ns", "UDP: 99th percentile of the same"),
    column(
        "path_lateness_p99_ns",
        INTEGER,
        "/path_lateness_p99_ns",
        "lab: how late the path released packets, 99th percentile",
    ),
    column(
        "aqm_forward",
        TEXT,
        "/aqm/forward/kind",
        "forward direction: the discipline of its queue; null where that is drop-tail",
    ),
    column("aqm_forward_packets", INTEGER, "/aqm/forward/packets", "packets that left that queue"),
    column("aqm_forward_dropped_packets", INTEGER, "/aqm/forward/dropped_packets", "dropped by its decision"),
    column(
        "aqm_forward_overflow_packets",
        INTEGER,
        "/aqm/forward/overflow_packets",
        "dropped for want of room",
    ),
    column("aqm_forward_marked_packets", INTEGER, "/aqm/forward/marked_packets", "marked CE"),
    column(
        "aqm_forward_sojourn_us_p50",
        INTEGER,
        "/aqm/forward/sojourn_us_p50",
        "median of the time that packets waited",
    ),
    column(
        "aqm_forward_sojourn_us_p95",
        INTEGER,
        "/aqm/forward/sojourn_us_p95",
        "95th percentile of the same",
    ),
    column(
        "aqm_forward_sojourn_us_p99",
        INTEGER,
        "/aqm/forward/sojourn_us_p99",
        "99th percentile of the same",
    ),
    column(
        "aqm_reverse",
        TEXT,
        "/aqm/reverse/kind",
        "reverse direction: the discipline of its queue; null where that is drop-tail",
    ),
    column("aqm_reverse_packets", INTEGER, "/aqm/reverse/packets", "packets that left that queue"),
    column("aqm_reverse_dropped_packets", INTEGER, "/aqm/reverse/dropped_packets", "dropped by its decision"),
    column(
        "aqm_reverse_overflow_packets",
        INTEGER,
        "/aqm/reverse/overflow_packets",
        "dropped for want of room",
    ),
    column("aqm_reverse_marked_packets", INTEGER, "/aqm/reverse/marked_packets", "marked CE"),
    column(
        "aqm_reverse_sojourn_us_p50",
        INTEGER,
        "/aqm/reverse/sojourn_us_p50",
        "median of the time that packets waited",
    ),
    column(
        "aqm_reverse_sojourn_us_p95",
        INTEGER,
        "/aqm/reverse/sojourn_us_p95",
        "95th percentile of the same",
    ),
    column(
        "aqm_reverse_sojourn_us_p99",
        INTEGER,
        "/aqm/reverse/sojourn_us_p99",
        "99th percentile of the same",
    ),
];
