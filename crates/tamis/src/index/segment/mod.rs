//! What is an immutable part of an index?
//!
//! A segment holds subscriptions and the matcher compiled from them. Only removals change a segment: each
//! removed slot gets the first version of the index that no longer contains it.

mod file;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::AT_ONCE as MERGED_AT_ONCE;
use super::algorithm::{Algorithm, COMPILED, SegmentMatcher, SegmentSettings};
use super::columns::{Declared, MetadataColumns, MetadataColumnsBuilder};
use super::draft::Draft;
use super::excerpt::{Chosen, Excerpt, Remembered};
use super::mentioned::{DistinctRegularExpressions, Mentioned};
use super::sample::Sample;
use super::stored_subscriptions::{StoredSubscriptions, StoredSubscriptionsBuilder};
use super::subscription::Subscription;
use super::terms::{Departed, SegmentTerms};
use super::tiers::Tiers;
use super::validity::Validities;
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event};
use crate::expression::{Expression, FlatExpression, resolve};
use crate::id::{Id, IdRef};
use crate::matcher::{BatchTimes, CompiledBuilder, ExpressionStats, Matcher, Scratch, Slot};
use crate::rank::{Scores, is_coarse};
use crate::sections::Origin;
use crate::truth::Missing;

/// An immutable set of subscriptions with the matcher compiled over them.
#[derive(Debug)]
pub(super) struct Segment {
    stored: StoredSubscriptions,
    metadata_columns: MetadataColumns,
    declared: Arc<Declared>,
    engine: SegmentMatcher,
    /// What conditions on metadata select of it.
    remembered: Remembered,
    /// The slots of the highest priorities; found out when someone asks for the first.
    tiers: OnceLock<Tiers>,
    /// What its expressions consist of; found out when someone asks, where the matcher does not say.
    expression_stats: OnceLock<ExpressionStats>,
    /// The attributes whose nulls its expressions tell from nothing; found out when someone asks.
    #[cfg(feature = "arrow")]
    asked_nulls: OnceLock<Option<Vec<AttributeId>>>,
    /// What its expressions score; made when someone asks for a ranking.
    scores: OnceLock<(Scores, bool)>,
    /// The distinct regular expressions of its expressions; of a file, found when someone asks.
    regular_expressions: OnceLock<DistinctRegularExpressions>,
    /// What it was compiled with, which holds the names of its attributes.
    names: Arc<Attributes>,
    /// The terms that its expressions ask about.
    terms: SegmentTerms,
    departed: Departed,
    missing: Missing,
    /// For every slot the version that removed it, 0 while none did; made for the first removal.
    removed: OnceLock<Box<[AtomicU64]>>,
    removals: AtomicUsize,
    /// The file it lives in, if it does, and the checksum in its name.
    file: OnceLock<(PathBuf, String)>,
    /// The file it was read from, if its bytes are not known to be as they were written.
    unverified: Option<Origin>,
    /// Whether such a file holds a matcher; found out when someone matches.
    validated: OnceLock<std::result::Result<(), &'static str>>,
    /// Whether it was compiled knowing what events are like.
    sampled: bool,
}

