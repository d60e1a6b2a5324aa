//! One end that sends and receives, on its own: a script of segments that come and of what the application does.

use super::Endpoint;
use crate::cc;
use crate::host::Host;
use crate::options::SimOptions;
use crate::segment::{Body, Data, Header, Range};
use crate::tcp::limits::FIRST_BYTE;
use crate::tcp::sender::SenderSettings;
use pipefill_core::units::{Seed, Time};
use pipefill_link::jiffies;
use std::time::Duration;

const WINDOW: u64 = 1_000_000;

/// What leaves: payload, the ACK number, PSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Ack(u64),
    Data { len: u32, ack: u64, push: bool },
}

/// An end that listens, connected with a round trip of 30 ms, and what came so far.
struct Script {
    end: Endpoint,
    now: Time,
    came: u64,
}

impl Script {
    fn new(nodelay: bool) -> Self {
        let host = Host::usual(SimOptions { gso: false, ..SimOptions::default() });
        let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
        let settings = SenderSettings { host, cc, sndbuf: None, max_pacing_rate: None, nodelay };
        let mut script =
            Self { end: Endpoint::new(settings, None, false), now: Time::from_nanos(1_000_000_000), came: 0 };
        script.end.established(script.now, WINDOW, 0, Some(30_000));
        script
    }

    fn wait(&mut self, milliseconds: u64) {
        self.now = self.now.after(Duration::from_millis(milliseconds));
    }

    /// A segment of `len` bytes with PSH, which acknowledges all that was sent.
    fn comes(&mut self, len: u32) -> Vec<Left> {
        let ack = self.end.sender.snd_nxt;
        self.comes_with(len, ack)
    }

    fn comes_with(&mut self, len: u32, ack: u64) -> Vec<Left> {
        let data = Data { header: self.header(self.came, ack), len, push: true };
        self.came += u64::from(len);
        self.end.on_data(self.now, &data);
        self.left()
    }

    fn header(&self, offset: u64, ack: u64) -> Header {
        let ts = jiffies::stamp(self.now);
        Header { seq: FIRST_BYTE + offset, ack, window: WINDOW, ts, ..Header::default() }
    }

    fn acked(&mut self, ack: u64) -> Vec<Left> {
        let header = self.header(self.came, ack);
        self.end.on_ack(self.now, &header);
        self.left()
    }

    fn read(&mut self) -> Vec<Left> {
        self.end.receiver.read(self.now, u64::MAX);
        self.left()
    }

    fn writes(&mut self, len: u64) -> Vec<Left> {
        let now = self.now;
        self.end.send(|sender| {
            sender.now = now;
            assert_eq!(sender.write(len), len);
            sender.push_pending();
        });
        self.left()
    }

    /// The next timer goes off; how long it took, milliseconds, and what left.
    fn timer(&mut self) -> (u128, Vec<Left>) {
        let at = self.end.next().expect("a timer");
        let waited = at.since(self.now).as_millis();
        self.now = at;
        self.end.on_timer(at);
        (waited, self.left())
    }

    /// Asked and answered once.
    fn talked(nodelay: bool) -> Self {
        let mut script = Self::new(nodelay);
        script.comes(200);
        script.read();
        script.writes(500);
        script.wait(30);
        script.acked(FIRST_BYTE + 500);
        script
    }

    fn left(&mut self) -> Vec<Left> {
        let sent = sent(&mut self.end);
        let left = |body: &Body| match body {
            Body::Ack(header) => Left::Ack(header.ack - FIRST_BYTE),
            Body::Data(data) => {
                Left::Data { len: data.len, ack: data.header.ack - FIRST_BYTE, push: data.push }
            }
            other => panic!("{other:?}"),
        };
        sent.iter().map(left).collect()
    }
}

fn sent(end: &mut Endpoint) -> Vec<Body> {
    let mut sent = Vec::new();
    end.flush(|_, body| sent.push(*body));
    sent
}

