//! What can limit a flow, and why: the words of `limited_by`, `cause` and `cwnd_cause`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word in records, expectations and JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|limit| limit.as_str() == word)
            }
        }
    };
}

words! {
    /// What limits a flow.
    LimitedBy {
        /// The sending application offered no more.
        App = "app",
        /// The send buffer.
        Sndbuf = "sndbuf",
        /// The receiver's advertised window.
        Rwnd = "rwnd",
        /// The congestion window.
        Cwnd = "cwnd",
        /// The pacing rate.
        Pacing = "pacing",
        /// The bottleneck: more rate would bring more goodput.
        Path = "path",
        /// The receiving application did not read.
        Receiver = "receiver",
        /// A CPU of an end: a thread of the flow computed all the time, or waited for a CPU.
        Cpu = "cpu",
        /// The instrument.
        Testbed = "testbed",
        /// The record does not show it.
        Unknown = "unknown",
    }
}

words! {
    /// Why the congestion window was no larger.
    CwndCause {
        /// Nothing was lost yet, and slow start still has no ceiling.
        Startup = "startup",
        /// Nothing was lost yet; HyStart ended slow start, or an idle time did.
        HystartExit = "hystart_exit",
        /// Losses that have nothing to do with load.
        RandomLoss = "random_loss",
        /// Drops of the bottleneck's own queue.
        QueueLoss = "queue_loss",
        /// Losses at a constant rate without a queue.
        Policer = "policer",
        /// Segments that arrived out of order were taken for lost.
        Reordering = "reordering",
        /// ACKs were lost, thinned, or waited in the queue of the way back.
        AckPath = "ack_path",
        /// The last loss is long ago, and the window has not recovered yet.
        Growth = "growth",
    }
}

words! {
    /// What refines a limit.
    Cause {
        /// app: the other side has asked for nothing.
        Request = "request",
        /// app: this side was asked, and has not begun to answer.
        Response = "response",
        /// app: a round trip for each request.
        Turns = "turns",
        /// app: a window of the application, the same number of bytes each round trip.
        Window = "window",
        /// app: less than a segment waits for an ACK (RFC 896).
        Nagle = "nagle",
        /// app: little is outstanding, and its ACK is delayed (RFC 1122, 4.2.3.2).
        DelayedAck = "delayed_ack",
        /// app: it offers a steady rate.
        Rate = "rate",
        /// sndbuf, rwnd: the maximum of the kernel's setting.
        Maximum = "maximum",
        /// sndbuf, rwnd, pacing: what a program has set.
        Program = "program",
        /// rwnd: the receiver's buffer still grows.
        Autotuning = "autotuning",
        /// rwnd: windows are not scaled (RFC 7323, 2).
        Unscaled = "unscaled",
        /// rwnd: `net.core.rmem_max` is below what was asked for.
        RmemMax = "rmem_max",
        /// rwnd: `TCP_WINDOW_CLAMP`.
        Clamped = "clamped",
        /// cwnd: see [`CwndCause::Startup`].
        Startup = "startup",
        /// cwnd: see [`CwndCause::HystartExit`].
        HystartExit = "hystart_exit",
        /// cwnd: see [`CwndCause::RandomLoss`].
        RandomLoss = "random_loss",
        /// cwnd: see [`CwndCause::QueueLoss`].
        QueueLoss = "queue_loss",
        /// cwnd: see [`CwndCause::Policer`].
        Policer = "policer",
        /// cwnd: see [`CwndCause::Reordering`].
        Reordering = "reordering",
        /// cwnd: see [`CwndCause::AckPath`].
        AckPath = "ack_path",
        /// cwnd: see [`CwndCause::Growth`].
        Growth = "growth",
        /// cwnd: slow start again after an idle time (RFC 5681, 4.1).
        IdleRestart = "idle_restart",
        /// cwnd: cut by CE marks (RFC 3168).
        Ecn = "ecn",
        /// cwnd: the retransmission timer is awaited (RFC 6298).
        Timeout = "timeout",
        /// path: the bottleneck is full.
        Full = "full",
        /// path: the bottleneck is full, of others too.
        Shared = "shared",
        /// path: full-size segments never arrive, smaller ones do (RFC 2923).
        Mtu = "mtu",
        /// path: data is outstanding, and nothing comes back.
        Silence = "silence",
        /// path: bursts of datagrams overflow its queue, although their mean rate is below the bottleneck's.
        Bursts = "bursts",
        /// pacing: BBR's own estimate.
        Bbr = "bbr",
        /// cpu: a thread computes all the time.
        Busy = "busy",
        /// cpu: a thread waits for a CPU.
        Waiting = "waiting",
        /// cpu: its cgroup is throttled.
        Quota = "quota",
    }
}

