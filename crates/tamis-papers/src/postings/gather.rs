//! Finding all ids of a size whose predicates hold, at once.
//!
//! An id that must be in K of L lists is in at least one of the L - K + 1 shortest, so only those
//! are read completely. Every entry sets one bit for its id: the number of its predicate, or a flag
//! that a negated one holds. The K - 1 longest lists are then searched for the ids found so far,
//! the shortest list first. After each list, ids that lack too many predicates are dropped. (Li, Lu
//! and Lu 2008, "Efficient merging and filtering algorithms for approximate string searches", call
//! this DivideSkip.) If there are many ids and a list is not much longer, it is read instead of
//! searched.
//!
//! Ids of one size are consecutive. Up to 7 predicates an id has one byte, and the bytes of eight ids are counted
//! and compared at once; up to 31 it has four. If the event's lists have entries for a good part of a size, the bits
//! of the whole size are read; otherwise only those of the groups that were written to.
//!
//! A departure from Whang et al. 2009, whose Alg. 1 (`walk`) merges all lists in the order of their ids. On
//! their workload, with lists of 91 keys, that takes a turn of the heap for nearly every entry. Ranking and
//! cursors still need the order.

use std::ops::{BitOrAssign, Range};

use super::Postings;
use super::walk::{Current, PostingScratch, Walk};
use tamis::matcher::Counters;
use tamis::matcher::extend::OrderedSet;
use tamis::matcher::extend::csr::gallop;

/// Ids whose marks are adjacent.
const GROUP: usize = 8;

/// All marks of a size are read if there are at most so many of them per entry.
const DENSE: usize = 32;

/// Working memory of [`Postings::gather`].
#[derive(Debug, Default)]
pub(crate) struct GatherScratch {
    /// By id, counted from the first of its size: its mark. All zero between uses.
    narrow: Vec<u8>,
    wide: Vec<u32>,
    /// The groups of ids whose marks may not be zero, where not all are read.
    groups: OrderedSet,
    /// The ids that may still have all their predicates, ascending, counted like the marks.
    candidates: Vec<u32>,
}

/// The predicates of an id that hold, one bit each, and in the highest bit that a negated one does.
trait Mark: Copy + Default + Eq + BitOrAssign {
    /// The most predicates.
    const LARGEST: usize;

    /// The bit of an entry, from the byte of its role.
    fn of(role: u8) -> Self;

    /// How many predicates hold.
    fn count(self) -> u32;

    /// Whether a negated predicate holds.
    fn is_ruled_out(self) -> bool;

    /// Keeps the marks with at least `least` predicates that are not ruled out, and clears the others. Returns a word
    /// with the highest bit of each byte whose mark is kept.
    fn retain(marks: &mut [Self; GROUP], least: u32, needed: usize, counters: &mut Counters) -> u64 {
        let mut live = 0;
        for (mark, position) in marks.iter_mut().zip(0..) {
            if *mark != Self::default() && mark.keep(least, needed, counters) {
                live |= 1 << (8 * position + 7);
            }
        }
        live
    }

    /// Whether an id with this mark may still have all its predicates; if not, the mark is cleared.
    #[inline]
    fn keep(&mut self, least: u32, needed: usize, counters: &mut Counters) -> bool {
        if !self.is_ruled_out() && self.count() >= least {
            return true;
        }
        // It was in enough lists, and is rejected.
        let lists = self.count() as usize + usize::from(self.is_ruled_out());
        counters.candidates += u64::from(lists >= needed.max(2));
        *self = Self::default();
        false
    }
}

impl Mark for u8 {
    const LARGEST: usize = 7;

    #[inline]
    fn of(role: u8) -> u8 {
        BITS[role as usize]
    }

    fn count(self) -> u32 {
        (self & 0x7F).count_ones()
    }

    fn is_ruled_out(self) -> bool {
        self >> 7 == 1
    }

    #[inline(always)]
    fn retain(marks: &mut [u8; GROUP], least: u32, needed: usize, counters: &mut Counters) -> u64 {
        const ONES: u64 = u64::MAX / 255;
        const HIGHEST: u64 = ONES << 7;
        let word = u64::from_le_bytes(*marks);
        if word == 0 {
            return 0;
        }
        // The number of bits of each byte, the highest not counted.
        let mut counts = word & !HIGHEST;
        counts -= (counts >> 1) & (ONES * 0x55);
        counts = (counts & (ONES * 0x33)) + ((counts >> 2) & (ONES * 0x33));
        counts = (counts + (counts >> 4)) & (ONES * 0x0F);
        // A byte reaches its highest bit if its count is at least this.
        let at_least = |least: u64| (counts + ONES * (128 - least)) & HIGHEST;
        let ruled_out = word & HIGHEST;
        let live = at_least(least.into()) & !ruled_out;
        if ruled_out != 0 {
            let rejected = at_least(needed.max(2) as u64 - 1) & ruled_out;
            counters.candidates += u64::from(rejected.count_ones());
        }
        *marks = (word & ((live >> 7) * 255)).to_le_bytes();
        live
    }
}

