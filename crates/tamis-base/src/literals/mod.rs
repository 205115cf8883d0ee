//! Which of many literals does a text start with, end with, or contain?
//!
//! One pass over the text finds all of them, however many there are: a trie for those at the start, a trie of
//! reversed literals for those at the end, and Aho-Corasick automata for those anywhere.
//!
//! Literals anywhere of at least four bytes have automata of their own, which rarely run: one for those of at least
//! eight bytes, one for shorter ones. A Bloom filter decides for each position whether some literal may begin with
//! the next four or eight bytes; only there the trie below the automaton is followed. Most positions of most texts
//! cost one read of one word. If following tries takes too many steps, as in a text of one repeated letter, the
//! automaton runs over the text instead, so the work is always linear.
//!
//! All tries of a set of literals share one column of words, with a root for each group of literals
//! (an attribute) and each anchor. The column is mapped from a file as it was built.
//!
//! A reference to a state is its position and its form. States are stored in preorder, so the
//! only child of a state is the next state and needs no reference; most states of a large set are like that and take
//! eight bytes:
//!
//! ```text
//! literals "abc", "abd", "bc"      position, form and what stands there behind the failure link
//!
//!         (2)                       2  FEW   output 0, 2 labels "ab", children 8 20
//!       a/   \b                     8  ONE   label b, the child is a FEW
//!      (8)   (20)                  10  FEW   output 0, 2 labels "cd", children 16 18; fails to 20
//!      b|     |c                   16  LEAF  output 1; fails to 22       next: abc -> bc
//!     (10)   (22)                  18  LEAF  output 2
//!     c/ \d                        20  ONE   label c, the child is a LEAF
//!   (16) (18)                      22  LEAF  output 3
//! ```
//!
//! States with many children have a row of references instead, one for each class of bytes that the trie
//! distinguishes. In an automaton the rows are resolved: they also contain the states that failure links lead to, so
//! most steps are one read. A literal that is a suffix of another, like `bc` of `abc`, is reported with it: `next`
//! chains every literal to the longest other literal that is its suffix.
//!
//! Reads are checked. In a damaged file, wrong literals may be found; nothing panics or loops.

mod build;
#[cfg(test)]
mod tests;

pub use build::LiteralsBuilder;

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

/// Where in a text a literal must occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// At its end.
    End,
    /// Anywhere in it.
    Anywhere,
}

/// The tries of a group: one per anchor, and one per minimum length of literals anywhere.
const TRIES: usize = 5;
const LONG: usize = 3;
const LONGER: usize = 4;
/// The number of first bytes of such a literal that are looked up in the filter.
const GRAM: usize = 4;
const LONGER_GRAM: usize = 8;
/// Following tries may take this many steps per byte of text, plus some, before the automaton runs.
const STEPS: usize = 4;

/// The number of a literal.
pub type LiteralId = u32;

/// The form of a state: the low bits of a reference. Every state begins with the failure link.
const LEAF: u32 = 0; // output
const ONE: u32 = 1; // the label and, above it, the low bits of the reference to the child
const FEW: u32 = 2; // output, count, labels, children
const ROW: u32 = 3; // output, a child for each class
const FORM: u32 = 3;
/// Whether some literal ends at the state, which then has the literal plus one as output.
const OUTPUT: u32 = 1 << 2;
/// In a row's reference: whether failure links lead there, and not the label of a child.
const RESOLVED: u32 = 1 << 3;
const FLAGS: u32 = FORM | OUTPUT;
/// The most children of a state.
const MOST_CHILDREN: usize = 256;
const POSITION: u32 = 4;
/// The maximum number of words of states, and of literals.
pub const MOST_WORDS: usize = 1 << (32 - POSITION);

/// An immutable set of literals in groups.
#[derive(Debug, Default)]
pub struct Literals {
    /// For every trie of every group, its root, or 0, and its number.
    roots: Column<u32>,
    /// For both kinds of long literals of every group: where the words of their filter begin, and by how much a hash
    /// is shifted to get a position among them.
    filters: Column<u32>,
    bits: Column<u64>,
    /// For every trie, the class of each byte.
    classes: Column<u8>,
    words: Column<u32>,
    /// For every literal, the longest other literal that is its suffix, plus one; 0 if there is none.
    next: Column<u32>,
}

