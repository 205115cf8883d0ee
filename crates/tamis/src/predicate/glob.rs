//! Does a string match a `like` pattern?
//!
//! `%` matches any sequence of characters, `_` one character, and a backslash escapes the next character. The pattern
//! is split at its `%`: the first piece must start the string, the last must end it, and each one between is searched
//! leftmost after the previous one. That is correct because a match further left leaves more of the string for the
//! following pieces.
//!
//! A piece is found in time linear in the string: text by a substring search, even with `_` around it; text with `_`
//! inside by bits that show which prefixes of the piece end at a character (Baeza-Yates and Gonnet 1992), 64 of them
//! at a time. The length of such a piece is limited.

use std::collections::HashMap;

use memchr::{memchr, memmem};

/// A compiled `like` pattern: the pieces between its `%`. A single piece means that there is none.
#[derive(Debug, Clone)]
pub(crate) enum Glob {
    /// All pieces are plain text.
    Plain(PlainPieces),
    Pieces(Vec<Piece>),
}

/// Pieces in one allocation, each a length and that many bytes: the first, the last, then those between. Usually, a
/// pattern is in no cache when it is tried, and every further allocation would be another read from memory.
#[derive(Debug, Clone)]
pub(crate) struct PlainPieces(Box<[u8]>);

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Plain text.
    Plain(Box<str>),
    /// Text with this many `_` before and after it.
    Framed(usize, Box<str>, usize),
    /// Characters, with `None` for `_`, some of them in the middle.
    Mixed(Vec<Option<char>>),
}

/// A piece of at most this many characters is tried at every position.
const SHORT: usize = 16;

impl Glob {
    pub fn new(pattern: &str) -> Glob {
        let mut pieces = Vec::new();
        let mut piece = Vec::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            match character {
                '%' => pieces.push(Piece::new(std::mem::take(&mut piece))),
                '_' => piece.push(None),
                '\\' => piece.push(Some(characters.next().unwrap_or('\\'))),
                other => piece.push(Some(other)),
            }
        }
        pieces.push(Piece::new(piece));
        match PlainPieces::new(&pieces) {
            Some(plain) => Glob::Plain(plain),
            None => Glob::Pieces(pieces),
        }
    }

    pub fn is_match(&self, text: &str) -> bool {
        let pieces = match self {
            Glob::Plain(pieces) => return pieces.is_match(text.as_bytes()),
            Glob::Pieces(pieces) => pieces,
        };
        let [first, middle @ .., last] = &pieces[..] else {
            return pieces[0].prefix(text) == Some(text.len());
        };
        let Some(begin) = first.prefix(text) else { return false };
        let mut rest = &text[begin..];
        for piece in middle {
            let Some(end) = piece.find(rest) else { return false };
            rest = &rest[end..];
        }
        last.ends(rest)
    }
}

/// The bytes of a piece's length.
const LENGTH: usize = size_of::<u32>();

impl PlainPieces {
    /// `None` if a piece is not plain text.
    fn new(pieces: &[Piece]) -> Option<PlainPieces> {
        let plain = |piece: &Piece| match piece {
            Piece::Plain(text) => Some((u32::try_from(text.len()).ok()?, text.clone())),
            _ => None,
        };
        let mut plain: Vec<(u32, Box<str>)> = pieces.iter().map(plain).collect::<Option<_>>()?;
        if plain.len() > 1 {
            plain[1..].rotate_right(1);
        }
        let bytes = plain.iter().flat_map(|(length, text)| {
            length.to_le_bytes().into_iter().chain(text.bytes()).collect::<Vec<u8>>()
        });
        Some(PlainPieces(bytes.collect()))
    }

