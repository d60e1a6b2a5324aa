//! The binary `pipefill`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    pipefill::main()
}
