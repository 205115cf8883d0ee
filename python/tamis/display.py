"""What do notebooks show? HTML of bounded size, in which user input is escaped.

>>> import tamis
>>> index = tamis.Index()
>>> index.add("<b>", "age >= 18")
>>> "&lt;b&gt;" in index._repr_html_()
True
"""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamis import _tamis
    from tamis.graph import Graph
    from tamis.ranking import Match

_ROWS = 10  # of what an index holds
_LISTED = 100_000  # with more subscriptions, iterating takes too long
_LINES = 200  # of an explanation
_CHARACTERS = 300  # of a text
_EDGES = 10_000  # of a graph that is drawn
_PICTURE = 500_000  # characters of a drawing
_COLOURS = {"true": "#2a8a2a", "false": "#c23b3b", "unknown": "#8a8a8a"}


def show_index(index: _tamis.Index[Any]) -> str:
    """An index: how many subscriptions it has, how it answers, and the first of them."""
    facts = [f"missing={index.missing!r}", f"time_zone={index.time_zone!r}"]
    if index.matcher != "auto":
        facts.append(f"matcher={index.matcher!r}")
    ids = _first(index)
    rows = [(repr(id), str(index[id].expression)) for id in ids]
    return _titled(f"Index of {len(index):,} subscriptions", ", ".join(facts)) + _table(
        ("id", "expression"), rows, len(index)
    )


def show_filter(filters: _tamis.Filter[Any]) -> str:
    """An XML filter: how many filters it has, and the first of them."""
    rows = [(repr(id), filters[id].xpath) for id in _first(filters)]
    return _titled(f"Filter of {len(filters):,} subscriptions", filters.engine) + _table(
        ("id", "xpath"), rows, len(filters)
    )


def show_subscription(subscription: _tamis.Subscription) -> str:
    """A subscription: its expression, metadata and other fields."""
    names = ("expression", "metadata", "boost", "priority", "active_from", "active_until")
    values = {name: getattr(subscription, name) for name in names}
    usual = {"metadata": None, "boost": 1.0, "priority": 0}
    rows = [(name, str(value)) for name, value in values.items() if value != usual.get(name)]
    return _titled(f"Subscription {_shorten(repr(subscription.id))}") + _table((), rows, len(rows))


def show_match(match: Match[Any]) -> str:
    """A match of a ranking: its id and its score."""
    return f"<div>{_code(repr(match.id))} scores <b>{escape(f'{match.score:g}')}</b></div>"


def show_explanation(explanation: _tamis.Explanation) -> str:
    """An explanation, a line per part, coloured by its truth."""
    return _titled(f"Explanation: {explanation.truth}") + _lines(str(explanation))


def show_xml_explanation(explanation: _tamis.XmlExplanation) -> str:
    """An explanation of an XML filter, likewise."""
    matched = "matched" if explanation.matched else "not matched"
    return _titled(f"Explanation: {matched}") + _lines(str(explanation))


def show_graph(graph: Graph) -> str:
    """A graph: its size, and a drawing of its first nodes if that is small enough."""
    title = _titled(f"Graph of {len(graph):,} nodes")
    if graph.stats()["edges"] > _EDGES:
        return title
    most = 30
    picture = graph.draw(most=most)
    if len(picture) > _PICTURE:
        return title
    rest = f"<div>the first {most} nodes</div>" if len(graph) > most else ""
    return f'{title}<div style="overflow:auto;max-height:480px">{picture}</div>{rest}'


def _first(ids: Any) -> list[Any]:
    return list(islice(ids, _ROWS)) if len(ids) <= _LISTED else []


def _titled(title: str, facts: str = "") -> str:
    return f"<div><b>{escape(title)}</b>{f' {_code(facts)}' if facts else ''}</div>"


def _table(heads: Sequence[str], rows: list[tuple[str, str]], total: int) -> str:
    if not rows:
        return ""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><td style="text-align:left">{_code(name)}</td>'
        f'<td style="text-align:left">{_code(text)}</td></tr>'
        for name, text in rows
    )
    rest = f"<div>and {total - len(rows):,} more</div>" if total > len(rows) else ""
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>{rest}"


def _lines(text: str) -> str:
    lines = text.splitlines()
    shown = []
    for line in lines[:_LINES]:
        truth = line.partition(" ")[0]
        colour = f' style="color:{_COLOURS[truth]}"' if truth in _COLOURS else ""
        shown.append(f"<span{colour}>{escape(_shorten(line))}</span>")
    if len(lines) > _LINES:
        shown.append(f"... and {len(lines) - _LINES:,} more lines")
    return f'<pre style="line-height:1.3">{chr(10).join(shown)}</pre>'


def _code(text: str) -> str:
    return f"<code>{escape(_shorten(text))}</code>"


def _shorten(text: str) -> str:
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "\u2026"
