//! What `watch` measures, over HTTP: OpenMetrics for Prometheus and all that scrape like it, the last findings as JSON, and whether it still looks.
//!
//! Who scrapes never makes the watching wait: a thread of its own answers, from what was published after the last look.
#![forbid(unsafe_code)]

mod accept;
mod address;
mod exposition;
mod published;
mod server;

pub use address::ListenAddress;
pub use server::Endpoint;
