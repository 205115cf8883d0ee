//! How is a check of a residual encoded?
//!
//! A check is a head word followed by its arguments. The head contains the kind of check, whether it is negated, whether
//! it is the last of its residual, a small count and the attribute.

/// The kind of a check: the lowest bits of its head.
pub(in crate::matcher::compiled) const KEYS: u32 = 0; // count keys follow
pub(in crate::matcher::compiled) const SET: u32 = 1; // a set follows
pub(in crate::matcher::compiled) const RANGE: u32 = 2; // the first and last rank follow
pub(in crate::matcher::compiled) const PATTERN: u32 = 3; // a pattern follows
pub(in crate::matcher::compiled) const PRESENCE: u32 = 4; // count 0: exists, 1: is null
pub(in crate::matcher::compiled) const NODE: u32 = 5; // a node follows
pub(in crate::matcher::compiled) const ANY: u32 = 6; // the number of alternatives and the words they take, then each with its length; count 1: some ask for nodes
pub(in crate::matcher::compiled) const JUMP: u32 = 7; // a residual goes on elsewhere
pub(in crate::matcher::compiled) const BITS: u32 = 8; // a word and the halves of its mask follow: an exact test

pub(in crate::matcher::compiled) const KIND: u32 = 15;
pub(in crate::matcher::compiled) const NEGATED: u32 = 1 << 4;
pub(in crate::matcher::compiled) const LAST: u32 = 1 << 5;
/// The maximum number of keys in a check; more become a set.
pub(in crate::matcher::compiled) const MOST_KEYS: usize = 15;
/// The largest attribute number that fits into a head.
pub(in crate::matcher::compiled) const MOST_ATTRIBUTES: usize = (1 << 22) - 1;

/// The head of a check.
#[inline]
pub(in crate::matcher::compiled) fn head(kind: u32, negated: bool, count: usize, attribute: u32) -> u32 {
    kind | if negated { NEGATED } else { 0 } | (count as u32) << 6 | attribute << 10
}

/// The kind of a check, whether it is negated, and whether it is the last of its residual.
pub(in crate::matcher::compiled) fn kind_of_check(head: u32) -> u32 {
    head & (KIND | NEGATED | LAST)
}

/// How many keys follow a head.
#[inline]
pub(in crate::matcher::compiled) fn key_count(head: u32) -> usize {
    (head >> 6 & 15) as usize
}

/// Marks the check with its head at `position` as the last of its residual.
pub(in crate::matcher::compiled) fn end_residual(program: &mut [u32], position: usize) {
    program[position] |= LAST;
}
