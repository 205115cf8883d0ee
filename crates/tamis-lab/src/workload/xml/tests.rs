use tamis::xml::{Document, Limits, XPath};

use super::super::statistics::{Figure, MATCH_PROBABILITY};
use super::*;

fn workload(given: XmlParameters, queries: u64) -> Xml {
    Xml::new(given, queries).unwrap()
}

fn figure(figures: &[Figure], name: &str) -> f64 {
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name}")).value
}

fn assert_as_requested(workload: &Xml) {
    let measured = XmlStatistics::measure(workload, 0..workload.queries(), 0..3000).figures();
    for Figure { name, value } in workload.requested() {
        assert_ne!(name, MATCH_PROBABILITY);
        let found = figure(&measured, name);
        let near = if value == 0.0 { found == 0.0 } else { (found / value - 1.0).abs() < 0.05 };
        assert!(near, "{name}: {found}, not {value}");
    }
}

#[test]
fn the_schemas_have_the_sizes_of_table_1() {
    for (name, elements, attributes, recursive) in
        [("news", 123, 510, 26), ("auction", 77, 16, 5), ("bibliography", 36, 14, 2)]
    {
        let xml = workload(XmlParameters { schema: name.into(), ..Default::default() }, 10);
        let schema = &xml.schema;
        assert_eq!((schema.elements.len(), schema.attributes()), (elements, attributes), "{name}");
        assert_eq!(schema.recursive(), recursive, "{name}");
    }
}

#[test]
fn documents_have_the_lengths_of_the_paper() {
    // Sections 4.3 and 4.4.
    for (schema, depth, elements) in [
        ("news", 6, 77.0),
        ("news", 7, 107.0),
        ("news", 8, 154.0),
        ("auction", 8, 175.0),
        ("bibliography", 8, 16.0),
    ] {
        let given = XmlParameters { schema: schema.into(), depth: Some(depth), ..Default::default() };
        let expected = figure(&workload(given, 10).requested(), "elements per document");
        assert!((expected / elements - 1.0).abs() < 0.05, "{schema}, {depth} levels: {expected}");
    }
}

#[test]
fn statistics_are_those_requested() {
    for schema in ["news", "auction", "bibliography"] {
        let plain = || XmlParameters { schema: schema.into(), ..Default::default() };
        assert_as_requested(&workload(plain(), 10_000));
        assert_as_requested(&workload(XmlParameters { distinct: false, ..plain() }, 10_000));
        let seeded = XmlParameters { seed: 9, wildcard: 0.5, descendant: 0.4, distinct: false, ..plain() };
        assert_as_requested(&workload(seeded, 10_000));
        assert_as_requested(&workload(XmlParameters { predicates: 3, nested: 2, ..plain() }, 10_000));
        assert_as_requested(&workload(XmlParameters { distinct_paths: true, ..plain() }, 300));
    }
}

