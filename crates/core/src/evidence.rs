//! What is known of one stream during one interval: all that a rule of the judge may ask for.
//!
//! Every part and every quantity is there or absent, and none is filled in: a rule that needs an absent part does not apply. The parts have
//! their origin: [`Plan`] was asked, sockets and threads were measured, and a quantity of the path says where it comes from ([`Fact`]).

mod packets;

pub use packets::{ArrivingPackets, PacketSpan, SentPackets, SteadyRate};

use crate::record::{BufferLimits, Fact, Waiting};
use crate::stacks::Stack;

/// The evidence on one stream during one interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The interval, microseconds since the record began.
    pub from_us: u64,
    /// See [`Self::from_us`].
    pub to_us: u64,
    /// What a scenario asked of the flow and of its path; absent where no scenario describes them.
    pub plan: Option<Plan>,
    /// What the sending application was to offer; absent where nobody asked for a rate.
    pub offer: Option<Offer>,
    /// What was seen of the sender.
    pub sender: Option<SenderEvidence>,
    /// What the packets near the sender show; absent where its socket was seen.
    pub packets: Option<SentPackets>,
    /// What the receiver's socket shows while the sender's is seen too.
    pub receiver: Option<ReceiverMemory>,
    /// What the receiver's socket shows by itself; absent where the sender's is seen.
    pub arrivals: Option<Arrivals>,
    /// What bounds its windows and buffers.
    pub buffers: BufferEvidence,
    /// The path.
    pub path: PathEvidence,
    /// How the busiest thread of the sending end spent the interval.
    pub sender_thread: Option<ThreadUse>,
    /// The same of the receiving end.
    pub receiver_thread: Option<ThreadUse>,
    /// The same of the threads that carry packets.
    pub path_thread: Option<ThreadUse>,
    /// What the CPU quota of the sending process's cgroup did around the interval; absent where none is known.
    pub sender_quota: Option<QuotaUse>,
    /// The same of the receiving process.
    pub receiver_quota: Option<QuotaUse>,
    /// What both ends counted of datagrams.
    pub datagrams: Option<Datagrams>,
    /// What a UDP socket shows by itself.
    pub udp_socket: Option<UdpSocketEvidence>,
    /// What the stream waited for all the time, as packets of both directions show; absent where it carried data or packets show no wait.
    pub waiting: Option<Waiting>,
    /// Whether less than a full segment was ever acknowledged by then, and a full one is outstanding.
    pub may_lose_full_segments: bool,
}

/// What a scenario asked for, beside the path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Plan {
    /// What got through or is under way since the stream began, over what `max_pacing_rate` allows by then; absent without one.
    pub pacing_kept: Option<f64>,
}

/// A rate that the application was to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// What got through or is under way since the stream began, over what it was to offer by then.
    pub kept: f64,
}

