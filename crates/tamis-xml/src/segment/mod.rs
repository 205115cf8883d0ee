//! Which filters of a compiled set does a document satisfy?
//!
//! Engines find the paths that a document contains. This module turns them into answers: at once
//! for filters that are only a path, after testing values for filters with value tests, and after
//! an evaluation for the others. No work is proportional to the number of filters, except for those
//! that match.

mod answers;
mod build;
mod early;
mod postponed;

pub use answers::Work;
use answers::{Answers, Bits, EVALUATED};
use build::{Builder, NONE};
pub use early::Early;
use postponed::{Passed, Postponed};

use std::sync::atomic::{AtomicBool, Ordering};

use crate::access::{Access, AccessIndex, Slot};
use crate::csr::Lists;
use crate::document::{Document, NodeIndex, NodeKind};
use crate::engine::{
    Engine, Hit, Hybrid, LabelPath, Memo, Nfa, PathUse, ROOT, SetId, Structure, WalkScratch, XFilter, YFilter,
};
use crate::error::{self, Error};
use crate::evaluate::{EvaluationScratch, is_true};
use crate::meter::{Exhausted, Meter, Metered};
use crate::plan::Plan;
use crate::symbols::{Label, Labels, PathId, Symbols};
use crate::values::{ValueFilter, Verdict, any_value};
use crate::xpath::XPath;

/// A filter whose value tests failed this often, plus once per so many nodes of the document, is
/// evaluated once instead. That takes about as long, and bounds the work: a filter could otherwise
/// fail at every element.
const FAILURES: usize = 256;
const NODES_PER_FAILURE: usize = 16;

/// The maximum number of pending accesses that are tracked at a time. Filters of further ones are
/// evaluated instead.
const ACTIVE: usize = 256;

/// A compiled set of filters.
#[derive(Debug)]
pub struct Segment {
    symbols: Symbols,
    filters: Vec<XPath>,
    /// For every path, the filters that it decides.
    exact: Lists<Slot>,
    /// For every path, the filters that need it, each with the group that it belongs to.
    waiting: Lists<[u32; 2]>,
    /// For every path, the filters whose values are tested when it is complete.
    postponed: Lists<Slot>,
    /// For every path, the tests to run when it is reached, as (filter, test).
    inline: Lists<[u32; 2]>,
    /// For every filter, the groups that must be reached before it is evaluated, one bit each.
    groups: Vec<u32>,
    /// For every filter, its position in `values`, if any.
    value_positions: Vec<u32>,
    values: Vec<ValueFilter>,
    /// Filters that are true unless one of their paths is reached.
    unless: Vec<Slot>,
    /// Filters that are evaluated on every document.
    always: Vec<Slot>,
    finder: Finder,
}

#[derive(Debug)]
enum Finder {
    Scan,
    Walk(Box<dyn Structure>),
    Memo(Box<Shared>),
}

/// The compiled form for the default engine.
#[derive(Debug)]
struct Shared {
    nfa: Nfa,
    uses: Vec<PathUse>,
    access: AccessIndex,
    /// Whether filters may need the rest of their paths.
    waits: bool,
}

/// Working memory of [`Segment::matches`], for one segment.
#[derive(Debug)]
pub struct SegmentScratch {
    walk: WalkScratch,
    memo: Memo,
    open: Vec<ElementFrame>,
    answers: Answers,
    active: Vec<Active>,
    /// The labels of the open elements.
    labels: Vec<Label>,
    found: Vec<Access>,
    /// Pending accesses that are certainly complete, and those to check.
    certain: Vec<Access>,
    uncertain: Vec<Access>,
    /// Filters to check at an element.
    check: Vec<Slot>,
    passed: Passed,
}

impl SegmentScratch {
    /// The work of the last document.
    pub fn work(&self) -> Work {
        self.answers.work
    }
}

/// An open element, and the state outside it.
#[derive(Debug)]
struct ElementFrame {
    end: NodeIndex,
    set: SetId,
    path: LabelPath,
    /// The number of active accesses outside.
    active: usize,
}

/// Accesses that an open element has passed and that need the rest of their paths.
#[derive(Debug)]
struct Active {
    hit: Hit,
    element: NodeIndex,
    /// The number of open elements outside the element.
    depth: usize,
    /// Whether an element inside has passed the same accesses.
    repeated: bool,
}

