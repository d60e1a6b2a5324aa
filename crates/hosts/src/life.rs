//! Whether the other end of a test with UDP is still there. Nothing else stops a sender of datagrams whose receiver has vanished.
//!
//! A sign of life is any segment on the control connection, also a bare ACK of the other host's kernel, or a datagram of the test. A stock
//! iperf3 client says nothing while a test runs: after a silent second it is asked by keepalive probes, which its kernel answers.

use pipefill_lab::one_end::{probe, silent_for};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// So long without a sign of life the other end has vanished.
pub(crate) const SILENT: Duration = Duration::from_secs(5);
/// After so long it is asked, and so often.
const IDLE: Duration = Duration::from_secs(1);
const PROBE: Duration = Duration::from_millis(100);
/// The same where the questions go the way of this end's own datagrams, which may push nearly all of them aside: of two hundred one gets through.
const PROBE_BESIDE_DATA: Duration = Duration::from_millis(20);
/// Where this process itself did not look for so long, silence says nothing.
const AWAY: Duration = Duration::from_millis(500);

/// What was heard of the other end.
#[derive(Debug)]
pub(crate) struct Life {
    /// From one question to the next.
    every: Duration,
    /// Payload that has come in, and when that last changed.
    received: u64,
    arrived: Instant,
    /// The last look.
    looked: Instant,
    /// Since when it is asked without an answer, and when last.
    asked: Option<Instant>,
    probed: Instant,
}

impl Life {
    /// Nothing was heard yet; `sends` where this end's own datagrams go the way of the questions.
    pub(crate) fn new(sends: bool) -> Self {
        let now = Instant::now();
        let every = if sends { PROBE_BESIDE_DATA } else { PROBE };
        Self { every, received: 0, arrived: now, looked: now, asked: None, probed: now }
    }

    /// Looks for a sign of life, and asks for one. True once the other end has vanished; `received` is the payload of datagrams that has come
    /// in so far.
    pub(crate) fn is_gone(&mut self, control: &TcpStream, received: u64) -> bool {
        let now = Instant::now();
        let silent = silent_for(control).unwrap_or_default();
        let is_gone = self.is_silent(now, silent, received);
        if self.asked.is_some() && now.saturating_duration_since(self.probed) >= self.every {
            self.probed = now;
            probe(control);
        }
        is_gone
    }

    fn is_silent(&mut self, now: Instant, silent: Duration, received: u64) -> bool {
        let was_away = now.saturating_duration_since(std::mem::replace(&mut self.looked, now)) > AWAY;
        if std::mem::replace(&mut self.received, received) != received {
            self.arrived = now;
        }
        let silent = silent.min(now.saturating_duration_since(self.arrived));
        if was_away || silent < IDLE {
            self.asked = None;
            return false;
        }
        let asked = *self.asked.get_or_insert(now);
        now.saturating_duration_since(asked) >= SILENT.saturating_sub(IDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 100 ms for so many seconds; when the other end was given up, seconds.
    fn given_up(
        life: &mut Life,
        from_ms: u64,
        to_ms: u64,
        silent: impl Fn(u64) -> u64,
        received: u64,
    ) -> Option<u64> {
        let began = life.looked;
        (from_ms..to_ms).step_by(100).find(|&ms| {
            let now = began + Duration::from_millis(ms - from_ms);
            life.is_silent(now, Duration::from_millis(silent(ms)), received)
        })
    }

    #[test]
    fn five_silent_seconds_are_the_end_and_any_sign_is_none() {
        let mut life = Life::new(false);
        assert_eq!(given_up(&mut life, 0, 60_000, |ms| ms % 2_000, 0), None, "a kernel that answers probes");
        let mut life = Life::new(false);
        assert_eq!(given_up(&mut life, 0, 60_000, |ms| ms, 0), Some(5_000));
        assert_eq!(given_up(&mut Life::new(true), 0, 60_000, |ms| ms, 0), Some(5_000), "beside own data too");
        let mut life = Life::new(false);
        let began = life.looked;
        let is_gone = (0..600_u64).any(|step| {
            life.is_silent(began + Duration::from_millis(100 * step), Duration::from_secs(60), step / 20)
        });
        assert!(!is_gone, "datagrams come in");
    }

    #[test]
    fn who_was_stopped_itself_asks_first() {
        let mut life = Life::new(false);
        let began = life.looked;
        assert!(!life.is_silent(began + Duration::from_secs(30), Duration::from_secs(30), 0));
        assert!(!life.is_silent(began + Duration::from_millis(30_100), Duration::from_millis(30_100), 0));
        assert!(!life.is_silent(began + Duration::from_millis(30_200), Duration::from_millis(100), 0));
    }
}
