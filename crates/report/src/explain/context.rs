//! What a host's queues and counters add to a verdict, in words: each with the command that printed it.

use crate::quantity::{bytes, counted, percent, rate};
use pipefill_analysis::findings::connections::{Bearing, ContextFact, ContextRemark};
use pipefill_core::record::{CounterReading, HostCounter, QdiscReading};
use schemars::JsonSchema;
use serde::Serialize;

/// Something that the host counts, and how it stands to a connection's verdict.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ExplainedRemark {
    /// How it stands to the verdict.
    pub bearing: Bearing,
    /// What printed it, e.g. `tc -s qdisc: fq_codel 120: dev eth0`.
    pub origin: String,
    /// What it shows.
    pub sentence: String,
}

impl ExplainedRemark {
    pub(super) fn of(remark: &ContextRemark) -> Self {
        Self { bearing: remark.bearing, origin: origin(&remark.fact), sentence: sentence(&remark.fact) }
    }

    /// In one line, with its bearing.
    pub(super) fn line(&self) -> String {
        let bearing = match self.bearing {
            Bearing::Contradicts => "Contradicts it",
            Bearing::Supports => "Supports it",
            Bearing::Adds => "Also",
        };
        format!("{bearing}: {} ({})", self.sentence, self.origin)
    }
}

fn origin(fact: &ContextFact) -> String {
    match fact {
        ContextFact::Dropped(qdisc)
        | ContextFact::Marked(qdisc)
        | ContextFact::Waited(qdisc)
        | ContextFact::ShapesToRate(qdisc, _)
        | ContextFact::ShapesToLess(qdisc) => format!("tc -s qdisc: {}", name(qdisc)),
        ContextFact::NoneDropped(qdiscs) => {
            let names: Vec<String> = qdiscs.iter().map(name).collect();
            format!("tc -s qdisc: {}", names.join(", "))
        }
        ContextFact::Counted(counter) => format!("nstat: {}", counter.name),
    }
}

fn name(qdisc: &QdiscReading) -> String {
    let device = qdisc.device.as_ref().map_or_else(String::new, |device| format!(" dev {device}"));
    format!("{} {}{device}", qdisc.kind, qdisc.handle)
}

fn sentence(fact: &ContextFact) -> String {
    match fact {
        ContextFact::Dropped(qdisc) => {
            let dropped = qdisc.dropped_packets.unwrap_or(0);
            let of_all = qdisc.sent_packets.map_or_else(String::new, |sent| {
                let share = percent(dropped as f64 / sent.saturating_add(dropped).max(1) as f64);
                format!(", {share} of all that came")
            });
            let dropped = counted(dropped, "packet(s)");
            format!("this host's own queue dropped {dropped}{of_all}, since it was set up.")
        }
        ContextFact::NoneDropped(_) => {
            "no queue of this host dropped a packet: what was sent again was lost further along the path."
                .to_owned()
        }
        ContextFact::Marked(qdisc) => {
            let marked = counted(qdisc.marked_packets.unwrap_or(0), "packet(s)");
            format!("this host's own queue marked {marked} with CE, since it was set up.")
        }
        ContextFact::Waited(qdisc) => {
            let packets = counted(qdisc.backlog_packets.unwrap_or(0), "packet(s)");
            let size = qdisc.backlog_bytes.map_or_else(String::new, |size| format!(" ({})", bytes(size)));
            format!("{packets}{size} waited in this host's own queue when it was read.")
        }
        ContextFact::ShapesToRate(qdisc, per_mille) => {
            let shaped = rate(qdisc.rate_bps.unwrap_or(0));
            let share = percent(*per_mille as f64 / 1e3);
            format!(
                "this host shapes to {shaped}, and the payload alone is {share} of that: the shaper is full."
            )
        }
        ContextFact::ShapesToLess(qdisc) => {
            let shaped = rate(qdisc.rate_bps.unwrap_or(0));
            format!("it shapes to {shaped}, which is less than was measured: the data do not pass it.")
        }
        ContextFact::Counted(counter) => counter_in_words(counter),
    }
}

/// A counter of all connections of the host: the sentence says no more than that.
fn counter_in_words(counter: &CounterReading) -> String {
    let what = match counter.counts {
        HostCounter::Timeouts => "retransmission timer(s) ran out",
        HostCounter::Reordering => "time(s) segments came out of order and were not lost",
        HostCounter::SpuriousRetransmits => "segment(s) sent again without need",
        HostCounter::HystartExits => "time(s) slow start ended early, by HyStart",
        HostCounter::CeMarks => "packet(s) with CE marks",
        HostCounter::ZeroWindowsSent => {
            "window(s) of 0 advertised by this host: a program here does not read fast enough"
        }
        HostCounter::ZeroWindowsReceived => {
            "window(s) of 0 probed by this host: a program at a peer does not read fast enough"
        }
        HostCounter::ReceiveBufferFull => "time(s) a receive buffer of this host was full",
        HostCounter::AcceptQueueFull => {
            "connection(s) found the queue of a listening program full: they begin late, and are not slower then"
        }
        HostCounter::MemoryPressure => {
            "time(s) TCP had no memory left (net.ipv4.tcp_mem): larger buffers do not help there"
        }
        HostCounter::UdpReceiveBufferFull => {
            "datagram(s) found a receive buffer of this host full: they had passed the path"
        }
    };
    format!("{}; all connections of the host together.", counted(counter.value, what))
}
