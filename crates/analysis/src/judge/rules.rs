//! The rules in their order: the first that holds names the holder of an interval.
//!
//! Rules with more evidence stand first, and nothing overrides a rule later except the named revisions.

pub(super) mod app;
mod cpu;
mod cwnd;
mod pacing;
mod path;
pub(super) mod receiver;
mod rwnd;
mod sndbuf;
mod testbed;
pub(super) mod unknown;

use super::rule::Rule;

/// Every rule, in the order in which they are asked.
pub static RULES: &[&Rule] = &[
    // Datagrams: what both ends and the path counted.
    &path::FULL_OF_QUIC,
    &unknown::QUIC,
    &app::DATAGRAMS_ARRIVE,
    &path::FULL_OF_DATAGRAMS,
    &path::BURSTS_OF_DATAGRAMS,
    &path::SHARED_BY_DATAGRAMS,
    &path::DATAGRAMS_DROPPED,
    &testbed::DATAGRAMS_DROPPED,
    &receiver::DATAGRAMS_DROPPED,
    &path::DATAGRAMS_LOST,
    &app::DATAGRAMS_OFFERED,
    &unknown::DATAGRAMS,
    // A UDP socket by itself.
    &receiver::SOCKET_DROPS,
    &unknown::UDP_SOCKET,
    // Waits that the packets of both directions show.
    &path::MTU,
    &path::SILENCE,
    &cwnd::TIMER,
    &cpu::ANSWERS_QUOTA,
    &cpu::ASKERS_QUOTA,
    &cpu::ANSWERS_WAITING,
    &cpu::ASKERS_WAITING,
    &receiver::ZERO_WINDOW,
    &app::NAGLE,
    &app::DELAYED_ACK,
    &app::REQUEST,
    &app::RESPONSE,
    &app::TURNS,
    &app::RATE,
    // The sender's side: its socket or its packets, with a scenario or without.
    &path::MTU_BY_TIMER,
    &path::SILENCE_BY_TIMER,
    &cwnd::TIMEOUT,
    &cpu::SENDERS_QUOTA,
    &cpu::RECEIVERS_QUOTA,
    &cpu::READER_BUSY,
    &receiver::UNREAD,
    &app::ON_TIME,
    &path::AT_LINE_RATE,
    &pacing::REACHED,
    &pacing::STEADY,
    &app::OFFERS_LESS_IN_FULL_PATH,
    &testbed::HOST_RATE,
    &rwnd::BELOW_FAIR_SHARE,
    &sndbuf::BELOW_FAIR_SHARE,
    &path::FULL,
    &path::FULL_THROUGH_LOSSES,
    &path::FULL_IN_SPITE_OF_LOSSES,
    &cwnd::REPAIRING,
    &rwnd::USED_UP,
    &cwnd::USED_UP,
    &app::WINDOW,
    &testbed::DATA_PATH_BUSY,
    &cpu::BUSY,
    &sndbuf::COUNTED,
    &rwnd::COUNTED,
    &sndbuf::EMPTIED_AND_REFILLED,
    &sndbuf::EXPLAINS_RATE,
    &pacing::EXPLAINS_RATE,
    &rwnd::NEARLY_USED_UP,
    &cwnd::NEARLY_USED_UP,
    &app::WRITES_IN_LUMPS,
    &unknown::WAITING_UNEXPLAINED,
    &pacing::LEFT_OVER,
    &unknown::WAITING,
    &sndbuf::USED_UP,
    &sndbuf::KEPT_FULL,
    &cpu::LATE,
    &app::OFFERS_RATE,
    &sndbuf::LET_OUT_BY_ACKS,
    &app::UNASKED,
    &app::OFFERS_LESS,
    &cpu::PARTLY_BUSY,
    &sndbuf::PARTLY_USED,
    &app::NOTHING_WAITS,
    // The receiver's socket alone.
    &cpu::READERS_QUOTA,
    &cpu::READER_BUSY_ALONE,
    &receiver::UNREAD_ALONE,
    &cwnd::ACKS_DELAYED,
    &cwnd::STARTUP,
    &cwnd::IDLE_RESTART,
    &cwnd::FLIGHTS_GROW,
    &rwnd::ARRIVES_WHOLE,
    &app::WINDOW_ARRIVES,
    &path::ARRIVES_ONE_BY_ONE,
    &app::ARRIVES_UNASKED,
    &app::ARRIVES_AFTER_PAUSES,
    &app::ARRIVES_DRY,
    &pacing::ARRIVES_EVENLY,
    &sndbuf::ARRIVES_IN_BURSTS,
    &sndbuf::ARRIVES_APART,
    &unknown::FEW_ROUNDS,
    &app::WINDOW_COMES,
    &sndbuf::BURSTS_APART,
    &path::ARRIVES_WITH_QUEUE,
    &path::ARRIVES_MARKED,
    &cwnd::ARRIVALS_MARKED,
    &cwnd::ARRIVALS_GROW,
    &path::LOSSES_CHANGE_NOTHING,
    &path::ARRIVES_THROUGH_LOSSES,
    &path::ARRIVES_STEADILY,
    &cwnd::ARRIVALS_DISORDERED,
    &cwnd::ARRIVALS_POLICED,
    &cwnd::ARRIVALS_MOSTLY_DISORDERED,
    &cwnd::ARRIVALS_SILENT,
    &app::COMES_IN_WRITES,
    &pacing::COMES_EVENLY,
    &sndbuf::BURSTS_STEADY,
    &sndbuf::ARRIVES_THE_SAME,
    &unknown::ARRIVALS,
];

#[cfg(test)]
mod tests;
