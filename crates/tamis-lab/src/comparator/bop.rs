//! BoP (Bittner & Hinze 2007): an expression is evaluated once enough of its predicates hold.
//!
//! Enough is the least number of positive predicate occurrences that can make the expression true;
//! a predicate that occurs twice counts twice. Candidates are evaluated from a byte encoding in
//! which every operator has the length of its children, so that the rest of a decided operator can
//! be skipped.

use std::collections::BTreeMap;

use tamis::Event;
use tamis::expression::{NormalForm, NormalNode, normalise};
use tamis::matcher::Slot;

use super::predicates::{Basic, Predicates};
use super::trees::check_shape;
use super::{Comparator, Input, Lists, Refused, Work};
use tamis::matcher::extend::ListedSet;

/// The minimum an expression needs to be true.
#[derive(Debug)]
pub(super) struct Needs {
    /// The least number of positive predicate occurrences that hold whenever it is true.
    pub least: u32,
    /// How often each predicate occurs positively, counting every path from the root.
    pub occurrences: Vec<(u32, u32)>,
    /// Per node, the basics of its signed predicate, if it is one.
    basics: Vec<Vec<Basic>>,
}

impl Needs {
    pub fn new(form: &NormalForm, predicates: &mut Predicates, input: &Input<'_>) -> Needs {
        let nodes = form.nodes();
        let (mut least, mut basics): (Vec<u32>, Vec<Vec<Basic>>) = (Vec::new(), Vec::new());
        for node in nodes {
            let mut own = Vec::new();
            least.push(match node {
                NormalNode::Constant(true) => 0,
                NormalNode::Constant(false) => u32::MAX,
                NormalNode::Predicate(signed) => {
                    predicates.intern(signed, input.attributes, input.missing, &mut own);
                    own.iter().filter(|basic| !basic.negated()).count() as u32
                }
                NormalNode::And(children) => {
                    let all = children.iter().map(|&child| least[child as usize]);
                    all.fold(0, u32::saturating_add)
                }
                NormalNode::Or(children) => {
                    children.iter().map(|&child| least[child as usize]).min().unwrap_or(u32::MAX)
                }
            });
            basics.push(own);
        }
        // Saturating, like `least`: a saturated count still reaches a saturated minimum.
        let mut ways = vec![0u32; nodes.len()];
        ways[nodes.len() - 1] = 1;
        let mut occurrences: BTreeMap<u32, u32> = BTreeMap::new();
        for (position, node) in nodes.iter().enumerate().rev() {
            let own = ways[position];
            if let NormalNode::And(children) | NormalNode::Or(children) = node {
                children.iter().for_each(|&child| {
                    ways[child as usize] = ways[child as usize].saturating_add(own);
                });
            }
            for basic in basics[position].iter().filter(|basic| !basic.negated()) {
                let count = occurrences.entry(basic.predicate()).or_default();
                *count = count.saturating_add(own);
            }
        }
        let least = least.last().copied().unwrap_or(0);
        Needs { least, occurrences: occurrences.into_iter().collect(), basics }
    }
}

/// Expressions by the number of predicates they need.
#[derive(Debug)]
pub struct Bop {
    predicates: Predicates,
    /// By predicate: expressions, and how often it occurs there.
    lists: Lists<(Slot, u32)>,
    least: Vec<u32>,
    /// Expressions that can be true without any positive predicate.
    always: Vec<Slot>,
    code: Vec<u8>,
    /// The end of each expression's code.
    ends: Vec<u32>,
}

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const BASIC: u8 = 2;
const AND: u8 = 3;
const OR: u8 = 4;

impl Bop {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Bop, Refused> {
        let mut predicates = Predicates::default();
        let (mut pairs, mut least, mut always) = (Vec::new(), Vec::new(), Vec::new());
        let (mut code, mut ends): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
        for (slot, expression) in (0..).zip(input.expressions) {
            let form = normalise(expression);
            check_shape(slot, &form, input.most)?;
            let needs = Needs::new(&form, &mut predicates, input);
            least.push(needs.least);
            if needs.least == 0 {
                always.push(slot);
            } else {
                pairs.extend(needs.occurrences.iter().map(|&(predicate, times)| (predicate, (slot, times))));
            }
            code.extend(encode(&form, &needs.basics));
            let end = u32::try_from(code.len()).map_err(|_| Refused {
                slot,
                what: "bytes of code up to this expression",
                found: code.len(),
                allowed: u32::MAX as usize,
            })?;
            ends.push(end);
        }
        let lists = Lists::new(predicates.len(), &pairs);
        Ok(Bop { predicates, lists, least, always, code, ends })
    }