/// `tcp_event_data_recv()`: the first payload is acknowledged at once. `tcp_event_data_sent()`: an answer within an `ato` begins the
/// ping-pong mode, in which `__tcp_ack_snd_check()` waits for data to ride on.
#[test]
fn an_end_that_answers_acknowledges_with_its_data() {
    let mut script = Script::new(false);
    assert_eq!(script.comes(200), [Left::Ack(200)]);
    assert_eq!(script.read(), []);
    assert_eq!(script.writes(500), [Left::Data { len: 500, ack: 200, push: true }]);
    script.wait(30);
    assert_eq!(script.comes(200), [], "a quick ACK would have gone");
    assert_eq!(script.read(), [], "`__tcp_cleanup_rbuf()`: no ACK for one small segment in ping-pong mode");
    assert_eq!(script.writes(500), [Left::Data { len: 500, ack: 400, push: true }]);
    assert!(script.end.receiver.ack_policy.next().is_none(), "`tcp_event_ack_sent()`: the timer is off");
}

/// `tcp_delack_timer_handler()`: an answer that takes longer than `TCP_DELACK_MIN` ends the ping-pong mode, and the next segment is
/// acknowledged at once again.
#[test]
fn an_answer_that_takes_too_long_ends_the_waiting() {
    let mut script = Script::talked(false);
    assert_eq!(script.comes(200), []);
    script.read();
    let (waited, left) = script.timer();
    assert_eq!(left, [Left::Ack(400)]);
    assert!((40..=41).contains(&waited), "{waited}");
    script.wait(20);
    assert_eq!(script.writes(500), [Left::Data { len: 500, ack: 400, push: true }]);
    assert_eq!(script.comes(200), [Left::Ack(600)], "the answer came 61 ms after the question");
}

/// `__tcp_cleanup_rbuf()`: two small segments at once are acknowledged when they are read (`ICSK_ACK_PUSHED2`).
#[test]
fn a_second_small_segment_is_acknowledged_when_it_is_read() {
    let mut script = Script::talked(false);
    assert_eq!(script.comes(200), []);
    assert_eq!(script.comes(200), []);
    assert_eq!(script.read(), [Left::Ack(600)]);
}

/// `tcp_enter_quickack_mode()`: what comes twice ends the ping-pong mode.
#[test]
fn a_duplicate_is_acknowledged_at_once_also_in_ping_pong_mode() {
    let mut script = Script::talked(false);
    let again = Data { header: script.header(0, script.end.sender.snd_nxt), len: 200, push: true };
    script.end.on_data(script.now, &again);
    assert_eq!(script.left(), [Left::Ack(200)]);
    assert_eq!(script.comes(200), [Left::Ack(400)]);
}

/// `tcp_nagle_check()`, `tcp_minshall_check()`: a second small segment waits for the first one's ACK, and takes what is written meanwhile.
#[test]
fn nagle_holds_a_second_small_segment_until_the_first_is_acknowledged() {
    let mut script = Script::new(false);
    assert_eq!(script.writes(300), [Left::Data { len: 300, ack: 0, push: true }]);
    assert_eq!(script.writes(200), []);
    assert_eq!(script.writes(100), []);
    script.wait(30);
    assert_eq!(script.acked(FIRST_BYTE + 300), [Left::Data { len: 300, ack: 0, push: true }]);
}

/// Minshall's variant: only a small segment that is out holds back another.
#[test]
fn a_small_segment_behind_full_ones_leaves() {
    let mut script = Script::new(false);
    let left = script.writes(1448 + 300);
    let full = Left::Data { len: 1448, ack: 0, push: false };
    assert_eq!(left, [full, Left::Data { len: 300, ack: 0, push: true }]);
    assert_eq!(script.writes(1448 + 10), [full], "the rest waits for the 300 bytes");
}

