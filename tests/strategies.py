"""Random expressions and events, from pools small enough that they often match."""

import json
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st

import oracle
from oracle import And, Constant, Matcher, Missing, Node, Not, Or, Predicate, Value, Xnor, Xor

UNICODE = st.characters(exclude_categories=["Cs"])  # everything except surrogates

T = TypeVar("T")


def mostly(common: st.SearchStrategy[T], rare: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    return st.integers(0, 7).flatmap(lambda roll: rare if roll == 7 else common)


COMMON_NAMES = ["a", "user.age", "b", "a.b", "user.geo.state"]  # two of numbers, three of strings
RARE_NAMES = [
    *("größe", "in", "Not", "true", "null", "with", "contains", "exists"),
    *("shoe size", 'a "name"', "it's", "1st", "a.", ".b", "a..b", "--", "\n"),
]
rare_names = st.sampled_from(RARE_NAMES) | st.text(UNICODE, min_size=1, max_size=4)

COMMON_NUMBERS: list[int | float] = [0, 1, 2, 3, -1, 1.0, 2.5, 2**53, 2**53 + 1, float(2**53)]
RARE_NUMBERS: list[int | float] = [
    *(-0.0, 0.1, -2.5, 5e-324, 1e-7, -(2**53) - 1, -float(2**53)),
    *(2**63 - 1, -(2**63), float(2**63), 1e19, -1e19, 1.7976931348623157e308),
]
rare_numbers: st.SearchStrategy[int | float] = st.one_of(
    st.sampled_from(RARE_NUMBERS),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
numbers = mostly(st.sampled_from(COMMON_NUMBERS), rare_numbers)

COMMON_STRINGS = ["a", "b", "ab", "ba", "A", "aab", "", "%"]
RARE_STRINGS = [
    *("it's", 'a "quote"', "back\\slash", "\\", "_", "a%b", "é", "e\u0301", "日本", "\U0001f600"),
    *("\uffff", "1", "true", "a\nb", "a\n", "\x00", " ", "--"),
]
rare_strings = st.sampled_from(RARE_STRINGS) | st.text(UNICODE, max_size=6)
strings = mostly(st.sampled_from(COMMON_STRINGS), rare_strings)

values: st.SearchStrategy[Value] = st.one_of(numbers, strings, st.booleans())
weights = st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5, 1e-9, 1e300])

# Patterns that mean the same to Python's `re` and the engine.
like_patterns = st.lists(
    st.sampled_from(["a", "b", "é", "%", "%", "_", r"\%", r"\_", r"\\", r"\a", "'"]), max_size=5
).map("".join)
regex_patterns = st.tuples(
    st.sampled_from(["", "^"]),
    st.recursive(
        st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", ""]),
        lambda part: st.one_of(
            st.tuples(part, part).map("".join),
            st.tuples(part, part).map(lambda parts: f"(?:{parts[0]}|{parts[1]})"),
            st.tuples(part, st.sampled_from("*+?")).map(lambda parts: f"(?:{parts[0]}){parts[1]}"),
        ),
        max_leaves=4,
    ),
    st.sampled_from(["", "$"]),
).map("".join)


def same(value: Value) -> tuple[str, Value]:
    """A key that is equal only for equal values; unlike in Python, `True` is not 1."""
    return oracle.kind(value), value


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    operator = draw(st.sampled_from(OPERATORS))
    positive = oracle.POSITIVE.get(operator, operator)
    textual = positive in ("like", "starts with", "ends with", "contains", "matches")
    attribute = draw(mostly(st.sampled_from(COMMON_NAMES[2 if textual else 0 :]), rare_names))
    operands: tuple[Value, ...]
    match positive:
        case "exists" | "is null":
            return Predicate(attribute, operator)
        case "=":
            operands = (draw(values),)
        case "<" | "<=" | ">" | ">=":
            operands = (draw(numbers | strings),)
        case "between":
            operands = draw(st.tuples(numbers, numbers) | st.tuples(strings, strings))
        case "in":
            operands = tuple(draw(st.lists(values, max_size=4)))
        case "like":
            operands = (draw(like_patterns),)
        case "matches":
            operands = (draw(regex_patterns),)
        case _:
            operands = (draw(strings),)
    if operator != positive or not draw(st.integers(0, 3).map(lambda roll: roll == 3)):
        return Predicate(attribute, operator, operands)
    if positive != "in":
        return Predicate(attribute, operator, operands, (draw(weights),))
    distinct = tuple({same(value): value for value in operands}.values())
    count = len(distinct)
    drawn = draw(st.lists(weights, min_size=count, max_size=count))
    return Predicate(attribute, operator, distinct, tuple(drawn))


OPERATORS = [
    *("=", "<", "<=", ">", ">=", "in", "between", "like", "starts with", "ends with"),
    *("contains", "matches", "exists", "is null", *oracle.POSITIVE),
]

expressions: st.SearchStrategy[Node] = st.recursive(
    predicates() | st.booleans().map(Constant),
    lambda node: st.one_of(
        node.map(Not),
        st.lists(node, max_size=3).map(lambda children: And(tuple(children))),
        st.lists(node, max_size=3).map(lambda children: Or(tuple(children))),
        st.tuples(node, node).map(lambda pair: Xor(*pair)),
        st.tuples(node, node).map(lambda pair: Xnor(*pair)),
    ),
    max_leaves=8,
)

