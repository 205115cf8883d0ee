//! What does a folder contain, and how is that recorded?
//!
//! A manifest is a JSON object: the format number, settings, lists of files, and a checksum of everything
//! before it. This is the only reader of manifests, for Rust and for Python. It accepts
//! nothing that two readers could interpret differently, and only file names that a save produces.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use jiter::JsonValue;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::truth::Missing;
use crate::value::TimeZone;

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestKind {
    /// An index, also one that is spread over shards.
    Index,
    /// A graph.
    Graph,
    /// An XML filter.
    Filter,
}

impl ManifestKind {
    /// The kind of that name: `index`, `graph` or `filter`.
    pub fn by_name(name: &str) -> Option<ManifestKind> {
        [ManifestKind::Index, ManifestKind::Graph, ManifestKind::Filter]
            .into_iter()
            .find(|kind| kind.file().strip_suffix(".json") == Some(name))
    }

    /// The file that the manifest is.
    pub(crate) fn file(self) -> &'static str {
        match self {
            ManifestKind::Index => "index.json",
            ManifestKind::Graph => "graph.json",
            ManifestKind::Filter => "filter.json",
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            ManifestKind::Index => "an index",
            ManifestKind::Graph => "a graph",
            ManifestKind::Filter => "an XML filter",
        }
    }

    /// The number of the format, noted in the changelog when it changes.
    fn format(self) -> i64 {
        match self {
            ManifestKind::Index => 5,
            ManifestKind::Graph | ManifestKind::Filter => 3,
        }
    }

    /// The lists of files, each with what the files' names begin with.
    fn lists(self) -> &'static [(&'static str, &'static str)] {
        match self {
            ManifestKind::Index => &[("segments", "segment"), ("xpaths", "xpaths")],
            ManifestKind::Graph => &[("segments", "graph")],
            ManifestKind::Filter => &[("filters", "filters")],
        }
    }
}

/// What a manifest says of one file.
#[derive(Debug, Clone, Default)]
pub struct FileEntry {
    /// The name of the file in its folder.
    pub file: String,
    /// The checksum of its content, as 16 hexadecimal digits.
    pub checksum: String,
    /// Whether what was compiled is there too.
    pub compiled: bool,
    /// Positions in the file that no longer count, ascending.
    pub removed: Vec<u32>,
    /// The shard it belongs to, where there are shards.
    pub shard: Option<u32>,
}

/// What a manifest calls an answer on attributes without a value.
pub fn missing_name(missing: Missing) -> &'static str {
    match missing {
        Missing::Unknown => "unknown",
        Missing::False => "false",
    }
}

/// The name of a file, which says what its content is.
pub(crate) fn file_name(prefix: &str, checksum: &str, count: usize) -> String {
    format!("{prefix}-{checksum}-{count}.tamis")
}

/// Writes a manifest of settings, members that are JSON already, and lists of files. Neither keys nor
/// settings hold a character that JSON escapes.
pub fn write(
    kind: ManifestKind,
    settings: &[(&str, &str)],
    members: &[(&str, &str)],
    lists: &[(&str, &[FileEntry])],
) -> String {
    let mut text = format!("{{\n\"format\": {}", kind.format());
    for (key, value) in settings {
        let _ = write!(text, ",\n\"{key}\": \"{value}\"");
    }
    for (key, json) in members {
        let _ = write!(text, ",\n\"{key}\": {json}");
    }
    for (key, entries) in lists {
        let _ = write!(text, ",\n\"{key}\": [");
        for (position, FileEntry { file, checksum, compiled, removed, .. }) in entries.iter().enumerate() {
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
    let seal = seal(text.as_bytes());
    text + &seal
}

/// What ends a manifest that begins with these bytes.
fn seal(begin: &[u8]) -> String {
    format!(",\n\"checksum\": \"{:016x}\"\n}}\n", xxh3_64(begin))
}

/// The names of the files in lists.
pub fn files<'e>(lists: &[(&str, &'e [FileEntry])]) -> Vec<&'e str> {
    lists.iter().flat_map(|(_, entries)| entries.iter().map(|entry| entry.file.as_str())).collect()
}

