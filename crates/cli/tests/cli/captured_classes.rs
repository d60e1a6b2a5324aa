//! Classes of causes in which captures were once judged wrong, planted at other rates, round trips, queues and sizes: losses of queues of a few packets,
//! segments behind a smaller MTU, requests that are lost, a program whose own window fills the pipe, a path that
//! gets longer, and faster, a way back that is cut, or slow.

use crate::pcap::pcap_json;
use crate::pipefill::{Folder, names};
use serde_json::Value;
use std::fs;

const ENDS: [&str; 2] = ["sender", "receiver"];

/// The largest flow of each capture of the cells of a scenario: the run's name, the end, and the verdict.
fn judged(scenario: &str) -> Vec<(String, &'static str, Value)> {
    let folder = Folder::new();
    fs::write(folder.path("x.toml"), format!("name = \"x\"\n{scenario}[run]\nrepeat = 1\n")).unwrap();
    let words = ["run", "x.toml", "--on", "sim", "--capture", "--quiet", "--out", "o"];
    assert!(folder.pipefill(&words).output().unwrap().status.success());
    let runs = folder.path("o/runs");
    let judge = |run: String| {
        ENDS.map(|end| {
            let found = pcap_json(&folder, &runs.join(&run).join(format!("artifacts/{end}.pcapng")));
            let flows = found["flows"].as_array().unwrap();
            let largest = flows.iter().max_by_key(|flow| flow["bytes"].as_u64());
            (run.clone(), end, largest.unwrap().clone())
        })
    };
    names(&runs).into_iter().flat_map(judge).collect()
}

fn named(flow: &Value) -> String {
    let word = |key: &str| flow[key].as_str().unwrap_or("null").to_owned();
    format!("{}/{}", word("limited_by"), word("cause"))
}

/// A queue of 4 or 10 packets holds up to an eighth of what is in flight, so that there are one to three losses after slow start. Near the receiver one
/// of the eight, of 4 packets, looks like a policer's bucket.
#[test]
fn the_few_losses_of_a_short_queue_are_neither_chance_nor_a_policers() {
    let found = judged(
        "[path]\nrtt = [\"50ms\", \"120ms\"]\nrate = \"20mbit\"\nqueue = [\"4p\", \"10p\"]\n[host]\ncongestion_control = [\"reno\", \"cubic\"]\n[[flow]]\nduration = \"8s\"\n",
    );
    assert_eq!(found.len(), 16);
    let right = ["cwnd/queue_loss", "cwnd/growth", "path/full"];
    let is_wrong = |flow: &Value| !right.contains(&&*named(flow)) && named(flow) != "cwnd/null";
    let wrong: Vec<(&str, &str)> =
        found.iter().filter(|(.., flow)| is_wrong(flow)).map(|(run, end, _)| (&**run, *end)).collect();
    assert!(wrong.len() <= 1 && wrong.iter().all(|(_, end)| *end == "receiver"), "{wrong:?}");
    let named_right = found.iter().filter(|(.., flow)| right.contains(&&*named(flow))).count();
    assert!(2 * named_right >= found.len(), "{named_right} have a cause");
}

/// The handshake agrees on 1448 bytes, and a link between the hosts carries less; its router says so.
#[test]
fn segments_of_a_path_with_a_smaller_mtu_are_no_small_writes() {
    let found = judged(
        "[path]\nrtt = [\"10ms\", \"30ms\"]\nrate = \"20mbit\"\nqueue = \"2bdp\"\ninner_mtu = [1400, 1000]\n[host]\ncongestion_control = [\"reno\", \"cubic\"]\n[[flow]]\nduration = \"4s\"\n",
    );
    assert_eq!(found.len(), 16);
    for (run, end, flow) in &found {
        assert_eq!(named(flow), "path/full", "{run}, near the {end}");
    }
}

/// A turn takes 5 ms, and one of eight waits for a timer of more than 200 ms: five times as long as all turns.
#[test]
fn requests_that_are_lost_wait_for_a_timer() {
    let found = judged(
        "[path]\nrtt = \"5ms\"\nrate = \"20mbit\"\nloss = \"6%\"\nreverse_loss = \"6%\"\n[[flow]]\napp = { kind = \"requests\", request = \"200B\", response = \"50B\", count = 150 }\n",
    );
    // The requests are the larger part, and the scenario's receiver sends them.
    let near_the_client = found.iter().find(|(_, end, _)| *end == "receiver");
    assert_eq!(near_the_client.map(|(.., flow)| named(flow)).as_deref(), Some("cwnd/timeout"));
}

