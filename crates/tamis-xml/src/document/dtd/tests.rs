//! The effects of declarations. Well-formedness is tested in `tests/test_xml_dtd.py`.

use super::*;

fn read(content: &str) -> Result<Dtd, Failure> {
    Dtd::read(&format!(" {content}>"), false, &Limits::default()).map(|(dtd, _)| dtd)
}

fn message(content: &str) -> String {
    match read(content) {
        Ok(_) => "accepted".to_owned(),
        Err((_, Fault::Malformed(message))) => message,
        Err((_, Fault::Expansion)) => "expansion".to_owned(),
    }
}

#[test]
fn declarations_are_read() {
    let dtd = read(
        "a SYSTEM 'x.dtd' [ <!-- c --> <?pi ?> <!ELEMENT a (#PCDATA|b)*> <!NOTATION n SYSTEM '>'> \
         <!ENTITY e \"x&#38;y&f;\"> <!ENTITY e 'second'> <!ENTITY x SYSTEM 'file:///etc/passwd'> \
         <!ATTLIST a i ID #IMPLIED d CDATA 'v' n (p | q) \"p\"> ] ",
    )
    .unwrap();
    assert!(matches!(dtd.entity("e"), Some(Entity::Internal(text)) if **text == *"x&y&f;"));
    assert!(matches!(dtd.entity("x"), Some(Entity::External)));
    assert!(dtd.incomplete);
    let attributes = dtd.attributes("a").unwrap();
    let kinds = ["i", "d", "n", "x"].map(|name| attributes.declared(name).0);
    assert_eq!(kinds, [AttributeType::Id, AttributeType::Text, AttributeType::Tokens, AttributeType::Text]);
    let defaults: Vec<_> = attributes.defaults.iter().map(|d| (&*d.name, &*d.value, d.tokenised)).collect();
    assert_eq!(defaults, [("d", "v", false), ("n", "p", true)]);
}

#[test]
fn a_declaration_ends_where_it_ends() {
    let text = " a [<!ENTITY e \"]>'\"><!-- ]> ' --><?p ]>'?>] ><a/>";
    let (_, end) = Dtd::read(text, false, &Limits::default()).unwrap();
    assert_eq!(&text[end..], "<a/>");
}

#[test]
fn parameter_entities_hold_declarations() {
    let dtd = read("a [<!ENTITY % p \"<!ENTITY e 'x'>\"> <!ENTITY % q '%#112;'> %p; ]");
    assert!(dtd.is_err(), "`%` inside a value");
    let dtd = read("a [<!ENTITY % p \"<!ENTITY e 'x'>\"><!ENTITY % unused SYSTEM 'y'> %p; ]").unwrap();
    assert!(matches!(dtd.entity("e"), Some(Entity::Internal(text)) if **text == *"x"));
    assert!(message("a [ %p; ]").contains("`p` is not declared"));
    assert!(message("a [<!ENTITY % p '&#37;p;'> %p; ]").contains("refers to itself"));
    assert!(message("a [<!ENTITY % p '<!ELEMENT>'> %p; ]").starts_with("in the parameter entity `p`: "));
    assert!(message("a [<!ENTITY % p SYSTEM 'x'> %p; ]").contains("never read"));
    let laughs: String = (1..12)
        .map(|number| format!("<!ENTITY % e{number} '{}'>", format!("&#37;e{};", number - 1).repeat(10)))
        .collect();
    assert_eq!(message(&format!("a [<!ENTITY % e0 ' '>{laughs} %e11; ]")), "expansion");
}

#[test]
fn what_follows_a_parameter_entity_that_is_not_read_does_not_count() {
    let limits = Limits { undeclared_entities: UndeclaredEntities::Ignore, ..Limits::default() };
    let text = " a [<!ENTITY d 'x'><!ENTITY % p SYSTEM 'x'> %p; <!ENTITY e 'x'><!ATTLIST a b CDATA '1'>]>";
    let (dtd, _) = Dtd::read(text, false, &limits).unwrap();
    assert!(dtd.entity("d").is_some() && dtd.entity("e").is_none() && dtd.attributes("a").is_none());
    assert!(Dtd::read(text, true, &limits).is_err(), "a standalone document needs no external declaration");
}
