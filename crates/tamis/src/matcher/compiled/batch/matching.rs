//! Which expressions do many events satisfy, if they are matched together?
//!
//! The entries of a trigger are read once for all events of a batch that make the trigger true, and every test is
//! made for all these events at once, so its result is a set of events instead of a truth value. Nodes are evaluated
//! last, level by level and each for all of its events, because a node depends only on nodes of lower levels.

use super::super::columns::entry_list::{Candidate, EntryList, NO_RESIDUAL};
use super::super::columns::keys::NO_KEY;
use super::super::columns::opcodes::{self, KIND, LAST, NEGATED};
use super::super::columns::ranges::NO_RANK;
use super::super::single::scratch::NumberedValue;
use super::super::{Compiled, first_slot};
use super::event_set::EventSet;
use super::state::{BatchState, Sizes};
use crate::event::{Event, Presence};
use crate::matcher::Slot;
use crate::truth::Missing;

/// How many ranks are sampled to estimate how many ranges a rank usually lies in.
const SAMPLE: usize = 8;

/// Roughly how many nanoseconds it takes to reach an entry list, and to examine one of its entries for one event and
/// for a batch of events; measured on *conjunctive*, *dense*, *abe-gen* and *ads-like*.
const ENTRY_LIST: f64 = 25.0;
const ENTRY: f64 = 1.2;
const ENTRY_TOGETHER: f64 = 20.0;

/// Units of work that examining an entry for a batch of events counts as.
const ENTRY_UNITS: usize = 8;

impl Compiled {
    /// Appends the slots that each event matches, ascending, and where they end. There are at most as many events as
    /// lanes; `deep` has the results of the expressions too deep to compile. Unless forced, returns `false` when
    /// matching one event at a time is estimated to be cheaper.
    pub(in crate::matcher::compiled) fn match_batch(
        &self,
        events: &[Event],
        state: &mut BatchState,
        in_any_case: bool,
        deep: impl FnOnce() -> Vec<(usize, Slot)>,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
    ) -> bool {
        state.begin(events.len(), &self.sizes());
        let mut matching = BatchMatch { compiled: self, events, settled: 0, state };
        matching.load();
        let matched = in_any_case || matching.costs_less();
        if matched {
            deep().into_iter().for_each(|(lane, slot)| matching.state.found[lane].push(slot));
            matching.follow_all();
        }
        if matched && !state.timer.is_late() {
            state.counters.nodes += state.nodes.items.len() as u64;
            state.take(events.len(), found, ends);
        }
        state.end();
        matched
    }

    /// How many entries a trigger has.
    fn entries(&self, trigger: u32) -> u32 {
        let (start, end) = (self.starts[trigger as usize], self.starts[trigger as usize + 1]);
        if start == end {
            return 0;
        }
        let list = EntryList::of(&self.entry_lists[start as usize..end as usize]);
        (list.targets.len() + list.checked.len() + list.tested()) as u32
    }

    fn sizes(&self) -> Sizes {
        let [sets, patterns, ..] = self.triggers();
        let set_count = self.sets.len();
        Sizes {
            words: self.bits.words(),
            attributes: self.names.len() + 1,
            sets: set_count,
            ranges: (patterns - sets) as usize - set_count,
            patterns: self.patterns.len(),
            nodes: self.nodes() as usize,
            levels: self.level_count() + 1,
            slots: self.counts[0] as usize,
        }
    }
}

/// The matching of one batch of events.
pub(in crate::matcher::compiled) struct BatchMatch<'a> {
    pub compiled: &'a Compiled,
    pub events: &'a [Event],
    /// How many levels of nodes are settled: what of them was not reached is false.
    pub settled: usize,
    pub state: &'a mut BatchState,
}

