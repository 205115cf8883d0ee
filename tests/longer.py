"""Tests that take minutes: `make pipeline` runs them, `make test` leaves them out."""

import os

import pytest

long_test = pytest.mark.skipif(not os.environ.get("TAMIS_LONG"), reason="long: make pipeline")
