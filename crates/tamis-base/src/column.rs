//! Where does an immutable array live: in memory, or in a mapped file?
//!
//! This is the only module with unsafe code. Everything in a segment is a [`Column`] of plain numbers,
//! which is read in the same way wherever it lives. A file is mapped, so all processes that map it share
//! its pages. If someone might change or truncate the file, it is copied into memory instead.

#![allow(unsafe_code)]

use std::io::Read;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::MmapMut;

use crate::files;

const HUGE_PAGE: usize = 2 << 20;

/// A file in memory, read only.
#[derive(Debug)]
pub struct Map(memmap2::Mmap);

impl Map {
    /// Maps a file. It must not be changed or truncated while it is mapped. Segment files fulfil that: they are
    /// written under another name and only ever removed afterwards. Reading beyond the end of a truncated file kills
    /// the process (SIGBUS); use [`Map::copy`] for files that others may truncate.
    pub fn open(path: &Path) -> std::io::Result<Map> {
        let file = files::open(path)?;
        // SAFETY: mapped read-only. Another process that wrote to the file would change the bytes under us; the files
        // of an index are immutable once they have their name, and everything read from them is numbers for which
        // every bit pattern is valid and every use is checked.
        unsafe { memmap2::Mmap::map(&file) }.map(Map)
    }

    /// Copies a file into private memory, which nobody else can change.
    pub fn copy(path: &Path) -> std::io::Result<Map> {
        let mut file = files::open(path)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
        let mut pages = MmapMut::map_anon(length)?;
        #[cfg(target_os = "linux")]
        if length >= 2 * HUGE_PAGE {
            // Without huge pages it is slower, not wrong.
            let _ = pages.advise(memmap2::Advice::HugePage);
        }
        file.read_exact(&mut pages)?;
        pages.make_read_only().map(Map)
    }

    /// The content of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An immutable array of plain numbers.
pub struct Column<T> {
    pointer: *const T,
    length: usize,
    /// Keeps alive what `pointer` points into.
    _owner: Owner<T>,
    _items: PhantomData<T>,
}

enum Owner<T> {
    Memory { _items: Box<[T]> },
    Pages { _pages: MmapMut },
    File { _map: Arc<Map> },
}

// SAFETY: a column is a shared, immutable array of numbers; nothing in it can change, whichever thread reads it, and
// any thread may drop either owner.
unsafe impl<T: Send + Sync> Send for Column<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Column<T> {}

impl<T: AnyBitPattern + NoUninit> Column<T> {
    /// The items of `map` in a range of bytes; `None` if the range is outside the map, not aligned, or not a whole
    /// number of items.
    pub fn mapped(map: &Arc<Map>, start: usize, length: usize) -> Option<Column<T>> {
        let bytes = map.bytes().get(start..start.checked_add(length)?)?;
        let items: &[T] = bytemuck::try_cast_slice(bytes).ok()?;
        Some(Column {
            pointer: items.as_ptr(),
            length: items.len(),
            _owner: Owner::File { _map: map.clone() },
            _items: PhantomData,
        })
    }

    /// The bytes of the items.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: AnyBitPattern + NoUninit> From<Vec<T>> for Column<T> {
    fn from(items: Vec<T>) -> Self {
        if let Some((pages, pointer)) = huge_pages(&items) {
            return Column {
                pointer,
                length: items.len(),
                _owner: Owner::Pages { _pages: pages },
                _items: PhantomData,
            };
        }
        let items = items.into_boxed_slice();
        Column {
            pointer: items.as_ptr(),
            length: items.len(),
            _owner: Owner::Memory { _items: items },
            _items: PhantomData,
        }
    }
}

/// A copy of the items in huge pages, if there are enough of them and the system supports it: a match reads all over
/// a large index, and with small pages much of its time would be spent on TLB misses.
fn huge_pages<T: AnyBitPattern + NoUninit>(items: &[T]) -> Option<(MmapMut, *const T)> {
    let bytes: &[u8] = bytemuck::cast_slice(items);
    if cfg!(not(target_os = "linux")) || bytes.len() < 2 * HUGE_PAGE {
        return None;
    }
    // A map can begin anywhere; its content begins at a huge page.
    let mut pages = MmapMut::map_anon(bytes.len() + HUGE_PAGE).ok()?;
    #[cfg(target_os = "linux")]
    pages.advise(memmap2::Advice::HugePage).ok()?;
    let start = pages.as_ptr().align_offset(HUGE_PAGE);
    let place = pages.get_mut(start..start.checked_add(bytes.len())?)?;
    place.copy_from_slice(bytes);
    let pointer = bytemuck::try_cast_slice::<u8, T>(place).ok()?.as_ptr();
    Some((pages, pointer))
}

impl<T: AnyBitPattern + NoUninit> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: AnyBitPattern + NoUninit> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: pointer and length come from a slice of what the owner keeps alive and in place:
        // a boxed slice, a map or pages, none of which moves its contents or gives out a mutable view.
        unsafe { std::slice::from_raw_parts(self.pointer, self.length) }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column of {}", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_column_has_its_items() {
        let numbers: Vec<u32> = (0..3_000_000).collect();
        let column: Column<u32> = numbers.clone().into();
        assert!(column[..] == numbers);
    }

    #[test]
    fn a_mapped_column_equals_its_twin_in_memory() {
        let path = std::env::temp_dir().join(format!("tamis-column-{}", std::process::id()));
        let numbers: Vec<u32> = (0..1000).map(|number| number * 7).collect();
        let memory: Column<u32> = numbers.clone().into();
        std::fs::write(&path, memory.bytes()).unwrap();
        let map = Arc::new(Map::open(&path).unwrap());
        let mapped = Column::<u32>::mapped(&map, 40, 400).unwrap();
        drop(map);
        assert_eq!(mapped[..], memory[10..110]);
        assert_eq!(mapped.to_vec(), numbers[10..110]);
        let map = Arc::new(Map::open(&path).unwrap());
        assert!(Column::<u32>::mapped(&map, 2, 8).is_none(), "not aligned");
        assert!(Column::<u32>::mapped(&map, 0, 6).is_none(), "no whole number");
        assert!(Column::<u32>::mapped(&map, 3996, 8).is_none(), "beyond the end");
        assert!(Column::<u32>::mapped(&map, usize::MAX, 8).is_none(), "beyond everything");
        let copy = Arc::new(Map::copy(&path).unwrap());
        std::fs::write(&path, "shortened").unwrap();
        assert_eq!(Column::<u32>::mapped(&copy, 0, 4000).unwrap()[..], memory[..]);
        drop(map);
        std::fs::remove_file(path).unwrap();
    }
}
