"""Expressions as SQL: of Spark, and of DuckDB.

SQL has the same three truth values. This module handles the differences: predicates on lists, the
number of a weekday, the time between two instants, and the names of some functions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from judge import language as tree
from judge.language import quoted

LISTS = {"tags", "nums"}
MOMENTS = {"ts", "us", "at"}


@dataclass
class Sql:
    """One dialect, in one scope: a row, or the element that a variable denotes."""

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

    def node(self, node: tree.Node) -> str:
        match node:
            case tree.Constant(value):
                return str(value).lower()
            case tree.Not(child):
                return f"(not {self.node(child)})"
            case tree.Joined("and" | "or" as connective, children):
                return "(" + f" {connective} ".join(map(self.node, children)) + ")"
            case tree.Joined(connective, (left, right)):
                sign = "<>" if connective == "xor" else "="
                return f"({self.node(left)} {sign} {self.node(right)})"
            case tree.Is(child, "unknown", negated):
                return f"({self.node(child)} is {'not ' if negated else ''}null)"
            case tree.Is(child, truth, negated):
                return f"({self.node(child)} is {'not ' if negated else ''}{truth})"
            case tree.Quantified(quantifier, tree.Attribute(name), inner):
                return self.quantified(quantifier, self.name(name), inner)
        return self.predicate(node)

    def quantified(self, quantifier: str, list: str, inner: tree.Node) -> str:
        variable = self.next_variable
        written = self.element(variable).node(inner)
        if quantifier == "all":
            return self.forall(list, variable, f"coalesce({written}, false)")
        some = self.exists(list, variable, written)
        some = f"(case when {list} is not null then coalesce({some}, false) end)"
        return some if quantifier == "any" else f"(not {some})"

    def predicate(self, node: tree.Node) -> str:
        match node:
            case tree.Comparison(tree.Attribute(name), "!=", right) if self.is_list(name):
                return f"(not {self.node(tree.Comparison(tree.Attribute(name), '=', right))})"
            case tree.Among(tree.Attribute(name), values, True) if self.is_list(name):
                return f"(not {self.node(tree.Among(tree.Attribute(name), values))})"
            case tree.Comparison(tree.Attribute(name), operator, right) if self.is_list(name):
                return self.in_list(name, lambda term: tree.Comparison(term, operator, right))
            case tree.Among(tree.Attribute(name), values) if self.is_list(name):
                return self.in_list(name, lambda term: tree.Among(term, values))
            case tree.Comparison(left, "<=>", right):
                return f"({self.term(left)} is not distinct from {self.term(right)})"
            case tree.Comparison(left, operator, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case tree.Distinct(left, right, negated):
                words = "is not distinct from" if negated else "is distinct from"
                return f"({self.term(left)} {words} {self.term(right)})"
            case tree.Among(term, values, negated):
                inside = ", ".join(map(self.term, values))
                return f"({self.term(term)} {'not ' if negated else ''}in ({inside}))"
            case tree.Between(term, low, high, negated):
                words = "not between" if negated else "between"
                return f"({self.term(term)} {words} {self.term(low)} and {self.term(high)})"
            case tree.Textual(term, operator, right, negated):
                name = operator.replace(" ", "_")
                written = self.function(name, [self.term(term), self.term(right)])
                return f"(not {written})" if negated else written
            case tree.Pattern(term, operator, pattern, negated):
                words = f"not {operator}" if negated else operator
                return f"({self.term(term)} {words} {quoted(pattern)})"
            case tree.Presence(term, operator):
                return f"({self.term(term)} {operator})"
        raise AssertionError(node)

    def is_list(self, name: str) -> bool:
        return name in LISTS or name.startswith("items.")

    def in_list(self, name: str, asked: Callable[[tree.Term], tree.Node]) -> str:
        """Some value of a list; unknown if the list has only nulls."""
        list, _, path = name.partition(".")
        variable = self.next_variable
        inside = self.element(variable)
        term: tree.Term = tree.Attribute(path) if path else tree.It()
        written = inside.node(asked(term))
        given = self.exists(self.name(list), variable, f"({inside.term(term)} is not null)")
        some = self.exists(self.name(list), variable, written)
        return f"(case when {given} then coalesce({some}, false) end)"

    def name(self, name: str) -> str:
        return name if self.variable is None else f"{self.variable}.{name}"

    def term(self, term: tree.Term) -> str:
        match term:
            case tree.Attribute(name):
                return self.name(name)
            case tree.It():
                assert self.variable is not None
                return self.variable
            case tree.Literal("timestamp", written):
                return self.moment(written)
            case tree.Literal("number", written):
                return f"({written})"
            case tree.Literal("boolean", written):
                return written
            case tree.Literal("string", written):
                return quoted(written)
            case tree.Literal("interval", written, unit):
                return f"(interval {quoted(written)} {unit})"
            case tree.Literal(kind, written):
                return f"{kind} {quoted(written)}"
            case tree.Negative(operand):
                return f"(-{self.term(operand)})"
            case tree.Arithmetic("-", tree.Attribute(left), tree.Attribute(right)) if {
                left,
                right,
            } <= MOMENTS:
                return self.between(self.name(left), self.name(right))
            case tree.Arithmetic(operator, left, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case tree.Call("size", (inner,)):
                return self.size(self.term(inner))
            case tree.Call(function, arguments):
                return self.function(function, [self.term(argument) for argument in arguments])
            case tree.Cast():
                raise AssertionError("casts differ")

    def moment(self, written: str) -> str:
        return f"timestamp {quoted(written)}"

    def between(self, end: str, start: str) -> str:
        return f"({end} - {start})"


class SparkSql(Sql):
    def between(self, end: str, start: str) -> str:
        # Spark's own `-` subtracts local times.
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
                # DuckDB would convert an integer to a float.
                return f"{name}({inside} + 0.0)"
        return f"{name}({inside})"

    def moment(self, written: str) -> str:
        return f"timestamptz {quoted(written)}"
