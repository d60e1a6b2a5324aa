//! ECN at the half that sends: what may be marked, and what an echo of a mark changes (RFC 3168, section 6.1.2; `tcp_ecn_send()`,
//! `tcp_enter_cwr()`).

use super::sender::Sender;
use crate::segment::ecn;
use pipefill_core::tcp_info::CaState;

impl Sender {
    /// `tcp_ecn_send()`: the bits of a segment of new data. Of a super-packet the first segment has CWR.
    #[inline]
    pub(crate) fn ecn_of_new_data(&mut self) -> u8 {
        if !self.ecn.is_on {
            return 0;
        }
        ecn::ECT_0 | if std::mem::take(&mut self.ecn.queued_cwr) { ecn::CWR } else { 0 }
    }

    /// The bits of a segment that is sent again: not ECT (RFC 3168, section 6.1.5), unless the algorithm has all of them ECT.
    pub(crate) fn ecn_of_retransmission(&self) -> u8 {
        if self.ecn.is_always_ect { ecn::ECT_0 } else { 0 }
    }

    /// `tcp_ecn_queue_cwr()`.
    pub(crate) fn queue_cwr(&mut self) {
        self.ecn.queued_cwr = self.ecn.is_on;
    }

    /// `tcp_ecn_withdraw_cwr()`: the reduction is undone.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.ecn.queued_cwr = false;
    }

    /// `tcp_enter_cwr()`: the window is reduced as after a loss, once for what is out now.
    pub(crate) fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = 0;
        if self.conn.ca_state < CaState::Cwr {
            self.undo.marker = None;
            self.init_reduction();
            self.set_ca_state(CaState::Cwr);
        }
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
    use pipefill_core::units::{Seed, Time};

    const SEGMENT: u64 = 1448;

    fn host() -> Host {
        Host { ecn_agreed: true, ..Host::usual(SimOptions { gso: false, ..SimOptions::default() }) }
    }

    /// Connected, with 100 segments out.
    fn sender(algorithm: &str) -> Sender {
        let cc = cc::by_name(algorithm, Seed::new(1)).expect("known");
        let settings =
            SenderSettings { host: host(), cc, sndbuf: Some(1 << 20), max_pacing_rate: None, nodelay: false };
        let mut sender = Sender::new(settings);
        sender.established(Time::from_nanos(1_000_000), 1 << 20, Some(100_000));
        sender.conn.cwnd = 100;
        sender.conn.ssthresh = 50;
        sender.now = Time::from_nanos(2_000_000);
        sender.write(200 * SEGMENT);
        sender.push_pending();
        sender
    }

    fn ack(sender: &mut Sender, segments: u64, bits: u8) {
        let header =
            Header { ack: FIRST_BYTE + segments * SEGMENT, window: 1 << 20, ecn: bits, ..Header::default() };
        sender.on_ack(Time::from_nanos(102_000_000), &header);
    }

    fn bits(sender: &mut Sender) -> Vec<u8> {
        let sent = sender.outbox.drain(..);
        sent.filter_map(|(_, body)| if let Body::Data(data) = body { Some(data.header.ecn) } else { None })
            .collect()
    }

    #[test]
    fn an_echo_reduces_once_for_what_was_out_and_the_next_segment_says_so() {
        for (algorithm, wanted) in [("cubic", 70), ("reno", 50)] {
            let mut sender = sender(algorithm);
            assert!(bits(&mut sender).iter().all(|&bits| bits == ecn::ECT_0));
            ack(&mut sender, 1, ecn::ECE);
            assert_eq!((sender.conn.ca_state, sender.conn.ssthresh), (CaState::Cwr, wanted), "{algorithm}");
            (2..=99).for_each(|segments| ack(&mut sender, segments, ecn::ECE));
            assert_eq!(
                (sender.conn.ca_state, sender.conn.ssthresh),
                (CaState::Cwr, wanted),
                "once a round trip"
            );
            let sent = bits(&mut sender);
            assert_eq!(sent.iter().filter(|&&bits| bits & ecn::CWR != 0).count(), 1);
            assert_eq!(sent[0], ecn::ECT_0 | ecn::CWR);
            ack(&mut sender, 101, 0);
            assert_eq!((sender.conn.ca_state, sender.conn.cwnd), (CaState::Open, wanted), "{algorithm}");
            assert_eq!(sender.ecn.delivered_ce, 99);
            assert_eq!(sender.totals.retransmits, 0);
        }
    }

    #[test]
    fn without_an_agreement_nothing_is_ect_and_an_echo_means_nothing() {
        let mut sender = sender("cubic");
        sender.ecn.is_on = false;
        ack(&mut sender, 1, ecn::ECE);
        assert_eq!((sender.conn.ca_state, sender.ecn.delivered_ce), (CaState::Open, 0));
        assert_eq!(bits(&mut sender).last(), Some(&0));
    }

    #[test]
    fn a_retransmission_is_not_ect() {
        let mut sender = sender("cubic");
        bits(&mut sender);
        let index = sender.board.first_index();
        assert_eq!(sender.send_again(index, 1), 1);
        assert_eq!(bits(&mut sender), [0]);
    }
}
