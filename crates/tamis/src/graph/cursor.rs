//! Which valid node comes next?
//!
//! The papers' `getNextEntity`: an index that gives the nodes an event makes valid in the order of
//! their numbers, and can be told to skip.

/// Valid nodes in ascending order.
pub(super) trait Cursor {
    /// The first valid node whose number is at least this one; never asked for less than before.
    fn next(&mut self, at_least: u32) -> Option<u32>;
}

/// A list that is already there.
#[derive(Debug)]
pub(super) struct ListCursor<'a> {
    rest: &'a [u32],
}

impl<'a> ListCursor<'a> {
    pub fn new(ascending: &'a [u32]) -> Self {
        ListCursor { rest: ascending }
    }
}

impl Cursor for ListCursor<'_> {
    fn next(&mut self, at_least: u32) -> Option<u32> {
        // Doubling steps: what is wanted is mostly near.
        let mut reach = 1;
        while self.rest.get(reach).is_some_and(|&node| node < at_least) {
            reach *= 2;
        }
        let near = &self.rest[..self.rest.len().min(reach + 1)];
        self.rest = &self.rest[near.partition_point(|&node| node < at_least)..];
        self.rest.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_skipped_through() {
        let list: Vec<u32> = (0..1000).map(|number| 3 * number).collect();
        for step in [1, 2, 3, 7, 100, 5000] {
            let mut cursor = ListCursor::new(&list);
            for at_least in (0u32..4000).step_by(step) {
                let wanted = at_least.next_multiple_of(3);
                assert_eq!(cursor.next(at_least), (wanted < 3000).then_some(wanted));
            }
        }
        assert_eq!(ListCursor::new(&[]).next(0), None);
    }
}
