"""Priorities, metadata conditions, validity and counts, compared with a simple list."""

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import oracle
import tamis
import writers
from oracle import Matcher, Missing, Node
from strategies import events, expressions, matchers, missing
from tamis import ExpressionError, Index, LimitError, SubscriptionError, UnknownIdError, attr
from test_properties import ANY, unambiguous

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HOURS = st.integers(-2, 2).map(lambda hours: NOW + timedelta(hours=hours))
IGNORED = pytest.mark.filterwarnings("ignore::tamis.errors.MetadataWarning")  # from random names
plain_events = events.filter(unambiguous)
json_events = plain_events.map(
    lambda event: {name: value for name, value in event.items() if is_json(value)}
)


def is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_json(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return all(is_json(item) for item in value)
    if isinstance(value, str):
        return value.isprintable()
    return value is None or isinstance(value, (bool, int, float))


@dataclass(frozen=True)
class Rule:
    """A subscription of the judge."""

    node: Node
    metadata: Any
    priority: int
    active_from: datetime | None
    active_until: datetime | None

    def arguments(self, id: int) -> dict[str, Any]:
        return {
            "id": id,
            "expression": writers.build(self.node, ANY),
            "metadata": self.metadata,
            "priority": self.priority,
            "active_from": self.active_from,
            "active_until": self.active_until,
        }

    def is_active(self, now: datetime) -> bool:
        after = self.active_from is None or self.active_from <= now
        return after and (self.active_until is None or now < self.active_until)


@st.composite
def rules(draw: Callable[[Any], Any]) -> Rule:
    bounds = sorted(draw(st.sets(HOURS, min_size=2, max_size=2)))
    kind = draw(st.integers(0, 5))
    return Rule(
        draw(expressions),
        draw(st.one_of(json_events, json_events, st.sampled_from([None, 3, "text", [1]]))),
        draw(st.integers(-2, 2)),
        bounds[0] if kind in (0, 1) else None,
        bounds[1] if kind in (0, 2) else None,
    )


class Judge:
    """The content of an index, as a list in insertion order."""

    def __init__(self, missing: Missing) -> None:
        self.missing: Missing = missing
        self.rules: dict[int, Rule] = {}

    def matches(self, event: dict[str, Any], where: Node | None, now: datetime) -> list[int]:
        def is_selected(rule: Rule) -> bool:
            metadata = rule.metadata if isinstance(rule.metadata, dict) else {}
            return where is None or self.holds(where, metadata)

        return [
            id
            for id, rule in self.rules.items()
            if rule.is_active(now) and is_selected(rule) and self.holds(rule.node, event)
        ]

    def holds(self, node: Node, event: dict[str, Any]) -> bool:
        return oracle.evaluate(node, event, self.missing) == "true"

    def first(self, event: dict[str, Any], n: int, where: Node | None, now: datetime) -> list[int]:
        found = self.matches(event, where, now)
        return sorted(found, key=lambda id: -self.rules[id].priority)[:n]

    def counts(
        self, all_events: list[dict[str, Any]], where: Node | None, now: datetime
    ) -> dict[int, int]:
        counts = Counter(id for event in all_events for id in self.matches(event, where, now))
        return {id: counts[id] for id in self.rules if counts[id]}


def agree(
    index: Index,
    judge: Judge,
    all_events: list[dict[str, Any]],
    where: Node | None,
    now: datetime,
) -> None:
    text = None if where is None else writers.build(where, ANY)
    expected = [judge.matches(event, where, now) for event in all_events]
    assert [index.match(event, where=text, now=now) for event in all_events] == expected
    assert index.match_batch(all_events, where=text, now=now) == expected
    assert index.match_batch(all_events, where=text, now=now, count=True) == judge.counts(
        all_events, where, now
    )
    for n in (1, 3):
        first = [judge.first(event, n, where, now) for event in all_events]
        assert [index.first(event, n, where=text, now=now) for event in all_events] == first
        assert index.first_batch(all_events, n, where=text, now=now) == first
    ranked = index.top_batch(all_events, 1000, where=text, now=now)
    assert [sorted(match.id for match in matches) for matches in ranked] == [
        sorted(ids) for ids in expected
    ]


@IGNORED
@settings(max_examples=60)
@given(
    st.lists(rules(), max_size=8),
    st.lists(rules(), max_size=3),
    st.lists(plain_events, min_size=1, max_size=3),
    st.none() | expressions,
    st.sets(st.sampled_from(["a", "b", "a.b", "user.age", "user.geo.state"])),
    HOURS,
    matchers,
    missing,
)
def test_an_index_agrees_with_a_list(
    first: list[Rule],
    second: list[Rule],
    all_events: list[dict[str, Any]],
    where: Node | None,
    declared: set[str],
    now: datetime,
    matcher: Matcher,
    missing: Missing,
) -> None:
    index = Index(matcher=matcher, missing=missing, metadata_columns=sorted(declared))
    judge = Judge(missing)
    try:
        index.add_many([rule.arguments(id) for id, rule in enumerate(first)])
        judge.rules = dict(enumerate(first))
        for id, rule in enumerate(second):  # some are replaced, and then come last
            index.add(**rule.arguments(2 * id))
            judge.rules.pop(2 * id, None)
            judge.rules[2 * id] = rule
        if where is not None:
            writers.build(where, ANY)
    except (LimitError, ExpressionError):
        reject()  # a normal form that is too large, or a name reserved for the engine
    agree(index, judge, all_events, where, now)
    gone = [id for id in judge.rules if id % 3 == 1]
    assert index.remove_many(gone) == len(gone)
    for id in gone:
        del judge.rules[id]
    agree(index, judge, all_events, where, now)
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        opened = tamis.open(folder)
        assert opened.metadata_columns == sorted(declared)
        agree(opened, judge, all_events, where, now)


SIZE = 9_000


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    chance = random.Random(1)
    return [
        {
            "id": number,
            "expression": f"a = {chance.randrange(3)} and b < {chance.randrange(100)}",
            "metadata": {"tenant": chance.randrange(40), "level": chance.choice("xyz")},
            "priority": chance.randrange(1000),
        }
        for number in range(SIZE)
    ]


def matching(many: list[dict[str, Any]], a: int, b: int) -> list[dict[str, Any]]:
    text = f"a = {a} and b < "
    return [
        rule
        for rule in many
        if rule["expression"].startswith(text) and b < int(rule["expression"].split()[-1])
    ]


@pytest.mark.parametrize("matcher", ["auto", "scan"])
def test_excerpts_find_what_the_whole_finds(many: list[dict[str, Any]], matcher: Matcher) -> None:
    index = Index(matcher=matcher, metadata_columns=["tenant", "level"])
    index.add_many(many)
    index.settle()
    removed = [rule["id"] for rule in many if rule["priority"] > 995 or rule["id"] % 11 == 0]
    index.remove_many(removed)
    left = [rule for rule in many if rule["id"] not in set(removed)]
    all_events = [{"a": a, "b": b} for a in range(4) for b in (0, 50, 97, 99)]

    def selected(rule: dict[str, Any]) -> bool:
        return rule["metadata"]["tenant"] in (3, 5) and rule["metadata"]["level"] != "x"

    conditions: list[tuple[str | None, Callable[[dict[str, Any]], bool]]] = [
        (None, lambda _: True),
        ("tenant = 7", lambda rule: rule["metadata"]["tenant"] == 7),
        ("tenant in (3, 5) and level != 'x'", selected),
        ("not (tenant not in (3, 5) or level = 'x')", selected),
        (
            "tenant = 7 xor level = 'x'",
            lambda rule: (rule["metadata"]["tenant"] == 7) != (rule["metadata"]["level"] == "x"),
        ),
        ("tenant < 0", lambda _: False),
        (
            "lower(level) = 'y' or tenant = 7",
            lambda rule: rule["metadata"]["level"] == "y" or rule["metadata"]["tenant"] == 7,
        ),
    ]
    table = pa.Table.from_pylist(all_events)
    for where, is_selected in conditions:
        expected = [
            [rule for rule in matching(left, event["a"], event["b"]) if is_selected(rule)]
            for event in all_events
        ]
        ids = [[rule["id"] for rule in found] for found in expected]
        for _ in range(3):  # excerpts are compiled on the way
            assert [index.match(event, where=where) for event in all_events] == ids
        pairs = index.match_batch(table, where=where)
        assert pairs.column("subscription").to_pylist() == [id for found in ids for id in found]
        for n in (1, 4, 10_000):
            first = [
                [rule["id"] for rule in sorted(found, key=lambda rule: -rule["priority"])[:n]]
                for found in expected
            ]
            assert [index.first(event, n, where=where) for event in all_events] == first
            rows = index.first_batch(table, n, where=where).to_pylist()
            assert [row["subscription"] for row in rows] == [id for found in first for id in found]
            assert [row["priority"] for row in rows] == [
                many[id]["priority"] for found in first for id in found
            ]
        counts = Counter(id for found in ids for id in found)
        counted = index.match_batch(table, where=where, count=True).to_pydict()
        assert counted["subscription"] == sorted(counts)
        assert counted["count"] == [counts[id] for id in sorted(counts)]


# Conditions


def test_a_condition_is_written_in_the_language() -> None:
    index = Index(metadata_columns=["tenant"])
    index.add("a", "true", metadata={"tenant": "a", "tags": ["x"], "since": "2026-01-02"})
    index.add("b", "true", metadata={"tenant": "b", "owner": {"team": "red"}})
    index.add("c", "true")
    for where, expected in {
        "tenant = 'a'": ["a"],
        "tenant in ('a', 'b')": ["a", "b"],
        "missing(tenant)": ["c"],
        "owner.team = 'red'": ["b"],
        "any(tags, it = 'x')": ["a"],
        "upper(tenant) = 'B'": ["b"],
        "since < now()": ["a"],
        "values() contains 'red'": ["b"],
        "true": ["a", "b", "c"],
        "false": [],
    }.items():
        assert index.match({}, where=where) == expected, where
    assert index.match({}, where=attr.tenant == "b") == ["b"]
    assert index.match({}, where="since < now()", now="2025-01-01") == []


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("tenant =", "expected"),
        (3, "`where` must be a string, not int"),
        ("xpath('//a')", "metadata has none"),
    ],
)
def test_a_condition_that_is_none(where: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        Index().match({}, where=where)


def test_a_condition_of_many_parts() -> None:
    index = Index(metadata_columns=["a", "b"])
    index.add_many([(n, "true", {"a": n, "b": n % 2}) for n in range(300)])
    many_parts = " or ".join(f"a = {n} and b = 1" for n in range(200))
    assert index.match({}, where=many_parts) == list(range(1, 200, 2))
    nested = "a = 1"
    for n in range(100):
        nested = f"({nested} and b = 1) or a = {n}" if n % 2 else f"({nested} or b = {n})"
    assert index.match({}, where=nested) == index.match({}, where=f"not not ({nested})")


def test_hostile_metadata_costs_itself_only() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = {"a": deep}
    index = Index(metadata_columns=["tenant"])
    index.add("deep", "true", metadata={"tenant": "a", "deep": deep})
    index.add("surrogate", "true", metadata={"tenant": "a", "text": "\ud800"})
    index.add("good", "true", metadata={"tenant": "a"})
    assert "good" in index.match({}, where="tenant = 'a'")
    assert "good" in index.match({}, where="tenant = 'a' and missing(deep.a)")


@IGNORED
@pytest.mark.parametrize("where", ["t = 1", "t = 1 or u = 3", "t = 1 and u is null", "u is null"])
@pytest.mark.parametrize("bad", ["[[1]]", '1, "u": 2'])
def test_unreadable_metadata_of_one_column_leaves_the_others(where: str, bad: str) -> None:
    metadata = [f'{{"t": 1, "u": {bad}}}', "{}", f'{{"t": 2, "u": {bad}}}', '{"t": 1}', '{"u": 3}']
    rows = pa.table(
        {"id": range(len(metadata)), "expression": ["true"] * len(metadata), "metadata": metadata}
    )
    plain, declared = Index(), Index(metadata_columns=["t", "u"])
    for index in (plain, declared):
        index.add_table(rows)
    assert declared.match({}, where=where) == plain.match({}, where=where)


def test_names_that_no_metadata_has_are_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    index = Index(metadata_columns=["Tenant", "region"])
    index.add("plain", "true")
    index.add("a", "true", metadata={"Tenant": "a", "team": {"owner": "ann"}, "tags": ["x"]})
    index.add("b", "true", metadata={"rare": 1})
    for where in (
        "region = 'eu'",  # declared
        "rare = 2",
        "team.owner = 'bob'",
        "lower(Tenant) = 'b'",
        "missing(muted)",
        "muted is not null",
        "any(tags, it = 'y')",
        "values() contains 'z'",
        "true",
    ):
        index.match({}, where=where)
    assert not [str(warning.message) for warning in recwarn]
    cases: dict[str, tuple[str, str | None]] = {
        "tennant = 'a'": ("tennant", "Tenant"),
        "upper(tenant) = 'A'": ("tenant", "Tenant"),
        "team.ownr = 'ann'": ("team.ownr", "team.owner"),
        "colour > 3": ("colour", None),
    }
    for where, (name, meant) in cases.items():
        hint = f"; did you mean `{meant}`?" if meant else ""
        said = f"`where` asks for `{name}`, which the metadata of 2 subscriptions does not have"
        with pytest.warns(tamis.MetadataWarning) as warned:
            assert index.match({}, where=where) == []
        assert [str(warning.message) for warning in warned] == [said + hint]
        assert warned[0].filename == __file__
        index.match({}, where=where)  # once per condition
    for ask in (index.match_batch, index.top_batch, index.first_batch):
        index = Index()
        index.add("a", "true", metadata={"tenant": "a"})
        with pytest.warns(tamis.MetadataWarning, match="tennant"):
            getattr(index, ask.__name__)([{}], where="tennant = 'a'")
    assert not recwarn


def test_a_warning_where_no_subscription_has_metadata() -> None:
    index = Index()
    assert index.match({}, where="tenant = 'a'") == []  # an empty index gives no warning
    index.add("a", "true")
    said = "^`where` asks for `team`, but no subscription has metadata$"
    with pytest.warns(tamis.MetadataWarning, match=said):
        assert index.match({}, where="team = 'a'") == []


def test_a_warning_of_hostile_metadata() -> None:
    deep = '{"a":' * 190 + "1" + "}" * 190
    index = Index()
    index.add("list", "true", metadata=[1])
    index.add("text", "true", metadata={"text": "\ud800"})
    index.add_table(pa.table({"id": ["deep"], "expression": ["true"], "metadata": [deep]}))
    with pytest.warns(tamis.MetadataWarning, match=r"`texts`.* of 3 subscriptions .*mean `text`"):
        assert index.match({}, where="texts = 'a'") == []


# Validity


def test_an_explanation_says_that_a_subscription_is_inactive() -> None:
    index = Index()
    index.add("sale", "age >= 18", active_from="2026-11-27", active_until="2026-12-01T12:00Z")
    for now, active, line in [
        ("2026-11-26T23:59:59.5Z", False, "active from 2026-11-27 00:00:00Z"),
        ("2026-11-27", True, None),
        ("2026-12-01T11:59Z", True, None),
        ("2026-12-01T12:00Z", False, "active before 2026-12-01 12:00:00Z"),
    ]:
        told = index.explain("sale", {"age": 20}, now=now)
        assert (told.active, told.matched, told.truth) == (active, active, "true")
        assert told.matched == (index.match({"age": 20}, now=now) == ["sale"])
        lines = str(told).splitlines()
        assert lines[-1] == "true     age >= 18    -- age is 20"
        assert ("inactive" in told.to_dict()) == (not active)
        if line is not None:
            assert lines[0].startswith(f"false    {line}    -- now is 2026-")
            assert f">{lines[0]}<" in told._repr_html_()
    assert not index.explain("sale", {"age": 3}, now="2026-11-28").matched
    end = index.explain("sale", {"age": 20}, now="2026-12-02").to_dict()["inactive"]
    assert end == {"active_until": "2026-12-01 12:00:00Z", "now": "2026-12-02 00:00:00Z"}


def test_validity_is_half_open_and_a_moment() -> None:
    index = Index(time_zone="Europe/Paris")
    local = timezone(timedelta(hours=5))
    index.add("a", "true", active_from="2026-01-01T00:00Z", active_until="2026-01-02T00:00Z")
    index.add("b", "true", active_from=datetime(2026, 1, 1, 5, tzinfo=local))
    index.add("c", "true", active_until="2026-01-02")  # midnight in Paris
    index.add("d", "true")
    index.add("e", "now() > timestamp '2026-01-01T12:00Z'")

    def at(now: str) -> str:
        assert index.match({}, now=now) == index.match_batch([{}], now=now)[0]
        return "".join(index.match({}, now=now))

    assert at("2025-12-31T23:59:59.999999Z") == "cd"
    assert at("2026-01-01T00:00Z") == "abcd"
    assert at("2026-01-01T22:59:59Z") == "abcde"
    assert at("2026-01-01T23:00Z") == "abde"
    assert at("2026-01-02T00:00Z") == "bde"
    assert index["a"].active_from == datetime(2026, 1, 1, tzinfo=UTC)
    assert index["c"].active_until == datetime(2026, 1, 1, 23, tzinfo=UTC)
    assert index["d"].active_from is index["d"].active_until is None


def test_validity_can_be_listed_extended_and_replaced() -> None:
    index = Index()
    start, end, later = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3))
    index.add("a", "true", active_from=start, active_until=end, priority=3, metadata=[1])
    index.add("b", "true")
    index.add("c", "true", active_until=end)
    assert index.validities() == [("a", start, end), ("c", None, end)]
    index.set_validity("a", active_until=later)
    assert index.validities() == [("c", None, end), ("a", start, later)]
    assert (index["a"].priority, index["a"].metadata) == (3, [1])
    assert index.match({}, now=end) == ["b", "a"]
    index.set_validity("a", active_from=None, active_until=None)
    index.add("c", "true", active_from=later)
    assert index.validities() == [("c", later, None)]
    with pytest.raises(UnknownIdError):
        index.set_validity("z", active_until=None)
    with pytest.raises(ExpressionError, match="until a later one"):
        index.set_validity("c", active_until=later)
    with pytest.raises(TypeError, match="`until`"):
        index.set_validity("c", until=later)
    assert index.validities() == [("c", later, None)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"active_from": "soon"}, "`active_from` must be a time, not 'soon'"),
        ({"active_until": 3}, "`active_until` must be a time, not 3"),
        ({"priority": 1.5}, "a priority must be an integer, not float"),
        ({"priority": True}, "a priority must be an integer, not bool"),
        ({"priority": 2**64}, "64 bits"),
        ({"active_from": "2026-01-02", "active_until": "2026-01-02"}, "until a later one"),
    ],
)
def test_what_is_wrong_is_refused(arguments: dict[str, Any], message: str) -> None:
    index = Index()
    with pytest.raises((SubscriptionError, ExpressionError), match=message):
        index.add("a", "true", **arguments)
    with pytest.raises((SubscriptionError, ExpressionError), match=message):
        index.add_many([{"id": "a", "expression": "true", **arguments}])
    assert len(index) == 0


