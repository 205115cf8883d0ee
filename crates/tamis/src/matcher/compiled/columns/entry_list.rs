//! How are the entries of a trigger stored, and how are they read?
//!
//! The entries of one trigger are stored contiguously, as an entry list of words. For an entry without tests and
//! checks, the list has only the target, and for one that is only checked, the residual and the target. The others
//! form groups: a group holds the entries whose first bit test reads the same word of the event, with their combined
//! mask: if the word has none of its bits, the whole group is skipped. The lowest bits of a list's first word say
//! what it contains:
//!
//! ```text
//! TARGETS   the number of targets                      targets
//! GROUPS    the number of groups                       groups, masks, entries
//! MIXED     the number of groups, then two words:      targets, checked, groups, masks, entries
//!           the number of targets and of the checked
//! ```
//!
//! Groups of several entries come before those of one. The masks are those of the first bit tests of the former, in
//! the order of the groups; the one mask of the latter is the group's. The entries of the groups are stored in the
//! opposite order of the groups, so that they are found from the end of the list without reading the groups between.
//!
//! Entry lists are read in stages. Each stage is a loop over everything that passed the one before; its steps do not
//! depend on each other and hardly branch, so many reads are in flight at once, and little has to be predicted.

use std::ops::Range;

use super::bits::BitTest;
use crate::matcher::Counters;

/// Entries that pass their first bit test are processed further this many at a time.
const BATCH: usize = 1024;

/// No residual: nothing remains to be checked.
pub(in crate::matcher::compiled) const NO_RESIDUAL: u32 = u32::MAX;

/// Words of a cache line.
const LINE: u32 = 16;

/// The content of a list: the lowest bits of its first word.
const GROUPS: u32 = 0;
const TARGETS: u32 = 1;
const MIXED: u32 = 2;
const CONTENT: u32 = 3;
const CONTENT_BITS: u32 = CONTENT.count_ones();
/// The most that the rest of the first word counts.
const MOST_COUNTED: usize = (u32::MAX >> CONTENT_BITS) as usize;

/// Entries of a trigger whose first bit test reads the same word.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Group {
    word: u32,
    /// How many entries of the list come before the end of the group.
    end: u32,
    /// The combined mask of its entries.
    any: Mask,
}

/// The first bit test's mask, in halves.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::matcher::compiled) struct Mask([u32; 2]);

impl Mask {
    fn halves(mask: u64) -> Mask {
        Mask([mask as u32, (mask >> 32) as u32])
    }

    pub fn whole(self) -> u64 {
        let Mask([low, high]) = self;
        u64::from(low) | u64::from(high) << 32
    }
}

/// What is stored of an entry in a group besides the mask of its first bit test.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::matcher::compiled) struct Entry {
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
pub(in crate::matcher::compiled) struct Candidate {
    /// The checks that remain to be made.
    pub residual: u32,
    /// The slot or node that is then true.
    pub target: u32,
}

/// An entry that is to be written.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct PendingEntry {
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
const ENTRY: usize = size_of::<Entry>() / 4;
const CANDIDATE: usize = size_of::<Candidate>() / 4;

/// Writes entry lists; kept for its memory.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct EntryListWriter {
    targets: Vec<u32>,
    checked: Vec<Candidate>,
    grouped: Vec<PendingEntry>,
    /// The entries of each group.
    members: Vec<Range<usize>>,
    groups: Vec<Group>,
    masks: Vec<Mask>,
}

