//! The programs at both ends of a TCP stream as state machines: what each writes, and when. Both backends drive them.
//!
//! The driver reports what its end has read ([`End::read`]) and what the socket has taken ([`End::wrote`]); the end names what it has to
//! write now ([`End::pending`]), and when it acts next without having read anything ([`End::next_due`]).

use crate::cell::{Application, BurstsSpec, RequestsSpec, WindowSpec, WritesSpec};
use crate::units::{Bytes, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// What one write hands over at most.
pub const WRITE_MAX: Bytes = Bytes::new(512 << 10);
/// What one write of an application with a window hands over at most: a packet of an SSH channel (`CHAN_SES_PACKET_DEFAULT` in OpenSSH's
/// `channels.h`).
pub const PACKET: Bytes = Bytes::new(32 << 10);
/// A credit on the wire: `SSH_MSG_CHANNEL_WINDOW_ADJUST` (RFC 4254, 5.2) in a packet of chacha20-poly1305: length 4, padded payload 16, tag 16.
pub const CREDIT: Bytes = Bytes::new(36);

/// What the receiving program has to read for a credit: three packets, or half of the window where that is less
/// (`channel_check_window()` in OpenSSH's `channels.c`). A credit is always for as much.
pub fn credited(window: &WindowSpec) -> Bytes {
    Bytes::new((window.size.get() / 2).min(3 * PACKET.get()).max(1))
}

/// The program at one end of a stream.
#[derive(Debug, Clone)]
pub struct End(Program);

#[derive(Debug, Clone)]
enum Program {
    Asker(Asker),
    Answerer(Answerer),
    Bursts(Bursts),
    Credited(Credited),
    Crediting(Crediting),
}

impl End {
    /// The program at the sender's end, which begins at `start`; `None` for bulk data, whose sender waits for nobody.
    pub fn sender(application: &Application, start: Time) -> Option<Self> {
        let program = match application {
            Application::Bulk => return None,
            Application::Requests(spec) => Program::Answerer(Answerer::of_requests(spec)),
            Application::Bursts(spec) => Program::Bursts(Bursts::new(spec, start)),
            Application::Window(spec) => Program::Credited(Credited::new(spec, start)),
            Application::Writes(spec) => Program::Asker(Asker::of_writes(spec, start)),
        };
        Some(Self(program))
    }

    /// The program at the receiver's end; `None` where it does nothing but read.
    pub fn receiver(application: &Application, start: Time) -> Option<Self> {
        let program = match application {
            Application::Bulk | Application::Bursts(_) => return None,
            Application::Requests(spec) => Program::Asker(Asker::of_requests(spec, start)),
            Application::Window(spec) => Program::Crediting(Crediting::new(spec)),
            Application::Writes(spec) => Program::Answerer(Answerer::of_writes(spec)),
        };
        Some(Self(program))
    }

    /// The program has read `bytes` at `now`.
    pub fn read(&mut self, now: Time, bytes: u64) {
        match &mut self.0 {
            Program::Asker(asker) => asker.read(now, bytes),
            Program::Answerer(answerer) => answerer.read(now, bytes),
            Program::Bursts(_) => {}
            Program::Credited(credited) => credited.read(bytes),
            Program::Crediting(crediting) => crediting.read(now, bytes),
        }
    }

    /// What one read takes at most.
    pub fn read_max(&self) -> u64 {
        match &self.0 {
            Program::Crediting(crediting) => crediting.credited,
            _ => u64::MAX,
        }
    }

    /// Bytes that the write at hand still has to hand over at `now`; 0 where there is nothing to write.
    pub fn pending(&self, now: Time) -> u64 {
        match &self.0 {
            Program::Asker(Asker { messages, .. })
            | Program::Answerer(Answerer { messages, .. })
            | Program::Crediting(Crediting { messages, .. }) => messages.pending(now),
            Program::Bursts(bursts) => bursts.pending(now),
            Program::Credited(credited) => credited.pending(now),
        }
    }

    /// The socket has taken `bytes` of the write at hand.
    pub fn wrote(&mut self, bytes: u64) {
        match &mut self.0 {
            Program::Asker(Asker { messages, .. })
            | Program::Answerer(Answerer { messages, .. })
            | Program::Crediting(Crediting { messages, .. }) => messages.wrote(bytes),
            Program::Bursts(bursts) => bursts.wrote(bytes),
            Program::Credited(credited) => credited.wrote(bytes),
        }
    }

    /// When the write at hand is or was due, whether or not the socket has taken a part of it; `None` where the program waits for the other
    /// end.
    pub fn next_due(&self) -> Option<Time> {
        match &self.0 {
            Program::Asker(Asker { messages, .. })
            | Program::Answerer(Answerer { messages, .. })
            | Program::Crediting(Crediting { messages, .. }) => messages.next_due(),
            Program::Bursts(bursts) => Some(bursts.due),
            Program::Credited(credited) => credited.next_due(),
        }
    }

    /// Whether the write at hand waits for an instant of the program's own (a pause, think time, the next burst) and has not begun: what
    /// is late then is late because of the program's timer.
    pub fn is_timed(&self) -> bool {
        match &self.0 {
            Program::Asker(Asker { messages, pause: delay, .. })
            | Program::Answerer(Answerer { messages, think: delay, .. }) => {
                messages.written == 0 && !delay.is_zero()
            }
            Program::Bursts(bursts) => bursts.written == 0,
            Program::Credited(_) | Program::Crediting(_) => false,
        }
    }
}

/// What is left of the write that hands over byte number `written` of a message of `size`.
fn piece(written: u64, size: u64) -> u64 {
    let end = (written / WRITE_MAX.get()).saturating_add(1).saturating_mul(WRITE_MAX.get());
    end.min(size).saturating_sub(written)
}

/// Messages that are to be written one after the other.
#[derive(Debug, Clone, Default)]
struct Messages {
    waiting: VecDeque<Message>,
    /// Bytes of the first one that the socket has taken.
    written: u64,
}

#[derive(Debug, Clone, Copy)]
struct Message {
    due: Time,
    size: u64,
}

impl Messages {
    fn add(&mut self, due: Time, size: Bytes) {
        self.waiting.push_back(Message { due, size: size.get().max(1) });
    }

    fn pending(&self, now: Time) -> u64 {
        let due = self.waiting.front().filter(|message| message.due <= now);
        due.map_or(0, |message| piece(self.written, message.size))
    }

    fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
        if self.waiting.front().is_some_and(|message| self.written >= message.size) {
            self.waiting.pop_front();
            self.written = 0;
        }
    }

    fn next_due(&self) -> Option<Time> {
        self.waiting.front().map(|message| message.due)
    }
}

