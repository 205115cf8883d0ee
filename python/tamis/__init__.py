"""Tamis finds, for every event, which of many standing Boolean expressions it satisfies.

An `Index` holds subscriptions: an id with an `Expression`, written as text, built with `attr`, or
read from JSON. Events are mappings, or JSON as text or bytes. A `Graph` connects expressions. All
errors are `TamisError`s.

Examples:
    >>> import tamis
    >>> from tamis import attr
    >>> index = tamis.Index()
    >>> index.add("young-west", "age between 18 and 25 and state in ('CA', 'OR', 'WA')")
    >>> index.add("no-espn", (attr.category == "sports") & ~attr.source.isin(["espn"]))
    >>> index.match({"age": 21, "state": "CA"})
    ['young-west']
    >>> print(index.explain("young-west", {"age": 30, "state": "CA"}))
    false    and
    false      age between 18 and 25    -- age is 30
    true       state in ('CA', 'OR', 'WA')    -- state is 'CA'
"""

from typing import TYPE_CHECKING

from tamis._tamis import (
    Delivery,
    Explanation,
    Expression,
    Index,
    Limits,
    Subscription,
    __version__,
)
from tamis.builder import (
    Attribute,
    Operand,
    Term,
    all_of,
    any_of,
    attr,
    it,
    now,
    parse,
    values,
    weighted,
    xpath,
)
from tamis.errors import (
    DocumentError,
    EventError,
    ExpressionError,
    ExpressionSyntaxError,
    GraphError,
    LimitError,
    MatchTimeoutError,
    MetadataWarning,
    StorageError,
    SubscriptionError,
    TamisError,
    UnknownIdError,
)
from tamis.graph import Graph
from tamis.ranking import Match

if TYPE_CHECKING:
    from tamis.batches import Collected, Loaded, OnError, Refused, Skipped, Validity
    from tamis.checking import Finding

open = Index.open

# Loaded on first use: `dataclasses` and `datetime` would take a third of the time
# that `import tamis` takes.
_LATER = {
    "Collected": "tamis.batches",
    "Finding": "tamis.checking",
    "Loaded": "tamis.batches",
    "OnError": "tamis.batches",
    "Refused": "tamis.batches",
    "Skipped": "tamis.batches",
    "Validity": "tamis.batches",
}

if not TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "Attribute",
    "Collected",
    "Delivery",
    "DocumentError",
    "EventError",
    "Explanation",
    "Expression",
    "ExpressionError",
    "ExpressionSyntaxError",
    "Finding",
    "Graph",
    "GraphError",
    "Index",
    "LimitError",
    "Limits",
    "Loaded",
    "Match",
    "MatchTimeoutError",
    "MetadataWarning",
    "OnError",
    "Operand",
    "Refused",
    "Skipped",
    "StorageError",
    "Subscription",
    "SubscriptionError",
    "TamisError",
    "Term",
    "UnknownIdError",
    "Validity",
    "__version__",
    "all_of",
    "any_of",
    "attr",
    "it",
    "now",
    "open",
    "parse",
    "values",
    "weighted",
    "xpath",
]
