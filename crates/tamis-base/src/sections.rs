//! How are columns written to a file and found again?
//!
//! A file is a header, a table of sections, and the sections, each aligned for any number type. Sections
//! have no names: they are read in the order in which they are written, and the format number identifies
//! that order. The header contains the length and a checksum of everything after it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use xxhash_rust::xxh3::Xxh3;

use crate::column::{Column, Map};
use crate::error::{Error, Result};

const MAGIC: [u8; 8] = *b"TAMISSEG";
/// The version of the format; noted in the changelog when it changes.
const VERSION: u32 = 14;
/// The oldest version that is read: in it, ids that are consecutive integers are stored like others.
const OLDEST: u32 = 13;
const HEADER: usize = 40;
const ALIGNMENT: usize = 64;

/// How to open saved files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Whether all bytes are read and checked at once. If not, files are only mapped, and damage is reported when it
    /// is met.
    pub verify: bool,
    /// Whether files are copied into memory instead of mapped. A file that is shortened while it is mapped
    /// ends the process.
    pub copy: bool,
}

impl OpenOptions {
    /// The same, with or without verification.
    pub fn verify(self, verify: bool) -> OpenOptions {
        OpenOptions { verify, ..self }
    }

    /// The same, copying files or not.
    pub fn copy(self, copy: bool) -> OpenOptions {
        OpenOptions { copy, ..self }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { verify: true, copy: false }
    }
}

/// Columns to be written to a file.
#[derive(Default)]
pub struct Sections<'a> {
    sections: Vec<&'a [u8]>,
}

impl<'a> Sections<'a> {
    /// Adds a column as the next section.
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
        // The checksum precedes the data it covers, so the sections are traversed twice.
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

/// The columns of a file, read in the order they were written.
pub struct SectionReader {
    origin: Origin,
    next: usize,
    sections: usize,
}

/// The file that columns were read from.
#[derive(Debug, Clone)]
pub struct Origin {
    map: Arc<Map>,
    path: PathBuf,
    checksum: u64,
}

impl Origin {
    /// Fails if the bytes are not as they were written.
    pub fn verify(&self) -> Result<()> {
        let content = self.map.bytes().get(HEADER..).unwrap_or_default();
        match xxhash_rust::xxh3::xxh3_64(content) == self.checksum {
            true => Ok(()),
            false => Err(self.damaged("the checksum does not match: the file is damaged")),
        }
    }

    /// An error that names the file.
    pub fn damaged(&self, reason: &str) -> Error {
        Error::storage(&self.path, reason)
    }
}

impl SectionReader {
    /// Opens a file, whose name contains its checksum as listed in a manifest, and checks its header.
    pub fn open(path: &Path, checksum: &str, options: OpenOptions) -> Result<SectionReader> {
        let map = if options.copy { Map::copy(path) } else { Map::open(path) };
        let map = map.map_err(|error| Error::storage(path, error))?;
        let bytes = map.bytes();
        let damaged = |reason: &str| Error::storage(path, reason);
        if bytes.len() < HEADER || bytes[..8] != MAGIC {
            return Err(damaged("not a segment file of Tamis"));
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        if !(OLDEST..=VERSION).contains(&word(8)) {
            return Err(damaged(&format!(
                "the file has format {}, this version of Tamis reads formats {OLDEST} to {VERSION}",
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
        if format!("{:016x}", long(24)) != checksum || long(32) != 0 {
            return Err(damaged("this is not the file that the manifest names"));
        }
        let origin = Origin { checksum: long(24), map: Arc::new(map), path: path.to_owned() };
        if options.verify {
            origin.verify()?;
        }
        Ok(SectionReader { origin, next: 0, sections })
    }

    /// The file.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The next column.
    pub fn next<T: AnyBitPattern + NoUninit>(&mut self) -> Result<Column<T>> {
        let at = HEADER + 16 * self.next;
        let column = (self.next < self.sections).then(|| {
            let place = |at: usize| {
                let bytes = self.origin.map.bytes().get(at..at + 8)?;
                usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
            };
            Column::mapped(&self.origin.map, place(at)?, place(at + 8)?)
        });
        self.next += 1;
        column.flatten().ok_or_else(|| self.damaged("a section is missing or outside the file"))
    }

    /// An error that names the file.
    pub fn damaged(&self, reason: &str) -> Error {
        self.origin.damaged(reason)
    }
}
