"""XPath predicates in expressions: a document in addition to the attributes of an event."""

import io
import json
import random
import threading
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pytest

import tamis
from oracle import Matcher
from tamis import Index, attr, xml, xpath
from xpaths import Documents, Queries, judge

MATCHERS: tuple[Matcher, ...] = get_args(Matcher)
CATALOG = "<c><item lang='en'><price>299</price></item></c>"
OFFER = """xpath('//item[@lang="en"]//price[. < 300]') and not xpath('//draft') and priority > 3"""


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_document_beside_attributes(matcher: Matcher) -> None:
    index = Index(matcher=matcher)
    index.add("offer", OFFER)
    assert index.match({"priority": 5}, document=CATALOG) == ["offer"]
    assert index.match({"priority": 3}, document=CATALOG) == []
    assert index.match({"priority": 5}, document=b"<c><draft/></c>") == []
    assert index.match({"priority": 5}, document=io.BytesIO(CATALOG.encode())) == ["offer"]
    # Without a document the result is unknown; with a document that satisfies nothing it is false.
    index.add("final", "not xpath('//draft')")
    assert index.match({}) == []
    assert index.match({}, document=None) == []
    assert index.match({}, document="<c/>") == ["final"]


def test_without_a_document_it_is_unknown_or_false() -> None:
    weak = Index(missing="false")
    weak.add("final", "not xpath('//draft')")
    weak.add("draft", "xpath('//draft')")
    assert weak.match({}) == ["final"]
    assert weak.match({}, document="<draft/>") == ["draft"]
    strong = Index()
    strong.add("either", "xpath('//draft') or a = 1")
    assert strong.match({"a": 1}) == ["either"]
    assert strong.match({"a": 2}) == []


def test_an_event_cannot_say_what_a_document_satisfies() -> None:
    index = Index()
    index.add("draft", "xpath('//draft')")
    for event in ({"xpath()": "//draft"}, {"xpath()": ["//draft", ""]}, '{"xpath()": "//draft"}'):
        assert index.match(event) == []
        assert index.match(event, document="<c/>") == []
    with pytest.raises(tamis.ExpressionError, match=r"write xpath\('...'\)"):
        index.add("forged", "\"xpath()\" = '//draft'")
    with pytest.raises(tamis.ExpressionError, match=r"write xpath\('...'\)"):
        attr["xpath()"].exists()
    index.add("attribute", "xpath = 3")
    assert index.match({"xpath": 3}) == ["attribute"]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("XPATH('//a')", "xpath('//a')"),
        ("not xpath('//a[. = ''x'']')", "not xpath('//a[. = ''x'']')"),
        (
            "xpath('//q:a | //p:b', q = 'urn:q', p = 'urn:''p')^2.5",
            "xpath('//q:a | //p:b', p = 'urn:''p', q = 'urn:q')^2.5",
        ),
        ("xpath('//and:a', \"and\" = 'urn:p')", "xpath('//and:a', \"and\" = 'urn:p')"),
        ("xpath = 1", '"xpath" = 1'),
    ],
)
def test_printing_and_reading_give_the_same(text: str, printed: str) -> None:
    expression = tamis.parse(text)
    assert str(expression) == printed
    assert tamis.parse(printed) == expression
    assert tamis.Expression.from_json(expression.to_json()) == expression


