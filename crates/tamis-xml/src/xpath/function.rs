//! Which functions are there, what do they take and what do they return?

use super::Type;

/// A function of XPath 1.0's core library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
}

/// Name, function, fewest and most arguments, and result type.
type Signature = (&'static str, Function, usize, usize, Type);

const FUNCTIONS: [Signature; 27] = [
    ("last", Function::Last, 0, 0, Type::Number),
    ("position", Function::Position, 0, 0, Type::Number),
    ("count", Function::Count, 1, 1, Type::Number),
    ("id", Function::Id, 1, 1, Type::Nodes),
    ("local-name", Function::LocalName, 0, 1, Type::String),
    ("namespace-uri", Function::NamespaceUri, 0, 1, Type::String),
    ("name", Function::Name, 0, 1, Type::String),
    ("string", Function::String, 0, 1, Type::String),
    ("concat", Function::Concat, 2, usize::MAX, Type::String),
    ("starts-with", Function::StartsWith, 2, 2, Type::Boolean),
    ("contains", Function::Contains, 2, 2, Type::Boolean),
    ("substring-before", Function::SubstringBefore, 2, 2, Type::String),
    ("substring-after", Function::SubstringAfter, 2, 2, Type::String),
    ("substring", Function::Substring, 2, 3, Type::String),
    ("string-length", Function::StringLength, 0, 1, Type::Number),
    ("normalize-space", Function::NormalizeSpace, 0, 1, Type::String),
    ("translate", Function::Translate, 3, 3, Type::String),
    ("boolean", Function::Boolean, 1, 1, Type::Boolean),
    ("not", Function::Not, 1, 1, Type::Boolean),
    ("true", Function::True, 0, 0, Type::Boolean),
    ("false", Function::False, 0, 0, Type::Boolean),
    ("lang", Function::Lang, 1, 1, Type::Boolean),
    ("number", Function::Number, 0, 1, Type::Number),
    ("sum", Function::Sum, 1, 1, Type::Number),
    ("floor", Function::Floor, 1, 1, Type::Number),
    ("ceiling", Function::Ceiling, 1, 1, Type::Number),
    ("round", Function::Round, 1, 1, Type::Number),
];

impl Function {
    pub fn find(name: &str) -> Option<&'static Signature> {
        FUNCTIONS.iter().find(|signature| signature.0 == name)
    }

    /// The closest function name, as a suggestion for a misspelt one.
    pub fn nearest(name: &str) -> Option<&'static str> {
        let distances =
            FUNCTIONS.iter().map(|signature| (strsim::osa_distance(name, signature.0), signature.0));
        distances.filter(|(distance, _)| *distance <= 2).min().map(|(_, name)| name)
    }

    /// Whether the function, with this number of arguments, reads the context node.
    pub fn speaks_of_context(self, arguments: usize) -> bool {
        match self {
            Function::True | Function::False | Function::Last | Function::Position => false,
            Function::Lang => true,
            _ => arguments == 0,
        }
    }

    /// Whether every argument must be a node-set.
    pub fn takes_nodes(self) -> bool {
        matches!(
            self,
            Function::Count | Function::Sum | Function::LocalName | Function::NamespaceUri | Function::Name
        )
    }
}
