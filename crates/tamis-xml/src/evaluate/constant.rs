//! Which operands are the same for every context node?
//!
//! `//b[. > //c]` would evaluate `//c` once per `b`. An operand that does not depend on the context
//! is evaluated once, and so are the properties that comparisons need: the set of strings, and the
//! lowest and highest number.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use super::value::{Value, number_and_cost};
use super::{Context, Evaluation};
use crate::document::NodeIndex;
use crate::meter::Metered;
use crate::xpath::{NodeId, XPathKind};

pub type Strings<'e> = HashSet<&'e str, ahash::RandomState>;

/// The lowest and the highest number in a node-set; `None` if no node is a number.
pub type NumberRange = Option<(f64, f64)>;

/// A value that does not depend on the context.
#[derive(Debug)]
pub struct Constant<'e> {
    pub value: Value<'e>,
    strings: OnceCell<Strings<'e>>,
    numbers: OnceCell<NumberRange>,
}

/// A value, owned or shared.
pub enum Operand<'e> {
    Value(Value<'e>),
    Constant(Rc<Constant<'e>>),
}

impl<'e> Operand<'e> {
    pub fn value(&self) -> &Value<'e> {
        match self {
            Operand::Value(value) => value,
            Operand::Constant(constant) => &constant.value,
        }
    }
}

impl<'e> Evaluation<'e> {
    /// The value of an expression inside a predicate that does not depend on the context; evaluated
    /// once.
    pub(super) fn constant(&mut self, id: NodeId, context: Context) -> Metered<Option<Rc<Constant<'e>>>> {
        let node = self.xpath.node(id);
        let cheap = matches!(node.kind, XPathKind::String(_) | XPathKind::Number(_));
        if self.nesting == 0 || node.contextual || node.positional || cheap {
            return Ok(None);
        }
        if let Some(constant) = self.constants.get(&id) {
            return Ok(Some(constant.clone()));
        }
        let nesting = std::mem::take(&mut self.nesting);
        let value = match node.result {
            crate::xpath::Type::Boolean => Value::Boolean(self.boolean(id, context)?),
            _ => self.value(id, context)?,
        };
        self.nesting = nesting;
        self.meter.hold(value.bytes())?;
        let constant = Constant { value, strings: OnceCell::new(), numbers: OnceCell::new() };
        let constant = Rc::new(constant);
        self.constants.insert(id, constant.clone());
        Ok(Some(constant))
    }

    pub(super) fn operand(&mut self, id: NodeId, context: Context) -> Metered<Operand<'e>> {
        match self.constant(id, context)? {
            Some(constant) => Ok(Operand::Constant(constant)),
            None => self.value(id, context).map(Operand::Value),
        }
    }

    /// Calls `use_it` with the strings of an operand's nodes.
    pub(super) fn with_strings<T>(
        &mut self,
        operand: &Operand<'e>,
        nodes: &[NodeIndex],
        use_it: impl FnOnce(&mut Self, &Strings<'e>) -> Metered<T>,
    ) -> Metered<T> {
        match operand {
            Operand::Constant(constant) => {
                if constant.strings.get().is_none() {
                    let strings = self.strings(nodes)?;
                    self.meter.hold(strings.capacity() * size_of::<&str>())?;
                    let _ = constant.strings.set(strings);
                }
                match constant.strings.get() {
                    Some(strings) => use_it(self, strings),
                    None => use_it(self, &Strings::default()),
                }
            }
            Operand::Value(_) => {
                let strings = self.strings(nodes)?;
                use_it(self, &strings)
            }
        }
    }

    fn strings(&mut self, nodes: &[NodeIndex]) -> Metered<Strings<'e>> {
        let document = self.document;
        let mut strings = Strings::default();
        for node in nodes {
            let string = document.string(*node);
            self.meter.spend(4 + string.len() / 8)?;
            strings.insert(string);
        }
        Ok(strings)
    }

    /// The lowest and the highest number among an operand's nodes.
    pub(super) fn numbers(&mut self, operand: &Operand<'e>, nodes: &[NodeIndex]) -> Metered<NumberRange> {
        if let Operand::Constant(constant) = operand
            && let Some(range) = constant.numbers.get()
        {
            return Ok(*range);
        }
        let mut range: NumberRange = None;
        for node in nodes {
            let (number, cost) = number_and_cost(self.document.string(*node));
            self.meter.spend(cost)?;
            if !number.is_nan() {
                let (least, greatest) = range.unwrap_or((number, number));
                range = Some((least.min(number), greatest.max(number)));
            }
        }
        if let Operand::Constant(constant) = operand {
            let _ = constant.numbers.set(range);
        }
        Ok(range)
    }
}
