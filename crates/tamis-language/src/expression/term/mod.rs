//! What is the left or right side of an operator?
//!
//! A term is an attribute, a constant, or a function of terms. After parsing, a term *is* an
//! attribute: its name is [`MARK`], which users cannot write in a name, followed by its canonical text. So names,
//! files, interning and matchers need no special case, and parsing the name gives the term again.

mod apply;
mod context;
mod function;
mod number;
mod parse;
mod print;
mod time;

use std::sync::Arc;

pub use apply::lower;
pub use apply::text_of;
pub use context::Context;
pub use function::{Comparison, Function, Reading, Type};
pub(super) use print::Name;
pub use print::shown;

use super::keywords::nearest;
use super::names::{IT, MARK, check_name, is_hidden};
use crate::error::shorten;
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
use crate::value::Value;

/// Terms nest no deeper than this, whatever the limits say: they are read and computed recursively.
pub(crate) const DEEPEST: usize = 200;

/// An attribute, a constant, or a function of terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// An attribute by its name.
    Attribute(Arc<str>),
    /// A constant.
    Constant(Value),
    /// A function and its arguments.
    Call(Function, Vec<Term>),
}

impl Term {
    /// A function of arguments, checked. What depends on constants only is a constant.
    pub fn call(function: Function, arguments: Vec<Term>, limits: &Limits) -> Result<Term> {
        function.check(&arguments)?;
        for argument in &arguments {
            match argument {
                Term::Attribute(name) if !is_hidden(name) => check_name(name, limits)?,
                _ => {}
            }
        }
        if let Some(value) = function.fold(&arguments) {
            return Ok(Term::Constant(value));
        }
        let term = Term::Call(function, arguments);
        limits::check("nesting of a term", "term_depth", term.depth(), limits.term_depth.min(DEEPEST))?;
        Ok(term)
    }

    /// An attribute by its name.
    pub fn attribute(name: &str) -> Result<Term> {
        // How long it may be is for the expression it becomes a part of to say.
        check_name(name, &Limits::none())?;
        Ok(Term::Attribute(name.into()))
    }

    /// The element of a list, inside `any`, `all` and `none`.
    pub fn element() -> Term {
        Term::Attribute(IT.into())
    }

    /// A function by its name; `type_name` is the type of `cast`.
    pub fn named(name: &str, type_name: Option<&str>, arguments: Vec<Term>, limits: &Limits) -> Result<Term> {
        let known = match (name, type_name, arguments.len()) {
            ("cast", Some(type_name), _) => match Type::from_name(type_name) {
                Some(to) => Some(Function::Cast(to)),
                None => {
                    let message =
                        format!("there is no type `{}`; known are {}", shorten(type_name), Type::names());
                    return Err(Error::expression(message));
                }
            },
            ("-", None, 1) => Some(Function::Negate),
            (name, None, _) => Function::from_infix(name).or_else(|| Function::from_name(name)),
            _ => None,
        };
        let Some(known) = known else {
            let message = match name {
                "cast" => format!("`cast` needs a type: {}", Type::names()),
                other => {
                    let names = Function::names();
                    let near = nearest(other, &names).map(|near| format!("; did you mean `{near}`?"));
                    format!(
                        "there is no function `{}`; known are {}{}",
                        shorten(other),
                        names.join(", "),
                        near.unwrap_or_default()
                    )
                }
            };
            return Err(Error::expression(message));
        };
        Term::call(known, arguments, limits)
    }

    /// The term with a certain name: an attribute's, or one that [`Term::name`] gave.
    pub fn from_name(name: &Arc<str>) -> Result<Term> {
        match name.strip_prefix(MARK) {
            Some(_) if **name == *IT => Ok(Term::Attribute(name.clone())),
            Some(text) => parse::read(text),
            None => Ok(Term::Attribute(name.clone())),
        }
    }

    /// The name of the attribute that the term is.
    pub fn name(&self) -> Arc<str> {
        match self {
            Term::Attribute(name) => name.clone(),
            other => format!("{MARK}{}", print::Whole(other)).into(),
        }
    }

    /// Whether its value depends on the event.
    pub fn reads_event(&self) -> bool {
        match self {
            Term::Attribute(_) | Term::Call(Function::Values, _) => true,
            Term::Constant(_) => false,
            Term::Call(_, arguments) => arguments.iter().any(Term::reads_event),
        }
    }

    /// The value of a term that reads nothing of an event; `None` if it does, or has no result.
    pub fn value_apart(&self, context: &Context<'_>) -> Option<Value> {
        self.argument_apart(context).map(|(value, _)| value)
    }

    /// The same, with whether it is a float.
    fn argument_apart(&self, context: &Context<'_>) -> Option<(Value, bool)> {
        match self {
            Term::Attribute(_) | Term::Call(Function::Values | Function::IsUnknown, _) => None,
            Term::Constant(value) => Some((value.clone(), false)),
            Term::Call(function, arguments) => {
                let terms = arguments.iter().map(|argument| argument.argument_apart(context));
                let terms = terms.collect::<Option<Vec<(Value, bool)>>>()?;
                let floating = terms.iter().any(|(_, float)| *float);
                let values: Vec<_> = terms.iter().map(|(value, _)| value.as_ref()).collect();
                let result = function.apply(&values, &Context { floating, ..*context })?;
                Some((result, function.gives_float(floating)))
            }
        }
    }

    /// The constant that a term of constants is, for whoever does not calculate with it: a constant is no float.
    pub(crate) fn settled(self) -> Term {
        match &self {
            Term::Call(..) => self.value_apart(&Context::default()).map_or(self, Term::Constant),
            _ => self,
        }
    }

    /// Longest path to an argument, counted in terms.
    fn depth(&self) -> usize {
        match self {
            Term::Call(_, arguments) => 1 + arguments.iter().map(Term::depth).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether it is a constant.
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Term::Constant(_))
    }

    /// Calls `found` with the name of every attribute that the term reads.
    pub fn attributes<'a>(&'a self, found: &mut impl FnMut(&'a Arc<str>)) {
        match self {
            Term::Attribute(name) => found(name),
            Term::Constant(_) => {}
            Term::Call(_, arguments) => arguments.iter().for_each(|argument| argument.attributes(found)),
        }
    }
}