/// A manifest that was read and checked.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    kind: ManifestKind,
    members: JsonValue<'static>,
}

impl Manifest {
    /// Reads a manifest. `path` is what errors call it.
    pub fn read(path: &Path, text: &[u8], kind: ManifestKind) -> Result<Manifest> {
        let manifest = Manifest::parse(path, text, kind)?;
        // The seal has one length, whatever it says.
        let begin = text.len().checked_sub(seal(b"").len()).map(|end| &text[..end]);
        match begin {
            Some(begin) if text[begin.len()..] == *seal(begin).as_bytes() => Ok(manifest),
            _ => Err(manifest.damaged("its checksum does not match")),
        }
    }

    /// A manifest with these members, a JSON object, and its checksum.
    pub fn write(path: &Path, members: &str, kind: ManifestKind) -> Result<Vec<u8>> {
        let manifest = Manifest::parse(path, members.as_bytes(), kind)?;
        let begin = match members.trim_end().strip_suffix('}') {
            Some(begin) if manifest.json("checksum").is_none() => begin.trim_end(),
            _ => return Err(manifest.damaged("it has a checksum already")),
        };
        Ok([begin.as_bytes(), seal(begin.as_bytes()).as_bytes()].concat())
    }

    fn parse(path: &Path, text: &[u8], kind: ManifestKind) -> Result<Manifest> {
        let parsed = JsonValue::parse(text, false).map(JsonValue::into_static);
        let mut manifest = Manifest { path: path.to_owned(), kind, members: JsonValue::Null };
        manifest.members = parsed.map_err(|_| manifest.damaged("it is not JSON"))?;
        if let Some(key) = repeated_key(&manifest.members) {
            return Err(manifest.damaged(&format!("the key {key:?} occurs twice in one object")));
        }
        match manifest.json("format") {
            Some(JsonValue::Int(found)) if *found == kind.format() => {}
            Some(JsonValue::Int(found)) => {
                let (noun, format) = (kind.noun(), kind.format());
                let message = format!(
                    "the file is of format {found}; this version of Tamis reads {noun} of format {format}"
                );
                return Err(Error::storage(path, message));
            }
            _ => return Err(manifest.damaged("it has no format")),
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// Fails if a member that someone relies on is not what it must be.
    fn check(&self) -> Result<()> {
        let shards = self.number("shards")?;
        for (list, _) in self.kind.lists() {
            let entries = self.entries(list)?;
            let mut named = HashSet::new();
            for entry in &entries {
                let in_place = match (entry.shard, shards) {
                    (None, None) => true,
                    (Some(shard), Some(shards)) => shard < shards,
                    _ => false,
                };
                if !in_place {
                    return Err(self.damaged("a file belongs to a shard that is not there"));
                }
                // Shards may ask the same of documents; no two hold the same subscriptions.
                if *list == "segments" && !named.insert(&entry.file) {
                    return Err(self.damaged("a file occurs twice in a list"));
                }
            }
        }
        if self.kind == ManifestKind::Graph && self.entries("segments")?.len() != 1 {
            return Err(self.damaged("a graph is one file"));
        }
        match self.json("ids") {
            None => {}
            Some(JsonValue::Str(ids)) if ids == "string" || ids == "bigint" => {}
            Some(_) => return Err(self.damaged("its `ids` are neither \"string\" nor \"bigint\"")),
        }
        for key in ["pipeline", "version"] {
            self.number(key)?;
        }
        self.check_errors()
    }

    /// The files of rows that were refused.
    fn check_errors(&self) -> Result<()> {
        let files = match self.json("errors") {
            None => return Ok(()),
            Some(errors) => {
                self.number_in(errors, "count")?;
                member(errors, "files")
            }
        };
        let is_name = |file: &JsonValue<'_>| match file {
            JsonValue::Str(file) => {
                file.strip_prefix("errors-").and_then(|file| file.strip_suffix(".parquet")).is_some_and(
                    |name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                )
            }
            _ => false,
        };
        match files {
            Some(JsonValue::Array(files)) if files.iter().all(is_name) => Ok(()),
            _ => Err(self.damaged("its `errors` name no files of errors")),
        }
    }

    /// All members.
    pub fn members(&self) -> &JsonValue<'static> {
        &self.members
    }