/// The classes of bytes that a trie distinguishes.
type Classes = [u8; 256];

impl Literals {
    /// How many literals there are.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// Whether the group has a literal.
    #[inline]
    pub fn has(&self, group: u32) -> bool {
        (0..TRIES).any(|trie| self.trie(group, trie).is_some())
    }

    /// The root of a trie and its classes.
    #[inline]
    fn trie(&self, group: u32, trie: usize) -> Option<(u32, &Classes)> {
        let place = 2 * (TRIES * group as usize + trie);
        let &[root, number] = self.roots.get(place..place + 2)? else { return None };
        let classes = self.classes.get(256 * number as usize..256 * (number as usize + 1))?;
        if root == 0 { None } else { Some((root, classes.try_into().ok()?)) }
    }

    /// Reports the literals of a group that occur in the text where they must, each at least once, and whether a
    /// literal may be reported again (those at an end of the text are not). `report` returns whether the literal is
    /// new for this text; its suffixes are reported only then, so the work is linear in the text plus the literals
    /// found.
    pub fn find(&self, group: u32, text: &[u8], mut report: impl FnMut(LiteralId, bool) -> bool) {
        if let Some((root, classes)) = self.trie(group, Anchor::Start as usize) {
            self.walk(root, classes, text.iter(), &mut report);
        }
        if let Some((root, classes)) = self.trie(group, Anchor::End as usize) {
            self.walk(root, classes, text.iter().rev(), &mut report);
        }
        if let Some((root, classes)) = self.trie(group, Anchor::Anywhere as usize) {
            self.pass(root, classes, text, &mut report);
        }
        if let Some((root, classes)) = self.trie(group, LONG)
            && !self.probe::<GRAM>(2 * group as usize, root, classes, text, &mut report)
        {
            self.pass(root, classes, text, &mut report);
        }
        if let Some((root, classes)) = self.trie(group, LONGER)
            && !self.probe::<LONGER_GRAM>(2 * group as usize + 1, root, classes, text, &mut report)
        {
            self.pass(root, classes, text, &mut report);
        }
    }

    /// Follows the trie of long literals from each position where the filter says that one may begin. Gives up, and
    /// returns false, if that would not stay linear in the text.
    fn probe<const BYTES: usize>(
        &self,
        filter: usize,
        root: u32,
        classes: &Classes,
        text: &[u8],
        report: &mut impl FnMut(LiteralId, bool) -> bool,
    ) -> bool {
        let Some(&[start, shift]) = self.filters.get(2 * filter..2 * filter + 2) else { return false };
        let Some(bits) = self.bits.get(start as usize..) else { return false };
        let mut steps = STEPS * text.len() + 64;
        for (begin, gram) in text.windows(BYTES).enumerate() {
            let (word, mask) = place::<BYTES>(gram, shift);
            if bits.get(word).is_none_or(|word| word & mask != mask) {
                continue;
            }
            let mut state = root;
            for &byte in &text[begin..] {
                state = self.child(state, byte, classes);
                if state == 0 || state & RESOLVED != 0 {
                    break;
                }
                // Literals that are suffixes of this one would be found where they begin. But if this gives up before, the
                // automaton reports them only with a literal that is new for the text.
                self.report(state, report);
                if steps == 0 {
                    return false;
                }
                steps -= 1;
            }
        }
        true
    }

