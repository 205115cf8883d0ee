//! How does an index live on disk?
//!
//! A folder of immutable segment files and one manifest, `index.json`, that names them. Saving
//! writes the segments that have no file in the folder yet, then a new manifest under another name,
//! and puts it in the place of the old one at once: whoever opens the folder finds the old index or
//! the new one. Files that no manifest names any more are removed afterwards.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiter::JsonValue;

use super::segment::{Algorithm, Segment, Settings};
use super::snapshot::Snapshot;
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::matcher::Slot;
use crate::sections::Sections;
use crate::truth::Missing;

const MANIFEST: &str = "index.json";
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
        fs::create_dir_all(folder).map_err(|error| Error::storage(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| Error::storage(folder, error))?;
        let _lock = lock(&folder)?;
        let mut entries = Vec::new();
        for segment in &snapshot.segments {
            entries.push(save_segment(segment, &folder, snapshot.version)?);
        }
        sync_folder(&folder)?;
        let manifest = write_manifest(self.missing(), &entries);
        let (path, temporary) = (folder.join(MANIFEST), temporary_name(&folder));
        write_whole(&temporary, |out| out.write_all(manifest.as_bytes()))?;
        fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
        sync_folder(&folder)?;
        remove_unnamed(&folder, &entries);
        Ok(())
    }

    /// Opens a saved index. With `verify`, every byte is read and checked; without, files are only
    /// mapped, and damage is noticed when it is met.
    pub fn open(folder: &Path, limits: Limits, algorithm: Algorithm, verify: bool) -> Result<Index> {
        let path = folder.join(MANIFEST);
        let read = || {
            fs::read(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Error::storage(folder, "this is no index: it has no index.json"),
                _ => Error::storage(&path, error),
            })
        };
        let mut text = read()?;
        loop {
            let opened = Index::open_manifest(folder, &path, &text, limits.clone(), algorithm, verify);
            // A save that came between may have removed files that the old manifest names.
            let now = read()?;
            if opened.is_ok() || now == text {
                return opened;
            }
            text = now;
        }
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
        let settings = Settings { attributes: &attributes, missing, algorithm, sample: &[] };
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

fn save_segment(segment: &Segment, folder: &Path, version: u64) -> Result<Entry> {
    let removed = (0..segment.len() as Slot).filter(|&slot| !segment.is_live(slot, version)).collect();
    let mut sections = Sections::default();
    let compiled = segment.write(&mut sections);
    if let Some(path) = segment.file().filter(|path| path.parent() == Some(folder) && path.exists()) {
        let checksum = crate::sections::SectionReader::open(path, false)?.checksum();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Entry { file, checksum: format!("{checksum:016x}"), compiled, removed });
    }
    // A copy would give what is damaged a checksum of its own.
    segment.verify()?;
    // The name is the content's, so that a file of this name is this file, whoever wrote it.
    let mut checksum = 0;
    let temporary = temporary_name(folder);
    write_whole(&temporary, |out| {
        checksum = sections.write(out)?;
        Ok(())
    })?;
    let file = format!("segment-{checksum:016x}-{}.tamis", segment.len());
    let path = folder.join(&file);
    fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
    segment.set_file(path);
    Ok(Entry { file, checksum: format!("{checksum:016x}"), compiled, removed })
}

fn temporary_name(folder: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    folder.join(format!(".tamis-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Lets one save at a time change a folder.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let locked = File::create(&path).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| Error::storage(&path, error))
}

/// Makes sure that names given in a folder are on the disk.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::storage(folder, error))
}

/// Writes a file and makes sure it is on the disk.
fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        Error::storage(path, error)
    })
}

/// Removes segment files and leftovers that the manifest does not name. What cannot be removed now
/// is removed by the next save; a file that is mapped stays readable until nobody maps it.
fn remove_unnamed(folder: &Path, entries: &[Entry]) {
    let named: HashSet<&str> = entries.iter().map(|entry| entry.file.as_str()).collect();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let segment = name.starts_with("segment-") && name.ends_with(".tamis");
        let leftover =
            name.starts_with(".tamis-") && !name.starts_with(&format!(".tamis-{}-", std::process::id()));
        if (segment && !named.contains(&*name)) || leftover {
            let _ = fs::remove_file(file.path());
        }
    }
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
