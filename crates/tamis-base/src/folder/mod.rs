//! How does a folder of files change atomically?
//!
//! A saved folder contains immutable files and one manifest that names them. A save writes the
//! missing files, then a new manifest under a temporary name, and renames it over
//! the old one. Whoever opens the folder sees the old state or the new one. Files that no manifest
//! names any more are removed afterwards.
//!
//! Others may be able to write to the folder. So every file is opened as described in `files`, and a manifest
//! may name only files that a save could have written.
//!
//! After a power failure, a save that had returned is on disk: its files, their names, and the folders
//! created for them. An unfinished save has happened completely or not at all.
//!
//! A folder may instead hold versions, written by others: manifests such as `index-1.json` and
//! `index-2.json`; the highest number is current.

pub mod manifest;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;
use crate::sections::Sections;
use manifest::{FileEntry, Manifest, ManifestKind, file_name};

/// What the names of files begin with that are being written; 16 hexadecimal digits follow.
const TEMPORARY: &str = ".tamis-";

/// Where a server that owns a folder logs changes, and how the names of the log's files begin; 20 digits follow.
const CHANGES: &str = "changes";
const LOG: &str = "changes-";

/// A folder that nobody else saves into.
pub struct Folder {
    path: PathBuf,
    lock: File,
}

/// Fails if a server of another process owns the folder: it would overwrite what is saved there with its own state. A server
/// locks a file in which it writes the number of its process.
fn refuse_owned(path: &Path) -> Result<()> {
    let name = path.join(".serve.lock");
    let file = match files::open(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return refuse_unfolded(path),
        opened => opened.map_err(|error| Error::storage(&name, error))?,
    };
    match file.try_lock_shared() {
        Ok(()) => refuse_unfolded(path),
        Err(TryLockError::Error(error)) => Err(Error::storage(&name, error)),
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            file.take(20).read_to_string(&mut process).map_err(|error| Error::storage(&name, error))?;
            if process == std::process::id().to_string() {
                return Ok(());
            }
            Err(Error::storage(
                path,
                "a server owns the folder; send changes to the server, or stop it first",
            ))
        }
    }
}

/// Fails if a server that was killed left changes in its log: the next server would apply them to what is saved now.
fn refuse_unfolded(path: &Path) -> Result<()> {
    let changes = path.join(CHANGES);
    let files = match fs::read_dir(&changes) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        files => files.map_err(|error| Error::storage(&changes, error))?,
    };
    for file in files {
        let file = file.map_err(|error| Error::storage(&changes, error))?;
        let name = file.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(LOG)?.strip_suffix(".log"));
        let is_log = number
            .is_some_and(|number| number.len() == 20 && number.bytes().all(|byte| byte.is_ascii_digit()));
        let size = || file.metadata().map_err(|error| Error::storage(&file.path(), error));
        if is_log && size()?.len() > 0 {
            return Err(Error::storage(
                path,
                "changes in the log of `tamis serve --own` are not in the index yet; start it once more, which \
                 saves them when it stops, or delete the folder `changes` to give them up",
            ));
        }
    }
    Ok(())
}

