//! How is a graph stored on disk?
//!
//! As a folder with one immutable file, the compiled graph, and a manifest, `graph.json`, that names it;
//! see `folder`. A save first compiles the tail into the graph.

use std::path::Path;
use std::sync::Arc;

use super::Graph;
use super::segment::Segment;
use super::snapshot::damaged;
use crate::error::Result;
use crate::event::Attributes;
use crate::folder::manifest::{self, FileEntry, ManifestKind};
use crate::folder::{Folder, open_manifest};
use crate::limits::Limits;
use crate::sections::{OpenOptions, SectionReader, Sections};

/// The prefix of the file name.
const SEGMENT: &str = "graph";

impl Graph {
    /// Saves the graph as it is now into a folder, which is created if necessary.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let mut snapshot = self.shared.versions.current();
        while !snapshot.tail.is_empty() {
            self.settle();
            if self.shared.background.is_damaged() {
                self.shared.verify()?;
                return Err(damaged());
            }
            snapshot = self.shared.versions.current();
        }
        if !snapshot.segment.is_trusted() {
            // A copy would give what is damaged a checksum of its own.
            self.shared.verify()?;
        }
        let folder = Folder::lock(folder)?;
        folder.refuse_foreign(ManifestKind::Graph)?;
        let mut sections = Sections::default();
        snapshot.segment.write(&mut sections);
        let (file, checksum) = folder.write_sections(SEGMENT, snapshot.len(), &sections)?;
        let missing = manifest::missing_name(self.missing());
        let entry = [FileEntry { file: file.clone(), checksum, compiled: true, ..FileEntry::default() }];
        let settings = [("missing", missing), ("time_zone", snapshot.attributes.time_zone().name())];
        let text = manifest::write(ManifestKind::Graph, &settings, &[], &[("segments", &entry)]);
        folder.publish(ManifestKind::Graph, &text, &[SEGMENT], &[&file])
    }

    /// Opens a saved graph. The path is a folder, or its manifest.
    pub fn open(path: &Path, limits: Limits, options: OpenOptions) -> Result<Graph> {
        open_manifest(path, ManifestKind::Graph, |folder, manifest| {
            let missing = manifest.missing()?;
            let entries = manifest.entries("segments")?;
            let entry = entries.first().ok_or_else(|| manifest.damaged("it names no file"))?;
            let mut reader = SectionReader::open(&folder.join(&entry.file), &entry.checksum, options)?;
            let attributes = Arc::new(Attributes::new(missing, &limits, manifest.time_zone()?));
            let segment = Segment::read(&mut reader, &attributes, missing, options.verify)?;
            let origin = (!options.verify).then(|| reader.origin().clone());
            Ok(Graph::from_segment(segment, attributes, missing, limits.clone(), origin))
        })
    }
}
