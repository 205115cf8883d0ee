//! What number does a text or a float denote, and how do numbers compare?
//!
//! All numbers are one ordered kind, and every number has one form: an integer within 64 bits is an
//! `Integer`; otherwise a number that is the shortest decimal of some 64-bit float is a [`Float`];
//! otherwise it is a [`Decimal`] of at most 38 digits. A float *is* its shortest decimal, so `0.1` is
//! one tenth wherever it comes from, and equality of forms is equality of numbers.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use super::ValueRef;

/// The maximum number of digits that are kept exactly.
pub const DIGITS: u32 = 38;

/// The largest power of ten, up or down, of a decimal's first digit.
const MAGNITUDE: i32 = 9_999;

/// 10^38, which coefficients stay below.
const LIMIT: u128 = 10u128.pow(DIGITS);

/// Integral floats below this are exact, and no other decimal reads back as them.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number that is not a 64-bit integer but the shortest decimal of this float; or an infinity.
#[derive(Debug, Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// Above every other number.
    pub const INFINITY: Float = Float(f64::INFINITY);

    /// Below every other number.
    pub const NEGATIVE_INFINITY: Float = Float(f64::NEG_INFINITY);

    /// The number itself.
    #[inline]
    pub fn get(self) -> f64 {
        self.0
    }

    /// A float from the stored bits of a canonical one; `None` for NaN.
    #[inline]
    pub fn kept(number: f64) -> Option<Float> {
        (!number.is_nan()).then_some(Float(number))
    }
}

impl PartialEq for Float {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl std::hash::Hash for Float {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A number that is neither a 64-bit integer nor the shortest decimal of a float: a coefficient of at
/// most 38 digits, the last of which is not 0, times a power of ten.
// Packed, so that a value takes 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(Rust, packed(4))]
pub struct Decimal {
    coefficient: i128,
    exponent: i16,
}

impl Decimal {
    /// The coefficient, and the power of ten by which it is multiplied.
    #[inline]
    pub fn parts(self) -> (i128, i32) {
        (self.coefficient, i32::from(self.exponent))
    }

    /// A decimal from the stored parts of a canonical one.
    #[inline]
    pub fn kept(coefficient: i128, exponent: i16) -> Decimal {
        Decimal { coefficient, exponent }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (coefficient, exponent) = self.parts();
        write_plainly(f, coefficient, exponent)
    }
}

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() {
            return write!(f, "{}", self.0);
        }
        let (coefficient, exponent) = shortest(self.0);
        write_plainly(f, coefficient, exponent)
    }
}

/// Writes a number without an exponent, unless it is below 0.000001 or has more than 38 digits before the point.
fn write_plainly(f: &mut fmt::Formatter<'_>, coefficient: i128, exponent: i32) -> fmt::Result {
    let digits = coefficient.unsigned_abs().to_string();
    let sign = if coefficient < 0 { "-" } else { "" };
    let point = digits.len() as i32 + exponent;
    if exponent >= 0 && point <= DIGITS as i32 {
        write!(f, "{sign}{digits}{}", "0".repeat(exponent as usize))
    } else if exponent < 0 && point > 0 {
        write!(f, "{sign}{}.{}", &digits[..point as usize], &digits[point as usize..])
    } else if exponent < 0 && point > -6 {
        write!(f, "{sign}0.{}{digits}", "0".repeat(-point as usize))
    } else if digits.len() == 1 {
        write!(f, "{sign}{digits}e{}", point - 1)
    } else {
        write!(f, "{sign}{}.{}e{}", &digits[..1], &digits[1..], point - 1)
    }
}

impl<'a> ValueRef<'a> {
    /// The number that a float represents; `None` for NaN, which is not a value.
    pub fn number(number: f64) -> Option<ValueRef<'a>> {
        if number.trunc() != number {
            // Between two integers, which are floats themselves, so no integer reads back as it.
            return (!number.is_nan()).then_some(ValueRef::Float(Float(number)));
        }
        if number.abs() < EXACT {
            return Some(ValueRef::Integer(number as i64));
        }
        if number.is_infinite() {
            return Some(ValueRef::Float(Float(number)));
        }
        let (coefficient, exponent) = shortest(number);
        let integer = within_integers(coefficient, exponent);
        Some(integer.map_or(ValueRef::Float(Float(number)), ValueRef::Integer))
    }

    /// The number `coefficient` times ten to the power of `exponent`; `None` if it has more than 38 digits, or is too
    /// large or too small.
    pub fn decimal(coefficient: i128, exponent: i32) -> Option<ValueRef<'a>> {
        if coefficient == 0 {
            return Some(ValueRef::Integer(0));
        }
        let (coefficient, exponent) = without_zeros(coefficient, exponent);
        if let Some(integer) = within_integers(coefficient, exponent) {
            return Some(ValueRef::Integer(integer));
        }
        if coefficient.unsigned_abs() >= LIMIT {
            return None;
        }
        let magnitude = exponent.saturating_add(coefficient.unsigned_abs().ilog10() as i32);
        if magnitude.unsigned_abs() > MAGNITUDE.unsigned_abs() {
            return None;
        }
        if let Some(float) = as_shortest(coefficient, exponent, magnitude) {
            return Some(ValueRef::Float(Float(float)));
        }
        Some(ValueRef::Decimal(Decimal { coefficient, exponent: exponent as i16 }))
    }

    /// A number as a coefficient of at most 38 digits and a power of ten; `None` for infinities and for values that
    /// are not numbers.
    pub fn decimal_parts(self) -> Option<(i128, i32)> {
        match self {
            ValueRef::Integer(integer) => Some((i128::from(integer), 0)),
            ValueRef::Float(Float(float)) if float.is_finite() => Some(shortest(float)),
            ValueRef::Decimal(decimal) => Some(decimal.parts()),
            _ => None,
        }
    }
}

