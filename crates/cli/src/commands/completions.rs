//! `pipefill completions`: a shell's completion script.

use crate::args::{Args, CompletionsArgs};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use clap::CommandFactory;
use clap_complete::Shell;
use pipefill_runs::Failure;
use pipefill_runs::studies::{ALL, STUDIES};

/// Bash adds a space after a completed word; after `path.rtt=` a value follows.
const BASH_WITHOUT_SPACE: &str = r#"
_pipefill_without_space() {
    _pipefill "$@"
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _pipefill_without_space -o bashdefault -o default pipefill
"#;

/// clap_complete leaves out the values of arguments without an option.
fn fish_studies() -> String {
    let names: Vec<&str> = STUDIES.iter().map(|study| study.name).chain([ALL]).collect();
    format!(
        "complete -c pipefill -n \"__fish_pipefill_using_subcommand study\" -f -a \"{}\"\n",
        names.join(" ")
    )
}

/// Prints the script.
pub(super) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "pipefill", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match args.shell {
        Shell::Bash => script += BASH_WITHOUT_SPACE,
        Shell::Fish => script += &fish_studies(),
        _ => {}
    }
    terminal.print_data(&script)?;
    Ok(Outcome::Done)
}
