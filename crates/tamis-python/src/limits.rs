//! `tamis.Limits`: limits on expressions and events.

use pyo3::prelude::*;

use crate::manners;
use crate::xml::XmlLimits;

/// Limits on expressions and events; those not given keep their defaults.
///
/// Input that exceeds a limit raises a `LimitError` with the actual and the allowed number.
#[pyclass(module = "tamis", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct Limits(pub tamis::Limits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, text=None, depth=None, nodes=None, set=None, name=None, name_depth=None, like=None, pattern=None, patterns=None, index_patterns=None, normal_form=None, term_depth=None, terms=None, term_values=None, element_depth=None, elements=None, event=None, event_depth=None, event_values=None, list=None, xml=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per limit")]
    fn new(
        text: Option<usize>,
        depth: Option<usize>,
        nodes: Option<usize>,
        set: Option<usize>,
        name: Option<usize>,
        name_depth: Option<usize>,
        like: Option<usize>,
        pattern: Option<usize>,
        patterns: Option<usize>,
        index_patterns: Option<usize>,
        normal_form: Option<usize>,
        term_depth: Option<usize>,
        terms: Option<usize>,
        term_values: Option<usize>,
        element_depth: Option<usize>,
        elements: Option<usize>,
        event: Option<usize>,
        event_depth: Option<usize>,
        event_values: Option<usize>,
        list: Option<usize>,
        xml: Option<&Bound<'_, XmlLimits>>,
    ) -> Self {
        let default = tamis::Limits::default();
        Limits(tamis::Limits {
            text: text.unwrap_or(default.text),
            depth: depth.unwrap_or(default.depth),
            nodes: nodes.unwrap_or(default.nodes),
            set: set.unwrap_or(default.set),
            name: name.unwrap_or(default.name),
            name_depth: name_depth.unwrap_or(default.name_depth),
            like: like.unwrap_or(default.like),
            pattern: pattern.unwrap_or(default.pattern),
            patterns: patterns.unwrap_or(default.patterns),
            index_patterns: index_patterns.unwrap_or(default.index_patterns),
            normal_form: normal_form.unwrap_or(default.normal_form),
            term_depth: term_depth.unwrap_or(default.term_depth),
            terms: terms.unwrap_or(default.terms),
            term_values: term_values.unwrap_or(default.term_values),
            element_depth: element_depth.unwrap_or(default.element_depth),
            elements: elements.unwrap_or(default.elements),
            event: event.unwrap_or(default.event),
            event_depth: event_depth.unwrap_or(default.event_depth),
            event_values: event_values.unwrap_or(default.event_values),
            list: list.unwrap_or(default.list),
            xml: xml.map_or(default.xml, |limits| limits.get().0.clone()),
        })
    }

    /// Bytes of an expression's text or JSON form.
    #[getter]
    fn text(&self) -> usize {
        self.0.text
    }

    /// Nesting depth of an expression, including parentheses.
    #[getter]
    fn depth(&self) -> usize {
        self.0.depth
    }

    /// Operators and predicates of an expression.
    #[getter]
    fn nodes(&self) -> usize {
        self.0.nodes
    }

    /// Values of one set.
    #[getter]
    fn set(&self) -> usize {
        self.0.set
    }

    /// Bytes of an attribute's name.
    #[getter]
    fn name(&self) -> usize {
        self.0.name
    }

    /// Dot-separated parts of an attribute's name.
    #[getter]
    fn name_depth(&self) -> usize {
        self.0.name_depth
    }

    /// Characters of a part of a `like` pattern, between two `%`, that contains `_`.
    #[getter]
    fn like(&self) -> usize {
        self.0.like
    }

    /// Bytes of the compiled form of a regular expression.
    #[getter]
    fn pattern(&self) -> usize {
        self.0.pattern
    }

    /// Bytes of the compiled forms of all regular expressions of an expression.
    #[getter]
    fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// Bytes of the compiled forms of all regular expressions of an index.
    #[getter]
    fn index_patterns(&self) -> usize {
        self.0.index_patterns
    }

    /// Predicates of the normal form to which `kindex` or `cnf` expands an expression.
    #[getter]
    fn normal_form(&self) -> usize {
        self.0.normal_form
    }

    /// Nesting of a term; never more than 200.
    #[getter]
    fn term_depth(&self) -> usize {
        self.0.term_depth
    }

    /// Distinct terms of an index.
    #[getter]
    fn terms(&self) -> usize {
        self.0.terms
    }

    /// Values of one term on one event; there are several if its arguments are lists.
    #[getter]
    fn term_values(&self) -> usize {
        self.0.term_values
    }

    /// Nesting of `any`, `all` and `none`; never more than 16.
    #[getter]
    fn element_depth(&self) -> usize {
        self.0.element_depth
    }

    /// List elements that are evaluated one by one for one event.
    #[getter]
    fn elements(&self) -> usize {
        self.0.elements
    }

    /// Bytes of an event's JSON, or of all text in a mapping.
    #[getter]
    fn event(&self) -> usize {
        self.0.event
    }

    /// Nesting of an event's objects.
    #[getter]
    fn event_depth(&self) -> usize {
        self.0.event_depth
    }

    /// Values of the attributes that subscriptions mention.
    #[getter]
    fn event_values(&self) -> usize {
        self.0.event_values
    }

    /// Values of one list of an event, including repeated ones.
    #[getter]
    fn list(&self) -> usize {
        self.0.list
    }

    /// Limits on XPath expressions and documents.
    #[getter]
    fn xml(&self) -> XmlLimits {
        XmlLimits(self.0.xml.clone())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_limits")
    }

    fn __repr__(&self) -> String {
        let tamis::Limits {
            text,
            depth,
            nodes,
            set,
            name,
            name_depth,
            like,
            pattern,
            patterns,
            index_patterns,
            normal_form,
            term_depth,
            terms,
            term_values,
            element_depth,
            elements,
            event,
            event_depth,
            event_values,
            list,
            xml,
        } = &self.0;
        let xml = XmlLimits(xml.clone()).__repr__();
        format!(
            "Limits(text={text}, depth={depth}, nodes={nodes}, set={set}, name={name}, name_depth={name_depth}, like={like}, pattern={pattern}, patterns={patterns}, index_patterns={index_patterns}, \
             normal_form={normal_form}, term_depth={term_depth}, terms={terms}, term_values={term_values}, element_depth={element_depth}, elements={elements}, event={event}, event_depth={event_depth}, event_values={event_values}, list={list}, xml={xml})"
        )
    }
}

/// The given limits, or the default ones.
pub fn or_default(limits: Option<&Bound<'_, Limits>>) -> tamis::Limits {
    limits.map_or_else(tamis::Limits::default, |limits| limits.get().0.clone())
}
