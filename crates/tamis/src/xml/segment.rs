//! Which filters of a compiled set does a document satisfy?
//!
//! Engines tell which paths a document contains; here that becomes answers: at once for filters that
//! are only a path, after testing values for those that test values, and after an evaluation for the
//! rest. Nothing here is proportional to the number of filters, except for those that match.

use std::collections::HashMap;

use super::access::{Access, AccessIndex};
use super::document::{Document, NodeIndex, NodeKind};
use super::engine::{
    Engine, Hit, Hybrid, Memo, Nfa, PathId, PathUse, SetId, Sink, Structure, SymbolPath, WalkScratch,
    XFilter, YFilter,
};
use super::evaluate::{EvaluationScratch, is_true};
use super::plan::{LinearPath, Plan, Source};
use super::symbols::{Label, Labels, Symbols};
use super::values::{Key, Test, ValueFilter, Verdict, any_value};
use super::xpath::XPath;

/// Position of a filter in its segment.
pub type Slot = u32;

/// A filter whose values failed this often, and for one in so many nodes of a document, is evaluated
/// instead, once: that takes as long, and a document may fail a filter once for every element.
const FAILURES: usize = 256;
const NODES_PER_FAILURE: usize = 16;

/// No position.
const NONE: u32 = u32::MAX;

/// Paths that decide no more filters than this name them in every state set.
const FEW: usize = 8;

/// Accesses that are followed at once, by the elements that passed them; filters of further ones are
/// evaluated instead.
const ACTIVE: usize = 256;

/// In place of a count of failures: the filter waits for its evaluation.
const EVALUATED: u32 = u32::MAX;

/// A set of filters, compiled.
#[derive(Debug)]
pub struct Segment {
    symbols: Symbols,
    filters: Vec<XPath>,
    /// Of every path, the filters that it decides.
    exact: Lists<Slot>,
    /// Of every path, the filters that wait for it, and for which of their groups.
    waiting: Lists<(Slot, u32)>,
    /// Of every path, the filters whose values are tested where it is complete.
    postponed: Lists<Slot>,
    /// Of every path, the tests that are made where it is reached, as filters and positions.
    inline: Lists<(Slot, u32)>,
    /// Of every filter, the groups that must be reached before it is evaluated, one bit each.
    groups: Vec<u32>,
    /// Of every filter, its position in `values`, if it is there.
    value_positions: Vec<u32>,
    values: Vec<ValueFilter>,
    /// Filters that are true unless one of their paths is reached.
    unless: Vec<Slot>,
    /// Filters that are evaluated on every document.
    always: Vec<Slot>,
    finder: Finder,
}

/// What waits for a path, while filters are added.
#[derive(Debug, Default)]
struct PathFilters {
    exact: Vec<Slot>,
    groups: Vec<(Slot, u32)>,
    values: Vec<Slot>,
    inline: Vec<(Slot, u32)>,
}

/// Lists, one behind the other.
#[derive(Debug)]
struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn new(lists: impl Iterator<Item = Vec<T>>) -> Self {
        let mut joined = Lists { starts: vec![0], items: Vec::new() };
        for list in lists {
            joined.items.extend(list);
            joined.starts.push(joined.items.len() as u32);
        }
        joined
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn get(&self, at: u32) -> &[T] {
        &self.items[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize]
    }
}

#[derive(Debug)]
enum Finder {
    Scan,
    Walk(Box<dyn Structure>),
    Memo(Box<Shared>),
}

/// What the default engine runs on.
#[derive(Debug)]
struct Shared {
    nfa: Nfa,
    uses: Vec<PathUse>,
    access: AccessIndex,
}

/// Working memory of [`Segment::matches`], for one segment.
#[derive(Debug)]
pub struct SegmentScratch {
    walk: WalkScratch,
    memo: Memo,
    open: Vec<Open>,
    answers: Answers,
    active: Vec<Active>,
    /// The labels of the open elements.
    labels: Vec<Label>,
    found: Vec<Access>,
    /// Filters to be checked at an element.
    check: Vec<Slot>,
    passed: Passed,
}

#[derive(Debug)]
struct Open {
    end: NodeIndex,
    set: SetId,
    /// How many accesses were active outside.
    active: usize,
}

/// Accesses that an open element has passed, whose filters wait for the rest of their paths.
#[derive(Debug)]
struct Active {
    hit: Hit,
    element: NodeIndex,
    /// How many elements are open outside the element.
    depth: usize,
    /// Whether an element inside has passed the same.
    repeated: bool,
}

