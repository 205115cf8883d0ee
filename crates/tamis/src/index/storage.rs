//! How is an index stored on disk?
//!
//! A folder of immutable segment files, and one manifest, `index.json`, that names them; see `folder`. The segments
//! of an index may be grouped into shards, each of which can be opened on its own.

use std::path::Path;
use std::sync::Arc;

use jiter::JsonValue;

use super::algorithm::{Algorithm, SegmentSettings};
use super::columns::Declared;
use super::documents::{Documents, XPATHS};
use super::elements::retain_elements;
use super::hierarchies;
use super::segment::Segment;
use super::snapshot::{Snapshot, attributes_for};
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::expression::write_string;
use crate::folder::manifest::{self, FileEntry, Manifest, ManifestKind};
use crate::folder::{Folder, open_manifest};
use crate::matcher::Slot;
use crate::sections::{OpenOptions, Sections};

/// What the names of segment files begin with.
const SEGMENT: &str = "segment";

impl Index {
    /// Saves the index as it is now into a folder, which is created if necessary. Files that the folder already has
    /// are not written again.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let folder = Folder::lock(folder)?;
        folder.refuse_foreign(ManifestKind::Index)?;
        folder.refuse_versions(ManifestKind::Index)?;
        let (snapshot, xpaths) = {
            // The XPaths in use change as writers add and remove subscriptions.
            let writing = self.shared.versions.write()?;
            let counts = writing.current.documents.counts();
            (Arc::clone(&writing.current), counts)
        };
        let xpaths = xpaths.save(&folder)?;
        let mut entries = Vec::new();
        for segment in &snapshot.segments {
            entries.push(save_segment(segment, &folder, snapshot.version)?);
        }
        let missing = manifest::missing_name(self.missing());
        let lists: [(&str, &[FileEntry]); 2] = [("segments", &entries), ("xpaths", xpaths.as_slice())];
        let named = hierarchies::write(&snapshot.attributes.named_hierarchies());
        let settings = [("missing", missing), ("time_zone", snapshot.attributes.time_zone().name())];
        let columns = write_names(self.metadata_columns());
        let members = [("metadata_columns", &*columns), ("hierarchies", &named)];
        let text = manifest::write(ManifestKind::Index, &settings, &members, &lists);
        folder.publish(ManifestKind::Index, &text, &[SEGMENT, XPATHS], &manifest::files(&lists))
    }

    /// Opens a saved index.
    ///
    /// The path is a folder, or one of its manifests. Nothing is merged until the index changes.
    pub fn open(path: &Path, limits: Limits, algorithm: Algorithm, options: OpenOptions) -> Result<Index> {
        Index::open_segments(path, None, limits, algorithm, options)
    }

    /// Opens one shard of an index that has shards, numbered from 0.
    pub fn open_shard(
        path: &Path,
        shard: u32,
        limits: Limits,
        algorithm: Algorithm,
        options: OpenOptions,
    ) -> Result<Index> {
        Index::open_segments(path, Some(shard), limits, algorithm, options)
    }

    fn open_segments(
        path: &Path,
        shard: Option<u32>,
        limits: Limits,
        algorithm: Algorithm,
        options: OpenOptions,
    ) -> Result<Index> {
        open_manifest(path, ManifestKind::Index, |folder, manifest| {
            Index::open_files(folder, manifest, shard, limits.clone(), algorithm, options)
        })
    }

    fn open_files(
        folder: &Path,
        manifest: &Manifest,
        shard: Option<u32>,
        limits: Limits,
        algorithm: Algorithm,
        options: OpenOptions,
    ) -> Result<Index> {
        let missing = manifest.missing()?;
        if let Some(shard) = shard {
            let shards = manifest.number("shards")?;
            let shards = shards.ok_or_else(|| Error::storage(folder, "the index has no shards"))?;
            if shard >= shards {
                return Err(Error::storage(
                    folder,
                    format!("there is no shard {shard}, but {shards} shards"),
                ));
            }
        }
        let of_shard = |entry: &FileEntry| shard.is_none() || entry.shard == shard;
        let zone = manifest.time_zone()?;
        let columns = manifest.json("metadata_columns").and_then(read_names);
        let columns = columns.ok_or_else(|| manifest.damaged("it has no metadata_columns"))?;
        let declared = Declared::new(&columns, &zone, &limits);
        let declared = &Arc::new(declared.map_err(|error| manifest.damaged(&error.to_string()))?);
        let attributes = Arc::new(Attributes::new(missing, &limits, zone));
        let hierarchies = manifest.json("hierarchies").and_then(hierarchies::read);
        for (name, hierarchy) in hierarchies.ok_or_else(|| manifest.damaged("it has no hierarchies"))? {
            attributes.set_hierarchy(&name, Some(hierarchy));
        }
        let normal_form = limits.normal_form;
        let (mut segments, mut live) = (Vec::new(), 0);
        for entry in manifest.entries("segments")?.into_iter().filter(of_shard) {
            let path = folder.join(&entry.file);
            // Each segment holds its own names, so that they are released with it.
            let attributes = &Arc::new(attributes.fork());
            let settings =
                SegmentSettings { attributes, missing, algorithm, normal_form, sample: &[], declared };
            let segment = Segment::open(&path, &entry, options, settings)?;
            for slot in &entry.removed {
                if *slot as usize >= segment.len() {
                    return Err(Error::storage(
                        &path,
                        "the manifest removes a slot that the file does not have",
                    ));
                }
                segment.remove(*slot, 1);
            }
            live += segment.len() - entry.removed.len();
            segments.push(Arc::new(segment));
        }
        let documents = Arc::new(Documents::new(algorithm, &limits));
        for entry in manifest.entries("xpaths")?.into_iter().filter(of_shard) {
            documents.open(&folder.join(&entry.file), &entry.checksum)?;
        }
        retain_elements(&segments, &attributes, 1)?;
        let attributes = attributes_for(&attributes, segments.iter());
        let snapshot = Snapshot::new(1, segments, live, attributes, documents);
        Ok(Index::from_snapshot(missing, limits, algorithm, Arc::clone(declared), snapshot).at_rest())
    }
}

/// A list of names as JSON.
fn write_names(names: &[Arc<str>]) -> String {
    let mut out = String::from("[");
    for (position, name) in names.iter().enumerate() {
        out.push_str(if position > 0 { ", " } else { "" });
        write_string(&mut out, name);
    }
    out + "]"
}

fn read_names(value: &JsonValue<'_>) -> Option<Vec<Arc<str>>> {
    let JsonValue::Array(names) = value else { return None };
    let names = names.iter().map(|name| match name {
        JsonValue::Str(name) => Some(name.as_ref().into()),
        _ => None,
    });
    names.collect()
}

fn save_segment(segment: &Segment, folder: &Folder, version: u64) -> Result<FileEntry> {
    let removed = (0..segment.len() as Slot).filter(|&slot| !segment.is_live(slot, version)).collect();
    let mut sections = Sections::default();
    let compiled = segment.write(&mut sections);
    if let Some(entry) = folder.entry(segment.file()) {
        return Ok(FileEntry { compiled, removed, ..entry });
    }
    // Copying a damaged segment would give the damage a valid checksum.
    segment.verify()?;
    let (file, checksum) = folder.write_sections(SEGMENT, segment.len(), &sections)?;
    segment.set_file(folder.path().join(&file), checksum.clone());
    Ok(FileEntry { file, checksum, compiled, removed, shard: None })
}
