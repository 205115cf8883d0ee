"""MongoDB-style conditions, as documents of JSON or Python.

>>> from tamis.rules import mongo
>>> print(mongo.parse({"age": {"$gte": 18}, "country": {"$in": ["FR", "DE"]}}))
age >= 18 and country in ('DE', 'FR')

Besides MongoDB's comparison, logical, array and element operators, this supports those that
feature-flag libraries add: versions (`$veq`, `$vgt` ...), text in any case (`$ini`, `$nini`,
`$alli`, `$regexi`), `$notRegex`, and saved groups (`$inGroup`, `$notInGroup`), whose values you
pass as sets.

As in MongoDB, negations hold for missing fields and null equals missing. The expressions do not
depend on the index's `missing`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from tamis._tamis import Expression
from tamis.rules import json_input, writing
from tamis.rules.result import ReadRules, RuleError

Groups: TypeAlias = Mapping[str, Iterable[Any]]
_Operator: TypeAlias = Callable[["_Field", Any], str]

_TYPES = {
    "string": "string",
    "number": "number",
    "int": "number",
    "long": "number",
    "double": "number",
    "decimal": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "null": "null",
    "array": "list",
    "object": "object",
    "undefined": "missing",
    1: "number",
    2: "string",
    3: "object",
    4: "list",
    8: "boolean",
    10: "null",
    16: "number",
    18: "number",
    19: "number",
}
_ONLY_SOME_NUMBERS = {"int", "long", "double", "decimal", 1, 16, 18, 19}


def parse(
    condition: str | bytes | Mapping[str, Any], *, groups: Groups | None = None
) -> Expression:
    """Read one condition, as JSON text or as a mapping.

    Args:
        condition: The condition.
        groups: The values of saved groups by name, for `$inGroup` and `$notInGroup`.

    Raises:
        RuleError: The condition is invalid, or has no exact translation.
    """
    if isinstance(condition, str | bytes):
        condition = json_input.load(condition)
    else:
        json_input.check_depth(condition)
    if not isinstance(condition, Mapping):
        raise RuleError("a condition must be an object")
    return Expression.parse(_document(condition, groups or {}))


def read(
    source: str | Path | Mapping[str, Any],
    *,
    groups: Groups | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadRules:
    """Read many conditions by id: a JSON file or text, or a mapping. For one, use `parse`.

    A JSON text is one object, or lines of `{"id": ..., "condition": {...}}`. A bad condition does
    not affect the others.

    Raises:
        RuleError: The file cannot be read.
        TypeError: The source is neither a path, nor text, nor a mapping.
    """
    return json_input.read_many(
        source, "condition", lambda rule: parse(rule, groups=groups), progress, _is_part
    )


def _is_part(name: str, value: Any) -> bool:
    """Whether a member is a field of a condition, such as `"age": {"$gte": 18}`."""
    if name.startswith("$"):
        return True
    if isinstance(value, str):
        return not value.lstrip().startswith("{")  # a condition may be JSON text
    if _is_operators(value):  # `$not` may also start a condition
        return any(key in _OPERATORS and key != "$not" for key in value) or "$regex" in value
    return isinstance(value, list | bool | int | float | Decimal)


def _document(condition: Mapping[str, Any], groups: Groups) -> str:
    parts = []
    for key, operand in condition.items():
        if not isinstance(key, str):
            raise RuleError(f"the key {key!r} is not a string")
        if key in ("$and", "$or", "$nor"):
            parts.append(_logical(key, operand, groups))
        elif key == "$not":
            if not isinstance(operand, Mapping):
                raise RuleError("`$not` takes an object")
            parts.append(writing.untrue(_document(operand, groups)))
        elif key.startswith("$"):
            raise RuleError(f"`{key}` is not an operator that is allowed beside fields")
        else:
            parts.append(_field(_Field(_path(key), groups), operand))
    return writing.all_of(parts)


def _logical(key: str, operand: Any, groups: Groups) -> str:
    if not isinstance(operand, list) or not all(isinstance(item, Mapping) for item in operand):
        raise RuleError(f"`{key}` takes an array of objects")
    if not operand:
        raise RuleError(f"`{key}` takes at least one object")
    parts = [_document(item, groups) for item in operand]
    if key == "$and":
        return writing.all_of(parts)
    return writing.any_of(parts) if key == "$or" else writing.untrue(writing.any_of(parts))


def _path(key: str) -> str:
    for part in key.split("."):
        if not part:
            raise RuleError(f"the path {json.dumps(key)} has an empty part")
        if part.isdigit():
            raise RuleError(
                f"the path {json.dumps(key)} contains an array position; "
                "Tamis does not store positions"
            )
    return key


class _Field:
    """The subject of operators: a field, or the element of an array."""

    def __init__(self, path: str | None, groups: Groups) -> None:
        self.subject = "it" if path is None else writing.name(path)
        self.shown = "an element" if path is None else f"`{path}`"
        self.groups = groups

    def wrong(self, operator: str, needs: str) -> RuleError:
        return RuleError(f"`{operator}` of {self.shown} takes {needs}")


def _field(field: _Field, operand: Any) -> str:
    if _is_operators(operand):
        return _operators(field, operand)
    return _equal(field, operand)


def _is_operators(operand: Any) -> bool:
    return (
        isinstance(operand, Mapping)
        and bool(operand)
        and all(isinstance(key, str) and key.startswith("$") for key in operand)
    )


def _operators(field: _Field, operators: Mapping[str, Any]) -> str:
    parts = []
    for operator, operand in operators.items():
        if operator == "$options":
            if "$regex" not in operators:
                raise RuleError(f"`$options` of {field.shown} needs `$regex` beside it")
        elif operator == "$regex":
            parts.append(_regex(field, operand, operators.get("$options", "")))
        elif operator in _OPERATORS:
            parts.append(_OPERATORS[operator](field, operand))
        else:
            known = ", ".join(sorted([*_OPERATORS, "$regex", "$options"]))
            raise RuleError(f"{field.shown}: there is no operator `{operator}`; known are {known}")
    return writing.all_of(parts)


def _scalar(field: _Field, operator: str, value: Any) -> str:
    if isinstance(value, Mapping):
        raise RuleError(
            f"`{operator}` of {field.shown} compares with an object, which Tamis does not"
        )
    if isinstance(value, list | tuple):
        raise RuleError(
            f"`{operator}` of {field.shown} compares with an array, which Tamis does not"
        )
    if not isinstance(value, str | bool | int | float | Decimal):
        raise field.wrong(operator, f"a value of JSON, not {type(value).__name__}")
    return writing.constant(value)


def _equal(field: _Field, value: Any) -> str:
    if value is None:
        return _is_null(field)
    return f"{field.subject} = {_scalar(field, '$eq', value)}"


def _is_null(field: _Field) -> str:
    if field.subject == "it":
        return "it is null"
    return f"{field.subject} is null or any({field.subject}, it is null)"


def _not_equal(field: _Field, value: Any) -> str:
    return writing.untrue(_equal(field, value))


def _ordering(symbol: str) -> _Operator:
    def compare(field: _Field, value: Any) -> str:
        if value is None or isinstance(value, bool):
            raise field.wrong(f"ordering `{symbol}`", "a number or a string")
        return f"{field.subject} {symbol} {_scalar(field, symbol, value)}"

    return compare


def _in(field: _Field, values: Any) -> str:
    if not isinstance(values, list | tuple):
        raise field.wrong("$in", "an array")
    parts = []
    scalars = [_scalar(field, "$in", value) for value in values if value is not None]
    if scalars:
        parts.append(f"{field.subject} in ({', '.join(scalars)})")
    if None in values:
        parts.append(_is_null(field))
    return writing.any_of(parts)


def _not_in(field: _Field, values: Any) -> str:
    return writing.untrue(_in(field, values))


def _folded_in(field: _Field, values: Any) -> str:
    if not isinstance(values, list | tuple):
        raise field.wrong("$ini", "an array")
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    parts = [_in(field, others)] if others else []
    if texts:
        folded = ", ".join(writing.string(writing.fold(text)) for text in texts)
        parts.append(f"lower({field.subject}) in ({folded})")
    return writing.any_of(parts)


def _all(field: _Field, values: Any) -> str:
    if not isinstance(values, list | tuple):
        raise field.wrong("$all", "an array")
    if not values:
        return writing.FALSE
    return writing.all_of(_each(field, value) for value in values)


def _each(field: _Field, value: Any) -> str:
    if isinstance(value, Mapping) and list(value) == ["$elemMatch"]:
        return _element_match(field, value["$elemMatch"])
    return _equal(field, value)


def _folded_all(field: _Field, values: Any) -> str:
    if not isinstance(values, list | tuple):
        raise field.wrong("$alli", "an array")
    if not values:
        return writing.FALSE
    return writing.all_of(_folded_in(field, [value]) for value in values)


def _exists(field: _Field, operand: Any) -> str:
    if not isinstance(operand, bool):
        raise field.wrong("$exists", "true or false")
    found = f"type({field.subject}) is not null or exists({field.subject})"
    if field.subject == "it":
        raise RuleError("`$exists` tests a field, not an element")
    return f"({found})" if operand else writing.negated(found)


def _type(field: _Field, operand: Any) -> str:
    operands = operand if isinstance(operand, list) else [operand]
    parts = []
    for item in operands:
        kind = (
            _TYPES.get(item) if isinstance(item, str | int) and not isinstance(item, bool) else None
        )
        if kind is None:
            known = ", ".join(key for key in _TYPES if isinstance(key, str))
            raise field.wrong("$type", f"one of {known}")
        if item in _ONLY_SOME_NUMBERS:
            raise RuleError(
                f"`$type` of {field.shown}: Tamis has one kind of number; "
                f"write `number` instead of `{item}`"
            )
        if kind == "missing":
            raise RuleError(
                f"`$type` of {field.shown}: write `$exists` for a field that is not there"
            )
        parts.append(f"type({field.subject}) = '{kind}'")
    return writing.any_of(parts)


def _size(field: _Field, operand: Any) -> str:
    if _is_operators(operand):
        inner = _Field(None, field.groups)
        inner.subject = f"size({field.subject})"
        counted = _operators(inner, operand)
    elif isinstance(operand, int) and not isinstance(operand, bool) and operand >= 0:
        counted = f"size({field.subject}) = {operand}"
    else:
        raise field.wrong("$size", "a number of elements")
    return f"type({field.subject}) = 'list' and ({counted})"


def _element_match(field: _Field, operand: Any) -> str:
    if not isinstance(operand, Mapping):
        raise field.wrong("$elemMatch", "an object")
    if _is_operators(operand) and not set(operand) & {"$and", "$or", "$nor"}:
        inner = _operators(_Field(None, field.groups), operand)
    else:
        inner = _document(operand, field.groups)
    return f"type({field.subject}) = 'list' and any({field.subject}, {inner})"


def _not(field: _Field, operand: Any) -> str:
    if isinstance(operand, str):
        return writing.untrue(_regex(field, operand, ""))
    if not _is_operators(operand):
        raise field.wrong("$not", "operators")
    return writing.untrue(_operators(field, operand))


def _regex(field: _Field, operand: Any, options: Any) -> str:
    if isinstance(operand, re.Pattern):
        flags = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
        options = "".join(letter for flag, letter in flags.items() if operand.flags & flag)
        operand = operand.pattern
    if not isinstance(operand, str):
        raise field.wrong("$regex", "a regular expression as a string")
    if not isinstance(options, str) or set(options) - set("imsxu"):
        raise field.wrong("$options", "letters of `imsx`")
    letters = "".join(sorted(set(options) - {"u"}))
    pattern = f"(?{letters}){operand}" if letters else operand
    return f"{field.subject} matches {writing.string(pattern)}"


def _version(symbol: str) -> _Operator:
    def compare(field: _Field, value: Any) -> str:
        if not isinstance(value, str):
            raise field.wrong(f"version `{symbol}`", "a version as a string")
        return f"{field.subject} {symbol} version {writing.string(value)}"

    return compare


def _in_group(field: _Field, name: Any) -> str:
    if not isinstance(name, str):
        raise field.wrong("$inGroup", "the name of a group")
    if name not in field.groups:
        raise RuleError(f"{field.shown}: the group {json.dumps(name)} is unknown")
    return _in(field, list(field.groups[name]))


def _negation(operator: _Operator) -> _Operator:
    return lambda field, operand: writing.untrue(operator(field, operand))


_OPERATORS: dict[str, _Operator] = {
    "$eq": _equal,
    "$ne": _not_equal,
    "$gt": _ordering(">"),
    "$gte": _ordering(">="),
    "$lt": _ordering("<"),
    "$lte": _ordering("<="),
    "$in": _in,
    "$nin": _not_in,
    "$exists": _exists,
    "$type": _type,
    "$not": _not,
    "$all": _all,
    "$size": _size,
    "$elemMatch": _element_match,
    "$veq": _version("="),
    "$vne": _negation(_version("=")),
    "$vgt": _version(">"),
    "$vgte": _version(">="),
    "$vlt": _version("<"),
    "$vlte": _version("<="),
    "$ini": _folded_in,
    "$nini": _negation(_folded_in),
    "$alli": _folded_all,
    "$regexi": lambda field, operand: _regex(field, operand, "i"),
    "$notRegex": lambda field, operand: writing.untrue(_regex(field, operand, "")),
    "$notRegexi": lambda field, operand: writing.untrue(_regex(field, operand, "i")),
    "$inGroup": _in_group,
    "$notInGroup": _negation(_in_group),
}
