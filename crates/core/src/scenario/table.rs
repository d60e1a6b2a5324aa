//! The one table of keys. The parser, `--set`, the axes and the key reference all read it.

use super::application;
use super::aqm;
use super::bounds::{bytes, count_within, duration, queue_limit, rate, socket_buffer};
use super::draft::{Split, Subscriber, Ways};
use super::expect;
use super::forms::{congestion_control, distribution, loss, name, sizes, sysctl};
use super::key::{CHANGE, Key, KeyKind, SYSCTL, Setter, numbered_change};
use super::rate_layer::{RATE_LAYERS, mpu, overhead};
use super::section::Section::{self, Expect, Flow, Host, Hosts, Path, Receiver, Run, Sender};
use crate::cell::{CapturePackets, ExpectMetric, Family, LossUnit, Payload, Pmtud, Protocol, Writer};
use crate::hosts::address;
use crate::parse::{count, flag, one_of, ratio, sysctl_triple};

/// A setter that parses and stores: `store!(Path, draft => draft.rtt, duration)`.
macro_rules! store {
    ($section:ident, $draft:ident => $place:expr, $parse:expr) => {
        Setter::$section(|$draft, text| {
            $place = Some($parse(text)?);
            Ok(())
        })
    };
}

/// A row of the table that may be an axis.
macro_rules! key {
    ($sections:expr, $name:expr, $kind:ident, $default:expr, $example:expr, $set:expr, $doc:expr) => {
        key!($sections, $name, $kind, $default, $example, $set, $doc, axis = true)
    };
    ($sections:expr, $name:expr, $kind:ident, $default:expr, $example:expr, $set:expr, $doc:expr, axis = $axis:expr) => {
        Key {
            sections: $sections,
            name: $name,
            kind: KeyKind::$kind,
            default: $default,
            example: $example,
            doc: $doc,
            axis: $axis,
            set: $set,
        }
    };
}

const HOSTS: &[Section] = &[Host, Sender, Receiver];