impl Mark for u32 {
    const LARGEST: usize = 31;

    #[inline]
    fn of(role: u8) -> u32 {
        if role & 3 == 0 { 1 << (role >> 2 & 31) } else { 1 << 31 }
    }

    fn count(self) -> u32 {
        (self & !(1 << 31)).count_ones()
    }

    fn is_ruled_out(self) -> bool {
        self >> 31 == 1
    }
}

/// The narrow marks of all bytes of roles.
static BITS: [u8; 256] = {
    let mut bits = [1 << 7; 256];
    let mut role = 0;
    while role < 256 {
        // Positive roles; numbers above 6 are of sizes with wide marks.
        bits[role] = 1 << (role >> 2 & 7);
        role += 4;
    }
    bits
};

impl Postings {
    /// Calls `found` with every id of a size whose predicates all hold, ascending; false if the size is too
    /// large for it, and nothing was done. The ids of the size are `ids`.
    pub fn gather(
        &self,
        rank: usize,
        ids: Range<u32>,
        scratch: &mut PostingScratch,
        found: impl FnMut(u32),
    ) -> bool {
        let PostingScratch { walks, counters, gathered, .. } = scratch;
        let Walk { needed, lists, .. } = &mut walks[rank];
        let needed = *needed;
        if needed > u32::LARGEST {
            return false;
        }
        if lists.len() < needed {
            return true;
        }
        lists.sort_unstable_by_key(Current::len);
        let GatherScratch { narrow, wide, groups, candidates } = gathered;
        let room = ids.len().next_multiple_of(GROUP);
        let mut gather = Gather { postings: self, needed, ids, groups, candidates, counters };
        match needed <= u8::LARGEST {
            true => gather.run(lists, first(narrow, room), found),
            false => gather.run(lists, first(wide, room), found),
        }
        true
    }
}

/// The first marks, as many as asked for.
fn first<M: Mark>(marks: &mut Vec<M>, room: usize) -> &mut [M] {
    if marks.len() < room {
        marks.resize(room, M::default());
    }
    &mut marks[..room]
}

/// The search of one size.
struct Gather<'a> {
    postings: &'a Postings,
    needed: usize,
    /// The ids of the size.
    ids: Range<u32>,
    groups: &'a mut OrderedSet,
    candidates: &'a mut Vec<u32>,
    counters: &'a mut Counters,
}

