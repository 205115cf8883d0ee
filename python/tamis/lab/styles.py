"""One colour and one marker for a matcher, in every figure."""

from collections.abc import Sequence
from zlib import crc32

from tamis.lab.experiment import Series

_COLOURS = {
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "red": "#d55e00",
    "purple": "#8a5a9e",
    "pink": "#cc79a7",
    "sky": "#56b4e9",
    "black": "#222222",
    "grey": "#8c8c8c",
    "brown": "#8c5a2b",
    "olive": "#8a9a00",
    "teal": "#1aa5a5",
}
_STYLES = {
    # the engine
    "auto": ("black", "*"),
    "compiled": ("black", "o"),
    "atree": ("red", "D"),
    "kindex": ("blue", "o"),
    "cnf": ("blue", "s"),
    "dewey": ("orange", "v"),
    "interval": ("green", "^"),
    "scan": ("grey", "x"),
    # the papers' comparators
    "pscan": ("orange", "P"),
    "sift": ("green", "s"),
    "propagation": ("red", "^"),
    "dnf-expansion": ("purple", "s"),
    "scan-with-conjunctions": ("brown", "X"),
    "bop": ("sky", "s"),
    "bdd": ("purple", "P"),
    "translation": ("olive", "<"),
    # graphs
    "index": ("orange", "s"),
    "bfs": ("grey", "x"),
    "general": ("blue", "o"),
    "general-skipping": ("red", "^"),
    "dag": ("green", "v"),
    "dag-skipping": ("teal", "D"),
    # XML
    "yfilter": ("blue", "o"),
    "hybrid": ("orange", "s"),
    "xfilter": ("red", "^"),
    "yfilter-inline": ("purple", "v"),
    "yfilter-unsorted": ("green", "D"),
}
_LINES = ("-", "--", ":", "-.")
_HATCHES = ("", "//", "..", "xx")


def style(series: Series, beside: Sequence[Series]) -> tuple[str, str, str, str]:
    """Colour, marker, line and hatching; the same matcher in other ways differs in the last two."""
    same = [each.name for each in beside if each.matcher == series.matcher]
    variant = same.index(series.name) % len(_LINES)
    colour, marker = _STYLES.get(series.matcher) or _spare(series.matcher)
    return _COLOURS[colour], marker, _LINES[variant], _HATCHES[variant]


def _spare(matcher: str) -> tuple[str, str]:
    """For a matcher from elsewhere, by its name."""
    chosen = crc32(matcher.encode())
    return list(_COLOURS)[chosen % len(_COLOURS)], "<>hp8"[chosen % 5]
