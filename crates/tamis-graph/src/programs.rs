//! Is an expression true on an event, if only a few of many expressions are needed?
//!
//! Every expression is compiled from its normal form to a program of tests, each with two jump targets. Negation is
//! at the predicates, so a test either holds or does not. A part that an
//! expression uses twice (children of `xor`) is evaluated once, into a register. A predicate is evaluated
//! at most once per event, however many expressions use it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::column::Column;
use crate::deadline::Timer;
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event};
use crate::expression::{
    Expression, NormalForm, NormalNode, Test, decode_test, encode_test, normalise, resolve,
};
use crate::matcher::extend::Check;
use crate::sections::{SectionReader, Sections};
use crate::strings::{Strings, StringsBuilder};
use crate::truth::{Missing, Truth};

/// Where a program ends.
const HOLDS: u32 = u32::MAX;
pub(super) const FAILS: u32 = u32::MAX - 1;

/// The lowest bits of a step's word are its kind; above them is a predicate or register.
pub(super) const PREDICATE: u32 = 0;
pub(super) const NEGATED: u32 = 1;
const REGISTER: u32 = 2;
pub(super) const STORE: u32 = 3;

/// Steps of a program that are read ahead: a set and a range.
const PREFETCHED_STEPS: usize = 2;

/// One step of a program.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Step {
    pub word: u32,
    pub on_true: u32,
    /// For a step that stores, what it stores.
    pub on_false: u32,
}

/// Programs, each of one expression.
#[derive(Debug)]
pub(super) struct Programs {
    missing: Missing,
    /// Where each program begins.
    pub entries: Column<u32>,
    pub steps: Column<Step>,
    /// The attribute of each predicate, by its position among the names.
    tested: Column<u32>,
    /// The encoded test of each predicate.
    tests: Strings,
    /// What was made of the predicates already asked about.
    checks: Vec<OnceLock<(AttributeId, Check)>>,
    /// The attributes that the expressions mention.
    names: Strings,
    /// Whether a predicate was met that cannot be read as it was written.
    damaged: AtomicBool,
}

/// What a match remembers about predicates and registers; any programs can use any memo.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Four times the stamp, plus a truth: as [`Stamped`](tamis_base::reusable::Stamped), in half the memory.
    truths: Vec<u32>,
    stamp: u32,
    registers: Vec<bool>,
    /// Decides when to give up.
    timer: Timer,
}

impl Memo {
    /// Forgets the last event and begins with another.
    pub fn begin(&mut self, programs: &Programs, event: &Event) {
        self.timer = Timer::new(event.deadline());
        if self.stamp >= u32::MAX >> 2 {
            self.truths.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        if self.truths.len() < programs.checks.len() {
            self.truths.resize(programs.checks.len(), 0);
        }
    }
}

impl Programs {
    /// Compiles expressions; each is known by its position.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
    ) -> Programs {
        let mut compiler = Compiler::default();
        for expression in expressions {
            let resolved = resolve(expression, attributes.time_zone());
            for predicate in expression.predicates().chain(resolved.predicates()) {
                if !compiler.names.contains_key(predicate.attribute()) {
                    attributes.intern(predicate.attribute());
                    compiler.attribute(predicate.attribute());
                }
            }
            compiler.compile(&normalise(&resolved));
        }
        let mut names: Vec<(&Arc<str>, u32)> =
            compiler.names.iter().map(|(name, &number)| (name, number)).collect();
        names.sort_unstable_by_key(|&(_, number)| number);
        Programs {
            missing,
            names: names.iter().map(|(name, _)| name.as_bytes()).collect(),
            entries: compiler.entries.into(),
            steps: compiler.steps.into(),
            checks: compiler.tested.iter().map(|_| OnceLock::new()).collect(),
            tested: compiler.tested.into(),
            tests: compiler.tests.finish(),
            damaged: AtomicBool::new(false),
        }
    }

    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// How many programs there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many predicates there are.
    pub fn predicates(&self) -> usize {
        self.checks.len()
    }

