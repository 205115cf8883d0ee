//! How is a filter stored on disk?
//!
//! Like an index: a folder of immutable, checksummed files and one manifest, `filter.json`, that is
//! replaced atomically; see `folder`. A file contains the ids and expressions of one segment.
//! Automata are not stored. They are compiled again when a filter is opened, which takes about as
//! long as adding the filters did.

use std::path::Path;
use std::sync::Arc;

use super::engine::Engine;
use super::filter::{Filter, OpenedSegment};
use super::limits::Limits;
use super::snapshot::{FilterSegment, FilterSubscription};
use super::xpath::{Variable, XPath};
use crate::column::Column;
use crate::error::Result;
use crate::folder::manifest::{self, FileEntry, ManifestKind};
use crate::folder::{Folder, open_manifest};
use crate::id::IdRef;
use crate::sections::{OpenOptions, SectionReader, Sections};
use crate::strings::Strings;

/// The prefix of file names.
const FILTERS: &str = "filters";

impl Filter {
    /// Saves the current state of the filter into a folder, which is created if it does not exist.
    /// Files that are already in the folder are not written again.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let snapshot = self.snapshot();
        let folder = Folder::lock(folder)?;
        folder.refuse_foreign(ManifestKind::Filter)?;
        let mut entries = Vec::new();
        for segment in &snapshot.segments {
            let mut entry = save_segment(segment, &folder)?;
            let live =
                segment.subscriptions.iter().map(|subscription| subscription.is_live(snapshot.version));
            entry.removed = live.zip(0..).filter(|(live, _)| !live).map(|(_, position)| position).collect();
            entries.push(entry);
        }
        let lists: [(&str, &[FileEntry]); 1] = [("filters", &entries)];
        let text = manifest::write(ManifestKind::Filter, &[("engine", self.engine().name())], &[], &lists);
        folder.publish(ManifestKind::Filter, &text, &[FILTERS], &manifest::files(&lists))
    }

    /// Opens a saved filter, with the saved engine unless another is given. Reads and verifies
    /// every byte; no file stays mapped.
    pub fn open(folder: &Path, engine: Option<Engine>, limits: Limits) -> Result<Filter> {
        let options = OpenOptions::default().copy(true);
        open_manifest(folder, ManifestKind::Filter, |folder, manifest| {
            let saved = Engine::find(manifest.setting("engine")?);
            let saved = saved.ok_or_else(|| manifest.damaged("it names an engine that is not known"))?;
            let mut segments = Vec::new();
            for entry in manifest.entries("filters")? {
                segments.push(open_segment(&folder.join(&entry.file), &entry, options)?);
            }
            Filter::from_segments(engine.unwrap_or(saved), limits.clone(), segments)
        })
    }
}

fn save_segment(segment: &FilterSegment, folder: &Folder) -> Result<FileEntry> {
    if let Some(entry) = folder.entry(segment.file()) {
        return Ok(entry);
    }
    let subscriptions = &segment.subscriptions;
    let ids: Strings = subscriptions.iter().map(|subscription| subscription.id().as_ref().encode()).collect();
    let texts: Strings = subscriptions.iter().map(|subscription| subscription.xpath().text()).collect();
    let namespaces = || subscriptions.iter().map(|subscription| subscription.xpath().namespaces());
    let counts: Column<u32> = namespaces().map(|namespaces| namespaces.len() as u32).collect();
    let pairs = namespaces().flatten().flat_map(|(prefix, name)| [prefix, name]);
    let pairs: Strings = pairs.map(|text| text.as_bytes()).collect();
    let variables = || subscriptions.iter().map(|subscription| subscription.xpath().variables());
    let variable_counts: Column<u32> = variables().map(|variables| variables.len() as u32).collect();
    let variables = variables().flatten().flat_map(|(name, value)| [name.to_string(), encode(value)]);
    let variables: Strings = variables.collect();
    let mut sections = Sections::default();
    ids.write(&mut sections);
    texts.write(&mut sections);
    sections.push(&counts);
    pairs.write(&mut sections);
    sections.push(&variable_counts);
    variables.write(&mut sections);
    let (file, checksum) = folder.write_sections(FILTERS, subscriptions.len(), &sections)?;
    segment.set_file(folder.path().join(&file), checksum.clone());
    Ok(FileEntry { file, checksum, ..FileEntry::default() })
}

fn open_segment(path: &Path, entry: &FileEntry, options: OpenOptions) -> Result<OpenedSegment> {
    let mut reader = SectionReader::open(path, &entry.checksum, options)?;
    let (ids, texts) = (Strings::read(&mut reader)?, Strings::read(&mut reader)?);
    let counts: Column<u32> = reader.next()?;
    let pairs = Strings::read(&mut reader)?;
    let variable_counts: Column<u32> = reader.next()?;
    let variables = Strings::read(&mut reader)?;
    let damaged = || reader.damaged("the filters are incomplete");
    let removed: std::collections::HashSet<u32> = entry.removed.iter().copied().collect();
    if entry.removed.last().is_some_and(|&last| last as usize >= ids.len()) {
        return Err(reader.damaged("the manifest removes a filter that the file does not have"));
    }
    let mut subscriptions = Vec::new();
    let (mut next, mut next_variable) = (0, 0);
    for position in 0..ids.len() {
        let id = ids.bytes_of(position).and_then(IdRef::decode).ok_or_else(damaged)?.to_id();
        let text = texts.get(position).ok_or_else(damaged)?;
        let count = *counts.get(position).ok_or_else(damaged)?;
        let mut namespaces = Vec::new();
        for _ in 0..count {
            let pair = pairs.get(next).zip(pairs.get(next + 1));
            namespaces.push(pair.ok_or_else(damaged)?);
            next += 2;
        }
        let mut values = Vec::new();
        for _ in 0..*variable_counts.get(position).ok_or_else(damaged)? {
            let pair = variables.get(next_variable).zip(variables.get(next_variable + 1));
            let (name, value) = pair.ok_or_else(damaged)?;
            values.push((name, decode(value).ok_or_else(damaged)?));
            next_variable += 2;
        }
        if !removed.contains(&(position as u32)) {
            // It was checked against the limits when it was added.
            let xpath = XPath::parse_with(text, &namespaces, &values, &Limits::none());
            let xpath = xpath.map_err(|_| damaged())?;
            subscriptions.push(Arc::new(FilterSubscription::new(id, xpath)));
        }
    }
    let whole = removed.is_empty().then(|| (path.to_owned(), entry.checksum.clone()));
    Ok((subscriptions, whole))
}

/// The text form of a variable's value: a letter for its type, then the value.
fn encode(value: &Variable) -> String {
    match value {
        Variable::String(text) => format!("s{text}"),
        Variable::Number(number) => format!("n{:016x}", number.to_bits()),
        Variable::Boolean(boolean) => format!("b{boolean}"),
    }
}

/// Parses the text form of a variable's value.
fn decode(text: &str) -> Option<Variable> {
    let value = text.get(1..)?;
    Some(match text.as_bytes()[0] {
        b's' => Variable::String(value.into()),
        b'n' => Variable::Number(f64::from_bits(u64::from_str_radix(value, 16).ok()?)),
        b'b' => Variable::Boolean(value.parse().ok()?),
        _ => return None,
    })
}
