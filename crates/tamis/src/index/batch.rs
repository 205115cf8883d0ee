//! Which subscriptions do the events of an Arrow batch match, and which of them best?
//!
//! Rows are handed out in blocks to as many threads as are wanted; the matches of a block are one
//! record batch, and the blocks come out in the order of the rows.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::segment::Segment;
use super::snapshot::{MatchScratch, Snapshot};
use crate::error::{Error, Result};
use crate::event::{ArrowEvents, Event, OnError, RefusedEvents};
use crate::id::IdRef;
use crate::limits::Limits;
use crate::matcher::{Evaluation, Slot};
use crate::rank::EventWeights;

/// Events that one thread matches together.
const BLOCK: usize = 512;

/// The answers for one part of the events, by its number.
type Part = (usize, Result<(Vec<RecordBatch>, RefusedEvents)>);

/// How a batch is matched.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// By how many threads.
    pub threads: usize,
    /// How each of them looks at events.
    pub evaluation: Evaluation,
    /// What becomes of events that cannot be read.
    pub on_error: OnError,
}

/// The matches of a batch: pairs of an event's row and a subscription's id.
#[derive(Debug)]
pub struct ArrowMatches {
    /// `event` (the row) and `subscription` (the id, a string or an integer); of a ranking also `score`
    /// and `rank`, from 1; where it was asked for, `metadata` (JSON).
    pub schema: SchemaRef,
    /// One batch per block of rows, in their order.
    pub batches: Vec<RecordBatch>,
    /// The events that could not be read, in the order of the rows; they match nothing.
    pub refused: RefusedEvents,
}

impl Snapshot {
    /// The pairs of rows and ids that match, in the order of the rows and of insertion.
    ///
    /// `first` is the number of the batch's first row, `metadata` whether to add it; `stop` is asked now and then whether to give
    /// up, which ends in what was found so far.
    pub fn match_arrow(
        &self,
        events: &ArrowEvents,
        first: u64,
        metadata: bool,
        limits: &Limits,
        batching: Batching,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        self.answer_arrow(events, first, None, metadata, limits, batching, stop)
    }

    /// The `most` matches of every row that score best, in the order of the rows and best first; the
    /// weights are those of every event.
    #[expect(clippy::too_many_arguments, reason = "those of match_arrow, and what a ranking takes")]
    pub fn top_arrow(
        &self,
        events: &ArrowEvents,
        first: u64,
        most: usize,
        weights: &EventWeights,
        limits: &Limits,
        batching: Batching,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        self.answer_arrow(events, first, Some((most, weights)), false, limits, batching, stop)
    }

