//! How many of many events does each subscription match?

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::arrow_ids::{FULL, Ids, wrong};
use super::selection::Selection;
use super::snapshot::{MatchScratch, Snapshot};
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::matcher::Slot;

/// How many events the subscriptions of a snapshot matched so far.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// By segment and slot; empty for a segment without matches.
    segments: Vec<Vec<u64>>,
}

impl Counts {
    /// Adds those of other events, which were counted with the same snapshot.
    pub fn add(&mut self, other: Counts) {
        if self.segments.len() < other.segments.len() {
            self.segments.resize_with(other.segments.len(), Vec::new);
        }
        for (all, more) in self.segments.iter_mut().zip(other.segments) {
            if all.is_empty() {
                *all = more;
            } else {
                all.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
        }
    }
}

impl Snapshot {
    /// Counts, for every subscription, the events that match it.
    pub fn count_many(
        &self,
        events: &[Event],
        selection: Option<&Selection>,
        counts: &mut Counts,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        counts.segments.resize_with(self.segments.len(), Vec::new);
        self.matching_many(events, selection, scratch, stopped, |_, position, slots| {
            let segment = &mut counts.segments[position];
            if segment.is_empty() {
                segment.resize(self.segments[position].len(), 0);
            }
            slots.iter().for_each(|&slot| segment[slot as usize] += 1);
            Ok(())
        })
    }

    /// The subscriptions that matched, with the numbers of events, in insertion order.
    pub fn counted<'s>(&'s self, counts: &'s Counts) -> impl Iterator<Item = Result<(IdRef<'s>, u64)>> {
        self.segments.iter().zip(&counts.segments).flat_map(|(segment, counts)| {
            let slots = counts.iter().zip(0 as Slot..).filter(|(count, _)| **count > 0);
            slots.map(|(&count, slot)| Ok((segment.id(slot)?, count)))
        })
    }

    /// What was counted, as batches of `subscription` and `count`.
    pub fn counted_arrow(&self, counts: &Counts) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let strings = self.has_string_ids()?;
        let kind = if strings { DataType::Utf8 } else { DataType::Int64 };
        let fields =
            vec![Field::new("subscription", kind, false), Field::new("count", DataType::UInt64, false)];
        let schema = Arc::new(Schema::new(fields));
        let (mut batches, mut ids, mut numbers, mut bytes) = (Vec::new(), Ids::new(strings), Vec::new(), 0);
        let complete = |ids: &mut Ids, numbers: &mut Vec<u64>| {
            let columns: Vec<ArrayRef> =
                vec![ids.take()?, Arc::new(UInt64Array::from(std::mem::take(numbers)))];
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(wrong)
        };
        for counted in self.counted(counts) {
            let (id, count) = counted?;
            bytes += if let IdRef::String(id) = id { id.len() } else { 0 };
            if bytes > FULL && !numbers.is_empty() {
                batches.push(complete(&mut ids, &mut numbers)?);
                bytes = 0;
            }
            ids.push(id)?;
            numbers.push(count);
        }
        batches.push(complete(&mut ids, &mut numbers)?);
        Ok((schema, batches))
    }
}
