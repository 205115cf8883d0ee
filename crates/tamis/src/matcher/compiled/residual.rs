//! What remains to be checked of an expression once what it waits for is true?
//!
//! A residual: checks, the least likely first, as `program` runs it.

use super::NO_RESIDUAL;
use super::bits::BitTest;
use super::lower::{Lowering, NO_NODE};
use super::program::{self, MOST_KEYS, end_residual, head};
use super::term::{Tag, TermId};

impl Lowering {
    /// A residual that checks the terms and goes on with the residual at `rest`.
    pub(super) fn residual(&mut self, terms: &[TermId], rest: u32) -> u32 {
        if terms.is_empty() {
            return rest;
        }
        let mut words = Vec::new();
        let mut last = 0;
        for &term in terms {
            last = words.len();
            self.check(term, &mut words);
        }
        if rest == NO_RESIDUAL {
            end_residual(&mut words, last);
        } else {
            words.extend([head(program::JUMP, false, 0, 0), rest]);
        }
        let residual = self.program.len() as u32;
        self.program.extend(words);
        residual
    }

    /// The residual that evaluates a node from its operands.
    pub(super) fn body(&mut self, term: TermId) -> u32 {
        let mut words = Vec::new();
        let mut last = 0;
        let parts = self.terms.get(term);
        if parts.tag == Tag::And {
            let mut operands = parts.operands().to_vec();
            operands.sort_by(|&a, &b| self.chances[a as usize].total_cmp(&self.chances[b as usize]));
            for operand in operands {
                last = words.len();
                self.check(operand, &mut words);
            }
        } else {
            self.alternatives(term, &mut words);
        }
        end_residual(&mut words, last);
        let residual = self.program.len() as u32;
        self.program.extend(words);
        residual
    }

    /// Appends the check that a term is true.
    fn check(&mut self, term: TermId, words: &mut Vec<u32>) {
        if self.nodes[term as usize] != NO_NODE {
            words.extend([head(program::NODE, false, 0, 0), self.nodes[term as usize]]);
            return;
        }
        let parts = self.terms.get(term);
        let negated = parts.negated;
        if let Some(BitTest { word, mask, exact: true }) = self.bit_test(term) {
            let head = head(program::BITS, negated, 0, parts.attribute());
            words.extend([head, word, mask as u32, (mask >> 32) as u32]);
            return;
        }
        match parts.tag {
            Tag::Or => self.alternatives(term, words),
            Tag::Keys if parts.payload().len() <= MOST_KEYS => {
                let keys = parts.payload();
                words.push(head(program::KEYS, negated, keys.len(), parts.attribute()));
                words.extend(keys.iter().map(|&key| self.key_numbers[key as usize]));
            }
            Tag::Keys => {
                let attribute = parts.attribute();
                let set = self.set(term);
                words.extend([head(program::SET, negated, 0, attribute), set]);
            }
            Tag::Range => {
                let attribute = parts.attribute();
                let (first, last) = self.interval(term);
                words.extend([head(program::RANGE, negated, 0, attribute), first, last]);
            }
            Tag::Pattern => {
                words.extend([head(program::PATTERN, negated, 0, parts.attribute()), parts.payload()[0]]);
            }
            Tag::Presence => {
                words.push(head(program::PRESENCE, negated, parts.payload()[0] as usize, parts.attribute()));
            }
            Tag::Constant | Tag::And => unreachable!("folded or flattened"),
        }
    }

    /// Appends the check that some operand of a disjunction is true, the likeliest first.
    fn alternatives(&mut self, term: TermId, words: &mut Vec<u32>) {
        let mut operands = self.terms.get(term).operands().to_vec();
        operands.sort_by(|&a, &b| self.chances[b as usize].total_cmp(&self.chances[a as usize]));
        words.extend([head(program::ANY, false, 0, 0), operands.len() as u32, 0]);
        let start = words.len();
        for operand in operands {
            let length = words.len();
            words.push(0);
            let parts = self.terms.get(operand);
            let mut checks = vec![operand];
            if parts.tag == Tag::And && self.nodes[operand as usize] == NO_NODE {
                checks = parts.operands().to_vec();
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