    /// An error that says that this is no such manifest.
    pub fn damaged(&self, reason: &str) -> Error {
        let message = format!("not the manifest of {}, or damaged: {reason}", self.kind.noun());
        Error::storage(&self.path, message)
    }

    /// A setting.
    pub fn setting(&self, key: &str) -> Result<&str> {
        self.text(&self.members, key)
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Result<Missing> {
        let name = self.setting("missing")?;
        let known = [Missing::Unknown, Missing::False].into_iter().find(|known| missing_name(*known) == name);
        known.ok_or_else(|| self.damaged(&format!("`missing` is {name:?}")))
    }

    /// The zone of times that are written without an offset.
    pub fn time_zone(&self) -> Result<TimeZone> {
        TimeZone::named(self.setting("time_zone")?).map_err(|error| self.damaged(&error.to_string()))
    }

    /// A member as it is.
    pub fn json(&self, key: &str) -> Option<&JsonValue<'static>> {
        member(&self.members, key)
    }

    /// A number, if it is there.
    pub fn number(&self, key: &str) -> Result<Option<u32>> {
        Ok(self.number_in(&self.members, key)?.map(|number| number as u32))
    }

    /// The entries of a list; none if it is absent.
    pub fn entries(&self, key: &str) -> Result<Vec<FileEntry>> {
        let prefix = self.kind.lists().iter().find(|(list, _)| *list == key).map_or("", |(_, prefix)| prefix);
        match member(&self.members, key) {
            None => Ok(Vec::new()),
            Some(JsonValue::Array(entries)) => {
                entries.iter().map(|entry| self.entry(entry, prefix)).collect()
            }
            Some(_) => Err(self.damaged(&format!("its `{key}` are not a list"))),
        }
    }

    fn entry(&self, entry: &JsonValue<'static>, prefix: &str) -> Result<FileEntry> {
        let (Some(JsonValue::Bool(compiled)), Some(JsonValue::Array(removed))) =
            (member(entry, "compiled"), member(entry, "removed"))
        else {
            return Err(self.damaged("an entry lacks `compiled` or `removed`"));
        };
        let (file, checksum) = (self.text(entry, "file")?, self.text(entry, "checksum")?);
        if !is_file_name(file, checksum, prefix) {
            return Err(self.damaged(&format!("it names {file:?}, which is not a file that a save writes")));
        }
        let wrong = || self.damaged("`removed` are not ascending positions");
        let mut positions: Vec<u32> = Vec::with_capacity(removed.len());
        for value in removed.iter() {
            let JsonValue::Int(position) = value else { return Err(wrong()) };
            let position = u32::try_from(*position).map_err(|_| wrong())?;
            if positions.last().is_some_and(|last| *last >= position) {
                return Err(wrong());
            }
            positions.push(position);
        }
        for key in ["bytes", "subscriptions"] {
            self.number_in(entry, key)?;
        }
        match member(entry, "attributes") {
            None | Some(JsonValue::Null) => {}
            Some(JsonValue::Array(names)) if names.iter().all(|name| matches!(name, JsonValue::Str(_))) => {}
            Some(_) => return Err(self.damaged("`attributes` are not a list of names")),
        }
        Ok(FileEntry {
            file: file.to_owned(),
            checksum: checksum.to_owned(),
            compiled: *compiled,
            removed: positions,
            shard: self.number_in(entry, "shard")?.map(|shard| shard as u32),
        })
    }

