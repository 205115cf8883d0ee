//! The methods of `Index` that describe the index or explain a match.

use std::collections::BTreeMap;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tamis::index::{FoundIds, Validity};
use tamis_lint::LintOptions;

use super::Index;
use crate::event::EventArgument;
use crate::explanation::Explanation;
use crate::options::read_now;
use crate::query::Query;
use crate::subscription::write_moment;
use crate::{check, error, id};

#[pymethods]
impl Index {
    /// The subscriptions with a validity period, in insertion order.
    fn validities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (snapshot, list) = (self.index.snapshot(), PyList::empty(py));
        let class = py.import("tamis.batches")?.getattr("Validity")?;
        for found in snapshot.validities() {
            let (id, Validity { from, until }) = found.map_err(|error| error::raise(py, &error))?;
            let bounds = (id::write(py, id)?, write_moment(py, from)?, write_moment(py, until)?);
            list.append(class.call1(bounds)?)?;
        }
        Ok(list)
    }

    /// How long an event takes, and how much the matcher read for it.
    ///
    /// `tamis.statistics.EventProfile` describes the result. Call it twice: the first time, regular
    /// expressions may have to be compiled and files to be read.
    ///
    /// Args:
    ///     event: As in `match`.
    ///     where: As in `match`.
    ///     document: As in `match`.
    ///     now: As in `match`.
    ///
    /// Raises:
    ///     EventError: The event cannot be decoded.
    ///     DocumentError: The document is not well formed.
    #[pyo3(signature = (event, *, r#where=None, document=None, now=None))]
    fn profile<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let begun = Instant::now();
        let snapshot = self.index.snapshot();
        let event = EventArgument { object: event, now, deadline: None };
        let query = Query { event, condition: r#where, document };
        let (read, matched, matches, counters) =
            self.ask(py, &snapshot, &query, |event, selection, scratch| {
                let read = begun.elapsed();
                scratch.take_counters();
                let begun = Instant::now();
                let matches = match snapshot.ids_selected(event, selection, scratch)? {
                    FoundIds::Integers(ids) => ids.len(),
                    FoundIds::Any(ids) => ids.len(),
                };
                Ok((read, begun.elapsed(), matches, scratch.take_counters()))
            })?;
        let dict = PyDict::new(py);
        dict.set_item("read_us", read.as_secs_f64() * 1e6)?;
        dict.set_item("match_us", matched.as_secs_f64() * 1e6)?;
        dict.set_item("matches", matches)?;
        dict.set_item("segments", snapshot.stats().segments)?;
        dict.set_item("lists", counters.lists)?;
        dict.set_item("entries", counters.entries)?;
        dict.set_item("candidates", counters.candidates)?;
        dict.set_item("nodes", counters.nodes)?;
        dict.set_item("patterns", counters.tried)?;
        Ok(dict)
    }

    /// Why a subscription matches an event, or not.
    ///
    /// Args:
    ///     id: The subscription's id.
    ///     event: A mapping, or JSON as text or bytes.
    ///     document: The document that `xpath('...')` queries; see `match`.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (id, event, *, document=None, now=None, timeout=None))]
    fn explain(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        event: &Bound<'_, PyAny>,
        document: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Explanation> {
        let deadline = error::deadline(timeout)?;
        let subscription = self.find(py, id)?;
        let snapshot = self.index.snapshot();
        let document = self.document(document)?;
        // Keep the names of the subscription's attributes, even if it is removed meanwhile.
        let _pin = snapshot.attributes().pin();
        let event = EventArgument { object: event, now, deadline };
        let mut decoded = event.read_to_explain(snapshot.attributes(), self.index.limits())?;
        py.detach(|| self.read_document(&snapshot, &document, &mut decoded))
            .map_err(|failure| failure.raise(py))?;
        let explained = py.detach(|| self.index.explain_subscription(&subscription, &decoded));
        explained.map(Explanation).map_err(|error| error::raise(py, &error))
    }

    /// Find subscriptions that are probably mistakes.
    ///
    /// The kinds of findings, in the order of the list:
    ///
    /// - `"event"`: an event of the sample cannot be read; it is skipped.
    /// - `"unseen-attribute"`: no event has the attribute; the message may name one like it.
    /// - `"unseen-type"`: an operand has a type that the attribute never has in the sample, or a
    ///   term has no value there.
    /// - `"text-order"`: a text that looks like a time, a number or a version is ordered as text.
    /// - `"text-network"`: a network is written as a text, which no address equals.
    /// - `"quoted-name"`: a name contains operators, as in `"a > 5" = true`, and no event has it.
    /// - `"text-case"`: `lower` or `upper` of a text is compared with a text in another case.
    /// - `"empty-range"`: the lower end of a `between` is above the upper.
    /// - `"never"`, `"always"`: no event can satisfy the expression, or every event does.
    /// - `"equal"`: subscriptions are equivalent, apart from their weights.
    /// - `"subsumed"`: every event that satisfies the first subscription satisfies the others.
    /// - `"bound"`: the check is incomplete; the message says what was left out.
    ///
    /// Findings about expressions hold for all events, not only for the sample, but not all such
    /// mistakes are found. Findings of one kind about one attribute are combined.
    ///
    /// Args:
    ///     events: A sample of events, as in `match_batch`; without one, only the expressions
    ///         themselves are checked.
    ///     now: The value of `now()`; the current time by default.
    ///     comparisons: The number of pairs of predicates to compare when subscriptions are
    ///         compared with each other; 20,000,000 by default.
    ///     most: The maximum number of findings; 10,000 by default.
    #[pyo3(signature = (events=None, *, now=None, comparisons=None, most=None))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        events: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        comparisons: Option<u64>,
        most: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut options = LintOptions::default();
        options.comparisons = comparisons.unwrap_or(options.comparisons);
        options.findings = most.unwrap_or(options.findings);
        let snapshot = self.index.snapshot();
        let now = read_now(now, snapshot.attributes())?;
        check::check(py, &self.index, &snapshot, events, now, &options)
    }

    /// Statistics about the index; see `tamis.statistics.IndexStats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.index.snapshot();
        let expressions =
            py.detach(|| snapshot.expression_stats()).map_err(|error| error::raise(py, &error))?;
        let stats = snapshot.stats();
        let dict = PyDict::new(py);
        dict.set_item("subscriptions", stats.subscriptions)?;
        dict.set_item("removed", stats.removed)?;
        dict.set_item("segments", stats.segments)?;
        dict.set_item("attributes", stats.attributes)?;
        dict.set_item("terms", stats.terms)?;
        dict.set_item("predicates", expressions.predicates.values().sum::<usize>())?;
        let mut predicates: BTreeMap<String, usize> = BTreeMap::new();
        for (name, count) in &expressions.predicates {
            *predicates.entry(written_name(name)).or_default() += count;
        }
        dict.set_item("attribute_predicates", predicates)?;
        dict.set_item("subexpressions", expressions.subexpressions)?;
        dict.set_item("edges", expressions.edges)?;
        dict.set_item("sharing", expressions.sharing())?;
        dict.set_item("unfiltered_patterns", expressions.unfiltered_patterns)?;
        dict.set_item("unselective", expressions.unselective)?;
        dict.set_item("matching_bytes", stats.matching_bytes)?;
        dict.set_item("subscription_bytes", stats.subscription_bytes)?;
        dict.set_item("matcher", stats.matcher)?;
        dict.set_item("matchers", stats.matchers)?;
        dict.set_item("sampled_events", stats.sampled_events)?;
        let batches = PyDict::new(py);
        let evaluation = |blocks: bool| if blocks { "blocks" } else { "events" };
        batches.set_item("evaluation", stats.batches.prefers_blocks().map(evaluation))?;
        let microseconds = |time: Option<u64>| time.map(|time| time as f64 / 1e3);
        batches.set_item("events_us", microseconds(stats.batches.events))?;
        batches.set_item("blocks_us", microseconds(stats.batches.blocks))?;
        dict.set_item("batches", batches)?;
        Ok(dict)
    }
}

/// An attribute's name, or a term as it is written.
fn written_name(name: &str) -> String {
    if name.starts_with('\u{1}') { tamis::expression::shown(name) } else { name.to_owned() }
}