/// The sender during an interval of at least a round trip.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SenderEvidence {
    /// Whether what is in flight, and in the send buffer, is the rate times the round trip: another program's output shows neither.
    pub is_flight_estimated: bool,
    /// Largest `snd_nxt − snd_una`, bytes.
    pub unacked_peak: u64,
    /// Mean of what was in the network while the stream moved, bytes: divided by the mean round trip it is the rate (Little's law). Of a
    /// socket `tcp_packets_in_flight()`, without what SACK told of or took for lost; of packets `snd_nxt − snd_una`.
    pub in_flight_mean: u64,
    /// Smallest one.
    pub unacked_least: u64,
    /// Whether what was outstanding was in full segments all the time, but for the last one. True where that is not counted.
    pub has_full_segments_out: bool,
    /// How much the largest ones of the last intervals differ, over the largest; absent before there are enough of them.
    pub unacked_spread: Option<f64>,
    /// Payload segments that came from the other side in a round trip, over the last intervals; absent where that is not counted.
    pub heard_in_round_trip: Option<f64>,
    /// Time in which it stood still.
    pub stalled_us: u64,
    /// Mean of the smoothed round trip while the stream moved.
    pub srtt_mean_us: Option<u64>,
    /// Mean of how much longer ACKs were under way than the fastest one, by their timestamps; absent without them.
    pub ack_delay_us: Option<u64>,
    /// Payload acknowledged between the first sample and the end, bytes.
    pub acked: u64,
    /// By how much what was in flight changed meanwhile, bytes: where that is much, nothing is in a steady state.
    pub flight_change: u64,
    /// Largest share of cwnd in flight at a sample.
    pub cwnd_used: Option<f64>,
    /// cwnd at that sample, bytes.
    pub cwnd: Option<u64>,
    /// Largest share of the advertised window that was out.
    pub rwnd_used: Option<f64>,
    /// The window at that sample, bytes.
    pub rwnd: Option<u64>,
    /// The largest window by then, bytes.
    pub rwnd_widest: Option<u64>,
    /// Largest share of the send buffer in use, truesize.
    pub sndbuf_used: Option<f64>,
    /// The smallest share; absent where one reading shows an instant.
    pub sndbuf_least: Option<f64>,
    /// Share of the time with data outstanding in which all was sent and the writer waited for room, by the kernel's own clocks
    /// (`tcpi_sndbuf_limited` over `tcpi_busy_time`); absent where they did not run, or are not shown. They miss some of it.
    pub sndbuf_limited_share: Option<f64>,
    /// The same of the receiver's window (`tcpi_rwnd_limited`), which kept back what was written.
    pub rwnd_limited_share: Option<f64>,
    /// Most memory of the send queue, bytes.
    pub wmem_peak: Option<u64>,
    /// Its limit, bytes.
    pub sndbuf: Option<u64>,
    /// Share of the samples with written data that was never sent.
    pub unsent_share: Option<f64>,
    /// Share of the samples whose delivery rate the application limited (`tcpi_delivery_rate_app_limited`).
    pub app_limited_share: f64,
    /// Share of the samples in Recovery or Loss.
    pub repair_share: f64,
    /// Whether its congestion control sends on as before after a loss, as BBR does (`bbr_ssthresh()`).
    pub ignores_losses: bool,
    /// Share of the time in which nothing came back until the retransmission timer ran out, and sending again helped.
    pub timer_share: f64,
    /// The part of it in which one or two segments were out, and an answer came with their ACK: that was lost as well as they may have been.
    pub answer_timer_share: f64,
    /// Whether slow start has a ceiling yet.
    pub has_ssthresh: bool,
    /// cwnd before the last idle time that was longer than the retransmission timeout, bytes, while it is smaller since then; absent
    /// otherwise.
    pub cwnd_before_idle: Option<u64>,
    /// Segments whose ACK in the interval told of CE marks (RFC 3168).
    pub ce_segments: u32,
    /// The fewest doublings of the retransmission timer in force (`icsk_backoff`); absent where it is not shown.
    pub backoff_least: Option<u8>,
    /// Payload acknowledged so far, bytes.
    pub acked_so_far: u64,
    /// Segments retransmitted in the interval.
    pub retransmits: u32,
    /// Of those sent so far.
    pub retransmits_so_far: u32,
    /// Of these, those that are known to have been for nothing: of a socket, those that DSACKs came for.
    pub spurious_so_far: Option<u32>,
    /// Whether the sender has seen reordering so far (`tcpi_reord_seen`).
    pub has_seen_reordering: bool,
    /// Pacing rate at the end, bits per second.
    pub pacing_rate_bps: Option<u64>,
    /// For how long that was the same.
    pub pacing_steady_us: u64,
    /// Smoothed round trip at the end.
    pub srtt_us: Option<u64>,
    /// Least round trip so far.
    pub min_rtt_us: Option<u64>,
    /// Payload of a full segment, bytes.
    pub mss: u64,
}

/// The receive buffer during an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReceiverMemory {
    /// Largest share of it that waits for the application.
    pub unread_share: f64,
}

/// What bounds the windows and the buffers of a stream, so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BufferEvidence {
    /// Whether windows are scaled (RFC 7323).
    pub window_scaling: Option<bool>,
    /// Shift of the window that the receiver advertises.
    pub window_scale: Option<u8>,
    /// The window in the receiver's SYN; absent where that was not captured.
    pub syn_window: Option<u64>,
    /// Payload of a full segment; absent where no packets were captured.
    pub segment: Option<u64>,
    /// The largest window that the receiver advertised.
    pub window: Option<Plateau>,
    /// Its receive buffer (`sk_rcvbuf`); absent where its socket was not sampled.
    pub rcvbuf: Option<Plateau>,
    /// The sender's send buffer (`sk_sndbuf`).
    pub sndbuf: Option<Plateau>,
    /// Whether the sender's program has set that buffer; absent where the kernel did not tell.
    pub sndbuf_set: Option<bool>,
    /// The same of the receive buffer.
    pub rcvbuf_set: Option<bool>,
    /// What the sender's host allows.
    pub sender_limits: Option<BufferLimits>,
    /// What the receiver's host allows.
    pub receiver_limits: Option<BufferLimits>,
    /// The receiver's TCP implementation; absent where nothing tells.
    pub receiver_stack: Option<Stack>,
    /// What the program set as pacing rate, bits per second.
    pub max_pacing_rate_bps: Option<u64>,
}

/// The largest value of something that only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plateau {
    /// The value, bytes.
    pub bytes: u64,
    /// The first value.
    pub first_bytes: u64,
    /// For how long it has not grown, microseconds.
    pub steady_us: u64,
    /// The largest value, also of later times where they are known.
    pub most_bytes: u64,
}

