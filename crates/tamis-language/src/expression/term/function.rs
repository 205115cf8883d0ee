//! Which functions are there, and what do they take?

use super::{Context, Term};
use crate::error::{Error, Result};
use crate::value::Value;

/// A function of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Function {
    Lower,
    Upper,
    Trim,
    Length,
    Substring,
    Concat,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    Abs,
    Round,
    Floor,
    Ceil,
    Size,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Weekday,
    Date,
    Now,
    Coalesce,
    Cast(Type),
    Type,
    Values,
    Bucket,
    /// A comparison of two terms, true or false if both have values.
    Compare(Comparison),
    /// An argument read as what it is compared with, if only as a value that nobody asks for.
    Read(Reading),
    /// Whether an attribute has no value, so that tests of it are unknown.
    IsUnknown,
}

/// The operators that may have a term on their right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    StartsWith,
    EndsWith,
    Contains,
}

/// What a string is read as where it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Reading {
    Time,
    Address,
    Version,
    /// A time as its distance from `now()`.
    SinceNow,
}

/// The types of `cast`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    String,
    Integer,
    Decimal,
    Float,
    Boolean,
    Timestamp,
    Date,
}

/// Functions that are written with a name and parentheses: name, least and most arguments.
const NAMED: [(&str, Function, usize, usize); 24] = [
    ("lower", Function::Lower, 1, 1),
    ("upper", Function::Upper, 1, 1),
    ("trim", Function::Trim, 1, 1),
    ("length", Function::Length, 1, 1),
    ("substring", Function::Substring, 3, 3),
    ("concat", Function::Concat, 1, MOST_ARGUMENTS),
    ("abs", Function::Abs, 1, 1),
    ("round", Function::Round, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("ceil", Function::Ceil, 1, 1),
    ("size", Function::Size, 1, 1),
    ("year", Function::Year, 1, 1),
    ("month", Function::Month, 1, 1),
    ("day", Function::Day, 1, 1),
    ("hour", Function::Hour, 1, 1),
    ("minute", Function::Minute, 1, 1),
    ("weekday", Function::Weekday, 1, 1),
    ("date", Function::Date, 1, 1),
    ("now", Function::Now, 0, 0),
    ("coalesce", Function::Coalesce, 1, MOST_ARGUMENTS),
    ("type", Function::Type, 1, 1),
    ("values", Function::Values, 0, 0),
    ("bucket", Function::Bucket, 2, 3),
    ("-", Function::Negate, 1, 1),
];

/// Operators between two terms, with how tightly they bind.
const INFIX: [(&str, Function, u8); 5] = [
    ("+", Function::Add, 1),
    ("-", Function::Subtract, 1),
    ("*", Function::Multiply, 2),
    ("/", Function::Divide, 2),
    ("%", Function::Remainder, 2),
];

const COMPARISONS: [(&str, Comparison); 8] = [
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    ("<=", Comparison::AtMost),
    (">", Comparison::Greater),
    (">=", Comparison::AtLeast),
    ("starts with", Comparison::StartsWith),
    ("ends with", Comparison::EndsWith),
    ("contains", Comparison::Contains),
];

const TYPES: [(&str, Type); 7] = [
    ("string", Type::String),
    ("integer", Type::Integer),
    ("decimal", Type::Decimal),
    ("float", Type::Float),
    ("boolean", Type::Boolean),
    ("timestamp", Type::Timestamp),
    ("date", Type::Date),
];

/// `concat` and `coalesce` take no more.
const MOST_ARGUMENTS: usize = 100;

impl Type {
    /// The type of this name, whatever its case.
    pub fn from_name(name: &str) -> Option<Type> {
        TYPES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, known_type)| *known_type)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, known_type)| *known_type == self).map_or("", |(name, _)| name)
    }

    /// All names, for messages.
    pub fn names() -> String {
        TYPES.map(|(name, _)| format!("`{name}`")).join(", ")
    }
}

impl Comparison {
    /// The comparison with this spelling.
    pub fn from_spelling(spelling: &str) -> Option<Comparison> {
        COMPARISONS.iter().find(|(known, _)| *known == spelling).map(|(_, comparison)| *comparison)
    }

