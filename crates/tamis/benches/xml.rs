//! How long does filtering take, against the parser alone? One core.
//!
//! Workload after Diao et al. 2003, 4.2: a random document type of 123 element names, documents and
//! path queries of at most 6 levels, wildcards and `//` with probability 0.2 each. Documents of about
//! 77 elements, and one of about 1 MB. Counts of matches are compared before times are reported.
//!
//! `cargo bench --bench xml -- 10000 0 1` takes 10,000 filters instead of 100,000, first without tests
//! of values and then with one.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quick_xml::events::Event;
use tamis::xml::{Engine, Filter, FilterSubscription, Input, Limits, XPath};

const NAMES: usize = 123;
const DEPTH: usize = 6;

/// A small generator of random numbers, the same everywhere (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn chance(&mut self, probability: f64) -> bool {
        (self.next() >> 11) as f64 / ((1_u64 << 53) as f64) < probability
    }
}

/// Which elements an element may hold, and which attributes with how many values.
struct Dtd {
    children: Vec<Vec<usize>>,
    attributes: Vec<Vec<(usize, usize)>>,
}

impl Dtd {
    fn new(random: &mut Random) -> Dtd {
        // The first ten elements hold most of a document's structure, as in news documents.
        let children = (0..NAMES)
            .map(|element| {
                let count = if element < 10 { 4 + random.below(5) } else { random.below(6) };
                (0..count).map(|_| 1 + random.below(NAMES - 1)).collect()
            })
            .collect();
        let attributes = (0..NAMES)
            .map(|_| (0..random.below(6)).map(|_| (random.below(40), 1 + random.below(20))).collect())
            .collect();
        Dtd { children, attributes }
    }

    fn document(&self, random: &mut Random, elements: usize) -> String {
        let mut text = String::new();
        let mut left = elements;
        self.element(random, 0, 1, &mut left, &mut text);
        text
    }

    fn element(
        &self,
        random: &mut Random,
        element: usize,
        depth: usize,
        left: &mut usize,
        text: &mut String,
    ) {
        *left = left.saturating_sub(1);
        write!(text, "<n{element}").unwrap();
        let mut used = HashSet::new();
        for &(attribute, values) in &self.attributes[element] {
            if random.chance(0.5) && used.insert(attribute) {
                write!(text, " a{attribute}=\"{}\"", 1 + random.below(values)).unwrap();
            }
        }
        text.push('>');
        let allowed = &self.children[element];
        if depth < DEPTH && !allowed.is_empty() {
            let wide = if element == 0 { *left } else { 1 + random.below(7) };
            for _ in 0..wide {
                if *left == 0 {
                    break;
                }
                // Some children are far more common than others.
                let child = allowed[random.below(allowed.len()).min(random.below(allowed.len()))];
                self.element(random, child, depth + 1, left, text);
            }
        } else {
            write!(text, "{}", 1 + random.below(20)).unwrap();
        }
        write!(text, "</n{element}>").unwrap();
    }

    fn query(&self, random: &mut Random, tests: usize) -> String {
        let mut steps = Vec::new();
        let mut element = 0;
        let length = 2 + random.below(DEPTH - 1);
        while steps.len() < length {
            steps.push(element);
            let allowed = &self.children[element];
            if allowed.is_empty() {
                break;
            }
            element = allowed[random.below(allowed.len())];
        }
        let tested = random.below(steps.len());
        let mut text = String::new();
        for (at, &step) in steps.iter().enumerate() {
            text.push_str(if random.chance(0.2) { "//" } else { "/" });
            if random.chance(0.2) {
                text.push('*');
            } else {
                write!(text, "n{step}").unwrap();
            }
            if tests > 0 && at == tested {
                for _ in 0..tests {
                    let attributes = &self.attributes[step];
                    match attributes.get(random.below(attributes.len().max(1))) {
                        Some((name, values)) => {
                            write!(text, "[@a{name} = {}]", 1 + random.below(*values)).unwrap()
                        }
                        None => write!(text, "[. = {}]", 1 + random.below(20)).unwrap(),
                    }
                }
            }
        }
        text
    }

    fn queries(&self, random: &mut Random, count: usize, tests: usize, distinct: bool) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut queries = Vec::with_capacity(count);
        let mut tried = 0;
        while queries.len() < count && tried < 100 * count {
            tried += 1;
            let query = self.query(random, tests);
            if !distinct || seen.insert(query.clone()) {
                queries.push(query);
            }
        }
        queries
    }
}

fn filter(engine: Engine, queries: &[String]) -> Filter {
    let filter = Filter::new(engine, Limits::default());
    let subscriptions = queries.iter().enumerate().map(|(id, query)| {
        FilterSubscription::new((id as i64).into(), XPath::parse(query, &[], filter.limits()).unwrap())
    });
    filter.add_many(subscriptions.collect());
    filter
}

/// Microseconds per document, and the matches of one pass.
fn measure(filter: &Filter, documents: &[String], passes: usize) -> (f64, usize) {
    let snapshot = filter.snapshot();
    let mut matches = 0;
    let start = Instant::now();
    for _ in 0..passes {
        matches = 0;
        for document in documents {
            filter.matches(&snapshot, Input::Bytes(document.as_bytes()), |_| matches += 1).unwrap();
        }
    }
    (start.elapsed().as_secs_f64() * 1e6 / (passes * documents.len()) as f64, matches)
}

