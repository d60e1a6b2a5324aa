//! The laws of a path: what has to hold for every specification, every traffic and every driver.

mod aqm;
mod chance;
mod changes;
mod drive;
mod laws;
mod oracle;
mod spec;
