//! Whose turn it is: conversations of a client and a server, seen at either end, and what is no turn.

use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::rows::{EventKind, Sampling};
use pipefill_capture::tcp::{Reconstruction, Side};
use pipefill_core::record::Waits;
use pipefill_testkit::captures::frame::{ACK, FIN, RST, SYN, Tcp};

const PSH: u8 = 8;
const MSS: u32 = 1460;
/// From the client to the server, and back.
const HALF_US: u64 = 40_000;

/// Where the capture was made.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Client,
    Server,
}

/// What both ends send, in the times of the server; captured at one of them, of whose times only differences count.
struct Talk {
    at: At,
    packets: Vec<(u64, Tcp)>,
    /// Sent by each, client first; and acknowledged.
    sent: [u32; 2],
}

impl Talk {
    fn open(at: At) -> Self {
        let mut talk = Self { at, packets: Vec::new(), sent: [1, 1] };
        let mss = vec![2, 4, 0x05, 0xb4];
        talk.pass(true, 0, Tcp { options: mss.clone(), window: 60_000, ..Tcp::new(1_000, 0, SYN, 0) });
        talk.pass(false, 0, Tcp { options: mss, window: 60_000, ..Tcp::new(5_000, 1_001, SYN | ACK, 0) });
        talk.pass(true, 2 * HALF_US, Tcp { window: 60_000, ..Tcp::new(1_001, 5_001, ACK, 0) });
        talk
    }

    /// Of the client or the server; `server_us` is when it is at the server.
    fn pass(&mut self, is_client: bool, server_us: u64, tcp: Tcp) {
        let at_us = match (self.at, is_client) {
            (At::Server, _) => server_us,
            (At::Client, true) => server_us,
            (At::Client, false) => server_us + 2 * HALF_US,
        };
        self.packets.push((at_us, if is_client { tcp } else { tcp.back() }));
    }

    fn say(&mut self, is_client: bool, server_us: u64, payload: u32) {
        let (own, peer) = if is_client { (0, 1) } else { (1, 0) };
        let bases = [1_000, 5_000];
        let flags = ACK | if payload.is_multiple_of(MSS) { 0 } else { PSH };
        let tcp =
            Tcp::new(bases[own] + self.sent[own], bases[peer] + self.sent[peer], flags, payload as usize);
        self.sent[own] += payload;
        self.pass(is_client, server_us, Tcp { window: 60_000, ..tcp });
    }

    /// The last payload once more.
    fn say_again(&mut self, is_client: bool, server_us: u64, payload: u32) {
        self.sent[usize::from(!is_client)] -= payload;
        self.say(is_client, server_us, payload);
    }

    fn ack(&mut self, is_client: bool, server_us: u64, window: u16) {
        let (own, peer) = if is_client { (0, 1) } else { (1, 0) };
        let bases = [1_000, 5_000];
        let tcp = Tcp::new(bases[own] + self.sent[own], bases[peer] + self.sent[peer], ACK, 0);
        self.pass(is_client, server_us, Tcp { window, ..tcp });
    }

    fn watched(mut self) -> pipefill_capture::rows::Watched {
        self.packets.sort_by_key(|(at_us, _)| *at_us);
        let (mut all, mut sampling) = (Reconstruction::default(), Sampling::default());
        for (number, (at_us, tcp)) in self.packets.iter().enumerate() {
            let bytes = Tcp { id: number as u16 + 1, ..tcp.clone() }.v4();
            let original = (bytes.len() + tcp.payload) as u32;
            all.push(
                &Packet::new(1_000_000_000 + at_us * 1_000, LinkType(101), original, &bytes),
                &mut sampling,
            );
        }
        all.finish(&mut sampling);
        sampling.finish().0.remove(0)
    }

    /// What the server waited for.
    fn waits_of_server(self) -> Waits {
        let [_, server] = self.waits();
        server
    }

    /// What the client and the server waited for.
    fn waits(self) -> [Waits; 2] {
        let watched = self.watched();
        Side::BOTH.map(|side| watched.samples(side, 0).last().map(|last| last.waits).unwrap_or_default())
    }
}

