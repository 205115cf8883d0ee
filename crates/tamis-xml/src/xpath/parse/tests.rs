//! Valid expressions, and the errors of invalid ones.

use super::*;
use crate::xpath::Axis;

fn read(text: &str) -> Result<XPath> {
    parse(text, &[("p", "urn:p")], &[], &Limits::default())
}

fn message(text: &str) -> String {
    read(text).map(|_| "accepted".to_owned()).unwrap_or_else(|error| error.to_string())
}

#[test]
fn expressions_are_read() {
    for text in [
        "/",
        "a",
        "//*",
        "a/b//c/@d",
        "@*",
        "//p:*[@p:x]",
        "(//b)[2]/c",
        "a[1][@b='x' and not(c) or 3 * -2 > count(d)]",
        "* * *",
        "div div mod",
        "and and or",
        "//a[text()='x']/following-sibling::b[last()]",
        "processing-instruction('x')|comment()",
        "- - 1",
        "'a' = \"b\"",
        "substring(string(), 1, 2)",
        "self::node()[.=..]",
        "1.5+.5-2.",
        "xml:lang | @xml:lang",
        "string-length(normalize-space(.)) mod 2 = 1",
    ] {
        assert_eq!(message(text), "accepted", "{text}");
    }
}

#[test]
fn errors_say_where_and_why() {
    for (text, place, reason) in [
        ("", "column 1", "expected an expression, found the end of the text"),
        ("//a[", "column 5", "expected an expression"),
        ("//a]", "column 4", "expected an operator or the end of the text, found `]`"),
        ("//a b", "column 5", "expected an operator or the end of the text, found `b`"),
        ("q:a", "column 1", "the unknown prefix `q`"),
        ("//q:*", "column 3", "the unknown prefix `q`"),
        ("foo(1)", "column 1", "the unknown function `foo`"),
        ("contain(a, 'b')", "column 1", "did you mean `contains`?"),
        ("not()", "column 1", "expected 1 argument for not(), found 0 arguments"),
        ("concat('a')", "column 1", "at least 2 arguments"),
        ("$x", "column 1", "a variable given in `variables`, found the unknown variable `$x`"),
        ("$ x", "column 1", "a variable's name"),
        ("id()", "column 1", "expected 1 argument for id()"),
        ("a/namespace::b", "column 3", "the axis `namespace`"),
        ("count(1)", "column 7", "a node-set for count(), found a number"),
        ("1 | a", "column 1", "a node-set"),
        ("'a'[1]", "column 1", "a node-set"),
        ("a[b", "column 4", "expected `]`"),
        ("a/'b'", "column 3", "expected a step"),
        ("'abc", "column 1", "a closing '"),
        ("for $x in a return b", "column 8", "found `in`"),
        ("if (a) then b else c", "column 8", "found `then`"),
        ("some(a)", "column 1", "the unknown function `some`"),
        ("a eq b", "column 3", "found `eq`"),
        ("a#b", "column 2", "found `#`"),
        ("a/count(b)", "column 3", "the function `count` as a step"),
        ("p:", "column 3", "a name after the prefix"),
        ("//", "column 3", "expected a step"),
    ] {
        let message = message(text);
        assert!(message.contains(place) && message.contains(reason), "{text}: {message}");
    }
}

#[test]
fn nesting_is_bounded_and_chains_are_not_nesting() {
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&deep, &[], &[], &Limits { xpath: usize::MAX, ..Limits::default() }).is_err());
    assert!(message(&format!("{}1", "(1 + ".repeat(300))).contains("nests at most"));
    for chain in [
        vec!["a"; 5000].join(" or "),
        vec!["a"; 5000].join("|"),
        vec!["a"; 5000].join("/"),
        vec!["1"; 5000].join("+"),
        vec!["a"; 5000].join(" * "),
    ] {
        assert_eq!(message(&chain), "accepted");
    }
    let long = "a".repeat(100_000);
    assert!(message(&long).contains("limit `xpath`"));
}

#[test]
fn descendants_are_one_step_unless_counted() {
    let steps = |text: &str| match &read(text).unwrap().node(0).kind {
        XPathKind::Path(path) => path.steps.iter().map(|step| step.axis).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(steps("//b"), [Axis::Descendant]);
    assert_eq!(steps("./a/."), [Axis::Child]);
    let last = |text: &str| {
        let xpath = read(text).unwrap();
        match &xpath.node(xpath.root()).kind {
            XPathKind::Path(path) => path.steps.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (last("//b[2]"), last("//b[@x]"), last("//b[position() < 2]"), last("//b[c[1]]")),
        (2, 1, 2, 1)
    );
}
