"""Events that are refused: wrong form, size, and hostile objects."""

import json
import os
import subprocess
import sys
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from refusal import MANY, answers, check_limit, refused
from tamis import (
    EventError,
    Index,
    LimitError,
    Limits,
    TamisError,
    attr,
)

# Events


@pytest.mark.parametrize("event", [None, 3, 1.5, True, ["a"], [("a", 1)], {"a"}, object(), attr.a])
def test_events_of_another_type(index: Any, event: Any) -> None:
    words = "an event must be a mapping, or JSON as str or bytes", type(event).__name__
    with refused(EventError, *words, index=index):
        index.match(event)
    with refused(EventError, *words, index=index):
        index.explain("one", event)
    with refused(EventError, "item 0", *words, index=index):
        index.match_batch([event])


@pytest.mark.parametrize(
    "kind", [str, bytes, bytearray, memoryview], ids=lambda kind: kind.__name__
)
def test_json_events_of_every_kind(index: Any, kind: Any) -> None:
    def make(text: str) -> Any:
        return text if kind is str else kind(text.encode())

    assert index.match(make('{"a": 1, "tags": ["y"]}')) == ["one", 2, "three"]
    assert index.explain("one", make('{"a": 1}')).matched
    assert index.match_batch(make('{"a": 1}\n \r\n{"a": 2}\r\n')) == [["one", 2], [2]]
    assert index.match_batch([make('{"a": 1}')]) == [["one", 2]]
    with refused(EventError, "invalid JSON", "line 2, column 1", index=index):
        index.match(make('{"a":\n}'))
    with refused(EventError, "an event is a JSON object", index=index):
        index.match(make("[1]"))
    with refused(EventError, index=index):
        index.match(make(""))
    with refused(EventError, "item 2", "line 3", index=index) as caught:
        index.match_batch(make('{"a": 1}\n\n{"a": }\n{"a": 2}'))
    assert caught.value.item == 2


def test_json_that_is_not_utf8(index: Any) -> None:
    with refused(EventError, "UTF-8", "0xff", "offset 7", index=index):
        index.match(b'{"a": "\xff"}')
    with refused(EventError, "UTF-8", index=index):
        index.match('{"a": "x"}'.encode("utf-16"))
    with refused(EventError, "item 1", "line 2", "UTF-8", index=index):
        index.match_batch(b'{"a": 1}\n{"a": "\xff"}')


def test_views_of_memory(index: Any) -> None:
    assert index.match(memoryview(b'x{"a": 1}x')[1:-1]) == ["one", 2]
    assert index.match(memoryview(b'}1 :"a"{')[::-1]) == ["one", 2]


def test_the_same_attribute_twice(index: Any) -> None:
    for event in (
        '{"a": 1, "a": 2}',
        '{"a": 1, "x": 3, "a": null}',
        '{"b": {"c": 1}, "b.c": 2}',
        '{"b": {"c": 1}, "b": {"c": 2}}',
        {"b": {"c": 1}, "b.c": 2},
    ):
        with refused(EventError, "given twice", "list", index=index):
            index.match(event)


def test_a_mapping_that_holds_itself(index: Any) -> None:
    event: dict[str, Any] = {"a": 1}
    event["b"] = event
    assert index.match(event) == ["one", 2]
    deep = Index(limits=Limits(name_depth=200))
    deep.add("deep", attr[".".join(["b"] * 150)].exists())
    with pytest.raises(LimitError) as caught:
        deep.match(event)
    check_limit(caught.value, "event_depth", 101, 100)


def test_a_list_that_holds_itself(index: Any) -> None:
    values: list[Any] = []
    values.append(values)
    with refused(EventError, "inside the list `a`", index=index):
        index.match({"a": values})


def test_the_limit_on_the_size_of_an_event() -> None:
    index = Index(limits=Limits(event=20))
    index.add("x", "a = 'x'")
    assert index.match('{"a": "x"          }') == ["x"]
    with refused(LimitError, index=index) as caught:
        index.match('{"a": "x"           }')
    check_limit(caught.value, "event", 21, 20)
    with refused(LimitError, index=index) as caught:
        index.match({"a": ["x" * 10, "y" * 11]})
    check_limit(caught.value, "event", 21, 20)
    assert index.match({"a": ["x", "y" * 19], "nobody asks": "z" * 100}) == ["x"]
    with refused(LimitError, "item 1", "line 2", index=index):
        index.match_batch('{"a": "x"}\n' + '{"a": "x"           }')


def test_the_limit_on_the_nesting_of_an_event() -> None:
    index = Index(limits=Limits(event_depth=3))
    index.add("x", "a.b.c = 1")
    index.add("y", "a.b.c.d = 1")
    event: Any
    nested = {"a": {"b": {"c": 1}}}
    for event in (nested, json.dumps(nested)):
        assert index.match(event) == ["x"]
    deeper = {"a": {"b": {"c": {"d": 1}}}}
    for event in (deeper, json.dumps(deeper), UserDict(deeper)):
        with refused(LimitError, index=index) as caught:
            index.match(event)
        check_limit(caught.value, "event_depth", 4, 3)


def test_the_limit_on_the_values_of_an_event() -> None:
    index = Index(limits=Limits(event_values=3))
    index.add("x", "a = 1 and b != 1")
    event = {"a": [1, 2], "b": 3, "c": [1] * 10, "d": None}
    for form in (event, json.dumps(event)):
        assert index.match(form) == ["x"]
    event["b"] = [3, 4]
    for form in (event, json.dumps(event)):
        with refused(LimitError, index=index) as caught:
            index.match(form)
        check_limit(caught.value, "event_values", 4, 3)


