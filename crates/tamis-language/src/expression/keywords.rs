//! Which keywords does the language have, and which did a user probably mean?

use crate::value::CONSTANT_KEYWORDS;

/// Keywords that are never attributes unless quoted.
pub(super) const RESERVED: [&str; 12] =
    ["and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false"];
/// Names that are keywords only where the grammar expects them.
pub(super) const CONTEXTUAL: [&str; 9] =
    ["starts", "ends", "with", "contains", "matches", "exists", "missing", "xpath", "it"];

/// Operators that are written as keywords: the first keyword, the one that must follow it, and the spelling of the
/// operator. `ilike` is `like` without regard to case.
pub(super) const OPERATOR_KEYWORDS: [(&str, Option<&str>, &str); 10] = [
    ("in", None, "in"),
    ("between", None, "between"),
    ("like", None, "like"),
    ("ilike", None, "ilike"),
    ("starts", Some("with"), "starts with"),
    ("ends", Some("with"), "ends with"),
    ("contains", None, "contains"),
    ("matches", None, "matches"),
    ("rlike", None, "matches"),
    ("regexp", None, "matches"),
];

/// Predicates that are written as functions of a term and what to look for in it, with the spelling of the operator.
pub(super) const TWO_ARGUMENTS: [(&str, &str); 4] = [
    ("startswith", "starts with"),
    ("endswith", "ends with"),
    ("contains", "contains"),
    ("array_contains", "="),
];

/// Predicates about the elements of a list, in the order of [`Quantifier`](super::Quantifier).
pub(super) const QUANTIFIERS: [&str; 3] = ["any", "all", "none"];

/// Whether a name must be quoted to be read as an attribute everywhere.
pub(super) fn is_keyword(name: &str) -> bool {
    RESERVED.iter().chain(&CONTEXTUAL).any(|keyword| name.eq_ignore_ascii_case(keyword))
}

/// For every first letter a bit for each length of the keywords that begin with it.
static LENGTHS: [u32; 26] = {
    let mut lengths = [0; 26];
    let mut functions = [""; TWO_ARGUMENTS.len()];
    let mut function = 0;
    while function < functions.len() {
        functions[function] = TWO_ARGUMENTS[function].0;
        function += 1;
    }
    let lists: [&[&str]; 5] = [&RESERVED, &CONTEXTUAL, &functions, &QUANTIFIERS, &CONSTANT_KEYWORDS];
    let mut list = 0;
    while list < lists.len() {
        let mut keyword = 0;
        while keyword < lists[list].len() {
            let text = lists[list][keyword].as_bytes();
            lengths[(text[0] - b'a') as usize] |= 1 << text.len();
            keyword += 1;
        }
        list += 1;
    }
    lengths
};

/// Whether a name may mean something other than an attribute or a function of a term. Some attributes pass as well.
///
/// Most names are those of attributes. First letter, last letter and length distinguish most of them from the
/// keywords, so they need not be compared with each of those.
pub(super) fn may_mean(name: &str) -> bool {
    let (Some(first), Some(last)) = (name.as_bytes().first(), name.as_bytes().last()) else { return false };
    let letter = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    let lengths = LENGTHS.get(letter).copied().unwrap_or(0);
    name.len() < 32 && last.is_ascii_alphabetic() && lengths >> name.len() & 1 == 1
}

/// Whether a name means something other than an attribute in some place.
pub(super) fn means(name: &str) -> bool {
    let is_name = |keyword: &&str| name.eq_ignore_ascii_case(keyword);
    may_mean(name)
        && (RESERVED.iter().chain(&CONTEXTUAL).chain(&QUANTIFIERS).any(is_name)
            || CONSTANT_KEYWORDS.iter().any(is_name)
            || TWO_ARGUMENTS.iter().any(|(keyword, ..)| name.eq_ignore_ascii_case(keyword)))
}

/// The keyword that `name` is most likely a misspelling of.
pub(super) fn nearest(name: &str, keywords: &[&'static str]) -> Option<&'static str> {
    if name.len() > 16 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    keywords
        .iter()
        .map(|keyword| (strsim::osa_distance(&name, keyword), *keyword))
        .filter(|(distance, keyword)| *distance <= if keyword.len() < 5 { 1 } else { 2 })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, keyword)| keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_pass_and_most_names_do_not() {
        let functions = TWO_ARGUMENTS.map(|(name, _)| name);
        let keywords = RESERVED.iter().chain(&CONTEXTUAL).chain(&functions).chain(&CONSTANT_KEYWORDS);
        for name in keywords.chain(&QUANTIFIERS) {
            assert!(may_mean(name) && may_mean(&name.to_uppercase()), "{name}");
            assert!(means(name) && means(&name.to_uppercase()), "{name}");
        }
        for name in ["", "a12", "user.geo.state", "Ünicode", "_x", "country", &"a".repeat(100), "z"] {
            assert!(!may_mean(name), "{name}");
        }
        assert!(may_mean("age") && !means("age"));
    }
}
