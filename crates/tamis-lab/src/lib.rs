//! The laboratory of Tamis: the papers' workloads, and matchers to compare the engine with.
//!
//! ```
//! use tamis_lab::workload::{Conjunctive, Workload};
//!
//! let workload = Conjunctive::sparse();
//! println!("{}", workload.expression_text(0));
//! println!("{}", workload.event(0));
//! assert_eq!(workload.expression_text(7), Conjunctive::sparse().expression_text(7));
//! ```
//!
//! | module | the question it answers |
//! |---|---|
//! | `workload` | which expressions and events do the papers use? |
//! | `comparator` | what do the papers measure their algorithms against? |
//! | `measure` | how fast is one matcher on one workload, and is it right? |
//! | `reference` | how fast is a matcher that only supports conjunctions? |
//!
//! The program `engine` runs matchers side by side on a workload and prints one table.

pub mod comparator;
pub mod measure;
pub mod reference;
pub mod workload;
