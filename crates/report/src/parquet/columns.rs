//! What each column of the Parquet file holds, beside the axes.

use ::parquet::basic::Type as Physical;
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::headline::diagnosis;
use pipefill_analysis::findings::metrics::{CaStateTimes, RetransmitCounts, RunMetrics};
use pipefill_core::limit::LimitedBy;

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// One sentence, with the unit where the name has none.
    pub(super) about: &'static str,
    pub(super) value: fn(&CellResult, &RunMetrics) -> Option<Value>,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Float,
    Flag,
    Text,
}

impl Kind {
    pub(super) const fn physical(self) -> Physical {
        match self {
            Self::Integer => Physical::INT64,
            Self::Float => Physical::DOUBLE,
            Self::Flag => Physical::BOOLEAN,
            Self::Text => Physical::BYTE_ARRAY,
        }
    }

    /// As the documentation has it.
    #[cfg(test)]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Integer => "int64",
            Self::Float => "double",
            Self::Flag => "boolean",
            Self::Text => "string",
        }
    }
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Integer(i64),
    Float(f64),
    Flag(bool),
    Text(String),
}

impl Value {
    pub(super) fn integer(self) -> Option<i64> {
        if let Self::Integer(value) = self { Some(value) } else { None }
    }

    pub(super) fn float(self) -> Option<f64> {
        if let Self::Float(value) = self { Some(value) } else { None }
    }

    pub(super) fn flag(self) -> Option<bool> {
        if let Self::Flag(value) = self { Some(value) } else { None }
    }

    pub(super) fn text(self) -> Option<String> {
        if let Self::Text(value) = self { Some(value) } else { None }
    }
}

type Of = fn(&CellResult, &RunMetrics) -> Option<Value>;

const fn integer(name: &'static str, about: &'static str, value: Of) -> Column {
    Column { name, kind: Kind::Integer, about, value }
}

const fn float(name: &'static str, about: &'static str, value: Of) -> Column {
    Column { name, kind: Kind::Float, about, value }
}

const fn flag(name: &'static str, about: &'static str, value: Of) -> Column {
    Column { name, kind: Kind::Flag, about, value }
}

const fn text(name: &'static str, about: &'static str, value: Of) -> Column {
    Column { name, kind: Kind::Text, about, value }
}

/// `None` for what is larger than a column holds: nothing that is measured is.
fn count(value: impl TryInto<i64>) -> Option<Value> {
    value.try_into().ok().map(Value::Integer)
}

fn word(value: &str) -> Option<Value> {
    Some(Value::Text(value.to_owned()))
}

fn kind(run: &RunMetrics, of: fn(&RetransmitCounts) -> u64) -> Option<Value> {
    count(of(run.tcp.retransmits_by_kind.as_ref()?))
}

fn state(run: &RunMetrics, of: fn(&CaStateTimes) -> u64) -> Option<Value> {
    count(of(run.tcp.ca_state_us.as_ref()?))
}

fn share(run: &RunMetrics, of: LimitedBy) -> Option<Value> {
    let shares = &diagnosis(&run.flows)?.limited_fraction;
    Some(Value::Float(shares.get(&of).copied().unwrap_or_default()))
}