impl EntryListWriter {
    /// Appends the entry list of a trigger, unless it is empty. The entries are sorted by their tests; those that are
    /// only checked are sorted here by what their residual checks first, as `first_check` says, so that equal kinds of
    /// checks follow one another and the branches between kinds are predicted.
    pub fn write(&mut self, pending: &[PendingEntry], first_check: impl Fn(u32) -> u32, list: &mut Vec<u32>) {
        let EntryListWriter { targets, checked, grouped, members, groups, masks } = self;
        targets.clear();
        checked.clear();
        grouped.clear();
        members.clear();
        groups.clear();
        masks.clear();
        for pending in pending {
            match *pending {
                PendingEntry { tests, .. } if tests != [BitTest::NONE; 2] => grouped.push(*pending),
                PendingEntry { residual: NO_RESIDUAL, target, .. } => targets.push(target),
                PendingEntry { residual, target, .. } => checked.push(Candidate { residual, target }),
            }
        }
        checked.sort_by_key(|&Candidate { residual, .. }| (first_check(residual), residual));
        let mut end = 0;
        members.extend(grouped.chunk_by(|one, other| one.tests[0].word == other.tests[0].word).map(
            |group| {
                end += group.len();
                end - group.len()..end
            },
        ));
        members.sort_by_key(|members| members.len() == 1);
        let mut end = 0;
        for members in members.iter().map(|members| &grouped[members.clone()]) {
            end += members.len() as u32;
            let any = members.iter().fold(0, |any, pending| any | pending.tests[0].mask);
            groups.push(Group { word: members[0].tests[0].word, end, any: Mask::halves(any) });
            if members.len() > 1 {
                masks.extend(members.iter().map(|pending| Mask::halves(pending.tests[0].mask)));
            }
        }
        // Nodes come before slots.
        targets.sort_unstable();
        targets.dedup();
        let header = |count: usize, content: u32| (count as u32) << CONTENT_BITS | content;
        match (targets.len(), checked.len(), groups.len()) {
            (0, 0, 0) => return,
            (0, 0, groups) => list.push(header(groups, GROUPS)),
            (targets, 0, 0) if targets <= MOST_COUNTED => list.push(header(targets, TARGETS)),
            (targets, checked, groups) => {
                list.extend([header(groups, MIXED), targets as u32, checked as u32]);
            }
        }
        list.extend_from_slice(targets);
        list.extend_from_slice(bytemuck::cast_slice(checked));
        list.extend_from_slice(bytemuck::cast_slice(groups));
        list.extend_from_slice(bytemuck::cast_slice(masks));
        for pending in members.iter().rev().flat_map(|members| &grouped[members.clone()]) {
            let PendingEntry { tests: [_, BitTest { word, mask, .. }], residual, target } = *pending;
            let entry = Entry { mask: Mask::halves(mask), word, candidate: Candidate { residual, target } };
            list.extend_from_slice(bytemuck::cast_slice(&[entry]));
        }
    }
}

/// Where the targets, checked entries, groups and masks of an entry list begin.
#[derive(Debug, Clone, Copy)]
struct ListOffsets {
    targets: usize,
    checked: usize,
    groups: usize,
    masks: usize,
}

impl ListOffsets {
    /// Those of a list that is not empty. They may be out of range if it was not validated.
    #[inline]
    fn of(list: &[u32]) -> ListOffsets {
        let count = (list[0] >> CONTENT_BITS) as usize;
        match list[0] & CONTENT {
            TARGETS => ListOffsets { targets: 1, checked: 1 + count, groups: 1 + count, masks: 1 + count },
            MIXED if list.len() >= 3 => {
                let checked = 3 + list[1] as usize;
                let groups = checked + CANDIDATE * list[2] as usize;
                ListOffsets { targets: 3, checked, groups, masks: groups + GROUP * count }
            }
            _ => ListOffsets { targets: 1, checked: 1, groups: 1, masks: 1 + GROUP * count },
        }
    }
}