    #[expect(clippy::too_many_arguments, reason = "those of its two callers")]
    fn answer_arrow(
        &self,
        events: &ArrowEvents,
        first: u64,
        ranking: Option<(usize, &EventWeights)>,
        metadata: bool,
        limits: &Limits,
        batching: Batching,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        let strings = self.has_string_ids()?;
        let kind = if strings { DataType::Utf8 } else { DataType::Int64 };
        let mut fields =
            vec![Field::new("event", DataType::UInt64, false), Field::new("subscription", kind, false)];
        if ranking.is_some() {
            fields.push(Field::new("score", DataType::Float64, false));
            fields.push(Field::new("rank", DataType::UInt32, false));
        }
        if metadata {
            fields.push(Field::new("metadata", DataType::Utf8, true));
        }
        let schema = Arc::new(Schema::new(fields));
        let blocks = events.len().div_ceil(BLOCK);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Part>> = Mutex::default();
        let failed = AtomicBool::new(false);
        let stopped = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        let work = || {
            let (mut decoded, mut scratch) = (Vec::new(), MatchScratch::default());
            scratch.set_evaluation(batching.evaluation);
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks || stopped() {
                    return;
                }
                let rows = block * BLOCK..events.len().min((block + 1) * BLOCK);
                let mut found = Found::new(strings, metadata, &schema);
                let mut refused = RefusedEvents::new(batching.on_error);
                let read = self.read_rows(events, rows, first, &mut decoded, limits, &mut refused);
                let matched = read.and_then(|numbers| {
                    let decoded = &decoded[..numbers.len()];
                    self.answer_rows(&numbers, decoded, ranking, &mut scratch, &stopped, &mut found)
                });
                let answered = matched.and_then(|()| Ok((found.finish()?, refused)));
                failed.fetch_or(answered.is_err(), Ordering::Relaxed);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((block, answered));
            }
        };
        let threads = batching.threads.clamp(1, blocks.max(1));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Where a thread cannot be started, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(block, _)| *block);
        let (mut batches, mut refused) = (Vec::new(), RefusedEvents::new(batching.on_error));
        for (_, answered) in done {
            let (some, not_read) = answered?;
            batches.extend(some);
            refused.append(not_read);
        }
        Ok(ArrowMatches { schema, batches, refused })
    }

    /// Reads the events of some rows, and their documents; returns the numbers of those that could be
    /// read, which are then the first ones of `decoded`.
    fn read_rows(
        &self,
        events: &ArrowEvents,
        rows: Range<usize>,
        first: u64,
        decoded: &mut Vec<Event>,
        limits: &Limits,
        refused: &mut RefusedEvents,
    ) -> Result<Vec<u64>> {
        decoded.resize_with(decoded.len().max(rows.len()), Event::default);
        let mut numbers = Vec::with_capacity(rows.len());
        for row in rows {
            let event = &mut decoded[numbers.len()];
            let read = events.decode(row, event, self.attributes(), limits);
            let read = read.and_then(|()| match events.document(row)? {
                Some(document) => self.read_document(document, event),
                None => Ok(()),
            });
            let number = first + row as u64;
            match read {
                Ok(()) => numbers.push(number),
                Err(error) => refused.note(number, error)?,
            }
        }
        Ok(numbers)
    }

    /// Writes down what events match, which have these numbers.
    fn answer_rows(
        &self,
        numbers: &[u64],
        events: &[Event],
        ranking: Option<(usize, &EventWeights)>,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
        found: &mut Found<'_>,
    ) -> Result<()> {
        let Some((most, weights)) = ranking else {
            return self.matching_many(events, scratch, stopped, |event, segment, slots| {
                found.push(numbers[event], segment, slots)
            });
        };
        for (event, &number) in events.iter().zip(numbers).take_while(|_| !stopped()) {
            let ranked = self.top(event, most, weights, scratch)?;
            for ((id, score), rank) in ranked.into_iter().zip(1..) {
                found.push_ranked(number, id, score, rank)?;
            }
        }
        Ok(())
    }

    /// Whether the ids are strings; an Arrow column holds ids of one kind.
    fn has_string_ids(&self) -> Result<bool> {
        let (mut strings, mut integers) = (false, false);
        for segment in &self.segments {
            let kinds = segment.id_kinds();
            strings |= kinds.0;
            integers |= kinds.1;
        }
        if strings && integers {
            return Err(Error::event(
                "the index has ids that are strings and ids that are integers, and an Arrow column holds one \
                 kind; give all ids one type",
            ));
        }
        Ok(strings)
    }
}

/// Bytes of ids or metadata after which a batch is complete: its offsets are 32-bit numbers.
const FULL: usize = 1 << 30;

/// Pairs on their way into a batch.
struct Found<'a> {
    schema: &'a SchemaRef,
    complete: Vec<RecordBatch>,
    rows: Vec<u64>,
    ids: Ids,
    metadata: Option<StringBuilder>,
    /// Bytes of text in the batch under way.
    bytes: usize,
    /// Of a ranking only.
    scores: Vec<f64>,
    ranks: Vec<u32>,
}