impl Segment {
    /// Compiles filters. Fails with [`Error::Cancelled`] once `stop` is set, unless it is nearly
    /// done.
    pub fn new<'x>(
        filters: impl Iterator<Item = &'x XPath>,
        engine: Engine,
        stop: &AtomicBool,
    ) -> error::Result<Segment> {
        let go_on = || if stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) };
        let mut builder = Builder::default();
        let filters: Vec<XPath> = filters.cloned().collect();
        if engine != Engine::Scan {
            for (slot, xpath) in filters.iter().enumerate() {
                go_on()?;
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
                for (path, steps) in &builder.steps {
                    go_on()?;
                    nfa.add(steps, *path);
                }
                let uses = builder.uses();
                Finder::Memo(Box::new(Shared {
                    nfa,
                    waits: !builder.awaited.is_empty(),
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
        Ok(Segment {
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
        })
    }

    /// Scratch memory; `memory` limits the number of cached state sets.
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
                work: Work::default(),
            },
            active: Vec::new(),
            labels: Vec::new(),
            found: Vec::new(),
            certain: Vec::new(),
            uncertain: Vec::new(),
            check: Vec::new(),
            passed: Passed::default(),
        }
    }

    /// The number of states or path pieces; 0 if all filters are evaluated.
    pub fn states(&self) -> usize {
        match &self.finder {
            Finder::Scan => 0,
            Finder::Walk(structure) => structure.states(),
            Finder::Memo(shared) => shared.nfa.len(),
        }
    }

    /// Calls `found` with the filters that a document satisfies, in order, some at a time. If the
    /// meter is exhausted, the error names the filter, if one was being evaluated.
    #[inline]
    pub fn matches(
        &self,
        document: &Document,
        scratch: &mut SegmentScratch,
        evaluation: &mut EvaluationScratch,
        meter: &mut Meter,
        found: impl FnMut(&[Slot]),
    ) -> Result<(), (Option<Slot>, Exhausted)> {
        let matched = self.find(document, scratch, evaluation, meter);
        let answers = &mut scratch.answers;
        answers.evaluate.clear();
        match matched {
            Ok(()) => answers.matched.drain(found),
            Err(_) => answers.matched.clear(),
        }
        matched
    }

    fn find(
        &self,
        document: &Document,
        scratch: &mut SegmentScratch,
        evaluation: &mut EvaluationScratch,
        meter: &mut Meter,
    ) -> Result<(), (Option<Slot>, Exhausted)> {
        scratch.answers.document += 1;
        scratch.answers.work = Work::default();
        scratch.walk.transitions = 0;
        let mut evaluate = |slot: Slot, meter: &mut Meter| {
            let xpath = &self.filters[slot as usize];
            is_true(xpath, document, evaluation, meter).map_err(|exhausted| (Some(slot), exhausted))
        };
        match &self.finder {
            Finder::Scan => {
                scratch.answers.work.evaluated = self.filters.len() as u64;
                for slot in 0..self.filters.len() as Slot {
                    if evaluate(slot, meter)? {
                        scratch.answers.matched.set(slot);
                    }
                }
                return Ok(());
            }
            Finder::Walk(structure) => {
                let SegmentScratch { walk, answers, passed, .. } = scratch;
                passed.clear();
                let mut sink = Postponed { segment: self, document, answers, passed, meter, exhausted: None };
                structure.walk(document, &self.symbols, walk, &mut sink);
                if let Some(exhausted) = sink.exhausted {
                    return Err((None, exhausted));
                }
            }
            Finder::Memo(shared) => {
                self.run(shared, document, scratch, meter).map_err(|exhausted| (None, exhausted))?
            }
        }
        let answers = &mut scratch.answers;
        answers.work.transitions = scratch.walk.transitions;
        answers.work.evaluated += (answers.evaluate.len() + self.always.len()) as u64;
        for at in 0..answers.evaluate.len() {
            let slot = answers.evaluate[at];
            if evaluate(slot, meter)? {
                answers.matched.set(slot);
            }
        }
        for &slot in &self.always {
            if evaluate(slot, meter)? {
                answers.matched.set(slot);
            }
        }
        for &slot in &self.unless {
            if answers.mark(slot) == 0 {
                answers.matched.set(slot);
            }
        }
        Ok(())
    }

    /// The default engine: cached state sets, and values looked up in an index.
    fn run(
        &self,
        shared: &Shared,
        document: &Document,
        scratch: &mut SegmentScratch,
        meter: &mut Meter,
    ) -> Metered<()> {
        let Shared { nfa, uses, access, waits } = shared;
        let SegmentScratch { walk, memo, open, answers, active, labels: chain, found, check, .. } = scratch;
        let (certain, uncertain) = (&mut scratch.certain, &mut scratch.uncertain);
        let WalkScratch { labels, transitions, .. } = walk;
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
            let (around, path) = open.last().map_or((start, ROOT), |open| (open.set, open.path));
            let label = labels.of(&self.symbols, document, index);
            let set = memo.enter(nfa, uses, around, label);
            *transitions += 1;
            let mut cost = 1 + memo.take_stepped();
            let path = if *waits { memo.label_path(path, label) } else { ROOT };
            let depth = open.len();
            open.push(ElementFrame { end: node.end, set, path, active: active.len() });
            chain.push(label);
            answers.matched.set_all(memo.inside(around, answers.document));
            let state = memo.set(set);
            if state.seen != answers.document {
                state.seen = answers.document;
                answers.matched.set_all(&state.slots);
                for &path in &state.fires {
                    self.reach(path, answers);
                }
            }
            let keys = state.keys.len();
            if !state.awaited.is_empty() {
                cost += active.len();
                for above in active.iter() {
                    if above.repeated {
                        let waiting = memo.join(above.hit, set, found).iter();
                        check.extend(waiting.map(|access| access.slot));
                        continue;
                    }
                    if let Some((known, rest)) = memo.completion(above.hit, path, above.depth) {
                        known.iter().for_each(|access| answers.matched.set(access.slot));
                        uncertain.clear();
                        uncertain.extend_from_slice(rest);
                    } else {
                        certain.clear();
                        uncertain.clear();
                        for access in memo.join(above.hit, set, found) {
                            cost += 1;
                            match self.completes(access, &chain[above.depth..]) {
                                Some(true) if access.alone => certain.push(*access),
                                Some(false) if access.together => {}
                                _ => uncertain.push(*access),
                            }
                        }
                        certain.iter().for_each(|access| answers.matched.set(access.slot));
                        memo.remember(above.hit, path, above.depth, certain, uncertain);
                    }
                    cost += uncertain.len();
                    for access in uncertain.iter() {
                        if answers.matched.is_set(access.slot) {
                            continue;
                        }
                        match self.value_filter(access.slot) {
                            Some(filter) if access.together => {
                                let step = access.step as usize;
                                if !filter.passes(
                                    step,
                                    document,
                                    &self.symbols,
                                    labels,
                                    above.element,
                                    &mut cost,
                                ) {
                                    continue;
                                }
                                match filter.completes(step, &chain[above.depth..]) {
                                    Some(true) => answers.matched.set(access.slot),
                                    Some(false) => {}
                                    None => check.push(access.slot),
                                }
                            }
                            _ => check.push(access.slot),
                        }
                    }
                }
                for slot in check.drain(..) {
                    self.check(slot, index, document, labels, answers, &mut cost);
                }
            }
            for key in 0..keys {
                let source = memo.set(set).keys[key].0;
                any_value(document, &self.symbols, labels, index, source, |value| {
                    let hit = memo.hit(access, set, key, value, found, &mut cost);
                    let complete = match hit {
                        Some(hit) => memo.complete(hit),
                        None => found,
                    };
                    cost += complete.len();
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
                    self.check(slot, index, document, labels, answers, &mut cost);
                }
            }
            meter.spend(cost)?;
        }
        Ok(())
    }

    fn value_filter(&self, slot: Slot) -> Option<&ValueFilter> {
        self.values.get(self.value_positions[slot as usize] as usize)
    }

    /// Whether the rest of a filter's path leads from the first element of a chain to its last;
    /// `None` if unknown.
    fn completes(&self, access: &Access, chain: &[Label]) -> Option<bool> {
        self.value_filter(access.slot)?.completes(access.step as usize, chain)
    }

    /// Records that a path has been reached.
    fn reach(&self, path: PathId, answers: &mut Answers) {
        answers.work.paths += 1;
        let reached = &mut answers.reached[path as usize];
        if *reached == answers.document {
            return;
        }
        *reached = answers.document;
        for &slot in self.exact.get(path) {
            answers.matched.set(slot);
        }
        for &[slot, bit] in self.waiting.get(path) {
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
        cost: &mut usize,
    ) {
        let failures = answers.mark(slot);
        if failures == EVALUATED || answers.matched.is_set(slot) {
            return;
        }
        let Some(filter) = self.value_filter(slot) else { return };
        answers.work.tested += 1;
        match filter.check(document, &self.symbols, labels, element, cost) {
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
