//! `tamis._tamis.Workload`: the lab's expressions and events as Arrow data; `measure` and
//! `measurable`.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::Missing;
use tamis_lab::workload::{self, Beside, Statistics, XmlStatistics, beside};

use crate::export;

/// A seeded generator of expressions and events; every item depends only on its number.
///
/// Args:
///     name: `"conjunctive"`, `"dense"`, `"abe-gen"`, `"ads-like"`, `"whang"`, `"whang-cnf"`,
///         `"fontoura"`, `"exchange"`, `"sigma-like"` or `"xml"`.
///     size: The intended number of expressions, which determines the defaults.
///     seed: The seed of all random choices.
///     parameters: A JSON object of parameters to change; `measurable` lists them.
#[pyclass(module = "tamis", frozen)]
pub struct Workload(Box<dyn workload::Workload>);

/// Measure one matcher on one workload.
///
/// Args:
///     spec: A JSON object: `workload` with its `parameters`, `matcher` with its `options`,
///         `events` to match per repetition, `sample` of them whose matches are reported,
///         `repetitions`, and the `seconds` that these may take.
///
/// Returns:
///     A JSON object: `build_seconds`, `bytes`, `counts` and a `digest` of what the sample matched,
///     `matches` per event, `events`, `repetitions`, `best_us`, `median_us`, `p99_us`, `counters`
///     per event, and the `statistics` of the workload, requested and measured.
///
/// Raises:
///     ValueError: A name or value is unknown, or the matcher does not support the workload.
#[pyfunction]
pub fn measure(py: Python<'_>, spec: &str) -> PyResult<String> {
    py.detach(|| tamis_lab::measure::measure(spec)).map_err(PyValueError::new_err)
}

/// The workloads with their parameters and the matchers with their options, as JSON.
#[pyfunction]
pub fn measurable() -> String {
    tamis_lab::measure::measurable()
}

#[pymethods]
impl Workload {
    #[new]
    #[pyo3(signature = (name, *, size=100_000, seed=0, parameters="{}"))]
    fn new(py: Python<'_>, name: &str, size: u64, seed: u64, parameters: &str) -> PyResult<Self> {
        let workload = py.detach(|| workload::seeded(name, size, seed, parameters));
        workload.map(Workload).map_err(PyValueError::new_err)
    }

    /// The truth of its predicates on an attribute without a value.
    #[getter]
    fn missing(&self) -> &'static str {
        match self.0.missing() {
            Missing::Unknown => "unknown",
            Missing::False => "false",
        }
    }

    /// `"xml"` for XPath filters and documents, `"graph"` for graphs.
    ///
    /// Only a graph has `nodes`, `edges` and `sources`; other workloads raise a `ValueError`.
    #[getter]
    fn family(&self) -> &'static str {
        match (self.0.as_xml(), self.0.as_graph()) {
            (Some(_), _) => "xml",
            (_, Some(_)) => "graph",
            _ => "expressions",
        }
    }

    /// The nodes of a graph, each with its expression or None.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        let graph = self.graph()?;
        Ok(py.detach(|| (0..graph.nodes()).map(|node| (graph.node(node), graph.condition(node))).collect()))
    }

    /// The edges of a graph; there may be parallel ones.
    fn edges(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let graph = self.graph()?;
        let edge = |number| {
            let (source, target) = graph.edge(number);
            (graph.node(source), graph.node(target))
        };
        Ok(py.detach(|| (0..graph.edges()).map(edge).collect()))
    }

    /// The nodes of a graph that events start from.
    fn sources(&self, start: u32, count: u32) -> PyResult<Vec<String>> {
        let graph = self.graph()?;
        Ok(numbers(start, count).map(|number| graph.node(graph.source(number))).collect())
    }

    /// The texts of expressions.
    fn expression_texts(&self, py: Python<'_>, start: u32, count: u32) -> Vec<String> {
        py.detach(|| numbers(start, count).map(|number| self.0.expression_text(number)).collect())
    }

    /// Events as JSON texts, or documents.
    fn event_texts(&self, py: Python<'_>, start: u32, count: u32) -> Vec<String> {
        py.detach(|| numbers(start, count).map(|number| self.0.event(number)).collect())
    }

    /// Statistics by name, each as `requested` by the parameters and as `measured`.
    ///
    /// Args:
    ///     expressions: The number of expressions to measure; sharing depends on it.
    ///     events: The number of events to measure.
    ///     matched: The number of events to match with every expression, for the probability of a
    ///         match.
    #[pyo3(signature = (expressions, *, events=1000, matched=0))]
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        expressions: u32,
        events: u32,
        matched: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let expressions = 0..u64::from(expressions);
        let figures = py.detach(|| {
            if let Some(xml) = self.0.as_xml() {
                let measured = XmlStatistics::measure(xml, expressions, 0..events.into());
                return beside(measured.figures(), self.0.requested());
            }
            let mut measured = Statistics::measure(&*self.0, expressions.clone(), 0..events.into());
            let mut all = beside(measured.figures(), self.0.requested());
            if matched > 0 {
                measured = Statistics::measure_matches(&*self.0, expressions, 0..matched.into());
                let found = beside(measured.figures(), self.0.requested()).into_iter();
                all.retain(|figure| figure.measured.is_some());
                all.extend(found.filter(|figure| figure.name.starts_with("match")));
            }
            all
        });
        let all = PyDict::new(py);
        for Beside { name, requested, measured } in figures {
            let figure = PyDict::new(py);
            figure.set_item("requested", requested)?;
            figure.set_item("measured", measured)?;
            all.set_item(name, figure)?;
        }
        Ok(all)
    }

    /// Expressions as a record batch: `number` and `text`.
    fn expressions<'py>(&self, py: Python<'py>, start: u32, count: u32) -> PyResult<Bound<'py, PyAny>> {
        self.batch(py, start, count, |number, text| self.0.write_expression(number, text))
    }

    /// Events as a record batch: `number` and `text`, which is JSON.
    fn events<'py>(&self, py: Python<'py>, start: u32, count: u32) -> PyResult<Bound<'py, PyAny>> {
        self.batch(py, start, count, |number, text| {
            self.0.write_event(number, text);
        })
    }
}

impl Workload {
    fn graph(&self) -> PyResult<&workload::Exchange> {
        let refuse = || PyValueError::new_err(format!("{} is not a graph; exchange is", self.0.name()));
        self.0.as_graph().ok_or_else(refuse)
    }

    fn batch<'py>(
        &self,
        py: Python<'py>,
        start: u32,
        count: u32,
        write: impl Fn(u64, &mut String) + Send + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numbers = numbers(start, count);
        let batch = py.detach(|| {
            let (mut texts, mut text) = (StringBuilder::new(), String::new());
            for number in numbers.clone() {
                text.clear();
                write(number, &mut text);
                texts.append_value(&text);
            }
            let numbers: Int64Array = numbers.map(|number| number as i64).collect();
            let columns: [(&str, ArrayRef); 2] =
                [("number", Arc::new(numbers)), ("text", Arc::new(texts.finish()))];
            RecordBatch::try_from_iter(columns)
        });
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        export::record_batch(py, batch)
    }
}

fn numbers(start: u32, count: u32) -> Range<u64> {
    u64::from(start)..u64::from(start) + u64::from(count)
}
