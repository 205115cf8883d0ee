"""Hypothesis profiles, and where the tests' own modules are found.

`pytest --hypothesis-profile=fuzz` runs `TAMIS_FUZZ_CASES` random cases per property.
"""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# The modules beside the tests: oracle, writers, strategies.
sys.path.insert(0, str(Path(__file__).parent))

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