/// The messages that a byte stream completes, all of one size.
#[derive(Debug, Clone)]
struct Incoming {
    size: u64,
    received: u64,
}

impl Incoming {
    fn of(size: u64) -> Self {
        Self { size: size.max(1), received: 0 }
    }

    /// Messages that `bytes` more complete.
    fn complete(&mut self, bytes: u64) -> u64 {
        let received = self.received.saturating_add(bytes);
        self.received = received % self.size;
        received / self.size
    }
}

/// The end that speaks first: the client of requests, the writer of messages.
#[derive(Debug, Clone)]
struct Asker {
    messages: Messages,
    /// The writes of one question.
    sizes: Vec<Bytes>,
    answers: Incoming,
    /// From an answer to the next question.
    pause: Duration,
    /// Questions that may still be asked.
    left: u64,
}

impl Asker {
    fn of_requests(spec: &RequestsSpec, start: Time) -> Self {
        let left = spec.count.unwrap_or(u64::MAX);
        let mut asker = Self {
            messages: Messages::default(),
            sizes: vec![spec.request],
            answers: Incoming::of(spec.response.get()),
            pause: spec.pause,
            left,
        };
        (0..spec.outstanding).for_each(|_| asker.ask(start));
        asker
    }

    fn of_writes(spec: &WritesSpec, start: Time) -> Self {
        let mut asker = Self {
            messages: Messages::default(),
            sizes: spec.sizes.clone(),
            answers: Incoming::of(spec.response.get()),
            pause: Duration::ZERO,
            left: u64::MAX,
        };
        asker.ask(start);
        asker
    }

    fn ask(&mut self, due: Time) {
        if self.left > 0 {
            self.left -= 1;
            self.sizes.iter().for_each(|&size| self.messages.add(due, size));
        }
    }

    fn read(&mut self, now: Time, bytes: u64) {
        let answered = self.answers.complete(bytes);
        (0..answered).for_each(|_| self.ask(now.after(self.pause)));
    }
}

/// The end that answers.
#[derive(Debug, Clone)]
struct Answerer {
    messages: Messages,
    questions: Incoming,
    answer: Bytes,
    think: Duration,
}

impl Answerer {
    fn of_requests(spec: &RequestsSpec) -> Self {
        Self::new(spec.request.get(), spec.response, spec.think)
    }

