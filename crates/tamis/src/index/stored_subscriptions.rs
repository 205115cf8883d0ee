//! What does a segment store about its subscriptions, and which slot has a given id?
//!
//! Ids, encoded expressions, metadata and the other fields are stored in columns.

use std::sync::Arc;

use super::subscription::{Subscription, WrittenSubscription};
use super::validity::{Validities, Validity};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Expression, FlatExpression, StoredExpressions, StoredExpressionsBuilder};
use crate::id::{Id, IdRef};
use crate::ids::{Ids, IdsBuilder};
use crate::matcher::Slot;
use crate::sections::{SectionReader, Sections};
use crate::strings::{Strings, StringsBuilder};

/// The subscriptions of a segment, by their slots.
#[derive(Debug)]
pub(super) struct StoredSubscriptions {
    ids: Ids,
    expressions: StoredExpressions,
    /// How many ids are strings, and how many integers.
    id_counts: Column<u64>,
    /// Empty where no subscription has metadata.
    metadata: Strings,
    /// What scores are multiplied by; empty if that is 1 for all.
    boosts: Column<f64>,
    /// Empty if all are 0.
    priorities: Column<i64>,
    highest_priority: i64,
    validities: Validities,
}

/// Subscriptions on their way into columns.
#[derive(Debug, Default)]
pub(super) struct StoredSubscriptionsBuilder {
    ids: IdsBuilder,
    expressions: StoredExpressionsBuilder,
    metadata: StringsBuilder,
    has_metadata: bool,
    boosts: Vec<f64>,
    priorities: Vec<i64>,
    validities: Vec<Validity>,
}

impl StoredSubscriptionsBuilder {
    /// Appends a subscription.
    pub fn push(&mut self, subscription: &Subscription) {
        let Subscription { id, expression, metadata, boost, priority, validity } = subscription;
        self.expressions.push(expression);
        self.push_fields(id, metadata.as_deref(), *boost, *priority, *validity);
    }

    /// Appends a subscription whose expression was read without a tree.
    pub fn push_flat(&mut self, written: &WrittenSubscription, expression: &FlatExpression) {
        let WrittenSubscription { id, metadata, boost, priority, validity, .. } = written;
        self.expressions.push_flat(expression);
        self.push_fields(id, metadata.as_deref(), *boost, *priority, *validity);
    }

    fn push_fields(
        &mut self,
        id: &Id,
        metadata: Option<&str>,
        boost: f64,
        priority: i64,
        validity: Validity,
    ) {
        self.ids.push(id.as_ref());
        self.metadata.push(metadata.unwrap_or("").as_bytes());
        self.has_metadata |= metadata.is_some();
        self.boosts.push(boost);
        self.priorities.push(priority);
        self.validities.push(validity);
    }

    /// The names of the attributes that the expressions so far mention.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.expressions.names()
    }

    pub fn finish(self) -> StoredSubscriptions {
        let (strings, integers) = self.ids.type_counts();
        let boosted = self.boosts.iter().any(|&boost| boost != 1.0);
        let highest_priority = self.priorities.iter().copied().max().unwrap_or(0);
        let prioritised = self.priorities.iter().any(|&priority| priority != 0);
        StoredSubscriptions {
            id_counts: vec![strings as u64, integers as u64].into(),
            ids: self.ids.finish(),
            expressions: self.expressions.finish(),
            metadata: if self.has_metadata { self.metadata.finish() } else { Strings::default() },
            boosts: if boosted { self.boosts.into() } else { Column::default() },
            priorities: if prioritised { self.priorities.into() } else { Column::default() },
            highest_priority,
            validities: Validities::new(&self.validities),
        }
    }
}

impl StoredSubscriptions {
    pub fn len(&self) -> usize {
        self.expressions.len()
    }

    /// The slot of an id.
    pub fn find(&self, id: &Id) -> Option<Slot> {
        self.ids.find(id.as_ref())
    }

