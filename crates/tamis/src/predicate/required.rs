//! Which text must a string contain to match a pattern?
//!
//! A pattern is tried only on strings that contain one of its required literals, which automata find for
//! all patterns at once (`literals`). Among several sets of literals, one with long and few literals
//! is chosen: long literals are rare, and every literal takes memory. Some patterns are decided by their literals alone: prefixes,
//! suffixes and substrings, and regular expressions like `error|warning`. They need not be tried.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind, Look};

use crate::expression::Test;
use crate::literals::Anchor;

/// The maximum number of literals that one pattern may require; a pattern that needs more is tried on every string.
const MOST: usize = 64;
/// An anchored literal counts as this many bytes longer when its rarity is estimated.
const ANCHORED: usize = 2;

/// What a pattern requires: a string that satisfies it contains one of the literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    /// Sorted and distinct.
    pub literals: Vec<(Anchor, Vec<u8>)>,
    /// Whether every string that contains one of the literals satisfies the pattern.
    pub decides: bool,
}

impl Required {
    fn one(anchor: Anchor, literal: impl Into<Vec<u8>>, decides: bool) -> Option<Required> {
        Some(Required { literals: vec![(anchor, literal.into())], decides })
    }

    fn anywhere(mut literals: Vec<Vec<u8>>, decides: bool) -> Required {
        literals.sort_unstable();
        literals.dedup();
        let literals = literals.into_iter().map(|literal| (Anchor::Anywhere, literal)).collect();
        Required { literals, decides }
    }
}

/// What a test requires, if it is a pattern that requires something.
pub fn required(test: &Test) -> Option<Required> {
    match test {
        Test::StartsWith(text) => Required::one(Anchor::Start, text.as_bytes(), true),
        Test::EndsWith(text) => Required::one(Anchor::End, text.as_bytes(), true),
        Test::Contains(text) => Required::one(Anchor::Anywhere, text.as_bytes(), true),
        Test::Like(pattern) => of_like(pattern),
        Test::Matches(pattern) => of_regex(pattern.text()),
        _ => None,
    }
}

/// The literal that a `like` pattern requires: its longest sequence without wildcards.
fn of_like(pattern: &str) -> Option<Required> {
    let mut runs: Vec<(Anchor, String)> = vec![(Anchor::Start, String::new())];
    let mut characters = pattern.chars();
    while let Some(mut character) = characters.next() {
        if matches!(character, '%' | '_') {
            runs.push((Anchor::Anywhere, String::new()));
            continue;
        }
        if character == '\\' {
            character = characters.next().unwrap_or('\\');
        }
        if let Some((_, run)) = runs.last_mut() {
            run.push(character);
        }
    }
    if let [.., (anchor @ Anchor::Anywhere, _)] = &mut runs[..] {
        *anchor = Anchor::End;
    }
    let worth =
        |(anchor, run): &(Anchor, String)| run.len() + if *anchor == Anchor::Anywhere { 0 } else { ANCHORED };
    let (anchor, literal) = runs.into_iter().filter(|(_, run)| !run.is_empty()).max_by_key(worth)?;
    Required::one(anchor, literal, false)
}

/// What a regular expression requires.
fn of_regex(text: &str) -> Option<Required> {
    // The text was checked when the predicate was made, so it parses; if not, nothing is required.
    let hir = regex_syntax::parse(text).ok()?;
    if let Some(required) = of_plain(&hir) {
        return Some(required);
    }
    // Extraction treats assertions as empty text, so it is exact only without them.
    let plain = hir.properties().look_set().is_empty();
    let mut choices: Vec<(Vec<Vec<u8>>, bool)> = Vec::new();
    for kind in [ExtractKind::Prefix, ExtractKind::Suffix] {
        let sequence: Seq = Extractor::new().kind(kind).limit_total(MOST).extract(&hir);
        let decides = plain && sequence.is_exact();
        let literals = sequence
            .literals()
            .map(|literals| literals.iter().map(|literal| literal.as_bytes().to_vec()).collect());
        choices.extend(literals.map(|literals| (literals, decides)));
    }
    choices.extend(inner(&hir).map(|literals| (literals, false)));
    let usable = choices.into_iter().filter(|(literals, _)| usable(literals));
    let (literals, decides) = usable.max_by_key(|(literals, decides)| (*decides, worth(literals)))?;
    Some(Required::anywhere(literals, decides))
}

/// What a literal requires, optionally with `^` before it or `$` after it.
fn of_plain(hir: &Hir) -> Option<Required> {
    let literal = |hir: &Hir| match hir.kind() {
        HirKind::Literal(literal) => Some(literal.0.to_vec()),
        _ => None,
    };
    let is = |hir: &Hir, look: Look| matches!(hir.kind(), HirKind::Look(found) if *found == look);
    match hir.kind() {
        HirKind::Literal(_) => Required::one(Anchor::Anywhere, literal(hir)?, true),
        HirKind::Concat(parts) => match &parts[..] {
            [start, text] if is(start, Look::Start) => Required::one(Anchor::Start, literal(text)?, true),
            [text, end] if is(end, Look::End) => Required::one(Anchor::End, literal(text)?, true),
            _ => None,
        },
        _ => None,
    }
}