    fn code(&self, slot: Slot) -> &[u8] {
        let start = slot.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.code[start as usize..self.ends[slot as usize] as usize]
    }
}

/// The code of all nodes, children first; returns that of the root. Operators are followed by the
/// length of their children in bytes. A signed predicate of several basics is encoded as an `and`.
fn encode(form: &NormalForm, basics: &[Vec<Basic>]) -> Vec<u8> {
    let mut codes: Vec<Vec<u8>> = Vec::with_capacity(form.nodes().len());
    for (node, basics) in form.nodes().iter().zip(basics) {
        let single = |basic: &Basic| {
            let mut code = vec![BASIC];
            write(u64::from(basic.predicate()) << 1 | u64::from(basic.negated()), &mut code);
            code
        };
        let code = match node {
            NormalNode::Constant(value) => vec![if *value { TRUE } else { FALSE }],
            NormalNode::Predicate(_) => match &basics[..] {
                [only] => single(only),
                several => operator(AND, several.iter().map(single)),
            },
            NormalNode::And(children) => {
                operator(AND, children.iter().map(|&child| codes[child as usize].clone()))
            }
            NormalNode::Or(children) => {
                operator(OR, children.iter().map(|&child| codes[child as usize].clone()))
            }
        };
        codes.push(code);
    }
    codes.pop().unwrap_or_default()
}

fn operator(kind: u8, children: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let children: Vec<u8> = children.flatten().collect();
    let mut code = vec![kind];
    write(children.len() as u64, &mut code);
    code.extend(children);
    code
}

/// Writes a variable-length integer: seven bits per byte, lowest first.
fn write(mut number: u64, code: &mut Vec<u8>) {
    while number >= 0x80 {
        code.push(number as u8 | 0x80);
        number >>= 7;
    }
    code.push(number as u8);
}

fn read(code: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = code[*at];
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return number;
        }
    }
}

/// Evaluates the child at a position, and moves the position past it.
fn holds(code: &[u8], at: &mut usize, held: &ListedSet, evaluated: &mut u64) -> bool {
    *evaluated += 1;
    let kind = code[*at];
    *at += 1;
    if kind == BASIC {
        let basic = read(code, at);
        return held.contains((basic >> 1) as u32) != (basic & 1 == 1);
    }
    if kind < BASIC {
        return kind == TRUE;
    }
    let length = read(code, at) as usize;
    let end = *at + length;
    let mut result = kind == AND;
    while *at < end && result == (kind == AND) {
        result = holds(code, at, held, evaluated);
    }
    *at = end;
    result
}

impl Comparator for Bop {
    fn name(&self) -> &'static str {
        "bop"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let first = found.len();
        let Work { held, seen, counts, counters, .. } = work;
        self.predicates.find(event, held);
        counts.clear();
        counts.resize(self.least.len(), 0);
        seen.begin(self.least.len());
        for &predicate in held.members() {
            let list = self.lists.of(predicate);
            counters.entries += list.len() as u64;
            for &(slot, times) in list {
                let count = &mut counts[slot as usize];
                *count = count.saturating_add(times);
                if *count >= self.least[slot as usize] {
                    seen.insert(slot);
                }
            }
        }
        for &slot in seen.members().iter().chain(&self.always) {
            counters.candidates += 1;
            if holds(self.code(slot), &mut 0, held, &mut counters.nodes) {
                found.push(slot);
            }
        }
        super::trees::ascending(found, first);
    }

    fn bytes(&self) -> usize {
        let words = self.least.len() + self.always.len() + self.ends.len();
        self.predicates.bytes() + self.lists.bytes() + self.code.len() + 4 * words
    }
}
