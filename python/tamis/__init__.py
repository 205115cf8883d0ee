"""Tamis finds, for every event, which of many standing Boolean expressions it satisfies.

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

An `Index` holds subscriptions: an id with an `Expression`, written as text, put together with
`attr`, or read from JSON. Events are mappings, or JSON as text or bytes. A `Graph` connects
them. What goes wrong is a `TamisError`.
"""

from tamis._tamis import (
    Delivery,
    Explanation,
    Expression,
    Index,
    Limits,
    Subscription,
    __version__,
)
from tamis.batches import Collected, Loaded, OnError, Refused, Skipped, Validity
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
from tamis.checking import Finding
from tamis.errors import (
    DocumentError,
    EventError,
    ExpressionError,
    ExpressionSyntaxError,
    GraphError,
    LimitError,
    MatchTimeoutError,
    StorageError,
    SubscriptionError,
    TamisError,
    UnknownIdError,
)
from tamis.graph import Graph
from tamis.ranking import Match

open = Index.open

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
