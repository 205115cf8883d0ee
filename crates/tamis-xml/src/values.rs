//! Do the elements of a path pass the value tests?
//!
//! A filter matches if some combination of elements passes. This is decided per element and step,
//! without enumerating the combinations, whose number is exponential on recursive documents.

use super::document::{Document, NodeIndex, NodeKind};
use super::evaluate::{compare_string, number_and_cost};
use super::plan::ValueCondition;
use super::symbols::{Label, Labels, Symbol, SymbolPath, Symbols};
use super::xpath::Comparison;

/// The tested value of an element, with attribute names as symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Own,
    Text,
    Attribute(Symbol),
}

#[derive(Debug, Clone)]
pub struct StepTest {
    /// The step whose element is tested, from 0.
    pub step: usize,
    pub key: Key,
    pub condition: ValueCondition,
}

/// A filter whose path is decided by the values of the elements on it.
#[derive(Debug)]
pub struct ValueFilter {
    pub steps: SymbolPath,
    /// Tests of the last step first.
    pub tests: Box<[StepTest]>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed,
    /// The elements are nested too deeply for this check.
    TooDeep,
}

impl ValueCondition {
    /// Whether a value passes. Adds the units of work to `cost`.
    pub fn passes(&self, value: &str, cost: &mut usize) -> bool {
        *cost += 1;
        match self {
            ValueCondition::Exists => true,
            ValueCondition::String(Comparison::Equal | Comparison::NotEqual, constant)
                if constant.len() != value.len() =>
            {
                matches!(self, ValueCondition::String(Comparison::NotEqual, _))
            }
            ValueCondition::String(comparison, constant) => {
                *cost += value.len() / 16;
                compare_string(*comparison, value, constant)
            }
            ValueCondition::Number(comparison, number) => {
                let (found, looked_at) = number_and_cost(value);
                *cost += looked_at;
                comparison.numbers(found, *number)
            }
            ValueCondition::Contains(part) => {
                *cost += value.len() / 8;
                memchr::memmem::find(value.as_bytes(), part.as_bytes()).is_some()
            }
            ValueCondition::StartsWith(part) => value.starts_with(&**part),
        }
    }

    /// A rough probability of passing: low for equality, high for existence.
    pub fn selectivity(&self) -> u32 {
        match self {
            ValueCondition::String(Comparison::Equal, _) | ValueCondition::Number(Comparison::Equal, _) => 5,
            ValueCondition::StartsWith(_) | ValueCondition::Contains(_) => 10,
            ValueCondition::Number(Comparison::NotEqual, _)
            | ValueCondition::String(Comparison::NotEqual, _) => 80,
            ValueCondition::Number(..) | ValueCondition::String(..) => 40,
            ValueCondition::Exists => 50,
        }
    }
}

/// Calls `each` with the values of a key at an element until it returns true. Returns whether it
/// did.
pub fn any_value<'d>(
    document: &'d Document,
    symbols: &Symbols,
    labels: &mut Labels,
    element: NodeIndex,
    key: Key,
    mut each: impl FnMut(&'d str) -> bool,
) -> bool {
    match key {
        Key::Own => each(document.string(element)),
        Key::Text => document
            .children(element)
            .filter(|child| document.node(*child).kind == NodeKind::Text)
            .any(|child| each(document.string(child))),
        Key::Attribute(symbol) => document.attributes(element).any(|attribute| {
            labels.of(symbols, document, attribute).name == symbol && each(document.string(attribute))
        }),
    }
}

impl ValueFilter {
    /// Whether elements from the root down to `element` match the steps, with `element` as the
    /// last, and pass the tests. Adds the units of work to `cost`.
    pub fn check(
        &self,
        document: &Document,
        symbols: &Symbols,
        labels: &mut Labels,
        element: NodeIndex,
        cost: &mut usize,
    ) -> Verdict {
        *cost += self.steps.len();
        let last = self.steps.len() - 1;
        // The element of the last step is known, and most filters fail here.
        for test in self.tests.iter().take_while(|test| test.step == last) {
            let passes = |value: &str| test.condition.passes(value, cost);
            if !any_value(document, symbols, labels, element, test.key, passes) {
                return Verdict::Failed;
            }
        }
        let mut chain = [0; 64];
        let mut depth = 0;
        let mut next = element;
        while next != 0 {
            if depth == chain.len() {
                return Verdict::TooDeep;
            }
            chain[depth] = next;
            depth += 1;
            next = document.node(next).parent;
        }
        let chain = &mut chain[..depth];
        chain.reverse();
        // Bit d of `reached`: whether the steps so far can end at the element of depth d.
        let mut reached: u64 = 0;
        for (step, &(descendant, name)) in self.steps.iter().enumerate() {
            let reachable = match (step, descendant) {
                (0, false) => 1,
                (0, true) => u64::MAX,
                (_, false) => reached << 1,
                // All depths below the shallowest end so far.
                (_, true) => deeper(reached),
            };
            let mut reachable = reachable & (u64::MAX >> (64 - depth));
            if step == last {
                reachable &= 1 << (depth - 1);
            }
            reached = 0;
            while reachable != 0 {
                let at = reachable.trailing_zeros() as usize;
                reachable &= reachable - 1;
                let passes = name.accepts(labels.of(symbols, document, chain[at]))
                    && (step == last || self.passes(step, document, symbols, labels, chain[at], cost));
                reached |= u64::from(passes) << at;
            }
            if reached == 0 {
                return Verdict::Failed;
            }
        }
        Verdict::Passed
    }

    /// Whether the steps after `step` lead from the first element of a chain to its last, given the
    /// labels of the chain. `None` if the chain is too long to decide.
    pub fn completes(&self, step: usize, chain: &[Label]) -> Option<bool> {
        if chain.len() > 64 {
            return None;
        }
        let last = self.steps.len() - 1;
        let mut reached: u64 = 1;
        for (at, &(descendant, name)) in self.steps.iter().enumerate().skip(step + 1) {
            let reachable = if descendant { deeper(reached) } else { reached << 1 };
            let mut reachable = reachable & (u64::MAX >> (64 - chain.len()));
            if at == last {
                reachable &= 1 << (chain.len() - 1);
            }
            reached = 0;
            while reachable != 0 {
                let depth = reachable.trailing_zeros() as usize;
                reachable &= reachable - 1;
                reached |= u64::from(name.accepts(chain[depth])) << depth;
            }
            if reached == 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether an element passes all tests of a step.
    pub fn passes(
        &self,
        step: usize,
        document: &Document,
        symbols: &Symbols,
        labels: &mut Labels,
        element: NodeIndex,
        cost: &mut usize,
    ) -> bool {
        self.tests.iter().filter(|test| test.step == step).all(|test| {
            let passes = |value: &str| test.condition.passes(value, cost);
            any_value(document, symbols, labels, element, test.key, passes)
        })
    }
}

/// The bits above the lowest bit that is set.
fn deeper(bits: u64) -> u64 {
    let lowest = bits & bits.wrapping_neg();
    !(lowest | lowest.wrapping_sub(1))
}
