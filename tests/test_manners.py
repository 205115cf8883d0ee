"""How the package behaves as a guest: what importing it costs, what it exports."""

import subprocess
import sys

import pytest

import tamis

IMPORTED = """
import sys
before = set(sys.modules)
import typing
import tamis
print(*sorted(set(sys.modules) - before))
"""


def test_importing_it_imports_little() -> None:
    """Measured by what is imported: `dataclasses`, `pathlib` and `urllib` were most of the time."""
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{IMPORTED}"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    imported = set(ran.stdout.split())
    assert "tamis.builder" in imported
    expensive = ["csv", "dataclasses", "datetime", "decimal", "html", "inspect", "ipaddress"]
    expensive += ["json", "pathlib", "pyarrow", "tamis.drawing", "tempfile", "urllib", "xml.sax"]
    assert imported.isdisjoint(expensive)


def test_every_exported_name_is_there() -> None:
    assert {name for name in tamis.__all__ if not hasattr(tamis, name)} == set()
    assert set(tamis.__all__) <= set(dir(tamis))
    with pytest.raises(AttributeError, match="has no attribute 'Indices'"):
        _ = tamis.Indices  # type: ignore[attr-defined]
