//! A packet that was too large for a link: the sender is told, and sends smaller ones (RFC 1191; `tcp_v4_mtu_reduced()`,
//! `tcp_simple_retransmit()`).

use super::sender::Sender;
use crate::segment::Ip;
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;

impl Sender {
    /// A router says that the next link carries IP packets of `mtu` bytes. What is out and too large is sent again in smaller segments,
    /// without a reduction of cwnd: it was no congestion.
    pub(crate) fn on_packet_too_big(&mut self, now: Time, mtu: u32) {
        let mss = Ip { mtu, ..self.host.ip }.mss(self.host.timestamps);
        if mss >= self.conn.mss {
            return;
        }
        self.now = now;
        self.conn.mss = mss;
        if !self.board.cut_to(mss) {
            return;
        }
        if self.conn.ca_state != CaState::Loss {
            self.high_seq = self.snd_nxt;
            self.conn.ssthresh = self.current_ssthresh();
            self.undo.prior_ssthresh = 0;
            self.undo.marker = None;
            self.set_ca_state(CaState::Loss);
        }
        self.retransmit_queue();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;
    use crate::host::Host;
    use crate::options::Options;
    use crate::segment::{Body, Header};
    use crate::tcp::limits::FIRST_BYTE;
    use crate::tcp::sender::SenderSettings;
    use pipefill_core::units::Seed;

    #[test]
    fn what_was_too_large_leaves_again_in_smaller_segments_within_the_same_cwnd() {
        let host = Host::usual(Options::default());
        let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
        let settings =
            SenderSettings { host, cc, sndbuf: Some(1 << 20), max_pacing_rate: None, nodelay: false };
        let mut sender = Sender::new(settings);
        sender.established(Time::from_nanos(1_000_000), 1 << 20, Some(100_000));
        sender.now = Time::from_nanos(2_000_000);
        sender.write(30 * 1448);
        sender.push_pending();
        assert_eq!(sender.outbox.drain(..).count(), 10);
        let later = Time::from_nanos(3_000_000);
        sender.on_packet_too_big(later, 1400);
        assert_eq!((sender.conn.mss, sender.conn.cwnd, sender.in_flight()), (1348, 10, 10));
        let sent: Vec<(u64, u32)> =
            sender
                .outbox
                .drain(..)
                .filter_map(|(_, body)| {
                    if let Body::Data(data) = body { Some((data.header.seq, data.len)) } else { None }
                })
                .collect();
        assert_eq!(sent[..3], [(FIRST_BYTE, 1348), (FIRST_BYTE + 1348, 100), (FIRST_BYTE + 1448, 1348)]);
        sender.board.recount(sender.snd_una, sender.snd_nxt).unwrap();
        sender.on_packet_too_big(later, 1400);
        assert!(sender.outbox.is_empty(), "told twice");
        let ack = Header { ack: FIRST_BYTE + 5 * 1448, window: 1 << 20, ..Header::default() };
        sender.on_ack(Time::from_nanos(103_000_000), &ack);
        sender.board.recount(sender.snd_una, sender.snd_nxt).unwrap();
        assert_eq!(sender.snd_una, FIRST_BYTE + 5 * 1448);
    }
}
