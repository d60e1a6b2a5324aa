//! Advice as data: what to set, where, to what, and why. `report` puts it into words.

use pipefill_core::cell::Direction;
use pipefill_core::record::{CpuQuota, Origin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where something is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The host that sends the flow's data.
    Sender,
    /// The host that receives it.
    Receiver,
    /// The path's bottleneck, or what emulates the path.
    Bottleneck,
    /// The program that carries the data.
    Program,
}

/// What is to be set, and to what.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// `net.ipv4.tcp_rmem`: least, initial, maximum.
    TcpRmem([u64; 3]),
    /// The maximum of `net.ipv4.tcp_rmem` at least, on a host whose present value is not known.
    TcpRmemMaximum(u64),
    /// `net.ipv4.tcp_wmem`.
    TcpWmem([u64; 3]),
    /// `net.ipv4.tcp_window_scaling=1`, at both ends.
    WindowScaling,
    /// `net.ipv4.tcp_moderate_rcvbuf=1`.
    ReceiveAutotuning,
    /// `net.ipv4.tcp_slow_start_after_idle=0`.
    KeepCwndAfterIdle,
    /// `net.ipv4.tcp_mtu_probing=1`.
    MtuProbing,
    /// `net.ipv4.tcp_congestion_control=bbr`.
    Bbr,
    /// `SO_RCVBUF`, bytes.
    Rcvbuf(u64),
    /// `SO_SNDBUF`, bytes.
    Sndbuf(u64),
    /// No `SO_RCVBUF`: the kernel sizes the buffer.
    NoRcvbuf,
    /// No `SO_SNDBUF`.
    NoSndbuf,
    /// No `TCP_WINDOW_CLAMP`.
    NoWindowClamp,
    /// `net.core.rmem_max`: what a program may ask of `SO_RCVBUF`, bytes.
    RmemMax(u64),
    /// A receive buffer of these bytes, whoever sizes it.
    ReceiveBuffer(u64),
    /// A send buffer of these bytes, whoever sizes it.
    SendBuffer(u64),
    /// `SO_MAX_PACING_RATE`, kbit/s.
    MaxPacingRate(u64),
    /// The same for the flow of the other direction.
    OtherFlowsMaxPacingRate(u64),
    /// Parallel streams.
    Parallel(u64),
    /// Requests that a client has open at once.
    Outstanding(u64),
    /// A window of the application, bytes.
    ApplicationWindow(u64),
    /// `TCP_NODELAY`.
    NoDelay,
    /// `TCP_QUICKACK`, after each read.
    QuickAck,
    /// How long the transfer takes, at least.
    Duration(Duration),
    /// A longer queue at the bottleneck, BDPs.
    LongerQueue(f64),
    /// Depth of the bottleneck's or the policer's token bucket, bytes.
    Burst(u64),
    /// A shorter one.
    ShorterQueue(f64),
    /// FQ-CoDel in place of a drop-tail queue at the bottleneck.
    FqCodel,
    /// `net.ipv4.tcp_ecn=1`: the host asks for ECN, and accepts it.
    Ecn,
    /// Marks in place of drops, by the discipline of the bottleneck's queue.
    MarkingAqm,
    /// What the delay element can hold, packets.
    DelayLimit(u64),
    /// The CPU time that a cgroup may use in each period, microseconds.
    CpuQuota {
        /// The present one.
        quota: CpuQuota,
        /// The new one.
        wanted_us: u64,
    },
    /// Datagrams this far apart, as evenly as the program can send them.
    SpacedDatagrams(Duration),
    /// Size of the bottleneck's queue, packets.
    QueuePackets(u64),
    /// The buffers of both ends, which the test itself has set to so many bytes: not to set them, or larger.
    TestBuffers(u64),
}

