//! A packet that was too large for a link: the sender is told, and sends smaller ones (RFC 1191; `tcp_v4_mtu_reduced()`,
//! `tcp_simple_retransmit()`); or nobody tells, and it finds out (RFC 4821; `tcp_mtu_probing()`).

use super::sender::Sender;
use crate::segment::{Ip, options};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;
use pipefill_link::jiffies;

/// `TCP_BASE_MSS`: segments that nearly every path carries, options included.
const BASE_MSS: u32 = 1024;
/// `TCP_MIN_SND_MSS`.
const LEAST_MSS: u32 = 48;
/// `tcp_retries1` timers of `TCP_RTO_MIN`, each twice as long as the one before (`tcp_model_timeout()`), milliseconds.
const BLACK_HOLE_MS: u32 = 15 * 200;

impl Sender {
    /// Before a timer that ran out has its segment sent again (`tcp_write_timeout()`): smaller ones where nothing has come back for so long. Larger ones
    /// are not tried later.
    pub(crate) fn look_for_black_hole(&mut self) {
        let now_ms = jiffies::stamp(self.now);
        let since_ms = self.undo.retrans_stamp.map_or(0, |stamp| now_ms.wrapping_sub(stamp));
        if !self.host.mtu_probing || self.timeouts == 0 || since_ms < BLACK_HOLE_MS {
            return;
        }
        let least = self.probed_mss.map_or(u32::MAX, |probed| probed / 2);
        let mss = (BASE_MSS - options(self.host.timestamps)).min(least).max(LEAST_MSS);
        self.probed_mss = Some(mss);
        if mss < self.conn.mss {
            self.conn.mss = mss;
            self.board.cut_to(mss);
        }
    }

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
    use crate::options::SimOptions;
    use crate::segment::{Body, Header};
    use crate::tcp::limits::FIRST_BYTE;
    use crate::tcp::sender::SenderSettings;
    use pipefill_core::units::Seed;

    #[test]
    fn a_sender_that_hears_nothing_for_three_seconds_tries_smaller_segments_where_it_may() {
        let segments = |mtu_probing: bool| {
            let host = Host { mtu_probing, ..Host::usual(SimOptions::default()) };
            let cc = cc::by_name("cubic", Seed::new(1)).expect("known");
            let settings =
                SenderSettings { host, cc, sndbuf: Some(1 << 20), max_pacing_rate: None, nodelay: false };
            let mut sender = Sender::new(settings);
            sender.established(Time::from_nanos(1_000_000), 1 << 20, Some(2_000));
            sender.now = Time::from_nanos(2_000_000);
            sender.write(30 * 1448);
            sender.push_pending();
            let mut sent = Vec::new();
            while let Some(at) = sender.timers.next().filter(|at| at.nanos() < 20_000_000_000) {
                sender.on_timer(at);
                sender.board.recount(sender.snd_una, sender.snd_nxt).unwrap();
                sent.extend(sender.outbox.drain(..).filter_map(|(_, body)| match body {
                    Body::Data(data) => Some((at.nanos() / 1_000_000_000, data.len)),
                    _ => None,
                }));
            }
            sent
        };
        let full = |&&(_, len): &&(u64, u32)| len == 1448;
        let smaller = segments(true);
        let first = smaller.iter().find(|sent| !full(sent)).copied();
        // The timer that runs out after 3.0 s does so 2.8 s after the first retransmission.
        assert_eq!(first, Some((6, 1012)), "{smaller:?}");
        assert!(smaller.iter().any(|&(at, len)| at > 6 && len == 506), "not even those arrive: {smaller:?}");
        assert_eq!(segments(false).iter().find(|sent| !full(sent)), None);
    }

    #[test]
    fn what_was_too_large_leaves_again_in_smaller_segments_within_the_same_cwnd() {
        let host = Host::usual(SimOptions::default());
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
