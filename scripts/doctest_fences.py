"""A Griffe extension that makes code blocks of examples in docstrings.

Markdown reads a line that starts with `>>>` as three nested quotations. Griffe itself handles only
examples in a section named "Examples".
"""

import inspect
import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class DoctestFences(Extension):
    """Fences each example, up to the next empty line."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called for every object."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            text = inspect.cleandoc(obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
