"""Check licenses and sources of all Rust dependencies; write the notices that the wheel ships.

    python scripts/licenses.py check    fails if a license, source or version is not allowed,
                                        or if a notice is missing
    python scripts/licenses.py write    writes THIRD-PARTY-LICENSES.txt

`cargo deny` checks the same, but would take longer to build than everything that `make check` runs.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY-LICENSES.txt"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
WHEEL = "tamis-python"
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# Versions with an advisory, and why.
REFUSED = {"lz4_flex": (re.compile(r"0\.(\d|10)\.|0\.11\.[0-5]$|0\.12\.0$"), "RUSTSEC-2026-0041")}

Package = dict[str, Any]


def allowed(expression: str) -> bool:
    """Whether a license expression allows a choice that is on our list."""
    tokens = re.findall(r"[()]|[^()\s]+", expression.replace("/", " OR "))
    position = 0

    def any_of() -> bool:
        nonlocal position
        result = all_of()
        while position < len(tokens) and tokens[position] == "OR":
            position += 1
            result = all_of() or result
        return result

    def all_of() -> bool:
        nonlocal position
        result = one()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            result = one() and result
        return result

    def one() -> bool:
        nonlocal position
        if tokens[position] == "(":
            position += 1
            result = any_of()
            position += 1
            return result
        name = tokens[position]
        position += 1
        if tokens[position : position + 1] == ["WITH"]:
            name = f"{name} WITH {tokens[position + 1]}"
            position += 2
        return name in ALLOWED

    return bool(tokens) and any_of() and position == len(tokens)


def read_metadata() -> tuple[list[Package], set[str]]:
    """All packages except our own, and the ids of those in the wheel."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    own = set(metadata["workspace_members"])
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    waiting = [member for member in own if names[member] == WHEEL]
    shipped: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node in shipped:
            continue
        shipped.add(node)
        # Build and test dependencies are not in the wheel.
        waiting += [
            dependency["pkg"]
            for dependency in nodes[node]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
    others = [package for package in metadata["packages"] if package["id"] not in own]
    return sorted(others, key=lambda package: (package["name"], package["version"])), shipped - own


def complaints(packages: list[Package]) -> list[str]:
    """The problems of packages."""
    found = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            found.append(f"{name} comes from {package['source']}, not from crates.io")
        if not allowed(package["license"] or ""):
            found.append(f"{name} has the license {package['license']}, which is not allowed")
        versions, advisory = REFUSED.get(package["name"], (None, None))
        if versions and versions.match(package["version"]):
            found.append(f"{name} has the advisory {advisory}")
    return found


def texts_of(package: Package) -> list[str]:
    """The texts of a package's licenses and notices."""
    folder = Path(package["manifest_path"]).parent
    names = re.compile(r"(?i)(licen[sc]e|copying|notice|unlicense)")
    files = sorted(path for path in folder.iterdir() if path.is_file() and names.match(path.name))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def notices(packages: list[Package]) -> str:
    """The notices of packages; a shared text is included once."""
    sharing: dict[str, list[str]] = defaultdict(list)
    lines = [
        "The dependencies included in the Tamis wheel, with their licenses.",
        "",
    ]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        place = package["repository"] or package["homepage"] or "crates.io"
        lines.append(f"{name}: {package['license']}, {place}")
        for text in texts_of(package):
            sharing["\n".join(line.rstrip() for line in text.splitlines())].append(name)
    for text, names in sharing.items():
        lines += ["", "-" * 100, "; ".join(names), "", text]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command in the first argument."""
    packages, shipped = read_metadata()
    in_wheel = [package for package in packages if package["id"] in shipped]
    if sys.argv[1:] == ["write"]:
        NOTICES.write_text(notices(in_wheel), encoding="utf-8")
        return 0
    found = complaints(packages)
    noted = NOTICES.read_text(encoding="utf-8") if NOTICES.exists() else ""
    for package in in_wheel:
        if f"\n{package['name']} " not in noted:
            found.append(f"{NOTICES.name} does not name {package['name']}; run `make licenses`")
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
