//! How are many short byte strings stored in little memory?
//!
//! Consecutive strings are compressed together in LZ4 blocks of some kilobytes. Reading a string decompresses its
//! block. Each thread keeps the block that it read last, because strings are mostly read in order.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

/// A block is packed once it has so many bytes.
const BLOCK: usize = 8 << 10;
/// Blocks of fewer bytes than this are kept as they are.
const WORTH_PACKING: usize = 512;
/// At most so many bytes come out of one that goes in.
const MOST_RATIO: usize = 255;

/// Byte strings by their position.
#[derive(Debug)]
pub struct CompressedBytes {
    /// Where each string ends in its block.
    ends: Column<u32>,
    /// The position of the first string of each block.
    firsts: Column<u32>,
    /// Where each block ends in `bytes`.
    blocks: Column<u64>,
    bytes: Column<u8>,
    /// Tells its blocks from those of others.
    identity: u64,
}

/// Byte strings on their way into blocks.
#[derive(Debug, Default)]
pub struct CompressedBytesBuilder {
    ends: Vec<u32>,
    firsts: Vec<u32>,
    blocks: Vec<u64>,
    bytes: Vec<u8>,
    /// The block that is being filled.
    open: Vec<u8>,
}

impl CompressedBytesBuilder {
    /// Appends the string that `write` appends to what it is given.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.begin();
        write(&mut self.open);
        self.end();
    }

    fn begin(&mut self) {
        if self.firsts.len() == self.blocks.len() {
            self.firsts.push(self.ends.len() as u32);
        }
    }

    fn end(&mut self) {
        self.ends.push(self.open.len() as u32);
        if self.open.len() >= BLOCK {
            self.close();
        }
    }

    /// Packs the block that is being filled, or keeps it as it is where that is no longer.
    fn close(&mut self) {
        let start = self.bytes.len();
        let mut packed = None;
        if self.open.len() >= WORTH_PACKING {
            self.bytes.resize(start + get_maximum_output_size(self.open.len()), 0);
            packed = compress_into(&self.open, &mut self.bytes[start..]).ok();
            packed = packed.filter(|&length| length < self.open.len());
        }
        self.bytes.truncate(start + packed.unwrap_or(0));
        if packed.is_none() {
            self.bytes.extend_from_slice(&self.open);
        }
        self.blocks.push(self.bytes.len() as u64);
        self.open.clear();
    }

    /// Compresses what is left, and lays it out in columns.
    pub fn finish(mut self) -> CompressedBytes {
        if self.firsts.len() > self.blocks.len() {
            self.close();
        }
        CompressedBytes::new(self.ends.into(), self.firsts.into(), self.blocks.into(), self.bytes.into())
    }
}

thread_local! {
    /// The block that was read last: whose, which, and what.
    static LAST: RefCell<(u64, usize, Vec<u8>)> = const { RefCell::new((0, 0, Vec::new())) };
}

