//! Which subscriptions are live at one moment, and which of them does an event match?
//!
//! A snapshot is a list of immutable segments in insertion order, and a version. A slot that is removed
//! later carries the version of its removal, which older snapshots ignore. So a reader sees all or
//! nothing of a change, without a lock and without a copy.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::condition::{Condition, ConditionScratch};
use super::documents::{Documents, FilterSnapshot};
use super::sample::Sample;
use super::segment::Segment;
use super::selection::{Admission, Selection};
use super::subscription::Subscription;
use super::validity::Validity;
use crate::deadline::{Deadline, Timer};
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event};
use crate::id::{Id, IdRef};
use crate::matcher::{BatchTimes, Evaluation, ExpressionStats, Scratch, Slot};
use crate::rank::ScoreScratch;
#[cfg(feature = "xml")]
use crate::xml::Input;

/// How many ids are prefetched.
const AHEAD: usize = 256;
/// The most integer ids whose memory is kept for the next event.
const MOST_REUSED: usize = 1 << 17;
/// How many subscriptions' metadata is searched for the names in a condition.
const METADATA: usize = 10_000;

/// An index at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) version: u64,
    pub(super) segments: Vec<Arc<Segment>>,
    /// How many subscriptions are live.
    pub(super) live: usize,
    pub(super) attributes: Arc<Attributes>,
    pub(super) sample: Arc<Sample>,
    pub(super) documents: Arc<Documents>,
    /// The XPath expressions of the subscriptions, and possibly more.
    #[cfg_attr(not(feature = "xml"), expect(dead_code, reason = "only documents are read with it"))]
    pub(super) filters: Arc<FilterSnapshot>,
}

/// Working memory of [`Snapshot::matches`] and [`Snapshot::top`], one per thread.
#[derive(Debug, Default)]
pub struct MatchScratch {
    pub(super) scratch: Scratch,
    pub(super) slots: Vec<Slot>,
    /// Memory for the integer ids of an event.
    integers: Vec<i64>,
    pub(super) events: u32,
    pub(super) scores: ScoreScratch,
    /// Working memory of a condition on metadata.
    pub(super) condition: Option<Box<ConditionScratch>>,
    pub(super) visited: HashSet<Slot, ahash::RandomState>,
    /// For many events: by segment, the slots, and where those of each event end.
    pub(super) many: Vec<(Vec<Slot>, Vec<usize>)>,
}

/// Events that are matched together.
#[derive(Clone, Copy)]
struct Together<'a> {
    events: &'a [Event],
    /// The subscriptions that count, if not all.
    selection: Option<&'a Selection>,
    /// Whether to give up, which leaves out the remaining events.
    stopped: &'a dyn Fn() -> bool,
}

/// The ids of the subscriptions that an event matches, in insertion order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundIds<'s> {
    /// The ids of an index with integer ids only.
    Integers(Vec<i64>),
    /// The ids of any other index.
    Any(Vec<IdRef<'s>>),
}

impl MatchScratch {
    /// How the events of a batch are matched.
    pub fn set_evaluation(&mut self, evaluation: Evaluation) {
        self.scratch.set_evaluation(evaluation);
    }

    /// Takes back the memory of ids that are no longer needed, for the next event. Allocating it for every event
    /// costs 4 % of the time of an event with thousands of matches.
    pub fn reuse(&mut self, found: FoundIds<'_>) {
        if let FoundIds::Integers(ids) = found
            && ids.capacity() <= MOST_REUSED
        {
            self.integers = ids;
        }
    }

    /// Exchanges the matches of the last events matched together, but not the memory they were found with. So a
    /// thread can keep that memory in its core's caches and hand the matches to another thread.
    pub fn swap_matches(&mut self, other: &mut MatchScratch) {
        std::mem::swap(&mut self.many, &mut other.many);
    }
}

impl Snapshot {
    /// The first snapshot of an index, which has seen no events.
    pub(super) fn new(
        version: u64,
        segments: Vec<Arc<Segment>>,
        live: usize,
        attributes: Arc<Attributes>,
        documents: Arc<Documents>,
    ) -> Snapshot {
        let filters = documents.snapshot();
        let attributes = attributes_for(&attributes, segments.iter());
        Snapshot { version, segments, live, attributes, sample: Arc::default(), documents, filters }
    }

