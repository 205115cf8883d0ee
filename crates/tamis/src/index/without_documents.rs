//! What replaces documents in a build without the feature `xml`? Nothing: no expression can query them.

use std::path::Path;
use std::sync::Arc;

use super::algorithm::Algorithm;
use super::subscription::Subscription;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::folder::Folder;
use crate::folder::manifest::FileEntry;
use crate::limits::Limits;

/// The prefix of the names of files that hold XPath expressions.
pub(super) const XPATHS: &str = "xpaths";

/// The XPath expressions that subscriptions use: none.
#[derive(Debug)]
pub(super) struct Documents;

/// The expressions at one moment: none.
#[derive(Debug)]
pub(super) struct FilterSnapshot;

/// The expressions to be written to a file: none.
pub(super) struct Counts;

impl Documents {
    pub fn new(_: Algorithm, _: &Limits) -> Documents {
        Documents
    }

    pub fn snapshot(&self) -> Arc<FilterSnapshot> {
        Arc::new(FilterSnapshot)
    }

    pub fn retain(&self, _: &[Subscription]) -> Result<()> {
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn release(&self, _: &Expression) {}

    pub fn counts(&self) -> Counts {
        Counts
    }

    /// Refuses expressions from a file that was saved by a build with XML.
    pub fn open(&self, path: &Path, _: &str) -> Result<()> {
        Err(Error::storage(
            path,
            "the index asks about XML documents; open it with the feature `xml` of `tamis`",
        ))
    }
}

impl Counts {
    pub fn save(&self, _: &Folder) -> Result<Option<FileEntry>> {
        Ok(None)
    }
}
