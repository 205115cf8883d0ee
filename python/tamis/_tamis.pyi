"""The native engine; everything public is re-exported by `tamis`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Never,
    Self,
    TextIO,
    TypeAlias,
    final,
    overload,
)

from typing_extensions import TypeVar, disjoint_base

from tamis.batches import Collected, Loaded, OnError, Skipped, Validity
from tamis.builder import Operand, Scalar
from tamis.checking import Finding
from tamis.graph import Strategy
from tamis.ranking import Match
from tamis.statistics import EventProfile, FilterStats, GraphStats, IndexStats
from tamis.xml import Engine

if TYPE_CHECKING:
    from _typeshed import SupportsRead

__all__ = [
    "MATCHERS",
    "Builder",
    "Delivery",
    "Explanation",
    "Expression",
    "Filter",
    "FilterSubscription",
    "Graph",
    "GraphExplanation",
    "GraphMatches",
    "Hits",
    "Index",
    "Limits",
    "Subscription",
    "Term",
    "Workload",
    "XmlExplanation",
    "XmlLimits",
    "XmlMatch",
    "XmlNode",
    "XmlStream",
    "__version__",
    "measurable",
    "measure",
    "read_manifest",
    "write_manifest",
]

_Json = str | bytes | bytearray | memoryview
_Event = Mapping[str, Any] | _Json
_Id = str | int
_I = TypeVar("_I", default=Any)
_Matcher = Literal["auto", "compiled", "atree", "kindex", "cnf", "dewey", "interval", "scan"]
_Progress: TypeAlias = bool | Callable[[int, int], object] | None
_Expression: TypeAlias = "str | Expression | Operand"
_Document = str | bytes | bytearray | memoryview | PathLike[str] | SupportsRead[bytes]
_Item = tuple[_Id, _Expression] | tuple[_Id, _Expression, Any] | dict[str, Any]
_Weights = Mapping[str, float | Mapping[Any, float]]
_Hierarchy = Mapping[Any, Any] | Literal["dates"]

MATCHERS: tuple[str, ...]
__version__: str

@final
class Limits:
    """Limits on expressions and events; those not given keep their defaults.

    Input that exceeds a limit raises a `LimitError` with the actual and the allowed number.
    """

    def __new__(
        cls,
        *,
        text: int | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        set: int | None = None,
        name: int | None = None,
        name_depth: int | None = None,
        like: int | None = None,
        pattern: int | None = None,
        patterns: int | None = None,
        index_patterns: int | None = None,
        normal_form: int | None = None,
        term_depth: int | None = None,
        terms: int | None = None,
        term_values: int | None = None,
        element_depth: int | None = None,
        elements: int | None = None,
        event: int | None = None,
        event_depth: int | None = None,
        event_values: int | None = None,
        list: int | None = None,
        xml: XmlLimits | None = None,
    ) -> Limits: ...
    @property
    def text(self) -> int:
        """Bytes of an expression's text or JSON form."""
    @property
    def depth(self) -> int:
        """Nesting depth of an expression, including parentheses."""
    @property
    def nodes(self) -> int:
        """Operators and predicates of an expression."""
    @property
    def set(self) -> int:
        """Values of one set."""
    @property
    def name(self) -> int:
        """Bytes of an attribute's name."""
    @property
    def name_depth(self) -> int:
        """Dot-separated parts of an attribute's name."""
    @property
    def like(self) -> int:
        """Characters of a part of a `like` pattern, between two `%`, that contains `_`."""
    @property
    def pattern(self) -> int:
        """Bytes of the compiled form of a regular expression."""
    @property
    def patterns(self) -> int:
        """Bytes of the compiled forms of all regular expressions of an expression."""
    @property
    def index_patterns(self) -> int:
        """Bytes of the compiled forms of all regular expressions of an index."""
    @property
    def normal_form(self) -> int:
        """Predicates of the normal form to which `kindex` or `cnf` expands an expression."""
    @property
    def term_depth(self) -> int:
        """Nesting of a term; never more than 200."""
    @property
    def terms(self) -> int:
        """Distinct terms of an index."""
    @property
    def term_values(self) -> int:
        """Values of one term on one event; there are several if its arguments are lists."""
    @property
    def element_depth(self) -> int:
        """Nesting of `any`, `all` and `none`; never more than 16."""
    @property
    def elements(self) -> int:
        """List elements that are evaluated one by one for one event."""
    @property
    def event(self) -> int:
        """Bytes of an event's JSON, or of all text in a mapping."""
    @property
    def event_depth(self) -> int:
        """Nesting of an event's objects."""
    @property
    def event_values(self) -> int:
        """Values of the attributes that subscriptions mention."""
    @property
    def list(self) -> int:
        """Values of one list of an event, including repeated ones."""
    @property
    def xml(self) -> XmlLimits:
        """Limits on XPath expressions and documents."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __reduce__(self) -> Any: ...

@final
class Term:
    """An attribute, a constant, or a function of terms: what `tamis.attr` compares."""

    @staticmethod
    def attribute(name: str) -> Term:
        """An attribute by its name."""
    @staticmethod
    def element() -> Term:
        """The element of a list, inside `any`, `all` and `none`."""
    @staticmethod
    def call(function: str, arguments: Sequence[object], *, type: str | None = None) -> Term:
        """A function of terms and values, named as in text; `type` is the target of `cast`."""
    @staticmethod
    def lower(text: str) -> str:
        """A text in lower case, character by character."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Expression:
    """A Boolean expression over predicates.

    Create one with `parse`, `from_json` or `tamis.attr`, and combine them with `& | ^ ~`. Its text,
    `str(x)`, is canonical: parsing it gives an equal expression.
    """

    @staticmethod
    def parse(text: str, *, limits: Limits | None = None) -> Expression:
        """Parse an expression.

        Raises:
            ExpressionSyntaxError: The text is invalid; the error says where and what was expected.
            ExpressionError: It is well formed but has no meaning, such as `a < true`.
            LimitError: It exceeds a limit.
        """
    @staticmethod
    def from_json(json: str | bytes, *, limits: Limits | None = None) -> Expression:
        """Read an expression from its JSON form, as text or bytes."""
    @staticmethod
    def constant(value: bool) -> Expression:
        """The expression `true` or `false`."""
    @staticmethod
    def predicate(
        attribute: str | Term,
        operator: str,
        operands: Sequence[Scalar | Term],
        weights: list[float],
    ) -> Expression:
        """One predicate; `tamis.attr` is the more convenient way to build one."""
    @staticmethod
    def elements(
        quantifier: str, list: Term, inner: Expression, *, weight: float | None = None
    ) -> Expression:
        """Whether some (`any`), all or none of the elements of a list satisfy an expression."""
    @staticmethod
    def xpath(
        text: str, *, namespaces: Mapping[str, str] | None = None, weight: float | None = None
    ) -> Expression:
        """Whether the document of an event satisfies an XPath expression."""
    @staticmethod
    def all_of(expressions: list[Expression]) -> Expression:
        """The conjunction of the expressions; `true` if there are none."""
    @staticmethod
    def any_of(expressions: list[Expression]) -> Expression:
        """The disjunction of the expressions; `false` if there are none."""
    def to_json(self) -> str:
        """The JSON form, as text."""
    def to_sql(
        self,
        dialect: str,
        *,
        columns: Mapping[str, Any] | Any | None = None,
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
    ) -> str:
        """The expression as the condition of a WHERE clause, for a backfill in SQL.

        The rows for which the condition is true are the rows that match. An expression without an
        exact translation is refused.

        Args:
            dialect: `"spark"`, `"duckdb"` or `"postgres"`.
            columns: The types of the table's columns, as a `pyarrow.Schema` or as a mapping of
                names to `"string"`, `"integer"`, `"decimal(12, 2)"`, `"float"`, `"boolean"`,
                `"timestamp"`, `"date"`, `[type]` for lists and `{name: type}` for objects. Without
                them, a column must have the type of the constants it is compared with.
            missing: As for `Index`.
            time_zone: As for `Index`; the database's session must use the same one.

        Raises:
            ExpressionError: There is no exact translation; the message says why.
        """
    @property
    def attributes(self) -> list[str]:
        """The names of its attributes, in the order in which they first occur."""
    def xnor(self, other: Expression) -> Expression:
        """True if both or neither of the two are."""
    def is_true(self) -> Expression:
        """Whether it is true: `E is true`. The result is never unknown."""
    def is_not_true(self) -> Expression:
        """Whether it is false or unknown: `E is not true`."""
    def is_false(self) -> Expression:
        """Whether it is false: `E is false`."""
    def is_not_false(self) -> Expression:
        """Whether it is true or unknown: `E is not false`."""
    def is_unknown(self) -> Expression:
        """Whether it is unknown because a value is missing: `E is unknown`."""
    def is_not_unknown(self) -> Expression:
        """Whether it is true or false: `E is not unknown`."""
    def __and__(self, other: Expression, /) -> Expression: ...
    def __rand__(self, other: Expression, /) -> Expression: ...
    def __or__(self, other: Expression, /) -> Expression: ...
    def __ror__(self, other: Expression, /) -> Expression: ...
    def __xor__(self, other: Expression, /) -> Expression: ...
    def __rxor__(self, other: Expression, /) -> Expression: ...
    def __invert__(self) -> Expression: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class Explanation:
    """Why a subscription matched an event, or not: `print` it, or call `to_dict`."""

    @property
    def truth(self) -> Literal["true", "false", "unknown"]:
        """The truth of the whole expression."""
    @property
    def matched(self) -> bool:
        """Whether the subscription matched: its expression is true, and it is active."""
    @property
    def active(self) -> bool:
        """Whether `now` lies in the validity of the subscription, so that it can match."""
    def to_dict(self, *, most: int | None = None) -> dict[str, Any]:
        """The explanation as nested dicts.

        Every node has `text` and `truth`; a connective has `children`; a predicate has `attribute`
        and `seen`: a list of the values, None for a null, `"missing"` for a missing attribute. A
        comparison of two terms has `right` and `right_seen` for the term on its right.

        A predicate about the elements of a list (`any`, `all`, `none`) has `size`, how many there
        are, `satisfied`, how many satisfy the condition, and `elements`: nodes for up to three
        elements that decided, each with its position in the list as `element`. An explanation
        shows at most 100 elements.

        If the subscription is not active, the outermost node has `inactive`: a dict with `now` and
        with the end of its validity that `now` lies beyond, `active_from` or `active_until`, as
        texts in UTC.

        Args:
            most: How many values of a list are given at most. A long list that many predicates
                see is given for each.
        """
    def __reduce__(self) -> Never: ...
    def _repr_html_(self) -> str: ...