    /// The attributes to decode events with. An event must be decoded after the snapshot was taken, or it may lack
    /// attributes that a subscription of the snapshot tests.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Whether what matches may depend on `now()`: an expression may use it, or a subscription is not always valid.
    pub fn asks_now(&self) -> bool {
        let is_bounded = |segment: &Arc<Segment>| segment.validities().are_bounded();
        self.attributes.asks_now() || self.segments.iter().any(is_bounded)
    }

    /// Calls `found` with the id of every subscription that the event matches, in insertion order.
    ///
    /// Fails only at the event's deadline, if it has one, or if a file that was opened without verification turns out
    /// to be damaged. The results so far are then incomplete.
    pub fn matches<'s>(
        &'s self,
        event: &Event,
        scratch: &mut MatchScratch,
        found: impl FnMut(IdRef<'s>),
    ) -> Result<()> {
        self.matches_selected(event, None, scratch, found)
    }

    /// Like [`Snapshot::matches`], for the subscriptions that a condition selects, if there is one.
    pub fn matches_selected<'s>(
        &'s self,
        event: &Event,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        mut found: impl FnMut(IdRef<'s>),
    ) -> Result<()> {
        self.matching_slots(event, selection, scratch, |segment, slot| {
            found(segment.id(slot)?);
            Ok(())
        })
    }

