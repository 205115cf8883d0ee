//! Which filters of a compiled set does a document satisfy?
//!
//! Engines tell which paths a document contains; here that becomes answers: at once for filters that
//! are only a path, after testing values for those that test values, and after an evaluation for the
//! rest. Nothing here is proportional to the number of filters, except for those that match.

use std::collections::HashMap;

use super::access::{Access, AccessIndex};
use super::document::{Document, NodeIndex, NodeKind};
use super::engine::{
    Engine, Memo, Nfa, PathId, PathUse, SetId, Sink, Structure, SymbolPath, WalkScratch, YFilter,
};
use super::evaluate::{EvaluationScratch, is_true};
use super::plan::{LinearPath, Plan, Source};
use super::symbols::{Labels, Symbols};
use super::values::{Key, Test, ValueFilter, Verdict, any_value};
use super::xpath::XPath;

/// Position of a filter in its segment.
pub type Slot = u32;

/// A filter whose values failed this often in one document is evaluated instead, once: the former
/// takes time for every element that completes its path.
const FAILURES: u32 = 64;

/// In place of a count of failures: the filter waits for its evaluation.
const EVALUATED: u32 = u32::MAX;

/// A set of filters, compiled.
#[derive(Debug)]
pub struct Segment {
    symbols: Symbols,
    filters: Vec<XPath>,
    paths: Vec<PathFilters>,
    /// Of every filter, the groups that must be reached before it is evaluated, one bit each.
    groups: Vec<u32>,
    values: HashMap<Slot, ValueFilter, ahash::RandomState>,
    /// Filters that are true unless one of their paths is reached.
    unless: Vec<Slot>,
    /// Filters that are evaluated on every document.
    always: Vec<Slot>,
    finder: Finder,
}

/// What waits for a path.
#[derive(Debug, Default)]
struct PathFilters {
    exact: Vec<Slot>,
    groups: Vec<(Slot, u32)>,
    values: Vec<Slot>,
}

#[derive(Debug)]
enum Finder {
    Scan,
    Walk(Box<dyn Structure>),
    Memo { nfa: Nfa, uses: Vec<PathUse>, access: AccessIndex },
}

/// Working memory of [`Segment::matches`], for one segment.
#[derive(Debug)]
pub struct SegmentScratch {
    walk: WalkScratch,
    memo: Memo,
    open: Vec<Open>,
    answers: Answers,
    /// Of every path, the filters of which an access has been passed by an open element.
    pending: Vec<Vec<Slot>>,
    undo: Vec<(PathId, Slot)>,
    found: Vec<Access>,
    /// Filters to be checked at an element.
    check: Vec<Slot>,
}

#[derive(Debug)]
struct Open {
    end: NodeIndex,
    set: SetId,
    undo: usize,
}

