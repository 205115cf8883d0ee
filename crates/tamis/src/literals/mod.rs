//! Which of many literals begin a text, end it, or stand anywhere in it?
//!
//! One pass over the text finds all of them, however many there are: a trie for those at the start, a
//! trie of reversed literals for those at the end, and an Aho-Corasick automaton for those anywhere.
//! All tries of a set of literals share one array of states, with a root for each group of literals
//! (an attribute) and each anchor. Everything is columns of numbers, mapped from a file as it was built.
//!
//! A state takes eight bytes, a word and a failure link. States are numbered in preorder, so the only
//! child of a state is the next state and needs no link; most states of a large set are like that:
//!
//! ```text
//! literals "abc", "abd", "bc"      states                      branches
//!
//!         (1)                      1  FEW  record 0            0: output 0, 2 labels "ab", children 2 6
//!       a/   \b                    2  ONE  label b             5: output 0, 2 labels "cd", children 4 5
//!      (2)   (6)                   3  FEW  record 5, fail 6
//!      b|     |c                   4  LEAF literal 1, fail 7   next: abc -> bc
//!      (3)   (7)                   5  LEAF literal 2
//!     c/ \d                        6  ONE  label c
//!    (4) (5)                       7  LEAF literal 3
//! ```
//!
//! States with many children have a row of 256 links instead of labels. In an automaton the rows are
//! resolved: they also have the states that failure links lead to, so most steps of a pass are one read.
//! A literal that ends inside of another, like `bc` in `abc`, is reported with it: `next` chains every
//! literal to the longest other literal that it ends with.

mod build;
#[cfg(test)]
mod tests;

pub(crate) use build::LiteralsBuilder;

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

/// Where a literal must stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// At its end.
    End,
    /// Anywhere in it.
    Anywhere,
}

const ANCHORS: usize = 3;

/// The number of a literal.
pub(crate) type LiteralId = u32;

/// The kind of a state: the low bits of its word.
const LEAF: u32 = 0; // a literal plus one, or 0
const ONE: u32 = 1; // a label, whose child is the next state
const FEW: u32 = 2; // a record: output, count, labels, children
const ROW: u32 = 3; // a record: output, 256 children
const KIND: u32 = 3;
/// Whether some literal ends at a state; its record has the literal plus one.
const OUTPUT: u32 = 1 << 2;
const PAYLOAD: u32 = 3;
/// The most records, in words, and literals that fit a state's word.
pub(crate) const MOST_WORDS: usize = 1 << (32 - PAYLOAD);

#[derive(Debug, Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct State {
    word: u32,
    fail: u32,
}

/// An immutable set of literals in groups.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    /// For every group and anchor the root of its trie, or 0.
    roots: Column<u32>,
    states: Column<State>,
    branches: Column<u32>,
    /// For every literal the longest other literal that it ends with, plus one; 0 if there is none.
    next: Column<u32>,
}

impl Literals {
    /// How many literals there are.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// Whether the group has a literal.
    pub fn has(&self, group: u32) -> bool {
        self.roots_of(group).iter().any(|&root| root != 0)
    }

    fn roots_of(&self, group: u32) -> &[u32] {
        let first = ANCHORS * group as usize;
        self.roots.get(first..first + ANCHORS).unwrap_or_default()
    }

    /// Reports the literals of a group that the text holds where they must stand, each at least once.
    /// `report` tells whether the literal is new for this text: those it ends with are reported only then,
    /// so the work is linear in the text plus the literals found.
    pub fn find(&self, group: u32, text: &[u8], mut report: impl FnMut(LiteralId) -> bool) {
        let &[start, end, anywhere] = self.roots_of(group) else { return };
        if start != 0 {
            self.walk(start, text.iter().copied(), &mut report);
        }
        if end != 0 {
            self.walk(end, text.iter().rev().copied(), &mut report);
        }
        if anywhere != 0 {
            self.pass(anywhere, text, &mut report);
        }
    }