    /// A number of up to 32 bits, or of any size where it counts bytes or rows.
    fn number_in(&self, value: &JsonValue<'static>, key: &str) -> Result<Option<u64>> {
        let most =
            if ["bytes", "subscriptions", "count"].contains(&key) { u64::MAX } else { u32::MAX.into() };
        match member(value, key) {
            None => Ok(None),
            Some(JsonValue::Int(number)) if u64::try_from(*number).is_ok_and(|number| number <= most) => {
                Ok(Some(*number as u64))
            }
            Some(_) => Err(self.damaged(&format!("its `{key}` is not such a number"))),
        }
    }

    fn text<'m>(&self, value: &'m JsonValue<'static>, key: &str) -> Result<&'m str> {
        match member(value, key) {
            Some(JsonValue::Str(text)) => Ok(text),
            _ => Err(self.damaged(&format!("it has no `{key}`"))),
        }
    }
}

/// Whether a name is the one that a save gives a file: it says what the file holds, and nothing else.
fn is_file_name(file: &str, checksum: &str, prefix: &str) -> bool {
    let count = file
        .strip_prefix(prefix)
        .and_then(|file| file.strip_prefix('-'))
        .and_then(|file| file.strip_prefix(checksum))
        .and_then(|file| file.strip_prefix('-'))
        .and_then(|file| file.strip_suffix(".tamis"));
    let is_number =
        |count: &str| (1..=20).contains(&count.len()) && count.bytes().all(|byte| byte.is_ascii_digit());
    is_checksum(checksum) && count.is_some_and(is_number)
}

/// Whether a save of that prefix could have given a file this name, whatever its content.
pub(crate) fn is_saved_name(file: &str, prefix: &str) -> bool {
    let checksum = file.strip_prefix(prefix).and_then(|file| file.get(1..17));
    checksum.is_some_and(|checksum| is_file_name(file, checksum, prefix))
}

/// Whether a text is a checksum as names and manifests have it.
pub(crate) fn is_checksum(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether a text begins as manifests of all formats do, also damaged ones.
pub(crate) fn is_manifest(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| rest.starts_with(b"\"format\":"))
}

fn member<'m>(value: &'m JsonValue<'static>, key: &str) -> Option<&'m JsonValue<'static>> {
    match value {
        JsonValue::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
        _ => None,
    }
}

