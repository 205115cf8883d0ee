//! `tamis.xml.XmlExplanation`: why a filter is true of a document, or not.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::manners;

/// Why a document satisfies a filter, or not: `print` it, or call `to_list`.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlExplanation(pub(super) tamis::xml::Explanation);

#[pymethods]
impl XmlExplanation {
    /// Whether the document satisfies the filter.
    #[getter]
    fn matched(&self) -> bool {
        self.0.matched()
    }

    /// The parts of the expression, each before its own parts.
    ///
    /// Every part has `depth`, `text` and `truth`. A path has `selected`: the number of nodes that
    /// each step selects, up to the first step that selects none.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let parts = PyList::empty(py);
        for line in self.0.lines() {
            let part = PyDict::new(py);
            part.set_item("depth", line.depth)?;
            part.set_item("text", &line.text)?;
            part.set_item("truth", line.truth)?;
            if !line.selected.is_empty() {
                part.set_item("selected", &line.selected)?;
            }
            parts.append(part)?;
        }
        Ok(parts)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<XmlExplanation: {}>", if self.0.matched() { "matched" } else { "not matched" })
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_xml_explanation")
    }

    fn __reduce__(&self) -> PyResult<()> {
        manners::refuse_pickling(
            "an Explanation is not pickled: pickle its to_list(), or its text, str(explanation)",
        )
    }
}
