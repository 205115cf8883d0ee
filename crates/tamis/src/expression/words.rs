//! May a word have a meaning of its own where an operand begins?
//!
//! Most words there are names of attributes. A look at the first letter, the last and the length tells most of them
//! from the words of the language, so that they are not compared with each of those.

use super::elements::Quantifier;
use super::parse::{CONTEXTUAL, RESERVED, TWO_ARGUMENTS};
use crate::value::LITERAL_WORDS;

const QUANTIFIERS: [&str; 3] = [Quantifier::Any.name(), Quantifier::All.name(), Quantifier::None.name()];

/// For every first letter a bit for each length of the words that begin with it.
static LENGTHS: [u32; 26] = {
    let mut lengths = [0; 26];
    let lists: [&[&str]; 5] = [&RESERVED, &CONTEXTUAL, &TWO_ARGUMENTS, &QUANTIFIERS, &LITERAL_WORDS];
    let mut list = 0;
    while list < lists.len() {
        let mut word = 0;
        while word < lists[list].len() {
            let text = lists[list][word].as_bytes();
            lengths[(text[0] - b'a') as usize] |= 1 << text.len();
            word += 1;
        }
        list += 1;
    }
    lengths
};

/// Whether a word may be one of the language, in any case, that is no function of a term. Some others pass as well.
pub(super) fn may_mean(word: &str) -> bool {
    let (Some(first), Some(last)) = (word.as_bytes().first(), word.as_bytes().last()) else { return false };
    let letter = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    let lengths = LENGTHS.get(letter).copied().unwrap_or(0);
    word.len() < 32 && last.is_ascii_alphabetic() && lengths >> word.len() & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_language_pass_and_most_names_do_not() {
        let words = RESERVED.iter().chain(&CONTEXTUAL).chain(&TWO_ARGUMENTS).chain(&LITERAL_WORDS);
        for word in words.chain(&QUANTIFIERS) {
            assert!(may_mean(word) && may_mean(&word.to_uppercase()), "{word}");
        }
        for name in ["", "a12", "user.geo.state", "Ünicode", "_x", "country", &"a".repeat(100), "z"] {
            assert!(!may_mean(name), "{name}");
        }
    }
}
