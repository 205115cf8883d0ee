//! How many bytes will a regular expression take once it is compiled?
//!
//! The estimate is an upper bound on the states of the automaton, computed without building it: `a{1000}` is one node
//! of the parsed expression and a thousand states. Parsing itself is bounded, too: a class such as `\w` has hundreds
//! of ranges, so classes are counted before they are resolved.

use std::convert::Infallible;

use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

use super::trim::trim;

/// Bytes of a state, and of a transition out of it.
const STATE: usize = 32;
const TRANSITION: usize = 8;
/// The cost of a class that is named or wide, before its ranges are known.
const NAMED_CLASS: usize = 4096;
/// An upper bound on the bytes that parsing keeps per byte of text.
const PARSED: usize = 16;

/// An upper bound on the bytes of the compiled form. If it exceeds `most`, counting may stop early, at a value that
/// still exceeds `most`. Fails with the reason if the text is not a regular expression.
pub(super) fn of_text(text: &str, most: usize) -> Result<usize, String> {
    let parsed = text.len().saturating_mul(PARSED);
    if parsed > most {
        return Ok(parsed);
    }
    let ast = ast::parse::Parser::new().parse(text).map_err(|error| error.kind().to_string())?;
    let Ok(classes) = ast::visit(&ast, Classes(0));
    if classes > most {
        return Ok(classes);
    }
    let hir = Translator::new().translate(text, &ast).map_err(|error| error.kind().to_string())?;
    Ok(of_hir(&trim(hir)).saturating_add(text.len()).max(classes))
}

/// Counts the cost of classes while they are resolved.
struct Classes(usize);

impl Classes {
    fn add_range(&mut self, start: u32, end: u32) {
        self.0 += if end.saturating_sub(start) > 128 { NAMED_CLASS } else { STATE };
    }
}

impl ast::Visitor for Classes {
    type Output = usize;
    type Err = Infallible;

    fn finish(self) -> Result<usize, Infallible> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        if matches!(ast, Ast::ClassPerl(_) | Ast::ClassUnicode(_)) {
            self.0 += NAMED_CLASS;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        match item {
            ClassSetItem::Perl(_) | ClassSetItem::Unicode(_) => self.0 += NAMED_CLASS,
            ClassSetItem::Range(range) => self.add_range(range.start.c.into(), range.end.c.into()),
            _ => {}
        }
        Ok(())
    }
}

/// The parser limits nesting, so recursion is bounded here.
fn of_hir(hir: &Hir) -> usize {
    let all = |parts: &[Hir]| parts.iter().map(of_hir).fold(0, usize::saturating_add);
    let below = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(STATE),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() * TRANSITION,
        HirKind::Class(Class::Unicode(class)) => of_class(class),
        HirKind::Capture(capture) => of_hir(&capture.sub),
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1) as usize;
            of_hir(&repetition.sub).saturating_add(STATE + 2 * TRANSITION).saturating_mul(copies)
        }
        HirKind::Concat(parts) => all(parts),
        HirKind::Alternation(parts) => all(parts).saturating_add(parts.len() * TRANSITION),
    };
    below.saturating_add(STATE)
}

/// The ranges of a class become sequences of byte ranges; sequences that begin alike share states.
fn of_class(class: &ClassUnicode) -> usize {
    let mut bytes = 0;
    let mut last: Option<Utf8Sequence> = None;
    for range in class.ranges() {
        for sequence in Utf8Sequences::new(range.start(), range.end()) {
            let before = last.as_ref().map_or(&[][..], Utf8Sequence::as_slice);
            let shared =
                before.iter().zip(sequence.as_slice()).take_while(|(one, other)| one == other).count();
            bytes += (sequence.len() - shared) * TRANSITION + (sequence.len() - shared - 1) * STATE;
            last = Some(sequence);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_automata::nfa::thompson::{NFA, WhichCaptures};

    use super::*;

    fn actual(text: &str) -> usize {
        let config = NFA::config().which_captures(WhichCaptures::Implicit);
        let hir = trim(regex_syntax::parse(text).unwrap());
        NFA::compiler().configure(config).build_from_hir(&hir).unwrap().memory_usage()
    }

    /// What every automaton takes, however small.
    const BASE: usize = 1024;

    #[test]
    fn estimates_are_near_and_above() {
        let texts = [
            "",
            "a",
            "^abc$",
            r"\w",
            r"\w{14}N",
            r"\d+",
            r"\s",
            r"\S",
            r"\W",
            r"[^a]",
            r".",
            r"(?s).",
            r"(?i)straße",
            r"\pL",
            r"\p{Greek}",
            r"\P{Greek}",
            r"(a|b|cd|ef)*",
            r"a{2,50}",
            r"(\w+\.)+\w{2,}",
            r"[a-zA-Z0-9_.+-]+@[a-z]+",
            r"[\x{80}-\x{10FFFF}]",
            r"[aü☃😀]{100}",
            r"(?:x?){100}",
            r"\b\w+\b",
            r"[[:alpha:]]{20}",
            r"(?i)[a-zß-ÿ]{9}",
        ];
        for text in texts {
            let (found, actual) = (of_text(text, usize::MAX / 64).unwrap() + BASE, actual(text));
            assert!(actual <= found && found <= 4 * actual + 8 * BASE, "{text}: {found} for {actual}");
        }
    }

    proptest! {
        #[test]
        fn estimates_are_above(text in r"((a|\\w|[☃ü]|\.|\\pL|\[\^a-c]|\(b\|\\d\))(\?|\*|\{[0-3],[3-9]\}|)){0,6}") {
            prop_assert!(actual(&text) <= of_text(&text, usize::MAX / 64).unwrap() + BASE);
        }
    }
}
