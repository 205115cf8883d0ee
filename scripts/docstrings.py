"""Keep the docstrings of the native module equal to those of the stub.

`write` copies them from `python/tamis/_tamis.pyi` into the `///` comments of `crates/tamis-python`;
`check` fails if they differ. `help()` shows the native ones; editors and the reference show the
stub, which is the source.
"""

import ast
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUB = ROOT / "python/tamis/_tamis.pyi"
SOURCES = ROOT / "crates/tamis-python/src"

_CLASS = re.compile(r"^(?:pub )?struct (\w+)")
_METHODS = re.compile(r"^impl (\w+) \{")
_FUNCTION = re.compile(r"^ *(?:pub(?:\(crate\))? )?fn (\w+)")
_NAME = re.compile(r'\bname = "(\w+)"')


def stub_docstrings() -> dict[str, str]:
    """The docstrings of the stub, by the names of classes and `Class.method`."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            found[node.name] = text
        if not isinstance(node, ast.ClassDef):
            continue
        if text := ast.get_docstring(node):
            found[node.name] = text
        for member in node.body:  # the last overload has the docstring
            if isinstance(member, ast.FunctionDef) and (text := ast.get_docstring(member)):
                found[f"{node.name}.{member.name}"] = text
    return found


def rewrite(source: str, docstrings: dict[str, str]) -> str:
    """A Rust source with the docstrings of the stub."""
    lines, out, owner, exported = source.splitlines(), list[str](), "", False
    attributes = list[str]()  # comments and attributes that precede an item
    for line in lines:
        stripped = line.strip()
        if attributes and _is_open("\n".join(attributes)):
            attributes.append(line)
            continue
        if stripped.startswith(("///", "#[")):
            attributes.append(line)
            continue
        text = "\n".join(attributes)
        name = None
        if "#[pymethods]" in text and (impl := _METHODS.match(line)):
            owner, exported = impl[1], True
        elif line == "}":
            exported = False
        elif found := _exported(text, line):
            name = found
        elif exported and (method := _FUNCTION.match(line)) and "#[new]" not in text:
            renamed = _NAME.search(text) if "#[pyo3" in text else None
            name = f"{owner}.{renamed[1] if renamed else method[1]}"
        if name in docstrings:
            indent = line[: len(line) - len(line.lstrip())]
            attributes = [each for each in attributes if not each.strip().startswith("///")]
            comment = [f"{indent}/// {part}".rstrip() for part in docstrings[name].splitlines()]
            attributes = [*comment, *attributes]
        out += [*attributes, line]
        attributes = []
    return "\n".join(out) + "\n"


def _exported(attributes: str, line: str) -> str | None:
    """The name of the class or function of the module that a line begins, if any."""
    for mark, pattern in (("#[pyclass", _CLASS), ("#[pyfunction", _FUNCTION)):
        if mark in attributes and (found := pattern.match(line)):
            return found[1]
    return None


def _is_open(text: str) -> bool:
    """Whether an attribute continues on the next line."""
    code = "\n".join(line for line in text.splitlines() if not line.strip().startswith("///"))
    return code.count("[") > code.count("]")


def main() -> int:
    """Write or check all sources."""
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit("usage: docstrings.py write | check")
    docstrings = {name: inspect.cleandoc(text) for name, text in stub_docstrings().items()}
    wrong = 0
    for path in sorted(SOURCES.rglob("*.rs")):
        before = path.read_text(encoding="utf-8")
        after = rewrite(before, docstrings)
        if after == before:
            continue
        wrong += 1
        if sys.argv[1] == "write":
            path.write_text(after, encoding="utf-8")
        else:
            print(f"{path.relative_to(ROOT)}: docstrings differ from the stub's; make format")
    return 1 if wrong and sys.argv[1] == "check" else 0


if __name__ == "__main__":
    sys.exit(main())
