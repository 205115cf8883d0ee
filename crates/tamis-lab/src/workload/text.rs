//! The spelling of attributes and values in expressions and events.
//!
//! Spellings are prepared once, so that writing an expression only copies bytes.

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

    /// The spelling of a value, without quotes.
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

    /// Writes `a = 'v'^0.5` or `a in ('v'^0.5, 'w'^2)`, weights in thousandths.
    pub fn write_weighted(
        &self,
        attribute: u32,
        values: impl ExactSizeIterator<Item = (u32, u32)>,
        text: &mut String,
    ) {
        text.push_str(self.attribute(attribute));
        let several = values.len() > 1;
        text.push_str(if several { " in (" } else { " = " });
        for (position, (value, weight)) in values.enumerate() {
            text.push_str(if position > 0 { ", '" } else { "'" });
            text.push_str(self.value(value));
            text.push_str("'^");
            write_thousandths(weight, text);
        }
        if several {
            text.push(')');
        }
    }

    /// Writes the pair `"a":"v"` of an event, preceded by a comma if it is not the first.
    pub fn write_pair(&self, attribute: u32, value: u32, json: &mut String) {
        self.write_key(attribute, json);
        json.push('"');
        json.push_str(self.value(value));
        json.push('"');
    }

    /// Writes the pair `"a":1` of an event, preceded by a comma if it is not the first.
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

/// Writes a number of thousandths with three decimal places.
pub fn write_thousandths(number: u32, text: &mut String) {
    write_number(number / 1000, text);
    text.push('.');
    text.extend([100, 10, 1].map(|unit| char::from(b'0' + (number / unit % 10) as u8)));
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

    #[test]
    fn weights() {
        let mut text = String::new();
        Spelling::new(1, 3).write_weighted(0, [(2, 1050), (0, 7)].into_iter(), &mut text);
        text.push_str(" and ");
        Spelling::new(1, 3).write_weighted(0, [(1, 800)].into_iter(), &mut text);
        assert_eq!(text, "a0 in ('v2'^1.050, 'v0'^0.007) and a0 = 'v1'^0.800");
    }
}
