//! `tamis.Explanation`: why a subscription matched an event, or not.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tamis::explain::{Seen, ValidityEnd};

use crate::manners;
use crate::value;

/// Why a subscription matched an event, or not: `print` it, or call `to_dict`.
#[pyclass(module = "tamis", frozen)]
pub struct Explanation(pub tamis::explain::Explanation);

#[pymethods]
impl Explanation {
    /// The truth of the whole expression.
    #[getter]
    fn truth(&self) -> &'static str {
        self.0.truth().name()
    }

    /// Whether the subscription matched: its expression is true, and it is active.
    #[getter]
    fn matched(&self) -> bool {
        self.0.matched()
    }

    /// Whether `now` lies in the validity of the subscription, so that it can match.
    #[getter]
    fn active(&self) -> bool {
        self.0.inactive().is_none()
    }

    /// The explanation as nested dicts.
    ///
    /// Every node has `text` and `truth`; a connective has `children`; a predicate has `attribute`
    /// and `seen`: a list of the values, None for a null, `"missing"` for a missing attribute. A
    /// comparison of two terms has `right` and `right_seen` for the term on its right.
    ///
    /// A predicate about the elements of a list (`any`, `all`, `none`) has `size`, how many there
    /// are, `satisfied`, how many satisfy the condition, and `elements`: nodes for up to three
    /// elements that decided, each with its position in the list as `element`. An explanation
    /// shows at most 100 elements.
    ///
    /// If the subscription is not active, the outermost node has `inactive`: a dict with `now` and
    /// with the end of its validity that `now` lies beyond, `active_from` or `active_until`, as
    /// texts in UTC.
    ///
    /// Args:
    ///     most: How many values of a list are given at most. A long list that many predicates
    ///         see is given for each.
    #[pyo3(signature = (*, most=None))]
    fn to_dict<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        let root = PyDict::new(py);
        // For every open connective: its list of children, and the number of children still to
        // come.
        let mut open: Vec<(Bound<'py, PyList>, usize)> = Vec::new();
        for (position, step) in self.0.steps().iter().enumerate() {
            let node = if position == 0 { root.clone() } else { PyDict::new(py) };
            node.set_item("text", &step.text)?;
            node.set_item("truth", step.truth.name())?;
            let names = [("attribute", "seen"), ("right", "right_seen")];
            for ((name, values), (attribute, seen)) in names.into_iter().zip(&step.seen) {
                node.set_item(name, attribute.as_ref())?;
                node.set_item(values, write_seen(py, seen, most.unwrap_or(usize::MAX))?)?;
            }
            if let Some((_, position)) = step.element {
                node.set_item("element", position)?;
            }
            if let Some(counts) = step.elements {
                node.set_item("size", counts.total)?;
                node.set_item("satisfied", counts.satisfied)?;
            }
            while open.last().is_some_and(|(_, remaining)| *remaining == 0) {
                open.pop();
            }
            if let Some((siblings, remaining)) = open.last_mut() {
                siblings.append(&node)?;
                *remaining -= 1;
            }
            let shown = step.elements.map_or(0, |counts| counts.shown);
            for (key, count) in [("children", step.children), ("elements", shown)] {
                if count > 0 {
                    let below = PyList::empty(py);
                    node.set_item(key, &below)?;
                    open.push((below, count));
                }
            }
        }
        if let Some(inactive) = self.0.inactive() {
            let dict = PyDict::new(py);
            let (name, moment) = match inactive.end {
                ValidityEnd::From(moment) => ("active_from", moment),
                ValidityEnd::Until(moment) => ("active_until", moment),
            };
            dict.set_item(name, moment.to_string())?;
            dict.set_item("now", inactive.now.to_string())?;
            root.set_item("inactive", dict)?;
        }
        Ok(root)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Explanation: {}>", self.0.truth().name())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_explanation")
    }

    fn __reduce__(&self) -> PyResult<()> {
        manners::refuse_pickling(
            "an Explanation is not pickled: pickle its to_dict(), or its text, str(explanation)",
        )
    }
}

/// A list of at most `most` values, `None` for a null, `"missing"` for a missing attribute.
fn write_seen<'py>(py: Python<'py>, seen: &Seen, most: usize) -> PyResult<Bound<'py, PyAny>> {
    match seen {
        Seen::Missing => "missing".into_bound_py_any(py),
        Seen::Null => Ok(py.None().into_bound(py)),
        Seen::Values(values) => {
            let list = PyList::empty(py);
            for item in values.iter().take(most) {
                list.append(value::write(py, item)?)?;
            }
            Ok(list.into_any())
        }
    }
}
