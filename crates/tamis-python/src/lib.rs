//! The seam between Python and the engine: the module `tamis._tamis`.
//!
//! One file per class. This crate makes no decisions about expressions or events: it converts,
//! calls the engine and converts back. `error` is the only place where engine errors become
//! exceptions.

mod arrow;
mod batch;
mod builder;
mod check;
mod error;
mod event;
mod explanation;
mod export;
mod expression;
mod graph;
mod hierarchy;
mod hits;
mod id;
mod ids;
mod import;
mod index;
mod interface;
mod interrupt;
mod items;
mod lab;
mod limits;
mod loading;
mod manifest;
mod manners;
mod objects;
mod options;
mod pipeline;
mod query;
mod rank;
mod refused;
mod subscription;
mod term;
mod value;
mod whole;
mod working;
mod xml;

#[pyo3::pymodule]
mod _tamis {
    #[pymodule_export]
    #[allow(non_upper_case_globals)] // the name in Python
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::builder::Builder;
    #[pymodule_export]
    use crate::explanation::Explanation;
    #[pymodule_export]
    use crate::expression::Expression;
    #[pymodule_export]
    use crate::graph::{Delivery, Graph, GraphExplanation, GraphMatches};
    #[pymodule_export]
    use crate::hits::Hits;
    #[pymodule_export]
    use crate::index::Index;
    #[pymodule_export]
    use crate::lab::{Workload, measurable, measure};
    #[pymodule_export]
    use crate::limits::Limits;
    #[pymodule_export]
    use crate::manifest::{read_manifest, write_manifest};
    #[pymodule_export]
    use crate::subscription::Subscription;
    #[pymodule_export]
    use crate::term::Term;
    #[pymodule_export]
    use crate::xml::{Filter, FilterSubscription, XmlExplanation, XmlLimits, XmlMatch, XmlNode, XmlStream};

    use pyo3::prelude::*;

    /// The names of the matchers that an index can use.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let names = tamis_papers::ALGORITHMS.map(tamis::index::Algorithm::name);
        module.add("MATCHERS", pyo3::types::PyTuple::new(module.py(), names)?)
    }
}
