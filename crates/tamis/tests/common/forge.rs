//! Files that are damaged so that their checksums match: what a reader must survive.
//!
//! Structure-aware: words of columns are replaced by ones that look right elsewhere, sections are cut,
//! stretched, swapped and spliced, and headers, names and manifests are made to fit again. Serves the
//! tests with numbers from a seed, and the fuzz target with numbers from its input.

use std::fs;
use std::path::{Path, PathBuf};

use tamis::index::{Algorithm, MatchScratch, Subscription};
use tamis::matcher::Evaluation;
use tamis::rank::EventWeights;
use tamis::storage::OpenOptions;
use tamis::value::TimeZone;
use tamis::xml::Filter;
use tamis::{Event, Id, Index, Limits, Missing, parse};
use tamis_graph::{Graph, GraphScratch, Ranking, Strategy};
use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 40;
/// What ends a manifest, whatever its checksum is.
const SEAL: usize = 35;

/// Where the numbers come from that decide what is damaged.
pub trait Choices {
    fn next(&mut self) -> u64;

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}

/// A folder that something was saved into: its files by name.
#[derive(Clone)]
pub struct Saved {
    pub manifest: &'static str,
    pub files: Vec<(String, Vec<u8>)>,
}

impl Saved {
    /// What a folder holds.
    pub fn read(folder: &Path, manifest: &'static str) -> Saved {
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "json" || end == "tamis"))
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        Saved { manifest, files }
    }

    /// Writes the files into a folder that is made for it.
    pub fn write(&self, folder: &Path) {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        for (name, content) in &self.files {
            fs::write(folder.join(name), content).unwrap();
        }
    }

    /// The same with damage that the checksums do not show.
    pub fn forge(&self, choices: &mut impl Choices) -> Saved {
        let mut forged = self.clone();
        if choices.below(8) == 0 {
            let manifest = forged.files.iter_mut().find(|(name, _)| name == self.manifest).unwrap();
            forge_manifest(&mut manifest.1, choices);
            return forged;
        }
        let data: Vec<usize> =
            (0..forged.files.len()).filter(|&file| forged.files[file].0.ends_with(".tamis")).collect();
        let file = data[choices.below(data.len())];
        let content = forge_sections(forged.files[file].1.clone(), choices);
        forged.replace_data(file, content);
        forged
    }

    /// The same with other bytes in the place of some that its first data file with them holds.
    #[allow(dead_code, reason = "the fuzz target needs no such damage")]
    pub fn with(&self, some: &[u8], others: &[u8]) -> Saved {
        let mut forged = self.clone();
        let held = |content: &[u8]| content.windows(some.len()).position(|part| part == some);
        let mut files = forged.files.iter().enumerate().filter(|(_, (name, _))| name.ends_with(".tamis"));
        let (file, at) = files.find_map(|(file, (_, content))| Some((file, held(content)?))).unwrap();
        let mut content = forged.files[file].1.clone();
        content[at..at + others.len()].copy_from_slice(others);
        forged.replace_data(file, content);
        forged
    }

    /// Gives a data file another content, with a name and a manifest that fit it.
    fn replace_data(&mut self, file: usize, mut content: Vec<u8>) {
        let name = self.files[file].0.clone();
        let checksum = xxh3_64(content.get(HEADER..).unwrap_or_default());
        write(&mut content, 24, checksum);
        let mut parts = name.split('-');
        let (kind, before) = (parts.next().unwrap(), parts.next().unwrap());
        let renamed = name.replace(before, &format!("{checksum:016x}"));
        assert!(renamed.starts_with(kind));
        self.files[file] = (renamed, content);
        let manifest = self.files.iter_mut().find(|(name, _)| name == self.manifest).unwrap();
        let text = String::from_utf8(manifest.1.clone()).unwrap();
        manifest.1 = text.replace(before, &format!("{checksum:016x}")).into_bytes();
        seal(&mut manifest.1);
    }
}

