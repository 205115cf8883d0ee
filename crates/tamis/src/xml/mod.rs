//! Which of many XPath filters does a document satisfy?

#![expect(dead_code, reason = "being built")]

mod characters;
mod document;
mod evaluate;
mod limits;
mod xpath;

pub use document::Document;
pub use evaluate::{EvaluationScratch, is_true};
pub use limits::Limits;
pub use xpath::XPath;
