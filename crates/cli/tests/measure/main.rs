//! What is measured on this machine's kernel, part by part: `cargo test -p pipefill --test measure exec::` runs one of them.

#[path = "../measuring/mod.rs"]
mod measuring;

mod applications;
mod between;
mod between_verdicts;
mod capture;
mod carrier;
mod counted;
mod exec;
mod hosts;
mod kernel;
mod lab;
mod parity;
mod pasted;
mod programs;
mod quic;
mod quotas;
mod remedies;
mod trace;
mod verdicts;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Some tests use this program as the one that they measure.
    match remedies::conversation::as_asked(&words).or_else(|| quotas::worker::as_asked(&words)) {
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{words:?}: {error}");
            return ExitCode::FAILURE;
        }
        None => {}
    }
    measuring::run([
        // The longest first: nothing else fills its time when it is the last of its round.
        ("carrier", carrier::tests()),
        ("hosts", hosts::tests()),
        ("applications", applications::tests()),
        ("between", between::tests()),
        ("between_verdicts", between_verdicts::tests()),
        ("kernel", kernel::tests()),
        ("verdicts", verdicts::tests()),
        ("counted", counted::tests()),
        ("exec", exec::tests()),
        ("parity", parity::tests()),
        ("pasted", pasted::tests()),
        ("programs", programs::tests()),
        ("quic", quic::tests()),
        ("quotas", quotas::tests()),
        ("remedies", remedies::tests()),
        ("watch", watch::tests()),
        ("capture", capture::tests()),
        ("lab", lab::tests()),
        ("trace", trace::tests()),
    ])
}
