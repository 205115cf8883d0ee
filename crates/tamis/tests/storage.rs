//! What is saved is what is opened, whatever happens in between.

mod common;

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use tamis::index::{Algorithm, Subscription};
use tamis::storage::{Manifest, ManifestKind, OpenOptions};
use tamis::{Error, Expression, Id, Index, Limits, Missing, parse};

/// A folder of its own, removed with what is in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tamis-storage-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Folder(std::env::temp_dir().join(name))
    }

    fn segments(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path());
        let mut segments: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "tamis")).collect();
        segments.sort();
        segments
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(folder: &Path, verify: bool) -> Result<Index, Error> {
    Index::open(folder, Limits::default(), Algorithm::Auto, OpenOptions::default().verify(verify))
}

/// Expressions of every kind that a compiled segment has a section for.
fn varied(count: i64) -> Vec<Subscription> {
    let subscription = |number: i64| {
        let text = match number % 8 {
            0 => format!("a = {} and b in ('x', 'y', 'z{}')", number % 7, number % 5),
            1 => format!("c between {} and {}", number % 11, number % 11 + 4),
            2 => format!("d like '%{}%' or d starts with 'q{}'", number % 3, number % 4),
            3 => format!("not a = {} and exists(c)", number % 7),
            4 => format!("(a = 1 or b = 'x') and (c > {} or missing(d))", number % 9),
            5 => {
                format!("a in ({})", (0..40).map(|k| (number + k).to_string()).collect::<Vec<_>>().join(", "))
            }
            6 => "a = 1 xor b = 'x'".to_owned(),
            _ => format!("d matches '^q[{}-9]' and c < 2.5", number % 8),
        };
        let id = if number % 2 == 0 { Id::Integer(number) } else { Id::from(&*format!("s{number}")) };
        let metadata = (number % 5 == 0).then(|| format!("{{\"n\":{number}}}").into());
        let expression = parse(&text, &Limits::default()).unwrap();
        Subscription { metadata, ..Subscription::new(id, expression) }
    };
    (0..count).map(subscription).collect()
}

const EVENTS: [&str; 6] = [
    "{}",
    r#"{"a": 1, "b": "x", "c": 3, "d": "q1"}"#,
    r#"{"a": [1, 5, 30], "b": ["y", "z3"], "c": 7.5}"#,
    r#"{"a": 12, "d": "abc2"}"#,
    r#"{"c": 1, "d": ["q5", "none"], "b": null}"#,
    r#"{"a": true, "b": 3, "c": "text", "d": 4}"#,
];

fn answers(index: &Index) -> Vec<Vec<Id>> {
    EVENTS.iter().map(|event| index.match_json(event.as_bytes()).unwrap()).collect()
}

#[test]
fn an_opened_index_is_the_saved_one_and_goes_on() {
    let folder = Folder::new();
    let index = Index::new(Missing::Unknown, Limits::default());
    index.add_many(varied(500)).unwrap();
    for id in (0..500).step_by(6) {
        assert!(index.remove(&id.into()));
    }
    index.save(&folder.0).unwrap();
    for verify in [true, false] {
        let opened = open(&folder.0, verify).unwrap();
        assert_eq!(answers(&opened), answers(&index));
        assert_eq!(opened.snapshot().len(), index.snapshot().len());
        let all = |index: &Index| index.snapshot().subscriptions().map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(all(&opened), all(&index));
    }

    let opened = open(&folder.0, true).unwrap();
    let before = folder.segments();
    opened.add("new".into(), parse("a = 1", &Limits::default()).unwrap(), None).unwrap();
    assert!(opened.remove(&2.into()));
    assert!(opened.add(4.into(), Expression::constant(true), None).is_ok());
    opened.save(&folder.0).unwrap();
    let after = folder.segments();
    assert!(after.contains(&before[0]), "what was there is not written again");
    assert_eq!(answers(&open(&folder.0, true).unwrap()), answers(&opened));

    let elsewhere = Folder::new();
    opened.save(&elsewhere.0).unwrap();
    drop(folder);
    assert_eq!(
        answers(&opened),
        answers(&open(&elsewhere.0, true).unwrap()),
        "a mapped file outlives its name"
    );
}

