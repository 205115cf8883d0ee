//! The matchers of the papers, as algorithms for an index of Tamis.
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
//! They use only [`tamis::matcher::extend`]. [`ATree`] evaluates only expressions that true predicates lead to,
//! and shared subexpressions once. [`KIndex`] and [`Cnf`] intersect the posting lists of an event's
//! keys. [`Dewey`] and [`Interval`] find true conjunctions in the same way, and evaluate expressions from their labels.
//!
//! | module | the question it answers |
//! |---|---|
//! | `predicates` | which of many predicates does an event make true? |
//! | `postings` | which posting lists do an event's keys have, and which ids are in enough of them? |
//! | `conjunction` | which of many conjunctions does an event satisfy? over `postings` |
//! | `kindex`, `cnf` | expressions in disjunctive form, over `conjunction`; in conjunctive form, over `postings` |
//! | `forest` | what trees do expressions become over their conjunctions? |
//! | `dewey`, `interval` | which trees are true, by labels of their leaves? over `forest` |
//! | `atree` | the A-Tree, over `predicates` |
//! | `kinds` | the algorithms by name |

mod atree;
mod cnf;
mod conjunction;
mod dewey;
mod fallback;
mod forest;
mod interval;
mod kindex;
mod kinds;
mod postings;
mod predicates;
mod scratch;
#[cfg(test)]
mod testing;

pub use atree::{ATree, ATreeOptions, ATreeStats};
pub use cnf::Cnf;
pub use dewey::Dewey;
pub use interval::{Interval, IntervalOptions};
pub use kindex::{KIndex, KIndexCursor, KIndexOptions};
pub use kinds::{ALGORITHMS, ATREE, CNF, DEWEY, INTERVAL, KINDEX, SKIPPING, algorithm};
