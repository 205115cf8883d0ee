//! Whatever a folder holds, opening it and using what opens gives answers or errors.

#[path = "common/forge.rs"]
mod forge;

use std::path::PathBuf;

use forge::{Choices, Saved, exercise, saved_filter, saved_graph, saved_index};

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
