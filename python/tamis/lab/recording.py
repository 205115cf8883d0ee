"""What is kept of a comparison: its figures with the day, the machine and the versions."""

import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tamis._tamis import __version__
from tamis.lab.measurement import Comparison


def record(comparison: Comparison, folder: str | Path) -> Path:
    """Write a comparison as a file named by the moment, one row per matcher.

    Args:
        comparison: What was measured.
        folder: Where to write; made if it is not there.

    Returns:
        The file: Parquet, or JSON lines where pyarrow is not installed.
    """
    now = datetime.now(UTC)
    common = {"recorded": now.isoformat(), **machine(), **comparison.settings}
    common["recommended"] = comparison.recommended
    rows = [{**common, **asdict(each)} for each in comparison.measurements]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / now.strftime("%Y-%m-%dT%H%M%S.%fZ")
    try:
        from pyarrow import Table
        from pyarrow.parquet import write_table
    except ModuleNotFoundError:
        path = path.with_name(f"{path.name}.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    path = path.with_name(f"{path.name}.parquet")
    write_table(Table.from_pylist(rows), path)
    return path


def machine() -> dict[str, Any]:
    """What figures depend on beside the code: versions and the machine."""
    return {
        "tamis": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()
