//! How does an index change?
//!
//! New subscriptions are compiled before the write lock is taken, so that other writers need not wait. Under the
//! lock, limits are checked, replaced subscriptions recorded and the next snapshot published.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::algorithm::Algorithm;
use super::compile::{compile, refuse};
use super::draft::{Draft, Progress, Stoppable, Written, are_distinct, must_be_known_first, name_of};
use super::elements::make_elements;
use super::merge::next_run;
use super::segment::Segment;
use super::snapshot::{Snapshot, attributes_for};
use super::subscription::{Subscription, WrittenSubscription};
use super::validity::Validity;
use super::{AT_ONCE, Index, Shared};
use crate::error::{Error, Result};
use crate::event::Hierarchy;
use crate::expression::{Expression, check_name, total_size};
use crate::id::Id;
use crate::limits;
use crate::matcher::Slot;
use crate::rank::check_weight;
use crate::versioned::{Maintained, Writing};

impl Index {
    /// Adds a subscription; one with the same id is replaced, and the new one goes to the end of the order.
    pub fn add(&self, id: Id, expression: Expression, metadata: Option<Arc<str>>) -> Result<()> {
        self.add_subscription(Subscription { metadata, ..Subscription::new(id, expression) })
    }

    /// Adds a complete subscription.
    pub fn add_subscription(&self, subscription: Subscription) -> Result<()> {
        self.check(&subscription)?;
        self.insert(&[subscription], &Progress::default())
    }

    /// Adds all subscriptions, or none if one exceeds a limit; among equal ids, the last wins.
    pub fn add_many(&self, subscriptions: Vec<Subscription>) -> Result<()> {
        self.add_many_until(subscriptions, &Progress::default())
    }

    /// [`add_many`](Index::add_many) that can be stopped through `work`: unless everything is done by then, it fails
    /// with [`Error::Cancelled`] and adds nothing.
    pub fn add_many_until(&self, mut subscriptions: Vec<Subscription>, work: &Progress) -> Result<()> {
        for (position, subscription) in subscriptions.iter().enumerate() {
            work.check()?;
            self.check(subscription).map_err(|cause| Error::Item {
                position,
                name: name_of(&subscription.id),
                cause: Box::new(cause),
            })?;
        }
        let mut last: HashMap<Id, usize, ahash::RandomState> = HashMap::default();
        for (position, subscription) in subscriptions.iter().enumerate() {
            last.insert(subscription.id.clone(), position);
        }
        if last.len() < subscriptions.len() {
            let mut position = 0;
            subscriptions.retain(|subscription| {
                position += 1;
                last[&subscription.id] == position - 1
            });
        }
        self.insert(&subscriptions, work)
    }

    /// Adds all subscriptions, or none if one cannot be read or exceeds a limit. Expressions are parsed on all
    /// processors, and dropped once they are compiled.
    pub fn add_written(&self, written: Vec<WrittenSubscription>) -> Result<()> {
        self.add_written_until(written, &Progress::default())
    }

    /// [`add_written`](Index::add_written) that can be stopped through `work`: unless everything is done by then, it
    /// fails with [`Error::Cancelled`] and adds nothing.
    pub fn add_written_until(&self, written: Vec<WrittenSubscription>, work: &Progress) -> Result<()> {
        let distinct = are_distinct(written.iter().map(|written| &written.id));
        let drafts: Vec<Written<'_>> = written
            .iter()
            .enumerate()
            .map(|(position, written)| Written { index: self, position, written })
            .collect();
        // XPaths must be known before the first document is matched.
        if distinct && !written.iter().any(|written| must_be_known_first(&written.text)) {
            return self.insert_drafts(&drafts, work, &|_| true).map(|_| ());
        }
        let subscriptions =
            Stoppable::all(&drafts, work).map(|draft| draft.read().map(|read| read.into_owned()));
        self.add_many_until(subscriptions.collect::<Result<_>>()?, work)
    }

    /// What is wrong with each of these subscriptions that cannot be added, by position. The rest can be added.
    pub fn refuse_written(
        &self,
        written: &[WrittenSubscription],
        work: &Progress,
    ) -> Result<Vec<(usize, Error)>> {
        let drafts: Vec<Written<'_>> = written
            .iter()
            .enumerate()
            .map(|(position, written)| Written { index: self, position, written })
            .collect();
        refuse(&drafts, work)
    }

    /// What is wrong with each of these subscriptions that cannot be added, by position. The rest can be added.
    pub fn refuse_many(
        &self,
        subscriptions: &[Subscription],
        work: &Progress,
    ) -> Result<Vec<(usize, Error)>> {
        let mut refused = Vec::new();
        for (position, subscription) in subscriptions.iter().enumerate() {
            work.check()?;
            if let Err(error) = self.check(subscription) {
                refused.push((position, error));
            }
        }
        Ok(refused)
    }

    pub(super) fn check(&self, subscription: &Subscription) -> Result<()> {
        subscription.expression.check(&self.shared.limits)?;
        self.check_parsed(subscription)
    }