/// Makes the checksum of a manifest fit what stands before it.
fn seal(text: &mut Vec<u8>) {
    let begin = text.len().saturating_sub(SEAL);
    text.truncate(begin);
    let checksum = xxh3_64(text);
    text.extend(format!(",\n\"checksum\": \"{checksum:016x}\"\n}}\n").into_bytes());
}

fn forge_manifest(text: &mut Vec<u8>, choices: &mut impl Choices) {
    const PIECES: [&str; 12] =
        ["0", "-1", "4294967295", "1e9", "null", "[]", "{}", "\"\"", "true", ",", "\"removed\": [0]", "[[[["];
    for _ in 0..=choices.below(3) {
        let (at, piece) = (choices.below(text.len() - SEAL), PIECES[choices.below(PIECES.len())]);
        match choices.below(3) {
            0 => drop(text.splice(at..at, piece.bytes())),
            1 => drop(text.splice(at..(at + choices.below(12)).min(text.len() - SEAL), piece.bytes())),
            _ => text[at] = b' ' + choices.below(95) as u8,
        }
    }
    seal(text);
}

/// Damages a file of sections, and makes its header fit.
pub fn forge_sections(mut file: Vec<u8>, choices: &mut impl Choices) -> Vec<u8> {
    for _ in 0..=choices.below(3) {
        let count = read(&file, 12, 4) as usize;
        let place = |file: &[u8], section: usize| {
            let at = HEADER + 16 * section;
            (read(file, at, 8) as usize, read(file, at + 8, 8) as usize)
        };
        let section = choices.below(count);
        let (start, length) = place(&file, section);
        let other = place(&file, choices.below(count));
        let at = HEADER + 16 * section;
        match choices.below(12) {
            0..=5 => replace_word(&mut file, start, length, other, choices),
            6 => write(&mut file, at + 8, length.saturating_sub(4 << choices.below(6)) as u64),
            7 => write(&mut file, at + 8, (length + (4 << choices.below(6))) as u64),
            8 => {
                write(&mut file, at, other.0 as u64);
                write(&mut file, at + 8, other.1 as u64);
            }
            9 => {
                // A piece of one section in the place of one of another.
                let piece = 4 * choices.below(length.min(other.1) / 4 + 1);
                let from = other.0 + 4 * choices.below((other.1 - piece.min(other.1)) / 4 + 1);
                let to = start + 4 * choices.below((length - piece.min(length)) / 4 + 1);
                if from + piece <= file.len() && to + piece <= file.len() {
                    file.copy_within(from..from + piece, to);
                }
            }
            10 => write(&mut file, at + 8, 0),
            _ => {
                let end = file.len() - choices.below(file.len() / 4);
                file.truncate(end.max(HEADER + 16 * count));
            }
        }
    }
    let length = file.len() as u64;
    write(&mut file, 16, length);
    let checksum = xxh3_64(&file[HEADER..]);
    write(&mut file, 24, checksum);
    file
}

fn replace_word(
    file: &mut [u8],
    start: usize,
    length: usize,
    other: (usize, usize),
    choices: &mut impl Choices,
) {
    let at = start + 4 * choices.below(length / 4);
    if length < 4 || at + 4 > file.len() {
        return;
    }
    let old = read(file, at, 4) as u32;
    let elsewhere = other.0 + 4 * choices.below(other.1 / 4);
    let new = match choices.below(9) {
        0 => 0,
        1 => u32::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => old ^ 1 << choices.below(32),
        5 => choices.next() as u32,
        6 => (length / 4) as u32,
        7 => old ^ 1 << 31,
        _ => read(file, elsewhere.min(file.len() - 4), 4) as u32,
    };
    file[at..at + 4].copy_from_slice(&new.to_le_bytes());
}

fn read(file: &[u8], at: usize, bytes: usize) -> u64 {
    let mut word = [0; 8];
    if let Some(found) = file.get(at..at + bytes) {
        word[..bytes].copy_from_slice(found);
    }
    u64::from_le_bytes(word)
}

