//! What the applications of both backends have in common: when they send, what they count, and how long they are waited for.

pub mod application;
pub mod arrivals;
pub mod pacing;
pub mod ping;
mod seen;
pub mod waiting;
