//! The send buffer: bytes written, the memory of the packets that hold them, and when the writer is woken.
//!
//! A buffer limits memory, not payload: every packet costs its own overhead beside its bytes (`truesize`).

use super::limits::{FIRST_BYTE, GSO_MAX_SIZE, INIT_CWND, Push};
use super::sender::Sender;
use crate::host::Host;

/// Memory of a packet beside its payload: `struct sk_buff` (256) and its head with `struct skb_shared_info` (704), as the
/// virtual Linux 6.12 has them (a window of 153/256 of the buffer = 1448 of 2408 bytes).
pub(crate) const PACKET_OVERHEAD: u64 = 960;
/// `MAX_TCP_HEADER` (320) and `skb_shared_info` (320).
const SEGMENT_HEAD: u64 = 640;
/// `sk_buff`.
const SK_BUFF: u64 = 256;
/// `SOCK_MIN_SNDBUF`, roughly: two packets.
const SMALLEST: u64 = 4608;

/// Packets after which a write looks after the backlog (`process_backlog` of `tcp_sendmsg_locked()`).
const FLUSH_AFTER: u32 = 16;

/// The send buffer.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// `write_seq`.
    pub(crate) write_seq: u64,
    /// `sk_sndbuf`.
    pub(crate) sndbuf: u64,
    maximum: u64,
    is_locked: bool,
    /// What the application's call has not yet been rid of; 0 between calls.
    left: u64,
    /// `SOCK_NOSPACE`: the writer waits.
    pub(crate) is_full: bool,
    /// Payload of a full packet in the queue (`size_goal`).
    size_goal: u64,
    /// `per_mss` of `tcp_sndbuf_expand()`.
    segment_memory: u64,
    /// The end of what was pushed last (`pushed_seq`).
    pushed_seq: u64,
    /// Ends of writes after which PSH is due.
    pub(crate) pushes: std::collections::VecDeque<u64>,
}

impl SendQueue {
    pub(crate) fn new(host: &Host, asked: Option<u64>) -> Self {
        let (wmem, mss) = (host.wmem, u64::from(host.mss()));
        Self {
            write_seq: FIRST_BYTE,
            sndbuf: asked.map_or(wmem[1], |asked| asked.saturating_mul(2).max(SMALLEST)),
            maximum: wmem[2],
            is_locked: asked.is_some(),
            left: 0,
            is_full: false,
            size_goal: if host.gso { GSO_MAX_SIZE / mss * mss } else { mss },
            segment_memory: segment_memory(host.ip.advertised_mss()),
            pushed_seq: FIRST_BYTE,
            pushes: std::collections::VecDeque::new(),
        }
    }

    /// A call is under way, which looks after the backlog.
    pub(crate) fn is_writing(&self) -> bool {
        self.left > 0
    }
}

impl Sender {
    /// `sk_wmem_queued`: memory of all that was written and is not yet acknowledged.
    pub(crate) fn wmem_queued(&self) -> u64 {
        let unsent = (self.queue.write_seq - self.snd_nxt).div_ceil(self.queue.size_goal);
        let out = u64::from(self.board.packets);
        self.queue.write_seq - self.snd_una + PACKET_OVERHEAD * (unsent + out)
    }

    /// Whether a writer that waits is told that there is room: a third of the buffer (`sk_stream_is_writeable()`).
    pub(crate) fn is_writable(&self) -> bool {
        let queued = self.wmem_queued();
        self.queue.sndbuf.saturating_sub(queued) >= queued >> 1 && queued < self.queue.sndbuf
    }

    /// Takes as much of a write of `len` bytes as there is room for (`tcp_sendmsg_locked()`).
    pub(crate) fn write(&mut self, len: u64) -> u64 {
        self.restart_after_idle();
        self.check_app_limited();
        if self.has_room() {
            self.chrono.busy(self.now);
        }
        self.queue.left = len;
        self.write_on()
    }

    /// Goes on with a write that has looked after the backlog.
    pub(crate) fn write_on(&mut self) -> u64 {
        let before = self.queue.write_seq;
        let end = before + self.queue.left;
        let is_paused = self.fill_packets(end);
        let taken = self.queue.write_seq - before;
        if !is_paused {
            if taken > 0 {
                self.mark_push();
            }
            self.queue.is_full = self.queue.write_seq < end;
        }
        self.queue.left = if is_paused { end - self.queue.write_seq } else { 0 };
        taken
    }