/// Whether a non-empty entry list is well formed, every test reads one of this many words, and every entry has a
/// target.
pub(in crate::matcher::compiled) fn is_whole(
    list: &[u32],
    words: usize,
    leads_on: impl Fn(Candidate) -> bool,
) -> bool {
    let sections = ListOffsets::of(list);
    let known = match list[0] & CONTENT {
        GROUPS | TARGETS => list[0] >> CONTENT_BITS > 0,
        MIXED => list.len() >= 3,
        _ => false,
    };
    if !known || sections.masks > list.len() {
        return false;
    }
    let groups: &[Group] = bytemuck::cast_slice(&list[sections.groups..sections.masks]);
    let (mut count, mut masks) = (0, 0usize);
    for group in groups {
        if group.end <= count || group.word as usize >= words {
            return false;
        }
        if group.end - count > 1 {
            // All groups before it have masks, too.
            if masks != count as usize {
                return false;
            }
            masks = group.end as usize;
        }
        count = group.end;
    }
    let entries = ENTRY * count as usize;
    if list.len() != sections.masks + MASK * masks + entries {
        return false;
    }
    let EntryList { targets, checked, .. } = EntryList::of(list);
    let entries: &[Entry] = bytemuck::cast_slice(&list[list.len() - entries..]);
    targets.iter().all(|&target| leads_on(Candidate { residual: NO_RESIDUAL, target }))
        && checked.iter().all(|&candidate| leads_on(candidate))
        && entries.iter().all(|entry| (entry.word as usize) < words && leads_on(entry.candidate))
}

/// An entry list that is not empty.
pub(in crate::matcher::compiled) struct EntryList<'a> {
    /// The targets of the entries that are neither tested nor checked.
    pub targets: &'a [u32],
    /// The entries that are checked and not tested.
    pub checked: &'a [Candidate],
    groups: &'a [Group],
    /// The masks and entries of the groups.
    rest: &'a [u32],
}

impl<'a> EntryList<'a> {
    pub fn of(list: &'a [u32]) -> EntryList<'a> {
        let ListOffsets { targets, checked, groups, masks } = ListOffsets::of(list);
        EntryList {
            targets: &list[targets..checked],
            checked: bytemuck::cast_slice(&list[checked..groups]),
            groups: bytemuck::cast_slice(&list[groups..masks]),
            rest: &list[masks..],
        }
    }

    /// How many entries are tested.
    pub fn tested(&self) -> usize {
        self.groups.last().map_or(0, |group| group.end as usize)
    }

    /// The groups: the word of their first tests, the masks, and the entries.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &'a [Mask], &'a [Entry])> + use<'a> {
        let count = self.tested();
        let (masks, entries) = self.rest.split_at(self.rest.len() - ENTRY * count);
        let (masks, entries): (&[Mask], &[Entry]) =
            (bytemuck::cast_slice(masks), bytemuck::cast_slice(entries));
        let mut begin = 0;
        self.groups.iter().map(move |group| {
            let within = begin..group.end as usize;
            begin = within.end;
            let masks = match within.len() {
                1 => std::slice::from_ref(&group.any),
                _ => &masks[within.clone()],
            };
            (group.word, masks, &entries[count - within.end..count - within.start])
        })
    }
}

/// A group of several entries whose word has something of their masks.
#[derive(Debug, Clone, Copy, Default)]
struct OpenGroup {
    word: u64,
    /// Where its masks and entries are, and how many there are.
    masks: u32,
    entries: u32,
    count: u32,
}

/// What passed each stage so far.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Stages {
    ranges: Vec<(u32, u32)>,
    /// The positions of targets, and where they end.
    targets: Vec<(u32, u32)>,
    /// The positions of entries that are only checked, and where they end.
    checked: Vec<(u32, u32)>,
    /// The numbers of the groups of a list that are not skipped.
    open_groups: Vec<u32>,
    open: Vec<OpenGroup>,
    /// The positions of entries that are alone in a group which is not skipped: they passed their first test.
    single: Vec<u32>,
    /// The group to go on with, and how much of it is done.
    next: usize,
    done: u32,
    /// The positions of entries that passed their first test.
    passed: Vec<u32>,
    candidates: Vec<Candidate>,
    /// How many of `candidates` are in use.
    found: usize,
}