fn write(file: &mut [u8], at: usize, word: u64) {
    if let Some(place) = file.get_mut(at..at + 8) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

const EVENTS: [&str; 6] = [
    "{}",
    r#"{"a": 1, "b": "x", "c": 3, "d": "q1"}"#,
    r#"{"a": [1, 5, 30], "b": ["y", "z3"], "c": 7.5}"#,
    r#"{"c": 1, "d": ["q5", "none"], "b": null}"#,
    r#"{"e": "2026-01-03T00:00:00Z", "f": 1234567890123456789.5, "g": "10.0.0.8", "h": "1.2.3"}"#,
    r#"{"a": true, "b": 3, "c": "a rather long text", "d": 4}"#,
];

fn text(number: usize) -> String {
    let many = || (0..40).map(|k| (number + k).to_string()).collect::<Vec<_>>().join(", ");
    match number % 10 {
        0 => format!("a = {} and b in ('x', 'y', 'z{}')", number % 7, number % 5),
        1 => format!("c between {} and {}", number % 11, number % 11 + 4),
        2 => format!("d like '%{}%' or d starts with 'q{}'", number % 3, number % 4),
        3 => format!("not a = {} and exists(c)", number % 7),
        4 => format!("(a = 1 or b = 'x') and (c > {} or missing(d))", number % 9),
        5 => format!("a in ({})", many()),
        6 => "(a = 1 xor b = 'x') and c != 'a rather long text'".to_owned(),
        7 => format!("(a = 1 xor b = 'x') or c < {}.5", number % 4),
        8 => format!(
            "e > timestamp '2026-01-0{} 00:00:00.000000001Z' or f < 1234567890123456789.0{number}1 or g = ip \
             '10.0.0.{number}' or h >= version '1.{number}.0' or e = date '2026-01-03'",
            1 + number % 9
        ),
        _ => format!("d matches '^q[{}-9]' and c < 2.5 and not (a in ({}))", number % 8, many()),
    }
}

/// An index with every kind of section, saved.
pub fn saved_index(folder: &Path) -> Saved {
    let columns = ["n".into(), "m".into()];
    let (limits, zone) = (Limits::default(), TimeZone::default());
    let index =
        Index::with_metadata_columns(Missing::Unknown, limits, Algorithm::Auto, zone, &columns).unwrap();
    let subscription = |number: usize| {
        let id = if number.is_multiple_of(2) {
            Id::Integer(number as i64)
        } else {
            Id::from(&*format!("s{number}"))
        };
        let mut subscription = Subscription::new(id, parse(&text(number), index.limits()).unwrap());
        subscription.metadata =
            number.is_multiple_of(5).then(|| format!("{{\"n\":{number},\"m\":{}}}", number % 3).into());
        subscription.boost = 1.0 + number as f64;
        subscription
    };
    index.add_many((0..120).map(subscription).collect()).unwrap();
    index.add("few".into(), parse("xpath('//a') and a = 1", index.limits()).unwrap(), None).unwrap();
    index.remove(&4.into());
    index.save(folder).unwrap();
    Saved::read(folder, "index.json")
}

/// A graph with every kind of section, saved.
pub fn saved_graph(folder: &Path) -> Saved {
    let graph = Graph::new(Missing::Unknown, Limits::default());
    for node in 0..40usize {
        let id = |node: usize| Id::Integer(node as i64 % 40);
        let expression = (node % 3 > 0).then(|| parse(&text(node), graph.limits()).unwrap());
        graph.add_node(id(node), expression).unwrap();
        graph.add_edge(id(node), id(node * 7 + 1), None, 0.5).unwrap();
        let expression = parse(&text(node + 5), graph.limits()).unwrap();
        graph.add_edge(id(node), id(node * 3), Some(expression), 1.5).unwrap();
    }
    graph.save(folder).unwrap();
    Saved::read(folder, "graph.json")
}

/// A filter, saved.
pub fn saved_filter(folder: &Path) -> Saved {
    let filter = Filter::new(tamis::xml::Engine::Auto, tamis::xml::Limits::default());
    for number in 0..30i64 {
        filter.add(number.into(), &format!("//a[@x = {number}]/p:b"), &[("p", "urn:p")]).unwrap();
    }
    filter.remove(&3.into());
    filter.save(folder).unwrap();
    Saved::read(folder, "filter.json")
}

/// Opens a folder in every way, and does all that can be done with what opens. Whatever it holds, this
/// ends, and gives answers or errors. Returns whether it opened verified.
pub fn exercise(folder: &Path, manifest: &str) -> bool {
    let open = |options: OpenOptions| match manifest {
        "index.json" => exercise_index(folder, options),
        "graph.json" => exercise_graph(folder, options),
        _ => exercise_filter(folder),
    };
    open(OpenOptions::default().verify(false).copy(true));
    open(OpenOptions::default())
}

fn exercise_index(folder: &Path, options: OpenOptions) -> bool {
    let Ok(index) = Index::open(folder, Limits::default(), Algorithm::Auto, options) else { return false };
    let snapshot = index.snapshot();
    let mut scratch = MatchScratch::default();
    let decoded: Vec<Event> = EVENTS
        .iter()
        .map(|json| {
            let mut event = Event::default();
            event.decode_json(json.as_bytes(), snapshot.attributes(), index.limits()).unwrap();
            event
        })
        .collect();
    for event in &decoded {
        let _ = snapshot.matches(event, &mut scratch, |_| {});
        let _ = snapshot.top(event, 5, &EventWeights::default(), &mut scratch);
    }
    for evaluation in [Evaluation::Blocks, Evaluation::Events] {
        scratch.set_evaluation(evaluation);
        let _ = snapshot.matches_many(&decoded, &mut scratch, |_, _| {});
    }
    for condition in ["n > 30", "n > 30 or m = 1", "n = 15 xor m = 0"] {
        let Ok(condition) = index.condition(condition) else { continue };
        let Ok(selection) = snapshot.select(&condition, None) else { continue };
        let _ = snapshot.matches_selected(&decoded[1], Some(&selection), &mut scratch, |_| {});
    }
    let _ = snapshot.subscriptions().collect::<Result<Vec<_>, _>>();
    let _ = (snapshot.ids().count(), snapshot.expression_stats(), snapshot.stats(), snapshot.get(&6.into()));
    let _ = index.match_json(br#"{"a": 1}"#);
    let _ = index.add(6.into(), parse("a = 2", index.limits()).unwrap(), None);
    index.remove(&8.into());
    index.settle();
    let _ = index.save(&saved_again(folder));
    true
}

fn exercise_graph(folder: &Path, options: OpenOptions) -> bool {
    let Ok(graph) = Graph::open(folder, Limits::default(), options) else { return false };
    let snapshot = graph.snapshot();
    let mut working = GraphScratch::default();
    let ranking = Ranking { most: 5, max_cost: f64::INFINITY, sinks_only: false };
    for json in EVENTS {
        let mut event = Event::default();
        event.decode_json(json.as_bytes(), snapshot.attributes(), graph.limits()).unwrap();
        for source in [0, 3, 39].into_iter().filter_map(|id: i64| snapshot.find(&id.into())) {
            for strategy in Strategy::ALL {
                let _ = snapshot.matches(&event, source, strategy, true, &mut working, |_| {});
            }
            let _ = snapshot.top(&event, source, ranking, &EventWeights::default(), &mut working);
            if let Some(target) = snapshot.find(&5.into()) {
                let _ = snapshot.explain(&event, source, target);
            }
            let _ = (snapshot.edges(source), snapshot.expression_of(source));
        }
    }
    let _ = (snapshot.ids().count(), snapshot.stats());
    let _ = graph.add_edge(1.into(), 2.into(), None, 1.0);
    graph.remove_node(&7.into());
    graph.settle();
    let _ = graph.save(&saved_again(folder));
    true
}

fn exercise_filter(folder: &Path) -> bool {
    let Ok(filter) = Filter::open(folder, None, tamis::xml::Limits::default()) else { return false };
    let _ = filter.match_bytes(b"<a x='1'><b xmlns='urn:p'/></a>");
    let _ = filter.get(&1.into());
    filter.remove(&2.into());
    let _ = filter.save(&saved_again(folder));
    true
}

fn saved_again(folder: &Path) -> PathBuf {
    folder.join("again")
}
