//! Is the content of a file a valid matcher?
//!
//! A file may be damaged or forged. Everything that matching follows is checked once, in time linear in the file:
//! positions are in range, no program loops or nests too deeply for the stack, and nothing is done more often than an
//! event requires. Matching relies on this.
//!
//! A forged file may still give wrong results. It cannot make matching fail, loop or use memory without bound.

use super::build::MOST_DEPTH;
use super::columns::entry_list::{Candidate, NO_RESIDUAL, is_whole};
use super::columns::opcodes::{
    ANY, BITS, JUMP, KEYS, KIND, LAST, NODE, PATTERN, PRESENCE, RANGE, SET, key_count,
};
use super::{Compiled, first_slot};
use crate::csr::is_ascending;

/// More nesting and continuation than residuals of a compiled expression can have: two for each of its
/// levels, and one more for each conjunction.
const MOST_NESTED: u8 = 250;

impl Compiled {
    /// Fails if the columns are not those of a matcher, and says which.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.check_counts()?;
        let (attributes, keys) = (self.names.len(), self.keys.len() as u32);
        let whole = self.keys.is_whole(attributes)
            && self.bounds.is_whole(attributes)
            && self.bits.are_of((0..=attributes as u32).map(|attribute| {
                let of = self.keys.of(attribute);
                (of.start, of.len() as u32, self.bounds.ranks(attribute))
            }));
        if !whole {
            return Err("the tested values are damaged");
        }
        let sets = self.sets.len() as u32;
        if !self.stabbing.is_whole(attributes) {
            return Err("the ranges are damaged");
        }
        let lists = self.sets.are_whole(sets as usize, |&key| key < keys)
            && self.key_sets.are_whole(keys as usize, |&set| set < sets)
            && self.deep.iter().all(|&slot| u64::from(slot) < self.counts[0]);
        if !lists {
            return Err("a list is damaged");
        }
        if !self.patterns.are_whole(attributes) {
            return Err("the patterns are damaged");
        }
        let residuals = Residuals::new(self)?;
        self.check_runs(&residuals)
    }

    /// All counts must agree with the columns.
    fn check_counts(&self) -> Result<(), &'static str> {
        let [slots, sets, patterns, attributes, always, nodes, ..] = *self.counts else {
            return Err("the counts are incomplete");
        };
        if self.counts.iter().take(6).any(|&count| count > u64::from(u32::MAX)) {
            return Err("the counts are too large");
        }
        let set_count = (self.sets.starts.len() as u64).checked_sub(1);
        let numbers = [
            Some(self.keys.len() as u64),
            set_count.map(|count| sets + count + self.stabbing.len() as u64),
            Some(patterns + self.patterns.len() as u64),
            Some(attributes + self.names.len() as u64 + 1),
            Some(always + 1),
            Some(self.starts.len() as u64),
        ];
        let expected = [sets, patterns, attributes, always, nodes, nodes + u64::from(self.nodes()) + 1];
        // No level is empty, and there are no more of them than expressions can have.
        let levels = self.levels.first() == Some(&0)
            && self.levels.is_sorted_by(|one, other| one < other)
            && self.level_count() <= MOST_DEPTH as usize + 1;
        let targets = u64::from(self.nodes()) + u64::from(u64::BITS) + slots;
        let right = levels && targets <= u64::from(u32::MAX) && numbers == expected.map(Some);
        if right { Ok(()) } else { Err("the counts are wrong") }
    }

    fn check_runs(&self, residuals: &Residuals<'_>) -> Result<(), &'static str> {
        let damaged = Err("an entry list is damaged");
        if !is_ascending(&self.starts, self.entry_lists.len()) {
            return damaged;
        }
        let (words, nodes) = (self.bits.words(), self.nodes());
        let first_slot = first_slot(&self.levels);
        let slots = first_slot..first_slot + self.counts[0] as u32;
        let first_node = self.triggers()[4];
        for (bounds, trigger) in self.starts.windows(2).zip(0u32..) {
            let list = &self.entry_lists[bounds[0] as usize..bounds[1] as usize];
            // The entries of a node may only make nodes of higher levels true.
            let least = match trigger.checked_sub(first_node) {
                Some(node) => self.levels[self.level_of(node) + 1],
                None => 0,
            };
            let leads_on = |Candidate { residual, target }: Candidate| {
                ((least..nodes).contains(&target) || slots.contains(&target))
                    && (residual == NO_RESIDUAL || residuals.is_start(residual))
            };
            if !list.is_empty() && !is_whole(list, words, leads_on) {
                return damaged;
            }
        }
        Ok(())
    }
}

/// The residuals of a program, in the order in which they are stored.
struct Residuals<'a> {
    compiled: &'a Compiled,
    program: &'a [u32],
    /// For every word at which a residual begins, its nesting depth plus one; 0 elsewhere.
    depths: Vec<u8>,
    /// For every set, its least and its greatest key, unless it is empty.
    set_keys: Vec<Option<(u32, u32)>>,
}

impl<'a> Residuals<'a> {
    /// Goes over all residuals in turn. A residual may continue only at an earlier one, so there are no loops.
    fn new(compiled: &'a Compiled) -> Result<Residuals<'a>, &'static str> {
        let program = &compiled.program[..];
        let set_keys = (0..compiled.sets.len() as u32).map(|set| {
            let keys = compiled.sets.get(set).iter().copied();
            keys.clone().min().zip(keys.max())
        });
        let set_keys = set_keys.collect();
        let mut residuals = Residuals { compiled, program, depths: vec![0; program.len()], set_keys };
        let mut start = 0;
        while start < program.len() {
            let (depth, end) = residuals.residual(start, true, 0).ok_or("a program is damaged")?;
            residuals.depths[start] = depth + 1;
            start = end;
        }
        Ok(residuals)
    }