fn usable(literals: &[Vec<u8>]) -> bool {
    (1..=MOST).contains(&literals.len()) && literals.iter().all(|literal| !literal.is_empty())
}

/// How useful the literals are: a longer shortest literal is rarer, but twice as many literals cost as much as one byte gains.
/// Otherwise `word[0-9]` would require the ten texts `word0` to `word9` rather than `word`.
fn worth(literals: &[Vec<u8>]) -> (isize, std::cmp::Reverse<usize>) {
    let shortest = literals.iter().map(Vec::len).min().unwrap_or(0) as isize;
    let doublings = literals.len().next_power_of_two().trailing_zeros() as isize;
    (shortest - doublings, std::cmp::Reverse(literals.len()))
}

/// Literals from anywhere in the expression. The parser limits the depth of the recursion here.
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

    /// The literals of a regular expression, and whether they decide it.
    fn regex(text: &str) -> Option<(Vec<String>, bool)> {
        let Required { literals, decides } = of_regex(text)?;
        let text = |(anchor, literal): (Anchor, Vec<u8>)| {
            assert_eq!(anchor, Anchor::Anywhere);
            String::from_utf8(literal).unwrap()
        };
        Some((literals.into_iter().map(text).collect(), decides))
    }

    #[test]
    fn regular_expressions() {
        let some = |literals: &[&str], decides: bool| {
            Some((literals.iter().map(|text| text.to_string()).collect(), decides))
        };
        assert_eq!(regex(r"^\d+ error: .* in (line|column)"), some(&[" error: "], false));
        assert_eq!(regex("(foo|bar)x*"), some(&["bar", "foo"], false));
        assert_eq!(regex("(abc)+"), some(&["abc"], false));
        assert_eq!(regex("word[0-9]+x"), some(&["word"], false));
        assert_eq!(regex("a[0-9]b[0-9]cd.*"), some(&["cd"], false));
        assert_eq!(regex("w(abcdef|abcdeg).*x"), some(&["wabcdef", "wabcdeg"], false));
        assert_eq!(regex(r"\bfoo\b"), some(&["foo"], false));
        assert_eq!(regex("foo|bar$"), some(&["bar", "foo"], false));
        assert_eq!(regex("foo"), some(&["foo"], true));
        assert_eq!(regex("foo|(bar|baz)"), some(&["bar", "baz", "foo"], true));
        assert_eq!(regex("fo[ox]"), some(&["foo", "fox"], true));
        assert_eq!(regex("(abc)?"), None);
        assert_eq!(regex("a*"), None);
        assert_eq!(regex("foo|.*"), None);
        assert_eq!(regex(""), None);
        assert_eq!(regex(r"\d+"), None);
        let (spellings, _) = regex("(?i)error").unwrap();
        assert!(spellings.contains(&"eRRor".to_string()));
        assert!(spellings.iter().all(|spelling| spelling.eq_ignore_ascii_case("error")));
    }

    #[test]
    fn anchored_regular_expressions() {
        assert_eq!(of_regex("^foo"), Required::one(Anchor::Start, "foo", true));
        assert_eq!(of_regex("foo$"), Required::one(Anchor::End, "foo", true));
        // Within a line, and not at its start or end.
        assert_eq!(of_regex("(?m)^foo"), Required::one(Anchor::Anywhere, "foo", false));
        assert_eq!(of_regex("^foo$"), Required::one(Anchor::Anywhere, "foo", false));
    }

    #[test]
    fn likes() {
        let anchored = |pattern: &str| {
            let Required { literals, decides } = of_like(pattern)?;
            assert!(!decides);
            let (anchor, literal) = literals.into_iter().next().unwrap();
            Some((anchor, String::from_utf8(literal).unwrap()))
        };
        let some = |anchor: Anchor, literal: &str| Some((anchor, literal.to_string()));
        assert_eq!(anchored("a%bcde_f%"), some(Anchor::Anywhere, "bcde"));
        assert_eq!(anchored("abc%bcde_f%"), some(Anchor::Start, "abc"));
        assert_eq!(anchored("%a_bc"), some(Anchor::End, "bc"));
        assert_eq!(anchored(r"a\%b"), some(Anchor::Start, "a%b"));
        assert_eq!(anchored("_\u{fc}%"), some(Anchor::Anywhere, "\u{fc}"));
        assert_eq!(anchored("%_%"), None);
        assert_eq!(anchored(""), None);
    }
}