/// Twenty segments leave a slow path's queue one by one, and the server answers 5 ms after the last.
#[test]
fn what_a_queue_holds_is_no_wait_for_the_other_side() {
    let mut talk = Talk::open(At::Client);
    (0..20).for_each(|number| talk.say(true, 200_000 + number, MSS));
    for number in 1..=10 {
        let ack = Tcp::new(5_001, 1_001 + 2 * number * MSS, ACK, 0);
        talk.pass(false, 200_000 + u64::from(number) * 30_000, Tcp { window: 60_000, ..ack });
    }
    talk.say(false, 505_000, 500);
    talk.say(true, 505_000 + 2 * HALF_US, 100);
    let [client, _] = talk.waits();
    assert_eq!((client.request_us, client.turns), (5_000, 1), "{client:?}");
    assert!((80_000..=85_000).contains(&client.turns_us), "{client:?}");
}

/// Five requests, each answered after 300 ms of thought; the client thinks for half a second before the next.
fn conversation(at: At) -> [Waits; 2] {
    let mut talk = Talk::open(at);
    let mut us = 200_000;
    for _ in 0..5 {
        talk.say(true, us, 200);
        talk.ack(false, us + 100, 60_000);
        talk.say(false, us + 300_000, 1_000);
        talk.ack(true, us + 300_000 + 2 * HALF_US, 60_000);
        us += 300_000 + 2 * HALF_US + 500_000;
    }
    talk.waits()
}

#[test]
fn a_conversation_is_the_same_from_either_end() {
    for at in [At::Client, At::Server] {
        let [client, server] = conversation(at);
        // The server thinks five times, and four times it waits for the client.
        assert_eq!((server.response_us, server.request_us), (5 * 300_000, 4 * 500_000));
        assert_eq!((server.turns, client.turns), (5, 4));
        assert_eq!((client.request_us, client.response_us), (4 * 300_000, 4 * 500_000));
        let turns_us = if at == At::Server { [4 * 80_000, 4 * 80_000] } else { [4 * 80_000, 5 * 80_000] };
        assert_eq!([client.turns_us, server.turns_us], turns_us);
        assert_eq!((server.rate_us, server.delayed_ack_us, server.silence_us), (0, 0, 0));
    }
}

/// An answer of one flight is its turn's; with a second one a round trip later it is a transfer, which others judge.
#[test]
fn what_takes_less_than_a_round_trip_belongs_to_the_turn() {
    let waits = |second_us: u64| {
        let mut talk = Talk::open(At::Server);
        talk.say(true, 200_000, 200);
        talk.say(false, 210_000, MSS);
        talk.say(false, 210_000 + second_us, 500_u32);
        talk.ack(true, 400_000 + second_us, 60_000);
        talk.say(true, 500_000 + second_us, 200);
        talk.say(false, 510_000 + second_us, 500);
        talk.waits()[1]
    };
    assert_eq!(waits(30_000).turns_us, 30_000 + 80_000);
    assert_eq!(waits(90_000).turns_us, 80_000);
}

/// 64 B while more than that is outstanding: a window update of SSH.
#[test]
fn a_remark_while_data_is_outstanding_is_no_turn() {
    let mut talk = Talk::open(At::Server);
    for round in 0..10 {
        let us = 200_000 + round * 2 * HALF_US;
        for n in 0..20 {
            talk.say(false, us + n * 100, MSS);
        }
        // Acknowledged a round trip later; what was sent meanwhile is outstanding.
        talk.say(true, us + 2 * HALF_US + 50, 64);
        let (_, last) = talk.packets.last_mut().expect("a packet");
        last.ack = 5_001 + (round as u32 * 20 + 10) * MSS;
    }
    let [_, server] = talk.waits();
    assert_eq!((server.turns, server.request_us, server.response_us), (0, 0, 0));
}

/// A WINDOW_UPDATE of HTTP/2 at the client, which has acknowledged all that came of an answer that goes on.
#[test]
fn a_remark_in_the_middle_of_an_answer_is_no_turn() {
    let turns = |goes_on: bool| {
        let mut talk = Talk::open(At::Client);
        talk.say(true, 200_000, 200);
        for round in 0..8 {
            let us = 210_000 + round * 3 * HALF_US;
            for n in 0..20 {
                talk.say(false, us + n * 10, MSS);
            }
            if !goes_on {
                talk.say(false, us + 300, 500);
            }
            talk.ack(true, us + 2 * HALF_US + 400, 60_000);
            talk.say(true, us + 2 * HALF_US + 500, 64);
        }
        talk.waits()[1].turns
    };
    assert_eq!([turns(true), turns(false)], [1, 8]);
}

