//! How large may one filter or one document be?

/// How to treat references to entities that the document does not declare, but that its external
/// DTD may declare. The external DTD is never read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UndeclaredEntities {
    /// The document is invalid.
    #[default]
    Error,
    /// The reference is removed.
    Ignore,
    /// The reference remains in the text as written.
    Keep,
}

impl UndeclaredEntities {
    /// The variant with this name: `error`, `ignore` or `keep`.
    pub fn find(name: &str) -> Option<UndeclaredEntities> {
        Some(match name {
            "error" => UndeclaredEntities::Error,
            "ignore" => UndeclaredEntities::Ignore,
            "keep" => UndeclaredEntities::Keep,
            _ => return None,
        })
    }

    /// The name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            UndeclaredEntities::Error => "error",
            UndeclaredEntities::Ignore => "ignore",
            UndeclaredEntities::Keep => "keep",
        }
    }
}

/// Bounds on filters and documents; exceeding one is an [`Error::Limit`](tamis_base::Error::Limit) with
/// both numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an XPath expression.
    pub xpath: usize,
    /// Bytes of a document; never more than 1 GiB.
    pub document: usize,
    /// Nesting of a document's elements.
    pub document_depth: usize,
    /// Attributes of one element, namespace declarations included.
    pub attributes: usize,
    /// Distinct names of elements and attributes in one document.
    pub names: usize,
    /// Bytes that all entity references of a document expand to.
    pub expansion: usize,
    /// Units of work, of about a nanosecond each, to evaluate one filter on one document.
    pub filter_work: usize,
    /// Units of work to match one document with all filters.
    pub document_work: usize,
    /// Bytes that the evaluation of one filter may hold at a time.
    pub filter_memory: usize,
    /// State sets that an engine caches across documents.
    pub memory: usize,
    /// How to treat references that only an external DTD could declare.
    pub undeclared_entities: UndeclaredEntities,
}

impl Limits {
    /// No limits, for trusted input.
    pub fn none() -> Self {
        Limits {
            xpath: usize::MAX,
            document: usize::MAX,
            document_depth: usize::MAX,
            attributes: usize::MAX,
            names: usize::MAX,
            expansion: usize::MAX,
            filter_work: usize::MAX,
            document_work: usize::MAX,
            filter_memory: usize::MAX,
            memory: usize::MAX,
            undeclared_entities: UndeclaredEntities::Error,
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
            filter_work: 200_000_000,
            document_work: 2_000_000_000,
            filter_memory: 256 << 20,
            memory: 50_000,
            undeclared_entities: UndeclaredEntities::Error,
        }
    }
}
