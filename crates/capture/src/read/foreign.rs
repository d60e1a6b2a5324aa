//! Captures of other programs, by their first bytes: they are named, and not read. Wireshark's `editcap` converts them.

/// First bytes (those that Wireshark's `wiretap` and file(1) go by), and whose they are.
const PROGRAMS: [(&[u8], &str); 12] = [
    (b"RTSS", "Microsoft Network Monitor 1"),
    (b"GMBU", "Microsoft Network Monitor 2"),
    (b"TRSNIFF data    \x1a", "Sniffer (DOS)"),
    (b"XCP\0", "NetXRay or Sniffer (Windows)"),
    (b"snoop\0\0\0", "snoop (RFC 1761)"),
    (b"btsnoop\0", "btsnoop (Bluetooth)"),
    (b"\x7fver", "EtherPeek or OmniPeek"),
    (b"iptrace 1.0", "AIX iptrace"),
    (b"iptrace 2.0", "AIX iptrace"),
    (b"ObserverPktBuffe", "Network Instruments Observer"),
    (b"\x05VNF", "Visual Networks"),
    (b"\xaa\xaa\xaa\xaa", "5Views"),
];
/// EtherPeek up to version 7 begins with the version, and a status of at most one bit.
const OLD_PEEK: [[u8; 2]; 6] = [[5, 0], [6, 0], [7, 0], [5, 1], [6, 1], [7, 1]];
/// How many bytes are enough to recognise each format.
pub(super) const LONGEST: usize = 17;

/// Whose capture begins like this; `None` where that is not known.
pub(super) fn program(bytes: &[u8]) -> Option<&'static str> {
    let named = PROGRAMS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, name)| name);
    named.or_else(|| OLD_PEEK.iter().any(|magic| bytes.starts_with(magic)).then_some("EtherPeek"))
}