    /// Whether a predicate was met that cannot be read as it was written.
    pub fn are_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Whether an expression is true on the event that the memo was begun for; once the time is up, that means nothing.
    pub fn holds(&self, expression: u32, event: &Event, attributes: &Attributes, memo: &mut Memo) -> bool {
        let mut at = self.entries[expression as usize];
        while at < FAILS {
            let step = self.steps[at as usize];
            let argument = step.word >> 2;
            let holds = match step.word & 3 {
                PREDICATE => self.truth(argument, event, attributes, memo) == Truth::True as u32,
                NEGATED => self.truth(argument, event, attributes, memo) == Truth::False as u32,
                // One that nothing was stored in is that of a forged program.
                REGISTER => memo.registers.get(argument as usize).copied().unwrap_or(false),
                _ => {
                    let register = argument as usize;
                    if memo.registers.len() <= register {
                        memo.registers.resize(register + 1, false);
                    }
                    memo.registers[register] = step.on_false != 0;
                    true
                }
            };
            at = if holds { step.on_true } else { step.on_false };
        }
        at == HOLDS
    }

    /// Prefetches what evaluating expressions will need first, so that the cache misses overlap. Overwrites their
    /// numbers.
    pub fn prefetch(&self, numbers: &mut [u32], memo: &Memo) {
        for number in numbers.iter_mut() {
            *number = self.entries.get(*number as usize).copied().unwrap_or(FAILS);
        }
        let predicates = |number: &u32| {
            let steps = self.steps.get(*number as usize..).unwrap_or_default().iter();
            steps.take(PREFETCHED_STEPS).map(|step| (step.word >> 2) as usize)
        };
        let truths = numbers.iter().flat_map(predicates).filter_map(|at| memo.truths.get(at));
        let mut read = truths.fold(0, |sum, truth| sum ^ truth);
        let checks = numbers.iter().flat_map(predicates).filter_map(|at| self.checks.get(at)?.get());
        read = checks.fold(read, |sum, (attribute, _)| sum ^ attribute);
        std::hint::black_box(read);
    }

    #[inline]
    fn truth(&self, predicate: u32, event: &Event, attributes: &Attributes, memo: &mut Memo) -> u32 {
        let known = memo.truths[predicate as usize];
        if known >> 2 == memo.stamp {
            return known & 3;
        }
        if memo.timer.look() {
            return Truth::Unknown as u32;
        }
        let (attribute, check) =
            self.checks[predicate as usize].get_or_init(|| self.check(predicate, attributes));
        let truth = check.truth(event.get(*attribute), self.missing) as u32;
        memo.truths[predicate as usize] = memo.stamp << 2 | truth;
        truth
    }

    fn check(&self, predicate: u32, attributes: &Attributes) -> (AttributeId, Check) {
        let name = self.tested.get(predicate as usize).and_then(|&name| self.names.get(name as usize));
        let test = self.tests.bytes_of(predicate as usize).and_then(decode_test);
        match name.zip(test) {
            Some((name, test)) => (attributes.intern(&name.into()), Check::new(&test)),
            // It is noted, and true of nothing.
            None => {
                self.damaged.store(true, Ordering::Relaxed);
                (0, Check::new(&Test::In([].into())))
            }
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.entries.len()
            + size_of::<Step>() * self.steps.len()
            + 4 * self.tested.len()
            + self.tests.bytes()
            + self.names.bytes()
            + size_of::<OnceLock<(AttributeId, Check)>>() * self.checks.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.entries);
        sections.push(&self.steps);
        sections.push(&self.tested);
        self.tests.write(sections);
        self.names.write(sections);
    }

    pub fn read(reader: &mut SectionReader, attributes: &Attributes, missing: Missing) -> Result<Programs> {
        let (entries, steps) = (reader.next()?, reader.next()?);
        let (tested, tests): (Column<u32>, Strings) = (reader.next()?, Strings::read(reader)?);
        let names = Strings::read(reader)?;
        if tested.len() != tests.len() {
            return Err(reader.damaged("the programs are incomplete"));
        }
        for position in 0..names.len() {
            let name = names.get(position).ok_or_else(|| reader.damaged("an attribute's name is damaged"))?;
            attributes.intern(&name.into());
        }
        let checks = (0..tested.len()).map(|_| OnceLock::new()).collect();
        let damaged = AtomicBool::new(false);
        Ok(Programs { missing, entries, steps, tested, tests, checks, names, damaged })
    }
}

