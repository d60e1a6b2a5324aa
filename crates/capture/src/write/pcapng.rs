//! A pcapng file (draft-ietf-opsawg-pcapng): one section, one interface, packets with nanoseconds, and at the end what was dropped.
//!
//! Never: the machine's byte order. The same packets give the same bytes anywhere.

use pipefill_core::units::Seed;
use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// A reader finds the byte order by it.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;
/// `if_tsresol`: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Codes of options; each block has its own.
mod option {
    pub(super) const COMMENT: u16 = 1;
    pub(super) const SECTION_OS: u16 = 3;
    pub(super) const SECTION_APPLICATION: u16 = 4;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_RESOLUTION: u16 = 9;
    pub(super) const PACKET_FLAGS: u16 = 2;
    pub(super) const STATISTICS_END: u16 = 3;
    pub(super) const STATISTICS_RECEIVED: u16 = 4;
    pub(super) const STATISTICS_DROPPED: u16 = 5;
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The program that writes it, with its version.
    pub application: &'a str,
    /// Where the packets were: the kernel's or the simulator's name and version.
    pub system: &'a str,
    /// The run's id.
    pub run: &'a str,
    /// The run's seed.
    pub seed: Seed,
    /// The end that it was captured at: `sender` or `receiver`.
    pub host: &'a str,
    /// The run's time 0, from which rows of records count, nanoseconds since the Unix epoch.
    pub zero_unix_ns: u64,
    /// Name of the interface.
    pub interface: &'a str,
    /// Bytes that are kept of a packet at most.
    pub snap_length: u32,
}

impl About<'_> {
    /// The section's comment, words with a value each.
    fn comment(&self) -> String {
        let Self { run, seed, host, zero_unix_ns, .. } = self;
        format!("pipefill run={run} seed={} host={host} zero_unix_ns={zero_unix_ns}", seed.get())
    }
}

/// Which way a packet goes, as its host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketDirection {
    /// It arrives.
    Inbound,
    /// It leaves.
    Outbound,
}

impl PacketDirection {
    /// The direction in `epb_flags`.
    const fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// One packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// When, nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// Its first bytes, from the Ethernet header on.
    pub head: &'a [u8],
    /// How long it is, Ethernet header included, without FCS.
    pub length: u32,
    /// Which way it goes.
    pub way: PacketDirection,
}

/// Writes a file, block by block. What it writes to should be buffered: each block is one write.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    snap_length: usize,
    /// The block in the making.
    block: Vec<u8>,
    packets: u64,
}

impl<W: Write> Writer<W> {
    /// Begins the file with what it says of itself.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn begin(out: W, about: &About<'_>) -> io::Result<Self> {
        let snap_length = about.snap_length as usize;
        let mut writer = Self { out, snap_length, block: Vec::new(), packets: 0 };
        writer.open(SECTION_HEADER);
        writer.put(&BYTE_ORDER.to_le_bytes());
        writer.put(&1_u16.to_le_bytes());
        writer.put(&0_u16.to_le_bytes());
        // The section's length: not known yet.
        writer.put(&(-1_i64).to_le_bytes());
        writer.option(option::COMMENT, about.comment().as_bytes());
        writer.option(option::SECTION_OS, about.system.as_bytes());
        writer.option(option::SECTION_APPLICATION, about.application.as_bytes());
        writer.close()?;
        writer.open(INTERFACE_DESCRIPTION);
        writer.put(&ETHERNET.to_le_bytes());
        writer.put(&0_u16.to_le_bytes());
        writer.put(&about.snap_length.to_le_bytes());
        writer.option(option::INTERFACE_NAME, about.interface.as_bytes());
        writer.option(option::INTERFACE_RESOLUTION, &[NANOSECONDS]);
        writer.close()?;
        Ok(writer)
    }

    /// Adds a packet; of its head what the snap length leaves.
    ///
    /// # Errors
    /// Those of what it writes to.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let kept = &packet.head[..packet.head.len().min(self.snap_length).min(packet.length as usize)];
        self.open(ENHANCED_PACKET);
        self.put(&0_u32.to_le_bytes());
        self.put_time(packet.unix_ns);
        self.put(&(kept.len() as u32).to_le_bytes());
        self.put(&packet.length.to_le_bytes());
        self.put(kept);
        self.pad();
        self.option(option::PACKET_FLAGS, &packet.way.flags().to_le_bytes());
        self.packets += 1;
        self.close()
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends the file: `dropped` packets more were there, and are not in it.
    ///
    /// # Errors
    /// Those of what it writes to.
    pub fn finish(mut self, unix_ns: u64, dropped: u64) -> io::Result<()> {
        self.open(INTERFACE_STATISTICS);
        self.put(&0_u32.to_le_bytes());
        self.put_time(unix_ns);
        self.option(option::STATISTICS_END, &time(unix_ns));
        self.option(option::STATISTICS_RECEIVED, &(self.packets + dropped).to_le_bytes());
        self.option(option::STATISTICS_DROPPED, &dropped.to_le_bytes());
        self.close()?;
        self.out.flush()
    }

    fn open(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        // The block's length, once it is known.
        self.put(&[0; 4]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn put_time(&mut self, unix_ns: u64) {
        self.put(&time(unix_ns));
    }

    /// Fields begin at multiples of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    /// Ends the options and the block, and writes it.
    fn close(&mut self) -> io::Result<()> {
        self.put(&[0; 4]);
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.put(&length);
        self.block[4..8].copy_from_slice(&length);
        self.out.write_all(&self.block)
    }
}

/// A timestamp: its upper half first, each half in the file's byte order.
fn time(unix_ns: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&((unix_ns >> 32) as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&(unix_ns as u32).to_le_bytes());
    bytes
}
