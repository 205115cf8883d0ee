//! Whatever a folder holds, opening it and using what opens gives answers or errors.

#[path = "common/forge.rs"]
mod forge;

use std::path::PathBuf;

use forge::{Choices, Saved, exercise, saved_filter, saved_graph, saved_index};
use tamis::index::{Algorithm, Subscription};
use tamis::storage::OpenOptions;
use tamis::{Id, Index, Limits, Missing, parse};

/// Numbers from a seed.
pub struct Seeded(pub u64);

impl Choices for Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tamis-forged-{}-{name}", std::process::id()))
}

/// Forges a saved folder from many seeds; `PROPTEST_CASES` says how many.
fn forge(name: &str, saved: &Saved) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    let folder = folder(name);
    saved.write(&folder);
    assert!(exercise(&folder, saved.manifest), "what was saved opens");
    let mut opened = 0;
    for seed in 0..cases {
        // Printed where a case fails or does not end.
        println!("{name}: seed {seed}");
        saved.forge(&mut Seeded(seed)).write(&folder);
        opened += u64::from(exercise(&folder, saved.manifest));
    }
    std::fs::remove_dir_all(folder).unwrap();
    assert!(opened < cases, "some damage is noticed");
}

/// An encoded expression is not looked at before somebody asks for it, unless a small segment is compiled from it.
#[test]
fn a_damaged_expression_is_an_error_when_it_is_read() {
    for (count, compiled) in [(1, false), (40, true)] {
        let folder = folder(&format!("expression-{count}"));
        let index = Index::new(Missing::Unknown, Limits::default());
        let read = |text: &str| parse(text, index.limits()).unwrap();
        let few = |number: i64| {
            Subscription::new(Id::Integer(number), read(&format!("state = 'CA' and age > {number}")))
        };
        index.add_many((17i64..17 + count).map(few).collect()).unwrap();
        index.save(&folder).unwrap();
        let saved = Saved::read(&folder, "index.json");
        // `state = 'CA'`, `age > 17`, and an `and` of two children.
        let encoded = [0x00, 0x00, 0x12, b'C', b'A', 0x0c, 0x01, 0x61, 0x45];
        for (position, byte) in [(0, 0xff), (1, 2), (2, 0x13), (3, 0xff), (5, 0x0e), (8, 0x46)] {
            let mut damaged = encoded;
            damaged[position] = byte;
            saved.with(&encoded, &damaged).write(&folder);
            for options in [OpenOptions::default(), OpenOptions::default().verify(false)] {
                let opened = Index::open(&folder, Limits::default(), Algorithm::Auto, options);
                let error = match opened {
                    Err(error) => error,
                    Ok(index) => {
                        assert!(compiled);
                        assert_eq!(
                            index.match_json(br#"{"state": "CA", "age": 18}"#).unwrap(),
                            [Id::Integer(17)]
                        );
                        index.snapshot().get(&Id::Integer(17)).unwrap_err()
                    }
                };
                assert!(error.to_string().contains("damaged"), "{error}");
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_forged_index_gives_answers_or_errors() {
    forge("index", &saved_index(&folder("index")));
}

#[test]
fn a_forged_graph_gives_answers_or_errors() {
    forge("graph", &saved_graph(&folder("graph")));
}

#[test]
fn a_forged_filter_gives_answers_or_errors() {
    forge("filter", &saved_filter(&folder("filter")));
}
