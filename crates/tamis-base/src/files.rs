//! How are files opened so that a link, a pipe or a device in place of a file is refused?
//!
//! Others may be able to write to the folder of an index. A symbolic link there would make us read or
//! overwrite a file elsewhere, and a pipe would make us wait forever. So every file of a folder is
//! opened without following links and without blocking, and must be a regular file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    regular(options().read(true).open(path))
}

/// Opens a regular file whose content does not matter, and creates it if necessary.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    regular(options().read(true).write(true).create(true).truncate(false).open(path))
}

/// Creates a file; fails if the name exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Reads all of a regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    io::Read::read_to_end(&mut open(path)?, &mut content)?;
    Ok(content)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.clone()
}

fn regular(opened: io::Result<File>) -> io::Result<File> {
    match opened {
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            Err(io::Error::other("this is a symbolic link, which is not followed"))
        }
        Ok(file) if !file.metadata()?.is_file() => Err(io::Error::other("this is not a regular file")),
        opened => opened,
    }
}

/// Creates a folder and its parents, and syncs their names to disk.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let made: Vec<&Path> = path.ancestors().take_while(missing).collect();
    fs::create_dir_all(path)?;
    for folder in made.into_iter().rev() {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_folder(parent.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Syncs the names in a folder to disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|synced| synced.push(path.to_owned()));
    // On other systems a folder cannot be opened, and names need not be synced.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;

    use super::*;

    thread_local! {
        pub static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn the_parents_of_a_new_folder_are_synced() {
        let root = std::env::temp_dir().join(format!("tamis-folders-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        SYNCED.take();
        make_folder(&root.join("a/b/c")).unwrap();
        assert_eq!(SYNCED.take(), [root.clone(), root.join("a"), root.join("a/b")]);
        make_folder(&root.join("a/b/c")).unwrap();
        assert_eq!(SYNCED.take(), [] as [PathBuf; 0]);
        fs::remove_dir_all(root).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_folders_are_no_files() {
        let root = std::env::temp_dir().join(format!("tamis-files-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let (file, link, pipe) = (root.join("file"), root.join("link"), root.join("pipe"));
        fs::write(&file, "kept").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read(&file).unwrap(), b"kept");
        for (path, reason) in [(&link, "symbolic link"), (&pipe, "regular file"), (&root, "")] {
            for opened in [open(path), open_or_create(path)] {
                let error = opened.unwrap_err().to_string();
                assert!(error.contains(reason), "{}: {error}", path.display());
            }
            assert!(create_new(path).is_err());
        }
        open_or_create(&file).unwrap();
        assert_eq!(read(&file).unwrap(), b"kept");
        fs::remove_dir_all(root).unwrap();
    }
}
