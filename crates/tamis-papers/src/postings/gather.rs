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
//! A departure from Whang et al. 2009, whose Alg. 1 (`walk`) merges all lists in id order. On their
//! workload, with lists of 91 keys, that takes one heap operation for nearly every entry. Ranking
//! and cursors still need the order.

use super::Postings;
use super::walk::{Current, PostingScratch, Walk};
use tamis::matcher::Counters;
use tamis::matcher::extend::OrderedSet;
use tamis::matcher::extend::csr::gallop;

/// The largest size that can be gathered: an id has one byte, of which one bit is for negated
/// predicates.
const LARGEST: usize = 7;

/// Flags that a negated predicate holds.
const RULED_OUT: u8 = 1 << 7;

/// Ids per group. Only groups with nonzero bytes are visited.
const GROUP: usize = 8;

/// Working memory of [`Postings::gather`].
#[derive(Debug, Default)]
pub(crate) struct GatherScratch {
    /// By id: the predicates that hold, one bit each, and [`RULED_OUT`]. All zero between uses.
    marks: Vec<u8>,
    /// The groups of ids whose bytes may be nonzero.
    groups: OrderedSet,
    /// The ids that may still have all their predicates, ascending.
    candidates: Vec<u32>,
}

impl Postings {
    /// Calls `found` with every id of a size, below `ids`, whose predicates all hold, ascending.
    /// Returns false, and does nothing, if the size is too large.
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
        groups.grow(room / GROUP);
        for list in shortest {
            let range = list.entry as usize..list.end as usize;
            counters.entries += range.len() as u64;
            for (&id, role) in self.ids[range.clone()].iter().zip(&self.roles[range]) {
                marks[id as usize] |= role.mark();
                groups.insert(id / GROUP as u32);
            }
        }
        candidates.clear();
        groups.drain(|group| {
            let first = group as usize * GROUP;
            for (mark, id) in marks[first..first + GROUP].iter_mut().zip(first as u32..) {
                if *mark != 0 && keep(mark, 1, needed, counters) {
                    candidates.push(id);
                }
            }
        });
        for (list, least) in longest.iter().zip(2..) {
            self.filter(list, least, needed, marks, candidates, counters);
        }
        counters.candidates += candidates.len() as u64;
        for id in candidates.drain(..) {
            // No negated predicate holds, and all others do.
            marks[id as usize] = 0;
            found(id);
        }
        true
    }

    /// Searches one of the longest lists for the candidates, and drops those that then have fewer
    /// than `least` predicates.
    fn filter(
        &self,
        list: &Current,
        least: u32,
        needed: usize,
        marks: &mut [u8],
        candidates: &mut Vec<u32>,
        counters: &mut Counters,
    ) {
        let range = list.entry as usize..list.end as usize;
        let (ids, roles) = (&self.ids[range.clone()], &self.roles[range]);
        // A search reads about two entries per doubling of the distance, each possibly a cache
        // miss.
        let doublings = (ids.len() / candidates.len().max(1)).max(1).ilog2() as usize + 1;
        if 4 * doublings * candidates.len() >= ids.len() {
            counters.entries += ids.len() as u64;
            for (&id, role) in ids.iter().zip(roles) {
                let mark = &mut marks[id as usize];
                if *mark != 0 {
                    *mark |= role.mark();
                }
            }
            candidates.retain(|&id| keep(&mut marks[id as usize], least, needed, counters));
            return;
        }
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

/// Whether an id with this mark may still have all its predicates. If not, clears the mark.
#[inline]
fn keep(mark: &mut u8, least: u32, needed: usize, counters: &mut Counters) -> bool {
    if *mark < RULED_OUT && mark.count_ones() >= least {
        return true;
    }
    // Count it as a candidate if it was in enough lists and is rejected here.
    counters.candidates += u64::from(mark.count_ones() as usize >= needed.max(2));
    *mark = 0;
    false
}
