//! How does a folder of files change at once?
//!
//! What is saved is a folder of immutable files and one manifest that names them. A save writes the
//! files that are not there yet, then a new manifest under another name, and puts it in the place of
//! the old one: whoever opens the folder finds the old state or the new one. Files that no manifest
//! names any more are removed afterwards.
//!
//! A folder may hold versions instead, written by others: manifests such as `index-1.json` and
//! `index-2.json`, of which the highest counts.

pub(crate) mod manifest;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::sections::Sections;

/// A folder that nobody else saves into.
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder if it is not there, and waits until no other save changes it.
    pub fn lock(path: &Path) -> Result<Folder> {
        fs::create_dir_all(path).map_err(|error| Error::storage(path, error))?;
        let path = path.canonicalize().map_err(|error| Error::storage(path, error))?;
        let name = path.join(".lock");
        let lock = File::create(&name).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let lock = lock.map_err(|error| Error::storage(&name, error))?;
        Ok(Folder { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails where the folder holds versions, whose files a save would remove.
    pub fn refuse_versions(&self, manifest: &str) -> Result<()> {
        match latest_version(&self.path, manifest) {
            None => Ok(()),
            Some(_) => Err(Error::storage(&self.path, "the folder holds versions; save into another")),
        }
    }

    /// Writes a file named after its content, `kind-checksum-count.tamis`, so that a file of this name
    /// is this file, whoever wrote it. Returns its name and its checksum.
    pub fn write_sections(
        &self,
        kind: &str,
        count: usize,
        sections: &Sections<'_>,
    ) -> Result<(String, String)> {
        let mut checksum = 0;
        let temporary = self.temporary();
        write_whole(&temporary, |out| {
            checksum = sections.write(out)?;
            Ok(())
        })?;
        let checksum = format!("{checksum:016x}");
        let file = format!("{kind}-{checksum}-{count}.tamis");
        let path = self.path.join(&file);
        fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
        Ok((file, checksum))
    }

    /// Puts a manifest in the place of the one before, and removes the files of these kinds, and the
    /// leftovers of saves that did not end, that it does not name.
    pub fn publish(&self, manifest: &str, text: &str, kinds: &[&str], named: &[&str]) -> Result<()> {
        self.sync()?;
        let (path, temporary) = (self.path.join(manifest), self.temporary());
        write_whole(&temporary, |out| out.write_all(text.as_bytes()))?;
        fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
        self.sync()?;
        self.remove_unnamed(kinds, named);
        Ok(())
    }

    /// Makes sure that names given in the folder are on the disk.
    fn sync(&self) -> Result<()> {
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| Error::storage(&self.path, error))
    }

    fn temporary(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.path.join(format!(".tamis-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// What cannot be removed now is removed by the next save; a file that is mapped stays readable
    /// until nobody maps it.
    fn remove_unnamed(&self, kinds: &[&str], named: &[&str]) {
        let named: HashSet<&str> = named.iter().copied().collect();
        let mine = format!(".tamis-{}-", std::process::id());
        for file in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let ours = name.strip_suffix(".tamis").and_then(|name| name.split_once('-'));
            let saved = ours.is_some_and(|(kind, _)| kinds.contains(&kind));
            let leftover = name.starts_with(".tamis-") && !name.starts_with(&mine);
            if (saved && !named.contains(&*name)) || leftover {
                let _ = fs::remove_file(file.path());
            }
        }
    }
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

/// Opens what a folder's manifest names, once more where a save came between and removed files that
/// the manifest read first names. The path is the folder, or a manifest in it; `missing` says what a
/// folder without the manifest is not.
pub(crate) fn open_manifest<T>(
    path: &Path,
    manifest: &str,
    missing: &str,
    open: impl Fn(&Path, &[u8]) -> Result<T>,
) -> Result<T> {
    let read = || {
        let found = locate(path, manifest);
        match fs::read(&found) {
            Ok(text) => Ok((found, text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::storage(path, missing)),
            Err(error) => Err(Error::storage(&found, error)),
        }
    };
    let mut found = read()?;
    loop {
        let opened = open(&found.0, &found.1);
        let now = read()?;
        if opened.is_ok() || now == found {
            return opened;
        }
        found = now;
    }
}

/// The manifest that a path stands for: itself, the folder's, or its latest version.
fn locate(path: &Path, manifest: &str) -> PathBuf {
    let whole = path.join(manifest);
    if path.is_file() {
        path.to_owned()
    } else if whole.exists() {
        whole
    } else {
        latest_version(path, manifest).unwrap_or(whole)
    }
}

/// The manifest of the highest version in a folder, if it has versions.
fn latest_version(folder: &Path, manifest: &str) -> Option<PathBuf> {
    let stem = manifest.strip_suffix(".json")?;
    let version = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".json")?.parse::<u64>().ok()
    };
    let files = fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    files.filter_map(|path| Some((version(&path)?, path))).max().map(|(_, path)| path)
}
