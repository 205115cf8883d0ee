"""How are objects of the native module pickled and copied?

>>> import copy, pickle, tamis
>>> index = tamis.Index(missing="false")
>>> index.add("adult", "age >= 18", metadata={"owner": "sales"})
>>> again = pickle.loads(pickle.dumps(index))
>>> again.match({"age": 20}), again.missing, again["adult"].metadata
(['adult'], 'false', {'owner': 'sales'})
>>> copy.copy(index["adult"])
<Subscription "adult": age >= 18>

The pickle of an index, a graph or a filter contains its compiled files. Use it to send a small
index to another process. Save a large one once and send its path, so that all processes share the
memory. Only the version of Tamis that wrote a pickle can read it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tamis import _tamis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tamis.graph import Graph

_Files: TypeAlias = dict[str, bytes]
_UNBOUNDED = 2**63 - 1

T = TypeVar("T")


def reduce_limits(limits: _tamis.Limits | _tamis.XmlLimits) -> tuple[Any, ...]:
    """How limits are pickled: as the arguments that make them."""
    names = [name for name in dir(limits) if not name.startswith("_")]
    bounds = {name: getattr(limits, name) for name in names}
    return restore_limits, (isinstance(limits, _tamis.XmlLimits), bounds)


def restore_limits(for_xml: bool, bounds: dict[str, Any]) -> _tamis.Limits | _tamis.XmlLimits:
    """The limits of a pickle."""
    return _tamis.XmlLimits(**bounds) if for_xml else _tamis.Limits(**bounds)


def reduce_subscription(subscription: _tamis.Subscription) -> tuple[Any, ...]:
    """How a subscription is pickled: as the arguments of `Index.add`."""
    names = ("id", "metadata", "boost", "priority", "active_from", "active_until")
    arguments = {name: getattr(subscription, name) for name in names}
    return restore_subscription, ({**arguments, "expression": subscription.expression},)


def restore_subscription(arguments: dict[str, Any]) -> _tamis.Subscription:
    """The subscription of a pickle; it was accepted before, so limits do not apply."""
    limits = _tamis.Limits(
        text=_UNBOUNDED,
        depth=_UNBOUNDED,
        nodes=_UNBOUNDED,
        set=_UNBOUNDED,
        pattern=_UNBOUNDED,
        patterns=_UNBOUNDED,
        index_patterns=_UNBOUNDED,
    )
    index = _tamis.Index[Any](matcher="scan", limits=limits)
    index.add(**arguments)
    return index[arguments["id"]]


def reduce_index(index: _tamis.Index[Any]) -> tuple[Any, ...]:
    """How an index is pickled: as the files it saves."""
    return restore_index, (_read_files(index.save), index.limits, index.matcher)


def restore_index(files: _Files, limits: _tamis.Limits, matcher: Any) -> _tamis.Index[Any]:
    """The index of a pickle."""
    return _from_files(
        files, lambda path: _tamis.Index.open(path, limits=limits, matcher=matcher, copy=True)
    )


def reduce_filter(filters: _tamis.Filter[Any]) -> tuple[Any, ...]:
    """How an XML filter is pickled: as the files it saves."""
    return restore_filter, (_read_files(filters.save), filters.limits)


def restore_filter(files: _Files, limits: _tamis.XmlLimits) -> _tamis.Filter[Any]:
    """The XML filter of a pickle."""
    return _from_files(files, lambda path: _tamis.Filter.open(path, limits=limits))


def reduce_graph(graph: Graph) -> tuple[Any, ...]:
    """How a graph is pickled: as the files it saves."""
    return restore_graph, (type(graph), _read_files(graph.save), graph.limits)


def restore_graph(kind: type[Graph], files: _Files, limits: _tamis.Limits) -> Graph:
    """The graph of a pickle."""
    return _from_files(files, lambda path: kind.open(path, limits=limits, copy=True))


def _read_files(save: Callable[[Path], None]) -> _Files:
    with TemporaryDirectory(prefix="tamis-") as folder:
        save(Path(folder))
        files = (path for path in Path(folder).iterdir() if not path.name.startswith("."))
        return {path.name: path.read_bytes() for path in files}


def _from_files(files: _Files, open_them: Callable[[Path], T]) -> T:
    with TemporaryDirectory(prefix="tamis-") as folder:
        for name, content in files.items():
            if Path(name).name != name:
                raise ValueError(f"a pickle of Tamis holds no file of the name {name!r}")
            (Path(folder) / name).write_bytes(content)
        return open_them(Path(folder))
