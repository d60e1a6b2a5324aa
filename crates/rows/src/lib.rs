//! A row of a table as one line of text, and back.
//!
//! What a run writes for every sample and an analysis reads, and nothing else: builds for tests optimise this crate, and leave what is read once a run as it
//! is ([`Line`] has no generic code that another crate would compile instead). Never: a file, a compression, a type of which a run has one.
#![forbid(unsafe_code)]

mod as_written;
mod bounds;
mod gaps;
mod tcp;

pub use bounds::refuse_large;

use pipefill_core::record::{
    AqmSample, CpuSample, DatagramSample, DeliverySample, Gaps, PacketSample, PathSample, PingSample,
    Retransmit, Row, TcpSample, UdpSample,
};
use serde::ser::Error as _;
use serde_json::Result;

/// A row that is written as a line of its table.
pub trait Line: Row + Send + 'static {
    /// Puts the row in place of `text`: a flat JSON object without null, and no line break.
    ///
    /// # Errors
    /// serde's.
    fn write(&self, text: &mut String) -> Result<()>;

    /// The row that `text` holds, without its line break. `text` may be changed.
    ///
    /// # Errors
    /// serde's, and for an integer with which nobody could calculate.
    fn read(text: &mut String) -> Result<Self>;
}

macro_rules! lines {
    ($($row:ident by $as_written:path, else $read:path;)*) => {
        $(impl Line for $row {
            fn write(&self, text: &mut String) -> Result<()> {
                let mut bytes = emptied(text);
                serde_json::to_writer(&mut bytes, self)?;
                *text = closed(Self::GAPS, bytes)?;
                Ok(())
            }

            fn read(text: &mut String) -> Result<Self> {
                if let Some(row) = $as_written(Self::GAPS, text) {
                    return Ok(row);
                }
                gaps::open(Self::GAPS, text);
                refuse_large(text.as_bytes())?;
                $read(text)
            }
        })*
    };
}

lines! {
    TcpSample by tcp::as_written, else tcp::sample;
    DeliverySample by as_written::row, else serde_json::from_str;
    UdpSample by as_written::row, else serde_json::from_str;
    PingSample by as_written::row, else serde_json::from_str;
    PathSample by as_written::row, else serde_json::from_str;
    CpuSample by as_written::row, else serde_json::from_str;
    Retransmit by as_written::row, else serde_json::from_str;
    PacketSample by as_written::row, else serde_json::from_str;
    DatagramSample by as_written::row, else serde_json::from_str;
    AqmSample by as_written::row, else serde_json::from_str;
}

/// The memory of `text`, without its contents.
fn emptied(text: &mut String) -> Vec<u8> {
    let mut bytes = std::mem::take(text).into_bytes();
    bytes.clear();
    bytes
}

fn closed(gaps: Gaps, row: Vec<u8>) -> Result<String> {
    let mut row = String::from_utf8(row).map_err(serde_json::Error::custom)?;
    gaps::close(gaps, &mut row);
    Ok(row)
}
