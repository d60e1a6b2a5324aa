//! What theory says a path allows: closed formulas, each with its source.
//!
//! Rates are `f64` in bits per second of TCP or UDP payload where nothing else is said. Never: a fitted constant without a
//! source, or a model that silently leaves its range; where a formula has no answer the result is `None`.

pub mod headers;
pub mod line;
pub mod loss;
pub mod sizing;
pub mod window;