impl Stages {
    /// Begins with the entry lists at these ranges: finds their targets, and the groups that may have candidates.
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
        let first_lines = self.ranges.iter().map(|(start, _)| *start);
        let second_lines = self.ranges.iter().map(|(start, end)| start + LINE.min(end - start - 1));
        prefetch(entry_lists, first_lines);
        prefetch(entry_lists, second_lines);
        self.targets.clear();
        self.checked.clear();
        self.open.clear();
        self.single.clear();
        (self.next, self.done) = (0, 0);
        for &(start, end) in &self.ranges {
            let list = &entry_lists[start as usize..end as usize];
            let sections = ListOffsets::of(list);
            let at = |position: usize| start + position as u32;
            if sections.targets < sections.checked {
                self.targets.push((at(sections.targets), at(sections.checked)));
                let targets = (sections.checked - sections.targets) as u64;
                counters.entries += targets;
                counters.candidates += targets;
            }
            if sections.checked < sections.groups {
                self.checked.push((at(sections.checked), at(sections.groups)));
            }
            if sections.groups == sections.masks {
                continue;
            }
            let groups: &[Group] = bytemuck::cast_slice(&list[sections.groups..sections.masks]);
            if self.open_groups.len() < groups.len() {
                self.open_groups.resize(2 * groups.len(), 0);
            }
            let mut open = 0;
            for (group, number) in groups.iter().zip(0..) {
                self.open_groups[open] = number;
                open += usize::from(bits[group.word as usize] & group.any.whole() != 0);
            }
            for &number in &self.open_groups[..open] {
                let group = groups[number as usize];
                let begin = number.checked_sub(1).map_or(0, |before| groups[before as usize].end);
                let entries = end - ENTRY as u32 * group.end;
                match group.end - begin {
                    1 => self.single.push(entries),
                    count => self.open.push(OpenGroup {
                        word: bits[group.word as usize],
                        masks: at(sections.masks) + MASK as u32 * begin,
                        entries,
                        count,
                    }),
                }
            }
        }
    }

    /// The targets of the entries that are neither tested nor checked.
    pub fn targets<'a>(&'a self, entry_lists: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
        self.targets.iter().map(|&(start, end)| &entry_lists[start as usize..end as usize])
    }

    /// Finds the next entries that pass their bit tests; false if there are none left.
    pub fn pass(&mut self, entry_lists: &[u32], bits: &[u64], counters: &mut Counters) -> bool {
        if self.next >= self.open.len() && self.single.is_empty() && self.checked.is_empty() {
            return false;
        }
        self.passed.resize(BATCH, 0);
        self.candidates.resize(BATCH, Candidate::default());
        let mut candidates = self.take_checked(entry_lists);
        let room = BATCH - candidates;
        let rest = self.single.len().saturating_sub(room);
        let mut passed = self.single.len() - rest;
        self.passed[..passed].copy_from_slice(&self.single[rest..]);
        self.single.truncate(rest);
        let mut read = (candidates + passed) as u64;
        while let Some(open) = self.open.get(self.next) {
            let count = (open.count - self.done).min((room - passed) as u32);
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
            if passed == room {
                break;
            }
        }
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

    /// Makes candidates of entries that are only checked; returns how many.
    fn take_checked(&mut self, entry_lists: &[u32]) -> usize {
        let mut candidates = 0;
        while let Some((start, end)) = self.checked.last_mut() {
            let count = ((*end - *start) as usize / CANDIDATE).min(BATCH - candidates);
            let next = *start as usize + CANDIDATE * count;
            let checked = bytemuck::cast_slice(&entry_lists[*start as usize..next]);
            self.candidates[candidates..candidates + count].copy_from_slice(checked);
            candidates += count;
            *start = next as u32;
            if *start < *end {
                break;
            }
            self.checked.pop();
        }
        candidates
    }

    /// The entries found by [`Stages::pass`].
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates[..self.found]
    }
}

