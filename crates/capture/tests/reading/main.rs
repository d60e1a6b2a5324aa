//! Captures made here, byte by byte or segment by segment, and what is read from them.

mod clock;
mod connections;
mod containers;
mod damaged;
mod exchanges;
mod joined;
mod links;
mod memory;
mod turns;
