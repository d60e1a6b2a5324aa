//! What the pure crates must not name: clocks, sockets, files, threads, and maps in random order; and what the crates behind the program must
//! not: command lines, terminals, signals, exit codes. Unit tests may.

use crate::modules::{Module, Name, Tree};
use crate::workspace::Workspace;
use std::collections::BTreeSet;

/// Crates in which time and chance are arguments.
const PURE: [&str; 8] = [
    "crates/core/src/",
    "crates/link/src/",
    "crates/analysis/src/",
    "crates/sim/src/",
    "crates/capture/src/",
    "crates/pasted/src/",
    "crates/report/src/",
    "crates/rows/src/",
];

/// Parts of paths that lead outside, and methods of types of `std` that do. Of `std::net` the sockets only: an address is a value.
const IMPURE: [&[&str]; 40] = [
    &["Instant", "now"],
    &["SystemTime"],
    &["UNIX_EPOCH"],
    &[".elapsed"],
    &["std", "env"],
    &["std", "fs"],
    &[".exists"],
    &[".try_exists"],
    &[".is_file"],
    &[".is_dir"],
    &[".canonicalize"],
    &[".read_dir"],
    &[".read_link"],
    &[".load_system_fonts"],
    &[".load_fonts_dir"],
    &[".load_font_file"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "os"],
    &["io", "stdin"],
    &["io", "stdout"],
    &["io", "stderr"],
    &["net", "TcpListener"],
    &["net", "TcpStream"],
    &["net", "UdpSocket"],
    &["net", "ToSocketAddrs"],
    &[".to_socket_addrs"],
    &["net", "*"],
    &["HashMap"],
    &["HashSet"],
    &["RandomState"],
    &["println!"],
    &["print!"],
    &["eprintln!"],
    &["eprint!"],
    &["rand"],
    &["getrandom"],
    &["rustix"],
    &["nix"],
    &["libc"],
];

/// Crates that do what the program does, and leave to it how it is asked for and shown.
const SILENT: [&str; 4] =
    ["crates/runs/src/", "crates/hosts/src/", "crates/observe/src/", "crates/endpoint/src/"];

/// Parts of paths that lead to whoever sits before the program.
const LOUD: [&[&str]; 12] = [
    &["clap"],
    &["ExitCode"],
    &["process", "exit"],
    &["signal_hook"],
    &["ratatui"],
    &["indicatif"],
    &["io", "stdout"],
    &["io", "stderr"],
    &["println!"],
    &["print!"],
    &["eprintln!"],
    &["eprint!"],
];

/// A file that may name some of them, and why.
struct Exception {
    file: &'static str,
    words: &'static [&'static str],
    reason: &'static str,
}

/// A capture is other people's: who wrote it must not be able to choose colliding keys. So its maps have a hasher with a random seed, and are
/// looked up, but never iterated.
const SEEDED: &str = "the keys are addresses of a capture; the map is looked up, never iterated";

const EXCEPTIONS: &[Exception] = &[
    Exception { file: "crates/capture/src/join.rs", words: &["HashMap", "RandomState"], reason: SEEDED },
    Exception {
        file: "crates/capture/src/join/pairing.rs",
        words: &["HashMap", "RandomState"],
        reason: SEEDED,
    },
    Exception {
        file: "crates/capture/src/join/survey.rs",
        words: &["HashMap"],
        reason: "the keys are our own numbers, the hasher is FixedState",
    },
    Exception {
        file: "crates/capture/src/rows/followings.rs",
        words: &["HashMap"],
        reason: "the keys are our own numbers, the hasher is FixedState",
    },
    Exception {
        file: "crates/hosts/src/backend/agent.rs",
        words: &["io::stdout"],
        reason: "the far end's end of ssh's connection, which no person reads",
    },
    Exception { file: "crates/capture/src/tcp/table.rs", words: &["RandomState"], reason: SEEDED },
    Exception { file: "crates/capture/src/udp.rs", words: &["RandomState"], reason: SEEDED },
    Exception {
        file: "crates/report/src/png.rs",
        words: &[".load_system_fonts"],
        reason: "letters that the carried font does not have come from the machine's fonts; Painter::carried reads none",
    },
    Exception {
        file: "crates/report/src/wall_clock.rs",
        words: &["SystemTime", "UNIX_EPOCH"],
        reason: "the type of a moment that a record has; the clock is not read",
    },
];

/// Every such name, and every exception that nothing needs.
///
/// # Errors
/// A file that can't be read.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    Ok(against(EXCEPTIONS, workspace.trees()?))
}

