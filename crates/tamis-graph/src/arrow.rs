//! Which nodes do the events of an Arrow batch reach?

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{GraphScratch, GraphSnapshot, NodeNumber, Strategy};
use crate::error::{Error, Result};
use crate::event::{Event, OnError, RefusedEvents};
use crate::id::IdRef;
use crate::index::arrow_ids::{FULL, IdColumn, Ids, NoId, wrong};
use crate::index::{ArrowMatches, ArrowRows};

/// Where the events of a batch start: all at one node, or each at the node in a column.
#[derive(Debug)]
pub struct ArrowSources(Sources);

#[derive(Debug)]
enum Sources {
    One(NodeNumber),
    Each(IdColumn),
}

impl ArrowSources {
    /// All events start at one node.
    pub fn one(source: NodeNumber) -> ArrowSources {
        ArrowSources(Sources::One(source))
    }

    /// Each event starts at the node whose id is in a column.
    pub fn each(batch: &RecordBatch, column: &str) -> Result<ArrowSources> {
        let array = batch
            .column_by_name(column)
            .ok_or_else(|| Error::event(format!("there is no column `{column}` of sources")))?;
        IdColumn::new(column, array).map(|ids| ArrowSources(Sources::Each(ids)))
    }

    fn get(&self, snapshot: &GraphSnapshot, row: usize) -> Result<NodeNumber> {
        let ids = match &self.0 {
            Sources::One(source) => return Ok(*source),
            Sources::Each(ids) => ids,
        };
        let id = ids.get(row).map_err(|reason| {
            Error::Graph(match reason {
                NoId::Null => "the source is null; every event needs one".into(),
                NoId::Damaged(reason) => format!("the source: {reason}"),
                NoId::OtherType => "the source is neither a string nor an integer".into(),
            })
        })?;
        let found = snapshot.tail.find(&snapshot.segment, id).map(NodeNumber);
        found.ok_or_else(|| Error::Graph(format!("the source is {}, an id that no node has", id.to_id())))
    }
}

impl GraphSnapshot {
    /// The pairs of rows and ids of nodes that are reached, in the order of the rows and, for each, in
    /// that in which nodes are found: the columns `event` and `node`.
    pub fn match_arrow(
        &self,
        rows: ArrowRows<'_>,
        sources: &ArrowSources,
        strategy: Strategy,
        sinks_only: bool,
        on_error: OnError,
    ) -> Result<ArrowMatches> {
        let mut found = Found::new(self.ids().next().transpose()?);
        let mut refused = RefusedEvents::new(on_error);
        let (mut event, mut working) = (Event::default(), GraphScratch::default());
        for row in 0..rows.events.len() {
            if rows.stop.load(Ordering::Relaxed) {
                break;
            }
            let number = rows.first + row as u64;
            let read = rows.events.decode(row, &mut event, self.attributes(), rows.limits);
            let start = match read.and_then(|()| sources.get(self, row)) {
                Ok(start) => start,
                Err(error) => {
                    refused.note(number, error)?;
                    continue;
                }
            };
            let mut pushed = Ok(());
            self.matches(&event, start, strategy, sinks_only, &mut working, |id| {
                if pushed.is_ok() {
                    pushed = found.push(number, id);
                }
            })?;
            pushed?;
        }
        let (schema, batches) = found.finish()?;
        Ok(ArrowMatches { schema, batches, refused })
    }
}

struct Found {
    schema: Arc<Schema>,
    complete: Vec<RecordBatch>,
    rows: Vec<u64>,
    ids: Ids,
    bytes: usize,
}

impl Found {
    /// Nothing yet; an Arrow column holds ids of one type, which is that of the graph's first node.
    fn new(first: Option<IdRef<'_>>) -> Found {
        let strings = matches!(first, Some(IdRef::String(_)));
        let (id_type, ids) = (if strings { DataType::Utf8 } else { DataType::Int64 }, Ids::new(strings));
        let fields = vec![Field::new("event", DataType::UInt64, false), Field::new("node", id_type, false)];
        let schema = Arc::new(Schema::new(fields));
        Found { schema, complete: Vec::new(), rows: Vec::new(), ids, bytes: 0 }
    }

    fn push(&mut self, row: u64, id: IdRef<'_>) -> Result<()> {
        if let IdRef::String(text) = id {
            if self.bytes > 0 && self.bytes + text.len() > FULL {
                self.complete()?;
            }
            self.bytes += text.len();
        }
        self.ids.push(id).map_err(|_| {
            let message = "the graph has ids that are strings and ids that are integers, and an Arrow column \
                           holds ids of one type; give all ids the same type";
            Error::Graph(message.into())
        })?;
        self.rows.push(row);
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        self.bytes = 0;
        let rows = Arc::new(UInt64Array::from(std::mem::take(&mut self.rows)));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![rows, self.ids.take()?]);
        self.complete.push(batch.map_err(wrong)?);
        Ok(())
    }

    fn finish(mut self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.complete()?;
        Ok((self.schema, self.complete))
    }
}
