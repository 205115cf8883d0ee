//! How do three truth values combine?
//!
//! Kleene's logic, as in SQL's WHERE (Table 2 of Ji & Jacobsen 2021): with the order false < unknown <
//! true, `and` is the minimum of two values and `or` the maximum.

use std::ops::Not;

/// True, false, or unknown because a value is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Truth {
    False,
    #[default]
    Unknown,
    True,
}

impl Truth {
    /// True if both are.
    #[inline]
    pub fn and(self, other: Truth) -> Truth {
        self.min(other)
    }

    /// True if either is.
    #[inline]
    pub fn or(self, other: Truth) -> Truth {
        self.max(other)
    }

    /// True if the two differ; unknown if either is.
    #[inline]
    pub fn xor(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
            (a, b) => Truth::from(a != b),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Truth::False => "false",
            Truth::Unknown => "unknown",
            Truth::True => "true",
        }
    }
}

impl Not for Truth {
    type Output = Truth;

    #[inline]
    fn not(self) -> Truth {
        match self {
            Truth::False => Truth::True,
            Truth::Unknown => Truth::Unknown,
            Truth::True => Truth::False,
        }
    }
}

impl From<bool> for Truth {
    #[inline]
    fn from(value: bool) -> Truth {
        if value { Truth::True } else { Truth::False }
    }
}

/// What a predicate answers on an attribute without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Unknown, and so is its negation: the strong negation of Whang et al. 2009, section 2.2.
    #[default]
    Unknown,
    /// False, so its negation is true: weak negation.
    False,
}

impl Missing {
    /// The truth of a predicate, before its negation, on an attribute without a value.
    #[inline]
    pub fn truth(self) -> Truth {
        match self {
            Missing::Unknown => Truth::Unknown,
            Missing::False => Truth::False,
        }
    }
}
