//! Clocks of both ends, told over the control connection: before and after a test, and beside its data.

use pipefill_lab::one_end::retransmits_of;
use pipefill_remote::clock::{Answer, Exchange, ROUNDS_MAX};
use pipefill_remote::control::{Control, ControlError};
use pipefill_remote::iperf3::{ProtocolError, TestState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Questions before a test and after it, and after how long no more are asked: one is enough where the path loses most of them.
const ROUNDS: usize = 16;
const LONG: Duration = Duration::from_millis(500);
/// From one question beside the data to the next.
const EVERY: Duration = Duration::from_millis(100);
/// What is kept of those; where there are more, they lie further apart.
const KEPT_MAX: usize = 4_000;

/// This host's clock, nanoseconds since the Unix epoch.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The server tells its time as often as it is asked, as long as no question takes longer than `patience`, and all of them no longer than three
/// times that.
///
/// # Errors
/// [`ControlError`].
pub(super) fn tell(control: &mut Control, patience: Duration) -> Result<(), ControlError> {
    control.say(TestState::Clock)?;
    let deadline = Instant::now() + 3 * patience;
    for _ in 0..=ROUNDS_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        match control.hear_within(left.min(patience))? {
            Some(TestState::Clock) => answer(control)?,
            Some(TestState::ClockDone) => return Ok(()),
            Some(got) => {
                return Err(ProtocolError::OutOfOrder { got, when: "while it asked for the time" }.into());
            }
            None => return Err(ControlError::Late(patience)),
        }
    }
    Err(ProtocolError::OutOfOrder { got: TestState::Clock, when: "too often" }.into())
}

/// Answers a question that has just come.
///
/// # Errors
/// As [`Control::say`].
pub(super) fn answer(control: &mut Control) -> Result<(), ControlError> {
    let heard_ns = now_ns();
    let retransmits = retransmits_of(control.stream()).unwrap_or(0);
    control.send_clock(Answer { heard_ns, said_ns: now_ns(), retransmits })
}

/// The client asks until it knows enough.
///
/// # Errors
/// [`ControlError`].
pub(super) fn ask(control: &mut Control) -> Result<Vec<Exchange>, ControlError> {
    let (mut exchanges, began) = (Vec::new(), Instant::now());
    for _ in 0..ROUNDS {
        let asked_ns = now_ns();
        control.say(TestState::Clock)?;
        let got = control.hear()?;
        let got_ns = now_ns();
        if got != TestState::Clock {
            return Err(ProtocolError::OutOfOrder { got, when: "instead of its time" }.into());
        }
        exchanges.extend(Exchange::of(asked_ns, control.read_clock()?, got_ns));
        if began.elapsed() >= LONG {
            break;
        }
    }
    control.say(TestState::ClockDone)?;
    Ok(exchanges)
}

/// Questions beside the data of a test, one under way at a time.
#[derive(Debug)]
pub(super) struct Beside {
    /// Whether the server answers such questions.
    pub(super) is_told: bool,
    /// When the question that is under way was asked.
    asked_ns: Option<u64>,
    next: Instant,
    every: Duration,
    /// What both ends had sent again by the last answer.
    retransmits: [u32; 2],
    /// Those that nobody had to send twice.
    pub(super) exchanges: Vec<Exchange>,
}

impl Beside {
    /// Of a server that tells its time, or of one that does not.
    pub(super) fn new(is_told: bool) -> Self {
        let next = Instant::now();
        Self { is_told, asked_ns: None, next, every: EVERY, retransmits: [0; 2], exchanges: Vec::new() }
    }

    /// How long until a question is due.
    pub(super) fn due_in(&self) -> Duration {
        if !self.is_told || self.asked_ns.is_some() {
            return Duration::MAX;
        }
        self.next.saturating_duration_since(Instant::now())
    }

    /// Asks where it is time.
    ///
    /// # Errors
    /// As [`Control::say`].
    pub(super) fn ask(&mut self, control: &mut Control) -> Result<(), ControlError> {
        if self.due_in().is_zero() {
            self.next = Instant::now() + self.every;
            self.asked_ns = Some(now_ns());
            control.say(TestState::Clock)?;
        }
        Ok(())
    }

    /// Takes the answer, of which the state has just come. False where nobody has asked.
    ///
    /// # Errors
    /// [`ControlError`].
    pub(super) fn take(&mut self, control: &mut Control) -> Result<bool, ControlError> {
        let got_ns = now_ns();
        let Some(asked_ns) = self.asked_ns.take() else { return Ok(false) };
        let answer = control.read_clock()?;
        let retransmits = [retransmits_of(control.stream()).unwrap_or(0), answer.retransmits];
        if retransmits == std::mem::replace(&mut self.retransmits, retransmits) {
            self.exchanges.extend(Exchange::of(asked_ns, answer, got_ns));
        }
        if self.exchanges.len() > KEPT_MAX {
            crate::end::halve(&mut self.exchanges);
            self.every *= 2;
        }
        Ok(true)
    }

    /// Whether an answer is to come.
    pub(super) const fn is_waiting(&self) -> bool {
        self.asked_ns.is_some()
    }
}
