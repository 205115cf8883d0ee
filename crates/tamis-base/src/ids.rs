//! How are many ids stored in columns, and what is the position of a given id?
//!
//! Ids are stored by position, and a hash table maps an id to its position. The seed of the hash is derived from
//! the ids (see `probing`). Consecutive integers, such as row numbers, need neither: the first one is enough.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::column::Column;
use crate::error::Result;
use crate::id::{Id, IdRef};
use crate::probing::place;
use crate::sections::{SectionReader, Sections};
use crate::strings::{Strings, StringsBuilder};

/// Distinct ids by their position.
#[derive(Debug, Default)]
pub struct Ids {
    /// The ids, if all are integers; otherwise they are in `texts`. Empty if the ids are consecutive.
    integers: Column<i64>,
    texts: Strings,
    /// Open addressing with linear probing; a position plus one, or 0 if the bucket is free. Empty if the ids are
    /// consecutive.
    table: Column<u32>,
    /// The seed of the hash. If the ids are consecutive integers, the first one and their number follow.
    numbers: Column<u64>,
}

/// Ids to be stored in columns.
#[derive(Debug, Default)]
pub struct IdsBuilder {
    /// All of them, encoded, from the first string on.
    encoded: Option<StringsBuilder>,
    /// Those that are integers.
    integers: Vec<i64>,
}

impl IdsBuilder {
    /// Adds the id of the next slot.
    pub fn push(&mut self, id: IdRef<'_>) {
        if let IdRef::Integer(number) = id {
            self.integers.push(number);
        } else if self.encoded.is_none() {
            let mut encoded = StringsBuilder::default();
            self.integers
                .iter()
                .for_each(|&number| encoded.push_with(|bytes| IdRef::Integer(number).encode_to(bytes)));
            self.encoded = Some(encoded);
        }
        if let Some(encoded) = &mut self.encoded {
            encoded.push_with(|bytes| id.encode_to(bytes));
        }
    }

    /// How many are strings, and how many integers.
    pub fn type_counts(&self) -> (usize, usize) {
        let strings = self.encoded.as_ref().map_or(0, |encoded| encoded.len() - self.integers.len());
        (strings, self.integers.len())
    }

    /// Stores the ids, which must be distinct.
    pub fn finish(self) -> Ids {
        let Some(encoded) = self.encoded else { return Ids::of_integers(self.integers) };
        let texts = encoded.finish();
        let hash = |position, seed| xxh3_64_with_seed(texts.bytes_of(position).unwrap_or_default(), seed);
        let (seed, table) = place(texts.len(), capacity(texts.len()), hash);
        Ids { integers: Column::default(), texts, table: table.into(), numbers: vec![seed].into() }
    }
}

/// The size of the hash table of so many ids.
fn capacity(ids: usize) -> usize {
    (ids * 3 / 2 + 1).next_power_of_two()
}

impl Ids {
    /// Stores ids, which must be distinct.
    pub fn new(ids: &[Id]) -> Ids {
        let mut builder = IdsBuilder::default();
        ids.iter().for_each(|id| builder.push(id.as_ref()));
        builder.finish()
    }

    fn of_integers(ids: Vec<i64>) -> Ids {
        if let Some(&first) = ids.first()
            && ids.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
        {
            return Ids { numbers: vec![0, first as u64, ids.len() as u64].into(), ..Ids::default() };
        }
        let hash = |position: usize, seed| xxh3_64_with_seed(&IdRef::Integer(ids[position]).encode(), seed);
        let (seed, table) = place(ids.len(), capacity(ids.len()), hash);
        let (table, numbers) = (table.into(), vec![seed].into());
        Ids { integers: ids.into(), texts: Strings::default(), table, numbers }
    }

    /// The first id and their number, if they are consecutive integers.
    #[inline]
    fn consecutive(&self) -> Option<(i64, u64)> {
        match *self.numbers {
            [_, first, count] => Some((first as i64, count)),
            _ => None,
        }
    }

    /// The number of ids.
    #[inline]
    pub fn len(&self) -> usize {
        match self.consecutive() {
            Some((_, count)) => count as usize,
            None => self.integers.len().max(self.texts.len()),
        }
    }

    /// The position of an id.
    pub fn find(&self, id: IdRef<'_>) -> Option<u32> {
        if let Some((first, count)) = self.consecutive() {
            let IdRef::Integer(number) = id else { return None };
            let position = u64::try_from(i128::from(number) - i128::from(first)).ok()?;
            return (position < count).then_some(position as u32);
        }
        let mask = self.table.len().checked_sub(1)?;
        let mut at = xxh3_64_with_seed(&id.encode(), *self.numbers.first()?) as usize & mask;
        // At least a third of the table is free; the bound protects against a damaged file.
        for _ in 0..self.table.len() {
            match self.table[at] {
                0 => return None,
                position if self.get(position - 1) == Some(id) => return Some(position - 1),
                _ => at = (at + 1) & mask,
            }
        }
        None
    }

