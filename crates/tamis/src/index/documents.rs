//! Which of an index's XPath expressions does an event's document satisfy?
//!
//! One XML filter holds all distinct XPaths of an index, so a document is read once per
//! event. XPaths are reference-counted and leave the filter with the last subscription that uses
//! them. A snapshot of the index holds a snapshot of the filter, so it sees all or nothing of a change.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::algorithm::Algorithm;
use super::subscription::Subscription;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, XPathKey};
use crate::folder::Folder;
use crate::folder::manifest::FileEntry;
use crate::id::Id;
use crate::limits::Limits;
use crate::sections::{OpenOptions, SectionReader, Sections};
use crate::strings::Strings;
use crate::value::ValueRef;
pub(super) use crate::xml::FilterSnapshot;
use crate::xml::{self, Engine, Filter, FilterSubscription, Input};

/// The prefix of the names of files that hold XPath expressions.
pub(super) const XPATHS: &str = "xpaths";

/// Every document satisfies this, so that an event with a document that satisfies no XPath still has a value.
const READ: &str = "";

/// The XPath expressions that subscriptions use.
#[derive(Debug)]
pub(super) struct Documents {
    filter: Filter,
    /// How many predicates use each expression. Locked while the filter is changed.
    uses: Mutex<HashMap<Arc<str>, u64, ahash::RandomState>>,
}

impl Documents {
    pub fn new(algorithm: Algorithm, limits: &Limits) -> Documents {
        let engine = if algorithm == Algorithm::Scan { Engine::Scan } else { Engine::Auto };
        Documents { filter: Filter::new(engine, limits.xml.clone()), uses: Mutex::default() }
    }

    /// The expressions at this moment.
    pub fn snapshot(&self) -> Arc<FilterSnapshot> {
        self.filter.snapshot()
    }

    /// Counts the XPaths of subscriptions that are about to be added.
    pub fn retain(&self, subscriptions: &[Subscription]) -> Result<()> {
        let mut counts: HashMap<&str, u64, ahash::RandomState> = HashMap::default();
        for key in subscriptions.iter().flat_map(|subscription| keys(&subscription.expression)) {
            *counts.entry(key.whole()).or_default() += 1;
        }
        if counts.is_empty() {
            return Ok(());
        }
        let mut uses = self.uses();
        let new = counts.keys().filter(|key| !uses.contains_key(**key));
        let new = new.map(|key| filter_subscription(XPathKey::new(key))).collect::<Result<_>>()?;
        self.filter.add_many(new)?;
        for (key, count) in counts {
            *uses.entry(key.into()).or_default() += count;
        }
        Ok(())
    }

    /// Whether no subscription uses any.
    pub fn is_empty(&self) -> bool {
        self.filter.snapshot().is_empty()
    }

    /// Stops counting the XPaths of a removed subscription.
    pub fn release(&self, expression: &Expression) {
        let mut uses = self.uses();
        for key in keys(expression) {
            match uses.get_mut(key.whole()) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    uses.remove(key.whole());
                    self.filter.remove(&Id::from(key.whole()));
                }
            }
        }
    }

    /// Adds the expressions of a snapshot that a document satisfies to an event.
    pub fn read(
        &self,
        filters: &FilterSnapshot,
        document: Input<'_>,
        attributes: &Attributes,
        event: &mut Event,
    ) -> Result<()> {
        let attribute = attributes.satisfied();
        // The filter's own limits bound a document; the results are bounded by the subscriptions.
        let limits = Limits::none();
        let mut pushed = Ok(());
        if let Some(attribute) = attribute {
            event.begin(attribute);
            event.push(ValueRef::String(READ), &limits)?;
        }
        let matched = self.filter.matches_within(filters, document, event.deadline(), |satisfied| {
            if let (Some(_), Ok(()), Id::String(key)) = (attribute, &pushed, satisfied.id()) {
                pushed = event.push(ValueRef::String(key), &limits);
            }
        });
        matched.map_err(|error| match error {
            // The id of an XPath in the filter is its text.
            Error::Filter { id: Id::String(key), cause } => {
                Error::Filter { id: XPathKey::new(&key).text().into(), cause }
            }
            other => other,
        })?;
        pushed?;
        event.finish(attributes)
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<Arc<str>, u64, ahash::RandomState>> {
        // Counts are changed one by one; a count that is too high merely keeps an expression.
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The expressions, each with its count.
    pub fn counts(&self) -> Counts {
        let uses = self.uses();
        let mut sorted: Vec<_> = uses.iter().collect();
        sorted.sort_unstable();
        let counts = sorted.iter().map(|(_, count)| **count).collect();
        Counts { texts: sorted.into_iter().map(|(text, _)| text.as_bytes()).collect(), counts }
    }

    /// Reads expressions from a file.
    pub fn open(&self, path: &Path, checksum: &str) -> Result<()> {
        // The file is read completely, so it is checked completely, and nothing stays mapped.
        let mut reader = SectionReader::open(path, checksum, OpenOptions::default().copy(true))?;
        let texts = Strings::read(&mut reader)?;
        let counts: Column<u64> = reader.next()?;
        let damaged = || reader.damaged("the file holds no XPath expressions");
        let (mut uses, mut new) = (self.uses(), Vec::new());
        for position in 0..texts.len() {
            let text = texts.get(position).ok_or_else(damaged)?;
            if !uses.contains_key(text) {
                new.push(filter_subscription(XPathKey::new(text)).map_err(|_| damaged())?);
            }
            let count = uses.entry(text.into()).or_default();
            *count = count.saturating_add(*counts.get(position).ok_or_else(damaged)?);
        }
        self.filter.add_many(new)
    }
}

/// The XPath expressions of an index, to be written to a file.
pub(super) struct Counts {
    texts: Strings,
    counts: Column<u64>,
}

impl Counts {
    /// Writes them into a folder, if there are any.
    pub fn save(&self, folder: &Folder) -> Result<Option<FileEntry>> {
        if self.texts.len() == 0 {
            return Ok(None);
        }
        let mut sections = Sections::default();
        self.texts.write(&mut sections);
        sections.push(&self.counts);
        let (file, checksum) = folder.write_sections(XPATHS, self.texts.len(), &sections)?;
        Ok(Some(FileEntry { file, checksum, ..FileEntry::default() }))
    }
}

fn keys(expression: &Expression) -> impl Iterator<Item = XPathKey<'_>> {
    expression.predicates().filter_map(|predicate| predicate.as_xpath())
}

fn filter_subscription(key: XPathKey<'_>) -> Result<FilterSubscription> {
    // It was within the limits when it was added.
    Ok(FilterSubscription::new(Id::from(key.whole()), key.read(&xml::Limits::none())?))
}