impl Setting {
    /// The name of what is set: a sysctl, a socket option, or the key of a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TcpRmem(_) | Self::TcpRmemMaximum(_) => "net.ipv4.tcp_rmem",
            Self::TcpWmem(_) => "net.ipv4.tcp_wmem",
            Self::WindowScaling => "net.ipv4.tcp_window_scaling",
            Self::ReceiveAutotuning => "net.ipv4.tcp_moderate_rcvbuf",
            Self::KeepCwndAfterIdle => "net.ipv4.tcp_slow_start_after_idle",
            Self::MtuProbing => "net.ipv4.tcp_mtu_probing",
            Self::Bbr => "net.ipv4.tcp_congestion_control",
            Self::Rcvbuf(_) | Self::NoRcvbuf => "SO_RCVBUF",
            Self::Sndbuf(_) | Self::NoSndbuf => "SO_SNDBUF",
            Self::NoWindowClamp => "TCP_WINDOW_CLAMP",
            Self::RmemMax(_) => "net.core.rmem_max",
            Self::ReceiveBuffer(_) => "receive buffer",
            Self::SendBuffer(_) => "send buffer",
            Self::MaxPacingRate(_) | Self::OtherFlowsMaxPacingRate(_) => "SO_MAX_PACING_RATE",
            Self::Parallel(_) => "parallel",
            Self::Outstanding(_) => "app.outstanding",
            Self::ApplicationWindow(_) => "app.size",
            Self::NoDelay => "TCP_NODELAY",
            Self::QuickAck => "TCP_QUICKACK",
            Self::Duration(_) => "duration",
            Self::Burst(_) => "burst",
            Self::LongerQueue(_) | Self::ShorterQueue(_) | Self::QueuePackets(_) => "queue",
            Self::FqCodel => "aqm",
            Self::Ecn => "net.ipv4.tcp_ecn",
            Self::MarkingAqm => "ecn",
            Self::SpacedDatagrams(_) => "spacing",
            Self::DelayLimit(_) => "delay_limit",
            Self::CpuQuota { quota, .. } if quota.has_period_beside_it() => CpuQuota::FILE,
            Self::CpuQuota { .. } => CpuQuota::FILE_1,
            Self::TestBuffers(_) => "window",
        }
    }

    /// Its value, as a scenario takes it. A buffer that is not to be set has none.
    pub fn value(&self) -> Option<String> {
        Some(match self {
            Self::TcpRmem([least, initial, maximum]) | Self::TcpWmem([least, initial, maximum]) => {
                format!("{least} {initial} {maximum}")
            }
            Self::WindowScaling | Self::ReceiveAutotuning | Self::MtuProbing | Self::Ecn => "1".to_owned(),
            Self::KeepCwndAfterIdle => "0".to_owned(),
            Self::Bbr => "bbr".to_owned(),
            Self::FqCodel => "fq_codel".to_owned(),
            Self::NoDelay | Self::MarkingAqm => "true".to_owned(),
            Self::QuickAck => "1".to_owned(),
            Self::Rcvbuf(bytes)
            | Self::Sndbuf(bytes)
            | Self::ReceiveBuffer(bytes)
            | Self::SendBuffer(bytes)
            | Self::ApplicationWindow(bytes)
            | Self::Burst(bytes) => format!("{bytes}B"),
            Self::RmemMax(bytes) | Self::TcpRmemMaximum(bytes) => bytes.to_string(),
            Self::Outstanding(requests) => requests.to_string(),
            Self::MaxPacingRate(kbit) | Self::OtherFlowsMaxPacingRate(kbit) => format!("{kbit}kbit"),
            Self::Parallel(streams) => streams.to_string(),
            Self::Duration(duration) => format!("{}ms", duration.as_millis()),
            Self::LongerQueue(bdp) | Self::ShorterQueue(bdp) => format!("{bdp}bdp"),
            Self::CpuQuota { quota, wanted_us } if quota.has_period_beside_it() => {
                format!("{wanted_us} {}", quota.period_us)
            }
            Self::CpuQuota { wanted_us, .. } => wanted_us.to_string(),
            Self::TestBuffers(_) | Self::NoRcvbuf | Self::NoSndbuf | Self::NoWindowClamp => return None,
            Self::DelayLimit(packets) | Self::QueuePackets(packets) => format!("{packets}p"),
            Self::SpacedDatagrams(spacing) => format!("{}us", spacing.as_micros()),
        })
    }

    /// Whether QUIC has it too, in the library or below it.
    pub const fn is_of_quic(&self) -> bool {
        !matches!(
            self,
            Self::TcpRmem(_)
                | Self::TcpWmem(_)
                | Self::WindowScaling
                | Self::ReceiveAutotuning
                | Self::KeepCwndAfterIdle
                | Self::MtuProbing
                | Self::Rcvbuf(_)
                | Self::Sndbuf(_)
                | Self::NoRcvbuf
                | Self::NoSndbuf
                | Self::NoWindowClamp
                | Self::RmemMax(_)
                | Self::SendBuffer(_)
                | Self::NoDelay
                | Self::QuickAck
        )
    }

    /// Whether it sizes a socket's buffer.
    pub const fn is_of_buffers(&self) -> bool {
        matches!(
            self,
            Self::TcpRmem(_)
                | Self::TcpWmem(_)
                | Self::Rcvbuf(_)
                | Self::Sndbuf(_)
                | Self::NoRcvbuf
                | Self::NoSndbuf
                | Self::NoWindowClamp
                | Self::RmemMax(_)
                | Self::TcpRmemMaximum(_)
                | Self::ReceiveBuffer(_)
                | Self::SendBuffer(_)
        )
    }
}

