//! What values does a path through a list of objects have?
//!
//! Those of all elements. A decoder meets them element by element, so an attribute may be begun several times; before
//! an event is finished, the parts of each attribute are joined.

use std::ops::Range;

use super::{AttributeId, Attributes, Event, Field, Shape};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits;

/// Where the values of a field come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum FieldPart {
    /// From the attribute itself.
    #[default]
    Whole,
    /// From one element of an enclosing list.
    Element,
    /// From the same list as the field before, after an element with fields of its own.
    Rest,
}

impl Event {
    /// Begins the part of an attribute that one element of a list has; the values of all elements are its values.
    pub fn begin_element(&mut self, attribute: AttributeId) {
        self.begin(attribute);
        if let Some(field) = self.fields.last_mut() {
            field.part = FieldPart::Element;
            field.shape = Shape::List { others: 0 };
        }
    }

    /// Begins an attribute, or the part of it that an element of an enclosing list has if `inside` is set.
    pub fn begin_part(&mut self, attribute: AttributeId, inside: bool) {
        if inside {
            self.begin_element(attribute);
        } else {
            self.begin(attribute);
        }
    }

    /// Adds a null, which counts for an attribute, but not among the values of many elements.
    pub fn null_part(&mut self, inside: bool) {
        if inside {
            self.other_element();
        } else {
            self.null();
        }
    }

    /// Continues a list that was begun before and has been followed by fields of its elements.
    pub fn resume(&mut self, attribute: AttributeId) {
        self.begin(attribute);
        if let Some(field) = self.fields.last_mut() {
            field.part = FieldPart::Rest;
            field.shape = Shape::List { others: 0 };
        }
    }

    /// Sorts the fields by attribute and joins the parts of each. An attribute that is given twice, other than by
    /// elements of a list, is an error.
    pub(super) fn join_parts(&mut self, attributes: &Attributes) -> Result<()> {
        self.fields.sort_unstable_by_key(|field| (field.attribute, field.start, field.end));
        let is_single = |pair: &[Field]| pair[0].attribute < pair[1].attribute;
        if self.fields.windows(2).all(is_single) {
            return Ok(());
        }
        let fields = std::mem::take(&mut self.fields);
        for run in fields.chunk_by(|a, b| a.attribute == b.attribute) {
            let whole = run.iter().filter(|field| field.part == FieldPart::Whole).count();
            let elements = run.iter().any(|field| field.part == FieldPart::Element);
            if whole > 1 || (whole == 1 && elements) {
                let name = attributes.name(run[0].attribute).unwrap_or_default();
                return Err(Error::event(format!(
                    "the attribute `{}` is given twice; write several values as a list",
                    shorten(&name)
                )));
            }
            let count = run.iter().map(|field| (field.end - field.start) as usize).sum();
            limits::check("values of a list", "list", count, attributes.settings().limits.list)?;
            let field = if run.len() == 1 { run[0] } else { self.joined(run) };
            self.fields.push(field);
        }
        Ok(())
    }

    /// Joins the values of several fields, which move to the end, into one.
    fn joined(&mut self, run: &[Field]) -> Field {
        let start = self.values.len() as u32;
        let mut others = 0u32;
        for field in run {
            self.copy_floats(field.start..field.end);
            self.values.extend_from_within(field.start as usize..field.end as usize);
            if let Shape::List { others: more } = field.shape {
                others = others.saturating_add(more);
            }
        }
        let end = self.values.len() as u32;
        Field { null: false, shape: Shape::List { others }, start, end, ..run[0] }
    }

    /// Marks which of the values that are about to be copied to the end are floats.
    fn copy_floats(&mut self, copied: Range<u32>) {
        let first = self.floats.partition_point(|position| *position < copied.start);
        let behind = self.floats.partition_point(|position| *position < copied.end);
        let moved = self.values.len() as u32 - copied.start;
        for place in first..behind {
            self.floats.push(self.floats[place] + moved);
        }
    }
}
