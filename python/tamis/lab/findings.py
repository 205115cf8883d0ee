"""What do the records say, in a sentence? And is it what the paper found?"""

from collections.abc import Sequence
from math import exp, log

from tamis.lab.experiment import Series
from tamis.lab.results import Results, number

_ALIKE = 1.1  # figures that are no further apart are not said to differ


def finding(results: Results) -> str:
    """Which series has the least of the first figure, how much more the others have, who grows."""
    places = [place for place in range(len(results.values)) if _measured(results, place)]
    if not places:
        return "Nothing was measured."
    first, last = places[0], places[-1]
    sentences = [_ranking(results, last)]
    if first != last:
        sentences.append(_growth(results, first, last))
    return " ".join(filter(None, sentences))


def comparison(results: Results) -> str:
    """Whether the series are in the order that the paper found; empty where it gives none."""
    places = [place for place in range(len(results.values)) if _measured(results, place)]
    held, against = _against(results, places)
    if against:
        text = f"The paper's order does not hold here: {_join(against)}."
    elif not held:
        return ""
    else:
        _, against = _against(results, places[-1:])
        if not against:
            return "The paper's order holds here."
        where = f"at {results.varied} {results.name(places[-1])}"
        text = f"The paper's order holds on average, but {where} {_join(against)}."
    return f"{text} {results.experiment.why}".rstrip()


def _against(results: Results, places: Sequence[int]) -> tuple[int, list[str]]:
    """How many pairs of series are in the paper's order at some values, and which are not."""
    by_name = {series.name: series for series in results.experiment.series}
    order = [by_name[name] for name in results.experiment.order]
    held, against = 0, []
    for position, less in enumerate(order):
        for more in order[position + 1 :]:
            ratio = _ratio(results, more, less, places)
            if ratio is None:
                continue
            held += ratio >= 1 / _ALIKE
            if ratio < 1 / _ALIKE:
                against.append(f"{more.label} is {number(1 / ratio)}x below {less.label}")
    return held, against


def _measured(results: Results, place: int) -> dict[Series, float]:
    metric = results.experiment.drawing.metrics[0]
    figures = {
        series: results.figure(series, place, metric) for series in results.experiment.series
    }
    return {series: value for series, value in figures.items() if value is not None}


def _ranking(results: Results, place: int) -> str:
    metric = results.experiment.drawing.metrics[0]
    ranked = sorted(_measured(results, place).items(), key=lambda item: item[1])
    (best, least), *others = ranked
    where = f"At {results.varied} {results.name(place)}, " if results.varied else ""
    figure = f"{number(least)} {metric.label}"
    if not others:
        return _sentence(f"{where}{best.label} has {figure}")
    text = f"{where}{best.label} is lowest ({figure})"
    if least > 0:
        times = [f"{series.label} {number(value / least)}x" for series, value in others]
        text += f"; relative to it: {_join(times)}"
    return _sentence(text)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _growth(results: Results, first: int, last: int) -> str:
    before, after = _measured(results, first), _measured(results, last)
    times = [
        f"{series.label} {number(after[series] / before[series])}x"
        for series in before
        if series in after and before[series] > 0
    ]
    if not times:
        return ""
    span = f"{results.varied} {results.name(first)} to {results.name(last)}".strip()
    return f"Growth from {span}: {_join(times)}."


def _ratio(results: Results, one: Series, other: Series, places: Sequence[int]) -> float | None:
    """One series by another: the geometric mean over these values, where both were measured."""
    metric = results.experiment.drawing.metrics[0]
    lines = results.line(one, metric), results.line(other, metric)
    pairs = [(lines[0][place], lines[1][place]) for place in places]
    logs = [log(a / b) for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]
    return exp(sum(logs) / len(logs)) if logs else None


def _join(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