#[derive(Default)]
struct Compiler {
    entries: Vec<u32>,
    steps: Vec<Step>,
    predicates: HashMap<(u32, Test), u32, ahash::RandomState>,
    names: HashMap<Arc<str>, u32, ahash::RandomState>,
    tested: Vec<u32>,
    tests: StringsBuilder,
}

/// A connective whose children are being written, the last one first.
struct OpenConnective<'a> {
    children: &'a [u32],
    all: bool,
    on_true: u32,
    on_false: u32,
}

impl Compiler {
    /// Writes a program back to front, because a step must know where those that follow it begin.
    fn compile(&mut self, form: &NormalForm) {
        let nodes = form.nodes();
        let root = nodes.len() - 1;
        if let NormalNode::Constant(value) = nodes[root] {
            self.entries.push(if value { HOLDS } else { FAILS });
            return;
        }
        let mut uses = vec![0u32; nodes.len()];
        for node in nodes {
            if let NormalNode::And(children) | NormalNode::Or(children) = node {
                children.iter().for_each(|&child| uses[child as usize] += 1);
            }
        }
        // A node that is used twice has a register; its children' registers are written before it.
        let mut registers: HashMap<u32, u32, ahash::RandomState> = HashMap::default();
        for (node, uses) in (0..).zip(&uses) {
            if *uses > 1 && !matches!(nodes[node as usize], NormalNode::Predicate(_)) {
                registers.insert(node, registers.len() as u32);
            }
        }
        let mut written = Vec::new();
        let mut entry = self.write(nodes, root as u32, &registers, HOLDS, FAILS, &mut written);
        for node in (0..root as u32).rev().filter(|node| registers.contains_key(node)) {
            let word = registers[&node] << 2 | STORE;
            let [on_true, on_false] = [1, 0].map(|value| {
                written.push(Step { word, on_true: entry, on_false: value });
                written.len() as u32 - 1
            });
            entry = self.write(nodes, node, &registers, on_true, on_false, &mut written);
        }
        // Places count from the end while writing; turned around they lead forward.
        let (first, last) = (self.steps.len() as u32, written.len() as u32 - 1);
        let turn = |place: u32| if place >= FAILS { place } else { first + last - place };
        self.entries.push(turn(entry));
        self.steps.extend(written.into_iter().rev().map(|step| Step {
            word: step.word,
            on_true: turn(step.on_true),
            on_false: if step.word & 3 == STORE { step.on_false } else { turn(step.on_false) },
        }));
    }

