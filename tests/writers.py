"""Writes an expression of the oracle in three ways: text, JSON form, builder.

Each writer makes choices that must not matter (parentheses, spelling, white space, the order of
members), taken from a random generator.
"""

import re
from random import Random
from typing import TYPE_CHECKING, Any

import oracle
import tamis
from oracle import And, Constant, Node, Not, Or, Predicate, Value, Xnor, Xor
from tamis import Expression, attr, weighted

if TYPE_CHECKING:
    from tamis.builder import Value as Operand

RESERVED = {
    *("and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false")
}
SYMBOLS = {"and": "&&", "or": "||", "not": "!", "=": "==", "!=": "<>"}
BLANKS = [" ", " ", " ", "  ", "\n", "\t", "\r\n", " -- it's (a comment\n"]


# Text


def text(node: Node, random: Random) -> str:
    match node:
        case Constant(value):
            return word(str(value), random)
        case Predicate():
            return predicate_text(node, random)
        case Not(child):
            blank = random.choice(BLANKS)
            return f"{word('not', random)}{blank}{child_text(child, 3, random)}"
        case And(children) | Or(children):
            connective, level = ("and", 2) if isinstance(node, And) else ("or", 0)
            if not children:
                return word(str(isinstance(node, And)), random)
            if len(children) == 1:
                return f"({text(children[0], random)})"
            written = [child_text(child, level, random) for child in children]
            return join(written, connective, random)
        case Xor(left, right) | Xnor(left, right):
            connective = "xor" if isinstance(node, Xor) else "xnor"
            written = [child_text(left, 1, random), child_text(right, 1.5, random)]
            return join(written, connective, random)


def child_text(node: Node, level: float, random: Random) -> str:
    """A child, in parentheses if its operator binds less tightly, and sometimes otherwise."""
    written = text(node, random)
    match node:
        case Or(children) if len(children) > 1:
            own = 0
        case Xor() | Xnor():
            own = 1
        case And(children) if len(children) > 1:
            own = 2
        case Not():
            own = 3
        case _:
            own = 4
    return f"({written})" if own < level or random.random() < 0.2 else written


def join(texts: list[str], connective: str, random: Random) -> str:
    written = texts[0]
    for text in texts[1:]:
        before, after = random.choice(BLANKS), random.choice(BLANKS)
        written += f"{before}{word(connective, random)}{after}{text}"
    return written


def word(keyword: str, random: Random) -> str:
    spellings = [keyword.lower(), keyword.upper(), keyword.title()]
    return random.choice([*spellings, SYMBOLS.get(keyword, keyword.lower())])


def predicate_text(predicate: Predicate, random: Random) -> str:
    operator = predicate.operator
    name = name_text(predicate.attribute, random)
    values = [value_text(value) for value in predicate.operands]
    if predicate.weights:
        first = len(values) - len(
            predicate.weights
        )  # the weight of `between` follows its upper bound
        for position, weight in enumerate(predicate.weights, first):
            values[position] += f"^{weight!r}"
    spelled = word(operator, random)
    bare = operator == "=" and predicate.operands[0] is True and not predicate.weights
    if operator in ("exists", "missing"):
        return f"{spelled}({name})"
    if bare and random.random() < 0.5:
        return name
    if operator in ("in", "not in"):
        return f"{name} {spelled} ({', '.join(values)})"
    if operator in ("between", "not between"):
        return f"{name} {spelled} {join(values, 'and', random)}"
    return " ".join([name, spelled, *values])


def name_text(name: str, random: Random) -> str:
    plain = re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name, re.ASCII) or name == "größe"
    if plain and name.lower() not in RESERVED and random.random() < 0.8:
        return name
    return '"' + name.replace('"', '""') + '"'


def value_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


# JSON form, as an argument of `json.dumps`


def form(node: Node, random: Random) -> Any:
    match node:
        case Constant(value):
            return value
        case Predicate():
            return predicate_form(node, random)
        case Not(child):
            return {"not": form(child, random)}
        case And(children) | Or(children):
            key = "and" if isinstance(node, And) else "or"
            return {key: [form(child, random) for child in children]}
        case Xor(left, right) | Xnor(left, right):
            key = "xor" if isinstance(node, Xor) else "xnor"
            return {key: [form(left, random), form(right, random)]}


def predicate_form(predicate: Predicate, random: Random) -> dict[str, Any]:
    members: dict[str, Any] = {
        "attribute": predicate.attribute,
        "operator": predicate.operator,
    }
    positive = oracle.POSITIVE.get(predicate.operator, predicate.operator)
    if positive in ("in", "between"):
        members["values"] = list(predicate.operands)
    elif predicate.operands:
        members["value"] = predicate.operands[0]
    if predicate.weights and positive == "in":
        members["weights"] = list(predicate.weights)
    elif predicate.weights:
        members["weight"] = predicate.weights[0]
    names = list(members)
    random.shuffle(names)
    return {name: members[name] for name in names}


# Builder


def build(node: Node, random: Random) -> Expression:
    match node:
        case Constant(value):
            return Expression.constant(value)
        case Predicate():
            return build_predicate(node, random)
        case Not(child):
            return ~build(child, random)
        case And(children) | Or(children):
            built = [build(child, random) for child in children]
            if len(built) == 2 and random.random() < 0.5:
                return built[0] & built[1] if isinstance(node, And) else built[0] | built[1]
            return tamis.all_of(built) if isinstance(node, And) else tamis.any_of(built)
        case Xor(left, right):
            return build(left, random) ^ build(right, random)
        case Xnor(left, right):
            return build(left, random).xnor(build(right, random))


def build_predicate(predicate: Predicate, random: Random) -> Expression:
    attribute = attr[predicate.attribute]
    if random.random() < 0.3:
        head, *rest = predicate.attribute.split(".")
        attribute = attr[head]
        for part in rest:
            attribute = attribute[part]
    operands: list[Operand] = list(predicate.operands)
    first = len(operands) - len(predicate.weights)
    for position, weight in enumerate(predicate.weights, first):
        operands[position] = weighted(predicate.operands[position], weight)
    match predicate.operator:
        case "=":
            return attribute == operands[0]
        case "!=":
            return attribute != operands[0]
        case "<":
            return attribute < operands[0]
        case "<=":
            return attribute <= operands[0]
        case ">":
            return attribute > operands[0]
        case ">=":
            return attribute >= operands[0]
        case "in":
            return attribute.isin(operands)
        case "not in":
            return attribute.not_in(operands)
        case "between":
            return attribute.between(predicate.operands[0], operands[1])
        case "not between":
            return attribute.not_between(predicate.operands[0], operands[1])
        case "like":
            return attribute.like(operands[0])
        case "not like":
            return attribute.not_like(operands[0])
        case "starts with":
            return attribute.startswith(operands[0])
        case "ends with":
            return attribute.endswith(operands[0])
        case "contains":
            return attribute.contains(operands[0])
        case "matches":
            return attribute.matches(operands[0])
        case "not starts with":
            return attribute.not_startswith(operands[0])
        case "not ends with":
            return attribute.not_endswith(operands[0])
        case "not contains":
            return attribute.not_contains(operands[0])
        case "not matches":
            return attribute.not_matches(operands[0])
        case "exists":
            return attribute.exists()
        case "missing":
            return attribute.missing()
        case "is null":
            return attribute.is_null()
        case "is not null":
            return attribute.is_not_null()
    raise AssertionError(f"no method for {predicate.operator}")