    /// Its spelling.
    pub fn spelling(self) -> &'static str {
        COMPARISONS.iter().find(|(_, comparison)| *comparison == self).map_or("", |(spelling, _)| spelling)
    }
}

impl Function {
    /// The function with this name, whatever its case.
    pub fn from_name(name: &str) -> Option<Function> {
        NAMED.iter().find(|(known, ..)| name.eq_ignore_ascii_case(known)).map(|(_, function, ..)| *function)
    }

    /// The operator between two terms that is written so.
    pub fn from_infix(operator: &str) -> Option<Function> {
        INFIX.iter().find(|(known, ..)| *known == operator).map(|(_, function, _)| *function)
    }

    /// The operator and its precedence, if it is written between two terms.
    pub(crate) fn infix(self) -> Option<(&'static str, u8)> {
        INFIX
            .iter()
            .find(|(_, function, _)| *function == self)
            .map(|(operator, _, binds)| (*operator, *binds))
    }

    /// The name in text and in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Function::Cast(_) => "cast",
            Function::Compare(comparison) => comparison.spelling(),
            Function::IsUnknown => "is unknown",
            Function::Read(_) => "",
            other => match other.infix() {
                Some((operator, _)) => operator,
                None => NAMED.iter().find(|(_, known, ..)| *known == other).map_or("", |(name, ..)| name),
            },
        }
    }

    /// The names of all functions that are written with parentheses, for messages.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).filter(|name| *name != "-").collect();
        names.extend(["cast", "try_cast", "any", "all", "none", "exists", "missing", "xpath", "startswith"]);
        names.extend(["endswith", "contains", "array_contains"]);
        names.sort_unstable();
        names
    }

    /// Fails if the arguments are too few, too many, or constants of a type that has no result.
    pub(super) fn check(self, arguments: &[Term]) -> Result<()> {
        let known = NAMED.iter().find(|(_, function, ..)| *function == self);
        let (name, least, most) = match (self, known) {
            (_, Some((name, _, least, most))) => (*name, *least, *most),
            (Function::Cast(_) | Function::Read(_) | Function::IsUnknown, None) => (self.name(), 1, 1),
            _ => (self.name(), 2, 2),
        };
        if arguments.len() < least || arguments.len() > most {
            let expected = match (least, most) {
                (0, 0) => "no argument".to_owned(),
                (1, 1) => "one argument".to_owned(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, MOST_ARGUMENTS) if arguments.len() < least => "at least one argument".to_owned(),
                (_, MOST_ARGUMENTS) => format!("at most {MOST_ARGUMENTS} arguments"),
                (least, most) => format!("{least} or {most} arguments"),
            };
            let found = arguments.len();
            return Err(Error::expression(format!("`{name}` takes {expected}, not {found}")));
        }
        match (self, arguments) {
            (Function::Bucket, [_, Term::Constant(Value::Integer(1..)), rest @ ..]) => match rest {
                [] | [Term::Constant(Value::String(_))] => Ok(()),
                _ => Err(Error::expression("the salt of `bucket` is a string")),
            },
            (Function::Bucket, _) => {
                Err(Error::expression("the number of buckets of `bucket` is an integer of at least 1"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a result that is a number is a float, given whether an argument is.
    pub fn gives_float(self, floating: bool) -> bool {
        match self {
            Function::Cast(to) => to == Type::Float,
            Function::Add | Function::Subtract | Function::Multiply | Function::Divide => floating,
            Function::Remainder | Function::Negate | Function::Abs | Function::Round => floating,
            Function::Floor | Function::Ceil | Function::Coalesce => floating,
            _ => false,
        }
    }

    /// Whether it depends on the moment of evaluation.
    pub fn asks_now(self) -> bool {
        matches!(self, Function::Now | Function::Read(Reading::SinceNow))
    }

    /// The constant that a function of constants is, where that depends on nothing else.
    pub(in crate::expression) fn fold(self, arguments: &[Term]) -> Option<Value> {
        if matches!(self, Function::Now | Function::Values | Function::IsUnknown | Function::Read(_)) {
            return None;
        }
        // A constant is an exact number, with which another calculates otherwise than with a float.
        if self.gives_float(false) {
            return None;
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Term::Constant(value) => values.push(value.as_ref()),
                _ => return None,
            }
        }
        self.apply(&values, &Context::default())
    }
}