    /// Like [`Snapshot::matches_selected`], all ids at once. [`MatchScratch::reuse`] takes their memory back.
    pub fn ids_selected<'s>(
        &'s self,
        event: &Event,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
    ) -> Result<FoundIds<'s>> {
        if self.has_text_ids() {
            let mut ids = Vec::new();
            self.matches_selected(event, selection, scratch, |id| ids.push(id))?;
            return Ok(FoundIds::Any(ids));
        }
        let mut ids = std::mem::take(&mut scratch.integers);
        ids.clear();
        self.sample.observe(event, &mut scratch.events);
        for (position, segment) in self.segments.iter().enumerate() {
            self.find_slots(position, event, selection, scratch)?;
            segment.integers(&scratch.slots, &mut ids)?;
        }
        Ok(FoundIds::Integers(ids))
    }

    /// Calls `found` with the segment and slot of every subscription that the event matches.
    pub(super) fn matching_slots<'s>(
        &'s self,
        event: &Event,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        mut found: impl FnMut(&'s Segment, Slot) -> Result<()>,
    ) -> Result<()> {
        self.sample.observe(event, &mut scratch.events);
        for (position, segment) in self.segments.iter().enumerate() {
            self.find_slots(position, event, selection, scratch)?;
            for slots in scratch.slots.chunks(AHEAD) {
                segment.prefetch(slots);
                for &slot in slots {
                    found(segment, slot)?;
                }
            }
        }
        Ok(())
    }

    /// The selection of a condition, for this snapshot only. Fails at the deadline, if there is one.
    pub fn select(&self, condition: &Arc<Condition>, deadline: Option<Deadline>) -> Result<Selection> {
        Selection::new(condition, &self.segments, deadline)
    }

    /// The members of metadata that a condition compares with something and that none of the first 10,000
    /// subscriptions has, and how many of these have metadata. Later calls for the same condition find none.
    pub fn take_unseen_metadata(&self, condition: &Condition) -> (Vec<Arc<str>>, usize) {
        if self.is_empty() { (Vec::new(), 0) } else { condition.take_unseen(self.metadata(METADATA)) }
    }

    /// The metadata of the first so many subscriptions, where they have any, as JSON.
    pub fn metadata(&self, most: usize) -> impl Iterator<Item = &str> {
        let segments = self.segments.iter();
        let slots = segments.flat_map(|segment| segment.live(self.version).map(move |slot| (segment, slot)));
        slots.take(most).filter_map(|(segment, slot)| segment.metadata(slot))
    }

    /// Which slots of a segment are selected.
    pub(super) fn admission<'a>(
        &'a self,
        position: usize,
        event: &Event,
        selection: Option<&'a Selection>,
    ) -> Admission<'a> {
        Admission::new(&self.segments[position], position, self.version, event, selection)
    }

    /// Adds a document to a decoded event. Without one, `xpath` predicates are unknown.
    ///
    /// Fails if the document is not well formed or exceeds a limit, and at the event's deadline.
    #[cfg(feature = "xml")]
    pub fn read_document(&self, document: Input<'_>, event: &mut Event) -> Result<()> {
        self.documents.read(&self.filters, document, &self.attributes, event)
    }

    /// Stops counting the XPaths of a subscription that is about to be removed, and its element tests once no
    /// snapshot has it.
    pub(super) fn release_documents(&self, segment: &Segment, slot: Slot) {
        if self.documents.is_empty() && !segment.asks_elements() {
            return;
        }
        // If a file is damaged, XPaths may stay in the filter that nobody asks for.
        if let Ok(subscription) = segment.subscription(slot) {
            self.documents.release(&subscription.expression);
            segment.depart(subscription.expression);
        }
    }

    /// Finds the selected slots of a segment that the event matches, ascending, in `scratch.slots`.
    pub(super) fn find_slots(
        &self,
        position: usize,
        event: &Event,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
    ) -> Result<()> {
        let segment = &*self.segments[position];
        let admission = self.admission(position, event, selection);
        scratch.slots.clear();
        scratch.scratch.begin_within(event.deadline());
        let excerpt = match admission.chosen() {
            Some(chosen) if chosen.is_empty() => return Ok(()),
            Some(chosen) => segment.excerpt_of(chosen, &self.sample, 1)?,
            None => None,
        };
        match excerpt {
            Some(excerpt) => excerpt.matches(event, &mut scratch.scratch, &mut scratch.slots),
            None => segment.matches(event, &mut scratch.scratch, &mut scratch.slots)?,
        }
        scratch.scratch.check_deadline()?;
        self.keep(&admission, event, scratch)
    }

    /// Drops the slots that are not selected.
    pub(super) fn keep(
        &self,
        admission: &Admission<'_>,
        event: &Event,
        scratch: &mut MatchScratch,
    ) -> Result<()> {
        let mut timer = Timer::new(event.deadline());
        admission.keep(&mut scratch.slots, &mut scratch.condition, &mut timer);
        timer.check()
    }

    /// Calls `found` with the position of every event and the id of every subscription that it matches,
    /// event by event and in insertion order.
    pub fn matches_many<'s>(
        &'s self,
        events: &[Event],
        scratch: &mut MatchScratch,
        mut found: impl FnMut(usize, IdRef<'s>),
    ) -> Result<()> {
        self.matching_many(events, None, scratch, &|| false, |event, position, slots| {
            let segment = &self.segments[position];
            slots.iter().try_for_each(|&slot| {
                found(event, segment.id(slot)?);
                Ok(())
            })
        })
    }

    /// Calls `found` with the slots of every segment that an event matches, if there are any, event by event. Once
    /// `stopped` returns true, the remaining events may be left out.
    pub(super) fn matching_many(
        &self,
        events: &[Event],
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
        mut found: impl FnMut(usize, usize, &[Slot]) -> Result<()>,
    ) -> Result<()> {
        for event in 0..self.match_many(events, selection, scratch, stopped)? {
            for (position, slots) in self.many_slots(event, scratch) {
                if !slots.is_empty() {
                    found(event, position, slots)?;
                }
            }
        }
        Ok(())
    }

    /// Matches events together, against what a condition selects, if there is one; [`Snapshot::many_slots`] then
    /// has the matches of each. Returns how many events were matched: once `stopped` returns true, the remaining ones
    /// may be left out. All events have the same deadline.
    pub fn match_many(
        &self,
        events: &[Event],
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
    ) -> Result<usize> {
        let MatchScratch { scratch, many, events: seen, condition, .. } = scratch;
        events.iter().for_each(|event| self.sample.observe(event, seen));
        many.resize_with(many.len().max(self.segments.len()), Default::default);
        let mut whole = events.len();
        for (position, (slots, ends)) in (0..self.segments.len()).zip(&mut *many) {
            slots.clear();
            ends.clear();
            let together = Together { events, selection, stopped };
            self.find_many(position, together, scratch, condition, slots, ends)?;
            whole = whole.min(ends.len());
        }
        Ok(whole)
    }

    /// The positions of the segments, each with the slots of the subscriptions that an event matches, in insertion
    /// order; `event` is its position in the last call of [`Snapshot::match_many`].
    pub fn many_slots<'m>(
        &self,
        event: usize,
        scratch: &'m MatchScratch,
    ) -> impl Iterator<Item = (usize, &'m [Slot])> + use<'m> {
        (0..self.segments.len()).zip(&scratch.many).map(move |(position, (slots, ends))| {
            (position, &slots[event.checked_sub(1).map_or(0, |before| ends[before])..ends[event]])
        })
    }

    /// How many subscriptions all events together match, or more if some were left out.
    #[cfg(feature = "arrow")]
    pub(super) fn many_count(&self, scratch: &MatchScratch) -> usize {
        scratch.many.iter().take(self.segments.len()).map(|(slots, _)| slots.len()).sum()
    }

    /// Like [`Snapshot::many_slots`], but appends integer ids.
    pub fn many_integers(&self, event: usize, scratch: &MatchScratch, ids: &mut Vec<i64>) -> Result<()> {
        let mut slots = self.many_slots(event, scratch);
        slots.try_for_each(|(position, slots)| self.segments[position].integers(slots, ids))
    }

    /// The id in a slot of the segment at this position.
    #[inline]
    pub fn id_in(&self, segment: usize, slot: Slot) -> Result<IdRef<'_>> {
        self.segments[segment].id(slot)
    }

    /// Whether some ids are strings.
    pub fn has_text_ids(&self) -> bool {
        self.segments.iter().any(|segment| segment.id_types().0)
    }

    /// Finds the selected slots of a segment that each event matches, and where those of each event end.
    fn find_many(
        &self,
        position: usize,
        Together { events, selection, stopped }: Together<'_>,
        scratch: &mut Scratch,
        condition: &mut Option<Box<ConditionScratch>>,
        slots: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let Some(first) = events.first() else { return Ok(()) };
        scratch.begin_within(first.deadline());
        let segment = &*self.segments[position];
        let chosen = self.admission(position, first, selection).chosen();
        let excerpt = match chosen {
            Some(chosen) if chosen.is_empty() => {
                ends.resize(events.len(), 0);
                return Ok(());
            }
            Some(chosen) => segment.excerpt_of(chosen, &self.sample, events.len())?,
            None => None,
        };
        match excerpt {
            Some(excerpt) => excerpt.matches_many(events, scratch, slots, ends, stopped),
            None => segment.matches_many(events, scratch, slots, ends, stopped)?,
        }
        scratch.check_deadline()?;
        let mut timer = Timer::new(first.deadline());
        let (mut start, mut kept) = (0, 0);
        for (event, end) in events.iter().zip(ends) {
            let admission = self.admission(position, event, selection);
            if kept == start && admission.is_open() {
                (start, kept) = (*end, *end);
                continue;
            }
            for position in start..*end {
                slots[kept] = slots[position];
                kept += usize::from(admission.admits(slots[position], condition, &mut timer));
            }
            if timer.is_late() {
                return timer.check();
            }
            start = std::mem::replace(end, kept);
        }
        slots.truncate(kept);
        Ok(())
    }

    /// How many subscriptions the event matches.
    pub fn count(&self, event: &Event, scratch: &mut MatchScratch) -> Result<usize> {
        let mut count = 0;
        for position in 0..self.segments.len() {
            self.find_slots(position, event, None, scratch)?;
            count += scratch.slots.len();
        }
        Ok(count)
    }

    /// The segment and slot of an id.
    pub(super) fn find(&self, id: &Id) -> Option<(&Arc<Segment>, Slot)> {
        let segments = self.segments.iter().rev();
        segments.filter_map(|segment| segment.find(id, self.version).map(|slot| (segment, slot))).next()
    }

    /// Whether a subscription has this id.
    pub fn contains(&self, id: &Id) -> bool {
        self.find(id).is_some()
    }

    /// The subscription of this id.
    pub fn get(&self, id: &Id) -> Result<Option<Subscription>> {
        self.find(id).map(|(segment, slot)| segment.subscription(slot)).transpose()
    }

    /// The ids in insertion order.
    pub fn ids(&self) -> impl Iterator<Item = Result<IdRef<'_>>> {
        self.segments.iter().flat_map(|segment| segment.live(self.version).map(move |slot| segment.id(slot)))
    }

    /// The next ids in insertion order, at most `most`; `place` is where they begin, and is moved to the rest.
    pub fn ids_from(&self, place: &mut IdPlace, most: usize) -> Result<Vec<IdRef<'_>>> {
        let mut ids = Vec::new();
        while let Some(segment) = self.segments.get(place.segment).filter(|_| ids.len() < most) {
            let slots = segment.live_from(place.slot, self.version).take(most - ids.len());
            for slot in slots {
                ids.push(segment.id(slot)?);
                place.slot = slot + 1;
            }
            if ids.len() < most {
                *place = IdPlace { segment: place.segment + 1, slot: 0 };
            }
        }
        Ok(ids)
    }

    /// The subscriptions in insertion order, each decoded from its stored form.
    pub fn subscriptions(&self) -> impl Iterator<Item = Result<Subscription>> {
        self.segments
            .iter()
            .flat_map(|segment| segment.live(self.version).map(move |slot| segment.subscription(slot)))
    }

    /// The subscriptions that are not always valid, with their validity, in insertion order.
    pub fn validities(&self) -> impl Iterator<Item = Result<(IdRef<'_>, Validity)>> {
        let bounded = self.segments.iter().filter(|segment| segment.validities().are_bounded());
        bounded.flat_map(|segment| {
            let slots = segment.live(self.version).map(|slot| (slot, segment.validities().get(slot)));
            let slots = slots.filter(|(_, validity)| validity.is_bounded());
            slots.map(move |(slot, validity)| Ok((segment.id(slot)?, validity)))
        })
    }

    /// How many subscriptions are live.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there are no live subscriptions.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many subexpressions the expressions have. Each counts once in every segment that has it, and removed
    /// subscriptions count until they are dropped. With one of the papers' matchers, all expressions are read.
    ///
    /// Fails only if a file that was opened without verification turns out to be damaged.
    pub fn expression_stats(&self) -> Result<ExpressionStats> {
        let mut stats = ExpressionStats::default();
        for segment in &self.segments {
            stats.add(segment.expression_stats()?);
        }
        Ok(stats)
    }

    /// Figures about the snapshot.
    pub fn stats(&self) -> Stats {
        let slots: usize = self.segments.iter().map(|segment| segment.len()).sum();
        let bytes = self.segments.iter().map(|segment| segment.bytes());
        let (matching, subscriptions) = bytes.fold((0, 0), |sum, bytes| (sum.0 + bytes.0, sum.1 + bytes.1));
        let largest = self.segments.iter().max_by_key(|segment| segment.len());
        let mut matchers = BTreeMap::new();
        for segment in &self.segments {
            *matchers.entry(segment.matcher().name()).or_default() += 1;
        }
        let (sampled_events, batches) = largest.map(|segment| segment.choices()).unwrap_or_default();
        Stats {
            subscriptions: self.live,
            removed: slots - self.live,
            segments: self.segments.len(),
            attributes: self.attributes.visible(),
            terms: self.attributes.terms(),
            matching_bytes: matching,
            subscription_bytes: subscriptions,
            matcher: largest.map_or("scan", |segment| segment.matcher().name()),
            matchers,
            sampled_events,
            batches,
        }
    }
}

