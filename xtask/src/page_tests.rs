//! The tests of the report page in a browser: `web/tests`, run by Node's own test runner.
//!
//! They need Node, what `web/package-lock.json` names, and chromium. Where one of these is missing they are skipped, with the
//! reason; where `PIPEFILL_REQUIRE_PAGE` is 1 that is a failure. Never: a download (`scripts/web.sh` does that), or a browser left
//! behind.

use crate::tally::Tally;
use crate::test_run::{cargo, counted};
use crate::workspace::Workspace;
use std::process::{Command, Stdio};

/// Runs them and counts them.
///
/// # Errors
/// What failed.
pub(crate) fn run(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    let web = workspace.root.join("web");
    if let Some(lack) = lack(&web.join("node_modules/playwright-core/package.json")) {
        let reason = format!("skipped: page-unavailable: {lack}");
        if std::env::var("PIPEFILL_REQUIRE_PAGE").is_ok_and(|value| value == "1") {
            return Err(format!("{reason} (and PIPEFILL_REQUIRE_PAGE=1 does not allow that)"));
        }
        println!("{reason}");
        tally.skip(reason);
        return Ok(());
    }
    // The program as the other tests have built it: `cargo build -p` chooses other features, and builds most crates once more.
    cargo(&["test", "--workspace", "--no-run", "--test", "commands"].map(str::to_owned), tally)?;
    let line = "npm test, in web/";
    println!("$ {line}");
    let mut command = Command::new("npm");
    command
        .args(["test", "--silent"])
        .current_dir(&web)
        .env("PIPEFILL", workspace.target.join("debug/pipefill"));
    counted(&mut command, line, tally)
}

/// What is missing; `None` where everything is there.
fn lack(playwright: &std::path::Path) -> Option<String> {
    let answers = |program: &str| {
        let status =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !answers("node") {
        Some("there is no node; scripts/need.sh node".to_owned())
    } else if !playwright.is_file() {
        Some("web/node_modules is not there; make web".to_owned())
    } else if !answers("chromium") {
        Some("there is no chromium; scripts/need.sh chromium".to_owned())
    } else {
        None
    }
}