/// A key that an object at any depth has twice.
fn repeated_key(value: &JsonValue<'static>) -> Option<String> {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            JsonValue::Array(items) => rest.extend(items.iter()),
            JsonValue::Object(members) => {
                let mut keys = HashSet::with_capacity(members.len());
                for (key, value) in members.iter() {
                    if !keys.insert(key.as_ref()) {
                        return Some(key.to_string());
                    }
                    rest.push(value);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKSUM: &str = "0123456789abcdef";

    fn members(entry: &str, more: &str) -> String {
        format!("{{\"format\": 5, \"missing\": \"unknown\", \"segments\": [{{{entry}}}]{more}}}")
    }

    fn entry(file: &str) -> String {
        format!("\"file\": \"{file}\", \"checksum\": \"{CHECKSUM}\", \"compiled\": true, \"removed\": [1, 4]")
    }

    fn whole() -> String {
        entry(&format!("segment-{CHECKSUM}-7.tamis"))
    }

    fn written(members: &str) -> Result<Vec<u8>> {
        Manifest::write(Path::new("m"), members, ManifestKind::Index)
    }

    fn read(text: &[u8]) -> Result<Manifest> {
        Manifest::read(Path::new("m"), text, ManifestKind::Index)
    }

    #[test]
    fn what_is_written_is_read() {
        let text = written(&members(&whole(), "")).unwrap();
        let entries = read(&text).unwrap().entries("segments").unwrap();
        assert_eq!(entries[0].removed, [1, 4]);
        let entry =
            FileEntry { file: entries[0].file.clone(), checksum: CHECKSUM.into(), ..FileEntry::default() };
        let text = super::write(ManifestKind::Index, &[("missing", "false")], &[], &[("segments", &[entry])]);
        assert_eq!(read(text.as_bytes()).unwrap().setting("missing").unwrap(), "false");
        assert!(written(std::str::from_utf8(text.as_bytes()).unwrap()).is_err(), "sealed twice");
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let text = written(&members(&whole(), "")).unwrap();
        for position in 0..text.len() {
            let mut changed = text.clone();
            changed[position] ^= 1;
            assert!(read(&changed).is_err(), "byte {position}");
            assert!(read(&text[..position]).is_err(), "{position} bytes");
        }
        assert!(read(&[text.clone(), b" ".to_vec()].concat()).is_err());
    }

    #[test]
    fn only_names_that_a_save_gives() {
        for file in [
            "../segment-0123456789abcdef-7.tamis",
            "/etc/passwd",
            "..",
            "",
            "segment-0123456789abcdef-7.tamis/../../x",
            "segment-../../../x-7.tamis",
            "segment-0123456789abcdef-.tamis",
            "segment-0123456789abcdef-7.tamis\\u0000",
            "segment-fedcba9876543210-7.tamis",
            "graph-0123456789abcdef-7.tamis",
            "notes.txt",
        ] {
            let error = written(&members(&entry(file), "")).unwrap_err().to_string();
            assert!(error.contains("not a file that a save writes"), "{file}: {error}");
        }
    }

    #[test]
    fn names_and_manifests_of_others() {
        assert!(is_saved_name("segment-0123456789abcdef-7.tamis", "segment"));
        for file in [
            "segment-mine.tamis",
            "segment-0123456789abcdeg-7.tamis",
            "segment-0123456789abcdef-x.tamis",
            "segments-0123456789abcdef-7.tamis",
            "graph-0123456789abcdef-7.tamis",
            "segment-0123456789abcd\u{e9}-7.tamis",
            "segment",
        ] {
            assert!(!is_saved_name(file, "segment"), "{file}");
        }
        let text = written(&members(&whole(), "")).unwrap();
        assert!(is_manifest(&text) && is_manifest(&text[..20]) && is_manifest(b"{\n\"format\": 1}"));
        for text in ["", "{", "[]", "{\"my\": \"file\"}", "format", "{\"formats\": 5}"] {
            assert!(!is_manifest(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn nothing_that_could_be_read_in_two_ways() {
        for (entry, more) in [
            (format!("{}, \"file\": \"../x\"", whole()), ""),
            (whole(), ", \"segments\": []"),
            (whole(), ", \"hierarchies\": {\"a\": \"dates\", \"\\u0061\": []}"),
        ] {
            let error = written(&members(&entry, more)).unwrap_err().to_string();
            assert!(error.contains("occurs twice"), "{error}");
        }
        for (entry, more) in [
            (whole().replace("[1, 4]", "[4, 1]"), ""),
            (whole().replace("[1, 4]", "[1, 1]"), ""),
            (whole().replace("[1, 4]", "[-1]"), ""),
            (whole().replace("[1, 4]", "[1.0]"), ""),
            (whole().replace("true", "1"), ""),
            (whole(), ", \"shards\": 2"),
            (format!("{}, \"shard\": 2", whole()), ", \"shards\": 2"),
            (format!("{}, \"shard\": 0", whole()), ""),
            (format!("{}, \"bytes\": -1", whole()), ""),
            (format!("{}, \"bytes\": 1e3", whole()), ""),
            (format!("{}, \"attributes\": [1]", whole()), ""),
            (format!("{}}}, {{{}", whole(), whole()), ""),
            (whole(), ", \"ids\": \"float\""),
            (whole(), ", \"xpaths\": {}"),
            (whole(), ", \"version\": \"1\""),
            (whole(), ", \"errors\": {\"count\": 1, \"files\": [\"../errors-1.parquet\"]}"),
            (whole(), ", \"errors\": {\"count\": 1, \"files\": \"errors-1.parquet\"}"),
            (whole(), ", \"errors\": []"),
        ] {
            assert!(written(&members(&entry, more)).is_err(), "{entry} {more}");
        }
        let more = ", \"errors\": {\"count\": 1, \"files\": [\"errors-1a.parquet\"]}";
        assert!(written(&members(&whole(), more)).is_ok());
    }
}