/// A sender that keeps two segments out waits for the timer of the other end's ACK.
#[test]
fn delayed_acks_and_nagle_are_told_apart_by_what_follows() {
    for at in [At::Client, At::Server] {
        let waits = |payload: u32, after_us: u64| delayed(at, payload, 1, after_us).waits_of_server();
        let full = waits(MSS, 10);
        assert_eq!((full.delayed_acks, full.nagles, full.delayed_ack_us), (5, 0, 5 * 120_010));
        let small = waits(300, 10);
        assert_eq!((small.delayed_acks, small.nagles, small.nagle_us), (0, 5, 5 * 120_010));
        // A program that polls for the ACK each millisecond; far from the sender the path's jitter may be as large, before it is seen to wait each time.
        let polled =
            [500, 1_500].map(|after_us| waits(300, after_us)).map(|waits| (waits.delayed_acks, waits.nagles));
        assert_eq!(polled, if at == At::Server { [(5, 0); 2] } else { [(4, 1), (5, 0)] });
        let later = waits(300, 2_500);
        assert_eq!((later.delayed_acks, later.nagles), (0, 0), "a pace of its own");
    }
}

/// The server sends `count` times `payload` at once, six times, `after_us` after the delayed ACK of the last one; the others are acknowledged in pairs.
fn delayed(at: At, payload: u32, count: u32, after_us: u64) -> Talk {
    let mut talk = Talk::open(at);
    let mut us = 200_000;
    for _ in 0..6 {
        for n in 1..=count {
            talk.say(false, us, payload);
            if n.is_multiple_of(2) {
                talk.ack(true, us + 2 * HALF_US, 60_000);
            }
        }
        talk.ack(true, us + 2 * HALF_US + 40_000, 60_000);
        us += 2 * HALF_US + 40_000 + after_us;
    }
    talk
}

/// Near the receiver only the end of a burst is unacknowledged; at the sender all of it was.
#[test]
fn the_late_ack_of_a_bursts_end_is_no_delayed_ack() {
    for at in [At::Client, At::Server] {
        let waits = delayed(at, MSS, 21, 10).waits_of_server();
        assert_eq!((waits.delayed_acks, waits.delayed_ack_us), (0, 0));
    }
}

/// Responses of a segment and 600 B, two of them asked for at once: the end of each waits for the ACK of the one before, which a request brings.
#[test]
fn the_end_of_a_response_waits_for_the_ack_of_the_one_before() {
    for at in [At::Client, At::Server] {
        let mut talk = Talk::open(at);
        for round in 0..6 {
            let us = 200_000 + u64::from(round) * (2 * HALF_US + 100);
            talk.say(true, us, 200);
            let acked = 5_001 + round * (600 + MSS);
            let (_, last) = talk.packets.last_mut().expect("a packet");
            last.ack = if round == 0 { 5_001 } else { acked - MSS };
            talk.say(false, us + 20, 600);
            talk.say(false, us + 60, MSS);
        }
        let server = talk.waits_of_server();
        assert_eq!((server.nagles, server.turns), (5, 1), "{server:?}");
        assert!(server.nagle_us > 5 * (2 * HALF_US - 100), "{server:?}");
    }
}

