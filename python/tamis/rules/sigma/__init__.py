"""Sigma detections, read through pySigma.

    from tamis.rules import sigma

    read = sigma.read("rules/windows")
    index = tamis.Index(missing="false")
    index.add_many(read.subscriptions)
    for refused in read.refused:
        print(refused)

Use an index with `missing="false"`: in Sigma a test of a missing field is false and its negation
true. Text ignores case unless a rule says `cased`. Values without a field may occur anywhere in the
event. Correlation rules, which need several events, are refused, and so are placeholders that no
pipeline has resolved.

pySigma parses the rules and applies pipelines: `pip install tamis[sigma]`. With it,
`sigma convert -t tamis` prints the expressions, too.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis._tamis import Expression
from tamis.rules import files
from tamis.rules.result import ReadRules, Refused, RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sigma.processing.pipeline import ProcessingPipeline
    from sigma.rule import SigmaRule

    from tamis.rules.examples import Tests

__all__ = ["convert", "read", "read_tests"]


def read(
    source: str | Path,
    *,
    pipeline: "str | Path | ProcessingPipeline | None" = None,
    progress: "Callable[[int], None] | None" = None,
) -> ReadRules:
    """Read the rules of a file, of a folder and the folders below it, or of YAML text.

    A bad rule does not affect the others: it is listed in `refused` with its reason.

    Args:
        source: A path, or the text itself.
        pipeline: A pySigma pipeline that renames fields and resolves placeholders: an object, the
            name of an installed one, or the path of its YAML file.
        progress: Called with the number of rules read or refused so far.

    Raises:
        RuleError: pySigma is not installed, or there is no such path or pipeline.
    """
    documents = _require("tamis.rules.sigma.documents")
    applied = documents.find_pipeline(pipeline)
    path = files.as_path(source)
    if (path is None and "\n" not in str(source)) or (path is not None and not path.exists()):
        raise RuleError(f"there is no file or folder {str(source)!r}")
    read = ReadRules(progress=progress)
    if path is None:
        documents.read_text(str(source), None, applied, read)
    elif path.is_dir():
        for file in files.walk(path, (".yml", ".yaml")):
            _read_file(file, documents, applied, read)
    else:
        _read_file(path, documents, applied, read)
    return read


def read_tests(
    source: str | Path, *, pipeline: "str | Path | ProcessingPipeline | None" = None
) -> "Tests":
    """Read rules with the example events that they carry in the attribute `tests`.

    It has two members, `match` and `not_match`: lists of events that must match the rule, and that
    must not.

    Raises:
        RuleError: As for `read`.
    """
    from tamis.rules import examples

    found = read(source, pipeline=pipeline)
    tests = examples.Tests(refused=list(found.refused), missing="false")
    for rule in found.subscriptions:
        written, file, line = found.examples.get(rule.id, ({}, None, 1))
        try:
            if not isinstance(written, dict) or set(written) - {"match", "not_match"}:
                raise RuleError("`tests` must have the members `match` and `not_match`")
            given = examples.read_examples(written)
        except RuleError as error:
            tests.refused.append(Refused(rule.id, file, line, str(error)))
        else:
            tests.rules.append(examples.TestedRule(rule.id, rule.expression, given, file, line))
    return tests


def convert(rule: "SigmaRule") -> Expression:
    """The expression of a rule that pySigma has parsed.

    Raises:
        RuleError: The rule has no exact translation.
    """
    text: Callable[[SigmaRule], str] = _require("tamis.rules.sigma.conditions").rule_text
    return Expression.parse(text(rule))


def _read_file(path: Path, documents: Any, pipeline: Any, read: ReadRules) -> None:
    try:
        text = files.read_file(path)
    except RuleError as error:
        read.refuse(None, str(error), file=str(path), line=1)
    else:
        documents.read_text(text, str(path), pipeline, read)


def _require(module: str) -> Any:
    """Import a module that needs pySigma."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("sigma", "yaml"):
            raise
        raise RuleError("reading Sigma rules needs pySigma: pip install 'tamis[sigma]'") from error
