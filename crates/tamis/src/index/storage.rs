//! How does an index live on disk?
//!
//! A folder of immutable segment files and one manifest, `index.json`, that names them; see `folder`.
//! The segments of an index may be numbered by shards, each of which can be opened alone.

use std::path::Path;
use std::sync::Arc;

use super::documents::{Documents, XPATHS};
use super::hierarchies;
use super::segment::{Algorithm, Segment, Settings};
use super::snapshot::Snapshot;
use super::terms::{attributes_for, retain_elements};
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::folder::manifest::{self, Entry, Manifest};
use crate::folder::{Folder, open_manifest};
use crate::matcher::Slot;
use crate::sections::Sections;
use crate::truth::Missing;
use crate::value::TimeZone;

const MANIFEST: &str = "index.json";
/// What the names of segment files begin with.
const SEGMENT: &str = "segment";
const FORMAT: i64 = 3;

impl Index {
    /// Saves the index as it is now into a folder, which is made if it is not there. What the folder
    /// already has of it is not written again.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let folder = Folder::lock(folder)?;
        folder.refuse_versions(MANIFEST)?;
        let (snapshot, xpaths) = {
            // What is asked of documents is counted as writers come and go.
            let _writer = self.shared.writer();
            let snapshot = self.shared.load();
            let counts = snapshot.documents.counts();
            (snapshot, counts)
        };
        let xpaths = xpaths.save(&folder)?;
        let mut entries = Vec::new();
        for segment in &snapshot.segments {
            entries.push(save_segment(segment, &folder, snapshot.version)?);
        }
        let missing = if self.missing() == Missing::False { "false" } else { "unknown" };
        let lists: [(&str, &[Entry]); 2] = [("segments", &entries), ("xpaths", xpaths.as_slice())];
        let named = hierarchies::write(&snapshot.attributes.named_hierarchies());
        let settings = [("missing", missing), ("time_zone", snapshot.attributes.time_zone().name())];
        let text = manifest::write_with(FORMAT, &settings, &[("hierarchies", &named)], &lists);
        folder.publish(MANIFEST, &text, &[SEGMENT, XPATHS], &manifest::files(&lists))
    }

    /// Opens a saved index. With `verify`, every byte is read and checked; without, files are only
    /// mapped, and damage is noticed when it is met.
    ///
    /// The path is a folder, or one of its manifests. Nothing is merged until the index changes.
    pub fn open(path: &Path, limits: Limits, algorithm: Algorithm, verify: bool) -> Result<Index> {
        Index::open_part(path, None, limits, algorithm, verify)
    }

    /// Opens one shard of an index that has shards, numbered from 0.
    pub fn open_shard(
        path: &Path,
        shard: u32,
        limits: Limits,
        algorithm: Algorithm,
        verify: bool,
    ) -> Result<Index> {
        Index::open_part(path, Some(shard), limits, algorithm, verify)
    }

    fn open_part(
        path: &Path,
        shard: Option<u32>,
        limits: Limits,
        algorithm: Algorithm,
        verify: bool,
    ) -> Result<Index> {
        open_manifest(path, MANIFEST, "this is no index: it has no index.json", |path, text| {
            Index::open_manifest(path, text, shard, limits.clone(), algorithm, verify)
        })
    }

    fn open_manifest(
        path: &Path,
        text: &[u8],
        shard: Option<u32>,
        limits: Limits,
        algorithm: Algorithm,
        verify: bool,
    ) -> Result<Index> {
        let manifest = Manifest::read(path, text, FORMAT, "index")?;
        let missing = match manifest.setting("missing")? {
            "unknown" => Missing::Unknown,
            "false" => Missing::False,
            _ => return Err(manifest.damaged()),
        };
        if let Some(shard) = shard {
            let shards = manifest.number("shards")?;
            let shards = shards.ok_or_else(|| Error::storage(path, "the index has no shards"))?;
            if shard >= shards {
                return Err(Error::storage(path, format!("there is no shard {shard}, but {shards} shards")));
            }
        }
        let of_shard = |entry: &Entry| shard.is_none() || entry.shard == shard;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|error| Error::storage(folder, error))?;
        let zone = manifest.name("time_zone")?;
        let zone = TimeZone::named(zone).map_err(|error| Error::storage(path, error))?;
        let attributes = Arc::new(Attributes::new(missing, &limits, zone));
        let hierarchies = manifest.json("hierarchies").and_then(hierarchies::read);
        for (name, hierarchy) in hierarchies.ok_or_else(|| manifest.damaged())? {
            attributes.set_hierarchy(&name, Some(hierarchy));
        }
        let normal_form = limits.normal_form;
        let (mut segments, mut live) = (Vec::new(), 0);
        for entry in manifest.entries("segments")?.into_iter().filter(of_shard) {
            let path = folder.join(&entry.file);
            // Each segment holds its own names, so that they go with it.
            let attributes = &Arc::new(attributes.fork());
            let settings = Settings { attributes, missing, algorithm, normal_form, sample: &[] };
            let (segment, checksum) = Segment::open(&path, entry.compiled, verify, settings)?;
            if format!("{checksum:016x}") != entry.checksum {
                return Err(Error::storage(&path, "this is not the file that the manifest names"));
            }
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
        let documents = Arc::new(Documents::new(algorithm, limits.xml.clone()));
        for entry in manifest.entries("xpaths")?.into_iter().filter(of_shard) {
            let path = folder.join(&entry.file);
            if format!("{:016x}", documents.open(&path)?) != entry.checksum {
                return Err(Error::storage(&path, "this is not the file that the manifest names"));
            }
        }
        retain_elements(&segments, &attributes, 1)?;
        let attributes = attributes_for(&attributes, segments.iter());
        let snapshot = Snapshot::new(1, segments, live, attributes, documents);
        Ok(Index::from_snapshot(missing, limits, algorithm, snapshot).at_rest())
    }
}

fn save_segment(segment: &Segment, folder: &Folder, version: u64) -> Result<Entry> {
    let removed = (0..segment.len() as Slot).filter(|&slot| !segment.is_live(slot, version)).collect();
    let mut sections = Sections::default();
    let compiled = segment.write(&mut sections);
    if let Some(path) = segment.file().filter(|path| path.parent() == Some(folder.path()) && path.exists()) {
        let checksum = crate::sections::SectionReader::open(path, false)?.checksum();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Entry { file, checksum: format!("{checksum:016x}"), compiled, removed, shard: None });
    }
    // A copy would give what is damaged a checksum of its own.
    segment.verify()?;
    let (file, checksum) = folder.write_sections(SEGMENT, segment.len(), &sections)?;
    segment.set_file(folder.path().join(&file));
    Ok(Entry { file, checksum, compiled, removed, shard: None })
}
