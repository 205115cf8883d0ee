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
from tamis.statistics import FilterStats, GraphStats, IndexStats
from tamis.xml import Engine

if TYPE_CHECKING:
    from _typeshed import SupportsRead

__all__ = [
    "Builder",
    "Delivery",
    "Explanation",
    "Expression",
    "Filter",
    "FilterSubscription",
    "Graph",
    "GraphExplanation",
    "GraphMatches",
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

__version__: str

@final
class Limits:
    """Bounds on expressions and events; what is not given keeps its default.

    Input beyond a bound is a `LimitError` that carries both numbers.
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
        """Nesting of an expression, parentheses included."""
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
        """Parts of an attribute's name, between dots."""
    @property
    def like(self) -> int:
        """Characters of a part of a `like` pattern, between two `%`, that has `_` among them."""
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
        """Predicates of an expression in the normal form a matcher needs, where it has another."""
    @property
    def term_depth(self) -> int:
        """Nesting of a term; never more than 200."""
    @property
    def terms(self) -> int:
        """Distinct terms of an index."""
    @property
    def term_values(self) -> int:
        """Values of one term on one event, which are many where its arguments are lists."""
    @property
    def element_depth(self) -> int:
        """Nesting of `any`, `all` and `none`; never more than 16."""
    @property
    def elements(self) -> int:
        """Elements of lists, on one event, that are looked at one by one."""
    @property
    def event(self) -> int:
        """Bytes of an event's JSON, or of the text a mapping holds."""
    @property
    def event_depth(self) -> int:
        """Nesting of an event's objects."""
    @property
    def event_values(self) -> int:
        """Values of an event that subscriptions mention."""
    @property
    def list(self) -> int:
        """Values of one list of an event, repetitions included."""
    @property
    def xml(self) -> XmlLimits:
        """Bounds on XPath expressions and documents."""
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
        """A function, named as in text, of terms and values; `type` is that of `cast`."""
    @staticmethod
    def lower(text: str) -> str:
        """A text in lower case, character by character."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Expression:
    """A Boolean expression over predicates.

    Made by `parse`, `from_json` and `tamis.attr`, and combined with `& | ^ ~`. Its text, `str(x)`,
    is canonical: reading it again gives an equal expression.
    """

    @staticmethod
    def parse(text: str, *, limits: Limits | None = None) -> Expression:
        """Read an expression from its text.

        Raises:
            ExpressionSyntaxError: The text is no expression; says where, and what was expected.
            ExpressionError: It is well formed but means nothing, such as `a < true`.
            LimitError: It is longer, deeper or larger than the limits allow.
        """
    @staticmethod
    def from_json(json: str | bytes, *, limits: Limits | None = None) -> Expression:
        """Read an expression from its JSON form, given as text or bytes."""
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
        """One predicate; `tamis.attr` is the pleasant way to make one."""
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
        """All of the expressions; without any, `true`."""
    @staticmethod
    def any_of(expressions: list[Expression]) -> Expression:
        """Some of the expressions; without any, `false`."""
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
        """The same question as the condition of a WHERE clause, for a backfill in SQL.

        The rows for which the condition is true are the rows that match. What cannot be said
        exactly is refused.

        Args:
            dialect: `"spark"`, `"duckdb"` or `"postgres"`.
            columns: The types of the table's columns, as a `pyarrow.Schema` or as a mapping of
                names to `"string"`, `"integer"`, `"decimal(12, 2)"`, `"float"`, `"boolean"`,
                `"timestamp"`, `"date"`, `[type]` for lists and `{name: type}` for objects. Without
                them a column must have the type of the literals it is compared with.
            missing: As for `Index`.
            time_zone: As for `Index`; the database's session must have it, too.

        Raises:
            ExpressionError: The database has no exact way to say it; the message says why.
        """
    @property
    def attributes(self) -> list[str]:
        """The names of the attributes it asks about, in the order of their first mention."""
    def xnor(self, other: Expression) -> Expression:
        """Both or neither of the two."""
    def is_true(self) -> Expression:
        """Whether it is true, which is itself never unknown: `E is true`."""
    def is_not_true(self) -> Expression:
        """Whether it is false or unknown: `E is not true`."""
    def is_false(self) -> Expression:
        """Whether it is false: `E is false`."""
    def is_not_false(self) -> Expression:
        """Whether it is true or unknown: `E is not false`."""
    def is_unknown(self) -> Expression:
        """Whether it is neither true nor false, for want of a value: `E is unknown`."""
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
    """Why a subscription matched an event, or not: `print` it, or take `to_dict`."""

    @property
    def truth(self) -> Literal["true", "false", "unknown"]:
        """The truth of the whole expression."""
    @property
    def matched(self) -> bool:
        """Whether the subscription matched, which is when its expression is true."""
    def to_dict(self) -> dict[str, Any]:
        """The explanation as nested dicts.

        Every node has `text` and `truth`; a connective has `operands`; a predicate has `attribute`
        and `seen`: a list of the values, None for a null, `"missing"` where there was nothing. A
        comparison of two terms has `right` and `right_seen` for the term on its right.
        """
    def __reduce__(self) -> Never: ...
    def _repr_html_(self) -> str: ...

@final
class Subscription:
    """An id with an expression and what else belongs to it."""

    @property
    def id(self) -> str | int:
        """What it is called."""
    @property
    def expression(self) -> Expression:
        """What it asks."""
    @property
    def metadata(self) -> Any:
        """What was given as its metadata."""
    @property
    def boost(self) -> float:
        """What its score is multiplied by."""
    @property
    def priority(self) -> int:
        """Higher ones come first in `Index.first`."""
    @property
    def active_from(self) -> datetime | None:
        """The first moment at which it can match, in UTC; None for one that always could."""
    @property
    def active_until(self) -> datetime | None:
        """The first moment at which it no longer can match, in UTC; None for one that goes on."""
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Index(Generic[_I]):
    """A set of subscriptions that can be matched while it changes.

    Any number of threads may match while others add and remove: a match sees all of a change or
    nothing of it, and never waits.

    `Index[str]` says in an annotation that all ids are strings, so that a type checker knows what
    `match` gives.

    Args:
        matcher: The algorithm: `"auto"` chooses, `"compiled"` is the A-Tree in its compiled form,
            `"atree"` as its paper has it, `"kindex"` and `"cnf"` intersect posting lists of
            disjunctive and of conjunctive normal forms, `"dewey"` and `"interval"` evaluate labels
            of true conjunctions, `"scan"` evaluates every expression.
        missing: What a predicate is on an attribute without a value: `"unknown"`, and so is its
            negation, or `"false"`, and its negation is true.
        time_zone: Where times without an offset are at home, in expressions and in events: a name
            such as `"Europe/Paris"`, or an offset such as `"+02:00"`.
        metadata_columns: The members of metadata that get an index, so that `where` is fast: names
            such as `"tenant"`, or `"owner.team"` in a nested object.
        limits: Bounds on expressions and events.
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
        """Add a subscription, replacing the one of the same id.

        Args:
            id: A string or a 64-bit integer.
            expression: Text, or an `Expression`.
            metadata: Anything JSON can hold, given back by `index[id].metadata`.
            weights: What a match of an attribute, or of one of its values, is worth in a ranking:
                `{"age": 2.0, "tags": {"new": 2.5}}`. They become part of the expression, in place
                of those in its text (`tags = 'new'^2.5`).
            boost: What its score in a ranking is multiplied by, such as a bid; 1 by default.
            priority: Higher ones come first in `first`; 0 by default.
            active_from: The first moment at which it can match: a `datetime`, or text such as
                `2026-01-02T05:00Z`. Compared with the moment that `now()` is.
            active_until: The first moment at which it no longer can.
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

        Ctrl-C stops it, and so does a `progress` that raises: nothing is added then.

        Args:
            items: (id, expression), (id, expression, metadata) or a dict of the arguments of `add`
                each, or one mapping of ids to expressions. Of equal ids the last counts.
            on_error: What becomes of items that cannot be added. `"raise"`: nothing is added.
                `"skip"`: they are passed over and counted. `"collect"`: they are passed over, and
                come back in `Loaded.refused`.
            progress: True draws a bar on a terminal or in a notebook, and nothing in a script. A
                function is called now and then with how many subscriptions are compiled, and how
                many there are.

        Raises:
            TamisError: An item failed; the error says which (`item`) and why, and nothing is added.
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
        """Add the subscriptions in the rows of a table, in their order.

        Args:
            table: Whatever speaks the Arrow C interface: Arrow, pandas, Polars, DuckDB. Its columns
                are `id` (strings or integers), `expression` (text, or the JSON form) and,
                optionally, `metadata` and `weights` (JSON, or a struct or map), `boost`,
                `priority`, `active_from` and `active_until` (times, or their texts). Others are
                not looked at.
            on_error: As in `add_many`.
            progress: As in `add_many`.

        Raises:
            SubscriptionError: A column is missing or of a wrong type.
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
        """An index of the subscriptions in the rows of a table.

        Args:
            table: As in `add_table`.
            on_error: As in `add_many`; with `"skip"` and `"collect"` the `Loaded` comes along.
            progress: As in `add_many`.
            options: What `Index` takes.
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
        """An index of the subscriptions in a CSV file.

        Args:
            path: The file, or an open one. Its first line names the columns: those of `add_table`,
                and no others. `metadata` and `weights` are JSON; an empty cell is as good as none.
            ids: Whether ids are strings or integers.
            delimiter: What stands between cells.
            encoding: How the file is encoded.
            on_error: As in `add_many`; with `"skip"` and `"collect"` the `Loaded` comes along.
            progress: As in `add_many`.
            options: What `Index` takes.
        """
    def set_validity(self, id: _I, **bounds: Any) -> None:
        """Change when a subscription can match.

        Like one that is replaced, it then stands at the end of the order.

        Args:
            id: Its id.
            bounds: `active_from` and `active_until`, as `add` takes them. One that is not given
                stays as it is; None takes it away.

        Raises:
            UnknownIdError: There is none of that id.
            ExpressionError: It would end before it begins.
        """
    def validities(self) -> list[Validity]:
        """The subscriptions that are not always valid, in insertion order."""
    def remove_many(
        self, ids: Iterable[_I], *, on_error: Literal["raise", "skip"] = "raise"
    ) -> int:
        """Remove the subscriptions of these ids at once.

        Args:
            ids: Their ids.
            on_error: What becomes of an id that no subscription has: an error, and then nothing is
                removed (`"raise"`), or nothing (`"skip"`).

        Returns:
            How many were removed.

        Raises:
            UnknownIdError: No subscription has one of the ids.
        """
    def remove(self, id: _I) -> None:
        """Remove a subscription.

        Raises:
            UnknownIdError: There is none of that id.
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
            where: A condition on the metadata of subscriptions, such as `tenant = 'a'`: only those
                that satisfy it are looked for. Metadata is read as an event is; what is no object
                has no attributes. Fast where it asks plain predicates of `metadata_columns`.
            document: What `xpath('...')` asks about: bytes, text, the path of a file, or an open
                binary file or stream. Without one, the answer is unknown.
            now: The moment that `now()` is; the clock's if not given.
            timeout: Seconds that matching may take, once event and document have been read.

        Raises:
            EventError: The event cannot be decoded.
            DocumentError: The document is not well formed.
            MatchTimeoutError: Matching took longer than `timeout`.
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
    ) -> Any:
        """The ids of the subscriptions that each event matches.

        All events are matched against the index of one moment.

        Args:
            events: An iterable of events, or JSON lines in one text, whose blank lines are skipped,
                for one list of ids per event. Or Arrow data (pyarrow, Polars, pandas, DuckDB ...)
                for a pyarrow table with the columns `event`, the row, and `subscription`, the id.
            where: A condition on the metadata of subscriptions, as in `match`.
            count: Whether to count matches instead: a dict of ids and numbers of events, or, with
                Arrow data, a table with the columns `subscription` and `count`. Subscriptions
                without a match are not in it.
            documents: One document per event, or `None` for an event without. With Arrow data, the
                name of the column that holds them, as text or bytes.
            column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
                text or bytes. Without, every column is an attribute.
            metadata: With Arrow data, whether to add the column `metadata`, which is JSON.
            threads: With Arrow data, how many threads match; by default one per core.
            evaluation: With Arrow data, whether events are looked at one by one or in blocks of
                many at once. The answer is the same; `auto` does what is likely to take less time.
            on_error: What becomes of events, or documents, that cannot be read. `"raise"`: the
                batch fails, and the error names the event. `"skip"`: they match nothing, and the
                result is a `Skipped`, the matches and a count. `"collect"`: they match nothing, and
                the result is a `Collected`, the matches and a list of `Refused`.
            now: The moment that `now()` is for all events; the clock's, read once, if not given.

        Raises:
            EventError: An event cannot be read and `on_error` is `"raise"`; or the batch as a whole
                cannot be, such as Arrow data with a column of a type that no attribute has.
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
    ) -> list[Match[_I]]:
        """The subscriptions that an event matches best, with their scores, best first.

        A predicate scores its weight (1 unless given) times the event's weight of the value that
        satisfies it, the best where there are several; a negated predicate scores nothing. `and`
        adds, `or` takes the best of what is true, and the subscription's boost multiplies the sum.
        Of equal scores the one added first comes first.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: How many at most.
            weights: What the event gives attributes, or values of them, instead of 1:
                `{"age": 0.8, "tags": {"new": 2.0}}`.
            where: A condition on the metadata of subscriptions, as in `match`.
            document: What `xpath('...')` asks about; see `match`.
            now: The moment that `now()` is; the clock's if not given.

        Raises:
            EventError: The event cannot be decoded.
            ExpressionError: A weight is no finite number of at least 0.
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
    ) -> Any:
        """The subscriptions that each event matches best; see `top` and `match_batch`.

        Args:
            events: An iterable of events, or JSON lines in one text, for one list per event. Or
                Arrow data for a pyarrow table with the columns `event`, the row, `subscription`,
                the id, `score`, and `rank`, from 1.
            n: How many at most for each event.
            weights: What all of the events give attributes, or values of them, instead of 1.
            where: A condition on the metadata of subscriptions, as in `match`.
            documents: One document per event, as in `match_batch`.
            column: With Arrow data, the column that holds the events.
            threads: With Arrow data, how many threads rank; by default one per core.
            on_error: What becomes of events that cannot be read, as in `match_batch`.
            now: The moment that `now()` is for all events; the clock's, read once, if not given.
        """
    def first(
        self,
        event: _Event,
        n: int = 1,
        *,
        where: _Expression | None = None,
        document: _Document | None = None,
        now: object = None,
    ) -> list[_I]:
        """The ids of the matching subscriptions of the highest priorities, highest first.

        Of equal priorities the one added first comes first. The others are not looked for: those
        of the highest priorities are compiled apart, when they are first asked for.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: How many at most.
            where: A condition on the metadata of subscriptions, as in `match`.
            document: What `xpath('...')` asks about; see `match`.
            now: The moment that `now()` is; the clock's if not given.
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
    ) -> Any:
        """The matching subscriptions of the highest priorities for each event; see `first`.

        Args:
            events: An iterable of events, or JSON lines in one text, for one list of ids per event.
                Or Arrow data for a pyarrow table with the columns `event`, the row,
                `subscription`, the id, `priority`, and `rank`, from 1.
            n: How many at most for each event.
            where: A condition on the metadata of subscriptions, as in `match`.
            documents: One document per event, as in `match_batch`.
            column: With Arrow data, the column that holds the events.
            threads: With Arrow data, how many threads match; by default one per core.
            on_error: What becomes of events that cannot be read, as in `match_batch`.
            now: The moment that `now()` is for all events; the clock's, read once, if not given.
        """
    def hierarchy(self, attribute: str, values: _Hierarchy | None) -> None:
        """Say what lies above the values of an attribute.

        An event that has a value has those above it as well: after `index.hierarchy("geo",
        {"US": ["California", "Oregon"]})`, `geo = 'US'` is true in California. It holds for events
        from now on, and is saved with the index.

        Args:
            attribute: The name of the attribute.
            values: A mapping of values to those below them, given as another mapping or as a list;
                or `"dates"` for dates such as `2008-02-14`, which lie in their month `2008-02` and
                year `2008`; or None to take a hierarchy back.

        Raises:
            ExpressionError: A value lies above itself, or is none.
        """
    def explain(
        self, id: _I, event: _Event, *, document: _Document | None = None, now: object = None
    ) -> Explanation:
        """Why a subscription matches an event, or not."""
    def check(
        self,
        events: object = None,
        *,
        now: object = None,
        comparisons: int | None = None,
        most: int | None = None,
    ) -> list[Finding]:
        """Say what is worth a look in the subscriptions.

        The kinds of findings, in the order of the list:

        - `"event"`: an event of the sample cannot be read; it is passed over.
        - `"unseen-attribute"`: no event has the attribute; the message may name one like it.
        - `"unseen-type"`: an operand has a type that the attribute never has in the sample, or a
          term has no value there.
        - `"text-order"`: a text that looks like a time, a number or a version is ordered as text.
        - `"text-network"`: a network is written as a text, which no address equals.
        - `"quoted-name"`: a name contains operators, as in `"a > 5" = true`, and no event has it.
        - `"never"`, `"always"`: no event can satisfy the expression, or every event does.
        - `"equal"`: subscriptions ask the same, whatever their weights.
        - `"subsumed"`: every event that satisfies the first subscription satisfies the others.
        - `"bound"`: not all was looked at; the message says what.

        What is said about expressions holds for all events, not only for the sample. Not all that
        can be said is found. Findings of one kind about one attribute are one finding.

        Args:
            events: A sample of events, as `match_batch` takes them; without, only what can be said
                of the expressions themselves.
            now: The moment that `now()` is; by default the clock's.
            comparisons: How many pairs of predicates are looked at when subscriptions are compared
                with each other; 20,000,000 by default.
            most: How many findings there are at most, 10,000 by default.
        """
    def save(self, path: str | PathLike[str]) -> None:
        """Save the index into a folder, which is made if it is not there.

        What the folder already has of the index is not written again. Whoever opens the folder
        finds the index as it was saved before or as it is saved now, nothing between.

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
        """Open a saved index: its files are mapped, and shared with every process that maps them.

        Nothing of it is merged until it changes.

        Args:
            path: The folder, or a manifest in it. Of a folder with versions, the latest is opened.
            shard: The one shard to open, of an index that has shards.
            matcher: The algorithm for what is added from now on.
            limits: Bounds on expressions and events.
            verify: Whether to read all of it and check the checksums first. Without, opening takes
                no time, and a damaged file is an error when it is met.
            copy: Whether to copy the files into memory instead of mapping them. A mapped file that
                somebody shortens or overwrites in place ends the process with SIGBUS; a copy
                cannot change.

        Raises:
            StorageError: There is no index, or a file is missing, damaged or of another format.
        """
    def settle(self) -> None:
        """Wait until nothing is left to be merged in the background."""
    def stats(self) -> IndexStats:
        """Figures about the index; `tamis.statistics.IndexStats` lists and explains them."""
    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that subscriptions mention."""
    @property
    def asks_values(self) -> bool:
        """Whether `values()` is asked for, so that events are decoded as a whole."""
    @property
    def metadata_columns(self) -> list[str]:
        """The members of metadata that have an index."""
    @property
    def matcher(self) -> _Matcher:
        """The algorithm that was asked for."""
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """What a predicate is on an attribute without a value."""
    @property
    def time_zone(self) -> str:
        """Where times without an offset are at home, in expressions and in events."""
    @property
    def limits(self) -> Limits:
        """The bounds on expressions and events."""
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __getitem__(self, id: _I, /) -> Subscription: ...
    def __iter__(self) -> Iterator[_I]: ...
    def __class_getitem__(cls, ids: Any) -> Any: ...
    def __reduce__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Builder:
    """A set of subscriptions, given as Arrow data, that is going to be an index of one segment.

    Rows come in any order. One that cannot be used is refused, rows that say the same are one, and
    rows of one id that do not are all refused.
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
        """Take the rows of a record batch.

        Args:
            batch: The columns `id` (strings or integers), `expression` (text, or the JSON form)
                and, optionally, `metadata` (JSON), `weights` (JSON), `boost` (a number),
                `priority` (an integer), `active_from` and `active_until` (times, or their texts)
                and `deleted` (there is no such subscription).

        Returns:
            A pyarrow table of the rows that were refused: `id`, `position`, `message` and
            `expression`.
        """
    def keep(self, index: Index) -> None:
        """Take the subscriptions of an index that no row changed so far."""
    def finish(self) -> Index:
        """Compile what was taken; the builder is used up."""