/// Bursts of 10 kB, seen at the receiver: the third pause in a row, or a pause of three timers, is no loss. Where the burst was to go on, it is.
#[test]
fn pauses_after_which_a_sender_goes_on_in_order_are_its_own() {
    let waits = |pause_us: u64, count: u64, has_losses: bool, is_whole: bool| {
        let mut talk = Talk::open(At::Client);
        for burst in 0..count {
            let us = 200_000 + burst * pause_us;
            for n in 0..7 {
                talk.say(false, us + n * 100, MSS);
            }
            if is_whole {
                talk.say(false, us + 700, 600);
            }
            if has_losses {
                // The fourth is lost and comes again.
                let lost = talk.packets.remove(talk.packets.len() - 4);
                talk.packets.push((lost.0 + 2 * HALF_US, lost.1));
            }
            talk.ack(true, us + 4 * HALF_US + 700, 60_000);
        }
        talk.waits_of_server()
    };
    let rate_us = |pause_us, count, has_losses| waits(pause_us, count, has_losses, true).rate_us;
    let idle_us = |pause_us: u64| pause_us - 4 * HALF_US - 700;
    assert_eq!(rate_us(500_000, 9, false) / idle_us(500_000), 6);
    assert_eq!(rate_us(500_000, 3, false), 0, "two losses of a whole burst make such pauses");
    assert_eq!(rate_us(500_000, 9, true), 0, "there are losses");
    assert!(rate_us(1_500_000, 2, false) > 1_000_000, "three timers would have ended");
    let (short, long) = (waits(500_000, 9, false, false), waits(1_500_000, 2, false, false));
    assert_eq!(
        (short.rate_us, short.silence_us),
        (0, 0),
        "more was written: what is lost for a timer is no silence"
    );
    assert!(
        long.rate_us == 0 && long.silence_us > 1_000_000,
        "and nobody tells why it did not come: {long:?}"
    );
}

#[test]
fn a_window_without_room_is_the_receivers_time() {
    let mut talk = Talk::open(At::Server);
    talk.say(false, 200_000, MSS);
    talk.ack(true, 280_000, 0);
    talk.ack(true, 1_280_000, 60_000);
    talk.say(false, 1_280_010, MSS);
    talk.ack(true, 1_360_010, 60_000);
    let watched = talk.watched();
    let last = *watched.samples(Side::B, 0).last().expect("samples");
    // What follows at once is a part of it.
    assert_eq!(last.waits.zero_window_us, 1_000_010);
    assert_eq!((last.waits.rate_us, last.waits.request_us), (0, 0));
    assert!(
        watched.events(Side::B).iter().any(|event| event.kind == EventKind::ZeroWindow && event.count == 1)
    );
}

#[test]
fn who_never_answers_is_silent_and_what_nobody_repeats_is_not() {
    let mut talk = Talk::open(At::Server);
    for us in [200_000, 400_000, 800_000, 1_600_000, 3_200_000, 6_400_000] {
        talk.sent[1] = 1;
        talk.say(false, us, 500);
    }
    assert_eq!(talk.waits()[1].silence_us, 6_200_000);
    // Its receiver's packets were not captured.
    let mut talk = Talk::open(At::Server);
    for n in 0..60 {
        talk.say(false, 200_000 + n * 100_000, MSS);
    }
    assert_eq!(talk.waits()[1].silence_us, 0);
}

/// The wait ends with the last time that data were sent again, whenever the connection is given up.
#[test]
fn a_reset_long_after_a_silence_does_not_move_it() {
    let mut talk = Talk::open(At::Server);
    for us in [200_000, 400_000, 800_000, 1_600_000, 3_200_000, 6_400_000] {
        talk.sent[1] = 1;
        talk.say(false, us, 500);
    }
    talk.pass(false, 60_000_000, Tcp::new(5_501, 1_001, RST | ACK, 0));
    let samples = talk.watched().samples(Side::B, 0);
    let silence_us = |t_us: u64| {
        samples.iter().rfind(|sample| sample.t_us <= samples[0].t_us + t_us).map(|it| it.waits.silence_us)
    };
    assert_eq!([silence_us(6_100_000), silence_us(6_300_000)], [Some(0), Some(6_200_000)]);
}

/// Both send all the time, and acknowledge what has arrived; in the times of the server the client has what is a round trip old.
#[test]
fn two_transfers_at_once_are_no_conversation() {
    for at in [At::Client, At::Server] {
        let mut talk = Talk::open(at);
        for n in 0..400_u32 {
            let us = 200_000 + u64::from(n) * 1_000;
            let acked = |is_client: bool, sent: u32| {
                if is_client { sent.saturating_sub(80 * MSS).max(1) } else { sent }
            };
            for (is_client, us) in [(true, us), (false, us + 500)] {
                talk.say(is_client, us, MSS);
                let (_, last) = talk.packets.last_mut().expect("a packet");
                let (base, peer) = if is_client { (5_000, 1) } else { (1_000, 0) };
                last.ack = base + acked(is_client, talk.sent[peer]);
            }
        }
        for waits in talk.waits() {
            assert!(waits.total_us() <= 4 * HALF_US, "the first round trips aside: {waits:?}");
        }
    }
}

