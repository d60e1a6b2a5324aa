//! The value of an axis as a number, for plots and data frames: its text has a unit that only a scenario's parser reads.

use super::forms::loss;
use super::key::{Key, KeyKind};
use super::section::Section;
use crate::cell::LossSpec;
use crate::parse::{bytes, count, duration, queue_limit, rate_or_zero, ratio, sysctl_triple};
use crate::units::QueueLimit;

/// The number behind the text `value` of the axis `path`, and its name: the path with underscores and the unit, an SI base unit (`path.rtt` =
/// `"50ms"` is `path_rtt_s`, 0.05; a rate is `_bps`, a size `_bytes`, a share `_ratio` from 0 to 1, a count has no unit).
///
/// A queue's limit is `_bytes`, `_packets` or `_bdp`, as it is written; of three buffer sizes the number is the largest, `_max_bytes`; a
/// sysctl that is one number keeps its own unit. `None` for what is not a number: a word, a loss model with states, an application.
pub fn axis_number(path: &str, value: &str) -> Option<(String, f64)> {
    let key = key_of(path)?;
    let (unit, number) = match key.kind {
        KeyKind::Duration => ("_s", duration(value).ok()?.as_secs_f64()),
        KeyKind::Rate => ("_bps", rate_or_zero(value).ok()?.bps() as f64),
        KeyKind::Bytes => ("_bytes", bytes(value).ok()?.get() as f64),
        KeyKind::Ratio => ("_ratio", ratio(value).ok()?.fraction()),
        KeyKind::Loss => match loss(value).ok()? {
            LossSpec::None => ("_ratio", 0.0),
            LossSpec::Independent(share) => ("_ratio", share.fraction()),
            LossSpec::GilbertElliott { .. } | LossSpec::Packets(_) => return None,
        },
        KeyKind::Queue => match queue_limit(value).ok()? {
            QueueLimit::Bytes(size) => ("_bytes", size.get() as f64),
            QueueLimit::Packets(packets) => ("_packets", packets as f64),
            QueueLimit::Bdp(multiple) => ("_bdp", multiple),
        },
        KeyKind::Buffers => ("_max_bytes", sysctl_triple(value).ok()?.rsplit(' ').next()?.parse().ok()?),
        // A count of bytes, as `ip link` has it.
        KeyKind::Count if key.name.ends_with("mtu") => ("_bytes", count(value).ok()? as f64),
        KeyKind::Count | KeyKind::Sysctl => ("", count(value).ok()? as f64),
        KeyKind::Flag
        | KeyKind::Word
        | KeyKind::Sizes
        | KeyKind::Application
        | KeyKind::Aqm
        | KeyKind::Writes
        | KeyKind::Trace
        | KeyKind::DelayTrace
        | KeyKind::LossTrace
        | KeyKind::Profile
        | KeyKind::Expectation => return None,
    };
    let name: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Some((name + unit, number))
}

/// The key of an axis; `flow.1.bitrate` is the key `bitrate` of one flow.
fn key_of(path: &str) -> Option<&'static Key> {
    let (section, name) = path.split_once('.')?;
    let section = Section::from_name(section)?;
    let in_one_flow = name
        .split_once('.')
        .filter(|(flow, _)| section == Section::Flow && flow.bytes().all(|byte| byte.is_ascii_digit()));
    Key::find(section, in_one_flow.map_or(name, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::super::table::KEYS;
    use super::*;

    #[test]
    fn an_axis_is_a_number_in_the_base_unit() {
        let cases = [
            ("path.rtt", "50ms", "path_rtt_s", 0.05),
            ("path.rate", "1gbit", "path_rate_bps", 1e9),
            ("path.change.0.rate", "0bit", "path_change_0_rate_bps", 0.0),
            ("path.loss", "0%", "path_loss_ratio", 0.0),
            ("path.loss", "0.1%", "path_loss_ratio", 0.001),
            ("path.reorder", "25%", "path_reorder_ratio", 0.25),
            ("path.queue", "256KiB", "path_queue_bytes", 262_144.0),
            ("path.queue", "1000p", "path_queue_packets", 1_000.0),
            ("path.queue", "0.5bdp", "path_queue_bdp", 0.5),
            ("path.mtu", "9000", "path_mtu_bytes", 9_000.0),
            ("receiver.tcp_rmem", "4096 131072 6MiB", "receiver_tcp_rmem_max_bytes", 6_291_456.0),
            ("host.sysctl.net.core.rmem_max", "212992", "host_sysctl_net_core_rmem_max", 212_992.0),
            ("flow.parallel", "4", "flow_parallel", 4.0),
            ("flow.1.bitrate", "20mbit", "flow_1_bitrate_bps", 2e7),
            ("flow.0.app.response", "64KiB", "flow_0_app_response_bytes", 65_536.0),
        ];
        for (path, value, name, number) in cases {
            assert_eq!(axis_number(path, value), Some((name.to_owned(), number)), "{path}");
        }
    }

    #[test]
    fn what_is_not_a_number_has_none() {
        let cases = [
            ("variant", "tcp"),
            ("connection", "10.0.0.1:5"),
            ("host.congestion_control", "bbr"),
            ("path.loss", "gilbert-elliott p=1% r=20%"),
            ("path.ecn", "true"),
            ("host.sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("path.rtt", "50"),
            ("flow.x.bitrate", "20mbit"),
            ("path.none", "1"),
        ];
        for (path, value) in cases {
            assert_eq!(axis_number(path, value), None, "{path}");
        }
    }

    /// The examples of the reference: a number is finite, and its name begins with the path's.
    #[test]
    fn every_keys_example_is_a_finite_number_or_none() {
        for key in KEYS {
            let path = format!("{}.{}", key.sections[0], key.name);
            if let Some((name, number)) = axis_number(&path, key.example) {
                assert!(number.is_finite() && name.starts_with(&path.replace('.', "_")), "{name}");
            }
        }
    }
}
