//! Which ids have all their predicates among the lists of an event, all of them at once?
//!
//! An id that must be in K of L lists is in at least one of the L - K + 1 shortest, so only those are read. Every
//! entry sets one bit of its id: the number of its predicate, or that a negated one holds. The K - 1 longest lists
//! are searched for the ids that were found, the shortest list first: after each, ids that lack one predicate too
//! many are dropped. (Li, Lu and Lu 2008, "Efficient merging and filtering algorithms for approximate string
//! searches", call it DivideSkip.) If there are many ids and a list is not much longer, it is read instead of
//! searched.
//!
//! A departure from Whang et al. 2009, whose Alg. 1 (`walk`) merges all lists in the order of their ids. On
//! their workload, with lists of 91 keys, that takes a turn of the heap for nearly every entry. Ranking and
//! cursors still need the order.

use super::Postings;
use super::walk::{Current, PostingScratch, Walk};
use tamis::matcher::Counters;
use tamis::matcher::extend::OrderedSet;
use tamis::matcher::extend::csr::gallop;

/// The largest size that is gathered: an id has one byte, and one bit of it is for negated predicates.
const LARGEST: usize = 7;

/// That a negated predicate holds.
const RULED_OUT: u8 = 1 << 7;

/// Ids whose bytes are adjacent.
const GROUP: usize = 8;

/// Working memory of [`Postings::gather`].
#[derive(Debug, Default)]
pub(crate) struct GatherScratch {
    /// By id: the predicates that hold, one bit each, and [`RULED_OUT`]. All zero between uses.
    marks: Vec<u8>,
    /// The groups of ids whose bytes may not be zero.
    groups: OrderedSet,
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
            // Nothing is ruled out, and all predicates hold.
            marks[id as usize] = 0;
            found(id);
        }
        true
    }

    /// Searches one of the longest lists for the candidates, and drops those that then have fewer than `least`
    /// predicates.
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
        // A search reads about two entries per doubling of the distance, each of which may be a cache miss.
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

/// Whether an id with this mark may still have all its predicates; if not, the mark is cleared.
#[inline]
fn keep(mark: &mut u8, least: u32, needed: usize, counters: &mut Counters) -> bool {
    if *mark < RULED_OUT && mark.count_ones() >= least {
        return true;
    }
    // It was in enough lists, and is rejected.
    counters.candidates += u64::from(mark.count_ones() as usize >= needed.max(2));
    *mark = 0;
    false
}
