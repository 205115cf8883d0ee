"""An extension of Griffe: examples in docstrings become code blocks, not quotations.

Markdown reads a line that begins with `>>>` as three nested quotations. Examples in a section of
that name are indented, and Griffe knows them.
"""

import inspect
import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class DoctestFences(Extension):
    """Fences each example, up to the next empty line."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called with everything that has a docstring."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            text = inspect.cleandoc(obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
