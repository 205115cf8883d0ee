"""Helpers for tests of bad input: exactly one class of error, and an unchanged index."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tamis
from tamis import LimitError, Limits, attr

MANY = 100_000
GENEROUS = Limits(text=2**40, depth=2**40, nodes=2**40, set=2**40)
LONE = "\ud800"  # half of a surrogate pair

# The same objects without types, for calls that a type checker would refuse.
untyped_attr: Any = attr
untyped_tamis: Any = tamis


def answers(index: Any) -> Any:
    """The properties of an index, and its matches for a few events."""
    events = [{}, {"a": 1}, {"a": "x", "flag": True}, {"b": {"c": 3, "d": None}, "tags": ["y"]}]
    subscriptions = [(id, str(index[id].expression), index[id].metadata) for id in index]
    explanations = [str(index.explain(id, event)) for id in index for event in events]
    return subscriptions, len(index), index.match_batch(events), explanations


@contextmanager
def refused(
    error: type[BaseException], *words: str, index: Any = None
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect exactly this error, with these words in its message, and an unchanged index."""
    before = answers(index) if index is not None else None
    with pytest.raises(error) as caught:
        yield caught
    assert caught.type is error
    for word in words:
        assert word in str(caught.value)
    if index is not None:
        assert answers(index) == before


def check_limit(error: LimitError, limit: str, found: int, allowed: int) -> None:
    assert (error.limit, error.found, error.allowed) == (limit, found, allowed)
    for part in (limit, str(found), str(allowed)):
        assert part in str(error)


def short(value: Any) -> str:
    """A name for a parameter that is the same in every process."""
    return type(value).__name__