enum Ids {
    /// Their bytes, and where each of them ends.
    Strings(Vec<u8>, Vec<i32>),
    Integers(Vec<i64>),
}

impl<'a> Found<'a> {
    fn new(strings: bool, metadata: bool, schema: &'a SchemaRef) -> Found<'a> {
        let ids = match strings {
            true => Ids::Strings(Vec::new(), vec![0]),
            false => Ids::Integers(Vec::new()),
        };
        let metadata = metadata.then(StringBuilder::new);
        let (complete, rows, scores, ranks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Found { schema, complete, rows, ids, metadata, bytes: 0, scores, ranks }
    }

    /// Adds the pairs of one event and these slots.
    fn push(&mut self, row: u64, segment: &Segment, slots: &[Slot]) -> Result<()> {
        let text = if let Ids::Strings(..) = self.ids { segment.string_bytes(slots) } else { 0 };
        let metadata = |slot: &Slot| segment.metadata(*slot).map_or(0, str::len);
        let more = if self.metadata.is_some() { slots.iter().map(metadata).sum() } else { 0 };
        if text + more > FULL && slots.len() > 1 {
            let (some, others) = slots.split_at(slots.len() / 2);
            self.push(row, segment, some)?;
            return self.push(row, segment, others);
        }
        self.make_room(text + more)?;
        match &mut self.ids {
            Ids::Strings(bytes, ends) => segment.strings(slots, bytes, ends)?,
            Ids::Integers(ids) => segment.integers(slots, ids)?,
        }
        if let Some(builder) = &mut self.metadata {
            slots.iter().for_each(|&slot| builder.append_option(segment.metadata(slot)));
        }
        self.rows.resize(self.rows.len() + slots.len(), row);
        Ok(())
    }

    fn push_ranked(&mut self, row: u64, id: IdRef<'_>, score: f64, rank: u32) -> Result<()> {
        self.make_room(if let IdRef::String(id) = id { id.len() } else { 0 })?;
        match (&mut self.ids, id) {
            (Ids::Strings(bytes, ends), IdRef::String(id)) => {
                bytes.extend_from_slice(id.as_bytes());
                ends.push(bytes.len() as i32);
            }
            (Ids::Integers(ids), IdRef::Integer(id)) => ids.push(id),
            _ => {
                return Err(Error::event(
                    "an id is of another kind than its segment says: a file is damaged",
                ));
            }
        }
        self.rows.push(row);
        self.scores.push(score);
        self.ranks.push(rank);
        Ok(())
    }

    /// Makes room for so many bytes of text.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if self.bytes > 0 && self.bytes + bytes > FULL {
            self.complete()?;
        }
        self.bytes += bytes;
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        self.bytes = 0;
        let wrong = |error: arrow_schema::ArrowError| Error::event(error.to_string());
        let ids: ArrayRef = match &mut self.ids {
            Ids::Strings(bytes, ends) => {
                let ends = ScalarBuffer::from(std::mem::replace(ends, vec![0]));
                let bytes = Buffer::from_vec(std::mem::take(bytes));
                Arc::new(StringArray::try_new(OffsetBuffer::new(ends), bytes, None).map_err(wrong)?)
            }
            Ids::Integers(ids) => Arc::new(Int64Array::from(std::mem::take(ids))),
        };
        let rows = UInt64Array::from(std::mem::take(&mut self.rows));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(rows), ids];
        if let Some(builder) = &mut self.metadata {
            columns.push(Arc::new(builder.finish()));
        } else if self.schema.fields().len() > columns.len() {
            columns.push(Arc::new(Float64Array::from(std::mem::take(&mut self.scores))));
            columns.push(Arc::new(UInt32Array::from(std::mem::take(&mut self.ranks))));
        }
        let batch = RecordBatch::try_new(Arc::clone(self.schema), columns);
        self.complete.push(batch.map_err(wrong)?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RecordBatch>> {
        self.complete()?;
        Ok(self.complete)
    }
}
