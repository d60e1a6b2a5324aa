//! What packets say of a flow beside its figures: what the handshake agreed on, and counts, a sentence each.

use crate::quantity::{counted, duration};
use crate::verdicts::happened;
use pipefill_analysis::findings::connections::{
    AnswerTimes, CapturedFlow, EndedBy, EndingKind, FlowCounts, FlowEnding, FlowOptions, MissingPart,
    Unaccepted,
};
use pipefill_core::flow_event::{FlowEvent, FlowEventKind};
use pipefill_core::stacks::{Stack, StackConfidence};

/// All that there is to say.
pub(crate) fn sentences(flow: &CapturedFlow) -> Vec<String> {
    let facts = [options(flow), stack(flow), counts(flow), ending(flow.ended), missing(flow)];
    let facts = remarks(flow).into_iter().chain(facts.into_iter().flatten());
    facts.chain(outages(&flow.events)).collect()
}

/// What of them belongs to the verdict: a long beginning, and who answers slowly.
pub(crate) fn remarks(flow: &CapturedFlow) -> Vec<String> {
    [setup(flow), slow_answers(flow)].into_iter().flatten().collect()
}

/// What made the beginning long: SYNs that were sent again, or a server that did not take the connection.
fn setup(flow: &CapturedFlow) -> Option<String> {
    let [syns, answers] = flow.syns;
    let took = flow
        .setup_us
        .map_or_else(String::new, |us| format!(", and {} passed before the first data", duration(us)));
    if let Some(Unaccepted { syn_acks, is_near }) = flow.unaccepted {
        let again = counted(syn_acks.into(), "time(s)");
        let reason = match is_near {
            true => "The server's accept queue was full",
            false => "Most likely the server's accept queue was full",
        };
        return Some(format!(
            "Setup: the SYN-ACK was sent again {again} after its ACK had passed{took}. {reason}: its kernel drops ACK and data until the program calls \
             accept(). Let the program accept sooner, or raise its backlog (listen()) and net.core.somaxconn, which limits that."
        ));
    }
    match (syns, answers) {
        (2.., _) => Some(format!(
            "Setup: the SYN was sent {syns} times{took}. It was lost, or the server's queue of connections was full."
        )),
        (_, 2..) => Some(format!(
            "Setup: the SYN-ACK was sent {answers} times{took}. The ACK was lost, or the server's accept queue was full."
        )),
        _ => None,
    }
}

/// Whoever acknowledges is not who answers, or that program is slow.
fn slow_answers(flow: &CapturedFlow) -> Option<String> {
    let AnswerTimes { answers, least_us, ack_us } = flow.slow_answers()?;
    Some(format!(
        "A proxy, or a slow server: the sender acknowledges within {}, and the fastest of its {answers} answers took {}.",
        duration(ack_us.into()),
        duration(least_us.into())
    ))
}

/// What the ends agreed on; `None` where the receiver's SYN is not in the capture.
fn options(flow: &CapturedFlow) -> Option<String> {
    let FlowOptions { mss_bytes, window_scale, sack, timestamps, ecn, accurate_ecn } = flow.options;
    mss_bytes?;
    let named = |is_used: Option<bool>, name: &str| {
        is_used.map(|is| format!("{}{name}", if is { "" } else { "no " }))
    };
    let ecn_name = if accurate_ecn == Some(true) { "accurate ECN" } else { "ECN" };
    let parts = [
        mss_bytes.map(|bytes| format!("MSS {bytes} B")),
        window_scale.map(|shift| match shift {
            0 => "windows not scaled".to_owned(),
            shift => format!("window scale {shift}"),
        }),
        named(sack, "SACK"),
        named(timestamps, "timestamps"),
        named(ecn, ecn_name),
    ];
    Some(format!("Negotiated: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

/// Which TCP implementation sends; `None` where nothing shows it.
fn stack(flow: &CapturedFlow) -> Option<String> {
    let name = match flow.stack? {
        Stack::Linux => "Linux",
        Stack::Windows => "Windows",
        Stack::Bsd => "a BSD",
        Stack::Macos => "macOS or iOS",
        Stack::Solaris => "Solaris",
        Stack::Embedded => "an embedded stack",
    };
    let likely = if flow.stack_confidence == StackConfidence::Certain { "" } else { "likely " };
    Some(format!("The sender is {likely}{name}, by the form of its SYN."))
}

/// What was counted; `None` where nothing of it happened.
fn counts(flow: &CapturedFlow) -> Option<String> {
    let FlowCounts {
        ce,
        ece,
        cwr,
        zero_windows,
        window_probes,
        duplicate_acks,
        out_of_order,
        duplicates,
        keep_alives,
        network_duplicates,
    } = flow.counts;
    let all = happened([
        (zero_windows, "zero window(s)"),
        (window_probes, "window probe(s)"),
        (duplicate_acks, "duplicate ACK(s)"),
        (out_of_order, "segment(s) out of order"),
        (duplicates, "packet(s) captured twice"),
        (network_duplicates, "segment(s) duplicated by the network"),
        (keep_alives, "keep-alive(s)"),
        (ce, "packet(s) marked CE"),
        (ece, "ACK(s) with ECE"),
        (cwr, "segment(s) with CWR"),
    ]);
    (!all.is_empty()).then(|| format!("Counted: {}.", all.join(", ")))
}

/// How it ended, where that is more than a FIN or the end of the capture.
fn ending(ended: FlowEnding) -> Option<String> {
    let by = match ended.by? {
        EndedBy::Sender => "sender",
        EndedBy::Receiver => "receiver",
    };
    match ended.how {
        EndingKind::Reset => Some(format!("The {by} reset the connection.")),
        EndingKind::Silence => Some(format!("The {by} stopped answering.")),
        EndingKind::Fin | EndingKind::Open => None,
    }
}

/// What the capture does not have; the scale is named beside the window.
fn missing(flow: &CapturedFlow) -> Option<String> {
    let name = |part: &MissingPart| match part {
        MissingPart::Handshake => Some("the handshake"),
        MissingPart::OtherDirection => Some("the packets of the receiver"),
        MissingPart::Packets => Some("packets that were acknowledged"),
        MissingPart::Scale => None,
    };
    let parts: Vec<&str> = flow.missing.iter().filter_map(name).collect();
    (!parts.is_empty()).then(|| format!("Not in the capture: {}.", parts.join(", ")))
}

fn outages(events: &[FlowEvent]) -> impl Iterator<Item = String> {
    let outages = events.iter().filter(|event| event.kind == FlowEventKind::Outage);
    outages.map(|event| {
        format!(
            "Outage: nothing passed for {}, from {} to {}, with data outstanding.",
            duration(event.to_us - event.from_us),
            duration(event.from_us),
            duration(event.to_us)
        )
    })
}
