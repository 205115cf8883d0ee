//! Which of an index's expressions about elements does an element satisfy?
//!
//! The expressions about the elements of one list form a separate index. Their ids are their numbers, or their texts if
//! several have the same number. They are reference-counted and leave with the last predicate that uses them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::Index;
use super::algorithm::Algorithm;
use super::columns::Declared;
use super::segment::Segment;
use super::snapshot::{MatchScratch, Snapshot};
use super::subscription::Subscription;
use crate::error::Result;
use crate::event::{Attributes, ElementIndex, ElementSnapshot, Event};
use crate::expression::{Expression, number_of, read_inner, resolve};
use crate::fork::ForkLock;
use crate::id::{Id, IdRef};
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;

/// An index of the expressions about the elements of a list.
pub(super) fn make_elements(missing: Missing, limits: &Limits, zone: &TimeZone) -> Arc<dyn ElementIndex> {
    let attributes = Attributes::new(missing, limits, zone.clone());
    let index = Index::over(attributes, missing, limits.clone(), Algorithm::Auto, Declared::none());
    Arc::new(Elements { index, uses: ForkLock::new("index", Uses::default()) })
}

impl Attributes {
    /// Registers what an expression tests on elements of lists and what it tests for being unknown, so that events
    /// are decoded for it. An index does this itself.
    pub fn learn(&self, expression: &Expression) -> Result<()> {
        let resolved = resolve(expression, self.time_zone());
        let unknowns = resolved.names_of_unknowns();
        if !unknowns.is_empty() {
            // A matcher may need less than an explanation does.
            resolved.predicates().for_each(|predicate| _ = self.intern(predicate.attribute()));
            unknowns.iter().for_each(|name| _ = self.intern(name));
        }
        self.retain_elements(std::iter::once(expression), make_elements)
    }
}

/// Counts the expressions about elements that live subscriptions of opened segments use.
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
    /// Locked while the index is changed.
    uses: ForkLock<Uses>,
}

/// Which expressions are in use.
#[derive(Debug, Default)]
struct Uses {
    /// How many predicates use each expression.
    texts: HashMap<Arc<str>, u64, ahash::RandomState>,
    /// Which expressions have each number.
    numbers: HashMap<u32, Bearer, ahash::RandomState>,
}

/// Which expressions share a number.
#[derive(Debug, Clone)]
enum Bearer {
    /// One expression, whose id in the index is the number.
    One(Arc<str>),
    /// This many expressions, whose ids are their texts. At some time there were at least two.
    Several(usize),
}

impl Uses {
    /// The id of an expression in use.
    fn id(&self, text: &str) -> Id {
        let number = number_of(text);
        match self.numbers.get(&number) {
            Some(Bearer::One(_)) => Id::from(i64::from(number)),
            _ => Id::from(text),
        }
    }

    /// Drops an expression that is no longer used, and returns its id.
    fn forget(&mut self, text: &str) -> Option<Id> {
        let id = self.id(text);
        self.texts.remove(text)?;
        match self.numbers.get_mut(&number_of(text)) {
            Some(Bearer::Several(count)) if *count > 1 => *count -= 1,
            _ => _ = self.numbers.remove(&number_of(text)),
        }
        Some(id)
    }
}

impl ElementIndex for Elements {
    fn retain(&self, texts: &[&str]) -> Result<()> {
        let mut uses = self.uses.lock()?;
        let mut new: HashSet<&str, ahash::RandomState> = HashSet::default();
        // Expressions that lose their number because another one turns out to have it, and the owners of the numbers
        // afterwards.
        let mut renamed: Vec<Arc<str>> = Vec::new();
        let mut bearers: HashMap<u32, Bearer, ahash::RandomState> = HashMap::default();
        for &text in texts {
            if uses.texts.contains_key(text) || !new.insert(text) {
                continue;
            }
            let number = number_of(text);
            let bearer = match bearers.get(&number).or_else(|| uses.numbers.get(&number)) {
                None => Bearer::One(text.into()),
                Some(Bearer::Several(count)) => Bearer::Several(count + 1),
                Some(Bearer::One(other)) => {
                    renamed.extend((!new.contains(&**other)).then(|| other.clone()));
                    Bearer::Several(2)
                }
            };
            bearers.insert(number, bearer);
        }
        let mut subscriptions = Vec::with_capacity(new.len() + renamed.len());
        for text in new.iter().copied().chain(renamed.iter().map(|text| &**text)) {
            let number = number_of(text);
            let id = match bearers[&number] {
                Bearer::One(_) => Id::from(i64::from(number)),
                Bearer::Several(_) => Id::from(text),
            };
            subscriptions.push(Subscription::new(id, read_inner(text)?));
        }
        self.index.add_many(subscriptions)?;
        // Until now they have both ids, and are only found by the number.
        let numbers: Vec<Id> = renamed.iter().map(|text| Id::from(i64::from(number_of(text)))).collect();
        self.index.remove_many(&numbers, false)?;
        uses.numbers.extend(bearers);
        for &text in texts {
            match uses.texts.get_mut(text) {
                Some(count) => *count += 1,
                None => drop(uses.texts.insert(text.into(), 1)),
            }
        }
        Ok(())
    }

