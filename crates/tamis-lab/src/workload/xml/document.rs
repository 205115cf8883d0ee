//! Random documents of a document type.
//!
//! Follows the content models: of a choice one alternative is taken, `?` occurs or not, and `*` and
//! `+` are repeated up to RP times, all with equal probability. Elements at the greatest depth have
//! no children, even if their content model requires some.

use super::super::kind;
use super::super::random::Random;
use super::super::text::write_number;
use super::Xml;
use super::schema::{Particle, ParticleKind};

struct DocumentWriter<'w> {
    workload: &'w Xml,
    random: Random,
    left: u32,
    elements: usize,
}

impl Xml {
    /// Appends document `number`. Returns its number of elements.
    pub fn write_document(&self, number: u64, text: &mut String) -> usize {
        let random = Random::new(self.parameters.seed, kind::EVENT, number);
        let left = self.parameters.elements.saturating_sub(1);
        let mut writer = DocumentWriter { workload: self, random, left, elements: 0 };
        writer.element(self.schema.root, 1, text);
        writer.elements
    }
}

impl DocumentWriter<'_> {
    fn element(&mut self, number: u32, depth: u32, text: &mut String) {
        let workload = self.workload;
        let element = &workload.schema.elements[number as usize];
        let values = &workload.elements[number as usize];
        self.elements += 1;
        text.push('<');
        text.push_str(&element.name);
        for (name, &(probability, most)) in element.attributes.iter().zip(&values.attributes) {
            if self.random.chance(probability) {
                text.push(' ');
                text.push_str(name);
                text.push_str("=\"");
                write_number(self.random.between(1, most), text);
                text.push('"');
            }
        }
        text.push('>');
        let begun = text.len();
        if element.content.text {
            write_number(self.random.between(1, values.own), text);
        }
        if let Some(particle) = element.content.particle.as_ref().filter(|_| depth < workload.depth) {
            self.particle(particle, depth + 1, text);
        }
        if text.len() == begun {
            text.pop();
            text.push_str("/>");
            return;
        }
        text.push_str("</");
        text.push_str(&element.name);
        text.push('>');
    }

    fn particle(&mut self, particle: &Particle, depth: u32, text: &mut String) {
        let (low, high) = particle.repeat.range(self.workload.repeats);
        for _ in 0..self.random.between(low, high) {
            match &particle.kind {
                ParticleKind::Name(number) => {
                    let Some(left) = self.left.checked_sub(1) else {
                        return;
                    };
                    self.left = left;
                    self.element(*number, depth, text);
                }
                ParticleKind::Sequence(members) => {
                    members.iter().for_each(|member| self.particle(member, depth, text));
                }
                ParticleKind::Choice(members) => {
                    let chosen = self.random.below(members.len() as u32);
                    self.particle(&members[chosen as usize], depth, text);
                }
            }
        }
    }
}
