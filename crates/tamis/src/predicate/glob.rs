//! Does a string follow a `like` pattern?
//!
//! `%` stands for any run of characters, `_` for one character, and a backslash makes the next
//! character stand for itself. The pattern is cut at its `%`; the first piece must begin the string,
//! the last must end it, and each between is found leftmost after the one before, which is right
//! because a match further left leaves more of the string for the pieces that follow.

/// A compiled `like` pattern.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    /// The pieces between the `%`; one piece means there was none.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    /// Plain text.
    Plain(Box<str>),
    /// Characters, with `None` for `_`.
    Mixed(Vec<Option<char>>),
}

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
        Glob { pieces }
    }

    pub fn is_match(&self, text: &str) -> bool {
        let [first, middle @ .., last] = &self.pieces[..] else {
            return self.pieces[0].prefix(text) == Some(text.len());
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

impl Piece {
    fn new(characters: Vec<Option<char>>) -> Piece {
        let plain: Option<String> = characters.iter().copied().collect();
        plain.map_or(Piece::Mixed(characters), |text| Piece::Plain(text.into()))
    }

    /// The bytes of `text` that the piece takes if it begins it.
    fn prefix(&self, text: &str) -> Option<usize> {
        match self {
            Piece::Plain(plain) => text.starts_with(&**plain).then_some(plain.len()),
            Piece::Mixed(wanted) => {
                let mut characters = text.chars();
                for wanted in wanted {
                    let found = characters.next()?;
                    if wanted.is_some_and(|wanted| wanted != found) {
                        return None;
                    }
                }
                Some(text.len() - characters.as_str().len())
            }
        }
    }

    /// Where the leftmost place of the piece in `text` ends.
    fn find(&self, text: &str) -> Option<usize> {
        match self {
            Piece::Plain(plain) => text.find(&**plain).map(|start| start + plain.len()),
            Piece::Mixed(wanted) => {
                let starts = text.char_indices().map(|(start, _)| start);
                let last = text.chars().count().checked_sub(wanted.len())?;
                starts
                    .take(last + 1)
                    .find_map(|start| self.prefix(&text[start..]).map(|length| start + length))
            }
        }
    }

    fn ends(&self, text: &str) -> bool {
        match self {
            Piece::Plain(plain) => text.ends_with(&**plain),
            Piece::Mixed(wanted) => {
                let start = text.char_indices().rev().nth(wanted.len() - 1).map(|(start, _)| start);
                start.is_some_and(|start| self.prefix(&text[start..]).is_some())
            }
        }
    }
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
    }

    proptest! {
        #[test]
        fn equals_the_regular_expression(pattern in "[ab%_]{0,8}", text in "[abü]{0,8}") {
            let regex = pattern.replace('%', ".*").replace('_', ".");
            let regex = regex::Regex::new(&format!("(?s)^(?:{regex})$")).unwrap();
            prop_assert_eq!(like(&pattern, &text), regex.is_match(&text));
        }
    }
}
