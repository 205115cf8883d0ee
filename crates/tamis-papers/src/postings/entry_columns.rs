//! How are the meaning and the weight of an entry stored in few bytes?

use super::build::Role;

/// The number of a role that is stored apart.
const WIDE: usize = 63;

/// The meanings of entries, one byte each: the kind in two bits, the number in six. Numbers that do not fit are
/// stored apart.
#[derive(Debug, Default)]
pub(super) struct Roles {
    bytes: Vec<u8>,
    /// Entries with their roles, ascending.
    wide: Vec<(u32, Role)>,
}

impl Roles {
    pub fn with_capacity(entries: usize) -> Roles {
        Roles { bytes: Vec::with_capacity(entries), wide: Vec::new() }
    }

    pub fn push(&mut self, role: Role) {
        if role.number() >= WIDE {
            self.wide.push((self.bytes.len() as u32, role));
        }
        self.bytes.push((role.number().min(WIDE) << 2) as u8 | role.kind() as u8);
    }

    pub fn get(&self, entry: u32) -> Role {
        let byte = self.bytes[entry as usize];
        if usize::from(byte >> 2) < WIDE {
            return Role::from_bits(byte.into());
        }
        let apart = self.wide.partition_point(|(other, _)| *other < entry);
        self.wide[apart].1
    }

    /// The bytes of some entries, as they are stored.
    pub fn bytes(&self, entries: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[entries]
    }

    /// Bytes of memory.
    pub fn size(&self) -> usize {
        self.bytes.len() + size_of::<(u32, Role)>() * self.wide.len()
    }
}

/// By entry: the number of its weight among the distinct weights.
#[derive(Debug)]
pub(super) enum WeightNumbers {
    /// All are the first.
    Same,
    /// At most 256 distinct weights.
    Bytes(Vec<u8>),
    Words(Vec<u32>),
}

impl WeightNumbers {
    /// Stores numbers below `distinct` in the narrowest form.
    pub fn new(distinct: usize, numbers: impl Iterator<Item = u32>) -> WeightNumbers {
        match distinct {
            0 | 1 => WeightNumbers::Same,
            2..=256 => WeightNumbers::Bytes(numbers.map(|number| number as u8).collect()),
            _ => WeightNumbers::Words(numbers.collect()),
        }
    }

    pub fn get(&self, entry: u32) -> usize {
        match self {
            WeightNumbers::Same => 0,
            WeightNumbers::Bytes(numbers) => numbers[entry as usize].into(),
            WeightNumbers::Words(numbers) => numbers[entry as usize] as usize,
        }
    }

    /// Bytes of memory.
    pub fn size(&self) -> usize {
        match self {
            WeightNumbers::Same => 0,
            WeightNumbers::Bytes(numbers) => numbers.len(),
            WeightNumbers::Words(numbers) => 4 * numbers.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::RoleKind;
    use super::*;

    #[test]
    fn roles_of_any_number_are_read_back() {
        let kinds = [RoleKind::Positive, RoleKind::Negative, RoleKind::Guard, RoleKind::Always];
        let all: Vec<Role> = [0, 6, 62, 63, 64, 1000, 1 << 20]
            .into_iter()
            .flat_map(|number| kinds.map(|kind| Role::new(kind, number)))
            .collect();
        let mut roles = Roles::default();
        all.iter().for_each(|&role| roles.push(role));
        for (entry, &role) in (0..).zip(&all) {
            assert_eq!(roles.get(entry), role);
        }
    }

    #[test]
    fn weight_numbers_of_any_count_are_read_back() {
        for distinct in [1, 2, 256, 257, 70_000] {
            let numbers = WeightNumbers::new(distinct, 0..distinct as u32);
            assert!((0..distinct).all(|number| numbers.get(number as u32) == number));
        }
    }
}