impl Folder {
    /// Makes the folder if it is not there, and waits until no other save changes it.
    pub fn lock(path: &Path) -> Result<Folder> {
        files::make_folder(path).map_err(|error| Error::storage(path, error))?;
        let path = path.canonicalize().map_err(|error| Error::storage(path, error))?;
        let name = path.join(".lock");
        let lock = files::open_or_create(&name).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let lock = lock.map_err(|error| Error::storage(&name, error))?;
        refuse_owned(&path)?;
        Ok(Folder { path, lock })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a manifest says of a file that was written before, if it lies in this folder.
    pub fn entry(&self, file: Option<&(PathBuf, String)>) -> Option<FileEntry> {
        let (path, checksum) = file?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_here = path.parent() == Some(&self.path) && files::open(path).is_ok();
        is_here.then(|| FileEntry { file: name, checksum: checksum.clone(), ..FileEntry::default() })
    }

    /// Fails if the folder has a file in the place of the manifest that no save wrote. A symbolic link may be
    /// replaced: what it leads to is not.
    pub fn refuse_foreign(&self, kind: ManifestKind) -> Result<()> {
        let path = self.path.join(kind.file());
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if !is_file
            || manifest::is_manifest(&files::read(&path).map_err(|error| Error::storage(&path, error))?)
        {
            return Ok(());
        }
        let message = format!(
            "not the manifest of {}, which a save would replace; name a new or an empty folder",
            kind.noun()
        );
        Err(Error::storage(&path, message))
    }

    /// Fails where the folder holds versions, whose files a save would remove.
    pub fn refuse_versions(&self, kind: ManifestKind) -> Result<()> {
        match latest_version(&self.path, kind) {
            None => Ok(()),
            Some(_) => Err(Error::storage(&self.path, "the folder holds versions; save into another")),
        }
    }

    /// Writes a file named after its content, `prefix-checksum-count.tamis`, so that a file of this name
    /// is this file, whoever wrote it. Returns its name and its checksum.
    pub fn write_sections(
        &self,
        prefix: &str,
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
        let file = file_name(prefix, &checksum, count);
        let path = self.path.join(&file);
        fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
        Ok((file, checksum))
    }

    /// Puts a manifest in the place of the one before, and removes the files with these prefixes, and the
    /// leftovers of saves that did not end, that it does not name.
    pub fn publish(&self, kind: ManifestKind, text: &str, prefixes: &[&str], named: &[&str]) -> Result<()> {
        self.sync()?;
        let (path, temporary) = (self.path.join(kind.file()), self.temporary());
        write_whole(&temporary, |out| out.write_all(text.as_bytes()))?;
        fs::rename(&temporary, &path).map_err(|error| Error::storage(&path, error))?;
        self.sync()?;
        self.remove_unnamed(prefixes, named);
        Ok(())
    }

    /// Makes sure that names given in the folder are on the disk.
    fn sync(&self) -> Result<()> {
        files::sync_folder(&self.path).map_err(|error| Error::storage(&self.path, error))
    }

    /// A name that nobody can guess, so that nobody can take it first.
    fn temporary(&self) -> PathBuf {
        self.path.join(format!("{TEMPORARY}{:016x}", RandomState::new().hash_one(std::process::id())))
    }

    /// What cannot be removed now is removed by the next save; a file that is mapped stays readable
    /// until nobody maps it.
    fn remove_unnamed(&self, prefixes: &[&str], named: &[&str]) {
        let named: HashSet<&str> = named.iter().copied().collect();
        for file in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let saved = prefixes.iter().any(|prefix| manifest::is_saved_name(&name, prefix));
            // Nobody else saves into the folder now, so nobody is writing them.
            let leftover = name.strip_prefix(TEMPORARY).is_some_and(manifest::is_checksum);
            if (saved && !named.contains(&*name)) || leftover {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A process that was forked meanwhile holds the file too, and the lock with it, until it is unlocked.
        let _ = self.lock.unlock();
    }
}

/// Writes a file and makes sure it is on the disk.
fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let written = files::create_new(path).and_then(|file| {
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
/// the manifest read first names. The path is the folder, or a manifest in it.
pub fn open_manifest<T>(
    path: &Path,
    kind: ManifestKind,
    open: impl Fn(&Path, &Manifest) -> Result<T>,
) -> Result<T> {
    let read = || {
        let found = locate(path, kind);
        match files::read(&found) {
            Ok(text) => Ok((found, text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::storage(path, format!("not {}: {} is missing", kind.noun(), kind.file())))
            }
            Err(error) => Err(Error::storage(&found, error)),
        }
    };
    let mut found = read()?;
    loop {
        let opened = open_folder(&found.0).and_then(|folder| {
            let manifest = Manifest::read(&found.0, &found.1, kind)?;
            open(&folder, &manifest)
        });
        if opened.is_ok() {
            return opened;
        }
        let now = read()?;
        if now == found {
            return opened;
        }
        found = now;
    }
}

/// The folder of a manifest.
fn open_folder(manifest: &Path) -> Result<PathBuf> {
    let folder = manifest.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    folder.canonicalize().map_err(|error| Error::storage(folder, error))
}

/// The manifest that a path refers to: itself, the folder's, or its latest version.
fn locate(path: &Path, kind: ManifestKind) -> PathBuf {
    let whole = path.join(kind.file());
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir() && !path.is_dir()) {
        path.to_owned()
    } else if fs::symlink_metadata(&whole).is_ok() {
        whole
    } else {
        latest_version(path, kind).unwrap_or(whole)
    }
}

/// The manifest of the highest version in a folder, if it has versions.
fn latest_version(folder: &Path, kind: ManifestKind) -> Option<PathBuf> {
    let stem = kind.file().strip_suffix(".json")?;
    let version = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".json")?.parse::<u64>().ok()
    };
    let files = fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    files.filter_map(|path| Some((version(&path)?, path))).max().map(|(_, path)| path)
}
