//! Advice for connections that nobody planned: not what a scenario would have, but what to change on which machine.

use crate::findings::finding::Advice;
use pipefill_core::cell::Direction;

/// The two machines of a connection, in advice.
const HERE: &str = "on this host";
const PEER: &str = "on the peer";

/// Advice that was made at the peer of a connection, as it reads here.
pub(super) fn told_by_peer(advice: Advice) -> Advice {
    // A change that names both machines has a part for each.
    let swapped = |part: &str| match part.contains(HERE) {
        true => part.replace(HERE, PEER),
        false => part.replace(PEER, HERE),
    };
    let commands = advice.commands.iter().map(|command| swapped(command)).collect();
    let change = advice.change.split(", ").map(swapped).collect::<Vec<_>>().join(", ");
    Advice { change, commands, ..advice }
}

/// `advice` for a flow in `direction` between this host and its peer. Nothing of it can be set in a scenario.
pub fn for_machines(advice: Advice, direction: Direction) -> Advice {
    if advice.set.is_empty() {
        return advice;
    }
    let host = |sends: bool| match sends == (direction == Direction::Forward) {
        true => HERE,
        false => PEER,
    };
    let words: Vec<String> = advice.set.iter().map(|set| in_words(set, &host)).collect();
    let commands = advice.commands.iter().map(|line| {
        let (command, note) = line.split_once("    # ").unwrap_or((line, "sender"));
        let is_receivers = note.starts_with("receiver") || note.contains("that receives");
        // The flow's hosts are named after forward data.
        let sends = is_receivers != (direction == Direction::Forward);
        format!("{command}    # {}", host(sends))
    });
    Advice { change: words.join(", "), commands: commands.collect(), set: Vec::new(), ..advice }
}

/// An assignment of a scenario as a change of a machine. `host` names the one that sends the flow's data, or receives it.
fn in_words(set: &str, host: &impl Fn(bool) -> &'static str) -> String {
    let (key, value) = set.split_once('=').unwrap_or((set, ""));
    let name = key.rsplit('.').next().unwrap_or(key);
    // A scenario's sender is the end that forward data comes from: here this host.
    let of_host = |name: &str| format!("{name} = {value}");
    match (key.split('.').next().unwrap_or(key), name) {
        (_, "parallel") => format!("{value} connections at once"),
        (_, "duration") => format!("a transfer of {value} and more"),
        (_, "max_pacing_rate") => format!("SO_MAX_PACING_RATE of {value} {}", host(true)),
        (_, "sndbuf") => format!("SO_SNDBUF of {value} {}", host(true)),
        (_, "rcvbuf") => format!("SO_RCVBUF of {value} {}", host(false)),
        (_, "congestion_control") => format!("congestion control {value} {}", host(true)),
        (_, "tcp_wmem") => format!("{} {}", of_host("net.ipv4.tcp_wmem"), host(true)),
        ("path", "queue" | "reverse_queue") => format!("a queue of {value} at the bottleneck"),
        ("path", _) => format!("{name} of {value} on the path"),
        _ => format!("{} {}", of_host(&format!("net.ipv4.{name}")), host(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(set: &str, command: &str, direction: Direction) -> (String, String) {
        let advice =
            Advice { set: vec![set.to_owned()], commands: vec![command.to_owned()], ..Advice::default() };
        let advice = for_machines(advice, direction);
        assert!(advice.set.is_empty());
        (advice.change, advice.commands[0].clone())
    }

    #[test]
    fn what_the_peer_is_told_reads_the_other_way_here() {
        let advice = Advice {
            change: "SO_SNDBUF of 4MiB on this host, SO_RCVBUF of 4MiB on the peer".to_owned(),
            commands: vec!["sysctl -w x=1    # on this host".to_owned()],
            ..Advice::default()
        };
        let here = told_by_peer(advice);
        assert_eq!(here.change, "SO_SNDBUF of 4MiB on the peer, SO_RCVBUF of 4MiB on this host");
        assert_eq!(here.commands, ["sysctl -w x=1    # on the peer"]);
    }

    #[test]
    fn a_change_names_its_machine() {
        let (change, command) = told(
            "receiver.tcp_rmem=4096 131072 6291456",
            "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'    # receiver",
            Direction::Forward,
        );
        assert_eq!(change, "net.ipv4.tcp_rmem = 4096 131072 6291456 on the peer");
        assert!(command.ends_with("# on the peer"), "{command}");
        // What is received from the peer: the scenario's sender is this host, which receives.
        let (change, command) = told(
            "sender.tcp_rmem=4096 131072 6291456",
            "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'    # sender",
            Direction::Reverse,
        );
        assert_eq!(change, "net.ipv4.tcp_rmem = 4096 131072 6291456 on this host");
        assert!(command.ends_with("# on this host"), "{command}");
        let (change, _) = told("flow.parallel=4", "", Direction::Forward);
        assert_eq!(change, "4 connections at once");
    }
}