    /// Packet by packet, each sent as soon as it is full. Memory is looked at only before a new packet: where pacing lets a
    /// part of a full one go, the rest stays last in the queue and takes more, so that a write may go in whole whatever the
    /// buffer's size. True where it stops to look after the backlog, should that take time.
    fn fill_packets(&mut self, end: u64) -> bool {
        let mut packets = 0;
        while self.queue.write_seq < end {
            let room = match self.room_in_last() {
                0 if !self.has_room() => return false,
                0 if packets >= FLUSH_AFTER && self.process.takes_time() => return true,
                0 => {
                    packets += 1;
                    self.queue.size_goal
                }
                room => room,
            };
            let bytes = room.min(end - self.queue.write_seq);
            self.queue.write_seq += bytes;
            if bytes == room && self.queue.write_seq < end {
                self.push_full();
            }
        }
        false
    }

    /// `forced_push()`, `tcp_push_one()`: a full packet goes if it is the next, all go after half a window.
    fn push_full(&mut self) {
        if self.queue.write_seq > self.queue.pushed_seq + (self.max_window >> 1) {
            self.mark_push();
            self.push_pending();
        } else if self.queue.write_seq - self.snd_nxt <= self.queue.size_goal {
            self.write_xmit(Push::First);
        }
    }

    /// `tcp_mark_push()`.
    fn mark_push(&mut self) {
        self.queue.pushed_seq = self.queue.write_seq;
        self.queue.pushes.push_back(self.queue.write_seq);
    }

    /// `tcp_check_space()`: after an ACK and after every new packet, more buffer where it pays, and the writer's turn where there
    /// is room.
    pub(crate) fn check_space(&mut self) {
        if self.queue.is_full {
            if !self.queue.is_locked && self.in_flight() < self.conn.cwnd {
                self.expand_sndbuf();
                self.usage.cwnd_stamp = self.now;
            }
            if self.is_writable() {
                self.queue.is_full = false;
                self.chrono.stop_sndbuf(self.now, self.has_unacked_data());
            }
        }
    }

    /// `tcp_sndbuf_expand()`: twice (BBR: three times) what cwnd holds.
    pub(crate) fn expand_sndbuf(&mut self) {
        if self.queue.is_locked {
            return;
        }
        let segments = u64::from(self.conn.cwnd.max(INIT_CWND).max(self.reordering + 1));
        let wanted = u64::from(self.cc.sndbuf_expand()) * segments * self.queue.segment_memory;
        if self.queue.sndbuf < wanted {
            self.queue.sndbuf = wanted.min(self.queue.maximum).max(self.queue.sndbuf);
        }
    }

    /// The application has written something; before that no timer runs.
    #[inline]
    pub(crate) fn has_written(&self) -> bool {
        self.queue.write_seq > FIRST_BYTE
    }

    /// Nothing written is left unacknowledged.
    pub(crate) fn has_unacked_data(&self) -> bool {
        self.queue.write_seq > self.snd_una
    }

    /// `sk_stream_memory_free()`: another packet may begin.
    fn has_room(&self) -> bool {
        self.wmem_queued() < self.queue.sndbuf
    }

    /// Bytes that the last packet of the queue still takes.
    fn room_in_last(&self) -> u64 {
        let (goal, unsent) = (self.queue.size_goal, self.queue.write_seq - self.snd_nxt);
        if unsent.is_multiple_of(goal) { 0 } else { goal - unsent % goal }
    }
}

/// What `tcp_sndbuf_expand()` counts for a segment of `mss` bytes without options, its head included: the block rounded up to a power
/// of two, and `sk_buff`. `SO_MEMINFO` of the virtual Linux 6.12 says 87,040 bytes at ten segments of 1460.
fn segment_memory(mss: u32) -> u64 {
    (u64::from(mss) + SEGMENT_HEAD).next_power_of_two() + SK_BUFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_s_memory_follows_its_size() {
        assert_eq!(20 * segment_memory(1460), 87_040);
        assert_eq!([536, 1440, 8960].map(segment_memory), [2048 + 256, 4096 + 256, 16_384 + 256]);
    }
}
