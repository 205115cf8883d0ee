//! How are attributes and values spelled in expressions and events?
//!
//! Spellings are prepared once: writing an expression is then copying bytes.

/// The spellings of numbered attributes and values.
#[derive(Debug, Clone)]
pub struct Spelling {
    attributes: Vec<String>,
    /// Without quotes.
    values: Vec<String>,
}

impl Spelling {
    /// Names `a0`, `a1` ... and values `v0`, `v1` ...
    pub fn new(attributes: usize, values: usize) -> Spelling {
        let numbered = |letter: &str, count| (0..count).map(|number| format!("{letter}{number}")).collect();
        Spelling { attributes: numbered("a", attributes), values: numbered("v", values) }
    }

    /// Names `a0`, `a1` ... and values 0, 1 ...
    pub fn numbers(attributes: usize, values: usize) -> Spelling {
        let values = (0..values).map(|number| number.to_string()).collect();
        Spelling { values, ..Spelling::new(attributes, 0) }
    }

    /// The value as it stands between quotes, or without.
    pub fn value(&self, value: u32) -> &str {
        &self.values[value as usize]
    }

    pub fn attribute(&self, attribute: u32) -> &str {
        &self.attributes[attribute as usize]
    }

    /// Writes `a = 'v'` or `a in ('v', 'w')`, or the negation.
    pub fn write_set(
        &self,
        attribute: u32,
        negated: bool,
        values: &[impl Copy + Into<u32>],
        text: &mut String,
    ) {
        text.push_str(self.attribute(attribute));
        if let &[only] = values {
            text.push_str(if negated { " != '" } else { " = '" });
            text.push_str(self.value(only.into()));
            text.push('\'');
            return;
        }
        text.push_str(if negated { " not in (" } else { " in (" });
        for (position, &member) in values.iter().enumerate() {
            text.push_str(if position > 0 { ", '" } else { "'" });
            text.push_str(self.value(member.into()));
            text.push('\'');
        }
        text.push(')');
    }

    /// Writes the pair `"a":"v"` of an event, with what must stand before it.
    pub fn write_pair(&self, attribute: u32, value: u32, json: &mut String) {
        self.write_key(attribute, json);
        json.push('"');
        json.push_str(self.value(value));
        json.push('"');
    }

    /// Writes the pair `"a":1` of an event, with what must stand before it.
    pub fn write_number_pair(&self, attribute: u32, number: u32, json: &mut String) {
        self.write_key(attribute, json);
        write_number(number, json);
    }

    fn write_key(&self, attribute: u32, json: &mut String) {
        json.push_str(if json.ends_with('{') { "\"" } else { ",\"" });
        json.push_str(self.attribute(attribute));
        json.push_str("\":");
    }
}

/// Writes a number in decimal digits.
pub fn write_number(mut number: u32, text: &mut String) {
    let mut digits = [b'0'; 10];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend(digits[first..].iter().copied().map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let spelling = Spelling::new(3, 12);
        let mut text = String::new();
        spelling.write_set(2, false, &[11u32], &mut text);
        text.push_str(" and ");
        spelling.write_set(0, true, &[1u32, 0], &mut text);
        assert_eq!(text, "a2 = 'v11' and a0 not in ('v1', 'v0')");
        let mut json = String::from("{");
        spelling.write_pair(0, 1, &mut json);
        spelling.write_number_pair(1, 10, &mut json);
        assert_eq!(json, r#"{"a0":"v1","a1":10"#);
    }

    #[test]
    fn numbers() {
        for number in [0, 7, 10, 99, 100, 4_294_967_295] {
            let mut text = String::new();
            write_number(number, &mut text);
            assert_eq!(text, number.to_string());
        }
    }
}
