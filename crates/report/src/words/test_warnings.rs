//! What a test's figures must be read with, in sentences.

use crate::quantity::QuantityKind;
use pipefill_analysis::findings::connections::{
    ClockSet, Contradiction, ContradictionKind, CountUnit, InvalidEnd, OtherTests, TestEnd, TestFinding,
};

/// Why nothing is said of what limits a test.
pub(super) fn invalid(all: &[InvalidEnd]) -> String {
    let reason = |invalid: &InvalidEnd| {
        let place = match invalid.end {
            TestEnd::Client => "at this host",
            TestEnd::Server => "at the server",
        };
        format!("{place}, {}", invalid.detail)
    };
    let reasons: Vec<String> = all.iter().map(reason).collect();
    format!("This test is invalid: {}. Its figures do not show what the path can carry.", reasons.join("; "))
}

/// Everything else, a sentence each.
pub(crate) fn warnings(found: &TestFinding) -> Vec<String> {
    let contradictions = found.contradictions.iter().map(contradiction);
    let others = found.other_tests.iter().map(other_tests);
    contradictions.chain(others).chain(found.clock_set.iter().map(clock_set)).collect()
}

fn contradiction(contradiction: &Contradiction) -> String {
    let amount = |count: u64| match contradiction.unit {
        CountUnit::Bytes => QuantityKind::Bytes.alone(count as f64),
        CountUnit::Datagrams => format!("{count} datagrams"),
    };
    let (claimed, counted, stream) =
        (amount(contradiction.claimed), amount(contradiction.counted), contradiction.stream);
    let told = match contradiction.kind {
        ContradictionKind::ReceivedMoreThanSent => {
            format!("it received {claimed} of stream {stream}, but this host sent {counted}")
        }
        ContradictionKind::ReceivedLessThanAcknowledged => {
            format!("it received {claimed} of stream {stream}, but its kernel acknowledged {counted}")
        }
        ContradictionKind::SentLessThanReceived => {
            format!("it sent {claimed} of stream {stream}, but this host received {counted}")
        }
    };
    format!("The server's figures are wrong: it says that {told}.")
}

fn other_tests(others: &OtherTests) -> String {
    let share = super::percent(others.time_share);
    let (which, they) = match others.most {
        1 => ("Another test".to_owned(), "it"),
        most => (format!("Up to {most} other tests"), "they"),
    };
    format!(
        "{which} ran through the same server for {share} of the time: where {they} used the same path, this test had only a part of it."
    )
}

fn clock_set(set: &ClockSet) -> String {
    let by = QuantityKind::Time.alone(set.by_us.unsigned_abs() as f64 * 1e3);
    let way = if set.by_us < 0 { "back" } else { "forward" };
    format!(
        "A clock was set during the test: the server's went {by} {way} against this host's. One-way delays, jitter and the clocks' offset are left out."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_names_its_figures() {
        let claim = |kind, unit, claimed, counted| {
            contradiction(&Contradiction { stream: 5, kind, unit, claimed, counted })
        };
        let text = claim(
            ContradictionKind::ReceivedMoreThanSent,
            CountUnit::Bytes,
            1_000_000_000_000_000,
            2_500_000_000,
        );
        assert!(text.contains("received 1000 TB of stream 5, but this host sent 2.50 GB"), "{text}");
        let text = claim(ContradictionKind::SentLessThanReceived, CountUnit::Datagrams, 7, 70_000);
        assert!(
            text.contains("it sent 7 datagrams of stream 5, but this host received 70000 datagrams"),
            "{text}"
        );
        let text = other_tests(&OtherTests { most: 1, time_share: 0.97 });
        assert!(text.starts_with("Another test ran through the same server for 97 % of the time"), "{text}");
        let text = clock_set(&ClockSet { by_us: -3_600_000_000 });
        assert!(text.contains("went 3600 s back"), "{text}");
    }
}
