//! How is an expression written as JSON, for programs to make and read?
//!
//! The form: `true` or `false`; `{"and": [..]}`, `{"or": [..]}`, `{"not": x}`, `{"xor": [x, y]}`,
//! `{"xnor": [x, y]}`; `{"is true": x}`, `{"is not unknown": x}` and the like; and a predicate as an object with `attribute`, `operator` (spelled as in
//! text), `value` or `values`, and `weight` or `weights` if they differ from 1. A predicate about a
//! document is an object with `xpath`, `namespaces` where it has prefixes, and `weight`.
//!
//! A predicate of a term has `term` instead of `attribute`, and one that compares two terms has `right`
//! instead of `value`. A term is `{"attribute": name}`, `{"value": v}`, or `{"function": name, "arguments":
//! [..]}`, with `type` for `cast`.

mod members;
mod read;
mod write;

pub use read::from_json;
pub use write::to_json;
pub use write::{write_string, write_value};
