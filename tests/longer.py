"""Tests that take minutes: `make pipeline` runs them, `make test` leaves them out."""

import os

import pytest

LONG = bool(os.environ.get("TAMIS_LONG"))
long_test = pytest.mark.skipif(not LONG, reason="long: make pipeline")
