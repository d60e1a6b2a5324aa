//! The applications: one that writes (as fast as the socket takes it, or at a fixed rate), one that reads, and those that wait for each
//! other.
//!
//! The same rules as the lab's applications follow, without the machine's own delays.

mod conversation;

use crate::options::WriterHabit;
use crate::tcp::endpoint::Endpoint;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use conversation::Conversation;
use pipefill_core::cell::FlowSpec;
use pipefill_core::traffic::application::End;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Bytes, Rate, Time};
use std::time::Duration;

/// A paced writer hands over what this span is worth, but no less than a full segment; a paced reader looks this often.
const TICK: Duration = Duration::from_millis(1);
const SMALLEST_WRITE: u64 = 1448;

/// The application at one end of a TCP stream.
#[derive(Debug)]
#[repr(u8)] // It is asked at every event: a tag of its own is read at once, one within a field of the writer is computed.
pub(crate) enum App {
    Writer(Writer),
    Reader(Reader),
    Conversation(Conversation),
}

impl App {
    /// The one at the sender's end of a stream of `flow`, which writes from the beginning of `span` to its end.
    pub(crate) fn of_sender(flow: &FlowSpec, span: [Time; 2], habit: WriterHabit) -> Self {
        match End::sender(&flow.app, span[0]) {
            Some(end) => Self::Conversation(Conversation::new(end, span[1])),
            None => Self::Writer(Writer::new(span, flow.bitrate, flow.length, habit)),
        }
    }

    /// The one at the receiver's end.
    pub(crate) fn of_receiver(flow: &FlowSpec, span: [Time; 2]) -> Self {
        match End::receiver(&flow.app, span[0]) {
            Some(end) => Self::Conversation(Conversation::new(end, span[1])),
            None => Self::Reader(Reader::new(span[0], flow.read_rate)),
        }
    }

    /// When it acts of itself.
    #[inline]
    pub(crate) fn next(&self, socket: &Endpoint) -> Option<Time> {
        match self {
            Self::Writer(writer) => writer.next(&socket.sender),
            Self::Reader(reader) => reader.next,
            Self::Conversation(conversation) => conversation.next(&socket.sender),
        }
    }

    /// Whether it sleeps and has something to do.
    #[inline]
    pub(crate) fn is_woken(&self, now: Time, socket: &Endpoint) -> bool {
        match self {
            Self::Writer(writer) => writer.is_woken(now, &socket.sender),
            Self::Reader(reader) => reader.is_woken(&socket.receiver),
            Self::Conversation(conversation) => conversation.is_woken(now, socket),
        }
    }

    /// Reads and writes what it has to.
    #[inline(always)]
    pub(crate) fn run(&mut self, now: Time, socket: &mut Endpoint) {
        match self {
            Self::Writer(writer) => socket.send(|sender| writer.run(now, sender)),
            Self::Reader(reader) => reader.run(now, &mut socket.receiver),
            Self::Conversation(conversation) => conversation.run(now, socket),
        }
    }

    /// Payload bytes that the socket took.
    pub(crate) fn sent_bytes(&self) -> u64 {
        match self {
            Self::Writer(writer) => writer.sent_bytes,
            Self::Reader(_) => 0,
            Self::Conversation(conversation) => conversation.sent_bytes,
        }
    }

    /// Payload bytes read.
    pub(crate) fn received_bytes(&self) -> u64 {
        match self {
            Self::Writer(_) => 0,
            Self::Reader(reader) => reader.received_bytes,
            Self::Conversation(conversation) => conversation.received_bytes,
        }
    }

    /// When it read last; `None` = nothing yet.
    pub(crate) fn last_read(&self) -> Option<Time> {
        match self {
            Self::Writer(_) => None,
            Self::Reader(reader) => reader.last,
            Self::Conversation(conversation) => conversation.last_read,
        }
    }
}

/// The sending application of bulk data.
#[derive(Debug)]
pub(crate) struct Writer {
    start: Time,
    until: Time,
    length: u64,
    /// With a fixed rate: the schedule, and what of the current write the socket has taken.
    paced: Option<(Schedule, u64)>,
    /// Payload bytes that the socket took.
    sent_bytes: u64,
    has_begun: bool,
    /// The stop has passed: whatever the schedule still owes is never written.
    has_ended: bool,
    habit: WriterHabit,
    /// The socket has room for more when what was sent has left.
    goes_on: Option<Time>,
}

