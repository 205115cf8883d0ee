//! How does a graph live on disk?
//!
//! A folder with one immutable file, the compiled graph, and a manifest, `graph.json`, that names it;
//! see `folder`. What was changed since the graph was compiled is compiled before it is saved.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiter::JsonValue;

use super::Graph;
use super::segment::Segment;
use super::snapshot::damaged;
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::folder::{Folder, open_manifest};
use crate::limits::Limits;
use crate::sections::{SectionReader, Sections};
use crate::truth::Missing;
use crate::value::TimeZone;

const MANIFEST: &str = "graph.json";
/// What the name of the file begins with.
const SEGMENT: &str = "graph";
const FORMAT: i64 = 2;

impl Graph {
    /// Saves the graph as it is now into a folder, which is made if it is not there.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let mut snapshot = self.shared.load();
        while !snapshot.tail.is_empty() {
            self.settle();
            if self.shared.damaged.load(Ordering::Acquire) {
                self.shared.verify()?;
                return Err(damaged());
            }
            snapshot = self.shared.load();
        }
        if !snapshot.segment.is_trusted() {
            // A copy would give what is damaged a checksum of its own.
            self.shared.verify()?;
        }
        let folder = Folder::lock(folder)?;
        let mut sections = Sections::default();
        snapshot.segment.write(&mut sections);
        let (file, checksum) = folder.write_sections(SEGMENT, snapshot.len(), &sections)?;
        let missing = if self.missing() == Missing::False { "false" } else { "unknown" };
        let manifest = format!(
            "{{\"format\": {FORMAT}, \"missing\": \"{missing}\", \"time_zone\": \"{}\", \"file\": \"{file}\", \
             \"checksum\": \"{checksum}\"}}\n",
            snapshot.attributes.time_zone().name()
        );
        folder.publish(MANIFEST, &manifest, &[SEGMENT], &[&file])
    }

    /// Opens a saved graph. With `verify`, every byte is read and checked; without, the file is only
    /// mapped, and damage is noticed when it is met. The path is a folder, or its manifest.
    pub fn open(path: &Path, limits: Limits, verify: bool) -> Result<Graph> {
        open_manifest(path, MANIFEST, "this is no graph: it has no graph.json", |path, text| {
            let Manifest { missing, zone, file, checksum } = read_manifest(path, text)?;
            let path = path.with_file_name(file);
            let mut reader = SectionReader::open(&path, verify)?;
            if format!("{:016x}", reader.checksum()) != checksum {
                return Err(Error::storage(&path, "this is not the file that the manifest names"));
            }
            let attributes = Arc::new(Attributes::new(missing, &limits, zone));
            let segment = Segment::read(&mut reader, &attributes, missing, verify)?;
            Ok(Graph::from_segment(segment, attributes, missing, limits.clone(), Some(path)))
        })
    }
}

struct Manifest {
    missing: Missing,
    zone: TimeZone,
    file: String,
    checksum: String,
}

fn read_manifest(path: &Path, text: &[u8]) -> Result<Manifest> {
    let damaged = || Error::storage(path, "this is no manifest of a graph, or it is damaged");
    let Ok(JsonValue::Object(members)) = JsonValue::parse(text, false) else { return Err(damaged()) };
    let member = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let text = |key: &str| match member(key) {
        Some(JsonValue::Str(text)) => Ok(text.to_string()),
        _ => Err(damaged()),
    };
    match member("format") {
        Some(JsonValue::Int(FORMAT)) => {}
        Some(JsonValue::Int(other)) => {
            let message =
                format!("the graph has format {other}, this version of Tamis reads format {FORMAT}");
            return Err(Error::storage(path, message));
        }
        _ => return Err(damaged()),
    }
    let missing = match text("missing")?.as_str() {
        "unknown" => Missing::Unknown,
        "false" => Missing::False,
        _ => return Err(damaged()),
    };
    let zone = TimeZone::named(&text("time_zone")?).map_err(|error| Error::storage(path, error))?;
    let file = text("file")?;
    // A manifest names a file beside it, and nothing elsewhere.
    if file.contains(['/', '\\']) {
        return Err(damaged());
    }
    Ok(Manifest { missing, zone, file, checksum: text("checksum")? })
}
