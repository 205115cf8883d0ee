//! Content models, and the sizes to expect of random documents.

/// How often a part of a content model may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Once,
    Optional,
    Any,
    Some,
}

impl Repeat {
    /// The fewest and the most occurrences, if `*` and `+` repeat at most `most` times.
    pub fn range(self, most: u32) -> (u32, u32) {
        match self {
            Repeat::Once => (1, 1),
            Repeat::Optional => (0, 1),
            Repeat::Any => (0, most),
            Repeat::Some => (1, most.max(1)),
        }
    }
}

/// A part of a content model.
#[derive(Debug, Clone, PartialEq)]
pub struct Particle {
    pub kind: ParticleKind,
    pub repeat: Repeat,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ParticleKind {
    /// An element, by number.
    Name(u32),
    Sequence(Vec<Particle>),
    Choice(Vec<Particle>),
}

impl Particle {
    pub fn new(kind: ParticleKind, repeat: Repeat) -> Particle {
        Particle { kind, repeat }
    }

    /// Adds the expected number of occurrences of each element, times `factor`.
    fn expect(&self, most: u32, factor: f64, counts: &mut [f64]) {
        let (low, high) = self.repeat.range(most);
        let factor = factor * f64::from(low + high) / 2.0;
        match &self.kind {
            ParticleKind::Name(number) => counts[*number as usize] += factor,
            ParticleKind::Sequence(members) => {
                members.iter().for_each(|member| member.expect(most, factor, counts))
            }
            ParticleKind::Choice(members) => {
                let each = factor / members.len() as f64;
                members.iter().for_each(|member| member.expect(most, each, counts));
            }
        }
    }

    /// The probability that it produces no element.
    fn empty(&self, most: u32) -> f64 {
        let once = match &self.kind {
            ParticleKind::Name(_) => 0.0,
            ParticleKind::Sequence(members) => members.iter().map(|member| member.empty(most)).product(),
            ParticleKind::Choice(members) => {
                members.iter().map(|member| member.empty(most)).sum::<f64>() / members.len() as f64
            }
        };
        let (low, high) = self.repeat.range(most);
        (low..=high).map(|times| f64::powi(once, times as i32)).sum::<f64>() / f64::from(high - low + 1)
    }

    fn names(&self, found: &mut Vec<u32>) {
        match &self.kind {
            ParticleKind::Name(number) if !found.contains(number) => found.push(*number),
            ParticleKind::Name(_) => {}
            ParticleKind::Sequence(members) | ParticleKind::Choice(members) => {
                members.iter().for_each(|member| member.names(found));
            }
        }
    }
}

/// Whether an element contains text, and which elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    pub text: bool,
    pub particle: Option<Particle>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub name: Box<str>,
    pub content: Content,
    pub attributes: Vec<Box<str>>,
}

/// The elements of a document type.
#[derive(Debug, Clone)]
pub struct Schema {
    pub elements: Vec<Element>,
    /// For every element, its possible children.
    pub children: Vec<Box<[u32]>>,
    pub root: u32,
}

/// Expected figures of documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The number of elements.
    pub elements: f64,
    /// The depth of elements without children.
    pub depth: f64,
}

impl Schema {
    /// Unless given, the root is the first element that no other may contain, or else the first
    /// element.
    pub fn new(elements: Vec<Element>, root: Option<u32>) -> Result<Schema, String> {
        if elements.is_empty() {
            return Err("the document type declares no element".into());
        }
        let children: Vec<Box<[u32]>> = elements
            .iter()
            .map(|element| {
                let mut found = Vec::new();
                element.content.particle.iter().for_each(|particle| particle.names(&mut found));
                found.into()
            })
            .collect();
        let root = root.unwrap_or_else(|| {
            let held = |number: &u32| children.iter().any(|children| children.contains(number));
            (0..elements.len() as u32).find(|number| !held(number)).unwrap_or(0)
        });
        Ok(Schema { elements, children, root })
    }

    /// The number of attributes of all elements together.
    pub fn attributes(&self) -> usize {
        self.elements.iter().map(|element| element.attributes.len()).sum()
    }

    /// The number of elements that may contain themselves.
    pub fn recursive(&self) -> usize {
        (0..self.elements.len()).filter(|&number| self.reaches(number as u32, number as u32)).count()
    }

    fn reaches(&self, from: u32, wanted: u32) -> bool {
        let (mut seen, mut open) = (vec![false; self.elements.len()], vec![from]);
        while let Some(next) = open.pop() {
            for &child in &self.children[next as usize] {
                if child == wanted {
                    return true;
                }
                if !std::mem::replace(&mut seen[child as usize], true) {
                    open.push(child);
                }
            }
        }
        false
    }

    /// The figures to expect of documents of at most `depth` and at most `repeats`
    /// repetitions.
    pub fn expected(&self, depth: u32, repeats: u32) -> Expected {
        let count = self.elements.len();
        let mut counts = vec![vec![0.0; count]; count];
        let mut empty = vec![1.0; count];
        for (number, element) in self.elements.iter().enumerate() {
            if let Some(particle) = &element.content.particle {
                particle.expect(repeats, 1.0, &mut counts[number]);
                empty[number] = particle.empty(repeats);
            }
        }
        // Per element at a depth: the elements from it down, the leaves among them, and the sum of
        // their depths.
        let mut below = vec![(1.0, 1.0, f64::from(depth)); count];
        for here in (1..depth).rev() {
            let inside = |number: usize| {
                let leaf = empty[number];
                let mut sums = (1.0, leaf, leaf * f64::from(here));
                for (expected, child) in counts[number].iter().zip(&below) {
                    sums.0 += expected * child.0;
                    sums.1 += expected * child.1;
                    sums.2 += expected * child.2;
                }
                sums
            };
            below = (0..count).map(inside).collect();
        }
        let (elements, leaves, depths) = below[self.root as usize];
        Expected { elements, depth: depths / leaves }
    }
}
