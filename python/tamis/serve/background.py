"""Keeps background work from slowing down requests."""

import os
import sys
import threading
from contextlib import suppress

_NICENESS = 10


def give_way() -> None:
    """Lower the priority of this thread for the rest of its life.

    Only Linux has thread priorities; on other systems this has no effect.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
