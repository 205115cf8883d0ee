//! What remains to be checked once a trigger is true, and how is it checked?
//!
//! A residual is a conjunction of checks, stored contiguously; `opcodes` says how each is encoded.

use super::super::columns::opcodes::{
    ANY, BITS, KEYS, KIND, LAST, NEGATED, NODE, PATTERN, PRESENCE, RANGE, SET, key_count,
};
use super::scratch::{CompiledScratch, EventAttribute};
use crate::truth::Missing;

const NEGATED_BITS: u32 = BITS | NEGATED;
const NEGATED_KEYS: u32 = KEYS | NEGATED;
const NEGATED_RANGE: u32 = RANGE | NEGATED;
const NEGATED_PATTERN: u32 = PATTERN | NEGATED;

/// The result of evaluating a residual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matcher::compiled) enum Outcome {
    False,
    True,
    /// All checks before this position hold, and the one there asks for a node that is not true so far.
    Open(u32),
}

/// What checks need from the matcher besides the event.
pub(in crate::matcher::compiled) trait Context {
    /// The keys of a set, ascending.
    fn set(&self, set: u32) -> &[u32];
    /// Whether some value matches a pattern.
    fn pattern(&self, pattern: u32, working: &mut CompiledScratch) -> bool;
    /// The truth of predicates on an attribute without a value.
    fn missing(&self) -> Missing;
    /// Whether some value of an attribute has this key.
    fn has_key(&self, attribute: u32, key: u32, working: &CompiledScratch) -> bool;
}

/// Evaluates the residual at `position`. The most common checks are decided inline: bit tests, nodes,
/// patterns, and keys and ranges of single-valued attributes.
#[inline]
pub(in crate::matcher::compiled) fn evaluate<C: Context>(
    context: &C,
    program: &[u32],
    mut position: usize,
    working: &mut CompiledScratch,
) -> Outcome {
    loop {
        let head = program[position];
        let (holds, next) = match head & (KIND | NEGATED) {
            BITS => (working.has_bits(program, position), position + 4),
            NEGATED_BITS => {
                let known = working.fields[(head >> 10) as usize].values > 0;
                let unknown_holds = context.missing() == Missing::False;
                ((known | unknown_holds) & !working.has_bits(program, position), position + 4)
            }
            NODE if working.is_true(program[position + 1]) => (true, position + 2),
            NODE => return Outcome::Open(position as u32),
            KEYS | NEGATED_KEYS => {
                let next = position + 1 + key_count(head);
                let holds = match working.fields[(head >> 10) as usize] {
                    EventAttribute { values: 0, .. } => negated_without_value(context, head),
                    EventAttribute { values: 1, key, .. } => {
                        program[position + 1..next].contains(&key) != (head & NEGATED != 0)
                    }
                    _ => return evaluate_any(context, program, position, working),
                };
                (holds, next)
            }
            RANGE | NEGATED_RANGE => {
                let holds = match working.fields[(head >> 10) as usize] {
                    EventAttribute { values: 0, .. } => negated_without_value(context, head),
                    EventAttribute { values: 1, rank, .. } => {
                        let found = program[position + 1] <= rank && rank <= program[position + 2];
                        found != (head & NEGATED != 0)
                    }
                    _ => return evaluate_any(context, program, position, working),
                };
                (holds, position + 3)
            }
            PATTERN | NEGATED_PATTERN => {
                let holds = match working.fields[(head >> 10) as usize] {
                    EventAttribute { values: 0, .. } => negated_without_value(context, head),
                    _ => context.pattern(program[position + 1], working) != (head & NEGATED != 0),
                };
                (holds, position + 2)
            }
            _ => return evaluate_any(context, program, position, working),
        };
        if !holds {
            return Outcome::False;
        }
        if head & LAST != 0 {
            return Outcome::True;
        }
        position = next;
    }
}

/// Whether the check with this head holds for an attribute without a value: the predicate is unknown, and so is its
/// negation; or it is false.
fn negated_without_value<C: Context>(context: &C, head: u32) -> bool {
    head & NEGATED != 0 && context.missing() == Missing::False
}

/// Evaluates the residual at `position`, whatever it checks. The recursion through alternatives is as deep as the
/// expressions, whose depth is limited when they are compiled and when a file is validated.
fn evaluate_any<C: Context>(
    context: &C,
    program: &[u32],
    mut position: usize,
    working: &mut CompiledScratch,
) -> Outcome {
    loop {
        let word = program[position];
        let (attribute, count) = ((word >> 10) as usize, key_count(word));
        let negated = word & NEGATED != 0;
        let (found, next) = match word & KIND {
            BITS => {
                let found = working.has_bits(program, position);
                // Whether there is a value at all matters only if the check is negated and nothing was found.
                let known = found || !negated || working.fields[attribute].values > 0;
                (known.then_some(found), position + 4)
            }
            KEYS => {
                let keys = &program[position + 1..position + 1 + count];
                let found = match working.fields[attribute] {
                    EventAttribute { values: 0, .. } => None,
                    EventAttribute { values: 1, key, .. } => Some(keys.contains(&key)),
                    _ => Some(keys.iter().any(|&key| context.has_key(attribute as u32, key, working))),
                };
                (found, position + 1 + count)
            }
            SET => {
                let keys = context.set(program[position + 1]);
                let field = working.fields[attribute];
                // Every set may have to go through a long list, so this counts as work.
                if working.timer.spend(keys.len().min(field.values as usize)) {
                    return Outcome::False;
                }
                let found = match keys.len() < field.values as usize {
                    true => keys.iter().any(|&key| context.has_key(attribute as u32, key, working)),
                    false => working.values(field).iter().any(|value| keys.binary_search(&value.key).is_ok()),
                };
                ((field.values > 0).then_some(found), position + 2)
            }
            RANGE => {
                let (first, last) = (program[position + 1], program[position + 2]);
                let field = working.fields[attribute];
                let found = working.has_rank(field, first, last);
                ((field.values > 0).then_some(found), position + 3)
            }
            PATTERN => {
                let field = working.fields[attribute];
                let found = field.values > 0 && context.pattern(program[position + 1], working);
                ((field.values > 0).then_some(found), position + 2)
            }
            PRESENCE => {
                let field = working.fields[attribute];
                let found = if count == 0 { field.present } else { field.values == 0 };
                (Some(found), position + 1)
            }
            NODE if working.is_true(program[position + 1]) => (Some(true), position + 2),
            NODE => return Outcome::Open(position as u32),
            ANY => {
                let (residuals, words) = (program[position + 1], program[position + 2]);
                if working.timer.spend(residuals as usize) {
                    return Outcome::False;
                }
                let mut residual = position + 3;
                let mut found = false;
                for _ in 0..residuals {
                    if evaluate(context, program, residual + 1, working) == Outcome::True {
                        found = true;
                        break;
                    }
                    residual += 1 + program[residual] as usize;
                }
                if !found && count > 0 {
                    return Outcome::Open(position as u32);
                }
                (Some(found), position + 3 + words as usize)
            }
            _ => {
                position = program[position + 1] as usize;
                continue;
            }
        };
        let holds = match found {
            Some(found) => found != negated,
            None => negated_without_value(context, word),
        };
        if !holds {
            return Outcome::False;
        }
        if word & LAST != 0 {
            return Outcome::True;
        }
        position = next;
    }
}
