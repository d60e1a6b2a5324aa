//! Records in, findings out.

mod advice;
mod changes;
mod drawing;
mod experiment;
mod intervals;
mod metrics;
mod ping;