fn against(exceptions: &[Exception], trees: &[Tree]) -> Vec<String> {
    let (mut problems, mut needed) = (Vec::new(), BTreeSet::new());
    let modules = trees.iter().flat_map(|tree| &tree.modules);
    for (module, name) in modules.flat_map(|module| module.names.iter().map(move |name| (module, name))) {
        let Some((words, kind)) = forbidden(module) else { continue };
        let Some(word) = part(words, name) else { continue };
        let allows =
            |exception: &Exception| exception.file == module.file && exception.words.contains(&&*word);
        if exceptions.iter().any(allows) {
            needed.insert((&*module.file, word));
        } else {
            problems.push(format!("{}:{}: {word} in a {kind} crate", module.file, name.line));
        }
    }
    problems.dedup();
    for exception in exceptions {
        let is_stale = |word: &&&str| !needed.contains(&(exception.file, (**word).to_owned()));
        problems.extend(exception.words.iter().filter(is_stale).map(|word| {
            let Exception { file, reason, .. } = exception;
            format!("xtask/src/purity.rs: nothing needs the exception {word} in {file} ({reason})")
        }));
    }
    problems
}

/// What a module's crate must not name, and what such a crate is called.
fn forbidden(module: &Module) -> Option<(&'static [&'static [&'static str]], &'static str)> {
    let is_in = |folders: &[&str]| folders.iter().any(|folder| module.file.starts_with(folder));
    if is_in(&PURE) {
        Some((&IMPURE, "pure"))
    } else if is_in(&SILENT) {
        Some((&LOUD, "silent"))
    } else {
        None
    }
}

fn part(words: &[&[&str]], name: &Name) -> Option<String> {
    let holds = |part: &&&[&str]| {
        name.segments
            .windows(part.len())
            .any(|segments| segments.iter().zip(**part).all(|(segment, wanted)| segment == wanted))
    };
    (!name.is_test).then(|| words.iter().find(holds).map(|part| part.join("::"))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(exceptions: &[Exception], file: &str, text: &str) -> Vec<String> {
        against(exceptions, &[Tree::of_texts("x", &[(file, text)]).unwrap()])
    }

    #[test]
    fn a_pure_crate_touches_nothing() {
        let text = "//! Never: std::fs.\nfn now() { Instant::now() }\nuse std::{fs, thread::spawn};\nuse std::net::*;\n\
            fn say() { println!(\"std::env\", std::env::args()) }\n";
        let told = [
            "crates/link/src/a.rs:2: Instant::now in a pure crate",
            "crates/link/src/a.rs:3: std::fs in a pure crate",
            "crates/link/src/a.rs:3: std::thread in a pure crate",
            "crates/link/src/a.rs:4: net::* in a pure crate",
            "crates/link/src/a.rs:5: println! in a pure crate",
            "crates/link/src/a.rs:5: std::env in a pure crate",
        ];
        assert_eq!(problems(&[], "crates/link/src/a.rs", text), told);
        assert_eq!(problems(&[], "crates/lab/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn a_crate_behind_the_program_prints_nothing() {
        let text =
            "use std::process::ExitCode;\nuse std::fs;\nfn say() { println!(\"a\") }\nuse clap::Parser;\n";
        let told = [
            "crates/runs/src/a.rs:1: ExitCode in a silent crate",
            "crates/runs/src/a.rs:3: println! in a silent crate",
            "crates/runs/src/a.rs:4: clap in a silent crate",
        ];
        assert_eq!(problems(&[], "crates/runs/src/a.rs", text), told);
        assert_eq!(problems(&[], "crates/cli/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn an_address_is_no_socket() {
        let text = "use std::net::{IpAddr, TcpStream};\nuse crate::stream::TcpStream;";
        let told = ["crates/capture/src/a.rs:1: net::TcpStream in a pure crate"];
        assert_eq!(problems(&[], "crates/capture/src/a.rs", text), told);
    }

    #[test]
    fn a_method_that_looks_outside_shows() {
        let text = "fn f(path: &Path) { assert!(path.exists()); began.elapsed(); self.exists }";
        let told =
            [".exists", ".elapsed"].map(|word| format!("crates/core/src/a.rs:1: {word} in a pure crate"));
        assert_eq!(problems(&[], "crates/core/src/a.rs", text), told);
    }

    #[test]
    fn what_follows_a_test_module_is_looked_at_too() {
        let text = "#[cfg(test)]\nmod tests { use std::fs; }\nuse std::collections::HashMap;\n";
        let told = ["crates/report/src/a.rs:3: HashMap in a pure crate"];
        assert_eq!(problems(&[], "crates/report/src/a.rs", text), told);
    }

    #[test]
    fn an_exception_is_for_one_word_of_one_file_and_is_needed() {
        let (file, text) = ("crates/core/src/a.rs", "use hashbrown::{HashMap, HashSet};\n");
        let exception = |words| [Exception { file, words, reason: "looked up only" }];
        let told = ["crates/core/src/a.rs:1: HashSet in a pure crate"];
        assert_eq!(problems(&exception(&["HashMap"]), file, text), told);
        let stale = problems(&exception(&["std::fs"]), file, "");
        assert_eq!(stale.len(), 1, "{stale:?}");
        assert!(stale[0].contains("std::fs") && stale[0].contains("looked up only"), "{stale:?}");
    }
}
