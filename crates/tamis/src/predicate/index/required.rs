//! Which piece of text must a string hold to follow a pattern?
//!
//! A pattern is tried only on strings that hold one of its required literals, which an automaton
//! finds for all patterns at once. Of several choices the one with the longest shortest literal is
//! taken, because a longer literal is rarer.

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, HirKind};

use crate::predicate::glob::Glob;

/// The most literals one pattern may ask for; a pattern that needs more is tried on every string.
const MOST: usize = 64;

/// What a `like` pattern requires.
pub(super) fn of_glob(glob: &Glob) -> Option<Vec<Vec<u8>>> {
    let literal = glob.longest_literal();
    (!literal.is_empty()).then(|| vec![literal.into_bytes()])
}

/// What a regular expression requires: every string it is found in holds one of these.
pub(super) fn of_regex(text: &str) -> Option<Vec<Vec<u8>>> {
    // The text has compiled already, so that this parses; if not, nothing is required.
    let hir = regex_syntax::parse(text).ok()?;
    let extracted = [ExtractKind::Prefix, ExtractKind::Suffix].into_iter().map(|kind| {
        let sequence = Extractor::new().kind(kind).limit_total(MOST).extract(&hir);
        sequence
            .literals()
            .map(|literals| literals.iter().map(|literal| literal.as_bytes().to_vec()).collect())
    });
    let choices = extracted.flatten().chain(inner(&hir));
    choices.filter(|literals| usable(literals)).max_by_key(|literals| worth(literals)).map(|mut literals| {
        literals.sort_unstable();
        literals.dedup();
        literals
    })
}

fn usable(literals: &[Vec<u8>]) -> bool {
    (1..=MOST).contains(&literals.len()) && literals.iter().all(|literal| !literal.is_empty())
}

/// How rare the literals are likely to be: by the shortest of them, then by their number.
fn worth(literals: &[Vec<u8>]) -> (usize, std::cmp::Reverse<usize>) {
    (literals.iter().map(Vec::len).min().unwrap_or(0), std::cmp::Reverse(literals.len()))
}

/// Literals from anywhere in the expression. The parser bounds the depth of what is walked here.
fn inner(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => inner(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => inner(&repetition.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .filter_map(inner)
            .filter(|literals| usable(literals))
            .max_by_key(|literals| worth(literals)),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(inner(branch)?);
                if all.len() > MOST {
                    return None;
                }
            }
            Some(all)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(text: &str) -> Option<Vec<String>> {
        let literals = of_regex(text)?;
        Some(literals.into_iter().map(|literal| String::from_utf8(literal).unwrap()).collect())
    }

    #[test]
    fn regular_expressions() {
        let some = |literals: &[&str]| Some(literals.iter().map(|text| text.to_string()).collect());
        assert_eq!(required(r"^\d+ error: .* in (line|column)"), some(&[" error: "]));
        assert_eq!(required("(foo|bar)x*"), some(&["bar", "foo"]));
        assert_eq!(required("(abc)+"), some(&["abc"]));
        assert_eq!(required("(abc)?"), None);
        assert_eq!(required("a*"), None);
        assert_eq!(required("foo|.*"), None);
        assert_eq!(required(""), None);
        assert_eq!(required(r"\d+"), None);
        let spellings = required("(?i)error").unwrap();
        assert!(spellings.contains(&"eRRor".to_string()));
        assert!(spellings.iter().all(|spelling| spelling.eq_ignore_ascii_case("error")));
    }

    #[test]
    fn globs() {
        assert_eq!(of_glob(&Glob::new("a%bcd_e%")), Some(vec![b"bcd".to_vec()]));
        assert_eq!(of_glob(&Glob::new("%_%")), None);
        assert_eq!(of_glob(&Glob::new("_\u{fc}%")), Some(vec!["\u{fc}".as_bytes().to_vec()]));
    }
}