    /// Follows a trie along a text, from its root to where it ends.
    fn walk(&self, root: u32, text: impl Iterator<Item = u8>, report: &mut impl FnMut(LiteralId) -> bool) {
        let mut state = root;
        let mut word = self.states[state as usize].word;
        self.report(word, report);
        for byte in text {
            state = self.child(state, word, byte);
            if state == 0 {
                return;
            }
            word = self.states[state as usize].word;
            self.report(word, report);
        }
    }

    /// Passes an automaton over a text.
    fn pass(&self, root: u32, text: &[u8], report: &mut impl FnMut(LiteralId) -> bool) {
        let states = &self.states[..];
        let mut state = root;
        let mut word = states[state as usize].word;
        // A failure link leads to a state that is less deep. A damaged file must not lead in circles.
        let mut depth = 0usize;
        for &byte in text {
            loop {
                let child = self.child(state, word, byte);
                if child != 0 {
                    state = child;
                    depth += 1;
                    break;
                }
                if state == root {
                    break;
                }
                state = if depth > 0 { states[state as usize].fail } else { root };
                depth = depth.saturating_sub(1);
                word = states[state as usize].word;
            }
            word = states[state as usize].word;
            self.report(word, report);
        }
    }

    /// The state that a byte leads to, 0 if there is none.
    #[inline(always)]
    fn child(&self, state: u32, word: u32, byte: u8) -> u32 {
        let payload = (word >> PAYLOAD) as usize;
        match word & KIND {
            ONE if payload as u8 == byte => state + 1,
            ROW => self.branches[payload + 1 + usize::from(byte)],
            FEW => {
                let record = &self.branches[payload + 1..];
                let count = record[0] as usize;
                let words = count.div_ceil(4);
                let labels: &[u8] = bytemuck::cast_slice(&record[1..1 + words]);
                match labels[..count].iter().position(|&label| label == byte) {
                    Some(position) => record[1 + words + position],
                    None => 0,
                }
            }
            _ => 0,
        }
    }

    #[inline(always)]
    fn report(&self, word: u32, report: &mut impl FnMut(LiteralId) -> bool) {
        if word & OUTPUT == 0 {
            return;
        }
        let payload = word >> PAYLOAD;
        let mut literal = if word & KIND == LEAF { payload } else { self.branches[payload as usize] };
        while literal != 0 && report(literal - 1) {
            literal = self.next[literal as usize - 1];
        }
    }

    pub fn bytes(&self) -> usize {
        4 * (self.roots.len() + self.branches.len() + self.next.len())
            + size_of::<State>() * self.states.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.roots);
        sections.push(&self.states);
        sections.push(&self.branches);
        sections.push(&self.next);
    }

    /// Finds literals in a file.
    pub fn read(reader: &mut SectionReader) -> Result<Literals> {
        Ok(Literals {
            roots: reader.next()?,
            states: reader.next()?,
            branches: reader.next()?,
            next: reader.next()?,
        })
    }

    /// Whether every link leads to something.
    pub fn is_sound(&self) -> bool {
        let (states, literals) = (self.states.len() as u32, self.next.len() as u32);
        let are_states = |links: &[u32]| links.iter().all(|&link| link < states.max(1));
        let is_whole = |(position, state): (usize, &State)| {
            let payload = state.word >> PAYLOAD;
            let record = payload as usize;
            let whole = match state.word & KIND {
                LEAF => payload <= literals,
                ONE => position + 1 < self.states.len() && state.word & OUTPUT == 0,
                FEW => self.branches.get(record..).is_some_and(|record| match record {
                    [output, count, rest @ ..] => {
                        let (count, words) = (*count as usize, count.div_ceil(4) as usize);
                        let children = rest.get(words..words.saturating_add(count));
                        *output <= literals && children.is_some_and(are_states)
                    }
                    _ => false,
                }),
                _ => self
                    .branches
                    .get(record..record + 257)
                    .is_some_and(|record| record[0] <= literals && are_states(&record[1..])),
            };
            whole && state.fail < states
        };
        self.roots.len().is_multiple_of(ANCHORS)
            && are_states(&self.roots)
            && self.next.iter().all(|&next| next <= literals)
            && self.states.iter().enumerate().all(is_whole)
    }
}