@pytest.mark.parametrize("open_close", ["[]", "{}"])
def test_depth_where_nobody_asks(index: Any, open_close: str) -> None:
    """Well-formed JSON of any depth is skipped, or refused as too deep."""
    opening, closing = ("[", "]") if open_close == "[]" else ('{"x":', "}")
    event = '{"a": 1, "other": ' + opening * MANY + "1" + closing * MANY + "}"
    try:
        assert index.match(event) == index.match({"a": 1})
    except LimitError as error:
        assert error.limit == "event_depth"  # noqa: PT017


def test_mappings_nested_deeply(index: Any) -> None:
    event: dict[str, Any] = {}
    for _ in range(MANY):
        event = {"x": event, "b": event}
    assert index.match(event | {"a": 1}) == index.match({"a": 1})


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by the system's own means")
def test_explaining_long_lists_takes_bounded_memory() -> None:
    """Many predicates see one list, which is stored once: 5 MB, not 5 MB a thousand times."""
    script = """
import resource, tamis
index = tamis.Index(limits=tamis.Limits(list=200_000))
index.add("x", " or ".join(f"a = {number}" for number in range(-1000, 0)))
event = {"a": list(range(200_000))}
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
print(index.explain("x", event).truth)
"""
    command = [sys.executable, "-c", script]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert (run.returncode, run.stdout) == (0, "false\n"), run.stderr[:500]


# Hostile objects


class HostileIndex:
    """Changes a mapping while it is read, and converts to the integer 1."""

    def __init__(self, victim: Any) -> None:
        self.victim = victim

    def __index__(self) -> int:
        self.victim.clear()
        for number in range(1000):
            self.victim[f"new {number}"] = number
        return 1


class HostileList(list[Any]):
    victim: dict[str, Any]

    def __iter__(self) -> Iterator[Any]:
        HostileIndex(self.victim).__index__()
        return super().__iter__()


class HostileMapping(Mapping[str, Any]):
    """Changes the mapping that contains it on every access."""

    def __init__(self, victim: dict[str, Any]) -> None:
        self.victim = victim

    def _strike(self) -> None:
        HostileIndex(self.victim).__index__()

    def __getitem__(self, key: str) -> Any:
        self._strike()
        return 1

    def __iter__(self) -> Iterator[str]:
        self._strike()
        return iter(["c", "d"])

    def __len__(self) -> int:
        self._strike()
        return 2


def strike(index: Any, event: dict[str, Any]) -> None:
    """Match; an error is fine, a crash is not."""
    with suppress(TamisError, RuntimeError):
        index.match(event)
    with suppress(TamisError, RuntimeError):
        index.match_batch([event] * 3)
    with suppress(TamisError, RuntimeError):
        index.explain("one", event)


def test_a_value_that_changes_its_event(index: Any) -> None:
    before = answers(index)
    event: dict[str, Any] = {}
    event.update(x=1, a=HostileIndex(event), b={"c": 1}, tags=["x"])
    strike(index, event)
    assert answers(index) == before


def test_a_value_in_a_list_that_changes_its_event(index: Any) -> None:
    before = answers(index)
    event: dict[str, Any] = {}
    event.update(x=1, a=[HostileIndex(event)], b={"c": 1}, tags=["x"])
    strike(index, event)
    assert answers(index) == before


def test_a_list_that_changes_its_event(index: Any) -> None:
    before = answers(index)
    event: dict[str, Any] = {}
    values = HostileList([1, 2])
    values.victim = event
    event.update(x=1, a=values, b={"c": 1}, tags=["x"])
    strike(index, event)
    assert answers(index) == before


def test_a_mapping_that_changes_its_event(index: Any) -> None:
    before = answers(index)
    event: dict[str, Any] = {}
    event.update(x=1, b=HostileMapping(event), a=1, tags=["x"])
    strike(index, event)
    assert answers(index) == before


def test_a_value_that_changes_its_list(index: Any) -> None:
    class Growing:
        def __index__(self) -> int:
            values.append(self)
            return 1

    values: list[Any] = [Growing()]
    with refused(LimitError, "list", index=index):
        index.match({"a": values})


def test_the_error_of_a_value_is_not_another_error(index: Any) -> None:
    class Failing:
        def __index__(self) -> int:
            raise RuntimeError("boom")

    for event in ({"a": Failing()}, {"a": [Failing()]}):
        with pytest.raises((RuntimeError, EventError), match="boom"):
            index.match(event)


def test_an_interrupt_in_a_value_interrupts(index: Any) -> None:
    class Interrupting:
        def __index__(self) -> int:
            raise KeyboardInterrupt

    before = answers(index)
    for event in ({"a": Interrupting()}, {"a": [Interrupting()]}):
        with pytest.raises(KeyboardInterrupt):
            index.match(event)
    assert answers(index) == before


@pytest.mark.parametrize("items", [None, 3, [1], [("a",)], [("a", 1, 2)], "ab"], ids=repr)
def test_a_mapping_whose_items_are_none(index: Any, items: Any) -> None:
    class Strange(UserDict[str, Any]):
        def items(self) -> Any:
            return items

    before = answers(index)
    with pytest.raises((EventError, TypeError, ValueError)):
        index.match(Strange())
    assert answers(index) == before


def test_a_mapping_that_fails(index: Any) -> None:
    class Failing(UserDict[str, Any]):
        def items(self) -> NoReturn:
            raise OSError("gone")

    for event in (Failing(), {"b": Failing()}):
        with refused(OSError, "gone", index=index):
            index.match(event)