    /// Splits the first of some pieces from the others.
    fn split(pieces: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, rest) = pieces.split_first_chunk::<LENGTH>()?;
        rest.split_at_checked(u32::from_le_bytes(*length) as usize)
    }

    /// A piece is UTF-8 like the text, so where its bytes occur, it occurs.
    fn is_match(&self, text: &[u8]) -> bool {
        let Some((first, rest)) = PlainPieces::split(&self.0) else { return false };
        let Some((last, mut middle)) = PlainPieces::split(rest) else { return text == first };
        // The end is the cheapest to look at.
        let Some(text) = text.strip_suffix(last) else { return false };
        let Some(mut text) = text.strip_prefix(first) else { return false };
        while let Some((piece, rest)) = PlainPieces::split(middle) {
            let Some(end) = find(piece, text) else { return false };
            (text, middle) = (&text[end..], rest);
        }
        true
    }
}

/// Where the leftmost occurrence of a piece in a text ends.
///
/// Pieces and texts are short, and a searcher takes longer to set up than a search for the first byte takes. Where that
/// does not get on, the searcher goes on from there, so the work is linear.
fn find(piece: &[u8], text: &[u8]) -> Option<usize> {
    let [first, tail @ ..] = piece else { return Some(0) };
    let Some(second) = tail.first() else { return Some(memchr(*first, text)? + 1) };
    let starts = text.len().checked_sub(tail.len())?;
    let (mut from, mut compared) = (0, 0);
    while let Some(at) = memchr(*first, &text[from..starts]) {
        from += at + 1;
        compared += 1;
        if text[from] == *second {
            if text[from..].starts_with(tail) {
                return Some(from + tail.len());
            }
            compared += tail.len();
        }
        if compared > text.len() / 4 + 64 {
            return Some(from + memmem::find(&text[from..], piece)? + piece.len());
        }
    }
    None
}

impl Piece {
    fn new(characters: Vec<Option<char>>) -> Piece {
        let before = characters.iter().take_while(|character| character.is_none()).count();
        let framed = &characters[before..];
        let after = framed.iter().rev().take_while(|character| character.is_none()).count();
        let text: Option<String> = framed[..framed.len() - after].iter().copied().collect();
        match text {
            None => Piece::Mixed(characters),
            Some(text) if before + after == 0 => Piece::Plain(text.into()),
            Some(text) => Piece::Framed(before, text.into(), after),
        }
    }

    /// The length in bytes of the piece at the start of `text`.
    fn prefix(&self, text: &str) -> Option<usize> {
        match self {
            Piece::Plain(plain) => text.starts_with(&**plain).then_some(plain.len()),
            Piece::Framed(before, plain, after) => {
                let start = skip(text, *before)?;
                let rest = text[start..].strip_prefix(&**plain)?;
                Some(text.len() - rest.len() + skip(rest, *after)?)
            }
            Piece::Mixed(wanted) => prefix(wanted, text),
        }
    }

    /// Where the leftmost occurrence of the piece in `text` ends.
    fn find(&self, text: &str) -> Option<usize> {
        match self {
            Piece::Plain(plain) => find(plain.as_bytes(), text.as_bytes()),
            Piece::Framed(before, plain, after) => {
                let start = skip(text, *before)?;
                let end = start + find(plain.as_bytes(), &text.as_bytes()[start..])?;
                Some(end + skip(&text[end..], *after)?)
            }
            Piece::Mixed(wanted) if wanted.len() <= SHORT => {
                let mut starts = text.char_indices();
                starts.find_map(|(start, _)| prefix(wanted, &text[start..]).map(|length| start + length))
            }
            Piece::Mixed(wanted) => find_long(wanted, text),
        }
    }

    fn ends(&self, text: &str) -> bool {
        let length = match self {
            Piece::Plain(plain) => return text.ends_with(&**plain),
            Piece::Framed(before, plain, after) => before + plain.chars().count() + after,
            Piece::Mixed(wanted) => wanted.len(),
        };
        let start = text.char_indices().rev().nth(length - 1).map(|(start, _)| start);
        start.is_some_and(|start| self.prefix(&text[start..]).is_some())
    }
}