/// What arrives, by the receiver's socket alone: during some round trips, and over the whole of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Arrivals {
    /// Largest share of the receive buffer that waits for the application.
    pub unread_share: f64,
    /// What arrives in a round trip over the advertised window.
    pub window_used: Option<f64>,
    /// What all rounds that count show together.
    pub whole: ArrivalsOfAll,
    /// Whether each round trip so far brought half as much again as the one before, and nothing was missing.
    pub is_slow_start: bool,
    /// Whether that came again after an idle time longer than the retransmission timer, with less than before.
    pub is_idle_restart: bool,
    /// Whether what waits for its ACKs in flights grows from flight to flight, more slowly than that, and nothing was missing.
    pub grows_in_flights: bool,
    /// Payload segments that the receiver itself sends in a round trip, over the whole of the stream; absent where that is not counted.
    pub spoken_in_round_trip: Option<f64>,
    /// What the packets show; absent where they were not captured near the receiver.
    pub packets: Option<ArrivingPackets>,
}

/// What arrives over all rounds of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArrivalsOfAll {
    /// Number of rounds.
    pub rounds: usize,
    /// Streams of the direction.
    pub streams: usize,
    /// Segments that arrive in a round trip, on average; absent where no round trip was measured.
    pub segments: Option<f64>,
    /// Interquartile range over median of the rates of all streams of the direction together.
    pub spread: f64,
    /// Share of the rounds in which segments came out of order.
    pub disordered_share: f64,
    /// Share of the rounds in which segments came with CE marks, or ACKs told of some; absent where nobody counts them.
    pub marked_share: Option<f64>,
    /// Share of the time in which next to nothing arrives, the median over the rounds; absent where that is not to be seen.
    pub idle_share: Option<f64>,
    /// The rounds after the start.
    pub settled: Settled,
    /// The rounds after its start and after the last one in which segments came out of order.
    pub undisturbed: Settled,
    /// How the rates grow.
    pub growth: Growth,
    /// How long ACKs wait on their way; absent where no round trip was measured.
    pub acks_delayed: Option<DelayedAcks>,
    /// The round trip that nearly all rounds reach, over the least, and microseconds above it.
    pub risen_always: Option<Risen>,
    /// The round trip that a quarter of the rounds reach, likewise.
    pub risen_often: Option<Risen>,
    /// Whether the receiver's round trip was measured once and never again.
    pub has_one_rtt_only: bool,
    /// What the counters of the receiver's socket show; absent where packets were captured.
    pub pattern: Option<ArrivalPattern>,
}

/// ACKs that wait on their way, by the timestamps of the data that they let out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DelayedAcks {
    /// The part of the round trip that they wait for, in the median.
    pub share: f64,
    /// Share of the time up to the last data in which nothing came for at least half as long: there the sender waited before it answered.
    pub silent_share: f64,
}

/// How data come, by the counters of the receiver's socket: from sample to sample, and in which segments.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArrivalPattern {
    /// Samples in the least round trip.
    pub samples_in_round_trip: f64,
    /// Standard deviation over mean of what comes between two samples.
    pub unevenness: f64,
    /// Share of the time between samples in which next to nothing comes.
    pub silent_share: f64,
    /// Times in a round trip that data come after silence.
    pub bursts_in_round_trip: f64,
    /// Full segments that are missing in those that are not full, in a round trip; absent where some came out of order.
    pub short_in_round_trip: Option<f64>,
    /// Segments that the receiver sends for each that comes; absent where a delayed ACK has no two to wait for.
    pub acks_of_segment: Option<f64>,
}

/// The rounds of a stream from some time on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settled {
    /// Number of them.
    pub rounds: usize,
    /// Their share of all.
    pub share: f64,
    /// Interquartile range over median of their rates; absent where there is none.
    pub spread: Option<f64>,
    /// The round trip that nearly all of them reach.
    pub risen: Option<Risen>,
    /// Whether segments came out of order in any.
    pub is_disordered: bool,
    /// How their rates grow.
    pub growth: Growth,
}

/// How a rate grows over the thirds of a time: ratios of mean rates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Growth {
    /// The smaller one of the second third over the first and the last over the second.
    pub each: f64,
    /// The last over the first; 0 where nothing comes at the end.
    pub whole: f64,
}

/// A round trip against the least one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Risen {
    /// Over it.
    pub times: f64,
    /// Above it, microseconds.
    pub above_us: f64,
}

