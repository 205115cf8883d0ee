//! How is what was compiled laid out, so that matching reads consecutive words?
//!
//! Triggers of all kinds are numbered consecutively, their entries sorted together, and every relation becomes a list
//! of starts and a list of items.

use super::super::choice::Choice;
use super::super::columns::entry_list::{EntryListWriter, NO_RESIDUAL, PendingEntry};
use super::super::columns::opcodes::kind_of_check;
use super::super::columns::ranges::Stabbing;
use super::super::{Compiled, first_slot};
use super::ir::SubexpressionId;
use super::lower::{Lowering, Trigger};
use crate::csr::{self, Lists};
use crate::matcher::{Scan, Slot};

/// So many expressions are read ahead.
const READ_AHEAD: usize = 16;

/// Everything there is, before it is laid out.
struct Lowered {
    lowering: Lowering,
    /// The number of expressions.
    slots: usize,
    deep: Vec<Slot>,
    scan: Scan,
}

impl Lowering {
    /// Enters every expression and lays out what there is.
    pub fn finish(
        mut self,
        roots: &[SubexpressionId],
        deep: Vec<Slot>,
        scan: Scan,
        local: Vec<u32>,
    ) -> Compiled {
        for (subexpression, node) in std::mem::take(&mut self.node_subexpressions).into_iter().zip(0..) {
            self.enter_children(subexpression, NO_RESIDUAL, node);
        }
        let first_slot = first_slot(&self.levels);
        // Expressions with the same trigger are compiled one after the other, so that their residuals are read
        // consecutively.
        let mut order: Vec<Slot> =
            (0..roots.len() as Slot).filter(|&slot| roots[slot as usize] != SubexpressionId::MAX).collect();
        order.sort_by_cached_key(|&slot| self.likeliest_trigger(roots[slot as usize]));
        // The parts of these are far from each other.
        for slots in order.chunks(READ_AHEAD) {
            self.prefetch(slots.iter().map(|&slot| roots[slot as usize]));
            for &slot in slots {
                self.enter(roots[slot as usize], NO_RESIDUAL, first_slot + slot);
            }
        }
        Lowered { lowering: self, slots: roots.len(), deep, scan }.lay_out(local)
    }
}

impl Lowered {
    /// Lays it out; `local` has the number here of each attribute of the index.
    fn lay_out(self, local: Vec<u32>) -> Compiled {
        let Lowered { mut lowering, slots, deep, scan } = self;
        let (stats, attribute_predicates) = std::mem::take(&mut lowering.stats);
        let (intervals, range_numbers) = std::mem::take(&mut lowering.intervals).in_order();
        let Lowering { ir, keys, sets, .. } = &lowering;
        let count = ir.names().len();
        let unselective = lowering.count_unselective();
        let mut triggers = 0;
        let mut section = |size: usize| {
            let start = triggers;
            triggers += size as u32;
            start
        };
        section(keys.len());
        let set_triggers = section(sets.keys.len());
        let range_triggers = section(intervals.len());
        let pattern_triggers = section(ir.patterns.len());
        let attribute_triggers = section(count + 1);
        let always = section(1);
        let node_triggers = section(*lowering.levels.last().unwrap_or(&0) as usize);
        let number = |trigger: Trigger| match trigger {
            Trigger::Key(key) => key,
            Trigger::Set(set) => set_triggers + set,
            Trigger::Range(range) => range_triggers + range_numbers[range as usize],
            Trigger::Pattern(pattern) => pattern_triggers + pattern,
            Trigger::Attribute(attribute) => attribute_triggers + attribute,
            Trigger::Always => always,
            Trigger::Node(node) => node_triggers + node,
        };
        // By trigger and, within one, by first test: entries that are skipped together are adjacent, and so are
        // entries decided by the same values, so that branches are predicted well.
        let (mut pending, firsts) = by_trigger(&lowering.entries, triggers as usize, number);
        let (mut starts, mut entry_lists) = (Vec::with_capacity(triggers as usize + 1), Vec::new());
        let first_check = |residual: u32| kind_of_check(lowering.program[residual as usize]);
        let mut writer = EntryListWriter::default();
        for of_trigger in firsts.windows(2) {
            starts.push(entry_lists.len() as u32);
            let list = &mut pending[of_trigger[0] as usize..of_trigger[1] as usize];
            list.sort_by_key(|pending| pending.tests);
            writer.write(list, first_check, &mut entry_lists);
        }
        starts.push(entry_lists.len() as u32);

        let mut key_sets: Vec<(u32, u32)> = Vec::new();
        for (set, keys) in sets.keys.iter().enumerate().filter(|(set, _)| sets.entered[*set]) {
            key_sets.extend(keys.iter().map(|&key| (key, set as u32)));
        }
        let key_sets = Lists::of_pairs(keys.len(), key_sets);
        let sets = Lists::new(&sets.keys);
        let stabbing = Stabbing::new(&intervals, count);
        let triggers = [set_triggers, pattern_triggers, attribute_triggers, always, node_triggers];
        let figures = stats.into_iter().chain([
            lowering.patterns.unfiltered() as u64,
            unselective,
            lowering.sampled as u64,
        ]);
        let counts = [slots as u64].into_iter().chain(triggers.map(u64::from)).chain(figures);
        Compiled {
            missing: lowering.missing,
            counts: counts.collect(),
            attribute_predicates: attribute_predicates.into(),
            names: ir.names().iter().map(|name| name.as_bytes()).collect(),
            attributes: local,
            patterns: lowering.patterns,
            starts: starts.into(),
            entry_lists: entry_lists.into(),
            bits: lowering.bits,
            key_sets,
            sets,
            stabbing,
            levels: lowering.levels.into(),
            deep: deep.into(),
            scan,
            keys: lowering.keys,
            bounds: lowering.bounds,
            program: lowering.program.into(),
            choice: Choice::default(),
        }
    }
}

/// Entries in the order of their triggers, as `number` numbers these, and where the entries of each begin. Entries
/// with the same trigger stay in their order.
fn by_trigger(
    entries: &[(Trigger, PendingEntry)],
    triggers: usize,
    number: impl Fn(Trigger) -> u32,
) -> (Vec<PendingEntry>, Vec<u32>) {
    let firsts = csr::starts(triggers, entries.iter().map(|&(trigger, _)| number(trigger)));
    let mut next = firsts.clone();
    let mut ordered = vec![PendingEntry::new(NO_RESIDUAL, 0); entries.len()];
    for &(trigger, pending) in entries {
        let place = &mut next[number(trigger) as usize];
        ordered[*place as usize] = pending;
        *place += 1;
    }
    (ordered, firsts)
}
