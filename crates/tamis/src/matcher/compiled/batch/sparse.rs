//! How is data about a few of many numbers stored?

/// Data about a few of many numbers, cleared in time proportional to these few.
#[derive(Debug)]
pub(in crate::matcher::compiled) struct Sparse<T> {
    /// For every number the position of its item plus one, or 0.
    positions: Vec<u32>,
    /// The numbers that have an item, in order of insertion.
    numbers: Vec<u32>,
    pub items: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { positions: Vec::new(), numbers: Vec::new(), items: Vec::new() }
    }
}

impl<T: Default> Sparse<T> {
    /// Makes room for numbers below `count`.
    pub fn grow(&mut self, count: usize) {
        if self.positions.len() < count {
            self.positions.resize(count, 0);
        }
    }

    /// The position of a number's item, if it has one.
    #[inline]
    pub fn find(&self, number: u32) -> Option<usize> {
        (self.positions[number as usize] as usize).checked_sub(1)
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.find(number).map(|position| &self.items[position])
    }

    /// The position of a number's item, which is created if there is none.
    #[inline]
    pub fn position_or_insert(&mut self, number: u32) -> usize {
        let position = &mut self.positions[number as usize];
        if *position == 0 {
            self.items.push(T::default());
            self.numbers.push(number);
            *position = self.items.len() as u32;
        }
        *position as usize - 1
    }

    #[inline]
    pub fn item(&mut self, number: u32) -> &mut T {
        let position = self.position_or_insert(number);
        &mut self.items[position]
    }

    /// The numbers that have an item, in the order of the items.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    pub fn clear(&mut self) {
        for number in self.numbers.drain(..) {
            self.positions[number as usize] = 0;
        }
        self.items.clear();
    }
}