    fn of_writes(spec: &WritesSpec) -> Self {
        let size = spec.sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(size.get().max(1)));
        Self::new(size, spec.response, spec.think)
    }

    fn new(question: u64, answer: Bytes, think: Duration) -> Self {
        Self { messages: Messages::default(), questions: Incoming::of(question), answer, think }
    }

    fn read(&mut self, now: Time, bytes: u64) {
        let asked = self.questions.complete(bytes);
        (0..asked).for_each(|_| self.messages.add(now.after(self.think), self.answer));
    }
}

/// A writer of bursts.
#[derive(Debug, Clone)]
struct Bursts {
    size: u64,
    every: Duration,
    /// When the burst at hand is due.
    due: Time,
    /// Bytes of it that the socket has taken.
    written: u64,
}

impl Bursts {
    fn new(spec: &BurstsSpec, start: Time) -> Self {
        let every = spec.every.max(Duration::from_nanos(1));
        Self { size: spec.size.get().max(1), every, due: start, written: 0 }
    }

    fn pending(&self, now: Time) -> u64 {
        if now < self.due { 0 } else { piece(self.written, self.size) }
    }

    fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
        if self.written >= self.size {
            self.due = self.due.after(self.every);
            self.written = 0;
        }
    }
}

/// A writer that keeps to the window of the program at the other end.
#[derive(Debug, Clone)]
struct Credited {
    start: Time,
    /// Bytes that may be written.
    room: u64,
    /// Bytes of the packet at hand that the socket has not taken; 0 between packets.
    packet: u64,
    /// What a credit is for.
    credited: u64,
    credits: Incoming,
}

impl Credited {
    fn new(spec: &WindowSpec, start: Time) -> Self {
        let credits = Incoming::of(CREDIT.get());
        Self { start, room: spec.size.get().max(1), packet: 0, credited: credited(spec).get(), credits }
    }

    fn read(&mut self, bytes: u64) {
        let credits = self.credits.complete(bytes);
        self.room = self.room.saturating_add(credits.saturating_mul(self.credited));
    }

    fn pending(&self, now: Time) -> u64 {
        match self.packet {
            _ if now < self.start => 0,
            0 => self.room.min(PACKET.get()),
            left => left,
        }
    }

    fn wrote(&mut self, bytes: u64) {
        if self.packet == 0 {
            self.packet = self.room.min(PACKET.get());
        }
        self.packet = self.packet.saturating_sub(bytes);
        self.room = self.room.saturating_sub(bytes);
    }

    fn next_due(&self) -> Option<Time> {
        (self.room > 0).then_some(self.start)
    }
}

/// A reader that credits what it has read.
#[derive(Debug, Clone)]
struct Crediting {
    messages: Messages,
    /// What a credit is for.
    credited: u64,
    read: Incoming,
}

impl Crediting {
    fn new(spec: &WindowSpec) -> Self {
        let credited = credited(spec).get();
        Self { messages: Messages::default(), credited, read: Incoming::of(credited) }
    }