#[test]
fn all_queries_and_documents_can_be_read() {
    let mut document = Document::default();
    for schema in ["news", "auction", "bibliography"] {
        let given = XmlParameters { schema: schema.into(), predicates: 2, nested: 1, ..Default::default() };
        let workload = workload(given, 1000);
        for number in 0..1000 {
            let text = workload.expression_text(number);
            XPath::parse(&text, &[], &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
            workload.expression(number);
            document.read(workload.event(number).as_bytes(), &Limits::default()).unwrap();
        }
    }
}

#[test]
fn other_probabilities_leave_the_walk_as_it_is() {
    let plain = XmlParameters { distinct: false, wildcard: 0.0, descendant: 0.0, ..Default::default() };
    let disguised = workload(XmlParameters { wildcard: 0.5, descendant: 0.5, ..plain.clone() }, 200);
    let plain = workload(plain, 200);
    for number in 0..200 {
        let (path, query) = (plain.expression_text(number), disguised.expression_text(number));
        assert!(!query.contains("//*"), "{query}");
        let query = query.replace("//", "/");
        assert_eq!(path.split('/').count(), query.split('/').count());
        let pairs = path.split('/').zip(query.split('/'));
        assert!(pairs.into_iter().all(|(name, step)| step == "*" || step == name), "{path} {query}");
    }
}

#[test]
fn distinct_queries_run_out_with_a_message() {
    let given = XmlParameters { depth: Some(2), ..Default::default() };
    let error = Xml::new(given, 1000).unwrap_err();
    assert!(error.starts_with("only "), "{error}");
    assert!(error.contains("1000 are requested"), "{error}");
}

#[test]
fn wrong_parameters_are_refused() {
    let plain = XmlParameters::default;
    for (given, message) in [
        (XmlParameters { schema: "x".into(), ..plain() }, "unknown schema \"x\"; known: news, auction, "),
        (XmlParameters { dtd: Some("none.dtd".into()), ..plain() }, "cannot read none.dtd: "),
        (XmlParameters { root: Some("x".into()), ..plain() }, "the root `x` is not declared"),
        (XmlParameters { depth: Some(0), ..plain() }, "depth must be from 1 to 32, not 0"),
        (XmlParameters { wildcard: 1.5, ..plain() }, "wildcard must be from 0 to 1, not 1.5"),
        (XmlParameters { descendant: f64::NAN, ..plain() }, "descendant must be from 0 to 1, not NaN"),
        (XmlParameters { predicates: 33, ..plain() }, "predicates must be from 0 to 32, not 33"),
        (XmlParameters { depth: Some(1), nested: 1, ..plain() }, "nested paths need a `depth` of 2"),
    ] {
        let error = Xml::new(given, 10).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_document_type_of_ones_own() {
    let text = "<?xml version='1.0'?><!-- a > b -->
        <!ENTITY % more '(b | c)*'><!ENTITY % more 'ignored'><!ENTITY copy '&#169;'>
        <!ENTITY % both \"x CDATA 'a > b' y (one | two) 'one'\"><!ENTITY % lists '<!ATTLIST c z ID #REQUIRED>'>
        <!NOTATION n SYSTEM 'n'>
        <!ELEMENT a ((b, c?)+ | (#PCDATA))><!ELEMENT b %more;><!ELEMENT c ANY><!ELEMENT d EMPTY>
        <!ATTLIST b %both; xmlns CDATA #FIXED 'u' xml:lang NMTOKEN #IMPLIED>%lists;";
    let schema = dtd::read(text, None).unwrap();
    let names = |number: usize| -> Vec<&str> {
        schema.children[number].iter().map(|child| &*schema.elements[*child as usize].name).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["b", "c"], vec!["b", "c"]));
    assert_eq!((names(2), names(3)), (vec!["a", "b", "c", "d"], vec![]));
    assert_eq!(schema.elements[1].attributes, [Box::from("x"), "y".into()]);
    assert_eq!(schema.elements[2].attributes, [Box::from("z")]);
    assert_eq!((schema.root, schema.recursive()), (0, 3));
    assert_eq!(dtd::read(text, Some("c")).unwrap().root, 2);
}

#[test]
fn broken_and_hostile_document_types() {
    let groups = format!("<!ELEMENT a {}a{}>", "(".repeat(100), ")".repeat(100));
    let mut laughs = String::from("<!ENTITY % e0 'hahahahahahahahaha'>");
    (1..40).for_each(|number| {
        let below = format!("%e{};", number - 1);
        laughs.push_str(&format!("<!ENTITY % e{number} '{below}{below}{below}{below}'>"));
    });
    let many: String = (0..10_001).map(|number| format!("<!ELEMENT e{number} EMPTY>")).collect();
    for (text, message) in [
        ("", "the document type declares no element"),
        ("hello", "line 1: a declaration such as"),
        ("\n<!ELEMENT a (b)>", "the content of the element `a`: the element `b` is not declared"),
        ("<!ELEMENT a (a, a | a)>", "the content of the element `a`: `|` found where"),
        ("<!ELEMENT a (a", "line 1: a declaration does not end"),
        ("<!ELEMENT a (a>", "the content of the element `a`: a group does not end"),
        ("<!ELEMENT a EMPTY>\n\n<!ELEMENT a EMPTY>", "the element `a` is declared twice"),
        ("<!ELEMENT p:a EMPTY>", "line 1: the name `p:a` has a prefix"),
        ("<!ELEMENT a EMPTY><!ATTLIST b x CDATA #IMPLIED>", "attributes of the element `b`, which is not"),
        ("<!ELEMENT a EMPTY>\n<!ATTLIST a x>", "line 2: the attribute @x has no type"),
        ("<!ENTITY % f SYSTEM 'file:///etc/passwd'>\n%f;", "line 2: the entity %f; is in another file"),
        ("<!ENTITY % f '%f;'>", "line 1: the entity %f; is not declared"),
        ("<![INCLUDE[<!ELEMENT a EMPTY>]]>", "line 1: conditional sections are not supported"),
        (&groups, "the content of the element `a`: groups are nested more than 64 deep"),
        (&laughs, "line 1: the document type exceeds 4194304 bytes"),
        (&many, "line 1: there are more than 10000 elements"),
    ] {
        let error = dtd::read(text, None).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn documents_end_whatever_the_document_type() {
    let given = XmlParameters { depth: Some(32), repeats: Some(1000), elements: 5000, ..Default::default() };
    let mut text = String::new();
    assert!(workload(given, 10).write_document(0, &mut text) <= 5000);
    Document::default().read(text.as_bytes(), &Limits::default()).unwrap();
}
