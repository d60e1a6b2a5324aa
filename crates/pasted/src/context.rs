//! What a host counts beside its connections: the text of `tc -s qdisc` and of `nstat -az`, alone or one after the other in any order.

use crate::{BYTES_MAX, ReadError};
use pipefill_core::parse::tc::{rate, size};
use pipefill_core::record::{CounterReading, HostContext, HostCounter, QdiscReading};
use pipefill_core::units::Rate;

/// More disciplines than these are not kept; a host has one or two for each interface.
pub const QDISCS_MAX: usize = 1_024;
/// More counters than these are not kept; `nstat -az` prints each once.
pub const COUNTERS_MAX: usize = 1_024;

/// Reads `bytes` of the file called `source`.
///
/// # Errors
/// [`ReadError`] where they are too large, or hold neither a queueing discipline nor a counter.
pub fn read_context(bytes: &[u8], source: &str) -> Result<HostContext, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let text = String::from_utf8_lossy(bytes);
    let mut context = HostContext::default();
    let (mut is_in_qdisc, mut has_counters) = (false, false);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["qdisc", kind, handle, ref rest @ ..] => {
                is_in_qdisc = context.qdiscs.len() < QDISCS_MAX;
                if is_in_qdisc {
                    context.qdiscs.push(begun(source, kind, handle, rest));
                }
            }
            [name, value, ..] if is_counter(name) && value.parse::<u64>().is_ok() => {
                (is_in_qdisc, has_counters) = (false, true);
                let counts = HostCounter::of_name(name).filter(|_| context.counters.len() < COUNTERS_MAX);
                if let (Some(counts), Ok(value)) = (counts, value.parse()) {
                    let name = name.to_owned();
                    context.counters.push(CounterReading { source: source.to_owned(), name, counts, value });
                }
            }
            _ => {
                if let Some(qdisc) = context.qdiscs.last_mut().filter(|_| is_in_qdisc) {
                    add(qdisc, &words);
                }
            }
        }
    }
    if context.qdiscs.is_empty() && !has_counters {
        return Err(ReadError::Unknown);
    }
    Ok(context)
}

