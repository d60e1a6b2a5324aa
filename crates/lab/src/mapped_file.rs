//! A capture's file in memory, where that is faster than to read it: of whole packets one needs the headers, a tenth of the bytes.

use crate::sys::mapping::FileMapping;
use pipefill_capture::read::{BEGINNING, Mapped, is_sparse};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Smaller files are read.
const LEAST: u64 = 4 << 20;

/// A capture in memory.
pub struct MappedFile {
    file: File,
    mapping: FileMapping,
}

impl MappedFile {
    /// The capture `file`, from its first byte; `None` where it is no regular file, is small, packed or of headers alone, or can't be mapped: then
    /// it is to be read. Where `file` stands is not changed.
    pub fn of(file: &File) -> Option<Self> {
        let about = file.metadata().ok()?;
        if !about.is_file() || about.len() < LEAST {
            return None;
        }
        let mut beginning = vec![0; BEGINNING];
        file.read_exact_at(&mut beginning, 0).ok()?;
        if !is_sparse(&beginning) {
            return None;
        }
        Some(Self { file: file.try_clone().ok()?, mapping: FileMapping::of(file).ok()? })
    }
}

impl Mapped for MappedFile {
    fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    // Compiled here, and not where a reader is made: that crate is optimised for its size.
    fn fetch(&self, offset: usize, stride: usize) {
        self.mapping.fetch(offset, stride);
    }

    fn pass(&self, offset: usize) {
        self.mapping.pass(offset);
    }

    fn failure(&self) -> Option<io::Error> {
        // What is left of a page behind the end of the file are zeros without a fault.
        let is_shorter = self.file.metadata().is_ok_and(|now| now.len() < self.bytes().len() as u64);
        let why = "the file became shorter while it was read, or its disk fails";
        (is_shorter || self.mapping.has_failed()).then(|| io::Error::other(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use pipefill_capture::read::Reader;
    use std::io::Write;

    const PACKET: u32 = 1500;
    const PACKETS: u32 = 8000;

    /// A pcap of whole packets, in memory alone.
    fn capture() -> File {
        let mut bytes =
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        for n in 1..=PACKETS {
            bytes.extend([n, 0, PACKET, PACKET].map(u32::to_le_bytes).concat());
            bytes.extend([7; PACKET as usize]);
        }
        let file = memfd_create("capture", MFdFlags::empty()).expect("memory");
        let mut file = File::from(file);
        file.write_all(&bytes).expect("memory");
        file
    }

    #[test]
    fn what_a_file_loses_while_it_is_read_is_told() {
        let file = capture();
        let mapped = MappedFile::of(&file).expect("whole packets");
        let mut reader = Reader::of_mapped(&mapped, io::empty()).expect("a capture");
        let mut next =
            || reader.next_packet().map(|packet| packet.map(|packet| packet.time_ns / 1_000_000_000));
        assert_eq!(next().expect("a packet"), Some(1));
        let kept = PACKETS / 2;
        file.set_len(u64::from(kept * (PACKET + 16) + 24)).expect("shorter");
        let mut last = 1;
        let error = loop {
            match next() {
                Ok(packet) => last = packet.expect("an error comes first"),
                Err(error) => break error,
            }
        };
        assert_eq!(last, u64::from(kept));
        let told = error.to_string();
        assert!(
            told.contains(&format!("byte {}", kept * (PACKET + 16) + 24)) && told.contains("shorter"),
            "{told}"
        );
        assert_eq!(next().expect("told once"), None);
    }

    #[test]
    fn small_files_and_more_than_four_at_once_are_read() {
        let file = capture();
        let mapped: Vec<_> = std::iter::from_fn(|| MappedFile::of(&file)).collect();
        assert!((1..=4).contains(&mapped.len()), "{}", mapped.len());
        drop(mapped);
        file.set_len(LEAST - 1).expect("shorter");
        assert!(MappedFile::of(&file).is_none());
    }
}
