"""Hypothesis profiles, and the import path of the tests' own modules.

`pytest --hypothesis-profile=fuzz` runs `TAMIS_FUZZ_CASES` random cases per property.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tamis import Index, attr

# For the modules next to the tests: oracle, writers, strategies, refusal.
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("refusal")

settings.register_profile(
    "default", max_examples=200, deadline=None, derandomize=True, database=None, print_blob=True
)
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("TAMIS_FUZZ_CASES", "10000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture
def index() -> Index:
    """An index that has been used: ids of both types, metadata, nesting, a removed subscription."""
    index = Index()
    index.add("one", "a = 1", metadata={"owner": "us"})
    index.add(2, "b.c > 2 or not exists(b.d)")
    index.add("gone", "true")
    index.remove("gone")
    index.add_many([("three", attr.tags.isin(["x", "y"])), (-4, "a in (1, 'x') xor flag")])
    return index