impl CompressedBytes {
    fn new(
        ends: Column<u32>,
        firsts: Column<u32>,
        blocks: Column<u64>,
        bytes: Column<u8>,
    ) -> CompressedBytes {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        CompressedBytes { ends, firsts, blocks, bytes, identity: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// What `read` makes of the string at a position; `None` if the file it lives in is damaged. `read` must
    /// not read another string.
    pub fn read_at<T>(&self, position: usize, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let block = self.firsts.partition_point(|&first| first as usize <= position).checked_sub(1)?;
        let start = match position.checked_sub(*self.firsts.get(block)? as usize)? {
            0 => 0,
            _ => *self.ends.get(position - 1)? as usize,
        };
        let end = *self.ends.get(position)? as usize;
        LAST.with_borrow_mut(|(identity, last, bytes)| {
            if (*identity, *last) != (self.identity, block) {
                *identity = 0;
                self.unpack(block, bytes)?;
                (*identity, *last) = (self.identity, block);
            }
            read(bytes.get(start..end)?)
        })
    }

    /// Unpacks a block into `bytes`.
    fn unpack(&self, block: usize, bytes: &mut Vec<u8>) -> Option<()> {
        let start = if block == 0 { 0 } else { *self.blocks.get(block - 1)? };
        let packed = self.bytes.get(start as usize..*self.blocks.get(block)? as usize)?;
        let next = self.firsts.get(block + 1).map_or(self.ends.len(), |&first| first as usize);
        let length = *self.ends.get(next.checked_sub(1)?)? as usize;
        bytes.clear();
        if length == packed.len() {
            bytes.extend_from_slice(packed);
            return Some(());
        }
        if length > packed.len().saturating_mul(MOST_RATIO) {
            return None;
        }
        bytes.resize(length, 0);
        decompress_into(packed, bytes).ok().filter(|&unpacked| unpacked == length).map(|_| ())
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * (self.ends.len() + self.firsts.len()) + 8 * self.blocks.len() + self.bytes.len()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.ends);
        sections.push(&self.firsts);
        sections.push(&self.blocks);
        sections.push(&self.bytes);
    }

    /// Reads what [`write`](CompressedBytes::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<CompressedBytes> {
        let texts = CompressedBytes::new(reader.next()?, reader.next()?, reader.next()?, reader.next()?);
        let whole =
            texts.firsts.len() == texts.blocks.len() && texts.firsts.is_empty() == texts.ends.is_empty();
        if whole { Ok(texts) } else { Err(reader.damaged("the expressions are incomplete")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[String]) -> CompressedBytes {
        let mut builder = CompressedBytesBuilder::default();
        all.iter().for_each(|text| builder.push_with(|bytes| bytes.extend_from_slice(text.as_bytes())));
        builder.finish()
    }

    fn get(texts: &CompressedBytes, position: usize) -> Option<String> {
        texts.read_at(position, |bytes| String::from_utf8(bytes.to_vec()).ok())
    }

    #[test]
    fn every_text_is_found_at_its_position() {
        let alike: Vec<String> = (0..5000).map(|n| format!("a = {n} and b in ('x', 'y{}')", n % 7)).collect();
        let uneven: Vec<String> = (0..300).map(|n| "é".repeat(n * n % 4001)).collect();
        let empty = vec![String::new(); 5];
        let mixed: Vec<String> = [&empty[..], &alike[..9], &empty, &uneven, &empty].concat();
        for all in [&[][..], &alike, &uneven, &empty, &mixed, &alike[..1]] {
            let kept = texts(all);
            assert_eq!(kept.len(), all.len());
            for (position, text) in all.iter().enumerate() {
                assert_eq!(get(&kept, position).as_ref(), Some(text));
            }
            for (position, text) in all.iter().enumerate().rev() {
                assert_eq!(get(&kept, position).as_ref(), Some(text));
            }
            assert_eq!(get(&kept, all.len()), None);
        }
        let (one, other) = (texts(&alike), texts(&uneven));
        assert!(one.bytes() < alike.iter().map(String::len).sum::<usize>() / 2);
        for position in 0..uneven.len() {
            assert_eq!(get(&one, position).as_ref(), Some(&alike[position]));
            assert_eq!(get(&other, position).as_ref(), Some(&uneven[position]));
        }
    }

    #[test]
    fn damage_is_no_panic() {
        let alike: Vec<String> = (0..500).map(|n| format!("a = {n} and b in ('x', 'y{}')", n % 7)).collect();
        let whole = texts(&alike);
        for position in 0..whole.bytes.len() {
            let mut bytes = whole.bytes.to_vec();
            bytes[position] ^= 0x5a;
            let ends: Vec<u32> = whole.ends.iter().map(|end| end ^ (position as u32 & 0x300_0001)).collect();
            let damaged = CompressedBytes::new(
                ends.into(),
                whole.firsts.to_vec().into(),
                whole.blocks.to_vec().into(),
                bytes.into(),
            );
            for text in [0, 77, 499] {
                let _ = get(&damaged, text);
            }
        }
    }
}
