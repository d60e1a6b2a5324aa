//! Blocks of lines, each with its hash in front: whole, cut short, or changed.

use crate::checksum;
use crate::files;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// A frame that decoders pass over (RFC 8878, section 3.1.2).
const SKIPPABLE: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
/// Of the next frame: its length (little endian) and its SHA-256 in hex.
const HEAD: usize = 8 + 64;
/// Longest frame.
const FRAME_MAX: u64 = 1 << 26;
/// Longest text of a block: a line is a manifest and figures, and most have some kilobytes.
const TEXT_MAX: u64 = files::DOCUMENT_MAX;
/// zstd's default.
const LEVEL: i32 = 3;

/// What stands at the next place of a file.
pub(super) enum NextBlock {
    /// A block.
    Lines(String),
    /// The beginning of one.
    Torn,
    /// Something else.
    Changed,
}

/// The blocks of a file, in order. After what is torn there is nothing more.
pub(super) struct Blocks {
    file: Option<BufReader<File>>,
    /// Bytes of the blocks that were read.
    offset: u64,
}

impl Blocks {
    /// Those of `path`; none where there is no such file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = match files::open(path) {
            Err(error) if files::is_absent(&error) => None,
            other => Some(BufReader::new(other?)),
        };
        Ok(Self { file, offset: 0 })
    }

    /// Where the last block that was read ends.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    fn read(&mut self) -> io::Result<Option<NextBlock>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let head = up_to(file, SKIPPABLE.len() + 4 + HEAD)?;
        if head.is_empty() {
            return Ok(None);
        }
        let begins = SKIPPABLE.iter().chain(&(HEAD as u32).to_le_bytes()).zip(&head).all(|(a, b)| a == b);
        if !begins {
            self.file = None;
            return Ok(Some(NextBlock::Changed));
        }
        if head.len() < SKIPPABLE.len() + 4 + HEAD {
            self.file = None;
            return Ok(Some(NextBlock::Torn));
        }
        let (length, hash) = head[SKIPPABLE.len() + 4..].split_at(8);
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if length > FRAME_MAX {
            self.file = None;
            return Ok(Some(NextBlock::Changed));
        }
        let frame = up_to(file, usize::try_from(length).unwrap_or(usize::MAX))?;
        if (frame.len() as u64) < length {
            self.file = None;
            return Ok(Some(NextBlock::Torn));
        }
        self.offset += (head.len() + frame.len()) as u64;
        if checksum::sha256(&frame).as_bytes() != hash {
            return Ok(Some(NextBlock::Changed));
        }
        Ok(Some(text(&frame).map_or(NextBlock::Changed, NextBlock::Lines)))
    }
}

impl Iterator for Blocks {
    type Item = io::Result<NextBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Writes a block of `lines`, in one piece.
pub(super) fn write_block(writer: &mut impl Write, lines: &[u8]) -> io::Result<()> {
    let frame = zstd::encode_all(lines, LEVEL)?;
    let mut block = Vec::with_capacity(SKIPPABLE.len() + 4 + HEAD + frame.len());
    block.extend(SKIPPABLE);
    block.extend((HEAD as u32).to_le_bytes());
    block.extend((frame.len() as u64).to_le_bytes());
    block.extend(checksum::sha256(&frame).as_bytes());
    block.extend(frame);
    writer.write_all(&block)
}

/// As many bytes as there are, `most` at most. What is not there takes no memory.
fn up_to(reader: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `None` for what is no text, or too much.
fn text(frame: &[u8]) -> Option<String> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::new(frame).ok()?;
    decoder.take(TEXT_MAX + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// `+` a block, `t` one that is cut short, `c` one that has changed.
    fn shape(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, bytes).unwrap();
        let letter = |found: io::Result<NextBlock>| match found.unwrap() {
            NextBlock::Lines(_) => '+',
            NextBlock::Torn => 't',
            NextBlock::Changed => 'c',
        };
        Blocks::open(&path).unwrap().map(letter).collect()
    }

    #[test]
    fn no_block_that_is_cut_or_changed_passes_for_a_whole_one() {
        let mut single = Vec::new();
        write_block(&mut single, b"{\"a\":1}\n{\"a\":2}\n").unwrap();
        let two = [&single[..], &single[..]].concat();
        assert_eq!(
            (shape(&[]), shape(&single), shape(&two)),
            (String::new(), "+".to_owned(), "++".to_owned())
        );
        for end in 1..single.len() {
            assert_eq!(shape(&two[..single.len() + end]), "+t", "{end}");
        }
        for at in 0..single.len() {
            let mut changed = two.clone();
            changed[at] ^= 1;
            let shape = shape(&changed);
            assert!(shape.starts_with('c') || shape == "t", "{at}: {shape}");
        }
        let all = zstd::decode_all(&two[..]).unwrap();
        assert_eq!(all.iter().filter(|&&byte| byte == b'\n').count(), 4, "zstdcat reads it");
    }
}