/// What is known so far about a document.
#[derive(Debug)]
struct Answers {
    document: u64,
    /// Of every path, the last document that reached it.
    reached: Vec<u64>,
    /// Of every filter, the document that `marks` speaks of, and the groups reached or values failed.
    marks: Vec<(u64, u32)>,
    matched: Bits,
    evaluate: Vec<Slot>,
}

impl Segment {
    /// Compiles filters.
    pub fn new<'x>(filters: impl Iterator<Item = &'x XPath>, engine: Engine) -> Segment {
        let mut builder = Builder::default();
        let filters: Vec<XPath> = filters.cloned().collect();
        if engine != Engine::Scan {
            for (slot, xpath) in filters.iter().enumerate() {
                builder.add(slot as Slot, Plan::new(xpath), engine);
            }
        }
        let finder = match engine {
            Engine::Scan => Finder::Scan,
            Engine::YFilter | Engine::YFilterUnsorted | Engine::YFilterInline => {
                Finder::Walk(Box::new(YFilter::new(&builder.steps)))
            }
            Engine::Hybrid => Finder::Walk(Box::new(Hybrid::new(&builder.steps))),
            Engine::XFilter => Finder::Walk(Box::new(XFilter::new(&builder.steps))),
            Engine::Auto => {
                let mut nfa = Nfa::default();
                builder.steps.iter().for_each(|(path, steps)| nfa.add(steps, *path));
                let uses = builder.uses();
                Finder::Memo(Box::new(Shared {
                    nfa,
                    uses,
                    access: AccessIndex::new(std::mem::take(&mut builder.access)),
                }))
            }
        };
        builder.groups.resize(filters.len(), 0);
        builder.value_positions.resize(filters.len(), NONE);
        let Builder { symbols, mut paths, groups, value_positions, values, unless, always, .. } = builder;
        let exact = Lists::new(paths.iter_mut().map(|path| std::mem::take(&mut path.exact)));
        let waiting = Lists::new(paths.iter_mut().map(|path| std::mem::take(&mut path.groups)));
        let postponed = Lists::new(paths.iter_mut().map(|path| std::mem::take(&mut path.values)));
        let inline = Lists::new(paths.iter_mut().map(|path| std::mem::take(&mut path.inline)));
        Segment {
            symbols,
            filters,
            exact,
            waiting,
            postponed,
            inline,
            groups,
            value_positions,
            values,
            unless,
            always,
            finder,
        }
    }

    /// Working memory; `memory` bounds the state sets that are remembered.
    pub fn scratch(&self, memory: usize) -> SegmentScratch {
        SegmentScratch {
            walk: WalkScratch::default(),
            memo: Memo::new(memory),
            open: Vec::new(),
            answers: Answers {
                document: 0,
                reached: vec![0; self.exact.len()],
                marks: vec![(0, 0); self.filters.len()],
                matched: Bits::new(self.filters.len()),
                evaluate: Vec::new(),
            },
            active: Vec::new(),
            labels: Vec::new(),
            found: Vec::new(),
            check: Vec::new(),
            passed: Passed::default(),
        }
    }

    /// Calls `found` with the filters that a document satisfies, in order.
    pub fn matches(
        &self,
        document: &Document,
        scratch: &mut SegmentScratch,
        evaluation: &mut EvaluationScratch,
        mut found: impl FnMut(Slot),
    ) {
        scratch.answers.document += 1;
        match &self.finder {
            Finder::Scan => {
                for (slot, xpath) in self.filters.iter().enumerate() {
                    if is_true(xpath, document, evaluation) {
                        found(slot as Slot);
                    }
                }
                return;
            }
            Finder::Walk(structure) => {
                let SegmentScratch { walk, answers, passed, .. } = scratch;
                passed.clear();
                let mut sink = Postponed { segment: self, document, answers, passed };
                structure.walk(document, &self.symbols, walk, &mut sink);
            }
            Finder::Memo(shared) => self.run(shared, document, scratch),
        }
        let answers = &mut scratch.answers;
        for at in 0..answers.evaluate.len() {
            let slot = answers.evaluate[at];
            if is_true(&self.filters[slot as usize], document, evaluation) {
                answers.matched.set(slot);
            }
        }
        answers.evaluate.clear();
        for &slot in &self.always {
            if is_true(&self.filters[slot as usize], document, evaluation) {
                answers.matched.set(slot);
            }
        }
        for &slot in &self.unless {
            if answers.mark(slot) == 0 {
                answers.matched.set(slot);
            }
        }
        answers.matched.drain(found);
    }

    /// The default engine: state sets met before, and values looked up.
    fn run(&self, shared: &Shared, document: &Document, scratch: &mut SegmentScratch) {
        let Shared { nfa, uses, access } = shared;
        let SegmentScratch { walk, memo, open, answers, active, labels: chain, found, check, .. } = scratch;
        let labels = &mut walk.labels;
        labels.start(document);
        open.clear();
        active.clear();
        chain.clear();
        let start = memo.start(nfa, uses);
        for (index, node) in document.nodes().iter().enumerate() {
            if node.kind != NodeKind::Element {
                continue;
            }
            let index = index as NodeIndex;
            while open.last().is_some_and(|open| open.end <= index) {
                if let Some(closed) = open.pop() {
                    memo.leave(closed.set);
                    active.truncate(closed.active);
                    chain.pop();
                }
            }
            let around = open.last().map_or(start, |open| open.set);
            let label = labels.of(&self.symbols, document, index);
            let set = memo.enter(nfa, uses, around, label);
            let depth = open.len();
            open.push(Open { end: node.end, set, active: active.len() });
            chain.push(label);
            let state = memo.set(set);
            if state.seen != answers.document {
                state.seen = answers.document;
                for &slot in &state.slots {
                    answers.matched.set(slot);
                }
                for &path in &state.fires {
                    self.reach(path, answers);
                }
            }
            let keys = state.keys.len();
            if !state.awaited.is_empty() {
                for above in active.iter() {
                    for access in memo.join(above.hit, set, found) {
                        if answers.matched.is_set(access.slot) {
                            continue;
                        }
                        let known = match self.value_filter(access.slot) {
                            Some(filter) if access.together && !above.repeated => {
                                let step = access.step as usize;
                                if !access.alone
                                    && !filter.passes(step, document, &self.symbols, labels, above.element)
                                {
                                    continue;
                                }
                                filter.completes(step, &chain[above.depth..])
                            }
                            _ => None,
                        };
                        match known {
                            Some(true) => answers.matched.set(access.slot),
                            Some(false) => {}
                            None => self.check(access.slot, index, document, labels, answers),
                        }
                    }
                }
            }
            for key in 0..keys {
                let source = memo.set(set).keys[key].0;
                any_value(document, &self.symbols, labels, index, source, |value| {
                    let hit = memo.hit(access, set, key, value, found);
                    let complete = match hit {
                        Some(hit) => memo.complete(hit),
                        None => found,
                    };
                    for access in complete {
                        if answers.matched.is_set(access.slot) {
                        } else if !access.last {
                            answers.defer(access.slot);
                        } else if access.alone {
                            answers.matched.set(access.slot);
                        } else {
                            check.push(access.slot);
                        }
                    }
                    if let Some(hit) = hit
                        && let Some(waits) = hit.waits()
                    {
                        let same = active.iter_mut().find(|above| above.hit.waits() == Some(waits));
                        if let Some(above) = same {
                            above.repeated = true;
                        } else if active.len() < ACTIVE {
                            active.push(Active { hit, element: index, depth, repeated: false });
                        } else {
                            memo.waiting(hit).iter().for_each(|access| answers.defer(access.slot));
                        }
                    }
                    false
                });
                for slot in check.drain(..) {
                    self.check(slot, index, document, labels, answers);
                }
            }
        }
    }

    fn value_filter(&self, slot: Slot) -> Option<&ValueFilter> {
        self.values.get(self.value_positions[slot as usize] as usize)
    }

    /// Notes that a path has been reached.
    fn reach(&self, path: PathId, answers: &mut Answers) {
        let reached = &mut answers.reached[path as usize];
        if *reached == answers.document {
            return;
        }
        *reached = answers.document;
        for &slot in self.exact.get(path) {
            answers.matched.set(slot);
        }
        for &(slot, bit) in self.waiting.get(path) {
            let all = self.groups[slot as usize];
            let before = answers.mark(slot);
            let after = before | bit;
            answers.set_mark(slot, after);
            if after == all && before != all {
                answers.evaluate.push(slot);
            }
        }
    }

    /// Tests the values of a filter whose path an element completes.
    fn check(
        &self,
        slot: Slot,
        element: NodeIndex,
        document: &Document,
        labels: &mut Labels,
        answers: &mut Answers,
    ) {
        let failures = answers.mark(slot);
        if failures == EVALUATED || answers.matched.is_set(slot) {
            return;
        }
        let Some(filter) = self.value_filter(slot) else { return };
        match filter.check(document, &self.symbols, labels, element) {
            Verdict::Passed => answers.matched.set(slot),
            Verdict::Failed
                if (failures as usize) < FAILURES + document.nodes().len() / NODES_PER_FAILURE =>
            {
                answers.set_mark(slot, failures + 1)
            }
            Verdict::Failed | Verdict::TooDeep => answers.defer(slot),
        }
    }
}

