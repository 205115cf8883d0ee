//! What does a folder hold, and how is that written down?
//!
//! A manifest is a JSON object: the format's number, settings, and lists of files.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use jiter::JsonValue;

use crate::error::{Error, Result};

/// What a manifest says of one file.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub file: String,
    pub checksum: String,
    /// Whether what was compiled is there too.
    pub compiled: bool,
    /// Positions in the file that no longer count.
    pub removed: Vec<u32>,
    /// The shard it belongs to, where there are shards.
    pub shard: Option<u32>,
}

/// Writes a manifest of settings and lists of files. Neither holds a character that JSON escapes.
pub(crate) fn write(format: i64, settings: &[(&str, &str)], lists: &[(&str, &[Entry])]) -> String {
    write_with(format, settings, &[], lists)
}

/// The same with members that are JSON already.
pub(crate) fn write_with(
    format: i64,
    settings: &[(&str, &str)],
    members: &[(&str, &str)],
    lists: &[(&str, &[Entry])],
) -> String {
    let mut text = format!("{{\n\"format\": {format}");
    for (key, value) in settings {
        let _ = write!(text, ",\n\"{key}\": \"{value}\"");
    }
    for (key, json) in members {
        let _ = write!(text, ",\n\"{key}\": {json}");
    }
    for (key, entries) in lists {
        let _ = write!(text, ",\n\"{key}\": [");
        for (position, Entry { file, checksum, compiled, removed, .. }) in entries.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let removed: Vec<String> = removed.iter().map(u32::to_string).collect();
            let _ = write!(
                text,
                "{comma}\n{{\"file\": \"{file}\", \"checksum\": \"{checksum}\", \"compiled\": {compiled}, \"removed\": [{}]}}",
                removed.join(",")
            );
        }
        text.push_str("\n]");
    }
    text.push_str("\n}\n");
    text
}

/// The names of the files in lists.
pub(crate) fn files<'e>(lists: &[(&str, &'e [Entry])]) -> Vec<&'e str> {
    lists.iter().flat_map(|(_, entries)| entries.iter().map(|entry| entry.file.as_str())).collect()
}

/// A manifest that was read.
pub(crate) struct Manifest {
    path: PathBuf,
    /// What the folder holds, for messages.
    what: &'static str,
    members: JsonValue<'static>,
}

impl Manifest {
    /// Reads a manifest of one format.
    pub fn read(path: &Path, text: &[u8], format: i64, what: &'static str) -> Result<Manifest> {
        let members = JsonValue::parse(text, false).map(JsonValue::into_static);
        let manifest = Manifest { path: path.to_owned(), what, members: members.unwrap_or(JsonValue::Null) };
        match member(&manifest.members, "format") {
            Some(JsonValue::Int(found)) if *found == format => Ok(manifest),
            Some(JsonValue::Int(found)) => {
                let message =
                    format!("the {what} has format {found}, this version of Tamis reads format {format}");
                Err(Error::storage(path, message))
            }
            _ => Err(manifest.damaged()),
        }
    }

    /// An error that says that this is no such manifest.
    pub fn damaged(&self) -> Error {
        let message = format!("this is no manifest of an {}, or it is damaged", self.what);
        Error::storage(&self.path, message)
    }

    /// A setting.
    pub fn setting(&self, key: &str) -> Result<&str> {
        self.text(&self.members, key)
    }

    /// A setting that names no file.
    pub fn name(&self, key: &str) -> Result<&str> {
        match member(&self.members, key) {
            Some(JsonValue::Str(name)) => Ok(name),
            _ => Err(self.damaged()),
        }
    }

    /// A member as it is.
    pub fn json(&self, key: &str) -> Option<&JsonValue<'static>> {
        member(&self.members, key)
    }

    /// A number, if it is there.
    pub fn number(&self, key: &str) -> Result<Option<u32>> {
        self.number_in(&self.members, key)
    }

    /// The entries of a list; none where it is absent.
    pub fn entries(&self, key: &str) -> Result<Vec<Entry>> {
        match member(&self.members, key) {
            None => Ok(Vec::new()),
            Some(JsonValue::Array(entries)) => entries.iter().map(|entry| self.entry(entry)).collect(),
            Some(_) => Err(self.damaged()),
        }
    }

    fn entry(&self, entry: &JsonValue<'static>) -> Result<Entry> {
        let (Some(JsonValue::Bool(compiled)), Some(JsonValue::Array(removed))) =
            (member(entry, "compiled"), member(entry, "removed"))
        else {
            return Err(self.damaged());
        };
        let position = |value: &JsonValue<'_>| match value {
            JsonValue::Int(position) => u32::try_from(*position).map_err(|_| self.damaged()),
            _ => Err(self.damaged()),
        };
        let removed = removed.iter().map(position).collect::<Result<HashSet<_>>>()?;
        Ok(Entry {
            file: self.text(entry, "file")?.to_owned(),
            checksum: self.text(entry, "checksum")?.to_owned(),
            compiled: *compiled,
            removed: removed.into_iter().collect(),
            shard: self.number_in(entry, "shard")?,
        })
    }

    fn number_in(&self, value: &JsonValue<'static>, key: &str) -> Result<Option<u32>> {
        match member(value, key) {
            None => Ok(None),
            Some(JsonValue::Int(number)) => u32::try_from(*number).map(Some).map_err(|_| self.damaged()),
            Some(_) => Err(self.damaged()),
        }
    }

    fn text<'m>(&self, value: &'m JsonValue<'static>, key: &str) -> Result<&'m str> {
        match member(value, key) {
            // A manifest names files beside it, and nothing elsewhere.
            Some(JsonValue::Str(text)) if !text.contains(['/', '\\']) => Ok(text),
            _ => Err(self.damaged()),
        }
    }
}

fn member<'m>(value: &'m JsonValue<'static>, key: &str) -> Option<&'m JsonValue<'static>> {
    match value {
        JsonValue::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
        _ => None,
    }
}