def test_the_builder_and_the_json_form_say_the_same() -> None:
    built = xpath("//p:a", namespaces={"p": "urn:p"}, weight=2.5) & ~xpath("//b") & (attr.x > 3)
    text = "xpath('//p:a', p = 'urn:p')^2.5 and not xpath('//b') and x > 3"
    assert built == tamis.parse(text)
    assert built.to_json() == (
        '{"and":[{"xpath":"//p:a","namespaces":{"p":"urn:p"},"weight":2.5},'
        '{"not":{"xpath":"//b"}},{"attribute":"x","operator":">","value":3}]}'
    )
    assert built.attributes == ["x"]


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("a = 1 and xpath('//b[')", 1, 22, "expected an expression"),
        ("a = 1\nand xpath('//b[. = ''x'' and ''y'' = ]')", 2, 38, "found `]`"),
        ("xpath('//p:b')", 1, 10, "the unknown prefix `p`"),
        ("xpath('contain(a, ''b'')')", 1, 8, "did you mean `contains`?"),
        ("xpath(//b)", 1, 7, "a name, a value"),
        ('xpath("//b")', 1, 7, "an XPath expression in single quotes"),
        ("xpath('//b' p = 'u')", 1, 13, "`,` or `)`"),
        ("xpath('//b', p 'u')", 1, 16, "`=` and the namespace"),
    ],
)
def test_a_bad_xpath_is_an_error_at_its_place(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(tamis.ExpressionSyntaxError) as caught:
        Index().add("x", text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    if "a name" not in reason:
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("xpath('//p:b', p = 'u', p = 'v')", "the prefix `p` is declared twice"),
        ("xpath('//p:b', p = '')", "declares no prefix"),
        ("xpath('//b', \"p q\" = 'u')", "declares no prefix"),
        ("xpath('//b')^-1", "finite number of at least 0"),
    ],
)
def test_what_a_predicate_may_not_say(text: str, reason: str) -> None:
    with pytest.raises(tamis.ExpressionError, match=reason):
        tamis.parse(text)


def test_a_bad_json_form_is_refused() -> None:
    for form, reason in [
        ('{"xpath": "//a["}', "in `xpath`, line 1, column 5: expected an expression"),
        ('{"xpath": "//a", "attribute": "b"}', "`namespaces` and `weight` only"),
        ('{"namespaces": {}}', "`namespaces` and `weight` only"),
        ('{"xpath": 1}', "an XPath expression as a string"),
        ('{"xpath": "//a", "namespaces": {"p": 1}}', "an object of prefixes and namespaces"),
        ('{"xpath": "//a", "namespaces": []}', "an object of prefixes and namespaces"),
    ]:
        with pytest.raises(tamis.ExpressionError) as caught:
            tamis.Expression.from_json(form)
        assert reason in str(caught.value)


def test_a_broken_document_is_an_error_whoever_asks() -> None:
    for expression in ("xpath('//a')", "a = 1"):
        index = Index()
        index.add("x", expression)
        with pytest.raises(tamis.DocumentError, match="line 1, column 4: the end tag") as caught:
            index.match({}, document="<a></b>")
        assert (caught.value.line, caught.value.column) == (1, 4)
        with pytest.raises(tamis.DocumentError, match=r"item 1 \(document\)") as caught:
            index.match_batch([{}, {}], documents=["<a/>", "<a"])
        assert caught.value.item == 1
        with pytest.raises(tamis.DocumentError):
            index.explain("x", {}, document="<a")
        with pytest.raises(TypeError, match="a document must be bytes"):
            index.match({}, document=3)  # type: ignore[arg-type]
    small = Index(limits=tamis.Limits(xml=xml.Limits(document=10)))
    assert small.limits.xml.document == 10
    with pytest.raises(tamis.LimitError) as limited:
        small.match({}, document="<a>too long</a>")
    assert limited.value.limit == "document"


