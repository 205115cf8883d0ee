//! How are values written whose types JSON lacks?
//!
//! In text as a keyword and a string, `timestamp '2026-01-02 05:00:00Z'`; in the JSON form as an object of
//! one member, `{"timestamp": "2026-01-02 05:00:00Z"}`.

use std::fmt;

use super::address::{Address, Network};
use super::time::{Written, read_interval};
use super::version::read_version;
use super::{Value, ValueRef, write_quoted};

/// The keywords that begin a typed constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConstantType {
    Timestamp,
    Date,
    Interval,
    Cidr,
    Ip,
    Version,
}

/// Every keyword, for messages.
pub const CONSTANT_KEYWORDS: [&str; 6] = ["timestamp", "date", "interval", "cidr", "ip", "version"];

impl ConstantType {
    /// The type that a keyword denotes, in any case.
    pub fn from_keyword(keyword: &str) -> Option<ConstantType> {
        use ConstantType::{Cidr, Date, Interval, Ip, Timestamp, Version};
        let types = [Timestamp, Date, Interval, Cidr, Ip, Version];
        types
            .into_iter()
            .zip(CONSTANT_KEYWORDS)
            .find_map(|(one, known)| keyword.eq_ignore_ascii_case(known).then_some(one))
    }

    /// The value of the text after the keyword, or why there is none.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let shown = || ValueRef::String(&crate::error::shorten(text)).to_string();
        match self {
            ConstantType::Timestamp => match Written::read(text) {
                Some(Written::Date(date)) => Ok(Value::Local(date.midnight())),
                Some(Written::Local(local)) => Ok(Value::Local(local)),
                Some(Written::Moment(moment)) => Ok(Value::Timestamp(moment)),
                None => Err(format!(
                    "{} is not a timestamp; write it as in timestamp '2026-01-02 05:00:00Z', with a year from 1 to 9999",
                    shown()
                )),
            },
            ConstantType::Date => match Written::read(text) {
                Some(Written::Date(date)) => Ok(Value::Date(date)),
                Some(_) => Err(format!("{} is not a date but a timestamp", shown())),
                None => Err(format!(
                    "{} is not a date; write it as in date '2026-01-02', with a year from 1 to 9999",
                    shown()
                )),
            },
            ConstantType::Interval => read_interval(text).map(Value::Duration),
            ConstantType::Cidr => {
                let network = Network::read(text)?;
                Ok(network.single().map_or(Value::Network(network), Value::Address))
            }
            ConstantType::Ip => Address::read(text).map(Value::Address).ok_or_else(|| {
                format!("{} is not an address; write it as in ip '10.0.0.1' or ip '::1'", shown())
            }),
            ConstantType::Version => read_version(text)
                .map(|version| Value::Version(version.into()))
                .ok_or_else(|| format!("{} is not a version; write it as in version '2.10.0-rc.1'", shown())),
        }
    }
}

/// Prints the constant of the expression language.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRef::Boolean(value) => write!(f, "{value}"),
            ValueRef::Integer(value) => write!(f, "{value}"),
            ValueRef::Float(value) => value.fmt(f),
            ValueRef::Decimal(value) => value.fmt(f),
            ValueRef::String(text) => write_quoted(f, text, '\''),
            ValueRef::Duration(value) => {
                let (number, unit) = value.in_unit();
                write!(f, "interval '{number}' {unit}")
            }
            other => match other.as_typed_constant() {
                Some((keyword, text)) => write!(f, "{keyword} '{text}'"),
                None => Ok(()),
            },
        }
    }
}

impl ValueRef<'_> {
    /// The keyword and the text of a typed constant; `None` for values that JSON has.
    pub fn as_typed_constant(self) -> Option<(&'static str, String)> {
        Some(match self {
            ValueRef::Boolean(_)
            | ValueRef::Integer(_)
            | ValueRef::Float(_)
            | ValueRef::Decimal(_)
            | ValueRef::String(_) => return None,
            ValueRef::Timestamp(value) => ("timestamp", value.to_string()),
            ValueRef::Local(value) => ("timestamp", value.to_string()),
            ValueRef::Date(value) => ("date", value.to_string()),
            ValueRef::Duration(value) => ("interval", value.to_string()),
            ValueRef::Address(value) => ("ip", value.to_string()),
            ValueRef::Network(value) => ("cidr", value.to_string()),
            ValueRef::Version(value) => ("version", value.to_owned()),
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_print_as_they_are_read() {
        for (keyword, text, printed) in [
            ("timestamp", "2026-01-02T05:00+02:00", "timestamp '2026-01-02 03:00:00Z'"),
            ("timestamp", "2026-01-02T05:00", "timestamp '2026-01-02 05:00:00'"),
            ("TIMESTAMP", "2026-01-02", "timestamp '2026-01-02 00:00:00'"),
            ("date", "2026-01-02", "date '2026-01-02'"),
            ("interval", "7 days", "interval '7' day"),
            ("cidr", "10.0.0.0/8", "cidr '10.0.0.0/8'"),
            ("cidr", "10.0.0.1/32", "ip '10.0.0.1'"),
            ("ip", "2001:DB8::0:1", "ip '2001:db8::1'"),
            ("version", "v2.10", "version '2.10.0'"),
        ] {
            let value = ConstantType::from_keyword(keyword).unwrap().read(text).unwrap();
            assert_eq!(value.to_string(), printed);
            let (keyword, text) = value.as_ref().as_typed_constant().unwrap();
            assert_eq!(ConstantType::from_keyword(keyword).unwrap().read(&text), Ok(value));
        }
        for (keyword, text) in [
            ("timestamp", "tomorrow"),
            ("date", "2026-01-02 05:00"),
            ("date", "2026-02-30"),
            ("interval", "7"),
            ("cidr", "10.0.0.1/8"),
            ("ip", "10.0.0.0/8"),
            ("version", "latest"),
        ] {
            assert!(ConstantType::from_keyword(keyword).unwrap().read(text).is_err(), "{keyword} {text}");
        }
    }
}
