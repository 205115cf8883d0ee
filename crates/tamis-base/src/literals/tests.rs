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
    (literals, numbers)
}

/// What is found, and how often something is reported.
fn find(literals: &Literals, group: u32, text: &[u8]) -> (BTreeSet<LiteralId>, usize) {
    let (mut found, mut reports) = (BTreeSet::new(), 0);
    literals.find(group, text, |literal, again| {
        reports += 1;
        let new = found.insert(literal);
        assert!(new || again, "{literal} is reported again");
        new
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
        few in vec((0..GROUPS, anchors(), vec(97u8..100, 0..12)), 0..60),
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
    fn giving_up_on_a_trie_loses_nothing(
        base in vec(vec(97u8..100, 4..40), 1..6),
        cuts in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..20),
        pieces in vec((any::<prop::sample::Index>(), 0..60usize), 1..12),
        padding in 0..600usize,
    ) {
        // Suffixes of literals, and texts of many beginnings of literals, on which following the trie is abandoned.
        let mut literals = base.clone();
        literals.extend(cuts.iter().map(|(of, cut)| {
            let whole = of.get(&base);
            whole[cut.index(whole.len())..].to_vec()
        }));
        literals.push(vec![b'a'; 64]);
        let mut text = vec![b'a'; 64];
        for (of, most) in &pieces {
            let whole = of.get(&literals);
            text.extend(whole.iter().cycle().take(*most));
        }
        text.extend(vec![b'z'; padding]);
        let all: Vec<_> = literals.into_iter().map(|literal| (0, Anchor::Anywhere, literal)).collect();
        let (literals, numbers) = build(&all);
        let expected: BTreeSet<LiteralId> = all.iter().zip(&numbers)
            .filter(|((_, anchor, literal), _)| holds(*anchor, literal, &text))
            .map(|(_, &number)| number)
            .collect();
        prop_assert_eq!(find(&literals, 0, &text).0, expected);
    }

    #[test]
    fn damage_is_harmless(
        literals in vec((0..GROUPS, anchors(), vec(97u8..115, 0..6)), 1..60),
        column in 0..4usize,
        damage in vec((any::<prop::sample::Index>(), any::<u32>()), 1..20),
        text in vec(97u8..115, 0..40),
    ) {
        let (mut literals, _) = build(&literals);
        let column = match column {
            0 => &mut literals.words,
            1 => &mut literals.next,
            2 => &mut literals.filters,
            _ => &mut literals.roots,
        };
        let clean = column.to_vec();
        let mut words = clean.clone();
        for (place, value) in damage.iter().filter(|_| !clean.is_empty()) {
            let place = place.index(words.len());
            words[place] = if value % 2 == 0 { words[place] ^ 1 << (value % 32) } else { *value };
        }
        *column = words.into();
        // A literal may then be at both ends of the text, and so be reported twice.
        let (mut found, mut reports) = (BTreeSet::new(), 0);
        literals.find(0, &text, |literal, _| {
            reports += 1;
            found.insert(literal)
        });
        prop_assert!(found.iter().all(|&literal| (literal as usize) < literals.len()));
        prop_assert!(reports <= found.len() + 16 * (text.len() + 16));
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
    // The short ones are found by their automaton; the others by following their tries, and then by their automata.
    let most = 1000 + (1 + 2 * (STEPS + 1)) * text.len() + 128;
    assert!(reports <= most, "{reports} reports");

    // A hundred thousand literals with one prefix, and a text that leaves it at the last byte.
    let prefix = "a".repeat(64);
    let shared =
        (0..100_000).map(|number| (0, Anchor::Anywhere, format!("{prefix}b{number:05}").into_bytes()));
    let (literals, _) = build(&shared.collect::<Vec<_>>());
    assert_eq!(find(&literals, 0, &text), (BTreeSet::new(), 0));
    let text = format!("{prefix}b4{prefix}b42424");
    assert_eq!(find(&literals, 0, text.as_bytes()).0.len(), 1);
    // A shared prefix is kept once.
    assert!(literals.bytes() < 40 * 100_000, "{} bytes", literals.bytes());
}

#[test]
fn a_suffix_is_found_if_its_trie_is_abandoned_before_it_begins() {
    let suffix = "qrstuvwx";
    let literal = format!("bcdefghijkl{suffix}");
    let all = ["a".repeat(64), literal.clone(), suffix.to_owned(), format!("{literal}{}", "t".repeat(50))];
    let all: Vec<_> = all.iter().map(|literal| (0, Anchor::Anywhere, literal.as_bytes().to_vec())).collect();
    let (literals, numbers) = build(&all);
    for padding in 0..600 {
        let text = format!("{}{literal}{}{}", "a".repeat(64), "t".repeat(40), "z".repeat(padding));
        assert_eq!(
            find(&literals, 0, text.as_bytes()).0,
            numbers[..3].iter().copied().collect(),
            "{padding}"
        );
    }
}

#[test]
fn nothing_is_found_where_nothing_is_asked_for() {
    let (literals, _) = build(&[(1, Anchor::Anywhere, b"a".to_vec())]);
    assert_eq!(find(&literals, 0, b"aaa"), (BTreeSet::new(), 0));
    assert_eq!(find(&literals, 7, b"aaa"), (BTreeSet::new(), 0));
    assert!(literals.has(1) && !literals.has(0) && !literals.has(7));
    assert_eq!(find(&Literals::default(), 0, b"a"), (BTreeSet::new(), 0));
}
