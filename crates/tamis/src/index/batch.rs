//! Which subscriptions do the events of an Arrow batch match, and which of them best?
//!
//! Rows are handed out in blocks to as many threads as are wanted; the matches of a block are one
//! record batch, and the blocks come out in the order of the rows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::snapshot::{MatchScratch, Snapshot};
use crate::error::{Error, Result};
use crate::event::{ArrowEvents, Event};
use crate::id::IdRef;
use crate::limits::Limits;
use crate::rank::EventWeights;

/// Events that are matched by one thread, one behind the other.
const BLOCK: usize = 1024;

/// The matches of a batch: pairs of an event's row and a subscription's id.
#[derive(Debug)]
pub struct ArrowMatches {
    /// `event` (the row) and `subscription` (the id, a string or an integer); of a ranking also `score`
    /// and `rank`, from 1; where it was asked for, `metadata` (JSON).
    pub schema: SchemaRef,
    /// One batch per block of rows, in their order.
    pub batches: Vec<RecordBatch>,
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
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        self.answer_arrow(events, first, None, metadata, limits, threads, stop)
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
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        self.answer_arrow(events, first, Some((most, weights)), false, limits, threads, stop)
    }

    #[expect(clippy::too_many_arguments, reason = "those of its two callers")]
    fn answer_arrow(
        &self,
        events: &ArrowEvents,
        first: u64,
        ranking: Option<(usize, &EventWeights)>,
        metadata: bool,
        limits: &Limits,
        threads: usize,
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
        let done: Mutex<Vec<(usize, Result<Vec<RecordBatch>>)>> = Mutex::default();
        let failed = AtomicBool::new(false);
        let stopped = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        let work = || {
            let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks || stopped() {
                    return;
                }
                let rows = block * BLOCK..events.len().min((block + 1) * BLOCK);
                let mut found = Found::new(strings, metadata, &schema);
                let matched = rows.clone().take_while(|_| !stopped()).try_for_each(|row| {
                    let number = first + row as u64;
                    let decoded = events.decode(row, &mut event, self.attributes(), limits);
                    let read = decoded.and_then(|()| match events.document(row) {
                        Some(document) => self.read_document(document, &mut event),
                        None => Ok(()),
                    });
                    read.map_err(|cause| Error::Item {
                        position: number as usize,
                        name: "event".to_owned(),
                        cause: Box::new(cause),
                    })?;
                    self.answer_row(number, &event, ranking, &mut scratch, &mut found)
                });
                let batches = matched.and_then(|()| found.finish());
                failed.fetch_or(batches.is_err(), Ordering::Relaxed);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((block, batches));
            }
        };
        let threads = threads.clamp(1, blocks.max(1));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Where a thread cannot be started, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(block, _)| *block);
        let batches = done.into_iter().map(|(_, batches)| batches).collect::<Result<Vec<_>>>()?;
        Ok(ArrowMatches { schema, batches: batches.concat() })
    }

    fn answer_row(
        &self,
        number: u64,
        event: &Event,
        ranking: Option<(usize, &EventWeights)>,
        scratch: &mut MatchScratch,
        found: &mut Found<'_>,
    ) -> Result<()> {
        if let Some((most, weights)) = ranking {
            let ranked = self.top(event, most, weights, scratch)?;
            for ((id, score), rank) in ranked.into_iter().zip(1..) {
                found.push(number, id, None)?;
                found.scores.push(score);
                found.ranks.push(rank);
            }
            return Ok(());
        }
        self.matching_slots(event, scratch, |segment, slot| {
            let metadata = if found.metadata.is_some() { segment.metadata(slot) } else { None };
            found.push(number, segment.id(slot)?, metadata)
        })
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
    Strings(StringBuilder),
    Integers(Int64Builder),
}

impl<'a> Found<'a> {
    fn new(strings: bool, metadata: bool, schema: &'a SchemaRef) -> Found<'a> {
        let ids = match strings {
            true => Ids::Strings(StringBuilder::new()),
            false => Ids::Integers(Int64Builder::new()),
        };
        let metadata = metadata.then(StringBuilder::new);
        let (complete, rows, scores, ranks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Found { schema, complete, rows, ids, metadata, bytes: 0, scores, ranks }
    }

    fn push(&mut self, row: u64, id: IdRef<'_>, metadata: Option<&str>) -> Result<()> {
        let id_bytes = if let IdRef::String(id) = id { id.len() } else { 0 };
        let bytes = id_bytes + metadata.map_or(0, str::len);
        if self.bytes > 0 && self.bytes + bytes > FULL {
            self.complete()?;
        }
        match (&mut self.ids, id) {
            (Ids::Strings(builder), IdRef::String(id)) => builder.append_value(id),
            (Ids::Integers(builder), IdRef::Integer(id)) => builder.append_value(id),
            _ => {
                return Err(Error::event(
                    "an id is of another kind than its segment says: a file is damaged",
                ));
            }
        }
        if let Some(builder) = &mut self.metadata {
            builder.append_option(metadata);
        }
        self.rows.push(row);
        self.bytes += bytes;
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        self.bytes = 0;
        let ids: ArrayRef = match &mut self.ids {
            Ids::Strings(builder) => Arc::new(builder.finish()),
            Ids::Integers(builder) => Arc::new(builder.finish()),
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
        self.complete.push(batch.map_err(|error| Error::event(error.to_string()))?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RecordBatch>> {
        self.complete()?;
        Ok(self.complete)
    }
}
