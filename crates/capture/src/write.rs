//! Captures that are made here: pcapng files, and the headers of packets that never were on a wire.
//!
//! Never: payload. What a file holds of a packet ends behind its headers; its length is the true one.

pub mod checksum;
mod headers;
mod pcapng;

pub use headers::{End, Headers, MOST_SACKS, Piece, Tcp, ecn, flag, set_ecn};
pub use pcapng::{About, Packet, PacketDirection, Writer};

use pipefill_core::file_name::FileName;

/// What an end's capture is called in the records of a run: `sender.pcapng`, `receiver.pcapng`.
pub fn file_name(host: &str) -> FileName {
    FileName::cleaned(&format!("{host}.pcapng"))
}

/// Bytes that are kept of a packet: Ethernet 14, IPv6 40, TCP 60, and room for an extension header or a tunnel's.
pub const SNAP_LENGTH: u32 = 160;