def test_batches_have_a_document_per_event() -> None:
    index = Index()
    index.add("b", "xpath('//b') and n > 0")
    index.add("not b", "not xpath('//b')")
    events = [{"n": 1}, {"n": 1}, {"n": 0}, {"n": 1}]
    documents = ["<b/>", "<a/>", b"<b/>", None]
    expected = [["b"], ["not b"], [], []]
    assert index.match_batch(events, documents=documents) == expected
    lines = '{"n": 1}\n\n{"n": 1}\n{"n": 0}\n{"n": 1}\n'
    assert index.match_batch(lines, documents=documents) == expected
    many = index.match_batch(iter(events * 200), documents=iter(documents * 200))
    assert many == expected * 200
    with pytest.raises(tamis.EventError, match="no document for event 1"):
        index.match_batch(events, documents=["<b/>"])
    with pytest.raises(tamis.EventError, match="more documents than events"):
        index.match_batch(events, documents=[None] * 5)
    # An event without a document does not use that of the previous event.
    assert index.match({"n": 1}, document="<b/>") == ["b"]
    assert index.match({"n": 1}) == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_a_column_of_documents(kind: pa.DataType) -> None:
    index = Index()
    index.add("b", "xpath('//b') and n > 0")
    documents: list[str | bytes | None] = ["<b/>", "<a/>", "<b/>", None]
    if kind == pa.binary():
        documents = [text and str(text).encode() for text in documents]
    table = pa.table({"n": [1, 1, 0, 1], "body": pa.array(documents, kind)})
    assert index.match_batch(table, documents="body").to_pylist() == [
        {"event": 0, "subscription": "b"}
    ]
    assert index.match_batch(table).num_rows == 0
    broken = pa.table({"n": [1, 1], "body": ["<b/>", "<b"]})
    with pytest.raises(tamis.DocumentError, match="item 1"):
        index.match_batch(broken, documents="body")
    with pytest.raises(tamis.EventError, match="no column `text`"):
        index.match_batch(table, documents="text")
    with pytest.raises(tamis.EventError, match="documents are text or bytes"):
        index.match_batch(table, documents="n")
    with pytest.raises(TypeError, match="the name of the column"):
        index.match_batch(table, documents=["<b/>"])


def test_explanations_say_what_the_document_satisfied() -> None:
    index = Index()
    index.add("offer", OFFER)
    explained = index.explain("offer", {"priority": 5}, document="<c><draft/></c>")
    assert str(explained).splitlines() == [
        "false    and",
        """false      xpath('//item[@lang="en"]//price[. < 300]')""",
        "false      not",
        "true         xpath('//draft')",
        "true       priority > 3    -- priority is 5",
    ]
    unknown = index.explain("offer", {"priority": 5})
    assert str(unknown).splitlines()[3] == (
        "unknown      xpath('//draft')    -- document is missing"
    )
    assert unknown.truth == "unknown"