    fn release(&self, texts: &[&str]) {
        // In a forked process that cannot change the index, unused expressions stay.
        let Ok(mut uses) = self.uses.lock() else { return };
        let mut unused = Vec::new();
        for &text in texts {
            match uses.texts.get_mut(text) {
                Some(count) if *count > 1 => *count -= 1,
                _ => unused.extend(uses.forget(text)),
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

    fn settle_within(&self, patience: Duration) -> bool {
        self.index.settle_within(patience)
    }
}

thread_local! {
    /// Working memory, one per depth of nested lists that are being matched.
    static SCRATCH: RefCell<Vec<MatchScratch>> = const { RefCell::new(Vec::new()) };
}

impl ElementSnapshot for Snapshot {
    fn attributes(&self) -> &Attributes {
        Snapshot::attributes(self)
    }

    fn satisfied(&self, elements: &[Box<Event>], found: &mut dyn FnMut(IdRef<'_>)) -> Result<()> {
        let mut scratch = SCRATCH.with(|all| all.borrow_mut().pop()).unwrap_or_default();
        let matched =
            elements.iter().try_for_each(|element| self.matches(element, &mut scratch, &mut *found));
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

    /// Two expressions with the same number.
    fn same_number() -> [String; 2] {
        let mut seen: HashMap<u32, String> = HashMap::new();
        for number in 0.. {
            let text = format!("a = {number}");
            if let Some(other) = seen.insert(number_of(&text), text.clone()) {
                return [other, text];
            }
        }
        unreachable!("there are more texts than numbers")
    }

    #[test]
    fn expressions_with_the_same_number_are_told_apart() {
        let [one, other] = same_number();
        let event = |text: &str| format!(r#"{{"items": [{{"a": {}}}]}}"#, text.trim_start_matches("a = "));
        for together in [false, true] {
            let index = Index::new(Missing::Unknown, Limits::default());
            let read = |text: &str| parse(text, index.limits()).unwrap();
            let find = |text: &str| index.match_json(event(text).as_bytes()).unwrap();
            let subscription =
                |id: i64, quantifier: &str, text: &str| (id, read(&format!("{quantifier}(items, {text})")));
            let all = [
                subscription(1, "any", &one),
                subscription(2, "any", &other),
                subscription(3, "all", &one),
                subscription(4, "none", &other),
            ];
            if together {
                let all = all.map(|(id, expression)| Subscription::new(id, expression));
                index.add_many(all.into()).unwrap();
            } else {
                for (id, expression) in all {
                    index.add(id.into(), expression, None).unwrap();
                }
            }
            assert_eq!(find(&one), [1, 3, 4].map(Id::from), "together: {together}");
            assert_eq!(find(&other), [2].map(Id::from), "together: {together}");
            assert!(index.remove(&Id::from(2)) && index.remove(&Id::from(4)));
            assert_eq!(find(&one), [1, 3].map(Id::from));
            assert_eq!(find(&other), []);
            index.add(5.into(), read(&format!("any(items, {other})")), None).unwrap();
            assert_eq!(find(&one), [1, 3].map(Id::from));
            assert_eq!(find(&other), [5].map(Id::from));
            (1..6).for_each(|id| _ = index.remove(&Id::from(id)));
            index.add(6.into(), read(&format!("any(items, {one})")), None).unwrap();
            assert_eq!(find(&one), [6].map(Id::from));
            assert_eq!(find(&other), []);
        }
    }

    #[test]
    fn settling_merges_what_is_asked_of_elements() {
        let index = Index::new(Missing::Unknown, Limits::default());
        for number in 0..1000i64 {
            let text = format!("any(items, a = {number})");
            index.add(number.into(), parse(&text, index.limits()).unwrap(), None).unwrap();
        }
        while !index.settle_within(Duration::from_millis(10)) {}
        assert!(index.snapshot().attributes().settle_elements_within(Duration::ZERO));
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