/// After this time what was lost is sent again.
const TIMER_US: u64 = 300_000;

/// What was written ends with PSH, although a full segment that was overtaken comes last.
#[test]
fn a_pause_after_a_segment_that_was_overtaken_is_no_silence() {
    let mut talk = Talk::open(At::Client);
    talk.say(true, 200_000, 200);
    talk.say(false, 200_000, MSS);
    talk.say(false, 200_020, MSS);
    talk.say(false, 200_010, 60);
    talk.ack(true, 200_100 + 2 * HALF_US, 60_000);
    talk.say(false, 5_200_000, 39);
    let server = talk.waits_of_server();
    assert!(server.silence_us == 0 && server.rate_us > 4_000_000, "{server:?}");
}

/// Some stacks have a timer of a second: what is answered as soon as it is sent again waited for that.
#[test]
fn data_that_is_answered_as_soon_as_it_is_sent_again_waited_for_a_timer() {
    let waits = |copies: u64| {
        let mut talk = Talk::open(At::Server);
        talk.say(true, 200_000, 200);
        talk.say(false, 200_000, 1_000);
        for copy in 1..=copies {
            talk.say_again(false, 200_000 + copy * 1_000_000, 1_000);
        }
        talk.ack(true, 200_000 + copies * 1_000_000 + 2 * HALF_US, 60_000);
        talk.say(false, 4_000_000, 1_000);
        talk.waits_of_server()
    };
    let once = waits(1);
    assert_eq!((once.silence_us, once.timer_us), (0, 1_000_000), "{once:?}");
    let in_vain = waits(3);
    assert!(in_vain.silence_us > 3_000_000, "{in_vain:?}");
}

/// Ten requests that are answered at once, each second of which is lost and sent again: what is lost is not seen behind the place of the loss.
fn with_lost_requests(at: At) -> [Waits; 2] {
    let mut talk = Talk::open(at);
    let mut us = 200_000;
    for turn in 0..10 {
        if turn % 2 == 1 && at == At::Client {
            talk.say(true, us, 200);
            us += TIMER_US;
            talk.say_again(true, us, 200);
        } else {
            us += if turn % 2 == 1 { TIMER_US } else { 0 };
            talk.say(true, us, 200);
        }
        talk.say(false, us, 100);
        us += 2 * HALF_US;
    }
    talk.waits()
}

#[test]
fn a_request_that_is_lost_waits_for_its_timer_and_the_turn_takes_no_longer() {
    let [client, _] = with_lost_requests(At::Client);
    assert_eq!((client.timer_us, client.turns_us), (5 * TIMER_US, 9 * 2 * HALF_US));
    assert_eq!((client.request_us, client.response_us, client.silence_us), (0, 0, 0));
    // Behind the place of the loss: a client that thinks acknowledges the answer before.
    let [client, _] = with_lost_requests(At::Server);
    assert_eq!((client.timer_us, client.response_us), (5 * TIMER_US, 0));
}

/// Seen by the client alone: what it never asked for twice is answered after a timer, with or without an ACK before.
#[test]
fn an_answer_that_was_lost_is_told_from_one_that_took_long() {
    let waits = |is_lost: bool| {
        let mut talk = Talk::open(At::Client);
        let mut us = 200_000;
        for _ in 0..6 {
            talk.say(true, us, 200);
            if !is_lost {
                talk.ack(false, us + 40_000, 60_000);
            }
            us += TIMER_US;
            talk.say(false, us, 100);
            us += 2 * HALF_US;
        }
        talk.waits()
    };
    let [client, server] = waits(true);
    assert_eq!([client.timer_us, server.timer_us], [6 * TIMER_US; 2]);
    assert_eq!((client.request_us, server.response_us), (0, 0));
    let [client, server] = waits(false);
    assert_eq!([client.timer_us, server.timer_us], [0; 2]);
    assert_eq!((client.request_us, server.response_us), (5 * TIMER_US, 6 * TIMER_US));
}