@final
class Workload:
    """A seeded source of expressions and events; every item is a function of its number alone.

    Args:
        name: `"conjunctive"`, `"dense"`, `"abe-gen"`, `"ads-like"`, `"whang"`, `"whang-cnf"`,
            `"fontoura"`, `"exchange"`, `"sigma-like"` or `"xml"`.
        size: How many expressions it is meant for, by which its defaults are chosen.
        seed: Decides everything that chance decides.
        parameters: A JSON object of parameters that are not as usual; `measurable` names them.
    """

    def __new__(
        cls, name: str, *, size: int = 100_000, seed: int = 0, parameters: str = "{}"
    ) -> Workload: ...
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """What its predicates are on an attribute without a value."""
    @property
    def family(self) -> Literal["expressions", "graph", "xml"]:
        """`"xml"` where expressions are XPath and events are documents, `"graph"` where nodes ask.

        A graph has `nodes`, `edges` and `sources`; of other workloads, these are a `ValueError`.
        """
    def nodes(self) -> list[tuple[str, str | None]]:
        """The nodes of a graph, each with its expression or None."""
    def edges(self) -> list[tuple[str, str]]:
        """The edges of a graph; some may connect the same nodes."""
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
        """Figures by name, each as `requested` by the parameters and `measured`.

        Args:
            expressions: On how many they are measured; sharing depends on it.
            events: On how many their size is measured.
            matched: How many are matched with every expression, for the match probability.
        """