@final
class Subscription:
    """An id with an expression, metadata, boost, priority and validity."""

    @property
    def id(self) -> str | int:
        """The id."""
    @property
    def expression(self) -> Expression:
        """The expression."""
    @property
    def metadata(self) -> Any:
        """The metadata passed to `add`."""
    @property
    def boost(self) -> float:
        """The factor applied to its score."""
    @property
    def priority(self) -> int:
        """The priority; higher ones come first in `Index.first`."""
    @property
    def active_from(self) -> datetime | None:
        """The first moment at which it can match, in UTC; None if there is no bound."""
    @property
    def active_until(self) -> datetime | None:
        """The first moment at which it can no longer match, in UTC; None if there is no bound."""
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Hits:
    """Counts events and what they match, by id.

    Any number of threads may count and look.

    Args:
        most: How many ids are told apart; the matches of others are only summed up.
    """

    def __new__(cls, most: int = 1_000_000) -> Hits: ...
    def add(self, ids: Sequence[_Id]) -> None:
        """Count an event that matched these ids."""
    def most_common(self, n: int) -> list[tuple[Any, int]]:
        """The ids that matched most often, with how often, most first."""
    def get(self, id: object) -> int:
        """How often an id has matched."""
    @property
    def events(self) -> int:
        """How many events were counted."""
    @property
    def matches(self) -> int:
        """How many matches they had together."""

