//! How long does filtering take, compared with parsing alone? On one core.
//!
//! The workload *xml* after Diao et al. 2003, 4.2: 123 element names, documents and path queries of
//! at most 6 deep, wildcards and `//` with probability 0.2 each. Documents have about 76
//! elements, and one is about 1 MB. Match counts are compared before times are reported.
//!
//! `cargo bench --bench xml -- 10000 0 1` uses 10,000 filters instead of 100,000, first without
//! value tests and then with one.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use quick_xml::events::Event;
use tamis::xml::{Engine, Filter, FilterSubscription, Input, Limits, XPath};
use tamis_lab::workload::{Workload as _, Xml, XmlParameters};

/// The texts of the workload's first queries.
fn queries(parameters: XmlParameters, count: usize) -> Vec<String> {
    let workload = Xml::new(parameters, count as u64).unwrap_or_else(|error| panic!("{error}"));
    (0..workload.queries()).map(|number| workload.expression_text(number)).collect()
}

/// One document of about 1 MB: the contents of the workload's documents under one root.
fn large(documents: &[String]) -> String {
    const ROOT: &str = "news>";
    let inside = |document: &String| {
        let begin = document.find('>').map_or(0, |end| end + 1);
        document[begin..document.len() - ROOT.len() - 2].to_string()
    };
    let copies = 1_000_000 / documents.iter().map(String::len).sum::<usize>().max(1) + 1;
    format!("<{ROOT}{}</{ROOT}", documents.iter().map(inside).collect::<String>().repeat(copies))
}

fn filter(engine: Engine, queries: &[String]) -> Filter {
    let filter = Filter::new(engine, Limits::default());
    let subscriptions = queries.iter().enumerate().map(|(id, query)| {
        FilterSubscription::new((id as i64).into(), XPath::parse(query, &[], filter.limits()).unwrap())
    });
    filter.add_many(subscriptions.collect()).expect("nobody forks");
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

/// The parser alone, with attributes decoded.
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

/// The number of distinct sequences of names from the root to an element.
fn label_paths(documents: &[String]) -> usize {
    let mut seen = HashSet::new();
    for document in documents {
        let mut path = String::new();
        for tag in document.split('<').skip(1) {
            let closes = tag.starts_with('/');
            if !closes {
                let name = tag.split([' ', '>', '/']).next().unwrap_or("");
                write!(path, "/{name}").unwrap();
                seen.insert(path.clone());
            }
            if closes || tag.contains("/>") {
                path.truncate(path.rfind('/').unwrap_or(0));
            }
        }
    }
    seen.len()
}

fn report(name: &str, micros: f64, parser: f64, matches: usize) {
    println!("{name:<44}{micros:>12.1} us/document{:>9.1} x parser{matches:>12} matches", micros / parser);
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let count = numbers.next().unwrap_or(100_000);
    let mut wanted: Vec<u32> = numbers.map(|number| number as u32).collect();
    if wanted.is_empty() {
        wanted = vec![0, 1, 2];
    }
    let wanted_duplicates = wanted.contains(&0);
    let workload = Xml::new(XmlParameters::default(), 0).unwrap_or_else(|error| panic!("{error}"));
    let small: Vec<String> = (0..200).map(|number| workload.event(number)).collect();
    let large = vec![large(&small)];
    let elements: usize =
        small.iter().map(|document| document.matches("</").count() + document.matches("/>").count()).sum();
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
        println!("\n{tests} value tests per filter, all filters distinct");
        let queries = queries(XmlParameters { predicates: tests, ..Default::default() }, count);
        let auto = filter(Engine::Auto, &queries);
        let (micros, expected) = measure(&auto, &small, 1);
        report("auto, documents seen for the first time", micros, parser, expected);
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
    let auto =
        filter(Engine::Auto, &queries(XmlParameters { distinct: false, ..Default::default() }, 5 * count));
    measure(&auto, &small, 1);
    let (micros, matches) = measure(&auto, &small, 5);
    report("auto, warm", micros, parser, matches);
    println!("{:<44}{:>12.2} ns/match", "", micros * 200.0 * 1000.0 / matches as f64);
}
