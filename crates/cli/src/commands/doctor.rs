//! `pipefill doctor`: what this machine can do, why not, what is shaped, and what killed runs left behind.

use super::run::{ELSEWHERE, tell};
use crate::args::DoctorArgs;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_lab::give_back_left;
use pipefill_lab::privilege;
use pipefill_lab::probe::{self, Check, CheckState};
use pipefill_lab::shaping::{self, ShapedInterface};
use pipefill_runs::Failure;
use pipefill_store::Registry;
use serde::Serialize;
use serde_json::json;
use std::io;

/// Probes and tidies. Exit code 0 where the lab can run, otherwise 3.
pub(super) fn doctor(args: &DoctorArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let registry = Registry::locate()?;
    let given_back = give_back_left();
    // Before a user namespace is entered, which has no right to the machine's own interfaces.
    let shaped = Shaped::tidied().map_err(|error| Failure::broken(format!("listing interfaces: {error}")))?;
    let checks = probe::checks(&privilege::acquire());
    let removed = registry.sweep()?;
    tell(&removed, terminal);
    given_back.iter().for_each(|line| terminal.say(line));
    shaped.undone.iter().for_each(|shaping| terminal.say(&undone(shaping)));
    let able = checks.iter().all(|check| check.state != CheckState::Missing);
    let text = if args.json {
        let document = json!({
            "schema": 1,
            "lab": able,
            "checks": checks,
            "removed": removed,
            "settings": given_back,
            "shaping": shaped,
        });
        serde_json::to_string_pretty(&document).map_err(Failure::json)? + "\n"
    } else {
        shaped.lines() + &screen(&checks, able)
    };
    terminal.print_result(&text, args.json)?;
    Ok(if able { Outcome::Done } else { Outcome::Unable })
}

/// Interfaces that are shaped.
#[derive(Debug, Default, Serialize)]
struct Shaped {
    /// Shaped by a running process.
    active: Vec<ShapedInterface>,
    /// Left by a process that has ended; undone now.
    undone: Vec<ShapedInterface>,
    /// Left by a process that has ended; we are not permitted to undo the shaping.
    left: Vec<ShapedInterface>,
}

impl Shaped {
    /// Undoes what ended processes left, and lists the rest.
    fn tidied() -> io::Result<Self> {
        let mut all = Self::default();
        for shaping in shaping::shaped_interfaces(None)? {
            let place = match shaping.switch {
                Some(_) => &mut all.active,
                None if shaping::undo(&shaping, None).is_ok() => &mut all.undone,
                None => &mut all.left,
            };
            place.push(shaping);
        }
        Ok(all)
    }

    fn lines(&self) -> String {
        let active = self.active.iter().map(|shaping| {
            let (name, pid) = (shaping.name(), shaping.switch.unwrap_or(0));
            let left = shaping.left().map_or(0, |left| left.as_secs());
            format!("shaped   {name}: for {left} s more, then process {pid} undoes it; at once: pipefill shape {name} --undo\n")
        });
        let left = self.left.iter().map(|shaping| {
            format!(
                "LEFT     {}: shaped, and no process will undo it\n{:9}remedy: run pipefill doctor as root\n",
                shaping.name(),
                ""
            )
        });
        active.chain(left).collect()
    }
}

fn undone(found: &ShapedInterface) -> String {
    format!("undid the shaping of {}, whose process was killed", found.name())
}

fn screen(checks: &[Check], able: bool) -> String {
    let mut lines = Vec::new();
    for check in checks {
        let word = match check.state {
            CheckState::Ok => "ok",
            CheckState::Limited => "limited",
            CheckState::Missing => "MISSING",
        };
        lines.push(format!("{word:<9}{}: {}", check.name, check.detail));
        lines.extend(check.remedy.iter().map(|remedy| format!("{:9}remedy: {remedy}", "")));
    }
    lines.push(String::new());
    let limited =
        checks.iter().filter(|check| check.state == CheckState::Limited).map(|check| check.name.as_str());
    let limited: Vec<&str> = limited.collect();
    lines.push(match (able, &limited[..]) {
        (false, _) => format!("The lab cannot run here; {ELSEWHERE}."),
        (true, []) => "The lab can run here, without limits.".to_owned(),
        (true, names) => format!("The lab can run here, with limits: {}.", names.join(", ")),
    });
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, state: CheckState) -> Check {
        Check { name: name.to_owned(), state, detail: "found".to_owned(), remedy: Some("do this".to_owned()) }
    }

    #[test]
    fn the_last_line_names_every_limit() {
        let checks = [
            check("timer", CheckState::Limited),
            check("kernel", CheckState::Ok),
            check("BPF", CheckState::Limited),
        ];
        let text = screen(&checks, true);
        assert!(text.ends_with("\nThe lab can run here, with limits: timer, BPF.\n"), "{text}");
        assert!(text.contains("limited  timer: found\n         remedy: do this\n"), "{text}");
        assert!(screen(&checks[1..2], true).ends_with("The lab can run here, without limits.\n"));
    }

    #[test]
    fn without_a_lab_the_way_is_the_simulator() {
        let text = screen(&[], false);
        assert!(text.ends_with("The lab cannot run here; run it with --on sim.\n"), "{text}");
    }
}