/// An upload of 32 KiB pieces, two or four of them open at a time: three times what fits into the pipe and more, so that a queue stands whatever the program
/// writes when. Its data go from the scenario's receiver to the sender.
#[test]
fn a_programs_window_that_fills_the_pipe_is_a_full_path() {
    let found = judged(
        "[path]\nrtt = [\"15ms\", \"33ms\", \"45ms\"]\nrate = \"50mbit\"\nreverse_rate = [\"2.4mbit\", \"4mbit\"]\nreverse_queue = \"80p\"\n[[flow]]\nduration = \"8s\"\n[flow.app]\nkind = \"requests\"\nrequest = \"32KiB\"\nresponse = \"36B\"\noutstanding = [2, 4]\n",
    );
    let (near_the_sender, near_the_receiver): (Vec<_>, Vec<_>) =
        found.iter().partition(|(_, end, _)| *end == "receiver");
    assert_eq!(near_the_sender.len(), 12);
    for (run, _, flow) in near_the_sender {
        assert_eq!(named(flow), "path/full", "{run}");
    }
    // Of one, the receiver's round trip is a little less than one and a half times the least.
    let full = near_the_receiver.iter().filter(|(.., flow)| named(flow) == "path/full").count();
    assert!(full >= 11, "{full} of {}", near_the_receiver.len());
}

/// A detour of 92 ms instead of 11, with room for five times the window that the queue of before has left: the long round trip is no queue's.
#[test]
fn a_window_that_grows_on_a_path_that_got_longer_fills_no_queue() {
    let found = judged(
        "[path]\nrtt = \"11ms\"\nrate = [\"30mbit\", \"58mbit\"]\nqueue = \"40p\"\n[[path.change]]\nat = \"1.6s\"\nrtt = \"92ms\"\n[host]\ncongestion_control = \"reno\"\n[[flow]]\nduration = \"9s\"\n",
    );
    assert_eq!(found.len(), 4);
    for (run, _, flow) in found.iter().filter(|(_, end, _)| *end == "sender") {
        assert_eq!(named(flow), "cwnd/growth", "{run}");
    }
}

/// A link that fails over to a faster one with a longer way, while the queue before it stood: no rate that was measured before holds since, nor does a round
/// trip.
#[test]
fn a_window_that_grows_on_a_path_that_got_longer_and_faster_fills_no_queue() {
    let found = judged(
        "[path]\nrtt = \"15ms\"\nrate = [\"13mbit\", \"26mbit\"]\nqueue = \"50p\"\n[[path.change]]\nat = \"1.6s\"\nrtt = \"125ms\"\nrate = \"70mbit\"\n[host]\ncongestion_control = [\"reno\", \"cubic\"]\n[[flow]]\nduration = \"9s\"\n",
    );
    assert_eq!(found.len(), 8);
    let all_named = |wanted: &str| {
        let of_end = found.iter().filter(|(_, end, _)| *end == wanted);
        of_end.map(|(.., flow)| named(flow)).collect::<Vec<String>>()
    };
    let [near_the_sender, near_the_receiver] = ENDS.map(all_named);
    assert!(near_the_sender.iter().all(|named| named == "cwnd/growth"), "{near_the_sender:?}");
    let is_wrong = |named: &&String| !["cwnd/growth", "unknown/null"].contains(&named.as_str());
    assert_eq!(near_the_receiver.iter().find(is_wrong), None);
    assert!(near_the_receiver.iter().filter(|named| *named == "cwnd/growth").count() >= 3);
}

/// Nothing comes back while the timer is doubled again and again, although all that was sent is there in the end.
#[test]
fn a_way_back_that_is_cut_is_silence_near_the_sender_although_the_data_arrive() {
    let found = judged(
        "[path]\nrtt = [\"15ms\", \"60ms\"]\nrate = [\"8mbit\", \"25mbit\"]\nqueue = \"2bdp\"\n[[path.change]]\nat = \"2s\"\nfor = \"5s\"\nreverse_loss = \"100%\"\n[host]\ncongestion_control = [\"reno\", \"cubic\"]\n[[flow]]\nduration = \"9s\"\n",
    );
    assert_eq!(found.len(), 16);
    for (run, _, flow) in found.iter().filter(|(_, end, _)| *end == "sender") {
        assert_eq!(named(flow), "path/silence", "{run}");
    }
}

/// ACKs wait in a queue of their own: round trips are long, and the data's are not, by the timestamps that come back with them. Near the receiver few
/// round trips of a second are seen: one of the 16 is unknown.
#[test]
fn a_slow_way_back_is_told_from_a_full_path_at_either_end() {
    let found = judged(
        "[path]\nrtt = [\"20ms\", \"50ms\"]\nrate = [\"25mbit\", \"60mbit\"]\nqueue = [\"0.5bdp\", \"1bdp\"]\nreverse_rate = [\"40kbit\", \"90kbit\"]\nreverse_queue = \"250p\"\n[host]\ntcp_rmem = \"4096 131072 64MiB\"\n[[flow]]\nduration = \"6s\"\n",
    );
    assert_eq!(found.len(), 32);
    let wrong: Vec<(&str, &str, String)> = found
        .iter()
        .map(|(run, end, flow)| (&**run, *end, named(flow)))
        .filter(|(.., name)| name != "cwnd/ack_path")
        .collect();
    let is_unknown = |(_, end, name): &(&str, &str, String)| *end == "receiver" && name == "unknown/null";
    assert!(wrong.len() <= 1 && wrong.iter().all(is_unknown), "{wrong:?}");
}
