//! Which filters are certain while a document arrives?
//!
//! Walks the elements that have arrived, separately from the final match. Paths and attribute tests
//! are certain when an element starts, tests of its content when it ends. Filters that need more,
//! such as the content of an enclosing element, are not reported early.

use std::collections::HashMap;

use super::answers::Bits;
use super::{ACTIVE, FAILURES, Finder, Segment, SegmentScratch, Shared, Slot};
use crate::access::Access;
use crate::document::{Document, NodeIndex, NodeKind};
use crate::engine::{Hit, SetId};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::values::{Key, ValueFilter, Verdict, any_value};

/// The progress of a segment through a document that arrives.
#[derive(Debug)]
pub struct Early {
    /// The first node not yet seen.
    next: NodeIndex,
    open: Vec<(NodeIndex, SetId)>,
    start: SetId,
    /// The pending accesses that open elements have passed, each with the number of elements that
    /// were open then.
    active: Vec<(Waiting, usize)>,
    told: Bits,
    /// Filters to check when an element begins or ends.
    look: Vec<Slot>,
    /// How often the check of a filter failed. Filters that fail too often are left to the end.
    failures: HashMap<Slot, usize, ahash::RandomState>,
    /// Once this is exhausted, no more filters are reported early.
    meter: Meter,
    exhausted: bool,
}

/// Accesses that need the rest of their paths.
#[derive(Debug)]
enum Waiting {
    Remembered(Hit),
    /// Of a value that is too long to be cached.
    Listed(Box<[Access]>),
}

impl Segment {
    /// Prepares for a document.
    pub fn begin_early(&self, document: &Document, scratch: &mut SegmentScratch, limits: &Limits) -> Early {
        let start = match &self.finder {
            Finder::Memo(shared) => scratch.memo.start(&shared.nfa, &shared.uses),
            _ => 0,
        };
        scratch.walk.labels.start(document);
        let told = Bits::new(self.filters.len());
        Early {
            next: 0,
            open: Vec::new(),
            start,
            active: Vec::new(),
            told,
            look: Vec::new(),
            failures: HashMap::default(),
            meter: Meter::new(limits, None),
            exhausted: false,
        }
    }

    /// Continues to the end of the received part, and calls `found` with the filters that have
    /// become certain.
    pub fn tell_early(
        &self,
        document: &Document,
        scratch: &mut SegmentScratch,
        early: &mut Early,
        found: impl FnMut(Slot),
    ) {
        let Finder::Memo(shared) = &self.finder else { return };
        let mut walk = Walk { segment: self, shared, document, scratch, early, found };
        let end = document.nodes().len() as NodeIndex;
        for index in walk.early.next..end {
            let node = document.node(index);
            if node.kind == NodeKind::Element && !walk.early.exhausted {
                while walk.early.open.last().is_some_and(|(element, _)| *element != node.parent) {
                    walk.leave();
                }
                walk.enter(index);
            }
        }
        walk.early.next = end;
        while !walk.early.exhausted
            && walk.early.open.last().is_some_and(|(element, _)| document.is_closed(*element))
        {
            walk.leave();
        }
    }
}

struct Walk<'w, F> {
    segment: &'w Segment,
    shared: &'w Shared,
    document: &'w Document,
    scratch: &'w mut SegmentScratch,
    early: &'w mut Early,
    found: F,
}

