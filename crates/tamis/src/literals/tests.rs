use std::collections::BTreeSet;

use super::build::LiteralsBuilder;
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const GROUPS: u32 = 2;

fn build(literals: &[(u32, Anchor, Vec<u8>)]) -> (Literals, Vec<LiteralId>) {
    let mut builder = LiteralsBuilder::default();
    for (group, anchor, literal) in literals {
        builder.push(*group, *anchor, literal);
    }
    let (literals, numbers) = builder.build(GROUPS as usize);
    assert!(literals.is_sound());
    (literals, numbers)
}

/// What is found, and how often something is reported.
fn find(literals: &Literals, group: u32, text: &[u8]) -> (BTreeSet<LiteralId>, usize) {
    let (mut found, mut reports) = (BTreeSet::new(), 0);
    literals.find(group, text, |literal| {
        reports += 1;
        found.insert(literal)
    });
    (found, reports)
}

fn holds(anchor: Anchor, literal: &[u8], text: &[u8]) -> bool {
    match anchor {
        Anchor::Start => text.starts_with(literal),
        Anchor::End => text.ends_with(literal),
        Anchor::Anywhere => literal.is_empty() || text.windows(literal.len()).any(|part| part == literal),
    }
}

fn anchors() -> impl Strategy<Value = Anchor> {
    prop_oneof![Just(Anchor::Start), Just(Anchor::End), Just(Anchor::Anywhere)]
}

proptest! {
    #[test]
    fn equals_a_search_for_each(
        few in vec((0..GROUPS, anchors(), vec(97u8..100, 0..7)), 0..40),
        many in vec((0..GROUPS, anchors(), vec(any::<u8>(), 0..3)), 0..200),
        texts in vec(prop_oneof![vec(97u8..100, 0..40), vec(any::<u8>(), 0..40)], 1..6),
    ) {
        let all = [few, many].concat();
        let (literals, numbers) = build(&all);
        for text in &texts {
            for group in 0..GROUPS {
                let found = find(&literals, group, text).0;
                let expected: BTreeSet<LiteralId> = all.iter().zip(&numbers)
                    .filter(|((of, anchor, literal), _)| *of == group && holds(*anchor, literal, text))
                    .map(|(_, &number)| number)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
        // Equal literals are one, and only they.
        for (a, of_a) in all.iter().zip(&numbers) {
            for (b, of_b) in all.iter().zip(&numbers) {
                let empty = a.2.is_empty() && b.2.is_empty() && a.0 == b.0;
                prop_assert_eq!(of_a == of_b, a == b || empty);
            }
        }
    }

    #[test]
    fn damage_is_noticed_or_harmless(
        literals in vec((0..GROUPS, anchors(), vec(97u8..115, 0..6)), 1..60),
        word in any::<prop::sample::Index>(),
        value in any::<u32>(),
        text in vec(97u8..115, 0..40),
    ) {
        let (mut literals, _) = build(&literals);
        let mut states: Vec<u32> = bytemuck::cast_slice(&literals.states[..]).to_vec();
        let word = word.index(states.len());
        states[word] = value;
        literals.states = bytemuck::cast_slice::<u32, State>(&states).to_vec().into();
        if literals.is_sound() {
            find(&literals, 0, &text);
        }
    }
}

#[test]
fn an_automaton_is_passed_in_steps_linear_in_the_text_and_the_answers() {
    // Every position of the text ends a thousand literals.
    let nested: Vec<_> = (1..=1000).map(|length| (0, Anchor::Anywhere, vec![b'a'; length])).collect();
    let (literals, _) = build(&nested);
    let text = vec![b'a'; 1 << 20];
    let (found, reports) = find(&literals, 0, &text);
    assert_eq!(found.len(), 1000);
    assert!(reports <= 1000 + text.len(), "{reports} reports");

    // A hundred thousand literals with one prefix, and a text that leaves it at the last byte.
    let prefix = "a".repeat(64);
    let shared =
        (0..100_000).map(|number| (0, Anchor::Anywhere, format!("{prefix}b{number:05}").into_bytes()));
    let (literals, _) = build(&shared.collect::<Vec<_>>());
    assert_eq!(find(&literals, 0, &text), (BTreeSet::new(), 0));
    let text = format!("{prefix}b4{prefix}b42424");
    assert_eq!(find(&literals, 0, text.as_bytes()).0.len(), 1);
    // A shared prefix is kept once.
    assert!(literals.bytes() < 100 * 100_000, "{} bytes", literals.bytes());
}

#[test]
fn nothing_is_found_where_nothing_is_asked_for() {
    let (literals, _) = build(&[(1, Anchor::Anywhere, b"a".to_vec())]);
    assert_eq!(find(&literals, 0, b"aaa"), (BTreeSet::new(), 0));
    assert_eq!(find(&literals, 7, b"aaa"), (BTreeSet::new(), 0));
    assert!(literals.has(1) && !literals.has(0) && !literals.has(7));
    assert_eq!(find(&Literals::default(), 0, b"a"), (BTreeSet::new(), 0));
}
