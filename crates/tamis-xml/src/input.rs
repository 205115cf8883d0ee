//! Where is a document read from?

use super::document::Document;
use super::limits::Limits;
use crate::error::Result;

/// A document to be read.
#[derive(Debug, Clone, Copy)]
pub enum Input<'i> {
    /// Bytes, in the encoding that they declare.
    Bytes(&'i [u8]),
    /// Text; an encoding that it declares is ignored.
    Text(&'i str),
}

impl Input<'_> {
    pub(super) fn read(self, document: &mut Document, limits: &Limits) -> Result<()> {
        match self {
            Input::Bytes(bytes) => document.read(bytes, limits),
            Input::Text(text) => document.read_text(text, limits),
        }
    }
}

/// The content of a file, read up to the size limit of a document.
pub fn read_file(path: &std::path::Path, limits: &Limits) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut content = Vec::new();
    let most = (limits.document as u64).saturating_add(1);
    std::fs::File::open(path)?.take(most).read_to_end(&mut content)?;
    Ok(content)
}
