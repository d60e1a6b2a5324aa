//! From a plan to its result: an experiment's directory is claimed, its runs are carried out on a backend, their records read and judged.
//!
//! Never: a command line, a terminal, a signal or an exit code. What happens meanwhile is handed to a [`Reporter`].
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod fix_file;
pub mod studies;

mod again;
mod claim;
mod condense;
mod connections;
mod duration;
mod evaluated;
mod evaluation;
mod failure;
#[cfg(test)]
mod hostile_tests;
mod library;
mod parallel;
mod planned;
mod reporter;
mod results;
mod runner;
mod session;
mod stop;
#[cfg(test)]
mod synthetic;

pub use again::{resume_command, shard_command};
pub use claim::{Claim, Claimed};
pub use condense::{Condensed, condense, cut, disciplines, rows};
pub use connections::{KeptConnection, PathDisciplines, Recorded, Written, write_connections};
pub use duration::duration_in_words;
pub use evaluated::{Curves, Evaluated};
pub use evaluation::{evaluate, evaluate_cell, without_rows};
pub use failure::Failure;
pub use library::{own_profiles, profile_text, profiles_folder};
pub use planned::PlannedScenario;
pub use reporter::{Reporter, RunEvent, Unreported};
pub use results::{Results, ensure_directory, result_of, results};
pub use runner::pending;
pub use session::{Finished, Options, Session};
pub use stop::Stop;
