//! Containers of this machine, by their own command-line tools.

use pipefill_core::problem::Problem;
use std::io;
use std::process::{Command, Stdio};

/// The tools, in the order in which they are asked.
const TOOLS: [&str; 2] = ["podman", "docker"];

/// The first process of the container `name`.
///
/// # Errors
/// [`Problem`] where there is no tool; [`Problem`] where none of them has such a container that runs.
pub(super) fn process(name: &str) -> Result<u32, Problem> {
    let mut said = Vec::new();
    for tool in TOOLS {
        match asked(tool, name) {
            Ok(id) if id > 0 => return Ok(id),
            Ok(_) => said.push(format!("{tool} says that it does not run")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => said.push(format!("{tool}: {error}")),
        }
    }
    if said.is_empty() {
        return Err(Problem::machine(
            format!("container:{name}: there is neither podman nor docker"),
            "install one of them, or name the namespace: netns:/proc/PID/ns/net",
        ));
    }
    Err(Problem::usage(
        format!("container:{name}: {}", said.join("; ")),
        "look at `podman ps` and `docker ps`",
    ))
}

/// What `inspect` tells: 0 for a container that does not run.
fn asked(tool: &str, name: &str) -> io::Result<u32> {
    let mut command = Command::new(tool);
    command
        .args(["inspect", "--type", "container", "--format", "{{.State.Pid}}", "--", name])
        .stdin(Stdio::null());
    let output = command.output()?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        return Err(io::Error::other(said(&output.stderr)));
    }
    said(&output.stdout).parse().map_err(|_| io::Error::other("it printed no number of a process"))
}