/// The order of two numbers.
#[inline]
pub(super) fn order(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    use ValueRef::{Decimal as Exact, Float as Real, Integer};
    match (left, right) {
        (Integer(a), Integer(b)) => a.cmp(&b),
        (Real(a), Real(b)) => a.0.total_cmp(&b.0),
        (Integer(a), Real(b)) => integer_against_float(a, b.0),
        (Real(a), Integer(b)) => integer_against_float(b, a.0).reverse(),
        (Exact(a), Real(b)) => decimal_against_float(a, b.0),
        (Real(a), Exact(b)) => decimal_against_float(b, a.0).reverse(),
        (left, right) => {
            let (a, b) =
                (left.decimal_parts().unwrap_or_default(), right.decimal_parts().unwrap_or_default());
            decimals(a, b)
        }
    }
}

/// A [`Float`] outside the range of integers is decided by its sign; any other lies between two integers.
fn integer_against_float(integer: i64, float: f64) -> Ordering {
    let floor = float.floor();
    if floor >= 9_223_372_036_854_775_808.0 {
        Ordering::Less
    } else if floor <= -9_223_372_036_854_775_808.0 {
        // The float of the least integer is its shortest decimal, -9223372036854776000, which is less.
        Ordering::Greater
    } else if integer <= floor as i64 {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

fn decimal_against_float(decimal: Decimal, float: f64) -> Ordering {
    if float.is_infinite() {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let (coefficient, exponent) = decimal.parts();
    // Both steps round by less than 1e-14 of the number, unless they overflow or underflow.
    let near = coefficient as f64 * 10f64.powi(exponent);
    if (1e-250..1e250).contains(&near.abs()) && (near - float).abs() > near.abs() * 1e-12 {
        return near.total_cmp(&float);
    }
    decimals((coefficient, exponent), shortest(float))
}

/// Exact comparison of coefficients with their powers of ten.
fn decimals(a: (i128, i32), b: (i128, i32)) -> Ordering {
    let (left, right) = (a.0.signum(), b.0.signum());
    if left != right || left == 0 {
        return left.cmp(&right);
    }
    // With equal signs and equal powers of the first digits, both are extended to 38 digits.
    let aligned = |(coefficient, exponent): (i128, i32)| {
        let coefficient = coefficient.unsigned_abs();
        let digits = coefficient.ilog10() + 1;
        (exponent + digits as i32, coefficient * 10u128.pow(DIGITS.saturating_sub(digits)))
    };
    let order = aligned(a).cmp(&aligned(b));
    if left < 0 { order.reverse() } else { order }
}

/// Moves zeros at the end of the coefficient into the exponent.
fn without_zeros(mut coefficient: i128, mut exponent: i32) -> (i128, i32) {
    while let Ok(mut small) = i64::try_from(coefficient) {
        if small % 10 != 0 {
            return (coefficient, exponent);
        }
        // Divisions of 64 bits are much faster.
        while small % 10 == 0 {
            small /= 10;
            exponent = exponent.saturating_add(1);
        }
        coefficient = i128::from(small);
    }
    while coefficient % 10 == 0 {
        coefficient /= 10;
        exponent = exponent.saturating_add(1);
    }
    (coefficient, exponent)
}

fn within_integers(coefficient: i128, exponent: i32) -> Option<i64> {
    let power = u32::try_from(exponent).ok().filter(|power| *power < 19)?;
    i64::try_from(coefficient.checked_mul(10i128.pow(power))?).ok()
}

/// The float whose shortest decimal this is, if there is one; `magnitude` is the power of ten of the
/// first digit.
fn as_shortest(coefficient: i128, exponent: i32, magnitude: i32) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    // No two decimals of up to 15 digits share a float, and the quotient of exact numbers is the nearest float.
    if coefficient.unsigned_abs() < 1_000_000_000_000_000 {
        if (-22..0).contains(&exponent) {
            return Some(coefficient as f64 / POWERS[-exponent as usize]);
        }
        if (0..=22).contains(&exponent) {
            return Some(coefficient as f64 * POWERS[exponent as usize]);
        }
    }
    if coefficient.unsigned_abs() >= 100_000_000_000_000_000 || !(-330..=310).contains(&magnitude) {
        return None;
    }
    let mut text = Text::default();
    write!(text, "{coefficient}e{exponent}").ok()?;
    let float = text.as_str().parse::<f64>().ok()?;
    (float.is_finite() && float != 0.0 && shortest(float) == (coefficient, exponent)).then_some(float)
}

/// The shortest decimal that reads back as a finite float, without trailing zeros.
fn shortest(float: f64) -> (i128, i32) {
    let mut text = Text::default();
    // At most 17 digits, a point, two signs and three digits of exponent.
    let _ = write!(text, "{float:e}");
    let (mut coefficient, mut exponent, mut behind) = (0i64, 0, false);
    let (mut negative, mut rest) = (false, text.as_str().bytes());
    for byte in rest.by_ref() {
        match byte {
            b'-' => negative = true,
            b'.' => behind = true,
            b'e' => break,
            digit => {
                coefficient = coefficient * 10 + i64::from(digit - b'0');
                exponent -= i32::from(behind);
            }
        }
    }
    exponent += std::str::from_utf8(&rest.collect::<Vec<u8>>()).map_or(0, |text| text.parse().unwrap_or(0));
    without_zeros(i128::from(if negative { -coefficient } else { coefficient }), exponent)
}

/// A short text on the stack.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        free.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// The number that a text denotes: digits, optionally with a point and an exponent; or why it cannot be kept. If a
/// number has a fraction and more than 38 digits, the nearest float is kept.
pub fn read_number(text: &str) -> Result<ValueRef<'static>, String> {
    let refused = |reason: String| format!("the number {} {reason}", crate::error::shorten(text));
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.len() <= 18
        && let Ok(integer) = text.parse()
    {
        return Ok(ValueRef::Integer(integer));
    }
    let (mut coefficient, mut exponent) = (0u128, 0i32);
    let (mut kept, mut seen, mut behind, mut lost) = (0u32, 0usize, false, false);
    let mut bytes = digits.bytes();
    let mut power = 0i32;
    while let Some(byte) = bytes.next() {
        match byte {
            b'0'..=b'9' => {
                seen += 1;
                if kept < DIGITS {
                    coefficient = coefficient * 10 + u128::from(byte - b'0');
                    kept += u32::from(coefficient > 0);
                    exponent -= i32::from(behind);
                } else {
                    lost |= byte != b'0';
                    exponent = exponent.saturating_add(i32::from(!behind));
                }
            }
            b'.' if !behind => behind = true,
            b'e' | b'E' if seen > 0 => {
                let rest = &digits[digits.len() - bytes.len()..];
                let sign = usize::from(rest.starts_with(['-', '+']));
                if rest.len() == sign || !rest.bytes().skip(sign).all(|byte| byte.is_ascii_digit()) {
                    return Err(refused("is no number".into()));
                }
                // An exponent beyond 32 bits exceeds every other bound as well.
                let extreme = if rest.starts_with('-') { i32::MIN } else { i32::MAX };
                power = rest.parse().unwrap_or(extreme);
                break;
            }
            _ => return Err(refused("is no number".into())),
        }
    }
    if seen == 0 {
        return Err(refused("is no number".into()));
    }
    if lost {
        let fraction = behind || power < 0;
        let float = text.parse::<f64>().ok().filter(|float| fraction && float.is_finite() && *float != 0.0);
        return float
            .and_then(ValueRef::number)
            .ok_or_else(|| refused(format!("has {seen} digits; integers are kept up to {DIGITS}")));
    }
    let signed = if text.starts_with('-') { -(coefficient as i128) } else { coefficient as i128 };
    ValueRef::decimal(signed, exponent.saturating_add(power))
        .ok_or_else(|| refused(format!("is too {} to be kept", if power < 0 { "small" } else { "large" })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> ValueRef<'static> {
        read_number(text).unwrap_or_else(|reason| panic!("{reason}"))
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(read("1.0"), ValueRef::Integer(1));
        assert_eq!(read("-0.0"), ValueRef::Integer(0));
        assert_eq!(read("1e3"), ValueRef::Integer(1000));
        assert_eq!(read("20.50"), ValueRef::number(20.5).unwrap());
        assert_eq!(read("0.1"), ValueRef::number(0.1).unwrap());
        assert_eq!(read("9007199254740993.0"), ValueRef::Integer(9_007_199_254_740_993));
        assert_eq!(read("10000000000000000000"), ValueRef::number(1e19).unwrap());
        assert!(matches!(read("18446744073709551615"), ValueRef::Decimal(_)));
        assert!(matches!(read("1e-400"), ValueRef::Decimal(_)));
        assert!(matches!(read("1e400"), ValueRef::Decimal(_)));
        assert_eq!(read("0.1000000000000000055511151231257827021181583404541015625"), read("0.1"));
        assert_eq!(read(&format!("1{}", "0".repeat(100))), ValueRef::number(1e100).unwrap());
        for text in ["1e10001", "1e-10001", "1e99999999999", "1e-99999999999", &"9".repeat(39)] {
            assert!(read_number(text).is_err(), "{text}");
        }
        for text in ["", "-", ".", "1e", "1e+", "e5", "1.2.3", "0x10", "1_000", "NaN", " 1"] {
            assert!(read_number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_float_at_the_least_integer_is_less_than_it() {
        let ascending = ["-9223372036854776000", "-9223372036854775900", "-9223372036854775808"].map(read);
        assert_eq!(ValueRef::number(-9_223_372_036_854_775_808.0), Some(ascending[0]));
        for (position, &value) in ascending.iter().enumerate() {
            for (other_position, &other) in ascending.iter().enumerate() {
                assert_eq!(order(value, other), position.cmp(&other_position), "{value} and {other}");
            }
        }
    }

    #[test]
    fn a_float_is_its_shortest_decimal() {
        assert_eq!(ValueRef::number(4_611_686_018_427_387_904.0), Some(read("4.611686018427388e18")));
        assert_eq!(
            ValueRef::number(4_611_686_018_427_387_904.0),
            Some(ValueRef::Integer(4_611_686_018_427_388_000))
        );
        assert_eq!(ValueRef::number(9_223_372_036_854_775_808.0), Some(read("9223372036854776000")));
        assert_eq!(ValueRef::number(-0.0), Some(ValueRef::Integer(0)));
        assert_eq!(ValueRef::number(f64::NAN), None);
        assert!(matches!(ValueRef::number(f64::INFINITY), Some(ValueRef::Float(_))));
        assert_eq!(ValueRef::number(5e-324), Some(read("5e-324")));
        assert_eq!(ValueRef::number(f64::MAX), Some(read("1.7976931348623157e308")));
    }

    #[test]
    fn decimals_print_and_compare() {
        for (text, printed) in [
            ("12345678901234567890.5", "12345678901234567890.5"),
            ("-0.012345678901234567890123", "-0.012345678901234567890123"),
            ("18446744073709551615", "18446744073709551615"),
            ("1e-400", "1e-400"),
            ("1.25e400", "1.25e400"),
            ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ] {
            assert_eq!(read(text).to_string(), printed);
            assert_eq!(read(printed), read(text));
        }
        let ascending = [
            "-1e400",
            "-18446744073709551615",
            "-1e-400",
            "0",
            "1e-400",
            "5e-324",
            "0.1",
            "0.10000000000000000001",
            "0.3",
            "0.30000000000000004",
            "0.3000000000000000444",
            "1",
            "1.00000000000000000001",
            "9223372036854775807",
            "9223372036854775808",
            "9223372036854776000",
            "18446744073709551615",
            "18446744073709552000",
            "1e300",
            "1e400",
        ];
        for (position, text) in ascending.iter().enumerate() {
            for (other, second) in ascending.iter().enumerate() {
                assert_eq!(order(read(text), read(second)), position.cmp(&other), "{text} against {second}");
            }
            assert!(order(read(text), ValueRef::number(f64::INFINITY).unwrap()).is_lt());
            assert!(order(read(text), ValueRef::number(f64::NEG_INFINITY).unwrap()).is_gt());
        }
    }

    proptest! {
        #[test]
        fn floats_and_their_texts_are_one(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            prop_assume!(float.is_finite());
            prop_assert_eq!(ValueRef::number(float), Some(read(&format!("{float:e}"))));
            prop_assert_eq!(ValueRef::number(float), Some(read(&format!("{float}"))));
        }

        #[test]
        fn order_is_that_of_the_digits(a in any::<i64>(), b in any::<i64>(), x in -12..1i32, y in -12..1i32) {
            let (a, b) = (i128::from(a), i128::from(b));
            let (left, right) = (ValueRef::decimal(a, x).unwrap(), ValueRef::decimal(b, y).unwrap());
            let expected = (a * 10i128.pow((x + 12) as u32)).cmp(&(b * 10i128.pow((y + 12) as u32)));
            prop_assert_eq!(order(left, right), expected);
            prop_assert_eq!(left == right, expected.is_eq());
        }
    }
}
