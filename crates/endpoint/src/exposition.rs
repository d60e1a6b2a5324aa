//! The metrics as text, by the encoders of `prometheus-client`. `docs/metrics.md` lists them.

use crate::accept::Form;
use pipefill_core::cell::Direction;
use pipefill_observe::{GroupFigures, Metrics, OTHER, RTT_BOUNDS_US, RttCounts, Sum, WorstConnection};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::CounterWithExemplar;
use prometheus_client::registry::{Registry, Unit};
use std::fmt::{self, Write};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::UNIX_EPOCH;

/// Labels of a series, or of an exemplar.
type Labels<'a> = Vec<(&'static str, &'a str)>;

/// How the lines of the buckets of round trips begin.
const RTT_BUCKET: &str = "pipefill_rtt_seconds_bucket{";

/// All metrics in one form.
pub(crate) fn render(metrics: &Arc<Metrics>, form: Form) -> String {
    let mut registry = Registry::with_prefix("pipefill");
    registry.register_collector(Box::new(Exposition(Arc::clone(metrics))));
    let mut out = String::new();
    let written = match form {
        Form::Text => prometheus_text::encode(&mut out, &registry),
        Form::OpenMetrics => text::encode(&mut out, &registry),
    };
    let with_exemplars = match form {
        Form::Text => Ok(()),
        Form::OpenMetrics => with_rtt_exemplars(&mut out, metrics),
    };
    // A String takes everything.
    written.and(with_exemplars).map(|()| out).unwrap_or_default()
}

/// Adds the longest round trip of each group to the bucket that it is in, as its exemplar: those of histograms nobody but the crate can make.
/// The buckets are in the order of the groups.
fn with_rtt_exemplars(out: &mut String, metrics: &Metrics) -> fmt::Result {
    let buckets = groups(metrics).flat_map(|(_, figures)| {
        let worst = figures.rtt.worst;
        let at = worst.map(|worst| RttCounts::bucket(worst.amount));
        (0..figures.rtt.counts.len()).map(move |place| worst.filter(|_| at == Some(place)))
    });
    let (plain, mut buckets) = (std::mem::take(out), buckets);
    for line in plain.lines() {
        out.push_str(line);
        if line.starts_with(RTT_BUCKET)
            && let Some(WorstConnection { local, remote, amount, at, .. }) = buckets.next().flatten()
        {
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            let rtt = seconds(amount);
            write!(out, " # {{local=\"{local}\",remote=\"{remote}\"}} {rtt:?} {at:?}")?;
        }
        out.push('\n');
    }
    Ok(())
}

#[derive(Debug)]
struct Exposition(Arc<Metrics>);

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = &*self.0;
        for family in &GROUP_FAMILIES {
            let unit = family.unit.as_ref();
            let mut of_family = encoder.encode_descriptor(family.name, family.help, unit, family.kind)?;
            for (labels, figures) in groups(metrics) {
                (family.write)(&labels, figures, &mut of_family)?;
            }
        }
        let looks = &metrics.looks;
        let late = Some(&Unit::Seconds);
        encoder
            .encode_descriptor(
                "look_late_max",
                "How late a look at all sockets was at most",
                late,
                MetricType::Gauge,
            )?
            .encode_gauge(&seconds(looks.late_us))?;
        for (name, help, value) in [
            ("connections", "TCP connections that are followed", metrics.followed),
            ("groups", "Groups with labels of their own", metrics.groups.len() as u64),
            (
                "groups_limit",
                "Groups with labels of their own that there can be at most",
                metrics.groups_max as u64,
            ),
        ] {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        for (name, help, value) in [
            (
                "folded_connections",
                "Connections that found no room for a group of their own and were counted under other",
                Some(metrics.folded_connections),
            ),
            ("looks", "Looks at all sockets", Some(looks.looks)),
            (
                "interrupted_looks",
                "Looks during which sockets came and went, so that one may be missing",
                Some(looks.interrupted),
            ),
            ("closed_connections", "Connections that closed after at least two looks", Some(looks.closed)),
            (
                "short_connections",
                "Connections seen in one look only, too short to judge",
                Some(looks.too_short),
            ),
            (
                "not_followed_connections",
                "Connections beyond those that are followed",
                Some(looks.not_followed),
            ),
            (
                "unseen_connections",
                "Connections that opened and closed between two looks, at least; absent where that is unknown",
                looks.unseen,
            ),
        ] {
            if let Some(value) = value {
                encoder
                    .encode_descriptor(name, help, None, MetricType::Counter)?
                    .encode_counter::<NoLabelSet, _, u64>(&value, None)?;
            }
        }
        encoder
            .encode_descriptor("build", "The version of pipefill", None, MetricType::Info)?
            .encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
    }
}

/// A metric that each group has.
struct GroupFamily {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    kind: MetricType,
    write: fn(&Labels<'_>, &GroupFigures, &mut MetricEncoder<'_>) -> fmt::Result,
}