impl Gather<'_> {
    /// Calls `found` with every id that is in enough of the lists, which are sorted by length.
    fn run<M: Mark>(&mut self, lists: &[Current], marks: &mut [M], mut found: impl FnMut(u32)) {
        let (shortest, longest) = lists.split_at(lists.len() + 1 - self.needed);
        let entries: usize = shortest.iter().map(Current::len).sum();
        self.counters.entries += entries as u64;
        let dense = self.ids.len() <= DENSE * entries;
        match dense {
            true => shortest.iter().for_each(|list| self.mark(list, marks)),
            false => self.mark_groups(shortest, marks),
        }
        // While candidates are not listed, there are at most as many as entries.
        let at_most = entries.min(self.ids.len());
        let read = longest.iter().take_while(|list| is_read(at_most, list.len())).count();
        longest[..read].iter().for_each(|list| self.mark_known(list, marks));
        let least = read as u32 + 1;
        self.list(dense, least, marks);
        for (list, least) in longest[read..].iter().zip(least + 1..) {
            self.filter(list, least, marks);
        }
        self.counters.candidates += self.candidates.len() as u64;
        for id in self.candidates.drain(..) {
            // Nothing is ruled out, and all predicates hold.
            marks[id as usize] = M::default();
            found(self.ids.start + id);
        }
    }

    /// The ids of a list, counted from the first of the size, and the marks of its entries.
    #[inline(always)]
    fn entries<M: Mark>(&self, list: &Current) -> impl Iterator<Item = (usize, M)> + use<'_, M> {
        let range = list.entry as usize..list.end as usize;
        let roles = self.postings.roles.bytes(range.clone());
        let first = self.ids.start;
        self.postings.ids[range]
            .iter()
            .zip(roles)
            .map(move |(&id, &role)| ((id - first) as usize, M::of(role)))
    }

    /// Adds the entries of a list to the marks.
    fn mark<M: Mark>(&self, list: &Current, marks: &mut [M]) {
        for (id, mark) in self.entries(list) {
            marks[id] |= mark;
        }
    }

    /// Adds the entries of lists to the marks, and notes the groups of their ids.
    fn mark_groups<M: Mark>(&mut self, lists: &[Current], marks: &mut [M]) {
        self.groups.grow(marks.len() / GROUP);
        for list in lists {
            let range = list.entry as usize..list.end as usize;
            let roles = self.postings.roles.bytes(range.clone());
            for (&id, &role) in self.postings.ids[range].iter().zip(roles) {
                let id = id - self.ids.start;
                marks[id as usize] |= M::of(role);
                self.groups.insert(id / GROUP as u32);
            }
        }
    }

    /// Adds the entries of a list to the marks that are not zero.
    fn mark_known<M: Mark>(&mut self, list: &Current, marks: &mut [M]) {
        self.counters.entries += list.len() as u64;
        for (id, mark) in self.entries(list) {
            let known = &mut marks[id];
            *known |= if *known == M::default() { M::default() } else { mark };
        }
    }

    /// Lists the ids with at least `least` predicates that are not ruled out, and clears the marks of the others.
    fn list<M: Mark>(&mut self, dense: bool, least: u32, marks: &mut [M]) {
        let Gather { needed, groups, candidates, counters, .. } = self;
        candidates.clear();
        let all = marks.as_chunks_mut::<GROUP>().0;
        let mut list = |group: u32, marks: &mut [M; GROUP]| {
            let mut live = M::retain(marks, least, *needed, counters);
            while live != 0 {
                candidates.push(group * GROUP as u32 + live.trailing_zeros() / 8);
                live &= live - 1;
            }
        };
        match dense {
            true => (0..).zip(all).for_each(|(group, marks)| list(group, marks)),
            false => groups.drain(|group| list(group, &mut all[group as usize])),
        }
    }

    /// Looks for the candidates in one of the longest lists, and drops those that then have too few predicates.
    fn filter<M: Mark>(&mut self, list: &Current, least: u32, marks: &mut [M]) {
        let needed = self.needed;
        if is_read(self.candidates.len(), list.len()) {
            self.mark_known(list, marks);
            let Gather { candidates, counters, .. } = self;
            candidates.retain(|&id| marks[id as usize].keep(least, needed, counters));
            return;
        }
        let range = list.entry as usize..list.end as usize;
        let (ids, roles) = (&self.postings.ids[range.clone()], self.postings.roles.bytes(range));
        let Gather { candidates, counters, ids: Range { start: first, .. }, .. } = self;
        let mut at = 0;
        candidates.retain(|&id| {
            let (skipped, read) = gallop(&ids[at..], *first + id);
            counters.entries += read as u64;
            at += skipped;
            let known = &mut marks[id as usize];
            if ids.get(at) == Some(&(*first + id)) {
                *known |= M::of(roles[at]);
            }
            known.keep(least, needed, counters)
        });
    }
}

/// Whether reading a list of this length costs less than searching it for so many candidates.
fn is_read(candidates: usize, length: usize) -> bool {
    // A search reads about two entries per doubling of the distance. On the workload of Whang et al., reading lists
    // that are two or four times as long took longer than searching them.
    let doublings = (length / candidates.max(1)).max(1).ilog2() as usize + 1;
    doublings * candidates >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_marks_are_kept_as_one_by_one() {
        let mut state = 1u64;
        for (least, needed) in (1..=7).flat_map(|needed| (1..=needed).map(move |least| (least, needed))) {
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut marks = (state & state.rotate_left(11)).to_le_bytes();
                let (mut one_by_one, mut together) = (Counters::default(), Counters::default());
                let mut expected = marks;
                let kept = |mark: &mut u8| mark.keep(least, needed as usize, &mut one_by_one);
                let kept: Vec<bool> = expected.iter_mut().map(kept).collect();
                let live = u8::retain(&mut marks, least, needed as usize, &mut together);
                assert_eq!(marks, expected);
                assert_eq!(together.candidates, one_by_one.candidates);
                assert!(kept.iter().zip(live.to_le_bytes()).all(|(kept, bit)| *kept == (bit == 128)));
            }
        }
    }

    #[test]
    fn marks_are_bits_of_roles() {
        use super::super::entry_columns::Roles;
        use super::super::{Role, RoleKind};
        let byte = |kind, number| {
            let mut roles = Roles::default();
            roles.push(Role::new(kind, number));
            roles.bytes(0..1)[0]
        };
        assert_eq!([0, 3, 6].map(|number| u8::of(byte(RoleKind::Positive, number))), [1, 8, 64]);
        assert_eq!([0, 7, 30].map(|number| u32::of(byte(RoleKind::Positive, number))), [1, 128, 1 << 30]);
        assert_eq!(u8::of(byte(RoleKind::Negative, 0)), 1 << 7);
        assert_eq!(u32::of(byte(RoleKind::Negative, 0)), 1 << 31);
    }
}
