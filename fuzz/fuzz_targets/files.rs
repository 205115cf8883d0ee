//! For any content of a folder, opening and using it gives results or errors. A saved index, graph or
//! filter is damaged as the input determines, with matching checksums.

#![no_main]

#[path = "../../crates/tamis/tests/common/forge.rs"]
mod forge;

use std::path::PathBuf;
use std::sync::LazyLock;

use forge::{Choices, Saved, exercise, saved_filter, saved_graph, saved_index};
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("tamis-fuzz-{}", std::process::id())));

static SAVED: LazyLock<[Saved; 3]> = LazyLock::new(|| {
    [saved_index(&FOLDER.join("0")), saved_graph(&FOLDER.join("1")), saved_filter(&FOLDER.join("2"))]
});

/// Numbers from the input; zeros after its end.
struct Input<'a>(&'a [u8]);

impl Choices for Input<'_> {
    fn next(&mut self) -> u64 {
        let (number, rest) = self.0.split_at(self.0.len().min(3));
        self.0 = rest;
        number.iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let saved = &SAVED[input.below(3)];
    let folder = FOLDER.join("forged");
    saved.forge(&mut input).write(&folder);
    exercise(&folder, saved.manifest);
});
