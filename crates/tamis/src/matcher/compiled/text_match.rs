//! Which patterns does an event, or each of a batch of events, satisfy?
//!
//! The texts of an event are searched before any trigger is followed. The result is recorded per pattern: a pattern
//! decided by literals is true; a possible one that is a trigger is tried at once; any other is tried when a
//! residual checks it, if one ever does.

use super::Compiled;
use super::batch::event_set::EventSet;
use super::batch::matching::BatchMatch;
use super::single::scratch::{CompiledScratch, Guess};
use crate::event::{Event, Presence};
use crate::truth::{Missing, Truth};
use crate::value::ValueRef;

/// Units of work that trying a pattern counts as, at least.
const TRIED: usize = 64;

/// Bytes of text searched per unit of work.
const SEARCHED: usize = 4;

/// The texts among an event's values of an attribute.
fn texts(event: &Event, global: u32) -> impl Iterator<Item = &str> {
    let values = match event.get(global) {
        Presence::Values(values) => Some(values),
        _ => None,
    };
    values.into_iter().flatten().filter_map(|value| match value {
        ValueRef::String(text) => Some(text),
        _ => None,
    })
}

impl Compiled {
    /// Whether some entry is indexed under a pattern.
    fn is_trigger(&self, pattern: u32) -> bool {
        let trigger = (self.triggers()[1] + pattern) as usize;
        self.starts[trigger] < self.starts[trigger + 1]
    }

    /// Finds the patterns of an attribute that the event satisfies, and adds them to the true triggers.
    pub(super) fn find_patterns(
        &self,
        attribute: u32,
        global: u32,
        event: &Event,
        working: &mut CompiledScratch,
    ) {
        let first = self.triggers()[1];
        if self.patterns.has_literals(attribute) {
            let mut scratch = std::mem::take(&mut working.texts);
            for text in texts(event, global) {
                if working.timer.spend(text.len() / SEARCHED) {
                    break;
                }
                self.patterns.find(attribute, text, &mut scratch);
                if working.timer.spend(scratch.decided.len() + scratch.possible.len()) {
                    break;
                }
                for &pattern in &scratch.decided {
                    if working.guess(pattern) != Some(Guess::True) {
                        working.note(pattern, Guess::True);
                        working.triggers.push(first + pattern);
                    }
                }
                for &pattern in &scratch.possible {
                    if working.guess(pattern) == Some(Guess::True) {
                        continue;
                    }
                    if !self.is_trigger(pattern) {
                        working.note(pattern, Guess::Possible);
                        continue;
                    }
                    working.counters.tried += 1;
                    if working.timer.spend(TRIED + text.len() / SEARCHED) {
                        break;
                    }
                    if self.patterns.get(pattern).1.holds(ValueRef::String(text)) {
                        working.note(pattern, Guess::True);
                        working.triggers.push(first + pattern);
                    } else {
                        working.note(pattern, Guess::False);
                    }
                }
            }
            working.texts = scratch;
        }
        for &pattern in self.patterns.unfiltered_of(attribute) {
            if working.timer.is_late() {
                return;
            }
            if self.is_trigger(pattern) && self.try_pattern(pattern, event, working) {
                working.triggers.push(first + pattern);
            }
        }
    }

    /// The truth of a pattern on an event whose texts have been searched.
    pub(super) fn pattern_holds(&self, pattern: u32, event: &Event, working: &mut CompiledScratch) -> bool {
        match working.guess(pattern) {
            Some(Guess::True) => true,
            Some(Guess::False) => false,
            Some(Guess::Possible) => self.try_pattern(pattern, event, working),
            None => self.patterns.is_unfiltered(pattern) && self.try_pattern(pattern, event, working),
        }
    }

    fn try_pattern(&self, pattern: u32, event: &Event, working: &mut CompiledScratch) -> bool {
        // A single pattern may take long, on a long text or a long list.
        if working.timer.look() {
            return false;
        }
        let (attribute, check) = self.patterns.get(pattern);
        let global = working.fields[attribute as usize].global;
        let truth = check.truth(event.get(global), Missing::False) == Truth::True;
        working.counters.tried += 1;
        working.note(pattern, if truth { Guess::True } else { Guess::False });
        truth
    }
}

impl BatchMatch<'_> {
    /// Finds the patterns that events satisfy, and follows them as triggers.
    pub(super) fn follow_patterns(&mut self) {
        let compiled = self.compiled;
        if compiled.patterns.len() == 0 {
            return;
        }
        let mut scratch = std::mem::take(&mut self.state.texts);
        for (lane, event) in self.events.iter().enumerate() {
            for (attribute, global, _) in compiled.known(event) {
                if !compiled.patterns.has_literals(attribute) {
                    continue;
                }
                for text in texts(event, global) {
                    if self.state.timer.spend(text.len() / SEARCHED) {
                        break;
                    }
                    compiled.patterns.find(attribute, text, &mut scratch);
                    if self.state.timer.spend(scratch.decided.len() + scratch.possible.len()) {
                        break;
                    }
                    for &pattern in &scratch.decided {
                        let truths = self.state.patterns.item(pattern);
                        truths.truth.insert(lane);
                        truths.known.insert(lane);
                    }
                    for &pattern in &scratch.possible {
                        let truths = self.state.patterns.item(pattern);
                        if truths.truth.contains(lane) {
                            continue;
                        }
                        truths.possible.insert(lane);
                        if compiled.is_trigger(pattern) {
                            self.state.counters.tried += 1;
                            if self.state.timer.spend(TRIED + text.len() / SEARCHED) {
                                break;
                            }
                            truths.known.insert(lane);
                            if compiled.patterns.get(pattern).1.holds(ValueRef::String(text)) {
                                truths.truth.insert(lane);
                            }
                        }
                    }
                }
            }
        }
        self.state.texts = scratch;
        let first = compiled.triggers()[1];
        for position in 0..self.state.patterns.items.len() {
            let pattern = self.state.patterns.numbers()[position];
            self.follow(first + pattern, self.state.patterns.items[position].truth);
        }
        for position in 0..self.state.fields.items.len() {
            let attribute = self.state.fields.numbers()[position];
            let valued = self.state.fields.items[position].valued;
            for &pattern in compiled.patterns.unfiltered_of(attribute) {
                if compiled.is_trigger(pattern) {
                    let truth = self.try_pattern(pattern, valued);
                    self.follow(first + pattern, truth);
                }
            }
        }
    }

    /// The events of `lanes`, and perhaps others, for which a pattern is true.
    pub(super) fn pattern(&mut self, pattern: u32, lanes: EventSet) -> EventSet {
        if self.compiled.patterns.is_unfiltered(pattern) {
            return self.try_pattern(pattern, lanes);
        }
        match self.state.patterns.get(pattern).copied() {
            None => EventSet::NONE,
            Some(truths) => self.try_pattern(pattern, lanes & truths.possible),
        }
    }

    fn try_pattern(&mut self, pattern: u32, lanes: EventSet) -> EventSet {
        let truths = *self.state.patterns.item(pattern);
        let rest = lanes.without(truths.known);
        if rest.is_none() {
            return truths.truth;
        }
        let (attribute, check) = self.compiled.patterns.get(pattern);
        let global = self.state.fields.get(attribute).map_or(0, |field| field.global);
        let truths = self.state.patterns.item(pattern);
        truths.known |= rest;
        let timer = &mut self.state.timer;
        rest.each(|lane| {
            if !timer.look() && check.truth(self.events[lane].get(global), Missing::False) == Truth::True {
                truths.truth.insert(lane);
            }
        });
        self.state.counters.tried += u64::from(rest.count());
        truths.truth
    }
}