/// Answers of ten segments, which the client acknowledges with its next request alone, as a capture of payload shows it: 800 ms later it had them all.
#[test]
fn without_acks_no_late_request_waited_for_a_timer() {
    let waits = |has_acks: bool| {
        let mut talk = Talk::open(At::Server);
        talk.packets.truncate(2);
        for turn in 0..6 {
            let us = 200_000 + turn * 1_000_000;
            talk.say(true, us, 200);
            talk.say(false, us + 100_000, 10 * MSS + 100);
            if has_acks {
                talk.ack(true, us + 100_000 + 2 * HALF_US, 60_000);
            }
        }
        talk.waits()
    };
    let [[_, lacking], [_, whole]] = [false, true].map(waits);
    assert_eq!([lacking.timer_us, whole.timer_us], [0; 2]);
    assert!(lacking.request_us > 3_000_000, "{lacking:?}");
}

/// A capture of packets with payload alone has no ACK: the other side answers a minute later, and no timer waits so long.
#[test]
fn who_answers_after_many_timers_had_the_request() {
    let mut talk = Talk::open(At::Client);
    for turn in 0..6 {
        talk.say(true, 200_000 + turn * 60_000_000, 200);
        talk.say(false, 200_000 + turn * 60_000_000 + 30_000_000, 100);
    }
    let [client, server] = talk.waits();
    assert_eq!([client.timer_us, server.timer_us], [0; 2]);
    assert_eq!(server.response_us, 6 * 30_000_000);
}

/// Near the server: an answer is lost and with it the ACK, and the client sends again what arrived.
#[test]
fn a_request_that_is_sent_again_after_its_answer_shows_that_this_was_lost() {
    let mut talk = Talk::open(At::Server);
    let mut us = 200_000;
    for _ in 0..6 {
        talk.say(true, us, 200);
        talk.say(false, us, 100);
        us += TIMER_US;
        // With the ACK of the answers before, not of this one.
        talk.sent[1] -= 100;
        talk.say_again(true, us, 200);
        talk.sent[1] += 100;
        talk.say_again(false, us + 1_000, 100);
        us += 1_000 + 2 * HALF_US;
    }
    let [client, server] = talk.waits();
    let timers_us = 6 * TIMER_US + 5 * 1_000;
    assert_eq!((client.timer_us, client.response_us, client.request_us), (timers_us, 0, 0));
    assert!(server.timer_us >= timers_us && server.request_us == 0, "{server:?}");
}

/// Seven blocks are asked for at any time, each when one arrives; or all seven when all have arrived.
#[test]
fn requests_that_never_run_out_are_a_window_and_no_turns() {
    let server = |is_batch: bool| {
        let mut talk = Talk::open(At::Client);
        for block in 0..140_u32 {
            let (flight, part) = (block / 7, u64::from(block % 7));
            let us = 200_000 + u64::from(flight) * (2 * HALF_US + if is_batch { 3_500 } else { 0 });
            let arrived = if is_batch { flight * 7 } else { (block + 1).saturating_sub(7) };
            talk.sent = [1 + block * 12, 1 + arrived * 1_000];
            talk.say(true, us + if is_batch { 0 } else { part * 500 }, 12);
            talk.sent[1] = 1 + block * 1_000;
            talk.say(false, us + part * 500, 1_000);
        }
        talk.waits()[1]
    };
    let (window, batches) = (server(false), server(true));
    assert!(window.turns < 8 && window.turns_us < 8 * 2 * HALF_US, "{window:?}");
    assert_eq!(batches.turns, 20, "{batches:?}");
}

#[test]
fn where_an_answer_is_lost_both_sides_wait_for_its_timer() {
    let waits = |is_lost: bool| {
        let mut talk = Talk::open(At::Server);
        let mut us = 200_000;
        for _ in 0..6 {
            talk.say(true, us, 200);
            talk.say(false, us, 100);
            if !is_lost {
                talk.ack(true, us + 2 * HALF_US, 60_000);
            }
            us += TIMER_US;
            if is_lost {
                talk.say_again(false, us, 100);
            }
            us += 2 * HALF_US;
        }
        talk.waits()
    };
    let [client, server] = waits(true);
    assert_eq!([client.timer_us, server.timer_us], [5 * TIMER_US; 2]);
    assert_eq!((client.turns_us, client.request_us, client.response_us), (5 * 2 * HALF_US, 0, 0));
    let [client, server] = waits(false);
    assert_eq!([client.timer_us, server.timer_us], [0; 2], "nothing was sent again");
    assert_eq!(client.response_us, 5 * TIMER_US);
}