class Expressions:
    """Random expressions over documents and attributes, and their truth in Kleene's logic."""

    def __init__(self, seed: int, queries: list[str]) -> None:
        self.random = random.Random(seed)
        self.queries = queries

    def make(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if depth == 0 or kind < 0.2:
            if choose.random() < 0.3:
                return f"n > {choose.randint(0, 5)}"
            query = choose.choice(self.queries).replace("'", "''")
            return f"xpath('{query}', p = 'urn:p', q = 'urn:q')"
        if kind < 0.35:
            return f"not ({self.make(depth - 1)})"
        connective = choose.choice(["and", "and", "or", "xor"])
        return f"({self.make(depth - 1)} {connective} {self.make(depth - 1)})"


def truth(
    json: object, satisfied: set[str] | None, number: int, missing: bool | None
) -> bool | None:
    """The truth of an expression's JSON form; `None` is unknown."""
    match json:
        case {"xpath": str(query)}:
            return missing if satisfied is None else query in satisfied
        case {"attribute": "n", "value": int(value)}:
            return number > value
        case {"not": child}:
            inner = truth(child, satisfied, number, missing)
            return None if inner is None else not inner
        case {"and": list(children)}:
            parts = [truth(child, satisfied, number, missing) for child in children]
            return False if False in parts else None if None in parts else True
        case {"or": list(children)}:
            parts = [truth(child, satisfied, number, missing) for child in children]
            return True if True in parts else None if None in parts else False
        case {"xor": [left, right]}:
            one = truth(left, satisfied, number, missing)
            other = truth(right, satisfied, number, missing)
            return None if one is None or other is None else one != other
    raise AssertionError(json)


@pytest.mark.parametrize("missing", ["unknown", "false"])
@pytest.mark.parametrize("seed", range(3))
def test_all_matchers_agree_with_lxml(
    seed: int, missing: Literal["unknown", "false"], tmp_path: Path
) -> None:
    queries = Queries(seed).distinct(120, 0) + Queries(seed).distinct(40, 2)
    generator = Documents(seed)
    documents = [generator.document() for _ in range(30)]
    judged = judge(queries, documents)
    expressions = Expressions(seed, queries)
    texts = [expressions.make(2) for _ in range(400)]
    forms = [json.loads(tamis.parse(text).to_json()) for text in texts]
    removed = set(range(0, 400, 3))
    for matcher in MATCHERS:
        index = Index(matcher=matcher, missing=missing)
        index.add_many(enumerate(texts[:300]))
        for at, text in enumerate(texts[300:], start=300):
            index.add(at, text)
        for at in removed:
            index.remove(at)
        index.save(tmp_path / matcher)
        opened = tamis.open(tmp_path / matcher, matcher=matcher)
        cases = [*zip(documents, judged, strict=True), (None, [])]
        for number, (document, held) in enumerate(cases):
            satisfied = None if document is None else {queries[at] for at in held}
            weak = False if missing == "false" else None
            expected = [
                at
                for at, form in enumerate(forms)
                if at not in removed and truth(form, satisfied, number % 6, weak)
            ]
            event = {"n": number % 6}
            assert index.match(event, document=document) == expected
            assert opened.match(event, document=document) == expected


def test_a_saved_index_keeps_what_it_asks_of_documents(tmp_path: Path) -> None:
    index = Index()
    index.add_many((n, f"xpath('//a[@x = {n}]') and n = {n % 3}") for n in range(500))
    index.save(tmp_path)
    files = list(tmp_path.glob("xpaths-*.tamis"))
    assert len(files) == 1
    opened = tamis.open(tmp_path)
    assert opened.match({"n": 1}, document="<a x='4'/>") == [4]
    # Removed expressions are dropped, and added ones are evaluated.
    for n in range(500):
        opened.remove(n)
    opened.add("b", "xpath('//b')")
    assert opened.match({"n": 1}, document="<a x='4'><b/></a>") == ["b"]
    opened.save(tmp_path)
    assert not files[0].exists()
    assert tamis.open(tmp_path).match({}, document="<b/>") == ["b"]
    opened.remove("b")
    opened.save(tmp_path)
    assert not list(tmp_path.glob("xpaths-*.tamis"))
    assert tamis.open(tmp_path).match({}, document="<b/>") == []


def test_damage_to_the_file_is_an_error(tmp_path: Path) -> None:
    index = Index()
    index.add("a", "xpath('//a') and not xpath('//b')")
    index.save(tmp_path)
    [file] = tmp_path.glob("xpaths-*.tamis")
    content = file.read_bytes()
    for at in (0, 9, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        for verify in (True, False):
            with pytest.raises(tamis.StorageError, match="xpaths-"):
                tamis.open(tmp_path, verify=verify)
    file.unlink()
    with pytest.raises(tamis.StorageError, match="xpaths-"):
        tamis.open(tmp_path)


def test_threads_see_all_or_nothing_of_a_change() -> None:
    index = Index()
    index.add("steady", "xpath('//a') and not xpath('//b')")
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            # An expression removed concurrently must not appear because its XPath was dropped.
            found = index.match({}, document="<a/>")
            if found not in (["steady"], ["steady", "coming"]):
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(300):
            coming = ("coming", f"xpath('//a[not(@x = {turn})]')")
            never = ("never", f"not xpath('//a[{turn} < 1000]')")
            index.add_many([coming, never])
            index.remove("coming")
            index.remove("never")
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not wrong


def test_namespaces_are_part_of_the_predicate() -> None:
    index = Index()
    index.add("p", xpath("//n:a", namespaces={"n": "urn:p"}))
    index.add("q", xpath("//n:a", namespaces={"n": "urn:q"}))
    assert index.match({}, document="<a xmlns='urn:p'/>") == ["p"]
    assert index.match({}, document="<x:a xmlns:x='urn:q'/>") == ["q"]
