//! What an application's turns, windows and writes cost, and what it would reach without them.

use super::Case;
use crate::findings::finding::Advice;
use crate::findings::proposal::{Reason, Setting, Target};
use crate::ground::models::window::window_law;
use crate::ground::statistics::rounded;
use pipefill_core::cell::Application;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::units::Bytes;

/// A change that a user can make at once: twice the window, twice as many requests at a time.
const TWICE: u64 = 2;

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

    fn wider_application_window(&self) -> Vec<Advice> {
        let figures = &self.judged.diagnosis.figures;
        let size = match &self.judged.flow.app {
            Application::Window(window) => Some(window.size.get()),
            _ => figures.flight_bytes,
        };
        let Some(size) = size else { return vec![self.nothing(Reason::ApplicationOffersNoMore)] };
        let goodput_bps = self.judged.goodput_bps;
        let wider = self.of_flow(Target::Program, Setting::ApplicationWindow(TWICE * size), "app.size");
        let streams = u64::from(self.judged.flow.parallel);
        let more = self.of_flow(Target::Program, Setting::Parallel(TWICE * streams), "parallel");
        let reason = Reason::ApplicationWindow {
            bytes: size,
            tenfold_bps: self.reached(10 * goodput_bps).unwrap_or(10 * goodput_bps),
        };
        let predicted = self.reached(TWICE * goodput_bps);
        vec![
            self.proposed(vec![wider], reason, predicted),
            self.proposed(vec![more], Reason::StreamsHaveOwnWindows, predicted),
        ]
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
        let predicted = self.reached(self.without_us(self.held_us()));
        self.proposed(vec![nodelay], Reason::NagleWaitsForAck, predicted)
    }

    /// A scenario has no key for it.
    fn quick_acks(&self) -> Advice {
        if !self.judged.is_observed() {
            return self.nothing(Reason::AckIsDelayed);
        }
        let quick = self.of_flow(Target::Receiver, Setting::QuickAck, "");
        let predicted = self.reached(self.without_us(self.held_us()));
        self.proposed(vec![quick], Reason::AckIsDelayed, predicted)
    }

    /// Time that the main cause holds.
    fn held_us(&self) -> u64 {
        let diagnosis = &self.judged.diagnosis;
        let its = diagnosis
            .time
            .iter()
            .filter(|held| (held.limited_by, held.cause) == (LimitedBy::App, diagnosis.cause));
        its.map(|held| held.us).sum()
    }

    /// The rate without `us` of the flow's time.
    fn without_us(&self, us: u64) -> u64 {
        let span_us: u64 = self.judged.diagnosis.time.iter().map(|held| held.us).sum();
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