    /// The id in a slot; `None` if the file it lives in is damaged.
    #[inline]
    pub fn id(&self, slot: Slot) -> Option<IdRef<'_>> {
        self.ids.get(slot)
    }

    /// Reads the ids in these slots ahead.
    pub fn prefetch(&self, slots: &[Slot]) {
        self.ids.prefetch(slots);
    }

    /// Appends ids that are integers; `None` if one is not.
    pub fn integers(&self, slots: &[Slot], ids: &mut Vec<i64>) -> Option<()> {
        self.ids.integers(slots, ids)
    }

    /// How many bytes ids have that are strings, or more.
    #[cfg(feature = "arrow")]
    pub fn most_string_bytes(&self, slots: &[Slot]) -> usize {
        self.ids.most_string_bytes(slots)
    }

    /// Appends the bytes of ids that are strings, and where each ends; `None` if one is none.
    #[cfg(feature = "arrow")]
    pub fn strings(&self, slots: &[Slot], bytes: &mut Vec<u8>, ends: &mut Vec<i32>) -> Option<()> {
        self.ids.strings(slots, bytes, ends)
    }

    /// Whether there are ids that are strings, and ids that are integers.
    pub fn id_types(&self) -> (bool, bool) {
        (self.id_counts[0] > 0, self.id_counts[1] > 0)
    }

    /// The expression in a slot; `None` if the file is damaged.
    pub fn expression(&self, slot: Slot) -> Option<Expression> {
        self.expressions.get(slot as usize)
    }

    /// The metadata in a slot.
    pub fn metadata(&self, slot: Slot) -> Option<&str> {
        self.metadata.get(slot as usize).filter(|metadata| !metadata.is_empty())
    }

    /// What the score of a slot is multiplied by.
    pub fn boost(&self, slot: Slot) -> f64 {
        self.boosts.get(slot as usize).copied().unwrap_or(1.0)
    }

    /// The priority of a slot.
    pub fn priority(&self, slot: Slot) -> i64 {
        self.priorities.get(slot as usize).copied().unwrap_or(0)
    }

    /// The highest priority of all slots.
    pub fn highest_priority(&self) -> i64 {
        self.highest_priority
    }

    /// When the subscription in a slot can match.
    pub fn validity(&self, slot: Slot) -> Validity {
        self.validities.get(slot)
    }

    pub fn validities(&self) -> &Validities {
        &self.validities
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let numbers = 8 * (self.boosts.len() + self.priorities.len());
        self.ids.bytes()
            + self.expressions.bytes()
            + self.metadata.bytes()
            + numbers
            + self.validities.bytes()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.id_counts);
        self.ids.write(sections);
        self.expressions.write(sections);
        self.metadata.write(sections);
        sections.push(&self.boosts);
        sections.push(&self.priorities);
        self.validities.write(sections);
    }

    pub fn read(reader: &mut SectionReader) -> Result<StoredSubscriptions> {
        let mut stored = StoredSubscriptions {
            id_counts: reader.next()?,
            ids: Ids::read(reader)?,
            expressions: StoredExpressions::read(reader)?,
            metadata: Strings::read(reader)?,
            boosts: reader.next()?,
            priorities: reader.next()?,
            highest_priority: 0,
            validities: Validities::read(reader)?,
        };
        stored.highest_priority = stored.priorities.iter().copied().max().unwrap_or(0);
        let whole = stored.id_counts.len() == 2
            && stored.id_counts[0].checked_add(stored.id_counts[1]) == Some(stored.len() as u64)
            && (stored.boosts.is_empty() || stored.boosts.len() == stored.len())
            && stored.boosts.iter().all(|boost| boost.is_finite() && *boost >= 0.0)
            && (stored.priorities.is_empty() || stored.priorities.len() == stored.len())
            && stored.validities.are_for(stored.len())
            && stored.ids.len() == stored.len();
        if whole { Ok(stored) } else { Err(reader.damaged("the subscriptions are incomplete")) }
    }
}
