//! Larger buffers of connections that no scenario describes: only what lifts the limit that is there, and never below what the host has.

use super::Case;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Change, Reason, Setting, Target};
use crate::ground::models::sizing;
use pipefill_core::limit::Cause;
use pipefill_core::record::Origin;
use pipefill_core::units::Bytes;

impl Case<'_> {
    pub(super) fn wider_seen_window(&self) -> Advice {
        let needed = self.flight_needed().get();
        let limits = self.judged.receiver_limits;
        let (setting, reason) = match self.cause {
            Some(Cause::Unscaled) => (Setting::WindowScaling, Reason::WindowIsUnscaled),
            Some(Cause::Program) => {
                let is_set = self.judged.receiver_options.and_then(|options| options.rcvbuf_set);
                (Setting::NoRcvbuf, set_by_program(is_set))
            }
            Some(Cause::Clamped) => (Setting::NoWindowClamp, Reason::ProgramClampsWindow),
            Some(Cause::RmemMax) => (Setting::RmemMax(needed), Reason::ProgramsBufferIsCapped),
            Some(Cause::Autotuning) => match limits.map(|limits| limits.tcp_rmem) {
                Some([least, initial, maximum]) => {
                    let wanted = (needed * sizing::RMEM_PER_BYTE).clamp(initial, maximum);
                    (Setting::TcpRmem([least, wanted, maximum]), Reason::BufferStillGrows)
                }
                None => (Setting::ReceiveBuffer(needed), Reason::BufferStillGrows),
            },
            Some(Cause::Maximum) => {
                let wanted = sizing::tcp_rmem(self.flight_needed())[2];
                let reason = Reason::WindowNeeded { bytes: needed, rate_bps: self.target_bps() };
                match limits.map(|limits| limits.tcp_rmem) {
                    Some([.., present]) if wanted <= present => {
                        return self.nothing(Reason::ReceiveBufferIsLargest);
                    }
                    Some([least, initial, _]) => (Setting::TcpRmem([least, initial, wanted]), reason),
                    None => (Setting::TcpRmemMaximum(wanted.max(self.seen_maximum() + 1)), reason),
                }
            }
            _ => (Setting::ReceiveBuffer(needed), Reason::BufferHasUnknownOwner { bytes: needed }),
        };
        let target = match setting {
            Setting::NoRcvbuf | Setting::NoWindowClamp => Target::Program,
            _ => Target::Receiver,
        };
        let also = (self.cause == Some(Cause::Program) && self.has_small_send_buffer())
            .then(|| self.of_flow(Target::Program, Setting::NoSndbuf, ""));
        let changes = std::iter::once(self.of_flow(target, setting, "")).chain(also).collect();
        self.of_seen_buffers(changes, reason)
    }

    /// Whether the next limit is a send buffer that does not follow cwnd, since its program has set that too (`tcp_sndbuf_expand()`).
    fn has_small_send_buffer(&self) -> bool {
        let figures = &self.judged.diagnosis.figures;
        let Some((sndbuf, cwnd)) = figures.sndbuf_bytes.zip(figures.cwnd_bytes) else { return false };
        let holds = sizing::flight_of_send_buffer(Bytes::new(sndbuf))[1];
        sndbuf < cwnd.saturating_mul(2) && holds < self.flight_needed()
    }

    /// The maximum of `tcp_rmem` that the window shows at least, where the receiver's is not known.
    fn seen_maximum(&self) -> u64 {
        let window = self.judged.diagnosis.figures.rwnd_bytes.unwrap_or(0);
        window.saturating_mul(sizing::RMEM_PER_BYTE)
    }

    pub(super) fn larger_seen_send_buffer(&self) -> Advice {
        let needed = self.flight_needed();
        let limits = self.judged.sender_limits;
        let (setting, reason) = match (self.cause, limits.map(|limits| limits.tcp_wmem)) {
            (Some(Cause::Program), _) => {
                let is_set = self.judged.sender_options.and_then(|options| options.sndbuf_set);
                (Setting::NoSndbuf, set_by_program(is_set))
            }
            (Some(Cause::Maximum), Some([least, initial, present])) => {
                let wanted = sizing::tcp_wmem(needed)[2];
                if wanted <= present {
                    return self.nothing(Reason::SendBufferIsLargest);
                }
                let reason = Reason::FlightNeeded { bytes: needed.get() };
                (Setting::TcpWmem([least, initial, wanted]), reason)
            }
            _ => {
                let bytes = needed.get();
                (Setting::SendBuffer(bytes), Reason::BufferHasUnknownOwner { bytes })
            }
        };
        let target = match setting {
            Setting::NoSndbuf => Target::Program,
            _ => Target::Sender,
        };
        self.of_seen_buffers(vec![self.of_flow(target, setting, "")], reason)
    }

    fn of_seen_buffers(&self, changes: Vec<Change>, reason: Reason) -> Advice {
        // Without a rate of the path nothing bounds what a larger buffer brings.
        let forecast = self.judged.room_bps.and_then(|_| self.forecast(self.target_bps(), self.as_it_is()));
        self.proposed(changes, reason, forecast)
    }
}

/// Of a buffer of which the kernel said whether the program has set it.
const fn set_by_program(is_set: Option<bool>) -> Reason {
    let origin = if is_set.is_some() { Origin::Measured } else { Origin::Inferred };
    Reason::ProgramSetsBuffer { origin }
}