    /// As [`Index::check`], for a subscription whose expression was checked when it was parsed.
    pub(super) fn check_parsed(&self, subscription: &Subscription) -> Result<()> {
        self.check_fields(subscription.boost, &subscription.validity)?;
        // Threads that take the same snapshot at once wait for each other.
        if !matches!(self.shared.algorithm, Algorithm::Other(_)) {
            return Ok(());
        }
        let snapshot = self.shared.versions.current();
        let zone = snapshot.attributes.time_zone();
        self.shared.algorithm.check(&subscription.expression, zone, &self.shared.limits)
    }

    /// Whether the fields of a subscription beside its expression are valid.
    pub(super) fn check_fields(&self, boost: f64, validity: &Validity) -> Result<()> {
        check_weight("the boost", boost)?;
        validity.check()
    }

    fn insert(&self, subscriptions: &[Subscription], work: &Progress) -> Result<()> {
        self.insert_if(subscriptions, work, &|_| true).map(|_| ())
    }

    /// Inserts, unless the index no longer satisfies a condition when the lock is taken; then nothing is inserted.
    fn insert_if(
        &self,
        subscriptions: &[Subscription],
        work: &Progress,
        condition: &dyn Fn(&Snapshot) -> bool,
    ) -> Result<bool> {
        if subscriptions.is_empty() {
            return Ok(true);
        }
        let _inside = self.shared.versions.enter()?;
        let current = self.shared.versions.current();
        let expressions = || subscriptions.iter().map(|subscription| &subscription.expression);
        current.documents.retain(subscriptions)?;
        let retained = current.attributes.retain_elements(expressions(), make_elements);
        let inserted = retained.and_then(|()| {
            let inserted = self.insert_drafts(subscriptions, work, condition);
            if inserted != Ok(true) {
                current.attributes.release_elements(expressions());
            }
            inserted
        });
        if inserted != Ok(true) {
            expressions().for_each(|expression| current.documents.release(expression));
        }
        inserted
    }

    fn insert_drafts<D: Draft>(
        &self,
        drafts: &[D],
        work: &Progress,
        condition: &dyn Fn(&Snapshot) -> bool,
    ) -> Result<bool> {
        if drafts.is_empty() {
            return Ok(true);
        }
        let shared = &self.shared;
        let inside = shared.versions.enter()?;
        // A large batch is compiled before the lock is taken, so that other writers need not wait.
        let sample =
            if drafts.len() > AT_ONCE { shared.versions.current().sample.events() } else { Vec::new() };
        let stoppable: Vec<_> = Stoppable::all(drafts, work).collect();
        // Readers that decode events learn of new terms together with their subscriptions.
        let attributes = Arc::new(shared.versions.current().attributes.fork());
        let added = compile(&stoppable, shared.settings(&attributes, &sample))?;
        // Whatever must be read from files is read before the lock is taken.
        shared.check_regular_expressions(&shared.versions.current().segments, &added)?;
        work.check()?;
        {
            let writing = shared.versions.write()?;
            let current = &writing.current;
            if !condition(current) {
                return Ok(false);
            }
            shared.check_regular_expressions(&current.segments, &added)?;
            shared.check_terms(current, &added)?;
            let version = current.version + 1;
            let mut live = current.live + drafts.len();
            for segment in added.iter().filter(|_| current.live > 0) {
                for slot in 0..segment.len() as Slot {
                    if let Some((replaced, slot)) = current.find(&segment.id(slot)?.to_id()) {
                        current.release_documents(replaced, slot);
                        replaced.remove(slot, version);
                        live -= 1;
                    }
                }
            }
            let mut segments = current.segments.clone();
            segments.extend(added);
            shared.publish(writing, segments, live);
        }
        drop(inside);
        self.shared.start(());
        Ok(true)
    }

    /// Removes a subscription; false if no subscription has this id or the index cannot be changed.
    /// [`Index::try_remove`] returns the reason.
    pub fn remove(&self, id: &Id) -> bool {
        self.try_remove(id) == Ok(true)
    }

    /// Removes a subscription; false if no subscription has this id. Fails in a forked process if another thread was
    /// changing the index when the process was forked.
    pub fn try_remove(&self, id: &Id) -> Result<bool> {
        {
            let writing = self.shared.versions.write()?;
            let current = &writing.current;
            let Some((segment, slot)) = current.find(id) else {
                return Ok(false);
            };
            current.release_documents(segment, slot);
            segment.remove(slot, current.version + 1);
            let (segments, live) = (current.segments.clone(), current.live - 1);
            self.shared.publish(writing, segments, live);
        }
        self.shared.start(());
        Ok(true)
    }

