//! Protection against wrapped sequence numbers (RFC 7323, section 5; `tcp_validate_incoming()`): what carries an older timestamp
//! than the last one accepted is thrown away.
//!
//! On a path that reorders, this hits what was overtaken: most of the ACKs, and originals that come behind their own retransmission.

use super::ack_policy::MAX_QUICK;
use super::endpoint::Endpoint;
use super::receiver::Receiver;
use crate::segment::{Header, Range};
use pipefill_core::units::Time;

/// `TCP_PAWS_WINDOW`: how much older a timestamp may be, ticks.
const WINDOW: u32 = 1;

impl Endpoint {
    /// `tcp_paws_discard()` for a segment without payload: an overtaken ACK passes only where it is a duplicate.
    #[inline]
    pub(crate) fn is_ack_outdated(&self, ack: &Header) -> bool {
        self.receiver.is_outdated(ack) && !self.is_disordered(ack)
    }

    /// `tcp_disordered_ack()`: a duplicate that opens no window, within a replay window of one timeout (`tcp_tsval_replay()`).
    fn is_disordered(&self, ack: &Header) -> bool {
        let sender = &self.sender;
        let replay = sender.rtt.rto_ms * 1200 / 1000;
        ack.seq == self.receiver.rcv_nxt
            && ack.ack == sender.snd_una
            && !sender.may_update_window(ack)
            && u64::from(age(self.receiver.ts_recent, ack.ts)) <= replay
    }
}

impl Receiver {
    /// `tcp_paws_discard()`: data is never excused.
    #[inline]
    pub(crate) fn is_outdated(&self, header: &Header) -> bool {
        self.host.timestamps && age(self.ts_recent, header.ts) > WINDOW
    }

    /// `tcp_replace_ts_recent()`: only what the last ACK expected or has had, and never back.
    #[inline]
    pub(crate) fn note_timestamp(&mut self, header: &Header) {
        if header.seq <= self.rcv_wup {
            self.ts_recent = self.ts_recent.max(header.ts);
        }
    }

    /// `tcp_send_dupack()`: it is thrown away, and answered at once; what is there already is reported as a duplicate.
    pub(crate) fn refuse(&mut self, now: Time, range: Range) {
        if range.start < self.rcv_nxt {
            self.enter_quick_mode(MAX_QUICK);
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
    use crate::options::SimOptions;
    use crate::segment::Data;
    use crate::tcp::limits::FIRST_BYTE;
    use crate::tcp::sender::SenderSettings;
    use pipefill_core::units::Seed;

    const SEGMENT: u64 = 1448;

    fn host(timestamps: bool) -> Host {
        let host = Host::usual(SimOptions { gso: false, ..SimOptions::default() });
        Host { timestamps, ..host }
    }

    /// Connected, the timeout 300 ms, the latest segment's timestamp 1000.
    fn end(timestamps: bool) -> Endpoint {
        let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
        let host = host(timestamps);
        let settings = SenderSettings { host, cc, sndbuf: None, max_pacing_rate: None, nodelay: false };
        let mut end = Endpoint::new(settings, None, true);
        end.established(Time::ZERO, 65_160, 1000, Some(100_000));
        end.sender.window_seq = FIRST_BYTE;
        end
    }

    fn ack(number: u64, ts: u32) -> Header {
        Header { seq: FIRST_BYTE, ack: number, window: 65_160, ts, ..Header::default() }
    }

    #[test]
    fn an_overtaken_ack_passes_only_as_a_duplicate_within_the_replay_window() {
        let end = end(true);
        assert_eq!(end.sender.rtt.rto_ms, 300);
        let next = FIRST_BYTE + SEGMENT;
        assert!(!end.is_ack_outdated(&ack(next, 999)), "one tick is forgiven");
        assert!(end.is_ack_outdated(&ack(next, 998)));
        assert!(!end.is_ack_outdated(&ack(FIRST_BYTE, 640)), "360 ticks: 1.2 timeouts");
        assert!(end.is_ack_outdated(&ack(FIRST_BYTE, 639)));
        let wider = Header { window: 65_161, ..ack(FIRST_BYTE, 998) };
        assert!(end.is_ack_outdated(&wider), "it would open the window");
        let later = Header { seq: FIRST_BYTE + 1, ..ack(FIRST_BYTE, 998) };
        assert!(end.is_ack_outdated(&later), "something before it is missing");
    }

    #[test]
    fn the_latest_timestamp_never_goes_back() {
        let mut end = end(true);
        end.receiver.note_timestamp(&ack(FIRST_BYTE, 999));
        assert_eq!(end.receiver.ts_recent, 1000);
        end.receiver.note_timestamp(&ack(FIRST_BYTE, 1001));
        assert_eq!(end.receiver.ts_recent, 1001);
    }

    #[test]
    fn without_timestamps_there_is_no_such_protection() {
        assert!(!end(false).is_ack_outdated(&ack(FIRST_BYTE + SEGMENT, 0)));
    }

    /// A hole filled by a retransmission: originals from before it, still on their way, are thrown away.
    #[test]
    fn data_behind_a_newer_retransmission_is_refused_and_answered_at_once() {
        let mut receiver = Receiver::new(host(true), None, false);
        receiver.established(Time::ZERO);
        let data = |index: u64, ts: u32| Data {
            header: Header { seq: FIRST_BYTE + index * SEGMENT, ts, ..Header::default() },
            len: 1448,
            push: false,
        };
        receiver.on_data(Time::ZERO, &data(0, 500));
        receiver.outbox.clear();
        receiver.on_data(Time::ZERO, &data(0, 100));
        let (_, answer) = receiver.outbox.pop().expect("an answer");
        let blocks: Vec<Range> = answer.sacks.blocks(answer.ack).collect();
        assert_eq!(blocks, [Range { start: FIRST_BYTE, end: FIRST_BYTE + SEGMENT }]);
        receiver.on_data(Time::ZERO, &data(1, 100));
        assert_eq!(receiver.rcv_nxt, FIRST_BYTE + SEGMENT);
        assert!(receiver.outbox.pop().is_some());
        receiver.on_data(Time::ZERO, &data(1, 499));
        assert_eq!((receiver.rcv_nxt, receiver.ts_recent), (FIRST_BYTE + 2 * SEGMENT, 500));
    }
}