/// Tests values where a path is complete (Diao et al. 2003, 5.2), or, where the engine asks for it, as
/// soon as the step that they belong to is reached (5.1).
struct Postponed<'p> {
    segment: &'p Segment,
    document: &'p Document,
    answers: &'p mut Answers,
    passed: &'p mut Passed,
}

/// Of filters and their tests, the open elements that have passed, innermost last.
type Passed = HashMap<(Slot, u32), Vec<NodeIndex>, ahash::RandomState>;

impl Sink for Postponed<'_> {
    fn reach(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels) {
        self.segment.reach(path, self.answers);
        self.test_inline(path, element, labels);
        for &slot in self.segment.postponed.get(path) {
            if self.may_pass(slot, element) {
                self.segment.check(slot, element, self.document, labels, self.answers);
            }
        }
    }
}

impl Postponed<'_> {
    fn test_inline(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels) {
        let Postponed { segment, document, answers, passed } = self;
        for &(slot, at) in segment.inline.get(path) {
            if answers.matched.is_set(slot) {
                continue;
            }
            let Some(test) = segment.value_filter(slot).map(|filter| &filter.tests[at as usize]) else {
                continue;
            };
            let passes = |value: &str| test.condition.passes(value);
            if any_value(document, &segment.symbols, labels, element, test.key, passes) {
                passed.entry((slot, at)).or_default().push(element);
            }
        }
    }

    /// Whether every test of a filter has been passed by an element that is open. Postponed, nothing
    /// is known yet, and every filter may pass.
    fn may_pass(&mut self, slot: Slot, element: NodeIndex) -> bool {
        if self.segment.inline.items.is_empty() {
            return true;
        }
        let tests = self.segment.value_filter(slot).map_or(0, |filter| filter.tests.len() as u32);
        (0..tests).all(|at| {
            let Some(elements) = self.passed.get_mut(&(slot, at)) else { return false };
            // Elements that have ended undo what they had passed.
            while elements.last().is_some_and(|last| self.document.node(*last).end <= element) {
                elements.pop();
            }
            !elements.is_empty()
        })
    }
}

