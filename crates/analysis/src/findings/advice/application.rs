//! What an application's turns, windows and writes cost, and what it would reach without them.

use super::Case;
use super::prediction::Forecast;
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
        match self.cause {
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
        let twice_bps = self.judged.goodput_bps.saturating_mul(TWICE);
        let with_more = self.judged.room_bps.map(|room_bps| twice_bps.min(rounded(room_bps)));
        vec![
            self.proposed(vec![wider], reason, with_wider.map(|bps| self.at(bps))),
            self.proposed(vec![more], Reason::StreamsHaveOwnWindows, with_more.map(|bps| self.at(bps))),
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
        let predicted = self.reached(self.without_us(held_us / TWICE));
        // The second of two small requests would wait for the ACK of the first.
        let is_delayed = !self.judged.is_observed() && !self.judged.flow.nodelay;
        let nodelay = is_delayed.then(|| self.of_flow(Target::Sender, Setting::NoDelay, "nodelay"));
        let changes = std::iter::once(more).chain(nodelay).collect();
        self.proposed(changes, reason, predicted.map(|bps| self.at(bps)))
    }

    fn without_nagle(&self) -> Advice {
        let nodelay = self.of_flow(Target::Sender, Setting::NoDelay, "nodelay");
        // A turn that is shorter than the samples are apart is counted as a part of its wait.
        let waits = self.judged.diagnosis.figures.waits.unwrap_or_default();
        let lifted_us = self.beside_turns(self.held_us(), waits.turns.max(waits.nagles));
        let predicted = self.reached(self.without_us(lifted_us));
        self.proposed(vec![nodelay], Reason::NagleWaitsForAck, predicted.map(|bps| self.at(bps)))
    }

    /// A scenario has no key for it. An ACK that nothing delays still takes a round trip.
    fn quick_acks(&self) -> Advice {
        if !self.judged.is_observed() {
            return self.nothing(Reason::AckIsDelayed);
        }
        let quick = self.of_flow(Target::Receiver, Setting::QuickAck, "");
        let waits = self.judged.diagnosis.figures.waits.unwrap_or_default();
        let lifted_us = self.held_us().saturating_sub(self.round_trips_us(waits.delayed_acks));
        let predicted = self.reached(self.without_us(self.beside_turns(lifted_us, waits.turns)));
        self.proposed(vec![quick], Reason::AckIsDelayed, predicted.map(|bps| self.at(bps)))
    }

    /// Time that the cause holds. The rounds of a window in which what was out varied have no cause, and end with that window too.
    pub(super) fn held_us(&self) -> u64 {
        let is_its = |held: &&HeldTime| {
            held.limited_by == self.limited_by
                && (held.cause == self.cause || (held.cause.is_none() && self.cause == Some(Cause::Window)))
        };
        self.judged.diagnosis.time.iter().filter(is_its).map(|held| held.us).sum()
    }

    /// What each burst then takes: its bytes at `room_bps` in place of slow start. An application that goes on at its own pace, or
    /// is asked at another's, only pauses longer.
    pub(super) fn without_restarts(&self, room_bps: f64) -> Forecast {
        let time = &self.judged.diagnosis.time;
        let sum = |is_its: &dyn Fn(&HeldTime) -> bool| -> f64 {
            time.iter().filter(|held| is_its(held)).map(|held| held.us as f64).sum()
        };
        let waits = [Some(Cause::Request), Some(Cause::Response), Some(Cause::Turns), Some(Cause::Rate)];
        let is_wait = |held: &HeldTime| held.limited_by == LimitedBy::App && waits.contains(&held.cause);
        let pauses = [Some(Cause::Request), Some(Cause::Rate)];
        let own_us = sum(&|held| held.limited_by == LimitedBy::App && pauses.contains(&held.cause));
        let (all_us, moving_us) = (sum(&|_| true), sum(&|held| !is_wait(held)));
        let held_us = self.held_us() as f64;
        let part = held_us / moving_us.max(1.0);
        let saved_us = (held_us - self.carried_bits() * part * 1e6 / room_bps).max(0.0);
        let left_us = (all_us - saved_us).max(1.0);
        let over = |us: f64| rounded(self.judged.goodput_bps as f64 * all_us / us.max(1.0));
        if own_us >= saved_us {
            return Forecast { bps: None, us: None, active_bps: Some(over(left_us - own_us)) };
        }
        let us = self.judged.flow.duration.as_secs_f64() * 1e6 * left_us / all_us.max(1.0);
        Forecast { bps: Some(over(left_us)), us: Some(rounded(us)), active_bps: None }
    }

    /// `lifted_us`, or less: each of these turns still takes its round trip.
    fn beside_turns(&self, lifted_us: u64, turns: u32) -> u64 {
        lifted_us.min(self.ledger_us().saturating_sub(self.round_trips_us(turns)))
    }

    fn round_trips_us(&self, count: u32) -> u64 {
        let rtt = self.base_rtt().unwrap_or_default();
        u64::try_from(rtt.as_micros() * u128::from(count)).unwrap_or(u64::MAX)
    }

    pub(super) fn ledger_us(&self) -> u64 {
        self.judged.diagnosis.time.iter().map(|held| held.us).sum()
    }

    /// The rate of the same bytes without `us` of the flow's time.
    fn without_us(&self, us: u64) -> u64 {
        let span_us = self.ledger_us();
        let left_us = u128::from(span_us.saturating_sub(us).max(1));
        let bps = u128::from(self.judged.goodput_bps) * u128::from(span_us) / left_us;
        u64::try_from(bps).unwrap_or(u64::MAX)
    }

    /// The least of `bps`, the path's rate and the receive window's rate; `None` where the path's rate is not known.
    fn reached(&self, bps: u64) -> Option<u64> {
        let figures = &self.judged.diagnosis.figures;
        let room_bps = rounded(self.judged.room_bps?);
        let allows = |window: u64| window_law(Bytes::new(window), self.base_rtt()?).map(rounded);
        let by_window = figures.rwnd_bytes.and_then(allows).unwrap_or(u64::MAX);
        Some(bps.min(room_bps).min(by_window).max(self.judged.goodput_bps))
    }
}
