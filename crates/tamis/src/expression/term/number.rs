//! What is the result of arithmetic?

use super::function::{Function, Type};
use crate::value::{Value, ValueRef};

/// The result of an operator between two numbers.
pub(super) fn combine(function: Function, left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Value> {
    if let (ValueRef::Integer(left), ValueRef::Integer(right)) = (left, right) {
        let (left, right) = (i128::from(left), i128::from(right));
        let exact = match function {
            Function::Add => Some(left + right),
            Function::Subtract => Some(left - right),
            Function::Multiply => Some(left * right),
            Function::Divide if right != 0 && left % right == 0 => Some(left / right),
            Function::Remainder if right != 0 => Some(left % right),
            Function::Divide if right != 0 => None,
            _ => return None,
        };
        if let Some(exact) = exact.and_then(|exact| i64::try_from(exact).ok()) {
            return Some(Value::Integer(exact));
        }
    }
    let (left, right) = (float(left)?, float(right)?);
    Value::number(match function {
        Function::Add => left + right,
        Function::Subtract => left - right,
        Function::Multiply => left * right,
        Function::Divide => left / right,
        Function::Remainder => left % right,
        _ => return None,
    })
}

/// The result of a function of one number.
pub(super) fn change(function: Function, value: ValueRef<'_>) -> Option<Value> {
    match (function, value) {
        (Function::Negate, ValueRef::Integer(value)) if value != i64::MIN => Some(Value::Integer(-value)),
        (Function::Abs, ValueRef::Integer(value)) if value != i64::MIN => Some(Value::Integer(value.abs())),
        (Function::Round | Function::Floor | Function::Ceil, ValueRef::Integer(value)) => {
            Some(Value::Integer(value))
        }
        _ => {
            let value = float(value)?;
            Value::number(match function {
                Function::Negate => -value,
                Function::Abs => value.abs(),
                Function::Round => value.round(),
                Function::Floor => value.floor(),
                Function::Ceil => value.ceil(),
                _ => return None,
            })
        }
    }
}

/// A value as a number of a type.
pub(super) fn cast(value: ValueRef<'_>, kind: Type) -> Option<Value> {
    let number = match value {
        ValueRef::Boolean(value) => Value::Integer(i64::from(value)),
        ValueRef::String(text) => crate::expression::number(text.trim()).ok()?,
        other => other.to_value(),
    };
    match (kind, &number) {
        (Type::Integer, Value::Integer(_)) => Some(number),
        (Type::Integer, Value::Float(value)) => {
            Value::number(value.get().trunc()).filter(|value| matches!(value, Value::Integer(_)))
        }
        (Type::Float, _) => Value::number(float(number.as_ref())?),
        (Type::Decimal, _) => Some(number),
        _ => None,
    }
}

fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Float(value) => Some(value.get()),
        _ => None,
    }
}
