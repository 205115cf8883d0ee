//! Which subscriptions do the events of an Arrow batch match?
//!
//! Rows are handed out in blocks to as many threads as are wanted; the matches of a block are one
//! record batch, and the blocks come out in the order of the rows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::snapshot::{MatchScratch, Snapshot};
use super::subscription::IdRef;
use crate::error::{Error, Result};
use crate::event::{ArrowEvents, Event};
use crate::limits::Limits;

/// Events that are matched by one thread, one behind the other.
const BLOCK: usize = 1024;

/// The matches of a batch: pairs of an event's row and a subscription's id.
#[derive(Debug)]
pub struct ArrowMatches {
    /// `event` (the row) and `subscription` (the id, a string or an integer).
    pub schema: SchemaRef,
    /// One batch per block of rows, in their order.
    pub batches: Vec<RecordBatch>,
}

impl Snapshot {
    /// The pairs of rows and ids that match, in the order of the rows and of insertion.
    ///
    /// `first` is the number of the batch's first row; `stop` is asked now and then whether to give
    /// up, which ends in what was found so far.
    pub fn match_arrow(
        &self,
        events: &ArrowEvents,
        first: u64,
        limits: &Limits,
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<ArrowMatches> {
        let strings = self.has_string_ids()?;
        let kind = if strings { DataType::Utf8 } else { DataType::Int64 };
        let schema = Arc::new(Schema::new(vec![
            Field::new("event", DataType::UInt64, false),
            Field::new("subscription", kind, false),
        ]));
        let blocks = events.len().div_ceil(BLOCK);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<RecordBatch>)>> = Mutex::default();
        let work = || {
            let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks || stop.load(Ordering::Relaxed) {
                    return;
                }
                let rows = block * BLOCK..events.len().min((block + 1) * BLOCK);
                let mut found = Found { rows: Vec::new(), ids: Ids::new(strings) };
                let matched = rows.clone().try_for_each(|row| {
                    self.match_row(events, row, first, limits, &mut event, &mut scratch, &mut found)
                });
                let batch = matched.and_then(|()| found.into_batch(&schema));
                let failed = batch.is_err();
                done.lock().unwrap_or_else(PoisonError::into_inner).push((block, batch));
                if failed {
                    return;
                }
            }
        };
        let threads = threads.clamp(1, blocks.max(1));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(block, _)| *block);
        let batches = done.into_iter().map(|(_, batch)| batch).collect::<Result<Vec<_>>>()?;
        Ok(ArrowMatches { schema, batches })
    }

    #[expect(clippy::too_many_arguments, reason = "the working memory of a loop's body")]
    fn match_row(
        &self,
        events: &ArrowEvents,
        row: usize,
        first: u64,
        limits: &Limits,
        event: &mut Event,
        scratch: &mut MatchScratch,
        found: &mut Found,
    ) -> Result<()> {
        let number = first + row as u64;
        events.decode(row, event, self.attributes(), limits).map_err(|cause| Error::Item {
            position: number as usize,
            name: "event".to_owned(),
            cause: Box::new(cause),
        })?;
        let Found { rows, ids } = found;
        self.matches(event, scratch, |id| {
            rows.push(number);
            ids.push(id);
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

struct Found {
    rows: Vec<u64>,
    ids: Ids,
}

enum Ids {
    Strings(StringBuilder),
    Integers(Int64Builder),
}

impl Ids {
    fn new(strings: bool) -> Ids {
        if strings { Ids::Strings(StringBuilder::new()) } else { Ids::Integers(Int64Builder::new()) }
    }

    fn push(&mut self, id: IdRef<'_>) {
        match (self, id) {
            (Ids::Strings(builder), IdRef::String(id)) => builder.append_value(id),
            (Ids::Integers(builder), IdRef::Integer(id)) => builder.append_value(id),
            _ => unreachable!("ids of one kind"),
        }
    }
}

impl Found {
    fn into_batch(self, schema: &SchemaRef) -> Result<RecordBatch> {
        let ids: ArrayRef = match self.ids {
            Ids::Strings(mut builder) => Arc::new(builder.finish()),
            Ids::Integers(mut builder) => Arc::new(builder.finish()),
        };
        RecordBatch::try_new(Arc::clone(schema), vec![Arc::new(UInt64Array::from(self.rows)), ids])
            .map_err(|error| Error::event(error.to_string()))
    }
}
