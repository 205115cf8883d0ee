//! Which of many XPath filters does a document satisfy?
//!
//! ```
//! use tamis_xml::{Engine, Filter, Limits};
//!
//! let filter = Filter::new(Engine::Auto, Limits::default());
//! filter.add("cheap".into(), "//product[@id]/price[. < 300]", &[])?;
//! filter.add("final".into(), "not(//draft)", &[])?;
//! let document = b"<catalog><product id='1'><price>299</price></product></catalog>";
//! assert_eq!(filter.match_bytes(document)?, ["cheap".into(), "final".into()]);
//! # Ok::<(), tamis_base::Error>(())
//! ```
//!
//! After Diao, Altinel, Franklin, Zhang and Fischer 2003, "Path sharing and predicate evaluation for
//! high-performance XML filtering".
//!
//! An internal part of Tamis without a stable interface: the crate `tamis` re-exports it as `tamis::xml`. Nothing here
//! knows expressions or events.
//!
//! | module | the question it answers |
//! |---|---|
//! | `characters`, `limits` | which characters may a name have? how large may filters and documents be? |
//! | `xpath` | what is an XPath expression, and how is it parsed? |
//! | `document` | what does a document contain, and is it well formed? |
//! | `evaluate` | does a document satisfy an expression? The reference implementation |
//! | `meter` | how much work and memory may matching a document take? |
//! | `plan` | which paths must a document contain before a filter can be true? |
//! | `symbols` | which of a document's names do filters mention? |
//! | `engine` | which structural paths does a document contain? |
//! | `values`, `access` | do elements pass value tests, and which filters may a value decide? |
//! | `segment` | which filters of a compiled set does a document satisfy? |
//! | `stream`, `scan` | which filters are certain while a document is still arriving? |
//! | `select`, `explain` | which nodes does a filter select, and why does a document satisfy it or not? |
//! | `input`, `snapshot` | where is a document read from, and which filters are there at one moment? |
//! | `filter`, `storage` | how does all of it change while it is being read, and live on disk? |

mod access;
mod characters;
mod document;
mod engine;
mod evaluate;
mod explain;
mod filter;
mod input;
mod limits;
mod meter;
mod plan;
mod scan;
mod segment;
mod select;
mod snapshot;
mod storage;
mod stream;
mod symbols;
mod values;
mod xpath;

// The modules below this crate have the same paths here as in all crates of the engine.
use tamis_base::{column, csr, deadline, error, folder, id, sections, strings, versioned};

#[doc(hidden)]
pub use characters::is_ncname;
pub use document::Document;
pub use engine::Engine;
pub use explain::{Explanation, Line};
pub use filter::Filter;
pub use input::{Input, read_file};
pub use limits::{Limits, UndeclaredEntities};
pub use segment::Work;
pub use select::{Selected, SelectedNode};
pub use snapshot::{FilterScratch, FilterSnapshot, FilterSubscription};
pub use stream::FilterStream;
pub use xpath::{Variable, XPath};
