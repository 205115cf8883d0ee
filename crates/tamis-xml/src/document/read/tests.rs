//! The nodes of valid documents, and the errors of invalid ones.

use super::*;

/// The document as one line: names, attributes, and text in quotes.
fn show(text: &str) -> String {
    let mut document = Document::default();
    match document.read(text.as_bytes(), &Limits::default()) {
        Ok(()) => {}
        Err(error) => return error.to_string(),
    }
    let mut shown = String::new();
    for (index, node) in document.nodes().iter().enumerate().skip(1) {
        let string = document.string(index as NodeIndex);
        let name = || document.names().name(node.name);
        let namespace = || document.names().namespace_name(name().namespace);
        shown += &match node.kind {
            NodeKind::Element => format!("<{{{}}}{} ", namespace(), name().local()),
            NodeKind::Attribute => format!("@{{{}}}{}={string:?} ", namespace(), name().local()),
            NodeKind::Text => format!("{string:?} "),
            NodeKind::Comment => format!("#{string:?} "),
            NodeKind::Instruction => format!("?{} {string:?} ", name().qualified),
            NodeKind::Document => "second document".into(),
        };
    }
    shown.replace("{}", "").trim_end().to_owned()
}

#[test]
fn documents_become_nodes() {
    for (text, expected) in [
        ("<a/>", "<a"),
        (
            "<?xml version='1.0'?>\n<!-- c --><a b = '1'\n c=\"2\" ></a ><?p  q ?>\n",
            "#\" c \" <a @b=\"1\" @c=\"2\" ?p \"q \"",
        ),
        ("<a>x<![CDATA[<&]]>y&amp;&#65;&#x42;<b/>z</a>", "<a \"x<&y&AB\" <b \"z\""),
        ("<a b='&lt;&quot;&apos;&#10;\t\n\r\n'/>", "<a @b=\"<\\\"'\\n   \""),
        ("<p:a xmlns:p='u' xmlns='d' p:x='1' y='2'><b/></p:a>", "<{u}a @{u}x=\"1\" @y=\"2\" <{d}b"),
        ("<a xmlns='d'><b xmlns=''/><c/></a>", "<{d}a <b <{d}c"),
        ("<a xml:lang='en'/>", "<a @{http://www.w3.org/XML/1998/namespace}lang=\"en\""),
        ("<!DOCTYPE a [<!ENTITY e 'x<b>y</b>'><!ENTITY f '&e;z'>]><a>&f;</a>", "<a \"x\" <b \"y\" \"z\""),
        ("<!DOCTYPE a [<!ENTITY e 'x&#38;amp;'>]><a b='&e;'>&e;</a>", "<a @b=\"x&\" \"x&\""),
        (
            "<!DOCTYPE a [<!ATTLIST a d CDATA 'v' t NMTOKENS #IMPLIED>]><a t=' x  y '/>",
            "<a @t=\"x y\" @d=\"v\"",
        ),
        ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "<a"),
        ("<é ä='ü'/>", "<é @ä=\"ü\""),
        ("\u{FEFF}<a/>", "<a"),
        ("<!DOCTYPE a [<!ENTITY e '&#xFEFF;'>]><a>&e;x</a>", "<a \"\\u{feff}x\""),
        ("<a><!----><b></b\n></a>", "<a #\"\" <b"),
        ("<a><b>x</b>\u{FEFF}y<b/>\u{FEFF}</a>", "<a <b \"x\" \"\\u{feff}y\" <b \"\\u{feff}\""),
        ("<a><b c='>' d=\"/>\" /><b\n e = '&gt;'\t></b></a>", "<a <b @c=\">\" @d=\"/>\" <b @e=\">\""),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_well_formed_is_an_error_with_its_place() {
    for (text, expected) in [
        ("", "line 1, column 1: a document without an element"),
        ("<a>", "line 1, column 4: the element `a` is not closed"),
        ("<a></b>", "line 1, column 4: the end tag `</b>` where `</a>` is expected"),
        ("<a/>\n<b/>", "line 2, column 1: a second root element"),
        ("<a/>x", "line 1, column 5: text outside the root element"),
        ("x<a/>", "line 1, column 1: text outside"),
        ("</a>", "an end tag without its start tag"),
        ("<a/></a>", "an end tag without its start tag"),
        ("<a b='1' b='2'/>", "the attribute `b` is given twice"),
        ("<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "given twice"),
        ("<a xmlns:p='u' xmlns:p='v'/>", "declared twice"),
        ("<a b=1/>", "without quotes"),
        ("<a b/>", "without `=`"),
        ("<a b='1'c='2'/>", "white space is expected"),
        ("<a b='<'/>", "`<` inside"),
        ("<a b='&x;'/>", "the entity `x` is not declared"),
        ("<a b='&'/>", "a reference without `;`"),
        ("<a>&x;</a>", "the entity `x` is not declared"),
        ("<a>& </a>", "column 4"),
        ("<a>&#0;</a>", "not a character"),
        ("<a>&#xD800;</a>", "not a character"),
        ("<a>]]></a>", "`]]>` stands in text"),
        ("<a><!-- -- --></a>", "`--` inside a comment"),
        ("<a><!-- ---></a>", "`--` inside a comment"),
        ("<a><?xml version='1.0'?></a>", "an XML declaration is allowed only"),
        (" <?xml version='1.0'?><a/>", "an XML declaration is allowed only"),
        ("<?xml encoding='utf-8'?><a/>", "begins with its version"),
        ("<a><?Xml x?></a>", "proper target"),
        ("<a><? x?></a>", "proper target"),
        ("<p:a/>", "the prefix of `p:a` is not declared"),
        ("<a p:b='1'/>", "the prefix of `p:b` is not declared"),
        ("<a:b:c xmlns:a='u'/>", "is not a name"),
        ("<1/>", "`1` is not a name"),
        ("< a/>", "without `=`"),
        ("< a='1'/>", "`` is not a name"),
        ("<a/ >", "`a/` is not a name"),
        ("<a xmlns:p=''/>", "without a namespace"),
        ("<a xmlns:xmlns='u'/>", "reserved"),
        ("<!DOCTYPE a><!DOCTYPE a><a/>", "second document type"),
        ("<a/><!DOCTYPE a>", "before the root"),
        ("<!doctype a><a/>", "`<!DOCTYPE` and a name"),
        ("<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</b></a>", "does not close"),
        ("<!DOCTYPE a [<!ENTITY e '</a>'>]><a>&e;", "without its start tag"),
        ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>", "refers to itself"),
        ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a b='&e;'/>", "refers to itself"),
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>", "never read"),
        ("<!DOCTYPE a [<!ENTITY e '<'>]><a b='&e;'/>", "brings `<`"),
        ("<![CDATA[x]]><a/>", "character data outside"),
        ("\u{FEFF}\u{FEFF}<a/>", "line 1, column 1: text outside"),
        ("<a", "line 1, column 1"),
        ("<a><![CDATA[x</a>", "column 4"),
        ("<a><!--x</a>", "column 4"),
        ("<a></a x='1'>", "where `</a>` is expected"),
        ("<a><b></b></a>\u{FEFF}", "line 1, column 15: text outside"),
        ("<a><b/>x]]></a>", "line 1, column 9: `]]>` stands in text"),
        ("<a><b/><c d='<'/></a>", "line 1, column 14: `<` inside"),
        ("<a><b/><c/d></c></a>", "`c/d` is not a name"),
        ("<a><b/><1/></a>", "`1` is not a name"),
        ("<a><b/><c d='1' d='2'/></a>", "the attribute `d` is given twice"),
        ("<a><b/></a ></a>", "an end tag without its start tag"),
        ("<a><b></b x></a>", "the end tag `</b x>` where `</b>` is expected"),
        ("<a><b><c></b></a>", "line 1, column 10: the end tag `</b>` where `</c>` is expected"),
    ] {
        let shown = show(text);
        assert!(shown.contains(expected) && shown.starts_with("line"), "{text}: {shown}");
    }
}

#[test]
fn hostile_documents_end_at_a_limit() {
    let limit = |text: &str, limits: &Limits| match Document::default().read(text.as_bytes(), limits) {
        Err(Error::Limit { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    let default = Limits::default();
    let laughs: String = (1..30)
        .map(|level| format!("<!ENTITY e{level} '{}'>", format!("&e{};", level - 1).repeat(10)))
        .collect();
    let head = format!("<!DOCTYPE a [<!ENTITY e0 'ha'>{laughs}]>");
    assert_eq!(limit(&format!("{head}<a>&e29;</a>"), &default), "expansion");
    assert_eq!(limit(&format!("{head}<a b='&e29;'/>"), &default), "expansion");
    assert_eq!(limit(&"<a>".repeat(1_000_000), &default), "document_depth");
    assert_eq!(limit(&format!("<a b='{}'/>", "x".repeat(40 << 20)), &default), "document");
    let attributes: String = (0..1001).map(|number| format!(" a{number}=''")).collect();
    assert_eq!(limit(&format!("<a{attributes}/>"), &default), "attributes");
    // A short tag that implies many attributes, or long ones.
    let defaults: String = (0..1001).map(|number| format!(" a{number} CDATA ''")).collect();
    assert_eq!(limit(&format!("<!DOCTYPE a [<!ATTLIST a{defaults}>]><a/>"), &default), "attributes");
    let long = format!("<!DOCTYPE a [<!ATTLIST b b CDATA '{}'>]>", "x".repeat(1000));
    assert_eq!(limit(&format!("{long}<a>{}</a>", "<b/>".repeat(2000)), &default), "expansion");
    assert!(Document::default().read(format!("{long}<a><b/></a>").as_bytes(), &default).is_ok());
    let names: String = (0..2000).map(|number| format!("<a{number}/>")).collect();
    assert_eq!(limit(&format!("<a>{names}</a>"), &Limits { names: 1000, ..default }), "names");
}

#[test]
fn plain_tags_and_text_are_read_like_events() {
    let pieces = [
        "<b>",
        "</b>",
        "<b/>",
        "<c d='1'>",
        "</c>",
        "<c  e = \"&lt;\" f=''/>",
        "x",
        " ",
        "]]>",
        "\u{FEFF}",
        "&amp;",
        "<!-- -->",
        "<?p?>",
        "<![CDATA[<b>]]>",
        "<p:b xmlns:p='u' p:c='>'/>",
        "<b",
        ">",
        "</b >",
        "<c d=1/>",
        "&e;",
    ];
    let mut state = 7_u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let content: String = (0..random(8)).map(|_| pieces[random(pieces.len())]).collect();
        let text = format!(
            "<!DOCTYPE a [<!ENTITY e '<b>y</b>'>]><a>{content}</a>{}",
            ["", "", " ", "\u{FEFF}"][random(4)]
        );
        let mut plain = Document::default();
        // Recording lines disables the fast path.
        let mut events = Document::default();
        events.record_lines();
        let results = [&mut plain, &mut events].map(|document| document.read_text(&text, &Limits::default()));
        assert_eq!(results[0], results[1], "{text}");
        read += usize::from(results[0].is_ok());
        let shown = [&plain, &events]
            .map(|document| format!("{:?}{:?}{:?}", document.nodes, document.text, document.values));
        assert_eq!(shown[0], shown[1], "{text}");
    }
    assert!(read > 1000, "{read}");
}
