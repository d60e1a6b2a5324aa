//! Tests between hosts that are there already: the client and the server of a test, and the backend that runs a plan by them.
//!
//! Never: a command line, a terminal, a signal or an exit code.
#![forbid(unsafe_code)]

mod backend;
mod client;
mod end;
mod key_file;
mod life;
mod machine;
mod random;
mod server;
mod time;
mod waiting;

pub use backend::{Hosts, HostsOptions, far_end};
pub use client::{EndedStream, EndedTest, Listener, TestRequest, Tested, measure, test};
pub use end::SAMPLE;
pub use key_file::read_key;
pub use server::{Listening, Log, Policy, serve};
