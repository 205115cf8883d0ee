"""A Griffe extension that documents methods of a stub that only have overloads.

Griffe expects an implementation next to overloads, and a stub has none. The last overload, which
has the docstring, takes its place.
"""

from typing import Any

import griffe


class Overloads(griffe.Extension):
    """Adds the last overload as a member, if no other member has its name."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called for every class."""
        for name, overloads in cls.overloads.items():
            if name not in cls.members and overloads:
                documented = overloads[-1]
                documented.overloads = list(overloads)
                cls.set_member(name, documented)
