//! What version does a text denote, and which of two comes first?
//!
//! Semantic versions: up to three numbers, missing ones 0, then a pre-release. An optional leading `v` and the build
//! after a `+` do not affect the order, so the canonical text has neither.

use std::cmp::Ordering;

/// The first of all versions.
pub const FIRST: &str = "0.0.0-0";

/// The canonical text of a version, such as `2.10.0-rc.1`; `None` if the text is not a version.
pub fn read_version(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (numbers, release) = match text.split_once('-') {
        Some((numbers, release)) => (numbers, Some(release)),
        None => (text, None),
    };
    let is_identifier = |identifier: &str| {
        !identifier.is_empty() && identifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if !build.into_iter().chain(release).flat_map(|identifiers| identifiers.split('.')).all(is_identifier) {
        return None;
    }
    let mut canonical = String::with_capacity(text.len());
    let mut count = 0;
    for number in numbers.split('.') {
        if count == 3 || !is_number(number) {
            return None;
        }
        canonical.push_str(if count > 0 { "." } else { "" });
        canonical.push_str(without_zeros(number));
        count += 1;
    }
    canonical.push_str(if count == 1 {
        ".0.0"
    } else if count == 2 {
        ".0"
    } else {
        ""
    });
    for (position, identifier) in
        release.into_iter().flat_map(|identifiers| identifiers.split('.')).enumerate()
    {
        canonical.push(if position == 0 { '-' } else { '.' });
        canonical.push_str(if is_number(identifier) { without_zeros(identifier) } else { identifier });
    }
    Some(canonical)
}

fn is_number(identifier: &str) -> bool {
    !identifier.is_empty() && identifier.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_zeros(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// The order of two versions, given by their canonical texts.
pub fn order(left: &str, right: &str) -> Ordering {
    let split = |text| match str::split_once(text, '-') {
        Some((numbers, release)) => (numbers, Some(release)),
        None => (text, None),
    };
    let ((left, before), (right, after)) = (split(left), split(right));
    compare_identifiers(left, right).then_with(|| match (before, after) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(before), Some(after)) => compare_identifiers(before, after),
    })
}

/// Identifier by identifier: numbers by value and before the others, which are ordered as text; a prefix comes first.
fn compare_identifiers(left: &str, right: &str) -> Ordering {
    left.split('.')
        .map(|identifier| {
            (!is_number(identifier), if is_number(identifier) { identifier.len() } else { 0 }, identifier)
        })
        .cmp(right.split('.').map(|identifier| {
            (!is_number(identifier), if is_number(identifier) { identifier.len() } else { 0 }, identifier)
        }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_the_specification() {
        let ascending = [
            "0.0.0-0",
            "0.0.0-a",
            "0.0.0",
            "0.0.1",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "2.9.0",
            "2.10.0",
            "2.10.1-rc-1",
            "10.0.0",
            "99999999999999999999999.0.0",
        ];
        for (position, left) in ascending.iter().enumerate() {
            assert_eq!(read_version(left).as_deref(), Some(*left));
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(order(left, right), position.cmp(&other), "{left} against {right}");
            }
        }
    }

    #[test]
    fn texts_are_canonical() {
        let canonical = |text: &str| read_version(text).unwrap();
        assert_eq!(canonical("v2"), "2.0.0");
        assert_eq!(canonical("2.10"), "2.10.0");
        assert_eq!(canonical("1.2.3+build.5"), "1.2.3");
        assert_eq!(canonical("2024.01.05"), "2024.1.5");
        assert_eq!(canonical("1-rc"), "1.0.0-rc");
        assert_eq!(canonical("1.0.0-rc-1.007"), "1.0.0-rc-1.7");
        for text in [
            "",
            "v",
            "vv1",
            "1.",
            ".1",
            "1.2.3.4",
            "1.x",
            "1.0.0-",
            "1.0.0-a..b",
            "1.0.0+",
            "1.0.0-ä",
            "-1",
            "1 ",
        ] {
            assert_eq!(read_version(text), None, "{text}");
        }
    }
}
