//! Variable-length integers.
//!
//! Seven bits per byte, lowest first. The highest bit of a byte means that more follow.

/// Appends a number.
pub(super) fn write(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 1 << 7 {
        bytes.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number from the front of `bytes`; 0 if nothing is left.
#[inline]
pub(super) fn read(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u32::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 1 << 7 || shift > 28 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bits = (0..32).flat_map(|bit| [(1u32 << bit) - 1, 1 << bit, (1 << bit) + 1, !(1 << bit)]);
        let numbers: Vec<u32> = bits.chain([0, u32::MAX]).collect();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| write(number, &mut bytes));
        let mut rest = &bytes[..];
        for &number in &numbers {
            assert_eq!(read(&mut rest), number);
        }
        assert!(rest.is_empty());
    }
}