const GROUP_FAMILIES: [GroupFamily; 6] = [
    GroupFamily {
        name: "limited",
        help: "Time of busy connections by what limited them, summed over connections",
        unit: Some(Unit::Seconds),
        kind: MetricType::Counter,
        write: |group, figures, encoder| {
            figures.held_us.iter().try_for_each(|(held_by, sum)| {
                let own = [
                    ("direction", held_by.direction.as_str()),
                    ("limited_by", held_by.limited_by.as_str()),
                    ("cause", held_by.cause.map_or("", |cause| cause.as_str())),
                ];
                encode_sum(&mut encoder.encode_family(&with(group, &own))?, sum, seconds)
            })
        },
    },
    GroupFamily {
        name: "goodput",
        help: "Payload that peers acknowledged (forward) and that came from them (reverse)",
        unit: Some(Unit::Bytes),
        kind: MetricType::Counter,
        write: |group, figures, encoder| {
            let both =
                [(Direction::Forward, figures.sent_bytes), (Direction::Reverse, figures.received_bytes)];
            both.iter().try_for_each(|(direction, bytes)| {
                encoder
                    .encode_family(&with(group, &[("direction", direction.as_str())]))?
                    .encode_counter::<NoLabelSet, _, u64>(bytes, None)
            })
        },
    },
    GroupFamily {
        name: "retransmits",
        help: "TCP segments that were sent again",
        unit: None,
        kind: MetricType::Counter,
        write: |group, figures, encoder| {
            encode_sum(&mut encoder.encode_family(group)?, &figures.retransmits, |count| count as f64)
        },
    },
    GroupFamily {
        name: "rtt",
        help: "Smoothed round trip of each busy connection at each look",
        unit: Some(Unit::Seconds),
        kind: MetricType::Histogram,
        write: |group, figures, encoder| {
            let bounds = RTT_BOUNDS_US.iter().map(|&us| seconds(us)).chain(iter::once(f64::INFINITY));
            let buckets: Vec<(f64, u64)> = bounds.zip(figures.rtt.counts).collect();
            let count = figures.rtt.counts.iter().sum();
            encoder.encode_family(group)?.encode_histogram::<NoLabelSet>(
                seconds(figures.rtt.sum_us),
                count,
                &buckets,
                None,
            )
        },
    },
    GroupFamily {
        name: "busy_connections",
        help: "TCP connections that carried something in the last three seconds, or have something to carry",
        unit: None,
        kind: MetricType::Gauge,
        write: |group, figures, encoder| encoder.encode_family(group)?.encode_gauge(&figures.busy),
    },
    GroupFamily {
        name: "udp_dropped_datagrams",
        help: "Datagrams that UDP sockets dropped for want of room in their receive buffers",
        unit: None,
        kind: MetricType::Counter,
        write: |group, figures, encoder| {
            encoder.encode_family(group)?.encode_counter::<NoLabelSet, _, u64>(&figures.udp_drops, None)
        },
    },
];

/// The labels and figures of each group, and of all others where something was counted there.
fn groups(metrics: &Metrics) -> impl Iterator<Item = (Labels<'_>, &GroupFigures)> {
    let names = &metrics.label_names;
    let own = metrics.groups.iter().map(|(labels, figures)| {
        (names.iter().copied().zip(labels.iter().map(String::as_str)).collect(), figures)
    });
    let others = (metrics.other != GroupFigures::default())
        .then(|| (names.iter().map(|&name| (name, OTHER)).collect(), &metrics.other));
    own.chain(others)
}

fn with<'a>(group: &Labels<'a>, own: &[(&'static str, &'static str)]) -> Labels<'a> {
    group.iter().copied().chain(own.iter().copied()).collect()
}

