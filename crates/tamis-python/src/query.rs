//! One event, and the arguments of a call about it.

use std::borrow::Cow;

use pyo3::prelude::*;
use tamis::Event;
use tamis::index::{MatchScratch, Selection, Snapshot};

use crate::error;
use crate::event::EventArgument;
use crate::index::Index;
use crate::working::with_working;
use crate::xml::{Failure, Source};

/// The arguments of `match`, `top` and `first`.
pub(crate) struct Query<'a, 'py> {
    pub event: EventArgument<'a, 'py>,
    pub condition: Option<&'a Bound<'py, PyAny>>,
    pub document: Option<&'a Bound<'py, PyAny>>,
}

impl Index {
    /// Decodes the event, then runs the query without the interpreter's lock.
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        snapshot: &Snapshot,
        query: &Query<'_, '_>,
        answer: impl FnOnce(&Event, Option<&Selection>, &mut MatchScratch) -> tamis::Result<T> + Send,
    ) -> PyResult<T> {
        let &Query { event, condition, document } = query;
        let selection = self.select(py, snapshot, condition, event.deadline)?;
        let document = self.document(document)?;
        with_working(|working| {
            let (decoded, scratch) = working.for_one();
            event.read_into(decoded, snapshot.attributes(), self.index.limits())?;
            let answered = py.detach(|| {
                self.read_document(snapshot, &document, decoded)?;
                answer(decoded, selection.as_ref(), scratch).map_err(Failure::Engine)
            });
            answered.map_err(|failure| failure.raise(py))
        })
    }

    /// The subscriptions of a snapshot that `where` selects.
    pub(crate) fn select(
        &self,
        py: Python<'_>,
        snapshot: &Snapshot,
        condition: Option<&Bound<'_, PyAny>>,
        deadline: Option<tamis::Deadline>,
    ) -> PyResult<Option<Selection>> {
        let Some(condition) = condition.filter(|condition| !condition.is_none()) else { return Ok(None) };
        let text = match condition.cast::<crate::expression::Expression>() {
            Ok(expression) => Cow::Owned(expression.get().0.to_string()),
            Err(_) => Cow::Borrowed(crate::expression::text_of(py, condition, "`where`")?),
        };
        let selected = py.detach(|| {
            let condition = self.index.condition(&text)?;
            Ok((snapshot.select(&condition, deadline)?, snapshot.take_unseen_metadata(&condition)))
        });
        let (selection, (unseen, looked)) = selected.map_err(|error| error::raise(py, &error))?;
        if !unseen.is_empty() {
            let unseen: Vec<&str> = unseen.iter().map(|name| &**name).collect();
            let declared: Vec<&str> = self.index.metadata_columns().iter().map(|name| &**name).collect();
            let known: Vec<&str> = snapshot.metadata(1000).collect();
            let arguments = (unseen, looked, known, declared);
            py.import("tamis.checking")?.call_method1("warn_of_metadata", arguments)?;
        }
        Ok(Some(selection))
    }

    /// The document in a Python object, if there is one.
    pub(crate) fn document(&self, document: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Source>> {
        let given = document.filter(|document| !document.is_none());
        given.map(|document| Source::read(document, &self.index.limits().xml)).transpose()
    }

    /// Adds a document to a decoded event.
    pub(crate) fn read_document(
        &self,
        snapshot: &Snapshot,
        document: &Option<Source>,
        event: &mut Event,
    ) -> Result<(), Failure> {
        match document {
            Some(source) => {
                source.with(&self.index.limits().xml, |input| snapshot.read_document(input, event))
            }
            None => Ok(()),
        }
    }
}