/// One setting at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where.
    pub target: Target,
    /// What, and to what.
    pub setting: Setting,
    /// The scenario's key for it, as `--set` takes it.
    pub key: String,
}

impl Change {
    /// The end on whose host it is made: a program's own buffers have theirs.
    pub const fn end(&self) -> Target {
        match self.setting {
            Setting::NoRcvbuf | Setting::NoWindowClamp => Target::Receiver,
            Setting::NoSndbuf => Target::Sender,
            _ => self.target,
        }
    }
}

/// Why something is to be changed, or why nothing is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// The path drops datagrams, which are not sent again.
    DatagramsAreDropped,
    /// Bursts of datagrams overflow a queue, although their mean rate is below the path's.
    BurstsOverflowQueue {
        /// The longest one, datagrams.
        burst: u64,
        /// What the path's rate alone would let wait of it, packets.
        needed: u64,
        /// Mean of what is offered, bits per second of payload.
        offered_bps: u64,
    },
    /// The queue drops what fits into it: others fill it.
    OthersFillTheQueue,
    /// The pipe is full.
    PathIsFull,
    /// The pipe is full, of other flows too.
    OthersFillThePath,
    /// Nothing comes back.
    NobodyAnswers,
    /// A link drops what is larger than its MTU, and tells nobody.
    LinkDropsLargePackets,
    /// The application offers no more.
    ApplicationOffersNoMore,
    /// A window of the application limits what goes out in a round trip: its size, and the rate that ten times that size gives.
    ApplicationWindow {
        /// Of one stream.
        bytes: u64,
        /// Of the flow.
        tenfold_bps: u64,
    },
    /// Each stream has a window of the application of its own.
    StreamsHaveOwnWindows,
    /// Each turn takes a round trip.
    TurnsTakeTime {
        /// Number of turns.
        turns: u32,
        /// Of all.
        held_us: u64,
    },
    /// Nagle's algorithm keeps less than a segment until an ACK comes, which the other end delays.
    NagleWaitsForAck,
    /// The other end delays the ACK of the last segments.
    AckIsDelayed,
    /// The program that was asked takes long to answer.
    AnswersAreSlow,
    /// The other side asks for nothing.
    NothingIsAskedFor,
    /// The receiving application reads no faster.
    ReaderIsSlow,
    /// The receiving socket's buffer overflows with datagrams.
    ReaderOverflows,
    /// The same, of a reader that empties it in between.
    SocketOverflows {
        /// The buffer, bytes of memory.
        rcvbuf_bytes: u64,
        /// Datagrams for which it had no room between two readings.
        dropped: u64,
        /// What a program may ask of `SO_RCVBUF` there (`net.core.rmem_max`).
        rmem_max: Option<u64>,
    },
    /// The receiving program reads datagrams no faster than this, bits per second of payload.
    ReaderIsBehind {
        /// What it reads.
        read_bps: u64,
    },
    /// Others use the CPU.
    CpuIsTaken,
    /// An endpoint computes all the time.
    CpuIsBusy,
    /// In each period the cgroup used this CPU time, and wanted this much more.
    QuotaRunsOut {
        /// Microseconds.
        used_us: u64,
        /// Microseconds.
        held_us: u64,
        /// The period.
        period_us: u64,
    },
    /// The limit is unknown.
    LimitIsUnknown,
    /// No change of an end lifts the limit.
    NoChangeHelps,
    /// The congestion control paces by its own estimate.
    ControlPaces,
    /// The receive buffer can't be larger.
    ReceiveBufferIsLargest,
    /// The send buffer can't be larger.
    SendBufferIsLargest,
    /// The testbed is at its limit.
    TestbedIsFull,
    /// A window of these bytes keeps this rate in flight.
    WindowNeeded {
        /// Of one stream.
        bytes: u64,
        /// Of the flow.
        rate_bps: u64,
    },
    /// These bytes have to be in flight, more than the send buffer holds.
    FlightNeeded {
        /// Of one stream.
        bytes: u64,
    },
    /// The program has set this buffer: it does not grow, and no sysctl makes it larger.
    ProgramSetsBuffer {
        /// Measured where the kernel says so, inferred where the buffer's size shows it.
        origin: Origin,
    },
    /// The program has limited the window itself, below what its buffer allows.
    ProgramClampsWindow,
    /// The program asks for a larger buffer than `net.core.rmem_max` allows, and the buffer does not grow.
    ProgramsBufferIsCapped,
    /// The window is the largest without window scaling: it is off at one end, or something between the ends removes the option.
    WindowIsUnscaled,
    /// The receive buffer still grows, and begins small.
    BufferStillGrows,
    /// Whether a sysctl or the program sizes this buffer, only its host shows.
    BufferHasUnknownOwner {
        /// What has to be in flight.
        bytes: u64,
    },
    /// Slow start takes this long.
    SlowStart(Duration),
    /// Slow start holds a part of a transfer that is too short for more.
    ConnectionIsYoung {
        /// How long, microseconds.
        held_us: u64,
    },
    /// A queue below one BDP runs empty after a loss.
    QueueRunsEmpty,
    /// BBR does not fill a queue until it drops.
    BbrSparesTheQueue,
    /// BBR does not take a lost packet for a full queue.
    BbrIgnoresLoss,
    /// After each idle time cwnd starts anew.
    SlowStartAfterIdle {
        /// cwnd before, bytes.
        before_bytes: Option<u64>,
    },
    /// Only the retransmission timer shows that segments were lost.
    TimerIsAwaited,
    /// An AQM marks packets instead of dropping them.
    MarksCutTheWindow,
    /// BBR does not answer to CE marks.
    BbrIgnoresMarks,
    /// BBR measures the path's rate.
    BbrMeasuresTheRate,
    /// BBR keeps about one BDP in flight.
    BbrKeepsOneBdp,
    /// Each stream recovers by itself.
    StreamsRecoverAlone,
    /// The socket's own pacing limit is below the path's rate.
    OwnPacingLimit,
    /// Any rate passes until a bucket is empty.
    BucketIsLarge {
        /// Until then, in this flow.
        lasted_us: u64,
    },
    /// A policer whose bucket holds less than a BDP drops a part of each window.
    BucketIsSmall,
    /// Below a policer's rate nothing is lost.
    BelowThePolicer,
    /// A flow of the other direction fills the queue of the ACKs.
    OtherFlowFillsAckQueue,
    /// The delay element is too small.
    DelayElementIsSmall,
    /// The queue is never empty for long.
    StandingQueue,
    /// An AQM keeps the queue at its target, and flows apart.
    AqmKeepsItShort,
    /// An AQM drops segments that it would mark if the flow had ECN.
    MarksInPlaceOfDrops,
}

