//! The BPF objects of `crates/lab/bpf`: made by clang, checked in, and made again to compare.
//!
//! Never: an object from another clang than the one that the checked-in one names; its version is part of the result.

use crate::rule::Outcome;
use std::fs;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "crates/lab/bpf";
/// `NAME.bpf.c` becomes `NAME.bpf.o`.
const NAMES: [&str; 2] = ["flows", "sockets"];
const CLANG: &str = "clang-14";
/// Another point release may write another object.
const VERSION: &str = "14.0.6";
const STRIP: &str = "llvm-strip-14";

/// Writes the objects.
///
/// # Errors
/// clang is not there, is another one, or says what is wrong with a source.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    is_comparable()?;
    let folder = root.join(FOLDER);
    NAMES.iter().try_for_each(|name| compile(&folder, name, &folder.join(object(name))))
}

/// What is wrong with the checked-in objects; nothing can be said where their clang is not there.
///
/// # Errors
/// A file can't be read or written.
pub(crate) fn check(root: &Path) -> Result<Outcome, String> {
    if let Err(why) = is_comparable() {
        return Ok(Outcome::CannotLook(why));
    }
    let mut problems = Vec::new();
    for name in NAMES {
        if !is_made_from_source(root, name)? {
            let object = object(name);
            problems.push(format!(
                "{FOLDER}/{object} is not what {name}.bpf.c compiles to: cargo run -p xtask -- bpf"
            ));
        }
    }
    Ok(Outcome::Problems(problems))
}

fn is_made_from_source(root: &Path, name: &str) -> Result<bool, String> {
    let folder = root.join(FOLDER);
    let made = root.join("target").join(format!("{}.{}", object(name), std::process::id()));
    fs::create_dir_all(root.join("target")).map_err(|error| format!("target: {error}"))?;
    compile(&folder, name, &made)?;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let is_same = read(&made)? == read(&folder.join(object(name)))?;
    fs::remove_file(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    Ok(is_same)
}

fn object(name: &str) -> String {
    format!("{name}.bpf.o")
}

/// Why this machine's compiler can't make the same object.
fn is_comparable() -> Result<(), String> {
    let found = version(CLANG)?;
    version(STRIP)?;
    if !found.split_whitespace().any(|word| word == VERSION) {
        return Err(format!("it was made by clang {VERSION}, and here is {found}"));
    }
    Ok(())
}

/// The first line of what a tool says of itself.
fn version(tool: &str) -> Result<String, String> {
    let absent = |_| format!("{tool} is not installed");
    let output = Command::new(tool).arg("--version").output().map_err(absent)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// DWARF goes (it names folders), BTF stays.
fn compile(folder: &Path, name: &str, object: &Path) -> Result<(), String> {
    let object = object.to_str().ok_or("a path that is not UTF-8")?;
    let source = format!("{name}.bpf.c");
    // Without a folder of its own BTF's line information would name ours.
    let flags = [
        ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"].as_slice(),
        &["-fdebug-compilation-dir=.", "-c", &source, "-o", object],
    ];
    run(Command::new(CLANG).args(flags.concat()).current_dir(folder))?;
    run(Command::new(STRIP).args(["-g", object]))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
