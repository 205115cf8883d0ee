//! `tamis.xml.XmlLimits`: the bounds on filters and documents.

use pyo3::prelude::*;

/// Bounds on filters and documents; what is not given keeps its default.
#[pyclass(module = "tamis.xml", name = "XmlLimits", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct XmlLimits(pub tamis::xml::Limits);

#[pymethods]
impl XmlLimits {
    #[new]
    #[pyo3(signature = (*, xpath=None, document=None, document_depth=None, attributes=None, names=None, expansion=None, memory=None))]
    fn new(
        xpath: Option<usize>,
        document: Option<usize>,
        document_depth: Option<usize>,
        attributes: Option<usize>,
        names: Option<usize>,
        expansion: Option<usize>,
        memory: Option<usize>,
    ) -> Self {
        let default = tamis::xml::Limits::default();
        XmlLimits(tamis::xml::Limits {
            xpath: xpath.unwrap_or(default.xpath),
            document: document.unwrap_or(default.document),
            document_depth: document_depth.unwrap_or(default.document_depth),
            attributes: attributes.unwrap_or(default.attributes),
            names: names.unwrap_or(default.names),
            expansion: expansion.unwrap_or(default.expansion),
            memory: memory.unwrap_or(default.memory),
        })
    }

    /// Bytes of an XPath expression.
    #[getter]
    fn xpath(&self) -> usize {
        self.0.xpath
    }

    /// Bytes of a document.
    #[getter]
    fn document(&self) -> usize {
        self.0.document
    }

    /// Nesting of a document's elements.
    #[getter]
    fn document_depth(&self) -> usize {
        self.0.document_depth
    }

    /// Attributes of one element.
    #[getter]
    fn attributes(&self) -> usize {
        self.0.attributes
    }

    /// Distinct names in one document.
    #[getter]
    fn names(&self) -> usize {
        self.0.names
    }

    /// Bytes that a document's entities expand to.
    #[getter]
    fn expansion(&self) -> usize {
        self.0.expansion
    }

    /// State sets that an engine remembers from document to document.
    #[getter]
    fn memory(&self) -> usize {
        self.0.memory
    }

    pub fn __repr__(&self) -> String {
        let tamis::xml::Limits { xpath, document, document_depth, attributes, names, expansion, memory } =
            &self.0;
        format!(
            "XmlLimits(xpath={xpath}, document={document}, document_depth={document_depth}, \
             attributes={attributes}, names={names}, expansion={expansion}, memory={memory})"
        )
    }
}

/// What was given, or the defaults.
pub(super) fn or_default(limits: Option<&Bound<'_, XmlLimits>>) -> tamis::xml::Limits {
    limits.map_or_else(tamis::xml::Limits::default, |limits| limits.get().0.clone())
}