impl Writer {
    fn new(span: [Time; 2], bitrate: Option<Rate>, length: Bytes, habit: WriterHabit) -> Self {
        let [start, until] = span;
        let length = length.get().max(1);
        let piece = |rate: Rate| rate.bytes_in(TICK).get().max(SMALLEST_WRITE).min(length);
        let paced = bitrate.map(|rate| (Schedule::new(start, rate, Bytes::new(piece(rate))), 0));
        let length = bitrate.map_or(length, piece);
        Self {
            start,
            until,
            length,
            paced,
            sent_bytes: 0,
            has_begun: false,
            has_ended: false,
            habit,
            goes_on: None,
        }
    }

    /// When it acts of itself; while the socket is full it waits to be woken.
    fn next(&self, sender: &Sender) -> Option<Time> {
        if self.has_ended {
            return None;
        }
        if !self.has_begun {
            return Some(self.start);
        }
        if self.goes_on.is_some() {
            return self.goes_on;
        }
        let (schedule, _) = self.paced.as_ref().filter(|_| !sender.queue.is_full)?;
        Some(schedule.next_due()).filter(|&due| due < self.until)
    }

    /// Whether there is room again for what it still has to write.
    fn is_woken(&self, now: Time, sender: &Sender) -> bool {
        self.has_begun && now < self.until && !sender.queue.is_full && self.owes(now)
    }

    /// Writes what it has to, as far as the socket takes it.
    fn run(&mut self, now: Time, sender: &mut Sender) {
        self.has_ended = now >= self.until;
        self.goes_on = sender.process.holds_until();
        if now < self.start || self.has_ended || sender.queue.is_full || self.goes_on.is_some() {
            return;
        }
        self.has_begun = true;
        sender.in_process(now, |sender| self.write(now, sender));
        self.goes_on = sender.process.holds_until().filter(|_| self.has_more(now, sender));
    }

    /// Write by write, until the socket is full or has to look after its backlog.
    fn write(&mut self, now: Time, sender: &mut Sender) {
        while self.has_more(now, sender) {
            let rest = self.length - self.paced.map_or(0, |(_, written)| written);
            let taken = if sender.queue.is_writing() { sender.write_on() } else { sender.write(rest) };
            self.sent_bytes += taken;
            if let Some((schedule, written)) = &mut self.paced {
                *written += taken;
                if *written == self.length {
                    schedule.advance(1);
                    *written = 0;
                }
            }
            if sender.queue.is_writing() {
                return;
            }
            sender.push_pending();
            if self.habit == WriterHabit::OncePerWake && !sender.is_writable() {
                sender.queue.is_full = true;
            }
        }
    }

    fn has_more(&self, now: Time, sender: &Sender) -> bool {
        sender.queue.is_writing() || (!sender.queue.is_full && self.owes(now))
    }

    fn owes(&self, now: Time) -> bool {
        self.paced.is_none_or(|(schedule, _)| schedule.next_due() <= now)
    }
}

/// A receiving application that only reads.
#[derive(Debug)]
pub(crate) struct Reader {
    start: Time,
    rate: Option<Rate>,
    /// When a paced reader looks again.
    next: Option<Time>,
    /// Payload bytes read.
    received_bytes: u64,
    /// When it read last; `None` = nothing yet.
    last: Option<Time>,
}

impl Reader {
    fn new(start: Time, rate: Option<Rate>) -> Self {
        Self { start, rate, next: None, received_bytes: 0, last: None }
    }

    /// Whether there is something to read, and it waits for no instant of its own.
    fn is_woken(&self, receiver: &Receiver) -> bool {
        self.next.is_none() && receiver.readable() > 0
    }

    /// Reads what there is, or what its rate allows.
    fn run(&mut self, now: Time, receiver: &mut Receiver) {
        if receiver.readable() == 0 {
            self.next = None;
            return;
        }
        let Some(rate) = self.rate else {
            self.read(now, receiver, u64::MAX);
            return;
        };
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        let worth = rate.bytes_in(now.since(self.start)).get();
        self.read(now, receiver, worth.saturating_sub(self.received_bytes));
        self.next = (receiver.readable() > 0).then(|| now.after(TICK));
    }

    fn read(&mut self, now: Time, receiver: &mut Receiver, limit: u64) {
        let bytes = if limit > 0 { receiver.read(now, limit) } else { 0 };
        if bytes > 0 {
            self.received_bytes += bytes;
            self.last = Some(now);
        }
    }
}
