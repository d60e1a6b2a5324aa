//! The words for what a rate counts, and the overheads beside them.

use crate::cell::{Cells, Framing, WIRE_OVERHEAD};
use crate::parse::{self, ParseError};

/// What a link carries beside an IP packet that our frames have already.
const ETHERNET: i16 = 14;
/// Largest `mpu` and overhead, bytes: that of `tc stab` (`tc/tc_stab.c`).
const MOST: u16 = 2047;

/// `overhead` bytes beside the IP packet, as tc-cake has them.
const fn beside_ip(overhead: i16, cells: Cells) -> Framing {
    Framing { overhead: overhead - ETHERNET, mpu: 0, cells }
}

/// Words and what they stand for. Those from `ethernet` on are of tc-cake(8), `cake_parse_opt()` of iproute2's `tc/q_cake.c`.
pub(super) const RATE_LAYERS: &[(&str, Framing)] = &[
    ("frame", Framing { overhead: 0, mpu: 0, cells: Cells::None }),
    ("wire", Framing { overhead: WIRE_OVERHEAD.get() as i16, mpu: 0, cells: Cells::None }),
    ("atm", Framing { overhead: 0, mpu: 0, cells: Cells::Atm }),
    ("ptm", Framing { overhead: 0, mpu: 0, cells: Cells::Ptm }),
    ("ethernet", Framing { overhead: 38 - ETHERNET, mpu: 84, cells: Cells::None }),
    ("docsis", Framing { overhead: 18 - ETHERNET, mpu: 64, cells: Cells::None }),
    ("pppoe-ptm", beside_ip(30, Cells::Ptm)),
    ("bridged-ptm", beside_ip(22, Cells::Ptm)),
    ("pppoa-vcmux", beside_ip(10, Cells::Atm)),
    ("pppoa-llc", beside_ip(14, Cells::Atm)),
    ("pppoe-vcmux", beside_ip(32, Cells::Atm)),
    ("pppoe-llcsnap", beside_ip(40, Cells::Atm)),
    ("bridged-vcmux", beside_ip(24, Cells::Atm)),
    ("bridged-llcsnap", beside_ip(32, Cells::Atm)),
    ("ipoa-vcmux", beside_ip(8, Cells::Atm)),
    ("ipoa-llcsnap", beside_ip(16, Cells::Atm)),
];

/// `10B`, `-4B`: at most 2047 bytes either way.
pub(super) fn overhead(text: &str) -> Result<i16, ParseError> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    let bytes = few_bytes(text, size)?;
    Ok(sign * i16::try_from(bytes).unwrap_or(i16::MAX))
}

/// `64B`: at most 2047 bytes.
pub(super) fn mpu(text: &str) -> Result<u16, ParseError> {
    few_bytes(text, text)
}

fn few_bytes(text: &str, size: &str) -> Result<u16, ParseError> {
    let bytes = parse::bytes(size)?.get();
    u16::try_from(bytes).ok().filter(|bytes| *bytes <= MOST).ok_or_else(|| {
        ParseError::new(format!("\"{text}\" is too large"), format!("write at most \"{MOST}B\""))
    })
}
