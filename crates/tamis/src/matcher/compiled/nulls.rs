//! For which attributes do expressions distinguish a null from a missing attribute?
//!
//! Those tested by `exists`. It is always checked by a residual, whatever the triggers of the expression, so the
//! program contains all of them.

use super::columns::opcodes::{
    ANY, BITS, JUMP, KEYS, KIND, LAST, NODE, PATTERN, PRESENCE, RANGE, SET, key_count,
};
use super::{Compiled, Matcher};
use crate::event::AttributeId;

/// More depth than alternatives of a compiled expression can have.
const MOST_DEPTH: u8 = 250;

impl Compiled {
    /// The attributes tested by `exists`; `None` if the program is damaged, which matching reports.
    pub(super) fn nulls(&self) -> Option<Vec<AttributeId>> {
        let mut asked = vec![false; self.names.len() + 1];
        let mut start = 0;
        while start < self.program.len() {
            start = self.presence_checks(start, 0, &mut asked)?;
        }
        let mut nulls = self.scan.asked_nulls()?;
        let local = self.attributes.iter().enumerate();
        nulls.extend(local.filter(|(_, local)| asked[**local as usize]).map(|(global, _)| global as u32));
        Some(nulls)
    }

    /// Adds the attributes that the residual at a position tests with `exists`; returns where it ends.
    fn presence_checks(&self, mut at: usize, depth: u8, asked: &mut [bool]) -> Option<usize> {
        if depth > MOST_DEPTH {
            return None;
        }
        loop {
            let head = *self.program.get(at)?;
            let length = match head & KIND {
                KEYS => key_count(head),
                SET | PATTERN | NODE | JUMP => 1,
                RANGE => 2,
                BITS => 3,
                PRESENCE => {
                    // Any other count is `is null`, which treats nulls and missing attributes alike.
                    if key_count(head) == 0 {
                        *asked.get_mut((head >> 10) as usize)? = true;
                    }
                    0
                }
                ANY => {
                    let (count, mut end) = (*self.program.get(at + 1)?, at + 3);
                    // Each is preceded by its length.
                    for _ in 0..count {
                        end = self.presence_checks(end + 1, depth + 1, asked)?;
                    }
                    end - at - 1
                }
                _ => return None,
            };
            at += 1 + length;
            if head & LAST != 0 || head & KIND == JUMP {
                return Some(at);
            }
        }
    }
}
