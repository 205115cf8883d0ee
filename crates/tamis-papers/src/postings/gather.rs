//! Which ids have all their predicates among the lists of an event, all of them at once?
//!
//! An id that must stand in K of L lists stands in at least one of the L - K + 1 shortest, so only those are
//! read. Every entry sets one bit of its id: the number of its predicate, or that a negated one holds. The K - 1
//! longest lists are searched for the ids that were found, the shortest of them first: after each, an id that
//! has not one predicate more is given up. (Li, Lu and Lu 2008, "Efficient merging and filtering algorithms for
//! approximate string searches", call it DivideSkip.) Where ids are many and a list is not much longer, it is
//! read instead of searched.
//!
//! A departure from Whang et al. 2009, whose Alg. 1 (`walk`) merges all lists in the order of their ids. On
//! their workload, with lists of 91 keys, that takes a turn of the heap for nearly every entry. Ranking and
//! cursors still need the order.

use super::Postings;
use super::walk::{Current, PostingScratch, Walk, gallop};
use crate::forest::Bits;
use tamis::matcher::Counters;

/// The largest size that is gathered: an id has one byte, and one bit of it is for negated predicates.
const LARGEST: usize = 7;

/// That a negated predicate holds.
const RULED_OUT: u8 = 1 << 7;

/// Ids whose bytes stand together.
const GROUP: usize = 8;

/// By mark: how many predicates hold, or 0 if the id is ruled out. Processors of the baseline do not count bits.
const COUNTS: [u8; 256] = {
    let mut counts = [0; 256];
    let mut mark = 0;
    while mark < RULED_OUT as usize {
        counts[mark] = mark.count_ones() as u8;
        mark += 1;
    }
    counts
};

/// Working memory of [`Postings::gather`].
#[derive(Debug, Default)]
pub(crate) struct GatherScratch {
    /// By id: the predicates that hold, one bit each, and [`RULED_OUT`]. All zero between uses.
    marks: Vec<u8>,
    /// The groups of ids whose bytes may not be zero.
    groups: Bits,
    /// The ids that may still have all their predicates, ascending.
    candidates: Vec<u32>,
}

impl Postings {
    /// Calls `found` with every id of a size, below `ids`, whose predicates all hold, ascending; false if the
    /// size is too large for it, and nothing was done.
    pub fn gather(
        &self,
        rank: usize,
        ids: u32,
        scratch: &mut PostingScratch,
        mut found: impl FnMut(u32),
    ) -> bool {
        let PostingScratch { walks, counters, gathered, .. } = scratch;
        let Walk { needed, lists, .. } = &mut walks[rank];
        let needed = *needed;
        if needed > LARGEST {
            return false;
        }
        let Some(others) = (lists.len() + 1).checked_sub(needed).filter(|read| *read > 0) else {
            return true;
        };
        lists.sort_unstable_by_key(|list| list.end - list.entry);
        let (shortest, longest) = lists.split_at(others);
        let GatherScratch { marks, groups, candidates } = gathered;
        let room = (ids as usize).next_multiple_of(GROUP);
        if marks.len() < room {
            marks.resize(room, 0);
        }
        groups.begin(room / GROUP);
        let mut entered = 0;
        for list in shortest {
            let range = list.entry as usize..list.end as usize;
            entered += range.len();
            for (&id, role) in self.ids[range.clone()].iter().zip(&self.roles[range]) {
                marks[id as usize] |= role.mark();
                groups.set(id / GROUP as u32);
            }
        }
        counters.entries += entered as u64;
        // Lists that are read anyway are read before candidates are listed, which leaves few.
        let mut longest = longest;
        let mut least = 1;
        while let Some((list, rest)) = longest.split_first()
            && is_read(list, entered)
        {
            self.mark_known(list, marks, counters);
            longest = rest;
            least += 1;
        }
        candidates.clear();
        groups.drain(|group| {
            let first = group as usize * GROUP;
            for (mark, id) in marks[first..first + GROUP].iter_mut().zip(first as u32..) {
                if *mark != 0 && keep(mark, least, needed, counters) {
                    candidates.push(id);
                }
            }
        });
        for list in longest {
            least += 1;
            self.filter(list, least, needed, marks, candidates, counters);
        }
        counters.candidates += candidates.len() as u64;
        for id in candidates.drain(..) {
            // Nothing is ruled out, and all predicates hold.
            marks[id as usize] = 0;
            found(id);
        }
        true
    }

    /// Reads a list for the ids that were found before.
    fn mark_known(&self, list: &Current, marks: &mut [u8], counters: &mut Counters) {
        let range = list.entry as usize..list.end as usize;
        counters.entries += range.len() as u64;
        for (&id, role) in self.ids[range.clone()].iter().zip(&self.roles[range]) {
            let mark = &mut marks[id as usize];
            // Without a branch, which nobody could guess.
            *mark |= if *mark != 0 { role.mark() } else { 0 };
        }
    }

    /// Looks for the candidates in one of the longest lists, and gives up those that have fewer than `least`
    /// predicates behind it.
    fn filter(
        &self,
        list: &Current,
        least: u8,
        needed: usize,
        marks: &mut [u8],
        candidates: &mut Vec<u32>,
        counters: &mut Counters,
    ) {
        if is_read(list, candidates.len()) {
            self.mark_known(list, marks, counters);
            candidates.retain(|&id| keep(&mut marks[id as usize], least, needed, counters));
            return;
        }
        let range = list.entry as usize..list.end as usize;
        let (ids, roles) = (&self.ids[range.clone()], &self.roles[range]);
        let mut at = 0;
        candidates.retain(|&id| {
            let (skipped, read) = gallop(&ids[at..], id);
            counters.entries += read as u64;
            at += skipped;
            let mark = &mut marks[id as usize];
            if ids.get(at) == Some(&id) {
                *mark |= roles[at].mark();
            }
            keep(mark, least, needed, counters)
        });
    }
}

/// Whether reading a list takes no longer than searching it for so many ids: a search looks at about two entries
/// per doubling of the way, each of which may be a miss.
fn is_read(list: &Current, ids: usize) -> bool {
    let length = (list.end - list.entry) as usize;
    let doublings = (length / ids.max(1)).max(1).ilog2() as usize + 1;
    4 * doublings * ids >= length
}

/// Whether an id with this mark may still have all its predicates; if not, the mark is cleared.
#[inline]
fn keep(mark: &mut u8, least: u8, needed: usize, counters: &mut Counters) -> bool {
    if COUNTS[*mark as usize] >= least {
        return true;
    }
    if *mark >= RULED_OUT {
        // It was in enough lists, and is rejected.
        counters.candidates += u64::from(mark.count_ones() as usize >= needed.max(2));
    }
    *mark = 0;
    false
}
