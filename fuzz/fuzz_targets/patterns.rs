//! For any patterns and text, every matcher finds the same patterns as a naive implementation.
//!
//! The first line of the input is the text; every other line is a letter for the operator and a pattern.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::event::Attributes;
use tamis::expression::{Operand, Operator, Predicate};
use tamis::matcher::{Compiled, Matcher, Scan, Scratch};
use tamis::value::ValueRef;
use tamis::{Error, Event, Expression, Limits, Missing};
use tamis_papers::{ATree, ATreeOptions};

/// Whether a text matches a `like` pattern, by trying every way to split it.
fn like(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // The positions in the text at which the pattern read so far can end.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '%' {
            let first = ends.iter().position(|&end| end).unwrap_or(ends.len());
            ends[first..].fill(true);
            continue;
        }
        let wanted = match character {
            '_' => None,
            '\\' => characters.next(),
            other => Some(other),
        };
        for end in (1..ends.len()).rev() {
            ends[end] = ends[end - 1] && wanted.is_none_or(|wanted| wanted == text[end - 1]);
        }
        ends[0] = false;
    }
    ends[text.len()]
}

fn contains(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    (0..=text.len()).any(|start| text[start..].starts_with(pattern))
}

fuzz_target!(|input: &str| {
    let limits = Limits::default();
    let mut lines = input.split('\n');
    let text = lines.next().unwrap_or_default();
    let (mut expressions, mut expected): (Vec<Expression>, Vec<bool>) = (Vec::new(), Vec::new());
    for line in lines.take(40) {
        let mut characters = line.chars();
        let operator = match characters.next() {
            Some('l') => Operator::Like,
            Some('m') => Operator::Matches,
            Some('s') => Operator::StartsWith,
            Some('e') => Operator::EndsWith,
            _ => Operator::Contains,
        };
        let pattern = characters.as_str();
        let regex = regex::RegexBuilder::new(pattern).size_limit(1 << 24).build();
        match Predicate::new("a", operator, false, Operand::One(pattern.into()), &[], &limits) {
            Ok(predicate) => {
                expressions.push(predicate.into());
                expected.push(match operator {
                    Operator::Like => like(pattern, text),
                    Operator::Matches => {
                        regex.expect("what is accepted is a regular expression").is_match(text)
                    }
                    Operator::StartsWith => text.as_bytes().starts_with(pattern.as_bytes()),
                    Operator::EndsWith => text.as_bytes().ends_with(pattern.as_bytes()),
                    _ => contains(pattern, text),
                });
            }
            Err(Error::Limit { found, allowed, .. }) => assert!(found > allowed),
            Err(_) => assert!(operator == Operator::Like && pattern.ends_with('\\') || regex.is_err()),
        }
    }
    let expected: Vec<u32> = (0..).zip(expected).filter(|(_, holds)| *holds).map(|(slot, _)| slot).collect();
    let attributes = Attributes::default();
    let matchers: [Box<dyn Matcher>; 3] = [
        Box::new(Scan::new(&expressions, &attributes, Missing::Unknown)),
        Box::new(Compiled::new(&expressions, &attributes, Missing::Unknown, &[]).unwrap()),
        Box::new(ATree::compile(&expressions, &attributes, Missing::Unknown, ATreeOptions::default())),
    ];
    let mut event = Event::default();
    event.begin(attributes.intern(&"a".into()));
    if event.push(ValueRef::String(text), &limits).is_err() || event.finish(&attributes).is_err() {
        return;
    }
    for matcher in matchers {
        let mut found = Vec::new();
        matcher.matches(&event, &mut Scratch::default(), &mut found);
        assert_eq!(found, expected, "{} on {input:?}", matcher.name());
    }
});
