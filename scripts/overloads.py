"""Documents the methods of a stub that have overloads only.

Griffe keeps overloads beside the implementation, and a stub has none: the last overload, which has
the docstring, takes its place.
"""

from typing import Any

import griffe


class Overloads(griffe.Extension):
    """Makes a member of the last overload where nothing else has the name."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called with every class."""
        for name, overloads in cls.overloads.items():
            if name not in cls.members and overloads:
                documented = overloads[-1]
                documented.overloads = list(overloads)
                cls.set_member(name, documented)
