//! Which of an index's expressions about elements does an element satisfy?
//!
//! What is asked of the elements of one list is an index of its own, whose ids are the texts of the
//! expressions. Each is counted, and leaves with the last predicate that asks for it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Index;
use super::algorithm::Algorithm;
use super::columns::Declared;
use super::segment::Segment;
use super::snapshot::{MatchScratch, Snapshot};
use super::subscription::Subscription;
use crate::error::Result;
use crate::event::{Attributes, ElementIndex, ElementSnapshot, Event};
use crate::expression::{Expression, read_inner, resolve};
use crate::fork::ForkLock;
use crate::id::{Id, IdRef};
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;

/// An index of what is asked of the elements of a list.
pub(crate) fn make_elements(missing: Missing, limits: &Limits, zone: &TimeZone) -> Arc<dyn ElementIndex> {
    let attributes = Attributes::of_elements(missing, limits, zone.clone());
    let index = Index::over(attributes, missing, limits.clone(), Algorithm::Auto, Declared::none());
    Arc::new(Elements { index, uses: ForkLock::new("index", HashMap::default()) })
}

impl Attributes {
    /// Takes note of what an expression asks of elements of lists, and of what it asks to be unknown, so that events
    /// are decoded for it. An index does this itself.
    pub fn learn(&self, expression: &Expression) -> Result<()> {
        let resolved = resolve(expression, self.time_zone());
        let unknowns = resolved.names_of_unknowns();
        if !unknowns.is_empty() {
            // A matcher may ask for less than an explanation does.
            resolved.predicates().for_each(|predicate| _ = self.intern(predicate.attribute()));
            unknowns.iter().for_each(|name| _ = self.intern(name));
        }
        self.retain_elements(std::iter::once(expression), make_elements)
    }
}

/// Counts what the live subscriptions of opened segments ask of elements of lists.
pub(super) fn retain_elements(
    segments: &[Arc<Segment>],
    attributes: &Attributes,
    version: u64,
) -> Result<()> {
    for segment in segments.iter().filter(|segment| segment.asks_elements()) {
        for slot in segment.live(version) {
            let expression = segment.subscription(slot)?.expression;
            attributes.retain_elements(std::iter::once(&expression), make_elements)?;
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Elements {
    index: Index,
    /// How many predicates ask for each expression. Held while the index is changed.
    uses: ForkLock<HashMap<String, u64, ahash::RandomState>>,
}

impl ElementIndex for Elements {
    fn retain(&self, texts: &[&str]) -> Result<()> {
        let mut uses = self.uses.lock()?;
        let mut new: HashSet<&str, ahash::RandomState> = HashSet::default();
        let mut subscriptions = Vec::new();
        for &text in texts {
            if !uses.contains_key(text) && new.insert(text) {
                subscriptions.push(Subscription::new(text, read_inner(text)?));
            }
        }
        self.index.add_many(subscriptions)?;
        for &text in texts {
            match uses.get_mut(text) {
                Some(count) => *count += 1,
                None => drop(uses.insert(text.to_owned(), 1)),
            }
        }
        Ok(())
    }

    fn release(&self, texts: &[&str]) {
        // In a forked process that cannot change the index, expressions stay that nobody asks for.
        let Ok(mut uses) = self.uses.lock() else { return };
        let mut unused = Vec::new();
        for &text in texts {
            match uses.get_mut(text) {
                Some(count) if *count > 1 => *count -= 1,
                _ => unused.extend(uses.remove(text).map(|_| Id::from(text))),
            }
        }
        let _ = self.index.remove_many(&unused, false);
    }

    fn snapshot(&self) -> Arc<dyn ElementSnapshot> {
        self.index.snapshot()
    }

    fn settle(&self) {
        self.index.settle();
    }
}

thread_local! {
    /// Working memory, one for every level of lists in lists that is being matched.
    static SCRATCH: RefCell<Vec<MatchScratch>> = const { RefCell::new(Vec::new()) };
}

impl ElementSnapshot for Snapshot {
    fn attributes(&self) -> &Attributes {
        Snapshot::attributes(self)
    }

    fn satisfied(&self, element: &Event, found: &mut dyn FnMut(&str)) -> Result<()> {
        let mut scratch = SCRATCH.with(|all| all.borrow_mut().pop()).unwrap_or_default();
        let matched = self.matches(element, &mut scratch, |id| {
            if let IdRef::String(text) = id {
                found(text);
            }
        });
        SCRATCH.with(|all| all.borrow_mut().push(scratch));
        matched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn a_snapshot_keeps_what_is_asked_of_elements() {
        let index = Index::new(Missing::Unknown, Limits::default());
        for (id, text) in [(1, "none(items, a = 1)"), (2, "all(items, a = 1)"), (3, "any(items, b = 2)")] {
            index.add(id.into(), parse(text, index.limits()).unwrap(), None).unwrap();
        }
        let found = |snapshot: &Snapshot| {
            let mut event = Event::default();
            let json = br#"{"items": [{"a": 1, "b": 3}]}"#;
            event.decode_json(json, snapshot.attributes(), index.limits()).unwrap();
            let mut found = Vec::new();
            snapshot.matches(&event, &mut MatchScratch::default(), |id| found.push(id.to_id())).unwrap();
            found
        };
        let before = index.snapshot();
        (1..4).for_each(|id| assert!(index.remove(&Id::from(id))));
        assert_eq!(found(&before), [Id::from(2)]);
        assert_eq!(found(&index.snapshot()), []);
    }

    #[test]
    fn elements_are_asked_about_themselves_after_merging() {
        let index = Index::new(Missing::Unknown, Limits::default());
        let add = |id: i64, text: &str| {
            index.add(id.into(), parse(text, index.limits()).unwrap(), None).unwrap();
        };
        add(-1, "any(items, it = 20.5)");
        add(-2, "any(items, any(it, it = 'x'))");
        add(-3, "any(items, \"it\" = 'field')");
        for number in 0..100 {
            add(number, &format!("any(items, f{number} = 1 and it is null)"));
            let found = index.match_json(br#"{"items": [20.5, ["x"], {"it": "field"}]}"#).unwrap();
            assert_eq!(found, [Id::from(-1), Id::from(-2), Id::from(-3)], "after {number}");
        }
    }
}