impl Segment {
    /// Reads and compiles drafts; fails if one cannot be read.
    pub fn new<D: Draft>(drafts: &[D], settings: SegmentSettings<'_>) -> Result<Segment> {
        let many = drafts.len() >= COMPILED;
        let mut mentioned = Mentioned::default();
        let mut terms = SegmentTerms::default();
        let mut columns = MetadataColumnsBuilder::new(settings.declared);
        let (stored, engine) = match settings.algorithm {
            Algorithm::Auto | Algorithm::Compiled if many => {
                let (mut stored, mut builder) = (
                    StoredSubscriptionsBuilder::default(),
                    CompiledBuilder::new(settings.attributes.time_zone().clone()),
                );
                builder.reserve(drafts.len());
                let mut flat = FlatExpression::default();
                for draft in drafts {
                    // A flat expression has neither patterns nor terms, and needs no resolving.
                    if let Some(written) = draft.read_flat(&mut flat)? {
                        stored.push_flat(written, &flat);
                        columns.push(written.metadata.as_deref());
                        builder.push_flat(&flat);
                        continue;
                    }
                    let subscription = draft.read()?;
                    stored.push(&subscription);
                    columns.push(subscription.metadata.as_deref());
                    mentioned.add_regular_expressions(&subscription.expression);
                    let resolved = resolve(&subscription.expression, settings.attributes.time_zone());
                    builder.push_resolved(&resolved);
                    mentioned.add_tested(&resolved);
                    terms.learn(&resolved);
                }
                mentioned.add_names(stored.names());
                let SegmentSettings { attributes, missing, sample, .. } = settings;
                let expression = |slot: Slot| Ok(drafts[slot as usize].read()?.expression.clone());
                mentioned.intern(attributes);
                let compiled = builder.finish(attributes, missing, sample, expression)?;
                (stored.finish(), SegmentMatcher::Compiled(Box::new(compiled)))
            }
            _ => {
                let subscriptions = drafts.iter().map(Draft::read).collect::<Result<Vec<_>>>()?;
                let mut stored = StoredSubscriptionsBuilder::default();
                for subscription in &subscriptions {
                    stored.push(subscription);
                    columns.push(subscription.metadata.as_deref());
                    mentioned.add(&subscription.expression);
                    let resolved = resolve(&subscription.expression, settings.attributes.time_zone());
                    mentioned.add_tested(&resolved);
                    terms.learn(&resolved);
                }
                let expressions = subscriptions.iter().map(|subscription| &subscription.expression);
                let boost = |slot: Slot| subscriptions[slot as usize].boost;
                mentioned.intern(settings.attributes);
                (stored.finish(), SegmentMatcher::new(expressions, boost, settings)?)
            }
        };
        Ok(Segment {
            stored,
            metadata_columns: columns.finish(),
            declared: Arc::clone(settings.declared),
            engine,
            remembered: Remembered::default(),
            tiers: OnceLock::new(),
            expression_stats: OnceLock::new(),
            #[cfg(feature = "arrow")]
            asked_nulls: OnceLock::new(),
            scores: OnceLock::new(),
            regular_expressions: OnceLock::from(DistinctRegularExpressions::new(
                mentioned.regular_expressions,
            )),
            names: settings.attributes.clone(),
            terms,
            departed: Departed::new(settings.attributes),
            missing: settings.missing,
            removed: OnceLock::new(),
            removals: AtomicUsize::new(0),
            file: OnceLock::new(),
            unverified: None,
            validated: OnceLock::new(),
            sampled: !settings.sample.is_empty(),
        })
    }

    pub fn len(&self) -> usize {
        self.stored.len()
    }

    pub fn removals(&self) -> usize {
        self.removals.load(Ordering::Acquire)
    }

    pub fn matcher(&self) -> &dyn Matcher {
        self.engine.matcher()
    }

    /// Compiles the expressions in some slots, which ascend, by the segment's own names. `sample` holds events like
    /// those to come.
    pub fn excerpt(&self, slots: &[Slot], sample: &[Event]) -> Result<Excerpt> {
        let expressions = slots.iter().map(|&slot| self.expression(slot)).collect::<Result<Vec<_>>>()?;
        let settings = SegmentSettings {
            attributes: &self.names,
            missing: self.missing,
            algorithm: Algorithm::Auto,
            normal_form: usize::MAX,
            sample,
            declared: &self.declared,
        };
        let boost = |slot: Slot| self.boost(slots[slot as usize]);
        Ok(Excerpt::new(slots, SegmentMatcher::new(expressions.iter(), boost, settings)?))
    }

