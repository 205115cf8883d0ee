//! How does an index live on disk?
//!
//! A folder of immutable segment files and one manifest, `index.json`, that names them; see `folder`.

use std::path::Path;
use std::sync::Arc;

use super::documents::{Documents, XPATHS};
use super::hierarchies;
use super::segment::{Algorithm, Segment, Settings};
use super::snapshot::Snapshot;
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::folder::manifest::{self, Entry, Manifest};
use crate::folder::{Folder, open_manifest};
use crate::matcher::Slot;
use crate::sections::Sections;
use crate::truth::Missing;

const MANIFEST: &str = "index.json";
/// What the names of segment files begin with.
const SEGMENT: &str = "segment";
const FORMAT: i64 = 2;

impl Index {
    /// Saves the index as it is now into a folder, which is made if it is not there. What the folder
    /// already has of it is not written again.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let folder = Folder::lock(folder)?;
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
        let text = manifest::write_with(FORMAT, &[("missing", missing)], &[("hierarchies", &named)], &lists);
        folder.publish(MANIFEST, &text, &[SEGMENT, XPATHS], &manifest::files(&lists))
    }

    /// Opens a saved index. With `verify`, every byte is read and checked; without, files are only
    /// mapped, and damage is noticed when it is met.
    pub fn open(folder: &Path, limits: Limits, algorithm: Algorithm, verify: bool) -> Result<Index> {
        open_manifest(folder, MANIFEST, "this is no index: it has no index.json", |path, text| {
            Index::open_manifest(folder, path, text, limits.clone(), algorithm, verify)
        })
    }

    fn open_manifest(
        folder: &Path,
        path: &Path,
        text: &[u8],
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
        let folder = folder.canonicalize().map_err(|error| Error::storage(folder, error))?;
        let attributes = Arc::new(Attributes::default());
        let hierarchies = manifest.json("hierarchies").and_then(hierarchies::read);
        for (name, hierarchy) in hierarchies.ok_or_else(|| manifest.damaged())? {
            attributes.set_hierarchy(&name, Some(hierarchy));
        }
        let normal_form = limits.normal_form;
        let settings =
            Settings { attributes: &attributes, missing, algorithm, normal_form, sample: &[], threads: 1 };
        let (mut segments, mut live) = (Vec::new(), 0);
        for entry in manifest.entries("segments")? {
            let path = folder.join(&entry.file);
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
        for entry in manifest.entries("xpaths")? {
            let path = folder.join(&entry.file);
            if format!("{:016x}", documents.open(&path)?) != entry.checksum {
                return Err(Error::storage(&path, "this is not the file that the manifest names"));
            }
        }
        let snapshot = Snapshot {
            version: 1,
            segments,
            live,
            attributes,
            sample: Arc::default(),
            filters: documents.snapshot(),
            documents,
        };
        Ok(Index::from_snapshot(missing, limits, algorithm, snapshot))
    }
}

fn save_segment(segment: &Segment, folder: &Folder, version: u64) -> Result<Entry> {
    let removed = (0..segment.len() as Slot).filter(|&slot| !segment.is_live(slot, version)).collect();
    let mut sections = Sections::default();
    let compiled = segment.write(&mut sections);
    if let Some(path) = segment.file().filter(|path| path.parent() == Some(folder.path()) && path.exists()) {
        let checksum = crate::sections::SectionReader::open(path, false)?.checksum();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Entry { file, checksum: format!("{checksum:016x}"), compiled, removed });
    }
    // A copy would give what is damaged a checksum of its own.
    segment.verify()?;
    let (file, checksum) = folder.write_sections(SEGMENT, segment.len(), &sections)?;
    segment.set_file(folder.path().join(&file));
    Ok(Entry { file, checksum, compiled, removed })
}
