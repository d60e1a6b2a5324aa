//! Every threshold of `infer` and `judge`, once: name, layer, unit, value, source.
//!
//! A judgement takes them as a value ([`Thresholds`]), so that `catalogue --perturb` can judge again with one of them moved.

use super::threshold::{Layer, Source, Threshold, ThresholdAbout, Unit};

/// Samples of one stream that inference keeps: beyond that every second one goes. A bound on memory.
pub(crate) const SAMPLES_MAX: usize = 1 << 19;
/// The same of a receiver's samples, one stream.
pub(crate) const RECEIVER_SAMPLES_MAX: usize = 1 << 14;
/// Samples of a stream's packets that are kept, each of an interval: beyond that neighbours become one.
pub(crate) const PACKET_SAMPLES_MAX: usize = 1 << 14;
/// Comparisons for which there is room when the judgement of an interval begins: most make no more.
pub(crate) const COMPARISONS: usize = 64;
/// Thousandths in a whole.
pub(crate) const PERMILLE: f64 = 1_000.0;
/// Samples that a stream may keep however many streams there are.
pub(crate) const SAMPLES_OF_A_STREAM: usize = 256;
/// Spans of a ledger that are kept apart. A terminal shows some hundred columns, a page some thousand.
pub(crate) const SPANS_MAX: usize = 1000;
/// Rows of other tables and streams arrive at most this much later than the time they describe, microseconds; an epoch waits for them.
pub(crate) const PATIENCE_US: u64 = 1_000_000;
/// A socket's turns are counted over so long, or two round trips, microseconds: counters move in jiffies.
pub(crate) const TURNS_INTERVAL_US: u64 = 200_000;
/// Payload of a full segment on Ethernet with timestamps, bytes: what a receiver's socket does not report.
pub(crate) const SEGMENT_BYTES: f64 = 1_448.0;
/// Parts into which the time of a stream is cut to see a trend.
pub(crate) const THIRDS: usize = 3;

/// Header of an Ethernet frame, which shapers count too; preamble, checksum and gap come on top (IEEE 802.3, 3.1.1).
pub(crate) const FRAME_HEADER: f64 = 14.0;
/// Of IPv4 and TCP, with timestamps.
pub(crate) const HEADERS: f64 = 52.0;
pub(crate) const MTU: f64 = 1_500.0;
/// With an MSS up to this its packets have the MTU …
pub(crate) const ETHERNET_MSS: u16 = 1_460;
/// … and from this on; below, options or a tunnel fill them, or they are smaller …
pub(crate) const FULL_MSS: u16 = 1_440;
/// … which they are below this.
pub(crate) const TUNNEL_MSS: u16 = 1_300;
pub(crate) const JUMBO_MSS: u16 = 8_000;
pub(crate) const JUMBO_MTU: f64 = 9_000.0;

/// Rates of Ethernet (IEEE 802.3), which shapers are often set to as well.
pub(crate) const LINE_RATES_BPS: [u64; 5] =
    [10_000_000, 100_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000];

/// A margin moves a threshold this much past the point at which a comparison turns.
pub(crate) const PAST: f64 = 1e-9;

