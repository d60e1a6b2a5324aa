//! Captures made here, byte by byte or segment by segment, and what is read from them.

mod clock;
mod coarse_clock;
mod connections;
mod containers;
mod damaged;
mod datagrams;
mod exchanges;
mod fragments;
mod handshakes;
mod joined;
mod kinds;
mod links;
mod memory;
mod translated;
mod turns;