/// Reads words that will be needed, so that the cache misses overlap.
pub(in crate::matcher::compiled) fn prefetch(words: &[u32], positions: impl Iterator<Item = u32>) {
    let read = positions.filter_map(|position| words.get(position as usize));
    std::hint::black_box(read.fold(0, |sum, word| sum ^ word));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: usize = 5;

    fn test() -> impl Strategy<Value = BitTest> {
        (0..WORDS as u32, 1..16u64).prop_map(|(word, mask)| match word {
            0 => BitTest::NONE,
            _ => BitTest { word, mask, exact: true },
        })
    }

    fn pending() -> impl Strategy<Value = PendingEntry> {
        let residual = prop_oneof![Just(NO_RESIDUAL), 0..9u32];
        (test(), test(), residual, 0..40u32).prop_map(|(first, second, residual, target)| {
            let tests = if first == BitTest::NONE { [first; 2] } else { [first, second] };
            PendingEntry { tests, residual, target }
        })
    }

    fn write(mut pending: Vec<PendingEntry>) -> Vec<u32> {
        pending.sort_by_key(|pending| pending.tests);
        let mut list = Vec::new();
        EntryListWriter::default().write(&pending, |residual| residual % 3, &mut list);
        list
    }

    fn sorted(candidates: impl IntoIterator<Item = Candidate>) -> Vec<(u32, u32)> {
        let mut pairs: Vec<_> =
            candidates.into_iter().map(|candidate| (candidate.residual, candidate.target)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    proptest! {
        #[test]
        fn reading_finds_the_entries_that_pass(
            lists in prop::collection::vec(prop::collection::vec(pending(), 0..60), 1..4),
            event in prop::array::uniform4(0..16u64),
        ) {
            let mut bits = vec![u64::MAX];
            bits.extend(event);
            let passes = |test: &BitTest| bits[test.word as usize] & test.mask != 0;
            let expected = sorted(lists.iter().flatten().filter(|pending| pending.tests.iter().all(passes))
                .map(|pending| Candidate { residual: pending.residual, target: pending.target }));
            let (mut words, mut ranges) = (Vec::new(), Vec::new());
            for list in lists {
                let list = write(list);
                prop_assert!(list.is_empty() || is_whole(&list, WORDS, |_| true));
                ranges.push((words.len() as u32, (words.len() + list.len()) as u32));
                words.extend(list);
            }
            let target = |&target: &u32| Candidate { residual: NO_RESIDUAL, target };

            let (mut stages, mut counters) = (Stages::default(), Counters::default());
            stages.begin(ranges.iter().copied(), &words, &bits, &mut counters);
            let mut found: Vec<Candidate> = stages.targets(&words).flatten().map(target).collect();
            while stages.pass(&words, &bits, &mut counters) {
                found.extend(stages.candidates());
            }
            prop_assert_eq!(counters.candidates, found.len() as u64);
            prop_assert_eq!(sorted(found), &expected[..]);

            let mut found = Vec::new();
            for (start, end) in ranges.into_iter().filter(|(start, end)| start < end) {
                let list = EntryList::of(&words[start as usize..end as usize]);
                found.extend(list.targets.iter().map(target));
                found.extend(list.checked);
                for (word, masks, entries) in list.groups() {
                    for (mask, entry) in masks.iter().zip(entries) {
                        let (second, other) = entry.test();
                        let passed = bits[word as usize] & mask.whole() != 0 && bits[second as usize] & other != 0;
                        found.extend(passed.then_some(entry.candidate));
                    }
                }
            }
            prop_assert_eq!(sorted(found), expected);
        }

        #[test]
        fn what_is_no_list_is_refused(list in prop::collection::vec(0..12u32, 1..40)) {
            // Whatever is taken for a list can be read.
            if is_whole(&list, WORDS, |candidate| candidate.target < 9) {
                let all = EntryList::of(&list);
                prop_assert!(all.targets.iter().all(|&target| target < 9));
                let tested: usize = all.groups().map(|(_, masks, entries)| masks.len().min(entries.len())).sum();
                prop_assert_eq!(tested, all.tested());
            }
        }
    }

    #[test]
    fn groups_of_one_before_others_are_refused() {
        let on = |word: u32, target: u32| PendingEntry {
            tests: [BitTest { word, mask: 1, exact: true }, BitTest::NONE],
            residual: NO_RESIDUAL,
            target,
        };
        let mut list = write(vec![on(1, 0), on(2, 1), on(2, 2)]);
        assert!(is_whole(&list, WORDS, |_| true));
        // The group of two has ended before the second of its entries.
        assert_eq!((list[2], list[2 + GROUP]), (2, 3));
        list[2] = 1;
        assert!(!is_whole(&list, WORDS, |_| true));
    }
}
