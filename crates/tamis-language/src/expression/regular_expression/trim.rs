//! Which smaller regular expression is found in the same texts?
//!
//! It only matters whether a regular expression is found, not where. So optional parts and repetitions at its end can
//! stop as early as possible, and those at its start can begin as late as possible: a text contains
//! `-k\s\w{1,64}(?:\s-p)?` exactly if it contains `-k\s\w`. The longer form would be compiled to tens of thousands of
//! states.

use std::collections::VecDeque;

use regex_syntax::hir::{Hir, HirKind, Repetition};

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Start,
    End,
}

/// A regular expression that is found in the same texts, with fewer repetitions at both ends.
pub(super) fn trim(hir: Hir) -> Hir {
    trim_side(trim_side(hir, Side::End), Side::Start)
}

/// The parser limits nesting, so recursion is bounded here.
fn trim_side(hir: Hir, side: Side) -> Hir {
    match hir.into_kind() {
        HirKind::Repetition(Repetition { min: 0, .. }) => Hir::empty(),
        HirKind::Repetition(Repetition { min: 1, sub, .. }) => trim_side(*sub, side),
        HirKind::Repetition(Repetition { min, greedy, sub, .. }) => {
            Hir::repetition(Repetition { min, max: Some(min), greedy, sub })
        }
        HirKind::Capture(capture) => trim_side(*capture.sub, side),
        HirKind::Alternation(parts) => {
            let parts: Vec<Hir> = parts.into_iter().map(|part| trim_side(part, side)).collect();
            // A part that is always found makes the others superfluous.
            if parts.iter().any(is_empty) { Hir::empty() } else { Hir::alternation(parts) }
        }
        HirKind::Concat(parts) => {
            let mut parts = VecDeque::from(parts);
            while let Some(outer) = if side == Side::Start { parts.pop_front() } else { parts.pop_back() } {
                let outer = trim_side(outer, side);
                match side {
                    _ if is_empty(&outer) => continue,
                    Side::Start => parts.push_front(outer),
                    Side::End => parts.push_back(outer),
                }
                break;
            }
            Hir::concat(parts.into())
        }
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(look) => Hir::look(look),
    }
}

fn is_empty(hir: &Hir) -> bool {
    matches!(hir.kind(), HirKind::Empty)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_automata::meta;

    use super::*;

    fn parse(text: &str) -> Hir {
        regex_syntax::parse(text).unwrap()
    }

    #[test]
    fn ends_are_trimmed() {
        for (text, expected) in [
            (r"-k\s\w{1,64}(?:\s?(?:-p|-s))?", r"-k\s\w"),
            ("a*b+c*", "b"),
            ("a{2,9}b{3,}", "a{2}b{3}"),
            ("^a*b", "^a*b"),
            ("ab*$", "ab*$"),
            ("(x|y*)(a|bc*)", "a|b"),
            (".*", ""),
            (r"\ba?", r"\b"),
            ("a?", ""),
            ("(a+b+)+", "ab"),
        ] {
            assert_eq!(trim(parse(text)), parse(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_same_is_found(
            text in r"((a|b|[ab]|\^|\$|\\b|\(a\|b\?\)|\(ba\*\)|\|)(\?|\*|\+|\{[0-2],[2-3]\}|\{2\}|)){0,6}",
            given in "[ab ]{0,8}",
        ) {
            if let Ok(hir) = regex_syntax::parse(&text) {
                let trimmed = meta::Builder::new().build_from_hir(&trim(hir)).unwrap();
                let whole = meta::Regex::new(&text).unwrap();
                prop_assert_eq!(trimmed.is_match(given.as_str()), whole.is_match(given.as_str()), "{}", text);
            }
        }
    }
}