    /// The id at a position; `None` if its file is damaged.
    #[inline]
    pub fn get(&self, position: u32) -> Option<IdRef<'_>> {
        if let Some((first, count)) = self.consecutive() {
            let number = (u64::from(position) < count).then(|| first.wrapping_add(i64::from(position)));
            return number.map(IdRef::Integer);
        }
        match self.integers.get(position as usize) {
            Some(&number) => Some(IdRef::Integer(number)),
            None => IdRef::decode(self.texts.bytes_of(position as usize)?),
        }
    }

    /// Prefetches the ids at these positions, so that reading them one by one does not wait for memory each time.
    pub fn prefetch(&self, positions: &[u32]) {
        if self.integers.is_empty() {
            let read =
                positions.iter().filter_map(|&position| self.texts.bytes_of(position as usize)?.last());
            std::hint::black_box(read.fold(0, |all, byte| all ^ byte));
            return;
        }
        let read = positions.iter().filter_map(|&position| self.integers.get(position as usize));
        std::hint::black_box(read.fold(0, |all, number| all ^ number));
    }

    /// Appends the ids at these positions, which are integers; `None` if one is not.
    pub fn integers(&self, positions: &[u32], ids: &mut Vec<i64>) -> Option<()> {
        if let Some((first, count)) = self.consecutive() {
            ids.extend(positions.iter().map(|&position| first.wrapping_add(i64::from(position))));
            return positions.iter().all(|&position| u64::from(position) < count).then_some(());
        }
        if !self.integers.is_empty() {
            let mut missing = 0;
            ids.extend(positions.iter().map(|&position| match self.integers.get(position as usize) {
                Some(&number) => number,
                None => {
                    missing += 1;
                    0
                }
            }));
            return (missing == 0).then_some(());
        }
        for &position in positions {
            let IdRef::Integer(number) = self.get(position)? else { return None };
            ids.push(number);
        }
        Some(())
    }

    /// An upper bound on the bytes of the ids at these positions, which are strings and distinct: the bytes of all
    /// ids, unless that is too much.
    pub fn most_string_bytes(&self, positions: &[u32]) -> usize {
        /// Looking at every id takes as long as copying it.
        const MATTERS: usize = 1 << 28;
        let all = self.texts.text_bytes();
        if all <= MATTERS {
            return all;
        }
        let length = |&position: &u32| self.texts.bytes_of(position as usize).map_or(0, <[u8]>::len);
        positions.iter().map(length).sum()
    }

    /// Appends the bytes of the ids at these positions, which are strings, not yet known to be UTF-8, and
    /// where each of them ends; `None` if one is no string.
    pub fn strings(&self, positions: &[u32], bytes: &mut Vec<u8>, ends: &mut Vec<i32>) -> Option<()> {
        // A copy of a known length is faster, even where some of it is for nothing. Where ids lie is looked up
        // for many at once, so that the reads of one do not wait for those of another: of 1,000,000 ids, 79 instead of
        // 96 ns each, of 100,000 the same (a loop over random positions, caches cleared between events).
        const USUAL: usize = 32;
        const AT_ONCE: usize = 64;
        let first = bytes.len();
        for some in positions.chunks(AT_ONCE) {
            let mut places: [(&[u8], usize); AT_ONCE] = [(&[], 0); AT_ONCE];
            for (place, &position) in places.iter_mut().zip(some) {
                *place = self.texts.bytes_from(position as usize)?;
            }
            let places = &places[..some.len()];
            let mut end = bytes.len();
            let added: usize = places.iter().map(|(_, length)| length).sum();
            // Distinct ids have no more bytes than all; in a damaged file they may overlap.
            if end - first + added > self.texts.text_bytes() {
                return None;
            }
            bytes.resize(end + added + USUAL, 0);
            for &(encoded, length) in places {
                let (text, length) = (IdRef::string_bytes(encoded)?, length.checked_sub(1)?);
                match text.first_chunk::<USUAL>() {
                    Some(text) if length <= USUAL => bytes[end..end + USUAL].copy_from_slice(text),
                    _ => bytes[end..end + length].copy_from_slice(&text[..length]),
                }
                end += length;
                ends.push(end as i32);
            }
            bytes.truncate(end);
        }
        Some(())
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * self.integers.len() + self.texts.bytes() + 4 * self.table.len()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.integers);
        self.texts.write(sections);
        sections.push(&self.table);
        sections.push(&self.numbers);
    }

    /// Reads what [`write`](Ids::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<Ids> {
        let ids = Ids {
            integers: reader.next()?,
            texts: Strings::read(reader)?,
            table: reader.next()?,
            numbers: reader.next()?,
        };
        let stored = ids.integers.len().max(ids.texts.len());
        let whole = match *ids.numbers {
            [_] => {
                (ids.integers.is_empty() || ids.texts.len() == 0)
                    && ids.table.len().is_power_of_two()
                    && ids.table.len() > stored
            }
            [_, first, count] => {
                let last = i128::from(first as i64) + i128::from(count) - 1;
                stored == 0 && ids.table.is_empty() && count <= u32::MAX.into() && i64::try_from(last).is_ok()
            }
            _ => false,
        };
        if whole { Ok(ids) } else { Err(reader.damaged("the ids are incomplete")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_at_its_position() {
        let integers: Vec<Id> = (0..1000).map(|number: i64| (number * number).into()).collect();
        let mixed: Vec<Id> = integers.iter().cloned().chain(["", "0", "1"].map(Id::from)).collect();
        for ids in [&[][..], &integers, &mixed] {
            let kept = Ids::new(ids);
            assert_eq!(kept.len(), ids.len());
            for (id, position) in ids.iter().zip(0..) {
                assert_eq!(kept.find(id.as_ref()), Some(position));
                assert_eq!(kept.get(position), Some(id.as_ref()));
            }
            assert_eq!(kept.find(IdRef::Integer(-1)), None);
            assert_eq!(kept.find(IdRef::String("-1")), None);
        }
    }

    #[test]
    fn consecutive_integers_take_no_room() {
        for first in [0, -5, 1 << 40, i64::MAX - 9] {
            let ids: Vec<Id> = (0..10).map(|number| (first + number).into()).collect();
            let kept = Ids::new(&ids);
            assert_eq!((kept.len(), kept.bytes()), (10, 0));
            for (id, position) in ids.iter().zip(0..) {
                assert_eq!(kept.find(id.as_ref()), Some(position));
                assert_eq!(kept.get(position), Some(id.as_ref()));
            }
            let others = [first.checked_sub(1), first.checked_add(10), Some(i64::MIN), Some(42 - first / 2)];
            for other in others.into_iter().flatten() {
                assert_eq!(kept.find(IdRef::Integer(other)), None);
            }
            assert_eq!((kept.find(IdRef::String("0")), kept.get(10)), (None, None));
            let mut found = vec![7];
            assert_eq!(kept.integers(&[0, 9], &mut found), Some(()));
            assert_eq!(found, [7, first, first + 9]);
            assert_eq!(kept.integers(&[10], &mut found), None);
        }
        // Neither a gap nor another order is consecutive.
        for ids in [[1, 2, 4], [3, 2, 1], [i64::MAX, i64::MIN, 0]] {
            let kept = Ids::new(&ids.map(Id::from));
            assert!(kept.bytes() > 0);
            assert_eq!(ids.map(|id| kept.find(IdRef::Integer(id))), [Some(0), Some(1), Some(2)]);
        }
    }

    #[test]
    fn strings_are_copied_whatever_their_length() {
        let texts: Vec<String> =
            (0..600).map(|number| "é".repeat(number * 7 % 50) + &number.to_string()).collect();
        let kept = Ids::new(&texts.iter().map(|text| Id::from(&**text)).collect::<Vec<_>>());
        for step in [1, 3, 599] {
            let positions: Vec<u32> = (0..600).step_by(step).collect();
            let (mut bytes, mut ends) = (b"before".to_vec(), vec![6]);
            assert_eq!(kept.strings(&positions, &mut bytes, &mut ends), Some(()));
            assert!(bytes.len() - 6 <= kept.most_string_bytes(&positions));
            let copied: Vec<&str> = ends
                .windows(2)
                .map(|ends| std::str::from_utf8(&bytes[ends[0] as usize..ends[1] as usize]).unwrap())
                .collect();
            let wanted: Vec<&str> = positions.iter().map(|&position| &*texts[position as usize]).collect();
            assert_eq!(copied, wanted);
            assert_eq!(bytes.len(), *ends.last().unwrap() as usize);
        }
        let mixed = Ids::new(&[Id::from("a"), Id::from(1)]);
        assert_eq!(mixed.strings(&[0, 1], &mut Vec::new(), &mut Vec::new()), None);
        assert_eq!(mixed.strings(&[7], &mut Vec::new(), &mut Vec::new()), None);
    }

    #[test]
    fn ids_chosen_to_collide_under_a_known_hash_are_found_at_once() {
        let known = |number: i64| xxhash_rust::xxh3::xxh3_64(&IdRef::Integer(number).encode());
        let colliding = (0..).filter(|&number| known(number) & 8191 < 64).take(4000);
        let ids: Vec<Id> = colliding.map(Id::from).collect();
        let kept = Ids::new(&ids);
        let mask = kept.table.len() - 1;
        let furthest = ids.iter().zip(0..).map(|(id, position)| {
            assert_eq!(kept.find(id.as_ref()), Some(position));
            let own = xxh3_64_with_seed(&id.as_ref().encode(), kept.numbers[0]) as usize & mask;
            let bucket = kept.table.iter().position(|&found| found == position + 1).unwrap_or_default();
            bucket.wrapping_sub(own) & mask
        });
        assert!(furthest.max() < Some(200));
    }
}