/// In the order of the file.
pub(super) const COLUMNS: &[Column] = &[
    integer("cell", "number of the cell in the whole plan, from 0", |cell, _| count(cell.index)),
    text("cell_id", "hash of the cell's resolved values", |_, run| word(&run.cell_id)),
    integer("repeat", "which repetition, from 1", |_, run| Some(Value::Integer(run.repeat.into()))),
    text("run", "the run's id", |_, run| word(&run.id)),
    text("seed", "the run's seed, in decimal: it has 64 bits", |_, run| word(&run.seed.to_string())),
    text("directory", "name of the run's directory", |_, run| word(&run.directory)),
    text("backend", "what ran it: lab or sim", |_, run| word(&run.backend)),
    flag("valid", "whether the run may be believed", |_, run| Some(Value::Flag(run.is_valid()))),
    text("invalid", "why it may not: reasons with commas between; null where it may", |_, run| {
        let reasons: Vec<&str> = run.invalid.iter().map(|one| one.reason.as_str()).collect();
        (!reasons.is_empty()).then(|| Value::Text(reasons.join(",")))
    }),
    flag("deterministic", "whether every run of the cell would be the same", |cell, _| {
        Some(Value::Flag(cell.deterministic))
    }),
    integer("goodput_bps", "payload bits/s at the receivers, in the measured windows", |_, run| {
        count(run.goodput_bps?)
    }),
    integer("goodput_whole_bps", "the same without leaving out a warm-up", |_, run| {
        count(run.goodput_whole_bps?)
    }),
    integer("sender_bps", "payload bits/s that the sending sockets took", |_, run| count(run.sender_bps?)),
    integer("offered_bps", "what the applications offer; null without a limit", |cell, _| {
        count(cell.offered_bps?)
    }),
    float("fairness_index", "Jain's index over the streams", |_, run| run.fairness_index.map(Value::Float)),
    integer("retransmits", "TCP segments sent again", |_, run| count(run.tcp.retransmits?)),
    integer("retransmits_fast", "of these in fast recovery", |_, run| kind(run, |one| one.fast)),
    integer("retransmits_rto", "of these after a timeout", |_, run| kind(run, |one| one.rto)),
    integer("retransmits_tlp", "of these tail loss probes", |_, run| kind(run, |one| one.tlp)),
    integer("retransmits_spurious", "of these in a recovery that was taken back", |_, run| {
        kind(run, |one| one.spurious)
    }),
    integer("min_rtt_us", "smallest RTT of any sender", |_, run| count(run.tcp.min_rtt_us?)),
    integer("srtt_us_p50", "median smoothed RTT, by time", |_, run| count(run.tcp.srtt_us_p50?)),
    integer("srtt_us_p95", "smoothed RTT that 95 % of the time did not exceed", |_, run| {
        count(run.tcp.srtt_us_p95?)
    }),
    integer("cwnd_bytes_p50", "median congestion window", |_, run| count(run.tcp.cwnd_bytes_p50?)),
    integer("rwnd_bytes_p50", "median advertised window", |_, run| count(run.tcp.rwnd_bytes_p50?)),
    integer("in_flight_bytes_p50", "median in flight", |_, run| count(run.tcp.in_flight_bytes_p50?)),
    integer("wmem_queued_bytes_p50", "median send queue, truesize", |_, run| {
        count(run.tcp.wmem_queued_bytes_p50?)
    }),
    integer("sndbuf_bytes_p50", "median limit of the send queue", |_, run| count(run.tcp.sndbuf_bytes_p50?)),
    integer("ca_state_us_open", "time in Open, all streams", |_, run| state(run, |one| one.open)),
    integer("ca_state_us_disorder", "time in Disorder", |_, run| state(run, |one| one.disorder)),
    integer("ca_state_us_cwr", "time in CWR", |_, run| state(run, |one| one.cwr)),
    integer("ca_state_us_recovery", "time in Recovery", |_, run| state(run, |one| one.recovery)),
    integer("ca_state_us_loss", "time in Loss", |_, run| state(run, |one| one.loss)),
    text("limited_by", "what limited the flow with the most to gain", |_, run| {
        word(diagnosis(&run.flows)?.limited_by.as_str())
    }),
    text("cwnd_cause", "where that is cwnd: why it was no larger", |_, run| {
        word(diagnosis(&run.flows)?.cwnd_cause?.as_str())
    }),
    float("limited_fraction_app", "share of the time that app limited it", |_, run| {
        share(run, LimitedBy::App)
    }),
    float("limited_fraction_sndbuf", "the same for sndbuf", |_, run| share(run, LimitedBy::Sndbuf)),
    float("limited_fraction_rwnd", "the same for rwnd", |_, run| share(run, LimitedBy::Rwnd)),
    float("limited_fraction_cwnd", "the same for cwnd", |_, run| share(run, LimitedBy::Cwnd)),
    float("limited_fraction_pacing", "the same for pacing", |_, run| share(run, LimitedBy::Pacing)),
    float("limited_fraction_path", "the same for path", |_, run| share(run, LimitedBy::Path)),
    float("limited_fraction_receiver", "the same for receiver", |_, run| share(run, LimitedBy::Receiver)),
    float("limited_fraction_cpu", "the same for cpu", |_, run| share(run, LimitedBy::Cpu)),
    float("limited_fraction_testbed", "the same for testbed", |_, run| share(run, LimitedBy::Testbed)),
    float("limited_fraction_unknown", "the same for what is unknown", |_, run| {
        share(run, LimitedBy::Unknown)
    }),
    float("lost_percent", "UDP: datagrams that did not arrive", |_, run| {
        run.udp.lost_percent.map(Value::Float)
    }),
    integer("datagrams_sent", "UDP: datagrams sent", |_, run| count(run.udp.datagrams_sent?)),
    integer("datagrams_received", "UDP: datagrams received, duplicates not counted", |_, run| {
        count(run.udp.datagrams_received?)
    }),
    integer("socket_drops", "UDP: dropped by the receivers' sockets", |_, run| count(run.udp.socket_drops?)),
    integer("duplicates", "UDP: received again", |_, run| count(run.udp.duplicates?)),
    integer("reordered", "UDP: arrived after a later one", |_, run| count(run.udp.reordered?)),
    integer("jitter_ns", "UDP: RFC 3550 jitter", |_, run| count(run.udp.jitter_ns?)),
    integer("one_way_delay_min_ns", "UDP: smallest one-way delay", |_, run| {
        count(run.udp.one_way_delay_min_ns?)
    }),
    integer("one_way_delay_p50_ns", "UDP: median one-way delay", |_, run| {
        count(run.udp.one_way_delay_p50_ns?)
    }),
    integer("one_way_delay_p99_ns", "UDP: 99th percentile of the same", |_, run| {
        count(run.udp.one_way_delay_p99_ns?)
    }),
    integer("path_lateness_p99_ns", "lab: how late the path released packets, 99th percentile", |_, run| {
        count(run.instrument.path_lateness_p99_ns?)
    }),
];