/// The bytes of the first `count` characters; `None` if there are fewer.
fn skip(text: &str, count: usize) -> Option<usize> {
    let mut characters = text.chars();
    for _ in 0..count {
        characters.next()?;
    }
    Some(text.len() - characters.as_str().len())
}

/// The length in bytes of the characters at the start of `text`.
fn prefix(wanted: &[Option<char>], text: &str) -> Option<usize> {
    let mut characters = text.chars();
    for wanted in wanted {
        let found = characters.next()?;
        if wanted.is_some_and(|wanted| wanted != found) {
            return None;
        }
    }
    Some(text.len() - characters.as_str().len())
}

/// The positions of a piece that a character fits: a row of bits and, unless these contain them, the positions of the
/// character itself.
#[derive(Clone, Copy, Default)]
struct Row<'a> {
    number: usize,
    few: &'a [(char, usize)],
}

/// Where the leftmost occurrence of the characters in `text` ends, 64 of them at a time.
fn find_long(wanted: &[Option<char>], text: &str) -> Option<usize> {
    if text.len() < wanted.len() {
        return None;
    }
    let words = wanted.len().div_ceil(64);
    let bit = |place: usize| 1u64 << (place % 64);
    let mut places: Vec<(char, usize)> =
        wanted.iter().zip(0..).filter_map(|(wanted, place)| Some(((*wanted)?, place))).collect();
    places.sort_unstable();
    // For each character, the positions of the piece that it fits; those of any other character come first. A character
    // at few positions has a list of these instead, or many different ones would take quadratic memory.
    let mut fits = vec![0u64; words];
    for (place, _) in wanted.iter().enumerate().filter(|(_, wanted)| wanted.is_none()) {
        fits[place / 64] |= bit(place);
    }
    let mut rows: HashMap<char, Row<'_>, ahash::RandomState> = HashMap::default();
    for places in places.chunk_by(|one, other| one.0 == other.0) {
        let mut row = Row { number: 0, few: places };
        if places.len() > words {
            row = Row { number: fits.len() / words, few: &[] };
            fits.extend_from_within(..words);
            for (_, place) in places {
                fits[row.number * words + place / 64] |= bit(*place);
            }
        }
        rows.insert(places[0].0, row);
    }
    let row = |character: char| rows.get(&character).copied().unwrap_or_default();
    let ascii: [Row<'_>; 128] = std::array::from_fn(|code| row(code as u8 as char));
    // Bit `n` says that the first `n + 1` characters end here.
    let mut ending = vec![0u64; words];
    let mut few = Vec::new();
    let last = wanted.len() - 1;
    for (start, character) in text.char_indices() {
        let row = ascii.get(character as usize).copied().unwrap_or_else(|| row(character));
        let fits = &fits[row.number * words..(row.number + 1) * words];
        // The positions of the list whose preceding characters end before this one.
        few.clear();
        few.extend(row.few.iter().map(|&(_, place)| place).filter(|&place| {
            place.checked_sub(1).is_none_or(|before| ending[before / 64] & bit(before) != 0)
        }));
        let mut carry = 1;
        for (ending, fits) in ending.iter_mut().zip(fits) {
            let next = *ending >> 63;
            *ending = (*ending << 1 | carry) & fits;
            carry = next;
        }
        few.iter().for_each(|&place| ending[place / 64] |= bit(place));
        if ending[last / 64] & bit(last) != 0 {
            return Some(start + character.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).is_match(text)
    }

    #[test]
    fn examples() {
        assert!(like("espn%", "espn.com"));
        assert!(!like("espn", "espn.com"));
        assert!(like("%", ""));
        assert!(like("", ""));
        assert!(!like("", "a"));
        assert!(like("a_c", "aüc"));
        assert!(!like("_", ""));
        assert!(like(r"100\%", "100%"));
        assert!(!like(r"100\%", "100 percent"));
        assert!(like(r"a\\b", r"a\b"));
        assert!(like("%_b%_", "aabxbx"));
        assert!(!like("aa%aa", "aaa"));
        assert!(like("%a_", "aaa"));
        assert!(like("_%_", "ab") && !like("_%_", "a"));
        assert!(like("%__%", "üb") && !like("%__%", "ü"));
    }

    #[test]
    fn hard_pieces_are_linear() {
        // Naively, this would take 16 thousand steps at each of 320 thousand positions.
        let text = "a".repeat(320_000);
        assert!(!like(&format!("%_{}b%", "a".repeat(16_000)), &text));
        assert!(like(&format!("%_{}%", "a".repeat(16_000)), &text));
        let inside = format!("{}_{}", "a".repeat(2_000), "a".repeat(2_000));
        assert!(!like(&format!("%{inside}b%"), &text));
        assert!(like(&format!("%{inside}b%"), &format!("{text}b")));
        assert!(like(&"%_a".repeat(100_000), &text));
    }

    #[test]
    fn repeated_letters_are_linear() {
        let text = "a".repeat(1 << 20);
        let begun = std::time::Instant::now();
        for piece in ["a".repeat(4_000) + "b", "ab".into(), "aab".repeat(900)] {
            assert!(!like(&format!("%{piece}%"), &text));
            assert!(like(&format!("%{piece}%"), &format!("{text}{piece}")));
            assert!(like(&format!("%a%{piece}"), &format!("{text}{piece}")));
        }
        // Naively, it would be more than a minute.
        assert!(begun.elapsed().as_secs() < 10);
    }

    #[test]
    fn pieces_of_many_different_characters_take_linear_memory() {
        // With a row of bits for each of them, it would be five gigabytes.
        let piece: String = ('\u{10000}'..).take(200_000).collect();
        let pattern = format!("%{}_{}%", &piece[..piece.len() / 2], &piece[piece.len() / 2..]);
        assert!(!like(&pattern, &piece));
        let text = format!("x{}ab{}", &piece[..piece.len() / 2], &piece[piece.len() / 2..]);
        assert!(!like(&pattern, &text));
        assert!(like(&pattern, &text.replace("ab", "b")));
    }

    proptest! {
        #[test]
        fn plain_pieces_equal_the_regular_expression(pattern in "[abü%]{0,9}", text in "[abü]{0,200}") {
            let regex = pattern.replace('%', ".*");
            let regex = regex::Regex::new(&format!("(?s)^(?:{regex})$")).unwrap();
            prop_assert_eq!(like(&pattern, &text), regex.is_match(&text));
        }

        #[test]
        fn long_pieces_equal_the_regular_expression(
            piece in "[abü_]{10,140}",
            ends in "(%|_|a|)",
            before in "[abü]{0,20}",
            change in any::<prop::sample::Index>(),
        ) {
            let mut text: Vec<char> = piece.replace('_', "ü").chars().collect();
            let place = change.index(text.len());
            text[place] = if text[place] == 'a' { 'b' } else { 'a' };
            let text = format!("{before}{}{before}{}", piece.replace('_', "a"), String::from_iter(text));
            let pattern = format!("%{piece}{ends}");
            let regex = pattern.replace('%', ".*").replace('_', ".");
            let regex = regex::Regex::new(&format!("(?s)^(?:{regex})$")).unwrap();
            prop_assert_eq!(like(&pattern, &text), regex.is_match(&text));
            let both = format!("{pattern}%{piece}%");
            let regex = both.replace('%', ".*").replace('_', ".");
            let regex = regex::Regex::new(&format!("(?s)^(?:{regex})$")).unwrap();
            prop_assert_eq!(like(&both, &text), regex.is_match(&text));
        }

        #[test]
        fn equals_the_regular_expression(pattern in "[ab%_]{0,8}", text in "[abü]{0,8}") {
            let regex = pattern.replace('%', ".*").replace('_', ".");
            let regex = regex::Regex::new(&format!("(?s)^(?:{regex})$")).unwrap();
            prop_assert_eq!(like(&pattern, &text), regex.is_match(&text));
        }
    }
}