def test_an_opened_index_knows_all_of_it(tmp_path: Path) -> None:
    index = Index(metadata_columns=["tenant"])
    index.add_many(
        {
            "id": n,
            "expression": f"a = {n % 3}",
            "metadata": {"tenant": n % 10},
            "priority": n % 7,
            "active_until": NOW + timedelta(hours=n % 5),
        }
        for n in range(2000)
    )
    index.save(tmp_path)
    for opened in (tamis.open(tmp_path), tamis.open(tmp_path, verify=False)):
        for now in (NOW, NOW + timedelta(hours=3)):
            for where in (None, "tenant = 3"):
                for n in (1, 20):
                    expected = index.first({"a": 1}, n, where=where, now=now)
                    assert opened.first({"a": 1}, n, where=where, now=now) == expected
                assert opened.match({"a": 2}, where=where, now=now) == index.match(
                    {"a": 2}, where=where, now=now
                )
        assert opened.validities() == index.validities()
        assert opened[11].priority == 4


# Counts


def test_counts_pass_over_bad_events() -> None:
    index = Index()
    index.add("a", "x > 1")
    index.add("b", "x > 5")
    lines = b'{"x": 2}\n{"x": \n{"x": 7}\n'
    counted = index.match_batch(lines, count=True, on_error="collect")
    assert counted.matches == {"a": 2, "b": 1}
    assert [refused.line for refused in counted.refused] == [2]
    table = pa.table({"event": ['{"x": 2}', '{"x": ', '{"x": 7}']})
    counted = index.match_batch(table, column="event", count=True, on_error="skip")
    assert counted.matches.to_pydict() == {"subscription": ["a", "b"], "count": [2, 1]}
    assert counted.skipped == 1
    assert index.match_batch(pa.table({"x": pa.array([], pa.int64())}), count=True).num_rows == 0
    assert index.match_batch([], count=True) == {}
    with pytest.raises(ValueError, match="no pairs"):
        index.match_batch(table, count=True, metadata=True)
