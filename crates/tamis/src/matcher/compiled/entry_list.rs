//! How are the entries of a trigger stored, and how are they read?
//!
//! The entries of one trigger are stored contiguously, as an entry list of words: the number of groups; the groups;
//! the masks of the first bit tests of all entries, except of those alone in their group; the entries. A
//! group holds the entries whose first bit test looks at the same word of the event, and knows what their
//! masks have together: where the word has nothing of that, none of them is looked at.
//!
//! Entry lists are read in stages, each a loop over all that passed the one before, whose steps do not
//! depend on each other and hardly branch: many reads are under way at once, and the processor has
//! little to guess.

use super::bits::BitTest;
use crate::matcher::Counters;

/// Entries that pass their first bit test are taken further so many at a time.
const BATCH: usize = 1024;

/// Entries of a trigger whose first bit test looks at the same word.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Group {
    word: u32,
    /// How many entries of the list come before the end of the group.
    end: u32,
    /// What the masks of its entries have together.
    any: Mask,
}

/// The first bit test's mask, in halves.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Mask([u32; 2]);

impl Mask {
    fn halves(mask: u64) -> Mask {
        Mask([mask as u32, (mask >> 32) as u32])
    }

    pub fn whole(self) -> u64 {
        let Mask([low, high]) = self;
        u64::from(low) | u64::from(high) << 32
    }
}

/// What follows when a trigger is true and the first bit test passes.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    /// The second bit test.
    mask: Mask,
    word: u32,
    pub candidate: Candidate,
}

impl Entry {
    /// The word and the mask of the second bit test.
    pub fn test(&self) -> (u32, u64) {
        (self.word, self.mask.whole())
    }
}

/// An entry that passes its bit tests.
#[derive(Debug, Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Candidate {
    /// The checks that remain to be made.
    pub residual: u32,
    /// The slot or node that is then true.
    pub target: u32,
}

/// What follows when a trigger is true.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingEntry {
    /// The bit tests that come first.
    pub tests: [BitTest; 2],
    /// The checks that remain to be made.
    pub residual: u32,
    /// The slot or node that is then true.
    pub target: u32,
}

impl PendingEntry {
    pub fn new(residual: u32, target: u32) -> PendingEntry {
        PendingEntry { tests: [BitTest::NONE; 2], residual, target }
    }
}

const GROUP: usize = size_of::<Group>() / 4;
const MASK: usize = size_of::<Mask>() / 4;
const ANY: u32 = (std::mem::offset_of!(Group, any) / 4) as u32;
const ENTRY: usize = size_of::<Entry>() / 4;

/// Appends the entry list of a trigger, unless it is empty. The entries are sorted by their tests.
pub(super) fn write_entry_list<'a>(
    pending: impl ExactSizeIterator<Item = &'a PendingEntry> + Clone,
    list: &mut Vec<u32>,
) {
    let (mut groups, mut begin): (Vec<Group>, u32) = (Vec::new(), 0);
    let mut masks: Vec<Mask> = Vec::new();
    for (pending, end) in pending.clone().zip(1..) {
        let BitTest { word, mask, .. } = pending.tests[0];
        let mask = Mask::halves(mask);
        match groups.last_mut() {
            Some(group) if group.word == word => {
                if end - begin == 2 {
                    masks.push(group.any);
                }
                masks.push(mask);
                group.end = end;
                group.any = Mask::halves(group.any.whole() | mask.whole());
            }
            _ => {
                begin = end - 1;
                groups.push(Group { word, end, any: mask });
            }
        }
    }
    if groups.is_empty() {
        return;
    }
    list.push(groups.len() as u32);
    list.extend_from_slice(bytemuck::cast_slice(&groups));
    list.extend_from_slice(bytemuck::cast_slice(&masks));
    for &PendingEntry { tests: [_, BitTest { word, mask, .. }], residual, target } in pending {
        let entry = Entry { mask: Mask::halves(mask), word, candidate: Candidate { residual, target } };
        list.extend_from_slice(bytemuck::cast_slice(&[entry]));
    }
}

/// Whether an entry list that is not empty is well-formed, every test looks at one of so many words, and every entry
/// leads on.
pub(super) fn is_whole(list: &[u32], words: usize, leads_on: impl Fn(Candidate) -> bool) -> bool {
    let groups = list.get(1..).and_then(|rest| rest.get(..GROUP.checked_mul(list[0] as usize)?));
    let Some(groups) = groups else { return false };
    let groups: &[Group] = bytemuck::cast_slice(groups);
    let (mut count, mut masks) = (0, 0usize);
    for group in groups {
        if group.end <= count || group.word as usize >= words {
            return false;
        }
        let entries = (group.end - count) as usize;
        masks += if entries > 1 { entries } else { 0 };
        count = group.end;
    }
    let entries = ENTRY * count as usize;
    if count == 0 || list.len() != 1 + GROUP * groups.len() + MASK * masks + entries {
        return false;
    }
    let entries: &[Entry] = bytemuck::cast_slice(&list[list.len() - entries..]);
    entries.iter().all(|entry| (entry.word as usize) < words && leads_on(entry.candidate))
}

/// How many entries a list has that is not empty.
pub(super) fn count_entries(list: &[u32]) -> u32 {
    list[2 + GROUP * (list[0] as usize - 1)]
}

