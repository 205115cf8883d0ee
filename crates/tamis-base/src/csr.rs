//! How are many short lists kept in two arrays, and how is an ascending list searched?
//!
//! Compressed sparse rows: all items are stored contiguously, and `starts` has the position of each list. [`Lists`]
//! can be mapped from a file; the functions below serve lists that only live in memory.

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

/// Lists by their number.
#[derive(Debug)]
pub struct Lists<T> {
    /// Where each list begins, and where the last one ends.
    pub starts: Column<u32>,
    /// The items of all lists, one list after the other.
    pub items: Column<T>,
}

impl<T: AnyBitPattern + NoUninit> Default for Lists<T> {
    fn default() -> Self {
        Lists { starts: Column::default(), items: Column::default() }
    }
}

impl<T: AnyBitPattern + NoUninit> Lists<T> {
    /// Concatenates lists.
    pub fn new<L: AsRef<[T]>>(lists: impl IntoIterator<Item = L>) -> Lists<T> {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for list in lists {
            items.extend_from_slice(list.as_ref());
            starts.push(items.len() as u32);
        }
        Lists { starts: starts.into(), items: items.into() }
    }

    /// The number of lists; 0 if an unvalidated file lacks even the first start.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// An existing list.
    #[inline]
    pub fn get(&self, list: u32) -> &[T] {
        &self.items[self.starts[list as usize] as usize..self.starts[list as usize + 1] as usize]
    }

    /// A list; empty if there is no list of that number.
    pub fn find(&self, list: u32) -> &[T] {
        match self.starts.get(list as usize..) {
            Some(&[start, end, ..]) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.starts.len() + size_of::<T>() * self.items.len()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.starts);
        sections.push(&self.items);
    }

    /// Reads what [`write`](Lists::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<Lists<T>> {
        Ok(Lists { starts: reader.next()?, items: reader.next()? })
    }

    /// Whether there are exactly this many lists, they cover all items, and `is_item` holds for each item.
    pub fn are_whole(&self, lists: usize, is_item: impl Fn(&T) -> bool) -> bool {
        self.starts.len() == lists + 1 && self.are_lists(is_item)
    }

    /// Whether the lists cover all items, and `is_item` holds for each item.
    pub fn are_lists(&self, is_item: impl Fn(&T) -> bool) -> bool {
        let ascend = is_ascending(&self.starts, self.items.len());
        (ascend || self.starts.is_empty() && self.items.is_empty()) && self.items.iter().all(is_item)
    }
}

impl Lists<u32> {
    /// Groups pairs: list `a` has `b` for every pair `(a, b)`, ascending.
    pub fn of_pairs(lists: usize, mut pairs: Vec<(u32, u32)>) -> Lists<u32> {
        pairs.sort_unstable();
        let starts = starts(lists, pairs.iter().map(|(list, _)| *list));
        let items: Vec<u32> = pairs.iter().map(|(_, item)| *item).collect();
        Lists { starts: starts.into(), items: items.into() }
    }
}

/// Where each list begins, given the list of each item in any order.
pub fn starts(lists: usize, of_items: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut starts = vec![0u32; lists + 1];
    of_items.for_each(|list| starts[list as usize + 1] += 1);
    for list in 0..lists {
        starts[list + 1] += starts[list];
    }
    starts
}

/// The starts and items of lists, given the list of each item; items are numbered from 0, and every list ascends.
pub fn group(lists: usize, of_items: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let starts = starts(lists, of_items.iter().copied());
    let (mut next, mut items) = (starts.clone(), vec![0; of_items.len()]);
    for (&list, item) in of_items.iter().zip(0..) {
        items[next[list as usize] as usize] = item;
        next[list as usize] += 1;
    }
    (starts, items)
}

/// The positions of the items of a list.
#[inline]
pub fn range(starts: &[u32], list: u32) -> Range<usize> {
    starts[list as usize] as usize..starts[list as usize + 1] as usize
}

/// The position of the first number that is at least `least` in an ascending list, and how many numbers were read:
/// steps that double, because the position is usually near, then a binary search within the last step.
#[inline]
pub fn gallop(ascending: &[u32], least: u32) -> (usize, usize) {
    let (mut low, mut step, mut read) = (0, 1, 0);
    let mut high = ascending.len();
    while low < ascending.len() {
        let probe = (low + step - 1).min(ascending.len() - 1);
        read += 1;
        if ascending[probe] >= least {
            high = probe;
            break;
        }
        low = probe + 1;
        step *= 2;
    }
    while low < high {
        let middle = (low + high) / 2;
        read += 1;
        if ascending[middle] >= least { high = middle } else { low = middle + 1 }
    }
    (low, read)
}

/// Whether numbers ascend from 0 to `end`, as starts do.
pub fn is_ascending(numbers: &[u32], end: usize) -> bool {
    numbers.first() == Some(&0)
        && numbers.last().is_some_and(|&last| last as usize == end)
        && numbers.windows(2).all(|pair| pair[0] <= pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_what_they_were_made_of() {
        let lists = Lists::new([vec![3, 1], vec![], vec![2]]);
        assert_eq!(
            (lists.len(), lists.get(0), lists.get(1), lists.get(2)),
            (3, &[3, 1][..], &[][..], &[2][..])
        );
        assert_eq!(lists.find(3), [0u32; 0]);
        let pairs = Lists::of_pairs(3, vec![(2, 5), (0, 4), (2, 1)]);
        assert_eq!((pairs.get(0), pairs.get(1), pairs.get(2)), (&[4][..], &[][..], &[1, 5][..]));
        let (starts, items) = group(3, &[2, 0, 2, 0]);
        assert_eq!((&starts[..], &items[..]), (&[0, 2, 2, 4][..], &[1, 3, 0, 2][..]));
        assert_eq!(range(&starts, 2), 2..4);
    }

    #[test]
    fn galloping_finds_what_a_search_finds() {
        let numbers: Vec<u32> = (0..200u32).map(|position| position * position / 3 + position).collect();
        for length in 0..numbers.len() {
            let numbers = &numbers[..length];
            for least in (0..14_000).step_by(37) {
                let (found, read) = gallop(numbers, least);
                assert_eq!(found, numbers.partition_point(|&number| number < least));
                assert!(read <= 2 + 2 * (found + 2).ilog2() as usize, "{read} for {found}");
            }
        }
    }

    #[test]
    fn damaged_lists_are_found_out() {
        let whole = |starts: Vec<u32>, items: Vec<u32>, lists| {
            Lists { starts: starts.into(), items: items.into() }.are_whole(lists, |&item| item < 9)
        };
        assert!(whole(vec![0, 1, 1], vec![8], 2));
        assert!(!whole(vec![0, 1, 1], vec![9], 2));
        assert!(!whole(vec![0, 1], vec![8], 2));
        assert!(!whole(vec![0, 2, 1], vec![8], 2));
        assert!(!whole(vec![], vec![], 0));
    }
}
