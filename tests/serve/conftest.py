"""Folders and servers for the tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tamis import Index

from .server import Running, running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved index."""
    index = Index()
    index.add("young-west", "age between 18 and 25 and state in ('CA', 'OR', 'WA')")
    index.add("sale", "tags in ('new'^2.5, 'sale')", metadata={"owner": "ada", "tier": 1})
    index.add(7, "age > 20", metadata={"owner": "bob", "tier": 2}, boost=3.0)
    index.save(tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def served(folder: Path) -> Iterator[Running]:
    """A server for the folder."""
    with running(folder) as server:
        yield server


@pytest.fixture
def client(served: Running) -> Iterator[httpx.Client]:
    """A client of that server."""
    with served.client() as client:
        yield client
