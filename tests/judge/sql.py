"""Expressions as SQL: of Spark, and of DuckDB.

SQL's own three values are ours. What differs is said here: how lists are asked, the number of a
weekday, the time between two moments, and the names of some functions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from judge.language import (
    Among,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Cast,
    Comparison,
    Constant,
    Distinct,
    Is,
    It,
    Joined,
    Literal,
    Negative,
    Node,
    Not,
    Pattern,
    Presence,
    Quantified,
    Term,
    Textual,
    quoted,
)

LISTS = {"tags", "nums"}
MOMENTS = {"ts", "us", "at"}


@dataclass
class Sql:
    """One dialect, in one scope: a row, or the element that a variable stands for."""

    variable: str | None = None

    def exists(self, list: str, variable: str, inner: str) -> str:
        raise NotImplementedError

    def forall(self, list: str, variable: str, inner: str) -> str:
        raise NotImplementedError

    def size(self, list: str) -> str:
        raise NotImplementedError

    def function(self, name: str, arguments: list[str]) -> str:
        raise NotImplementedError

    def element(self, variable: str) -> "Sql":
        return type(self)(variable)

    @property
    def next_variable(self) -> str:
        return "x" if self.variable is None else self.variable + "x"

    def node(self, node: Node) -> str:
        match node:
            case Constant(value):
                return str(value).lower()
            case Not(operand):
                return f"(not {self.node(operand)})"
            case Joined("and" | "or" as connective, operands):
                return "(" + f" {connective} ".join(map(self.node, operands)) + ")"
            case Joined(connective, (left, right)):
                sign = "<>" if connective == "xor" else "="
                return f"({self.node(left)} {sign} {self.node(right)})"
            case Is(operand, "unknown", negated):
                return f"({self.node(operand)} is {'not ' if negated else ''}null)"
            case Is(operand, truth, negated):
                return f"({self.node(operand)} is {'not ' if negated else ''}{truth})"
            case Quantified(quantifier, Attribute(name), inner):
                return self.quantified(quantifier, self.name(name), inner)
        return self.predicate(node)

    def quantified(self, quantifier: str, list: str, inner: Node) -> str:
        variable = self.next_variable
        written = self.element(variable).node(inner)
        if quantifier == "all":
            return self.forall(list, variable, f"coalesce({written}, false)")
        some = self.exists(list, variable, written)
        some = f"(case when {list} is not null then coalesce({some}, false) end)"
        return some if quantifier == "any" else f"(not {some})"

    def predicate(self, node: Node) -> str:
        match node:
            case Comparison(Attribute(name), "!=", right) if self.is_list(name):
                return f"(not {self.node(Comparison(Attribute(name), '=', right))})"
            case Among(Attribute(name), values, True) if self.is_list(name):
                return f"(not {self.node(Among(Attribute(name), values))})"
            case Comparison(Attribute(name), operator, right) if self.is_list(name):
                return self.in_list(name, lambda term: Comparison(term, operator, right))
            case Among(Attribute(name), values) if self.is_list(name):
                return self.in_list(name, lambda term: Among(term, values))
            case Comparison(left, "<=>", right):
                return f"({self.term(left)} is not distinct from {self.term(right)})"
            case Comparison(left, operator, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case Distinct(left, right, negated):
                words = "is not distinct from" if negated else "is distinct from"
                return f"({self.term(left)} {words} {self.term(right)})"
            case Among(term, values, negated):
                inside = ", ".join(map(self.term, values))
                return f"({self.term(term)} {'not ' if negated else ''}in ({inside}))"
            case Between(term, low, high, negated):
                words = "not between" if negated else "between"
                return f"({self.term(term)} {words} {self.term(low)} and {self.term(high)})"
            case Textual(term, operator, right, negated):
                name = operator.replace(" ", "_")
                written = self.function(name, [self.term(term), self.term(right)])
                return f"(not {written})" if negated else written
            case Pattern(term, operator, pattern, negated):
                words = f"not {operator}" if negated else operator
                return f"({self.term(term)} {words} {quoted(pattern)})"
            case Presence(term, operator):
                return f"({self.term(term)} {operator})"
        raise AssertionError(node)

    def is_list(self, name: str) -> bool:
        return name in LISTS or name.startswith("items.")

    def in_list(self, name: str, asked: Callable[[Term], Node]) -> str:
        """Some value of a list; unknown where the list has none but nulls."""
        list, _, path = name.partition(".")
        variable = self.next_variable
        inside = self.element(variable)
        term: Term = Attribute(path) if path else It()
        written = inside.node(asked(term))
        given = self.exists(self.name(list), variable, f"({inside.term(term)} is not null)")
        some = self.exists(self.name(list), variable, written)
        return f"(case when {given} then coalesce({some}, false) end)"

    def name(self, name: str) -> str:
        return name if self.variable is None else f"{self.variable}.{name}"

    def term(self, term: Term) -> str:
        match term:
            case Attribute(name):
                return self.name(name)
            case It():
                assert self.variable is not None
                return self.variable
            case Literal("timestamp", written):
                return self.moment(written)
            case Literal("number", written):
                return f"({written})"
            case Literal("boolean", written):
                return written
            case Literal("string", written):
                return quoted(written)
            case Literal("interval", written, unit):
                return f"(interval {quoted(written)} {unit})"
            case Literal(kind, written):
                return f"{kind} {quoted(written)}"
            case Negative(operand):
                return f"(-{self.term(operand)})"
            case Arithmetic("-", Attribute(left), Attribute(right)) if {left, right} <= MOMENTS:
                return self.between(self.name(left), self.name(right))
            case Arithmetic(operator, left, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case Call("size", (inner,)):
                return self.size(self.term(inner))
            case Call(function, arguments):
                return self.function(function, [self.term(argument) for argument in arguments])
            case Cast():
                raise AssertionError("casts differ")

    def moment(self, written: str) -> str:
        return f"timestamp {quoted(written)}"

    def between(self, end: str, start: str) -> str:
        return f"({end} - {start})"


class SparkSql(Sql):
    def between(self, end: str, start: str) -> str:
        # Spark's own `-` subtracts what clocks show.
        micros = f"cast(unix_micros({end}) - unix_micros({start}) as decimal(18, 0))"
        return f"make_dt_interval(0, 0, 0, cast({micros} / 1000000 as decimal(18, 6)))"

    def exists(self, list: str, variable: str, inner: str) -> str:
        return f"exists({list}, {variable} -> {inner})"

    def forall(self, list: str, variable: str, inner: str) -> str:
        return f"forall({list}, {variable} -> {inner})"

    def size(self, list: str) -> str:
        return f"size({list})"

    def function(self, name: str, arguments: list[str]) -> str:
        inside = ", ".join(arguments)
        match name:
            case "weekday":
                return f"(weekday({inside}) + 1)"
            case "date":
                return f"cast({inside} as date)"
            case "starts_with" | "ends_with":
                name = name.replace("_", "")
        return f"{name}({inside})"


class DuckSql(Sql):
    def exists(self, list: str, variable: str, inner: str) -> str:
        return f"(len(list_filter({list}, lambda {variable}: {inner})) > 0)"

    def forall(self, list: str, variable: str, inner: str) -> str:
        return f"(len(list_filter({list}, lambda {variable}: {inner})) = len({list}))"

    def size(self, list: str) -> str:
        return f"len({list})"

    def function(self, name: str, arguments: list[str]) -> str:
        inside = ", ".join(arguments)
        match name:
            case "weekday":
                return f"isodow({inside})"
            case "date":
                return f"cast({inside} as date)"
            case "concat":
                return "(" + " || ".join(arguments) + ")"
            case "ceil" | "floor":
                # Of an integer, DuckDB makes a float.
                return f"{name}({inside} + 0.0)"
        return f"{name}({inside})"

    def moment(self, written: str) -> str:
        return f"timestamptz {quoted(written)}"