/// A sum with who added most to it as its exemplar, both in the unit of the metric.
fn encode_sum(encoder: &mut MetricEncoder<'_>, sum: &Sum, in_unit: fn(u64) -> f64) -> fmt::Result {
    // The crate lets only its own counters make exemplars.
    let added: CounterWithExemplar<Vec<(&'static str, String)>, f64, AtomicU64> =
        CounterWithExemplar::default();
    if let Some(WorstConnection { local, remote, amount, at, .. }) = sum.worst {
        let ends = vec![("local", local.to_string()), ("remote", remote.to_string())];
        added.inc_by(in_unit(amount), Some(ends), Some(at));
    }
    let (_, exemplar) = added.get();
    encoder.encode_counter(&in_unit(sum.total), exemplar.as_ref())
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::findings::connections::Connections;
    use pipefill_core::limit::{Cause, LimitedBy};
    use pipefill_observe::{HeldBy, RttCounts};
    use std::collections::BTreeMap;

    fn metrics(process: &str) -> Arc<Metrics> {
        let held_by = HeldBy {
            direction: Direction::Forward,
            limited_by: LimitedBy::Cwnd,
            cause: Some(Cause::RandomLoss),
        };
        let mut rtt = RttCounts { sum_us: 2_550_000, ..RttCounts::default() };
        (rtt.counts[0], rtt.counts[15]) = (1, 1);
        let figures = GroupFigures {
            held_us: BTreeMap::from([(held_by, Sum { total: 1_500_000, worst: None })]),
            sent_bytes: 7,
            rtt,
            ..GroupFigures::default()
        };
        Arc::new(Metrics {
            label_names: vec!["process"],
            groups: vec![(vec![process.to_owned()], figures)],
            other: GroupFigures { received_bytes: 9, ..GroupFigures::default() },
            groups_max: 1,
            folded_connections: 3,
            followed: 4,
            looks: Connections { looks: 5, ..Connections::new() },
            findings: Vec::new(),
        })
    }

    #[test]
    fn both_forms_have_the_same_series_with_their_own_names_of_counters() {
        let metrics = metrics("nginx");
        let (text, open) = (render(&metrics, Form::Text), render(&metrics, Form::OpenMetrics));
        for line in [
            "pipefill_limited_seconds_total{process=\"nginx\",direction=\"forward\",limited_by=\"cwnd\",cause=\"random_loss\"} 1.5",
            "pipefill_goodput_bytes_total{process=\"nginx\",direction=\"forward\"} 7",
            "pipefill_goodput_bytes_total{process=\"other\",direction=\"reverse\"} 9",
            "pipefill_rtt_seconds_sum{process=\"nginx\"} 2.55",
            "pipefill_folded_connections_total 3",
            "pipefill_looks_total 5",
        ] {
            for form in [&text, &open] {
                assert!(form.lines().any(|other| other == line), "{line}: {form}");
            }
        }
        assert!(text.contains("pipefill_rtt_seconds_bucket{process=\"nginx\",le=\"+Inf\"} 2\n"), "{text}");
        assert!(open.contains("pipefill_rtt_seconds_bucket{le=\"+Inf\",process=\"nginx\"} 2\n"), "{open}");
        assert!(text.contains("# TYPE pipefill_limited_seconds_total counter\n"), "{text}");
        assert!(
            open.contains(
                "# TYPE pipefill_limited_seconds counter\n# UNIT pipefill_limited_seconds seconds\n"
            ),
            "{open}"
        );
        assert!(open.ends_with("\n# EOF\n") && !text.contains("# EOF"));
        for form in [&text, &open] {
            assert!(!form.contains("unseen_connections"), "it is not known: {form}");
            assert!(!form.contains("limited_by=\"app\""), "{form}");
        }
    }

    /// Anybody may choose the name of a process.
    #[test]
    fn hostile_names_of_processes_stay_in_their_labels() {
        let hostile = "a\"} 1\n# EOF\nx{y=\"\\";
        for form in [Form::Text, Form::OpenMetrics] {
            let (told, plain) = (render(&metrics(hostile), form), render(&metrics("a"), form));
            assert_eq!(told.lines().count(), plain.lines().count(), "{told}");
            assert!(told.contains("process=\"a\\\"} 1\\n# EOF\\nx{y=\\\"\\\\\""), "{told}");
        }
    }

    #[test]
    fn the_longest_round_trip_of_a_group_is_the_exemplar_of_its_bucket() {
        let with_worst = |rtt_us: u64| {
            let mut metrics = metrics("a");
            let own = Arc::get_mut(&mut metrics).unwrap();
            own.other.rtt.worst = Some(WorstConnection::new(
                ([192, 0, 2, 1], 80),
                ([192, 0, 2, 2], 81),
                rtt_us,
                UNIX_EPOCH + std::time::Duration::from_millis(1_500),
            ));
            (render(&metrics, Form::Text), render(&metrics, Form::OpenMetrics))
        };
        for (rtt_us, le, seconds) in
            [(50, "0.00005", "5e-5"), (1_500, "0.002", "0.0015"), (9_000_000, "+Inf", "9.0")]
        {
            let (text, open) = with_worst(rtt_us);
            let line = format!(
                "pipefill_rtt_seconds_bucket{{le=\"{le}\",process=\"other\"}} 0 # {{local=\"192.0.2.1:80\",remote=\"192.0.2.2:81\"}} {seconds} 1.5\n"
            );
            assert!(open.contains(&line), "{line}: {open}");
            assert_eq!(open.matches(" # {").count(), 1, "{open}");
            assert!(!text.contains(" # {"), "{text}");
        }
    }

    #[test]
    fn all_others_have_no_series_where_nothing_was_counted_for_them() {
        let mut metrics = metrics("a");
        Arc::get_mut(&mut metrics).unwrap().other = GroupFigures::default();
        assert!(!render(&metrics, Form::Text).contains("\"other\""));
    }
}