/// A position among the ids of a snapshot; the beginning by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdPlace {
    segment: usize,
    slot: Slot,
}

/// Figures about an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Live subscriptions.
    pub subscriptions: usize,
    /// Removed subscriptions that segments still carry.
    pub removed: usize,
    /// Immutable parts.
    pub segments: usize,
    /// Attributes that subscriptions mention.
    pub attributes: usize,
    /// Terms that are computed for each event that has their arguments.
    pub terms: usize,
    /// Bytes that matching reads.
    pub matching_bytes: usize,
    /// Bytes of ids, stored expressions and metadata.
    pub subscription_bytes: usize,
    /// The matcher of the largest segment.
    pub matcher: &'static str,
    /// How many segments use each matcher.
    pub matchers: BTreeMap<&'static str, usize>,
    /// How many sampled events the triggers of the largest segment were chosen with; 0 if from its expressions alone.
    pub sampled_events: usize,
    /// How long events of batches took in the largest segment, one by one and in blocks.
    pub batches: BatchTimes,
}

/// The attributes to decode events with, given these segments.
pub(super) fn attributes_for<'a>(
    current: &Arc<Attributes>,
    segments: impl Iterator<Item = &'a Arc<Segment>>,
) -> Arc<Attributes> {
    let mut terms: Vec<AttributeId> = segments.flat_map(|segment| segment.terms()).collect();
    terms.sort_unstable();
    terms.dedup();
    if terms == current.roots() {
        return Arc::clone(current);
    }
    Arc::new(current.with_terms(terms))
}