/// By which names the two hosts of a flow go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostNames {
    /// Those of a scenario, for a flow in this direction.
    Scenario(Direction),
    /// This host and its peer, for a flow in this direction as this host sees it.
    Observed(Direction),
}

/// What is known of the TCP implementation of a host, for the words and commands of an advice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostStack {
    /// It is Linux: a host of a scenario, this host, or a peer that shows it.
    #[default]
    Linux,
    /// It is another one, whose settings have other names.
    Other,
    /// Its transport is QUIC: a library has the settings, and not the kernel.
    Quic,
    /// Nothing shows it.
    Unknown,
}

/// Those of both ends of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndStacks {
    /// Of the host that sends its data.
    pub sender: HostStack,
    /// Of the host that receives them.
    pub receiver: HostStack,
}

impl EndStacks {
    /// The stack of the host that a change at `target` is for; of both hosts together where the change needs both.
    pub fn of(&self, target: Target, needs_both: bool) -> HostStack {
        let both = [self.sender, self.receiver];
        match target {
            _ if needs_both && both.contains(&HostStack::Other) => HostStack::Other,
            _ if needs_both && both.contains(&HostStack::Quic) => HostStack::Quic,
            _ if needs_both && both.contains(&HostStack::Unknown) => HostStack::Unknown,
            Target::Receiver => self.receiver,
            Target::Sender | Target::Program => self.sender,
            Target::Bottleneck => HostStack::Linux,
        }
    }
}

/// One advice without its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What to set; nothing where no change helps.
    pub changes: Vec<Change>,
    /// Why.
    pub reason: Reason,
    /// Whose names the hosts have.
    pub hosts: HostNames,
    /// What runs on them.
    pub stacks: EndStacks,
}

impl Proposal {
    /// Whether a part of the change sizes a socket's buffer.
    pub(crate) fn is_of_buffers(&self) -> bool {
        self.changes.iter().any(|change| change.setting.is_of_buffers())
    }

    /// Whether every part of the change can be set where the transport is QUIC.
    pub(crate) fn is_of_quic(&self) -> bool {
        self.changes.iter().all(|change| change.setting.is_of_quic())
    }

    /// The change in the view of the other end of an observed connection.
    pub(crate) fn at_the_peer(mut self) -> Self {
        if let HostNames::Observed(direction) = self.hosts {
            self.hosts = HostNames::Observed(direction.opposite());
        }
        self
    }
}