impl Answers {
    fn mark(&self, slot: Slot) -> u32 {
        let (document, mark) = self.marks[slot as usize];
        if document == self.document { mark } else { 0 }
    }

    /// Has a filter that tests values evaluated in the end.
    fn defer(&mut self, slot: Slot) {
        if self.mark(slot) != EVALUATED {
            self.set_mark(slot, EVALUATED);
            self.evaluate.push(slot);
        }
    }

    fn set_mark(&mut self, slot: Slot, mark: u32) {
        self.marks[slot as usize] = (self.document, mark);
    }
}

/// A set of small numbers that is emptied in order, in time proportional to what it holds.
#[derive(Debug)]
struct Bits {
    words: Vec<u64>,
    /// Which words are not zero.
    used: Vec<u64>,
}

impl Bits {
    fn new(size: usize) -> Bits {
        let words = size.div_ceil(64);
        Bits { words: vec![0; words], used: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    fn is_set(&self, bit: u32) -> bool {
        self.words[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    #[inline]
    fn set(&mut self, bit: u32) {
        let word = bit as usize / 64;
        self.words[word] |= 1 << (bit % 64);
        self.used[word / 64] |= 1 << (word % 64);
    }

    fn drain(&mut self, mut found: impl FnMut(u32)) {
        for (at, used) in self.used.iter_mut().enumerate() {
            while *used != 0 {
                let word = at * 64 + used.trailing_zeros() as usize;
                *used &= *used - 1;
                let mut bits = std::mem::take(&mut self.words[word]);
                while bits != 0 {
                    found(word as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }
}

#[derive(Default)]
struct Builder {
    symbols: Symbols,
    numbers: HashMap<LinearPath, PathId, ahash::RandomState>,
    steps: Vec<(PathId, SymbolPath)>,
    paths: Vec<PathFilters>,
    groups: Vec<u32>,
    value_positions: Vec<u32>,
    values: Vec<ValueFilter>,
    unless: Vec<Slot>,
    always: Vec<Slot>,
    access: super::access::Collected,
    keys: HashMap<PathId, Vec<Key>, ahash::RandomState>,
    awaited: Vec<PathId>,
}

impl Builder {
    fn path(&mut self, path: &[super::plan::LinearStep]) -> PathId {
        if let Some(&id) = self.numbers.get(path) {
            return id;
        }
        let id = self.paths.len() as PathId;
        let steps = path.iter().map(|step| (step.descendant, self.symbols.test(&step.test))).collect();
        self.numbers.insert(path.to_vec(), id);
        self.steps.push((id, steps));
        self.paths.push(PathFilters::default());
        id
    }

    fn add(&mut self, slot: Slot, plan: Plan, engine: Engine) {
        self.groups.resize(slot as usize + 1, 0);
        match plan {
            Plan::Exact(path) => {
                let path = self.path(&path);
                self.paths[path as usize].exact.push(slot);
            }
            Plan::Values { path, tests } => self.add_values(slot, path, tests, engine),
            Plan::Evaluate { groups } => self.add_groups(slot, &groups),
            Plan::Default { default, paths } => {
                if default {
                    self.unless.push(slot);
                }
                self.add_groups(slot, &[paths]);
            }
            Plan::Always => self.always.push(slot),
        }
    }

    fn add_groups(&mut self, slot: Slot, groups: &[Vec<LinearPath>]) {
        for (at, group) in groups.iter().enumerate() {
            let bit = 1 << at;
            self.groups[slot as usize] |= bit;
            for path in group {
                let path = self.path(path);
                let waiting = &mut self.paths[path as usize].groups;
                if waiting.last() != Some(&(slot, bit)) {
                    waiting.push((slot, bit));
                }
            }
        }
    }

    fn add_values(
        &mut self,
        slot: Slot,
        path: LinearPath,
        tests: Vec<(usize, super::plan::ValueTest)>,
        engine: Engine,
    ) {
        let full = self.path(&path);
        let last = path.len() - 1;
        let mut tests: Vec<Test> = tests
            .into_iter()
            .map(|(step, test)| {
                let key = match test.source {
                    Source::Own => Key::Own,
                    Source::Text => Key::Text,
                    Source::Attribute { namespace, local } => {
                        Key::Attribute(self.symbols.name(&namespace, &local))
                    }
                };
                Test { step, key, condition: test.condition }
            })
            .collect();
        // The last step first, as its element is known; within a step, what is least likely to pass.
        tests.sort_by_key(|test| {
            let chance = if engine == Engine::YFilterUnsorted { 0 } else { test.condition.selectivity() };
            (last - test.step, chance)
        });
        if engine == Engine::Auto {
            // An access at the last step saves waiting for the rest of the path.
            let chosen = tests.iter().min_by_key(|test| (test.condition.selectivity(), last - test.step));
            if let Some(Test { step, key, condition }) = chosen.cloned() {
                let tested = self.path(&path[..=step]);
                let together = tests.iter().all(|test| test.step == step);
                let access = Access {
                    slot,
                    path: full,
                    step: step as u32,
                    last: step == last,
                    alone: tests.len() == 1,
                    together,
                };
                self.access.push((tested, key, condition, access));
                let keys = self.keys.entry(tested).or_default();
                if !keys.contains(&key) {
                    keys.push(key);
                }
                if step != last {
                    self.awaited.push(full);
                }
            }
        } else {
            self.paths[full as usize].values.push(slot);
        }
        if engine == Engine::YFilterInline {
            for (at, test) in tests.iter().enumerate() {
                let tested = self.path(&path[..=test.step]);
                self.paths[tested as usize].inline.push((slot, at as u32));
            }
        }
        let steps = path.iter().map(|step| (step.descendant, self.symbols.test(&step.test))).collect();
        self.value_positions.resize(slot as usize, NONE);
        self.value_positions.push(self.values.len() as u32);
        self.values.push(ValueFilter { steps, tests: tests.into() });
    }

    /// What the default engine wants to know of each path.
    fn uses(&mut self) -> Vec<PathUse> {
        let mut uses: Vec<PathUse> = self
            .paths
            .iter()
            .map(|path| {
                let few = path.exact.len() <= FEW;
                PathUse {
                    slots: if few { path.exact.as_slice().into() } else { [].into() },
                    fires: !few || !path.groups.is_empty(),
                    ..PathUse::default()
                }
            })
            .collect();
        for (path, keys) in &self.keys {
            uses[*path as usize].keys = keys.as_slice().into();
        }
        for path in &self.awaited {
            uses[*path as usize].awaited = true;
        }
        uses
    }
}
