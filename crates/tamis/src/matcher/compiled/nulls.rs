//! Which attributes' nulls do expressions tell from nothing?
//!
//! Those that an `exists` asks about. A residual checks it whatever the access of the expression is, so all of them
//! stand in the program.

use super::program::{ANY, BITS, JUMP, KEYS, KIND, LAST, NODE, PATTERN, PRESENCE, RANGE, SET, key_count};
use super::{Compiled, Matcher};
use crate::event::AttributeId;

/// More than alternatives of anything that is compiled nest.
const MOST_DEPTH: u8 = 250;

impl Compiled {
    /// The attributes that `exists` asks about; `None` where the program is damaged, which whoever matches
    /// finds out.
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

    /// Notes the attributes that the residual at a position asks `exists` of; returns where it ends.
    fn presence_checks(&self, mut at: usize, level: u8, asked: &mut [bool]) -> Option<usize> {
        if level > MOST_DEPTH {
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
                    // Any other count asks for `is null`, which is the same of a null and of nothing.
                    if key_count(head) == 0 {
                        *asked.get_mut((head >> 10) as usize)? = true;
                    }
                    0
                }
                ANY => {
                    let (count, mut end) = (*self.program.get(at + 1)?, at + 3);
                    // Each behind its length.
                    for _ in 0..count {
                        end = self.presence_checks(end + 1, level + 1, asked)?;
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
