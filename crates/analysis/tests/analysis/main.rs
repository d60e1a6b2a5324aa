//! Records in, findings out.

mod advice;
#[path = "../builder/mod.rs"]
mod builder;
mod changes;
mod drawing;
mod experiment;
mod intervals;
#[path = "../builder/judged.rs"]
mod judged;
mod metrics;
mod ping;
