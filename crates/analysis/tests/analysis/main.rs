//! Records in, findings out.

mod advice;
#[path = "../builder/mod.rs"]
mod builder;
mod changes;
mod drawing;
mod experiment;
mod intervals;
mod metrics;
mod ping;
