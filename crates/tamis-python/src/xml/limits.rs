//! `tamis.xml.XmlLimits`: limits on filters and documents.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::xml::UndeclaredEntities;

use crate::manners;

/// Limits on XPath filters and documents; those not given keep their defaults.
///
/// Input that exceeds a limit raises a `LimitError` with the actual and the allowed number.
#[pyclass(module = "tamis.xml", name = "XmlLimits", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct XmlLimits(pub tamis::xml::Limits);

#[pymethods]
impl XmlLimits {
    #[new]
    #[pyo3(signature = (
        *, xpath=None, document=None, document_depth=None, attributes=None, names=None, expansion=None,
        filter_work=None, document_work=None, filter_memory=None, memory=None, undeclared_entities="error"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        xpath: Option<usize>,
        document: Option<usize>,
        document_depth: Option<usize>,
        attributes: Option<usize>,
        names: Option<usize>,
        expansion: Option<usize>,
        filter_work: Option<usize>,
        document_work: Option<usize>,
        filter_memory: Option<usize>,
        memory: Option<usize>,
        undeclared_entities: &str,
    ) -> PyResult<Self> {
        let default = tamis::xml::Limits::default();
        let undeclared_entities = UndeclaredEntities::find(undeclared_entities).ok_or_else(|| {
            let message = "undeclared_entities must be one of error, ignore, keep";
            PyValueError::new_err(format!("{message}, not {undeclared_entities:?}"))
        })?;
        Ok(XmlLimits(tamis::xml::Limits {
            xpath: xpath.unwrap_or(default.xpath),
            document: document.unwrap_or(default.document),
            document_depth: document_depth.unwrap_or(default.document_depth),
            attributes: attributes.unwrap_or(default.attributes),
            names: names.unwrap_or(default.names),
            expansion: expansion.unwrap_or(default.expansion),
            filter_work: filter_work.unwrap_or(default.filter_work),
            document_work: document_work.unwrap_or(default.document_work),
            filter_memory: filter_memory.unwrap_or(default.filter_memory),
            memory: memory.unwrap_or(default.memory),
            undeclared_entities,
        }))
    }

    /// Bytes of an XPath expression.
    #[getter]
    fn xpath(&self) -> usize {
        self.0.xpath
    }

    /// Bytes of a document; never more than 1 GiB.
    #[getter]
    fn document(&self) -> usize {
        self.0.document
    }

    /// Nesting of a document's elements.
    #[getter]
    fn document_depth(&self) -> usize {
        self.0.document_depth
    }

    /// Attributes of one element, including namespace declarations.
    #[getter]
    fn attributes(&self) -> usize {
        self.0.attributes
    }

    /// Distinct names of elements and attributes in one document.
    #[getter]
    fn names(&self) -> usize {
        self.0.names
    }

    /// Bytes that all entity references of a document expand to.
    #[getter]
    fn expansion(&self) -> usize {
        self.0.expansion
    }

    /// Units of work, of about a nanosecond each, to evaluate one filter on one document.
    #[getter]
    fn filter_work(&self) -> usize {
        self.0.filter_work
    }

    /// Units of work to match one document with all filters.
    #[getter]
    fn document_work(&self) -> usize {
        self.0.document_work
    }

    /// Bytes that the evaluation of one filter may use at a time.
    #[getter]
    fn filter_memory(&self) -> usize {
        self.0.filter_memory
    }

    /// How to treat a reference to an entity that only an external DTD could declare.
    ///
    /// With `"error"` the document is an error, with `"ignore"` the reference is removed, with
    /// `"keep"` it stays as text.
    #[getter]
    fn undeclared_entities(&self) -> &'static str {
        self.0.undeclared_entities.name()
    }

    /// State sets that an engine caches across documents.
    #[getter]
    fn memory(&self) -> usize {
        self.0.memory
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_limits")
    }

    pub fn __repr__(&self) -> String {
        let limits = &self.0;
        let bounds = [
            ("xpath", limits.xpath),
            ("document", limits.document),
            ("document_depth", limits.document_depth),
            ("attributes", limits.attributes),
            ("names", limits.names),
            ("expansion", limits.expansion),
            ("filter_work", limits.filter_work),
            ("document_work", limits.document_work),
            ("filter_memory", limits.filter_memory),
            ("memory", limits.memory),
        ];
        let bounds: Vec<String> = bounds.iter().map(|(name, bound)| format!("{name}={bound}")).collect();
        let entities = limits.undeclared_entities.name();
        format!("XmlLimits({}, undeclared_entities='{entities}')", bounds.join(", "))
    }
}

/// The given limits, or the defaults.
pub(super) fn or_default(limits: Option<&Bound<'_, XmlLimits>>) -> tamis::xml::Limits {
    limits.map_or_else(tamis::xml::Limits::default, |limits| limits.get().0.clone())
}
