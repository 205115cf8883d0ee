//! What is the id of a subscription, a filter or a node?

use std::fmt;
use std::sync::Arc;

/// What a user calls a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A 64-bit integer.
    Integer(i64),
    /// Text.
    String(Arc<str>),
}

/// An id with its text borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdRef<'a> {
    /// A 64-bit integer.
    Integer(i64),
    /// Text.
    String(&'a str),
}

/// The type of an id precedes its bytes.
const INTEGER: u8 = b'i';
const STRING: u8 = b's';

impl Id {
    /// This id with its text borrowed.
    #[inline]
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::Integer(number) => IdRef::Integer(*number),
            Id::String(text) => IdRef::String(text),
        }
    }
}

impl<'a> IdRef<'a> {
    /// A copy that owns its text.
    pub fn to_id(self) -> Id {
        match self {
            IdRef::Integer(number) => Id::Integer(number),
            IdRef::String(text) => Id::String(text.into()),
        }
    }

    /// The id as bytes, for a file.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_to(&mut bytes);
        bytes
    }

    /// Appends the id as bytes.
    pub fn encode_to(self, bytes: &mut Vec<u8>) {
        match self {
            IdRef::Integer(number) => {
                bytes.push(INTEGER);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            IdRef::String(text) => {
                bytes.push(STRING);
                bytes.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// The text in such bytes, not yet checked to be UTF-8; `None` if they are not those of a text.
    #[inline]
    pub(crate) fn string_bytes(bytes: &[u8]) -> Option<&[u8]> {
        bytes.strip_prefix(&[STRING])
    }

    /// The id in such bytes; `None` if they are invalid.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Option<IdRef<'a>> {
        match bytes {
            [INTEGER, number @ ..] => Some(IdRef::Integer(i64::from_le_bytes(number.try_into().ok()?))),
            [STRING, text @ ..] => std::str::from_utf8(text).ok().map(IdRef::String),
            _ => None,
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::String(text.into())
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Id::Integer(number)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Integer(number) => number.fmt(f),
            Id::String(text) => write!(f, "{text:?}"),
        }
    }
}
