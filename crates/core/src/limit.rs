//! What can limit a flow, and why a congestion window was no larger: the words of `limited_by` and `cwnd_cause`.

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
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
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
        /// What was recorded does not tell.
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
        for &one in LimitedBy::ALL {
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{}\"", one.as_str()));
            assert_eq!(LimitedBy::from_word(one.as_str()), Some(one));
        }
        for &one in CwndCause::ALL {
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{}\"", one.as_str()));
            assert_eq!(CwndCause::from_word(one.as_str()), Some(one));
        }
        assert_eq!(LimitedBy::from_word("network"), None);
    }
}