    /// Writes the steps that decide a node and then continue accordingly; returns where they begin.
    fn write<'a>(
        &mut self,
        nodes: &'a [NormalNode],
        root: u32,
        registers: &HashMap<u32, u32, ahash::RandomState>,
        on_true: u32,
        on_false: u32,
        written: &mut Vec<Step>,
    ) -> u32 {
        let mut open: Vec<OpenConnective<'a>> = Vec::new();
        let mut next = Some((root, on_true, on_false));
        loop {
            let begin = match next.take() {
                Some((node, on_true, on_false)) => {
                    let word = match &nodes[node as usize] {
                        NormalNode::Predicate(signed) => {
                            let kind = if signed.negated { NEGATED } else { PREDICATE };
                            Some(self.predicate(&signed.attribute, &signed.test) << 2 | kind)
                        }
                        _ if node != root => registers.get(&node).map(|register| register << 2 | REGISTER),
                        _ => None,
                    };
                    match (word, &nodes[node as usize]) {
                        (Some(word), _) => {
                            written.push(Step { word, on_true, on_false });
                            Some(written.len() as u32 - 1)
                        }
                        (None, NormalNode::And(children)) => {
                            open.push(OpenConnective { children, all: true, on_true, on_false });
                            None
                        }
                        (None, NormalNode::Or(children)) => {
                            open.push(OpenConnective { children, all: false, on_true, on_false });
                            None
                        }
                        (None, other) => unreachable!("{other:?} stands only alone"),
                    }
                }
                // A connective begins where its first child does, which was written last.
                None => match open.pop() {
                    Some(done) => Some(if done.all { done.on_true } else { done.on_false }),
                    None => unreachable!("the root was written"),
                },
            };
            let Some(top) = open.last_mut() else {
                return begin.unwrap_or(on_true);
            };
            if let Some(begin) = begin {
                // The steps before lead there: the next child of `and` if true, of `or` if not.
                if top.all {
                    top.on_true = begin;
                } else {
                    top.on_false = begin;
                }
            }
            if let Some((&last, rest)) = top.children.split_last() {
                top.children = rest;
                next = Some((last, top.on_true, top.on_false));
            }
        }
    }

    /// The position of an attribute among the names.
    fn attribute(&mut self, name: &Arc<str>) -> u32 {
        let next = self.names.len() as u32;
        match self.names.get(name) {
            Some(&known) => known,
            None => *self.names.entry(name.clone()).or_insert(next),
        }
    }

    fn predicate(&mut self, attribute: &Arc<str>, test: &Test) -> u32 {
        let attribute = self.attribute(attribute);
        let next = self.tested.len() as u32;
        *self.predicates.entry((attribute, test.clone())).or_insert_with(|| {
            self.tested.push(attribute);
            self.tests.push(&encode_test(test));
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::{Limits, parse};

    #[test]
    fn readings_are_stored() {
        let attributes = Attributes::default();
        let text = "a > timestamp '2026-01-02 05:00:00Z' and b in (cidr '10.0.0.0/8', ip '::1')";
        let expression = parse(text, &Limits::none()).unwrap();
        let programs = Programs::new([&expression], &attributes, Missing::Unknown);
        let (mut event, mut memo) = (Event::default(), Memo::default());
        for (json, expected) in [
            (r#"{"a": "2026-01-02T06:00:00Z", "b": "10.1.2.3"}"#, true),
            (r#"{"a": "2026-01-02T06:00:00Z", "b": "11.1.2.3"}"#, false),
            (r#"{"a": "2026-01-02T04:00:00Z", "b": "::1"}"#, false),
        ] {
            event.decode_json(json.as_bytes(), &attributes, &Limits::none()).unwrap();
            memo.begin(&programs, &event);
            assert_eq!(programs.holds(0, &event, &attributes, &mut memo), expected, "{json}");
        }
    }
    use tamis::explain::explain;

    fn holds(text: &str, json: &str, missing: Missing) -> bool {
        let attributes = Attributes::default();
        let expression = parse(text, &Limits::none()).unwrap();
        let programs = Programs::new([&expression], &attributes, missing);
        let mut event = Event::default();
        event.decode_json(json.as_bytes(), &attributes, &Limits::default()).unwrap();
        let mut memo = Memo::default();
        memo.begin(&programs, &event);
        let holds = programs.holds(0, &event, &attributes, &mut memo);
        let wanted = explain(&expression, &event, &attributes, missing).unwrap().truth() == Truth::True;
        assert_eq!(holds, wanted, "{text} on {json}");
        holds
    }

    #[test]
    fn connectives_lead_where_they_should() {
        for json in [r#"{}"#, r#"{"a": 1}"#, r#"{"a": 2, "b": 1}"#, r#"{"a": [1, 2], "b": null, "c": 1}"#] {
            for missing in [Missing::Unknown, Missing::False] {
                for text in [
                    "true",
                    "false",
                    "a = 1",
                    "a != 1",
                    "a = 1 and (b = 1 or c = 1) and a in (1, 2)",
                    "(a = 1 and b = 1) or (a = 2 and (b = 1 or c = 2)) or c = 1",
                    "a = 1 xor b = 1 xor c = 1",
                    "not (a = 1 xnor (b = 1 xor (c = 1 or a = 2)))",
                ] {
                    holds(text, json, missing);
                }
            }
        }
    }

    #[test]
    fn programs_stay_linear_and_flat() {
        let text = (0..2000).map(|number| format!("a = {number}")).collect::<Vec<_>>().join(" xor ");
        assert!(holds(&text, r#"{"a": 7}"#, Missing::Unknown));
        let deep = format!("{}a = 1{}", "(b = 1 or (a = 1 and ".repeat(50_000), "))".repeat(50_000));
        assert!(holds(&deep, r#"{"a": 1, "b": 2}"#, Missing::Unknown));
    }
}