@final
class XmlLimits:
    """Bounds on XPath filters and documents; what is not given keeps its default.

    Input beyond a bound is a `LimitError` that carries both numbers.
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
        """Bytes of a document; at most 1 GiB whatever is set."""
    @property
    def document_depth(self) -> int:
        """Nesting of a document's elements."""
    @property
    def attributes(self) -> int:
        """Attributes of one element, namespace declarations included."""
    @property
    def names(self) -> int:
        """Distinct names of elements and attributes in one document."""
    @property
    def expansion(self) -> int:
        """Bytes that a document's entities expand to, all references together."""
    @property
    def filter_work(self) -> int:
        """Units of work, of about a nanosecond each, to evaluate one filter on one document."""
    @property
    def document_work(self) -> int:
        """Units of work to match one document with all filters."""
    @property
    def filter_memory(self) -> int:
        """Bytes that the evaluation of one filter may hold at one time."""
    @property
    def memory(self) -> int:
        """State sets that an engine remembers from document to document."""
    @property
    def undeclared_entities(self) -> str:
        """What becomes of a reference to an entity that only an external DTD could declare.

        With `"error"` the document is an error, with `"ignore"` the reference stands for nothing,
        with `"keep"` it stays as it is written.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __reduce__(self) -> Any: ...

@final
class XmlExplanation:
    """Why a filter is true of a document, or not: `print` it, or take `to_list`."""

    @property
    def matched(self) -> bool:
        """Whether the document satisfies the filter."""
    def to_list(self) -> list[dict[str, Any]]:
        """The parts of the expression, each before those inside it.

        Every part has `depth`, `text` and `truth`; a path has `selected`: how many nodes each of
        its steps selects, up to the first that selects none.
        """
    def __reduce__(self) -> Never: ...
    def _repr_html_(self) -> str: ...

@final
class XmlNode:
    """A node of a document that a filter selects."""

    @property
    def path(self) -> str:
        """Where it is, as an XPath expression in the document's own prefixes."""
    @property
    def line(self) -> int:
        """The line on which it begins, from 1; of an attribute, the line of its element."""
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
        """The nodes in document order; none where the expression is no node-set."""

