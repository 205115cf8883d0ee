//! How does an index live on disk?
//!
//! A folder of immutable segment files and one manifest, `index.json`, that names them; see `folder`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use jiter::JsonValue;

use super::segment::{Algorithm, Segment, Settings};
use super::snapshot::Snapshot;
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::folder::{Folder, open_manifest};
use crate::matcher::Slot;
use crate::sections::Sections;
use crate::truth::Missing;

const MANIFEST: &str = "index.json";
/// What the names of segment files begin with.
const SEGMENT: &str = "segment";
const FORMAT: i64 = 1;

/// What a manifest says of one segment.
struct Entry {
    file: String,
    checksum: String,
    compiled: bool,
    removed: Vec<Slot>,
}

impl Index {
    /// Saves the index as it is now into a folder, which is made if it is not there. What the folder
    /// already has of it is not written again.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let snapshot = self.snapshot();
        let folder = Folder::lock(folder)?;
        let mut entries = Vec::new();
        for segment in &snapshot.segments {
            entries.push(save_segment(segment, &folder, snapshot.version)?);
        }
        let manifest = write_manifest(self.missing(), &entries);
        let named: Vec<&str> = entries.iter().map(|entry| entry.file.as_str()).collect();
        folder.publish(MANIFEST, &manifest, &[SEGMENT], &named)
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
        let (missing, entries) = read_manifest(path, text)?;
        let folder = folder.canonicalize().map_err(|error| Error::storage(folder, error))?;
        let attributes = Arc::new(Attributes::default());
        let normal_form = limits.normal_form;
        let settings = Settings { attributes: &attributes, missing, algorithm, normal_form, sample: &[] };
        let (mut segments, mut live) = (Vec::new(), 0);
        for entry in entries {
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
        let snapshot = Snapshot { version: 1, segments, live, attributes, sample: Arc::default() };
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

fn write_manifest(missing: Missing, entries: &[Entry]) -> String {
    use std::fmt::Write;
    let missing = if missing == Missing::False { "false" } else { "unknown" };
    let mut text = format!("{{\n\"format\": {FORMAT},\n\"missing\": \"{missing}\",\n\"segments\": [");
    for (position, Entry { file, checksum, compiled, removed }) in entries.iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        let removed: Vec<String> = removed.iter().map(Slot::to_string).collect();
        let _ = write!(
            text,
            "{comma}\n{{\"file\": \"{file}\", \"checksum\": \"{checksum}\", \"compiled\": {compiled}, \"removed\": [{}]}}",
            removed.join(",")
        );
    }
    text.push_str("\n]\n}\n");
    text
}

fn read_manifest(path: &Path, text: &[u8]) -> Result<(Missing, Vec<Entry>)> {
    let damaged = || Error::storage(path, "this is no manifest of an index, or it is damaged");
    let manifest = JsonValue::parse(text, false).map_err(|_| damaged())?;
    let member = |value: &JsonValue<'static>, key: &str| match value {
        JsonValue::Object(members) => {
            members.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
        }
        _ => None,
    };
    let manifest = manifest.into_static();
    match member(&manifest, "format") {
        Some(JsonValue::Int(FORMAT)) => {}
        Some(JsonValue::Int(other)) => {
            let message =
                format!("the index has format {other}, this version of Tamis reads format {FORMAT}");
            return Err(Error::storage(path, message));
        }
        _ => return Err(damaged()),
    }
    let missing = match member(&manifest, "missing") {
        Some(JsonValue::Str(text)) if text == "unknown" => Missing::Unknown,
        Some(JsonValue::Str(text)) if text == "false" => Missing::False,
        _ => return Err(damaged()),
    };
    let Some(JsonValue::Array(segments)) = member(&manifest, "segments") else { return Err(damaged()) };
    let mut entries = Vec::new();
    for segment in segments.iter() {
        let text = |key: &str| match member(segment, key) {
            Some(JsonValue::Str(text)) => Ok(text.into_owned()),
            _ => Err(damaged()),
        };
        let file = text("file")?;
        // A manifest names files beside it, and nothing elsewhere.
        if file.contains(['/', '\\']) {
            return Err(damaged());
        }
        let Some(JsonValue::Bool(compiled)) = member(segment, "compiled") else { return Err(damaged()) };
        let Some(JsonValue::Array(slots)) = member(segment, "removed") else { return Err(damaged()) };
        let slot = |value: &JsonValue<'_>| match value {
            JsonValue::Int(slot) => Slot::try_from(*slot).map_err(|_| damaged()),
            _ => Err(damaged()),
        };
        let removed = slots.iter().map(slot).collect::<Result<HashSet<_>>>()?.into_iter().collect();
        entries.push(Entry { file, checksum: text("checksum")?, compiled, removed });
    }
    Ok((missing, entries))
}
