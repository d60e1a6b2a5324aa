//! A program that waits for the one at the other end: it reads and writes as the state machines of `core` say, which the lab's follow too.

use crate::tcp::endpoint::Endpoint;
use crate::tcp::sender::Sender;
use pipefill_core::traffic::application::End;
use pipefill_core::units::Time;

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    end: End,
    /// From then on nothing more is written.
    until: Time,
    has_ended: bool,
    /// The socket has room for more when what was sent has left.
    goes_on: Option<Time>,
    /// Payload bytes that the socket took.
    pub(super) sent_bytes: u64,
    /// Payload bytes read.
    pub(super) received_bytes: u64,
    /// When it read last.
    pub(super) last_read: Option<Time>,
}

impl Conversation {
    pub(super) fn new(end: End, until: Time) -> Self {
        let (sent_bytes, received_bytes) = (0, 0);
        Self { end, until, has_ended: false, goes_on: None, sent_bytes, received_bytes, last_read: None }
    }

    /// When it acts of itself; while the socket is full it waits to be woken.
    #[inline(never)]
    pub(super) fn next(&self, sender: &Sender) -> Option<Time> {
        if self.goes_on.is_some() {
            return self.goes_on;
        }
        self.end.next_due().filter(|&due| !sender.queue.is_full && !self.has_ended && due < self.until)
    }

    /// Whether there is something to read, or room again for what it still has to write.
    #[inline(never)]
    pub(super) fn is_woken(&self, now: Time, socket: &Endpoint) -> bool {
        let has_room = !socket.sender.queue.is_full && self.goes_on.is_none() && now < self.until;
        socket.receiver.readable() > 0 || (has_room && self.end.pending(now) > 0)
    }

    /// Reads what there is, as much at once as the program takes, and writes what that calls for.
    #[inline(never)]
    pub(super) fn run(&mut self, now: Time, socket: &mut Endpoint) {
        self.has_ended = now >= self.until;
        self.goes_on = socket.sender.process.holds_until();
        while socket.receiver.readable() > 0 {
            let bytes = socket.receiver.read(now, self.end.read_max());
            self.received_bytes += bytes;
            self.last_read = Some(now);
            self.end.read(now, bytes);
            self.write(now, socket);
        }
        self.write(now, socket);
    }

    fn write(&mut self, now: Time, socket: &mut Endpoint) {
        let is_held = self.has_ended || self.goes_on.is_some() || socket.sender.queue.is_full;
        if is_held || !self.has_more(now, &socket.sender) {
            return;
        }
        socket.send(|sender| sender.in_process(now, |sender| self.write_all(now, sender)));
        let sender = &socket.sender;
        self.goes_on = sender.process.holds_until().filter(|_| self.has_more(now, sender));
    }

    /// Write by write, until the socket is full or has to look after its backlog.
    fn write_all(&mut self, now: Time, sender: &mut Sender) {
        while self.has_more(now, sender) {
            let is_going_on = sender.queue.is_writing();
            let taken = if is_going_on { sender.write_on() } else { sender.write(self.end.pending(now)) };
            self.sent_bytes += taken;
            self.end.wrote(taken);
            if sender.queue.is_writing() {
                return;
            }
            sender.push_pending();
        }
    }

    fn has_more(&self, now: Time, sender: &Sender) -> bool {
        sender.queue.is_writing() || (!sender.queue.is_full && self.end.pending(now) > 0)
    }
}
