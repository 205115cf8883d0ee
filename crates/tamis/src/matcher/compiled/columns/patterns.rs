//! Which patterns does a text satisfy, without trying all of them?
//!
//! A pattern is a `starts with`, `ends with`, `contains`, `like` or `matches` on an attribute. Each has literals one
//! of which a text must contain ([`required`]). One pass per attribute finds the literals in a text ([`Literals`]),
//! and through them the patterns: those that their literals *decide* are true; the others are *possible*, and are
//! tried on the text. Patterns without a literal are *unfiltered*: they are possible for every text.
//!
//! Patterns are stored as text. Those that are tried are compiled on first use, so opening a file compiles nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::column::Column;
use crate::csr::Lists;
use crate::error::{Error, Result};
use crate::expression::{Operand, Operator, Predicate, Test};
use crate::limits::Limits;
use crate::literals::{LiteralId, Literals, LiteralsBuilder, MOST_WORDS};
use crate::parallel;
use crate::predicate::{Check, required};
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;
use crate::value::Value;

/// The operators of patterns, by their number in files.
const OPERATORS: [Operator; 5] =
    [Operator::Like, Operator::StartsWith, Operator::EndsWith, Operator::Contains, Operator::Matches];
/// Fewer patterns are not worth another thread.
const PER_THREAD: usize = 2_000;
/// Not a position in `checks`.
const NO_CHECK: u32 = u32::MAX;

/// The patterns of a set of expressions, by their number.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Patterns {
    attributes: Column<u32>,
    operators: Column<u8>,
    /// The operands.
    texts: Strings,
    literals: Literals,
    /// For every literal, the patterns that need it: the number of the pattern times two, plus one if it is only
    /// possible.
    users: Lists<u32>,
    /// By attribute: the patterns without a literal.
    unfiltered: Lists<u32>,
    /// For every pattern that is tried, the position of its check in `checks`.
    tried: Column<u32>,
    checks: Vec<OnceLock<Check>>,
    /// Whether a stored pattern could not be parsed.
    damaged: AtomicBool,
}

/// Working memory of a search for patterns, and what the last search found.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct TextScratch {
    /// For every literal, the number of the text in which it was last found.
    literals: Vec<u32>,
    text: u32,
    found: Vec<LiteralId>,
    /// The patterns that are true for the text; those with several literals may be repeated.
    pub decided: Vec<u32>,
    /// The patterns that must be tried on the text, ascending.
    pub possible: Vec<u32>,
}

impl Patterns {
    /// The patterns of attributes below `attributes`.
    pub fn new(patterns: &[(u32, Test)], attributes: usize) -> Patterns {
        let mut builder = LiteralsBuilder::default();
        let mut wanted: Vec<u32> = Vec::new();
        let (mut unfiltered, mut tried, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        // Finding what a regular expression requires takes longer than all the rest.
        let required = parallel::work(&parallel::shares(patterns, PER_THREAD), |patterns| {
            patterns.iter().map(|(_, test)| required(test)).collect::<Vec<_>>()
        });
        let required = required.into_iter().flatten();
        for (((attribute, test), required), pattern) in patterns.iter().zip(required).zip(0..) {
            let decides = required.as_ref().is_some_and(|required| required.decides);
            tried.push(if decides { NO_CHECK } else { checks.len() as u32 });
            if !decides {
                checks.push(OnceLock::from(Check::new(test)));
            }
            match required {
                None => unfiltered.push((*attribute, pattern)),
                Some(required) => {
                    for (anchor, literal) in required.literals {
                        builder.push(*attribute, anchor, &literal);
                        wanted.push(pattern << 1 | u32::from(!decides));
                    }
                }
            }
        }
        let (literals, numbers) = builder.build(attributes);
        let operator = |(_, test): &(u32, Test)| {
            let operator = parts(test).0;
            OPERATORS.iter().position(|&known| known == operator).unwrap_or(0) as u8
        };
        Patterns {
            attributes: patterns.iter().map(|(attribute, _)| *attribute).collect(),
            operators: patterns.iter().map(operator).collect(),
            texts: patterns.iter().map(|(_, test)| parts(test).1.as_bytes()).collect(),
            users: Lists::of_pairs(literals.len(), numbers.into_iter().zip(wanted).collect()),
            literals,
            unfiltered: Lists::of_pairs(attributes, unfiltered),
            tried: tried.into(),
            checks,
            damaged: AtomicBool::new(false),
        }
    }

    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// How many patterns have no literal, so that they are tried on every text.
    pub fn unfiltered(&self) -> usize {
        self.unfiltered.items.len()
    }

    /// The patterns of an attribute without a literal.
    pub fn unfiltered_of(&self, attribute: u32) -> &[u32] {
        self.unfiltered.find(attribute)
    }

    /// Whether a pattern has no literal.
    pub fn is_unfiltered(&self, pattern: u32) -> bool {
        !self.unfiltered.items.is_empty()
            && self.unfiltered_of(self.attributes[pattern as usize]).binary_search(&pattern).is_ok()
    }

    /// Whether literals alone do not decide a pattern.
    pub fn is_tried(&self, pattern: u32) -> bool {
        self.tried[pattern as usize] != NO_CHECK
    }

    pub fn attribute(&self, pattern: u32) -> u32 {
        self.attributes[pattern as usize]
    }

    /// The length of a pattern's text, which hints at how rare it is.
    pub fn text_length(&self, pattern: u32) -> usize {
        self.texts.bytes_of(pattern as usize).map_or(0, <[u8]>::len)
    }

    /// Whether patterns of an attribute are found through literals.
    pub fn has_literals(&self, attribute: u32) -> bool {
        self.literals.has(attribute)
    }

    /// Finds the patterns of an attribute that a text satisfies or may satisfy, except unfiltered ones.
    pub fn find(&self, attribute: u32, text: &str, scratch: &mut TextScratch) {
        let TextScratch { literals, text: number, found, decided, possible } = scratch;
        if *number == u32::MAX {
            literals.clear();
            *number = 0;
        }
        *number += 1;
        if literals.len() < self.literals.len() {
            literals.resize(self.literals.len(), 0);
        }
        found.clear();
        self.literals.find(attribute, text.as_bytes(), |literal, again| {
            if !again {
                found.push(literal);
                return true;
            }
            let last = &mut literals[literal as usize];
            let fresh = *last != *number;
            if fresh {
                *last = *number;
                found.push(literal);
            }
            fresh
        });
        decided.clear();
        possible.clear();
        for &literal in &*found {
            for &user in self.users.find(literal) {
                if user & 1 == 0 { &mut *decided } else { &mut *possible }.push(user >> 1);
            }
        }
        possible.sort_unstable();
        possible.dedup();
    }

    /// The attribute of a pattern, and the check that tries it. A damaged pattern is recorded as such and matches no
    /// text.
    pub fn get(&self, pattern: u32) -> (u32, &Check) {
        let check = self.checks[self.tried[pattern as usize] as usize].get_or_init(|| {
            self.test(pattern).map_or_else(
                || {
                    self.damaged.store(true, Ordering::Relaxed);
                    Check::new(&Test::In([].into()))
                },
                |predicate| Check::new(predicate.test()),
            )
        });
        (self.attributes[pattern as usize], check)
    }

    fn test(&self, pattern: u32) -> Option<Predicate> {
        let operator = *OPERATORS.get(usize::from(self.operators[pattern as usize]))?;
        let text = self.texts.get(pattern as usize)?;
        let operand = Operand::One(Value::String(text.into()));
        Predicate::new("x", operator, false, operand, &[], &Limits::none()).ok()
    }

    pub fn bytes(&self) -> usize {
        let columns = 4 * (self.attributes.len() + self.tried.len()) + self.operators.len();
        columns
            + self.texts.bytes()
            + self.literals.bytes()
            + self.users.bytes()
            + self.unfiltered.bytes()
            + size_of::<OnceLock<Check>>() * self.checks.len()
    }

    /// Fails if there are more literals than a file can hold.
    pub fn check(&self) -> Result<()> {
        if self.literals.bytes() / 4 > MOST_WORDS || self.len() > i32::MAX as usize {
            let message = "there are too many patterns at once; add them in several calls";
            return Err(Error::expression(message));
        }
        Ok(())
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.attributes);
        sections.push(&self.operators);
        sections.push(&self.tried);
        self.texts.write(sections);
        self.literals.write(sections);
        self.users.write(sections);
        self.unfiltered.write(sections);
    }

