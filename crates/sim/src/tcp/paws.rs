//! Protection against wrapped sequence numbers (RFC 7323, section 5; `tcp_validate_incoming()`): what carries an older timestamp
//! than the last one accepted is thrown away.
//!
//! On a path that reorders, this hits what was overtaken: most of the ACKs, and originals that come behind their own retransmission.

use super::receiver::Receiver;
use super::sender::Sender;
use crate::segment::{Ack, Data, Range};
use pipefill_core::units::Time;

/// `TCP_PAWS_WINDOW`: how much older a timestamp may be, ticks.
const WINDOW: u32 = 1;

impl Sender {
    /// `tcp_paws_discard()`: an overtaken ACK passes only where it is a duplicate.
    pub(crate) fn is_outdated(&self, ack: &Ack) -> bool {
        self.host.timestamps && age(self.ts_recent, ack.ts) > WINDOW && !self.is_disordered(ack)
    }

    /// `tcp_replace_ts_recent()`: never goes back.
    pub(crate) fn note_timestamp(&mut self, ack: &Ack) {
        self.ts_recent = self.ts_recent.max(ack.ts);
    }

    /// `tcp_disordered_ack()`: a duplicate that opens no window, within a replay window of one timeout (`tcp_tsval_replay()`).
    fn is_disordered(&self, ack: &Ack) -> bool {
        let opens_window = ack.window > self.snd_wnd || ack.window == 0;
        let replay = self.rtt.rto_ms * 1200 / 1000;
        ack.ack == self.snd_una && !opens_window && u64::from(age(self.ts_recent, ack.ts)) <= replay
    }
}

impl Receiver {
    /// `tcp_paws_discard()`: data is never excused.
    pub(crate) fn is_outdated(&self, data: &Data) -> bool {
        self.host.timestamps && age(self.ts_recent, data.ts) > WINDOW
    }

    /// `tcp_replace_ts_recent()`: only what the last ACK expected or has had, and never back.
    pub(crate) fn note_timestamp(&mut self, data: &Data) {
        if data.seq <= self.rcv_wup {
            self.ts_recent = self.ts_recent.max(data.ts);
        }
    }

    /// `tcp_send_dupack()`: it is thrown away, and answered at once; what is there already is reported as a duplicate.
    pub(crate) fn refuse(&mut self, now: Time, range: Range) {
        if range.start < self.rcv_nxt {
            self.enter_quick_mode();
            self.reassembly.report_duplicate(Range { start: range.start, end: range.end.min(self.rcv_nxt) });
        }
        self.send_ack(now);
    }
}

/// Ticks by which `stamp` is older than `recent`.
const fn age(recent: u32, stamp: u32) -> u32 {
    recent.saturating_sub(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;
    use crate::host::Host;
    use crate::options::Options;
    use crate::segment::{Body, Sacks};
    use crate::tcp::limits::FIRST_BYTE;
    use crate::tcp::sender::SenderSettings;
    use pipefill_core::units::Seed;

    const SEGMENT: u64 = 1448;

    fn host(timestamps: bool) -> Host {
        let host = Host::usual(Options { gso: false, ..Options::default() });
        Host { timestamps, ..host }
    }

    /// Connected, the timeout 300 ms, the latest ACK's timestamp 1000.
    fn sender(timestamps: bool) -> Sender {
        let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
        let host = host(timestamps);
        let mut sender = Sender::new(SenderSettings { host, cc, sndbuf: None, max_pacing_rate: None });
        sender.established(Time::ZERO, 65_160, Some(100_000));
        sender.ts_recent = 1000;
        sender
    }

    fn ack(number: u64, ts: u32) -> Ack {
        Ack { ack: number, window: 65_160, ts, ts_echo: 0, sacks: Sacks::default() }
    }

    #[test]
    fn an_overtaken_ack_passes_only_as_a_duplicate_within_the_replay_window() {
        let sender = sender(true);
        assert_eq!(sender.rtt.rto_ms, 300);
        let next = FIRST_BYTE + SEGMENT;
        assert!(!sender.is_outdated(&ack(next, 999)), "one tick is forgiven");
        assert!(sender.is_outdated(&ack(next, 998)));
        assert!(!sender.is_outdated(&ack(FIRST_BYTE, 640)), "360 ticks: 1.2 timeouts");
        assert!(sender.is_outdated(&ack(FIRST_BYTE, 639)));
        let wider = Ack { window: 65_161, ..ack(FIRST_BYTE, 998) };
        assert!(sender.is_outdated(&wider), "it would open the window");
    }

    #[test]
    fn the_latest_timestamp_never_goes_back() {
        let mut sender = sender(true);
        sender.note_timestamp(&ack(FIRST_BYTE, 999));
        assert_eq!(sender.ts_recent, 1000);
        sender.note_timestamp(&ack(FIRST_BYTE, 1001));
        assert_eq!(sender.ts_recent, 1001);
    }

    #[test]
    fn without_timestamps_there_is_no_such_protection() {
        assert!(!self::sender(false).is_outdated(&ack(FIRST_BYTE + SEGMENT, 0)));
    }

    /// A hole filled by a retransmission: originals from before it, still on their way, are thrown away.
    #[test]
    fn data_behind_a_newer_retransmission_is_refused_and_answered_at_once() {
        let mut receiver = Receiver::new(host(true), None);
        receiver.established(Time::ZERO, 10_000);
        let data = |index: u64, ts: u32| Data {
            seq: FIRST_BYTE + index * SEGMENT,
            len: 1448,
            push: false,
            ts,
            ts_echo: 0,
        };
        receiver.on_data(Time::ZERO, &data(0, 500));
        receiver.outbox.clear();
        receiver.on_data(Time::ZERO, &data(0, 100));
        let Some(Body::Ack(answer)) = receiver.outbox.pop() else { panic!("no answer") };
        assert_eq!(answer.sacks.blocks(), [Range { start: FIRST_BYTE, end: FIRST_BYTE + SEGMENT }]);
        receiver.on_data(Time::ZERO, &data(1, 100));
        assert_eq!(receiver.rcv_nxt, FIRST_BYTE + SEGMENT);
        assert!(receiver.outbox.pop().is_some());
        receiver.on_data(Time::ZERO, &data(1, 499));
        assert_eq!((receiver.rcv_nxt, receiver.ts_recent), (FIRST_BYTE + 2 * SEGMENT, 500));
    }
}