# Events: the common attributes, some of them left out, and other attributes.


def fields_of(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The content of one attribute: mostly one or more values, mostly of one type."""
    some = st.one_of(value, st.lists(value, min_size=1, max_size=3))
    return mostly(some, st.one_of(values, st.none(), st.lists(values | st.none(), max_size=3)))


number_fields, string_fields = fields_of(numbers), fields_of(strings)
common_fields = st.fixed_dictionaries(
    {
        "a": number_fields,
        "b": string_fields,
        "user": st.fixed_dictionaries(
            {"age": number_fields},
            optional={"geo": st.fixed_dictionaries({"state": string_fields})},
        ),
    },
    optional={"a.b": string_fields},
)
keys = st.sampled_from(["a", "b", "user", "geo", "age", "user.age", "user.geo", ""]) | rare_names
rare_fields = st.dictionaries(
    keys,
    st.recursive(
        string_fields, lambda value: st.dictionaries(keys, value, max_size=3), max_leaves=3
    ),
    max_size=2,
)
left_out = st.sampled_from([None, None, "a", "b", "user"])
events: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda rare, common, without: (
        rare | {key: value for key, value in common.items() if key != without}
    ),
    rare_fields,
    common_fields,
    left_out,
)
# Events without an attribute that occurs twice, by its dotted name and nested.
unambiguous_events = events.filter(
    lambda event: not oracle.given_twice(event, {name for name, _ in oracle.pairs(event)})
)

# Predicates on one attribute with operands close to the event's values.

CLOSE: list[list[Value]] = [
    [0, 1, 2, 3, 0.5, 1.0, 2.5, -1],
    [1, 1.0, True, False, "1", "true", 0, -0.0, ""],
    [2**53, 2**53 + 1, float(2**53), 2**53 - 1, -(2**53) - 1],
    [2**63 - 1, float(2**63), 1e19, -(2**63), -1e19, 2**53 + 1],
    ["a", "b", "ab", "aab", "A", "", "ba", "bab"],
    ["a%b", "a_b", "a\\b", "ab", "aab", "%", "_", "\\", "it's"],
    ["é", "e\u0301", "日本", "\uffff", "\U0001f600", "e", "a\nb", "a\n", "\n"],
]


@st.composite
def patterns_close_to(draw: st.DrawFn, text: str) -> str:
    """A `like` pattern derived from a text, which it may or may not match."""
    pattern = draw(st.sampled_from(["", "", "%"]))
    for character in text:
        plain = f"\\{character}" if character in "%_\\" else character
        pattern += draw(st.sampled_from([plain, plain, f"\\{character}", "_", "%", "%_"]))
    return pattern


@st.composite
def close_predicates(draw: st.DrawFn) -> tuple[list[Predicate], dict[str, Any]]:
    close = draw(st.sampled_from(CLOSE))
    given = draw(st.lists(st.sampled_from(close), min_size=1, max_size=3))
    texts = [value for value in given if isinstance(value, str)] or ["a"]
    ordered = [value for value in close if not isinstance(value, bool)]
    asked = []
    for operator in draw(st.lists(st.sampled_from(OPERATORS), min_size=5, max_size=15)):
        positive = oracle.POSITIVE.get(operator, operator)
        operands: tuple[Value, ...] = ()
        if positive == "=":
            operands = (draw(st.sampled_from(close)),)
        elif positive in ("<", "<=", ">", ">="):
            operands = (draw(st.sampled_from(ordered)),)
        elif positive == "in":
            operands = tuple(draw(st.lists(st.sampled_from(close), max_size=4)))
        elif positive == "between":
            low = draw(st.sampled_from(ordered))
            alike = [value for value in ordered if oracle.kind(value) == oracle.kind(low)]
            operands = (low, draw(st.sampled_from(alike)))
        elif positive == "like":
            operands = (draw(patterns_close_to(draw(st.sampled_from(texts)))),)
        elif positive == "matches":
            operands = (draw(regex_patterns),)
        elif positive not in ("exists", "is null"):
            start, end = draw(st.integers(0, 2)), draw(st.integers(0, 4))
            operands = (draw(st.sampled_from(texts))[start:end],)
        asked.append(Predicate("a", operator, operands))
    events = [
        {"a": given[0]},
        {"a": given},
        {"a": [None, *given, None]},
        *({}, {"a": None}, {"a": []}, {"a": [None]}, {"a": {"b": given}}),
    ]
    return asked, draw(mostly(st.sampled_from(events[:3]), st.sampled_from(events[3:])))


missing: st.SearchStrategy[Missing] = st.sampled_from(["unknown", "false"])
matchers: st.SearchStrategy[Matcher] = st.sampled_from(get_args(Matcher))
randoms = st.randoms(use_true_random=False)


@st.composite
def json_of(draw: st.DrawFn, value: Any) -> str | bytes:
    """The JSON of a value, with the choices a writer of JSON has."""
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([None, (",", ":")])),
    )
    return text.encode() if draw(st.booleans()) else text
