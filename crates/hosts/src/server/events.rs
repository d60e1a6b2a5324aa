//! What the log says of events that repeat: the first one at once, then a line a second for each reason, with their number.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// From one line about a reason to the next.
const EVERY: Duration = Duration::from_secs(1);
/// Reasons that are counted apart. A reason may contain what a client sent, so that there may be any number of them.
const REASONS_MAX: usize = 64;
/// What the others count as.
const OTHERS: &str = "closed or refused for other reasons";

/// The events of the last second.
#[derive(Default)]
pub(super) struct RepeatedEvents {
    /// By the reason without its digits: `announced 4294967295 bytes` and `announced 70000 bytes` are one reason.
    reasons: HashMap<String, Repeated>,
}

struct Repeated {
    /// When its last line was written.
    told: Instant,
    /// As it was when it last happened.
    reason: String,
    peer: SocketAddr,
    /// How often it happened since then.
    count: u64,
}

impl RepeatedEvents {
    /// Counts an event; its line, where that reason has had none within a second.
    pub(super) fn note(&mut self, now: Instant, peer: SocketAddr, reason: &str) -> Option<String> {
        let is_digit = |character: char| character.is_ascii_digit();
        let name = reason.replace(is_digit, "");
        let is_full = self.reasons.len() >= REASONS_MAX;
        let (name, reason) = if is_full && !self.reasons.contains_key(&name) {
            (OTHERS.to_owned(), OTHERS)
        } else {
            (name, reason)
        };
        if let Some(repeated) = self.reasons.get_mut(&name) {
            repeated.count += 1;
            repeated.peer = peer;
            reason.clone_into(&mut repeated.reason);
            return None;
        }
        self.reasons.insert(name, Repeated { told: now, reason: reason.to_owned(), peer, count: 0 });
        Some(format!("{peer}: {reason}"))
    }

    /// The lines that are due: of each reason that happened again, one for the second that has passed. At the end of the server all are due.
    pub(super) fn due(&mut self, now: Instant, is_end: bool) -> Vec<String> {
        let mut lines = Vec::new();
        self.reasons.retain(|_, repeated| {
            if now.saturating_duration_since(repeated.told) < EVERY && !is_end {
                return true;
            }
            if repeated.count == 0 {
                return false;
            }
            let Repeated { reason, peer, count, .. } = &*repeated;
            lines.push(match count {
                1 => format!("{peer}: {reason}"),
                count => format!("{count} more times, the last from {peer}: {reason}"),
            });
            (repeated.told, repeated.count) = (now, 0);
            true
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn what_repeats_is_a_line_a_second_with_a_count() {
        let (mut events, began) = (RepeatedEvents::default(), Instant::now());
        let at = |ms: u64| began + Duration::from_millis(ms);
        assert_eq!(events.note(at(0), peer(1), "closed: late").unwrap(), "192.0.2.1:1: closed: late");
        for port in 2..=5_000 {
            assert_eq!(events.note(at(500), peer(port), "closed: late"), None);
        }
        assert!(events.note(at(600), peer(7), "refused").is_some(), "another reason");
        assert!(events.due(at(900), false).is_empty());
        assert_eq!(
            events.due(at(1_000), false),
            ["4999 more times, the last from 192.0.2.1:5000: closed: late"]
        );
        assert_eq!(events.note(at(1_100), peer(9), "closed: late"), None, "its line was written just now");
        assert_eq!(events.due(at(1_200), true), ["192.0.2.1:9: closed: late"]);
        assert!(events.due(at(9_000), false).is_empty());
        assert!(events.note(at(9_001), peer(1), "closed: late").is_some(), "after a quiet second it is new");
    }

    #[test]
    fn reasons_with_a_clients_own_numbers_or_words_are_bounded() {
        let (mut events, now) = (RepeatedEvents::default(), Instant::now());
        assert!(events.note(now, peer(1), "announced 4294967295 bytes").is_some());
        assert!(events.note(now, peer(1), "announced 70000 bytes").is_none());
        let word = |index: u32| String::from_utf8(vec![b'a'; index as usize]).unwrap();
        let lines = (0..1_000).filter_map(|index| events.note(now, peer(1), &word(index))).count();
        assert!(lines <= REASONS_MAX + 1, "{lines}");
        assert!(events.due(now, true).len() <= REASONS_MAX + 1);
    }
}