    /// Follows a trie along a text, from its root until it ends.
    fn walk<'t>(
        &self,
        root: u32,
        classes: &Classes,
        text: impl Iterator<Item = &'t u8>,
        report: &mut impl FnMut(LiteralId, bool) -> bool,
    ) {
        let mut state = root;
        self.report_one(state, report);
        for &byte in text {
            state = self.child(state, byte, classes);
            if state == 0 {
                return;
            }
            self.report_one(state, report);
        }
    }

    /// Runs an automaton over a text.
    fn pass(
        &self,
        root: u32,
        classes: &Classes,
        text: &[u8],
        report: &mut impl FnMut(LiteralId, bool) -> bool,
    ) {
        let mut state = root;
        // A failure link leads to a shallower state. A damaged file must not cause an endless loop.
        let mut depth = 0usize;
        for &byte in text {
            loop {
                let child = self.child(state, byte, classes);
                if child != 0 {
                    state = child & !RESOLVED;
                    depth += 1;
                    break;
                }
                if state == root {
                    break;
                }
                state = if depth > 0 { self.word((state >> POSITION) as usize) } else { root };
                depth = depth.saturating_sub(1);
            }
            self.report(state, report);
        }
    }

    #[inline(always)]
    fn word(&self, position: usize) -> u32 {
        self.words.get(position).copied().unwrap_or(0)
    }

    /// The next state on a byte; 0 if there is none.
    #[inline(always)]
    fn child(&self, state: u32, byte: u8, classes: &Classes) -> u32 {
        let position = (state >> POSITION) as usize;
        match state & FORM {
            ROW => self.word(position + 2 + usize::from(classes[usize::from(byte)])),
            ONE => {
                let word = self.word(position + 1);
                let child = (position as u32 + 2) << POSITION | (word >> 8 & FLAGS);
                if word as u8 == byte { child } else { 0 }
            }
            FEW => {
                let Some([count, labelled @ ..]) = self.words.get(position + 2..) else { return 0 };
                // In a damaged file, it may be anything; every byte of a text reads so many labels.
                let count = (*count as usize).min(MOST_CHILDREN);
                let Some((labels, children)) = labelled.split_at_checked(count.div_ceil(4)) else { return 0 };
                let labels: &[u8] = bytemuck::cast_slice(labels);
                let place = labels.iter().take(count).position(|&label| label == byte);
                place.and_then(|place| children.get(place)).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Reports the literal that ends at a state, which is not reported again.
    #[inline(always)]
    fn report_one(&self, state: u32, report: &mut impl FnMut(LiteralId, bool) -> bool) {
        if state & OUTPUT == 0 {
            return;
        }
        let literal = self.word((state >> POSITION) as usize + 1);
        if literal != 0 && literal as usize <= self.next.len() {
            report(literal - 1, false);
        }
    }

    /// Reports the literal that ends at a state, and its suffixes.
    #[inline(always)]
    fn report(&self, state: u32, report: &mut impl FnMut(LiteralId, bool) -> bool) {
        if state & OUTPUT == 0 {
            return;
        }
        let mut literal = self.word((state >> POSITION) as usize + 1);
        while literal != 0 && literal as usize <= self.next.len() && report(literal - 1, true) {
            literal = self.next[literal as usize - 1];
        }
    }

    /// Bytes of memory, or of a file.
    pub fn bytes(&self) -> usize {
        4 * (self.roots.len() + self.filters.len() + self.words.len() + self.next.len())
            + 8 * self.bits.len()
            + self.classes.len()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.roots);
        sections.push(&self.classes);
        sections.push(&self.filters);
        sections.push(&self.bits);
        sections.push(&self.words);
        sections.push(&self.next);
    }

    /// Reads what [`write`](Literals::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<Literals> {
        Ok(Literals {
            roots: reader.next()?,
            classes: reader.next()?,
            filters: reader.next()?,
            bits: reader.next()?,
            words: reader.next()?,
            next: reader.next()?,
        })
    }
}

/// The word of a filter that the first bytes of a literal map to, and their bits in it.
#[inline(always)]
fn place<const BYTES: usize>(gram: &[u8], shift: u32) -> (usize, u64) {
    let mut bytes = [0; 8];
    if let Some(gram) = gram.get(..BYTES) {
        bytes[..BYTES].copy_from_slice(gram);
    }
    let hash = u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = hash ^ hash >> 29;
    // A shift by 64 or more is not defined: a filter of one word has a shift of 63, and the top bit is dropped.
    ((hash >> 1 >> (shift & 63)) as usize, 1 << (bits & 63) | 1 << (bits >> 6 & 63))
}
