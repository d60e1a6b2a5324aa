//! What an application's turns, windows and writes cost, and what it would reach without them.

use super::Case;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Reason, Setting, Target};
use crate::findings::verdict::JudgedFlow;
use crate::ground::models::window::window_law;
use crate::ground::statistics::rounded;
use crate::judge::HeldTime;
use pipefill_core::cell::Application;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::units::Bytes;
use std::time::Duration;

/// A change that a user can make at once: twice the window, twice as many requests at a time.
const TWICE: u64 = 2;
/// A change for which a program may have to be configured anew.
const TENFOLD: u64 = 10;

impl Case<'_> {
    pub(super) fn for_the_application(&self) -> Vec<Advice> {
        match self.judged.diagnosis.cause {
            Some(Cause::Window) => self.wider_application_window(),
            Some(Cause::Turns) => vec![self.more_requests_at_once()],
            Some(Cause::Nagle) => vec![self.without_nagle()],
            Some(Cause::DelayedAck) => vec![self.quick_acks()],
            Some(Cause::Response) => vec![self.nothing(Reason::AnswersAreSlow)],
            Some(Cause::Request) => vec![self.nothing(Reason::NothingIsAskedFor)],
            _ => vec![self.nothing(Reason::ApplicationOffersNoMore)],
        }
    }

    /// A larger window leaves the rest of the time as it is. Another stream does all that this one does, slow start too.
    fn wider_application_window(&self) -> Vec<Advice> {
        let size = match &self.judged.flow.app {
            Application::Window(window) => Some(window.size.get()),
            _ => self.application_window(),
        };
        let Some(size) = size else { return vec![self.nothing(Reason::ApplicationOffersNoMore)] };
        let held_us = self.held_us();
        let wider = self.of_flow(Target::Program, Setting::ApplicationWindow(TWICE * size), "app.size");
        let streams = u64::from(self.judged.flow.parallel);
        let more = self.of_flow(Target::Program, Setting::Parallel(TWICE * streams), "parallel");
        let tenfold_bps = self.without_us(held_us - held_us / TENFOLD);
        let reason = Reason::ApplicationWindow {
            bytes: size,
            tenfold_bps: self.reached(tenfold_bps).unwrap_or(tenfold_bps),
        };
        let with_wider = self.reached(self.without_us(held_us - held_us / TWICE));
        let with_more = self.reached(self.judged.goodput_bps.saturating_mul(TWICE));
        vec![
            self.proposed(vec![wider], reason, with_wider),
            self.proposed(vec![more], Reason::StreamsHaveOwnWindows, with_more),
        ]
    }

    /// What is out at most; near the receiver, where that is not seen, what arrives in a round trip.
    fn application_window(&self) -> Option<u64> {
        let JudgedFlow { diagnosis, goodput_bps, .. } = self.judged;
        let arrives = |rtt: Duration| rounded(*goodput_bps as f64 * rtt.as_secs_f64() / 8.0);
        let seen = diagnosis.figures.flight_bytes.filter(|&bytes| bytes > 0);
        seen.or_else(|| self.base_rtt().map(arrives)).filter(|&bytes| bytes > 0)
    }

    fn more_requests_at_once(&self) -> Advice {
        let outstanding = match &self.judged.flow.app {
            Application::Requests(requests) => u64::from(requests.outstanding),
            _ => 1,
        };
        let is_settable =
            self.judged.is_observed() || matches!(self.judged.flow.app, Application::Requests(_));
        let turns = self.judged.diagnosis.figures.waits.map_or(0, |waits| waits.turns);
        let held_us = self.held_us();
        let reason = Reason::TurnsTakeTime { turns, held_us };
        if !is_settable {
            return self.nothing(reason);
        }
        let more =
            self.of_flow(Target::Program, Setting::Outstanding(TWICE * outstanding), "app.outstanding");
        self.proposed(vec![more], reason, self.reached(self.without_us(held_us / TWICE)))
    }

    fn without_nagle(&self) -> Advice {
        let nodelay = self.of_flow(Target::Sender, Setting::NoDelay, "nodelay");
        let lifted_us = self.beside_turns(self.held_us());
        let predicted = self.reached(self.without_us(lifted_us));
        self.proposed(vec![nodelay], Reason::NagleWaitsForAck, predicted)
    }

    /// A scenario has no key for it. An ACK that nothing delays still takes a round trip.
    fn quick_acks(&self) -> Advice {
        if !self.judged.is_observed() {
            return self.nothing(Reason::AckIsDelayed);
        }
        let quick = self.of_flow(Target::Receiver, Setting::QuickAck, "");
        let delayed_acks = self.judged.diagnosis.figures.waits.map_or(0, |waits| waits.delayed_acks);
        let lifted_us = self.held_us().saturating_sub(self.round_trips_us(delayed_acks));
        let predicted = self.reached(self.without_us(self.beside_turns(lifted_us)));
        self.proposed(vec![quick], Reason::AckIsDelayed, predicted)
    }

    /// Time that the main cause holds. The rounds of a window in which what was out varied have no cause, and end with that window too.
    fn held_us(&self) -> u64 {
        let diagnosis = &self.judged.diagnosis;
        let is_its = |held: &&HeldTime| {
            held.limited_by == LimitedBy::App
                && (held.cause == diagnosis.cause
                    || (held.cause.is_none() && diagnosis.cause == Some(Cause::Window)))
        };
        diagnosis.time.iter().filter(is_its).map(|held| held.us).sum()
    }

    /// `lifted_us`, or less: every turn of the conversation still takes its round trip.
    fn beside_turns(&self, lifted_us: u64) -> u64 {
        let turns = self.judged.diagnosis.figures.waits.map_or(0, |waits| waits.turns);
        lifted_us.min(self.ledger_us().saturating_sub(self.round_trips_us(turns)))
    }

    fn round_trips_us(&self, count: u32) -> u64 {
        let rtt = self.base_rtt().unwrap_or_default();
        u64::try_from(rtt.as_micros() * u128::from(count)).unwrap_or(u64::MAX)
    }

    fn ledger_us(&self) -> u64 {
        self.judged.diagnosis.time.iter().map(|held| held.us).sum()
    }

    /// The rate of the same bytes without `us` of the flow's time.
    fn without_us(&self, us: u64) -> u64 {
        let span_us = self.ledger_us();
        let left_us = u128::from(span_us.saturating_sub(us).max(1));
        let bps = u128::from(self.judged.goodput_bps) * u128::from(span_us) / left_us;
        u64::try_from(bps).unwrap_or(u64::MAX)
    }

    /// `bps`, or what the path and the receive window leave of it; `None` where the path's rate is not known.
    fn reached(&self, bps: u64) -> Option<u64> {
        let figures = &self.judged.diagnosis.figures;
        let room_bps = rounded(self.judged.room_bps?);
        let allows = |window: u64| window_law(Bytes::new(window), self.base_rtt()?).map(rounded);
        let by_window = figures.rwnd_bytes.and_then(allows).unwrap_or(u64::MAX);
        Some(bps.min(room_bps).min(by_window).max(self.judged.goodput_bps))
    }
}
