//! Which name was probably meant by one that no event has?

use std::collections::HashMap;

use super::Sample;

/// How many pairs of names are compared letter by letter, in all.
const COMPARED: usize = 2_000_000;
/// Longer names are not compared letter by letter.
const LONGEST: usize = 64;

/// The names of a sample, by what they share with similar names.
#[derive(Debug)]
pub(super) struct Near<'s> {
    /// By the name in lower case.
    folded: HashMap<String, &'s str, ahash::RandomState>,
    /// By the part after the last dot, in lower case; `None` if several names share it.
    last: HashMap<String, Option<&'s str>, ahash::RandomState>,
    /// By length in bytes.
    lengths: HashMap<usize, Vec<&'s str>, ahash::RandomState>,
    compared: usize,
}

impl<'s> Near<'s> {
    pub fn new(sample: &'s Sample) -> Near<'s> {
        let (mut folded, mut last) = (HashMap::default(), HashMap::default());
        let mut lengths: HashMap<usize, Vec<&str>, _> = HashMap::default();
        let mut names: Vec<&str> = sample.names().collect();
        names.sort_unstable();
        for name in names {
            let lower = name.to_lowercase();
            let tail = lower.rsplit('.').next().unwrap_or_default().to_owned();
            folded.entry(lower).or_insert(name);
            last.entry(tail).and_modify(|known| *known = None).or_insert(Some(name));
            if name.len() <= LONGEST {
                lengths.entry(name.len()).or_default().push(name);
            }
        }
        Near { folded, last, lengths, compared: 0 }
    }

    /// The name that was seen and is most like this one, which was not.
    pub fn of(&mut self, name: &str) -> Option<&'s str> {
        let lower = name.to_lowercase();
        if let Some(same) = self.folded.get(&lower) {
            return Some(same);
        }
        let tail = lower.rsplit('.').next().unwrap_or_default();
        if let Some(Some(path)) = self.last.get(tail) {
            return Some(path);
        }
        let allowed = if name.len() < 5 { 1 } else { 2 };
        if name.len() > LONGEST {
            return None;
        }
        let lengths = name.len().saturating_sub(allowed)..=name.len() + allowed;
        let similar = lengths.filter_map(|length| self.lengths.get(&length)).flatten();
        let mut best = None;
        for known in similar {
            self.compared += 1;
            if self.exhausted() {
                return None;
            }
            let distance = strsim::osa_distance(name, known);
            if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, *known));
            }
        }
        best.map(|(_, name)| name)
    }

    /// Whether there were too many names to compare.
    pub fn exhausted(&self) -> bool {
        self.compared > COMPARED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses() {
        let mut sample = Sample::default();
        for name in ["country", "user", "user.age", "Age", "a.zip", "b.zip", "ip"] {
            sample.see_name(name);
        }
        let mut near = Near::new(&sample);
        assert_eq!(near.of("Country"), Some("country"));
        assert_eq!(near.of("conutry"), Some("country"));
        assert_eq!(near.of("contry"), Some("country"));
        assert_eq!(near.of("USER.AGE"), Some("user.age"));
        assert_eq!(near.of("customer.country"), Some("country"));
        assert_eq!(near.of("zip"), Some("ip"), "two names end so, which says nothing");
        assert_eq!(near.of("city"), None);
        assert!(!near.exhausted());
    }

    #[test]
    fn many_names_are_bounded_work() {
        let mut sample = Sample::default();
        (0..10_000).for_each(|number| assert!(sample.see_name(&format!("name{number:06}"))));
        let mut near = Near::new(&sample);
        (0..10_000).for_each(|number| _ = near.of(&format!("other{number:05}")));
        assert!(near.exhausted());
        assert!(near.compared <= COMPARED + 10_000);
    }
}