/// Ten small answers, and one of several segments, of which none is acknowledged, or the first one; that may be as much shorter as options take.
#[test]
fn full_segments_that_never_arrive_are_told_from_a_path_that_is_silent() {
    let may_lose = |arrives: bool, full: u32| {
        let mut talk = Talk::open(At::Server);
        let mut us = 200_000;
        for _ in 0..10 {
            talk.say(true, us, 80);
            talk.say(false, us, 700);
            us += 2 * HALF_US;
        }
        talk.say(true, us, 80);
        talk.say(false, us, full);
        if arrives {
            us += 2 * HALF_US;
            talk.ack(true, us, 60_000);
        }
        talk.say(false, us, 3 * MSS);
        for timer in [1, 3, 7, 15] {
            talk.say_again(false, us + timer * TIMER_US, 3 * MSS);
        }
        let watched = talk.watched();
        let samples = watched.samples(Side::B, 0);
        let last = samples.last().expect("a sample");
        assert!(last.waits.silence_us > 0 && last.acked_bytes > u64::from(MSS), "{last:?}");
        last.may_lose_full_segments()
    };
    assert!(!may_lose(true, MSS - 12), "with options");
    assert_eq!([may_lose(false, MSS), may_lose(true, MSS)], [true, false]);
}

/// The first answer is of full segments, and none of it arrives: the SYN did, and the way back works where something was asked for.
#[test]
fn a_syn_is_smaller_than_what_never_arrives() {
    let may_lose = |is_asked: bool| {
        let mut talk = Talk::open(At::Server);
        if is_asked {
            talk.say(true, 200_000, 80);
        }
        talk.say(false, 210_000, 10 * MSS);
        for timer in [1, 3, 7, 15] {
            talk.say_again(false, 210_000 + timer * TIMER_US, 10 * MSS);
        }
        let samples = talk.watched().samples(Side::B, 0);
        samples.last().expect("a sample").may_lose_full_segments()
    };
    assert_eq!([may_lose(true), may_lose(false)], [true, false]);
}

/// The last ACK of a burst comes 3 ms after the first one, with which a sample is taken; then nothing for a while.
#[test]
fn in_a_pause_nothing_is_outstanding_whenever_the_last_ack_came() {
    for pause_us in [300_000, 2_000_000, 30_000_000] {
        let mut talk = Talk::open(At::Server);
        for burst in 0..3 {
            let us = 200_000 + burst * pause_us;
            talk.say(false, us, MSS);
            talk.ack(true, us + 2 * HALF_US, 60_000);
            talk.say(false, us + 2 * HALF_US + 100, MSS);
            talk.ack(true, us + 2 * HALF_US + 3_000, 60_000);
        }
        let samples = talk.watched().samples(Side::B, 0);
        let since = |burst: u64| 200_000 + burst * pause_us + 2 * HALF_US + 20_000;
        let pauses = [0, 1].map(|burst| (since(burst), 200_000 + (burst + 1) * pause_us));
        for (from_us, to_us) in pauses {
            let first_us = samples[0].t_us;
            let within = |us: u64| us >= first_us && (from_us..to_us).contains(&(us - first_us + 200_000));
            let inside: Vec<_> = samples.iter().filter(|sample| within(sample.t_us)).collect();
            assert!(!inside.is_empty());
            assert!(inside.iter().all(|sample| sample.unacked_bytes == 0 && sample.in_flight_bytes == 0));
        }
    }
}