@final
class XmlStream:
    """A document that is matched while it arrives; made by `Filter.stream`."""

    def feed(self, piece: bytes | bytearray | memoryview) -> list[Any]:
        """Take the next bytes of the document.

        Returns:
            The ids of the filters that they make certain: whatever well-formed document this
            becomes, it satisfies them. What depends on all of the document comes with `close`.

        Raises:
            DocumentError: The document is not well formed; what was told before is void.
        """
    def close(self) -> list[Any]:
        """End the document.

        Returns:
            The ids of all filters that it satisfies, in insertion order, as `match` gives them.
        """

@final
class FilterSubscription:
    """An id with an XPath expression."""

    @property
    def id(self) -> str | int:
        """What it is called."""
    @property
    def xpath(self) -> str:
        """What it asks."""
    @property
    def namespaces(self) -> dict[str, str]:
        """The namespaces that its prefixes stand for."""
    @property
    def variables(self) -> dict[str, str | float | bool]:
        """The values that its variables stand for."""

@final
class Filter(Generic[_I]):
    """A set of XPath filters that can be matched while it changes.

    Any number of threads may match while others add and remove: a match sees all of a change or
    nothing of it, and never waits.

    Args:
        engine: The algorithm; all give the same results. `"auto"` is the one to use.
        limits: Bounds on filters and documents.
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
        """Add a filter, replacing the one of the same id.

        Args:
            id: A string or a 64-bit integer.
            xpath: An XPath 1.0 expression.
            namespaces: The namespaces that its prefixes stand for.
            variables: The values that its variables stand for.

        Raises:
            ExpressionSyntaxError: The text is no expression that filters take; says where and why.
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
            items: (id, xpath) each, or a mapping of ids to expressions. Of equal ids the last
                counts.
            namespaces: The namespaces that prefixes stand for, in all of them.
            variables: The values that variables stand for, in all of them.

        Raises:
            TamisError: An item failed; the error says which (`item`) and why, and nothing is added.
        """
    def remove(self, id: _I) -> None:
        """Remove a filter.

        Raises:
            UnknownIdError: There is none of that id.
        """
    @overload
    def match(
        self, document: _Document, *, nodes: Literal[False] = False, timeout: float | None = None
    ) -> list[_I]:
        """The ids of the filters that a document satisfies, in insertion order.

        Args:
            document: Bytes, text, the path of a file, or an open binary file or stream.
            nodes: Return `xml.Match` objects, which say which nodes each filter selects.
            timeout: Seconds that matching may take, once the document has been read.

        Raises:
            DocumentError: The document is not well formed; says where and why.
            LimitError: It is larger or deeper than the limits allow, or a filter takes more work or
                memory, whose id is then the error's `filter`.
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
            documents: An iterable of documents, all matched against the filters of one moment.
            on_error: What becomes of documents that cannot be read, as in `Index.match_batch`.
            timeout: Seconds that matching all of them may take.
        """
    def stream(self) -> XmlStream:
        """Begin a document that arrives in pieces, matched against the filters of this moment."""
    def explain(self, id: _I, document: _Document) -> XmlExplanation:
        """Why a filter is true of a document, or not."""
    def save(self, path: str | PathLike[str]) -> None:
        """Save the filters into a folder, which is made if it is not there.

        The folder changes at once: whoever opens it finds what was saved before, or all of this.
        """
    @staticmethod
    def open(
        path: str | PathLike[str], *, engine: Engine | None = None, limits: XmlLimits | None = None
    ) -> Filter[Any]:
        """Open saved filters, which are verified and compiled again; no file stays mapped.

        Args:
            path: The folder.
            engine: The algorithm; by default the one they were saved with.
            limits: Bounds on filters and documents.

        Raises:
            StorageError: The folder or a file in it is missing, damaged or of another format.
        """
    def stats(self) -> FilterStats:
        """Figures about the filters; see `tamis.statistics.FilterStats`."""
    @property
    def engine(self) -> str:
        """The engine's name."""
    @property
    def limits(self) -> XmlLimits:
        """The bounds on filters and documents."""
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
    """A graph of nodes and edges with expressions, which can be searched while it changes."""

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
        """Add a node, or replace the expression of one that is there, which keeps its edges.

        Args:
            id: What it is called: a string or a 64-bit integer.
            expression: What it asks of events; without one it takes them all.
        """
    def add_edge(
        self,
        source: _Id,
        target: _Id,
        *,
        expression: _Expression | None = None,
        cost: float = 1.0,
    ) -> None:
        """Add an edge, beside others between the same nodes.

        Args:
            source: The node it leaves; added without an expression if it is not there.
            target: The node it leads to; likewise.
            expression: What it asks of events; without one it lets them all pass.
            cost: What passing it costs: a finite number from 0.
        """
    def add_many(
        self,
        nodes: Iterable[_Node] | Mapping[_Id, _Expression | None] | None = None,
        edges: Iterable[_Edge] | None = None,
    ) -> None:
        """Add nodes and edges together; where one fails, none is added.

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
        """The ids of the nodes that an event reaches, each as soon as it is found.

        Args:
            event: A mapping, or JSON as text or bytes.
            source: The node it starts from, which is not asked.
            sinks_only: Whether only nodes that no edge leads on from are wanted.
            strategy: How the search is driven; all find the same nodes, not in the same order.
            now: The moment that `now()` is; the clock's if not given.
            timeout: Seconds from now after which asking for the next node fails.

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
    ) -> Any:
        """The ids of the nodes that each event reaches.

        All events are matched against the graph of one moment.

        Args:
            events: An iterable of events, or JSON lines in one text, for one list of ids per event.
                Or Arrow data (pyarrow, Polars, pandas, DuckDB ...) for a pyarrow table with the
                columns `event`, the row, and `node`, the id.
            source: The node that all events start from, or one for each event.
            sources: With Arrow data, the column that holds the node that each event starts from.
            column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
                text or bytes. Without, every column is an attribute.
            sinks_only: Whether only nodes that no edge leads on from are wanted.
            strategy: How the searches are driven.
            on_error: What becomes of events that cannot be read, or whose source is no node, as in
                `Index.match_batch`.
            now: The moment that `now()` is for all events; the clock's, read once, if not given.
        """
    def explain(
        self, event: _Event, source: _Id, target: _Id, *, now: object = None
    ) -> GraphExplanation:
        """Over which path an event reaches a target from a source, or who is in the way."""
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
    ) -> list[Delivery]:
        """The nodes that an event reaches and that are worth most, best first.

        A node is worth the score of its expression, as `Index.top` has it and 0 without one, less
        the cost of the cheapest valid path. Of equal ones, what was added first comes first.

        Args:
            event: A mapping, or JSON as text or bytes.
            source: The node it starts from.
            n: How many nodes are wanted.
            max_cost: What a path may cost.
            sinks_only: Whether only nodes that no edge leads on from are wanted.
            weights: The event's weights, as for `Index.top`.
            now: The moment that `now()` is; the clock's if not given.
        """
    def edges(self, source: _Id | None = None) -> list[tuple[_Id, _Id, Expression | None, float]]:
        """The edges of a node, or of all nodes: source, target, expression and cost.

        Of edges between two nodes without an expression, the cheapest stands for all.
        """
    def expression(self, id: _Id) -> Expression | None:
        """The expression of a node; None where it takes every event."""
    def save(self, path: str | PathLike[str]) -> None:
        """Save the graph into a folder, which is made if it is not there."""
    def settle(self) -> None:
        """Wait until nothing is left to be compiled in the background."""
    def stats(self) -> GraphStats:
        """Figures about the graph; see `tamis.statistics.GraphStats`."""
    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that nodes and edges ask about, or have asked about."""
    @property
    def asks_values(self) -> bool:
        """Whether `values()` is asked for, so that events are decoded as a whole."""
    @property
    def missing(self) -> Literal["unknown", "false"]:
        """What a predicate is on an attribute without a value."""
    @property
    def time_zone(self) -> str:
        """Where times without an offset are at home, in expressions and in events."""
    @property
    def limits(self) -> Limits:
        """The bounds on expressions and events."""
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __iter__(self) -> Iterator[_Id]: ...

@final
class Delivery:
    """A node that an event reaches, with what it is worth."""

    @property
    def id(self) -> _Id:
        """The node."""
    @property
    def value(self) -> float:
        """Its score less the cost."""
    @property
    def score(self) -> float:
        """What its expression scores on the event; 0 without one."""
    @property
    def cost(self) -> float:
        """What the cheapest valid path costs."""
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
        """What finding them took so far.

        `retrieved`: nodes that the index gave; `evaluated`: expressions evaluated by themselves;
        `edges`: edges followed.
        """

@final
class GraphExplanation:
    """Over which path an event reaches a node, or who is in the way."""

    @property
    def reached(self) -> bool:
        """Whether the event reaches the target."""
    @property
    def path(self) -> list[_Id] | None:
        """A valid path with the fewest edges, from the source to the target; None without one."""
    @property
    def cut(self) -> list[tuple[_Id | tuple[_Id, _Id], Explanation]]:
        """What refuses the event and stands on every path, each with why.

        A node is given by its id, an edge by its two ids. Empty where the target is reached, or
        where no path leads there whatever the event.
        """

def read_manifest(
    kind: Literal["index", "graph", "filter"], path: str | PathLike[str], text: bytes
) -> dict[str, Any]:
    """What the manifest of a saved folder says.

    Args:
        kind: What the folder holds.
        path: What errors call the manifest.
        text: The manifest.

    Raises:
        StorageError: Its checksum does not match, its format is another, or it says something that
            no save writes.
    """

def write_manifest(
    kind: Literal["index", "graph", "filter"], path: str | PathLike[str], members: str
) -> bytes:
    """A manifest with these members, a JSON object, and its checksum.

    Args:
        kind: What the folder holds.
        path: What errors call the manifest.
        members: The members, without a checksum.

    Raises:
        StorageError: They are none that `read_manifest` would accept.
    """

def measure(spec: str) -> str:
    """One matcher on one workload: what it found, how long it took, how much it did.

    Args:
        spec: A JSON object: `workload` with its `parameters`, `matcher` with its `options`,
            `events` to match per repetition, `sample` of them whose matches are reported,
            `repetitions`, and the `seconds` that these may take.

    Returns:
        A JSON object: `build_seconds`, `bytes`, `counts` and a `digest` of what the sample matched,
        `matches` per event, `events`, `repetitions`, `best_us`, `median_us`, `p99_us`, `counters`
        per event, and the `statistics` of the workload, requested and measured.

    Raises:
        ValueError: A name or value is not known, or the matcher cannot express the workload.
    """

def measurable() -> str:
    """The workloads with their parameters and the matchers with their options, as JSON."""