impl<F: FnMut(Slot)> Walk<'_, F> {
    fn enter(&mut self, element: NodeIndex) {
        let Walk { segment, shared, document, scratch, early, .. } = self;
        let around = early.open.last().map_or(early.start, |(_, set)| *set);
        let label = scratch.walk.labels.of(&segment.symbols, document, element);
        let set = scratch.memo.enter(&shared.nfa, &shared.uses, around, label);
        early.spend(1 + scratch.memo.take_stepped());
        early.open.push((element, set));
        for &slot in scratch.memo.all_inside(around) {
            early.told.tell(slot, &mut self.found);
        }
        let state = scratch.memo.set(set);
        let many = state.fires.iter().flat_map(|path| segment.exact.get(*path));
        for &slot in state.slots.iter().chain(many) {
            early.told.tell(slot, &mut self.found);
        }
        self.look(element, set, false);
    }

    fn leave(&mut self) {
        if let Some((element, set)) = self.early.open.pop() {
            self.look(element, set, true);
            let open = self.early.open.len();
            let active = self.early.active.iter().rposition(|(_, depth)| *depth <= open);
            self.early.active.truncate(active.map_or(0, |last| last + 1));
            self.scratch.memo.leave(set);
        }
    }

    /// Examines the filters that an element may decide when it starts, or when it has `ended`.
    fn look(&mut self, element: NodeIndex, set: SetId, ended: bool) {
        let Walk { segment, shared, document, scratch, early, .. } = self;
        let SegmentScratch { memo, walk, found: accesses, .. } = &mut **scratch;
        let mut cost = 1;
        let Early { open, active, told, look, failures, .. } = &mut **early;
        if !memo.set(set).awaited.is_empty() {
            cost += active.len();
            for (waiting, _) in active.iter() {
                match waiting {
                    Waiting::Remembered(hit) => {
                        look.extend(memo.join(*hit, set, accesses).iter().map(|access| access.slot));
                    }
                    Waiting::Listed(listed) => {
                        cost += listed.len();
                        let awaited = &memo.set(set).awaited;
                        let complete =
                            listed.iter().filter(|access| awaited.binary_search(&access.path).is_ok());
                        look.extend(complete.map(|access| access.slot));
                    }
                }
            }
        }
        for key in 0..memo.set(set).keys.len() {
            let source = memo.set(set).keys[key].0;
            let attribute = matches!(source, Key::Attribute(_));
            if !attribute && !ended {
                continue;
            }
            any_value(document, &segment.symbols, &mut walk.labels, element, source, |value| {
                let hit = memo.hit(&shared.access, set, key, value, accesses, &mut cost);
                let complete = hit.map_or(accesses.as_slice(), |hit| memo.complete(hit));
                look.extend(complete.iter().filter(|access| access.last).map(|access| access.slot));
                if !attribute || ended || active.len() >= ACTIVE {
                    return false;
                }
                match hit {
                    Some(hit) if hit.waits().is_some() => {
                        active.push((Waiting::Remembered(hit), open.len()));
                    }
                    None if accesses.iter().any(|access| !access.last) => {
                        let listed = accesses.iter().filter(|access| !access.last).copied().collect();
                        active.push((Waiting::Listed(listed), open.len()));
                    }
                    _ => {}
                }
                false
            });
        }
        cost += look.len();
        for slot in look.drain(..) {
            let Some(filter) = segment.value_filter(slot).filter(|filter| is_decidable(filter, ended)) else {
                continue;
            };
            if told.is_set(slot) || failures.get(&slot).is_some_and(|failures| *failures >= FAILURES) {
                continue;
            }
            match filter.check(document, &segment.symbols, &mut walk.labels, element, &mut cost) {
                Verdict::Passed => told.tell(slot, &mut self.found),
                Verdict::Failed | Verdict::TooDeep => *failures.entry(slot).or_default() += 1,
            }
        }
        early.spend(cost);
    }
}

impl Early {
    fn spend(&mut self, units: usize) {
        self.exhausted |= self.meter.spend(units).is_err();
    }
}

/// Whether all tests of a filter are known when its last element starts, or when it has `ended`. Of
/// the enclosing elements, only attributes are known.
fn is_decidable(filter: &ValueFilter, ended: bool) -> bool {
    let last = filter.steps.len() - 1;
    filter.tests.iter().all(|test| matches!(test.key, Key::Attribute(_)) || ended && test.step == last)
}

impl Bits {
    fn tell(&mut self, slot: Slot, found: &mut impl FnMut(Slot)) {
        if !self.is_set(slot) {
            self.set(slot);
            found(slot);
        }
    }
}