/// The parser alone, attributes decoded.
fn parse(documents: &[String], passes: usize) -> f64 {
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..passes {
        for document in documents {
            let mut reader = quick_xml::Reader::from_str(document);
            loop {
                match reader.read_event().unwrap() {
                    Event::Start(tag) | Event::Empty(tag) => {
                        for attribute in tag.attributes() {
                            bytes += attribute
                                .unwrap()
                                .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                                .unwrap()
                                .len();
                        }
                    }
                    Event::Text(text) => bytes += text.len(),
                    Event::Eof => break,
                    _ => {}
                }
            }
        }
    }
    black_box(bytes);
    start.elapsed().as_secs_f64() * 1e6 / (passes * documents.len()) as f64
}

/// How many different sequences of names lead to elements.
fn label_paths(documents: &[String]) -> usize {
    let mut seen = HashSet::new();
    for document in documents {
        let mut path = String::new();
        for tag in document.split('<').skip(1) {
            let name = tag.split([' ', '>']).next().unwrap_or("");
            if name.starts_with('/') {
                path.truncate(path.rfind('/').unwrap_or(0));
            } else {
                write!(path, "/{name}").unwrap();
                seen.insert(path.clone());
            }
        }
    }
    seen.len()
}

/// Writes filters or documents, one per line, for others to be measured on.
fn write(path: &Path, lines: &[String]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, lines.join("\n")).unwrap();
}

fn report(name: &str, micros: f64, parser: f64, matches: usize) {
    println!("{name:<44}{micros:>12.1} us/document{:>9.1} x parser{matches:>12} matches", micros / parser);
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let count = numbers.next().unwrap_or(100_000);
    let mut wanted: Vec<usize> = numbers.collect();
    if wanted.is_empty() {
        wanted = vec![0, 1, 2];
    }
    let wanted_duplicates = wanted.contains(&0);
    let mut random = Random(7);
    let dtd = Dtd::new(&mut random);
    let small: Vec<String> = (0..200)
        .map(|_| {
            let size = 40 + random.below(75);
            dtd.document(&mut random, size)
        })
        .collect();
    let large = vec![dtd.document(&mut random, 46_000)];
    let elements: usize = small.iter().map(|document| document.matches("</").count()).sum();
    println!("{count} filters");
    println!("200 documents of {} elements, {} label paths in all", elements / 200, label_paths(&small));
    println!("one document of {} kB, {} label paths\n", large[0].len() / 1000, label_paths(&large));

    let parser = parse(&small, 20);
    report("parser alone, attributes decoded", parser, parser, 0);
    let parser_large = parse(&large, 5);
    report("  the same, large document", parser_large, parser_large, 0);
    let reading = filter(Engine::Auto, &[]);
    report("reading alone", measure(&reading, &small, 20).0, parser, 0);

    let engines: Vec<Engine> = Engine::names().into_iter().filter_map(Engine::find).collect();
    for tests in wanted {
        println!("\n{tests} tests of values per filter, all filters distinct");
        let queries = dtd.queries(&mut random, count, tests, true);
        if queries.len() < count {
            println!("  only {} distinct filters exist", queries.len());
        }
        if let Some(folder) = std::env::var_os("TAMIS_XML_WORKLOAD").map(PathBuf::from) {
            write(&folder.join(format!("{tests}-filters.txt")), &queries);
            write(&folder.join("documents.txt"), &small);
        }
        let auto = filter(Engine::Auto, &queries);
        let (micros, expected) = measure(&auto, &small, 1);
        report("auto, documents met for the first time", micros, parser, expected);
        let (micros, matches) = measure(&auto, &small, 10);
        assert_eq!(matches, expected);
        report("auto, warm", micros, parser, matches);
        let (micros, _) = measure(&auto, &large, 1);
        report("auto, large document, first time", micros, parser_large, 0);
        let (micros, matches) = measure(&auto, &large, 5);
        report("auto, large document, warm", micros, parser_large, matches);
        for &engine in engines.iter().filter(|engine| !matches!(engine, Engine::Auto | Engine::Scan)) {
            let other = filter(engine, &queries);
            let (micros, matches) = measure(&other, &small[..20], 1);
            let few = measure(&auto, &small[..20], 1).1;
            assert_eq!(matches, few, "{}", engine.name());
            report(engine.name(), micros, parser, matches * 10);
        }
        if count <= 20_000 {
            let scan = filter(Engine::Scan, &queries);
            let (micros, matches) = measure(&scan, &small[..5], 1);
            assert_eq!(matches, measure(&auto, &small[..5], 1).1);
            report("scan", micros, parser, matches * 40);
        }
    }

    if !wanted_duplicates {
        return;
    }
    println!("\n{} filters with duplicates", 5 * count);
    let auto = filter(Engine::Auto, &dtd.queries(&mut random, 5 * count, 0, false));
    measure(&auto, &small, 1);
    let (micros, matches) = measure(&auto, &small, 5);
    report("auto, warm", micros, parser, matches);
    println!("{:<44}{:>12.2} ns/match", "", micros * 200.0 * 1000.0 / matches as f64);
}