macro_rules! thresholds {
    ($($(#[doc = $about:literal])+ $name:ident: $layer:ident, $unit:ident = $value:literal, $source:expr;)+) => {
        /// The values of all thresholds.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Thresholds {
            $($(#[doc = $about])+ pub $name: Threshold,)+
        }

        /// All thresholds in their order.
        pub static ABOUT: &[ThresholdAbout] = &[$(ThresholdAbout {
            name: stringify!($name),
            layer: Layer::$layer,
            unit: Unit::$unit,
            value: $value,
            source: $source,
            about: concat!($($about),+),
        },)+];

        impl Thresholds {
            /// The values that are compared with where nothing else is said.
            pub const fn standard() -> Self {
                let mut next = 0;
                Self {
                    $($name: {
                        next += 1;
                        Threshold::new(next - 1, $value)
                    },)+
                }
            }

            fn all_mut(&mut self) -> impl Iterator<Item = &mut Threshold> {
                [$(&mut self.$name),+].into_iter()
            }
        }
    };
}

/// The thresholds of every judgement that says nothing else.
pub static STANDARD: Thresholds = Thresholds::standard();

impl Thresholds {
    /// These with the one at `index` of [`ABOUT`] `factor` times as large.
    #[must_use]
    pub fn with_moved(&self, index: usize, factor: f64) -> Self {
        let mut moved = self.clone();
        for threshold in moved.all_mut().filter(|threshold| threshold.index() == index) {
            *threshold = threshold.moved(factor);
        }
        moved
    }
}

thresholds! {
    /// From this part on a window counts as used up: its sender waits for room for a whole packet, and TSO sends up to 64 KB at once.
    window_used: Judge, Share = 0.90, Source::Rfc("9293, 3.8.6.2.1");
    /// Where nothing else explains the rate, a window of which this part is out limits: a sender may wait until a third of it is free.
    window_nearly_used: Judge, Share = 0.60, Source::Kernel("tcp_tso_should_defer()");
    /// A window that is no larger than this part of the largest one is closed by data that is not read: a receiver never takes a window back.
    window_shrunk: Judge, Share = 0.75, Source::Rfc("9293, 3.8.6");
    /// But one that stays the same, to the byte, while this many times as much arrives, is all that its receiver gives.
    window_is_all: Infer, Count = 8.0, Source::Kernel("tcp_select_window()");
    /// A writer is woken when two thirds of the send buffer are in use, so a buffer that limits rarely looks fuller than that.
    sndbuf_used: Judge, Share = 0.60, Source::Kernel("sk_stream_min_wspace()");
    /// A buffer of which this part is used between two samples, and of whose writer nothing else is known, limits.
    sndbuf_partly_used: Judge, Share = 0.30, Source::Kernel("sk_stream_min_wspace()");
    /// A buffer that limits shows at least this part at its fullest.
    sndbuf_fullest: Judge, Share = 0.65, Source::Kernel("sk_stream_min_wspace()");
    /// A buffer that limits is never emptier than this for long: its writer is woken when a third is free.
    sndbuf_emptiest: Judge, Share = 0.30, Source::Kernel("sk_stream_min_wspace()");
    /// Where one reading shows a full send buffer, the kernel counted that its writer waited for room for this part of the time with data outstanding.
    sndbuf_counted_any: Judge, Share = 0.05, Source::Catalogue;
    /// This part of the receive buffer holds data that the application has not read.
    unread: Judge, Share = 0.50, Source::Catalogue;
    /// In this part of the samples the sender recovers from losses: they decide, and not the window.
    repairing: Judge, Share = 0.50, Source::Catalogue;
    /// Up to this part of what it sends lost, a congestion control that sends on after losses does so: it probes for a quarter more.
    withstood: Judge, Share = 0.20, Source::Kernel("bbr_pacing_gain[]");
    /// A sender that loses this part of what it sends …
    kept_losses: Judge, Share = 0.15, Source::Catalogue;
    /// … and keeps this many segments in flight, times the root of that part, is not slowed down by losses: a window that they cut has 1.2 …
    kept_flight: Judge, Count = 5.0, Source::Paper("Mathis et al. (1997)");
    /// … and fills the path where a queue stands in this part of the samples.
    kept_queue: Judge, Share = 0.50, Source::Catalogue;
    /// In this part of the samples written data waits to be sent: only then can a window be what holds it.
    waiting: Judge, Share = 0.50, Source::Catalogue;
    /// Where data waits in no more than this part of the samples, everything was sent at times: neither a pacer nor a window held it then.
    always_waiting: Judge, Share = 0.90, Source::Kernel("tcp_write_xmit()");
    /// Nothing comes back where the retransmission timer ran out this often without an answer: the other end, or the way to it, is gone.
    silent_timers: Judge, Count = 3.0, Source::Rfc("6298, 5.5");
    /// In this part of the time the sender waits for its retransmission timer, whatever its window is.
    timer_awaited: Judge, Share = 0.50, Source::Rfc("6298, 5");
    /// A thread that computes, or waits for a CPU, for this part of the time has no more to give on a machine where others run too.
    cpu_busy: Judge, Share = 0.85, Source::Catalogue;
    /// A thread that is late and waited for a CPU for this part of the time is late for that reason.
    cpu_waited: Judge, Share = 0.10, Source::Catalogue;
    /// The turn of a process whose thread waits for a CPU for this part of it is the CPU's.
    cpu_awaited: Judge, Share = 0.50, Source::Catalogue;
    /// A writer without a rate whose thread is busy for this part of the time, and which leaves room everywhere, is limited by its CPU.
    cpu_partly_busy: Judge, Share = 0.50, Source::Catalogue;
    /// A CPU quota that runs out in this part of its periods is too small for what its cgroup does …
    quota_periods: Judge, Share = 0.50, Source::Catalogue;
    /// … and holds the flow back where this part of the sender's samples has nothing left to send, or a window that has shrunk.
    quota_shown: Judge, Share = 0.10, Source::Catalogue;
    /// The counters of a quota are read over at least so long: several of its periods.
    quota_interval_us: Infer, Microseconds = 500_000.0, Source::Kernel("default_cfs_period()");
    /// An application that has written this part of what it wanted to by now keeps its pace: it starts a round trip late.
    on_time: Judge, Share = 0.98, Source::Catalogue;
    /// The same where the path is full: what is written one per cent too slowly piles up.
    on_time_in_full_path: Judge, Share = 0.995, Source::Catalogue;
    /// A pacing rate that was asked for is reached from this part on.
    pacing_reached: Judge, Share = 0.95, Source::Catalogue;
    /// A path that carries this part of its rate is full.
    path_full: Judge, Share = 0.95, Source::Catalogue;
    /// A flow that has less than this part of what passes a full path shares it.
    path_own: Judge, Share = 0.80, Source::Catalogue;
    /// A bottleneck whose queue is never empty sends at its rate: below this part of it the round trip is longer for another reason.
    queue_sends: Judge, Share = 0.80, Source::Catalogue;
    /// Pacing explains what is acknowledged from this part of its rate on: headers and gaps between bursts take the rest.
    paced: Judge, Share = 0.80, Source::Catalogue;
    /// A pacing rate that a program has set is what gets through, except for what rounding takes.
    paced_by_program: Judge, Share = 0.92, Source::Kernel("tcp_update_pacing_rate()");
    /// A pacing rate that a program has set is the same for this long: BBR's own changes in cycles of eight.
    paced_steadily: Judge, RoundTrips = 12.0, Source::Kernel("bbr_update_cycle_phase()");
    /// A pacing rate of which less than this gets through does not hold data back.
    unpaced: Judge, Share = 0.70, Source::Catalogue;
    /// With fewer frames in an epoch whose round trip is long, timers are awaited, and the round trip is one of before.
    frames_fewest: Judge, Count = 8.0, Source::Catalogue;
    /// Traffic of the other way that is this part of the flow's may fill the other way's queue.
    back_traffic: Judge, Share = 0.05, Source::Catalogue;
    /// A stream that takes less than this part of an equal share does not want more.
    modest: Infer, Share = 0.9, Source::Catalogue;
    /// Samples of an epoch, or of a round, at least.
    epoch_samples: Infer, Count = 4.0, Source::Catalogue;

    /// A loss is forgotten after this many round trips: what follows is growth.
    loss_memory: Judge, RoundTrips = 20.0, Source::Catalogue;
    /// And no sooner than this.
    loss_memory_us: Judge, Microseconds = 2_000_000.0, Source::Catalogue;
    /// A segment that the queue dropped is sent again within this many round trips …
    repair: Judge, RoundTrips = 3.0, Source::Rfc("5681, 3.2");
    /// … or when the retransmission timer expires, which is no sooner than this.
    repair_timer_us: Judge, Microseconds = 200_000.0, Source::Kernel("TCP_RTO_MIN");
    /// Where the receiver had this part of what was sent again already (DSACK), it was not lost.
    spurious: Judge, Share = 0.50, Source::Rfc("3708");
    /// With this part of the ACKs lost, fewer than one in two segments is acknowledged by its own: the window grows in bursts.
    acks_lost: Judge, Share = 0.50, Source::Kernel("tcp_cong_avoid_ai()");
    /// ACKs that wait for this part of the round trip in a queue make it what it is.
    acks_wait: Judge, Share = 0.50, Source::Catalogue;
    /// ACKs that come later than the fastest one by this part of what the round trip is above its least make it all of that.
    ack_delay_most: Infer, Share = 0.75, Source::Catalogue;
    /// Timestamps tell delays with errors up to this: twice a tick of most clocks.
    stamp_error_us: Infer, Microseconds = 2_000.0, Source::Kernel("TCP_TS_HZ");
    /// A round trip this long, against the base one, has a queue somewhere.
    round_trip_long: Judge, Times = 2.0, Source::Catalogue;
    /// Losses at a round trip this long, against the base one, are those of a queue.
    loss_in_queue: Judge, Times = 1.5, Source::Catalogue;

    /// Datagrams lost up to this part are not what limits a flow …
    datagrams_lost: Judge, Share = 0.001, Source::Catalogue;
    /// … except in a queue that was full: more rate would have brought them through.
    datagrams_lost_in_queue: Judge, Share = 0.0001, Source::Catalogue;
    /// Drops that were counted explain the losses from this part of them on.
    drops_explain: Judge, Share = 0.50, Source::Catalogue;
    /// A flow of datagrams that offers this part of the path's rate, or more, fills it …
    datagrams_fill: Judge, Share = 0.95, Source::Catalogue;
    /// … and one whose longest burst needs more than this part of the queue overflows it by itself.
    datagrams_burst: Judge, Share = 1.0, Source::Catalogue;
    /// An application of which this part of what it offered was carried offered no more.
    offered_carried: Judge, Share = 0.98, Source::Catalogue;

    /// A one-way delay is that of a queue, and not the noise of timestamps, from this on above the least …
    joined_queue_us: Judge, Microseconds = 1_000.0, Source::Catalogue;
    /// … and where it is this part of the least round trip.
    joined_queue: Judge, Share = 0.2, Source::Catalogue;
    /// A queue of one direction is the cause where it is this many times that of the other.
    one_sided_queue: Judge, Times = 2.0, Source::Catalogue;
    /// Losses are drops of a full queue where the packets before them waited this part of the longest wait …
    queue_full_at_loss: Judge, Share = 0.7, Source::Catalogue;
    /// … and are not where they waited no more than this.
    queue_not_full_at_loss: Judge, Share = 0.3, Source::Catalogue;

    /// A counter of the kernel names a limit from this part of the time on.
    counter_names: Judge, Share = 0.50, Source::Catalogue;
    /// A holder of this part of the time leaves little room for another.
    confidence_clear: Judge, Share = 0.75, Source::Catalogue;
    /// A holder of less than this part of the time is only the largest of several.
    confidence_most: Judge, Share = 0.50, Source::Catalogue;
    /// A verdict whose margin is at least this does not hang on one threshold.
    confidence_margin: Judge, Share = 0.10, Source::Catalogue;
    /// A transfer shorter than this many times its slow start measures slow start.
    startups: Judge, Times = 3.0, Source::Catalogue;
    /// A single reading with fewer round trips of a connection is too short to judge: no plateau shows in it.
    reading_round_trips: Judge, RoundTrips = 5.0, Source::Catalogue;
    /// Nor does one with fewer segments, …
    reading_segments: Judge, Count = 10.0, Source::Catalogue;
    /// … where data waited to be sent or acknowledged for this part of the time.
    reading_busy: Judge, Share = 0.50, Source::Kernel("tcp_chrono_start()");

    /// A bucket that lets any rate pass for this part of a flow's time, or of its bytes, is said.
    unlimited_told: Judge, Share = 0.05, Source::Catalogue;

    /// A bucket this many times as large as the queue behind it lets bursts through and drops what follows: a policer.
    policer_burst: Infer, Times = 4.0, Source::Catalogue;
    /// A policer's queue empties within this part of the round trip …
    policer_queue: Infer, Share = 0.1, Source::Catalogue;
    /// … or holds no more full frames than this.
    policer_frames: Infer, Count = 10.0, Source::Catalogue;
    /// A queue of at most this many full frames is no queue: a bucket of any depth in front of it works as a policer.
    policer_no_queue: Infer, Count = 1.0, Source::Catalogue;

    /// A round trip has a queue in it when it is above its base by this part …
    queue_stands: Infer, Share = 0.05, Source::Catalogue;
    /// … and by this much, which a host's own scheduling adds.
    queue_stands_us: Infer, Microseconds = 200.0, Source::Catalogue;
    /// A round trip this much above its base holds more than a burst that waits for its own beginning: a third of a window is sent at once.
    beyond_bursts: Infer, Share = 0.25, Source::Kernel("tcp_tso_should_defer()");
    /// What takes this many times the round trip at which a queue overflows waits somewhere else, as ACKs do on their way back.
    overflow_reach: Infer, Times = 2.0, Source::Catalogue;

    /// A minimum below this part of what nearly all samples show is no round trip.
    base_rtt_absurd: Infer, Share = 0.25, Source::Catalogue;
    /// Nearly all samples are at or above this percentile.
    base_rtt_low: Infer, Share = 0.05, Source::Catalogue;
    /// Where the minimum is absurd, this percentile stands for the base round trip.
    base_rtt_usual: Infer, Share = 0.75, Source::Catalogue;

    /// A path that got longer had this many round trips before …
    detour_before: Infer, RoundTrips = 20.0, Source::Catalogue;
    /// … and has this many times as long ones in its second half …
    detour_longer: Infer, Times = 1.5, Source::Catalogue;
    /// … from some time on none that differs from these by more than this part …
    detour_other: Infer, Share = 0.20, Source::Catalogue;
    /// … and came to them from longer ones, or within this many of them, since they are smoothed …
    detour_step: Infer, RoundTrips = 2.0, Source::Catalogue;
    /// … where before, in as many, it grew by at most this part of that …
    detour_jump: Infer, Share = 0.5, Source::Catalogue;
    /// … for this part of the time …
    detour_most: Infer, Share = 0.5, Source::Catalogue;
    /// … and for this many of them, which a window takes to be seen to grow …
    detour_round_trips: Infer, RoundTrips = 10.0, Source::Catalogue;
    /// … of which nine tenths and one tenth …
    detour_tails: Infer, Share = 0.1, Source::Catalogue;
    /// … differ by no more than this part, while from the first third of that to the last …
    detour_even: Infer, Share = 0.05, Source::Catalogue;
    /// … what is in flight and the rate grow by this part, …
    detour_grows: Infer, Share = 0.08, Source::Catalogue;
    /// … and what arrives in one such part of a round trip after the other …
    detour_part: Infer, RoundTrips = 0.125, Source::Catalogue;
    /// … varies by this part of its mean: it comes in flights, which no queue lets through as such.
    detour_flights: Infer, Share = 0.6, Source::Catalogue;

    /// Rounds of a plateau that have to agree.
    plateau_rounds: Infer, Count = 5.0, Source::Catalogue;
    /// The same of samples that are rounds of their own, many round trips apart.
    plateau_samples: Infer, Count = 3.0, Source::Catalogue;
    /// From the first to the third quartile the rates of a plateau differ by no more than this part of their median.
    plateau_spread: Infer, Share = 0.20, Source::Catalogue;
    /// Where no least round trip was seen, what is in flight changes by more than this many times what the rate does: a window that never changes has a
    /// rate that follows its round trip.
    plateau_steadier: Infer, Times = 2.0, Source::Catalogue;
    /// The rate that nine of ten rounds do not exceed is at most this many times the plateau's.
    plateau_exceeded: Infer, Times = 1.30, Source::Catalogue;
    /// The rounds whose rate is looked at for that.
    plateau_high: Infer, Share = 0.90, Source::Catalogue;
    /// A round of fewer segments shows the receiver's delayed ACKs, not a queue.
    plateau_segments: Infer, Count = 8.0, Source::Catalogue;
    /// Fewer segments that wait are no queue: a machine that is late makes a round trip as much longer.
    plateau_waiting: Infer, Count = 2.0, Source::Catalogue;
    /// Windows that shrink in more than this part of the rounds are those of slow readers, whose ACKs are late too.
    slow_reader: Infer, Share = 0.1, Source::Catalogue;
    /// A round counts where its window was open, and data waited, for this part of its samples.
    round_open: Infer, Share = 0.5, Source::Catalogue;

    /// A queue that stands is never silent: a round in which less is delivered than …
    idle_part: Infer, Share = 0.25, Source::Paper("Kleinrock (1979)");
    /// … that part of its mean rate, for longer than this part of the time, is a burst that waits for itself …
    queue_idle: Judge, Share = 0.15, Source::Catalogue;
    /// … where this many segments are delivered between two samples, on average.
    idle_segments: Infer, Count = 4.0, Source::Catalogue;

    /// Standing rounds that are looked at together, so that the ACKs of one round do not count.
    sharing_together: Infer, Count = 4.0, Source::Catalogue;
    /// Groups of them that show sharing.
    sharing_groups: Infer, Count = 8.0, Source::Catalogue;
    /// At the slowest at most this part of the fastest rate gets through: where it is more, all rounds agree on one rate.
    sharing_fallen: Infer, Share = 0.80, Source::Catalogue;
    /// Where less than this part gets through, nobody's share is that small: a timer is awaited.
    sharing_stalled: Infer, Share = 0.05, Source::Catalogue;
    /// The fastest groups agree within this part.
    sharing_agree: Infer, Share = 0.10, Source::Catalogue;
    /// A plateau has this part of the groups: a window that grows has fewer near its largest.
    sharing_alone: Infer, Share = 0.15, Source::Catalogue;
    /// From the first to the third quartile its rates differ by no more than this part of their median.
    sharing_level: Infer, Share = 0.02, Source::Catalogue;
    /// The round trip is then no shorter than this part of what it was at the fastest.
    sharing_stays_up: Infer, Share = 0.95, Source::Catalogue;
    /// The slowest and the fastest groups are those at this percentile from either end.
    sharing_ends: Infer, Share = 0.1, Source::Catalogue;

    /// The round trip before a queue drops is longer than its base by this part.
    queue_loss_risen: Infer, Share = 0.20, Source::Paper("Biaz and Vaidya (1999)");
    /// Where it is longer by less, the windows at the losses are the same but for this (standard deviation over mean).
    queue_loss_same_window: Infer, Share = 0.25, Source::Catalogue;
    /// Fewer losses than this come at the same windows by chance …
    queue_losses_many: Infer, Count = 30.0, Source::Catalogue;
    /// … unless the round trip before them is longer than at other times, by this many standard errors of its mean rank.
    queue_loss_longer: Infer, Times = 2.0, Source::Paper("Mann and Whitney (1947)");
    /// A short queue makes the round trip longer at the end of what a window grows between two losses: where it was this part as much longer before …
    queue_loss_half: Infer, Share = 0.50, Source::Rfc("5681, 3.1");
    /// … in this number of samples since the loss before, or in more …
    queue_loss_samples: Infer, Count = 8.0, Source::Catalogue;
    /// … for at most this part of them, a queue that slow start has overflowed drops again.
    queue_loss_late: Infer, Share = 0.25, Source::Rfc("5681, 3.1");
    /// Slow start has overflowed something where it loses this many segments at once …
    overflow_fewest: Infer, Count = 6.0, Source::Catalogue;
    /// … and this many times as large a part as later is lost.
    overflow_more: Infer, Times = 10.0, Source::Catalogue;
    /// Losses that show whether the window, or the rate between them, is always the same.
    losses_fewest: Infer, Count = 5.0, Source::Catalogue;
    /// Losses of what overflows come at the same flight, but for this (standard deviation over mean) …
    overflow_same_flight: Infer, Share = 0.15, Source::Catalogue;
    /// … and after the same number of segments, but for this: by chance it is 1.
    overflow_regular: Infer, Share = 0.30, Source::Catalogue;
    /// Or, counted over segments of which this many are lost on average …
    overflow_block: Infer, Count = 6.0, Source::Catalogue;
    /// … the variance of the number of losses is at most this part of that of chance …
    overflow_even: Infer, Share = 0.50, Source::Paper("Cox and Lewis (1966)");
    /// … by this many standard errors.
    overflow_even_errors: Infer, Times = 2.0, Source::Paper("Cox and Lewis (1966)");
    /// What overflows is a queue where the round trip before a loss is longer than usual by this part of what it is above its base: in a burst that is a
    /// quarter at most, half of what a window grows in a tooth.
    overflow_queue: Infer, Share = 0.40, Source::Rfc("5681, 3.1");
    /// Slow start that loses this part of a flight, without a longer round trip, met a bucket, or next to no queue.
    overflow_of_flight: Infer, Share = 0.75, Source::Paper("Flach et al. (2016)");
    /// Near the receiver, where the flight is only seen without what is lost of it, it loses this part.
    overflow_of_arrivals: Infer, Share = 0.55, Source::Catalogue;
    /// It loses at least this part of what it lets through meanwhile: chance takes less, and adds up to a flight over many.
    overflow_at_once: Infer, Share = 0.10, Source::Catalogue;
    /// Where slow start has overflowed something, a few later losses are chance's if this many times …
    overflow_rates: Infer, Count = 3.0, Source::Catalogue;
    /// … the rates between them differ by more than this (standard deviation over mean): what overflows lets through the same each time.
    overflow_same_rate: Infer, Share = 0.20, Source::Paper("Flach et al. (2016)");
    /// After a timeout, one segment that is sent again is followed by an ACK of this many that were out: they had arrived.
    arrived_segments: Infer, Count = 3.0, Source::Catalogue;
    /// Fewer segments that are sent again show no policer: the rate between a few losses is the same by chance.
    policer_losses: Infer, Count = 15.0, Source::Paper("Flach et al. (2016)");
    /// Between losses a policer lets through the same rate every time, but for this part.
    policer_same_rate: Infer, Share = 0.12, Source::Paper("Flach et al. (2016)");
    /// And at the end of such a time this many times the average: what was saved up.
    policer_burst_rate: Infer, Times = 1.03, Source::Paper("Flach et al. (2016)");

    /// A leaky bucket explains losses that come in at least this many events, …
    bucket_events: Infer, Count = 3.0, Source::Catalogue;
    /// … where its level at a loss is above the level at this share of the passed segments, the mean, …
    bucket_rank: Infer, Share = 0.90, Source::Catalogue;
    /// … and its level at the losses varies by at most this part.
    bucket_spread: Infer, Share = 0.30, Source::Catalogue;
    /// Segments leave a queue at its rate, which is within this factor of the rates that explain the losses, …
    bucket_rates_agree: Infer, Times = 1.15, Source::Catalogue;
    /// … of which the highest is at most this many times the lowest.
    bucket_rates_narrow: Infer, Times = 3.5, Source::Catalogue;
    /// ACKs show that rate where segments beside a loss have waited behind at least this many others.
    bucket_rate_segments: Infer, Count = 2.0, Source::Catalogue;
    /// By ACKs it is a queue where those before a loss are at least this far apart, as a part of what the highest of these rates gives, …
    bucket_spacing: Infer, Share = 0.50, Source::Catalogue;
    /// … and segments beside a loss have waited behind at least this many others.
    bucket_queue_segments: Infer, Count = 0.5, Source::Catalogue;
    /// Behind a policer segments arrive at most this far apart before a loss, as a part of what the bucket's rate gives.
    bucket_burst_spacing: Infer, Share = 0.20, Source::Catalogue;

    /// A span of packets has this many round trips …
    packet_span: Infer, RoundTrips = 6.0, Source::Paper("Zhang et al. (2002)");
    /// … lasts this long …
    packet_span_us: Infer, Microseconds = 100_000.0, Source::Catalogue;
    /// … and has this many samples.
    packet_span_samples: Infer, Count = 6.0, Source::Catalogue;
    /// The advertised window has no room for another packet in this part of the samples in which data leave: the sender waits for it …
    packet_window_full: Judge, Share = 0.50, Source::Catalogue;
    /// … unless less than this part of the largest flight is out when ACKs come.
    packet_window_filled: Judge, Share = 0.60, Source::Catalogue;
    /// A window that grows is full where it has no room in this part of the samples.
    packet_window_always: Judge, Share = 0.90, Source::Catalogue;
    /// Between two PSHs a longer queue sends half of the largest window; with less than this part of that it has run dry.
    packet_dry: Judge, Share = 0.70, Source::Kernel("forced_push()");
    /// A queue that runs dry ends this part of the bursts with a PSH.
    packet_dry_bursts: Judge, Share = 0.60, Source::Catalogue;
    /// Programs write no more at once: in a queue that is never empty the end of a write shows more seldom.
    packet_write: Judge, Bytes = 196_608.0, Source::Catalogue;
    /// An application that writes less than this part of what is in flight fills no buffer …
    packet_write_small: Judge, Share = 0.25, Source::Catalogue;
    /// … nor one that writes less than this many segments …
    packet_write_segments: Judge, Count = 3.0, Source::Catalogue;
    /// … nor one of whose writes this part ends in a segment that is not full …
    packet_tails: Judge, Share = 0.70, Source::Catalogue;
    /// … nor one that lets the pipe run empty in this part of the samples.
    packet_drained_often: Judge, Share = 0.30, Source::Catalogue;
    /// It is empty with less than this part of the span's largest flight.
    packet_drained: Infer, Share = 0.34, Source::Catalogue;
    /// For this many spans after a loss the congestion window is what the loss has left.
    packet_loss_memory: Judge, Count = 3.0, Source::Catalogue;
    /// Where less than this part of the new data follows an ACK at once, ACKs do not let it out.
    packet_prompt: Judge, Share = 0.50, Source::Catalogue;
    /// Of small writes, one in each round trip, this part is enough: a program that an ACK wakes writes several, and only the first leaves at once.
    packet_prompt_of_writes: Judge, Share = 0.35, Source::Catalogue;
    /// A buffer that is full lets out what an ACK acknowledges: this part of the new data or more.
    packet_clocked: Judge, Share = 0.50, Source::Kernel("sk_stream_write_space()");
    /// … or, where a pacer spreads it, a burst that follows an ACK at once in this part of the round trips.
    packet_clocked_bursts: Judge, Share = 0.75, Source::Kernel("sk_stream_write_space()");
    /// … or, where the writer takes its time to wake, large writes are never late: before each ACK this part of the most is out.
    packet_always_full: Judge, Share = 0.97, Source::Catalogue;
    /// Data that is paced leaves so evenly: standard deviation over mean of what leaves in each sample.
    packet_even: Judge, Share = 0.35, Source::Catalogue;
    /// A round trip this many times the least one has a queue in it …
    packet_rtt_risen: Judge, Times = 1.10, Source::Catalogue;
    /// … or one that is longer by this.
    packet_rtt_risen_us: Judge, Microseconds = 1_000.0, Source::Catalogue;
    /// A queue stands where the round trip is this many times the least one …
    packet_queue_stands: Infer, Times = 1.20, Source::Catalogue;
    /// … in this part of the samples.
    packet_queue_share: Infer, Share = 0.50, Source::Catalogue;
    /// Where the round trip is this many times the least one, as much waits in the queue as is under way: what is sent on ACKs comes at its rate, whatever
    /// the program has written.
    packet_queue_long: Infer, Times = 2.0, Source::Catalogue;
    /// A send buffer's writer waits until a third of it is free: of the largest flight less than this part is out when ACKs come.
    packet_refilled: Judge, Share = 0.88, Source::Kernel("sk_stream_min_wspace()");
    /// After losses less than this part of it.
    packet_emptied: Judge, Share = 0.75, Source::Kernel("sk_stream_min_wspace()");
    /// What is in flight has fallen where it is less than this part of the most in the round trip before, and nothing was lost: a window would have
    /// let out as much as was acknowledged …
    packet_fallen: Infer, Share = 0.50, Source::Rfc("5681, 3.1");
    /// … where that was this many segments: of fewer, those that one delayed ACK acknowledges are a large part.
    packet_fallen_segments: Infer, Count = 20.0, Source::Catalogue;
    /// A buffer is emptied before it is filled again where it has fallen in this part of the samples, whatever was lost before.
    packet_fallen_often: Judge, Share = 0.05, Source::Kernel("sk_stream_min_wspace()");
    /// A burst that an ACK let out when no more than this part of the one before was out followed the last of its ACKs.
    packet_nearly_nothing: Judge, Share = 0.10, Source::Kernel("sk_stream_write_space()");
    /// A flight that neither grows nor shrinks is the same in both halves of a span, but for this part.
    packet_flight_same: Judge, Share = 0.15, Source::Catalogue;
    /// A flight that is the same to a segment over this many spans is no congestion window's.
    packet_flight_constant: Judge, Count = 1.0, Source::Catalogue;
    /// A send buffer has room while less than this part of the flight before a loss is in flight; the overhead of its packets varies.
    packet_held: Judge, Share = 0.40, Source::Kernel("SKB_TRUESIZE()");
    /// A span of this many round trips is long enough to see a window grow.
    packet_growth: Judge, RoundTrips = 3.0, Source::Catalogue;
    /// In slow start the flight grows in this many round trips …
    packet_slow_start: Infer, RoundTrips = 3.0, Source::Rfc("5681, 3.1");
    /// … by this factor at least.
    packet_doubling: Infer, Times = 1.50, Source::Rfc("5681, 3.1");
    /// … and by this one at most: a segment for each that is acknowledged. An application's bursts have any size.
    packet_doubled: Infer, Times = 2.20, Source::Rfc("5681, 3.1");
    /// Packets fill an Ethernet link, or what is shaped to its rate, where with their frames they take at least this part of it, since preambles and gaps take the rest …
    line_rate_least: Infer, Share = 0.970, Source::Paper("IEEE 802.3, 3.1.1");
    /// … and no more than this …
    line_rate_most: Infer, Share = 1.005, Source::Paper("IEEE 802.3, 3.1.1");
    /// … in steps of this many segments …
    line_rate_step: Infer, Count = 20.0, Source::Catalogue;
    /// … or of this part of all, as the number of them …
    line_rate_cut: Infer, Count = 20.0, Source::Catalogue;
    /// … of which there are this many …
    line_rate_steps: Infer, Count = 5.0, Source::Catalogue;
    /// … and only this part is others …
    line_rate_others: Infer, Share = 0.15, Source::Catalogue;
    /// … over this part of the time …
    line_rate_share: Infer, Share = 0.50, Source::Catalogue;
    /// … of this many segments.
    line_rate_segments: Infer, Count = 100.0, Source::Catalogue;
    /// Near the receiver timers hold a congestion window where the waits for them take this part of the time: slow start follows each.
    arrival_timers: Infer, Share = 0.33, Source::Rfc("5681, 3.1");
    /// A hole that something fills after a silence of this and two round trips waited for a timer: those of other stacks are shorter than Linux's.
    hole_timer_us: Infer, Microseconds = 100_000.0, Source::Rfc("6298, 2.4");
    /// Spans of a rate that stays the same, near the receiver.
    arrival_spans: Infer, Count = 3.0, Source::Catalogue;
    /// None of its rates differs from the median by more than this part …
    arrival_same: Infer, Share = 0.12, Source::Catalogue;
    /// … nor the last third's mean from the first one's by more than this: a congestion window grows.
    arrival_trend: Infer, Share = 0.04, Source::Catalogue;
    /// What arriving packets show holds a stream that they show for this part of the time.
    arrival_share: Judge, Share = 0.60, Source::Catalogue;
    /// Data that was paced arrives so evenly: standard deviation over mean of what comes in each sample …
    arrival_even: Judge, Share = 0.20, Source::Catalogue;
    /// … with round trips of at most this many times the least, …
    arrival_flat: Judge, Times = 1.10, Source::Catalogue;
    /// … but for this part of the spans.
    arrival_flat_share: Infer, Share = 0.10, Source::Catalogue;
    /// Single full segments are evenly spaced where each spacing differs from the median by at most this part of it.
    single_even: Infer, Share = 0.20, Source::Catalogue;
    /// With a median spacing from this many round trips …
    single_in_turn_from: Infer, Times = 0.90, Source::Kernel("tcp_cwnd_test()");
    /// … to this many, each ACK may release one segment: a window or a send buffer of one segment.
    single_in_turn_to: Infer, Times = 1.15, Source::Kernel("tcp_cwnd_test()");
    /// A buffer that is emptied and filled again sends bursts a round trip apart, which arrive so unevenly …
    arrival_bursts: Judge, Share = 0.50, Source::Kernel("sk_stream_min_wspace()");
    /// … or, where a round trip is shorter than the time between two samples, this many in each …
    arrival_bursts_often: Judge, Count = 0.75, Source::Kernel("sk_stream_min_wspace()");
    /// … with round trips of at most this many times the least: bursts wait for each other.
    arrival_flat_of_bursts: Judge, Times = 1.25, Source::Catalogue;
    /// A line is kept busy, whatever the program has written when, where fewer bursts than this come in a round trip, each after none for half of it …
    arrival_busy: Judge, Count = 0.30, Source::Catalogue;
    /// … while the receiver's round trip is at least this many times the least one: without a queue an answer waits for less than that half.
    arrival_queue_long: Judge, Times = 1.50, Source::Catalogue;
    /// With fewer segments in a round trip packets do not show how the rate of what arrives changes.
    arrival_segments: Judge, Count = 8.0, Source::Catalogue;
    /// Bursts that come as often as round trips, but for this part, are let out by ACKs.
    arrival_clocked: Judge, Share = 0.05, Source::Kernel("sk_stream_write_space()");
    /// So are bursts in any pattern, where this part of them comes a round trip after another one …
    arrival_repeated: Judge, Share = 0.80, Source::Paper("Jacobson (1988)");
    /// … and at most this part after any other time: an even clock has no round trip.
    arrival_repeated_otherwise: Judge, Share = 0.60, Source::Catalogue;
    /// With bursts further apart than a round trip, at most this many in each …
    arrival_bursts_apart: Infer, Count = 0.85, Source::Rfc("5681, 3.1");
    /// … and at least this many, they are neither a window's, which come once in each, nor pauses …
    arrival_bursts_rare: Infer, Count = 0.30, Source::Catalogue;
    /// … where they come so in this part of the spans.
    arrival_apart: Judge, Share = 0.80, Source::Catalogue;

    /// A round trip of this many times the receiver's median is none.
    receiver_rtt_too_long: Infer, Times = 3.0, Source::Catalogue;
    /// What arrives in a round trip is nearly the window.
    receiver_window_used: Judge, Share = 0.80, Source::Catalogue;
    /// While both grow it is all of it: in slow start a receiver makes its window twice what arrived.
    receiver_window_filled: Infer, Share = 0.95, Source::Kernel("tcp_rcv_space_adjust()");
    /// From the first to the third quartile the rates of a full path differ by no more than this part of their median.
    receiver_plateau: Judge, Share = 0.20, Source::Catalogue;
    /// The same where every round has a queue and nothing was lost.
    receiver_settled: Judge, Share = 0.10, Source::Catalogue;
    /// A receiver's round trip with a queue is this many times its least …
    receiver_risen: Judge, Times = 1.12, Source::Catalogue;
    /// … and longer by this: two of the kernel's milliseconds.
    receiver_risen_us: Judge, Microseconds = 2_000.0, Source::Kernel("tcp_rcv_rtt_measure_ts()");
    /// With fewer segments in a round trip the receiver's estimate of it says little.
    receiver_segments: Judge, Count = 20.0, Source::Catalogue;
    /// … but where that many of them are the queue's: one may be what a pacer holds back.
    receiver_queued: Judge, Count = 2.0, Source::Catalogue;
    /// A full path has a queue in this part of its rounds …
    receiver_queue_share: Infer, Share = 0.75, Source::Catalogue;
    /// … and where losses do not change the rate, in this part.
    receiver_queue_often: Infer, Share = 0.25, Source::Catalogue;
    /// From this part of the median rate on, the start is over.
    receiver_started: Infer, Share = 0.9, Source::Catalogue;
    /// The rounds after the start are at least this part of all.
    receiver_settled_share: Judge, Share = 0.5, Source::Catalogue;
    /// A window that still grows brings this many times as much at the end as at the beginning …
    receiver_grown: Judge, Times = 1.25, Source::Catalogue;
    /// … or, without a loss, this many times as much in each third of the time as in the one before …
    receiver_grows: Judge, Times = 1.02, Source::Catalogue;
    /// … and this many times in all: an application's rate wavers.
    receiver_grows_steadily: Judge, Times = 1.10, Source::Catalogue;
    /// Segments come out of order in this part of the rounds: their sender sees losses, or what looks like them.
    receiver_disordered: Judge, Share = 0.05, Source::Catalogue;
    /// CE marks come in this part of the rounds: their sender cuts its window again and again.
    receiver_marked: Judge, Share = 0.05, Source::Rfc("3168, 6.1.2");
    /// All streams of a full link together bring the same rate but for this: of 300 that are cut by chance the rates vary by as much.
    receiver_together: Judge, Share = 0.05, Source::Catalogue;
    /// A rate that losses do not change is the same but for this.
    receiver_unchanged: Judge, Share = 0.02, Source::Catalogue;
    /// A receiver's ACK waits this long for a second segment.
    delayed_ack_us: Infer, Microseconds = 40_000.0, Source::Kernel("TCP_DELACK_MIN");
    /// A receiver acknowledges each segment that ends a write as soon as it is read, and of others every second one: from this part on it is each …
    acks_of_each: Judge, Share = 0.90, Source::Kernel("tcp_cleanup_rbuf()");
    /// … and up to this part nearly none.
    acks_of_second: Judge, Share = 0.75, Source::Kernel("tcp_cleanup_rbuf()");
    /// Segments that are not full end writes where a round trip has at least this many: a sender with a small one outstanding waits for more.
    short_segments: Judge, Count = 0.25, Source::Kernel("tcp_minshall_check()");
    /// A sender that always has more to send sends next to none.
    short_segments_few: Judge, Count = 0.05, Source::Kernel("tcp_minshall_check()");
    /// A round trip in which fewer samples of the receiver's socket lie shows nothing of how evenly data come …
    samples_of_round_trip: Judge, Count = 2.0, Source::Paper("Shannon (1949)");
    /// … and one with silence for less than this many samples may have more silences than are seen.
    samples_of_silence: Judge, Count = 2.0, Source::Paper("Shannon (1949)");
    /// A buffer that is emptied sends bursts further apart than a round trip: at most this many in each …
    bursts_apart: Judge, Count = 0.85, Source::Rfc("5681, 3.1");
    /// … at least this many: pauses are longer …
    bursts_rare: Judge, Count = 0.30, Source::Catalogue;
    /// … and it seldom loses any: in this part of the rounds at most.
    receiver_seldom_disordered: Judge, Share = 0.25, Source::Catalogue;
    /// A buffer's bursts bring no more in the last third of the time than in the first one, but for this part: a congestion window grows.
    bursts_trend: Judge, Share = 0.04, Source::Rfc("5681, 3.1");
    /// Packets show that over at least this many round trips.
    bursts_rounds: Judge, Count = 10.0, Source::Rfc("5681, 3.1");
    /// Segments that come out of order in this part of the rounds, while no queue stands, are lost by something that lets no larger window through.
    receiver_mostly_disordered: Judge, Share = 0.50, Source::Catalogue;
    /// What is held back leaves in full segments, so that most bursts follow one; after what an application wrote at most this part of them does …
    resumed_seldom: Judge, Share = 0.25, Source::Kernel("tcp_write_xmit()");
    /// … of at least this many bursts.
    resumed_bursts: Infer, Count = 10.0, Source::Catalogue;
    /// Of the flights of a window at least this part does.
    resumed_mostly: Infer, Share = 0.75, Source::Kernel("tcp_write_xmit()");
    /// Flights of a window that grows are this many times as large in their second half.
    flights_grown: Infer, Times = 1.20, Source::Rfc("5681, 3.1");
    /// In slow start a third of the time brings this many times as much as the one before.
    receiver_starts: Judge, Times = 1.4, Source::Rfc("5681, 3.1");
    /// In slow start a round trip brings this many times as much as the one before, with an ACK for every second segment …
    slow_start_growth: Infer, Times = 1.4, Source::Rfc("5681, 3.1");
    /// … at least so often, one after the other.
    slow_start_rounds: Infer, Count = 3.0, Source::Catalogue;
    /// Where the data end with it, this often, the last time with what is left.
    slow_start_rounds_of_all: Infer, Count = 2.0, Source::Catalogue;
    /// A flight that a pacer spreads over its round trip is cut after this part of it: the next one begins with the next round trip.
    slow_start_paced: Infer, RoundTrips = 0.9, Source::Kernel("bbr_high_gain");
    /// The shortest flow that is judged, in round trips …
    judged_round_trips: Judge, Times = 2.0, Source::Catalogue;
    /// … and in segments, …
    judged_segments: Judge, Count = 10.0, Source::Catalogue;
    /// … unless it waits for turns for this part of its time, …
    mostly_waits: Judge, Share = 0.5, Source::Catalogue;
    /// … or a window of 0 or an end that is silent holds this part.
    event_decides: Judge, Share = 0.5, Source::Catalogue;
    /// Late ACKs that show a delayed ACK timer: a single one may have been lost.
    delayed_acks: Infer, Count = 3.0, Source::Catalogue;
    /// Round trips of turns that take more than this of the time overlap: requests are outstanding together.
    turns_overlap: Infer, Times = 1.05, Source::Catalogue;
    /// What the other side says meanwhile is no request where it has no more payload than this: window updates of SSH and HTTP/2, pings.
    remark_bytes: Infer, Bytes = 100.0, Source::Catalogue;
    /// An ACK that comes this much later than the least round trip was delayed.
    late_ack_us: Infer, Microseconds = 20_000.0, Source::Rfc("1122, 4.2.3.2");
    /// A sender that is this often silent for longer than a timer, and goes on in order, had nothing outstanding …
    pauses_fewest: Infer, Count = 3.0, Source::Catalogue;
    /// … and a timer runs at least for this beside the round trip.
    timer_least_us: Infer, Microseconds = 200_000.0, Source::Kernel("TCP_RTO_MIN");
    /// An answer that takes this many smoothed round trips, and longer than the shortest timer, was sent again by the other end's.
    answer_round_trips: Infer, RoundTrips = 2.0, Source::Rfc("6298, 2.3");
    /// An application that pauses ends what it wrote in a part of a segment at this part of its pauses; a pacer does not.
    pause_tails: Infer, Share = 0.10, Source::Kernel("tcp_sendmsg_locked()");
    /// A flight of at most this many segments takes no time beside a round trip.
    initial_window: Infer, Count = 10.0, Source::Rfc("6928, 2");
    /// Less than a segment that waits this long is held back by an ACK: a jiffy.
    held_us: Infer, Microseconds = 4_000.0, Source::Kernel("tcp_nagle_check(), HZ = 250");
    /// A window of the application lets out the same amount in each of this number of intervals of at least a round trip …
    app_window_rounds: Infer, Count = 5.0, Source::Catalogue;
    /// … but for this part …
    app_window_even: Judge, Share = 0.10, Source::Catalogue;
    /// … and the other side, which opens it, speaks at least so often in a round trip.
    app_window_credits: Judge, Count = 1.0, Source::Catalogue;
    /// A buffer that grows by itself is as large as it may be from this part of its maximum on.
    buffer_is_largest: Judge, Share = 0.80, Source::Kernel("tcp_rcv_space_adjust()");
    /// A buffer, or a window, that has not grown for this many round trips in which it limits does not grow by itself …
    buffer_fixed_rounds: Judge, RoundTrips = 8.0, Source::Kernel("tcp_rcv_space_adjust()");
    /// … where it is no more than this part larger than before: a window that limits doubles each round trip while it grows by itself.
    buffer_crept: Infer, Share = 0.10, Source::Kernel("tcp_rcv_space_adjust()");
    /// A receive buffer that has stopped growing gives a window of at least half of it: below this part the window has a limit of its own …
    window_of_buffer: Judge, Share = 0.40, Source::Kernel("tcp_win_from_space()");
    /// … and a window below this part of what its scale is made for has a smaller buffer than that: one that a program has set after the handshake, or a smaller `tcp_rmem` beside a large `rmem_max`.
    window_of_scale: Judge, Share = 0.20, Source::Kernel("tcp_select_initial_window()");
    /// Nobody makes `tcp_rmem` so small that a window is less than this part of what `rmem_max` has made the scale for …
    window_far_of_scale: Judge, Share = 0.004, Source::Kernel("tcp_select_initial_window()");
    /// … and less than this part of what Linux's usual maximum has its scale for: a program has set the buffer.
    window_far_of_usual: Judge, Share = 0.10, Source::Kernel("tcp_init()");
    /// Linux before 4.20 advertised no more segments than this in a SYN, whatever its buffer was: 20 of 1460 bytes, and one more of 1448 may fit.
    syn_window_segments: Judge, Count = 21.0, Source::Kernel("tcp_default_init_rwnd()");
    /// A window that is more than this many times its first one has grown with its buffer: half of a buffer is window at first, and all of it at most.
    window_autotuned: Judge, Times = 2.0, Source::Kernel("TCP_DEFAULT_SCALING_RATIO");
    /// Rounds that show a limit.
    receiver_rounds: Judge, Count = 3.0, Source::Catalogue;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_threshold_is_defined_once_and_found_by_its_index() {
        let names: BTreeSet<&str> = ABOUT.iter().map(|about| about.name).collect();
        assert_eq!(names.len(), ABOUT.len());
        let mut standard = STANDARD.clone();
        for (at, threshold) in standard.all_mut().enumerate() {
            assert_eq!((threshold.index(), threshold.value()), (at, ABOUT[at].value), "{}", ABOUT[at].name);
            assert!(threshold.value() > 0.0, "{}: a move of a part of nothing is none", ABOUT[at].name);
        }
    }

    #[test]
    fn one_is_moved_and_the_others_stay() {
        let moved = STANDARD.with_moved(STANDARD.on_time.index(), 0.5);
        assert_eq!(moved.on_time.value(), 0.49);
        assert_eq!(Thresholds { on_time: STANDARD.on_time, ..moved }, STANDARD);
    }
}