    fn read(&mut self, now: Time, bytes: u64) {
        let credits = self.read.complete(bytes);
        (0..credits).for_each(|_| self.messages.add(now, CREDIT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(10);

    /// Both ends over a pipe that takes [`DELAY`] each way and has no rate: what the sender's end has written, and when.
    fn written(application: &Application, until: Time) -> Vec<(Time, u64)> {
        let mut ends =
            [End::sender(application, Time::ZERO).unwrap(), End::receiver(application, Time::ZERO).unwrap()];
        let mut pipes = [VecDeque::new(), VecDeque::new()];
        let mut log = Vec::new();
        let mut now = Time::ZERO;
        while now < until {
            for (index, end) in ends.iter_mut().enumerate() {
                while let Some((_, bytes)) =
                    pipes[1 - index].pop_front_if(|(due, _): &mut (Time, u64)| *due <= now)
                {
                    end.read(now, bytes);
                }
                loop {
                    let bytes = end.pending(now);
                    if bytes == 0 {
                        break;
                    }
                    end.wrote(bytes);
                    pipes[index].push_back((now.after(DELAY), bytes));
                    if index == 0 {
                        log.push((now, bytes));
                    }
                }
            }
            let arrivals = pipes.iter().filter_map(|pipe| pipe.front().map(|(due, _)| *due));
            let Some(next) = arrivals.chain(ends.iter().filter_map(End::next_due)).min() else { break };
            assert!(next > now, "{application:?} spins at {now:?}");
            now = next;
        }
        log
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    fn requests() -> RequestsSpec {
        RequestsSpec {
            request: Bytes::new(200),
            response: Bytes::new(1_000),
            think: Duration::from_millis(5),
            outstanding: 1,
            count: None,
            pause: Duration::from_millis(7),
        }
    }

    #[test]
    fn a_response_comes_a_thought_after_its_request_and_the_next_request_a_pause_after_it() {
        let application = Application::Requests(requests());
        assert_eq!(written(&application, ms(80)), [(ms(15), 1_000), (ms(47), 1_000), (ms(79), 1_000)]);
    }

    #[test]
    fn requests_that_are_open_together_are_answered_together_and_counted() {
        let spec = RequestsSpec { outstanding: 3, count: Some(5), ..requests() };
        let got = written(&Application::Requests(spec), ms(1_000));
        assert_eq!(got, [ms(15), ms(15), ms(15), ms(47), ms(47)].map(|time| (time, 1_000)));
    }

    #[test]
    fn a_large_response_is_several_writes() {
        let spec = RequestsSpec { response: Bytes::new(WRITE_MAX.get() + 1), count: Some(1), ..requests() };
        let got = written(&Application::Requests(spec), ms(1_000));
        assert_eq!(got, [(ms(15), WRITE_MAX.get()), (ms(15), 1)]);
    }

    #[test]
    fn a_message_is_written_in_its_pieces_and_then_its_answer_is_awaited() {
        let spec = WritesSpec {
            sizes: vec![Bytes::new(300), Bytes::new(1_200)],
            response: Bytes::new(1),
            think: Duration::from_millis(5),
        };
        let got = written(&Application::Writes(spec), ms(30));
        assert_eq!(got, [(ms(0), 300), (ms(0), 1_200), (ms(25), 300), (ms(25), 1_200)]);
    }

    #[test]
    fn a_window_is_sent_once_a_round_trip() {
        for size in [1, 3, 1_000, 64 << 10, (2 << 20) - 7, 2 << 20] {
            let spec = WindowSpec { size: Bytes::new(size) };
            let got = written(&Application::Window(spec), ms(100));
            let credited = credited(&spec).get();
            for trip in 0..5 {
                let sent = |(time, _): &&(Time, u64)| *time == ms(20 * trip);
                let bytes: u64 = got.iter().filter(sent).map(|(_, bytes)| bytes).sum();
                // What is short of a credit waits for the next one.
                assert!(bytes <= size && bytes + credited > size, "{size}: {bytes} in round trip {trip}");
            }
            assert!(got.iter().all(|(_, bytes)| *bytes <= PACKET.get()));
        }
    }

    #[test]
    fn a_packet_that_the_socket_takes_in_parts_is_written_on() {
        let spec = WindowSpec { size: Bytes::new(2 << 20) };
        let mut end = End::sender(&Application::Window(spec), Time::ZERO).unwrap();
        end.wrote(10_000);
        assert_eq!(end.pending(Time::ZERO), PACKET.get() - 10_000);
        end.wrote(PACKET.get() - 10_000);
        assert_eq!(end.pending(Time::ZERO), PACKET.get());
    }

    #[test]
    fn bursts_keep_their_interval_and_a_late_one_is_not_left_out() {
        let spec = BurstsSpec { size: Bytes::new(1_000), every: Duration::from_millis(10) };
        let mut end = End::sender(&Application::Bursts(spec), ms(1)).unwrap();
        assert_eq!((end.pending(ms(0)), end.next_due()), (0, Some(ms(1))));
        assert_eq!((end.pending(ms(1)), end.is_timed()), (1_000, true));
        end.wrote(400);
        assert_eq!((end.pending(ms(35)), end.is_timed()), (600, false), "the socket had no room");
        end.wrote(600);
        assert_eq!((end.next_due(), end.pending(ms(35))), (Some(ms(11)), 1_000));
        end.wrote(1_000);
        end.wrote(1_000);
        assert_eq!((end.next_due(), end.pending(ms(35))), (Some(ms(31)), 1_000));
        end.wrote(1_000);
        assert_eq!((end.next_due(), end.pending(ms(35))), (Some(ms(41)), 0));
        assert!(End::receiver(&Application::Bursts(spec), ms(1)).is_none());
    }

    #[test]
    fn messages_are_found_in_a_stream_however_it_is_read() {
        let mut end = End::sender(&Application::Requests(requests()), Time::ZERO).unwrap();
        end.read(ms(1), 199);
        assert_eq!(end.next_due(), None);
        end.read(ms(2), 201);
        assert_eq!(end.next_due(), Some(ms(7)));
        end.wrote(1_000);
        assert_eq!(end.next_due(), Some(ms(7)), "the second request came with it");
        end.wrote(1_000);
        assert_eq!(end.next_due(), None);
    }
}
