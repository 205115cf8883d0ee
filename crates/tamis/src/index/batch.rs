//! Which subscriptions do the events of an Arrow batch match, and which of them best or first?
//!
//! Threads take the rows in blocks of up to 512. The matches of a block form one record batch, and the
//! record batches are in the order of the rows.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::arrow_ids::{FULL, Ids, wrong};
use super::counts::Counts;
use super::segment::Segment;
use super::selection::Selection;
use super::snapshot::{MatchScratch, Snapshot};
use crate::error::{Error, Result};
use crate::event::{ArrowEvents, AskedNulls, ColumnReader, Event, OnError, RefusedEvents};
use crate::id::IdRef;
use crate::limits::Limits;
use crate::matcher::{Evaluation, Slot};
use crate::rank::EventWeights;

/// The most events that one thread matches together.
const BLOCK: usize = 512;

/// The least number of events in one of the last blocks.
const LAST_BLOCK: usize = 64;

/// The answers for one block of rows, by its first row.
type Answered<T> = (usize, Result<(T, RefusedEvents)>);

/// Whether to give up.
type Stopped<'a> = &'a (dyn Fn() -> bool + 'a);

/// The rows of a batch.
#[derive(Debug, Clone, Copy)]
pub struct ArrowRows<'a> {
    /// The events.
    pub events: &'a ArrowEvents,
    /// The number of the first row.
    pub first: u64,
    /// The bounds on events.
    pub limits: &'a Limits,
    /// Polled now and then whether to give up; the result is then incomplete.
    pub stop: &'a AtomicBool,
}

/// How to match a batch.
#[derive(Debug, Clone, Copy)]
pub struct Batching<'a> {
    /// The number of threads.
    pub threads: usize,
    /// How each thread matches its events.
    pub evaluation: Evaluation,
    /// What to do with events that cannot be read.
    pub on_error: OnError,
    /// The selected subscriptions, if not all.
    pub selection: Option<&'a Selection>,
}

/// What to return for every row.
#[derive(Debug, Clone, Copy)]
pub enum ArrowQuery<'a> {
    /// All matches in insertion order, optionally with metadata.
    All {
        /// Whether to add it.
        metadata: bool,
    },
    /// This many matches with the highest scores, best first, given the weights of every event.
    Top(usize, &'a EventWeights),
    /// This many matches of the highest priorities.
    First(usize),
}

/// The matches of a batch: pairs of an event's row and a subscription's id.
#[derive(Debug)]
pub struct ArrowMatches {
    /// `event` (the row) and `subscription` (the id, a string or an integer); of a ranking also `score`, of the
    /// first also `priority`, and for both `rank`, from 1; if requested, `metadata` (JSON).
    pub schema: SchemaRef,
    /// One batch per block of rows, in their order.
    pub batches: Vec<RecordBatch>,
    /// The events that could not be read, in the order of the rows; they match nothing.
    pub refused: RefusedEvents,
}

