//! The laboratory of Tamis: the field's workloads, and matchers to measure the engine against.
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
//! | `workload` | which expressions and events do the papers measure with? |
//! | `comparator` | what do the papers measure their algorithms against? |
//! | `measure` | how fast is one matcher on one workload, and is it right? |
//! | `reference` | how fast can a matcher be that knows conjunctions only? |
//!
//! The program `engine` runs matchers side by side on a workload and prints one table.

pub mod comparator;
pub mod measure;
pub mod reference;
pub mod workload;
