//! Which terms does an event have, and what are their values?
//!
//! A term is an attribute whose values are computed from those of others. Arguments have lower numbers than the terms
//! that use them, so terms are computed in the order of their numbers: each at most once per event, and only if the
//! event has an argument.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::attributes::{Argument, Computation, EventSettings, Program};
use super::{AttributeId, Event, Field, Shape, Stored};
use crate::deadline::Timer;
use crate::error::Result;
use crate::expression::{Context, Function, Reading};
use crate::limits;
use crate::truth::Missing;
use crate::value::{Value, ValueRef};

/// The maximum cost of combining arguments, in units of work: they may be long texts.
const TEXTS: usize = 256;

impl Event {
    /// Computes the terms for which the event has arguments.
    pub(super) fn compute(&mut self, program: &Program, settings: &EventSettings) -> Result<()> {
        let mut waiting: BinaryHeap<Reverse<AttributeId>> = std::mem::take(&mut self.waiting);
        waiting.clear();
        waiting.extend(program.always().iter().copied().map(Reverse));
        for field in &self.fields {
            if let Some(dependents) = program.dependents(field.attribute) {
                waiting.extend(dependents.iter().copied().map(Reverse));
            }
        }
        let given = self.fields.len();
        let mut last = None;
        let mut timer = Timer::new(self.deadline);
        while let Some(Reverse(term)) = waiting.pop() {
            if last == Some(term) {
                continue;
            }
            last = Some(term);
            let Some(computation) = program.computation(term) else { continue };
            timer.check()?;
            if !self.share(term, computation, given) && !self.lower(term, computation, given, settings)? {
                self.results.clear();
                self.evaluate(computation, given, settings)?;
                if self.results.is_empty() {
                    continue;
                }
                self.begin(term);
                let mut results = std::mem::take(&mut self.results);
                let pushed = results.drain(..).try_for_each(|(value, is_float)| match is_float {
                    true => self.push_float(value.as_ref(), &settings.limits),
                    false => self.push(value.as_ref(), &settings.limits),
                });
                self.results = results;
                pushed?;
            }
            if let Some(dependents) = program.dependents(term) {
                waiting.extend(dependents.iter().copied().map(Reverse));
            }
        }
        self.waiting = waiting;
        if self.fields.len() > given {
            self.fields.sort_unstable_by_key(|field| field.attribute);
        }
        Ok(())
    }

    /// Uses the value of a cast's argument as it is if it already has the type; returns whether it did.
    fn share(&mut self, term: AttributeId, computation: &Computation, given: usize) -> bool {
        let (Function::Read(reading), [Argument::Attribute(argument)]) =
            (computation.function, &*computation.arguments)
        else {
            return false;
        };
        let Some(field) = self.field(*argument, given).filter(|field| field.start + 1 == field.end) else {
            return false;
        };
        let shared = matches!(
            (reading, &self.values[field.start as usize]),
            (Reading::Time, Stored::Timestamp(_)) | (Reading::Address, Stored::Address(_))
        );
        if shared {
            self.begin(term);
            if let Some(last) = self.fields.last_mut() {
                (last.start, last.end) = (field.start, field.end);
            }
        }
        shared
    }

    /// Adds the values of `lower` directly if they are ASCII texts; returns whether it did.
    fn lower(
        &mut self,
        term: AttributeId,
        computation: &Computation,
        given: usize,
        settings: &EventSettings,
    ) -> Result<bool> {
        let (Function::Lower, [Argument::Attribute(argument)]) =
            (computation.function, &*computation.arguments)
        else {
            return Ok(false);
        };
        let Some(Field { start, end, null: false, .. }) = self.field(*argument, given) else {
            return Ok(false);
        };
        let within = start as usize..end as usize;
        let is_plain = |stored: &Stored| match stored {
            Stored::String(start, end) => self.text[*start as usize..*end as usize].is_ascii(),
            _ => false,
        };
        if within.is_empty() || !self.values[within.clone()].iter().all(is_plain) {
            return Ok(false);
        }
        limits::check("values of a term", "term_values", within.len(), settings.limits.term_values)?;
        self.begin(term);
        for position in within {
            if let Stored::String(start, end) = self.values[position] {
                self.push_lower(start as usize..end as usize, &settings.limits)?;
            }
        }
        Ok(true)
    }

    /// The field of an attribute; computed fields come after the first `given`.
    fn field(&self, attribute: AttributeId, given: usize) -> Option<Field> {
        let (first, computed) = self.fields.split_at(given);
        let find = |fields: &[Field]| {
            let found = fields.binary_search_by_key(&attribute, |field| field.attribute);
            found.ok().map(|position| fields[position])
        };
        find(first).or_else(|| find(computed))
    }

    /// Writes the values of a term into `results`.
    fn evaluate(&mut self, computation: &Computation, given: usize, settings: &EventSettings) -> Result<()> {
        let mut results = std::mem::take(&mut self.results);
        let evaluated = self.results_of(computation, given, settings, &mut results);
        self.results = results;
        evaluated
    }

