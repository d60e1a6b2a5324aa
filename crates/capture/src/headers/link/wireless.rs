//! Frames of IEEE 802.11, alone or behind a radiotap header (<https://www.radiotap.org>): data that are not encrypted.

use super::{Frame, IpInFrame, llc};
use crate::headers::Other;

/// The first byte of a frame: type and subtype (IEEE 802.11 9.2.4.1.3).
mod control {
    pub(super) const TYPE: u8 = 0x0c;
    pub(super) const MANAGEMENT: u8 = 0x00;
    pub(super) const DATA: u8 = 0x08;
    /// Subtypes of data: without any, and with quality of service.
    pub(super) const NULL: u8 = 0x40;
    pub(super) const QOS: u8 = 0x80;
}

/// The second byte.
mod flag {
    pub(super) const BOTH_SYSTEMS: u8 = 0x03;
    pub(super) const PROTECTED: u8 = 0x40;
    pub(super) const ORDER: u8 = 0x80;
}

/// Control, duration, three addresses, sequence.
const HEADER: usize = 24;
const FOURTH_ADDRESS: usize = 6;
const QOS_CONTROL: usize = 2;
const HT_CONTROL: usize = 4;
/// Of the QoS control: several frames in one.
const AGGREGATE: u8 = 0x80;

/// Bits of radiotap's first word and of its flags.
mod radio {
    pub(super) const HAS_TIME: u32 = 1;
    pub(super) const HAS_FLAGS: u32 = 1 << 1;
    pub(super) const MORE_WORDS: u32 = 1 << 31;
    /// The header of 802.11 is padded to a multiple of 4.
    pub(super) const PADDED: u8 = 0x20;
    pub(super) const BAD_FCS: u8 = 0x40;
}

/// The frame behind a radiotap header: version, length, words that say which fields there are, the fields.
pub(super) fn radiotap(frame: Frame<'_>) -> IpInFrame<'_> {
    let header = frame.chunk::<8>()?;
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    let flags = radiotap_flags(frame)?;
    if length < header.len() {
        Err(Other::WirelessBroken)
    } else if flags & radio::BAD_FCS != 0 {
        Err(Other::WirelessBadFcs)
    } else {
        body(frame.skip(length), flags & radio::PADDED != 0)
    }
}

/// The field with flags, or none of them.
fn radiotap_flags(frame: Frame<'_>) -> Result<u8, Other> {
    let word = |at: usize| frame.skip(at).chunk().map(|&bytes| u32::from_le_bytes(bytes));
    let (first, mut fields) = (word(4)?, 8);
    let mut present = first;
    while present & radio::MORE_WORDS != 0 {
        present = word(fields)?;
        fields += 4;
    }
    if first & radio::HAS_FLAGS == 0 {
        return Ok(0);
    }
    // Fields are aligned to their own size, from the begin of the header.
    let at = if first & radio::HAS_TIME != 0 { fields.next_multiple_of(8) + 8 } else { fields };
    Ok(frame.skip(at).chunk::<1>()?[0])
}

/// A frame that begins with its own header.
pub(super) fn frame(frame: Frame<'_>) -> IpInFrame<'_> {
    body(frame, false)
}

fn body(frame: Frame<'_>, is_padded: bool) -> IpInFrame<'_> {
    let &[first, flags] = frame.chunk()?;
    match first & control::TYPE {
        control::DATA => {}
        control::MANAGEMENT => return Err(Other::WirelessManagement),
        _ => return Err(Other::WirelessControl),
    }
    if first & control::NULL != 0 {
        return Err(Other::WirelessWithoutData);
    }
    if flags & flag::PROTECTED != 0 {
        return Err(Other::WirelessProtected);
    }
    let sequence = frame.skip(22).chunk::<1>()?[0];
    if sequence & 0x0f != 0 {
        return Err(Other::LaterFragment);
    }
    let mut length = HEADER;
    if flags & flag::BOTH_SYSTEMS == flag::BOTH_SYSTEMS {
        length += FOURTH_ADDRESS;
    }
    if first & control::QOS != 0 {
        if frame.skip(length).chunk::<1>()?[0] & AGGREGATE != 0 {
            return Err(Other::WirelessAggregate);
        }
        length += QOS_CONTROL + if flags & flag::ORDER != 0 { HT_CONTROL } else { 0 };
    }
    llc(frame.skip(if is_padded { length.next_multiple_of(4) } else { length }))
}
