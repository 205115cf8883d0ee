"""How does background work stay out of the way of requests?"""

import os
import sys
import threading
from contextlib import suppress

_NICENESS = 10


def give_way() -> None:
    """Lower the priority of this thread for the rest of its life.

    Only Linux has priorities of threads; elsewhere nothing changes.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it, and then the priority stays
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