/// The groups of a list that is not empty: the word of their first tests, the masks, and the entries.
pub(super) fn groups(list: &[u32]) -> impl Iterator<Item = (u32, &[Mask], &[Entry])> {
    let (groups, rest) = list[1..].split_at(GROUP * list[0] as usize);
    let groups: &[Group] = bytemuck::cast_slice(groups);
    let count = groups.last().map_or(0, |group| group.end as usize);
    let (masks, entries) = rest.split_at(rest.len() - ENTRY * count);
    let (mut masks, entries): (&[Mask], &[Entry]) =
        (bytemuck::cast_slice(masks), bytemuck::cast_slice(entries));
    let mut begin = 0;
    groups.iter().map(move |group| {
        let within = begin..group.end as usize;
        begin = within.end;
        let mut own = std::slice::from_ref(&group.any);
        if within.len() > 1 {
            (own, masks) = masks.split_at(within.len());
        }
        (group.word, own, &entries[within])
    })
}

/// A group whose word has something of its masks.
#[derive(Debug, Clone, Copy, Default)]
struct OpenGroup {
    word: u64,
    /// Where its masks and entries stand, and how many there are.
    masks: u32,
    entries: u32,
    count: u32,
}

/// What passed each stage so far.
#[derive(Debug, Default)]
pub(super) struct Stages {
    ranges: Vec<(u32, u32)>,
    open: Vec<OpenGroup>,
    /// How many of `open`, and below of `candidates`, are in use.
    groups: usize,
    /// The group to go on with, and how much of it is done.
    next: usize,
    done: u32,
    /// Where entries stand that passed their first test.
    passed: Vec<u32>,
    candidates: Vec<Candidate>,
    found: usize,
}

impl Stages {
    /// Begins with the entry lists at these ranges, and finds the groups that may have candidates.
    pub fn begin(
        &mut self,
        ranges: impl Iterator<Item = (u32, u32)>,
        entry_lists: &[u32],
        bits: &[u64],
        counters: &mut Counters,
    ) {
        self.ranges.clear();
        self.ranges.extend(ranges.filter(|(start, end)| start < end));
        counters.lists += self.ranges.len() as u64;
        prefetch(entry_lists, self.ranges.iter().map(|(start, _)| *start));
        (self.next, self.done) = (0, 0);
        let mut length = 0;
        for &(start, end) in &self.ranges {
            let list = &entry_lists[start as usize..end as usize];
            let groups: &[Group] = bytemuck::cast_slice(&list[1..1 + GROUP * list[0] as usize]);
            let entries = groups.last().map_or(0, |group| group.end);
            let mut masks = start + 1 + (GROUP * groups.len()) as u32;
            let mut rest = end.wrapping_sub(entries.wrapping_mul(ENTRY as u32));
            if self.open.len() < length + groups.len() {
                self.open.resize(2 * (length + groups.len()), OpenGroup::default());
            }
            let mut begin = 0;
            for (group, position) in groups.iter().zip((start + 1..).step_by(GROUP)) {
                let word = bits[group.word as usize];
                let count = group.end - begin;
                // What one entry tests is what all of its group test.
                let own = position + ANY;
                self.open[length] =
                    OpenGroup { word, masks: if count == 1 { own } else { masks }, entries: rest, count };
                length += usize::from(word & group.any.whole() != 0);
                masks += if count == 1 { 0 } else { MASK as u32 * count };
                rest += ENTRY as u32 * count;
                begin = group.end;
            }
        }
        self.groups = length;
    }

    /// Finds the next entries that pass their bit tests; false where there are none left.
    pub fn pass(&mut self, entry_lists: &[u32], bits: &[u64], counters: &mut Counters) -> bool {
        if self.next >= self.groups {
            return false;
        }
        self.passed.resize(BATCH, 0);
        self.candidates.resize(BATCH, Candidate::default());
        let (mut read, mut passed) = (0, 0);
        while let Some(open) = self.open[..self.groups].get(self.next) {
            let count = (open.count - self.done).min((BATCH - passed) as u32);
            let first = (open.masks + MASK as u32 * self.done) as usize;
            let masks: &[Mask] = bytemuck::cast_slice(&entry_lists[first..first + MASK * count as usize]);
            let mut entry = open.entries + ENTRY as u32 * self.done;
            for &mask in masks {
                self.passed[passed] = entry;
                passed += usize::from(mask.whole() & open.word != 0);
                entry += ENTRY as u32;
            }
            read += u64::from(count);
            self.done += count;
            if self.done < open.count {
                break;
            }
            (self.next, self.done) = (self.next + 1, 0);
            if passed == BATCH {
                break;
            }
        }
        let mut candidates = 0;
        for &position in &self.passed[..passed] {
            let position = position as usize;
            let entry: &Entry =
                bytemuck::from_bytes(bytemuck::cast_slice(&entry_lists[position..position + ENTRY]));
            self.candidates[candidates] = entry.candidate;
            candidates += usize::from(bits[entry.word as usize] & entry.mask.whole() != 0);
        }
        counters.entries += read;
        counters.candidates += candidates as u64;
        self.found = candidates;
        true
    }

    /// The entries found by [`Stages::pass`].
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates[..self.found]
    }
}

/// Reads words that will be needed, so that their reads do not wait for each other.
pub(super) fn prefetch(words: &[u32], positions: impl Iterator<Item = u32>) {
    let read = positions.filter_map(|position| words.get(position as usize));
    std::hint::black_box(read.fold(0, |sum, word| sum ^ word));
}
