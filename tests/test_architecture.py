"""The order of the crates and of the engine's modules, as ARCHITECTURE.md lists them.

No crate depends on one that stands below it, no module names one that stands below it, and the
modules of one folder do not name each other in a circle. The words of the glossary name one thing.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CRATES = ROOT / "crates"

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


def source_of(path: Path) -> Path:
    """The folder with the sources of the crate that a file or folder belongs to."""
    return CRATES / path.relative_to(CRATES).parts[0] / "src"


def position(path: Path) -> ModulePath:
    """A file's module, from the root of its crate."""
    parts = path.relative_to(source_of(path)).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


@cache
def paths(path: Path) -> tuple[ModulePath, ...]:
    """The paths that a file uses, from the root of its crate."""
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
    own = folder / ("lib.rs" if folder == source_of(folder) else "mod.rs")
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
    above = folder.relative_to(source_of(folder)).parts
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


def crates() -> list[str]:
    """The crates of the tree in ARCHITECTURE.md, from its first line to its last."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return re.findall(r"^crates/([\w-]+)/", text, re.MULTILINE)


@cache
def listed() -> dict[str, list[str]]:
    """By crate of the engine: its modules in the table of ARCHITECTURE.md, from first to last."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = text.split("|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    found: dict[str, list[str]] = {}
    crate = ""
    for row in rows:
        _, first, second, *_ = row.split("|")
        crate = first.strip(" `") or crate
        names = re.findall(r"`([a-z_/]+)`", second)
        found.setdefault(crate, []).extend(name.rstrip("/") for name in names)
    return found


def dependencies(crate: str) -> set[str]:
    """The crates of the workspace that a crate is built from; its tests may use others."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    return set(manifest.get("dependencies", {})) & set(crates())


# A crate whose row names no modules answers one question; its lib.rs says how it is divided.
DIVIDED = [crate for crate, modules_of in listed().items() if modules_of]
FOLDERS = [
    str(folder.relative_to(CRATES))
    for crate in listed()
    for source in [CRATES / crate / "src"]
    for folder in sorted({source, *(file.parent for file in source.rglob("mod.rs"))})
]


def test_the_tree_lists_every_crate() -> None:
    assert sorted(crates()) == sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


def test_the_table_lists_the_crates_of_the_engine_in_the_order_of_the_tree() -> None:
    assert list(listed()) == [crate for crate in crates() if crate in listed()]


@pytest.mark.parametrize("crate", crates())
def test_a_crate_depends_only_on_those_above_it(crate: str) -> None:
    order = crates()
    below = {other for other in dependencies(crate) if order.index(other) > order.index(crate)}
    assert not below, f"{crate} stands above {sorted(below)} in ARCHITECTURE.md, and needs them"


@pytest.mark.parametrize("crate", DIVIDED)
def test_the_table_lists_every_module(crate: str) -> None:
    assert sorted(listed()[crate]) == sorted(modules(CRATES / crate / "src"))


@pytest.mark.parametrize(
    ("crate", "module"), [(crate, module) for crate in DIVIDED for module in listed()[crate]]
)
def test_a_module_knows_only_those_above_it(crate: str, module: str) -> None:
    order, knows = listed()[crate], known(CRATES / crate / "src")[module]
    below = {other for other in knows if order.index(other) > order.index(module)}
    assert not below, f"{module} stands above {sorted(below)} in ARCHITECTURE.md, and names them"


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_of_one_folder_know_each_other_one_way(folder: str) -> None:
    found = cycles(known(CRATES / folder))
    assert not found, f"{sorted(found)} know each other in a circle"


# Words of the glossary that are types: a second type of that name would give the word a second
# meaning.
DEFINED_ONCE = {
    *("Candidate", "Column", "Entry", "Expression", "Predicate", "RegularExpression"),
    *("Term", "Trigger", "Validity"),
}
# Names that do not say what they are.
UNCLEAR = {"Kind", "Question", "Record", "Records"}


def types_of(crates: list[str]) -> list[str]:
    """The names of the types that the crates define, repeated if several have it."""
    pattern = re.compile(r"\b(?:struct|enum|trait|type) ([A-Z]\w*)\b(?! = )")
    files = [file for crate in crates for file in (CRATES / crate / "src").rglob("*.rs")]
    return [name for file in files for name in pattern.findall(code(file))]


def test_a_word_of_the_glossary_names_one_type() -> None:
    counts = Counter(types_of(list(listed())))
    assert {name: counts[name] for name in DEFINED_ONCE if counts[name] != 1} == {}


def test_types_say_what_they_are() -> None:
    every = [folder.name for folder in CRATES.iterdir()]
    assert sorted(set(types_of(every)) & UNCLEAR) == []