/// The path in the direction of the data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PathEvidence {
    /// The round trip without load, microseconds; 0 where it has none.
    pub base_rtt_us: u64,
    /// The bottleneck's rate, bits per second of frames.
    pub rate_bps: Option<Fact<u64>>,
    /// Whether that is the rate of a simulated host.
    pub is_the_hosts: bool,
    /// What passed, all streams together, over that rate.
    pub rate_used: Option<f64>,
    /// What of all that passed was the stream's flow's; absent where nothing passed.
    pub own_share: Option<f64>,
    /// Whether all that passed so far fits into its token bucket.
    pub is_within_burst: bool,
    /// Whether the scenario lets nothing pass all the time.
    pub is_cut: bool,
    /// Whether a link of the path is known to drop the stream's full-size packets without a word.
    pub drops_full_segments: bool,
    /// Whether the bottleneck's queue held something at each of several samples.
    pub queue_always: bool,
    /// Whether the round trip was that of a queue which overflows at each of several samples; for a path whose queue nobody sampled.
    pub overflow_always: bool,
    /// Full frames that passed, all streams together.
    pub frames: f64,
    /// What the other direction carried over what this one did, whole streams.
    pub back_share: f64,
    /// What one more greedy stream gets beside the others, bits per second of payload.
    pub fair_share_bps: Option<f64>,
    /// The rate of an Ethernet link that the stream's packets fill in the interval, bits per second; absent for a planned path.
    pub line_rate_bps: Option<u64>,
}

/// Shares of an interval in which a thread computed, and waited for a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThreadUse {
    /// Computed.
    pub computed: f64,
    /// Waited; 0 where the record does not have it.
    pub waited: f64,
}

/// What a CPU quota did in a time of several of its periods.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QuotaUse {
    /// Share of the periods in which it ran out.
    pub periods: f64,
    /// Time in which its cgroup was not allowed to run over wall time; each CPU's counts.
    pub held: f64,
    /// CPU time that its cgroup used over wall time; absent where that is not known.
    pub used: Option<f64>,
    /// Share of the sender's samples that show it: of the sending process those with nothing left to send, of the receiving one those whose
    /// advertised window has shrunk.
    pub shown: f64,
    /// Whether the stream got anything through meanwhile.
    pub has_carried: bool,
}

/// Datagrams of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Datagrams {
    /// Share that did not arrive.
    pub lost_share: f64,
    /// What was sent over what was asked for; absent where as much as possible was.
    pub offered_share: Option<f64>,
    /// Drops by the path that was asked for, over what is missing; absent where nobody counted.
    pub path_drops: Option<f64>,
    /// Of these, those of its queue.
    pub queue_drops: Option<f64>,
    /// Drops by the instrument, likewise.
    pub testbed_drops: Option<f64>,
    /// Drops by the receiver's socket, likewise.
    pub socket_drops: Option<f64>,
    /// What the flow offers, frames from its first datagram to its last, over the path's rate; absent where either is not known.
    pub offered_of_rate: Option<f64>,
    /// Whether it is QUIC: a congestion control decides what is offered.
    pub is_quic: bool,
    /// The queue that its longest burst needs, were it alone, over the path's; absent where either is not known.
    pub burst_of_queue: Option<f64>,
}

/// A UDP socket, of which the kernel counts neither what it sends nor what it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UdpSocketEvidence {
    /// Datagrams that it dropped while it was looked at.
    pub drops: u64,
}

impl Evidence {
    /// Its length.
    pub fn length_us(&self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }

    /// How the busiest thread of either end spent it.
    pub fn endpoint_thread(&self) -> Option<ThreadUse> {
        let both = [self.sender_thread, self.receiver_thread].into_iter().flatten();
        both.max_by(|a, b| a.total().total_cmp(&b.total()))
    }

    /// Payload that the sender had acknowledged, bits per second; 0 where it was not seen.
    pub fn acked_bps(&self) -> f64 {
        let acked = self.sender.as_ref().map_or(0, |sender| sender.acked);
        acked as f64 * 8e6 / self.length_us().max(1) as f64
    }
}

impl SenderEvidence {
    /// Whether its ACKs told of CE marks, and nothing was lost.
    pub fn has_marks(&self) -> bool {
        self.ce_segments > 0 && !self.has_losses()
    }

    /// Whether segments were sent again, or still had to be.
    pub fn has_losses(&self) -> bool {
        self.retransmits > 0 || self.repair_share > 0.0
    }

    /// Share of what was sent that was sent again, in the interval or so far, whichever is less: a queue that overflowed once is in one of them.
    pub fn resent_share(&self) -> f64 {
        let share = |segments: u32, acked: u64| {
            let resent = u64::from(segments) * self.mss;
            resent as f64 / (acked + resent).max(1) as f64
        };
        share(self.retransmits, self.acked).min(share(self.retransmits_so_far, self.acked_so_far))
    }
}

impl ThreadUse {
    /// Both together: it had no time left for anything else.
    pub fn total(self) -> f64 {
        self.computed + self.waited
    }
}