    fn results_of(
        &self,
        computation: &Computation,
        given: usize,
        settings: &EventSettings,
        results: &mut Vec<(Value, bool)>,
    ) -> Result<()> {
        let Computation { function, arguments } = computation;
        let field = |argument: &Argument| match argument {
            Argument::Attribute(attribute) => self.field(*attribute, given),
            Argument::Constant(_) => None,
        };
        match (function, &**arguments) {
            (Function::Size, [argument]) => {
                results.extend(field(argument).and_then(Field::size).map(|size| (size, false)));
            }
            (Function::Type, [argument]) => {
                let name = field(argument).and_then(|field| self.type_of(field));
                results.extend(name.map(|name| (name, false)));
            }
            (Function::IsUnknown, [argument]) => {
                let known = field(argument).is_some_and(|field| !field.null && field.start < field.end);
                let is_unknown = !known && settings.missing == Missing::Unknown;
                results.push((Value::Boolean(is_unknown), false));
            }
            (Function::Coalesce, arguments) => {
                for argument in arguments {
                    if let Argument::Constant(value) = argument {
                        // A time without an offset is in the index's time zone, like those of the event.
                        let moment = match value {
                            Value::Local(local) => Value::Timestamp(settings.time_zone.moment(*local)),
                            other => other.clone(),
                        };
                        results.push((moment, false));
                        break;
                    }
                    if let Some(field) =
                        field(argument).filter(|field| !field.null && field.start < field.end)
                    {
                        results
                            .extend(self.arguments_of(field).map(|(value, float)| (value.to_value(), float)));
                        break;
                    }
                }
            }
            (function, [Argument::Attribute(argument)]) => {
                let Some(field) = self.field(*argument, given).filter(|field| !field.null) else {
                    return Ok(());
                };
                let count = (field.end - field.start) as usize;
                limits::check("values of a term", "term_values", count, settings.limits.term_values)?;
                let mut context = self.context(*function, settings);
                for (value, float) in self.arguments_of(field) {
                    context.floating = float;
                    let result = function.apply(&[value], &context);
                    results.extend(result.map(|result| (result, function.gives_float(float))));
                }
            }
            _ => return self.combine(*function, arguments, given, settings, results),
        }
        Ok(())
    }

    /// The values of a field, each with whether it is a float.
    fn arguments_of(&self, field: Field) -> impl ExactSizeIterator<Item = (ValueRef<'_>, bool)> {
        let is_float = |position| !self.floats.is_empty() && self.floats.binary_search(&position).is_ok();
        (field.start..field.end).zip(self.values_of(field)).map(move |(at, value)| (value, is_float(at)))
    }

    /// What a function depends on besides its arguments; the clock is read only for functions that need it.
    fn context<'s>(&self, function: Function, settings: &'s EventSettings) -> Context<'s> {
        let now = function.asks_now().then(|| self.moment());
        Context { zone: Some(&settings.time_zone), now, floating: false }
    }

    /// Applies a function to all combinations of its arguments' values.
    fn combine(
        &self,
        function: Function,
        arguments: &[Argument],
        given: usize,
        settings: &EventSettings,
        results: &mut Vec<(Value, bool)>,
    ) -> Result<()> {
        let mut context = self.context(function, settings);
        let mut lists: Vec<Vec<(ValueRef<'_>, bool)>> = Vec::with_capacity(arguments.len());
        let mut count = 1usize;
        for argument in arguments {
            let values = match argument {
                Argument::Constant(value) => vec![(value.as_ref(), false)],
                Argument::Attribute(attribute) => match self.field(*attribute, given) {
                    Some(field) if !field.null => self.arguments_of(field).collect(),
                    _ => Vec::new(),
                },
            };
            if values.is_empty() {
                return Ok(());
            }
            count = count.saturating_mul(values.len());
            lists.push(values);
        }
        limits::check("values of a term", "term_values", count, settings.limits.term_values)?;
        let mut chosen: Vec<ValueRef<'_>> = lists.iter().map(|values| values[0].0).collect();
        let mut timer = Timer::new(self.deadline);
        for mut combination in 0..count {
            if timer.spend(TEXTS) {
                timer.check()?;
            }
            context.floating = false;
            for (chosen, values) in chosen.iter_mut().zip(&lists).rev() {
                let (value, float) = values[combination % values.len()];
                *chosen = value;
                context.floating |= float;
                combination /= values.len();
            }
            let result = function.apply(&chosen, &context);
            results.extend(result.map(|result| (result, function.gives_float(context.floating))));
        }
        Ok(())
    }

    /// The name of the type of an attribute.
    fn type_of(&self, field: Field) -> Option<Value> {
        let name = match field.shape {
            Shape::List { .. } => "list",
            Shape::Object => "object",
            Shape::Plain if field.null => "null",
            Shape::Plain => self.values_of(field).next()?.type_name(),
        };
        Some(Value::from(name))
    }
}

impl Field {
    /// The number of elements of a list; anything else is treated as a list of one.
    fn size(self) -> Option<Value> {
        match self.shape {
            _ if self.null => None,
            Shape::List { others } => Some(Value::Integer(i64::from(self.end - self.start + others))),
            Shape::Object => Some(Value::Integer(1)),
            Shape::Plain if self.start == self.end => None,
            Shape::Plain => Some(Value::Integer(i64::from(self.end - self.start))),
        }
    }
}
