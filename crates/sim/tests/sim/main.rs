//! The simulator by its records.

mod aqm;
mod chance;
mod conversations;
mod fuzz;
mod hazards;
mod invariants;
mod limits;
mod packet_sizes;
mod rate_layer;
mod super_packets;
mod traces;