impl BatchMatch<'_> {
    /// Records the attributes and values of the events.
    fn load(&mut self) {
        let BatchMatch { compiled, events, state, .. } = self;
        let mut probes = std::mem::take(&mut state.probes);
        for (lane, event) in events.iter().enumerate() {
            probes.clear();
            for (attribute, _, presence) in compiled.known(event) {
                if let Presence::Values(values) = presence {
                    probes.extend(values.map(|value| compiled.keys.probe(attribute, value)));
                }
            }
            compiled.keys.prefetch(&probes);
            let mut probes = probes.iter();
            for (attribute, global, presence) in compiled.known(event) {
                let values = match presence {
                    Presence::Missing => continue,
                    Presence::Null => None,
                    Presence::Values(values) => Some(values),
                };
                let position = state.see(lane, attribute, global);
                for (value, &probe) in values.into_iter().flatten().zip(&mut probes) {
                    let key = compiled.keys.find(probe, value);
                    let rank = compiled.bounds.rank(attribute, value);
                    state.see_value(lane, position, NumberedValue { key, rank });
                    if key != NO_KEY {
                        state.see_key(lane, attribute, key, &compiled.bits);
                    }
                    if rank != NO_RANK {
                        state.see_rank(lane, attribute, rank, &compiled.bits);
                    }
                }
            }
        }
        state.probes = probes;
        state.lay_out();
    }

    /// Whether reading the entries of keys and ranges once for all events is estimated to be cheaper than reading
    /// them for every event: each entry takes longer, but fewer are read.
    fn costs_less(&mut self) -> bool {
        let compiled = self.compiled;
        let (mut one_by_one, mut together) = (0.0, 0.0);
        for &(key, mark) in &self.state.keys {
            let entries = f64::from(compiled.entries(key));
            one_by_one += f64::from(self.state.marked(mark).count()) * (ENTRY_LIST + ENTRY * entries);
            together += ENTRY_LIST + ENTRY_TOGETHER * entries;
        }
        for position in 0..self.state.fields.items.len() {
            let attribute = self.state.fields.numbers()[position];
            let intervals = compiled.stabbing.of(attribute).1.len();
            if intervals > 0 {
                let answers = self.answers(attribute) as f64;
                let events = f64::from(self.state.fields.items[position].valued.count());
                let ranks = self.state.ranks(attribute).0.len().max(1) as f64;
                one_by_one += answers * events / ranks * (ENTRY_LIST + ENTRY);
                together += answers.min(intervals as f64) * (ENTRY_LIST + ENTRY_TOGETHER);
            }
        }
        together < one_by_one
    }

    /// About how many ranges the distinct ranks of an attribute lie in, counted once per rank.
    fn answers(&mut self, attribute: u32) -> usize {
        let ranks = self.state.ranks(attribute).0;
        let step = ranks.len().div_ceil(SAMPLE).max(1);
        let mut answers = 0;
        for &rank in ranks.iter().step_by(step) {
            self.compiled.stabbing.stab(attribute, None, rank, &mut |_| answers += step);
        }
        answers
    }

    /// Follows every trigger that some event makes true.
    fn follow_all(&mut self) {
        let compiled = self.compiled;
        let [sets, _, attributes, always, nodes] = compiled.triggers();
        self.follow_patterns();
        self.follow(always, self.state.all);
        for position in 0..self.state.keys.len() {
            let (key, mark) = self.state.keys[position];
            let lanes = self.state.marked(mark);
            self.follow(key, lanes);
            for &set in compiled.sets_of(key) {
                *self.state.sets.item(set) |= lanes;
            }
        }
        for position in 0..self.state.sets.items.len() {
            self.follow(sets + self.state.sets.numbers()[position], self.state.sets.items[position]);
        }
        let ranges = sets + compiled.sets.len() as u32;
        let presence_matters = compiled.starts[attributes as usize] < compiled.starts[always as usize];
        for position in 0..self.state.fields.items.len() {
            let attribute = self.state.fields.numbers()[position];
            let field = self.state.fields.items[position];
            self.stab(attribute, ranges);
            if presence_matters {
                self.follow(attributes + attribute, field.present);
            }
        }
        for position in 0..self.state.ranges.items.len() {
            self.follow(ranges + self.state.ranges.numbers()[position], self.state.ranges.items[position]);
        }
        let mut reached = Vec::new();
        for level in 0..compiled.level_count() {
            self.check_deferred(level);
            self.settled = level + 1;
            let of_level = compiled.levels[level]..compiled.levels[level + 1];
            self.state.reached.for_each(of_level, |node| reached.push(node));
            for node in reached.drain(..) {
                let lanes = *self.state.nodes.item(node);
                self.follow(nodes + node, lanes);
            }
        }
        self.check_deferred(compiled.level_count());
    }

    /// Checks the candidates for targets of a level whose residuals asked for nodes, now that all of these are settled.
    fn check_deferred(&mut self, level: usize) {
        self.settled = level;
        let mut deferred = std::mem::take(&mut self.state.deferred[level]);
        for &(candidate, lanes) in &deferred {
            if !self.check(candidate, lanes) {
                break;
            }
        }
        deferred.clear();
        self.state.deferred[level] = deferred;
    }

    /// Follows the ranges of an attribute: either all of them in turn, or those that contain the ranks of the events'
    /// values, whichever are fewer.
    fn stab(&mut self, attribute: u32, first_trigger: u32) {
        let compiled = self.compiled;
        let (start, intervals) = compiled.stabbing.of(attribute);
        if intervals.is_empty() {
            return;
        }
        let several = self.state.several(attribute);
        let mut apart = Vec::new();
        if !several.is_none() {
            self.state.each_value(attribute, several, |lane, known| apart.push((lane, known.rank)));
        }
        for (lane, rank) in apart {
            let ranges = &mut self.state.ranges;
            compiled.stabbing.stab(attribute, None, rank, &mut |range| {
                ranges.item(range).insert(lane);
            });
        }
        let sweep = self.answers(attribute) >= intervals.len();
        let (ranks, below) = self.state.ranks(attribute);
        let (ranks, below) = (ranks.to_vec(), below.to_vec());
        if !sweep {
            for (position, &rank) in ranks.iter().enumerate() {
                let lanes = below[position + 1].without(below[position]);
                let ranges = &mut self.state.ranges;
                compiled.stabbing.stab(attribute, None, rank, &mut |range| {
                    *ranges.item(range) |= lanes;
                });
            }
            return;
        }
        // They are sorted by their first rank.
        let mut low = 0;
        for (interval, trigger) in intervals.iter().zip(first_trigger + start..) {
            while ranks.get(low).is_some_and(|&rank| rank < interval.first) {
                low += 1;
            }
            let high = low + ranks[low..].partition_point(|&rank| rank <= interval.last);
            if low < high {
                self.follow(trigger, below[high].without(below[low]));
            }
        }
    }

    /// Examines the entries of a trigger that is true for some events.
    pub fn follow(&mut self, trigger: u32, lanes: EventSet) {
        let starts = &self.compiled.starts;
        let (start, end) = (starts[trigger as usize], starts[trigger as usize + 1]);
        if start == end || lanes.is_none() {
            return;
        }
        if self.state.timer.is_late() {
            return;
        }
        self.state.counters.lists += 1;
        let list = EntryList::of(&self.compiled.entry_lists[start as usize..end as usize]);
        let counted = (list.targets.len() + list.checked.len()) as u64;
        self.state.counters.entries += counted;
        self.state.counters.candidates += counted;
        if self.state.timer.spend(ENTRY_UNITS * list.targets.len()) {
            return;
        }
        list.targets.iter().for_each(|&target| self.reach(target, lanes));
        for &candidate in list.checked {
            if !self.check(candidate, lanes) {
                return;
            }
        }
        for (word, masks, entries) in list.groups() {
            let word = if word == 0 { None } else { Some(self.state.word(word)) };
            let within = match word {
                None => lanes,
                Some(None) => continue,
                Some(Some(word)) => lanes & self.state.any(word),
            };
            if within.is_none() {
                continue;
            }
            self.state.counters.entries += entries.len() as u64;
            if self.state.timer.spend(ENTRY_UNITS * entries.len()) {
                return;
            }
            let (mut last, mut passed) = (0, EventSet::NONE);
            for (mask, entry) in masks.iter().zip(entries) {
                let mask = mask.whole();
                // Entries with equal masks are adjacent.
                if mask != last {
                    last = mask;
                    passed = match word {
                        Some(Some(word)) => within & self.state.some(word, mask),
                        _ => within,
                    };
                }
                if mask == 0 || passed.is_none() {
                    continue;
                }
                let mut lanes = passed;
                let (word, mask) = entry.test();
                if (word, mask) != (0, u64::MAX) {
                    lanes &= self.state.test(word, mask);
                }
                if lanes.is_none() {
                    continue;
                }
                self.state.counters.candidates += 1;
                if !self.check(entry.candidate, lanes) {
                    return;
                }
            }
        }
    }

    /// Reaches the target of a candidate for the events for which its residual holds; false if the time is up.
    fn check(&mut self, Candidate { residual, target }: Candidate, mut lanes: EventSet) -> bool {
        if residual != NO_RESIDUAL {
            if self.state.timer.spend(ENTRY_UNITS) {
                return false;
            }
            let level = self.compiled.level_of(target);
            let mut open = None;
            let may_wait = (level > self.settled).then_some(&mut open);
            lanes = self.holds(residual as usize, lanes, may_wait);
            if let Some((residual, lanes)) = open {
                self.state.deferred[level].push((Candidate { residual, target }, lanes));
            }
        }
        if !lanes.is_none() {
            self.reach(target, lanes);
        }
        true
    }

    fn reach(&mut self, target: u32, lanes: EventSet) {
        if target < self.compiled.nodes() {
            *self.state.nodes.item(target) |= lanes;
            self.state.reached.insert(target);
            return;
        }
        let slot = target - first_slot(&self.compiled.levels);
        lanes.each(|lane| self.state.found[lane].push(slot));
    }

    /// The events of `lanes` for which all checks of the residual at `position` hold. Where a check asks for nodes and may
    /// wait, it is put into `open` with the events it remains to be made for, and there are none.
    fn holds(
        &mut self,
        mut position: usize,
        mut lanes: EventSet,
        mut open: Option<&mut Option<(u32, EventSet)>>,
    ) -> EventSet {
        let compiled = self.compiled;
        let program = &compiled.program[..];
        loop {
            let head = program[position];
            let (attribute, count) = (head >> 10, (head >> 6 & 15) as usize);
            if let Some(open) = &mut open
                && matches!((head & KIND, count), (opcodes::NODE, _) | (opcodes::ANY, 1..))
            {
                **open = Some((position as u32, lanes));
                return EventSet::NONE;
            }
            // Whether the check is unknown for events without a value of the attribute.
            let mut needs_value = true;
            let (found, next) = match head & KIND {
                opcodes::BITS => {
                    let mask = u64::from(program[position + 2]) | u64::from(program[position + 3]) << 32;
                    (self.state.test(program[position + 1], mask), position + 4)
                }
                opcodes::KEYS => {
                    let mut found = EventSet::NONE;
                    for &key in &program[position + 1..position + 1 + count] {
                        let (word, bit) = compiled.bits.key(attribute, key);
                        found |= self.state.test(word, bit);
                    }
                    (found, position + 1 + count)
                }
                opcodes::SET => {
                    let keys = compiled.sets.get(program[position + 1]);
                    let is = |known: NumberedValue| keys.binary_search(&known.key).is_ok();
                    (self.state.scan(attribute, lanes, is), position + 2)
                }
                opcodes::RANGE => {
                    let found = self.state.within(attribute, program[position + 1], program[position + 2]);
                    (found, position + 3)
                }
                opcodes::PATTERN => {
                    let valued = self.state.valued(attribute);
                    (self.pattern(program[position + 1], lanes & valued), position + 2)
                }
                opcodes::PRESENCE => {
                    needs_value = false;
                    let field = self.state.fields.get(attribute).copied().unwrap_or_default();
                    let found = if count == 0 { field.present } else { lanes.without(field.valued) };
                    (found, position + 1)
                }
                opcodes::NODE => {
                    needs_value = false;
                    let node = program[position + 1];
                    (self.state.nodes.get(node).copied().unwrap_or(EventSet::NONE), position + 2)
                }
                opcodes::ANY => {
                    needs_value = false;
                    let (residuals, words) = (program[position + 1], program[position + 2]);
                    let mut residual = position + 3;
                    let mut found = EventSet::NONE;
                    for _ in 0..residuals {
                        let rest = lanes.without(found);
                        if rest.is_none() {
                            break;
                        }
                        found |= self.holds(residual + 1, rest, None);
                        residual += 1 + program[residual] as usize;
                    }
                    (found, position + 3 + words as usize)
                }
                _ => {
                    position = program[position + 1] as usize;
                    continue;
                }
            };
            lanes = match head & NEGATED {
                0 => lanes & found,
                // Without a value the predicate is unknown, and so is its negation; or it is false.
                _ if needs_value && compiled.missing == Missing::Unknown => {
                    (lanes & self.state.valued(attribute)).without(found)
                }
                _ => lanes.without(found),
            };
            if head & LAST != 0 || lanes.is_none() {
                return lanes;
            }
            position = next;
        }
    }
}
