//! ECN at the half that receives: a mark is echoed until CWR comes (RFC 3168, section 6.1.3; `__tcp_ecn_check_ce()`).

use super::receiver::Receiver;
use crate::segment::{Data, ecn};
use pipefill_core::units::Time;

/// ACKs that a mark makes the receiver send at once (`__tcp_ecn_check_ce()`).
const MARKED_QUICK: u32 = 2;

impl Receiver {
    /// `tcp_ecn_accept_cwr()` and `__tcp_ecn_check_ce()`, of a segment whose bits are not all 0, or that follows one with ECT.
    #[cold]
    #[inline(never)]
    pub(super) fn take_ecn(&mut self, now: Time, data: &Data) {
        let bits = data.header.ecn;
        if bits & ecn::CWR != 0 {
            if !self.ecn.echoes_each {
                self.ecn.echo = 0;
            }
            self.ack_policy.is_urgent = true;
        }
        if self.ecn.echoes_each && bits & ecn::FIELD != 0 {
            self.echo_change(now, if bits & ecn::FIELD == ecn::CE { ecn::ECE } else { 0 });
        }
        match bits & ecn::FIELD {
            ecn::CE => {
                self.ecn.received_ce = self.ecn.received_ce.wrapping_add(data.len.div_ceil(self.mss));
                if self.ecn.echo == 0 {
                    self.enter_quick_mode(MARKED_QUICK);
                    self.ecn.echo = ecn::ECE;
                }
                self.ecn.is_seen = true;
            }
            // Probably a retransmission, which is never ECT.
            0 if self.ecn.is_seen => self.enter_quick_mode(MARKED_QUICK),
            0 => {}
            _ => self.ecn.is_seen = true,
        }
    }

    /// `dctcp_ece_ack_update()`: where marks begin or end, what came before is acknowledged at once with the echo of its own.
    fn echo_change(&mut self, now: Time, echo: u8) {
        if self.ecn.echo != echo {
            if self.ack_policy.delayed.is_some() {
                self.send_ack(now);
            }
            self.ack_policy.is_urgent = true;
        }
        self.ecn.echo = echo;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use crate::options::SimOptions;
    use crate::segment::Header;

    const SEGMENT: u64 = 1448;

    fn host() -> Host {
        Host { ecn_agreed: true, ..Host::usual(SimOptions { gso: false, ..SimOptions::default() }) }
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_says_that_it_has_reduced() {
        let mut receiver = Receiver::new(host(), None, false);
        receiver.established(Time::ZERO);
        let mut seq = 1;
        let mut take = |bits| {
            let header = Header { seq, ecn: bits, ..Header::default() };
            receiver.on_data(Time::ZERO, &Data { header, len: 1448, push: false });
            seq += SEGMENT;
            receiver.send_ack(Time::ZERO);
            let (_, last) = receiver.outbox.drain(..).next_back().expect("an ACK");
            last.ecn
        };
        let echoed =
            [ecn::ECT_0, ecn::CE, ecn::ECT_0, ecn::ECT_0 | ecn::CWR, ecn::CE | ecn::CWR].map(&mut take);
        assert_eq!(echoed, [0, ecn::ECE, ecn::ECE, 0, ecn::ECE]);
        assert_eq!(receiver.ecn.received_ce, 2);
    }
}
