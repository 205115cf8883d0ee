//! How much may one filter or one document ask for?

/// Bounds on filters and documents; exceeding one is an [`Error::Limit`](crate::Error::Limit) with
/// both numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an XPath expression.
    pub xpath: usize,
    /// Bytes of a document; at most 1 GiB whatever is set.
    pub document: usize,
    /// Nesting of a document's elements.
    pub document_depth: usize,
    /// Attributes of one element, namespace declarations included.
    pub attributes: usize,
    /// Distinct names of elements and attributes in one document.
    pub names: usize,
    /// Bytes that a document's entities expand to, all references together.
    pub expansion: usize,
    /// State sets that an engine remembers from document to document.
    pub memory: usize,
}

impl Limits {
    /// Bounds that bound nothing, for input one wrote oneself.
    pub fn none() -> Self {
        Limits {
            xpath: usize::MAX,
            document: usize::MAX,
            document_depth: usize::MAX,
            attributes: usize::MAX,
            names: usize::MAX,
            expansion: usize::MAX,
            memory: usize::MAX,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            xpath: 64 << 10,
            document: 32 << 20,
            document_depth: 5_000,
            attributes: 1_000,
            names: 100_000,
            expansion: 1 << 20,
            memory: 50_000,
        }
    }
}