/// Every key that a section may hold, in the order of the documentation.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key!(&[Path], "profile", Profile, None, "lte", store!(Path, p => p.profile, name),
        "A named path: see [Profiles](profiles.md). What else is given in `[path]` overrides it: a delay all delays of the profile, a rate or its trace that direction's, a change all changes."),
    key!(&[Path], "subscriber", Word, Some("receiver"), "sender",
        store!(Path, p => p.subscriber, |t| one_of(t, &[("receiver", Subscriber::Receiver), ("sender", Subscriber::Sender)])),
        "Which end is the subscriber of the profile, whose downlink leads there. `pipefill exec --profile` has the command at that end."),
    key!(&[Path], "rtt", Duration, Some("0ms"), "10ms", store!(Path, p => p.rtt, duration),
        "Base round trip, without serialisation and queues. Divided as `split` says, unless a direction's delay is given."),
    key!(&[Path], "rtt_trace", DelayTrace, None, "starlink", store!(Path, p => p.rtt_trace, name),
        "`rtt` over time, in place of it: a [trace](traces.md#delays-and-losses) that is built in, or a file relative to the scenario with a time and a round trip on each line. The base round trip is its shortest."),
    key!(&[Path], "split", Word, Some("even"), "forward",
        store!(Path, p => p.split, |t| one_of(t, &[("even", Split::Even), ("forward", Split::Forward)])),
        "How `rtt` or `rtt_trace` is divided: `even`, or all of it in the `forward` direction."),
    key!(&[Path], "forward_delay", Duration, None, "7ms", store!(Path, p => p.forward_delay, duration),
        "One-way delay from sender to receiver. With `rtt`, the other direction gets the rest."),
    key!(&[Path], "reverse_delay", Duration, None, "3ms", store!(Path, p => p.reverse_delay, duration),
        "One-way delay from receiver to sender. With `rtt`, the other direction gets the rest."),
    key!(&[Path], "rate", Rate, None, "1gbit", store!(Path, p => p.forward.rate, rate),
        "Bottleneck in the forward direction, counting Ethernet frames without FCS (IP + 14 bytes) as tc's tbf does; see `rate_layer`. Default: no limit."),
    key!(&[Path], "rate_trace", Trace, None, "lte-driving", store!(Path, p => p.forward.rate_trace, name),
        "`rate` over time, in place of it: a [trace](traces.md) that is built in, or a file relative to the scenario, in mahimahi's form or with a time and a rate on each line. `queue` counts BDPs of its mean."),
    key!(&[Path], "rate_layer", Word, Some("frame"), "wire",
        store!(Path, p => p.rate_layer, |t| one_of(t, RATE_LAYERS)),
        "What `rate` and `reverse_rate` count: `frame` = IP + 14 bytes; `wire` = 24 bytes more for each frame (preamble 8, FCS 4, gap 12), as an Ethernet link's nominal rate does; `atm` and `ptm` = frames in cells; or one of tc-cake's words for a link, e.g. `docsis`, `pppoe-llcsnap`: see [What a rate counts](scenarios.md#what-a-rate-counts)."),
    key!(&[Path], "overhead", Bytes, Some("0B"), "-4B", store!(Path, p => p.overhead, overhead),
        "What each frame costs beside its IP + 14 bytes and `rate_layer`, as `overhead` of `tc stab`; it may be negative. Both directions."),
    key!(&[Path], "mpu", Bytes, None, "64B", store!(Path, p => p.mpu, mpu),
        "What the smallest frame costs with its overhead, as `mpu` of `tc stab`, at most 2047B. Default: that of `rate_layer`. Both directions."),
    key!(&[Path], "queue", Queue, None, "1bdp", store!(Path, p => p.forward.queue, queue_limit),
        "Most that may wait at the bottleneck (drop-tail, see `aqm`). A BDP is rate × rtt, at least one frame. Default, and for BDPs at a round trip of zero: one BDP, at least 100 frames."),
    key!(&[Path], "aqm", Aqm, Some("droptail"), "codel target=5ms interval=100ms", store!(Path, p => p.forward.aqm, aqm::parse),
        "How the forward bottleneck's queue is managed: `droptail`, `drophead`, `codel`, `fq_codel`, `pie`, `red` or `dualpi2`, with parameters in a table with `kind` or in one text; see [AQM and ECN](aqm.md). `queue` is its limit; without one it is that of Linux's qdisc."),
    key!(&[Path], "ecn", Flag, None, "true", store!(Path, p => p.forward.ecn, flag),
        "Whether the AQM marks packets that may be marked (ECT, see `tcp_ecn`) in place of dropping them. Default: as Linux's qdisc, true for `fq_codel` and `dualpi2`. `droptail` and `drophead` mark nothing."),
    key!(&[Path], "burst", Bytes, Some("32KiB"), "64KiB", store!(Path, p => p.forward.burst, bytes),
        "Depth of the bottleneck's token bucket; at least one frame (`mtu` + 14 bytes, and what `rate_layer` adds)."),
    key!(&[Path], "loss", Loss, Some("0%"), "1%", store!(Path, p => p.forward.loss, loss),
        "Loss in the forward direction, before the queue: independent, Gilbert–Elliott, or a fixed list of packets counted from 1."),
    key!(&[Path], "loss_trace", LossTrace, None, "lte-handover", store!(Path, p => p.forward.loss_trace, name),
        "Independent loss over time, in place of `loss`: a [trace](traces.md#delays-and-losses) that is built in, or a file relative to the scenario with a time and a share on each line."),
    key!(&[Path], "loss_unit", Word, Some("segment"), "super-packet",
        store!(Path, p => p.loss_unit, |t| one_of(t, &[("segment", LossUnit::Segment), ("super-packet", LossUnit::SuperPacket)])),
        "What is lost at once: one segment, as on a wire, or a whole TSO super-packet, as with tc netem on a virtual NIC."),
    key!(&[Path], "mark", Loss, Some("0%"), "1%", store!(Path, p => p.forward.mark, loss),
        "CE marks in the forward direction, drawn like `loss` but for each packet that may be marked (ECT, see `tcp_ecn`); others pass, and a list counts ECT packets from 1."),
    key!(&[Path], "policer.rate", Rate, None, "20mbit", store!(Path, p => p.forward.policer_rate, rate),
        "`policer = { rate = \"20mbit\", burst = \"64KiB\" }`: a policer in the forward direction. It drops what exceeds this rate, and has no queue."),
    key!(&[Path], "policer.burst", Bytes, Some("64KiB"), "128KiB", store!(Path, p => p.forward.policer_burst, bytes),
        "Depth of the policer's token bucket; at least one frame."),
    key!(&[Path], "jitter", Duration, Some("0ms"), "2ms", store!(Path, p => p.forward.jitter, duration),
        "Spread of the forward delay: half the width (uniform), the standard deviation (normal), the unit of the table (quantiles)."),
    key!(&[Path], "jitter_distribution", Word, Some("uniform"), "quantiles -1 0 0.5 3",
        store!(Path, p => p.jitter_distribution, distribution),
        "`uniform`, `normal`, or `quantiles` with an inverse CDF at equidistant probabilities, in units of the spread. Both directions."),
    key!(&[Path], "jitter_reorder", Flag, Some("false"), "true", store!(Path, p => p.jitter_reorder, flag),
        "Whether jitter may let a packet overtake another. Both directions."),
    key!(&[Path], "duplicate", Ratio, Some("0%"), "0.1%", store!(Path, p => p.duplicate, ratio),
        "Probability that a packet is delivered twice, forward."),
    key!(&[Path], "reorder", Ratio, Some("0%"), "0.1%", store!(Path, p => p.reorder, ratio),
        "Probability that a packet skips the delay and so overtakes (netem's `reorder`), forward."),
    key!(&[Path], "delay_limit", Queue, None, "1000p", store!(Path, p => p.forward.delay_limit, queue_limit),
        "Most that the forward delay element may hold (netem's `limit`). Default: as much as is needed, so that it never drops."),
    key!(&[Path], "reverse_rate", Rate, None, "20mbit", store!(Path, p => p.reverse.rate, rate),
        "Bottleneck in the reverse direction. Default: no limit."),
    key!(&[Path], "reverse_rate_trace", Trace, None, "lte-static", store!(Path, p => p.reverse.rate_trace, name),
        "As `rate_trace`, for the reverse direction."),
    key!(&[Path], "reverse_queue", Queue, None, "100p", store!(Path, p => p.reverse.queue, queue_limit),
        "As `queue`, for the reverse direction."),
    key!(&[Path], "reverse_aqm", Aqm, Some("droptail"), "fq_codel", store!(Path, p => p.reverse.aqm, aqm::parse),
        "As `aqm`, for the reverse direction."),
    key!(&[Path], "reverse_ecn", Flag, None, "true", store!(Path, p => p.reverse.ecn, flag),
        "As `ecn`, for the reverse direction."),
    key!(&[Path], "reverse_burst", Bytes, Some("32KiB"), "64KiB", store!(Path, p => p.reverse.burst, bytes),
        "As `burst`, for the reverse direction."),
    key!(&[Path], "reverse_loss", Loss, Some("0%"), "0.1%", store!(Path, p => p.reverse.loss, loss),
        "As `loss`, for the reverse direction."),
    key!(&[Path], "reverse_loss_trace", LossTrace, None, "lte-handover", store!(Path, p => p.reverse.loss_trace, name),
        "As `loss_trace`, for the reverse direction."),
    key!(&[Path], "reverse_mark", Loss, Some("0%"), "1%", store!(Path, p => p.reverse.mark, loss),
        "As `mark`, for the reverse direction."),
    key!(&[Path], "reverse_policer.rate", Rate, None, "20mbit", store!(Path, p => p.reverse.policer_rate, rate),
        "As `policer.rate`, for the reverse direction."),
    key!(&[Path], "reverse_policer.burst", Bytes, Some("64KiB"), "128KiB", store!(Path, p => p.reverse.policer_burst, bytes),
        "As `policer.burst`, for the reverse direction."),
    key!(&[Path], "reverse_jitter", Duration, Some("0ms"), "1ms", store!(Path, p => p.reverse.jitter, duration),
        "As `jitter`, for the reverse direction."),
    key!(&[Path], "reverse_delay_limit", Queue, None, "1000p", store!(Path, p => p.reverse.delay_limit, queue_limit),
        "As `delay_limit`, for the reverse direction."),
    key!(&[Path], "mtu", Count, Some("1500"), "9000", store!(Path, p => p.mtu, |t| count_within(t, 576, 9000)),
        "Largest IP packet, 576 to 9000 bytes; with `ipv6` at least 1280 (RFC 8200)."),
    key!(&[Path], "inner_mtu", Count, None, "1400", store!(Path, p => p.inner_mtu, |t| count_within(t, 576, 8999)),
        "Largest IP packet of a link between the hosts, below `mtu`; with `ipv6` at least 1280. A larger packet that must not be fragmented (DF, IPv6) is dropped; one that may be passes. Each segment of a super-packet counts by itself. Default: no such link."),
    key!(&[Path], "pmtud", Word, Some("icmp"), "black-hole",
        store!(Path, p => p.pmtud, |t| one_of(t, &[("icmp", Pmtud::Icmp), ("black-hole", Pmtud::BlackHole)])),
        "Whether the sender of a packet larger than `inner_mtu` gets an ICMP message (RFC 1191, RFC 8201), or none."),
    key!(&[Path], "change.at", Duration, None, "5s", store!(Change, c => c.at, duration),
        "`[[path.change]]`: when the path changes, after the traffic's start. `--set path.change.0.at=3s` sets a key of the first one."),
    key!(&[Path], "change.for", Duration, None, "2s", store!(Change, c => c.lasts, duration),
        "How long the change lasts. Default: to the end. Of changes that overlap the last in the scenario holds."),
    key!(&[Path], "change.rate", Rate, None, "5mbit", store!(Change, c => c.rates[0], rate),
        "`rate` meanwhile, which the path needs too. The queue stays as it is."),
    key!(&[Path], "change.reverse_rate", Rate, None, "5mbit", store!(Change, c => c.rates[1], rate),
        "`reverse_rate` meanwhile."),
    key!(&[Path], "change.loss", Loss, None, "100%", store!(Change, c => c.losses[0], loss),
        "`loss` meanwhile; `100%` is an outage."),
    key!(&[Path], "change.reverse_loss", Loss, None, "100%", store!(Change, c => c.losses[1], loss),
        "`reverse_loss` meanwhile."),
    key!(&[Path], "change.rtt", Duration, None, "80ms", store!(Change, c => c.rtt, duration),
        "`rtt` of packets that come meanwhile, divided as `split` says. Where a delay becomes shorter, packets wait for those before them: a change never reorders."),
    key!(&[Path], "change.forward_delay", Duration, None, "60ms", store!(Change, c => c.delays[0], duration),
        "`forward_delay` of packets that come meanwhile."),
    key!(&[Path], "change.reverse_delay", Duration, None, "20ms", store!(Change, c => c.delays[1], duration),
        "`reverse_delay` of packets that come meanwhile."),
    key!(&[Path], "family", Word, Some("ipv4"), "ipv6",
        store!(Path, p => p.family, |t| one_of(t, &[("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)])),
        "Which IP the flows use. `pipefill exec` carries both, and gives the server's address of this one."),
    key!(&[Path], "payload", Word, Some("zeros"), "kept",
        store!(Path, p => p.payload, |t| one_of(t, &[("zeros", Payload::Zeros), ("kept", Payload::Kept)])),
        "`zeros`: only headers cross the path and the receiver reads zeros; faster. `kept`: whole packets cross it, which takes memory for rate × delay and the queue. `pipefill exec` keeps it."),

    key!(HOSTS, "tcp_rmem", Buffers, None, "4096 131072 6MiB", store!(Host, h => h.tcp_rmem, sysctl_triple),
        "net.ipv4.tcp_rmem: minimum, default and maximum of the receive buffer. Default: the machine's value."),
    key!(HOSTS, "tcp_wmem", Buffers, None, "4096 16KiB 4MiB", store!(Host, h => h.tcp_wmem, sysctl_triple),
        "net.ipv4.tcp_wmem: minimum, default and maximum of the send buffer. Default: the machine's value."),
    key!(HOSTS, "tcp_ecn", Count, None, "1", store!(Host, h => h.tcp_ecn, |t| count_within(t, 0, 2)),
        "net.ipv4.tcp_ecn: 0 = no ECN, 1 = ask for it and accept it, 2 = accept it. Default: the machine's value, usually 2; in the simulator 2."),
    key!(HOSTS, "congestion_control", Word, Some("cubic"), "bbr",
        store!(Host, h => h.congestion_control, congestion_control),
        "TCP_CONGESTION of the sockets. The default does not depend on the machine."),
    key!(HOSTS, SYSCTL, Sysctl, None, "0", Setter::Sysctl(sysctl),
        "Any other sysctl below net., e.g. \"net.ipv4.tcp_sack\" = 0."),
    key!(HOSTS, "gso", Flag, None, "false", store!(Host, h => h.offloads.gso, flag),
        "Generic segmentation offload of the host's interface (ethtool -K). Default: as the machine has it. In the simulator `false` makes the host send one segment a packet."),
    key!(HOSTS, "gro", Flag, None, "false", store!(Host, h => h.offloads.gro, flag),
        "Generic receive offload of the host's interface (ethtool -K). Default: as the machine has it. In the simulator `false` gives TCP every segment by itself."),
    key!(HOSTS, "tso", Flag, None, "false", store!(Host, h => h.offloads.tso, flag),
        "TCP segmentation offload of the host's interface (ethtool -K). Default: as the machine has it. In the simulator as `gso`."),

    key!(&[Flow], "protocol", Word, Some("tcp"), "udp",
        store!(Flow, f => f.protocol, |t| one_of(t, &[("tcp", Protocol::Tcp), ("udp", Protocol::Udp), ("ping", Protocol::Ping)])),
        "Transport: `tcp`, `udp`, or `ping`: requests over UDP, one at a time, whose round trips are measured."),
    key!(&[Flow], "direction", Word, Some("forward"), "reverse",
        store!(Flow, f => f.direction, |t| one_of(t, &[("forward", Ways::Forward), ("reverse", Ways::Reverse), ("both", Ways::Both)])),
        "Which way the data goes; `both` makes two flows."),
    key!(&[Flow], "start", Duration, Some("0s"), "2s", store!(Flow, f => f.start, duration),
        "When the flow starts, after the run's start."),
    key!(&[Flow], "duration", Duration, Some("10s"), "30s", store!(Flow, f => f.duration, duration),
        "How long data is offered."),
    key!(&[Flow], "parallel", Count, Some("1"), "4", store!(Flow, f => f.parallel, |t| count_within(t, 1, 1024)),
        "Number of parallel streams, 1 to 1024 (iperf3's -P)."),
    key!(&[Flow], "bitrate", Rate, None, "20mbit", store!(Flow, f => f.bitrate, rate),
        "Application rate of each stream, payload bits (iperf3's -b). UDP needs it; TCP without it sends as fast as it can."),
    key!(&[Flow], "length", Bytes, None, "1448B", store!(Flow, f => f.length, bytes),
        "UDP: payload of a datagram, 32 to 65507 bytes, default 1448B. TCP: size of a write, default 512KiB."),
    key!(&[Flow], "read_rate", Rate, None, "20mbit", store!(Flow, f => f.read_rate, rate),
        "The receiver reads no faster than this, each stream. TCP only."),
    key!(&[Flow], "sndbuf", Bytes, None, "4MiB", store!(Flow, f => f.sndbuf, socket_buffer),
        "SO_SNDBUF as asked, at most 1073741823B (the kernel doubles it). Default: autotuning."),
    key!(&[Flow], "rcvbuf", Bytes, None, "4MiB", store!(Flow, f => f.rcvbuf, socket_buffer),
        "SO_RCVBUF as asked, at most 1073741823B (the kernel doubles it). Default: autotuning."),
    key!(&[Flow], "max_pacing_rate", Rate, None, "50mbit", store!(Flow, f => f.max_pacing_rate, rate),
        "SO_MAX_PACING_RATE. TCP only."),
    key!(&[Flow], "congestion_control", Word, None, "bbr",
        store!(Flow, f => f.congestion_control, congestion_control),
        "Overrides the sending host's congestion control. TCP only."),
    key!(&[Flow], "writer", Word, Some("blocking"), "once-per-wake",
        store!(Flow, f => f.writer, |t| one_of(t, &[("blocking", Writer::Blocking), ("once-per-wake", Writer::OncePerWake)])),
        "How bulk data is written: `blocking` writes until the socket is full, `once-per-wake` writes once each time the kernel says that there is room, as iperf3 does. TCP without `bitrate` only."),

    key!(&[Flow], "app", Application, Some("bulk"), "requests response=64KiB", Setter::Flow(application::set),
        "The program behind each stream: `bulk` always has data (or has it at `bitrate`); `requests`, `bursts`, `window` and `writes` take parameters, in a table with `kind` or in one text. UDP has `bulk` and `bursts`."),
    key!(&[Flow], "app.request", Bytes, Some("200B"), "1KiB", Setter::Application(application::set_parameter),
        "`requests`: size of a request; the receiver's end is the client and sends it."),
    key!(&[Flow], "app.response", Bytes, None, "64KiB", Setter::Application(application::set_parameter),
        "`requests`: size of a response, required; the sender's end answers. `writes`: size of the receiver's answer to each message, default 1B."),
    key!(&[Flow], "app.think", Duration, Some("0ms"), "20ms", Setter::Application(application::set_parameter),
        "`requests`, `writes`: time from the last byte of a request or message to the first byte of its answer. Several requests are thought about at the same time."),
    key!(&[Flow], "app.outstanding", Count, Some("1"), "8", Setter::Application(application::set_parameter),
        "`requests`: open requests of each stream at most, 1 to 1000. Responses come in the order of their requests."),
    key!(&[Flow], "app.count", Count, None, "100", Setter::Application(application::set_parameter),
        "`requests`: number of requests of each stream. Default: until `duration` is over."),
    key!(&[Flow], "app.pause", Duration, Some("0ms"), "500ms", Setter::Application(application::set_parameter),
        "`requests`: time from the last byte of a response to the client's next request."),
    key!(&[Flow], "app.size", Bytes, None, "2MiB", Setter::Application(application::set_parameter),
        "`bursts`: size of a burst. `window`: most bytes that the receiving program has not credited; it sends a credit of 36 bytes each time it has read 96 KiB or half of the window, as an SSH channel does. Required by both."),
    key!(&[Flow], "app.every", Duration, None, "2s", Setter::Application(application::set_parameter),
        "`bursts`: time from the beginning of a burst to that of the next, required."),
    key!(&[Flow], "app.sizes", Writes, None, "300B,1200B", Setter::Application(application::set_parameter),
        "`writes`: sizes of the writes of a message, required; when all are written, the sender waits for the answer. A list of lists is an axis."),
    key!(&[Flow], "nodelay", Flag, Some("false"), "true", store!(Flow, f => f.nodelay, flag),
        "TCP_NODELAY at both ends: a small write does not wait for the ACK of an earlier one (Nagle's algorithm). TCP only."),

    key!(&[Flow], "payloads", Sizes, Some("64B 1400B 16000B 65500B"), "64B 1400B", store!(Flow, f => f.payloads, sizes),
        "Ping: payloads of the requests, in turn, 24 to 65507 bytes; each once with a reply of the same size, as an ICMP echo, and once with one of 24 bytes."),
    key!(&[Flow], "interval", Duration, Some("10ms"), "100ms", store!(Flow, f => f.interval, duration),
        "Ping: time from a reply to the next request."),

    key!(&[Run], "repeat", Count, Some("5"), "10", store!(Run, r => r.repeat, |t| count_within(t, 1, 1000)),
        "Runs of each cell, 1 to 1000.", axis = false),
    key!(&[Run], "seed", Count, Some("1"), "7", store!(Run, r => r.seed, count),
        "Run i of a cell uses a seed derived from this, the cell and i."),
    key!(&[Run], "sample", Duration, Some("10ms"), "1ms", store!(Run, r => r.sample, duration),
        "Interval of the telemetry, at least 1ms."),
    key!(&[Run], "warmup", Duration, None, "1s", store!(Run, r => r.warmup, duration),
        "Time at the start of every flow that is left out of the results. Default: found automatically, see docs/metrics.md."),
    key!(&[Run], "capture", Flag, Some("false"), "true", store!(Run, r => r.capture, flag),
        "Capture packets at both ends, with their headers: `sender.pcapng` and `receiver.pcapng` in the run's `artifacts/`."),
    key!(&[Run], "capture_packets", Word, Some("kept"), "split",
        store!(Run, r => r.capture_packets, |t| one_of(t, &[("kept", CapturePackets::Kept), ("split", CapturePackets::Split)])),
        "What a capture has of a super-packet (TSO, GRO): `kept`, as tcpdump sees it, or `split` into the segments that a wire carries."),

    key!(&[Expect], "goodput", Expectation, None, ">= 95% of rate", Setter::Expect(|t| expect::parse(ExpectMetric::Goodput, t)),
        "Goodput: a rate, or a share of path.rate.", axis = false),
    key!(&[Expect], "sender", Expectation, None, "<= 100mbit", Setter::Expect(|t| expect::parse(ExpectMetric::Sender, t)),
        "What the sender sent: a rate, or a share of path.rate.", axis = false),
    key!(&[Expect], "retransmits", Expectation, None, "<= 3", Setter::Expect(|t| expect::parse(ExpectMetric::Retransmits, t)),
        "Retransmitted segments.", axis = false),
    key!(&[Expect], "min_rtt", Expectation, None, "<= 12ms", Setter::Expect(|t| expect::parse(ExpectMetric::MinRtt, t)),
        "The smallest round trip.", axis = false),
    key!(&[Expect], "srtt", Expectation, None, "within 10% of 20ms", Setter::Expect(|t| expect::parse(ExpectMetric::Srtt, t)),
        "The median smoothed round trip.", axis = false),
    key!(&[Expect], "lost", Expectation, None, "<= 0.1%", Setter::Expect(|t| expect::parse(ExpectMetric::Lost, t)),
        "UDP datagrams that were lost, in per cent of those sent.", axis = false),
    key!(&[Expect], "base_rtt", Expectation, None, "within 5% of 10ms", Setter::Expect(|t| expect::parse(ExpectMetric::BaseRtt, t)),
        "Ping: the fitted round trip of no bytes.", axis = false),
    key!(&[Expect], "forward_rate", Expectation, None, "within 5% of 100mbit", Setter::Expect(|t| expect::parse(ExpectMetric::ForwardRate, t)),
        "Ping: the fitted rate in the direction of the requests: a rate, or a share of path.rate.", axis = false),
    key!(&[Expect], "reverse_rate", Expectation, None, "within 5% of 100mbit", Setter::Expect(|t| expect::parse(ExpectMetric::ReverseRate, t)),
        "Ping: the fitted rate in the direction of the replies.", axis = false),
    key!(&[Expect], "limited_by", Expectation, None, "= rwnd", Setter::Expect(|t| expect::parse(ExpectMetric::LimitedBy, t)),
        "What limited the run.", axis = false),
    key!(&[Expect], "cause", Expectation, None, "= turns", Setter::Expect(|t| expect::parse(ExpectMetric::Cause, t)),
        "What refines that: a word of the column `cause` in [What limits a flow](verdicts.md), e.g. `turns` of `app`, `program` of `rwnd`.", axis = false),
    key!(&[Expect], "cwnd_cause", Expectation, None, "= startup", Setter::Expect(|t| expect::parse(ExpectMetric::CwndCause, t)),
        "Why the congestion window limited it: `startup`, `hystart_exit`, `random_loss`, `queue_loss`, `policer`, `reordering`, `ack_path` or \
         `growth`.", axis = false),
    key!(&[Expect], "also_limited_by", Expectation, None, "= rwnd", Setter::Expect(|t| expect::parse(ExpectMetric::AlsoLimitedBy, t)),
        "What limited it for the second largest share of the time, a tenth and more.", axis = false),
    key!(&[Expect], "flows", Expectation, None, "= rwnd, app", Setter::Expect(|t| expect::parse(ExpectMetric::Flows, t)),
        "What limited each flow, in the order of the scenario, with its cause where that matters and `|` between what may be \
         either: `= rwnd, app turns, cwnd random_loss|path`.", axis = false),
    key!(&[Expect], "bufferbloat", Expectation, None, "= forward", Setter::Expect(|t| expect::parse(ExpectMetric::Bufferbloat, t)),
        "Which direction's queue adds a standing delay to the round trip, or `none`.", axis = false),
    key!(&[Expect], "idle_rtt", Expectation, None, "within 10% of 20ms", Setter::Expect(|t| expect::parse(ExpectMetric::IdleRtt, t)),
        "The round trip without load.", axis = false),
    key!(&[Expect], "loaded_rtt", Expectation, None, ">= 60ms", Setter::Expect(|t| expect::parse(ExpectMetric::LoadedRtt, t)),
        "The median round trip under load.", axis = false),
    key!(&[Expect], "loaded_rtt_p95", Expectation, None, "<= 35ms", Setter::Expect(|t| expect::parse(ExpectMetric::LoadedRttP95, t)),
        "The 95th percentile of the round trip under load.", axis = false),
    key!(&[Expect], "fairness", Expectation, None, ">= 95%", Setter::Expect(|t| expect::parse(ExpectMetric::Fairness, t)),
        "Jain's fairness index of the streams' goodputs: 100 % where all are equal, 1/n where one of n has everything.", axis = false),

    key!(&[Hosts], "sender", Word, Some("local"), "netns:blue", store!(Hosts, h => h.sender, str::parse),
        "Where the sender is with `--on hosts`: `local`, `netns:NAME`, `container:NAME` (podman or docker), `ssh:USER@HOST`, `pipefill:HOST:PORT` (`pipefill serve`) or `iperf3:HOST:PORT`. One of the ends may be on another machine; then the other one is `local`."),
    key!(&[Hosts], "receiver", Word, Some("local"), "ssh:user@b.example", store!(Hosts, h => h.receiver, str::parse),
        "Where the receiver is, as `sender`."),
    key!(&[Hosts], "address", Word, None, "192.0.2.7", store!(Hosts, h => h.address, address),
        "Under which address of the receiver (or of the end that is on another machine) the data connections are made. Default: the first one that answers; with ssh the one that ssh has reached."),
    key!(&[Hosts], "shape", Word, None, "sender:eth0", store!(Hosts, h => h.shape, str::parse),
        "Which interface is given the path of `[path]` during a run. Without it `[path]` has to be empty with `--on hosts`: the path is there already."),
];

impl Key {
    /// The key called `name` in `section`; that of a `[[path.change]]` with its number (`change.0.rate`) or without.
    pub fn find(section: Section, name: &str) -> Option<&'static Self> {
        let is_change = |key: &Self| {
            let of_change = numbered_change(name).map(|(_, key)| key);
            of_change.is_some() && key.name.strip_prefix(CHANGE) == of_change
        };
        Self::of(section).find(|key| {
            key.name == name || (key.name == SYSCTL && name.starts_with(SYSCTL)) || is_change(key)
        })
    }

    /// The names of the keys of a table in `section`, e.g. of `policer`: `rate`, `burst`.
    pub(super) fn of_table(section: Section, table: &str) -> Vec<&'static str> {
        let name = |key: &'static Self| key.name.strip_prefix(table)?.strip_prefix('.');
        Self::of(section).filter_map(name).collect()
    }

    /// The keys of a section, in the order of the table.
    pub fn of(section: Section) -> impl Iterator<Item = &'static Self> {
        KEYS.iter().filter(move |key| key.sections.contains(&section))
    }
}

/// What stands at the top of a scenario beside the sections: name, and what it means.
pub const TOP: &[(&str, &str)] = &[
    (
        "name",
        "The experiment's name, required: letters, digits, `.`, `_`, `-`; not `.` or `-` first, and not `.` last.",
    ),
    ("title", "One line of description."),
    (
        "variant",
        "`[[variant]]`: a named set of keys that override the scenario's. The matrix contains the cells of every variant. \
         `[[variant.flow]]` replaces the flows, `[variant.flow]` sets a key in each. `quick = false` leaves the variant out with --quick.",
    ),
    (
        "quick",
        "`[quick]` or `[variant.quick]`: keys that override the others with --quick. `[[variant.quick]]` makes several sets of cells. \
         Without either, --quick runs each cell once for 2 s.",
    ),
    (
        "files",
        "`[files]`: texts by the names that the scenario gives them, such as a trace in `rate_trace`. The copy of a scenario that an experiment keeps \
         has in it what the scenario read from elsewhere, so that it needs no other file.",
    ),
    (
        "published",
        "`[published]` with `source`, and `[[published.row]]`: published figures to compare with, and \
         `[[published.conclusion]]`: a published conclusion, and the claims that test it.",
    ),
];