#[test]
fn saving_removes_what_is_no_longer_named() {
    let folder = Folder::new();
    let index = Index::new(Missing::False, Limits::default());
    for round in 0..20 {
        index.add_many(varied(100 + round)).unwrap();
        index.settle();
        index.save(&folder.0).unwrap();
    }
    assert!(folder.segments().len() <= index.snapshot().stats().segments);
    let opened = open(&folder.0, true).unwrap();
    assert_eq!(opened.missing(), Missing::False);
    assert_eq!(answers(&opened), answers(&index));
}

fn saved(count: i64) -> Folder {
    let folder = Folder::new();
    let index = Index::new(Missing::Unknown, Limits::default());
    index.add_many(varied(count)).unwrap();
    index.save(&folder.0).unwrap();
    folder
}

#[test]
fn a_flipped_byte_is_an_error_that_names_the_file() {
    let folder = saved(200);
    let path = folder.segments().remove(0);
    let bytes = std::fs::read(&path).unwrap();
    let expected = answers(&open(&folder.0, true).unwrap());
    let mut state = 7u64;
    for round in 0..400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let position = if round < 60 { round } else { (state >> 33) as usize % bytes.len() };
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (state >> 20 & 7);
        // A new file in its place: what is mapped is never changed.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &damaged).unwrap();
        match open(&folder.0, true) {
            Err(Error::Storage { path: named, .. }) => {
                assert_eq!(Path::new(&named), path.canonicalize().unwrap())
            }
            other => panic!("byte {position}: {other:?}"),
        }
        // Without verification, an answer or an error, never a crash.
        if let Ok(index) = open(&folder.0, false) {
            for event in EVENTS {
                let _ = index.match_json(event.as_bytes());
            }
            let _ = index.snapshot().subscriptions().collect::<Result<Vec<_>, _>>();
        }
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(answers(&open(&folder.0, true).unwrap()), expected);
}