/// What is known so far about a document.
#[derive(Debug)]
struct Answers {
    document: u64,
    /// Of every path, the last document that reached it.
    reached: Vec<u64>,
    /// Of every filter, the document that `marks` speaks of, and the groups reached or values failed.
    marks: Vec<(u64, u32)>,
    matched: Vec<u64>,
    slots: Vec<Slot>,
    evaluate: Vec<Slot>,
    waiting: Vec<bool>,
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
            Engine::YFilter => Finder::Walk(Box::new(YFilter::new(&builder.steps))),
            Engine::Auto => {
                let mut nfa = Nfa::default();
                builder.steps.iter().for_each(|(path, steps)| nfa.add(steps, *path));
                let uses = builder.uses();
                Finder::Memo { nfa, uses, access: AccessIndex::new(std::mem::take(&mut builder.access)) }
            }
        };
        builder.groups.resize(filters.len(), 0);
        let Builder { symbols, paths, groups, values, unless, always, .. } = builder;
        Segment { symbols, filters, paths, groups, values, unless, always, finder }
    }

    /// Working memory; `memory` bounds the state sets that are remembered.
    pub fn scratch(&self, memory: usize) -> SegmentScratch {
        SegmentScratch {
            walk: WalkScratch::default(),
            memo: Memo::new(memory),
            open: Vec::new(),
            answers: Answers {
                document: 0,
                reached: vec![0; self.paths.len()],
                marks: vec![(0, 0); self.filters.len()],
                matched: vec![0; self.filters.len().div_ceil(64)],
                slots: Vec::new(),
                evaluate: Vec::new(),
                waiting: vec![false; self.filters.len()],
            },
            pending: vec![Vec::new(); self.paths.len()],
            undo: Vec::new(),
            found: Vec::new(),
            check: Vec::new(),
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
                let SegmentScratch { walk, answers, .. } = scratch;
                let mut sink = Postponed { segment: self, document, answers };
                structure.walk(document, &self.symbols, walk, &mut sink);
            }
            Finder::Memo { nfa, uses, access } => self.run(nfa, uses, access, document, scratch),
        }
        let answers = &mut scratch.answers;
        for at in 0..answers.evaluate.len() {
            let slot = answers.evaluate[at];
            if is_true(&self.filters[slot as usize], document, evaluation) {
                answers.matched(slot);
            }
        }
        answers.evaluate.clear();
        for &slot in &self.always {
            if is_true(&self.filters[slot as usize], document, evaluation) {
                answers.matched(slot);
            }
        }
        for &slot in &self.unless {
            if answers.mark(slot) == 0 {
                answers.matched(slot);
            }
        }
        answers.drain(found);
    }

    /// The default engine: state sets met before, and values looked up.
    fn run(
        &self,
        nfa: &Nfa,
        uses: &[PathUse],
        access: &AccessIndex,
        document: &Document,
        scratch: &mut SegmentScratch,
    ) {
        let SegmentScratch { walk, memo, open, answers, pending, undo, found, check } = scratch;
        let labels = &mut walk.labels;
        labels.start(document);
        open.clear();
        let start = memo.start(nfa, uses);
        for (index, node) in document.nodes().iter().enumerate() {
            if node.kind != NodeKind::Element {
                continue;
            }
            let index = index as NodeIndex;
            while open.last().is_some_and(|open| open.end <= index) {
                if let Some(closed) = open.pop() {
                    close(&closed, memo, pending, undo, answers);
                }
            }
            let around = open.last().map_or(start, |open| open.set);
            let set = memo.enter(nfa, uses, around, labels.of(&self.symbols, document, index));
            open.push(Open { end: node.end, set, undo: undo.len() });
            let state = memo.set(set);
            if state.seen != answers.document {
                state.seen = answers.document;
                for &path in &state.fires {
                    self.reach(path, answers);
                }
            }
            for &path in &state.awaited {
                for &slot in &pending[path as usize] {
                    self.check(slot, index, document, labels, answers);
                }
            }
            for key in 0..state.keys.len() {
                let source = memo.set(set).keys[key].0;
                any_value(document, &self.symbols, labels, index, source, |value| {
                    found.clear();
                    let hits = memo.hits(access, set, key, value, found);
                    for hit in hits {
                        if answers.is_matched(hit.slot) {
                            continue;
                        }
                        if !hit.last {
                            if !std::mem::replace(&mut answers.waiting[hit.slot as usize], true) {
                                pending[hit.path as usize].push(hit.slot);
                                undo.push((hit.path, hit.slot));
                            }
                        } else if hit.alone {
                            answers.matched(hit.slot);
                        } else {
                            check.push(hit.slot);
                        }
                    }
                    false
                });
                for slot in check.drain(..) {
                    self.check(slot, index, document, labels, answers);
                }
            }
        }
        while let Some(closed) = open.pop() {
            close(&closed, memo, pending, undo, answers);
        }
    }

    /// Notes that a path has been reached.
    fn reach(&self, path: PathId, answers: &mut Answers) {
        let reached = &mut answers.reached[path as usize];
        if *reached == answers.document {
            return;
        }
        *reached = answers.document;
        let waiting = &self.paths[path as usize];
        for &slot in &waiting.exact {
            answers.matched(slot);
        }
        for &(slot, bit) in &waiting.groups {
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
        if failures == EVALUATED || answers.is_matched(slot) {
            return;
        }
        let Some(filter) = self.values.get(&slot) else { return };
        match filter.check(document, &self.symbols, labels, element) {
            Verdict::Passed => answers.matched(slot),
            Verdict::Failed if failures < FAILURES => answers.set_mark(slot, failures + 1),
            Verdict::Failed | Verdict::TooDeep => {
                answers.set_mark(slot, EVALUATED);
                answers.evaluate.push(slot);
            }
        }
    }
}

