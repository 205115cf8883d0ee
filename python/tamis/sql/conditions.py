"""Writes expressions as SQL conditions.

SQL has the same three truth values as Tamis; unknown is null. A predicate is written so that it is
null if a value is missing, and true or false otherwise. If types cannot be compared, it is false.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from tamis.errors import ExpressionError
from tamis.sql import values
from tamis.sql.scope import Path, Scope
from tamis.sql.terms import FIRST, FLOAT_DIGITS, LAST, NOTHING, SIZE, Terms, Value
from tamis.sql.types import DIGITS, exact, integers
from tamis.sql.types import UNKNOWN as UNKNOWN_TYPE
from tamis.sql.values import Constant

DEPTH = 200
UNKNOWN = "cast(null as boolean)"

# DuckDB has no `is unknown`.
_TRUTH_TESTS = {
    "is true": "is true",
    "is not true": "is not true",
    "is false": "is false",
    "is not false": "is not false",
    "is unknown": "is null",
    "is not unknown": "is not null",
}
_TEXT = {"starts with": "starts_with", "ends with": "ends_with", "contains": "contains"}
_ORDERINGS = ("<", "<=", ">", ">=")
_TIMES = ("timestamp", "date", "time")


@dataclass
class Writer:
    """Writes the conditions of one scope.

    Attributes:
        scope: The row or element that names refer to.
        zone: The zone of times without an offset.
        missing: The truth of a predicate on an attribute without a value.
        demands: The types that columns must have, if types are not given.
    """

    scope: Scope
    zone: tzinfo
    missing: str
    variables: str = "element"
    demands: dict[str, str] = field(default_factory=dict)
    depth: int = 0

    def condition(self, node: Any) -> str:
        """The condition of an expression in its JSON form.

        Raises:
            ExpressionError: It has no exact translation.
        """
        if isinstance(node, bool):
            return "true" if node else "false"
        self.depth += 1
        if self.depth > DEPTH:
            raise ExpressionError(f"the expression is nested deeper than {DEPTH} levels")
        written = self._condition(node)
        self.depth -= 1
        if len(written) > SIZE:
            raise ExpressionError(f"the condition would have more than {SIZE} characters")
        return written

    def _condition(self, node: Any) -> str:
        for word, sign in (("and", " and "), ("or", " or "), ("xor", " <> "), ("xnor", " = ")):
            if word in node:
                return "(" + sign.join(map(self.condition, node[word])) + ")"
        if "not" in node:
            return f"(not {self.condition(node['not'])})"
        for test, spelling in _TRUTH_TESTS.items():
            if test in node:
                return f"({self.condition(node[test])} {spelling})"
        if "xpath" in node:
            raise ExpressionError("SQL has no documents for `xpath` to query")
        for quantifier in ("any", "all", "none"):
            if quantifier in node:
                return self.elements(quantifier, node[quantifier], node["where"])
        left = node["term"] if "term" in node else {"attribute": node["attribute"]}
        return self.predicate(left, node["operator"], node)

    # Predicates

    def predicate(self, left: Any, operator: str, node: Any) -> str:
        match operator:
            case "exists" | "missing":
                there = self.exists(left)
                return there if operator == "exists" else f"(not {there})"
            case "is null" | "is not null":
                return self.presence(left, operator == "is not null")
            case "is unknown" | "is not unknown":
                if self.missing == "false":
                    return "false" if operator == "is unknown" else "true"
                return self.unknown(left, operator == "is not unknown")
        negated = operator.startswith("not ") or operator == "!="
        positive = "=" if operator == "!=" else operator.removeprefix("not ")
        if "right" in node:
            written = self.some([left, node["right"]], lambda a, b: self.compare(a, positive, b))
        else:
            given = node["values"] if "values" in node else [node["value"]]
            constants = [values.read(each, self.zone) for each in given]
            written = self.some([left], lambda value: self.test(value, positive, constants))
        if self.missing == "false":
            written = f"coalesce({written}, false)"
        return f"(not {written})" if negated else written

    def some(self, terms: list[Any], write: Callable[..., str]) -> str:
        """Whether some values of the terms satisfy the condition that `write` returns."""
        paths = [path for term in terms for path in self.paths(term)]
        if not paths:
            found = [self.terms().term(term) for term in terms]
            if any(value.sql is None for value in found):
                return UNKNOWN
            return write(*found)
        name, path = self.one(paths)
        variable, inner = self.enter(path)
        found = [self.terms(inner, name, path).term(term) for term in terms]
        if any(value.sql is None for value in found):
            return UNKNOWN
        dialect = self.scope.dialect
        given = " and ".join(f"{value.sql} is not null" for value in found)
        there = dialect.some(path.items, variable, f"({given})")
        holds = dialect.some(path.items, variable, f"coalesce({write(*found)}, false)")
        return f"(case when coalesce({there}, false) then {holds} end)"

    def one(self, paths: list[tuple[str | None, Path]]) -> tuple[str | None, Path]:
        if len(paths) > 1:
            raise ExpressionError(
                "a predicate on several lists, or on one twice, would test all pairs"
            )
        return paths[0]

    def paths(self, term: Any) -> Iterator[tuple[str | None, Path]]:
        """The lists whose values a term uses."""
        if "function" in term:
            if term["function"] == "size":
                return
            if term["function"] in ("coalesce", "type"):
                inner = [path for each in term["arguments"] for path in self.paths(each)]
                if inner:
                    raise ExpressionError(f"`{term['function']}` of a list cannot be written")
            for argument in term["arguments"]:
                yield from self.paths(argument)
        elif "attribute" in term or "it" in term:
            name = term.get("attribute")
            found = self.scope.find(name)
            if isinstance(found, Path):
                yield name, found

    def enter(self, path: Path) -> tuple[str, Scope]:
        variable = f"{self.variables}_{self.scope.depth + 1}"
        return variable, self.scope.inside(variable, path.element)

    def terms(
        self, inner: Scope | None = None, bound: str | None = None, path: Path | None = None
    ) -> Terms:
        """Writes terms; the values of a bound list are those of the element."""

        def attribute(name: str | None) -> Value:
            if inner is not None and path is not None and name == bound:
                assert inner.owner is not None
                found = inner.reach(inner.owner, path.element, path.names)
            else:
                found = self.scope.find(name)
            if isinstance(found, Path):
                raise ExpressionError("lists in a list cannot be written")
            if found.type.local and str(self.zone) not in ("UTC", "Etc/UTC"):
                raise ExpressionError(
                    f"{shown(found)} has no time zone, which databases read differently outside UTC"
                )
            return found

        return Terms(self.scope.dialect, self.zone, attribute, self.size, self.demand)

    def demand(self, column: str, kind: str) -> None:
        earlier = self.demands.setdefault(column, kind)
        if earlier != kind:
            raise ExpressionError(
                f"{column} is used as a {earlier} and as a {kind}; say its type with `columns`"
            )

    def size(self, term: Any) -> Value:
        if "function" in term:
            raise ExpressionError("`size` of a computed list cannot be written")
        found = self.scope.locate(term.get("attribute"))
        if isinstance(found, Path):
            if found.names:
                raise ExpressionError("`size` of a path through a list cannot be written")
            return Value(self.scope.dialect.size(found.items), integers(10))
        if found.sql is None:
            return NOTHING
        if found.free:
            self.demand(found.sql, "list")
            return Value(self.scope.dialect.size(found.sql), integers(10))
        there = f"{found.sql} is not null"
        if found.type.kind == "object":
            there = self.scope.dialect.present(found.sql)
        return Value(f"(case when {there} then 1 end)", integers(1))

    # Presence

    def presence(self, left: Any, there: bool) -> str:
        paths = list(self.paths(left))
        if paths:
            name, path = self.one(paths)
            variable, inner = self.enter(path)
            value = self.terms(inner, name, path).term(left)
            if value.sql is None:
                return "false" if there else "true"
            some = self.scope.dialect.some(path.items, variable, f"({value.sql} is not null)")
            some = f"coalesce({some}, false)"
            return some if there else f"(not {some})"
        value = self.terms().term(left)
        if value.sql is None:
            return "false" if there else "true"
        return f"({value.sql} is {'not ' if there else ''}null)"

    def unknown(self, left: Any, negated: bool) -> str:
        """Whether the subject of a predicate has no value."""
        if "function" in left and left["function"] in ("=", *_ORDERINGS, *_TEXT):
            parts = [self.presence(argument, negated) for argument in left["arguments"]]
            return "(" + (" and " if negated else " or ").join(parts) + ")"
        return self.presence(left, negated)

    def exists(self, left: Any) -> str:
        name = left.get("attribute")
        if self.scope.fields is None or name is None or self.scope.owner is not None:
            raise ExpressionError(
                "a row cannot tell null from missing if `columns` is not given; write `is not null`"
            )
        found = self.scope.find(name)
        if name not in self.scope.fields:
            if isinstance(found, Value) and found.sql is None:
                return "false"
            raise ExpressionError("a field cannot tell null from missing; write `is not null`")
        if isinstance(found, Path):
            if found.element.kind == "object":
                return "false"
            variable, _ = self.enter(found)
            item = self.scope.dialect.column(variable)
            some = self.scope.dialect.some(found.items, variable, f"({item} is not null)")
            return f"({found.items} is null or coalesce({some}, false))"
        return "false" if found.sql is None else "true"

    # Elements

    def elements(self, quantifier: str, items: Any, where: Any) -> str:
        if quantifier == "none":
            return f"(not {self.elements('any', items, where)})"
        found = self.scope.locate(items if isinstance(items, str) else None)
        if isinstance(found, Path):
            if found.names:
                raise ExpressionError("the elements of lists in a list cannot be written")
            written = self.of_list(quantifier, found, where)
        elif found.sql is None:
            written = UNKNOWN
        elif found.free:
            self.demand(found.sql, "list")
            written = self.of_list(quantifier, Path(found.sql, UNKNOWN_TYPE, ()), where)
        else:  # a single value or object is a list of one
            there = f"({found.sql} is not null)"
            if found.type.kind == "object":
                there = self.scope.dialect.present(found.sql)
            inner = self.within(self.scope.of(found.sql, found.type)).condition(where)
            written = f"(case when {there} then coalesce({inner}, false) end)"
        return f"coalesce({written}, false)" if self.missing == "false" else written

    def of_list(self, quantifier: str, path: Path, where: Any) -> str:
        variable, inner = self.enter(path)
        holds = f"coalesce({self.within(inner).condition(where)}, false)"
        some = self.scope.dialect.some
        if quantifier == "any":
            written = some(path.items, variable, holds)
        else:
            written = f"(not {some(path.items, variable, f'(not {holds})')})"
        return f"(case when {path.items} is not null then {written} end)"

    def within(self, scope: Scope) -> "Writer":
        return Writer(scope, self.zone, self.missing, self.variables, self.demands, self.depth)

    # Comparisons

    def test(self, value: Value, operator: str, constants: list[Constant]) -> str:
        """A predicate with constants, for a value that is not missing."""
        match operator:
            case "in":
                return self.among(value, constants)
            case "between":
                low, high = constants
                least = self.comparison(value, ">=", low)
                return f"({least} and {self.comparison(value, '<=', high)})"
            case "=" | "<" | "<=" | ">" | ">=":
                return self.comparison(value, operator, constants[0])
        return self.text_test(value, operator, constants[0].value)

    def text_test(self, value: Value, operator: str, pattern: str) -> str:
        dialect = self.scope.dialect
        value = self.terms().wanted(value, "string")
        if value.type.kind != "string":
            return self.false(value)
        assert value.sql is not None
        if operator == "like":
            return dialect.like(value.sql, _like(pattern))
        if operator == "matches":
            return dialect.matches(value.sql, pattern)
        written: str = getattr(dialect, _TEXT[operator])(value.sql, dialect.string(pattern))
        return written

    def false(self, *found: Value) -> str:
        """False if there are values."""
        there = " and ".join(f"{value.sql} is not null" for value in found)
        return f"(case when {there} then false end)"

    def true(self, *found: Value) -> str:
        there = " and ".join(f"{value.sql} is not null" for value in found)
        return f"(case when {there} then true end)"

    def comparable(self, value: Value, constant: Constant) -> bool:
        """Whether a value and a constant are comparable; gives a column of unknown type its type.

        Raises:
            ExpressionError: SQL would compare them differently.
        """
        wanted, kind = constant.type.kind, value.type.kind
        if value.free or kind in ("number", "time"):
            group = {"exact": "number", "timestamp": "time", "date": "time"}.get(wanted, wanted)
            if group == "span":
                raise ExpressionError("durations are written as differences of times only")
            if wanted == "exact" and max(constant.type.digits, constant.type.scale) > FLOAT_DIGITS:
                raise ExpressionError(
                    f"the number {constant.value} needs the column's type; say it with `columns`"
                )
            self.terms().wanted(value, group)
            return True
        if {kind, wanted} & {*_TIMES} and "string" in (kind, wanted):
            raise ExpressionError(f"text would be read as a time to compare {shown(value)} with it")
        if kind in _TIMES and wanted in _TIMES:
            return True
        return kind == wanted or (kind == "float" and wanted == "exact")

    def among(self, value: Value, constants: list[Constant]) -> str:
        tests = list(dict.fromkeys(self.comparison(value, "=", constant) for constant in constants))
        start = f"({value.sql} = "
        equal = [test.removeprefix(start)[:-1] for test in tests if test.startswith(start)]
        others = [test for test in tests if not test.startswith(start)]
        if equal:
            others.insert(0, f"({value.sql} in ({', '.join(equal)}))")
        if not others:
            return self.false(value)
        return others[0] if len(others) == 1 else "(" + " or ".join(others) + ")"

    def comparison(self, value: Value, operator: str, constant: Constant) -> str:
        """A comparison of a value that is not missing with a constant."""
        if not self.comparable(value, constant):
            return self.false(value)
        kind = value.type.kind
        if kind == "exact":
            return self.exact_test(value, operator, constant.value)
        if kind == "float":
            return self.float_test(value, operator, constant.value)
        if kind in ("timestamp", "date"):
            return self.time_test(value, operator, constant)
        if kind == "span":
            return self.span_test(value, operator, constant.value)
        first = str(value.sql)
        if constant.type.kind == "string" and operator != "=":
            first = self.scope.dialect.ordered(first)
        return f"({first} {operator} {self.terms().constant(constant).sql})"

    def exact_test(self, value: Value, operator: str, number: Decimal) -> str:
        """A comparison with a number of as many digits as the column has."""
        kind = value.type
        up = operator in ("<", ">=")
        near = values.rounded(number, kind.scale, up=up)
        if operator == "=" and near != number:
            return self.false(value)
        most = Decimal(10) ** (kind.digits - kind.scale)
        if abs(near) >= most:
            holds = (operator in ("<", "<=")) == (near > 0) and operator != "="
            return self.true(value) if holds else self.false(value)
        constant = self.terms().number(near, exact(len(near.as_tuple().digits), kind.scale))
        return f"({value.sql} {operator} {constant})"

    def float_test(self, value: Value, operator: str, number: Decimal) -> str:
        """A comparison with the nearest float; a float counts as its shortest decimal."""
        nearest = float(number)
        if nearest in (float("inf"), float("-inf")):
            raise ExpressionError(f"the number {number} is out of the range of floats")
        shortest = Decimal(repr(nearest))
        if operator == "=" and shortest != number:
            return self.false(value)
        if shortest < number:
            operator = {"<": "<=", ">=": ">"}.get(operator, operator)
        elif shortest > number:
            operator = {"<=": "<", ">": ">="}.get(operator, operator)
        return f"({value.sql} {operator} {self.scope.dialect.float(repr(nearest))})"

    def time_test(self, value: Value, operator: str, constant: Constant) -> str:
        wanted = constant.type.kind
        if value.type.kind == "date" and wanted == "date":
            text = self.scope.dialect.date(values.date_text(constant.value))
            return f"({value.sql} {operator} {text})"
        nanoseconds = constant.value
        if wanted == "date":
            nanoseconds = values.midnight(constant.value, self.zone)
        count, rest = divmod(nanoseconds, values.MICROSECOND)
        if rest and operator == "=":
            return self.false(value)
        if rest and operator in ("<", ">="):
            count += 1
        if value.moment:
            return f"({value.sql} {operator} {count})"
        if not FIRST <= count <= LAST:
            raise ExpressionError("the timestamp is outside the years 1 to 9999")
        time = str(value.sql)
        if value.type.kind == "date":
            time = self.scope.dialect.as_timestamp(time)
        return f"({time} {operator} {self.terms().moment(count * values.MICROSECOND)})"

    def span_test(self, value: Value, operator: str, nanoseconds: int) -> str:
        count, rest = divmod(nanoseconds, values.MICROSECOND)
        if rest and operator == "=":
            return self.false(value)
        if rest and operator in ("<", ">="):
            count += 1
        return f"({value.sql} {operator} {count})"

    def compare(self, left: Value, operator: str, right: Value) -> str:
        """A comparison of two terms that are not missing."""
        if left.constant is not None and right.constant is None and operator not in _TEXT:
            flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
            return self.compare(right, flipped, left)
        if right.constant is not None and operator not in _TEXT:
            return self.test(left, operator, [right.constant])
        if operator in _TEXT:
            terms = self.terms()
            left, right = terms.wanted(left, "string"), terms.wanted(right, "string")
            if left.type.kind != "string" or right.type.kind != "string":
                return self.false(left, right)
            written: str = getattr(self.scope.dialect, _TEXT[operator])(left.sql, right.sql)
            return written
        return self.of_types(*self.known(left, right), operator)

    def known(self, left: Value, right: Value) -> tuple[Value, Value]:
        if not left.free and not right.free:
            return left, right
        given = right if left.free else left
        if given.free or given.type.kind not in ("string", "boolean"):
            raise ExpressionError(
                f"the types of {shown(left)} and {shown(right)} are not known; "
                "say them with `columns`"
            )
        terms = self.terms()
        return terms.wanted(left, given.type.kind), terms.wanted(right, given.type.kind)

    def of_types(self, left: Value, right: Value, operator: str) -> str:
        kinds = {left.type.kind, right.type.kind}
        if kinds == {"exact"}:
            return self.exact_comparison(left, operator, right)
        if "float" in kinds and kinds <= {"float", "exact"}:
            for value in (left, right):
                if value.type.kind == "exact" and value.type.digits > FLOAT_DIGITS:
                    raise ExpressionError(
                        f"{shown(value)} would be rounded to be compared with a float"
                    )
            terms = self.terms()
            return f"({terms.as_float(left)} {operator} {terms.as_float(right)})"
        if kinds <= {"timestamp", "date"}:
            if kinds == {"date"} or not (left.moment or right.moment or "date" in kinds):
                return f"({left.sql} {operator} {right.sql})"
            terms = self.terms()
            first, second = terms.as_microseconds(left), terms.as_microseconds(right)
            return f"({first} {operator} {second})"
        if "string" in kinds and kinds & {*_TIMES}:
            raise ExpressionError("a time compared with text would be read from it")
        if len(kinds) > 1:
            return self.false(left, right)
        if kinds <= {"string", "boolean", "span"}:
            if "boolean" in kinds and operator != "=":
                return self.false(left, right)
            first, second = str(left.sql), str(right.sql)
            if "string" in kinds and operator != "=":
                ordered = self.scope.dialect.ordered
                first, second = ordered(first), ordered(second)
            return f"({first} {operator} {second})"
        raise ExpressionError(
            f"the types of {shown(left)} and {shown(right)} are not known; say them with `columns`"
        )

    def exact_comparison(self, left: Value, operator: str, right: Value) -> str:
        a, b = left.type, right.type
        if a.integer and b.integer:
            return f"({left.sql} {operator} {right.sql})"
        scale = max(a.scale, b.scale)
        digits = max(a.digits - a.scale, b.digits - b.scale) + scale
        if digits > DIGITS:
            raise ExpressionError(
                f"{shown(left)} and {shown(right)} need {digits} digits, more than {DIGITS}"
            )
        kind = f"decimal({digits}, {scale})"
        return f"(cast({left.sql} as {kind}) {operator} cast({right.sql} as {kind}))"


def shown(value: Value) -> str:
    """A piece of SQL, for messages."""
    text = str(value.sql)
    return text if len(text) <= 60 else text[:57] + "..."


def _like(pattern: str) -> str:
    """The pattern, with backslashes only before wildcards and backslashes."""
    result: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "\\")
            result.append("\\" + escaped if escaped in "\\%_" else escaped)
        else:
            result.append(character)
    return "".join(result)
