//! Expressions that a matcher cannot handle, such as those whose normal form would be too large.

use tamis::event::{Attributes, Event};
use tamis::matcher::extend::Visit;
use tamis::matcher::{Matcher, Scan, Scratch, Slot};
use tamis::{Expression, Missing};

/// Expressions that are evaluated on every event.
#[derive(Debug)]
pub(crate) struct Fallback {
    /// Their slots, ascending.
    slots: Vec<Slot>,
    scan: Scan,
}

impl Fallback {
    /// The slots must ascend.
    pub fn new(refused: &[(Slot, &Expression)], attributes: &Attributes, missing: Missing) -> Fallback {
        let expressions = refused.iter().map(|(_, expression)| *expression);
        Fallback {
            slots: refused.iter().map(|(slot, _)| *slot).collect(),
            scan: Scan::new(expressions, attributes, missing),
        }
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Appends the slots of the true expressions, ascending.
    pub fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        if !self.slots.is_empty() {
            let first = found.len();
            self.scan.matches(event, scratch, found);
            found[first..].iter_mut().for_each(|position| *position = self.slots[*position as usize]);
        }
    }

    /// Visits the slots of the true expressions.
    pub fn rank(&self, event: &Event, scratch: &mut Scratch, visit: &mut dyn Visit) {
        let mut scanned = Vec::new();
        self.matches(event, scratch, &mut scanned);
        scanned.into_iter().for_each(|slot| visit.visit(slot));
    }

    pub fn bytes(&self) -> usize {
        4 * self.slots.len() + self.scan.bytes()
    }
}
