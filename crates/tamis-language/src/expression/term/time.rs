//! What do functions of times give, and what is a value read as?

use super::context::Context;
use super::function::{Function, Reading};
use crate::value::{Address, Duration, Family, Timestamp, Value, ValueRef, read_version};

impl Reading {
    /// What strings are read as that are compared with a value.
    pub(crate) fn for_value(value: ValueRef<'_>) -> Option<Reading> {
        match value.family() {
            Family::Timestamp | Family::Date | Family::Local => Some(Reading::Time),
            Family::Address | Family::Network => Some(Reading::Address),
            Family::Version => Some(Reading::Version),
            _ => None,
        }
    }
}

/// A value as it is compared; `None` if it cannot be read that way.
pub(super) fn read(value: ValueRef<'_>, reading: Reading, context: &Context<'_>) -> Option<Value> {
    match (reading, value) {
        (Reading::Time, value) => moment(value, context).map(Value::Timestamp),
        (Reading::SinceNow, value) => Some(Value::Duration(moment(value, context)?.since(context.now?))),
        (Reading::Address, ValueRef::Address(address)) => Some(Value::Address(address)),
        (Reading::Address, ValueRef::String(text)) => Address::read(text).map(Value::Address),
        (Reading::Version, ValueRef::Version(text)) => Some(Value::Version(text.into())),
        (Reading::Version, ValueRef::String(text)) => {
            read_version(text).map(|text| Value::Version(text.as_str().into()))
        }
        _ => None,
    }
}

fn moment(value: ValueRef<'_>, context: &Context<'_>) -> Option<Timestamp> {
    context.zone?.moment_of(value)
}

/// A part of a time in the time zone.
pub(super) fn part(function: Function, value: ValueRef<'_>, context: &Context<'_>) -> Option<Value> {
    let zone = context.zone?;
    // A date is the same day everywhere.
    let value = match value {
        ValueRef::String(text) => zone.read(text)?,
        other => other,
    };
    let (date, clock) = match value {
        ValueRef::Date(date) => (date, (0, 0, 0)),
        other => {
            let local = zone.local(zone.moment_of(other)?)?;
            (local.date(), local.clock())
        }
    };
    let civil = date.civil();
    Some(Value::Integer(match function {
        Function::Year => i64::from(civil.year),
        Function::Month => i64::from(civil.month),
        Function::Day => i64::from(civil.day),
        Function::Hour => i64::from(clock.0),
        Function::Minute => i64::from(clock.1),
        Function::Weekday => i64::from(date.weekday()),
        Function::Date => return Some(Value::Date(date)),
        _ => return None,
    }))
}

/// The result of an operator on two values that are not both numbers.
pub(super) fn combine(
    function: Function,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Option<Value> {
    let span = |nanoseconds: i128| Duration::from_nanoseconds(nanoseconds).map(Value::Duration);
    let is_time = |value: ValueRef<'_>| value.family().is_time();
    let later = |time: ValueRef<'_>, length: i128| {
        moment(time, context)?.plus(Duration::from_nanoseconds(length)?).map(Value::Timestamp)
    };
    match (function, left, right) {
        (Function::Add, ValueRef::Duration(left), ValueRef::Duration(right)) => {
            span(left.nanoseconds().checked_add(right.nanoseconds())?)
        }
        (Function::Subtract, ValueRef::Duration(left), ValueRef::Duration(right)) => {
            span(left.nanoseconds().checked_sub(right.nanoseconds())?)
        }
        (Function::Multiply, ValueRef::Duration(length), ValueRef::Integer(times))
        | (Function::Multiply, ValueRef::Integer(times), ValueRef::Duration(length)) => {
            span(length.nanoseconds().checked_mul(i128::from(times))?)
        }
        (Function::Add, time, ValueRef::Duration(length))
        | (Function::Add, ValueRef::Duration(length), time) => later(time, length.nanoseconds()),
        (Function::Subtract, time, ValueRef::Duration(length)) => {
            later(time, length.nanoseconds().checked_neg()?)
        }
        (Function::Subtract, left, right) if is_time(left) || is_time(right) => {
            Some(Value::Duration(moment(left, context)?.since(moment(right, context)?)))
        }
        _ => None,
    }
}