#[test]
fn torn_missing_and_foreign_files_are_errors() {
    let reason = |folder: &Path| match open(folder, true) {
        Err(Error::Storage { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let folder = saved(100);
    let path = folder.segments().remove(0);
    let bytes = std::fs::read(&path).unwrap();
    for length in [0, 7, 39, 100, bytes.len() - 1] {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(!reason(&folder.0).is_empty(), "{length} bytes");
        assert!(open(&folder.0, false).is_err(), "{length} bytes, not verified");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(reason(&folder.0).contains("No such file"), "{}", reason(&folder.0));

    // The file of another index under the name.
    let other = saved(150);
    std::fs::copy(&other.segments()[0], &path).unwrap();
    assert!(reason(&folder.0).contains("manifest"), "{}", reason(&folder.0));

    let manifest = folder.0.join("index.json");
    for text in [
        "",
        "{}",
        "[]",
        "not JSON",
        "{\"format\": 5}",
        "{\"format\": 5, \"missing\": \"unknown\", \"segments\": []}",
        "{\"format\": 5, \"missing\": \"unknown\", \"hierarchies\": {\"a\": 3}, \"segments\": []}",
        "{\"format\": 5, \"missing\": \"perhaps\", \"hierarchies\": {}, \"segments\": []}",
        "{\"format\": 5, \"missing\": \"unknown\", \"hierarchies\": {}, \"segments\": [3]}",
    ] {
        std::fs::write(&manifest, text).unwrap();
        assert!(reason(&folder.0).contains("manifest"), "{text}: {}", reason(&folder.0));
        let sealed = Manifest::write(&manifest, text, ManifestKind::Index).unwrap_or_default();
        std::fs::write(&manifest, sealed).unwrap();
        assert!(reason(&folder.0).contains("manifest"), "{text}: {}", reason(&folder.0));
    }
    for format in [3, 99] {
        std::fs::write(&manifest, format!("{{\"format\": {format}}}")).unwrap();
        assert!(reason(&folder.0).contains(&format!("format {format}")));
    }
    std::fs::remove_file(&manifest).unwrap();
    assert!(reason(&folder.0).contains("index.json is missing"));
    assert!(reason(Path::new("/nowhere/at/all")).contains("index.json is missing"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn random_indexes_survive(
        expressions in vec(common::expression(), 0..60),
        removed in vec(any::<prop::sample::Index>(), 0..10),
        events in vec(common::event(), 1..6),
        weak in any::<bool>(),
    ) {
        let missing = if weak { Missing::False } else { Missing::Unknown };
        let folder = Folder::new();
        let index = Index::with_algorithm(missing, Limits::default(), Algorithm::Compiled);
        let subscriptions = expressions.iter().zip(0..).map(|(expression, id): (_, i64)| {
            Subscription::new(id, expression.clone())
        });
        index.add_many(subscriptions.collect()).unwrap();
        for position in removed {
            if !expressions.is_empty() {
                index.remove(&(position.index(expressions.len()) as i64).into());
            }
        }
        index.save(&folder.0).unwrap();
        let opened = Index::open(&folder.0, Limits::default(), Algorithm::Scan, OpenOptions::default().verify(false)).unwrap();
        for event in events {
            prop_assert_eq!(opened.match_json(event.as_bytes()).unwrap(), index.match_json(event.as_bytes()).unwrap());
        }
    }
}

#[test]
fn versions_and_shards_open() {
    let folder = Folder::new();
    let parts: Vec<Folder> = (0..2).map(|_| Folder::new()).collect();
    let (mut entries, mut saved) = (Vec::new(), serde_json::Value::Null);
    std::fs::create_dir_all(&folder.0).unwrap();
    for (shard, part) in parts.iter().enumerate() {
        let index = Index::new(Missing::Unknown, Limits::default());
        let id = shard as i64;
        index.add(id.into(), parse("a = 1", index.limits()).unwrap(), None).unwrap();
        index.save(&part.0).unwrap();
        let text = std::fs::read_to_string(part.0.join("index.json")).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut entry = manifest["segments"][0].take();
        let file = entry["file"].as_str().unwrap().to_owned();
        std::fs::copy(part.0.join(&file), folder.0.join(&file)).unwrap();
        entry["shard"] = shard.into();
        entries.push(entry);
        saved = manifest;
    }
    let write = |name: &str, segments: &[serde_json::Value]| {
        let mut manifest = saved.clone();
        manifest["shards"] = 2.into();
        manifest["segments"] = segments.into();
        manifest.as_object_mut().unwrap().remove("checksum");
        let path = folder.0.join(name);
        let sealed = Manifest::write(&path, &manifest.to_string(), ManifestKind::Index).unwrap();
        std::fs::write(path, sealed).unwrap();
    };
    write("index-9.json", &entries[..1]);
    write("index-10.json", &entries);
    let ids = |index: &Index| index.match_json(br#"{"a": 1}"#).unwrap();
    assert_eq!(ids(&open(&folder.0, true).unwrap()), [0.into(), 1.into()]);
    assert_eq!(ids(&open(&folder.0.join("index-9.json"), true).unwrap()), [0.into()]);
    let shard = |number| {
        Index::open_shard(&folder.0, number, Limits::default(), Algorithm::Auto, OpenOptions::default())
    };
    assert_eq!(ids(&shard(1).unwrap()), [1.into()]);
    assert!(shard(2).unwrap_err().to_string().contains("no shard 2, but 2 shards"));
    let whole = open(&folder.0, true).unwrap();
    assert!(whole.save(&folder.0).unwrap_err().to_string().contains("versions"));
    let alone = Index::open_shard(&parts[0].0, 0, Limits::default(), Algorithm::Auto, OpenOptions::default());
    assert!(alone.unwrap_err().to_string().contains("has no shards"));
}

#[test]
fn an_opened_index_is_merged_only_when_it_changes() {
    let folder = Folder::new();
    let index = Index::new(Missing::Unknown, Limits::default());
    for part in 0..7 {
        let subscriptions = (0..700).map(|number| {
            let expression = parse(&format!("a = {number}"), index.limits()).unwrap();
            Subscription::new(part * 700 + number, expression)
        });
        index.add_many(subscriptions.collect()).unwrap();
    }
    index.save(&folder.0).unwrap();
    let opened = open(&folder.0, true).unwrap();
    let segments = opened.snapshot().stats().segments;
    assert_eq!(segments, 7);
    for number in 0..300 {
        opened.match_json(format!(r#"{{"a": {number}}}"#).as_bytes()).unwrap();
    }
    opened.settle();
    assert_eq!(opened.snapshot().stats().segments, segments);
    let more = (10_000..10_700).map(|id| Subscription::new(id, parse("a = 1", opened.limits()).unwrap()));
    opened.add_many(more.collect()).unwrap();
    opened.settle();
    assert!(opened.snapshot().stats().segments < segments);
}
