//! How are times read and written?

use std::fmt;

use super::{Civil, DAY, Date, Duration, LocalTime, SECOND, Seconds, Timestamp, Written};

impl Written {
    /// Parses a text; `None` if it is not a time.
    pub fn read(text: &str) -> Option<Written> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<u32> {
            let digits = bytes.get(from..to)?;
            digits
                .iter()
                .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
        };
        let is = |position: usize, byte: u8| bytes.get(position) == Some(&byte);
        let date = Date::new(number(0, 4)? as i32, number(5, 7)?, number(8, 10)?)?;
        if !is(4, b'-') || !is(7, b'-') {
            return None;
        }
        if bytes.len() == 10 {
            return Some(Written::Date(date));
        }
        let (hour, minute) = (number(11, 13)?, number(14, 16)?);
        if !(is(10, b'T') || is(10, b' ')) || !is(13, b':') || hour > 23 || minute > 59 {
            return None;
        }
        let (mut second, mut nanoseconds, mut end) = (0, 0, 16);
        if is(16, b':') {
            (second, end) = (number(17, 19)?, 19);
            if is(19, b'.') {
                let count = bytes[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                if !(1..=9).contains(&count) {
                    return None;
                }
                nanoseconds = number(20, 20 + count)? * 10u32.pow(9 - count as u32);
                end = 20 + count;
            }
        }
        if second > 59 {
            return None;
        }
        let seconds = i64::from(date.0) * DAY + i64::from(hour * 3600 + minute * 60 + second);
        let local = LocalTime(Seconds { seconds, nanoseconds });
        if end == bytes.len() {
            return Some(Written::Local(local));
        }
        Some(Written::Moment(local.at(read_offset(&bytes[end..])?)))
    }
}

/// The seconds of `Z`, `+02:00`, `+0200` or `+02`.
pub(in crate::value) fn read_offset(bytes: &[u8]) -> Option<i64> {
    let (sign, digits) = match bytes {
        b"Z" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let two = |tens: &u8, ones: &u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i64::from((tens - b'0') * 10 + (ones - b'0')))
    };
    let (hours, minutes) = match digits {
        [a, b] => (two(a, b)?, 0),
        [a, b, c, d] | [a, b, b':', c, d] => (two(a, b)?, two(c, d)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The span that a text such as `7 day`, `1.5 seconds` or `1 day 2 hours` denotes; or why it denotes none.
pub fn read_interval(text: &str) -> Result<Duration, String> {
    const EXAMPLE: &str = "an interval is a number and a unit, as in `interval '7' day`";
    let mut fields = text.split_ascii_whitespace();
    let mut total: Option<i128> = None;
    while let Some(number) = fields.next() {
        let unit = fields.next().ok_or(EXAMPLE)?.to_ascii_lowercase();
        let unit = unit.strip_suffix('s').unwrap_or(&unit);
        let nanoseconds: i128 = match unit {
            "week" => 604_800_000_000_000,
            "day" => 86_400_000_000_000,
            "hour" => 3_600_000_000_000,
            "minute" => 60_000_000_000,
            "second" => 1_000_000_000,
            "millisecond" => 1_000_000,
            "microsecond" => 1_000,
            "nanosecond" => 1,
            "month" | "year" => {
                return Err(format!("a {unit} has no fixed length; write the interval in days"));
            }
            _ => {
                return Err(format!(
                    "`{}` is not a unit of time; known are week, day, hour, minute, second, millisecond, microsecond and nanosecond",
                    crate::error::shorten(unit)
                ));
            }
        };
        let (coefficient, exponent) = crate::value::number::read_number(number)
            .ok()
            .and_then(|number| number.decimal_parts())
            .ok_or(EXAMPLE)?;
        let product = coefficient.checked_mul(nanoseconds);
        let part = match u32::try_from(exponent) {
            Ok(power) => 10i128.checked_pow(power).and_then(|power| product?.checked_mul(power)),
            Err(_) => {
                let power = 10i128.checked_pow(exponent.unsigned_abs());
                match (product, power) {
                    (Some(product), Some(power)) if product % power == 0 => Some(product / power),
                    (Some(_), _) => {
                        return Err(format!(
                            "an interval is exact to a nanosecond, which {number} {unit} is not"
                        ));
                    }
                    _ => None,
                }
            }
        };
        total = part.and_then(|part| total.unwrap_or(0).checked_add(part));
        if total.and_then(Duration::from_nanoseconds).is_none() {
            return Err(format!("an interval of {} {unit}s is too long", crate::error::shorten(number)));
        }
    }
    total.and_then(Duration::from_nanoseconds).ok_or_else(|| EXAMPLE.to_owned())
}

/// A fraction of a second without trailing zeros.
fn write_fraction(f: &mut fmt::Formatter<'_>, nanoseconds: u32) -> fmt::Result {
    match nanoseconds {
        0 => Ok(()),
        _ => write!(f, ".{}", format!("{nanoseconds:09}").trim_end_matches('0')),
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = self.clock();
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date())?;
        write_fraction(f, self.parts().1)
    }
}

/// In UTC; a moment outside the supported years in UTC is written with an offset of a day.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (offset, written) in [(0, "Z"), (DAY - 60, "+23:59"), (60 - DAY, "-23:59")] {
            if let Some(local) = self.local(offset) {
                return write!(f, "{local}{written}");
            }
        }
        write!(f, "out of range")
    }
}

/// In the largest unit of which it is a whole number, or in seconds.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = self.in_unit();
        write!(f, "{number} {unit}")
    }
}

impl Duration {
    /// A number and its unit: the largest of which it is a whole number, or seconds.
    pub(in crate::value) fn in_unit(self) -> (String, &'static str) {
        let (seconds, nanoseconds) = self.parts();
        if nanoseconds == 0 {
            let units = [(DAY, "day"), (3600, "hour"), (60, "minute")];
            let whole = units.into_iter().find(|(length, _)| seconds != 0 && seconds % length == 0);
            let (length, unit) = whole.unwrap_or((1, "second"));
            return ((seconds / length).to_string(), unit);
        }
        let total = self.nanoseconds();
        let sign = if total < 0 { "-" } else { "" };
        let (whole, fraction) =
            (total.unsigned_abs() / u128::from(SECOND), total.unsigned_abs() % u128::from(SECOND));
        let fraction = format!("{fraction:09}");
        (format!("{sign}{whole}.{}", fraction.trim_end_matches('0')), "second")
    }
}

macro_rules! debug_as_display {
    ($($kind:ident)*) => { $(
        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($kind))
            }
        }
    )* };
}
debug_as_display!(Date LocalTime Timestamp Duration);
