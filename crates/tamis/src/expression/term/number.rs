//! What is the result of arithmetic?
//!
//! Numbers are exact to 38 digits, or floats: with a float among them, arithmetic is IEEE's.

use super::function::{Function, Type};
use crate::value::{Value, ValueRef, read_number};

/// The most digits of a number.
const DIGITS: u32 = 38;

/// The result of an operator between two numbers.
pub(super) fn combine(
    function: Function,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    floating: bool,
) -> Option<Value> {
    if floating {
        let (left, right) = (float(left)?, float(right)?);
        return finite(match function {
            Function::Add => left + right,
            Function::Subtract => left - right,
            Function::Multiply => left * right,
            Function::Divide if right != 0.0 => left / right,
            Function::Remainder if right != 0.0 => left % right,
            _ => return None,
        });
    }
    let ((left, high), (right, low)) = (left.decimal_parts()?, right.decimal_parts()?);
    match function {
        Function::Multiply => exact(left.checked_mul(right)?, high.checked_add(low)?),
        Function::Divide => divide(left, right, high - low),
        _ => {
            let exponent = high.min(low);
            let left = scaled(left, high - exponent)?;
            let right = scaled(right, low - exponent)?;
            match function {
                Function::Add => exact(left.checked_add(right)?, exponent),
                Function::Subtract => exact(left.checked_sub(right)?, exponent),
                Function::Remainder => exact(left.checked_rem(right)?, exponent),
                _ => None,
            }
        }
    }
}

/// The result of a function of one number.
pub(super) fn change(function: Function, value: ValueRef<'_>, floating: bool) -> Option<Value> {
    if let (true, Function::Round) = (floating, function) {
        return finite(float(value)?.round());
    }
    let (coefficient, exponent) = value.decimal_parts()?;
    if matches!(function, Function::Negate | Function::Abs) {
        let negative = function == Function::Negate || coefficient < 0;
        return exact(if negative { coefficient.checked_neg()? } else { coefficient }, exponent);
    }
    if exponent >= 0 {
        return Some(value.to_value());
    }
    let unit = 10i128.checked_pow(exponent.unsigned_abs());
    // A fraction of more digits than any number has is next to nothing.
    let (whole, rest) = unit.map_or((0, coefficient), |unit| (coefficient / unit, coefficient % unit));
    let half = unit.is_some_and(|unit| rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs());
    let up = match function {
        Function::Floor => -i128::from(rest < 0),
        Function::Ceil => i128::from(rest > 0),
        _ => rest.signum() * i128::from(half),
    };
    exact(whole + up, 0)
}

/// A value as a number of a type.
pub(super) fn cast(value: ValueRef<'_>, kind: Type) -> Option<Value> {
    let number = match value {
        ValueRef::Boolean(value) => ValueRef::Integer(i64::from(value)),
        ValueRef::String(text) => read_number(text.trim()).ok()?,
        number => number,
    };
    match kind {
        Type::Integer => {
            let (coefficient, exponent) = number.decimal_parts()?;
            if exponent >= 0 {
                return Some(number.to_value());
            }
            let unit = 10i128.checked_pow(exponent.unsigned_abs());
            exact(unit.map_or(0, |unit| coefficient / unit), 0)
        }
        Type::Float => Value::number(float(number)?),
        _ => float(number).map(|_| number.to_value()),
    }
}

fn exact(coefficient: i128, exponent: i32) -> Option<Value> {
    ValueRef::decimal(coefficient, exponent).map(ValueRef::to_value)
}

fn finite(number: f64) -> Option<Value> {
    if number.is_finite() { Value::number(number) } else { None }
}

fn scaled(coefficient: i128, power: i32) -> Option<i128> {
    coefficient.checked_mul(10i128.checked_pow(power.unsigned_abs())?)
}

/// A quotient, rounded half up to 38 digits.
fn divide(left: i128, right: i128, mut exponent: i32) -> Option<Value> {
    let negative = (left < 0) != (right < 0);
    let (left, right) = (left.unsigned_abs(), right.unsigned_abs());
    let mut quotient = left.checked_div(right)?;
    let mut rest = left % right;
    while rest != 0 && quotient.checked_ilog10().is_none_or(|digits| digits + 1 < DIGITS) {
        // Ten times the rest could overflow, so it is added up.
        let (mut sum, mut digit) = (0u128, 0);
        for _ in 0..10 {
            sum += rest;
            if sum >= right {
                sum -= right;
                digit += 1;
            }
        }
        (quotient, rest, exponent) = (quotient * 10 + digit, sum, exponent - 1);
    }
    if rest >= right - rest {
        quotient += 1;
    }
    let quotient = i128::try_from(quotient).ok()?;
    exact(if negative { -quotient } else { quotient }, exponent)
}

/// The float nearest to a number.
pub(crate) fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Float(value) => Some(value.get()),
        ValueRef::Decimal(value) => value.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(left: &str, function: Function, right: &str) -> Option<String> {
        let (left, right) = (read_number(left).unwrap(), read_number(right).unwrap());
        combine(function, left, right, false).map(|value| value.to_string())
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(result("0.1", Function::Add, "0.2").as_deref(), Some("0.3"));
        assert_eq!(result("1", Function::Divide, "8").as_deref(), Some("0.125"));
        let third = result("1", Function::Divide, "3").unwrap();
        assert_eq!(third, format!("0.{}", "3".repeat(38)));
        let two_thirds = result("2", Function::Divide, "3").unwrap();
        assert_eq!(two_thirds, format!("0.{}7", "6".repeat(37)));
        assert_eq!(result("-7", Function::Remainder, "3").as_deref(), Some("-1"));
        assert_eq!(result("7.5", Function::Remainder, "2").as_deref(), Some("1.5"));
        assert_eq!(result("1", Function::Divide, "0"), None);
        assert_eq!(result("9223372036854775807", Function::Add, "1").as_deref(), Some("9223372036854775808"));
        let nines = "9".repeat(38);
        assert_eq!(result(&nines, Function::Add, "1").as_deref(), Some("1e38"));
        assert_eq!(result(&nines, Function::Multiply, "3"), None);
    }

    #[test]
    fn rounding_goes_half_away_from_zero() {
        for (text, function, expected) in [
            ("2.5", Function::Round, "3"),
            ("-2.5", Function::Round, "-3"),
            ("2.4", Function::Round, "2"),
            ("-0.4", Function::Round, "0"),
            ("-2.5", Function::Floor, "-3"),
            ("-2.5", Function::Ceil, "-2"),
            ("2.1", Function::Ceil, "3"),
        ] {
            let value = change(function, read_number(text).unwrap(), false).unwrap();
            assert_eq!(value.to_string(), expected, "{text}");
        }
    }
}
