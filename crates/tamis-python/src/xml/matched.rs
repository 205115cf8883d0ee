//! `tamis.xml.Match`: which nodes of a document a filter selects.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::id;

/// A filter that a document satisfies, and the nodes that it selects.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlMatch {
    subscription: Arc<tamis::xml::FilterSubscription>,
    nodes: Vec<tamis::xml::SelectedNode>,
}

impl XmlMatch {
    pub fn new(found: tamis::xml::Selected) -> XmlMatch {
        XmlMatch { subscription: found.subscription, nodes: found.nodes }
    }
}

#[pymethods]
impl XmlMatch {
    /// The filter's id.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.subscription.id().as_ref())
    }

    /// The nodes in document order; empty if the expression is not a node-set.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.nodes.iter().cloned().map(XmlNode))
    }

    fn __repr__(&self) -> String {
        format!("<Match {}: {} nodes>", self.subscription.id(), self.nodes.len())
    }
}

/// A node of a document that a filter selects.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlNode(tamis::xml::SelectedNode);

#[pymethods]
impl XmlNode {
    /// Its position, as an XPath expression with the document's own prefixes.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The line on which it begins, from 1; for an attribute, the line of its element.
    #[getter]
    fn line(&self) -> usize {
        self.0.line
    }

    /// Its string value.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    fn __repr__(&self) -> String {
        format!("<Node {}, line {}>", self.0.path, self.0.line)
    }
}