    fn is_start(&self, residual: u32) -> bool {
        self.depths.get(residual as usize).is_some_and(|&depth| depth > 0)
    }

    /// The depth of the residual at `start`, and where it ends; `None` if it is damaged. A residual inside another one
    /// does not continue elsewhere.
    fn residual(&self, start: usize, outer: bool, nesting: u8) -> Option<(u8, usize)> {
        let Compiled { names, patterns, keys, bits, .. } = self.compiled;
        let (mut at, mut deepest) = (start, 0u8);
        if nesting >= MOST_NESTED {
            return None;
        }
        loop {
            let head = *self.program.get(at)?;
            let attribute = head >> 10;
            if attribute as usize > names.len() {
                return None;
            }
            let arguments = self.program.get(at + 1..)?;
            let below =
                |argument: usize, most: usize| ((*arguments.get(argument)? as usize) < most).then_some(());
            let length = match head & KIND {
                BITS => {
                    below(0, bits.words())?;
                    arguments.get(..3)?.len()
                }
                KEYS => {
                    let asked = arguments.get(..key_count(head))?;
                    let of = keys.of(attribute);
                    asked.iter().all(|key| of.contains(key)).then_some(asked.len())?
                }
                SET => {
                    let (set, of) = (*arguments.first()? as usize, keys.of(attribute));
                    let ends = self.set_keys.get(set)?;
                    ends.is_none_or(|(least, most)| of.contains(&least) && of.contains(&most)).then_some(1)?
                }
                RANGE => arguments.get(..2)?.len(),
                PATTERN => {
                    below(0, patterns.len())?;
                    (patterns.attribute(arguments[0]) == attribute).then_some(1)?
                }
                PRESENCE => 0,
                NODE => {
                    below(0, self.compiled.nodes() as usize)?;
                    1
                }
                ANY => {
                    let [count, words] = *arguments.first_chunk::<2>()?;
                    let (begin, end) = (at + 3, at.checked_add(3)?.checked_add(words as usize)?);
                    let mut residual = begin;
                    for _ in 0..count {
                        let length = *self.program.get(residual)? as usize;
                        let (depth, end_of_residual) = self.residual(residual + 1, false, nesting + 1)?;
                        if end_of_residual != residual + 1 + length || end_of_residual > end {
                            return None;
                        }
                        deepest = deepest.max(depth.checked_add(1)?);
                        residual = end_of_residual;
                    }
                    (residual == end).then_some(end - at - 1)?
                }
                JUMP if outer => {
                    let target = *arguments.first()? as usize;
                    let depth =
                        self.depths.get(target).copied().filter(|&depth| depth > 0 && target < start)?;
                    // What was stored is its depth plus one.
                    return (deepest.max(depth) < MOST_NESTED).then_some((deepest.max(depth), at + 2));
                }
                _ => return None,
            };
            at += 1 + length;
            if head & LAST != 0 {
                return (deepest < MOST_NESTED).then_some((deepest, at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Attributes;
    use crate::expression::parse;
    use crate::limits::Limits;
    use crate::truth::Missing;

    #[test]
    fn a_set_with_a_value_of_another_attribute_is_refused() {
        let attributes = Attributes::default();
        let many = (0..100).step_by(6).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let mut texts = vec![format!("a = 1 and c = 1 and b in ({many})")];
        texts.extend((0..100).map(|number| format!("a = {} or b = {number}", number % 5)));
        let parsed: Vec<_> = texts.iter().map(|text| parse(text, &Limits::none()).unwrap()).collect();
        let mut compiled = Compiled::new(&parsed, &attributes, Missing::Unknown, &[]).unwrap();
        assert_eq!(compiled.validate(), Ok(()));
        let mut items = compiled.sets.items.to_vec();
        items[0] = compiled.keys.of(1).start;
        compiled.sets.items = items.into();
        assert_eq!(compiled.validate(), Err("a program is damaged"));
    }

    #[test]
    fn what_is_compiled_is_a_matcher() {
        let attributes = Attributes::default();
        let many = (0..40).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let deep = |depth: usize| {
            let open = "(x = 1 and (y = 2 or ".repeat(depth);
            format!("{open}z = 3{}", "))".repeat(depth))
        };
        let mut texts = vec![
            "true".to_owned(),
            "false".to_owned(),
            format!("a in ({many}) and not b in ({many}) or c = 'a text longer than eight bytes'"),
            "a > 3 and b between 1 and 2.5 and (c like '%x%' or d matches '^a+$')".into(),
            "(a = 1 xor b = 'x') and missing(c) and not d is null".into(),
            "(a = 1 xor b = 'x') or exists(c)".into(),
            deep(10),
            deep(31),
            deep(40),
        ];
        texts.extend((0..300).map(|n| format!("a = {n} and b != {} and (c = 1 xor d = {})", n % 9, n % 4)));
        let parsed: Vec<_> = texts.iter().map(|text| parse(text, &Limits::none()).unwrap()).collect();
        for missing in [Missing::Unknown, Missing::False] {
            for part in [&parsed[..], &parsed[..1], &[]] {
                let compiled = Compiled::new(part, &attributes, missing, &[]).unwrap();
                assert_eq!(compiled.validate(), Ok(()));
            }
        }
    }
}
