//! All engines give what evaluating every filter gives, on random filters and documents.

use proptest::prelude::*;
use tamis_base::{Error, Id};
use tamis_xml::{Engine, Filter, FilterSubscription, Limits, XPath};

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "a", "b", "c", "*"])
}

fn value_test() -> impl Strategy<Value = String> {
    let source = prop::sample::select(vec!["@x", "@y", ".", "text()"]);
    let comparison = prop::sample::select(vec!["=", "!=", "<", ">="]);
    let constant = prop::sample::select(vec!["1", "2", "'1'", "'x'"]);
    prop_oneof![
        4 => (source, comparison, constant).prop_map(|(source, comparison, constant)| format!("[{source} {comparison} {constant}]")),
        1 => Just("[@x]".to_owned()),
        1 => Just("[2]".to_owned()),
        1 => Just("[last()]".to_owned()),
        1 => Just("[contains(., 'x')]".to_owned()),
    ]
}

fn path() -> impl Strategy<Value = String> {
    let step = (prop::bool::ANY, name(), prop::collection::vec(value_test(), 0..3))
        .prop_map(|(deep, name, tests)| format!("{}{name}{}", if deep { "//" } else { "/" }, tests.concat()));
    prop::collection::vec(step, 1..5).prop_map(|steps| steps.concat())
}

fn filter() -> impl Strategy<Value = String> {
    let nested = (path(), path()).prop_map(|(outer, inner)| format!("{outer}[.{inner}]"));
    let leaf =
        prop_oneof![4 => path(), 2 => nested, 1 => path().prop_map(|path| format!("count({path}) > 1"))];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("not({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one}) and ({other})")),
            (inner.clone(), inner).prop_map(|(one, other)| format!("({one}) or ({other})")),
        ]
    })
}

fn document() -> impl Strategy<Value = String> {
    let attributes = prop::sample::select(vec!["", "", " x='1'", " y='2'", " x='2' y='1'", " x='x'"]);
    let text = prop::sample::select(vec!["", "", "1", "x", "2"]);
    let element = move |content: BoxedStrategy<String>| {
        let name = prop::sample::select(vec!["a", "a", "b", "c"]);
        (name, attributes.clone(), text.clone(), content).prop_map(|(name, attributes, text, content)| {
            format!("<{name}{attributes}>{text}{content}</{name}>")
        })
    };
    let leaf = element(Just(String::new()).boxed());
    leaf.prop_recursive(6, 40, 4, move |inner| {
        element(prop::collection::vec(inner, 0..4).prop_map(|children| children.concat()).boxed())
    })
}

fn filled(engine: Engine, filters: &[String], memory: usize) -> Filter {
    let filter = Filter::new(engine, Limits { memory, ..Limits::default() });
    let subscription = |(id, text): (usize, &String)| {
        FilterSubscription::new((id as i64).into(), XPath::parse(text, &[], filter.limits()).unwrap())
    };
    filter.add_many(filters.iter().enumerate().map(subscription).collect()).unwrap();
    filter
}

fn engines() -> Vec<Engine> {
    Engine::names().into_iter().filter_map(Engine::find).collect()
}

proptest! {
    #[test]
    fn every_engine_equals_scan(
        filters in prop::collection::vec(filter(), 1..30),
        documents in prop::collection::vec(document(), 1..6),
    ) {
        let scan = filled(Engine::Scan, &filters, 0);
        for engine in engines() {
            for memory in [0, 3, 50_000] {
                let filter = filled(engine, &filters, memory);
                for document in documents.iter().chain(&documents) {
                    let expected = scan.match_bytes(document.as_bytes()).unwrap();
                    prop_assert_eq!(filter.match_bytes(document.as_bytes()).unwrap(), expected, "{} {}", engine.name(), document);
                }
            }
        }
    }

    #[test]
    fn adding_and_removing_one_by_one_equals_adding_what_is_left(
        filters in prop::collection::vec(filter(), 1..40),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        documents in prop::collection::vec(document(), 1..4),
    ) {
        let changing = Filter::new(Engine::Auto, Limits::default());
        for (id, text) in filters.iter().enumerate() {
            changing.add((id as i64).into(), text, &[]).unwrap();
            changing.match_bytes(documents[0].as_bytes()).unwrap();
        }
        let gone: Vec<Id> = removed.iter().map(|index| Id::from(index.index(filters.len()) as i64)).collect();
        gone.iter().for_each(|id| { changing.remove(id); });
        let scan = filled(Engine::Scan, &filters, 0);
        for document in &documents {
            let mut expected = scan.match_bytes(document.as_bytes()).unwrap();
            expected.retain(|id| !gone.contains(id));
            prop_assert_eq!(changing.match_bytes(document.as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn no_bytes_and_no_text_make_it_panic(
        document in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
        valid in document(),
        inserted in "[<>&;'\"/?!\\[\\]=a -]{0,4}",
        text in "[a-c/\\[\\]@.()'*|=:0-9 -]{0,30}",
    ) {
        let filter = Filter::new(Engine::Auto, Limits::default());
        let _ = filter.add(1.into(), &text, &[]);
        filter.add(2.into(), "//a[@x]", &[]).unwrap();
        let _ = filter.match_bytes(&document);
        let mut broken = valid.clone();
        broken.insert_str(cut.index(valid.len()), &inserted);
        let _ = filter.match_bytes(broken.as_bytes());
        prop_assert!(filter.match_bytes(valid.as_bytes()).is_ok());
    }
}

#[test]
fn a_limit_carries_both_numbers() {
    let filter = Filter::new(Engine::Auto, Limits { attributes: 2, ..Limits::default() });
    let error = filter.match_bytes(b"<a b='' c='' d=''/>").unwrap_err();
    assert!(matches!(error, Error::Limit { name: "attributes", found: 3, allowed: 2, .. }), "{error}");
}

#[test]
fn long_label_paths_stay_within_the_memory() {
    // Every element has a path of its own, and so a state set of its own.
    let mut document = String::new();
    (0..500).for_each(|depth| document += &format!("<n{depth}><m{depth}/>"));
    (0..500).rev().for_each(|depth| document += &format!("</n{depth}>"));
    let filters: Vec<String> = (0..500).map(|depth| format!("//n{depth}/m{depth}")).collect();
    for memory in [0, 10, 100_000] {
        let filter = filled(Engine::Auto, &filters, memory);
        for _ in 0..3 {
            assert_eq!(filter.match_bytes(document.as_bytes()).unwrap().len(), 500);
        }
    }
}