impl Snapshot {
    /// The pairs of rows and ids that match, in the order of the rows.
    pub fn match_arrow(
        &self,
        rows: ArrowRows<'_>,
        query: ArrowQuery<'_>,
        batching: Batching<'_>,
    ) -> Result<ArrowMatches> {
        let strings = self.has_string_ids()?;
        let id_type = if strings { DataType::Utf8 } else { DataType::Int64 };
        let mut fields =
            vec![Field::new("event", DataType::UInt64, false), Field::new("subscription", id_type, false)];
        match query {
            ArrowQuery::All { metadata: false } => {}
            ArrowQuery::All { metadata: true } => fields.push(Field::new("metadata", DataType::Utf8, true)),
            ArrowQuery::Top(..) => fields.push(Field::new("score", DataType::Float64, false)),
            ArrowQuery::First(_) => fields.push(Field::new("priority", DataType::Int64, false)),
        }
        if !matches!(query, ArrowQuery::All { .. }) {
            fields.push(Field::new("rank", DataType::UInt32, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let selection = batching.selection;
        let answer = |(): &mut (),
                      rows: &[u64],
                      events: &[Event],
                      scratch: &mut MatchScratch,
                      stopped: Stopped<'_>| {
            let mut found = Found::new(strings, query, &schema);
            self.answer_rows(rows, events, selection, scratch, stopped, &mut found)?;
            found.finish()
        };
        // The score of `exists` differs between a null and a missing attribute, even if the expression's truth does
        // not.
        let asked = match query {
            ArrowQuery::Top(..) => AskedNulls::All,
            ArrowQuery::All { .. } | ArrowQuery::First(_) => self.asked_nulls(),
        };
        let (batches, _, refused) = self.each_block(rows, &asked, batching, || (), answer)?;
        Ok(ArrowMatches { schema, batches: batches.into_iter().flatten().collect(), refused })
    }

    /// Counts, for every subscription, the rows that match it.
    pub fn count_arrow(
        &self,
        rows: ArrowRows<'_>,
        batching: Batching<'_>,
        counts: &mut Counts,
    ) -> Result<RefusedEvents> {
        let count = |counts: &mut Counts,
                     _: &[u64],
                     events: &[Event],
                     scratch: &mut MatchScratch,
                     stopped: Stopped<'_>| {
            self.count_many(events, batching.selection, counts, scratch, stopped)
        };
        let asked = self.asked_nulls();
        let (_, parts, refused) = self.each_block(rows, &asked, batching, Counts::default, count)?;
        parts.into_iter().for_each(|part| counts.add(part));
        Ok(refused)
    }

    /// The counts, as batches of `subscription` and `count`.
    pub fn counted_arrow(&self, counts: &Counts) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let strings = self.has_string_ids()?;
        let id_type = if strings { DataType::Utf8 } else { DataType::Int64 };
        let fields =
            vec![Field::new("subscription", id_type, false), Field::new("count", DataType::UInt64, false)];
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

    /// Reads the rows block by block, on the requested number of threads, and passes each block to `answer`, with the
    /// state that its thread keeps from block to block.
    fn each_block<T: Send, K: Send>(
        &self,
        batch: ArrowRows<'_>,
        asked: &AskedNulls,
        batching: Batching<'_>,
        keep: impl Fn() -> K + Sync,
        answer: impl Fn(&mut K, &[u64], &[Event], &mut MatchScratch, Stopped<'_>) -> Result<T> + Sync,
    ) -> Result<(Vec<T>, Vec<K>, RefusedEvents)> {
        let reader = ColumnReader::new(batch.events, asked, self.attributes(), batch.limits);
        let count = batch.events.len();
        let threads = batching.threads.clamp(1, count.div_ceil(LAST_BLOCK).max(1));
        let next = AtomicUsize::new(0);
        let done: Mutex<(Vec<Answered<T>>, Vec<K>)> = Mutex::new((Vec::new(), Vec::new()));
        let failed = AtomicBool::new(false);
        let stopped = || batch.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            let (mut decoded, mut scratch, mut kept) = (Vec::new(), MatchScratch::default(), keep());
            scratch.set_evaluation(batching.evaluation);
            loop {
                let Some(rows) = take_block(&next, count, threads).filter(|_| !stopped()) else {
                    lock().1.push(kept);
                    return;
                };
                let first = rows.start;
                let mut refused = RefusedEvents::new(batching.on_error);
                let read = self.read_rows(batch, &reader, rows, &mut decoded, &mut refused);
                let answered = read.and_then(|numbers| {
                    let decoded = &decoded[..numbers.len()];
                    Ok((answer(&mut kept, &numbers, decoded, &mut scratch, &stopped)?, refused))
                });
                failed.fetch_or(answered.is_err(), Ordering::Relaxed);
                lock().0.push((first, answered));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot be started, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let (mut done, kept) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(first, _)| *first);
        let (mut answers, mut refused) = (Vec::new(), RefusedEvents::new(batching.on_error));
        for (_, answered) in done {
            let (answer, not_read) = answered?;
            answers.push(answer);
            refused.append(not_read);
        }
        Ok((answers, kept, refused))
    }

    /// Reads the events of some rows, and their documents; returns the numbers of those that could be read, which are
    /// then the first ones in `decoded`.
    fn read_rows(
        &self,
        batch: ArrowRows<'_>,
        reader: &ColumnReader<'_>,
        rows: Range<usize>,
        decoded: &mut Vec<Event>,
        refused: &mut RefusedEvents,
    ) -> Result<Vec<u64>> {
        let mut numbers = Vec::with_capacity(rows.len());
        reader.read(rows, decoded, |row, event, read| {
            let read = read.and_then(|()| self.read_document_of(batch.events, row, event));
            let number = batch.first + row as u64;
            match read {
                Ok(()) => numbers.push(number),
                Err(error) => {
                    refused.note(number, error)?;
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(numbers)
    }

    /// Adds the document of a row to its event, if it has one.
    #[cfg(feature = "xml")]
    fn read_document_of(&self, events: &ArrowEvents, row: usize, event: &mut Event) -> Result<()> {
        match events.document(row)? {
            Some(document) => self.read_document(document, event),
            None => Ok(()),
        }
    }

    /// Without XML there are no documents.
    #[cfg(not(feature = "xml"))]
    fn read_document_of(&self, _: &ArrowEvents, _: usize, _: &mut Event) -> Result<()> {
        Ok(())
    }

    /// The attributes for which some expression distinguishes a null from a missing attribute.
    fn asked_nulls(&self) -> AskedNulls {
        let mut asked = HashSet::default();
        for segment in &self.segments {
            match segment.asked_nulls() {
                Some(attributes) => asked.extend(attributes),
                None => return AskedNulls::All,
            }
        }
        AskedNulls::Of(asked)
    }

    /// Records what the events with these numbers match.
    fn answer_rows(
        &self,
        numbers: &[u64],
        events: &[Event],
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
        found: &mut Found<'_>,
    ) -> Result<()> {
        if let ArrowQuery::All { .. } = found.query {
            let matched = self.match_many(events, selection, scratch, stopped)?;
            found.reserve(self.many_count(scratch));
            for (event, &number) in numbers.iter().enumerate().take(matched) {
                for (position, slots) in self.many_slots(event, scratch) {
                    if !slots.is_empty() {
                        found.push(number, &self.segments[position], slots)?;
                    }
                }
            }
            return Ok(());
        }
        for (event, &number) in events.iter().zip(numbers).take_while(|_| !stopped()) {
            match found.query {
                ArrowQuery::All { .. } => {}
                ArrowQuery::Top(most, weights) => {
                    let ranked = self.top_selected(event, most, weights, selection, scratch)?;
                    for ((id, score), rank) in ranked.into_iter().zip(1..) {
                        found.push_ranked(number, id, rank)?;
                        found.scores.push(score);
                    }
                }
                ArrowQuery::First(most) => {
                    let first = self.first(event, most, selection, scratch)?;
                    for ((id, priority), rank) in first.into_iter().zip(1..) {
                        found.push_ranked(number, id, rank)?;
                        found.priorities.push(priority);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the ids are strings; an Arrow column holds ids of one type.
    pub(super) fn has_string_ids(&self) -> Result<bool> {
        let (mut strings, mut integers) = (false, false);
        for segment in &self.segments {
            let types = segment.id_types();
            strings |= types.0;
            integers |= types.1;
        }
        if strings && integers {
            return Err(Error::event(
                "the index has ids that are strings and ids that are integers, and an Arrow column holds ids \
                 of one type; give all ids the same type",
            ));
        }
        Ok(strings)
    }
}

/// The next rows for a thread, if any are left. The last blocks are shorter, so that no thread waits long for another.
fn take_block(next: &AtomicUsize, count: usize, threads: usize) -> Option<Range<usize>> {
    let end = |start: usize| {
        let share = if threads > 1 { (count - start) / (2 * threads) } else { BLOCK };
        count.min(start + share.clamp(LAST_BLOCK, BLOCK))
    };
    let taken =
        next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |start| (start < count).then(|| end(start)));
    taken.ok().map(|start| start..end(start))
}

/// Collects pairs for a batch.
struct Found<'a> {
    schema: &'a SchemaRef,
    complete: Vec<RecordBatch>,
    rows: Vec<u64>,
    ids: Ids,
    metadata: Option<StringBuilder>,
    /// Bytes of text in the current batch.
    bytes: usize,
    query: ArrowQuery<'a>,
    scores: Vec<f64>,
    priorities: Vec<i64>,
    ranks: Vec<u32>,
}

impl<'a> Found<'a> {
    fn new(strings: bool, query: ArrowQuery<'a>, schema: &'a SchemaRef) -> Found<'a> {
        let ids = Ids::new(strings);
        let metadata = matches!(query, ArrowQuery::All { metadata: true }).then(StringBuilder::new);
        let (complete, rows, bytes) = (Vec::new(), Vec::new(), 0);
        let (scores, priorities, ranks) = (Vec::new(), Vec::new(), Vec::new());
        Found { schema, complete, rows, ids, metadata, bytes, query, scores, priorities, ranks }
    }

    /// Makes room for this many pairs, so that the columns need not be copied while they grow.
    fn reserve(&mut self, pairs: usize) {
        self.rows.reserve_exact(pairs);
        match &mut self.ids {
            Ids::Strings(_, ends) => ends.reserve_exact(pairs),
            Ids::Integers(ids) => ids.reserve_exact(pairs),
        }
    }

    /// Adds the pairs of one event and these slots.
    fn push(&mut self, row: u64, segment: &Segment, slots: &[Slot]) -> Result<()> {
        let text = if let Ids::Strings(..) = self.ids { segment.most_string_bytes(slots) } else { 0 };
        let metadata = |slot: &Slot| segment.metadata(*slot).map_or(0, str::len);
        let more = if self.metadata.is_some() { slots.iter().map(metadata).sum() } else { 0 };
        if text + more > FULL && slots.len() > 1 {
            let (some, others) = slots.split_at(slots.len() / 2);
            self.push(row, segment, some)?;
            return self.push(row, segment, others);
        }
        self.make_room(text + more)?;
        match &mut self.ids {
            Ids::Strings(bytes, ends) => {
                let before = bytes.len();
                segment.strings(slots, bytes, ends)?;
                self.bytes = (self.bytes + bytes.len() - before).saturating_sub(text);
            }
            Ids::Integers(ids) => segment.integers(slots, ids)?,
        }
        if let Some(builder) = &mut self.metadata {
            slots.iter().for_each(|&slot| builder.append_option(segment.metadata(slot)));
        }
        self.rows.resize(self.rows.len() + slots.len(), row);
        Ok(())
    }

    fn push_ranked(&mut self, row: u64, id: IdRef<'_>, rank: u32) -> Result<()> {
        self.make_room(if let IdRef::String(id) = id { id.len() } else { 0 })?;
        self.ids.push(id)?;
        self.rows.push(row);
        self.ranks.push(rank);
        Ok(())
    }

    /// Makes room for this many bytes of text.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if self.bytes > 0 && self.bytes + bytes > FULL {
            self.complete()?;
        }
        self.bytes += bytes;
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        self.bytes = 0;
        let rows = UInt64Array::from(std::mem::take(&mut self.rows));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(rows), self.ids.take()?];
        if let Some(builder) = &mut self.metadata {
            columns.push(Arc::new(builder.finish()));
        }
        match self.query {
            ArrowQuery::All { .. } => {}
            ArrowQuery::Top(..) => {
                columns.push(Arc::new(Float64Array::from(std::mem::take(&mut self.scores))));
            }
            ArrowQuery::First(_) => {
                columns.push(Arc::new(Int64Array::from(std::mem::take(&mut self.priorities))));
            }
        }
        if self.schema.fields().len() > columns.len() {
            columns.push(Arc::new(UInt32Array::from(std::mem::take(&mut self.ranks))));
        }
        self.complete.push(RecordBatch::try_new(Arc::clone(self.schema), columns).map_err(wrong)?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RecordBatch>> {
        self.complete()?;
        Ok(self.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_row_once_and_get_shorter() {
        for (count, threads) in
            [(0, 1), (0, 2), (1, 2), (64, 2), (513, 1), (2000, 1), (2000, 2), (100_000, 7)]
        {
            let next = AtomicUsize::new(0);
            let (mut end, mut lengths) = (0, Vec::new());
            while let Some(rows) = take_block(&next, count, threads) {
                assert_eq!(rows.start, end);
                (end, lengths) = (rows.end, [lengths, vec![rows.len()]].concat());
            }
            assert_eq!(end, count);
            assert!(lengths.is_sorted_by(|one, next| one >= next), "{lengths:?}");
            assert!(lengths.iter().all(|&length| 0 < length && length <= BLOCK), "{lengths:?}");
            // Alone, a thread waits for nobody.
            let (blocks, whole) = (lengths.len(), count.div_ceil(BLOCK));
            let shorter = threads > 1 && count > LAST_BLOCK;
            assert!(if shorter { blocks > whole } else { blocks == whole }, "{lengths:?}");
        }
    }
}