fn close(
    closed: &Open,
    memo: &mut Memo,
    pending: &mut [Vec<Slot>],
    undo: &mut Vec<(PathId, Slot)>,
    answers: &mut Answers,
) {
    memo.leave(closed.set);
    for (path, slot) in undo.drain(closed.undo..).rev() {
        pending[path as usize].pop();
        answers.waiting[slot as usize] = false;
    }
}

/// Selection postponed (Diao et al. 2003, 5.2): values are tested where a path is complete.
struct Postponed<'p> {
    segment: &'p Segment,
    document: &'p Document,
    answers: &'p mut Answers,
}

impl Sink for Postponed<'_> {
    fn reach(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels) {
        self.segment.reach(path, self.answers);
        for &slot in &self.segment.paths[path as usize].values {
            self.segment.check(slot, element, self.document, labels, self.answers);
        }
    }
}

impl Answers {
    fn mark(&self, slot: Slot) -> u32 {
        let (document, mark) = self.marks[slot as usize];
        if document == self.document { mark } else { 0 }
    }

    fn set_mark(&mut self, slot: Slot, mark: u32) {
        self.marks[slot as usize] = (self.document, mark);
    }

    fn is_matched(&self, slot: Slot) -> bool {
        self.matched[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    fn matched(&mut self, slot: Slot) {
        let word = &mut self.matched[slot as usize / 64];
        let bit = 1 << (slot % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.slots.push(slot);
        }
    }

    /// Gives the matched filters in order, and forgets them.
    fn drain(&mut self, mut found: impl FnMut(Slot)) {
        // Sorting costs more than walking the bits where a good part of them is set.
        if self.slots.len() >= self.matched.len() / 4 {
            for (at, word) in self.matched.iter_mut().enumerate() {
                while *word != 0 {
                    found(at as Slot * 64 + word.trailing_zeros());
                    *word &= *word - 1;
                }
            }
        } else {
            self.slots.sort_unstable();
            for &slot in &self.slots {
                self.matched[slot as usize / 64] = 0;
                found(slot);
            }
        }
        self.slots.clear();
    }
}

#[derive(Default)]
struct Builder {
    symbols: Symbols,
    numbers: HashMap<LinearPath, PathId, ahash::RandomState>,
    steps: Vec<(PathId, SymbolPath)>,
    paths: Vec<PathFilters>,
    groups: Vec<u32>,
    values: HashMap<Slot, ValueFilter, ahash::RandomState>,
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
        tests.sort_by_key(|test| (last - test.step, test.condition.selectivity()));
        if engine == Engine::Auto {
            // An access at the last step saves waiting for the rest of the path.
            let chosen = tests.iter().min_by_key(|test| (test.condition.selectivity(), last - test.step));
            if let Some(Test { step, key, condition }) = chosen.cloned() {
                let tested = self.path(&path[..=step]);
                let access = Access { slot, path: full, last: step == last, alone: tests.len() == 1 };
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
        let steps = path.iter().map(|step| (step.descendant, self.symbols.test(&step.test))).collect();
        self.values.insert(slot, ValueFilter { steps, tests: tests.into() });
    }

    /// What the default engine wants to know of each path.
    fn uses(&mut self) -> Vec<PathUse> {
        let mut uses: Vec<PathUse> = self
            .paths
            .iter()
            .map(|path| PathUse {
                fires: !path.exact.is_empty() || !path.groups.is_empty(),
                ..PathUse::default()
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
