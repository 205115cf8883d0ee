//! What can go wrong, and how is it reported?
//!
//! There is one error type for the whole engine. Parsing and building may fail; matching fails only at a deadline or
//! on a damaged file.

use std::fmt;

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, where, and what would be right.
///
/// [`source`](std::error::Error::source) returns the error of the item or filter that caused it, if there is one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Text that is not an expression.
    Syntax(Box<SyntaxError>),
    /// An expression that is well formed but meaningless, such as `a < true`.
    Expression(String),
    /// An event that cannot be decoded.
    Event(String),
    /// An XML document that is not well formed, or cannot be decoded.
    Document {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A node or edge that cannot be used.
    Graph(String),
    /// Input that exceeds a bound of `Limits`.
    Limit {
        /// What was counted.
        what: &'static str,
        /// The field of `Limits` that sets the bound.
        name: &'static str,
        /// How much there was when counting stopped.
        found: usize,
        /// How much is allowed.
        allowed: usize,
    },
    /// A match that was not finished when its time was up.
    Timeout {
        /// How long it was allowed to take.
        seconds: f64,
    },
    /// An XML filter that could not be evaluated.
    Filter {
        /// The filter's id.
        id: crate::Id,
        /// Why not.
        cause: Box<Error>,
    },
    /// A file of an index that cannot be written, read or trusted.
    Storage {
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Work that was stopped from outside; nothing has changed.
    Cancelled,
    /// A change in a process that was forked while another thread, which the new process does not have, was making a
    /// change.
    Forked {
        /// What was to be changed.
        what: &'static str,
    },
    /// An item of a batch is wrong; nothing of the batch was added.
    Item {
        /// Position in the batch, from 0.
        position: usize,
        /// The item, as a reader would name it.
        name: String,
        /// What was wrong with it.
        cause: Box<Error>,
    },
}

/// Where text stops being an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset of the offending text.
    pub offset: usize,
    /// The offending text.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
    /// A keyword that may have been meant.
    pub suggestion: Option<String>,
    /// The line, shortened around the error, and below it a line that marks the place.
    pub excerpt: [String; 2],
}

impl Error {
    /// An expression that cannot be taken, for this reason.
    pub fn expression(message: impl Into<String>) -> Error {
        Error::Expression(message.into())
    }

    /// A file or folder that cannot be read or written, for this reason.
    pub fn storage(path: &std::path::Path, reason: impl fmt::Display) -> Error {
        Error::Storage { path: path.display().to_string(), reason: reason.to_string() }
    }

    /// An event that cannot be read, for this reason.
    pub fn event(message: impl Into<String>) -> Error {
        Error::Event(message.into())
    }
}

/// Fails when `found` exceeds `allowed`; `name` is the field of `Limits` to raise.
pub fn check_limit(what: &'static str, name: &'static str, found: usize, allowed: usize) -> Result<()> {
    if found > allowed {
        return Err(Error::Limit { what, name, found, allowed });
    }
    Ok(())
}

/// At most 60 characters of `text`, for messages.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax(error) => error.fmt(f),
            Error::Expression(message) | Error::Event(message) | Error::Graph(message) => {
                f.write_str(message)
            }
            Error::Document { line, column, message } => write!(f, "line {line}, column {column}: {message}"),
            Error::Limit { what, name, found, allowed } => {
                write!(f, "{what}: {found} exceeds the limit of {allowed} (limit `{name}`)")
            }
            Error::Timeout { seconds } => write!(f, "the match was not done after {seconds} s"),
            Error::Filter { id, cause } => write!(f, "filter {id}: {cause}"),
            Error::Storage { path, reason } => write!(f, "{path}: {reason}"),
            Error::Cancelled => f.write_str("cancelled; nothing has changed"),
            Error::Forked { what } => write!(
                f,
                "another thread was changing the {what} when this process was forked: it can be read, but not \
                 changed or saved here; open or build it again in this process"
            ),
            Error::Item { position, name, cause } => write!(f, "item {position} ({name}): {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Filter { cause, .. } | Error::Item { cause, .. } => Some(&**cause),
            _ => None,
        }
    }
}

impl std::error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SyntaxError { line, column, found, expected, excerpt, .. } = self;
        write!(f, "line {line}, column {column}: expected {expected}, found {found}")?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        write!(f, "\n  {}\n  {}", excerpt[0], excerpt[1])
    }
}

impl Error {
    /// Locates `range` (in bytes, on character boundaries) in `text` and draws the excerpt.
    pub fn syntax(
        text: &str,
        range: std::ops::Range<usize>,
        found: String,
        expected: String,
        suggestion: Option<&str>,
    ) -> Error {
        /// Characters of the line shown on either side of the place.
        const AROUND: usize = 60;
        let before = &text[..range.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[range.start..].find('\n').map_or(text.len(), |end| range.start + end);
        let column = text[line_start..range.start].chars().count();

        let shown_start = text[line_start..range.start]
            .char_indices()
            .rev()
            .nth(AROUND - 1)
            .map_or(line_start, |(index, _)| line_start + index);
        let marked_end = range.end.clamp(range.start, line_end);
        let shown_end = text[range.start..line_end]
            .char_indices()
            .nth(AROUND)
            .map_or(line_end, |(index, _)| range.start + index);
        let cut_left = if shown_start > line_start { "..." } else { "" };
        let cut_right = if shown_end < line_end { "..." } else { "" };
        let shown = |part: &str| part.replace(|c: char| c.is_control(), " ");

        let width = text[range.start..marked_end.min(shown_end)].chars().count().max(1);
        let indent = cut_left.len() + text[shown_start..range.start].chars().count();
        Error::Syntax(Box::new(SyntaxError {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            offset: range.start,
            found,
            expected,
            suggestion: suggestion.map(str::to_owned),
            excerpt: [
                format!("{cut_left}{}{cut_right}", shown(&text[shown_start..shown_end])),
                format!("{}{}", " ".repeat(indent), "^".repeat(width)),
            ],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(text: &str, range: std::ops::Range<usize>) -> SyntaxError {
        match Error::syntax(text, range, "x".into(), "y".into(), None) {
            Error::Syntax(error) => *error,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_place_is_marked() {
        let text = "a = 1\nand ünder betwen 3";
        let start = text.find("betwen").unwrap();
        let error = locate(text, start..start + 6);
        assert_eq!((error.line, error.column), (2, 11));
        assert_eq!(error.excerpt, ["and ünder betwen 3", "          ^^^^^^"]);
    }

    #[test]
    fn the_error_of_an_item_is_its_source() {
        let cause = Box::new(Error::Cancelled);
        let error = Error::Item { position: 3, name: "'a'".into(), cause };
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.downcast_ref::<Error>(), Some(&Error::Cancelled));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{} ? {}", "ä".repeat(500), "b".repeat(500));
        let start = text.find('?').unwrap();
        let error = locate(&text, start..start + 1);
        assert_eq!(error.column, 502);
        assert!(error.excerpt[0].chars().count() < 140);
        let mark = error.excerpt[1].chars().count() - 1;
        assert_eq!(error.excerpt[0].chars().nth(mark), Some('?'));
    }
}
