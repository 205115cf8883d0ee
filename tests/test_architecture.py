"""The order of the engine's modules: none depends on one below it in ARCHITECTURE.md."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "crates" / "tamis" / "src"

ModulePath = tuple[str, ...]


def split(inside: str) -> list[str]:
    """The parts between the commas of a use tree."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def expand(tree: str) -> Iterator[str]:
    """The paths of a use tree such as `a::{b, c::d}`."""
    before, brace, inside = tree.partition("{")
    if not brace:
        yield tree.split(" as ", maxsplit=1)[0].strip()
        return
    for part in split(inside[: inside.rindex("}")]):
        for path in expand(part):
            yield before + path


def code(path: Path) -> str:
    """A file's code, without comments and unit tests."""
    text = re.sub(r"//.*", "", path.read_text())
    return text.split("#[cfg(test)]\nmod tests {")[0]


def position(path: Path) -> ModulePath:
    """A file's module, from the root of the crate."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


@cache
def paths(path: Path) -> tuple[ModulePath, ...]:
    """The paths that a file uses, from the root of the crate."""
    text = code(path)
    named = [
        one for use in re.findall(r"\buse ([^;]+);", text) for one in expand(" ".join(use.split()))
    ]
    named += re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse [^;]+;", "", text))
    return tuple(
        one for name in named if (one := resolved(tuple(name.split("::")), position(path)))
    )


def resolved(parts: ModulePath, here: ModulePath) -> ModulePath:
    """A module path from the root of the crate; none if it starts outside."""
    if parts[0] == "crate":
        return parts[1:]
    if parts[0] != "super":
        return ()
    while parts[0] == "super":
        here, parts = here[:-1], parts[1:]
    return (*here, *parts)


def reexported(folder: Path) -> dict[str, str]:
    """The names that a folder's `mod.rs` re-exports from its modules."""
    own = folder / ("lib.rs" if folder == SOURCE else "mod.rs")
    found = {}
    for use in re.findall(r"^(?:pub(?:\([^)]*\))? )?use ([^;]+);", code(own), re.MULTILINE):
        for name in expand(" ".join(use.split())):
            module, _, rest = name.partition("::")
            if rest:
                found[rest.split("::")[-1]] = module
    return found


def modules(folder: Path) -> dict[str, list[Path]]:
    """The files of each module of a folder, without tests."""
    files = [file for file in folder.rglob("*.rs") if file.name != "tests.rs"]
    found: dict[str, list[Path]] = {}
    for file in files:
        parts = file.relative_to(folder).with_suffix("").parts
        if parts not in (("mod",), ("lib",)):
            found.setdefault(parts[0], []).append(file)
    return found


@cache
def known(folder: Path) -> dict[str, set[str]]:
    """For each module of a folder, the other modules that it uses."""
    inside, names = modules(folder), reexported(folder)
    above = folder.relative_to(SOURCE).parts
    found: dict[str, set[str]] = {module: set() for module in inside}
    for module, files in inside.items():
        for named in (one for file in files for one in paths(file)):
            if named[: len(above)] == above and len(named) > len(above):
                name = named[len(above)]
                other = name if name in inside else names.get(name)
                if other in inside and other != module:
                    found[module].add(other)
    return found


def cycles(edges: dict[str, set[str]]) -> set[str]:
    """The modules that are part of a cycle."""

    def reached(module: str) -> set[str]:
        found: set[str] = set()
        waiting = set(edges[module])
        while waiting:
            other = waiting.pop()
            found.add(other)
            waiting |= edges[other] - found
        return found

    return {module for module in edges if module in reached(module)}


def listed() -> list[str]:
    """The modules of the table in ARCHITECTURE.md, from its first row to its last."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = text.split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    return [
        name.rstrip("/") for row in rows for name in re.findall(r"`([a-z_/]+)`", row.split("|")[1])
    ]


def test_the_table_lists_every_module() -> None:
    assert sorted(listed()) == sorted(modules(SOURCE))


@pytest.mark.parametrize("module", sorted(modules(SOURCE)))
def test_a_module_knows_only_those_above_it(module: str) -> None:
    order = listed()
    below = {other for other in known(SOURCE)[module] if order.index(other) > order.index(module)}
    assert not below, f"{module} stands above {sorted(below)} in ARCHITECTURE.md, and names them"


@pytest.mark.parametrize(
    "folder", sorted({str(file.parent.relative_to(SOURCE)) for file in SOURCE.rglob("mod.rs")})
)
def test_modules_of_one_folder_know_each_other_one_way(folder: str) -> None:
    found = cycles(known(SOURCE / folder))
    assert not found, f"{sorted(found)} know each other in a circle"
