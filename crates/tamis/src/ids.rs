//! How are many ids stored in columns, and what is the position of a given id?
//!
//! Ids are stored by position, and a hash table maps an id to its position. The seed of the hash is derived from
//! the ids (see `probing`).

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::column::Column;
use crate::error::Result;
use crate::id::{Id, IdRef};
use crate::probing::place;
use crate::sections::{SectionReader, Sections};
use crate::strings::{Strings, StringsBuilder};

/// Distinct ids by their position.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// The ids, if all are integers; otherwise they are in `texts`.
    integers: Column<i64>,
    texts: Strings,
    /// Open addressing with linear probing; a position plus one, or 0 if the slot is free.
    table: Column<u32>,
    /// The seed of the hash, and nothing else.
    seed: Column<u64>,
}

/// Ids to be stored in columns.
#[derive(Debug, Default)]
pub(crate) struct IdsBuilder {
    /// All of them, encoded.
    encoded: StringsBuilder,
    /// Those that are integers.
    integers: Vec<i64>,
}

impl IdsBuilder {
    pub fn push(&mut self, id: IdRef<'_>) {
        self.encoded.push_with(|bytes| id.encode_to(bytes));
        if let IdRef::Integer(number) = id {
            self.integers.push(number);
        }
    }

    /// How many are strings, and how many integers.
    pub fn kinds(&self) -> (usize, usize) {
        (self.encoded.len() - self.integers.len(), self.integers.len())
    }

    /// Stores the ids, which must be distinct.
    pub fn finish(self) -> Ids {
        let only_integers = self.kinds().0 == 0;
        let texts = self.encoded.finish();
        let capacity = (texts.len() * 3 / 2 + 1).next_power_of_two();
        let (seed, table) = place(texts.len(), capacity, |position, seed| {
            xxh3_64_with_seed(texts.bytes_of(position).unwrap_or_default(), seed)
        });
        let (table, seed) = (table.into(), vec![seed].into());
        match only_integers {
            true => Ids { integers: self.integers.into(), texts: Strings::default(), table, seed },
            false => Ids { integers: Column::default(), texts, table, seed },
        }
    }
}

impl Ids {
    /// Stores ids, which must be distinct.
    pub fn new(ids: &[Id]) -> Ids {
        let mut builder = IdsBuilder::default();
        ids.iter().for_each(|id| builder.push(id.as_ref()));
        builder.finish()
    }

    pub fn len(&self) -> usize {
        self.integers.len().max(self.texts.len())
    }

    /// The position of an id.
    pub fn find(&self, id: IdRef<'_>) -> Option<u32> {
        let mask = self.table.len().checked_sub(1)?;
        let mut at = xxh3_64_with_seed(&id.encode(), *self.seed.first()?) as usize & mask;
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
    #[cfg(feature = "arrow")]
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
    #[cfg(feature = "arrow")]
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

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.integers);
        self.texts.write(sections);
        sections.push(&self.table);
        sections.push(&self.seed);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Ids> {
        let ids = Ids {
            integers: reader.next()?,
            texts: Strings::read(reader)?,
            table: reader.next()?,
            seed: reader.next()?,
        };
        let whole = ids.seed.len() == 1
            && (ids.integers.is_empty() || ids.texts.len() == 0)
            && ids.table.len().is_power_of_two()
            && ids.table.len() > ids.len();
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
            let own = xxh3_64_with_seed(&id.as_ref().encode(), kept.seed[0]) as usize & mask;
            let slot = kept.table.iter().position(|&found| found == position + 1).unwrap_or_default();
            slot.wrapping_sub(own) & mask
        });
        assert!(furthest.max() < Some(200));
    }
}
