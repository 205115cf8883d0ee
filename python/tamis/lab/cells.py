"""One matcher on one workload: what is measured at once, and by which name it is found again."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much is measured, and how long it may take.

    Attributes:
        events: How many are matched.
        sample: On how many of them answers are compared.
        repetitions: How often they are matched at most; the fastest counts.
        seconds: After which no further repetition begins.
        time_limit: Seconds for everything, building included.
        memory_limit: MiB for everything.
    """

    events: int = 200
    sample: int = 10
    repetitions: int = 5
    seconds: float = 1.0
    time_limit: float = 60.0
    memory_limit: int = 6144


@dataclass(frozen=True)
class Cell:
    """One measurement that is to be made, in a process of its own.

    Attributes:
        workload: Its name.
        parameters: Of the workload, the seed among them.
        matcher: Its name, or `module:factory` for one from elsewhere.
        options: Its switches.
        effort: How much is measured.
    """

    workload: str
    parameters: dict[str, Any]
    matcher: str
    options: dict[str, Any]
    effort: Effort

    @property
    def spec(self) -> dict[str, Any]:
        """As the native module takes it."""
        effort = asdict(self.effort)
        del effort["time_limit"], effort["memory_limit"]
        return {
            "workload": self.workload,
            "parameters": self.parameters,
            "matcher": self.matcher,
            "options": self.options,
            **effort,
        }

    @property
    def key(self) -> str:
        """Cells of one key measure the same, whichever figures they are drawn in."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