/// `TCP_NODELAY`.
#[test]
fn without_nagle_every_write_leaves_with_a_push_of_its_own() {
    let mut script = Script::new(true);
    for len in [300, 200, 100] {
        assert_eq!(script.writes(len.into()), [Left::Data { len, ack: 0, push: true }]);
    }
}

/// `tcp_data_snd_check()` comes before `tcp_ack_snd_check()`: what an ACK with payload lets go carries the ACK of that payload.
#[test]
fn data_that_payload_lets_go_acknowledges_it() {
    let mut script = Script::new(false);
    script.writes(300);
    script.writes(200);
    script.wait(30);
    let ack = FIRST_BYTE + 300;
    assert_eq!(script.comes_with(700, ack), [Left::Data { len: 200, ack: 700, push: true }]);
}

/// `tcp_established_options()`, `tcp_current_mss()`: blocks of what came out of order go with data, which has less room then.
#[test]
fn sack_blocks_take_their_room_from_payload() {
    let mut script = Script::new(true);
    script.came = 1448;
    script.comes(100);
    script.end.send(|sender| {
        sender.write(1448);
        sender.push_pending();
    });
    let sent = sent(&mut script.end);
    let [Body::Data(first), Body::Data(second)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((first.len, second.len), (1448 - 12, 12));
    let start = FIRST_BYTE + 1448;
    assert!(first.header.sacks.blocks(first.header.ack).eq([Range { start, end: start + 100 }]));
}

/// `tcp_may_update_window()` (RFC 9293, 3.10.7.4): a segment from before does not change the window, a later one may shrink it.
#[test]
fn the_window_is_that_of_the_latest_segment() {
    let mut script = Script::talked(false);
    let ack = script.end.sender.snd_nxt;
    script.comes(200);
    let overtaken = Header { window: WINDOW / 2, ..script.header(200, ack) };
    script.end.sender.take_header(script.now, &overtaken, false);
    assert_eq!(script.end.sender.snd_wnd, WINDOW);
    let latest = Header { window: WINDOW / 2, ..script.header(400, ack) };
    script.end.on_ack(script.now, &latest);
    assert_eq!(script.end.sender.snd_wnd, WINDOW / 2);
}

/// `tcp_cwnd_restart()` (RFC 5681, 4.1): cwnd is halved for every timeout of idle time, down to the initial window; an application that
/// pauses for less keeps it.
#[test]
fn a_burst_after_a_pause_begins_with_a_smaller_window() {
    for (timeouts, cwnd) in [(0, 80), (1, 40), (2, 20), (9, 10)] {
        let mut script = Script::new(false);
        script.writes(100);
        script.wait(30);
        script.acked(FIRST_BYTE + 100);
        script.end.sender.conn.cwnd = 80;
        let rto = script.end.sender.rtt.rto_ms;
        script.wait(rto * timeouts + rto / 2);
        script.writes(1000);
        assert_eq!(script.end.sender.conn.cwnd, cwnd, "after {timeouts} timeouts");
    }
}

/// `tcp_get_info()`: an end reports what it sent and what it received, and since when it did neither.
#[test]
fn an_end_reports_both_of_its_halves() {
    let mut script = Script::talked(false);
    script.comes(200);
    script.wait(25);
    let info = script.end.info(script.now);
    assert_eq!((info.bytes_sent, info.bytes_acked, info.bytes_received), (Some(500), Some(500), Some(400)));
    assert_eq!((info.data_segs_out, info.data_segs_in), (Some(1), Some(2)));
    assert_eq!(info.segs_out, Some(2), "the first question was acknowledged at once, the second is not yet");
    assert_eq!((info.last_data_sent_us, info.last_data_recv_us), (Some(55_000), Some(25_000)));
    assert_eq!(info.busy_us, Some(30_000));
    assert_eq!((info.rwnd_bytes, info.local_rwnd_bytes), (Some(WINDOW as u32), Some(65_024)));
}
