//! How does a segment live in a file?

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use super::Segment;
use crate::error::{Error, Result};
use crate::expression::resolve;
use crate::folder::manifest::FileEntry;
use crate::index::algorithm::{SegmentMatcher, SegmentSettings};
use crate::index::columns::MetadataColumns;
use crate::index::excerpt::Remembered;
use crate::index::mentioned::Mentioned;
use crate::index::stored_subscriptions::StoredSubscriptions;
use crate::index::terms::{Departed, SegmentTerms};
use crate::matcher::{Compiled, Scan, Slot};
use crate::sections::{OpenOptions, Origin, SectionReader, Sections};

impl Segment {
    /// Fails if the file was opened without verification and holds no valid matcher. Validates once, at the first
    /// match; after that, matching does not check.
    pub(super) fn check_file(&self) -> Result<()> {
        match (&self.unverified, &self.engine) {
            (Some(origin), SegmentMatcher::Compiled(compiled)) => {
                let validated = self.validated.get_or_init(|| compiled.validate());
                validated.map_err(|reason| origin.damaged(reason))
            }
            _ => Ok(()),
        }
    }

    /// Fails where matching met a text that cannot be read.
    pub(super) fn check_texts(&self) -> Result<()> {
        match &self.engine {
            SegmentMatcher::Compiled(compiled) if compiled.is_damaged() => Err(self.damaged()),
            _ => Ok(()),
        }
    }

    /// Fails where the segment lives in a file that is not as it was written.
    pub fn verify(&self) -> Result<()> {
        self.unverified.as_ref().map_or(Ok(()), Origin::verify)
    }

    /// The file it lives in, and the checksum in its name.
    pub fn file(&self) -> Option<&(PathBuf, String)> {
        self.file.get()
    }

    /// Notes the file that the segment was written to.
    pub fn set_file(&self, path: PathBuf, checksum: String) {
        // Another save of the same segment may have been first; either file will do.
        let _ = self.file.set((path, checksum));
    }

    /// Lays the segment down in a file, and returns whether its matcher is there too: that of a small
    /// segment is built again when it is opened.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) -> bool {
        self.stored.write(sections);
        self.metadata_columns.write(sections);
        match &self.engine {
            SegmentMatcher::Compiled(compiled) => {
                compiled.write(sections);
                true
            }
            _ => false,
        }
    }

    /// Finds a segment in a file.
    pub fn open(
        path: &Path,
        entry: &FileEntry,
        options: OpenOptions,
        settings: SegmentSettings<'_>,
    ) -> Result<Segment> {
        let mut reader = SectionReader::open(path, &entry.checksum, options)?;
        let SegmentSettings { attributes, missing, declared, .. } = settings;
        let stored = StoredSubscriptions::read(&mut reader)?;
        let slots = stored.len();
        let mut segment = Segment {
            stored,
            metadata_columns: MetadataColumns::read(&mut reader, declared, slots, options.verify)?,
            declared: Arc::clone(declared),
            remembered: Remembered::default(),
            tiers: OnceLock::new(),
            engine: SegmentMatcher::Scan(Scan::new([], attributes, missing)),
            expression_stats: OnceLock::new(),
            #[cfg(feature = "arrow")]
            asked_nulls: OnceLock::new(),
            scores: OnceLock::new(),
            regular_expressions: OnceLock::new(),
            names: attributes.clone(),
            terms: SegmentTerms::default(),
            departed: Departed::new(attributes),
            missing,
            removed: OnceLock::new(),
            removals: AtomicUsize::new(0),
            file: OnceLock::from((path.to_owned(), entry.checksum.clone())),
            unverified: (!options.verify).then(|| reader.origin().clone()),
            validated: OnceLock::new(),
            // Not known, and not worth compiling again what was just opened.
            sampled: true,
        };
        segment.engine = if entry.compiled {
            let read = Compiled::read(&mut reader, attributes, missing, segment.len(), |slot| {
                segment.expression(slot)
            })?;
            if options.verify {
                read.validate().map_err(|reason| reader.damaged(reason))?;
            }
            read.names().for_each(|name| segment.terms.learn_name(name));
            for slot in read.deep() {
                let expression = segment.expression(*slot)?;
                let resolved = resolve(&expression, attributes.time_zone());
                resolved.names_of_unknowns().iter().for_each(|name| _ = attributes.intern(name));
                segment.terms.learn(&resolved);
            }
            SegmentMatcher::Compiled(Box::new(read))
        } else {
            let slots = 0..segment.len() as Slot;
            let expressions = slots.map(|slot| segment.expression(slot)).collect::<Result<Vec<_>>>()?;
            let mut mentioned = Mentioned::default();
            for expression in &expressions {
                let resolved = resolve(expression, attributes.time_zone());
                mentioned.add_tested(&resolved);
                segment.terms.learn(&resolved);
                mentioned.add(expression);
            }
            mentioned.intern(attributes);
            SegmentMatcher::new(expressions.iter(), |slot| segment.boost(slot), settings)?
        };
        Ok(segment)
    }

    pub fn damaged(&self) -> Error {
        let path = self.file().map_or(Path::new("a segment in memory"), |(path, _)| path);
        Error::storage(path, "the file is damaged; open the index with verification to learn more")
    }
}
