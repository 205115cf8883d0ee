"""Experiments: reads and checks the TOML files that describe figures of the papers."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tamis import _tamis
from tamis.lab.cells import KNOWN, Cell, Effort, Metric

SCALES = ("full", "small")
KINDS = ("lines", "bars", "table")
SIDES = ("values", "series", "metrics")

_SHIPPED = Path(__file__).parent / "figures"

T = TypeVar("T")

_TYPE_NAMES: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
_MISSING: Any = object()


class ExperimentError(ValueError):
    """An experiment's file is invalid; the message says where, and what would be valid."""


class Table:
    """A TOML table whose entries are taken one by one.

    Args:
        file: The name to use in messages.
        entries: The entries of the table.
        path: The keys that lead to the table.
    """

    def __init__(self, file: str, entries: dict[str, Any], path: str = "") -> None:
        self.file = file
        self.path = path
        self._entries = dict(entries)
        self._known = list[str]()

    def take(self, key: str, kind: type[T], default: T = _MISSING) -> T:
        """The value of a key, checked for its type; without a default the key is required."""
        self._known.append(key)
        value = self._entries.pop(key, default)
        if value is _MISSING:
            raise self.error(key, f"is missing: {_TYPE_NAMES[kind]}")
        if kind is float and type(value) is int:
            value = float(value)
        if value is not default and kind is not object and type(value) is not kind:
            raise self.error(key, f"must be {_TYPE_NAMES[kind]}, not {value!r}")
        return value  # type: ignore[no-any-return]

    def choose(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of several words."""
        value = self.take(key, str, default)
        if value not in choices:
            raise self.error(key, f"must be {' or '.join(map(repr, choices))}, not {value!r}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty if there is none."""
        values = self.take(key, list, [])
        for value in values:
            if type(value) is not str:
                raise self.error(key, f"must be a list of texts, not of {value!r}")
        return tuple(values)

    def above(self, key: str, kind: type[T], default: T) -> T:
        """A number above 0."""
        value = self.take(key, kind, default)
        if not value > 0:  # type: ignore[operator]
            raise self.error(key, f"must be above 0, not {value!r}")
        return value

    def table(self, key: str) -> "Table":
        """A nested table, empty if there is none."""
        return Table(self.file, self.take(key, dict, {}), self._path(key))

    def tables(self, key: str) -> list["Table"]:
        """A list of nested tables."""
        found = []
        for number, entries in enumerate(self.take(key, list, []), 1):
            if type(entries) is not dict:
                raise self.error(key, f"must be a list of tables, not of {entries!r}")
            found.append(Table(self.file, entries, f"{self._path(key)}[{number}]"))
        return found

    def rest(self) -> dict[str, Any]:
        """The entries that were not taken."""
        rest, self._entries = self._entries, {}
        return rest

    def done(self) -> None:
        """Raise an error if an entry was not taken."""
        for key in self._entries:
            near = get_close_matches(key, self._known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(self._known)}"
            raise self.error(key, f"is not a key here; {hint}")

    def error(self, key: str, text: str) -> ExperimentError:
        """The error for a key."""
        return ExperimentError(f"{self.file}: `{self._path(key)}` {text}")

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def read_metric(holder: Table, key: str, entry: object) -> Metric:
    """Read a metric: its name, or a table that extends a named one."""
    if isinstance(entry, str):
        return _named(entry)
    if not isinstance(entry, dict):
        raise holder.error(key, f"must be the name of a metric or a table, not {entry!r}")
    table = Table(holder.file, entry, f"{holder.path}.{key}" if holder.path else key)
    metric = _named(table.take("of", str))
    metric = replace(
        metric,
        label=table.take("label", str, metric.label),
        minus=table.words("minus"),
        per=table.take("per", str, metric.per or "") or None,
        times=table.take("times", float, metric.times),
    )
    table.done()
    return metric


def _named(name: str) -> Metric:
    return KNOWN.get(name) or Metric(name, name.rpartition(".")[2].replace("_", " "))


@dataclass(frozen=True, eq=False)
class Series:
    """One line of a chart.

    Attributes:
        name: Unique among those of an experiment; the matcher's name by default.
        label: Its name in the paper.
        matcher: The measured matcher.
        options: The options of the matcher.
        parameters: Workload parameters for this series only.
        judge: The matcher, with its options, whose results are the reference.
    """

    name: str
    label: str
    matcher: str
    options: dict[str, Any]
    parameters: dict[str, Any]
    judge: tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Plan:
    """One scale of an experiment: the workload, the parameter that varies, and the effort."""

    workload: str
    parameters: dict[str, Any]
    varied: str | None
    values: tuple[Any, ...]
    effort: Effort


@dataclass(frozen=True)
class Drawing:
    """How results are shown: the axes of a chart, or the rows and columns of a table."""

    kind: str
    x: Metric | None
    x_label: str
    metrics: tuple[Metric, ...]
    log: tuple[str, ...]
    rows: str
    columns: str


CLAIMS = (
    *("order", "growth", "linear", "sublinear", "rises", "falls", "steady"),
    *("alike", "share", "minor", "absent"),
)


@dataclass(frozen=True)
class Claim:
    """A paper's claim about some series, which can be checked against records.

    Attributes:
        says: The claim in words.
        kind: `order`: the series are in ascending order. `growth`: their growth is in ascending
            order. `linear`, `sublinear`: each grows in proportion to the value, or less. `rises`,
            `falls`, `steady`: the change of each from the first value to the last. `alike`: both
            are about equal. `share`: the second metric is most of the first; `minor`: less than
            half of it. `absent`: each gives up.
        of: The names of the series.
        by: For an order, the paper's factor; 0 if there is none.
        last: For an order, whether only the last value counts.
        why: Why our result differs; by default that of the experiment.
    """

    says: str
    kind: str
    of: tuple[str, ...]
    by: float
    last: bool
    why: str


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper to repeat.

    Attributes:
        name: Paper and figure, such as `whang/fig14`, or the name of its file.
        call: The argument of `tamis lab run`: its name, or the path of its file.
        title: What it shows.
        source: The section, figure or table.
        found: The paper's result in a sentence; empty if there is no paper.
        claims: The claims of the paper.
        order: The series in the paper's order, lowest first.
        why: Why the order differs here, if known.
        note: How the experiment differs from the paper's.
        series: The series to compare.
        plans: The plans by scale.
        drawing: How it is shown.
    """

    name: str
    call: str
    title: str
    source: str
    found: str
    claims: tuple[Claim, ...]
    order: tuple[str, ...]
    why: str
    note: str
    series: tuple[Series, ...]
    plans: dict[str, Plan]
    drawing: Drawing

    def cells(self, scale: str, seed: int) -> Iterator[tuple[Series, int, Cell, Cell]]:
        """Every series with the position of every value: the cell, and the cell of its judge."""
        plan = self.plans[scale]
        for place, value in enumerate(plan.values):
            for series in self.series:
                parameters = {**plan.parameters, **series.parameters, "seed": seed}
                if plan.varied is not None:
                    parameters[plan.varied] = value
                matcher, options = series.judge
                cell = Cell(plan.workload, parameters, series.matcher, series.options, plan.effort)
                judge = replace(cell, matcher=matcher, options=options)
                if not any((each.matcher, each.options) == series.judge for each in self.series):
                    short = replace(plan.effort, events=plan.effort.sample, repetitions=1)
                    judge = replace(judge, effort=short)
                yield series, place, cell, judge


def shipped() -> dict[str, Path]:
    """The files of the included experiments, by name."""
    return {
        f"{path.parent.name}/{path.stem}": path
        for path in sorted(_SHIPPED.glob("*/*.toml"), key=_order)
    }


def find(*names: str) -> list[Experiment]:
    """Find experiments by name.

    Args:
        names: `ji/fig12a`, or `fig12a` if that is unambiguous; a paper, such as `ji`, for all its
            experiments; `all`; or the path of a TOML file.

    Raises:
        ExperimentError: A name is unknown or ambiguous, or its file is invalid.
    """
    known = shipped()
    found = dict[str, Path]()
    for name in names:
        if name.endswith(".toml"):
            stem, path = Path(name).stem, Path(name)
            if found.setdefault(stem, path) != path:
                raise ExperimentError(
                    f"{found[stem]} and {path} are both called {stem}: rename one"
                )
            continue
        papers = [each for each in known if name in ("all", each.partition("/")[0])]
        figures = [each for each in known if name in (each, each.partition("/")[2])]
        if len(figures) > 1:
            raise ExperimentError(f"{name!r} is ambiguous: {', '.join(figures)}")
        if not papers and not figures:
            all_papers = ", ".join(dict.fromkeys(each.partition("/")[0] for each in known))
            raise ExperimentError(
                f"unknown experiment {name!r}: name a figure such as whang/fig14, a paper "
                f"({all_papers}), all, or a file that ends with .toml"
            )
        found |= {each: known[each] for each in papers or figures}
    return [read(path, name if name in known else None) for name, path in found.items()]


def read(path: Path, name: str | None = None) -> Experiment:
    """Read an experiment from a file.

    Raises:
        ExperimentError: The file is invalid; the error says where, and what would be valid.
    """
    table = Table(str(path) if name is None else f"{name}.toml", _load(path))
    texts = {key: table.take(key, str) for key in ("title", "source")}
    texts |= {key: table.take(key, str, "") for key in ("found", "why", "note")}
    measured = table
    if other := table.take("cells", str, ""):  # drawn from the cells of another experiment
        beside = path.with_name(f"{other}.toml")
        measured = Table(f"{other}.toml", _load(beside))
        for key in ("title", "source", "found", "claims", "why", "note", "order", "draw"):
            measured.take(key, object, None)
    series = _series(measured)
    plans = _plans(measured)
    draw = table.table("draw")
    series = _chosen(draw, "series", series) or series
    drawing = _drawing(draw, plans["full"])
    order = tuple(each.name for each in _chosen(table, "order", series))
    claims = tuple(_claim(each, series) for each in table.tables("claims"))
    measured.done()
    table.done()
    experiment = Experiment(
        name=name or path.stem,
        call=name or str(path),
        claims=claims,
        order=order,
        series=series,
        plans=plans,
        drawing=drawing,
        **texts,
    )
    _check_table(table, experiment)
    return experiment


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} is not valid TOML: {error}") from error


def _series(table: Table) -> tuple[Series, ...]:
    judge = _judge(table.table("judge"), ("scan", {}))
    found = dict[str, Series]()
    for each in table.tables("series"):
        matcher = each.take("matcher", str)
        name = each.take("name", str, matcher)
        if name in found:
            raise each.error(
                "name", f"is {name!r}, which another series has: give each a different one"
            )
        found[name] = Series(
            name=name,
            label=each.take("label", str, name),
            matcher=matcher,
            options=each.take("options", dict, {}),
            parameters=each.take("parameters", dict, {}),
            judge=_judge(each.table("judge"), judge),
        )
        each.done()
    if not found:
        raise table.error("series", "is missing: add at least one [[series]] with a `matcher`")
    return tuple(found.values())


def _chosen(table: Table, key: str, series: tuple[Series, ...]) -> tuple[Series, ...]:
    """The series in a list of names."""
    known = {each.name: each for each in series}
    names = table.words(key)
    for name in names:
        if name not in known:
            raise table.error(key, f"contains {name!r}, but the series are {', '.join(known)}")
    return tuple(known[name] for name in names)


def _claim(table: Table, series: tuple[Series, ...]) -> Claim:
    claim = Claim(
        says=table.take("says", str),
        kind=table.choose("kind", CLAIMS, "order"),
        of=tuple(each.name for each in _chosen(table, "of", series)),
        by=table.take("by", float, 0.0),
        last=table.take("last", bool, False),
        why=table.take("why", str, ""),
    )
    if len(claim.of) < (2 if claim.kind in ("order", "growth", "alike") else 1):
        raise table.error("of", f"has too few series for {claim.kind!r}")
    table.done()
    return claim


def _judge(table: Table, default: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    matcher = table.take("matcher", str, default[0])
    options = table.take("options", dict, default[1])
    table.done()
    return matcher, options


def _plans(table: Table) -> dict[str, Plan]:
    small = table.table("small")
    plans = {}
    parts = ("workload", "varied", "effort")
    full = {part: table.take(part, dict, {}) for part in parts}
    for scale in SCALES:
        if scale == "small":
            full = {part: full[part] | small.take(part, dict, {}) for part in parts}
            small.done()
        place = f"{scale}." if scale == "small" else ""
        workload, varied, effort = (
            Table(table.file, full[part], f"{place}{part}") for part in parts
        )
        name = workload.take("name", str)
        limits: dict[str, Any] = {
            each.name: effort.above(each.name, type(each.default), each.default)
            for each in fields(Effort)
        }
        effort.done()
        values = varied.rest()
        if len(values) > 1:
            raise table.error("varied", f"must have one parameter, not {', '.join(values)}")
        for key, list_of in values.items():
            if type(list_of) is not list or not list_of:
                raise varied.error(key, f"must be a list of values, not {list_of!r}")
        parameter, listed = next(iter(values.items()), (None, [None]))
        plans[scale] = Plan(name, workload.rest(), parameter, tuple(listed), Effort(**limits))
    return plans


def _drawing(table: Table, plan: Plan) -> Drawing:
    kind = table.choose("kind", KINDS, "lines")
    metrics = table.take("y", object, "time")
    listed = metrics if isinstance(metrics, list) else [metrics]
    x = table.take("x", object, None)
    metric = None if x is None else read_metric(table, "x", x)
    label = metric.label if metric else (plan.varied or "").replace("_", " ")
    log = table.words("log")
    for axis in log:
        if axis not in ("x", "y"):
            raise table.error("log", f"may contain 'x' and 'y', not {axis!r}")
    drawing = Drawing(
        kind=kind,
        x=metric,
        x_label=table.take("x_label", str, label),
        metrics=tuple(read_metric(table, "y", each) for each in listed),
        log=log,
        rows=table.choose("rows", SIDES, "values"),
        columns=table.choose("columns", SIDES, "series"),
    )
    table.done()
    return drawing


def _check_table(table: Table, experiment: Experiment) -> None:
    """Check that a table has different rows and columns, and a single item of the third kind."""
    drawing = experiment.drawing
    counts = {
        "values": len(experiment.plans["full"].values),
        "series": len(experiment.series),
        "metrics": len(drawing.metrics),
    }
    if drawing.rows == drawing.columns:
        raise table.error("draw.columns", f"must differ from `rows`, which is {drawing.rows!r}")
    (third,) = set(counts) - {drawing.rows, drawing.columns}
    if drawing.kind == "table" and counts[third] > 1:
        raise table.error("draw.rows", f"and `columns` leave out {counts[third]} {third}")


def _order(path: Path) -> tuple[str, bool, int, str]:
    """Sort by paper, then by figure number; other experiments come last."""
    number = "".join(each for each in path.stem if each.isdigit())
    return path.parent.name, not path.stem.startswith("fig"), int(number or 0), path.stem


@cache
def measurable() -> dict[str, Any]:
    """Workloads with their families and parameters, and the matchers of each family."""
    known: dict[str, Any] = json.loads(_tamis.measurable())
    return known


def is_foreign(matcher: str) -> bool:
    """Whether a matcher is external: `module:factory`."""
    return all(matcher.partition(":"))


def check(experiment: Experiment) -> None:
    """Check that all names in an experiment exist.

    Raises:
        ExperimentError: A name is unknown; the error lists the known ones.
    """
    for plan in experiment.plans.values():
        workloads = measurable()["workloads"]
        _known(experiment, "workload.name", plan.workload, workloads)
        for series in experiment.series:
            _check_series(experiment, plan, series, workloads[plan.workload])


def _check_series(experiment: Experiment, plan: Plan, series: Series, workload: Any) -> None:
    parameters = {**plan.parameters, **series.parameters}
    if plan.varied is not None:
        parameters[plan.varied] = None
    for name in parameters:
        _known(experiment, f"{plan.workload}.{name}", name, [*workload["parameters"], "seed"])
    matchers = measurable()["matchers"][workload["family"]]
    for matcher, options in ((series.matcher, series.options), series.judge):
        if is_foreign(matcher):
            continue
        _known(experiment, "series.matcher", matcher, matchers)
        for option in options:
            _known(experiment, f"{matcher}.options", option, matchers[matcher]["options"])


def _known(experiment: Experiment, key: str, name: str, names: Iterable[str]) -> None:
    names = list(names)
    if name in names:
        return
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"
    raise ExperimentError(f"{experiment.name}.toml: `{key}` cannot be {name!r}; {hint}")