/// `TcpExtTCPTimeouts`: the group and the counter are one word (`nstat.c`).
fn is_counter(word: &str) -> bool {
    let groups = ["Ip", "Icmp", "Tcp", "Udp", "MPTcp"];
    groups.iter().any(|group| word.starts_with(group))
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The first line of a discipline: `qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 32Kb lat 50ms` (`print_qdisc()` of iproute2).
fn begun(source: &str, kind: &str, handle: &str, words: &[&str]) -> QdiscReading {
    let after = |name: &str| words.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
    // cake calls it bandwidth; netem's rate shapes too.
    let shaped = after("rate").or_else(|| after("bandwidth")).and_then(rate);
    QdiscReading {
        source: source.to_owned(),
        kind: kind.to_owned(),
        handle: handle.to_owned(),
        device: after("dev").map(str::to_owned),
        rate_bps: shaped.map(Rate::bps).filter(|&bps| bps > 0),
        ..QdiscReading::default()
    }
}

/// A further line of a discipline (`print_tcstats2_attr()`, and `print_xstats` of each kind).
fn add(qdisc: &mut QdiscReading, words: &[&str]) {
    match *words {
        // cake prints a column for each of its tins.
        ["marks", ref tins @ ..] => {
            let marks = tins.iter().filter_map(|word| word.parse::<u64>().ok());
            mark(qdisc, marks.fold(0, u64::saturating_add));
        }
        ["backlog", bytes, packets, ..] => {
            qdisc.backlog_bytes = size(bytes).map(pipefill_core::units::Bytes::get);
            qdisc.backlog_packets = packets.strip_suffix('p').and_then(|count| count.parse().ok());
        }
        _ => {
            for pair in words.windows(2) {
                let value = pair[1].trim_end_matches([',', ')']).parse::<u64>().ok();
                match pair[0].trim_start_matches('(') {
                    "Sent" => qdisc.sent_bytes = qdisc.sent_bytes.or(value),
                    "dropped" => qdisc.dropped_packets = qdisc.dropped_packets.or(value),
                    "overlimits" => qdisc.overlimits = qdisc.overlimits.or(value),
                    // codel and fq_codel, pie and dualpi2; red, sfq and gred; fq.
                    "ecn_mark" | "marked" | "ce_mark" | "step_marks" | "step_mark" => {
                        value.into_iter().for_each(|value| mark(qdisc, value));
                    }
                    _ => {}
                }
                if pair[1] == "pkt" {
                    qdisc.sent_packets = qdisc.sent_packets.or(pair[0].parse().ok());
                }
            }
        }
    }
}

fn mark(qdisc: &mut QdiscReading, packets: u64) {
    qdisc.marked_packets = Some(qdisc.marked_packets.unwrap_or(0).saturating_add(packets));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TC: &str = "\
qdisc tbf 1: dev veth0 root refcnt 2 rate 10Mbit burst 32Kb lat 25.0ms
 Sent 195450545 bytes 2252952 pkt (dropped 213, overlimits 65672 requeues 0)
 backlog 12Kb 8p requeues 0
qdisc fq_codel 120: dev eth0.2 parent 1:12 limit 1001p flows 1024 quantum 300 target 14.0ms interval 109.0ms ecn
 Sent 182216717 bytes 2225671 pkt (dropped 213, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 17 ecn_mark 9
  new_flows_len 0 old_flows_len 0
qdisc cake 8001: root refcnt 2 bandwidth 20Mbit diffserv3 triple-isolate
 Sent 5 bytes 1 pkt (dropped 0, overlimits 2 requeues 0)
                   Bulk  Best Effort        Voice
  thresh       1250Kbit       20Mbit        5Mbit
  marks               1           2            3
";
    const NSTAT: &str = "\
#kernel
IpInReceives                    24567              0.0
TcpExtTCPTimeouts               3                  0.0
TcpExtListenDrops               0                  0.0
";

    #[test]
    fn disciplines_and_counters_are_read_from_one_text() {
        for text in [format!("{TC}{NSTAT}"), format!("{NSTAT}{TC}")] {
            let context = read_context(text.as_bytes(), "here").unwrap();
            let [tbf, fq_codel, cake] = &context.qdiscs[..] else { panic!("{context:?}") };
            assert_eq!(
                (tbf.kind.as_str(), tbf.handle.as_str(), tbf.device.as_deref()),
                ("tbf", "1:", Some("veth0"))
            );
            assert_eq!(
                (tbf.rate_bps, tbf.sent_bytes, tbf.sent_packets),
                (Some(10_000_000), Some(195_450_545), Some(2_252_952))
            );
            assert_eq!(
                (tbf.dropped_packets, tbf.overlimits, tbf.marked_packets),
                (Some(213), Some(65_672), None)
            );
            assert_eq!((tbf.backlog_bytes, tbf.backlog_packets), (Some(12_288), Some(8)));
            assert_eq!(
                (fq_codel.rate_bps, fq_codel.marked_packets, fq_codel.backlog_bytes),
                (None, Some(9), Some(0))
            );
            assert_eq!(
                (cake.rate_bps, cake.marked_packets, cake.device.as_deref()),
                (Some(20_000_000), Some(6), None)
            );
            let counters: Vec<(&str, u64)> =
                context.counters.iter().map(|counter| (counter.name.as_str(), counter.value)).collect();
            assert_eq!(counters, [("TcpExtTCPTimeouts", 3), ("TcpExtListenDrops", 0)]);
        }
    }

    #[test]
    fn what_a_discipline_does_not_print_is_absent() {
        let context = read_context(b"qdisc noqueue 0: dev lo root refcnt 2\n", "here").unwrap();
        let wanted = QdiscReading {
            source: "here".to_owned(),
            kind: "noqueue".to_owned(),
            handle: "0:".to_owned(),
            device: Some("lo".to_owned()),
            ..QdiscReading::default()
        };
        assert_eq!(context.qdiscs, [wanted]);
        assert_eq!(read_context(b"iperf Done.\n", "here"), Err(ReadError::Unknown));
    }
}
