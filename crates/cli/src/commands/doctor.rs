//! `pipefill doctor`: what this machine can do, why not, and what killed runs left behind.
//!
//! Never: a change to the machine, beyond the removal of leftovers that are provably pipefill's.

use super::run::tell;
use crate::args::DoctorArgs;
use crate::failure::{ELSEWHERE, Failure};
use crate::outcome::Outcome;
use crate::store::Registry;
use crate::terminal::Terminal;
use pipefill_lab::privilege;
use pipefill_lab::probe::{self, Check, State};
use serde_json::json;

/// Probes and tidies. Exit code 0 where the lab can run, otherwise 3.
pub(super) fn doctor(args: &DoctorArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let registry = Registry::locate()?;
    let checks = probe::checks(&privilege::acquire());
    let removed = registry.sweep()?;
    tell(&removed, terminal);
    let able = checks.iter().all(|check| check.state != State::Missing);
    let text = if args.json {
        let document = json!({"schema": 1, "lab": able, "checks": checks, "removed": removed});
        serde_json::to_string_pretty(&document).map_err(Failure::Json)? + "\n"
    } else {
        screen(&checks, able)
    };
    terminal.print(&text)?;
    Ok(if able { Outcome::Done } else { Outcome::Unable })
}

fn screen(checks: &[Check], able: bool) -> String {
    let mut lines = Vec::new();
    for check in checks {
        let word = match check.state {
            State::Ok => "ok",
            State::Limited => "limited",
            State::Missing => "MISSING",
        };
        lines.push(format!("{word:<9}{}: {}", check.name, check.detail));
        lines.extend(check.remedy.iter().map(|remedy| format!("{:9}remedy: {remedy}", "")));
    }
    lines.push(String::new());
    lines.push(match able {
        true => "The lab can run here.".to_owned(),
        false => format!("The lab cannot run here; {ELSEWHERE}."),
    });
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_lab_the_way_is_the_simulator() {
        let text = screen(&[], false);
        assert!(text.ends_with("The lab cannot run here; run it with --on sim.\n"), "{text}");
    }
}