    /// The matcher over the slots that a condition selects, once so many more events make it worth while.
    pub fn excerpt_of<'c>(
        &self,
        chosen: &'c Chosen,
        sample: &Sample,
        events: usize,
    ) -> Result<Option<&'c Excerpt>> {
        let known = chosen.excerpt().is_some();
        let excerpt =
            chosen.excerpt_for(events, self.len(), |slots| self.excerpt(slots, &sample.events()))?;
        if !known && excerpt.is_some() {
            self.remembered.forget_some(self.bytes().0);
        }
        Ok(excerpt)
    }

    /// Its slots by the values of declared columns of metadata.
    pub fn metadata_columns(&self) -> &MetadataColumns {
        &self.metadata_columns
    }

    /// What a condition selected of it, if that is remembered.
    pub fn chosen(&self, condition: &Arc<str>) -> Option<Arc<Chosen>> {
        self.remembered.get(condition)
    }

    /// Remembers what a condition selects.
    pub fn remember(&self, condition: &Arc<str>, chosen: &Arc<Chosen>) {
        self.remembered.insert(condition, chosen);
        self.remembered.forget_some(self.bytes().0);
    }

    /// The slots of the highest priorities; `None` if it has a matcher that was chosen by name, or is small.
    pub fn tiers(&self) -> Option<&Tiers> {
        match self.engine {
            SegmentMatcher::Compiled(_) => {
                Some(self.tiers.get_or_init(|| Tiers::new(self.len(), |slot| self.priority(slot))))
            }
            _ => None,
        }
    }

    /// Whether it is worthwhile to compile it again, now that events have been seen.
    pub fn is_worth_sampling(&self) -> bool {
        !self.sampled && self.len() > MERGED_AT_ONCE && matches!(self.engine, SegmentMatcher::Compiled(_))
    }

    /// How many sampled events its triggers were chosen by, and how long events of batches took. Of a file
    /// that was not verified, the number is what the file says.
    pub fn choices(&self) -> (usize, BatchTimes) {
        match &self.engine {
            SegmentMatcher::Compiled(compiled) => (compiled.sampled_events(), compiled.batch_times()),
            _ => (0, BatchTimes::default()),
        }
    }

    /// What its expressions consist of, whether removed or not. The matchers of the papers do not know: all
    /// expressions are read for them, once.
    pub fn expression_stats(&self) -> Result<ExpressionStats> {
        if let SegmentMatcher::Compiled(compiled) = &self.engine {
            return Ok(compiled.stats());
        }
        if let Some(stats) = self.expression_stats.get() {
            return Ok(stats.clone());
        }
        let mut builder = CompiledBuilder::default();
        for slot in 0..self.len() as Slot {
            builder.push(&self.expression(slot)?);
        }
        Ok(self.expression_stats.get_or_init(|| builder.stats()).clone())
    }

    /// The attributes whose nulls its expressions tell from nothing; `None` where that may be all.
    #[cfg(feature = "arrow")]
    pub fn asked_nulls(&self) -> Option<&[AttributeId]> {
        self.asked_nulls.get_or_init(|| self.matcher().asked_nulls()).as_deref()
    }

    /// Bytes of memory for matching, and for the subscriptions themselves.
    pub fn bytes(&self) -> (usize, usize) {
        (self.matcher().bytes(), self.stored.bytes() + self.metadata_columns.bytes())
    }

    /// Appends the slots that the event matches, ascending, whether removed or not.
    pub fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) -> Result<()> {
        self.check_file()?;
        self.matcher().matches(event, scratch, found);
        self.check_texts()
    }

    /// Appends the slots that each event matches, as [`Matcher::matches_many`] does.
    pub fn matches_many(
        &self,
        events: &[Event],
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        self.check_file()?;
        self.matcher().matches_many(events, scratch, found, ends, stopped);
        self.check_texts()
    }

    /// Reads the ids in these slots ahead.
    pub fn prefetch(&self, slots: &[Slot]) {
        self.stored.prefetch(slots);
    }

    /// Appends ids that are integers; fails if one is not.
    pub fn integers(&self, slots: &[Slot], ids: &mut Vec<i64>) -> Result<()> {
        self.stored.integers(slots, ids).ok_or_else(|| self.damaged())
    }

    /// How many bytes ids have that are strings, or more.
    #[cfg(feature = "arrow")]
    pub fn most_string_bytes(&self, slots: &[Slot]) -> usize {
        self.stored.most_string_bytes(slots)
    }

    /// Appends the bytes of ids that are strings, not yet known to be UTF-8, and where each of them ends;
    /// fails if one is no string.
    #[cfg(feature = "arrow")]
    pub fn strings(&self, slots: &[Slot], bytes: &mut Vec<u8>, ends: &mut Vec<i32>) -> Result<()> {
        self.stored.strings(slots, bytes, ends).ok_or_else(|| self.damaged())
    }

    /// The slot of an id that is live at a version.
    pub fn find(&self, id: &Id, version: u64) -> Option<Slot> {
        self.stored.find(id).filter(|&slot| self.is_live(slot, version))
    }

    pub fn id(&self, slot: Slot) -> Result<IdRef<'_>> {
        self.stored.id(slot).ok_or_else(|| self.damaged())
    }

    /// Whether there are ids that are strings, and ids that are integers.
    pub fn id_types(&self) -> (bool, bool) {
        self.stored.id_types()
    }

    /// The subscription in a slot.
    pub fn subscription(&self, slot: Slot) -> Result<Subscription> {
        Ok(Subscription {
            id: self.id(slot)?.to_id(),
            expression: self.expression(slot)?,
            metadata: self.metadata(slot).map(Into::into),
            boost: self.boost(slot),
            priority: self.priority(slot),
            validity: self.stored.validity(slot),
        })
    }

    /// Higher ones come first.
    pub fn priority(&self, slot: Slot) -> i64 {
        self.stored.priority(slot)
    }

    /// The highest priority of its subscriptions.
    pub fn highest_priority(&self) -> i64 {
        self.stored.highest_priority()
    }

    /// When its subscriptions can match.
    pub fn validities(&self) -> &Validities {
        self.stored.validities()
    }

    /// What the score of a slot is multiplied by.
    pub fn boost(&self, slot: Slot) -> f64 {
        self.stored.boost(slot)
    }

    /// What the expressions score, and whether sums of weights and boosts are exact.
    pub fn scores(&self) -> Result<(&Scores, bool)> {
        if let Some((scores, coarse)) = self.scores.get() {
            return Ok((scores, *coarse));
        }
        let slots = 0..self.len() as Slot;
        let expressions = slots.map(|slot| self.expression(slot)).collect::<Result<Vec<_>>>()?;
        let (scores, coarse) = self.scores.get_or_init(|| {
            let scores = Scores::new(&expressions, &self.names, self.missing);
            let coarse =
                scores.is_coarse() && (0..self.len() as Slot).all(|slot| is_coarse(self.boost(slot)));
            (scores, coarse)
        });
        Ok((scores, *coarse))
    }

    /// The metadata of the subscription in a slot, as JSON.
    pub fn metadata(&self, slot: Slot) -> Option<&str> {
        self.stored.metadata(slot)
    }

    fn expression(&self, slot: Slot) -> Result<Expression> {
        self.stored.expression(slot).ok_or_else(|| self.damaged())
    }

    /// The distinct regular expressions of all slots, removed or not.
    pub fn regular_expressions(&self) -> Result<&DistinctRegularExpressions> {
        if let Some(distinct) = self.regular_expressions.get() {
            return Ok(distinct);
        }
        let mut mentioned = Mentioned::default();
        for slot in 0..self.len() as Slot {
            mentioned.add(&self.expression(slot)?);
        }
        Ok(self
            .regular_expressions
            .get_or_init(|| DistinctRegularExpressions::new(mentioned.regular_expressions)))
    }

    /// The live slots at a version, ascending.
    pub fn live(&self, version: u64) -> impl Iterator<Item = Slot> {
        self.live_from(0, version)
    }

    /// The live slots at a version that are not before `first`, ascending.
    pub fn live_from(&self, first: Slot, version: u64) -> impl Iterator<Item = Slot> {
        (first..self.len() as Slot).filter(move |&slot| self.is_live(slot, version))
    }

    pub fn is_live(&self, slot: Slot, version: u64) -> bool {
        match self.removed.get() {
            None => true,
            Some(removed) => match removed[slot as usize].load(Ordering::Acquire) {
                0 => true,
                removed => version < removed,
            },
        }
    }

    /// The version that removed a slot, if one did.
    pub fn removed_at(&self, slot: Slot) -> Option<u64> {
        let removed = self.removed.get()?[slot as usize].load(Ordering::Acquire);
        (removed > 0).then_some(removed)
    }

    /// Whether its subscriptions ask about elements of lists.
    pub fn asks_elements(&self) -> bool {
        self.terms.ask_elements()
    }

    /// Takes note of a subscription that is about to be removed: what it asks about elements is forgotten with the
    /// segment.
    pub fn depart(&self, expression: Expression) {
        if self.asks_elements() {
            self.departed.push(expression);
        }
    }

    /// The terms that its live subscriptions ask about.
    pub fn terms(&self) -> Vec<AttributeId> {
        self.terms.live(&self.names)
    }

    pub fn remove(&self, slot: Slot, version: u64) {
        // Of a damaged file, terms are computed that nobody asks for.
        let live = (0..self.len() as Slot).filter(|&other| self.removed_at(other).is_none());
        let zone = self.names.time_zone();
        self.terms.release(slot, live, |slot| {
            self.expression(slot).ok().map(|found| resolve(&found, zone).into_owned())
        });
        let removed = self.removed.get_or_init(|| (0..self.len()).map(|_| AtomicU64::new(0)).collect());
        removed[slot as usize].store(version, Ordering::Release);
        self.removals.fetch_add(1, Ordering::AcqRel);
    }
}
