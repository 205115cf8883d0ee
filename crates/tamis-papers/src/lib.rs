//! The matchers of the papers, as algorithms for a Tamis index.
//!
//! ```
//! use tamis::index::Index;
//! use tamis::{Limits, Missing, parse};
//!
//! let index = Index::with_algorithm(Missing::Unknown, Limits::default(), tamis_papers::KINDEX);
//! index.add("young".into(), parse("age < 18", index.limits())?, None)?;
//! assert_eq!(index.match_json(br#"{"age": 12}"#)?, ["young".into()]);
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! They use only [`tamis::matcher::extend`]. [`ATree`] evaluates only expressions that true
//! predicates lead to, and shared subexpressions once. [`KIndex`] and [`Cnf`] intersect the posting
//! lists of an event's keys. [`Dewey`] and [`Interval`] find true conjunctions in the same way, and
//! evaluate expressions from labels of these.
//!
//! | module | the question it answers |
//! |---|---|
//! | `predicates` | which of many predicates does an event satisfy? |
//! | `postings` | which posting lists belong to an event's keys, and which ids are in enough of them? |
//! | `conjunction` | which of many conjunctions does an event satisfy? over `postings` |
//! | `kindex`, `cnf` | expressions in disjunctive form, over `conjunction`; in conjunctive form, over `postings` |
//! | `forest` | which trees over conjunctions represent the expressions? |
//! | `dewey`, `interval` | which trees are true, given labels of their true leaves? over `forest` |
//! | `atree` | the A-Tree, over `predicates` |
//! | `algorithms` | the algorithms by name |

mod algorithms;
mod atree;
mod cnf;
mod conjunction;
mod dewey;
mod fallback;
mod forest;
mod interval;
mod kindex;
mod postings;
mod predicates;
mod scratch;
#[cfg(test)]
mod testing;

pub use algorithms::{ALGORITHMS, ATREE, CNF, DEWEY, INTERVAL, KINDEX, SKIPPING, algorithm};
pub use atree::{ATree, ATreeOptions, ATreeStats};
pub use cnf::Cnf;
pub use dewey::Dewey;
pub use interval::{Interval, IntervalOptions};
pub use kindex::{KIndex, KIndexCursor, KIndexOptions};