    /// Whether a stored pattern could not be parsed.
    pub fn are_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Whether every number in a file is in range; the largest attribute number is `attributes`.
    pub fn are_whole(&self, attributes: usize) -> bool {
        let is_tried =
            |pattern: u32| self.tried.get(pattern as usize).is_some_and(|&check| check != NO_CHECK);
        let is_user = |user: u32| (user >> 1) < self.len() as u32 && (user & 1 == 0 || is_tried(user >> 1));
        self.attributes.iter().all(|&attribute| attribute as usize <= attributes)
            && self.users.are_lists(|&user| is_user(user))
            && self.unfiltered.are_lists(|&pattern| is_tried(pattern))
            // Each is listed once, under its attribute.
            && (0..self.unfiltered.starts.len() as u32).all(|attribute| {
                let listed = self.unfiltered_of(attribute);
                listed.is_sorted_by(|a, b| a < b)
                    && listed.iter().all(|&pattern| self.attribute(pattern) == attribute)
            })
    }

    /// Reads patterns from a file.
    pub fn read(reader: &mut SectionReader) -> Result<Patterns> {
        let attributes: Column<u32> = reader.next()?;
        let operators: Column<u8> = reader.next()?;
        let tried: Column<u32> = reader.next()?;
        let texts = Strings::read(reader)?;
        let literals = Literals::read(reader)?;
        let count = attributes.len();
        let users = Lists::read(reader)?;
        let unfiltered = Lists::read(reader)?;
        let checks = tried.iter().filter(|&&check| check != NO_CHECK).count();
        let numbered =
            tried.iter().filter(|&&check| check != NO_CHECK).zip(0..).all(|(&check, at)| check == at);
        if [operators.len(), tried.len(), texts.len()] != [count; 3] || !numbered {
            return Err(reader.damaged("the patterns are incomplete"));
        }
        let checks = (0..checks).map(|_| OnceLock::new()).collect();
        let damaged = AtomicBool::new(false);
        Ok(Patterns { attributes, operators, texts, literals, users, unfiltered, tried, checks, damaged })
    }
}

/// The operator and the text of a pattern.
fn parts(test: &Test) -> (Operator, &Arc<str>) {
    match test {
        Test::Like(text) => (Operator::Like, text),
        Test::StartsWith(text) => (Operator::StartsWith, text),
        Test::EndsWith(text) => (Operator::EndsWith, text),
        Test::Contains(text) => (Operator::Contains, text),
        Test::Matches(pattern) => (Operator::Matches, pattern.text()),
        other => unreachable!("{other:?} is no pattern"),
    }
}