    /// Removes several subscriptions at once; returns how many, and the position of the first unknown id. If `all` is
    /// set and an id is unknown, none is removed.
    pub fn remove_many(&self, ids: &[Id], all: bool) -> Result<(usize, Option<usize>)> {
        let removed = {
            let writing = self.shared.versions.write()?;
            let current = &writing.current;
            let (mut places, mut unknown) = (Vec::with_capacity(ids.len()), None);
            let mut distinct: HashSet<&Id, ahash::RandomState> = HashSet::default();
            for (position, id) in ids.iter().enumerate().filter(|(_, id)| distinct.insert(id)) {
                match current.find(id) {
                    Some(place) => places.push(place),
                    None => unknown = unknown.or(Some(position)),
                }
            }
            if places.is_empty() || all && unknown.is_some() {
                return Ok((0, unknown));
            }
            for (segment, slot) in &places {
                current.release_documents(segment, *slot);
                segment.remove(*slot, current.version + 1);
            }
            let removed = (places.len(), unknown);
            let (segments, live) = (current.segments.clone(), current.live - places.len());
            self.shared.publish(writing, segments, live);
            removed
        };
        self.shared.start(());
        Ok(removed)
    }

    /// Changes when a subscription can match; false if no subscription has this id. Like a replaced one, it moves to
    /// the end of the order.
    pub fn set_validity(&self, id: &Id, change: impl Fn(Validity) -> Validity) -> Result<bool> {
        loop {
            let snapshot = self.shared.versions.current();
            let Some((segment, slot)) = snapshot.find(id) else { return Ok(false) };
            let mut subscription = segment.subscription(slot)?;
            subscription.validity = change(subscription.validity);
            self.check(&subscription)?;
            let unchanged = |current: &Snapshot| {
                let found = current.find(id);
                found.is_some_and(|found| Arc::ptr_eq(found.0, segment) && found.1 == slot)
            };
            if self.insert_if(&[subscription], &Progress::default(), &unchanged)? {
                return Ok(true);
            }
        }
    }

    /// Sets the hierarchy of an attribute's values: an event with a value then also has the values above it. `None`
    /// removes it. Affects events that are decoded from now on.
    pub fn set_hierarchy(&self, attribute: &str, hierarchy: Option<Hierarchy>) -> Result<()> {
        check_name(attribute, &self.shared.limits)?;
        let _inside = self.shared.versions.enter()?;
        self.shared.versions.current().attributes.set_hierarchy(&attribute.into(), hierarchy);
        Ok(())
    }
}

impl Shared {
    /// Fails if the regular expressions of all segments together exceed their limit.
    fn check_regular_expressions(&self, segments: &[Arc<Segment>], added: &[Arc<Segment>]) -> Result<()> {
        let mut all = Vec::with_capacity(segments.len() + added.len());
        for segment in added {
            all.push(segment.regular_expressions()?);
        }
        if all.iter().all(|distinct| distinct.list.is_empty()) {
            return Ok(());
        }
        for segment in segments {
            all.push(segment.regular_expressions()?);
        }
        let allowed = self.limits.index_patterns;
        // Which regular expressions segments share matters only if the sum exceeds the limit.
        if all.iter().map(|distinct| distinct.bytes).fold(0, usize::saturating_add) <= allowed {
            return Ok(());
        }
        let bytes = total_size(all.iter().flat_map(|distinct| distinct.list.iter()), allowed);
        limits::check("bytes of an index's regular expressions", "index_patterns", bytes, allowed)
    }

    /// Fails if there would be too many terms.
    fn check_terms(&self, current: &Snapshot, added: &[Arc<Segment>]) -> Result<()> {
        if added.iter().all(|segment| segment.terms().is_empty()) {
            return Ok(());
        }
        let attributes = attributes_for(&current.attributes, current.segments.iter().chain(added));
        limits::check("distinct terms of an index", "terms", attributes.terms(), self.limits.terms)
    }

    /// Merges the smallest segments and publishes the next version.
    pub(super) fn publish(
        &self,
        writing: Writing<'_, Snapshot, ()>,
        mut segments: Vec<Arc<Segment>>,
        live: usize,
    ) {
        self.at_rest.store(false, Ordering::Release);
        let current = Arc::clone(&writing.current);
        let version = current.version + 1;
        // Small segments that are mostly removed are rebuilt at once.
        let stale =
            |segment: &Arc<Segment>| segment.len() <= AT_ONCE && 2 * segment.removals() > segment.len();
        while let Some(position) = segments.iter().rposition(stale) {
            let Ok(merged) = self.merge(&segments[position..=position], version, &[]) else { break };
            segments.splice(position..=position, merged);
        }
        while let Some(run) = next_run(&segments) {
            let merging = &segments[run.clone()];
            let size: usize = merging.iter().map(|segment| segment.len()).sum();
            if size > AT_ONCE {
                break;
            }
            let Ok(merged) = self.merge(merging, version, &[]) else { break };
            segments.splice(run, merged);
        }
        let attributes = attributes_for(&current.attributes, segments.iter());
        writing.publish(Snapshot {
            version,
            segments,
            live,
            attributes,
            sample: Arc::clone(&current.sample),
            filters: current.documents.snapshot(),
            documents: Arc::clone(&current.documents),
        });
    }
}
