//! `pipefill completions`: a shell's completion script.

use crate::args::{Args, CompletionsArgs};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use clap::CommandFactory;
use clap_complete::Shell;

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

/// Prints the script.
pub(super) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "pipefill", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        script += BASH_WITHOUT_SPACE;
    }
    terminal.print_data(&script)?;
    Ok(Outcome::Done)
}
