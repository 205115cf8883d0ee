//! Text with normalised white space.
//!
//! `normalize-space(.)` is evaluated on nested elements, whose strings are slices of one text. That text is
//! normalised once, and the results are slices of it.

use super::{Document, NodeIndex, NodeKind};
use crate::characters::is_space;

/// Two texts in which every run of white space is one space.
#[derive(Debug, Default)]
pub struct Normalized {
    text: Runs,
    values: Runs,
}

#[derive(Debug, Default)]
struct Runs {
    text: String,
    /// After every run that became shorter: the position in the original, and the position here.
    places: Vec<(u32, u32)>,
}

impl Runs {
    fn new(original: &str) -> Runs {
        let mut runs = Runs { text: String::with_capacity(original.len()), places: Vec::new() };
        let bytes = original.as_bytes();
        let mut at = 0;
        while let Some(space) = bytes[at..].iter().position(|byte| is_space(*byte)) {
            runs.text.push_str(&original[at..at + space]);
            runs.text.push(' ');
            let length = bytes[at + space..].iter().take_while(|byte| is_space(**byte)).count();
            at += space + length;
            if length > 1 {
                runs.places.push((at as u32, runs.text.len() as u32));
            }
        }
        runs.text.push_str(&original[at..]);
        runs
    }

    /// The new position of an original position; for a position inside a run, the end of the run.
    fn place(&self, original: usize) -> usize {
        let next = self.places.partition_point(|(place, _)| (*place as usize) <= original);
        let (from, to) = next.checked_sub(1).map_or((0, 0), |last| self.places[last]);
        let here = to as usize + (original - from as usize);
        self.places.get(next).map_or(here, |(_, end)| here.min(*end as usize))
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text[self.place(start)..self.place(end)].trim_matches(' ')
    }
}

impl Document {
    /// The string value of a node, normalised as by `normalize-space()`.
    pub(crate) fn normalized_string(&self, index: NodeIndex) -> &str {
        let node = self.node(index);
        let normalized = self
            .normalized
            .get_or_init(|| Normalized { text: Runs::new(&self.text), values: Runs::new(&self.values) });
        let runs = match node.kind {
            NodeKind::Document | NodeKind::Element | NodeKind::Text => &normalized.text,
            NodeKind::Attribute | NodeKind::Comment | NodeKind::Instruction => &normalized.values,
        };
        runs.slice(node.value.0 as usize, node.value.1 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_is_normalised() {
        let original = "  a \t\nb\u{a0}c \n\n\n d\u{e9} e  ";
        let runs = Runs::new(original);
        let boundaries: Vec<usize> =
            (0..=original.len()).filter(|at| original.is_char_boundary(*at)).collect();
        for &start in &boundaries {
            for &end in boundaries.iter().filter(|end| **end >= start) {
                let tokens: Vec<&str> = original[start..end]
                    .split([' ', '\t', '\n', '\r'])
                    .filter(|token| !token.is_empty())
                    .collect();
                assert_eq!(runs.slice(start, end), tokens.join(" "), "{:?}", &original[start..end]);
            }
        }
    }
}
