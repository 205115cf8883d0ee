//! Which targets does an event reach from the triggers that are true?
//!
//! The entries of true triggers are read, first those of predicates, then those of nodes, level by level.

use super::super::Compiled;
use super::super::columns::entry_list::{Candidate, NO_RESIDUAL, Stages, prefetch};
use super::program::{Context, Outcome, evaluate};
use super::scratch::CompiledScratch;
use crate::event::Event;
use crate::truth::Missing;

/// The entry lists of this many triggers are read together.
const LISTS: usize = 256;

impl Compiled {
    /// Looks at the entries of all triggers that are true: first those of predicates, then those of nodes, level by
    /// level. A level is settled once all entries below it have been read; its nodes that were not reached are false.
    pub(in crate::matcher::compiled) fn follow_all(&self, event: &Event, working: &mut CompiledScratch) {
        self.follow(event, 0, working);
        for level in 0..self.level_count() {
            if working.timer.is_late() {
                return;
            }
            self.check_deferred(event, level, working);
            let (nodes, first) = (self.levels[level]..self.levels[level + 1], self.triggers()[4]);
            let CompiledScratch { reached, triggers, .. } = &mut *working;
            reached.for_each(nodes, |node| triggers.push(first + node));
            working.counters.nodes += working.triggers.len() as u64;
            self.follow(event, level + 1, working);
        }
        self.check_deferred(event, self.level_count(), working);
    }

    /// Looks at the entries of the triggers at hand. `settled` is the number of levels that are settled.
    fn follow(&self, event: &Event, settled: usize, working: &mut CompiledScratch) {
        let mut stages = std::mem::take(&mut working.stages);
        let mut followed = std::mem::take(&mut working.triggers);
        for triggers in followed.chunks(LISTS) {
            let ranges = triggers.iter().map(|&trigger| {
                let trigger = trigger as usize;
                (self.starts[trigger], self.starts[trigger + 1])
            });
            stages.begin(ranges, &self.entry_lists, &working.bits, &mut working.counters);
            for targets in stages.targets(&self.entry_lists) {
                targets.iter().for_each(|&target| working.reached.insert(target));
                working.timer.spend(targets.len());
            }
            self.check_candidates(event, settled, &mut stages, working);
            if working.timer.is_late() {
                break;
            }
        }
        followed.clear();
        working.triggers = followed;
        working.stages = stages;
    }

    /// Checks the entries that pass their bit tests.
    fn check_candidates(
        &self,
        event: &Event,
        settled: usize,
        stages: &mut Stages,
        working: &mut CompiledScratch,
    ) {
        while stages.pass(&self.entry_lists, &working.bits, &mut working.counters) {
            prefetch(&self.program, stages.candidates().iter().map(|candidate| candidate.residual));
            let matching = Matching { compiled: self, event };
            for &Candidate { residual, target } in stages.candidates() {
                if residual == NO_RESIDUAL {
                    working.reached.insert(target);
                    continue;
                }
                match evaluate(&matching, &self.program, residual as usize, working) {
                    Outcome::True => working.reached.insert(target),
                    Outcome::False => {}
                    Outcome::Open(residual) => {
                        let level = self.level_of(target);
                        if level > settled {
                            working.deferred[level].push(Candidate { residual, target });
                        }
                    }
                }
                if working.timer.is_late() {
                    break;
                }
            }
            if working.timer.look() {
                return;
            }
        }
    }

    /// Checks the candidates for targets of a level whose residuals asked for nodes, now that all of these are settled.
    fn check_deferred(&self, event: &Event, level: usize, working: &mut CompiledScratch) {
        let mut deferred = std::mem::take(&mut working.deferred[level]);
        let matching = Matching { compiled: self, event };
        for &Candidate { residual, target } in &deferred {
            if evaluate(&matching, &self.program, residual as usize, working) == Outcome::True {
                working.reached.insert(target);
            }
            if working.timer.spend(1) {
                break;
            }
        }
        deferred.clear();
        working.deferred[level] = deferred;
    }

    /// The level of a target; that of slots comes after those of all nodes.
    #[inline]
    pub(in crate::matcher::compiled) fn level_of(&self, target: u32) -> usize {
        match target < self.nodes() {
            true => self.levels.iter().skip(1).take_while(|&&end| end <= target).count(),
            false => self.level_count(),
        }
    }
}

/// A compiled matcher at work on an event.
struct Matching<'a> {
    compiled: &'a Compiled,
    event: &'a Event,
}

impl Context for Matching<'_> {
    fn set(&self, set: u32) -> &[u32] {
        self.compiled.sets.get(set)
    }

    fn pattern(&self, pattern: u32, working: &mut CompiledScratch) -> bool {
        self.compiled.pattern_holds(pattern, self.event, working)
    }

    fn missing(&self) -> Missing {
        self.compiled.missing
    }

    fn has_key(&self, attribute: u32, key: u32, working: &CompiledScratch) -> bool {
        let (word, bit) = self.compiled.bits.key(attribute, key);
        working.bits[word as usize] & bit != 0
    }
}
