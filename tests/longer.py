"""Marks tests that take minutes: `make pipeline` runs them, `make test` does not."""

import os

import pytest

LONG = bool(os.environ.get("TAMIS_LONG"))
long_test = pytest.mark.skipif(not LONG, reason="long: make pipeline")
