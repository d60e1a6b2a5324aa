//! UDP datagrams from their fields: RTP, QUIC's headers, anything.

/// IPv4 and UDP between the hosts of [`super::frame::Tcp`], with `payload` and behind it `missing` bytes that are not captured.
pub fn udp(ports: (u16, u16), payload: &[u8], missing: u16) -> Vec<u8> {
    let (source, destination) = if ports.0 > ports.1 {
        ([192, 0, 2, 1], [198, 51, 100, 2])
    } else {
        ([198, 51, 100, 2], [192, 0, 2, 1])
    };
    let length = 8 + payload.len() as u16 + missing;
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + length).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(source);
    bytes.extend(destination);
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// The header of RTP (RFC 3550 5.1).
pub fn rtp(payload_type: u8, sequence: u16, timestamp: u32, source: u32) -> Vec<u8> {
    [&[0x80, payload_type][..], &sequence.to_be_bytes(), &timestamp.to_be_bytes(), &source.to_be_bytes()]
        .concat()
}

/// A long header of QUIC (RFC 9000 17.2) of `kind` (0 is an Initial), with identifiers of eight bytes.
pub fn quic_long(kind: u8, version: u32) -> Vec<u8> {
    [&[0xc0 | kind << 4][..], &version.to_be_bytes(), &[8], &[1; 8], &[8], &[2; 8], &[0, 0x44, 0xd0]].concat()
}

/// A short header of QUIC, with its spin bit.
pub fn quic_short(spin: bool) -> Vec<u8> {
    [&[if spin { 0x60 } else { 0x40 }][..], &[1; 8], &[9; 20]].concat()
}
