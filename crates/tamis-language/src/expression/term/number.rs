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
    let (left, right) = (left.decimal_parts()?, right.decimal_parts()?);
    match function {
        Function::Add => add(left, right),
        Function::Subtract => add(left, (right.0.checked_neg()?, right.1)),
        Function::Multiply => multiply(left, right),
        Function::Divide => divide(left.0, right.0, left.1 - right.1),
        Function::Remainder => remainder(left, right),
        _ => None,
    }
}

/// The sum of two coefficients with their powers of ten.
fn add(left: (i128, i32), right: (i128, i32)) -> Option<Value> {
    if left.0 == 0 || right.0 == 0 {
        let (coefficient, exponent) = if left.0 == 0 { right } else { left };
        return exact(coefficient, exponent);
    }
    let most = left.1.max(right.1);
    let (left, right) = (without_zeros(left, most), without_zeros(right, most));
    let exponent = left.1.min(right.1);
    // One of them keeps its coefficient, so a sum that can be kept takes less than 128 bits.
    let (large, small) = (scaled(left, exponent)?, scaled(right, exponent)?);
    let negative = |part: (i128, i32)| part.0 < 0;
    let (sum, sign) = if negative(left) == negative(right) {
        (large.checked_add(small)?, negative(left))
    } else {
        (large.abs_diff(small), if large > small { negative(left) } else { negative(right) })
    };
    signed(sum, sign, exponent)
}

/// A coefficient, which is not 0, without zeros at its end, as far as its power of ten may rise.
fn without_zeros((mut coefficient, mut exponent): (i128, i32), most: i32) -> (i128, i32) {
    while exponent < most && coefficient % 10 == 0 {
        (coefficient, exponent) = (coefficient / 10, exponent + 1);
    }
    (coefficient, exponent)
}

/// The product of two coefficients with their powers of ten.
fn multiply((left, high): (i128, i32), (right, low): (i128, i32)) -> Option<Value> {
    let mut exponent = high.checked_add(low)?;
    if let Some(product) = left.checked_mul(right) {
        return exact(product, exponent);
    }
    // A product of many digits may end in many zeros: each is a two in one and a five in the other.
    let negative = (left < 0) != (right < 0);
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    for (one, other) in [(2, 5), (5, 2), (10, 1), (1, 10)] {
        while left.is_multiple_of(one) && right.is_multiple_of(other) {
            (left, right, exponent) = (left / one, right / other, exponent.checked_add(1)?);
        }
    }
    signed(left.checked_mul(right)?, negative, exponent)
}

/// What is left of the first number when the second was taken from it as often as possible, with the sign of
/// the first.
fn remainder((left, high): (i128, i32), (right, low): (i128, i32)) -> Option<Value> {
    if right == 0 {
        return None;
    }
    let exponent = high.min(low);
    let Some(unit) = scaled((right, low), exponent) else {
        // The second has more digits before the point than any coefficient has.
        return exact(left, high);
    };
    let mut rest = left.unsigned_abs().checked_rem(unit)?;
    for _ in exponent..high {
        if rest == 0 {
            break;
        }
        rest = ten_times(rest, unit).1;
    }
    signed(rest, left < 0, exponent)
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

fn signed(coefficient: u128, negative: bool, exponent: i32) -> Option<Value> {
    let coefficient = i128::try_from(coefficient).ok()?;
    exact(if negative { -coefficient } else { coefficient }, exponent)
}

/// The coefficient of a number, without its sign, at a power of ten that is not above its own.
fn scaled((coefficient, power): (i128, i32), exponent: i32) -> Option<u128> {
    coefficient.unsigned_abs().checked_mul(10u128.checked_pow(power.abs_diff(exponent))?)
}

/// How often a number of at most 127 bits goes into ten times a lesser one, and what is left.
fn ten_times(rest: u128, number: u128) -> (u128, u128) {
    if let Some(product) = rest.checked_mul(10) {
        return (product / number, product % number);
    }
    let (mut sum, mut digit) = (0u128, 0);
    for _ in 0..10 {
        sum += rest;
        if sum >= number {
            sum -= number;
            digit += 1;
        }
    }
    (digit, sum)
}

/// A quotient, rounded half up to 38 digits.
fn divide(left: i128, right: i128, mut exponent: i32) -> Option<Value> {
    let negative = (left < 0) != (right < 0);
    let (left, right) = (left.unsigned_abs(), right.unsigned_abs());
    let mut quotient = left.checked_div(right)?;
    let mut rest = left % right;
    while rest != 0 && quotient.checked_ilog10().is_none_or(|digits| digits + 1 < DIGITS) {
        let (digit, left) = ten_times(rest, right);
        (quotient, rest, exponent) = (quotient * 10 + digit, left, exponent - 1);
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
    fn zeros_at_the_end_cost_no_digits() {
        let sum = |left, right| result(left, Function::Add, right);
        let number = |text: &str| Some(read_number(text).unwrap().to_value().to_string());
        assert_eq!(sum("2e38", "100"), number(&format!("2{}1e2", "0".repeat(35))));
        assert_eq!(sum("100", "2e38"), sum("2e38", "100"));
        assert_eq!(sum("2e38", "-100"), number(&format!("1{}e2", "9".repeat(36))));
        assert_eq!(sum("1e50", "1e15"), number(&format!("1{}1e15", "0".repeat(34))));
        assert_eq!(sum("2e38", "1"), None);
    }

    #[test]
    fn what_can_be_kept_is_found_by_way_of_what_cannot() {
        let nines = format!("-{}", "9".repeat(38));
        for (left, function, right, expected) in [
            ("0.5", Function::Remainder, nines.as_str(), "0.5"),
            ("-1e-300", Function::Remainder, "3e300", "-1e-300"),
            ("1e300", Function::Remainder, "7", "1"),
            ("-1e300", Function::Remainder, "0.7", "-0.3"),
            ("0", Function::Remainder, "1e300", "0"),
            ("1e300", Function::Add, "0", "1e300"),
            ("0", Function::Subtract, "1e300", "-1e300"),
            (
                "17500000000000000000000000000000000001",
                Function::Subtract,
                "9999999999999999999999999999999999999.9",
                "7500000000000000000000000000000000001.1",
            ),
            (
                "1267650600228229401496703205376",
                Function::Multiply,
                "-88817841970012523233890533447265625",
                "-1.125899906842624e65",
            ),
        ] {
            assert_eq!(result(left, function, right).as_deref(), Some(expected), "{left} {right}");
        }
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
