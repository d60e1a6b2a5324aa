//! What foreign bytes are fed to: by the fuzz targets of `fuzz/`, and for some seconds by each crate's `hostile` tests, which need no nightly
//! compiler. Any input is what it should be, or an error; never a panic.

#[cfg(feature = "capture")]
pub mod captures;
#[cfg(feature = "report")]
pub mod exports;
#[cfg(feature = "remote")]
pub mod far_end;
#[cfg(feature = "remote")]
pub mod iperf3;
#[cfg(feature = "pasted")]
pub mod pasted;
pub mod record;
#[cfg(feature = "store")]
pub mod records;
pub mod scenarios;