/// A minute after its last data the server closes: that is no data.
#[test]
fn a_fin_is_no_payload() {
    let mut talk = Talk::open(At::Client);
    talk.say(true, 200_000, 200);
    talk.say(false, 210_000, MSS);
    talk.ack(true, 210_000 + 2 * HALF_US, 60_000);
    talk.pass(false, 60_000_000, Tcp { window: 60_000, ..Tcp::new(5_001 + MSS, 1_201, FIN | ACK, 0) });
    talk.pass(true, 60_000_000 + 2 * HALF_US, Tcp::new(1_201, 5_002 + MSS, ACK, 0));
    let samples = talk.watched().samples(Side::B, 0);
    let sent = samples.iter().map(pipefill_core::record::PacketSample::sent_bytes).max();
    assert_eq!(sent, Some(u64::from(MSS)));
    assert!(samples.last().is_some_and(|last| (last.acked_bytes, last.unacked_bytes) == (MSS.into(), 0)));
}

/// A second segment follows 3 ms after the one with which a sample is taken, and neither is acknowledged until the second is sent again.
#[test]
fn in_a_pause_what_is_outstanding_stays_so() {
    let mut talk = Talk::open(At::Server);
    talk.say(false, 200_000, MSS);
    talk.ack(true, 200_000 + 2 * HALF_US, 60_000);
    talk.say(false, 400_000, MSS);
    talk.say(false, 403_000, 500);
    talk.say_again(false, 1_403_000, 500);
    let samples = talk.watched().samples(Side::B, 0);
    let from_us = samples[0].t_us + 210_000;
    let inside: Vec<_> =
        samples.iter().filter(|sample| (from_us..from_us + 990_000).contains(&sample.t_us)).collect();
    assert!(inside.len() > 10);
    assert!(inside.iter().all(|sample| sample.unacked_bytes == u64::from(MSS) + 500), "{inside:?}");
}

/// The server sends a burst every 300 ms, of which the capture has the first one alone, and the ACKs of all.
#[test]
fn an_ack_of_what_the_capture_lost_shows_when_that_was_sent() {
    let mut talk = Talk::open(At::Client);
    talk.say(true, 200_000, 200);
    for burst in 0..10 {
        let us = 210_000 + burst * 300_000;
        talk.say(false, us, 3 * MSS);
        if burst > 0 {
            talk.packets.pop();
        }
        talk.ack(true, us + 2 * HALF_US, 60_000);
    }
    talk.say(false, 210_000 + 10 * 300_000, 3 * MSS);
    let [_, server] = talk.waits();
    assert_eq!((server.silence_us, server.request_us), (0, 0), "{server:?}");
}

/// A full buffer lets out as much as each ACK acknowledges; an application writes when it likes, and at times that is just after an ACK.
#[test]
fn what_follows_an_ack_is_clocked_as_far_as_that_acknowledged() {
    let clocked = |written: u32| {
        let mut talk = Talk::open(At::Server);
        talk.say(false, 200_000, 4 * MSS);
        for ack in 1..20 {
            let us = 200_000 + ack * 2 * HALF_US;
            talk.ack(true, us, 60_000);
            talk.say(false, us + 50, written);
        }
        let samples = talk.watched().samples(Side::B, 0);
        let sum = |of: fn(&pipefill_core::record::PacketSample) -> u32| samples.iter().map(of).sum::<u32>();
        sum(|sample| sample.clocked_bytes) as f64 / sum(|sample| sample.prompt_bytes) as f64
    };
    assert!(clocked(4 * MSS) > 0.99, "{}", clocked(4 * MSS));
    // Each is acknowledged at once.
    let unclocked = {
        let mut talk = Talk::open(At::Server);
        for burst in 0..20 {
            let us = 200_000 + burst * 2 * HALF_US;
            for part in 0..10 {
                talk.say(false, us + 50 + part * 5, 2 * MSS);
            }
            for part in 0..10 {
                let mut ack = Tcp::new(1_001, 5_001 + burst as u32 * 20 * MSS + (part + 1) * 2 * MSS, ACK, 0);
                ack.window = 60_000;
                talk.pass(true, us + 2 * HALF_US - 500 + u64::from(part) * 54, ack);
            }
        }
        let samples = talk.watched().samples(Side::B, 0);
        let sum = |of: fn(&pipefill_core::record::PacketSample) -> u32| samples.iter().map(of).sum::<u32>();
        sum(|sample| sample.clocked_bytes) as f64 / sum(|sample| sample.prompt_bytes).max(1) as f64
    };
    assert!(unclocked < 0.2, "{unclocked}");
}
