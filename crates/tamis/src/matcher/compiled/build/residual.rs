//! What remains to be checked of an expression once its trigger is true?
//!
//! A residual: checks, the least likely first, as `program` executes them.

use super::super::columns::bits::BitTest;
use super::super::columns::entry_list::NO_RESIDUAL;
use super::super::columns::opcodes::{self, MOST_KEYS, end_residual, head};
use super::ir::{SubexpressionId, Tag};
use super::lower::{Lowering, NO_NODE};

impl Lowering {
    /// A residual that checks these subexpressions and continues with the residual at `rest`.
    pub(in crate::matcher::compiled) fn residual(
        &mut self,
        ids: impl ExactSizeIterator<Item = SubexpressionId>,
        rest: u32,
    ) -> u32 {
        if ids.len() == 0 {
            return rest;
        }
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let mut last = 0;
        for id in ids {
            last = words.len();
            self.check(id, &mut words);
        }
        if rest == NO_RESIDUAL {
            end_residual(&mut words, last);
        } else {
            words.extend([head(opcodes::JUMP, false, 0, 0), rest]);
        }
        let residual = self.program.len() as u32;
        self.program.extend_from_slice(&words);
        self.words = words;
        residual
    }

    /// Appends the check that a subexpression is true.
    fn check(&mut self, id: SubexpressionId, words: &mut Vec<u32>) {
        if self.nodes[id as usize] != NO_NODE {
            words.extend([head(opcodes::NODE, false, 0, 0), self.nodes[id as usize]]);
            return;
        }
        let subexpression = self.ir.get(id);
        let negated = subexpression.negated;
        if let Some(BitTest { word, mask, exact: true }) = self.bit_test(id) {
            let head = head(opcodes::BITS, negated, 0, subexpression.attribute());
            words.extend([head, word, mask as u32, (mask >> 32) as u32]);
            return;
        }
        match subexpression.tag {
            Tag::Or => self.alternatives(id, words),
            Tag::Keys if subexpression.payload().len() <= MOST_KEYS => {
                let keys = subexpression.payload();
                words.push(head(opcodes::KEYS, negated, keys.len(), subexpression.attribute()));
                words.extend(keys.iter().map(|&key| self.key_numbers[key as usize]));
            }
            Tag::Keys => {
                let attribute = subexpression.attribute();
                let set = self.set(id);
                words.extend([head(opcodes::SET, negated, 0, attribute), set]);
            }
            Tag::Range => {
                let attribute = subexpression.attribute();
                let (first, last) = self.interval(id);
                words.extend([head(opcodes::RANGE, negated, 0, attribute), first, last]);
            }
            Tag::Pattern => {
                words.extend([
                    head(opcodes::PATTERN, negated, 0, subexpression.attribute()),
                    subexpression.payload()[0],
                ]);
            }
            Tag::Presence => {
                words.push(head(
                    opcodes::PRESENCE,
                    negated,
                    subexpression.payload()[0] as usize,
                    subexpression.attribute(),
                ));
            }
            Tag::Constant | Tag::And => unreachable!("folded or flattened"),
        }
    }

    /// Appends the check that some child of a disjunction is true, the most likely first.
    fn alternatives(&mut self, id: SubexpressionId, words: &mut Vec<u32>) {
        let mut children = self.ir.get(id).children().to_vec();
        children.sort_by(|&a, &b| self.chances[b as usize].total_cmp(&self.chances[a as usize]));
        let asks_nodes = children.iter().any(|&child| self.asks_nodes[child as usize]);
        words.extend([head(opcodes::ANY, false, asks_nodes.into(), 0), children.len() as u32, 0]);
        let start = words.len();
        for child in children {
            let length = words.len();
            words.push(0);
            let subexpression = self.ir.get(child);
            let mut checks = vec![child];
            if subexpression.tag == Tag::And && self.nodes[child as usize] == NO_NODE {
                checks = subexpression.children().to_vec();
                checks.sort_by(|&a, &b| self.chances[a as usize].total_cmp(&self.chances[b as usize]));
            }
            let mut last = words.len();
            for check in checks {
                last = words.len();
                self.check(check, words);
            }
            end_residual(words, last);
            words[length] = (words.len() - length - 1) as u32;
        }
        words[start - 1] = (words.len() - start) as u32;
    }
}
