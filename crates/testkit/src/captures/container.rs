//! pcap and pcapng, byte by byte, in both byte orders.

/// A packet for a container.
#[derive(Debug, Clone)]
pub struct ContainerPacket {
    pub time_ns: u64,
    pub original: u32,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub is_big: bool,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// The header of a pcap; `magic` tells its resolution.
pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(order.u32(magic));
    bytes.extend(order.u16(2));
    bytes.extend(order.u16(4));
    for field in [0, 0, 262_144, link] {
        bytes.extend(order.u32(field));
    }
    bytes
}

/// A record of a pcap, after `ns_per_tick`.
pub fn pcap_record(order: Order, ns_per_tick: u64, entry: &ContainerPacket) -> Vec<u8> {
    let (seconds, rest) = (entry.time_ns / 1_000_000_000, entry.time_ns % 1_000_000_000);
    let mut bytes = Vec::new();
    for field in [seconds as u32, (rest / ns_per_tick) as u32, entry.bytes.len() as u32, entry.original] {
        bytes.extend(order.u32(field));
    }
    bytes.extend(&entry.bytes);
    bytes
}

/// A whole pcap of Ethernet.
pub fn pcap(order: Order, is_ns: bool, entries: &[ContainerPacket]) -> Vec<u8> {
    let (magic, ns_per_tick) = if is_ns { (0xa1b2_3c4d, 1) } else { (0xa1b2_c3d4, 1000) };
    let mut bytes = pcap_header(order, magic, 1);
    for entry in entries {
        bytes.extend(pcap_record(order, ns_per_tick, entry));
    }
    bytes
}

/// A block of pcapng.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = order.u32((body.len().next_multiple_of(4) + 12) as u32);
    let mut bytes = Vec::from(order.u32(kind));
    bytes.extend(length);
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(length);
    bytes
}

/// An option of pcapng, with its padding.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(order.u16(code));
    bytes.extend(order.u16(value.len() as u16));
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A section header block.
pub fn section(order: Order, options: &[u8]) -> Vec<u8> {
    let mut body = Vec::from(order.u32(0x1a2b_3c4d));
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    body.extend(options);
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface description block.
pub fn interface(order: Order, link: u16, snap: u32, options: &[u8]) -> Vec<u8> {
    let mut body = Vec::from(order.u16(link));
    body.extend([0, 0]);
    body.extend(order.u32(snap));
    body.extend(options);
    block(order, 1, &body)
}

/// An enhanced packet block, its time in `ticks`.
pub fn enhanced(order: Order, index: u32, ticks: u64, entry: &ContainerPacket, options: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for field in [index, (ticks >> 32) as u32, ticks as u32, entry.bytes.len() as u32, entry.original] {
        body.extend(order.u32(field));
    }
    body.extend(&entry.bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

/// A whole pcapng of Ethernet; `resolution` and the nanoseconds of its tick.
pub fn pcapng(order: Order, resolution: u8, ns_per_tick: u64, entries: &[ContainerPacket]) -> Vec<u8> {
    let mut bytes = section(order, &[]);
    bytes.extend(interface(order, 1, 0, &option(order, 9, &[resolution])));
    for entry in entries {
        bytes.extend(enhanced(order, 0, entry.time_ns / ns_per_tick, entry, &[]));
    }
    bytes
}