impl LimitedBy {
    /// What can refine it; empty where nothing does.
    pub const fn causes(self) -> &'static [Cause] {
        match self {
            Self::App => &[
                Cause::Request,
                Cause::Response,
                Cause::Turns,
                Cause::Window,
                Cause::Nagle,
                Cause::DelayedAck,
                Cause::Rate,
            ],
            Self::Sndbuf => &[Cause::Maximum, Cause::Program],
            Self::Rwnd => &[
                Cause::Autotuning,
                Cause::Maximum,
                Cause::Program,
                Cause::Unscaled,
                Cause::RmemMax,
                Cause::Clamped,
            ],
            Self::Cwnd => &[
                Cause::Startup,
                Cause::HystartExit,
                Cause::Growth,
                Cause::RandomLoss,
                Cause::QueueLoss,
                Cause::Policer,
                Cause::Reordering,
                Cause::AckPath,
                Cause::IdleRestart,
                Cause::Ecn,
                Cause::Timeout,
            ],
            Self::Path => &[Cause::Full, Cause::Shared, Cause::Mtu, Cause::Silence, Cause::Bursts],
            Self::Pacing => &[Cause::Program, Cause::Bbr],
            Self::Cpu => &[Cause::Busy, Cause::Waiting, Cause::Quota],
            Self::Receiver | Self::Testbed | Self::Unknown => &[],
        }
    }
}

impl Cause {
    /// The same of a congestion window; `None` for what the words of `cwnd_cause` do not have.
    pub fn of_cwnd(self) -> Option<CwndCause> {
        CwndCause::from_word(self.as_str())
    }
}

impl From<CwndCause> for Cause {
    fn from(cause: CwndCause) -> Self {
        match cause {
            CwndCause::Startup => Self::Startup,
            CwndCause::HystartExit => Self::HystartExit,
            CwndCause::RandomLoss => Self::RandomLoss,
            CwndCause::QueueLoss => Self::QueueLoss,
            CwndCause::Policer => Self::Policer,
            CwndCause::Reordering => Self::Reordering,
            CwndCause::AckPath => Self::AckPath,
            CwndCause::Growth => Self::Growth,
        }
    }
}

impl CwndCause {
    /// Whether packets of data were lost.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::RandomLoss | Self::QueueLoss | Self::Policer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_json() {
        for &limit in LimitedBy::ALL {
            assert_eq!(serde_json::to_string(&limit).unwrap(), format!("\"{}\"", limit.as_str()));
            assert_eq!(LimitedBy::from_word(limit.as_str()), Some(limit));
        }
        for &cause in CwndCause::ALL {
            assert_eq!(serde_json::to_string(&cause).unwrap(), format!("\"{}\"", cause.as_str()));
            assert_eq!(CwndCause::from_word(cause.as_str()), Some(cause));
        }
        for &cause in Cause::ALL {
            assert_eq!(serde_json::to_string(&cause).unwrap(), format!("\"{}\"", cause.as_str()));
        }
        for &cause in CwndCause::ALL {
            assert_eq!(Cause::from(cause).as_str(), cause.as_str());
            assert_eq!(Cause::from(cause).of_cwnd(), Some(cause));
        }
        assert_eq!(LimitedBy::from_word("network"), None);
    }

    #[test]
    fn every_cause_refines_a_limit() {
        for cause in Cause::ALL {
            assert!(LimitedBy::ALL.iter().any(|limit| limit.causes().contains(cause)), "{cause:?}");
        }
        for &cause in CwndCause::ALL {
            assert!(LimitedBy::Cwnd.causes().contains(&cause.into()), "{cause:?}");
        }
    }
}
