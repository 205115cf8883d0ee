//! How are columns laid down in a file, and found there again?
//!
//! A file is a header, a table of sections, and the sections, each aligned for any number. Sections
//! have no names: what is written in an order is read in that order, and the format's version stands
//! for the order. The header carries the length and a checksum of all that follows it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use xxhash_rust::xxh3::Xxh3;

use crate::column::{Column, Map};
use crate::error::{Error, Result};

const MAGIC: [u8; 8] = *b"TAMISSEG";
/// The version of the format; noted in the changelog when it changes.
const VERSION: u32 = 8;
const HEADER: usize = 40;
const ALIGNMENT: usize = 64;

/// Columns on their way into a file.
#[derive(Default)]
pub(crate) struct Sections<'a> {
    sections: Vec<&'a [u8]>,
}

impl<'a> Sections<'a> {
    pub fn push<T: AnyBitPattern + NoUninit>(&mut self, column: &'a Column<T>) {
        self.sections.push(column.bytes());
    }

    /// Writes the file and returns its checksum.
    pub fn write(&self, out: &mut impl Write) -> io::Result<u64> {
        let table = HEADER + 16 * self.sections.len();
        let mut places = Vec::with_capacity(16 * self.sections.len());
        let mut end = table;
        for section in &self.sections {
            let start = end.next_multiple_of(ALIGNMENT);
            places.extend((start as u64).to_le_bytes());
            places.extend((section.len() as u64).to_le_bytes());
            end = start + section.len();
        }
        // The checksum stands before what it covers, so the sections are gone over twice.
        let mut hasher = Xxh3::new();
        let pieces = |take: &mut dyn FnMut(&[u8]) -> io::Result<()>| -> io::Result<()> {
            take(&places)?;
            let mut position = table;
            for section in &self.sections {
                let start = position.next_multiple_of(ALIGNMENT);
                take(&[0; ALIGNMENT][..start - position])?;
                take(section)?;
                position = start + section.len();
            }
            Ok(())
        };
        pieces(&mut |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        let checksum = hasher.digest();
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(self.sections.len() as u32).to_le_bytes())?;
        out.write_all(&(end as u64).to_le_bytes())?;
        out.write_all(&checksum.to_le_bytes())?;
        out.write_all(&[0; 8])?;
        pieces(&mut |bytes| out.write_all(bytes))?;
        Ok(checksum)
    }
}

/// The columns of a mapped file, read in the order they were written.
pub(crate) struct SectionReader {
    map: Arc<Map>,
    path: PathBuf,
    next: usize,
    sections: usize,
    checksum: u64,
    verified: bool,
}

impl SectionReader {
    /// Maps a file and checks its header; the checksum is checked only when asked for.
    pub fn open(path: &Path, verify: bool) -> Result<SectionReader> {
        let map = Map::open(path).map_err(|error| Error::storage(path, error))?;
        let bytes = map.bytes();
        let damaged = |reason: &str| Error::storage(path, reason);
        if bytes.len() < HEADER || bytes[..8] != MAGIC {
            return Err(damaged("this is no segment file"));
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        if word(8) != VERSION {
            return Err(damaged(&format!(
                "the file has format {}, this version of Tamis reads format {VERSION}",
                word(8)
            )));
        }
        let sections = word(12) as usize;
        if long(16) != bytes.len() as u64 || HEADER + 16 * sections > bytes.len() {
            return Err(damaged(&format!(
                "the file has {} bytes, its header says {}",
                bytes.len(),
                long(16)
            )));
        }
        let checksum = long(24);
        if verify && xxhash_rust::xxh3::xxh3_64(&bytes[HEADER..]) != checksum {
            return Err(damaged("the checksum does not match: the file is damaged"));
        }
        Ok(SectionReader {
            map: Arc::new(map),
            path: path.to_owned(),
            next: 0,
            sections,
            checksum,
            verified: verify,
        })
    }

    /// The checksum that the header carries.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Whether the checksum was checked, and what is read should be checked as well.
    pub fn verified(&self) -> bool {
        self.verified
    }

    /// The next column.
    pub fn next<T: AnyBitPattern + NoUninit>(&mut self) -> Result<Column<T>> {
        let at = HEADER + 16 * self.next;
        let column = (self.next < self.sections).then(|| {
            let place = |at: usize| {
                let bytes = self.map.bytes().get(at..at + 8)?;
                usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
            };
            Column::mapped(&self.map, place(at)?, place(at + 8)?)
        });
        self.next += 1;
        column.flatten().ok_or_else(|| self.damaged("a section is missing or lies outside of the file"))
    }

    /// An error that names the file.
    pub fn damaged(&self, reason: &str) -> Error {
        Error::storage(&self.path, reason)
    }
}
