//! zstd frames as bytes. A decoder holds half a megabyte and a run has several short tables, so a thread keeps the decoders that it has made.

use super::ZSTD_WINDOW_LOG_MAX;
use std::cell::RefCell;
use std::io;
use zstd::stream::raw::{InBuffer, Operation, OutBuffer, WriteBuf};
use zstd::zstd_safe::{DCtx, DParameter, ErrorCode, ResetDirective, get_error_name};

thread_local! {
    /// Decoders that no table uses: at most as many as there were tables open at once.
    static IDLE: RefCell<Vec<DCtx<'static>>> = const { RefCell::new(Vec::new()) };
}

/// Decodes frames one after the other.
pub(super) struct Unpacker {
    /// Taken when this is dropped.
    decoder: Option<DCtx<'static>>,
}

impl Unpacker {
    /// A decoder before its first frame.
    ///
    /// # Errors
    /// zstd's.
    pub(super) fn new() -> io::Result<Self> {
        let idle = IDLE.with_borrow_mut(Vec::pop);
        let mut decoder = idle.or_else(DCtx::try_create).ok_or(io::ErrorKind::OutOfMemory)?;
        decoder.reset(ResetDirective::SessionAndParameters).map_err(failure)?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(failure)?;
        Ok(Self { decoder: Some(decoder) })
    }

    fn decoder(&mut self) -> io::Result<&mut DCtx<'static>> {
        self.decoder.as_mut().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

impl Drop for Unpacker {
    fn drop(&mut self) {
        // A thread that ends has no place for it any more.
        let _kept = IDLE.try_with(|idle| idle.borrow_mut().extend(self.decoder.take()));
    }
}

impl Operation for Unpacker {
    fn run<C: WriteBuf + ?Sized>(
        &mut self,
        input: &mut InBuffer<'_>,
        output: &mut OutBuffer<'_, C>,
    ) -> io::Result<usize> {
        self.decoder()?.decompress_stream(output, input).map_err(failure)
    }

    fn flush<C: WriteBuf + ?Sized>(&mut self, output: &mut OutBuffer<'_, C>) -> io::Result<usize> {
        self.run(&mut InBuffer::around(&[]), output)?;
        // Where there was room left, nothing more comes.
        Ok(usize::from(output.pos() == output.capacity()))
    }

    fn reinit(&mut self) -> io::Result<()> {
        self.decoder()?.reset(ResetDirective::SessionOnly).map(drop).map_err(failure)
    }

    fn finish<C: WriteBuf + ?Sized>(
        &mut self,
        _output: &mut OutBuffer<'_, C>,
        is_whole: bool,
    ) -> io::Result<usize> {
        if is_whole { Ok(0) } else { Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame")) }
    }
}

fn failure(code: ErrorCode) -> io::Error {
    io::Error::other(get_error_name(code))
}
