//! Which tests are neither equality nor range, and does a value satisfy one?
//!
//! They are kept as text and compiled when they are first needed, so that opening a file compiles
//! nothing.

use std::sync::OnceLock;

use crate::column::Column;
use crate::error::Result;
use crate::expression::{Operand, Operator, Predicate, Test, parse};
use crate::limits::Limits;
use crate::predicate::Check;
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;
use crate::value::Value;

/// The tests, by their number.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    attributes: Column<u32>,
    /// Each as the text of a predicate on an attribute `x`.
    texts: Strings,
    checks: Vec<OnceLock<Check>>,
}

impl Patterns {
    pub fn new(patterns: &[(u32, Test)]) -> Patterns {
        let text = |test: &Test| {
            let (operator, text) = match test {
                Test::Like(text) => (Operator::Like, text),
                Test::StartsWith(text) => (Operator::StartsWith, text),
                Test::EndsWith(text) => (Operator::EndsWith, text),
                Test::Contains(text) => (Operator::Contains, text),
                Test::Matches(pattern) => (Operator::Matches, pattern.text()),
                other => unreachable!("{other:?} is no pattern"),
            };
            let operand = Operand::One(Value::String(text.clone()));
            Predicate::new("x", operator, false, operand, &[], &Limits::none())
                .map(|predicate| predicate.to_string())
        };
        Patterns {
            attributes: patterns.iter().map(|(attribute, _)| *attribute).collect(),
            texts: patterns.iter().map(|(_, test)| text(test).unwrap_or_default()).collect(),
            checks: patterns.iter().map(|(_, test)| OnceLock::from(Check::new(test))).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// The attribute and the test of a pattern.
    pub fn get(&self, pattern: usize) -> (u32, &Check) {
        let check = self.checks[pattern].get_or_init(|| {
            // A file that cannot be read as it was written ends the match; see `Segment::matches`.
            let expression = self.texts.get(pattern).map(|text| parse(text, &Limits::none()));
            let Some(Ok(expression)) = expression else { panic!("a damaged pattern") };
            match expression.predicates().next() {
                Some(predicate) => Check::new(predicate.test()),
                None => panic!("a damaged pattern"),
            }
        });
        (self.attributes[pattern], check)
    }

    pub fn bytes(&self) -> usize {
        4 * self.attributes.len() + self.texts.bytes() + size_of::<OnceLock<Check>>() * self.checks.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.attributes);
        self.texts.write(sections);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Patterns> {
        let attributes: Column<u32> = reader.next()?;
        let texts = Strings::read(reader)?;
        if texts.len() != attributes.len() {
            return Err(reader.damaged("the patterns are incomplete"));
        }
        let checks = (0..attributes.len()).map(|_| OnceLock::new()).collect();
        Ok(Patterns { attributes, texts, checks })
    }
}