@final
class Index(Generic[_I]):
    """A set of subscriptions that you can match while it changes.

    Any number of threads may match while others add and remove. A match sees all of a change or
    none of it, and never waits.

    Annotate an index as `Index[str]` if all ids are strings, so that type checkers know what
    `match` returns.

    Args:
        matcher: The algorithm. `"auto"` chooses; `"compiled"` is a compiled A-Tree; `"atree"` is
            the A-Tree of the paper; `"kindex"` and `"cnf"` intersect posting lists of disjunctive
            and conjunctive normal forms; `"dewey"` and `"interval"` evaluate labels of true
            conjunctions; `"scan"` evaluates every expression.
        missing: The truth of a predicate on an attribute without a value. With `"unknown"`, its
            negation is unknown, too; with `"false"`, its negation is true.
        time_zone: The zone of times without an offset, in expressions and in events: a name such as
            `"Europe/Paris"`, or an offset such as `"+02:00"`.
        metadata_columns: The members of metadata to index, which makes `where` fast: names such as
            `"tenant"`, or `"owner.team"` in a nested object.
        limits: Limits on expressions and events.
    """

    def __new__(
        cls,
        *,
        matcher: _Matcher = "auto",
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        metadata_columns: Iterable[str] | None = None,
        limits: Limits | None = None,
    ) -> Self: ...
    def add(
        self,
        id: _I,
        expression: _Expression,
        *,
        metadata: Any = None,
        weights: _Weights | None = None,
        boost: float | None = None,
        priority: int | None = None,
        active_from: datetime | str | None = None,
        active_until: datetime | str | None = None,
    ) -> None:
        """Add a subscription, or replace the one with the same id.

        Args:
            id: A string or a 64-bit integer.
            expression: Text, or an `Expression`.
            metadata: Any JSON value; `index[id].metadata` returns it.
            weights: Weights of attributes, or of their values, for ranking:
                `{"age": 2.0, "tags": {"new": 2.5}}`. They become part of the expression and
                replace those in its text (`tags = 'new'^2.5`).
            boost: The factor applied to its score in a ranking, such as a bid; 1 by default.
            priority: Higher ones come first in `first`; 0 by default.
            active_from: The first moment at which it can match: a `datetime`, or text such as
                `2026-01-02T05:00Z`. It is compared with `now()`.
            active_until: The first moment at which it can no longer match.
        """
    @overload
    def add_many(
        self,
        items: Iterable[_Item] | Mapping[Any, _Expression],
        *,
        on_error: Literal["raise"] = "raise",
        progress: _Progress = None,
    ) -> None: ...
    @overload
    def add_many(
        self,
        items: Iterable[_Item] | Mapping[Any, _Expression],
        *,
        on_error: Literal["skip", "collect"],
        progress: _Progress = None,
    ) -> Loaded: ...
    @overload
    def add_many(
        self,
        items: Iterable[_Item] | Mapping[Any, _Expression],
        *,
        on_error: OnError,
        progress: _Progress = None,
    ) -> Loaded | None:
        """Add all subscriptions, or none.

        Ctrl-C stops the call, and so does an exception in `progress`; nothing is added then.

        Args:
            items: Tuples (id, expression) or (id, expression, metadata), or dicts of the arguments
                of `add`; or one mapping of ids to expressions. If an id is repeated, the last
                counts.
            on_error: What to do with items that cannot be added. `"raise"`: nothing is added.
                `"skip"`: they are skipped and counted. `"collect"`: they are skipped and returned
                in `Loaded.refused`.
            progress: True draws a bar on a terminal or in a notebook, and nothing in a script. A
                function is called from time to time with the number of compiled subscriptions and
                the total.

        Raises:
            TamisError: An item is invalid. `item` is its position; nothing is added.
        """
    @overload
    def add_table(
        self,
        table: Any,
        *,
        on_error: Literal["raise"] = "raise",
        progress: _Progress = None,
    ) -> None: ...
    @overload
    def add_table(
        self,
        table: Any,
        *,
        on_error: OnError = "raise",
        progress: _Progress = None,
    ) -> Loaded | None:
        """Add the subscriptions in the rows of a table, in order.

        Args:
            table: Anything with the Arrow C interface: Arrow, pandas, Polars, DuckDB. Its columns
                are `id` (strings or integers), `expression` (text, or the JSON form) and,
                optionally, `metadata` and `weights` (JSON, or a struct or map), `boost`,
                `priority`, `active_from` and `active_until` (times, or their texts). Other
                columns are ignored.
            on_error: As in `add_many`.
            progress: As in `add_many`.

        Raises:
            SubscriptionError: A column is missing or has the wrong type.
            TamisError: A row cannot be added.
        """
    @overload
    @staticmethod
    def from_table(
        table: Any,
        *,
        on_error: Literal["raise"] = "raise",
        progress: _Progress = None,
        **options: Any,
    ) -> Index[Any]: ...
    @overload
    @staticmethod
    def from_table(
        table: Any,
        *,
        on_error: Literal["skip", "collect"],
        progress: _Progress = None,
        **options: Any,
    ) -> tuple[Index[Any], Loaded]:
        """Create an index from the subscriptions in the rows of a table.

        Args:
            table: As in `add_table`.
            on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
            progress: As in `add_many`.
            options: The arguments of `Index`.
        """
    @overload
    @staticmethod
    def from_csv(
        path: str | PathLike[str] | TextIO,
        *,
        ids: Literal["string", "integer"] = "string",
        delimiter: str = ",",
        encoding: str = "utf-8",
        on_error: Literal["raise"] = "raise",
        progress: _Progress = None,
        **options: Any,
    ) -> Index[Any]: ...
    @overload
    @staticmethod
    def from_csv(
        path: str | PathLike[str] | TextIO,
        *,
        ids: Literal["string", "integer"] = "string",
        delimiter: str = ",",
        encoding: str = "utf-8",
        on_error: Literal["skip", "collect"],
        progress: _Progress = None,
        **options: Any,
    ) -> tuple[Index[Any], Loaded]:
        """Create an index from the subscriptions in a CSV file.

        Args:
            path: The path of a file, or an open file. Its first line names the columns: those of
                `add_table`, and no others. `metadata` and `weights` are JSON; an empty cell means
                no value.
            ids: Whether ids are strings or integers.
            delimiter: The separator between cells.
            encoding: The encoding of the file.
            on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
            progress: As in `add_many`.
            options: The arguments of `Index`.
        """
    def set_validity(self, id: _I, **bounds: Any) -> None:
        """Change when a subscription can match.

        As when it is replaced, the subscription moves to the end of the order.

        Args:
            id: Its id.
            bounds: `active_from` and `active_until`, as in `add`. A bound that is not given stays
                as it is; None removes it.

        Raises:
            UnknownIdError: No subscription has this id.
            ExpressionError: It would end before it begins.
        """
    def validities(self) -> list[Validity]:
        """The subscriptions with a validity period, in insertion order."""
    def remove_many(
        self, ids: Iterable[_I], *, on_error: Literal["raise", "skip"] = "raise"
    ) -> int:
        """Remove the subscriptions with these ids, all at once.

        Args:
            ids: Their ids.
            on_error: What to do with an unknown id. `"raise"`: raise an error and remove nothing.
                `"skip"`: ignore it.

        Returns:
            The number of removed subscriptions.

        Raises:
            UnknownIdError: No subscription has one of the ids.
        """
    def remove(self, id: _I) -> None:
        """Remove a subscription.

        Raises:
            UnknownIdError: No subscription has this id.
        """
    def match(
        self,
        event: _Event,
        *,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
        timeout: float | None = None,
    ) -> list[_I]:
        """The ids of the subscriptions that an event matches, in insertion order.

        Args:
            event: A mapping, or JSON as text or bytes.
            where: A condition on metadata, such as `tenant = 'a'`: only subscriptions that satisfy
                it can match. Metadata is read like an event; metadata that is not an object has no
                attributes. Plain predicates on `metadata_columns` are fast. A name that no metadata
                has is a `MetadataWarning`, once per condition.
            document: The document that `xpath('...')` queries: bytes, text, the path of a file, or
                an open binary file or stream. Without one, `xpath('...')` is unknown.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that matching may take, including reading the event.

        Raises:
            EventError: The event cannot be decoded.
            DocumentError: The document is not well formed.
            MatchTimeoutError: Matching took longer than `timeout`.
        """
    def profile(
        self,
        event: _Event,
        *,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
    ) -> EventProfile:
        """How long an event takes, and how much the matcher read for it.

        `tamis.statistics.EventProfile` describes the result. Call it twice: the first time, regular
        expressions may have to be compiled and files to be read.

        Args:
            event: As in `match`.
            where: As in `match`.
            document: As in `match`.
            now: As in `match`.

        Raises:
            EventError: The event cannot be decoded.
            DocumentError: The document is not well formed.
        """
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        *,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["raise"] = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> list[list[_I]]: ...
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        *,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["skip"],
        now: object = None,
        timeout: float | None = None,
    ) -> Skipped[list[list[_I]]]: ...
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        *,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["collect"],
        now: object = None,
        timeout: float | None = None,
    ) -> Collected[list[list[_I]]]: ...
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        *,
        where: _Expression | None = None,
        count: Literal[True],
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["raise"] = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> dict[_I, int]: ...
    @overload
    def match_batch(
        self,
        events: Any,
        *,
        where: _Expression | None = None,
        count: bool = False,
        documents: str | None = None,
        column: str | None = None,
        metadata: bool = False,
        threads: int | None = None,
        evaluation: Literal["auto", "events", "blocks"] = "auto",
        on_error: OnError = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> Any:
        """The ids of the subscriptions that each event matches.

        All events are matched against one snapshot of the index.

        Args:
            events: An iterable of events, or JSON lines in one text (blank lines are skipped); the
                result is a list of ids per event. Or Arrow data (pyarrow, Polars, pandas,
                DuckDB ...); the result is a pyarrow table with the columns `event`, the row
                number, and `subscription`, the id.
            where: A condition on the metadata of subscriptions, as in `match`.
            count: Whether to count the events that each subscription matches. The result is a dict
                or, with Arrow data, a table with the columns `subscription` and `count`. It omits
                subscriptions without a match.
            documents: One document per event, or `None` for an event without one. With Arrow data,
                the name of the column that holds the documents, as text or bytes.
            column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
                text or bytes. By default, every column is an attribute.
            metadata: With Arrow data, whether to add a column `metadata` with JSON.
            threads: With Arrow data, the number of threads; one per core by default.
            evaluation: With Arrow data, whether to match events one by one or in blocks. The result
                is the same; `auto` measures both and takes the faster one.
            on_error: What to do with events or documents that cannot be read. `"raise"`: the batch
                fails, and the error names the event. `"skip"`: they match nothing, and the result
                is a `Skipped`, the matches and a count. `"collect"`: they match nothing, and the
                result is a `Collected`, the matches and a list of `Refused`.
            now: The value of `now()` for all events; the current time by default.
            timeout: Seconds that all events may take together.

        Raises:
            EventError: An event cannot be read and `on_error` is `"raise"`; or the whole batch
                cannot be read, for example because a column has an unsupported type.
            MatchTimeoutError: It took longer than `timeout`, whatever `on_error` is.
        """
    def match_json(
        self,
        event: _Event,
        *,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
        timeout: float | None = None,
        hits: Hits | None = None,
    ) -> bytes:
        """The ids of the subscriptions that an event matches, as a JSON array.

        For servers, which pass the ids on: none of them becomes a Python object.

        Args:
            event: As in `match`.
            where: As in `match`.
            document: As in `match`.
            now: As in `match`.
            timeout: As in `match`.
            hits: Where to count the event and its matches.
        """
    def match_batch_json(
        self,
        events: Iterable[_Event] | _Json,
        *,
        where: _Expression | None = None,
        now: object = None,
        timeout: float | None = None,
        room: int | None = None,
        hits: Hits | None = None,
    ) -> Collected[list[bytes]]:
        """The ids of the subscriptions that each event matches, each as a JSON array.

        Args:
            events: As in `match_batch`, with `on_error="collect"`.
            where: As in `match_batch`.
            now: As in `match_batch`.
            timeout: As in `match_batch`.
            room: Bytes of JSON after which no more events are matched; the result is then shorter
                than the list of events, but has at least one item.
            hits: Where to count the events and their matches.
        """
    def top(
        self,
        event: _Event,
        n: int = 10,
        *,
        weights: _Weights | None = None,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
        timeout: float | None = None,
    ) -> list[Match[_I]]:
        """The subscriptions that an event matches best, with their scores, best first.

        A predicate scores its weight (1 by default) times the event's weight of the value that
        satisfies it; if several values do, the highest product. A negated predicate scores
        nothing. `and` adds scores, `or` takes the highest score of its true children, and the
        subscription's boost multiplies the result. Among equal scores, the subscription added
        first comes first.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: The maximum number of results.
            weights: The event's weights of attributes, or of their values; 1 by default:
                `{"age": 0.8, "tags": {"new": 2.0}}`.
            where: A condition on the metadata of subscriptions, as in `match`.
            document: The document that `xpath('...')` queries; see `match`.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that it may take.

        Raises:
            EventError: The event cannot be decoded.
            ExpressionError: A weight is negative or not finite.
            MatchTimeoutError: It took longer than `timeout`.
        """
    @overload
    def top_batch(
        self,
        events: Iterable[_Event] | _Json,
        n: int = 10,
        *,
        weights: _Weights | None = None,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["raise"] = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> list[list[Match[_I]]]: ...
    @overload
    def top_batch(
        self,
        events: Iterable[_Event] | _Json,
        n: int = 10,
        *,
        weights: _Weights | None = None,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["skip"],
        now: object = None,
        timeout: float | None = None,
    ) -> Skipped[list[list[Match[_I]]]]: ...
    @overload
    def top_batch(
        self,
        events: Iterable[_Event] | _Json,
        n: int = 10,
        *,
        weights: _Weights | None = None,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["collect"],
        now: object = None,
        timeout: float | None = None,
    ) -> Collected[list[list[Match[_I]]]]: ...
    @overload
    def top_batch(
        self,
        events: Any,
        n: int = 10,
        *,
        weights: _Weights | None = None,
        where: _Expression | None = None,
        documents: Any = None,
        column: str | None = None,
        threads: int | None = None,
        on_error: OnError = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> Any:
        """The subscriptions that each event matches best; see `top` and `match_batch`.

        Args:
            events: An iterable of events, or JSON lines in one text; the result is a list per
                event. Or Arrow data; the result is a pyarrow table with the columns `event`, the
                row number, `subscription`, the id, `score`, and `rank`, from 1.
            n: The maximum number per event.
            weights: The weights of attributes, or of their values, for all events; 1 by default.
            where: A condition on the metadata of subscriptions, as in `match`.
            documents: One document per event, as in `match_batch`.
            column: With Arrow data, the column that holds the events.
            threads: With Arrow data, the number of threads; one per core by default.
            on_error: What to do with events that cannot be read, as in `match_batch`.
            now: The value of `now()` for all events; the current time by default.
            timeout: Seconds that all events may take together.
        """
    def first(
        self,
        event: _Event,
        n: int = 1,
        *,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
        timeout: float | None = None,
    ) -> list[_I]:
        """The ids of the matching subscriptions of the highest priorities, highest first.

        Among equal priorities, the subscription added first comes first. The first call compiles
        the highest priorities separately, so lower ones are usually not examined.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: The maximum number of results.
            where: A condition on the metadata of subscriptions, as in `match`.
            document: The document that `xpath('...')` queries; see `match`.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that it may take.

        Raises:
            MatchTimeoutError: It took longer than `timeout`.
        """
    @overload
    def first_batch(
        self,
        events: Iterable[_Event] | _Json,
        n: int = 1,
        *,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["raise"] = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> list[list[_I]]: ...
    @overload
    def first_batch(
        self,
        events: Iterable[_Event] | _Json,
        n: int = 1,
        *,
        where: _Expression | None = None,
        documents: Iterable[_Document | None] | None = None,
        on_error: Literal["collect"],
        now: object = None,
        timeout: float | None = None,
    ) -> Collected[list[list[_I]]]: ...
    @overload
    def first_batch(
        self,
        events: Any,
        n: int = 1,
        *,
        where: _Expression | None = None,
        documents: Any = None,
        column: str | None = None,
        threads: int | None = None,
        on_error: OnError = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> Any:
        """The matching subscriptions of the highest priorities for each event; see `first`.

        Args:
            events: An iterable of events, or JSON lines in one text; the result is a list of ids
                per event. Or Arrow data; the result is a pyarrow table with the columns `event`,
                the row number, `subscription`, the id, `priority`, and `rank`, from 1.
            n: The maximum number per event.
            where: A condition on the metadata of subscriptions, as in `match`.
            documents: One document per event, as in `match_batch`.
            column: With Arrow data, the column that holds the events.
            threads: With Arrow data, the number of threads; one per core by default.
            on_error: What to do with events that cannot be read, as in `match_batch`.
            now: The value of `now()` for all events; the current time by default.
            timeout: Seconds that all events may take together.
        """
    def hierarchy(self, attribute: str, values: _Hierarchy | None) -> None:
        """Declare which values of an attribute contain others.

        An event that has a value also has the values above it: after `index.hierarchy("geo",
        {"US": ["California", "Oregon"]})`, `geo = 'US'` is true in California. The hierarchy
        applies to all later events and is saved with the index.

        Args:
            attribute: The name of the attribute.
            values: A mapping of values to the values below them, as another mapping or a list; or
                `"dates"`, which puts dates such as `2008-02-14` below their month `2008-02` and
                year `2008`; or None to remove the hierarchy.

        Raises:
            ExpressionError: A value is above itself, or is not a valid value.
        """
    def explain(
        self,
        id: _I,
        event: _Event,
        *,
        document: _Document | None = None,
        now: object = None,
        timeout: float | None = None,
    ) -> Explanation:
        """Why a subscription matches an event, or not.

        Args:
            id: The subscription's id.
            event: A mapping, or JSON as text or bytes.
            document: The document that `xpath('...')` queries; see `match`.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that it may take.

        Raises:
            UnknownIdError: No subscription has this id.
            MatchTimeoutError: It took longer than `timeout`.
        """
    def check(
        self,
        events: object = None,
        *,
        now: object = None,
        comparisons: int | None = None,
        most: int | None = None,
    ) -> list[Finding]:
        """Find subscriptions that are probably mistakes.

        The kinds of findings, in the order of the list:

        - `"event"`: an event of the sample cannot be read; it is skipped.
        - `"unseen-attribute"`: no event has the attribute; the message may name one like it.
        - `"unseen-type"`: an operand has a type that the attribute never has in the sample, or a
          term has no value there.
        - `"text-order"`: a text that looks like a time, a number or a version is ordered as text.
        - `"text-network"`: a network is written as a text, which no address equals.
        - `"quoted-name"`: a name contains operators, as in `"a > 5" = true`, and no event has it.
        - `"text-case"`: `lower` or `upper` of a text is compared with a text in another case.
        - `"empty-range"`: the lower end of a `between` is above the upper.
        - `"never"`, `"always"`: no event can satisfy the expression, or every event does.
        - `"equal"`: subscriptions are equivalent, apart from their weights.
        - `"subsumed"`: every event that satisfies the first subscription satisfies the others.
        - `"bound"`: the check is incomplete; the message says what was left out.

        Findings about expressions hold for all events, not only for the sample, but not all such
        mistakes are found. Findings of one kind about one attribute are combined.

        Args:
            events: A sample of events, as in `match_batch`; without one, only the expressions
                themselves are checked.
            now: The value of `now()`; the current time by default.
            comparisons: The number of pairs of predicates to compare when subscriptions are
                compared with each other; 20,000,000 by default.
            most: The maximum number of findings; 10,000 by default.
        """
    def save(self, path: str | PathLike[str]) -> None:
        """Save the index to a folder, which is created if it does not exist.

        Files that the folder already has are not written again. Whoever opens the folder sees the
        index either before or after this save, never a mixture.

        Raises:
            StorageError: The folder cannot be written.
        """
    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        shard: int | None = None,
        matcher: _Matcher = "auto",
        limits: Limits | None = None,
        verify: bool = True,
        copy: bool = False,
    ) -> Index[Any]:
        """Open a saved index. Its files are mapped, and shared by all processes that map them.

        Segments are not merged until the index changes.

        Args:
            path: The folder, or a manifest in it. If the folder has versions, the latest is opened.
            shard: The shard to open; all shards by default.
            matcher: The algorithm for subscriptions added from now on.
            limits: Limits on expressions and events.
            verify: Whether to read all files and check their checksums first. Without verification,
                opening takes almost no time, and damage is an error when it is read.
            copy: Whether to copy the files into memory instead of mapping them. A mapped file that
                somebody truncates or overwrites in place kills the process with SIGBUS; a copy
                cannot change.

        Raises:
            StorageError: There is no index, or a file is missing, damaged or of another format.
        """
    def settle(self) -> None:
        """Wait until the background thread has merged all segments that are due."""
    def stats(self) -> IndexStats:
        """Statistics about the index; see `tamis.statistics.IndexStats`."""
    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that subscriptions mention."""
    @property
    def asks_values(self) -> bool:
        """Whether an expression uses `values()`, so events are decoded completely."""
    @property
    def asks_now(self) -> bool:
        """Whether matches may depend on `now()`, also by validity periods.

        Conditions on the elements of lists are assumed to use it.
        """
    @property
    def metadata_columns(self) -> list[str]:
        """The indexed members of metadata."""
    @property
    def matcher(self) -> _Matcher:
        """The algorithm passed to the constructor."""
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """The truth of a predicate on an attribute without a value."""
    @property
    def time_zone(self) -> str:
        """The zone of times without an offset, in expressions and in events."""
    @property
    def limits(self) -> Limits:
        """The limits on expressions and events."""
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __getitem__(self, id: _I, /) -> Subscription: ...
    def __iter__(self) -> Iterator[_I]: ...
    def __class_getitem__(cls, ids: Any) -> Any: ...
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Builder:
    """Builds an index with one segment from Arrow data.

    Rows may come in any order. Invalid rows are refused, identical rows count once, and different
    rows with the same id are all refused.
    """

    def __new__(
        cls,
        *,
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        metadata_columns: Iterable[str] | None = None,
        limits: Limits | None = None,
    ) -> Builder: ...
    def add(self, batch: Any) -> Any:
        """Add the rows of a record batch.

        Args:
            batch: The columns `id` (strings or integers), `expression` (text, or the JSON form)
                and, optionally, `metadata` (JSON), `weights` (JSON), `boost` (a number),
                `priority` (an integer), `active_from` and `active_until` (times, or their texts)
                and `deleted` (the subscription is removed).

        Returns:
            A pyarrow table of the refused rows: `id`, `position`, `message` and
            `expression`.
        """
    def keep(self, index: Index) -> None:
        """Add the subscriptions of an index that no row has changed so far."""
    def finish(self) -> Index:
        """Compile the index; the builder cannot be used again."""

@final
class Workload:
    """A seeded generator of expressions and events; every item depends only on its number.

    Args:
        name: `"conjunctive"`, `"dense"`, `"abe-gen"`, `"ads-like"`, `"whang"`, `"whang-cnf"`,
            `"fontoura"`, `"exchange"`, `"sigma-like"` or `"xml"`.
        size: The intended number of expressions, which determines the defaults.
        seed: The seed of all random choices.
        parameters: A JSON object of parameters to change; `measurable` lists them.
    """

    def __new__(
        cls, name: str, *, size: int = 100_000, seed: int = 0, parameters: str = "{}"
    ) -> Workload: ...
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """The truth of its predicates on an attribute without a value."""
    @property
    def family(self) -> Literal["expressions", "graph", "xml"]:
        """`"xml"` for XPath filters and documents, `"graph"` for graphs.

        Only a graph has `nodes`, `edges` and `sources`; other workloads raise a `ValueError`.
        """
    def nodes(self) -> list[tuple[str, str | None]]:
        """The nodes of a graph, each with its expression or None."""
    def edges(self) -> list[tuple[str, str]]:
        """The edges of a graph; there may be parallel ones."""
    def sources(self, start: int, count: int) -> list[str]:
        """The nodes of a graph that events start from."""
    def expression_texts(self, start: int, count: int) -> list[str]:
        """The texts of expressions."""
    def event_texts(self, start: int, count: int) -> list[str]:
        """Events as JSON texts, or documents."""
    def expressions(self, start: int, count: int) -> Any:
        """Expressions as a record batch: `number` and `text`."""
    def events(self, start: int, count: int) -> Any:
        """Events as a record batch: `number` and `text`, which is JSON."""
    def statistics(
        self, expressions: int, *, events: int = 1000, matched: int = 0
    ) -> dict[str, dict[str, float | None]]:
        """Statistics by name, each as `requested` by the parameters and as `measured`.

        Args:
            expressions: The number of expressions to measure; sharing depends on it.
            events: The number of events to measure.
            matched: The number of events to match with every expression, for the probability of a
                match.
        """

@final
class XmlLimits:
    """Limits on XPath filters and documents; those not given keep their defaults.

    Input that exceeds a limit raises a `LimitError` with the actual and the allowed number.
    """

    def __new__(
        cls,
        *,
        xpath: int | None = None,
        document: int | None = None,
        document_depth: int | None = None,
        attributes: int | None = None,
        names: int | None = None,
        expansion: int | None = None,
        filter_work: int | None = None,
        document_work: int | None = None,
        filter_memory: int | None = None,
        memory: int | None = None,
        undeclared_entities: Literal["error", "ignore", "keep"] = "error",
    ) -> XmlLimits: ...
    @property
    def xpath(self) -> int:
        """Bytes of an XPath expression."""
    @property
    def document(self) -> int:
        """Bytes of a document; never more than 1 GiB."""
    @property
    def document_depth(self) -> int:
        """Nesting of a document's elements."""
    @property
    def attributes(self) -> int:
        """Attributes of one element, including namespace declarations."""
    @property
    def names(self) -> int:
        """Distinct names of elements and attributes in one document."""
    @property
    def expansion(self) -> int:
        """Bytes that all entity references of a document expand to."""
    @property
    def filter_work(self) -> int:
        """Units of work, of about a nanosecond each, to evaluate one filter on one document."""
    @property
    def document_work(self) -> int:
        """Units of work to match one document with all filters."""
    @property
    def filter_memory(self) -> int:
        """Bytes that the evaluation of one filter may use at a time."""
    @property
    def memory(self) -> int:
        """State sets that an engine caches across documents."""
    @property
    def undeclared_entities(self) -> str:
        """How to treat a reference to an entity that only an external DTD could declare.

        With `"error"` the document is an error, with `"ignore"` the reference is removed, with
        `"keep"` it stays as text.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __reduce__(self) -> Any: ...

@final
class XmlExplanation:
    """Why a document satisfies a filter, or not: `print` it, or call `to_list`."""

    @property
    def matched(self) -> bool:
        """Whether the document satisfies the filter."""
    def to_list(self) -> list[dict[str, Any]]:
        """The parts of the expression, each before its own parts.

        Every part has `depth`, `text` and `truth`. A path has `selected`: the number of nodes that
        each step selects, up to the first step that selects none.
        """
    def __reduce__(self) -> Never: ...
    def _repr_html_(self) -> str: ...

@final
class XmlNode:
    """A node of a document that a filter selects."""

    @property
    def path(self) -> str:
        """Its position, as an XPath expression with the document's own prefixes."""
    @property
    def line(self) -> int:
        """The line on which it begins, from 1; for an attribute, the line of its element."""
    @property
    def text(self) -> str:
        """Its string value."""

@final
class XmlMatch:
    """A filter that a document satisfies, and the nodes that it selects."""

    @property
    def id(self) -> str | int:
        """The filter's id."""
    @property
    def nodes(self) -> list[XmlNode]:
        """The nodes in document order; empty if the expression is not a node-set."""

@final
class XmlStream:
    """A document that is matched while it arrives; created by `Filter.stream`."""

    def feed(self, piece: bytes | bytearray | memoryview) -> list[Any]:
        """Take the next bytes of the document.

        Returns:
            The ids of the filters that are now certain to match, whatever follows. Filters that
            depend on the whole document are returned by `close`.

        Raises:
            DocumentError: The document is not well formed; discard the ids returned so far.
        """
    def close(self) -> list[Any]:
        """End the document.

        Returns:
            The ids of all filters that it satisfies, in insertion order, as from `match`.
        """

@final
class FilterSubscription:
    """An id with an XPath expression."""

    @property
    def id(self) -> str | int:
        """The id."""
    @property
    def xpath(self) -> str:
        """The XPath expression."""
    @property
    def namespaces(self) -> dict[str, str]:
        """The namespaces of its prefixes."""
    @property
    def variables(self) -> dict[str, str | float | bool]:
        """The values of its variables."""

@final
class Filter(Generic[_I]):
    """A set of XPath filters that you can match while it changes.

    Any number of threads may match while others add and remove. A match sees all of a change or
    none of it, and never waits.

    Args:
        engine: The algorithm; all return the same results. Use `"auto"`.
        limits: Limits on filters and documents.
    """

    def __new__(cls, *, engine: Engine = "auto", limits: XmlLimits | None = None) -> Self: ...
    def add(
        self,
        id: _I,
        xpath: str,
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Mapping[str, str | float | bool] | None = None,
    ) -> None:
        """Add a filter, or replace the one with the same id.

        Args:
            id: A string or a 64-bit integer.
            xpath: An XPath 1.0 expression.
            namespaces: The namespaces of its prefixes.
            variables: The values of its variables.

        Raises:
            ExpressionSyntaxError: The expression is invalid or not supported; says where and why.
        """
    def add_many(
        self,
        items: Iterable[tuple[_I, str]] | Mapping[Any, str],
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Mapping[str, str | float | bool] | None = None,
    ) -> None:
        """Add all filters, or none.

        Args:
            items: Pairs (id, xpath), or a mapping of ids to expressions. If an id is repeated, the
                last counts.
            namespaces: The namespaces of prefixes, for all filters.
            variables: The values of variables, for all filters.

        Raises:
            TamisError: An item is invalid. `item` is its position; nothing is added.
        """
    def remove(self, id: _I) -> None:
        """Remove a filter.

        Raises:
            UnknownIdError: No filter has this id.
        """
    @overload
    def match(
        self, document: _Document, *, nodes: Literal[False] = False, timeout: float | None = None
    ) -> list[_I]:
        """The ids of the filters that a document satisfies, in insertion order.

        Args:
            document: Bytes, text, the path of a file, or an open binary file or stream.
            nodes: Whether to return `xml.Match` objects with the nodes that each filter selects.
            timeout: Seconds that matching may take, after the document has been read.

        Raises:
            DocumentError: The document is not well formed; the error says where and why.
            LimitError: The document exceeds a limit; or a filter takes too much work or memory, and
                its id is the error's `filter`.
            MatchTimeoutError: Matching took longer than `timeout`.
        """
    @overload
    def match(
        self, document: _Document, *, nodes: Literal[True], timeout: float | None = None
    ) -> list[XmlMatch]: ...
    @overload
    def match_batch(
        self,
        documents: Iterable[_Document],
        *,
        on_error: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> list[list[_I]]: ...
    @overload
    def match_batch(
        self,
        documents: Iterable[_Document],
        *,
        on_error: Literal["skip"],
        timeout: float | None = None,
    ) -> Skipped[list[list[_I]]]: ...
    @overload
    def match_batch(
        self,
        documents: Iterable[_Document],
        *,
        on_error: Literal["collect"],
        timeout: float | None = None,
    ) -> Collected[list[list[_I]]]:
        """The ids of the filters that each document satisfies: one list per document.

        Args:
            documents: An iterable of documents, all matched against one snapshot of the filters.
            on_error: What to do with documents that cannot be read, as in `Index.match_batch`.
            timeout: Seconds that matching all of them may take.
        """
    def stream(self) -> XmlStream:
        """Match a document that arrives in pieces against the current filters."""
    def explain(
        self, id: _I, document: _Document, *, timeout: float | None = None
    ) -> XmlExplanation:
        """Why a document satisfies a filter, or not.

        Args:
            id: The filter's id.
            document: As in `match`.
            timeout: Seconds that it may take, after the document has been read.

        Raises:
            UnknownIdError: No filter has this id.
            MatchTimeoutError: It took longer than `timeout`.
        """
    def save(self, path: str | PathLike[str]) -> None:
        """Save the filters to a folder, which is created if it does not exist.

        The folder changes atomically: whoever opens it sees the state before or after this save.
        """
    @staticmethod
    def open(
        path: str | PathLike[str], *, engine: Engine | None = None, limits: XmlLimits | None = None
    ) -> Filter[Any]:
        """Open saved filters. They are verified and compiled again; no file stays mapped.

        Args:
            path: The folder.
            engine: The algorithm; by default, the one they were saved with.
            limits: Limits on filters and documents.

        Raises:
            StorageError: The folder or a file in it is missing, damaged or of another format.
        """
    def stats(self) -> FilterStats:
        """Statistics about the filters; see `tamis.statistics.FilterStats`."""
    @property
    def engine(self) -> str:
        """The engine's name."""
    @property
    def limits(self) -> XmlLimits:
        """The limits on filters and documents."""
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __getitem__(self, id: _I, /) -> FilterSubscription: ...
    def __iter__(self) -> Iterator[_I]: ...
    def __class_getitem__(cls, ids: Any) -> Any: ...
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

_Node = _Id | tuple[_Id] | tuple[_Id, _Expression | None]
_Edge = (
    tuple[_Id, _Id]
    | tuple[_Id, _Id, _Expression | None]
    | tuple[_Id, _Id, _Expression | None, float | None]
)

@disjoint_base
class Graph:
    """A graph of nodes and edges with expressions that you can search while it changes."""

    def __new__(
        cls,
        *,
        missing: Literal["unknown", "false"] = "unknown",
        time_zone: str = "UTC",
        limits: Limits | None = None,
        path: str | PathLike[str] | None = None,
        verify: bool = True,
        copy: bool = False,
    ) -> Self: ...
    def add_node(self, id: _Id, expression: _Expression | None = None) -> None:
        """Add a node, or replace the expression of an existing one, which keeps its edges.

        Args:
            id: A string or a 64-bit integer.
            expression: The events that it accepts; without one, it accepts all events.
        """
    def add_edge(
        self,
        source: _Id,
        target: _Id,
        *,
        expression: _Expression | None = None,
        cost: float = 1.0,
    ) -> None:
        """Add an edge; there may be several between the same nodes.

        Args:
            source: The node it leaves; added without an expression if it does not exist.
            target: The node it leads to; likewise.
            expression: The events that it accepts; without one, it accepts all events.
            cost: The cost of following it: a finite number of at least 0.
        """
    def add_many(
        self,
        nodes: Iterable[_Node] | Mapping[_Id, _Expression | None] | None = None,
        edges: Iterable[_Edge] | None = None,
    ) -> None:
        """Add nodes and edges together; if one is invalid, none is added.

        Args:
            nodes: Ids, or (id, expression) pairs, or a mapping of ids to expressions.
            edges: (source, target), (source, target, expression) or (source, target, expression,
                cost).
        """
    def remove_node(self, id: _Id) -> None:
        """Remove a node with all its edges.

        Raises:
            UnknownIdError: No node has this id.
        """
    def remove_edge(self, source: _Id, target: _Id) -> None:
        """Remove all edges from one node to another.

        Raises:
            UnknownIdError: There is no such edge.
        """
    def match(
        self,
        event: _Event,
        source: _Id,
        *,
        sinks_only: bool = False,
        strategy: Strategy = "auto",
        now: object = None,
        timeout: float | None = None,
    ) -> GraphMatches:
        """Iterate over the ids of the nodes that an event reaches, as they are found.

        Args:
            event: A mapping, or JSON as text or bytes.
            source: The node it starts from, whose own expression is not evaluated.
            sinks_only: Whether to return only nodes without outgoing edges.
            strategy: The search strategy; all find the same nodes, but in different orders.
            now: The value of `now()`; the current time by default.
            timeout: Seconds from now after which fetching the next node fails.

        Raises:
            UnknownIdError: No node has the source's id.
            MatchTimeoutError: The search took longer than `timeout`.
        """
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        source: _Id | Iterable[_Id],
        *,
        sinks_only: bool = False,
        strategy: Strategy = "auto",
        on_error: Literal["raise"] = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> list[list[_Id]]: ...
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        source: _Id | Iterable[_Id],
        *,
        sinks_only: bool = False,
        strategy: Strategy = "auto",
        on_error: Literal["skip"],
        now: object = None,
        timeout: float | None = None,
    ) -> Skipped[list[list[_Id]]]: ...
    @overload
    def match_batch(
        self,
        events: Iterable[_Event] | _Json,
        source: _Id | Iterable[_Id],
        *,
        sinks_only: bool = False,
        strategy: Strategy = "auto",
        on_error: Literal["collect"],
        now: object = None,
        timeout: float | None = None,
    ) -> Collected[list[list[_Id]]]: ...
    @overload
    def match_batch(
        self,
        events: Any,
        source: _Id | None = None,
        *,
        sources: str | None = None,
        column: str | None = None,
        sinks_only: bool = False,
        strategy: Strategy = "auto",
        on_error: OnError = "raise",
        now: object = None,
        timeout: float | None = None,
    ) -> Any:
        """The ids of the nodes that each event reaches.

        All events are matched against one snapshot of the graph.

        Args:
            events: An iterable of events, or JSON lines in one text; the result is a list of ids
                per event. Or Arrow data (pyarrow, Polars, pandas, DuckDB ...); the result is a
                pyarrow table with the columns `event`, the row number, and `node`, the id.
            source: The node that all events start from, or one for each event.
            sources: With Arrow data, the column with the node that each event starts from.
            column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
                text or bytes. By default, every column is an attribute.
            sinks_only: Whether to return only nodes without outgoing edges.
            strategy: The search strategy.
            on_error: What to do with events that cannot be read or whose source is not a node, as
                in `Index.match_batch`.
            now: The value of `now()` for all events; the current time by default.
            timeout: Seconds that all events may take together.
        """
    def explain(
        self,
        event: _Event,
        source: _Id,
        target: _Id,
        *,
        now: object = None,
        timeout: float | None = None,
    ) -> GraphExplanation:
        """The path on which an event reaches a target, or the nodes and edges that block it.

        Args:
            event: A mapping, or JSON as text or bytes.
            source: The node at which the event starts.
            target: The node in question.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that it may take.

        Raises:
            UnknownIdError: No node has one of the ids.
            MatchTimeoutError: It took longer than `timeout`.
        """
    def top(
        self,
        event: _Event,
        source: _Id,
        n: int = 10,
        *,
        max_cost: float | None = None,
        sinks_only: bool = False,
        weights: Mapping[str, Any] | None = None,
        now: object = None,
        timeout: float | None = None,
    ) -> list[Delivery]:
        """The reached nodes with the highest values, best first.

        The value of a node is the score of its expression, as in `Index.top` (0 without one), minus
        the cost of the cheapest valid path. Among equal values, the node added first comes first.

        Args:
            event: A mapping, or JSON as text or bytes.
            source: The node it starts from.
            n: The maximum number of results.
            max_cost: The maximum cost of a path.
            sinks_only: Whether to return only nodes without outgoing edges.
            weights: The event's weights, as for `Index.top`.
            now: The value of `now()`; the current time by default.
            timeout: Seconds that it may take.

        Raises:
            MatchTimeoutError: It took longer than `timeout`.
        """
    def edges(self, source: _Id | None = None) -> list[tuple[_Id, _Id, Expression | None, float]]:
        """The edges of a node, or of all nodes: source, target, expression and cost.

        Parallel edges without an expression are represented by the cheapest one.
        """
    def expression(self, id: _Id) -> Expression | None:
        """The expression of a node; None if it accepts every event."""
    def save(self, path: str | PathLike[str]) -> None:
        """Save the graph to a folder, which is created if it does not exist."""
    def settle(self) -> None:
        """Wait until the background thread has compiled all changes."""
    def stats(self) -> GraphStats:
        """Statistics about the graph; see `tamis.statistics.GraphStats`."""
    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that nodes and edges use, or have used."""
    @property
    def asks_values(self) -> bool:
        """Whether an expression uses `values()`, so events are decoded completely."""
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """The truth of a predicate on an attribute without a value."""
    @property
    def time_zone(self) -> str:
        """The zone of times without an offset, in expressions and in events."""
    @property
    def limits(self) -> Limits:
        """The limits on expressions and events."""
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __iter__(self) -> Iterator[_Id]: ...

@final
class Delivery:
    """A node that an event reaches, with its value."""

    @property
    def id(self) -> _Id:
        """The node."""
    @property
    def value(self) -> float:
        """The score minus the cost."""
    @property
    def score(self) -> float:
        """The score of its expression on the event; 0 without one."""
    @property
    def cost(self) -> float:
        """The cost of the cheapest valid path."""
    @property
    def path(self) -> list[_Id]:
        """That path, from the source to the node."""

@final
class GraphMatches:
    """The ids of the nodes that an event reaches, as they are found."""

    def __iter__(self) -> GraphMatches: ...
    def __next__(self) -> _Id: ...
    @property
    def counts(self) -> dict[str, int]:
        """The work done so far.

        `retrieved`: nodes found through the index; `evaluated`: expressions evaluated directly;
        `edges`: edges followed.
        """

@final
class GraphExplanation:
    """The path on which an event reaches a node, or the nodes and edges that block it."""

    @property
    def reached(self) -> bool:
        """Whether the event reaches the target."""
    @property
    def path(self) -> list[_Id] | None:
        """A valid path with the fewest edges, from source to target; None if there is none."""
    @property
    def cut(self) -> list[tuple[_Id | tuple[_Id, _Id], Explanation]]:
        """The nodes and edges that refuse the event and block every path, each with an explanation.

        A node is given by its id, an edge by its two ids. Empty if the target is reached, or if no
        event could reach it.
        """

def read_manifest(
    kind: Literal["index", "graph", "filter"], path: str | PathLike[str], text: bytes
) -> dict[str, Any]:
    """Read the manifest of a saved folder.

    Args:
        kind: What the folder holds.
        path: The name of the manifest in error messages.
        text: The manifest.

    Raises:
        StorageError: The checksum does not match, the format differs, or the content is not
            something a save could have written.
    """

def write_manifest(
    kind: Literal["index", "graph", "filter"], path: str | PathLike[str], members: str
) -> bytes:
    """Write a manifest with these members and its checksum.

    Args:
        kind: What the folder holds.
        path: The name of the manifest in error messages.
        members: The members, as a JSON object without a checksum.

    Raises:
        StorageError: `read_manifest` would not accept them.
    """

def measure(spec: str) -> str:
    """Measure one matcher on one workload.

    Args:
        spec: A JSON object: `workload` with its `parameters`, `matcher` with its `options`,
            `events` to match per repetition, `sample` of them whose matches are reported,
            `repetitions`, and the `seconds` that these may take.

    Returns:
        A JSON object: `build_seconds`, `bytes`, `counts` and a `digest` of what the sample matched,
        `matches` per event, `events`, `repetitions`, `best_us`, `median_us`, `p99_us`, `counters`
        per event, and the `statistics` of the workload, requested and measured.

    Raises:
        ValueError: A name or value is unknown, or the matcher does not support the workload.
    """

def measurable() -> str:
    """The workloads with their parameters and the matchers with their options, as JSON."""
