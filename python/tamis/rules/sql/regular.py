r"""Converts regular expressions of databases, whose classes are ASCII only.

In Tamis `\d` is any digit of Unicode. In Java's regular expressions, which Spark uses, and in those
of PostgreSQL and DuckDB it is 0 to 9.
"""

from tamis.rules.result import RuleError

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\x0B\\f\\r "}


def with_ascii_classes(pattern: str) -> str:
    r"""The pattern with `\d`, `\w`, `\s` and their negations spelled out.

    Raises:
        RuleError: A negated class occurs inside brackets, which cannot be spelled out.
    """
    result: list[str] = []
    characters = iter(pattern)
    brackets = 0
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            result.append(_escape(escaped, brackets > 0))
            continue
        if character == "[":
            brackets += 1
        elif character == "]" and brackets:
            brackets -= 1
        result.append(character)
    return "".join(result)


def _escape(character: str, inside: bool) -> str:
    members = _CLASSES.get(character.lower())
    if character in ("b", "B") and not inside:
        return f"(?-u:\\{character})"
    if members is None:
        return "\\" + character
    if character.islower():
        return members if inside else f"[{members}]"
    if inside:
        raise RuleError(f"a regular expression with \\{character} inside brackets is not supported")
    return f"[^{members}]"
